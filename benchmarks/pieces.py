"""Margin rescaling of sets in pieces against a sort of all: ``python benchmarks/pieces.py [--loss NAME] [p ...]``.

Value and gradient, one thread, ``P(y = 1) = 0.1``, scale ``"size"``. *Random* scores are N(0, 1); *trained* ones are
0.8 higher or lower by the label; *zero* scores are those of the first cut of a fit. ``gap`` is the certified one, and
``lacks`` what the value lacks of the exact one. Rounds are questions to all pieces, kB the answers of one of 8 pieces.
The last columns are the seconds of the whole set, and those of one piece and of 8 pieces in turn, over them.
"""

import argparse
import pickle

import numpy as np

from setwise.core.batch import Sets
from setwise.core.surrogate import Piece, PiecedEvaluation, PiecedEvaluator, evaluated
from setwise.kernels.threads import thread_limit
from setwise.losses import as_loss
from setwise.surrogates import MarginRescaling
from timing import race, table

TOLERANCES = (1e-3, 1e-6, 0.0)
HEAD = ("loss", "decisions", "scores", "tol", "gap", "lacks", "rounds", "kB", "whole, s", "one piece", "8 pieces")


def asked(evaluator: PiecedEvaluator, pieces: list[Piece], tol: float) -> tuple[PiecedEvaluation, int, float]:
    """The evaluation, the number of rounds, and the most kB that a piece answers."""
    search, rounds, sizes = evaluator.search(tol), 0, np.zeros(len(pieces))
    try:
        question = next(search)
        while True:
            answers = [question(piece) for piece in pieces]
            rounds, sizes = rounds + 1, sizes + [len(pickle.dumps(answer)) for answer in answers]
            question = search.send(answers)
    except StopIteration as end:
        return end.value, rounds, float(sizes.max()) / 1e3


def evaluate(evaluator: PiecedEvaluator, pieces: list[Piece], tol: float) -> None:
    """Value and gradient of all pieces, one after another."""
    found = evaluated(evaluator, pieces, tol)
    for question, piece in zip(found.gradients, pieces, strict=True):
        question(piece)


def compared(name: str, size: int, kind: str) -> list[tuple[str, ...]]:
    """The rows of one loss and one set: one for each tolerance."""
    rng = np.random.default_rng(0)
    y = rng.random(size) < 0.1
    scores = np.zeros(size) if kind == "zero" else rng.standard_normal(size)
    if kind == "trained":
        scores += np.where(y, 0.8, -0.8)
    one, many = (
        [Piece(*part) for part in zip(*(np.array_split(a, n) for a in (scores, y)), strict=True)] for n in (1, 8)
    )
    surrogate = MarginRescaling(as_loss(name), scale="size")
    parts, whole = surrogate.in_pieces(int((~y).sum()), int(y.sum())), surrogate.on(Sets.single(y))
    runs = {"whole": lambda: whole(scores)}
    for tol in TOLERANCES:
        runs[f"one {tol}"] = lambda tol=tol: evaluate(parts, one, tol)
        runs[f"many {tol}"] = lambda tol=tol: evaluate(parts, many, tol)
    with thread_limit(1):
        times = race(runs, rounds=9 if size <= 1_000_000 else 3)
        truth = float(whole(scores).values[0])
    rows = []
    for tol in TOLERANCES:
        found, rounds, size_kb = asked(parts, many, tol)
        gaps = (
            f"{found.upper - found.value:.0e}",
            f"{max(truth - found.value, 0.0):.0e}",
            f"{rounds}",
            f"{size_kb:.0f}",
        )
        ratios = [f"{times[f'{n} {tol}'] / times['whole']:.2f}" for n in ("one", "many")]
        rows.append((name, f"{size:,}", kind, f"{tol:g}", *gaps, f"{times['whole']:.3f}", *ratios))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--loss", action="append", help="the name of a loss; may be repeated")
    parser.add_argument("sizes", nargs="*", type=lambda text: int(float(text)), default=[1_000_000, 10_000_000])
    given = parser.parse_args()
    rows = [HEAD]
    for size in given.sizes:
        for name in given.loss or ["jaccard", "f1", "error_rate", "mcc"]:
            for kind in ("random", "trained", "zero"):
                rows += compared(name, size, kind)
    table(rows)


if __name__ == "__main__":
    main()
