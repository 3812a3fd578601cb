"""Branching on the labels of nodes, which closes the gap that multipliers leave."""

from heapq import heappop, heappush
from itertools import count
from typing import final

import numpy as np

from setwise.core.checks import Ints, Values
from setwise.core.exceptions import Refusal
from setwise.inference.decomposition.descents import Search, descend_by_bundle
from setwise.inference.decomposition.sides import Problem


@final
class Branching:
    """Closes the gap of a search by fixing labels: in each part some nodes have theirs, and its bound is lowered again.

    For any multipliers the sum of the max-marginals of both sides bounds the best labeling with one more label fixed.
    Where it is not above the best value seen, the node must have its other label. If labels are left open, the part is
    divided by one of them. Parts are taken by their bounds, the largest first.

    Parameters
    ----------
    search : a finished search of the whole problem
    budget : the most parts that are searched
    steps : the most bounds that are computed in each

    Attributes
    ----------
    labels, best, bound : the best labels, their value and the bound of all values, those of parts left out included
    """

    def __init__(self, search: Search, budget: int, steps: int) -> None:
        self.labels, self.best, self.bound = search.labels, search.best, search.bound
        self._whole, self._tol, self._steps = search.problem, search.tol, steps
        self._marginals, self._left_out = True, -np.inf
        ticket = count()
        parts = [(-search.bound, next(ticket), np.full(len(search.labels), -1), search.multipliers)]
        while parts and -parts[0][0] > self.best + self._close and budget > 0:
            budget -= 1
            above, _, fixed, multipliers = heappop(parts)
            for bound, child, start in self._divide(-above, fixed, multipliers):
                heappush(parts, (-bound, next(ticket), child, start))
        self.bound = max(self.best, self._left_out, -parts[0][0] if parts else -np.inf)

    @property
    def _close(self) -> float:
        # Bounds that are above the best value by rounding are not better.
        return max(self._tol, self._whole.rounding(self.best))

    def _divide(self, bound: float, fixed: Ints, start: Values) -> list[tuple[float, Ints, Values]]:
        """Lower the bound of a part, and return the parts that may hold something better."""
        problem = Problem(self._whole.one, self._whole.scores, fixed)
        search = Search(problem, self._tol, self._steps, self.labels)
        descend_by_bundle(search, np.where(fixed < 0, start, 0.0))
        self._offer(search)
        bound = min(bound, search.bound)
        if bound <= self.best + self._close:
            self._left_out = max(self._left_out, bound)
            return []
        above = np.minimum(self._forced_bounds(search), bound)
        fixed = fixed.copy()
        closed = above <= self.best + self._close
        choice = fixed < 0
        self._left_out = max(self._left_out, above[choice][closed[choice]].max(initial=-np.inf))
        if (closed.all(axis=1) & choice).any():
            return []
        for label in (0, 1):
            fixed[(fixed < 0) & closed[:, 1 - label]] = label
        free = np.flatnonzero(fixed < 0)
        if not len(free):
            return self._only(fixed)
        # The best node is one whose labels both lower the bound, or one on which the sides do not agree.
        falls = bound - above[free].max(axis=1)
        apart = search.pair[0][free] != search.pair[1][free]
        node = free[np.lexsort((np.abs(search.multipliers[free]), apart, falls))[-1]]
        out = []
        for label in (0, 1):
            child = fixed.copy()
            child[node] = label
            out.append((float(above[node, label]), child, search.multipliers))
        return out

    def _only(self, fixed: Ints) -> list[tuple[float, Ints, Values]]:
        """The labels of a part in which all are fixed are a candidate, and nothing is left."""
        labels = fixed == 1
        value = self._whole.value(labels)
        if value > self.best:
            self.best, self.labels = value, labels
        return []

    def _offer(self, search: Search) -> None:
        if search.best > self.best:
            self.best, self.labels = search.best, search.labels

    def _forced_bounds(self, search: Search) -> Values:
        """The bounds with one more label fixed, (total, 2); inf where a side is only bounded itself."""
        if self._marginals:
            try:
                return search.problem.forced_bounds(search.multipliers)
            except Refusal:
                self._marginals = False
        return np.full((len(search.labels), 2), np.inf)
