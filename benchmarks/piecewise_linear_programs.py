"""Piecewise linear programs beside dual decomposition, the comparison of DD section 4: ``python`` this file.

The Jaccard loss with the random scores of ``dual_decomposition.py``, in three sizes relative to the number of nodes and
two couplings, on one thread.

*Grids.* A disk. On 60 x 60 pixels all 15 pieces are solved; on 200 x 200 pixels one piece, in which the answer of dual
decomposition lies, and its time is multiplied by 15.

*Superpixels.* All images are one set, and all 15 pieces are solved. With the folder of data in SETWISE_DATA these are
the superpixels of ``papers.dd_superpixels`` and the cows of MSRC: the first ten images with a cow, and all 591 images.
Else they are generated, 10 and 40 images. ``PiecewiseLinearPrograms`` refuses areas, so each superpixel counts as one
here, for both methods.

``python benchmarks/piecewise_linear_programs.py superpixels`` leaves the grids out, and ``grids`` the superpixels.
Columns: seconds, bound less value of dual decomposition, and of the pieces also the value less that of dual
decomposition.
"""

import os
import sys
import time
from itertools import product
from pathlib import Path

import numpy as np

import clone  # noqa: F401
from dual_decomposition import grid, scored
from papers.dd_superpixels import CLASSES, described
from papers.hol_images import MSRC_FOLDERS
from papers.superpixels import SuperpixelImages, generated_part
from setwise.core.networks import Graphs
from setwise.datasets import load_labeled_images
from setwise.inference import DualDecomposition, PiecewiseLinearPrograms
from setwise.inference.piecewise_linear_programs import PiecesOfSet
from setwise.losses import Jaccard
from timing import table

PIECES = 15
CASES = tuple(product((1.0, 10.0, 100.0), (0.3, 2.0)))
"""The size of the score of a node, times the number of nodes, and that of an edge relative to it."""


def timed(call):
    """The answer of a call, and its seconds."""
    begin = time.perf_counter()
    return call(), time.perf_counter() - begin


def one_piece(bound_loss, scores, labels):
    """The seconds of the piece in which a labeling lies."""
    truth = bound_loss.batch.truth
    fn, fp = int((truth & ~labels).sum()), int((~truth & labels).sum())
    pieces = PiecesOfSet(bound_loss, PIECES)
    (piece,) = (p for p in pieces.pieces if p.low <= fn <= p.high and p.left <= fp <= p.right)
    return timed(lambda: pieces.solve(piece, scores))[1]


def disk(side):
    """A square grid with a disk."""
    row, column = np.indices((side, side))
    inside = np.ravel(np.hypot(row - side / 2, column - side / 2) < side / 4)
    return Graphs(inside, np.array([0, side * side]), grid(side, side))


def joined(part):
    """The superpixels of all images of a part as one set in which each counts as one."""
    labels = np.concatenate(part.labels) == 1
    starts = np.cumsum([0, *(len(graph) for graph in part.graphs)])
    edges = np.concatenate([one.edges + start for one, start in zip(part.graphs, starts, strict=False)])
    return Graphs(labels, np.array([0, len(labels)]), edges)


def superpixels():
    """Names of sets of images, and their graphs."""
    data = os.environ.get("SETWISE_DATA")
    if data is None:
        for n in (10, 40):
            yield f"{n} generated images", joined(generated_part(n, np.random.default_rng(0)))
        return
    place = Path(data) / "msrc_v2"
    whole = load_labeled_images(*(place / name for name in MSRC_FOLDERS))
    number = CLASSES["cow"]
    shows = np.flatnonzero([(one == number).any() for one in whole.labels])
    for name, chosen in (("ten images with a cow", shows[:10]), ("all images", np.arange(len(whole)))):
        images = whole.take(chosen)
        part = SuperpixelImages.of(described(images), [one == number for one in images.labels])
        yield name, joined(part)


def row_of(name, graphs, size, coupling, whole=True):
    """The cells of one instance; all pieces are solved if it is whole."""
    bound_loss = Jaccard().bind(graphs)
    scores = scored(graphs, size / graphs.total, coupling, np.random.default_rng(0))
    one = DualDecomposition().prepare(bound_loss)
    ours, seconds = timed(lambda: one.maximize(scores))
    left = f"{ours.bounds[0] - ours.values[0]:.1e}"
    if whole:
        other = PiecewiseLinearPrograms(PIECES).prepare(bound_loss)
        theirs, theirs_seconds = timed(lambda: other.maximize(scores))
        cells = (
            f"{theirs_seconds:.2f}",
            f"{theirs.values[0] - ours.values[0]:+.1e}",
            f"{theirs.bounds[0] - theirs.values[0]:.1e}",
        )
    else:
        theirs_seconds = PIECES * one_piece(bound_loss, scores, ours.labels)
        cells = (f"{theirs_seconds:.0f} (extrapolated from one piece)", "-", "-")
    head = (name, str(graphs.total), str(int(graphs.truth.sum())), f"{size:g} / nodes", f"{coupling:g}")
    row = (*head, f"{seconds:.3f}", left, *cells, f"{theirs_seconds / seconds:.0f}")
    print("  ".join(row), flush=True)
    return row


def main(parts) -> None:
    # Compiled kernels are loaded here, so that no row pays for it.
    tiny = Graphs(np.arange(4) < 2, np.array([0, 4]), grid(2, 2))
    DualDecomposition().prepare(Jaccard().bind(tiny)).maximize(np.linspace(0.0, 1.0, tiny.n_scores))
    head = ("set", "nodes", "positive", "score of a node", "coupling", "dual decomposition, s", "bound - value")
    shown = [(*head, f"{PIECES} pieces, s", "value", "bound - value", "times")]
    if "grids" in parts:
        shown += [row_of("60 x 60 pixels", disk(60), *case) for case in CASES]
        shown.append(row_of("200 x 200 pixels", disk(200), 10.0, 2.0, whole=False))
    if "superpixels" in parts:
        shown += [row_of(name, graphs, *case) for name, graphs in superpixels() for case in CASES]
    print()
    table(shown)


if __name__ == "__main__":
    main(sys.argv[1:] or ("grids", "superpixels"))
