"""Decisions for small sets and any loss, by the expected loss of every labeling."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.batch import Sets
from setwise.core.checks import Bools, Values
from setwise.core.enumerate import subsets
from setwise.core.loss import Loss
from setwise.decisions.by_table import ByTable
from setwise.decisions.rule import Decided, Rule

LIMIT, LIMIT_LABEL_FREE = 10, 16
"""The largest sets whose ``4^p`` pairs of truth and labeling are enumerated, and those whose ``2^p`` mistakes are."""

BLOCK = 1 << 22
"""So many numbers are held at once."""


def probabilities_of_all(q: Values) -> Values:
    """``Pr(y)`` of every labeling y, (n, 2^p) for probabilities (n, p); bit i of the column says whether y_i = 1."""
    out = np.ones((len(q), 1))
    for column in q.T[:, :, None]:
        out = np.concatenate([out * (1.0 - column), out * column], axis=1)
    return out


class _Enumeration(Rule):
    """The expected losses of all labelings decide."""

    @abstractmethod
    def expectations(self, q: Values) -> Values:
        """The expected loss of every labeling, (n, 2^p)."""

    def decide(self, q: Values) -> Decided:
        p = q.shape[1]
        best, values = np.empty(len(q), dtype=np.int64), np.empty(len(q))
        step = max(1, BLOCK >> p)
        for a in range(0, len(q), step):
            expected = self.expectations(q[a : a + step])
            best[a : a + step], values[a : a + step] = expected.argmin(axis=1), expected.min(axis=1)
        return Decided(subsets(p)[best], values, values)

    def expect(self, q: Values, labels: Bools) -> Values:
        values, step = np.empty(len(q)), max(1, BLOCK >> q.shape[1])
        index = labels @ (1 << np.arange(q.shape[1]))
        for a in range(0, len(q), step):
            expected = self.expectations(q[a : a + step])
            values[a : a + step] = expected[np.arange(len(expected)), index[a : a + step]]
        return values


@final
@dataclass(frozen=True, eq=False)
class ByEnumeration(_Enumeration):
    """``argmin_h sum_y Pr(y) l_y(h)`` over all ``2^p`` labelings h and truths y; O(4^p) for a set, for any loss."""

    loss: Loss
    size: int

    @cached_property
    def _table(self) -> Values:
        """``l_y(h)``, with a row for each truth y and a column for each labeling h."""
        every = subsets(self.size)
        structure = self.loss.structure(Sets.rows(every))
        return np.column_stack([structure.values(np.tile(h, len(every))) for h in every])

    def expectations(self, q: Values) -> Values:
        return probabilities_of_all(q) @ self._table


@final
@dataclass(frozen=True, eq=False)
class ByMistakes(_Enumeration):
    """The same for losses that see only which decisions are wrong, ``sum_A Pr(y = h xor A) l(A)``; O(p 2^p) for a set.

    A sum over exclusive ors is a product of Walsh-Hadamard transforms.
    """

    loss: Loss
    size: int

    @cached_property
    def _transformed(self) -> Values:
        masks = subsets(self.size)
        structure = self.loss.structure(Sets.rows(np.zeros_like(masks)))
        return _walsh_hadamard(structure.values(masks.ravel())[None, :])

    def expectations(self, q: Values) -> Values:
        # The transform of independent bits is a product: 1 - 2 q_i for each bit in the index.
        signs = np.ones((len(q), 1))
        for column in q.T[:, :, None]:
            signs = np.concatenate([signs, signs * (1.0 - 2.0 * column)], axis=1)
        return _walsh_hadamard(signs * self._transformed) / float(1 << self.size)


@final
@dataclass(frozen=True, eq=False)
class ByCounts(_Enumeration):
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
