"""Independent labels under cuts and a function of their number: means, and ascent label by label."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel
from setwise.kernels.poisson_binomial import add_decision

Array = NDArray[Any]


@kernel
def number_of_ones(q: Array, left_out: int, pmf: Array) -> None:
    """Writes the distribution of the number of ones among independent labels, (p + 1,); one may be left out; O(p^2)."""
    pmf[:] = 0.0
    pmf[0] = 1.0
    length = np.int64(1)
    for i in range(len(q)):
        if i != left_out:
            add_decision(pmf, length, q[i])
            length += 1


@kernel
def climb(network: Any, weights: Array, unary: Array, table: Array, q: Array) -> None:
    """Sets each probability ``q_i`` in turn to ``1 / (1 + exp(E f(y_i = 1) - E f(y_i = 0)))``, in place.

    ``weights`` (arcs,) are those of the edges of the cuts, and ``table`` (p + 1,) is the function of the number, or is
    empty. O(m), and O(p^3) with a table.
    """
    pmf = np.zeros(len(table))
    for i in range(len(q)):
        gain = -unary[i]
        for arc in range(network.first[i], network.first[i + 1]):
            gain += weights[arc] * (1.0 - 2.0 * q[network.heads[arc]])
        if len(table) > 0:
            number_of_ones(q, i, pmf)
            for k in range(len(q)):
                gain += pmf[k] * (table[k + 1] - table[k])
        # Large gains would overflow on one of the two sides.
        if gain > 0.0:
            small = np.exp(-gain)
            q[i] = small / (1.0 + small)
        else:
            q[i] = 1.0 / (1.0 + np.exp(gain))
