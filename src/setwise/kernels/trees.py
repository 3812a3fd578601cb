"""Sums over all labels of forests of binary labels."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import bare, kernel

Array = NDArray[Any]


@bare
def log_sum(a: float, b: float) -> Any:
    """``log(exp(a) + exp(b))``."""
    high = max(a, b)
    return high + np.log1p(np.exp(min(a, b) - high))


@kernel
def forest_sum(order: Array, parents: Array, unary: Array, weights: Array, ones: Array, apart: Array) -> float:
    """Returns ``log sum_y exp(sum_i t_i y_i - sum_i w_i [y_i != y_parent(i)])`` of a forest, O(p).

    ``order`` (p,) lists parents before their children; ``parents`` (p,) is -1 at roots, where the weight says nothing.
    Writes the probabilities of label 1, (p,), and those of labels other than that of the parent, (p,).
    """
    p, total = len(order), 0.0
    # How much label 1 of each node wins over label 0 in the part below it, and what its parent adds to that.
    below, above = unary.copy(), np.zeros(p)
    for k in range(p - 1, -1, -1):
        i = order[k]
        if parents[i] < 0:
            total += log_sum(0.0, below[i])
        else:
            w, s = weights[i], below[i]
            # The message to the parent: its label 0 takes the first sum, its label 1 the second one.
            zero, one = log_sum(0.0, s - w), log_sum(-w, s)
            total += zero
            below[parents[i]] += one - zero
    for k in range(p):
        i = order[k]
        j = parents[i]
        if j >= 0:
            w, s = weights[i], below[i]
            # What the parent says without this child.
            rest = above[j] + below[j] - (log_sum(-w, s) - log_sum(0.0, s - w))
            above[i] = log_sum(-w, rest) - log_sum(0.0, rest - w)
            same, other = log_sum(0.0, s + rest), log_sum(s, rest) - w
            apart[i] = 1.0 / (1.0 + np.exp(same - other))
        ones[i] = 1.0 / (1.0 + np.exp(-(below[i] + above[i])))
    return total
