"""What the estimator scores: the share of known labels that are right, or how likely is what is known of bags."""

from typing import Any

import numpy as np

from setwise.core.checks import Bools, Values, as_reals
from setwise.estimators.weak.bag_values import Bagging
from setwise.estimators.weak.knowledge import Knowledge
from setwise.estimators.weak.ranges import Ranges
from setwise.probabilistic import CountLikelihood


def share_right(right: Bools, known: Bools, sample_weight: Any) -> float:
    """``sum of w_i over right rows / sum of w_i``, over the rows with a known label; masks and weights are (n,)."""
    if sample_weight is None:
        return float(right[known].mean())
    weight = as_reals(sample_weight, "sample_weight", known.shape)
    if (weight < 0).any() or not weight[known].any():
        raise ValueError("sample_weight must not be negative, and be positive for a row with a known label.")
    # Only the ratios of weights count; divided by the largest one, their sum cannot overflow.
    return float(np.average(right[known], weights=weight[known] / weight[known].max()))


def refuse_weights(sample_weight: Any) -> None:
    """Refuse weights of rows where no label of a row is known."""
    if sample_weight is not None:
        raise ValueError(
            "sample_weight must be None where score is given no known label in y: it weighs rows with known labels, "
            "and the log-likelihood is that of whole bags."
        )


def mean_log_likelihood(bags: Bagging, ranges: Ranges, scores: Values) -> float:
    """The mean over bags, and over classes, of ``log Pr(what is known)``, for log-odds (n,), or (n, k).

    It is over bags and classes of which something is known; ValueError says that there are none.
    """
    columns = scores.reshape(len(scores), -1).T
    k, values = max(len(columns), 2), []
    for column, s in enumerate(columns, start=1 if scores.ndim == 1 else 0):
        low, high = ranges.of_class(column, k)
        if ((low == 0) & (high == bags.sizes)).all():
            continue
        held = Knowledge.of(bags, np.full(len(s), -1, dtype=np.int8), low, high)
        values.append(-CountLikelihood(held.loss).on(held.sets)(s[held.order]).values.mean())
    if not values:
        raise ValueError(
            "score must be given labels y, or counts, proportions, at_least or between of bags; got none that is known."
        )
    return float(np.mean(values))
