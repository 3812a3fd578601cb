"""Rules that decide sets of one size for one loss: by costs, by the more probable label, by all labelings, by a table.

Sums of costs decide each decision alone. Small sets take the expected loss of every labeling, or the table of all
values of a function of counts.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.batch import Sets
from setwise.core.checks import Bools, Ints, Values
from setwise.core.enumerate import subsets
from setwise.core.loss import Loss
from setwise.decisions.distributions import count_of
from setwise.decisions.formula import Formula
from setwise.kernels.poisson_binomial import expected_by_table, least_by_table
from setwise.kernels.sorting import sort_falling
from setwise.kernels.threads import available, map_units

LARGE = 4096
"""From this size on, rows are sorted by their bits."""


@final
@dataclass(frozen=True, eq=False)
class SetDecisions:
    """Labelings (n, p) of n sets, their expected losses (n,), and lower bounds (n,) of the least expected losses."""

    labels: Bools
    values: Values
    bounds: Values


class DecisionRule(ABC):
    """How sets of p decisions, independent given their probabilities, are decided for a loss."""

    @abstractmethod
    def decide(self, q: Values) -> SetDecisions:
        """Labelings of least expected loss, for probabilities (n, p)."""

    @abstractmethod
    def expect(self, q: Values, labels: Bools) -> Values:
        """The expected loss of given labelings (n, p), (n,)."""

    def cut(self, q: Values, order: Ints, cuts: Ints) -> tuple[int, float]:
        """The number k among ``cuts`` (c,), rising, for which predicting the rows ``order[:k]`` has the least expected
        loss, and this loss.

        ``order`` (p,) sorts the rows so that the probabilities ``q`` (p,) never grow. All cuts are compared here, which
        is for small sets.
        """
        labels = np.argsort(order) < cuts[:, None]
        values = self.expect(np.broadcast_to(q, labels.shape), labels)
        best = int(values.argmin())
        return int(cuts[best]), float(values[best])


def falling(q: Values) -> tuple[Ints, Values]:
    """The order in which the probabilities of each row fall, and the ordered probabilities, (n, p) each."""
    p = q.shape[1]
    if p >= LARGE:
        labels, whole = np.zeros(p, dtype=bool), np.array([0, p])
        rows = [sort_falling(np.ascontiguousarray(row), labels, whole) for row in q]
        return np.array([row[0] for row in rows], dtype=np.int64), np.array([row[2] for row in rows])
    order = np.argsort(-q, axis=1, kind="stable")
    return order, np.take_along_axis(q, order, axis=1)


def of_first(order: Ints, sizes: Ints) -> Bools:
    """The labelings that predict the first ``sizes`` (n,) decisions of each order (n, p)."""
    labels = np.empty(order.shape, dtype=bool)
    np.put_along_axis(labels, order, np.arange(order.shape[1]) < sizes[:, None], axis=1)
    return labels


@final
@dataclass(frozen=True, eq=False)
class ByCosts(DecisionRule):
    """``sum_i c_i min(q_i, 1 - q_i)``: a decision is positive where its probability is above 1/2; O(p) for a set.

    Parameters
    ----------
    costs : (p,) the cost of a mistake in each decision, whatever its label; negative costs turn a decision around
    """

    costs: Values

    def decide(self, q: Values) -> SetDecisions:
        labels = np.where(self.costs >= 0, q > 0.5, q < 0.5)
        values = self.expect(q, labels)
        return SetDecisions(labels, values, values)

    def expect(self, q: Values, labels: Bools) -> Values:
        return np.asarray(np.where(labels, 1.0 - q, q) @ self.costs)

    def cut(self, q: Values, order: Ints, cuts: Ints) -> tuple[int, float]:
        steps = (self.costs * (1.0 - 2.0 * q))[order]
        values = float(self.costs @ q) + np.concatenate(([0.0], np.cumsum(steps)))[cuts]
        best = int(values.argmin())
        return int(cuts[best]), float(values[best])


@final
@dataclass(frozen=True, eq=False)
class ByMode(DecisionRule):
    """``E g(m)`` for an increasing function g of the number m of mistakes, which is least where each is least probable.

    The number of mistakes is a sum of independent mistakes; a mistake less never makes the loss larger. About
    O(p log p) for a set.
    """

    formula: Formula

    def decide(self, q: Values) -> SetDecisions:
        labels = q > 0.5
        values = self.expect(q, labels)
        return SetDecisions(labels, values, values)

    def cut(self, q: Values, order: Ints, cuts: Ints) -> tuple[int, float]:
        # Equal rows have equal probabilities, so the best labeling does not separate them.
        found = self.decide(q[None, :])
        return int(found.labels.sum()), float(found.values[0])

    def expect(self, q: Values, labels: Bools) -> Values:
        mistakes = [count_of(row) for row in np.where(labels, 1.0 - q, q)]
        # Without positives every mistake is a false positive.
        none = np.zeros(1, dtype=np.int64)
        return np.array([m.pmf @ self.formula.counts.of(np.zeros(1), m.numbers, none) for m in mistakes])


SMALL = 128
"""Tables are made for sets of at most this number of decisions; they have about p^3 / 6 cells."""


@final
@dataclass(frozen=True, eq=False)
class ByTable(DecisionRule):
    """``min_k sum_(t, f) Pr(tp = t) Pr(fn = f) f(k, t, f)``, where the k most probable decisions are predicted.

    O(p^3 / 6) for a set. tp and fn are the numbers of positives among the predicted decisions and among the others.
    """

    formula: Formula

    @cached_property
    def _table(self) -> tuple[Values, Ints]:
        """The values at all (k, tp, fn), flat, and where those of each k begin."""
        p = self.formula.size
        low, high = self.formula.numbers
        cells: list[Values] = []
        for k in range(p + 1):
            shape = (k + 1, p - k + 1)
            # Other numbers are never predicted, so the loss need not be defined there.
            tp, fn = (x.astype(np.float64) for x in np.ogrid[: shape[0], : shape[1]])
            inside = low <= k <= high
            cells.append(np.broadcast_to(self.formula.at(k, tp, fn), shape) if inside else np.full(shape, np.inf))
        starts = np.concatenate(([0], np.cumsum([cell.size for cell in cells[:-1]])))
        return np.concatenate([cell.ravel() for cell in cells]), starts

    @property
    def _cells(self) -> tuple[list[Values], float]:
        """The values at all (tp, fn) for each k that may be predicted, and the largest size of any."""
        table, starts = self._table
        p, (low, high) = self.formula.size, self.formula.numbers
        largest = float(np.abs(table[np.isfinite(table)]).max())
        cells = (table[starts[k] : starts[k] + (k + 1) * (p - k + 1)] for k in range(low, high + 1))
        return [cell.reshape(k + 1, -1) for k, cell in enumerate(cells, start=low)], largest

    def misses_cost(self) -> bool:
        """Whether at each k and P the loss grows with fn, so that the k most probable decisions are the best k."""
        cells, largest = self._cells
        # From (tp, fn) to (tp - 1, fn + 1) the number of positives does not change.
        return not any((cell[:-1, 1:] < cell[1:, :-1] - 1e-12 * largest).any() for cell in cells)

    def affine(self) -> bool:
        """Whether at each k and P the loss is affine in tp."""
        cells, largest = self._cells
        # From tp - 1 to tp and to tp + 1, with as many positives in all.
        bends = (np.abs(cell[:-2, 2:] - 2.0 * cell[1:-1, 1:-1] + cell[2:, :-2]) for cell in cells)
        return not any((bend > 1e-11 * largest).any() for bend in bends)

    def decide(self, q: Values) -> SetDecisions:
        order, ordered = falling(q)
        table, starts = self._table
        values, sizes = np.empty(len(q)), np.empty(len(q), dtype=np.int64)
        low, high = self.formula.numbers

        def fill(part: slice) -> None:
            least_by_table(ordered[part], table, starts, low, high, sizes[part], values[part])

        edges = np.linspace(0, len(q), available() + 1).astype(int)
        map_units(fill, [slice(a, b) for a, b in pairwise(edges) if b > a])
        return SetDecisions(of_first(order, sizes), values, values)

    def expect(self, q: Values, labels: Bools) -> Values:
        self.formula.check_labels(labels)
        values = np.empty(len(q))
        expected_by_table(q, labels, *self._table, values)
        return values


LIMIT, LIMIT_LABEL_FREE = 10, 16
"""The largest sets whose ``4^p`` pairs of truth and labeling are enumerated, and those whose ``2^p`` mistakes are."""

BLOCK = 1 << 22
"""So many numbers are held at once."""


def products_over_bits(zeros: Values, ones: Values) -> Values:
    """The products over i of ``ones`` (n, p) where bit i of the column is 1, and of ``zeros`` elsewhere, (n, 2^p)."""
    out = np.ones((len(ones), 1))
    for off, on in zip(zeros.T[:, :, None], ones.T[:, :, None], strict=True):
        out = np.concatenate([out * off, out * on], axis=1)
    return out


class _EnumerationRule(DecisionRule):
    """The expected losses of all labelings decide."""

    @abstractmethod
    def expectations(self, q: Values) -> Values:
        """The expected loss of every labeling, (n, 2^p)."""

    def decide(self, q: Values) -> SetDecisions:
        p = q.shape[1]
        best, values = np.empty(len(q), dtype=np.int64), np.empty(len(q))
        step = max(1, BLOCK >> p)
        for a in range(0, len(q), step):
            expected = self.expectations(q[a : a + step])
            best[a : a + step], values[a : a + step] = expected.argmin(axis=1), expected.min(axis=1)
        return SetDecisions(subsets(p)[best], values, values)

    def expect(self, q: Values, labels: Bools) -> Values:
        values, step = np.empty(len(q)), max(1, BLOCK >> q.shape[1])
        index = labels @ (1 << np.arange(q.shape[1]))
        for a in range(0, len(q), step):
            expected = self.expectations(q[a : a + step])
            values[a : a + step] = expected[np.arange(len(expected)), index[a : a + step]]
        return values


@final
@dataclass(frozen=True, eq=False)
class ByEnumeration(_EnumerationRule):
    """``argmin_h sum_y Pr(y) l_y(h)`` over all ``2^p`` labelings h and truths y; O(4^p) for a set, for any loss."""

    loss: Loss
    size: int

    @cached_property
    def _table(self) -> Values:
        """``l_y(h)``, with a row for each truth y and a column for each labeling h."""
        every = subsets(self.size)
        bound_loss = self.loss.bind(Sets.rows(every))
        return np.column_stack([bound_loss.values(np.tile(h, len(every))) for h in every])

    def expectations(self, q: Values) -> Values:
        return products_over_bits(1.0 - q, q) @ self._table


@final
@dataclass(frozen=True, eq=False)
class ByMistakes(_EnumerationRule):
    """The same for losses that see only which decisions are wrong, ``sum_A Pr(y = h xor A) l(A)``; O(p 2^p) for a set.

    A sum over exclusive ors is a product of Walsh-Hadamard transforms.
    """

    loss: Loss
    size: int

    @cached_property
    def _transformed(self) -> Values:
        masks = subsets(self.size)
        bound_loss = self.loss.bind(Sets.rows(np.zeros_like(masks)))
        return _walsh_hadamard(bound_loss.values(masks.ravel())[None, :])

    def expectations(self, q: Values) -> Values:
        # The transform of independent bits is a product: 1 - 2 q_i for each bit in the index.
        signs = products_over_bits(np.ones_like(q), 1.0 - 2.0 * q)
        return _walsh_hadamard(signs * self._transformed) / float(1 << self.size)


@final
@dataclass(frozen=True, eq=False)
class ByCounts(_EnumerationRule):
    """The same for functions of the counts; O(2^p p^2) for a set."""

    table: ByTable

    def expectations(self, q: Values) -> Values:
        every = subsets(q.shape[1])
        return np.stack([self.table.expect(np.broadcast_to(row, every.shape), every) for row in q])


def _walsh_hadamard(x: Values) -> Values:
    """``sum_a (-1)^|a & b| x_a`` along the rows, for all b."""
    n, size = x.shape
    width = 1
    while width < size:
        x = x.reshape(n, size // (2 * width), 2, width)
        x = np.stack([x[:, :, 0] + x[:, :, 1], x[:, :, 0] - x[:, :, 1]], axis=2).reshape(n, size)
        width *= 2
    return x
