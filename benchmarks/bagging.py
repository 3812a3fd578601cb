"""What the bagged threshold gains over the best of all cut points, in the loss of new rows.

``python benchmarks/bagging.py [DATA [SEED ...]]``. First samples of n rows of a true logistic model in one feature.
With DATA, which holds the folders ``imbalanced`` and ``multilabel``, also the twenty tables of ``measure_tables``: six
splits for each seed, none of which is a split of that experiment. The scores are those of a tuned logistic regression
on other folds than those on which its C was chosen. Errors are standard errors, over the samples or the tables.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

import clone  # noqa: F401
from papers.experiment import Settings
from papers.measure_protocol import MEASURES, TEST_SHARE
from papers.measure_reference import DataTable, inner_folds, out_of_fold, references, scores_of
from papers.measure_tables import all_tables
from setwise.core.loss import Loss
from setwise.decisions import bagged_threshold, best_threshold
from setwise.losses import as_loss
from timing import table

LOSSES = [as_loss(name) for name in MEASURES]
SIZES, SAMPLES, NEW_ROWS = (200, 500, 2000), 200, 200_000
SPLITS, OTHER_FOLDS = 6, 1000


def gain(loss: Loss, y: np.ndarray, scores: np.ndarray, truth: np.ndarray, new: np.ndarray) -> float:
    """The loss of new rows at the best threshold, less that at the bagged one."""
    best, bagged = (choose(y, scores, loss).threshold for choose in (best_threshold, bagged_threshold))
    return loss(truth, new >= best) - loss(truth, new >= bagged)


def simulated(n: int) -> np.ndarray:
    """The gains on samples of n rows, (samples, measures)."""
    rng = np.random.default_rng(n)

    def draw(rows: int) -> tuple[np.ndarray, np.ndarray]:
        x = rng.standard_normal(rows)
        return 2 * x + rng.logistic(size=rows) > 3.5, x

    truth, new = draw(NEW_ROWS)
    samples = [draw(n) for _ in range(SAMPLES)]
    return np.array([[gain(loss, *sample, truth, new) for loss in LOSSES] for sample in samples])


def on_splits(one: DataTable, seed: int) -> Iterator[list[float]]:
    """The gains on the splits of a table, one for each measure."""
    drawn = StratifiedShuffleSplit(SPLITS, test_size=TEST_SHARE, random_state=seed)
    for k, (train, test) in enumerate(drawn.split(one.y, one.y)):
        part = DataTable(one.name, one.X[train], one.y[train])
        folds, row = inner_folds(part.y, k + OTHER_FOLDS), []
        for loss, tuned in zip(LOSSES, references("linear", part, inner_folds(part.y, k), LOSSES, k), strict=True):
            new = scores_of(tuned.fitted, one.X[test])
            row.append(gain(loss, part.y, out_of_fold(tuned.model, part, folds), one.y[test], new))
        yield row


def line(name: str, gains: np.ndarray) -> tuple[str, ...]:
    """The means with their standard errors."""
    errors = gains.std(axis=0, ddof=1) / np.sqrt(len(gains))
    return name, *(f"{mean:+.4f} ± {error:.4f}" for mean, error in zip(gains.mean(axis=0), errors, strict=True))


def main(data: Path | None, seeds: list[int]) -> None:
    """One row for each size of sample, and one for each seed of splits."""
    rows = [("gain on", *MEASURES), *(line(f"{n} rows of a logistic model", simulated(n)) for n in SIZES)]
    for seed in seeds if data else []:
        means = [np.mean(list(on_splits(one, seed)), axis=0) for one in all_tables(Settings(data=data))]
        rows.append(line(f"{len(means)} tables, splits of seed {seed}", np.array(means)))
    table(rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None, [int(seed) for seed in sys.argv[2:]] or [77, 78, 79])
