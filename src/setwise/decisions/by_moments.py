"""Decisions of large sets for quotients of linear functions of the counts: bounds by means and variances."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.arrays import Values
from setwise.decisions.by_sizes import BySizes
from setwise.decisions.by_window import expected
from setwise.decisions.formula import Formula
from setwise.decisions.pmf import count_of

ROUNDING = 1e-10
"""A bound on the rounding of the bounds, relative to the largest loss."""


@final
@dataclass(frozen=True, eq=False)
class ByMoments(BySizes):
    """``min_k E[A / D]``, A and D linear in tp and fn: the bounds of all k together cost O(p), after a sort.

    With m the mean of D, ``A / D = A / m - A (D - m) / m^2 + (A / D) (D - m)^2 / m^2``. The last term is not negative,
    and at most the largest loss times ``(D - m)^2 / m^2``, so

        0 <= E[A / D] - (E[A] / m - Cov(A, D) / m^2) <= largest Var(D) / m^2,

    which is of the order of 1/p. With ``E[A] / m`` for the largest loss this guesses the value, with a smaller error.
    Numbers k are evaluated exactly, those of least bound first, until the gap is ``tol``.

    Parameters
    ----------
    formula : the loss, with a ``fraction``
    tol : the gap at which the search may stop
    """

    formula: Formula
    tol: float

    def least(self, q: Values) -> tuple[int, float, float]:
        lower, _, guess = self._bounds(q)
        # The best guess is near the best; then the numbers of least bound decide.
        best = int(guess.argmin())
        value = self._value(q, best)
        lower[best] = value
        for k in np.argsort(lower, kind="stable"):
            if lower[k] >= value - self.tol:
                break
            lower[k] = self._value(q, int(k))
            if lower[k] < value:
                best, value = int(k), float(lower[k])
        return best, value, min(value, float(lower.min()))

    def _value(self, q: Values, k: int) -> float:
        """The expected loss of predicting the first k."""
        return expected(self.formula, count_of(q[:k]), count_of(q[k:]), k)

    def _bounds(self, q: Values) -> tuple[Values, Values, Values]:
        """Lower and upper bounds of the expected losses of predicting the first k, k = 0..p, and guesses of them."""
        fraction, k = self.formula.fraction, np.arange(len(q) + 1.0)
        assert fraction is not None
        tp, spread = (np.concatenate(([0.0], np.cumsum(x))) for x in (q, q * (1.0 - q)))
        fn, rest = tp[-1] - tp, np.maximum(spread[-1] - spread, 0.0)
        # With P = tp + fn and fp = k - tp: the constants, and the coefficients of tp and of fn.
        (a0, a1, a2), (d0, d1, d2) = (
            (part[0] + part[3] * k, part[1] - part[3], part[1] + part[2]) for part in (fraction.top, fraction.bottom)
        )
        top, mean = a0 + a1 * tp + a2 * fn, d0 + d1 * tp + d2 * fn
        mean = np.where(mean > 0.0, mean, 1.0)
        # Without positives the loss may differ from the quotient, as far as this can be at all.
        none = float(np.exp(np.log1p(-np.minimum(q, 1.0 - 1e-16)).sum()))
        zero, at_zero = np.zeros(len(k)), a0 / np.where(d0 > 0.0, d0, 1.0)
        shift = none * (self.formula.of(zero, k, zero) - np.maximum(at_zero, 0.0))
        # Where nothing is predicted and nothing is positive, the quotient may be 0/0, and the loss is 0 or more.
        shift[0] = -none * max(0.0, float(at_zero[0]))
        # Tiny means have variances relative to their squares that leave float64: then the bounds say nothing.
        with np.errstate(over="ignore", invalid="ignore"):
            lower = top / mean - (a1 * d1 * spread / mean + a2 * d2 * rest / mean) / mean + shift
            largest = max(self.formula.largest, float(at_zero.max()))
            share = (d1**2 * spread / mean + d2**2 * rest / mean) / mean
            upper, guess = lower + largest * share + np.maximum(-shift, 0.0), lower + top / mean * share
        lower, upper, guess = (np.nan_to_num(x, nan=0.0, neginf=0.0) for x in (lower, upper, guess))
        lower = np.maximum(lower - ROUNDING * largest, 0.0)
        upper = np.minimum(upper + ROUNDING * largest, largest)
        return lower, upper, np.clip(guess, lower, upper)
