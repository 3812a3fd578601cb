"""Decisions of large sets for quotients of linear functions of the counts: bounds by means and variances."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.checks import Ints, Values
from setwise.decisions.by_sizes import BySizes
from setwise.decisions.by_window import expected
from setwise.decisions.formula import Formula
from setwise.decisions.pmf import count_of
from setwise.kernels.poisson_binomial import bounds_by_moments

CERTAIN = 50.0
"""Of so many expected positives at least one is there, up to a chance of 1e-21."""

ROUNDING = 1e-10
"""A bound on the rounding of the bounds, relative to the largest loss."""


@final
@dataclass(frozen=True, eq=False)
class ByMoments(BySizes):
    """``min_k E[A / D]``, A and D linear in tp and fn: the bounds of all k together cost O(p), after a sort.

    With m the mean of D, ``A / D = A / m - A (D - m) / m^2 + (A / D) (D - m)^2 / m^2``. The last term is not negative,
    and at most the largest loss times ``(D - m)^2 / m^2``, so

        0 <= E[A / D] - (E[A] / m - Cov(A, D) / m^2) <= largest Var(D) / m^2,

    which is of the order of 1/p. Numbers k are evaluated exactly, first that of the least guess between
    both, then those of least bound, until the gap is ``tol``.

    Parameters
    ----------
    formula : the loss, with a ``fraction``
    tol : the gap at which the search may stop
    """

    formula: Formula
    tol: float

    def least(self, q: Values, cuts: Ints) -> tuple[int, float, float]:
        lower, _, guess = (x[cuts] for x in self._bounds(q))
        # The best guess is near the best; then the numbers of least bound decide.
        best = int(guess.argmin())
        value = self._value(q, int(cuts[best]))
        lower[best] = value
        for i in np.argsort(lower, kind="stable"):
            if lower[i] >= value - self.tol:
                break
            lower[i] = self._value(q, int(cuts[i]))
            if lower[i] < value:
                best, value = int(i), float(lower[i])
        return int(cuts[best]), value, min(value, float(lower.min()))

    def _value(self, q: Values, k: int) -> float:
        """The expected loss of predicting the first k."""
        return expected(self.formula, count_of(q[:k]), count_of(q[k:]), k)

    def _bounds(self, q: Values) -> tuple[Values, Values, Values]:
        """Lower and upper bounds of the expected losses of predicting the first k, k = 0..p, and guesses of them."""
        fraction, p = self.formula.fraction, self.formula.size
        assert fraction is not None
        none = float(np.exp(np.log1p(-np.minimum(q, 1.0 - 1e-16)).sum())) if q.sum() < CERTAIN else 0.0
        lower, upper, guess = np.empty((3, p + 1))
        bounds_by_moments(q, fraction.top, fraction.bottom, none, *self._without_positives, lower, upper, guess)
        return lower, upper, guess

    @cached_property
    def _without_positives(self) -> tuple[Values, float, float]:
        """The loss of each number predicted where nothing is positive, the largest loss, and a bound on rounding."""
        k, zero = np.arange(self.formula.size + 1.0), np.zeros(self.formula.size + 1)
        fraction = self.formula.fraction
        assert fraction is not None
        top, bottom = (part[0] + part[3] * k for part in (fraction.top, fraction.bottom))
        largest = max(self.formula.largest, float((top / np.where(bottom > 0.0, bottom, 1.0)).max()))
        return self.formula.of(zero, k, zero), largest, ROUNDING * largest
