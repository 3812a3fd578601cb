"""All 2p max-marginals of the Jaccard factor, and the argmax for Jaccard and F1.

``python benchmarks/max_marginals.py [p ...]``. HOL's implementation was reported to take 0.03, 0.32, 3.3 and 34.5 s
for 10k, 100k, 1M and 10M variables, on other hardware: its figures stand beside ours for scale. The limit is one
``numpy.sort`` of packed 64-bit keys of the float32 scores.
"""

import sys
import tracemalloc

import numpy as np
from setwise.inference.counts.max_marginals import batch_max_marginals

from setwise.core.inference import Problem
from setwise.core.sets import Sets
from setwise.inference import CountSearch
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
    """Scores of the truth's own shape, from the hardest: where every decision is in doubt, all of them are sorted."""
    p = len(y)
    margins = 0.9 * rng.random(p) / y.sum()
    return {
        "all in doubt": np.where(y, margins, -margins).astype(np.float32),
        "normal / p": (rng.standard_normal(p) / p).astype(np.float32),
        "normal": rng.standard_normal(p).astype(np.float32),
    }


def main(sizes: list[int]) -> None:
    rng = np.random.default_rng(0)
    head = ("variables", "scores", "sort, s", "marginals, s", "/ sort", "HOL, s", "peak, arrays of p")
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
                    f"{times['sort']:.5f}",
                    f"{times['marginals']:.5f}",
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
    """Seconds of the sort and of each search, and the peak memory of the marginals."""
    p = sets.total
    keys = scores.view(np.uint32).astype(np.uint64) << np.uint64(32) | np.arange(p, dtype=np.uint64)
    jaccard, f1 = Problem(Jaccard(), sets, scores), Problem(FBeta(), sets, scores)
    runs = {
        "sort": lambda: np.sort(keys),
        "marginals": lambda: batch_max_marginals(Jaccard(), sets, scores),
        "jaccard": lambda: CountSearch().maximize(jaccard),
        "f1": lambda: CountSearch().maximize(f1),
    }
    return race(runs, rounds=11 if p <= 1_000_000 else 5), peak_arrays(runs["marginals"], p)


if __name__ == "__main__":
    main([int(float(a)) for a in sys.argv[1:]] or [10_000, 100_000, 1_000_000, 10_000_000])
