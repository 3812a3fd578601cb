"""Bounds of expected quotients of counts where sums of probabilities are known at some numbers predicted alone."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.checks import Ints, Values
from setwise.decisions.by_moments import ROUNDING
from setwise.decisions.formula import Formula
from setwise.decisions.levels import Levels


@final
@dataclass(frozen=True, eq=False)
class LevelBounds:
    """Bounds of ``E f(k, tp, fn)``, f = A / D with A and D linear in (P, fn, fp), at the ends of levels and inside.

    Let the first a of all p decisions, which fall in probability, be predicted, or b, or any number k between. As sums
    of decisions, fn_k >= fn_b and fp_k >= fp_a for every truth, and f increases at each truth; so

        f_k = f(fn_k, fp_k, P) >= f(fn_b, fp_a, P) = A / D =: x, with fp_a = a - tp_a and P = tp_a + m + fn_b,

    where m counts the positives of the decisions between a and b. These counts of mistakes are possible ones, since
    fn_b <= P and fp_a <= p - P; so x is not negative, and at most the largest loss. A and D are linear in the counts
    tp_a, m and fn_b, which are independent, with the sums of q as means and those of q (1 - q) as variances. With M the
    mean of D, ``A / D = A / M - A (D - M) / M^2 + (A / D) (D - M)^2 / M^2``, of which the last term is at least 0. So

        E f_k >= E x >= E[A] / M - Cov(A, D) / M^2.

    For a = k = b the first inequality is an equality, and the second one misses at most the largest loss times
    ``Var(D) / M^2``, which is of the order of 1/p. Where nothing is positive f need not be A / D. Then it is at least
    its value with a predicted, by which the bounds are corrected with the chance ``none`` of that truth.

    Parameters
    ----------
    formula : the loss, with a ``fraction``; its truths begin with P = 0 if ``none`` is above 0
    none : the chance that nothing is positive, or 0 where that is negligible
    """

    formula: Formula
    none: float

    def inside(self, levels: Levels) -> Values:
        """Lower bounds for all numbers between the two ends of each level, (k,)."""
        (k, hit, spread), (miss, rest) = levels.ends, levels.rests
        first = slice(0, -1)
        before = k[first], hit[first], spread[first]
        lower, _ = self._lower(*before, levels.means, levels.variances, miss[1:], rest[1:])
        # Between the ends of a single decision there is no number.
        return np.where(levels.counts > 1, lower, np.inf)

    def at(self, k: Ints, hit: Values, spread: Values, miss: Values, rest: Values) -> tuple[Values, Values]:
        """Lower and upper bounds where k are predicted.

        The positives among them have the mean ``hit`` and the variance ``spread``, and those among the others ``miss``
        and ``rest``; (n,) each.
        """
        zero = np.zeros(len(k))
        lower, more = self._lower(k, hit, spread, zero, zero, miss, rest)
        return lower, np.minimum(lower + more, self.largest)

    def _lower(
        self, a: Ints, hit: Values, spread: Values, between: Values, within: Values, miss: Values, rest: Values
    ) -> tuple[Values, Values]:
        """The lower bounds, and how far the losses may be above them where nothing is between."""
        fraction = self.formula.fraction
        assert fraction is not None
        k, (t, d) = a.astype(np.float64), (fraction.top, fraction.bottom)
        with np.errstate(all="ignore"):
            top, bottom = (x[0] + x[3] * k for x in (t, d))
            # The slopes of A and D along tp_a, m and fn_b.
            slopes = [(x[1] - x[3], x[1], x[1] + x[2]) for x in (t, d)]
            mean = bottom + slopes[1][0] * hit + slopes[1][1] * between + slopes[1][2] * miss
            mean = np.where(mean > 0.0, mean, 1.0)
            number = top + slopes[0][0] * hit + slopes[0][1] * between + slopes[0][2] * miss
            variances = spread, within, rest
            both = sum((x * y * v / mean for x, y, v in zip(*slopes, variances, strict=True)), 0.0 * k) / mean
            share = sum((y * y * v / mean for y, v in zip(slopes[1], variances, strict=True)), 0.0 * k) / mean
            shift = self._shift(k)
            low = number / mean - both + shift
            more = self.largest * share + np.maximum(-shift, 0.0) + 2.0 * self.rounding
        # Tiny means have variances relative to their squares that leave float64: then the bounds say nothing.
        low = np.where(np.isfinite(low), np.maximum(low - self.rounding, 0.0), 0.0)
        return low, np.where(np.isfinite(more), more, np.inf)

    def _shift(self, k: Values) -> Values:
        """The chance that nothing is positive, times the difference of the loss there from A / D."""
        if self.none == 0.0:
            return 0.0 * k
        quotient = np.maximum(self._without_positives(k), 0.0)
        loss = self.formula.of(0.0 * k, k, 0.0 * k)
        return np.asarray(self.none * (loss - quotient))

    def _without_positives(self, k: Values) -> Values:
        """A / D where nothing is positive and k are predicted; 0/0 is taken for 0."""
        fraction = self.formula.fraction
        assert fraction is not None
        top, bottom = (x[0] + x[3] * k for x in (fraction.top, fraction.bottom))
        return np.asarray(top / np.where(bottom > 0.0, bottom, 1.0))

    @cached_property
    def largest(self) -> float:
        """The largest loss: that of labelings without a right decision, monotone in P >= 1, or that at P = 0."""
        fraction, p = self.formula.fraction, float(self.formula.size)
        assert fraction is not None
        P = np.array([1.0, p])
        top, bottom = (x[0] + x[1] * P + x[2] * P + x[3] * (p - P) for x in (fraction.top, fraction.bottom))
        k = np.array([0.0, 1.0, p])
        found = [*(top / bottom), *self._without_positives(k)]
        if self.formula.first == 0:
            found += list(self.formula.of(0.0 * k, k, 0.0 * k))
        return float(max(found))

    @property
    def rounding(self) -> float:
        """A bound on the rounding of the bounds."""
        return ROUNDING * self.largest
