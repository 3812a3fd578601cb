"""One very large set in one place, from histograms of its pieces or with a sort.

``python benchmarks/large_sets.py [p ...]``: value and gradient of float32 and float64 scores, ``P(y = 1) = 0.1``.
*Random* scores are N(0, 1); *trained* ones are 0.8 higher or lower by the label; *zero* scores are those of the first
cut of a fit. The columns are the seconds of the evaluator that sorts, on one thread, and those of the pieces to a
certified gap over them, on one thread and on two. ``setwise.surrogates.pieces.lovasz.LARGE`` is the size from
which on pieces are taken; here they always are.
"""

import argparse

import numpy as np

from setwise.core.batch import Sets
from setwise.kernels.threads import thread_limit
from setwise.surrogates import LovaszHinge, MarginRescaling
from setwise.surrogates.pieces import lovasz
from timing import race, table

SURROGATES = {
    "Lovász hinge of Jaccard": LovaszHinge("jaccard"),
    "margin, Jaccard": MarginRescaling("jaccard", scale="size"),
    "margin, F1": MarginRescaling("f1", scale="size"),
    "margin, ROC area": MarginRescaling("auc", scale="size"),
}
GAPS = (1e-4, 1e-6)
HEAD = ("surrogate", "decisions", "dtype", "scores", "sort, s", *(f"{gap:g}, {n}" for gap in GAPS for n in (1, 2)))


def compared(name: str, size: int, kind: str, dtype: str) -> tuple[str, ...]:
    """One row of the table."""
    rng = np.random.default_rng(0)
    y = rng.random(size) < 0.1
    scores = np.zeros(size) if kind == "zero" else rng.standard_normal(size)
    if kind == "trained":
        scores += np.where(y, 0.8, -0.8)
    scores = scores.astype(dtype)
    found = SURROGATES[name].on(Sets.single(y))
    assert isinstance(found, lovasz.LargeSet)

    def run(gap: float, threads: int) -> None:
        with thread_limit(threads):
            found(scores, gap)

    candidates = {"sort": lambda: found.whole(scores)}
    candidates |= {f"{gap:g}, {n}": lambda gap=gap, n=n: run(gap, n) for gap in GAPS for n in (1, 2)}
    times = race(candidates, rounds=5 if size <= 10_000_000 else 2)
    ratios = [f"{times[each] / times['sort']:.2f}" for each in candidates if each != "sort"]
    return name, f"{size:,}", dtype, kind, f"{times['sort']:.3f}", *ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", nargs="*", type=lambda text: int(float(text)), default=[1_000_000, 10_000_000])
    given = parser.parse_args()
    lovasz.LARGE = 1
    rows = [HEAD]
    for size in given.sizes:
        for name in SURROGATES:
            for dtype in ("float32", "float64"):
                for kind in ("random", "trained", "zero"):
                    rows.append(compared(name, size, kind, dtype))
                    print(*rows[-1], sep="  ", flush=True)
    print()
    table(rows)


if __name__ == "__main__":
    main()
