"""A million rows in ten thousand bags of known counts: seconds, CPU, largest memory, and the error beside full labels.

``python benchmarks/weak_bags_scale.py [--method count_likelihood|auto] [--bags 10000] [--jobs 2]``, each in a process
of its own, as memory is the largest of the process (``VmHWM`` of Linux). Rows have 50 features, in bags of 100. A
label is drawn with log-odds that are linear in the features, with a constant of each bag that spreads the shares, so
that no model is without error. What is known of a bag is its number of positives. The error is that on 100,000 new
rows, beside logistic regression of all true labels and the rule that drew the labels, which knows no bag's constant
either.
"""

import argparse
import time
from pathlib import Path

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from setwise import WeakSetClassifier

FEATURES, SIZE, TEST = 50, 100, 100_000


def drawn(bags: int, rng: np.random.Generator, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels of bags whose features and constants are their own in part."""
    X = rng.standard_normal((bags * SIZE, FEATURES))
    X += np.repeat(0.3 * rng.standard_normal((bags, FEATURES)), SIZE, axis=0)
    odds = X @ w + np.repeat(0.5 * rng.standard_normal(bags), SIZE) - 1.0
    return X, rng.random(len(X)) < expit(odds)


def largest_memory() -> float:
    """The largest resident memory of this process so far, in GB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--method", default="count_likelihood")
    parser.add_argument("--bags", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    w = rng.standard_normal(FEATURES) / 5.0
    X, y = drawn(given.bags, rng, w)
    X_test, y_test = drawn(TEST // SIZE, rng, w)
    groups = np.repeat(np.arange(given.bags), SIZE)
    counts = np.add.reduceat(y.astype(np.int64), np.arange(0, len(y), SIZE))
    # Kernels are compiled before the clock starts.
    WeakSetClassifier(method=given.method, C=1.0, n_jobs=given.jobs).fit(
        X[:5000], groups=groups[:5000], counts=counts[:50]
    )
    before, begin, cpu = largest_memory(), time.perf_counter(), time.process_time()
    C = "auto" if given.method == "auto" else 1.0
    model = WeakSetClassifier(method=given.method, C=C, n_jobs=given.jobs).fit(X, groups=groups, counts=counts)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    print(f"{len(X):,} rows x {FEATURES} features in {given.bags:,} bags, {given.jobs} threads: {model.choice_}")
    print(f"{seconds:.1f} s, {cpu:.1f} s of CPU, {model.n_iter_} steps; {model.stop_reason_}")
    print(
        f"largest memory {largest_memory():.2f} GB; {before:.2f} GB before fit, of which X takes {X.nbytes / 1e9:.2f}"
    )
    begin = time.perf_counter()
    full = LogisticRegression(max_iter=1000).fit(X, y)
    seconds = time.perf_counter() - begin
    errors = {
        "counts of bags": (model.predict(X_test) != y_test).mean(),
        f"full labels ({seconds:.1f} s)": (full.predict(X_test) != y_test).mean(),
        "the rule itself": ((X_test @ w - 1.0 > 0) != y_test).mean(),
    }
    print("test error: " + ", ".join(f"{name} {error:.4f}" for name, error in errors.items()))


if __name__ == "__main__":
    main()
