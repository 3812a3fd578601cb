"""What is predicted of whole bags."""

from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from setwise.core.batch import Sets
from setwise.core.checks import Ints, Values
from setwise.estimators.weak.bag_values import Bagging
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


def predicted(bags: Bagging, scores: Values) -> BagPredictions:
    """The predictions for log-odds (n,), or (n, k)."""
    order = np.argsort(bags.owners, kind="stable")
    offsets = np.concatenate(([0], np.cumsum(bags.sizes))).astype(np.int64)
    columns = [_of_class(np.ascontiguousarray(s), offsets) for s in scores[order].reshape(len(order), -1).T]
    mean, count, some = (np.column_stack(parts) for parts in zip(*columns, strict=True))
    if scores.ndim == 1:
        mean, count, some = mean[:, 0], count[:, 0], some[:, 0]
    return BagPredictions(bags.ids, bags.sizes, mean, count, some)


def _of_class(scores: Values, offsets: Ints) -> tuple[Values, Ints, Values]:
    """Mean, mode and probability of one or more, (bags,) each."""
    mean = segment_sums(expit(scores), offsets)
    some = -np.expm1(segment_sums(log_expit(-scores), offsets))
    sets = Sets(np.full(len(scores), -1, dtype=np.int8), offsets)
    # The mode of a sum of independent decisions is the mean, rounded up or down (Darroch 1964).
    below = np.minimum(np.floor(mean).astype(np.int64), sets.sizes)
    above = np.minimum(below + 1, sets.sizes)
    costs = [CountLikelihood(CountRange(count, count)).on(sets)(scores).values for count in (below, above)]
    return mean, np.where(costs[1] < costs[0], above, below), some
