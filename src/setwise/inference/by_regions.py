"""Functions of the number of positives in regions, over independent decisions: a sort inside each region."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Floats, Values, as_scores
from setwise.core.inference import Inference, Maximizer, Solutions, as_base_values
from setwise.core.structure import Structure
from setwise.core.terms import RegionCounts
from setwise.inference.binary import Reduced, unfit
from setwise.kernels.set_functions import best_counts, region_marginals


@final
@dataclass(frozen=True)
class ByRegions(Inference):
    """``max_y sum_b f_b(c_b(y)) + <s, y>`` for any functions f_b of the number of positives in regions, O(p log p).

    Exact: for each number the decisions of largest score are best. Decisions in no region follow their score, with the
    cost of a mistake.

    Source: own, for losses as HOL Eq. 7 and their completions.

    Raises
    ------
    Refusal : from :meth:`prepare`, for losses that are no sum of functions of the counts of regions, regions that share
        decisions, and slack rescaling

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import ByRegions
    >>> from setwise.losses import BoxFullness
    >>> batch = Sets(np.array([-1, -1, 0], dtype=np.int8), offsets=np.array([0, 3]))  # a box of two decisions
    >>> least = BoxFullness(0.5).structure(batch).zero()  # one of them is positive
    >>> found = ByRegions().prepare(least).maximize([1.0, 0.5, -2.0])
    >>> print(found.labels)  # the one of larger score
    [ True False False]
    """

    name: ClassVar[str] = "by_regions"
    about: ClassVar[str] = "a sort inside each box, O(p log p)"

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        why = unfit(self, structure, slack, unknown=True)
        if why is not None:
            return why
        if slack:
            return "ByRegions refuses slack rescaling: the product does not split. Use margin rescaling."
        regions = structure.split()[1].terms
        if not regions or not all(isinstance(term, RegionCounts) for term in regions):
            return f"ByRegions refuses {structure!r}: it is no sum of functions of counts in regions. Use Auto()."
        members = np.concatenate([term.members for term in regions if isinstance(term, RegionCounts)])
        if len(np.unique(members)) < len(members):
            return f"ByRegions refuses {structure!r}: its regions share decisions. Use FactorDecomposition."
        return None

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        return _ByRegions(self, structure)


@final
class _ByRegions(Maximizer):
    def __init__(self, method: Inference, structure: Structure) -> None:
        self.method, self.structure, self.slack = method, structure, False
        self._reduced = Reduced.of(structure, False)
        self._terms = [term for term in structure.terms if isinstance(term, RegionCounts)]

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        moved = self._reduced.scores(scores).astype(np.float64)
        labels = moved > 0
        for term in self._terms:
            chosen = np.zeros(len(term.members), dtype=bool)
            best_counts(moved[term.members], term.starts, term.tables, chosen)
            labels[term.members] = chosen
        return self.solved(scores, labels)

    def max_marginals(self, scores: object, base: Values | float = 0.0) -> Values:
        batch = self.structure.batch
        s = as_scores(scores, batch.n_scores)  # type: ignore[arg-type]
        found, moved = self.maximize(s), self._reduced.scores(s).astype(np.float64)
        best = (found.values + as_base_values(base, len(batch)))[batch.owners, None]
        each = np.column_stack([np.zeros(batch.total), moved])
        out = each - each.max(axis=1, keepdims=True)
        # The scores of forbidden mistakes are finite, so these are told by their costs.
        costs = self.structure.split()[0]
        if costs is not None:
            never = (costs == -np.inf) & (batch.labels >= 0)
            out[never, np.where(batch.truth[never], 0, 1)] = -np.inf
        for term in self._terms:
            mine = region_marginals(moved[term.members], term.starts, term.tables)
            # Both labels of an entry are compared with the best of its region, which one of them has.
            out[term.members] = mine - mine.max(axis=1, keepdims=True)
        return np.asarray(best + out)
