"""How well the number predicted positive agrees with the number of positives, whichever decisions are wrong."""

import numpy as np

from setwise.core.checks import Values
from setwise.core.counts import Ceiling, Formula


def divergence(fn: Values, fp: Values, P: Values, N: Values) -> Values:
    """``p log(p / q) + (1 - p) log((1 - p) / (1 - q))`` with p from P, and q from ``P - fn + fp``, of P + N decisions.

    Each prevalence is ``(count + 1/2) / (P + N + 1)``, so that the divergence is finite.
    """
    more, positive, negative = fp - fn, P + 0.5, N + 0.5
    total = positive * np.log1p(more / positive) + negative * np.log1p(-more / negative)
    # The two terms nearly cancel where few decisions too many are positive, and rounding may leave a negative rest.
    return np.maximum(-total / (positive + negative), 0.0)


def agreement(fn: Values, fp: Values, P: Values, N: Values) -> Values:
    """``1 - |fp - fn| / max(P, N)``, the normalized absolute score of Barranquero et al. (2015), in [0, 1]."""
    # The size is 0 in a set without known labels.
    return 1.0 - np.abs(fp - fn) / np.maximum(np.maximum(P, N), 1e-300)


def ceiling_of_q(classified: Formula, beta: float) -> Ceiling:
    """A bound on ``1 - joined(classified, agreement, beta)`` over ranges of fn and fp; ``classified`` falls with both.

    The mean is least where both scores are: with most mistakes, and where fn and fp are farthest apart.
    """

    def most(first_fn: Values, fn: Values, first_fp: Values, fp: Values, P: Values, N: Values) -> Values:
        apart = np.maximum(fp - first_fn, fn - first_fp)
        return 1.0 - joined(classified(fn, fp, P, N), agreement(0.0 * apart, apart, P, N), beta)

    return most


def joined(classified: Values, counted: Values, beta: float) -> Values:
    """``(1 + b^2) c q / (b^2 c + q)`` of a score c of the decisions and a score q of their number; 0 where both are 0.

    This is the Q-measure of Barranquero et al. (2015): the larger b, the more the number counts.
    """
    square = beta**2
    total = square * classified + counted
    # Where the total is 0 the product is 0 too.
    return (1.0 + square) * classified * counted / np.where(total > 0, total, 1.0)
