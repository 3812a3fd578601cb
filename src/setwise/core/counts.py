"""Losses that depend on four counts alone."""

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.core.loss import Loss, Values
from setwise.core.sets import Bools, Orders, Sets
from setwise.kernels.counts import quotient_gains, running_counts
from setwise.kernels.segments import count_true, steps
from setwise.kernels.sorting import sort_falling


class CountBased(Loss):
    """``l_y(A) = f(fn, fp, P, N)``: false negatives, false positives, positives and negatives of the set.

    A subclass gives :meth:`of_counts`, vectorized over float64 arrays; values, gains and marginals follow in O(p).
    """

    @abstractmethod
    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        """The formula; the four arguments broadcast, with 0 <= fn <= P and 0 <= fp <= N."""

    def monge(self, P: int, N: int) -> bool | None:
        """Whether the gain of a false negative never grows with fp, for 0 <= fn <= P, 0 <= fp <= N; None if unknown."""
        return None

    def predicted(self, P: Values, N: Values) -> Values | None:
        """How many decisions must be predicted positive for the loss to be defined, (n,); None where any number may."""
        return None

    @property
    def tied(self) -> bool:
        """Whether :meth:`predicted` gives numbers."""
        return self.predicted(np.ones(1), np.ones(1)) is not None

    def reference(self, sets: Sets) -> Values | None:
        """The mean of the labelings with as many predicted positives as asked for and fewest mistakes, (total,)."""
        P, N = _sizes(sets)
        k = self.predicted(P, N)
        if k is None or (k == P).all():
            return None
        positive = np.minimum(k / np.maximum(P, 1.0), 1.0)
        negative = np.maximum(k - P, 0.0) / np.maximum(N, 1.0)
        return np.where(sets.labels, positive[sets.owners], negative[sets.owners])

    def judge(self, sets: Sets, scores: NDArray[Any]) -> Values:
        """The loss of what ``scores`` predict: above 0, or as many of the largest as :meth:`predicted` says; (n,).

        Scores tied for the last of these places share them: expected counts of a random choice, whatever their order.
        """
        self.check(sets)
        predicted = self.predicted(*_sizes(sets))
        if predicted is None:
            return super().judge(sets, scores)
        items, _, _, _ = sort_falling(scores, sets.labels, sets.offsets)
        last = sets.offsets[:-1] + np.maximum(predicted.astype(np.int64) - 1, 0)
        cut = scores[items[last]][sets.owners]
        above, tied = scores > cut, scores == cut
        ahead, ties = (count_true(mask, sets.offsets).astype(np.float64) for mask in (above, tied))
        share = np.clip(predicted - ahead, 0.0, ties) / ties
        tp = count_true(above & sets.labels, sets.offsets) + share * count_true(tied & sets.labels, sets.offsets)
        P, N = _sizes(sets)
        tp = np.where(predicted > 0, tp, 0.0)
        return self.of_counts(P - tp, predicted - tp, P, N)

    def values(self, sets: Sets, mistakes: Bools) -> Values:
        """``f(fn, fp, P, N)`` of every set, (n,)."""
        return self.of_counts(*_counts(sets, mistakes), *_sizes(sets))

    def at_none(self, sets: Sets) -> Values:
        """``f(0, 0, P, N)`` of every set, (n,)."""
        return self.of_counts(np.zeros(len(sets)), np.zeros(len(sets)), *_sizes(sets))

    def gains(self, sets: Sets, orders: Orders) -> Values:
        """Differences of the loss along the running counts, (m,)."""
        P, N = _sizes(sets)
        coefficients = self.quotient(P, N)
        if coefficients is not None:
            return quotient_gains(orders.labels, orders.offsets, *coefficients)
        fn, fp = running_counts(orders.labels, orders.offsets)
        if len(sets) > 1:
            P, N = np.repeat(P, orders.sizes), np.repeat(N, orders.sizes)
        return steps(self.of_counts(fn, fp, P, N), orders.offsets, self.at_none(sets))

    def marginals(self, sets: Sets, mistakes: Bools) -> Values:
        """The gain of one more false negative or false positive, (total,)."""
        fn, fp = _counts(sets, mistakes)
        P, N = _sizes(sets)
        now = self.of_counts(fn, fp, P, N)
        miss = np.where(fn < P, self.of_counts(np.minimum(fn + 1, P), fp, P, N) - now, 0.0)
        alarm = np.where(fp < N, self.of_counts(fn, np.minimum(fp + 1, N), P, N) - now, 0.0)
        owners = sets.owners
        return np.where(mistakes, 0.0, np.where(sets.labels, miss[owners], alarm[owners]))


def _counts(sets: Sets, mistakes: Bools) -> tuple[Values, Values]:
    fn = count_true(mistakes & sets.labels, sets.offsets).astype(np.float64)
    return fn, count_true(mistakes, sets.offsets) - fn


def _sizes(sets: Sets) -> tuple[Values, Values]:
    return sets.positives.astype(np.float64), sets.negatives.astype(np.float64)
