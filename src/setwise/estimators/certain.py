"""Decisions that further optimization cannot change.

The objective F is 1-strongly convex, so its minimizer w* is within ``r = sqrt(2 gap)`` of any w, where the gap is
``F(w) - min F`` or more. A score ``<w, x>`` is therefore within ``r |x|`` of that of w*.
"""

import numpy as np
from numpy.typing import NDArray

from setwise.core.learner import Fit


def radius(fit: Fit, convex: bool) -> float:
    """``sqrt(2 (upper - lower))``, the largest distance of the minimizer; nan if the risk is not convex."""
    return float(np.sqrt(2.0 * max(fit.upper_bound - fit.lower_bound, 0.0))) if convex else np.nan


def certain(scores: NDArray[np.float64], lengths: NDArray[np.float64], classes: bool, r: float) -> NDArray[np.bool_]:
    """Which predictions no weights within r of the fitted ones change, for rows of ``lengths`` with their constants.

    With ``classes`` the largest of the scores (n, k) of a row is predicted, (n,); otherwise the decisions with a score
    above 0, shaped as the scores. The lengths are broadcast to the scores, or (n,) for classes.
    """
    if not classes:
        return np.asarray(np.abs(scores) > r * lengths)
    two = np.partition(scores, scores.shape[1] - 2, axis=1)[:, -2:]
    # Two classes have different weights, so the difference of their scores moves by sqrt(2) times as much at most.
    return np.asarray(two[:, 1] - two[:, 0] > np.sqrt(2.0) * r * lengths)
