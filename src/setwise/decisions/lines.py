"""Losses that are affine in the true positives at a given number predicted and given positives: modular at each number.

``f(k, tp, P) = a(k, P) + b(k, P) tp`` has the expectation ``E[a] + sum_(i predicted) E[b y_i]``, whatever the
dependence between the decisions. So the k decisions of the least weights ``sum_s b(k, s) Pr(y_i = 1, P = s)`` are the
best k (GFM, Dembczynski et al. 2011).
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.checks import Bools, Ints, Values
from setwise.decisions.by_table import SMALL, ByTable
from setwise.decisions.formula import Formula


@final
@dataclass(frozen=True, eq=False)
class Lines:
    """``a + b tp`` for numbers k predicted (rows) and numbers s of positives (columns), (len(k), len(s)) each.

    They lie at or below the loss.
    """

    a: Values
    b: Values

    @classmethod
    def chords(cls, formula: Formula, k: Ints, s: Ints) -> "Lines":
        """The lines through the least and the largest tp that are possible."""
        number, positives = k[:, None].astype(np.float64), s[None, :].astype(np.float64)
        low, high = possible(formula.size, number, positives)
        first = formula.at(number, low, positives - low)
        b = (formula.at(number, high, positives - high) - first) / np.maximum(high - low, 1.0)
        return cls(first - b * low, b)


def possible(p: int, k: Values, s: Values) -> tuple[Values, Values]:
    """The least and the largest number of true positives where k of p decisions are predicted and s are positive."""
    return np.maximum(k + s - p, 0.0), np.minimum(k, s)


def is_affine(formula: Formula) -> bool:
    """Whether the loss is known to be affine in tp at each k and P: by its coefficients, or by the whole table."""
    if formula.counts.affine:
        return True
    if formula.size > SMALL or formula.size < 2:
        return formula.size < 2
    return ByTable(formula).affine()


def least_by_lines(joint: Values, mass: Values, k: Ints, lines: Lines) -> tuple[Values, Ints]:
    """The least ``sum_s mass_s a(k, s) + sum_(i predicted) w_i(k)`` for each k, and the order of the weights.

    ``joint`` (n, p, u) are the probabilities that decision i is positive and P = s, and ``mass`` (n, u) those of P = s,
    for u values of s. Returns (n, len(k)), and for each set and k the decisions in the order of weights (n, p, len(k)).
    """
    weights = joint @ lines.b.T
    order = np.argsort(weights, axis=1, kind="stable")
    sums = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
    # With none predicted the sum is empty.
    last = np.broadcast_to(np.maximum(k - 1, 0), (len(joint), 1, len(k)))
    chosen = np.where(k > 0, np.take_along_axis(sums, last, axis=1)[:, 0, :], 0.0)
    return mass @ lines.a.T + chosen, order


def labels_of(order: Ints, sizes: Ints, columns: Ints) -> Bools:
    """The labelings that predict the first ``sizes`` decisions of the given column of each order, (n, p)."""
    n, p, _ = order.shape
    labels = np.empty((n, p), dtype=bool)
    chosen = np.take_along_axis(order, columns[:, None, None], axis=2)[:, :, 0]
    np.put_along_axis(labels, chosen, np.arange(p) < sizes[:, None], axis=1)
    return labels
