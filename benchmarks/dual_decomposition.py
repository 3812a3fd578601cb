"""How often dual decomposition finds and certifies the best labeling, and how long it takes: ``python`` this file.

First 500 random 3 x 4 grids for each loss, against enumeration: couplings of .1, 1 and 3 times the scores of nodes, and
three scales of the scores. Then the Jaccard loss of a disk on grids of 60 x 60 and 200 x 200 pixels, for three scales
and two couplings: seconds until value and bound differ by no more than a tolerance, on one thread.
"""

import time
from itertools import product

import numpy as np

from setwise.core.batch import Sets
from setwise.core.networks import Graphs
from setwise.inference import DualDecomposition
from setwise.losses import MCC, FBeta, GMean, HMean, Jaccard, ZeroOne
from timing import table

CASES, TOLERANCES = 500, (1e-2, 1e-3, 1e-4, 0.0)


def grid(height: int, width: int) -> np.ndarray:
    """The edges of a grid with four neighbors."""
    at = np.arange(height * width).reshape(height, width)
    across = np.column_stack([at[:, :-1].ravel(), at[:, 1:].ravel()])
    return np.vstack([across, np.column_stack([at[:-1].ravel(), at[1:].ravel()])])


def scored(graphs: Graphs, size: float, coupling: float, rng: np.random.Generator) -> np.ndarray:
    """Scores of nodes that favor the truth under noise, and of edges."""
    scores = np.zeros(graphs.n_scores)
    toward = np.where(graphs.truth, 0.5, -0.5)
    scores[graphs.node_places] = size * (rng.standard_normal(graphs.total) + toward)
    scores[graphs.edge_places] = size * coupling * rng.random(len(graphs.edges))
    return scores


def small() -> None:
    rows = np.array(list(product([False, True], repeat=12)))
    edges = grid(3, 4)
    agree = rows[:, edges[:, 0]] == rows[:, edges[:, 1]]
    shown = [("loss", "best labeling found", "bound met", "mean gap", "ms each", "exact=True")]
    for loss in (Jaccard(), FBeta(), GMean(), HMean(), MCC(), ZeroOne()):
        rng = np.random.default_rng(0)
        found = met = closed = 0
        gaps, seconds = 0.0, 0.0
        for _ in range(CASES):
            graphs = Graphs(rng.random(12) < 0.4, np.array([0, 12]), edges)
            scores = scored(graphs, rng.choice([0.03, 0.2, 1.0]), rng.choice([0.1, 1.0, 3.0]), rng)
            copies = Sets.rows(np.tile(graphs.truth, (len(rows), 1)).astype(int))
            won = rows @ scores[graphs.node_places] + agree @ scores[graphs.edge_places] - scores @ graphs.target
            best = (won + loss.bind(copies).values(rows.ravel())).max()
            one = DualDecomposition().prepare(loss.bind(graphs))
            begin = time.perf_counter()
            answer = one.maximize(scores)
            seconds += time.perf_counter() - begin
            assert answer.values[0] - 1e-9 <= best <= answer.bounds[0] + 1e-9
            found += answer.values[0] >= best - 1e-9
            gap = answer.bounds[0] - answer.values[0]
            met += gap < 1e-6
            gaps += gap
            branched = DualDecomposition(exact=True).prepare(loss.bind(graphs)).maximize(scores)
            closed += branched.exact[0] and abs(branched.values[0] - best) < 1e-9
        shown.append(
            (
                repr(loss),
                f"{found} of {CASES}",
                str(met),
                f"{gaps / CASES:.1e}",
                f"{1e3 * seconds / CASES:.1f}",
                str(closed),
            )
        )
    table(shown)


def large() -> None:
    shown = [("pixels", "score of a pixel", "coupling", *(f"gap {tol:g}, s" for tol in TOLERANCES), "gap left")]
    for side in (60, 200):
        row, column = np.indices((side, side))
        disk = np.ravel(np.hypot(row - side / 2, column - side / 2) < side / 4)
        graphs = Graphs(disk, np.array([0, side * side]), grid(side, side))
        for size, coupling in product((1.0, 10.0, 100.0), (0.3, 2.0)):
            scores = scored(graphs, size / side**2, coupling, np.random.default_rng(0))
            cells = []
            for tol in TOLERANCES:
                one = DualDecomposition().prepare(Jaccard().bind(graphs))
                begin = time.perf_counter()
                answer = one.maximize(scores, tol)
                cells.append(f"{time.perf_counter() - begin:.2f}")
            left = answer.bounds[0] - answer.values[0]
            shown.append((f"{side} x {side}", f"{size:g} / {side}^2", f"{coupling:g}", *cells, f"{left:.1e}"))
    table(shown)


if __name__ == "__main__":
    small()
    print()
    large()
