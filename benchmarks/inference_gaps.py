"""Value, best labeling and bound of every inference on networks, for every loss it takes: ``python`` this file.

Networks: 3 x 4 grids of two labels whose edges attract, as ``Graphs`` and as ``ClassGraphs``, and 3 x 3 grids of three
labels; the same with edges of any sign; chains of 12 nodes. Of each 500 random cases, for the first kind those of
``dual_decomposition.py``: three sizes of the scores, couplings of .1, 1 and 3 times the scores of nodes. Each method is
prepared anew for each, with its defaults unless the row says otherwise. A pair of method and loss that is refused has
no row. It takes about five minutes of one core.

The best labeling is found by enumeration. In each case the value of a method is that of its labels, and value <= best
<= bound is asserted. Columns: the share of cases in which the best labeling is found; in which value and bound meet, to
1e-6; the mean and the largest gap, bound less value, over all cases.
"""

import sys
from typing import NamedTuple

import numpy as np

from dual_decomposition import grid
from setwise.core import enumerate as brute
from setwise.core.bound_loss import BoundLoss
from setwise.core.inference import Inference
from setwise.core.networks import ClassGraphs, Graphs
from setwise.inference import (
    QPBO,
    AlphaExpansion,
    Auto,
    BeliefPropagation,
    ClassDecomposition,
    DualDecomposition,
    Enumeration,
    FactorDecomposition,
    HighOrderMessages,
    MaxFlow,
    PiecewiseLinearPrograms,
    SecondBestLabeling,
    TreeMaxProduct,
    TreeReweightedMessages,
)
from setwise.losses import (
    MCC,
    BalancedError,
    ErrorRate,
    FBeta,
    GMean,
    Hamming,
    HMean,
    Jaccard,
    MeanOverClasses,
    ZeroOne,
)
from timing import table

CASES, MET, SLIP = 500, 1e-6, 1e-9

MODULAR = {
    "Enumeration": Enumeration(),
    "QPBO": QPBO(),
    "TreeReweightedMessages": TreeReweightedMessages(),
    "BeliefPropagation": BeliefPropagation(),
}
COUNTS = {
    "DualDecomposition": DualDecomposition(),
    "DualDecomposition(exact=True)": DualDecomposition(exact=True),
    "DualDecomposition(100, 'printed')": DualDecomposition(100, "printed"),
    "FactorDecomposition": FactorDecomposition(),
    "HighOrderMessages": HighOrderMessages(),
    "PiecewiseLinearPrograms": PiecewiseLinearPrograms(),
}
CUTS = {"MaxFlow": MaxFlow(), "SecondBestLabeling": SecondBestLabeling()}
CLASSES = {"AlphaExpansion": AlphaExpansion(), "ClassDecomposition(Auto())": ClassDecomposition(Auto())}
LOSSES = (Jaccard(), FBeta(), GMean(), HMean(), MCC(), ZeroOne(), BalancedError(), ErrorRate(), Hamming())
OF_CLASSES = (MeanOverClasses(Jaccard()), MeanOverClasses(FBeta()), ZeroOne(), Hamming())
CHAIN = np.column_stack([np.arange(11), np.arange(1, 12)])


class NetworkKind(NamedTuple):
    """Networks of p nodes and k labels; ``attract`` says whether all scores of edges are 0 or above."""

    name: str
    p: int
    k: int
    edges: np.ndarray
    binary: bool
    attract: bool
    losses: tuple
    methods: dict[str, Inference]


KINDS = (
    NetworkKind("3 x 4", 12, 2, grid(3, 4), True, True, LOSSES, MODULAR | COUNTS | CUTS),
    NetworkKind("3 x 4, any sign", 12, 2, grid(3, 4), True, False, (Hamming(),), MODULAR),
    NetworkKind("chain, any sign", 12, 2, CHAIN, True, False, (Hamming(),), {"TreeMaxProduct": TreeMaxProduct()}),
    NetworkKind("3 x 4, k = 2", 12, 2, grid(3, 4), False, True, OF_CLASSES, MODULAR | CLASSES),
    NetworkKind("3 x 3, k = 3", 9, 3, grid(3, 3), False, True, OF_CLASSES, MODULAR | CLASSES),
    NetworkKind("3 x 3, k = 3, any sign", 9, 3, grid(3, 3), False, False, (Hamming(),), MODULAR | CLASSES),
)


def cases(kind: NetworkKind):
    """The random cases: a batch of one network, and its scores."""
    rng, ends = np.random.default_rng(0), np.array([0, kind.p])
    for _ in range(CASES):
        if kind.binary:
            batch = Graphs(rng.random(kind.p) < 0.4, ends, kind.edges)
            toward = batch.truth[:, None]
        else:
            batch = ClassGraphs(rng.integers(0, kind.k, kind.p), ends, kind.edges, kind.k)
            toward = batch.labels[:, None] == np.arange(kind.k)
        size, coupling = rng.choice([0.03, 0.2, 1.0]), rng.choice([0.1, 1.0, 3.0])
        scores = np.zeros(batch.n_scores)
        scores[batch.node_columns] = size * (rng.standard_normal(toward.shape) + np.where(toward, 0.5, -0.5))
        m = len(kind.edges)
        scores[batch.edge_columns[:, 0]] = size * coupling * (rng.random(m) if kind.attract else rng.standard_normal(m))
        yield batch, scores


class Objectives:
    """Loss and score of all labelings of networks of one kind."""

    def __init__(self, kind: NetworkKind) -> None:
        batch, _ = next(cases(kind))
        rows = brute.labelings(kind.p, kind.k)
        self.rows, self.places = rows == 1 if kind.binary else rows, kind.k ** np.arange(kind.p)
        self.codes = np.array([batch.encode(row) for row in self.rows])

    def of(self, bound_loss: BoundLoss, scores: np.ndarray) -> np.ndarray:
        """As ``brute.objectives``, at once."""
        losses = bound_loss.take(np.zeros(len(self.rows), np.int64)).values(self.rows.ravel())
        return losses + self.codes @ scores - scores @ bound_loss.batch.target

    def at(self, values: np.ndarray, labels: np.ndarray) -> float:
        """The value of one labeling."""
        return values[int(labels @ self.places)]


def rows_of(kind: NetworkKind, objectives: Objectives, loss: object) -> list[tuple[str, ...]]:
    """The rows of one loss."""
    found = {name: [] for name in kind.methods}
    for i, (batch, scores) in enumerate(cases(kind)):
        bound_loss = loss.bind(batch)
        values = objectives.of(bound_loss, scores)
        if i == 0:
            np.testing.assert_allclose(values, brute.objectives(bound_loss, scores, objectives.rows), atol=SLIP)
        best = values.max()
        for name, method in kind.methods.items():
            if method.refuses(bound_loss) is not None:
                continue
            answer = method.prepare(bound_loss).maximize(scores)
            value, bound = answer.values[0], answer.bounds[0]
            assert np.isfinite(bound)
            assert abs(value - objectives.at(values, answer.labels)) <= SLIP
            assert value - SLIP <= best <= bound + SLIP
            found[name].append((value >= best - SLIP, bound - value <= MET, max(bound - value, 0.0)))
    shown, title = [], repr(loss).replace("empty='perfect'", "").replace("beta=1.0, zero_division=1.0", "")
    for name, results in found.items():
        if results:
            best, met, gaps = np.array(results, dtype=float).T
            shares = f"{100 * best.mean():.1f} %", f"{100 * met.mean():.1f} %"
            gaps = f"{gaps.mean():.1e}", f"{gaps.max():.1e}"
            shown.append((kind.name, title, name, *shares, *gaps))
    print(".", end="", file=sys.stderr, flush=True)
    return shown


def main() -> None:
    shown = [("network", "loss", "method", "best found", "closed", "mean gap", "largest gap")]
    for kind in KINDS:
        objectives = Objectives(kind)
        for loss in kind.losses:
            shown += rows_of(kind, objectives, loss)
    print(file=sys.stderr)
    table(shown)


if __name__ == "__main__":
    main()
