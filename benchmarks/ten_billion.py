"""What one cut of a set of ten billion rows on a hundred workers asks for, simulated.

``python benchmarks/ten_billion.py``: each of 100 places has a million different scores of float32, each of which stands
for 100 rows. What a place answers is computed for its million, and counts, sums and lists are multiplied. So questions,
rounds, bytes, the certified gap and the seconds of the process that asks are those of ten billion rows, though with
ties; the seconds of the workers are not, and are left out. ``P(y = 1) = 0.1``; *trained* scores are N(0, 1) and 0.8
higher or lower by the label, *zero* scores those of the first cut. Bytes are those of pickles; questions go to all
places, so they are sent 100 times.
"""

import argparse
import pickle
import time
from typing import Any

import numpy as np

from setwise.core.surrogate import Piece, PiecedEvaluation, PiecedEvaluator
from setwise.kernels.histograms import Histograms
from setwise.surrogates import LovaszHinge, MarginRescaling
from setwise.surrogates.pieces.bins import ends_of_keys, keys_in_bins, totals_in_bins
from setwise.surrogates.pieces.margins import bins_between, count_ties, margins_between
from timing import table

SURROGATES = {
    "Lovász hinge of Jaccard": LovaszHinge("jaccard"),
    "margin, Jaccard": MarginRescaling("jaccard", scale="size"),
    "margin, F1": MarginRescaling("f1", scale="size"),
    "margin, ROC area": MarginRescaling("auc", scale="size"),
}
HEAD = ("surrogate", "scores", "tol", "gap", "rounds", "kB to a place", "kB from a place", "s of the asking process")


def repeated(question: Any, answer: Any, times: int) -> Any:
    """The answer of a place in which each decision is there so many times."""
    kind = getattr(question, "func", question)
    if kind is ends_of_keys:
        return (answer[0] * times, *answer[1:])
    if kind is totals_in_bins:
        return (answer[0] * np.uint32(times), answer[1] * scaled(answer[1], times))
    if kind is keys_in_bins:
        return tuple(np.repeat(each, times) for each in answer)
    if kind is bins_between:
        return Histograms(answer.counts * times, answer.sums * times, answer.least, answer.most)
    if kind is margins_between:
        return [np.repeat(each, times) for each in answer]
    if kind is count_ties:
        return answer * times
    raise TypeError(f"question must be one of those that places are asked; got {kind.__name__}.")


def scaled(rest: np.ndarray, times: int) -> np.ndarray:
    """The factors of the columns after the counts: two sums, and the lowest and the highest key."""
    return np.where(np.arange(rest.shape[1]) < 2, float(times), 1.0)


def asked(evaluator: PiecedEvaluator, pieces: list[Piece], tol: float, times: int) -> tuple[Any, ...]:
    """The evaluation, rounds, kB to and from the place that has most of them, and the seconds between answers."""
    search, rounds, sent, answered, seconds = evaluator.search(tol), 0, 0.0, np.zeros(len(pieces)), 0.0
    reply: list[Any] | None = None
    while True:
        start = time.perf_counter()
        try:
            question = next(search) if reply is None else search.send(reply)
        except StopIteration as end:
            found: PiecedEvaluation = end.value
            last = len(pickle.dumps(found.gradients[0]))
            return found, rounds, (sent + last) / 1e3, answered.max() / 1e3, seconds + time.perf_counter() - start
        seconds += time.perf_counter() - start
        reply = [repeated(question, question(piece), times) for piece in pieces]
        rounds, sent = rounds + 1, sent + len(pickle.dumps(question))
        answered += [len(pickle.dumps(answer)) for answer in reply]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--places", type=int, default=100)
    parser.add_argument("--different", type=float, default=1e6, help="different scores at each place")
    parser.add_argument("--times", type=int, default=100, help="rows for which each score stands")
    given = parser.parse_args()
    size, rows = int(given.different), [HEAD]
    print(f"{given.places * size * given.times:,} rows in {given.places} places", flush=True)
    for kind in ("trained", "zero"):
        pieces = []
        for k in range(given.places):
            rng = np.random.default_rng(k)
            y = rng.random(size) < 0.1
            scores = np.zeros(size) if kind == "zero" else rng.standard_normal(size) + np.where(y, 0.8, -0.8)
            pieces.append(Piece(scores.astype(np.float32), y))
        positives = sum(int(piece.truth.sum()) for piece in pieces) * given.times
        negatives = given.places * size * given.times - positives
        for name, surrogate in SURROGATES.items():
            for tol in (1e-4, 1e-6):
                evaluator = surrogate.in_pieces(negatives, positives)
                found, rounds, sent, answered, seconds = asked(evaluator, pieces, tol, given.times)
                gap = f"{found.upper - found.value:.0e}"
                rows.append(
                    (name, kind, f"{tol:g}", gap, f"{rounds}", f"{sent:.0f}", f"{answered:.0f}", f"{seconds:.2f}")
                )
                print(*rows[-1], sep="  ", flush=True)
    print()
    table(rows)


if __name__ == "__main__":
    main()
