"""How much functions of counts bend over ranges of the counts: bounds on their second and mixed differences."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.arrays import Values

Bend = Callable[[Values, Values, Values, Values, Values, Values], tuple[Values, Values, Values]]
"""From the first and the last fn, the first and the last fp, P and N: lower bounds of the second differences
``f(fn+1) - 2 f(fn) + f(fn-1)``, of those along fp, and upper bounds of the mixed differences
``f(fn+1, fp+1) - f(fn+1, fp) - f(fn, fp+1) + f(fn, fp)`` over the ranges. A bound may be infinite, and NaN is none."""

Coefficients = Callable[[Values, Values], tuple[Values, Values] | None]


def convex_monge(
    first_fn: Values, last_fn: Values, first_fp: Values, last_fp: Values, P: Values, N: Values
) -> tuple[Values, Values, Values]:
    """Bounds for functions that are convex along fn and along fp and have no mixed difference above 0."""
    none = 0.0 * (first_fn + last_fn + first_fp + last_fp + P + N)
    return none, none, none


@final
@dataclass(frozen=True)
class QuotientBend:
    """Bounds for increasing quotients n / d of linear functions, from their ``coefficients`` of 1, fn, fp, (n, 3) each.

    Along fn the first derivative is ``(n1 d - d1 n) / d^2``. Its numerator e1 >= 0 does not depend on fn, and is linear
    along fp. So the second derivative ``-2 d1 e1 / d^3`` is at least 0 where d1 <= 0, and elsewhere it is bounded by
    the largest e1 and the least d of the corners. Along fp it is alike. The mixed derivative is
    ``(2 d1 d2 n - (d2 n1 + d1 n2) d) / d^3``, with a linear numerator that is largest at a corner. A difference is a
    mean of derivatives over the counts that it spans.
    """

    coefficients: Coefficients

    def __call__(
        self, first_fn: Values, last_fn: Values, first_fp: Values, last_fp: Values, P: Values, N: Values
    ) -> tuple[Values, Values, Values]:
        """The bounds, as those of any :data:`Bend`."""
        found = self.coefficients(np.atleast_1d(P), np.atleast_1d(N))
        assert found is not None
        (n0, n1, n2), (d0, d1, d2) = (part.T for part in found)
        rise, least = np.zeros(3)[:, None], np.full(1, np.inf)
        for fn in (first_fn, last_fn):
            for fp in (first_fp, last_fp):
                n, d = n0 + n1 * fn + n2 * fp, d0 + d1 * fn + d2 * fp
                mixed = 2.0 * d1 * d2 * n - (d2 * n1 + d1 * n2) * d
                rise = np.maximum(rise, np.stack([n1 * d - d1 * n, n2 * d - d2 * n, mixed]))
                least = np.minimum(least, d)
        with np.errstate(divide="ignore", invalid="ignore"):
            along_fn, along_fp, mixed = rise / np.maximum(least, 0.0) ** 3
            return -2.0 * np.maximum(d1, 0.0) * along_fn, -2.0 * np.maximum(d2, 0.0) * along_fp, mixed
