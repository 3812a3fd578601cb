"""Piecewise linear programs beside dual decomposition, the comparison of DD section 4: ``python`` this file.

The Jaccard loss of a disk on grids, with the scores of ``dual_decomposition.py``, on one thread. On 60 x 60 pixels all
15 pieces are solved; on 200 x 200 pixels one piece, in which the answer of dual decomposition lies, and its time is
multiplied by 15. Columns: seconds, the value that was found less that of dual decomposition, and bound less value.
"""

import time
from itertools import product

import numpy as np

from dual_decomposition import grid, scored
from setwise.core.graphs import Graphs
from setwise.inference import DualDecomposition, PiecewiseLinear
from setwise.inference.piecewise_linear import PiecesOfSet
from setwise.losses import Jaccard
from timing import table

PIECES = 15


def timed(call):
    """The answer of a call, and its seconds."""
    begin = time.perf_counter()
    return call(), time.perf_counter() - begin


def one_piece(structure, scores, labels):
    """The seconds of the piece in which a labeling lies."""
    truth = structure.batch.truth
    fn, fp = int((truth & ~labels).sum()), int((~truth & labels).sum())
    pieces = PiecesOfSet(structure, PIECES)
    (piece,) = (p for p in pieces.pieces if p.low <= fn <= p.high and p.left <= fp <= p.right)
    return timed(lambda: pieces.solve(piece, scores))[1]


def main() -> None:
    # Compiled kernels are loaded here, so that no row pays for it.
    tiny = Graphs(np.arange(4) < 2, np.array([0, 4]), grid(2, 2))
    DualDecomposition().prepare(Jaccard().structure(tiny)).maximize(np.linspace(0.0, 1.0, tiny.n_scores))
    head = ("pixels", "score of a pixel", "coupling")
    shown = [
        (*head, "dual decomposition, s", "bound - value", f"{PIECES} pieces, s", "value", "bound - value", "times")
    ]
    for side in (60, 200):
        row, column = np.indices((side, side))
        disk = np.ravel(np.hypot(row - side / 2, column - side / 2) < side / 4)
        graphs = Graphs(disk, np.array([0, side * side]), grid(side, side))
        structure = Jaccard().structure(graphs)
        cases = product((1.0, 10.0, 100.0), (0.3, 2.0)) if side == 60 else [(10.0, 2.0)]
        for size, coupling in cases:
            scores = scored(graphs, size / side**2, coupling, np.random.default_rng(0))
            one = DualDecomposition().prepare(structure)
            ours, seconds = timed(lambda one=one, scores=scores: one.maximize(scores))
            left = f"{ours.bounds[0] - ours.values[0]:.1e}"
            if side == 60:
                other = PiecewiseLinear(PIECES).prepare(structure)
                theirs, theirs_seconds = timed(lambda other=other, scores=scores: other.maximize(scores))
                cells = (
                    f"{theirs_seconds:.1f}",
                    f"{theirs.values[0] - ours.values[0]:+.1e}",
                    f"{theirs.bounds[0] - theirs.values[0]:.1e}",
                )
            else:
                theirs_seconds = PIECES * one_piece(structure, scores, ours.labels)
                cells = (f"{theirs_seconds:.0f} (extrapolated from one piece)", "-", "-")
            name = (f"{side} x {side}", f"{size:g} / {side}^2", f"{coupling:g}")
            shown.append((*name, f"{seconds:.2f}", left, *cells, f"{theirs_seconds / seconds:.0f}"))
            print("  ".join(shown[-1]), flush=True)
    print()
    table(shown)


if __name__ == "__main__":
    main()
