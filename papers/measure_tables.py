"""Is the choice of MeasureClassifier, or a set surrogate, ever worse than a tuned threshold on a table?

The protocol is in ``measure_protocol``, which was fixed before the first result, and the reference in
``measure_reference``. Every cell is printed, also those that are lost.
"""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from papers.experiment import Advance, Experiment, Outcome, Settings, need_data
from papers.experiment import Table as ResultTable
from papers.measure_protocol import (
    BASES,
    FLOOR,
    GRID,
    LABELS,
    LEVEL,
    MEASURES,
    SEED,
    SPLITS,
    TABLES,
    TEST_SHARE,
)
from papers.measure_reference import (
    DataTable,
    Folds,
    ThresholdClassifier,
    holm,
    inner_folds,
    over_splits,
    p_below,
    read_label,
    read_table,
    references,
)
from papers.problems import digits
from setwise.compare.answer import PairedDifference
from setwise.compare.problem import breast_cancer
from setwise.core.checks import Bools, Values
from setwise.core.loss import Loss
from setwise.estimators import SetClassifier, SetClassifierCV
from setwise.estimators.selection import STRATEGIES, as_strategies
from setwise.estimators.selection.choice import choose
from setwise.estimators.selection.out_of_fold import OutOfFoldBase
from setwise.estimators.selection.problem import problem_of
from setwise.losses import as_loss

NAME = "measure_tables"

CHOICE, SURROGATE, DEFAULTS = "MeasureClassifier", "SetClassifierCV", "SetClassifier with its defaults"
METHODS = (*((CHOICE, base) for base in BASES), (SURROGATE, "linear"), (DEFAULTS, "linear"))
"""What is compared with the reference of the base model."""


TOL = 1e-2
"""The relative gap at which fits of SetClassifier end; a smaller one takes several times as long."""

QUICK_ROWS, QUICK_MEASURES = 120, ("f1",)
"""The number of rows of each table in the quick version, and its measure."""


@final
@dataclass(frozen=True, eq=False)
class Split:
    """The losses on one test part: of the references and of our methods, (methods, measures) each.

    ``constant`` counts predictions of one label where the reference predicts two, ``strategies`` are those that were
    chosen.
    """

    reference: Values
    ours: Values
    constant: NDArray[np.int64]
    strategies: list[list[str]]


def run(settings: Settings, advance: Advance) -> Outcome:
    """Ten splits of twenty tables; the quick version has two of the first rows of two of scikit-learn's tables."""
    tables = list(all_tables(settings))
    splits = 2 if settings.quick else SPLITS
    measures = QUICK_MEASURES if settings.quick else MEASURES
    results = over_splits(tables, splits, partial(one_split, measures=measures), advance)
    shape = (len(tables), splits, len(METHODS), len(measures))
    reference = np.array([r.reference for r in results]).reshape(shape)
    ours = np.array([r.ours for r in results]).reshape(shape)
    constant = np.array([r.constant for r in results]).reshape(shape)
    names = tuple(table.name for table in tables)
    chosen = [r.strategies for r in results]
    return _outcome(names, reference - ours, reference, constant, chosen, measures)


def one_split(table: DataTable, k: int, splits: int, measures: Sequence[str]) -> Split:
    """Everything on split ``k`` of a table."""
    drawn = StratifiedShuffleSplit(splits, test_size=TEST_SHARE, random_state=SEED)
    part, held = map(table.take, table.splits(drawn)[k])
    losses = [as_loss(name) for name in measures]
    folds = inner_folds(part, k)
    tuned = {base: references(base, part, folds, losses, k) for base in BASES}
    rows = [_by_choice(tuned[base], part, held, folds, losses, k) for base in BASES]
    rows.append(_by_surrogate(tuned["linear"], part, held, folds, losses))
    rows.append(_by_defaults(tuned["linear"], part, held, losses))
    reference, ours, constant = (np.array([[cell[i] for cell in row] for row in rows]) for i in range(3))
    return Split(reference, ours, constant, [[cell[3] for cell in row] for row in rows])


Cell = tuple[float, float, int, str]
"""The losses of the reference and of our method, whether ours alone is constant, and what was chosen."""


def _by_choice(
    tuned: Sequence[ThresholdClassifier], part: DataTable, held: DataTable, folds: Folds, losses: Sequence[Loss], k: int
) -> list[Cell]:
    """MeasureClassifier for each measure, over the model and the folds of the reference."""
    shared: dict[int, OutOfFoldBase] = {}
    cells = []
    for loss, reference in zip(losses, tuned, strict=True):
        problem = problem_of(part.X, part.y, loss)
        # Models are compared by identity: measures that chose the same C share its fits.
        if id(reference.model) not in shared:
            shared[id(reference.model)] = problem.out_of_fold(reference.model, tuple(folds))
        models = shared[id(reference.model)]
        choice = choose({"": models}, problem.task, as_strategies("auto"), reference=STRATEGIES["threshold"](), seed=k)
        labels = choice.rule.labels(models.fresh(held.X))
        cells.append((*_judged(held.y, reference, labels, loss, held.X), choice.chosen.strategy))
    return cells


def _by_surrogate(
    tuned: Sequence[ThresholdClassifier], part: DataTable, held: DataTable, folds: Folds, losses: Sequence[Loss]
) -> list[Cell]:
    """``SetClassifierCV`` with ``surrogate="auto"`` for each measure; its C is chosen on the folds of the reference.

    The constants of the grid count single decisions, and the whole part is one set, so C is n times as large.
    """
    cells = []
    for loss, reference in zip(losses, tuned, strict=True):
        model = SetClassifierCV(
            SetClassifier(loss, "auto", tol=TOL, threshold="exact"), np.array(GRID) * len(part.y), folds
        )
        fitted = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), model)
        with warnings.catch_warnings():
            # A fit that ends before its gap is closed is judged like any other.
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted.fit(part.X, part.y)
        chosen = model.estimator_.surrogate_ if model.C_ else "logistic start"
        cells.append((*_judged(held.y, reference, fitted.predict(held.X), loss, held.X), chosen))
    return cells


def _by_defaults(
    tuned: Sequence[ThresholdClassifier], part: DataTable, held: DataTable, losses: Sequence[Loss]
) -> list[Cell]:
    """``SetClassifier(loss)`` for each measure, which chooses nothing on folds but its logistic start."""
    cells = []
    for loss, reference in zip(losses, tuned, strict=True):
        model = SetClassifier(loss)
        fitted = make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), model)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted.fit(part.X, part.y)
        cells.append((*_judged(held.y, reference, fitted.predict(held.X), loss, held.X), model.surrogate_))
    return cells


def _judged(y: Bools, reference: ThresholdClassifier, labels: Bools, loss: Loss, X: Any) -> tuple[float, float, int]:
    usual = reference.labels(X)
    constant = len(np.unique(labels)) == 1 < len(np.unique(usual))
    return loss(y, usual), loss(y, labels), int(constant)


def all_tables(settings: Settings) -> Iterator[DataTable]:
    """The twenty tables of the protocol, or two bundled ones."""
    if settings.quick:
        for problem in (digits(), breast_cancer()):
            rows = slice(QUICK_ROWS)
            yield DataTable.of(problem.name, np.asarray(problem.X[rows], dtype=np.float64), problem.y[rows] == 1)
        return
    need = partial(need_data, settings, NAME, source="the collection", folders=("imbalanced", "multilabel"))
    for path in need([f"{name}.csv" for name in TABLES]):
        yield read_table(path)
    for path, labels in zip(need([f"{name}.npz" for name in LABELS]), LABELS.values(), strict=True):
        for label in labels:
            yield read_label(path, label)


def _outcome(
    names: Sequence[str],
    gains: Values,
    reference: Values,
    constant: NDArray[np.int64],
    strategies: list[list[list[str]]],
    measures: tuple[str, ...] = MEASURES,
) -> Outcome:
    """One table of mean paired differences for each method, and sentences on what the protocol asks."""
    ratio = TEST_SHARE / (1.0 - TEST_SHARE)
    cells = {
        (i, m, j): PairedDifference.of(gains[i, :, m, j], ratio)
        for i in range(len(names))
        for m in range(len(METHODS))
        for j in range(len(measures))
    }
    shape = (len(names), len(METHODS), len(measures))
    means = np.array([cell.mean for cell in cells.values()]).reshape(shape)
    errors = np.array([cell.error for cell in cells.values()]).reshape(shape)
    tables, words = [], []
    for m, (method, base) in enumerate(METHODS):
        title = f"{method} over {base}: mean gain over the tuned threshold ± standard error (Nadeau and Bengio)"
        rows = (*names, "mean of the tables")
        whole = means[:, m].mean(axis=0), means[:, m].std(axis=0, ddof=1) / np.sqrt(len(names))
        best = np.zeros((len(rows), len(measures)), dtype=bool)
        shown, spread = np.vstack([means[:, m], whole[0]]), np.vstack([errors[:, m], whole[1]])
        tables.append(ResultTable(title, rows, measures, shown, spread, best=best, digits=3))
        level = reference[:, :, m].mean(axis=1)
        title = f"The reference over {base}: mean loss of the tuned threshold"
        if (method, base) in METHODS[: len(BASES)]:
            tables.append(ResultTable(title, tuple(names), measures, level, best=best[:-1], digits=3))
        for j, measure in enumerate(measures):
            mean, error = float(whole[0][j]), float(whole[1][j])
            verdict = "not below 0 by more" if mean >= -error else "below 0 by more"
            words.append(
                f"{method} over {base}, {measure}: mean over tables {mean:+.4f}, error {error:.4f}; {verdict}."
            )
    adjusted = holm(list(map(p_below, cells.values())))
    low = [
        f"{_cell(names, measures, key)} {cell.mean:+.3f} (p {p:.3g})"
        for (key, cell), p in zip(cells.items(), adjusted, strict=True)
        if p <= LEVEL
    ]
    words.append(f"Cells below 0 after Holm's correction of {len(cells)}: {', '.join(low) or 'none'}.")
    deep = [f"{_cell(names, measures, key)} {cell.mean:+.3f}" for key, cell in cells.items() if cell.mean < FLOOR]
    words.append(f"Cells whose mean is below {FLOOR}: {', '.join(deep) or 'none'}.")
    empty = [_cell(names, measures, (i, m, j)) for i, _, m, j in np.argwhere(constant)]
    words.append(f"Constant predictions where the reference has none: {', '.join(empty) or 'none'}.")
    flat = [strategy for split in strategies for row in split for strategy in row]
    counts = ", ".join(f"{name} {flat.count(name)}" for name in sorted(set(flat)))
    words.append(f"Strategies that were chosen: {counts}.")
    return Outcome(tuple(tables), tuple(words))


def _cell(names: Sequence[str], measures: Sequence[str], key: tuple[int, int, int]) -> str:
    i, m, j = key
    return f"{names[i]}/{' over '.join(METHODS[m])}/{measures[j]}"


def _steps(settings: Settings) -> int:
    return 2 * 2 if settings.quick else (len(TABLES) + sum(map(len, LABELS.values()))) * SPLITS


EXPERIMENT = Experiment(
    NAME, "a choice of training, tuning and deciding against a tuned threshold, on twenty tables", _steps, run
)
