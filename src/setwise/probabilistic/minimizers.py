"""Exact minimization of submodular functions: by minimum cuts, along nested cuts, or by the min-norm point."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple, final

import numpy as np

from setwise.core.arrays import Bools, Ints, Values
from setwise.core.graphs import Graphs
from setwise.core.structure import Structure
from setwise.inference.max_flow import MaxFlow
from setwise.inference.min_norm_point import min_norm_point
from setwise.inference.nested_cuts import flips

ITERATIONS = 10_000
"""The largest number of iterations of the min-norm point."""


class Minimum(NamedTuple):
    """Labels (p,), the value of f there, and a lower bound of all its values."""

    labels: Bools
    value: float
    bound: float


class Minimizer(ABC):
    """``min_y g(y) - <t, y>`` for one submodular g with g(0) = 0, and any t."""

    @abstractmethod
    def __call__(self, unary: Values) -> Minimum:
        """The minimum for t = ``unary`` (p,)."""

    def forced(self, unary: Values, strengths: Values) -> Values:
        """The least values with each label 0, and with each label 1, (p, 2).

        ``strengths`` (p,) are larger than anything that a label adds to g - t or takes off. p minimizations.
        """
        out = np.empty((len(unary), 2))
        for i, strength in enumerate(strengths):
            for label, sign in ((0, -1.0), (1, 1.0)):
                moved = unary.copy()
                moved[i] += sign * strength
                found = self(moved)
                out[i, label] = found.value + label * strength
        return out


def minimizer_of(
    graphs: Graphs, weights: Values, table: Values | None, gains: Callable[[Ints], Values], unary: Values
) -> Minimizer:
    """The fastest exact method for a sum of cuts, a concave function of the size (table), or anything (None).

    ``gains(order)`` are those of the whole function with ``unary``.
    """
    if table is None:
        return _ByGains(gains, unary)
    if table.any():
        return _ByLines(graphs, weights, table)
    return _ByCut(graphs, weights)


@final
class _ByCut(Minimizer):
    """One minimum cut."""

    def __init__(self, graphs: Graphs, weights: Values) -> None:
        self._cut = MaxFlow().prepare(Structure(graphs))
        # Scores are won where both ends agree, and values count from labels that are all 0.
        self._scores = np.concatenate([np.zeros(graphs.total), weights])

    def __call__(self, unary: Values) -> Minimum:
        scores = self._scores.copy()
        scores[: len(unary)] = unary
        found = self._cut.maximize(scores)
        return Minimum(found.labels, -float(found.values[0]), -float(found.bounds[0]))

    def forced(self, unary: Values, strengths: Values) -> Values:
        scores = self._scores.copy()
        scores[: len(unary)] = unary
        return -self._cut.max_marginals(scores)


@final
class _ByLines(Minimizer):
    """Cuts and a concave function of the size, which is the least of p lines.

    Each line is a bias on all labels, and the minimum cuts for all biases are nested: one of them is the minimum.
    """

    def __init__(self, graphs: Graphs, weights: Values, table: Values) -> None:
        self._graphs, self._weights, self._table = graphs, weights, table

    def __call__(self, unary: Values) -> Minimum:
        # Without edges each label turns at its own bias.
        turned = flips(self._graphs, np.concatenate([unary, self._weights])) if len(self._weights) else -unary
        order = np.argsort(turned, kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        ends = np.sort(place[self._graphs.edges], axis=1)
        first, last = (np.bincount(ends[:, end], self._weights, len(order)) for end in (0, 1))
        values = np.concatenate([[0.0], np.cumsum(first - last - unary[order])]) + self._table
        best = int(values.argmin())
        labels = np.zeros(len(order), dtype=bool)
        labels[order[:best]] = True
        value = float(values[best])
        # What sums of so many numbers may have lost.
        slip = 1e-15 * len(order) * float(np.abs(unary).sum() + self._weights.sum() + np.abs(self._table).max())
        return Minimum(labels, value, value - slip)


@final
class _ByGains(Minimizer):
    """The min-norm point of the base polytope."""

    def __init__(self, gains: Callable[[Ints], Values], unary: Values) -> None:
        self._gains, self._unary = gains, unary

    def __call__(self, unary: Values) -> Minimum:
        moved = unary - self._unary
        labels, bound = min_norm_point(lambda order: self._gains(order) - moved[order], len(unary), ITERATIONS)
        order = np.argsort(~labels, kind="stable")
        value = float((self._gains(order) - moved[order])[: int(labels.sum())].sum())
        return Minimum(labels, value, min(bound, value))
