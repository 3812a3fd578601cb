"""Messages beside dual decomposition for losses of counts, boxes and borders: ``python`` this file.

500 random 3 x 4 grids for each loss, against enumeration: couplings of .1, 1 and 3 times the scores of nodes, and three
scales of the scores. How often the best labeling is found, how often the bound meets it, and by how much the bound
exceeds it on average, in shares of the range of the loss.
"""

import time
from itertools import product

import numpy as np

from setwise.core.inference import Inference
from setwise.core.networks import Graphs
from setwise.inference import ByPieces, DualDecomposition, FactorDecomposition, HighOrderMessages, MaxFlow
from setwise.losses import MCC, BorderConvexity, BoxFullness, FBeta, GMean, Jaccard, ZeroOne
from timing import table

CASES = 500
ROWS = np.array(list(product([False, True], repeat=12)))
MESSAGES = HighOrderMessages()
BOX = np.array([0, 0, 0, 0, -1, -1, -1, 0, -1, -1, -1, 0], np.int8)
BORDER = np.array([0, 0, 0, 0, -1, 1, -1, 0, -1, -1, -1, 0], np.int8)
TRIALS = [
    (Jaccard(), None, (DualDecomposition(), MESSAGES, HighOrderMessages(damping=0.05))),
    *((loss, None, (DualDecomposition(), MESSAGES)) for loss in (FBeta(), GMean(), MCC(), ZeroOne())),
    (BoxFullness(0.6, unit="share"), BOX, (ByPieces(MaxFlow()), FactorDecomposition(), MESSAGES)),
    (BorderConvexity(0.2), BORDER, (FactorDecomposition(), MESSAGES)),
]


def grid(height: int, width: int) -> np.ndarray:
    """The edges of a grid with four neighbors."""
    at = np.arange(height * width).reshape(height, width)
    across = np.column_stack([at[:, :-1].ravel(), at[:, 1:].ravel()])
    return np.vstack([across, np.column_stack([at[:-1].ravel(), at[1:].ravel()])])


def trial(loss: object, labels: np.ndarray | None, method: Inference) -> tuple[str, ...]:
    """One row of the table."""
    rng, edges = np.random.default_rng(0), grid(3, 4)
    agree = ROWS[:, edges[:, 0]] == ROWS[:, edges[:, 1]]
    found = met = 0
    above = seconds = 0.0
    for _ in range(CASES):
        truth = rng.random(12) < 0.4
        graphs = Graphs(truth if labels is None else labels, np.array([0, 12]), edges)
        size, coupling = rng.choice([0.03, 0.2, 1.0]), rng.choice([0.1, 1.0, 3.0])
        scores = np.zeros(graphs.n_scores)
        scores[graphs.node_places] = size * (rng.standard_normal(12) + np.where(truth, 0.5, -0.5))
        scores[graphs.edge_places] = size * coupling * rng.random(len(edges))
        bound_loss = loss.bind(graphs)
        losses = bound_loss.take(np.zeros(len(ROWS), np.int64)).values(ROWS.ravel())
        won = ROWS @ scores[graphs.node_places] + agree @ scores[graphs.edge_places] - scores @ graphs.target
        best, prepared = (won + losses).max(), method.prepare(bound_loss)
        begin = time.perf_counter()
        answer = prepared.maximize(scores)
        seconds += time.perf_counter() - begin
        assert answer.values[0] - 1e-9 <= best <= answer.bounds[0] + 1e-9
        found += answer.values[0] >= best - 1e-9
        met += answer.bounds[0] - best < 1e-6
        above += (answer.bounds[0] - best) / np.ptp(losses)
    name = repr(method) if isinstance(method, HighOrderMessages) else type(method).__name__
    name = name.replace(", max_iter=50", "")
    return repr(loss), name, f"{found} of {CASES}", str(met), f"{above / CASES:.1e}", f"{1e3 * seconds / CASES:.1f}"


def main() -> None:
    shown = [("loss", "method", "best labeling found", "bound met", "bound above, mean", "ms each")]
    for loss, labels, methods in TRIALS:
        for method in methods:
            shown.append(trial(loss, labels, method))
    table(shown)


if __name__ == "__main__":
    main()
