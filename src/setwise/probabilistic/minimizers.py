"""Exact minimization of submodular functions: by minimum cuts, along nested cuts, or by the min-norm point."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, final

import numpy as np

from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Ints, Values
from setwise.core.networks import Graphs
from setwise.inference.cuts import flips
from setwise.inference.max_flow import MaxFlow
from setwise.inference.min_norm_point import least_norm, min_norm_point

Gains = Callable[[Ints], Values]

ITERATIONS = 10_000
"""The largest number of iterations of the min-norm point."""


class Minimum(NamedTuple):
    """Labels (p,), the value of f there, and a lower bound of all its values.

    They are equal but for rounding where f is a sum of cuts and a concave function of the size. For set functions the
    min-norm point is exact to about 1e-6 of the largest gain of labels that it does not part: the bound tells.
    """

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


@final
@dataclass(frozen=True, eq=False)
class Oracle:
    """A submodular f with f(0) = 0.

    Attributes
    ----------
    gains : what each label adds where the labels become 1 in an order, (p,)
    first, last : (p,) what each label adds to no other one, and to all others: the largest and the least of its gains
    """

    gains: Callable[[Ints], Values]
    first: Values
    last: Values

    def moved(self, by: Values) -> "Oracle":
        """``f(y) - <by, y>``."""
        return Oracle(lambda order: self.gains(order) - by[order], self.first - by, self.last - by)

    def blocks(self) -> list[tuple[Ints, Gains]]:
        """Labels that the point of least norm of the base polytope parts, and the gains in each part, in rising order.

        A label has a number from its last to its first gain in every point. Where all numbers of some labels are below
        those of the rest, the point is that of these labels, and that of the rest after them. So huge scores do not
        hide the gains of other labels.
        """
        order = np.argsort(self.first, kind="stable")
        high = np.maximum.accumulate(self.first[order])
        low = np.minimum.accumulate(self.last[order][::-1])[::-1]
        ends = [0, *(np.flatnonzero(high[:-1] <= low[1:]) + 1).tolist(), len(order)]
        return [(order[a:b], self._between(order[:a], order[a:b], order[b:])) for a, b in pairwise(ends)]

    def _between(self, before: Ints, block: Ints, after: Ints) -> Gains:
        return lambda inner: self.gains(np.concatenate([before, block[inner], after]))[len(before) :][: len(block)]


def least_norm_of(oracle: Oracle) -> Values:
    """The point of least norm in the base polytope, (p,), part by part."""
    out = np.empty(len(oracle.first))
    for block, gains in oracle.blocks():
        out[block] = gains(np.zeros(1, np.int64)) if len(block) == 1 else least_norm(gains, len(block), ITERATIONS)
    return out


def minimizer_of(
    graphs: Graphs, weights: Values, table: Values | None, oracle: Callable[[], Oracle], unary: Values
) -> Minimizer:
    """The fastest exact method for a sum of cuts, a concave function of the size (table), or anything (None).

    The oracle is that of the whole function with ``unary``.
    """
    if table is None:
        return _ByGains(oracle(), unary)
    if table.any():
        return _ByLines(graphs, weights, table)
    return _ByCut(graphs, weights)


@final
class _ByCut(Minimizer):
    """One minimum cut."""

    def __init__(self, graphs: Graphs, weights: Values) -> None:
        self._cut = MaxFlow().prepare(BoundLoss(graphs))
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

    def __init__(self, oracle: Oracle, unary: Values) -> None:
        self._oracle, self._unary = oracle, unary

    def __call__(self, unary: Values) -> Minimum:
        moved, labels, bound = self._oracle.moved(unary - self._unary), np.zeros(len(unary), dtype=bool), 0.0
        for block, gains in moved.blocks():
            found, least = min_norm_point(gains, len(block), ITERATIONS)
            labels[block], bound = found, bound + least
        order = np.argsort(~labels, kind="stable")
        value = float(moved.gains(order)[: int(labels.sum())].sum())
        return Minimum(labels, value, min(bound, value))
