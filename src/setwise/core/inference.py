"""Inference: what maximizes loss and score together over all labelings of a set."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.loss import Loss
from setwise.core.sets import Bools, Sets
from setwise.kernels.segments import segment_sums


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """For each set: ``max_A l_y(A) - m(A)``, or with ``slack`` ``max_A l_y(A) (1 - m(A))``.

    ``A`` runs over all sets of mistakes, ``m(A) = sum_(i in A) s_i (2 y_i - 1)`` is the score lost by them
    (``<s, y - yhat>`` with 0/1 labels; LH Eq. 21 and 22).
    """

    loss: Loss
    sets: Sets
    scores: NDArray[Any]
    slack: bool = False

    @cached_property
    def margins(self) -> NDArray[np.float64]:
        """``s_i (2 y_i - 1)``: the score lost when decision i is wrong, (total,)."""
        return np.where(self.sets.labels, self.scores, -self.scores).astype(np.float64)

    def bare(self) -> "Problem":
        """The same problem with the modular part of the loss moved into the scores; with ``slack`` nothing can move.

        The curved rest of the loss must not be None.
        """
        rest = self.loss.curved
        if self.slack or rest is None or rest is self.loss:
            return self
        costs = self.loss.costs(self.sets)
        return Problem(rest, self.sets, self.scores - np.where(self.sets.labels, costs, -costs))

    def solved(self, mistakes: Bools, bounds: NDArray[np.float64] | None = None) -> "Solutions":
        """A solution with its values computed from the ``mistakes``; exact where no ``bounds`` are given."""
        values = self.loss.values(self.sets, mistakes)
        lost = segment_sums(np.where(mistakes, self.margins, 0.0), self.sets.offsets)
        values = values * (1.0 - lost) if self.slack else values - lost
        if bounds is None:
            return Solutions(mistakes, values, values, np.ones(len(values), dtype=bool))
        scale = np.abs(values) + segment_sums(np.abs(self.margins), self.sets.offsets)
        exact = bounds - values <= 1e-12 * (1.0 + scale)
        return Solutions(mistakes, values, np.where(exact, values, bounds), exact)


@final
@dataclass(frozen=True, eq=False)
class Solutions:
    """The best mistakes found, (total,) bool, and for each set ``values <= best <= bounds``, equal where ``exact``."""

    mistakes: Bools
    values: NDArray[np.float64]
    bounds: NDArray[np.float64]
    exact: NDArray[np.bool_]


@final
@dataclass(frozen=True, eq=False)
class Solution:
    """The best labeling found of one set, with ``value <= best <= bound``, equal where ``exact``; ``status`` says how.

    ``labels`` (p,) are bool, or whole numbers where there are more than two labels.
    """

    labels: NDArray[Any]
    value: float
    bound: float
    exact: bool
    status: str


class Inference(ABC):
    """One way to solve a :class:`Problem`."""

    @abstractmethod
    def refuses(self, problem: Problem) -> str | None:
        """None if this method fits, else a sentence that says why not and what to use instead."""

    @abstractmethod
    def maximize(self, problem: Problem) -> Solutions:
        """The best labeling of every set, with its certificate."""
