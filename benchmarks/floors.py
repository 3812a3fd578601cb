"""How often a floor of recall or precision that was met by choosing a threshold holds on new rows.

``python benchmarks/floors.py [TRIALS]``. Each trial draws 100 positive and 900 negative rows, whose scores are normal
with means 1.5 and 0, and chooses a threshold of them for a recall of 0.9 or a precision of 0.5, with and without a
confidence of 0.95. What holds is known without new rows: recall and precision of the threshold under the two normal
distributions. Trials in which no threshold meets the floor are counted, and left out of the share.
"""

import sys

import numpy as np
from scipy.stats import norm

from setwise.decisions import UnmetFloor, precision_at_recall, recall_at_precision
from timing import table

POSITIVES, NEGATIVES, SHIFT = 100, 900, 1.5
FLOORS = {"recall": (precision_at_recall, 0.9), "precision": (recall_at_precision, 0.5)}


def true_rate(name: str, threshold: float) -> float:
    """Recall or precision of all rows that could be drawn."""
    found, false = (n * norm.sf(threshold - mean) for n, mean in ((POSITIVES, SHIFT), (NEGATIVES, 0.0)))
    return found / POSITIVES if name == "recall" else found / (found + false)


def main(trials: int) -> None:
    rng, y = np.random.default_rng(0), np.arange(POSITIVES + NEGATIVES) < POSITIVES
    held: dict[tuple[str, float, float | None], list[bool]] = {
        (name, floor, sure): [] for name, (_, floor) in FLOORS.items() for sure in (None, 0.95)
    }
    for _ in range(trials):
        scores = rng.standard_normal(len(y)) + SHIFT * y
        for (name, floor, sure), outcomes in held.items():
            try:
                point = FLOORS[name][0](y, scores, floor, confidence=sure)
            except UnmetFloor:
                continue
            outcomes.append(true_rate(name, point.threshold) >= floor)
    rows = [("floor", "confidence", "holds on new rows", "trials with a threshold")]
    for (name, floor, sure), outcomes in held.items():
        rows.append((f"{name} of {floor}", f"{sure or 'none'}", f"{np.mean(outcomes):.1%}", f"{len(outcomes):,}"))
    table(rows)


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 1000)
