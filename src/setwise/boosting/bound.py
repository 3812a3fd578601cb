"""Rows of a booster as sets, in the order in which setwise has them."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from setwise.boosting.passed import Passed
from setwise.core.batch import Sets
from setwise.core.checks import Bools, Ints, Values, as_array
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import BOOSTING
from setwise.core.terms import Trait
from setwise.estimators.sets import as_ids
from setwise.kernels.segments import tied_means
from setwise.kernels.sorting import sort_falling


@final
@dataclass(frozen=True, eq=False)
class Bound:
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
    def of(cls, labels: Bools, ids: Ints, loss: Loss) -> "Bound":
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
                    "weight must be the same for all rows of a set: it weighs whole sets, and a set loss has no "
                    "weights for single rows. Give groups, or a loss with weights of its own."
                )
        return np.asarray(weight / weight.mean())


@final
class Binder:
    """Sets of rows for the labels and groups that a booster passes; the sets of the last labels are stored.

    Parameters
    ----------
    loss : the loss of the sets
    groups : (n,) ids of sets, one for each row; None takes the groups of the booster, and without them one set
    """

    def __init__(self, loss: Loss, groups: Any) -> None:
        self.loss = loss
        self.ids = None if groups is None else _ids(groups)
        self._last: tuple[Values | None, Bound] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_last": None}

    def __call__(self, passed: Passed) -> Bound:
        """The sets of the rows that a booster passed."""
        if self._last is not None:
            sizes, bound = self._last
            if np.array_equal(bound.labels, passed.labels) and _equal(sizes, passed.sizes):
                return bound
        bound = Bound.of(passed.labels, self._ids_of(passed), self.loss)
        self._last = passed.sizes, bound
        return bound

    def _ids_of(self, passed: Passed) -> Ints:
        n, sizes = len(passed.labels), passed.sizes
        if self.ids is not None and sizes is not None:
            raise Refusal("boosting refuses groups: the data set has groups of its own. Give them once.", BOOSTING)
        if self.ids is not None:
            if len(self.ids) != n:
                raise Refusal(
                    f"boosting refuses {n} rows: groups has {len(self.ids)} ids, one for each row of the whole data. "
                    "With other rows, as those of a fold, of a validation set or of a worker, make another one.",
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
