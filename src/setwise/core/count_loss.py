"""Losses that depend on the counts of false negatives, false positives, positives and negatives alone."""

from abc import abstractmethod
from dataclasses import replace

import numpy as np

from setwise.core.arrays import Values
from setwise.core.bends import Bend, QuotientBend
from setwise.core.counts import Ceiling, Counts, Formula, Quotient
from setwise.core.measure import Loss
from setwise.core.pages import NETWORKS_REFUSE
from setwise.core.refusal import BrokenPromise, Refusal
from setwise.core.sets import Sets
from setwise.core.structure import Structure
from setwise.core.terms import Mistakes
from setwise.core.traits import Trait


class CountLoss(Loss):
    """``l_y(A) = f(fn, fp, P, N)`` of the false negatives, false positives, positives and negatives of the set.

    A subclass gives :meth:`of_counts`, vectorized over float64 arrays, and everything else follows from it. The other
    methods state properties of f with which inference finds the maximum faster. docs/guide/own_loss.md makes one step
    by step.

    Source: Joachims (2005) for losses of counts; the properties are own (docs/guide/inference.md).

    Raises
    ------
    BrokenPromise : where the loss is bound to sets, for a promise of ``Trait.MODULAR`` that f does not keep there
    Refusal : a ValueError, where a loss with :meth:`predicted` is bound to networks

    Examples
    --------
    The share of decisions that are wrong, with misses four times as expensive:

    >>> from dataclasses import dataclass
    >>> from setwise.core import CountLoss
    >>> from setwise.losses import Trait
    >>> @dataclass(frozen=True)
    ... class Missed(CountLoss):
    ...     traits = frozenset({Trait.INCREASING, Trait.MODULAR, Trait.COUNTS})
    ...
    ...     @classmethod
    ...     def examples(cls, p):
    ...         return [cls()]
    ...
    ...     def of_counts(self, fn, fp, P, N):
    ...         return (4.0 * fn + fp) / (P + N)
    >>> Missed()([1, 1, 0, 0], [1, 0, 1, 0])
    1.25
    """

    @abstractmethod
    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        """The formula f; its four arguments broadcast, with 0 <= fn <= P and 0 <= fp <= N."""

    def quotient(self, P: Values, N: Values) -> Quotient | None:
        """The coefficients (n, 3) of 1, fn, fp in the numerator and in the denominator of a linear-fractional loss.

        The loss must increase, and the denominator must be positive, except at fn = fp = 0 where it may vanish. All
        other losses return None.
        """
        return None

    @property
    def monge(self) -> bool | None:
        """Whether one more false negative never adds more at a larger fp, for all P and N; None if this is unknown."""
        return None

    @property
    def affine(self) -> bool | None:
        """Whether f is affine in fn where P, N and the number ``P - fn + fp`` predicted are fixed; None: unknown.

        For quotients this is read off the coefficients, so only other losses need to tell.
        """
        return None

    @property
    def diluted(self) -> bool | None:
        """Whether f never grows with P where fn, fp and N are fixed, nor with N where the others are; None: unknown.

        One more right decision then never makes the loss larger. The bounds of large decisions are faster for it.
        """
        return None

    @property
    def ceiling(self) -> Ceiling | None:
        """A bound on f over ranges of fn and fp, for losses that do not increase; None: unknown.

        It takes the first and the last fn, the first and the last fp, P and N, which broadcast. With it large tables of
        counts are pruned, as those of increasing losses are.
        """
        return None

    @property
    def bend(self) -> Bend | None:
        """Bounds on the second differences of f over ranges of fn and fp; None: unknown.

        With them large sets in several pieces need few rounds of histograms. For quotients they are known, so only
        other losses need to tell.
        """
        return None

    def predicted(self, P: Values, N: Values) -> Values | None:
        """The number of decisions that must be predicted positive for the loss to be defined, (n,); None allows any."""
        return None

    @property
    def formula(self) -> Formula | None:
        kind = type(self)
        # A subclass that binds in a way of its own, or fits some sets only, is not known by its formula alone.
        own = (kind.bind, kind.counts, kind.check, kind.predicted)
        plain = own == (CountLoss.bind, CountLoss.counts, Loss.check, CountLoss.predicted)
        return self.of_counts if plain and self.reads == "labels" else None

    def bind(self, batch: Sets) -> Structure:
        P, N = batch.count(1), batch.count(0)
        # A modular loss is bound as a sum of costs, which is maximized exactly, decision by decision.
        if Trait.MODULAR in self.traits:
            costs = self._costs(batch, P, N)
            if costs is not None:
                return Structure(batch, (Mistakes(costs),))
        term = self.counts(P, N)
        if term.predicted is None:
            return Structure(batch, (term,))
        if not isinstance(batch, Sets):
            raise Refusal(
                f"{self!r} refuses {type(batch).__name__}: it fixes the number of predicted positives, which no method "
                "for networks can. Train for another loss, and measure this one by differences of max-marginals.",
                NETWORKS_REFUSE,
            )
        return Structure(_compared_with_best(batch, term.predicted), (term,))

    def counts(self, P: Values, N: Values) -> Counts:
        """The formula for sets with these numbers of positives and negatives, (n,) each, as a term."""
        quotient = self.quotient(P, N) if Trait.INCREASING in self.traits else None
        # With fp = fn + a constant, a denominator whose coefficients of fn and fp cancel is a constant.
        bend = self.bend if quotient is None else QuotientBend(self.quotient)
        flat = quotient is not None and bool(np.isclose(quotient[1][:, 1], -quotient[1][:, 2], 1e-15, 0.0).all())
        return Counts(
            ((1.0, self.of_counts),),
            P,
            N,
            self.traits,
            quotient=quotient,
            monge=self.monge,
            predicted=self.predicted(P, N),
            affine=True if flat else self.affine,
            diluted=self.diluted,
            ceilings=None if self.ceiling is None else ((1.0, self.ceiling),),
            bends=None if bend is None else ((1.0, bend),),
        )

    def _costs(self, batch: Sets, P: Values, N: Values) -> Values | None:
        """The cost of each mistake of a modular loss, (total,); None if the loss of no mistake is not 0."""
        none = np.zeros(len(P))
        # The first mistake of each kind has the cost of all others. Where a set lacks a class, its count stays 0.
        start = self.of_counts(none, none, P, N)
        miss = self.of_counts(np.minimum(P, 1.0), none, P, N)
        alarm = self.of_counts(none, np.minimum(N, 1.0), P, N)
        if (start != 0).any():
            return None
        whole, sums = self.of_counts(P, N, P, N), P * miss + N * alarm
        if (np.abs(whole - sums) > 1e-9 * (np.abs(whole) + np.abs(sums))).any():
            raise BrokenPromise(
                f"{self!r} breaks its promise: on these sets it is not modular. Leave that promise out."
            )
        return np.where(batch.truth, np.repeat(miss, batch.sizes), np.repeat(alarm, batch.sizes))


def _compared_with_best(batch: Sets, predicted: Values) -> Sets:
    """The batch whose target is the mean of the best labelings among those with ``predicted`` positives.

    The best of them have the fewest mistakes. The truth itself is not allowed where its number of positives differs.
    """
    P, N = batch.positives, batch.negatives
    if batch.totals is not None:
        N, P = batch.totals.T
    if (predicted == P).all():
        return batch
    # With fewer predicted positives than P every positive is chosen equally often, and no negative. With more, all
    # positives are chosen, and the negatives share the rest.
    positive = np.minimum(predicted / np.maximum(P, 1.0), 1.0)
    negative = np.maximum(predicted - P, 0.0) / np.maximum(N, 1.0)
    return replace(batch, compared=np.where(batch.truth, positive[batch.owners], negative[batch.owners]))
