"""Lovász hinge of Jaccard, value and gradient, against the plain work: ``python benchmarks/lovasz_hinge.py [p ...]``.

The limit is a plain radix sort of the packed 64-bit keys of the active margin errors, one gather and one scatter of
them; beside it ``numpy.sort`` of the same keys. The last columns sort with either method on one thread, and with the
faster one on two.
"""

import sys

import numpy as np

from limits import numpy_sort, plain_limit
from setwise.core.batch import Sets
from setwise.kernels import sorting
from setwise.kernels.threads import thread_limit
from setwise.losses import Jaccard
from setwise.surrogates import LovaszHinge
from timing import race, table


def forced(run, numpy: bool):
    """``run`` with one of the two sorts, whatever is faster here."""

    def call() -> None:
        chosen, sorting.numpy_is_faster = sorting.numpy_is_faster, lambda: numpy
        try:
            run()
        finally:
            sorting.numpy_is_faster = chosen

    return call


def main(sizes: list[int]) -> None:
    rng = np.random.default_rng(0)
    head = ("decisions", "scores", "limit, ms", "hinge, ms", "hinge / limit", "/ numpy.sort", "radix / limit")
    rows = [(*head, "numpy / limit", "two threads / limit", "speed-up when 95 % are satisfied")]
    for size in sizes:
        y = rng.random(size) < 0.3
        sign = np.where(y, 1, -1).astype(np.float32)
        margin = np.where(rng.random(size) < 0.95, 1.0 + rng.random(size), rng.random(size)).astype(np.float32)
        for kind in (np.float32, np.float64):
            scores = rng.standard_normal(size).astype(kind)
            hinge, errors = LovaszHinge(Jaccard()).on(Sets.single(y)), 1 - sign * scores

            def run(hinge=hinge, scores=scores):
                return hinge(scores)

            def two(run=run):
                with thread_limit(2):
                    run()

            satisfied = (sign * margin).astype(kind)
            times = race(
                {
                    "limit": plain_limit(errors, errors > 0),
                    "sort": numpy_sort(errors, errors > 0),
                    "hinge": run,
                    "radix": forced(run, False),
                    "numpy": forced(run, True),
                    "two": two,
                    "satisfied": lambda hinge=hinge, scores=satisfied: hinge(scores),
                },
                rounds=15 if size <= 1_000_000 else 5,
            )
            ratios = [times[a] / times[b] for a, b in (("hinge", "limit"), ("hinge", "sort"))]
            ratios += [times[name] / times["limit"] for name in ("radix", "numpy", "two")]
            ratios.append(times["hinge"] / times["satisfied"])
            shown = [f"{1e3 * times[name]:.2f}" for name in ("limit", "hinge")]
            rows.append((f"{size:,}", np.dtype(kind).name, *shown, *(f"{r:.2f}" for r in ratios)))
    table(rows)


if __name__ == "__main__":
    main([int(float(a)) for a in sys.argv[1:]] or [10_000, 100_000, 1_000_000, 10_000_000])
