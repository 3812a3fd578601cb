"""Exact maximization of losses that depend on counts, over independent decisions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.inference import Inference, Problem, Solutions
from setwise.core.loss import Values
from setwise.core.refusal import Refusal
from setwise.core.sets import Ints
from setwise.core.traits import Trait
from setwise.inference.counts.objective import Objective
from setwise.inference.counts.ranked_margins import RankedMargins
from setwise.inference.counts.structure import doubt, is_monge, monge_tables, predicted_of, quotient_of
from setwise.inference.counts.tables import Rows, falling_rows, prune_table, scan_rows
from setwise.kernels.quotients import quotient_argmax
from setwise.kernels.tables import run_argmax

SCANNED_TABLE = 1 << 16


@final
@dataclass(frozen=True)
class CountSearch(Inference):
    """``max_A Delta(fn, fp) - m(A)``, or with slack ``max_A Delta(fn, fp) (1 - m(A))``, for losses of the counts.

    For given counts the best mistakes are those of least margin, so the maximum is one over the table (P+1) x (N+1) of
    ``Delta(fn, fp) + S0(fn) + S1(fp)``, both S concave (Joachims 2005, DD Alg. 1). What the loss promises decides how:

    - a quotient of linear functions (Jaccard, F_beta, Tversky, error rate), margin: O(p) after the sort;
    - a loss on labelings with a given number of predicted positives: one diagonal, O(p) after the sort;
    - Monge losses (G-mean, H-mean), margin: divide and conquer, O(p log p);
    - other increasing losses, and slack: bound and prune over blocks of the table;
    - any other loss: the whole table, O(P N).

    Parameters
    ----------
    budget : cells that one set may cost. Where pruning needs more, the best labeling seen is returned with ``exact``
        False and its bound; a table that can not be pruned and has more cells is refused.
    """

    budget: int = 1 << 27

    def refuses(self, problem: Problem) -> str | None:
        """A sentence for losses that are no functions of counts, and for those without structure beyond the budget."""
        bare = problem.bare()
        loss, sets = bare.loss, bare.sets
        if Trait.COUNTS not in loss.traits:
            return f"CountSearch refuses {loss!r}: it is not a function of (fn, fp, P, N). Use Enumeration or Greedy."
        if Trait.INCREASING in loss.traits or predicted_of(loss, sets) is not None:
            return None
        cells = (sets.positives + 1) * (sets.negatives + 1)
        i = int(np.argmax(cells))
        P, N = int(sets.positives[i]), int(sets.negatives[i])
        if cells[i] <= self.budget or (not problem.slack and is_monge(loss, P, N)):
            return None
        return (
            f"CountSearch refuses {loss!r} on {P} positives and {N} negatives: it promises nothing, and "
            f"{cells[i]} cells are more than budget={self.budget}. Promise Trait.INCREASING if it holds, or use Greedy."
        )

    def maximize(self, problem: Problem) -> Solutions:
        """The best labeling of every set; O(p log p) for structured losses."""
        reason = self.refuses(problem)
        if reason is not None:
            raise Refusal(reason)
        bare = problem.bare()
        loss, sets, scores, slack = bare.loss, bare.sets, bare.scores, bare.slack
        predicted = predicted_of(loss, sets)
        if predicted is not None:
            return _tied(Objective(loss, RankedMargins.of(sets, scores), slack), predicted.astype(np.int64))
        quotient = None if slack else quotient_of(loss, sets)
        objective = Objective(loss, RankedMargins.of(sets, scores, *doubt(loss, sets, quotient, slack)), slack)
        if quotient is None:
            return self._search(objective)
        order = objective.order
        x, y = quotient_argmax(order.margins, order.sums, order.starts, order.low, *quotient)
        return _solutions(objective, x, y)

    def _search(self, objective: Objective) -> Solutions:
        """Every set by the scan, divide and conquer, or bound and prune that suits it."""
        order, loss = objective.order, objective.loss
        heights, widths = order.ranked[::2] + 1, order.ranked[1::2] + 1
        x, y, above = np.zeros_like(heights), np.zeros_like(heights), np.full(len(heights), -np.inf)
        cells = heights * widths
        monge = monge_tables(loss, order.sets, np.zeros_like(cells) if objective.slack else cells)
        prune = ~monge & (cells > SCANNED_TABLE) & (Trait.INCREASING in loss.traits)
        for chosen, search in ((monge, falling_rows), (~monge & ~prune, scan_rows)):
            tables = np.flatnonzero(chosen)
            if len(tables):
                x[tables], y[tables] = _best_rows(Rows(objective, heights, widths).take(tables), search)
        for i in np.flatnonzero(prune):
            found = prune_table(objective, objective.above, int(i), int(heights[i]), int(widths[i]), self.budget)
            x[i], y[i], above[i] = found.row, found.column, found.bound
        return _solutions(objective, x, y, above)


def _tied(objective: Objective, predicted: Ints) -> Solutions:
    """A loss with ``predicted`` positives: the diagonal of the table on which ``P - fn + fp`` is that."""
    positives, negatives = objective.order.sets.positives, objective.order.sets.negatives
    ahead = predicted - positives
    first = np.maximum(0, -ahead)
    heights = np.minimum(positives, negatives - ahead) - first + 1
    rows = Rows(lambda i, r, _: objective(i, first[i] + r, first[i] + r + ahead[i]), heights, np.ones_like(heights))
    x = first + _best_rows(rows, scan_rows)[0]
    return _solutions(objective, x, x + ahead)


def _best_rows(rows: Rows, search: Callable[[Rows], tuple[Values, Ints]]) -> tuple[Ints, Ints]:
    """Row and column of the best cell of each table."""
    best, where = search(rows)
    at = run_argmax(best, rows.edges)
    return at - rows.edges[:-1], where[at]


def _solutions(objective: Objective, x: Ints, y: Ints, above: Values | None = None) -> Solutions:
    """The labelings with x and y ranked decisions wrong; exact where no larger bound ``above`` is known."""
    values = objective(np.arange(len(x)), x, y)
    bounds = values if above is None else np.maximum(values, above)
    base = 0.0 if objective.slack else objective.order.base
    return Solutions(objective.order.mistakes(x, y), values + base, bounds + base, bounds <= values)
