"""One set in pieces against the whole set, on one thread: ``python benchmarks/pieces_lovasz.py [p ...]``.

The Lovász hinge of Jaccard and the margin rescaling of the ROC area, value and gradient: ``P(y = 1) = 0.3``, scores of
N(0, 1), plus 1 for positives. The first table has the certified gap, what the value lacks of the exact one, rounds of
questions, kB that one of 8 pieces is sent and answers, and the time of all pieces one after another divided by that of
the whole set, which is sorted by radix. The second has the gap of so many even bins, without refinement.
"""

import pickle
import sys

import numpy as np

from setwise.core.batch import Sets
from setwise.core.surrogate import Piece, PiecedEvaluation, PiecedEvaluator
from setwise.kernels.threads import thread_limit
from setwise.losses import Jaccard, RocArea
from setwise.surrogates import LovaszHinge, MarginRescaling
from setwise.surrogates.pieces.bins import BinPlan
from timing import race, table

TOLERANCES = (1e-2, 1e-4, 1e-6, 1e-8, 0.0)
N_PIECES = 8
SURROGATES = {"hinge": LovaszHinge(Jaccard()), "roc area": MarginRescaling(RocArea())}


def asked(evaluator: PiecedEvaluator, pieces: list[Piece], tol: float) -> tuple[PiecedEvaluation, int, float, float]:
    """The evaluation with its gradients; rounds, and the kB sent to and by the piece that has most of them."""
    search, rounds, sent, answered = evaluator.search(tol), 0, 0, np.zeros(len(pieces))
    try:
        question = next(search)
        while True:
            answers = [question(piece) for piece in pieces]
            rounds, sent = rounds + 1, sent + len(pickle.dumps(question))
            answered += [len(pickle.dumps(answer)) for answer in answers]
            question = search.send(answers)
    except StopIteration as end:
        return end.value, rounds, (sent + len(pickle.dumps(end.value.gradients[0]))) / 1e3, answered.max() / 1e3


def evaluate(evaluator: PiecedEvaluator, pieces: list[Piece], tol: float) -> None:
    """Value and gradient of all pieces, one after another."""
    search = evaluator.search(tol)
    try:
        question = next(search)
        while True:
            question = search.send([question(piece) for piece in pieces])
    except StopIteration as end:
        for question, piece in zip(end.value.gradients, pieces, strict=True):
            question(piece)


def problem(size: int, kind: type) -> tuple[np.ndarray, np.ndarray, list[Piece]]:
    """Labels, scores, and the pieces of the set."""
    rng = np.random.default_rng(0)
    y = rng.random(size) < 0.3
    scores = (rng.standard_normal(size) + y).astype(kind)
    return y, scores, [Piece(s, t) for s, t in zip(*(np.array_split(a, N_PIECES) for a in (scores, y)), strict=True)]


def bound(name: str, y: np.ndarray) -> PiecedEvaluator:
    """The surrogate of a set in pieces."""
    return SURROGATES[name].in_pieces(int((~y).sum()), int(y.sum()))


def compared(name: str, size: int, kind: type) -> list[tuple[str, ...]]:
    """The rows of one surrogate of one set: one for each tolerance."""
    y, scores, pieces = problem(size, kind)
    whole, parts, rows = SURROGATES[name].on(Sets.single(y)), bound(name, y), []
    with thread_limit(1):
        runs = {tol: lambda tol=tol: evaluate(parts, pieces, tol) for tol in TOLERANCES}
        times = race({"whole": lambda: whole(scores), **runs}, rounds=5)
    truth = whole(scores).values[0]
    for tol in TOLERANCES:
        found, rounds, sent, answered = asked(parts, pieces, tol)
        gaps = (f"{found.upper - found.value:.1e}", f"{truth - found.value:.1e}", f"{rounds}")
        seconds = (f"{times['whole']:.3f}", f"{times[tol] / times['whole']:.2f}")
        head = (name, f"{size:,}", np.dtype(kind).name, f"{tol:g}")
        rows.append((*head, *gaps, f"{sent:.0f}", f"{answered:.0f}", *seconds))
    return rows


def even(name: str, size: int) -> list[tuple[str, ...]]:
    """The rows of one surrogate in so many even bins."""
    y, scores, pieces = problem(size, np.float32)
    truth, rows = SURROGATES[name](y, scores).value, []
    for bins in (256, 512, 1024, 2048, 4096, 8192):
        parts = bound(name, y)
        parts.plan = BinPlan(bins=bins)
        found, _, sent, answered = asked(parts, pieces, np.inf)
        gaps = (f"{found.upper - found.value:.1e}", f"{truth - found.value:.1e}")
        rows.append((name, f"{size:,}", f"{bins:,}", *gaps, f"{sent:.0f}", f"{answered:.0f}"))
    return rows


def main(sizes: list[int]) -> None:
    head = ("surrogate", "decisions", "scores", "tol", "gap", "lacks", "rounds", "kB sent", "answered", "whole, s")
    rows = [(*head, "pieces / whole")]
    for size in sizes:
        rows += [row for kind in (np.float32, np.float64) for name in SURROGATES for row in compared(name, size, kind)]
    table(rows)
    print()
    rows = [("surrogate", "decisions", "bins", "gap", "lacks", "kB sent", "answered")]
    table(rows + [row for name in SURROGATES for row in even(name, sizes[-1])])


if __name__ == "__main__":
    main([int(float(a)) for a in sys.argv[1:]] or [1_000_000, 10_000_000])
