"""What is predicted of whole bags, what the estimator scores, and the threshold of least expected loss."""

from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from setwise.core.batch import Sets
from setwise.core.checks import Bools, Ints, Values, as_reals
from setwise.core.loss import Loss
from setwise.decisions.expected_loss import best_cut, rule_of_cuts
from setwise.estimators.weak.bags import Bagging, Ranges
from setwise.estimators.weak.knowledge import Knowledge
from setwise.kernels.segments import segment_sums
from setwise.losses import CountRange
from setwise.probabilistic import CountLikelihood


@final
class BagPredictions(NamedTuple):
    """What independent decisions predict of each bag, (bags,); of several classes (bags, k), each against the rest.

    Attributes
    ----------
    ids : the sorted distinct ids, (bags,)
    sizes : the numbers of rows, (bags,)
    mean : the mean number of positives
    most_probable : the most probable number of positives
    at_least_one : the probability that one row or more is positive
    """

    ids: NDArray[Any]
    sizes: Ints
    mean: Values
    most_probable: Ints
    at_least_one: Values


def predicted(bags: Bagging, scores: Values, of_bags: Values | None = None) -> BagPredictions:
    """The predictions for log-odds (n,), or (n, k); ``of_bags`` (bags,) are those of one or more, if a model has them.

    The number of positives is then, if there are any, that of independent decisions with one or more.
    """
    order, offsets = bags.order, bags.offsets
    columns = [_of_class(np.ascontiguousarray(s), offsets, of_bags) for s in scores[order].reshape(len(order), -1).T]
    mean, count, some = (np.column_stack(parts) for parts in zip(*columns, strict=True))
    if scores.ndim == 1:
        mean, count, some = mean[:, 0], count[:, 0], some[:, 0]
    return BagPredictions(bags.ids, bags.sizes, mean, count, some)


def _of_class(scores: Values, offsets: Ints, of_bags: Values | None) -> tuple[Values, Ints, Values]:
    """Mean, mode and probability of one or more, (bags,) each."""
    mean = segment_sums(expit(scores), offsets)
    some = -np.expm1(segment_sums(log_expit(-scores), offsets))
    sets = Sets(np.full(len(scores), -1, dtype=np.int8), offsets)
    # The mode of a sum of independent decisions is the mean, rounded up or down (Darroch 1964).
    below = np.minimum(np.floor(mean).astype(np.int64), sets.sizes)
    above = np.minimum(below + 1, sets.sizes)
    costs = [CountLikelihood(CountRange(count, count)).on(sets)(scores).values for count in (below, above)]
    most_probable = np.where(costs[1] < costs[0], above, below)
    if of_bags is None:
        return mean, most_probable, some
    # The probabilities of numbers rise up to the mode and fall behind it.
    count = np.maximum(most_probable, 1)
    positive = of_bags + _log_some(scores, sets, count, count) > 0.0
    mean = expit(of_bags) * np.maximum(np.divide(mean, some, out=np.ones_like(mean), where=some > 0.0), 1.0)
    return mean, np.where(positive, count, 0), expit(of_bags)


def _log_some(scores: Values, sets: Sets, low: Ints, high: Ints) -> Values:
    """``log Pr(low to high positives | one or more)`` of independent decisions in each bag, for low >= 1."""
    each = [CountLikelihood(CountRange(*ends)).on(sets)(scores).values for ends in ((low, high), (1, sets.sizes))]
    return np.asarray(each[1] - each[0])


def share_right(right: Bools, known: Bools, sample_weight: Any) -> float:
    """``sum of w_i over right rows / sum of w_i``, over the rows with a known label; masks and weights are (n,)."""
    if sample_weight is None:
        return float(right[known].mean())
    weight = as_reals(sample_weight, "sample_weight", known.shape)
    if (weight < 0).any() or not weight[known].any():
        raise ValueError("sample_weight must not be negative, and be positive for a row with a known label.")
    # Only the ratios of weights count; divided by the largest one, their sum cannot overflow.
    return float(np.average(right[known], weights=weight[known] / weight[known].max()))


def mean_log_likelihood(bags: Bagging, ranges: Ranges, scores: Values, of_bags: Values | None = None) -> float:
    """The mean over bags, and over classes, of ``log Pr(what is known)``, as :func:`predicted` has it.

    It is over bags and classes of which something is known; ValueError says that there are none.
    """
    columns = scores.reshape(len(scores), -1).T
    k, values = max(len(columns), 2), []
    for column, s in enumerate(columns, start=1 if scores.ndim == 1 else 0):
        low, high = ranges.of_class(column, k)
        if ((low == 0) & (high == bags.sizes)).all():
            continue
        if of_bags is not None:
            sets = Sets(np.full(len(s), -1, dtype=np.int8), bags.offsets)
            one = _log_some(s[bags.order], sets, np.maximum(low, 1), np.maximum(high, 1)) + log_expit(of_bags)
            both = np.logaddexp(np.where(low == 0, log_expit(-of_bags), -np.inf), np.where(high > 0, one, -np.inf))
            values.append(both[(low > 0) | (high < bags.sizes)].mean())
            continue
        held = Knowledge.of(bags, np.full(len(s), -1, dtype=np.int8), low, high)
        values.append(-held.likelihood(s[held.order]).values.mean())
    if not values:
        raise ValueError(
            "score must be given labels y, or counts, proportions, at_least or between of bags; got none that is known."
        )
    return float(np.mean(values))


def threshold_for(loss: Loss, scores: Values) -> float:
    """The log-odds above which rows are positive so that the expected loss of those with ``scores`` (n,) is least.

    The rows are one set of independent decisions with these log-odds, and no label is read. A threshold never separates
    equal rows. Up to 4096 rows no other one has a smaller expected loss; for more the search ends within 1e-3 of a
    bound of the least one, or after a fixed amount of work. Between the last positive and the first negative row it is
    halfway; where all rows are positive, or none is, it is -inf or inf. Raises what :func:`rule_of_cuts` raises.
    """
    return best_cut(rule_of_cuts(loss, len(scores)), expit(scores), scores)[0]
