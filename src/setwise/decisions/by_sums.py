"""Decisions for losses that are sums of costs of mistakes, which depend on the number of positives."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.checks import Ints, Values
from setwise.decisions.by_sizes import BySizes
from setwise.decisions.by_window import expected
from setwise.decisions.formula import Formula
from setwise.decisions.pmf import Pmf, count_of
from setwise.kernels.poisson_binomial import joint_sums


@final
@dataclass(frozen=True, eq=False)
class BySums(BySizes):
    """``min_k E[sum_(i > k) c(P) y_i + sum_(i <= k) d(P) (1 - y_i)]``, exact; about O(p log p).

    The expected loss of a labeling is that of predicting none, and ``w_i = E[d(P) (1 - y_i)] - E[c(P) y_i]`` for each
    decision predicted. The k most probable decisions are the best k for every k, so w grows as the probabilities fall,
    and the decisions with ``w_i < 0`` are found by bisection.
    """

    formula: Formula

    def least(self, q: Values, cuts: Ints) -> tuple[int, float, float]:
        every = count_of(q)
        low, high = 0, len(q)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.weight(q, middle, every) < 0.0 else (low, middle)
        # The expected loss falls up to this number and grows after it, so the best cut is next to it.
        after = int(np.searchsorted(cuts, low))
        near = [low] if cuts[after] == low else [int(k) for k in cuts[after - 1 : after + 1]]
        values = [expected(self.formula, count_of(q[:k]), count_of(q[k:]), k) for k in near]
        best = int(np.argmin(values))
        return near[best], values[best], values[best]

    def weight(self, q: Values, i: int, every: Pmf) -> float:
        """``w_i``, where ``every`` counts the positives among all decisions."""
        linear = self.formula.counts.linear
        assert linear is not None
        both = np.empty((1, len(every.pmf)))
        # The probabilities that decision i and s - 1 others are positive.
        joint_sums(q, i, i + 1, every.pmf, np.zeros(len(every.pmf)), both)
        low = every.low - self.formula.first
        costs = linear[low : low + len(every.pmf)]
        return float((every.pmf - both[0]) @ costs[:, 1] - both[0] @ costs[:, 0])
