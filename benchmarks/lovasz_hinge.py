"""Lovász hinge of Jaccard, value and gradient, against sorting the same array: ``python benchmarks/lovasz_hinge.py``.

The limit is one ``numpy.sort`` of packed 64-bit keys: order-preserving bits of the float32 margin error above, index
below.
"""

import sys

import numpy as np

from setwise.core.sets import Sets
from setwise.losses import Jaccard
from setwise.surrogates import LovaszHinge
from timing import race, table


def packed(errors: np.ndarray) -> np.ndarray:
    """Keys that sort as the float32 ``errors`` do."""
    bits = errors.view(np.uint32)
    rising = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))
    return rising.astype(np.uint64) << np.uint64(32) | np.arange(len(errors), dtype=np.uint64)


def main(sizes: list[int]) -> None:
    rng = np.random.default_rng(0)
    hinge = LovaszHinge(Jaccard())
    rows = [("decisions", "scores", "sort, ms", "hinge, ms", "hinge / sort", "speed-up when 95 % are satisfied")]
    for size in sizes:
        y = rng.random(size) < 0.3
        sign = np.where(y, 1, -1).astype(np.float32)
        scores = rng.standard_normal(size).astype(np.float32)
        margin = np.where(rng.random(size) < 0.95, 1.0 + rng.random(size), rng.random(size)).astype(np.float32)
        double = scores.astype(np.float64)
        sets, keys = Sets.single(y), packed(1 - sign * scores)
        times = race(
            {
                "sort": lambda keys=keys: np.sort(keys),
                "random": lambda sets=sets, scores=scores: hinge.batch(sets, scores),
                "satisfied": lambda sets=sets, scores=sign * margin: hinge.batch(sets, scores),
                "float64": lambda sets=sets, scores=double: hinge.batch(sets, scores),
            },
            rounds=15 if size <= 1_000_000 else 5,
        )
        for name in ("random", "float64"):
            rows.append(
                (
                    f"{size:,}",
                    "float32" if name == "random" else name,
                    f"{1e3 * times['sort']:.2f}",
                    f"{1e3 * times[name]:.2f}",
                    f"{times[name] / times['sort']:.2f}",
                    f"{times['random'] / times['satisfied']:.1f}" if name == "random" else "",
                )
            )
    table(rows)


if __name__ == "__main__":
    main([int(float(a)) for a in sys.argv[1:]] or [10_000, 100_000, 1_000_000, 10_000_000])
