"""A problem on which methods are compared: its rows, their labels, and the sets that they form."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.model_selection import KFold, StratifiedKFold

from setwise.core.attributes import cached_property
from setwise.core.batch import Sets
from setwise.core.checks import as_array, as_count, as_kind, as_labels, shown
from setwise.core.loss import Loss
from setwise.datasets.columns import Column
from setwise.estimators.sets import Grouping, as_ids, group

Rows = NDArray[np.int64]


def drawn_rows(y: Any, rows: int, sets: int, seed: int, groups: Any = None) -> Rows:
    """The rows of a random part that consists of whole sets, in rising order; of a single set, random rows.

    Sets are drawn until they have ``rows`` rows in all, there are ``sets`` of them, and each of the two labels occurs
    in as many of them (or in all sets in which it occurs). Each row of a label matrix is a set.

    Parameters
    ----------
    y : (n,) or (n, p) of 0 and 1
    rows, sets : at least so many; all rows where there are fewer
    seed : the seed of the draw, an int from 0 on
    groups : (n,) the id of the set of each row
    """
    truth = as_array(y, "y")
    if truth.ndim not in (1, 2):
        raise ValueError(f"y must have shape (n,) or (n, p); got {truth.shape}.")
    as_labels(truth.ravel(), "y")
    for name, number in (("rows", rows), ("sets", sets), ("seed", seed)):
        as_count(number, name, low=0)
    many = truth.ndim == 2 and truth.shape[1] > 1
    ids: Any = np.arange(len(truth)) if groups is None else as_ids(groups, len(truth))
    order = np.random.default_rng(seed).permutation(ids.max() + 1)
    # ``enough[k]`` tells whether the first k + 1 sets of the order meet all conditions.
    enough = (np.cumsum(np.bincount(ids)[order]) >= rows) & (np.arange(1, len(order) + 1) >= sets)
    for label in () if many else (0, 1):
        holds = np.bincount(ids, truth.ravel() == label)[order] > 0
        enough &= np.cumsum(holds) >= min(sets, holds.sum())
    drawn = order[: np.argmax(enough) + 1] if enough.any() else order
    return np.flatnonzero(np.isin(ids, drawn))


@final
@dataclass(frozen=True)
class Origin:
    """Where the rows of a problem come from.

    Attributes
    ----------
    file : its path, as it was given; empty for rows that come from no file
    target : the name of the target column; empty where it has none
    by_default : whether nobody said which of the two labels is the positive one
    rows : the number of all its rows
    drawn : why only some of them were drawn, as ``("--quick",)``; () where all rows are there
    ids : the columns that were left out as ids
    """

    file: str = ""
    target: str = ""
    by_default: bool = False
    rows: int = 0
    drawn: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """``X`` (n, d), ``y`` (n,) or (n, p) of 0 and 1, ``groups`` (n,) or None, as ``SetClassifier.fit`` takes them.

    Parameters
    ----------
    name, about : a short name, and one sentence
    X : (n, d) numbers, dense or CSR
    y : (n,) or (n, p) of 0 and 1
    groups : (n,) the id of the set of each row, for y (n,); None makes all rows one set
    classes : the names of the two labels, or of the p labels of a matrix
    kinds : (n,) indices into ``kind_names``, by which pictures tell rows apart in more detail than by labels; or None
    kind_names : the names of these kinds
    features : the names of the columns of X
    columns : the kinds of the columns of X where they come from a raw table; then X may hold NaN for gaps
    notes : sentences on what was left out
    code : lines of Python that make X, y and groups
    places : (d,) the features of a sparse file that occur; None where X is no sparse file
    width, first : the number of features of that file, and the number of its first one, 0 or 1
    origin : the file that the rows come from; None for rows that come from none

    Raises
    ------
    ValueError : for X, y and groups that do not fit together, and labels that are not 0 and 1
    TypeError : for columns that are no tuple of columns, and an origin of another kind

    Examples
    --------
    >>> from setwise.compare import Problem
    >>> X, y, bags = np.arange(6.0).reshape(6, 1), [0, 1, 1, 0, 0, 1], ["a", "a", "a", "b", "b", "b"]
    >>> problem = Problem("bags", "Six rows in two bags.", X, y, bags)
    >>> problem.kind()
    'each of the 2 groups is a set; 6 rows in all'
    """

    name: str
    about: str
    X: Any
    y: NDArray[np.int64]
    groups: NDArray[Any] | None = None
    classes: tuple[str, ...] = ("negative", "positive")
    kinds: NDArray[np.int64] | None = None
    kind_names: tuple[str, ...] = ()
    features: Sequence[str] = ()
    columns: tuple[Column, ...] = ()
    notes: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    places: NDArray[np.int64] | None = None
    width: int = 0
    first: int = 1
    origin: Origin | None = None

    def __post_init__(self) -> None:
        if getattr(self.X, "ndim", 0) != 2 or min(self.X.shape) == 0 or self.X.dtype.kind not in "biuf":
            raise ValueError(f"X must be a matrix of numbers (n, d), dense or CSR; got {shown(self.X)}.")
        if not isinstance(self.columns, tuple) or not all(isinstance(one, Column) for one in self.columns):
            raise TypeError(f"columns must be a tuple, as load_table gives them; got {shown(self.columns)}.")
        if self.columns and len(self.columns) != self.X.shape[1]:
            raise ValueError(f"columns must name the {self.X.shape[1]} features of X; got {len(self.columns)}.")
        if self.origin is not None:
            as_kind(self.origin, "origin", Origin, "what setwise.compare.reading gives")
        y = as_array(self.y, "y")
        if y.ndim not in (1, 2) or len(y) != self.X.shape[0]:
            raise ValueError(f"y must have shape (n,) or (n, p) for the {self.X.shape[0]} rows of X; got {y.shape}.")
        # Lists, truth values and columns of pandas become arrays, of which parts are taken.
        object.__setattr__(self, "y", as_labels(y.ravel(), "y").reshape(y.shape).astype(np.int64))
        if self.groups is not None:
            as_ids(self.groups, len(y))
            object.__setattr__(self, "groups", np.asarray(self.groups))

    @property
    def many(self) -> bool:
        """Whether each row is a set of labels; a single column is a vector of labels, as for the estimator."""
        return self.y.ndim == 2 and self.y.shape[1] > 1

    @cached_property
    def has_gaps(self) -> bool:
        """Whether X holds NaN."""
        return not issparse(self.X) and self.X.dtype.kind == "f" and bool(np.isnan(self.X).any())

    def kind(self, average: str = "samples") -> str:
        """A phrase that says what a set is in this problem; of a label matrix, by what ``average`` says."""
        if self.many and average == "macro":
            return f"each of the {self.y.shape[1]} labels is a set of {len(self.y):,} rows"
        if self.many and average == "micro":
            return f"all {self.y.shape[1]} labels of the {len(self.y):,} rows are judged together, as one set"
        if self.many:
            return f"each of the {len(self.y):,} rows is a set of {self.y.shape[1]} labels"
        if self.groups is None:
            return f"the {len(self.y):,} rows are judged together, as one set"
        return f"each of the {len(np.unique(self.groups)):,} groups is a set; {len(self.y):,} rows in all"

    @property
    def sets(self) -> Sets:
        """The true labels as sets, in the order of :class:`setwise.estimators.sets.Grouping`."""
        batch = self._grouping.batch
        assert isinstance(batch, Sets)
        return batch

    @property
    def _grouping(self) -> Grouping:
        return group(self.y, self.groups, "samples", np.arange(self.y.shape[1] if self.many else 2))

    def take(self, rows: Rows) -> "Problem":
        """The problem that consists of the given rows."""
        groups, kinds = (None if a is None else a[rows] for a in (self.groups, self.kinds))
        return replace(self, X=self.X[rows], y=self.y[rows], groups=groups, kinds=kinds)

    def part(self, rows: int, sets: int, seed: int, why: str = "") -> "Problem":
        """A random part of the problem, as :func:`drawn_rows` draws it, and ``why``; its code draws the same rows."""
        drawn = drawn_rows(self.y, rows, sets, seed, self.groups)
        part = self.take(drawn)
        if len(drawn) < len(self.y):
            origin = self.origin or Origin(rows=len(self.y))
            part = replace(part, origin=replace(origin, drawn=(*origin.drawn, why)))
        if not self.code or len(drawn) == len(self.y):
            return part
        groups = ("", "", "") if self.groups is None else (", groups", ", groups", ", groups[rows]")
        lines = (
            "from setwise.compare.problem import drawn_rows",
            "# The comparison saw these rows only; leave the next two lines out to take all of them.",
            f"rows = drawn_rows(y, {rows}, {sets}, {seed}{groups[0]})",
            f"X, y{groups[1]} = X[rows], y[rows]{groups[2]}",
        )
        return replace(part, code=(*self.code, *lines))

    def folds(self, k: int, seed: int) -> list[tuple[Rows, Rows]]:
        """``k`` pairs of training and test rows; sets stay whole, and a single set is split in a stratified way.

        Raises
        ------
        ValueError : if there are fewer than k sets, or fewer than k rows of a class in the single set
        """
        if self.groups is None and not self.many:
            fewest = int(np.bincount(self.y, minlength=2).min())
            if fewest < k:
                raise ValueError(f"{self.name} has {fewest} rows of one class, too few for {k} folds.")
            return list(StratifiedKFold(k, shuffle=True, random_state=seed).split(self.X, self.y))
        ids = np.arange(len(self.y)) if self.groups is None else np.unique(self.groups, return_inverse=True)[1]
        if ids.max() + 1 < k:
            raise ValueError(f"{self.name} has {ids.max() + 1} sets, too few for {k} folds.")
        splitter = KFold(k, shuffle=True, random_state=seed)
        # The splitter sees one row for each set, so that no set is divided.
        parts = splitter.split(np.arange(ids.max() + 1))
        folds = [(np.flatnonzero(np.isin(ids, a)), np.flatnonzero(np.isin(ids, b))) for a, b in parts]
        # Training needs both classes, so a training part without one is refused before any fit.
        if not self.many and any(np.ptp(self.y[train]) == 0 for train, _ in folds):
            raise ValueError(
                f"{self.name} has one class in too few of its sets: a training part of {k} folds holds the other only."
            )
        return folds

    def losses(self, loss: Loss, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The loss of every set, (sets,), for scores in the shape of ``y``; a score above 0 predicts a positive."""
        grouping = self._grouping
        return loss.values(grouping.batch, grouping.predictions(loss, np.asarray(scores)))

    def loss(self, loss: Loss, scores: NDArray[np.float64]) -> float:
        """The mean of :meth:`losses`."""
        return float(np.mean(self.losses(loss, scores)))
