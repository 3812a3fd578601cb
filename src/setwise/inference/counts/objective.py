"""Loss and score together as a function of how many ranked decisions of each class are wrong."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.checks import Ints, Values
from setwise.core.counts import Counts
from setwise.inference.counts.ranked_margins import RankedMargins


@final
@dataclass(frozen=True, eq=False)
class Objective:
    """``f + won`` where x ranked positives and y ranked negatives of set i are wrong; with ``slack``, ``f (1 + won)``.

    ``won`` is the score that the mistakes win. Without ``slack`` it leaves out ``order.base``, the share of the
    decisions that are always wrong: where that is huge, the loss would be lost in its rounding.
    """

    counts: Counts
    order: RankedMargins
    slack: bool = False

    def loss_at(self, i: Ints, x: Ints, y: Ints) -> Values:
        """Returns ``f(fn, fp, P, N)``, where x and y do not count the decisions that are always wrong."""
        low = self.order.low
        return self.counts.of((low[2 * i] + x).astype(np.float64), (low[2 * i + 1] + y).astype(np.float64), i)

    def __call__(self, i: Ints, x: Ints, y: Ints) -> Values:
        """Returns the objective at cells (x, y) of sets i; vectorized."""
        won, loss = self._won(i, x, y), self.loss_at(i, x, y)
        if not self.slack:
            return loss + won
        # A loss of -inf forbids a labeling, and times a negative factor it would become +inf.
        return np.where(loss > -np.inf, loss * (1.0 + won), -np.inf)

    def above(self, i: Ints, rows: Ints, columns: Ints) -> Values:
        """Returns upper bounds on boxes of cells, for a bounded function of counts.

        ``rows`` and ``columns`` (m, 2) hold the first and the last row and column of each box. The loss and the score
        are bounded apart. Most score is won where all mistakes that win some are made, and no others.
        """
        x = np.clip(self.order.gainful[2 * i], rows[:, 0], rows[:, 1])
        y = np.clip(self.order.gainful[2 * i + 1], columns[:, 0], columns[:, 1])
        low = self.order.low
        fn, fp = low[2 * i] + rows.T.astype(np.float64), low[2 * i + 1] + columns.T.astype(np.float64)
        won, most = self._won(i, x, y), self.counts.above((fn[0], fn[1]), (fp[0], fp[1]), i)
        return most * np.maximum(1.0 + won, 0.0) if self.slack else most + won

    def _won(self, i: Ints, x: Ints, y: Ints) -> Values:
        # Under slack rescaling the base is part of the factor, and can not be added later.
        lost = self.order.score_lost(2 * i, x) + self.order.score_lost(2 * i + 1, y)
        return self.order.base[i] - lost if self.slack else -lost
