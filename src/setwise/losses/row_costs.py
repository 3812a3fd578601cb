"""Costs of each row, as money: what a true or false positive or negative costs may differ from row to row."""

from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.batch import Batch, Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import (
    LARGEST_FACTOR,
    Bools,
    Ints,
    Values,
    as_array,
    as_bools,
    as_float64,
    as_number,
    as_reals,
    shown,
)
from setwise.core.counts import Formula
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import ROW_COSTS
from setwise.core.terms import CURVATURES, Constant, Mistakes, Term, Trait
from setwise.losses.mistakes import ClassWeightedHamming

CELLS = ("tp", "fp", "fn", "tn")
"""The cells of the confusion matrix: true and false positives, false and true negatives."""

Cost = float | ArrayLike | str


@final
@dataclass(frozen=True)
class Place:
    """A column of X by its name, and by its place where X has no names.

    Parameters
    ----------
    name : the name of the column
    at : its place, from 0 on
    """

    name: str
    at: int

    def __repr__(self) -> str:
        return f"X[:, {self.at}]"


@final
@dataclass(frozen=True, eq=False, repr=False)
class RowCosts(Loss):
    """``sum_i cost of the cell of row i``: tp or fn for a positive, fp or tn for a negative.

    Each cost is a number, an array with one for each row, or the name of a column of X, which
    :class:`setwise.MeasureClassifier` reads. Negative costs are gains. A cost may be NaN where its cell cannot occur,
    as that of a false negative for a negative. The loss is modular: a sum of one cost for each row.

    Source: Elkan (2001), section 1; costs of single rows are those of Bahnsen, Aouada and Ottersten (2014).

    Parameters
    ----------
    tp, fp, fn, tn : the cost of a true positive, a false positive, a false negative and a true negative: a number, an
        array (n,), or the name of a column

    Raises
    ------
    TypeError, ValueError : for what is no cost, and arrays of different lengths

    Examples
    --------
    >>> from setwise.losses import RowCosts
    >>> costs = RowCosts(fp=5.0, fn=[200.0, 3.0, 40.0, 10.0])
    >>> # A missed fraud costs its amount, here 3, and an alarm costs 5.
    >>> costs([1, 1, 0, 0], [1, 0, 1, 0])
    8.0
    """

    tp: Cost = 0.0
    fp: Cost = 1.0
    fn: Cost = 1.0
    tn: Cost = 0.0

    name: ClassVar[str] = "row_costs"

    factor: ClassVar[float] = 1.0
    """By what all costs were multiplied with :meth:`times`, which an object then has of its own."""

    def __post_init__(self) -> None:
        for cell in CELLS:
            object.__setattr__(self, cell, _as_cost(getattr(self, cell), cell))
        sizes = {len(cost): cell for cell, cost in self.arrays.items()}
        if len(sizes) > 1:
            (one, first), (two, second), *_ = sizes.items()
            raise ValueError(f"{second} must have one cost for each row, as {first}, {one}; got {two}.")

    @classmethod
    def examples(cls, p: int) -> "list[RowCosts]":
        return [RowCosts(), RowCosts(fp=0.5, fn=2.0), RowCosts(0.25, 1.5, 3.0, 0.5)]

    def _costs(self) -> dict[str, Any]:
        return {cell: getattr(self, cell) for cell in CELLS}

    @property
    def arrays(self) -> dict[str, Values]:
        """The costs that differ from row to row, (n,) each, by their cells."""
        return {cell: cost for cell, cost in self._costs().items() if isinstance(cost, np.ndarray)}

    @property
    def columns(self) -> dict[str, str | Place]:
        """The names of columns that stand for costs, by their cells."""
        return {cell: cost for cell, cost in self._costs().items() if isinstance(cost, str | Place)}

    @property
    def n_rows(self) -> int | None:
        """The number of rows that have costs of their own here; None where all costs are numbers or names."""
        return len(next(iter(self.arrays.values()))) if self.arrays else None

    @property
    def by_class(self) -> ClassWeightedHamming | None:
        """The same loss where all rows have the same costs and right decisions cost nothing; otherwise None."""
        tp, fp, fn, tn = self._costs().values()
        even = not self.arrays and not self.columns and tp == tn == 0.0 and fp >= 0.0 and fn >= 0.0
        return ClassWeightedHamming(negative=fp, positive=fn) if even else None

    @property
    def traits(self) -> frozenset[Trait]:
        if self.by_class is not None:
            return self.by_class.traits
        if self.columns:
            return CURVATURES
        tp, fp, fn, tn = self._costs().values()
        # What is NaN cannot occur.
        worse = (np.asarray(fn - tp) < 0).any() or (np.asarray(fp - tn) < 0).any()
        return CURVATURES if worse else CURVATURES | {Trait.INCREASING}

    @property
    def formula(self) -> Formula | None:
        return None if self.by_class is None else self.by_class.formula

    def of_one_batch(self, batch: Batch) -> bool:
        """Whether costs belong to the rows of this one batch."""
        return bool(self.arrays)

    def of_rows(self, rows: Ints) -> "RowCosts":
        """The costs of some of the rows."""
        return self._with(1.0, **{cell: cost[rows] for cell, cost in self.arrays.items()})

    def as_score(self, loss: float, n: float) -> float:
        """Minus the mean cost of a row, for sets of n rows each."""
        return -loss / n

    def times(self, factor: float) -> "RowCosts":
        """All costs times a factor, which must be numbers or arrays."""
        return self._with(factor, **{cell: cost * factor for cell, cost in self._costs().items()})

    def weighted(self, weights: ArrayLike) -> "RowCosts":
        """All costs, which must be numbers or arrays, times the weights (n,) of rows, as if each occurred so often."""
        each = as_reals(weights, "sample_weight")
        if each.ndim != 1 or (each < 0).any() or not each.any() or self.n_rows not in (None, len(each)):
            rows = "row" if self.n_rows is None else f"of the {self.n_rows} rows"
            raise ValueError(
                f"sample_weight must be a number for each {rows}, at least 0 and not all 0; got {shown(each)}."
            )
        return self._with(1.0, **{cell: cost * each for cell, cost in self._costs().items()})

    def _with(self, factor: float, **costs: Any) -> "RowCosts":
        found = replace(self, **costs)
        object.__setattr__(found, "factor", self.factor * factor)
        return found

    def read(self, X: Any, **given: Any) -> "RowCosts":
        """The costs of the rows of X: ``given`` ones by their cells in place of these, and columns for their names.

        A cost that is equal for all rows of X is a number, however it was given.

        Raises
        ------
        ValueError : for a column that X has not, and for another number of costs than X has rows
        """
        costs = self._with(1.0, **{cell: cost for cell, cost in given.items() if cost is not None})
        costs = costs._with(1.0, **{cell: _column(X, name, cell) for cell, name in costs.columns.items()})
        n = X.shape[0] if hasattr(X, "shape") else len(X if hasattr(X, "__len__") else np.asarray(X))
        for cell, cost in costs.arrays.items():
            if len(cost) != n:
                raise ValueError(f"{cell} must have one cost for each row of X, {n}; got {len(cost)}.")
        equal = {cell: float(cost[0]) for cell, cost in costs.arrays.items() if (cost == cost[0]).all()}
        return costs._with(1.0, **equal)

    def of_labels(self, truth: Bools, known: Bools | None = None) -> tuple[Values, Values]:
        """What it costs to predict 0, and to predict 1, for each row, (n,) each, given its label; 0 if not ``known``.

        Raises
        ------
        Refusal : where columns are named and no X is at hand
        ValueError : for another number of labels than costs, and NaN where a cell can occur
        """
        if self.columns:
            cell, name = next(iter(self.columns.items()))
            raise Refusal(
                f"RowCosts({cell}={name!r}) names a column, but there is no table: give the costs themselves.",
                ROW_COSTS,
            )
        if self.n_rows not in (None, len(truth)):
            raise ValueError(f"RowCosts has costs of {self.n_rows} rows; got {len(truth)} labels.")
        for cell, cost in self.arrays.items():
            there = truth if cell in ("tp", "fn") else ~truth
            wrong = np.flatnonzero(np.isnan(cost) & there if known is None else np.isnan(cost) & there & known)
            if len(wrong):
                kind = "positive" if cell in ("tp", "fn") else "negative"
                raise ValueError(f"{cell} must be known for each {kind}; got NaN for row {wrong[0]}.")
        tp, fp, fn, tn = self._costs().values()
        zero, one = np.where(truth, fn, tn).astype(np.float64), np.where(truth, tp, fp).astype(np.float64)
        return (zero, one) if known is None else (np.where(known, zero, 0.0), np.where(known, one, 0.0))

    def increasing(self, truth: Bools) -> tuple[Bools, "RowCosts", "RowCosts"]:
        """The cheaper label of each row; the same costs with it as the right one; and these less what is right."""
        zero, one = self.of_labels(truth)
        right, wrong = np.minimum(zero, one), np.maximum(zero, one)
        less = wrong - right
        return one < zero, RowCosts(tp=right, fp=wrong, fn=wrong, tn=right), RowCosts(fp=less, fn=less)

    def saved_by_positive(self) -> tuple[Values, Values]:
        """What it saves to predict 1 where a row is positive, ``fn - tp``, and where it is negative, ``tn - fp``.

        Each is a number or an array (n,). Raises ValueError for NaN: to decide about a row both must be known.
        """
        tp, fp, fn, tn = costs = [np.asarray(cost, dtype=np.float64) for cost in self._costs().values()]
        for cell, cost in zip(CELLS, costs, strict=True):
            if np.isnan(cost).any():
                row = int(np.flatnonzero(np.isnan(cost))[0])
                raise ValueError(f"{cell} must be known for each row that is to be decided; got NaN for row {row}.")
        return np.asarray(fn - tp), np.asarray(tn - fp)

    def check(self, batch: Batch) -> None:
        if self.by_class is None and (not isinstance(batch, Sets) or batch.totals is not None):
            raise Refusal(f"{self!r} refuses {type(batch).__name__}: it counts the cost of single rows.", ROW_COSTS)
        if self.n_rows not in (None, batch.total):
            raise ValueError(f"RowCosts has costs of {self.n_rows} rows; got {batch.total} labels.")

    def _bind(self, batch: Sets) -> BoundLoss:
        if self.by_class is not None:
            return self.by_class.bind(batch)
        zero, one = self.of_labels(batch.truth, batch.known)
        right, wrong = np.where(batch.truth, one, zero), np.where(batch.truth, zero, one)
        terms: tuple[Term, ...] = (Mistakes(wrong - right),)
        return BoundLoss(batch, (*terms, Constant(right)) if right.any() else terms)

    def __repr__(self) -> str:
        usual = {field.name: field.default for field in fields(self)}
        given = {cell: getattr(self, cell) for cell in CELLS if _shown(getattr(self, cell)) != _shown(usual[cell])}
        return f"RowCosts({', '.join(f'{cell}={_shown(cost)}' for cell, cost in given.items())})"


def _shown(cost: Any) -> str:
    """A cost as text; of several the first three."""
    if isinstance(cost, np.ndarray):
        return "[" + ", ".join([f"{one:g}" for one in cost[:3]] + ["..."] * (len(cost) > 3)) + "]"
    return repr(cost) if isinstance(cost, str | Place) else f"{cost:g}"


def _as_cost(cost: Any, cell: str) -> float | Values | str | Place:
    """A cost as a number, an array (n,) that is read-only, or the name of a column."""
    if isinstance(cost, Place):
        return cost
    if isinstance(cost, str):
        if not cost:
            raise ValueError(f"{cell} must be a number, an array, or the name of a column; got ''.")
        return cost
    if cost is None or np.isscalar(cost) or isinstance(cost, bool | dict | set):
        return as_number(cost, cell, low=-LARGEST_FACTOR, high=LARGEST_FACTOR)
    given = as_array(cost, cell)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iuf":
        raise ValueError(
            f"{cell} must be real numbers (n,), one for each row; got {given.dtype} of shape {given.shape}."
        )
    out = as_float64(cost, given, cell).copy()
    if np.isinf(out).any() or np.nanmax(np.abs(out), initial=0.0) > LARGEST_FACTOR:
        raise ValueError(f"{cell} must be finite costs of at most {LARGEST_FACTOR:g}; got {shown(given)}.")
    out.setflags(write=False)
    return out


def _column(X: Any, name: str | Place, cell: str) -> NDArray[Any]:
    """The column of a table of this name, as numbers."""
    if isinstance(name, Place):
        return np.array(X[:, name.at], dtype=np.float64)
    try:
        found = X[name]
    except (KeyError, IndexError, TypeError, ValueError):
        known = list(map(str, getattr(X, "columns", ())))
        have = f"the columns {', '.join(known[:9])}" if known else "no column names"
        keep = "" if known else ' In a pipeline, set_output(transform="pandas") keeps the names.'
        raise ValueError(f"{cell} must name a column of X, which has {have}; got {name!r}.{keep}") from None
    values = found.to_numpy() if hasattr(found, "to_numpy") else np.asarray(found)
    if values.dtype.kind not in "iuf":
        raise ValueError(f"column {name!r} must hold numbers to be the cost {cell}; got {values.dtype}.")
    return values


def savings_score(
    y_true: ArrayLike, y_pred: ArrayLike, costs: RowCosts, *, sample_weight: ArrayLike | None = None
) -> float:
    """``1 - cost / cost of the better constant decision``: the share of the cost that predictions save.

    It is 1 where nothing is lost, 0 where one label for all rows is as good, and negative where it is better.

    Source: Bahnsen, Aouada and Ottersten (2014), Eq. 5.

    Parameters
    ----------
    y_true, y_pred : (n,) labels 0 and 1
    costs : numbers, or arrays with one cost for each row
    sample_weight : (n,) the weight of each row, by which its costs are multiplied

    Returns
    -------
    savings : at most 1 where no cost is negative

    Raises
    ------
    ValueError : for labels and costs that do not fit, and where a constant decision costs nothing, or gains

    Examples
    --------
    >>> from setwise.losses import RowCosts, savings_score
    >>> costs = RowCosts(fp=5.0, fn=[200.0, 3.0, 40.0, 10.0])
    >>> round(savings_score([1, 1, 0, 0], [1, 0, 1, 0], costs), 3)  # alarms for all cost 10, none at all 203
    0.2
    """
    truth = as_bools(as_array(y_true, "y_true"), "y_true")
    costs = costs if sample_weight is None or costs.columns else costs.weighted(sample_weight)
    least = min(costs(truth, np.full(len(truth), constant)) for constant in (False, True))
    if least <= 0:
        raise ValueError(f"savings are a share of the cost of the better constant decision, which is {least:g} here.")
    return 1.0 - costs(truth, y_pred) / least
