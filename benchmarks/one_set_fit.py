"""Training one set for Jaccard to a gap of 1e-3, d = 100 dense, and its growth with n.

``python benchmarks/one_set_fit.py [n ...]``
"""

import sys
import time

from problems import imbalanced_linear
from setwise import SetClassifier
from timing import table


def main(sizes: list[int]) -> None:
    rows = [("n", "C", "seconds", "iterations", "gap", "train Jaccard", "growth / linear")]
    SetClassifier(C=10.0).fit(*imbalanced_linear(1000))
    last: dict[float, float] = {}
    for n in sizes:
        X, y = imbalanced_linear(n)
        for C in (100.0, 10_000.0):
            seconds = []
            for _ in range(3):
                begin = time.perf_counter()
                model = SetClassifier("jaccard", "lovasz", C=C, tol=1e-3).fit(X, y)
                seconds.append(time.perf_counter() - begin)
            median = sorted(seconds)[1]
            growth = median / n / last[C] if C in last else 1.0
            last.setdefault(C, median / n)
            rows.append(
                (
                    f"{n:,}",
                    f"{C:g}",
                    f"{median:.3f}",
                    str(model.n_iter_),
                    f"{model.duality_gap_:.1e}",
                    f"{model.score(X, y):.3f}",
                    f"{growth:.2f}",
                )
            )
    table(rows)


if __name__ == "__main__":
    main([int(float(a)) for a in sys.argv[1:]] or [10_000, 50_000, 100_000, 1_000_000])
