"""Loss and score together as a function of how many ranked decisions of each class are wrong."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.arrays import Ints, Values
from setwise.core.counts import Counts
from setwise.inference.counts.ranked_margins import RankedMargins


@final
@dataclass(frozen=True, eq=False)
class Objective:
    """``f + won`` with x ranked positives and y ranked negatives of set ``i`` wrong; with ``slack`` ``f (1 + won)``.

    Without ``slack`` the score that the decisions always wrong win, ``order.base``, is left out: where it is huge, the
    loss would drown in its rounding.
    """

    counts: Counts
    order: RankedMargins
    slack: bool = False

    def loss_at(self, i: Ints, x: Ints, y: Ints) -> Values:
        """``f(fn, fp, P, N)`` with x and y counted above the decisions that are always wrong."""
        low = self.order.low
        return self.counts.of((low[2 * i] + x).astype(np.float64), (low[2 * i + 1] + y).astype(np.float64), i)

    def __call__(self, i: Ints, x: Ints, y: Ints) -> Values:
        """The objective at cells; vectorized."""
        won, loss = self._won(i, x, y), self.loss_at(i, x, y)
        if not self.slack:
            return loss + won
        # A labeling that is not allowed stays so where the score lost is above 1.
        return np.where(loss > -np.inf, loss * (1.0 + won), -np.inf)

    def above(self, i: Ints, rows: Ints, columns: Ints) -> Values:
        """An upper bound on boxes of cells, first and last row and column in (m, 2) arrays, for an increasing loss.

        The loss is greatest with most mistakes, the score won with fewest, as ranked margins are positive there.
        """
        won = self._won(i, rows[:, 0], columns[:, 0])
        most = self.loss_at(i, rows[:, 1], columns[:, 1])
        return most * np.maximum(1.0 + won, 0.0) if self.slack else most + won

    def _won(self, i: Ints, x: Ints, y: Ints) -> Values:
        paid = self.order.paid(2 * i, x) + self.order.paid(2 * i + 1, y)
        return self.order.base[i] - paid if self.slack else -paid
