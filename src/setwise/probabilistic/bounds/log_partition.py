"""What is known of the logarithm of a sum over all labelings."""

from dataclasses import dataclass
from typing import Literal, final

import numpy as np

from setwise.core.checks import Values

Kind = Literal["upper", "lower", "exact", "estimate"]


@final
@dataclass(frozen=True, eq=False)
class LogPartition:
    """A number beside ``A(f) = log sum_y exp(-f(y))``, and the probabilities of label 1 that belong to it.

    Attributes
    ----------
    value : the number
    kind : ``"upper"`` and ``"lower"`` for bounds of A(f) that are certain, rounding included; ``"exact"`` for A(f)
        itself but for rounding; ``"estimate"`` for the mean of samples, which is certain of nothing
    marginals : (p,) the derivatives of the number by the unary terms, which stand for the probabilities of label 1
    interval : the interval at ``level`` around an estimate; for bounds the number twice
    level : the probability with which such intervals hold what is estimated; 1 where nothing is

    Examples
    --------
    >>> from setwise.probabilistic import Cut, LogSupermodular, l_field, mean_field
    >>> model = LogSupermodular([Cut.grid(3, 3)], weights=[0.2])
    >>> low, high = mean_field(model), l_field(model)
    >>> print(low.kind, round(low.value, 2), high.kind, round(high.value, 2))
    lower 5.04 upper 6.24
    """

    value: float
    kind: Kind
    marginals: Values
    interval: tuple[float, float]
    level: float = 1.0


def certain(value: float, kind: Kind, marginals: Values) -> LogPartition:
    """A bound, or the exact number."""
    return LogPartition(value, kind, marginals, (value, value))


def sigmoid(x: Values) -> Values:
    """``1 / (1 + exp(-x))``, without overflow."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)))


def entropy(q: Values) -> float:
    """``-sum q log q + (1 - q) log(1 - q)``."""
    inner = (q > 0.0) & (q < 1.0)
    return -float((q[inner] * np.log(q[inner]) + (1.0 - q[inner]) * np.log1p(-q[inner])).sum())
