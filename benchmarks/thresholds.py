"""The best threshold of scores against ``numpy.sort`` of the same scores, on one thread.

``python benchmarks/thresholds.py [p ...]``. For one set of p decisions, for rows of ten as sets, and for a matrix of
p / 10 rows and ten columns. ``scikit-learn`` is its precision-recall curve, which holds the F1 of all thresholds. The
last table is one bootstrap resample beside the whole search.
"""

import sys

import numpy as np
from sklearn.metrics import precision_recall_curve

from setwise.core.batch import Sets
from setwise.decisions import best_threshold, bootstrap_threshold, label_thresholds
from timing import race, table

RESAMPLES = 20


def main(sizes: list[int]) -> None:
    rng = np.random.default_rng(0)
    rows = [("decisions", "what", "seconds", "/ numpy.sort", "/ scikit-learn")]
    for p in sizes:
        y = rng.random(p) < 0.1
        scores = rng.standard_normal(p) + 1.5 * y
        Y, S = y.reshape(-1, 10), scores.reshape(-1, 10)
        sets = Sets.rows(Y)
        runs = {
            "numpy.sort": lambda s=scores: np.sort(s),
            "scikit-learn": lambda y=y, s=scores: precision_recall_curve(y, s),
            "one set, F1": lambda y=y, s=scores: best_threshold(y, s, "f1"),
            "one set, MCC": lambda y=y, s=scores: best_threshold(y, s, "mcc"),
            "sets of ten, F1": lambda y=sets, s=scores: best_threshold(y, s, "f1"),
            "columns, macro F1": lambda y=Y, s=S: label_thresholds(y, s, "f1", "macro", shrinkage=0.0),
            "columns, micro F1": lambda y=Y, s=S: label_thresholds(y, s, "f1", "micro"),
            "columns, F1 of rows": lambda y=Y, s=S: label_thresholds(y, s, "f1", "samples"),
            "resample": lambda y=y, s=scores: bootstrap_threshold(y, s, "f1", RESAMPLES, random_state=0),
        }
        times = race(runs, rounds=7 if p <= 1_000_000 else 3)
        times["resample"] = (times["resample"] - times["one set, F1"]) / RESAMPLES
        for name, seconds in times.items():
            shares = (f"{seconds / times[peer]:.2f}" for peer in ("numpy.sort", "scikit-learn"))
            rows.append((f"{p:,}", name, f"{seconds:.5f}", *shares))
    table(rows)


if __name__ == "__main__":
    main([int(float(a)) for a in sys.argv[1:]] or [1_000, 100_000, 1_000_000])
