"""How often ``WeakSetClassifier`` warns that bags show no signal, where there is none and where there is one.

``python benchmarks/naive_bags.py [TIMES]``. Generated rows have three features that say nothing, in 6 or 30 bags of 20
or 100 rows of which a share of .1, .3 or .5 is positive. The two data sets of scikit-learn are put into bags at random,
with their counts known; what is left over is left out. Each generated case is drawn ``TIMES`` times, five unless said
otherwise, and each real one twice as often.
"""

import sys
import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import StandardScaler

from setwise import WeakSetClassifier
from timing import table

WORDS = "the bags show no signal"


def warned(X: np.ndarray, y: np.ndarray, size: int) -> bool:
    """Whether the fit to bags of ``size`` neighboring rows says that they show no signal."""
    groups = np.arange(len(y)) // size
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        WeakSetClassifier().fit(X, groups=groups, counts=np.bincount(groups, y).astype(int))
    return any(WORDS in str(one.message) for one in caught)


def without(times: int) -> Iterator[bool]:
    """Features that say nothing."""
    for number, size, share in ((n, s, q) for n in (6, 30) for s in (20, 100) for q in (0.1, 0.3, 0.5)):
        for seed in range(times):
            rng = np.random.default_rng([number, size, round(10 * share), seed])
            yield warned(rng.standard_normal((number * size, 3)), rng.random(number * size) < share, size)


def shuffled(X: np.ndarray, y: np.ndarray, size: int, times: int) -> Iterator[bool]:
    """Rows in bags at random."""
    for seed in range(times):
        order = np.random.default_rng(seed).permutation(len(y))[: len(y) // size * size]
        yield warned(X[order], y[order], size)


def main(times: int) -> None:
    """One row for each case."""
    rows = [("data", "warned", "of")]

    def note(name: str, outcomes: Iterator[bool]) -> None:
        seen = list(outcomes)
        rows.append((name, f"{sum(seen)}", f"{len(seen)}"))

    note("no signal", without(times))
    for name, data in (("cancer", load_breast_cancer), ("digits, even or odd", load_digits)):
        X, y = data(return_X_y=True)
        for size in (16, 64):
            bags = f"{name}, {len(y) // size} bags of {size}"
            note(bags, shuffled(StandardScaler().fit_transform(X), y % 2, size, 2 * times))
    table(rows)


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 5)
