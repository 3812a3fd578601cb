"""All 2p max-marginals of the Jaccard factor, and the argmax for Jaccard and F1.

``python benchmarks/max_marginals.py [p ...]``. HOL's implementation was reported to take 0.03, 0.32, 3.3 and 34.5 s
for 10k, 100k, 1M and 10M variables, on other hardware: its figures stand beside ours for scale. The limit is the plain
work: a radix sort of the packed 64-bit keys of the decisions that must be ranked, one gather and one scatter of them,
and, since all p decisions have an answer, one writing of 2p numbers.
"""

import sys
import tracemalloc

import numpy as np

from limits import numpy_sort, plain_limit
from setwise.core.batch import Sets
from setwise.inference import CountSearch
from setwise.inference.count_objective import RankedMargins
from setwise.losses import FBeta, Jaccard
from timing import race, table

PUBLISHED = {10_000: 0.03, 100_000: 0.32, 1_000_000: 3.3, 10_000_000: 34.5}


def peak_arrays(run, p: int) -> float:
    """Peak of what ``run`` allocates, in arrays of p float64."""
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (8 * p)


def score_kinds(y: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Scores of the truth's own shape, from the hardest: where every decision must be ranked, all are sorted."""
    p = len(y)
    margins = 0.9 * rng.random(p) / y.sum()
    return {
        "all ranked": np.where(y, margins, -margins).astype(np.float32),
        "normal / p": (rng.standard_normal(p) / p).astype(np.float32),
        "normal": rng.standard_normal(p).astype(np.float32),
    }


def main(sizes: list[int]) -> None:
    rng = np.random.default_rng(0)
    head = ("variables", "scores", "limit, s", "marginals, s", "/ limit", "/ numpy.sort", "HOL, s", "peak, arrays of p")
    rows = [(*head, "Jaccard argmax, s", "F1 argmax / Jaccard's", "growth / p log p")]
    first: dict[str, float] = {}
    for p in sizes:
        y = rng.random(p) < 0.3
        for kind, scores in score_kinds(y, rng).items():
            times, peak = measure(Sets.single(y), scores)
            unit = times["marginals"] / (p * np.log(p))
            rows.append(
                (
                    f"{p:,}",
                    kind,
                    f"{times['limit']:.5f}",
                    f"{times['marginals']:.5f}",
                    f"{times['marginals'] / times['limit']:.2f}",
                    f"{times['marginals'] / times['sort']:.2f}",
                    str(PUBLISHED.get(p, "")),
                    f"{peak:.1f}",
                    f"{times['jaccard']:.5f}",
                    f"{times['f1'] / times['jaccard']:.2f}",
                    f"{unit / first.setdefault(kind, unit):.2f}",
                )
            )
    table(rows)


def measure(sets: Sets, scores: np.ndarray) -> tuple[dict[str, float], float]:
    """Seconds of the limit and of each search, and the peak memory of the marginals."""
    p = sets.total
    jaccard, f1 = (CountSearch().prepare(loss.bind(sets)) for loss in (Jaccard(), FBeta()))
    ranked = np.zeros(p, dtype=bool)
    ranked[in_question(sets, scores)] = True
    plain = plain_limit(scores, ranked)

    def limit() -> None:
        plain()
        np.empty((p, 2)).fill(0.0)

    runs = {
        "limit": limit,
        "sort": numpy_sort(scores, ranked),
        "marginals": lambda: jaccard.max_marginals(scores),
        "jaccard": lambda: jaccard.maximize(scores),
        "f1": lambda: f1.maximize(scores),
    }
    return race(runs, rounds=11 if p <= 1_000_000 else 5), peak_arrays(runs["marginals"], p)


def in_question(sets: Sets, scores: np.ndarray) -> np.ndarray:
    """Places of the decisions that the max-marginals of Jaccard rank."""
    seen = []
    keep = RankedMargins.__init__
    RankedMargins.__init__ = lambda self, *a, **k: seen.append(self) or keep(self, *a, **k)
    try:
        CountSearch().prepare(Jaccard().bind(sets)).max_marginals(scores)
    finally:
        RankedMargins.__init__ = keep
    return (seen[-1].keys & np.uint64(0xFFFFFFFF)) >> np.uint64(1)


if __name__ == "__main__":
    main([int(float(a)) for a in sys.argv[1:]] or [10_000, 100_000, 1_000_000, 10_000_000])
