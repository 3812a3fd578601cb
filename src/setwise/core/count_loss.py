"""Losses that depend on four counts alone."""

from abc import abstractmethod
from dataclasses import replace

import numpy as np

from setwise.core.arrays import Values
from setwise.core.counts import Counts, Quotient
from setwise.core.measure import Loss
from setwise.core.sets import Sets
from setwise.core.structure import Structure
from setwise.core.terms import Mistakes
from setwise.core.traits import Trait


class CountLoss(Loss):
    """``l_y(A) = f(fn, fp, P, N)``: false negatives, false positives, positives and negatives of the set.

    A subclass gives :meth:`of_counts`, vectorized over float64 arrays; all else follows. The other methods tell
    inference what makes its search fast.
    """

    @abstractmethod
    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        """The formula; the four arguments broadcast, with 0 <= fn <= P and 0 <= fp <= N."""

    def quotient(self, P: Values, N: Values) -> Quotient | None:
        """Coefficients (n, 3) of 1, fn, fp in numerator and denominator, where an increasing loss is such a quotient.

        The denominator is positive, except at fn = fp = 0 where it may vanish. None for all other losses.
        """
        return None

    @property
    def monge(self) -> bool | None:
        """Whether the gain of a false negative never grows with fp, for all P and N; None if unknown."""
        return None

    def predicted(self, P: Values, N: Values) -> Values | None:
        """How many decisions must be predicted positive for the loss to be defined, (n,); None where any number may."""
        return None

    def bind(self, batch: Sets) -> Structure:
        P, N = batch.count(1), batch.count(0)
        predicted = self.predicted(P, N)
        if Trait.MODULAR in self.traits:
            costs = self._costs(batch, P, N)
            if costs is not None:
                return Structure(batch, (Mistakes(costs),))
        term = Counts(
            ((1.0, self.of_counts),),
            P,
            N,
            self.traits,
            quotient=self.quotient(P, N) if Trait.INCREASING in self.traits else None,
            monge=self.monge,
            predicted=predicted,
        )
        return Structure(batch if predicted is None else _compared_with_best(batch, predicted), (term,))

    def _costs(self, batch: Sets, P: Values, N: Values) -> Values | None:
        """What each mistake costs where the loss is modular and no mistake costs nothing, (total,); else None."""
        none = np.zeros(len(P))
        start = self.of_counts(none, none, P, N)
        miss = self.of_counts(np.minimum(P, 1.0), none, P, N)
        alarm = self.of_counts(none, np.minimum(N, 1.0), P, N)
        if (start != 0).any():
            return None
        return np.where(batch.truth, np.repeat(miss, batch.sizes), np.repeat(alarm, batch.sizes))


def _compared_with_best(batch: Sets, predicted: Values) -> Sets:
    """The batch compared with the mean of the labelings that have as many predicted positives and fewest mistakes.

    Where another number of positives is asked for than there is, the truth is not among the labelings that are allowed.
    """
    P, N = batch.positives, batch.negatives
    if (predicted == P).all():
        return batch
    positive = np.minimum(predicted / np.maximum(P, 1.0), 1.0)
    negative = np.maximum(predicted - P, 0.0) / np.maximum(N, 1.0)
    return replace(batch, compared=np.where(batch.truth, positive[batch.owners], negative[batch.owners]))
