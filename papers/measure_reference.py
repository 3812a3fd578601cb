"""The reference of ``measure_tables`` and ``measure_labels``: tuned thresholds of a base model, data, and tests."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar, final

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from papers.experiment import Advance
from papers.measure_protocol import FOLDS, GRID
from setwise.compare.answer import PairedDifference
from setwise.compare.twins import twin_blocks
from setwise.core.checks import Bools, Floats, Ints, Values, as_reals
from setwise.core.loss import Loss
from setwise.decisions import best_threshold

GAPS = ("", "NA", "?")
"""What is in a cell without a number."""

Folds = Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]


@final
@dataclass(frozen=True, eq=False)
class DataTable:
    """A table of numbers (n, d), NaN where it has gaps, its labels (n,), and the block of each row (n,).

    Equal rows are in one block, which no split parts.
    """

    name: str
    X: NDArray[np.float64]
    y: Bools
    blocks: Ints

    @classmethod
    def of(cls, name: str, X: NDArray[np.float64], y: Bools) -> "DataTable":
        """The table, with its blocks."""
        blocks = twin_blocks(X, y.astype(np.int64))
        return cls(name, X, y, np.arange(len(y)) if blocks is None else blocks)

    def take(self, rows: Ints) -> "DataTable":
        """Some of the rows."""
        return DataTable(self.name, self.X[rows], self.y[rows], self.blocks[rows])

    def splits(self, splitter: Any) -> Folds:
        """The training and test rows of a splitter of scikit-learn, which splits blocks by the labels of first rows."""
        first, ids = np.unique(self.blocks, return_index=True, return_inverse=True)[1:]
        # Blocks come in the order of the table: one without equal rows is split as by the splitter itself.
        order = np.argsort(first)
        rows = np.split(np.argsort(ids, kind="stable"), np.cumsum(np.bincount(ids))[:-1])
        blocks, y = [rows[i] for i in order], self.y[first[order]]
        pairs = [[np.concatenate([blocks[i] for i in part]) for part in pair] for pair in splitter.split(y, y)]
        return [(train, test) for train, test in pairs]


class NamedData(Protocol):
    """Data with a name."""

    @property
    def name(self) -> str:
        """The name in tables."""
        ...


Data = TypeVar("Data", bound=NamedData)
Result = TypeVar("Result")


def over_splits(
    tables: Sequence[Data], splits: int, one_split: Callable[[Data, int, int], Result], advance: Advance
) -> list[Result]:
    """``one_split(table, k, splits)`` of each table and split, in this order, shared by all processors."""
    jobs = [(table, k) for table in tables for k in range(splits)]
    found = Parallel(n_jobs=-1, return_as="generator")(delayed(one_split)(table, k, splits) for table, k in jobs)
    results: list[Result] = []
    for (table, k), result in zip(jobs, found, strict=True):
        results.append(result)
        advance(f"{table.name}, split {k + 1}")
    return results


@final
@dataclass(frozen=True, eq=False)
class ThresholdClassifier:
    """A classifier fitted to a training part, and the threshold of its scores for one measure."""

    model: Any
    fitted: Any
    threshold: float

    def labels(self, X: Any) -> Bools:
        """The predicted labels of new rows."""
        return np.asarray(scores_of(self.fitted, X) >= self.threshold)


def read_table(path: Path) -> DataTable:
    """A table of the folder ``imbalanced``: a CSV file whose column ``Class`` is last, its rarer value positive."""
    rows = [line.split(",") for line in path.read_text(encoding="utf-8").split()]
    cells = np.array([["nan" if value in GAPS else value for value in row[:-1]] for row in rows[1:]])
    values, codes = np.unique([row[-1] for row in rows[1:]], return_inverse=True)
    if rows[0][-1].strip('"') != "Class" or len(values) != 2:
        raise ValueError(f"{path.name} must end with a column Class of two values; got {rows[0][-1]}.")
    return DataTable.of(path.stem, cells.astype(np.float64), codes == np.argmin(np.bincount(codes)))


def read_label(path: Path, label: str) -> DataTable:
    """One label of a multi-label file as a table."""
    with np.load(path, allow_pickle=False) as held:
        X = dense(held)
        y = held["Y"][:, held["label_names"].tolist().index(label)] == 1
    return DataTable.of(f"{path.stem} {label}", X, y)


def dense(held: Any) -> NDArray[np.float64]:
    """The features of a multi-label file as a dense matrix."""
    if "X" in held:
        return np.asarray(held["X"], dtype=np.float64)
    out = np.zeros(tuple(held["X_shape"]))
    rows = np.repeat(np.arange(len(out)), np.diff(held["X_indptr"]))
    out[rows, held["X_indices"]] = held["X_data"]
    return out


def linear(c: float) -> Any:
    """Logistic regression with the constant ``c`` on standardized features, gaps replaced by medians."""
    model = LogisticRegression(C=c, max_iter=1000)
    return make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), model)


def boosted(seed: int) -> Any:
    """Boosted trees with their defaults."""
    return HistGradientBoostingClassifier(random_state=seed)


def inner_folds(part: DataTable, seed: int) -> Folds:
    """The stratified folds of a training part."""
    return part.splits(StratifiedKFold(FOLDS, shuffle=True, random_state=seed))


def scores_of(fitted: Any, X: Any) -> Floats:
    """The probability of a positive."""
    return np.asarray(fitted.predict_proba(X)[:, 1])


def out_of_fold(model: Any, table: DataTable, folds: Folds) -> Floats:
    """The scores of each row from the model that was fitted without its fold, (n,)."""
    scores = np.empty(len(table.y))
    for train, held_out in folds:
        scores[held_out] = scores_of(clone(model).fit(table.X[train], table.y[train]), table.X[held_out])
    return scores


def references(
    base: str, table: DataTable, folds: Folds, losses: Sequence[Loss], seed: int
) -> list[ThresholdClassifier]:
    """The tuned base model for each of the losses, on a training part."""
    models = [linear(c) for c in GRID] if base == "linear" else [boosted(seed)]
    scores = [out_of_fold(model, table, folds) for model in models]
    fitted: dict[int, Any] = {}
    found = []
    for loss in losses:
        best = [best_threshold(table.y, s, loss) for s in scores]
        # Of equal losses the smallest C wins.
        k = int(np.argmin(np.round([b.loss for b in best], 12)))
        if k not in fitted:
            fitted[k] = clone(models[k]).fit(table.X, table.y)
        found.append(ThresholdClassifier(models[k], fitted[k], best[k].threshold))
    return found


def p_below(difference: PairedDifference) -> float:
    """The one-sided p-value against a mean of at least 0; it is small where the differences are below 0."""
    if difference.error == 0.0:
        return 0.0 if difference.mean < 0.0 else 1.0
    return float(student.cdf(difference.mean / difference.error, difference.splits - 1))


def holm(p_values: ArrayLike) -> Values:
    """The p-values (m,) adjusted by Holm's method: those of at most a level are refuted at this level together.

    The sorted ``p_(i)`` becomes ``max_{j <= i} min(1, (m - j + 1) p_(j))``, j counted from 1.
    """
    p: Any = as_reals(p_values, "p_values")
    if p.ndim != 1 or ((p < 0) | (p > 1)).any():
        raise ValueError(f"p_values must be numbers (m,) in [0, 1]; got shape {p.shape}.")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, np.arange(len(p), 0, -1) * p[order]))
    return adjusted
