"""Independent binary decisions: modular losses, the number of mistakes, the largest cost, and regions.

The modular part of a loss moves into the scores. Then the best label of each decision does not depend on the others,
the best k mistakes are those of least margin, the worst mistake is tried in turn, and each region is sorted by itself.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.batch import Classes, Sets, segments
from setwise.core.bound_loss import BoundLoss, LabelCosts
from setwise.core.checks import Bools, Floats, Ints, Values, as_scores
from setwise.core.counts import Counts
from setwise.core.inference import NO_SPLIT, Inference, Maximizer, Solutions, Takes, as_base_values
from setwise.core.terms import LargestCost, Mistakes, OneMistake, RegionCounts, Trait
from setwise.kernels.segments import segment_sums
from setwise.kernels.set_functions import best_counts, best_largest, best_prefix, region_marginals
from setwise.kernels.sorting import sort_falling

FORBIDDEN = 1e200
"""The cost in score of a forbidden mistake, which is more than all else can win."""


@final
@dataclass(frozen=True, eq=False)
class ReducedProblem:
    """The problem ``max_A r(A) - m(A)`` in place of ``max_A l(A) - m(A)``: costs of single mistakes become scores.

    A is the set of mistakes, and ``m(A) = sum_(i in A) s_i (2 y_i - 1)`` is the score that they lose. Where the modular
    part of l makes mistake i cost c, the margin of i becomes ``m_i - c``, and r is the remainder of l. Under slack
    rescaling nothing can move, for the score multiplies the loss.

    Parameters
    ----------
    sets : the true labels
    rest : r, the bound loss without its modular part
    shift : (total,) numbers that are added to the scores; None adds nothing
    """

    sets: Sets
    rest: BoundLoss
    shift: Values | None

    @classmethod
    def of(cls, bound_loss: BoundLoss, slack: bool) -> "ReducedProblem":
        """Splits a bound loss into its modular part, which becomes the shift, and the remainder."""
        sets = bound_loss.batch
        assert isinstance(sets, Sets)
        costs, rest = (None, bound_loss) if slack else bound_loss.split()
        if costs is None:
            return cls(sets, rest, None)
        # Scores stay finite: a cost of -inf forbids the mistake, and a huge one does the same.
        costs = np.maximum(costs, -FORBIDDEN)
        # A mistake on a positive takes its score away, so its cost is taken off the score.
        shift = np.where(sets.truth, -costs, costs)
        return cls(sets, rest, shift if sets.known is None else np.where(sets.known, shift, 0.0))

    def scores(self, scores: Floats) -> Floats:
        """Returns the scores plus the shift."""
        return scores if self.shift is None else scores + self.shift

    def margins(self, scores: Floats) -> Values:
        """Returns the margins ``s_i (2 y_i - 1)`` of the shifted scores, (total,) float64."""
        moved = self.scores(scores)
        return np.where(self.sets.truth, moved, -moved).astype(np.float64)

    def target_shift(self, scores: Floats) -> Values | float:
        """Returns ``<s, truth - target>`` of each set, to be added to values that are counted from the true labels."""
        shift = self.sets.target_shift
        return 0.0 if shift is None else segment_sums(shift * scores, self.sets.offsets)

    def labels(self, mistakes: Bools) -> Bools:
        """Returns the labeling that makes these mistakes."""
        return mistakes ^ self.sets.truth


SETS = Takes(Sets, "{kind}: it takes independent binary decisions. Use an inference made for {kind}.")
"""What methods for independent binary decisions take, if they know no more of it."""


@final
@dataclass(frozen=True)
class ModularMaximum(Inference):
    """``max_y sum_i c_i(y_i) + s_i(y_i)``: each decision takes the label of its own greatest cost plus score.

    Exact, O(p k) for k labels. Labels that are not known cost nothing, so their decisions follow the scores.

    Source: this library; a sum is maximized term by term.

    Raises
    ------
    Refusal : from :meth:`prepare`, for losses that are not a sum of one cost for each decision, and slack rescaling

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import ModularMaximum
    >>> from setwise.losses import Hamming
    >>> found = ModularMaximum().prepare(Hamming().bind(Sets.single([1, 0, 0]))).maximize([0.5, 0.5, -2.0])
    >>> print(found.labels, found.values)  # margin errors above 0 add up: (1 - 0.5) + (1 + 0.5)
    [False  True False] [2.]
    """

    name: ClassVar[str] = "modular"
    about: ClassVar[str] = "each decision separately, O(p)"
    takes: ClassVar[Takes] = replace(SETS, batch=Sets | Classes, unknown=True)

    def refuses(self, bound_loss: BoundLoss, slack: bool = False) -> str | None:
        if slack:
            return "ModularMaximum refuses slack rescaling: the product is not a sum. Use ByCardinality or Enumeration."
        if not all(isinstance(term, Mistakes | LabelCosts) for term in bound_loss.terms):
            return (
                f"ModularMaximum refuses {bound_loss!r}: the loss is not a sum of one cost per mistake. "
                "Use GreedySearch."
            )
        return super().refuses(bound_loss)

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        if not isinstance(bound_loss.batch, Classes):
            return _ModularMaximum(self, bound_loss, ReducedProblem.of(bound_loss, slack).shift)
        costs = [term.costs for term in bound_loss.terms if isinstance(term, LabelCosts)]
        return _ModularMaximum(self, bound_loss, reduce(np.add, costs).ravel() if costs else None)


@final
class _ModularMaximum(Maximizer):
    """Adds the costs ``shift`` (n_scores,) to the scores and decides by them; None adds nothing."""

    def __init__(self, method: Inference, bound_loss: BoundLoss, shift: Values | None) -> None:
        assert isinstance(bound_loss.batch, Sets | Classes)
        self.method, self.bound_loss, self.slack, self._shift = method, bound_loss, False, shift
        self._decide: Callable[[Floats], NDArray[Any]] = bound_loss.batch.decide

    def take(self, parts: Ints) -> Maximizer:
        places = segments(parts, self.bound_loss.batch.score_offsets)
        shift = None if self._shift is None else self._shift[places]
        return _ModularMaximum(self.method, self.bound_loss.take(parts), shift)

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        labels, batch = self._decide(scores if self._shift is None else scores + self._shift), self.bound_loss.batch
        return Solutions.known(labels, self.bound_loss.values(labels) + batch.won(scores, labels))

    def max_marginals(self, scores: Any, base: Values | float = 0.0) -> Values:
        found, batch = self.maximize(scores), self.bound_loss.batch
        base = as_base_values(base, len(batch))
        moved = np.asarray(scores, dtype=np.float64) + (0.0 if self._shift is None else self._shift)
        # With another label at one decision, the best labeling loses the difference of two scores, and nothing else.
        each = moved.reshape(batch.total, -1) if isinstance(batch, Classes) else np.stack([0 * moved, moved], axis=1)
        return np.asarray((found.values + base)[batch.owners, None] + each - each.max(axis=1, keepdims=True))


@final
@dataclass(frozen=True)
class ByCardinality(Inference):
    """``max_k g(k) - S(k)``, or with slack ``max_k g(k) (1 - S(k))``, S(k) the sum of the k smallest margins.

    ``g(k)`` is the loss of k mistakes. Exact, O(p log p).

    Source: this library; ``S`` needs a sort alone, since the k cheapest mistakes are the best k.

    Raises
    ------
    Refusal : from :meth:`prepare`, for losses that depend on more than the number of mistakes

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import ByCardinality
    >>> from setwise.losses import ZeroOne
    >>> found = ByCardinality().prepare(ZeroOne().bind(Sets.single([1, 0, 0]))).maximize([2.0, -0.25, -3.0])
    >>> print(found.labels, found.values)  # the cheapest single mistake: 1 - 0.25
    [ True  True False] [0.75]
    """

    name: ClassVar[str] = "by_cardinality"
    about: ClassVar[str] = "a sort and one pass over the number of mistakes, O(p log p)"
    takes: ClassVar[Takes] = SETS

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        counts = (bound_loss if slack else bound_loss.split()[1]).counts
        if counts is None or Trait.CARDINALITY not in counts.traits or counts.areas is not None:
            reason = "it depends on more than the number of mistakes"
            return f"ByCardinality refuses {bound_loss!r}: {reason}. Use Enumeration or GreedySearch."
        return None

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return _ByCardinality(self, bound_loss, slack)


@final
class _ByCardinality(Maximizer):
    def __init__(self, method: ByCardinality, bound_loss: BoundLoss, slack: bool) -> None:
        self.method, self.bound_loss, self.slack = method, bound_loss, slack
        self._reduced = ReducedProblem.of(bound_loss, slack)
        counts, sets = self._reduced.rest.counts, self._reduced.sets
        assert isinstance(counts, Counts)
        # The loss depends on the number of mistakes alone, so it is tabled along any order: here positives come first.
        fn = np.minimum(sets.places + 1, np.repeat(sets.positives, sets.sizes)).astype(np.float64)
        self._values, self._none = counts.of(fn, sets.places + 1 - fn, sets.owners), counts.origin

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        sets, mistakes = self._reduced.sets, np.zeros(len(scores), dtype=bool)
        # What mistakes win in score is minus their margins, so the smallest margins come first.
        items, _, falling, starts = sort_falling(-self._reduced.margins(scores), sets.truth, sets.offsets)
        best_prefix(self._values, self._none, falling, items, starts, self.slack, mistakes)
        return self.solved(scores, self._reduced.labels(mistakes))


@final
@dataclass(frozen=True)
class ByLargest(Inference):
    """``max_A max_(i in A) c_i + sum_(i in A) g_i``, or with slack ``(max c) (1 + sum g)``, g the gains in score.

    Exact, O(p log p) once and O(p) a call. With the labelings of one mistake at most it is the search of MLSP
    (Eq. 6 and 7).

    Raises
    ------
    Refusal : from :meth:`prepare`, for losses that are more than the cost of the worst mistake

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import ByLargest
    >>> from setwise.losses import MaxLoss
    >>> bound_loss = MaxLoss([1.0, 2.0, 3.0]).bind(Sets.single([1, 0, 0]))
    >>> found = ByLargest().prepare(bound_loss).maximize([2.0, -0.5, -3.0])
    >>> print(found.labels, found.values)  # the second label: 2 - 0.5
    [ True  True False] [1.5]
    """

    name: ClassVar[str] = "by_largest"
    about: ClassVar[str] = "a sort of the costs and one pass over the worst mistake, O(p)"
    takes: ClassVar[Takes] = SETS

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        rest = bound_loss if slack else bound_loss.split()[1]
        largest = [term for term in rest.terms if isinstance(term, LargestCost)]
        others = [term for term in rest.terms if not isinstance(term, LargestCost | OneMistake)]
        if len(largest) != 1 or others:
            return f"ByLargest refuses {bound_loss!r}: it is more than the cost of the worst mistake. Use Enumeration."
        return None

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return _ByLargest(self, bound_loss, slack)


@final
class _ByLargest(Maximizer):
    def __init__(self, method: ByLargest, bound_loss: BoundLoss, slack: bool) -> None:
        self.method, self.bound_loss, self.slack = method, bound_loss, slack
        self._reduced = ReducedProblem.of(bound_loss, slack)
        terms, sets = self._reduced.rest.terms, self._reduced.sets
        self._single = any(isinstance(term, OneMistake) for term in terms)
        self._costs: Values = next(term.costs for term in terms if isinstance(term, LargestCost))
        self._order = np.lexsort((self._costs, sets.owners))

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        sets, gains = self._reduced.sets, -self._reduced.margins(scores)
        mistakes = best_largest(self._costs, gains, self._order, sets.offsets, self.slack, self._single)
        return self.solved(scores, self._reduced.labels(mistakes))


@final
@dataclass(frozen=True)
class ByRegions(Inference):
    """``max_y sum_b f_b(c_b(y)) + <s, y>`` for any functions f_b of the number of positives in regions, O(p log p).

    Exact: for each number the decisions of largest score are best. Decisions in no region follow their score, with the
    cost of a mistake.

    Source: own, for losses as HOL Eq. 7 and their completions.

    Raises
    ------
    Refusal : from :meth:`prepare`, for losses that are not a sum of functions of the counts of regions, regions that
        share decisions, and slack rescaling

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import ByRegions
    >>> from setwise.losses import BoxFullness
    >>> batch = Sets(np.array([-1, -1, 0], dtype=np.int8), offsets=np.array([0, 3]))  # a box of two decisions
    >>> least = BoxFullness(0.5).bind(batch).zero()  # one of them is positive
    >>> found = ByRegions().prepare(least).maximize([1.0, 0.5, -2.0])
    >>> print(found.labels)  # the one of larger score
    [ True False False]
    """

    name: ClassVar[str] = "by_regions"
    about: ClassVar[str] = "a sort inside each box, O(p log p)"
    takes: ClassVar[Takes] = replace(SETS, slack=NO_SPLIT, unknown=True)

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        regions = bound_loss.split()[1].terms
        if not regions or not all(isinstance(term, RegionCounts) for term in regions):
            return f"ByRegions refuses {bound_loss!r}: it is not a sum of functions of counts in regions. Use Auto()."
        members = np.concatenate([term.members for term in regions if isinstance(term, RegionCounts)])
        if len(np.unique(members)) < len(members):
            return f"ByRegions refuses {bound_loss!r}: its regions share decisions. Use FactorDecomposition."
        return None

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return _ByRegions(self, bound_loss)


@final
class _ByRegions(Maximizer):
    def __init__(self, method: Inference, bound_loss: BoundLoss) -> None:
        self.method, self.bound_loss, self.slack = method, bound_loss, False
        self._reduced = ReducedProblem.of(bound_loss, False)
        self._terms = [term for term in bound_loss.terms if isinstance(term, RegionCounts)]

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        moved = self._reduced.scores(scores).astype(np.float64)
        labels = moved > 0
        for term in self._terms:
            chosen = np.zeros(len(term.members), dtype=bool)
            best_counts(moved[term.members], term.starts, term.tables, chosen)
            labels[term.members] = chosen
        return self.solved(scores, labels)

    def max_marginals(self, scores: object, base: Values | float = 0.0) -> Values:
        batch = self.bound_loss.batch
        s = as_scores(scores, batch.n_scores)  # type: ignore[arg-type]
        found, moved = self.maximize(s), self._reduced.scores(s).astype(np.float64)
        best = (found.values + as_base_values(base, len(batch)))[batch.owners, None]
        each = np.column_stack([np.zeros(batch.total), moved])
        out = each - each.max(axis=1, keepdims=True)
        # The scores of forbidden mistakes are finite, so these are told by their costs.
        costs = self.bound_loss.split()[0]
        if costs is not None:
            never = (costs == -np.inf) & (batch.labels >= 0)
            out[never, np.where(batch.truth[never], 0, 1)] = -np.inf
        for term in self._terms:
            mine = region_marginals(moved[term.members], term.starts, term.tables)
            # Both labels of an entry are compared with the best of its region, which one of them has.
            out[term.members] = mine - mine.max(axis=1, keepdims=True)
        return np.asarray(best + out)
