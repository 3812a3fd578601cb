"""Exact samples of log-supermodular distributions."""

from typing import NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Bools, Ints, Values
from setwise.core.checks import as_count, as_kind
from setwise.core.graphs import Graphs
from setwise.core.refusal import Refusal
from setwise.inference.wires import wirings
from setwise.kernels.coupling import MOST, couple, couple_by_table, thresholds
from setwise.kernels.networks import Lattice
from setwise.kernels.threads import map_units
from setwise.probabilistic.bounds.l_field import EXAMPLE
from setwise.probabilistic.log_supermodular import LogSupermodular
from setwise.probabilistic.noise import seed_of

FIRST = 4
"""Samples whose sweeps tell where the chains of all others begin."""


class Samples(NamedTuple):
    """Exact samples: ``labels`` (n, p), and the number of sweeps that proved each of them, (n,).

    The first four are proved by powers of two; the chains of the others begin where the fastest of these four did.
    """

    labels: Bools
    sweeps: Ints

    @property
    def marginals(self) -> Values:
        """The share of samples in which each label is 1, (p,)."""
        return np.asarray(self.labels.mean(axis=0))


@final
class Coupling:
    """Draws exact samples of cuts of one graph, and of a concave function of the number of ones, again and again.

    Parameters
    ----------
    graphs : the graph
    p : the number of labels
    """

    def __init__(self, graphs: Graphs, p: int) -> None:
        (self._wires,) = wirings(graphs, p)
        network = self._wires.network
        if isinstance(network, Lattice):
            self._width, arcs = len(network.shifts), len(network.shifts) * (p + 2 * network.pad)
        else:
            self._width, arcs = int(np.bincount(graphs.edges.ravel(), minlength=p).max()), 2 * len(graphs.edges)
        self._p, self._weights = p, np.zeros(arcs)
        self._table = np.zeros(p << self._width if self._width <= MOST else 0, np.int64)
        self._unary, self._gains = np.zeros(p), np.zeros(0)

    def place(self, unary: Values, weights: Values, gains: Values) -> None:
        """Take other unary numbers (p,), weights of the edges, and gains of the number of ones, (p,) or none."""
        self._wires.place(weights, self._weights)
        self._unary, self._gains = unary, gains
        if self._by_table:
            thresholds(self._wires.network, self._weights, unary, self._width, self._table)

    @property
    def _by_table(self) -> bool:
        return len(self._table) > 0 and len(self._gains) == 0

    def draw(self, seed: np.uint64, unit: int, start: int, budget: int) -> tuple[int, NDArray[np.int8]]:
        """The sweeps that proved a sample, -1 if ``budget`` is not enough, and the sample (p,)."""
        network = self._wires.network
        labels = np.empty(self._p + 2 * network.pad, np.int8)
        if self._by_table:
            sweeps = couple_by_table(network, self._table, self._width, seed, unit, start, budget, labels)
        else:
            sweeps = couple(network, self._weights, self._unary, self._gains, seed, unit, start, budget, labels)
        return int(sweeps), labels[network.pad :][: self._p]


def sample(
    model: LogSupermodular,
    size: int = 1,
    *,
    budget: int = 1 << 14,
    random_state: int | np.random.Generator | None = None,
) -> Samples:
    """Independent labels drawn from ``exp(-f(y)) / Z`` itself, by coupling from the past (Propp and Wilson 1996).

    A Gibbs sweep of a submodular f keeps the order of labelings, so two chains from the smallest and the largest
    labeling enclose all others. Where they meet, the labels are an exact sample, which is a proof and no diagnosis.

    Parameters
    ----------
    model : a distribution of cuts and concave functions of the size
    size : the number of samples
    budget : the most sweeps that a chain may take for a sample
    random_state : seed, int, numpy Generator or None; threads do not change the result

    Raises
    ------
    Refusal : where the chains do not meet within the budget, and for other terms
    """
    as_kind(model, "model", LogSupermodular, EXAMPLE)
    as_count(size, "size")
    as_count(budget, "budget")
    if model.table is None:
        raise Refusal(f"sample refuses {model!r}: it draws from cuts and concave functions of the size alone.")
    seed, coupling = seed_of(random_state), Coupling(model.cuts.graphs, model.total)
    coupling.place(model.unary, model.cuts.weights, np.diff(model.table) if model.table.any() else np.zeros(0))
    labels, start = np.zeros((size, model.total), np.int8), 1

    def draw(i: int) -> int:
        sweeps, labels[i] = coupling.draw(seed, i, start, budget)
        return sweeps

    sweeps = np.array(map_units(draw, range(min(size, FIRST))))
    start = int(sweeps.min())
    if start > 0:
        sweeps = np.append(sweeps, map_units(draw, range(FIRST, size))).astype(np.int64)
    if (sweeps < 0).any():
        raise Refusal(
            f"sample refuses {model!r}: its chains have not met within budget={budget} sweeps, for the labels hold on "
            "to each other too much. Raise the budget, or use logistic."
        )
    return Samples(labels == 1, sweeps)
