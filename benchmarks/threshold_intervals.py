"""How often the intervals of ``bootstrap_threshold`` that are made for 90 % hold the truth.

``python benchmarks/threshold_intervals.py [TRIALS]``. Scores of positives and negatives are normal with means 1.5 and 0
and the loss XX
"""

import sys

import numpy as np
from scipy.stats import norm

from setwise.core import Sets
from setwise.decisions import bootstrap_threshold
from setwise.losses import BalancedError
from timing import table

CASES = ((60, 240), (200, 1800), (900, 2100))
SETS = (10, 20, 50, 200)
SHIFT, RESAMPLES, LEVEL = 1.5, 200, 0.9


def true_loss(threshold: float, spread: float = 1.0) -> float:
    """The balanced error of all rows that could be drawn, whose scores have this standard deviation."""
    return 0.5 * norm.cdf((threshold - SHIFT) / spread) + 0.5 * norm.sf(threshold / spread)


def main(trials: int) -> None:
    rows = [("positives", "negatives", "threshold in its interval", "loss in its interval")]
    for positives, negatives in CASES:
        rng, y, held = np.random.default_rng(positives), np.arange(positives + negatives) < positives, []
        for _ in range(trials):
            scores = rng.standard_normal(len(y)) + SHIFT * y
            found = bootstrap_threshold(y, scores, BalancedError(), RESAMPLES, LEVEL, rng)
            inside = (found.interval, SHIFT / 2), (found.loss_interval, true_loss(found.best.threshold))
            held.append([low <= truth <= high for (low, high), truth in inside])
        rows.append((f"{positives}", f"{negatives}", *(f"{share:.0%}" for share in np.mean(held, axis=0))))
    table(rows)
    print()
    rows = [("sets", "threshold in its interval", "loss in its interval")]
    for count in SETS:
        rng, held = np.random.default_rng(count), []
        y = np.tile(np.arange(50) < 25, count)
        sets = Sets(y, np.arange(0, 50 * count + 1, 50))
        for _ in range(trials):
            scores = rng.standard_normal(len(y)) + SHIFT * y + np.repeat(rng.standard_normal(count), 50)
            found = bootstrap_threshold(sets, scores, BalancedError(), RESAMPLES, LEVEL, rng)
            loss = true_loss(found.best.threshold, np.sqrt(2.0))
            inside = (found.interval, SHIFT / 2), (found.loss_interval, loss)
            held.append([low <= truth <= high for (low, high), truth in inside])
        rows.append((f"{count}", *(f"{share:.0%}" for share in np.mean(held, axis=0))))
    table(rows)


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 1000)
