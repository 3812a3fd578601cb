"""Exact maximization of losses that depend on counts, over independent decisions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.checks import Floats, Ints, Values, as_count, as_scores
from setwise.core.counts import Counts
from setwise.core.inference import Inference, Maximizer, Solutions, as_base_values
from setwise.core.structure import Structure
from setwise.inference.binary import Reduced, unfit
from setwise.inference.counts.bound import SMALL_TABLE, BoundCounts, monge_sets
from setwise.inference.counts.marginals import count_marginals
from setwise.inference.counts.objective import Objective
from setwise.inference.counts.table_search import Rows, falling_rows, prune_table, scan_rows
from setwise.kernels.counts import quotient_argmax
from setwise.kernels.segments import segment_argmax

SCANNED_TABLE = 1 << 16
"""Tables of up to this number of cells are scanned; larger ones are pruned where a bound on the loss is known."""


@final
@dataclass(frozen=True)
class CountSearch(Inference):
    """``max_A Delta(fn, fp) - m(A)``, or with slack ``max_A Delta(fn, fp) (1 - m(A))``, for losses of the counts.

    For given counts the best mistakes are those of least margin, so the maximum is one over the (P+1) x (N+1) table of
    ``Delta(fn, fp) + S0(fn) + S1(fp)``, both S concave (Joachims 2005, DD Algorithm 1). The search depends on the loss:

    - quotients of linear functions (Jaccard, F_beta, Tversky, error rate), margin rescaling: O(p) after the sort;
    - losses on labelings with a given number of predicted positives: one diagonal, O(p) after the sort;
    - Monge losses (G-mean, H-mean), margin rescaling: divide and conquer, O(p log p);
    - other increasing losses, slack rescaling, and losses with a ceiling: bound and prune over blocks of the table;
    - all other losses: a scan of the whole table, O(P N).

    Parameters
    ----------
    budget : the most cells that are computed for one set. Where pruning needs more, the best labeling so far is
        returned with its bound and ``exact`` False; a larger table that can not be pruned is refused

    Raises
    ------
    TypeError : for a ``budget`` that is no whole number
    ValueError : for a ``budget`` below 1
    Refusal : from :meth:`prepare`, for losses that are no function of (fn, fp, P, N), and for tables beyond the budget
        that no promise lets it prune

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import CountSearch
    >>> from setwise.losses import FBeta
    >>> structure = FBeta(1.0).structure(Sets.single([1, 1, 0]))
    >>> found = CountSearch().prepare(structure).maximize([2.0, 0.25, -1.0])
    >>> print(found.labels, found.values.round(4))  # one miss: 1/3 - 0.25
    [ True False False] [0.0833]
    """

    budget: int = 1 << 27

    name: ClassVar[str] = "count_search"
    about: ClassVar[str] = "a search over the counts of misses and false alarms"

    def __post_init__(self) -> None:
        as_count(self.budget, "budget")

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        """Returns a sentence for losses that are no functions of counts, and for tables that are beyond the budget."""
        why = unfit(self, structure, slack)
        if why is not None:
            return why
        counts = (structure if slack else structure.split()[1]).counts
        if counts is None or counts.areas is not None:
            return (
                f"CountSearch refuses {structure!r}: it is not a function of (fn, fp, P, N). Use Enumeration or Greedy."
            )
        # A bounded function can be pruned, and a given number of positives leaves one diagonal.
        if counts.bounded or counts.predicted is not None:
            return None
        cells = (counts.P + 1) * (counts.N + 1)
        i = int(np.argmax(cells))
        if cells[i] <= self.budget or (not slack and bool(monge_sets(counts)[i])):
            return None
        return (
            f"CountSearch refuses {structure!r} on {counts.P[i]:.0f} positives and {counts.N[i]:.0f} negatives: it "
            f"promises nothing, and {cells[i]:.0f} cells are more than budget={self.budget}. Promise Trait.INCREASING "
            "if it holds, or use Greedy."
        )

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        reduced = Reduced.of(structure, slack)
        counts = reduced.rest.counts
        assert isinstance(counts, Counts)
        return _CountSearch(self, structure, slack, reduced, BoundCounts.of(reduced.sets, counts, slack))


@final
class _CountSearch(Maximizer):
    def __init__(
        self, method: CountSearch, structure: Structure, slack: bool, reduced: Reduced, bound: BoundCounts
    ) -> None:
        self.method, self.structure, self.slack = method, structure, slack
        self._budget, self._reduced, self._bound = method.budget, reduced, bound

    def take(self, parts: Ints) -> "Maximizer":
        assert isinstance(self.method, CountSearch)
        structure = self.structure.take(parts)
        reduced = Reduced.of(structure, self.slack)
        counts = reduced.rest.counts
        assert isinstance(counts, Counts)
        bound = self._bound.take(reduced.sets, counts, parts)
        return _CountSearch(self.method, structure, self.slack, reduced, bound)

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        moved = self._reduced.scores(scores)
        objective = Objective(self._bound.counts, self._bound.rank(moved), self.slack)
        above = None
        if self._bound.counts.predicted is not None:
            x, y = _on_diagonal(objective, self._bound.counts.predicted.astype(np.int64))
        elif self._bound.quotient is not None:
            order = objective.order
            x, y = quotient_argmax(order.margins, order.sums, order.starts, order.low, *self._bound.quotient)
        else:
            x, y, above = self._search(objective, tol)
        # Only a pruned table has a bound of its own; the other searches are exact.
        values = objective(np.arange(len(x)), x, y)
        bounds = values if above is None else np.maximum(values, above)
        base = (0.0 if self.slack else objective.order.base) + self._reduced.target_shift(scores)
        labels = self._reduced.labels(objective.order.mistakes(x, y))
        return Solutions(labels, values + base, bounds + base, bounds <= values)

    def max_marginals(self, scores: ArrayLike, base: Values | float = 0.0) -> Values:
        if self.slack:
            return super().max_marginals(scores, base)
        s = as_scores(scores, self.structure.batch.n_scores)
        base = as_base_values(base, len(self.structure.batch)) + self._reduced.target_shift(s)
        return count_marginals(self._bound, self._reduced.scores(s), base, repr(self.structure))

    def _search(self, objective: Objective, tol: Values) -> tuple[Ints, Ints, Values]:
        """Searches the table of each set by divide and conquer, by a scan, or by bound and prune.

        Returns rows and columns of the best cells, and upper bounds, which are -inf where the search was exact.
        """
        order = objective.order
        heights, widths = order.ranked[::2] + 1, order.ranked[1::2] + 1
        x, y, above = np.zeros_like(heights), np.zeros_like(heights), np.full(len(heights), -np.inf)
        cells = heights * widths
        monge = self._bound.monge & (cells > SMALL_TABLE)
        prune = ~monge & (cells > SCANNED_TABLE) & objective.counts.bounded
        for chosen, search in ((monge, falling_rows), (~monge & ~prune, scan_rows)):
            tables = np.flatnonzero(chosen)
            if len(tables):
                x[tables], y[tables] = _best_rows(Rows(objective, heights, widths).take(tables), search)
        for i in np.flatnonzero(prune):
            size = (int(heights[i]), int(widths[i]))
            found = prune_table(objective, objective.above, int(i), *size, self._budget, float(tol[i]))
            x[i], y[i], above[i] = found.row, found.column, found.bound
        return x, y, above


def _on_diagonal(objective: Objective, predicted: Ints) -> tuple[Ints, Ints]:
    """Returns the best cells on the diagonals with ``P - fn + fp = predicted``, for losses with a given number."""
    positives, negatives = objective.order.sets.positives, objective.order.sets.negatives
    excess = predicted - positives
    # The diagonal enters the table at row ``first``; its cells are the rows of a table of one column.
    first = np.maximum(0, -excess)
    heights = np.minimum(positives, negatives - excess) - first + 1
    rows = Rows(lambda i, r, _: objective(i, first[i] + r, first[i] + r + excess[i]), heights, np.ones_like(heights))
    x = first + _best_rows(rows, scan_rows)[0]
    return x, x + excess


def _best_rows(rows: Rows, search: Callable[[Rows], tuple[Values, Ints]]) -> tuple[Ints, Ints]:
    """Returns the row and the column of the best cell of each table."""
    best, where = search(rows)
    at = segment_argmax(best, rows.edges)
    return at - rows.edges[:-1], where[at]
