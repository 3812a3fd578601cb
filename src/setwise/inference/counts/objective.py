"""Loss and score together as a function of how many ranked decisions of each class are wrong."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.loss import Loss, Values
from setwise.core.sets import Ints
from setwise.inference.counts.ranked_margins import RankedMargins


@final
@dataclass(frozen=True, eq=False)
class Objective:
    """``f + won`` with x ranked positives and y ranked negatives of set ``i`` wrong; with ``slack`` ``f (1 + won)``.

    Without ``slack`` the score that the decisions always wrong win, ``order.base``, is left out: where it is huge, the
    loss would drown in its rounding.
    """

    loss: Loss
    order: RankedMargins
    slack: bool = False

    def loss_at(self, i: Ints, x: Ints, y: Ints) -> Values:
        """``f(fn, fp, P, N)`` with x and y counted above the decisions that are always wrong."""
        sets, low = self.order.sets, self.order.low
        fn, fp = (low[2 * i] + x).astype(np.float64), (low[2 * i + 1] + y).astype(np.float64)
        return self.loss.of_counts(fn, fp, sets.positives[i].astype(np.float64), sets.negatives[i].astype(np.float64))

    def __call__(self, i: Ints, x: Ints, y: Ints) -> Values:
        """The objective at cells; vectorized."""
        won = self._won(i, x, y)
        return self.loss_at(i, x, y) * (1.0 + won) if self.slack else self.loss_at(i, x, y) + won

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
