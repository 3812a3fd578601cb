"""A rule decides sets of one size for one loss."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.checks import Bools, Ints, Values
from setwise.kernels.sorting import sort_falling

LARGE = 4096
"""From this size on, rows are sorted by their bits."""


@final
@dataclass(frozen=True, eq=False)
class Decided:
    """Labelings (n, p) of n sets, their expected losses (n,), and lower bounds (n,) of the least expected losses."""

    labels: Bools
    values: Values
    bounds: Values


class Rule(ABC):
    """How sets of p decisions, independent given their probabilities, are decided for a loss."""

    @abstractmethod
    def decide(self, q: Values) -> Decided:
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
