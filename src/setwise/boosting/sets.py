"""Rows of a booster as sets, in the order in which setwise has them.

What boosters pass to functions of their users has one form here. A part of the rows is refused: sets would be cut.
"""

import sys
from dataclasses import dataclass
from traceback import walk_stack
from typing import Any, Protocol, final, runtime_checkable

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checks import Bools, Ints, Values, as_array, as_labels, as_reals, as_scores
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import BOOSTING
from setwise.core.terms import Trait
from setwise.estimators.sets import as_ids
from setwise.kernels.segments import tied_means
from setwise.kernels.sorting import sort_falling

DISTRIBUTED = ("lightgbm.dask", "xgboost.dask", "xgboost.spark")
"""The modules that share rows among workers, each of which calls functions of one's own with its own rows."""


def refuse_local_rows(name: str) -> None:
    """Raise Refusal, naming ``name``, if a distributed interface called, or if XGBoost trains in several processes.

    LightGBM does not say whether it trains over sockets without Dask, so that is not seen.
    """
    caller = _distributed_caller()
    # Processes that trained together without these modules have met in the collective of XGBoost.
    collective = sys.modules.get("xgboost.collective")
    if caller is None and collective is not None and collective.get_world_size() > 1:
        caller = "XGBoost in several processes"
    if caller is not None:
        raise Refusal(
            f"{name} refuses {caller}: each worker sees its own rows only, and the loss of a set needs all of its rows "
            "together. Train on one machine, for example with LGBMClassifier or xgboost.train.",
            BOOSTING,
        )


def _distributed_caller() -> str | None:
    """The distributed interface that is among the callers, or None."""
    callers = [f"{frame.f_globals.get('__name__', '')}." for frame, _ in walk_stack(sys._getframe(1))]
    return next((each for module in callers for each in DISTRIBUTED if module.startswith(f"{each}.")), None)


@runtime_checkable
class DataSet(Protocol):
    """The data sets of the boosters' own interfaces: a DMatrix of XGBoost, or a Dataset of LightGBM."""

    def get_label(self) -> Any:
        """The labels, (n,)."""

    def get_weight(self) -> Any:
        """The weights of rows, or in XGBoost those of groups if there are some; none may be None or empty."""

    def get_group(self) -> Any:
        """The sizes of groups of consecutive rows; none may be None or empty."""


@final
@dataclass(frozen=True, eq=False)
class BoosterInput:
    """Labels and scores of rows, (n,), with weights of rows or of groups, and sizes of groups, each None if not given.

    Raises ValueError for labels other than 0 and 1, and for scores that are not finite or not one for each row.
    """

    labels: Bools
    scores: Values
    weight: Values | None
    sizes: Values | None

    @classmethod
    def of(cls, first: Any, second: Any, weight: Any, group: Any) -> "BoosterInput":
        """From ``(preds, data set)``, or from ``(y_true, y_pred)`` with weights and sizes of groups, if any."""
        if isinstance(second, DataSet):
            labels, scores, name = second.get_label(), first, "preds"
            weight, group = second.get_weight(), second.get_group()
        else:
            labels, scores, name = first, second, "y_pred"
        truth = as_labels(labels, "the labels of a booster")
        given = as_array(scores, name)
        if given.shape != truth.shape:
            raise Refusal(
                f"boosting refuses {name} of shape {given.shape} for {truth.size} rows: a set loss of labels 0 and 1 "
                "reads one score for each row. Train with one class, num_class=1.",
                BOOSTING,
            )
        checked = as_scores(given, truth.size, name).astype(np.float64)
        return cls(truth, checked, _or_none(weight, "weight"), _or_none(group, "group"))


def _or_none(values: Any, name: str) -> Values | None:
    """The numbers as float64; None for None and for an empty array, by which XGBoost means none."""
    if values is None or np.size(values) == 0:
        return None
    return as_reals(values, name)


@final
@dataclass(frozen=True, eq=False)
class RowSets:
    """Sets of rows, and the order of the rows in them.

    Attributes
    ----------
    labels : (n,) the labels in the order of the booster
    batch : the sets
    order : (n,) the rows in the order of the sets
    even : whether the loss depends on labels and scores alone, and not on the order of the rows
    """

    labels: Bools
    batch: Sets
    order: Ints
    even: bool

    @classmethod
    def of(cls, labels: Bools, ids: Ints, loss: Loss) -> "RowSets":
        """The sets of rows with equal ``ids``, 0, 1, 2, ..., (n,)."""
        even = loss.reads == "scores" or Trait.COUNTS in loss.traits
        # With positives first, what surrogates make of equal scores does not depend on the order of the rows.
        order = np.lexsort((~labels, ids)) if even else np.argsort(ids, kind="stable")
        offsets = np.concatenate(([0], np.cumsum(np.bincount(ids)))).astype(np.int64)
        return cls(labels.copy(), Sets(labels[order], offsets), order, even)

    def in_rows(self, values: Any) -> Any:
        """Values in the order of the sets, (n,), in the order of the booster."""
        out = np.empty_like(values)
        out[self.order] = values
        return out

    def shared(self, gradient: Values, scores: Values) -> Values:
        """The gradient, (n,), with its mean over rows of one set that have the same label and the same score.

        A function that is convex and does not depend on the order of such rows has this mean among its subgradients,
        since these are a convex set and hold each permutation. Losses of places in a set keep their gradient.
        """
        if not self.even:
            return gradient
        items, labels, ordered, starts = sort_falling(scores, self.batch.truth, self.batch.offsets)
        return np.asarray(tied_means(gradient, items, labels, ordered, starts))

    def weights(self, weight: Values | None) -> Values:
        """The weight of each set, (k,), of mean 1, from weights of rows that are equal in each set, or of sets."""
        n, k = self.batch.total, len(self.batch)
        if weight is None:
            return np.ones(k)
        if weight.shape not in ((n,), (k,)):
            raise ValueError(f"weight must have one number for each of {n} rows; got shape {weight.shape}.")
        if (weight < 0).any() or not weight.any():
            raise ValueError("weight must not be negative, and not 0 everywhere.")
        weight = weight / weight.max()
        if len(weight) == n:
            rows = weight[self.order]
            weight = rows[self.batch.offsets[:-1]]
            if (rows != weight[self.batch.owners]).any():
                raise ValueError(
                    "weight must be the same for all rows of a set: it weights whole sets, and a set loss has no "
                    "weights for single rows. Give groups, or a loss with its own weights."
                )
        return np.asarray(weight / weight.mean())


@final
class RowSetCache:
    """Sets of rows for the labels and groups that a booster passes; the sets of the last labels are stored.

    Parameters
    ----------
    loss : the loss of the sets
    groups : (n,) ids of sets, one for each row; None takes the groups of the booster, and without them one set
    """

    def __init__(self, loss: Loss, groups: Any) -> None:
        self.loss = loss
        self.ids = None if groups is None else _ids(groups)
        self._last: tuple[Values | None, RowSets] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_last": None}

    def __call__(self, passed: BoosterInput) -> RowSets:
        """The sets of the rows that a booster passed."""
        if self._last is not None:
            sizes, bound = self._last
            if np.array_equal(bound.labels, passed.labels) and _equal(sizes, passed.sizes):
                return bound
        bound = RowSets.of(passed.labels, self._ids_of(passed), self.loss)
        self._last = passed.sizes, bound
        return bound

    def _ids_of(self, passed: BoosterInput) -> Ints:
        n, sizes = len(passed.labels), passed.sizes
        if self.ids is not None and sizes is not None:
            raise Refusal("boosting refuses groups: the data set already has groups. Give them once.", BOOSTING)
        if self.ids is not None:
            if len(self.ids) != n:
                raise Refusal(
                    f"boosting refuses {n} rows: groups has {len(self.ids)} ids, one for each row of the whole data. "
                    "For other rows, such as those of a fold, a validation set or a worker, make another objective.",
                    BOOSTING,
                )
            return self.ids
        if sizes is None:
            return np.zeros(n, dtype=np.int64)
        if (sizes != np.floor(sizes)).any() or (sizes < 0).any() or sizes.sum() != n:
            raise ValueError(f"group must hold sizes of groups whose sum is {n}, the number of rows.")
        # A group without rows is no set.
        counts = sizes[sizes > 0].astype(np.int64)
        return np.repeat(np.arange(len(counts)), counts)


def _ids(groups: Any) -> Ints:
    shape = as_array(groups, "groups").shape
    if len(shape) != 1 or shape[0] == 0:
        raise ValueError(f"groups must have shape (n,), one id for each row; got shape {shape}.")
    return as_ids(groups, shape[0])


def _equal(first: Values | None, second: Values | None) -> bool:
    return first is second if first is None or second is None else np.array_equal(first, second)
