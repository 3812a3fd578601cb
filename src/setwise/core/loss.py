"""A loss: what a set of decisions costs, seen as a set function of the mistakes."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import reduce
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.checks import as_labels, as_number
from setwise.core.refusal import Refusal
from setwise.core.sets import Bools, Orders, Sets
from setwise.core.traits import Trait

Values = NDArray[np.float64]


class Loss(ABC):
    """A cost ``l_y(A) >= 0`` of the mistakes ``A = {i : y_i != yhat_i}`` in one set of binary decisions.

    A subclass gives its formula three times, for a whole ragged batch at once: the value of given mistakes,
    the gains along an order, and the gain of each next mistake. All must agree with one another; tests compare them.
    """

    @property
    @abstractmethod
    def traits(self) -> frozenset[Trait]:
        """What this loss, with its parameters, promises for every ground truth."""

    @property
    def denied(self) -> frozenset[Trait]:
        """What is known to fail for some ground truth (for the wording of refusals)."""
        return frozenset()

    @abstractmethod
    def values(self, sets: Sets, mistakes: Bools) -> Values:
        """``l_y(A)`` of every set, (n,); ``mistakes`` (total,) bool; O(total)."""

    @abstractmethod
    def gains(self, sets: Sets, orders: Orders) -> Values:
        """``l({pi_1..pi_j}) - l({pi_1..pi_(j-1)})`` for every place of every order, (m,); about O(m)."""

    @abstractmethod
    def marginals(self, sets: Sets, mistakes: Bools) -> Values:
        """``l(A + i) - l(A)`` for every decision ``i`` not in ``A``, (total,); 0 for those in ``A``."""

    def check(self, sets: Sets) -> None:  # noqa: B027  (most losses fit every set)
        """Raise ValueError where the parameters do not fit the sets, as weights of another length."""

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        """The loss from counts alone, vectorized; only for losses with ``Trait.COUNTS``."""
        raise Refusal(f"{self} is not a function of (fn, fp, P, N).")

    def judge(self, sets: Sets, scores: NDArray[Any]) -> Values:
        """The loss of the predictions that ``scores`` (total,) make, positive where above 0; (n,)."""
        return self.values(sets, (scores > 0) != sets.labels)

    def quotient(self, P: Values, N: Values) -> tuple[Values, Values] | None:
        """Coefficients (n, 3) of 1, fn, fp in numerator and denominator, where the loss is such a quotient of counts.

        The denominator is positive, except at fn = fp = 0 where it may vanish. None for all other losses.
        """
        return None

    def costs(self, sets: Sets) -> Values:
        """The modular part: ``l(A) = sum_(i in A) costs_i + curved(A)``, (total,)."""
        return np.zeros(sets.total)

    @property
    def tied(self) -> bool:
        """Whether the loss is about labelings with a given number of predicted positives only, as precision at k."""
        return False

    def reference(self, sets: Sets) -> Values | None:
        """What labelings are compared with in score, (total,) in [0, 1]; None means the truth.

        A tied loss whose truth has another number of positives is compared with the mean of its best labelings.
        """
        return None

    @property
    def by_area(self) -> "tuple[Any, Values] | None":
        """``(f, areas)`` where the loss is f(fn, fp, P, N) with areas (p,) instead of counts; else None."""
        return None

    @property
    def curved(self) -> "Loss | None":
        """What is left of the loss without its ``costs``; None where nothing is."""
        return self

    def at_none(self, sets: Sets) -> Values:
        """``l_y`` of no mistake at all, (n,): 0 for nearly every loss."""
        return self.values(sets, np.zeros(sets.total, dtype=bool))

    @final
    def __call__(self, y_true: ArrayLike, y_pred: ArrayLike) -> float:
        """``l_y(A)`` with ``A`` the places where ``y_true`` and ``y_pred``, shape (p,), values 0/1, differ."""
        truth, guess = as_labels(y_true), as_labels(y_pred, "y_pred")
        if truth.shape != guess.shape:
            raise ValueError(f"y_pred must have the shape of y_true, {truth.shape}; got {guess.shape}.")
        sets = Sets.single(truth)
        self.check(sets)
        return float(self.values(sets, truth != guess)[0])

    @final
    def of_mistakes(self, y_true: ArrayLike) -> "SetFunction":
        """The set function ``A -> l_y(A)`` of one ground truth, shape (p,), values 0/1."""
        sets = Sets.single(y_true)
        self.check(sets)
        return SetFunction(self, sets)

    @final
    def __add__(self, other: object) -> "Loss":
        return Sum(self, other) if isinstance(other, Loss) else NotImplemented

    @final
    def __mul__(self, factor: object) -> "Loss":
        if not isinstance(factor, int | float | np.integer | np.floating):
            return NotImplemented
        return Scaled(as_number(factor, "factor", low=0.0, open_low=True), self)

    __rmul__ = __mul__


@final
@dataclass(frozen=True, eq=False)
class SetFunction:
    """``A -> l_y(A)`` for one ground truth ``y``; made by :meth:`Loss.of_mistakes`."""

    loss: Loss
    sets: Sets

    @property
    def p(self) -> int:
        """Number of decisions."""
        return self.sets.total

    def __call__(self, mistakes: ArrayLike) -> float:
        """``l_y(A)``; ``mistakes`` bool, shape (p,)."""
        mask = np.asarray(mistakes)
        if mask.dtype != np.bool_ or mask.shape != (self.p,):
            raise ValueError(f"mistakes must be bool of shape ({self.p},); got {mask.dtype} of shape {mask.shape}.")
        return float(self.loss.values(self.sets, mask)[0])

    def gains(self, order: ArrayLike) -> Values:
        """Marginal gains along ``order``, distinct places in 0..p-1, shape (m,), m <= p."""
        items = np.asarray(order)
        if items.ndim != 1 or (items.size and (items.dtype.kind not in "iu" or len(np.unique(items)) != len(items))):
            raise ValueError("order must be a flat array of distinct whole numbers.")
        if items.size and (items.min() < 0 or items.max() >= self.p):
            raise ValueError(f"order must hold places in 0..{self.p - 1}; got {items.min()} to {items.max()}.")
        items = items.astype(np.int32)
        orders = Orders(items, self.sets.labels[items], np.array([0, len(items)], dtype=np.int64))
        return self.loss.gains(self.sets, orders)


@final
@dataclass(frozen=True, eq=False)
class Sum(Loss):
    """``l(A) = first(A) + second(A)``; keeps every promise that both terms make."""

    first: Loss
    second: Loss

    def __post_init__(self) -> None:
        for part in (self.first, self.second):
            if part.tied:
                raise Refusal(f"+ refuses {part!r}: it ties the number of predicted positives. Train for it alone.")

    @property
    def traits(self) -> frozenset[Trait]:
        return self.first.traits & self.second.traits

    def check(self, sets: Sets) -> None:
        self.first.check(sets)
        self.second.check(sets)

    def values(self, sets: Sets, mistakes: Bools) -> Values:
        return self.first.values(sets, mistakes) + self.second.values(sets, mistakes)

    def gains(self, sets: Sets, orders: Orders) -> Values:
        return self.first.gains(sets, orders) + self.second.gains(sets, orders)

    def marginals(self, sets: Sets, mistakes: Bools) -> Values:
        return self.first.marginals(sets, mistakes) + self.second.marginals(sets, mistakes)

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return self.first.of_counts(fn, fp, P, N) + self.second.of_counts(fn, fp, P, N)

    def costs(self, sets: Sets) -> Values:
        return self.first.costs(sets) + self.second.costs(sets)

    @property
    def curved(self) -> Loss | None:
        parts = [part for part in (self.first.curved, self.second.curved) if part is not None]
        if len(parts) == 2 and parts[0] is self.first and parts[1] is self.second:
            return self
        return reduce(Sum, parts) if parts else None

    def __repr__(self) -> str:
        return f"{self.first!r} + {self.second!r}"


@final
@dataclass(frozen=True, eq=False)
class Scaled(Loss):
    """``l(A) = factor * loss(A)``, factor > 0; keeps every promise of ``loss``."""

    factor: float
    loss: Loss

    @property
    def traits(self) -> frozenset[Trait]:
        return self.loss.traits

    @property
    def denied(self) -> frozenset[Trait]:
        return self.loss.denied

    def check(self, sets: Sets) -> None:
        self.loss.check(sets)

    @property
    def tied(self) -> bool:
        return self.loss.tied

    def reference(self, sets: Sets) -> Values | None:
        return self.loss.reference(sets)

    def judge(self, sets: Sets, scores: NDArray[Any]) -> Values:
        return self.factor * self.loss.judge(sets, scores)

    def quotient(self, P: Values, N: Values) -> tuple[Values, Values] | None:
        found = self.loss.quotient(P, N)
        return None if found is None else (self.factor * found[0], found[1])

    def values(self, sets: Sets, mistakes: Bools) -> Values:
        return self.factor * self.loss.values(sets, mistakes)

    def gains(self, sets: Sets, orders: Orders) -> Values:
        return self.factor * self.loss.gains(sets, orders)

    def marginals(self, sets: Sets, mistakes: Bools) -> Values:
        return self.factor * self.loss.marginals(sets, mistakes)

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return self.factor * self.loss.of_counts(fn, fp, P, N)

    def costs(self, sets: Sets) -> Values:
        return self.factor * self.loss.costs(sets)

    @property
    def curved(self) -> Loss | None:
        rest = self.loss.curved
        if rest is self.loss:
            return self
        return None if rest is None else Scaled(self.factor, rest)

    def __repr__(self) -> str:
        inner = f"({self.loss!r})" if isinstance(self.loss, Sum) else f"{self.loss!r}"
        return f"{self.factor:g} * {inner}"
