"""The labeling of least expected loss of one set whose probabilities lie in several places, without a sort of all."""

from typing import final

import numpy as np

from setwise.core.checks import Bools, as_kind, as_number
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import PLACES_REFUSE
from setwise.core.terms import Trait
from setwise.decisions.distributions import Pmf, tail_of
from setwise.decisions.expected_loss import DecisionInPieces, rule_for
from setwise.decisions.formula import Formula, formula_of
from setwise.decisions.large_sets import CERTAIN, BySums
from setwise.decisions.levels import (
    BlockBounds,
    LevelBounds,
    Levels,
    RangeSummary,
    Region,
    Talk,
    ask_for_range,
    cut_of,
    first_question,
    mistakes,
    no_positives,
    positives,
    range_of,
    refined,
    summed,
)

GATHERED, MOST = 1 << 14, 1 << 22
"""Up to the first number of probabilities are sent one by one; where bounds of bins do not suffice, the second."""

AnyBounds = LevelBounds | BlockBounds

NEVER = 1e-60
"""Numbers of positives beyond those that occur but for such a chance are left out."""


@final
class LeastExpectedLossInPieces:
    """``argmin over h of E[loss(y, h)]`` for one set in pieces; see :func:`setwise.decisions.least_expected_loss`.

    The best labeling predicts the k most probable decisions for some k. The places tell, for bins of probability, the
    number n of decisions and the sums of q and of q (1 - q). From these the expected loss of any quotient of counts is
    bounded from both sides at the ends of bins and from below inside, see :class:`LevelBounds`. Bins whose bound is
    above the least known loss, less the tolerance, cannot hold a better k. The others get new bins inside, until few
    probabilities are left or only the bounds at the ends matter; the rest is sent, with the distributions of the counts
    above and below. So the value is exact, and the bound is within the tolerance or, where nearly equal losses leave
    more than ``MOST`` probabilities, is what is known.

    Sums of costs of mistakes and losses of the number of mistakes need no search. Of all other losses up to ``MOST``
    probabilities are gathered. Larger sets are searched with the bounds of :class:`BlockBounds`, which leave a gap
    of the order of the standard deviations of the counts over their means, or refused where these do not hold.

    Parameters
    ----------
    loss : an increasing function of counts
    tol : the gap at which the search may stop
    """

    def __init__(self, loss: Loss, tol: float = 1e-3) -> None:
        self.loss = as_kind(loss, "loss", Loss, "Jaccard()")
        self.tol = as_number(tol, "tol", low=0.0)

    def search(self) -> Talk[DecisionInPieces]:
        """The dialogue that finds the labeling.

        Raises
        ------
        Refusal : for losses that are no increasing functions of counts, or need too many probabilities in one place
        ValueError : where all places are empty
        """
        levels = Levels.of((yield first_question()))
        p = int(levels.counts.sum())
        if p == 0:
            raise ValueError("probabilities must not be empty in all places.")
        formula = self._formula(levels, p)
        if p <= GATHERED:
            return self._here((yield from ask_for_range(0.0, 1.0)))
        if Trait.CARDINALITY in self.loss.traits:
            return (yield from self._by_mode(p))
        if formula.numbers[0] == formula.numbers[1]:
            size = formula.numbers[0]
            at = (yield from _largest(levels, size)) if size else np.inf
            return (yield from self._first(formula, at, size))
        if formula.modular:
            return (yield from self._first(formula, _least_good(BySums(formula), summed((yield positives)))))
        if formula.fraction is not None:
            none = float(np.exp(sum((yield no_positives)))) if levels.means.sum() < CERTAIN else 0.0
            return (yield from self._by_bounds(formula, LevelBounds(formula, none), levels))
        if p <= MOST:
            return self._here((yield from ask_for_range(0.0, 1.0)))
        if formula.without_costs.diluted:
            return (yield from self._by_bounds(formula, BlockBounds(formula), levels))
        raise Refusal(
            f"a decision for {self.loss!r} is refused for {p} probabilities in several places, at most {MOST}: there "
            "are no bounds from their sums.",
            PLACES_REFUSE,
        )

    def _formula(self, levels: Levels, p: int) -> Formula:
        """The loss bound to the numbers of positives that occur."""
        mean, spread = float(levels.means.sum()), tail_of(float(levels.variances.sum()), NEVER)
        likely = max(int(mean - spread) - 1, 0), min(int(mean + spread) + 1, p)
        formula = formula_of(self.loss, p, likely)
        if formula is None or not formula.increasing:
            raise Refusal(
                f"a decision for {self.loss!r} refuses probabilities in several places: it must be a function of the "
                "counts that another mistake never makes smaller. Promise Trait.INCREASING if it holds.",
                PLACES_REFUSE,
            )
        return formula

    def _here(self, found: RangeSummary) -> DecisionInPieces:
        """The decision for probabilities that are all here."""
        q = np.repeat(found.inside, found.times)[::-1].copy()
        decided = rule_for(self.loss, len(q), self.tol).decide(q[None, :])
        size, value, bound = int(decided.labels.sum()), float(decided.values[0]), float(decided.bounds[0])
        return self._decided(cut_of(found, size), value, bound)

    def _by_mode(self, p: int) -> Talk[DecisionInPieces]:
        """The decision for a loss of the number of mistakes: a decision is positive if its probability is above 1/2."""
        found = summed((yield mistakes))
        formula = formula_of(self.loss, p, (0, 1))
        assert formula is not None
        # Without positives every mistake is a false positive.
        value = float(found.pmf @ formula.of(0.0 * found.numbers, found.numbers, 0.0 * found.numbers))
        size = (yield from ask_for_range(0.5, 0.5)).above
        return self._decided((0.5, 0, size), value, value)

    def _by_bounds(self, formula: Formula, bounds: AnyBounds, levels: Levels) -> Talk[DecisionInPieces]:
        """The decision by bounds at levels, which become finer where they must; those of blocks stay at their ends."""
        while True:
            lower, upper = bounds.at(*levels.ends, *levels.rests)
            wanted = float(upper.min()) - self.tol
            open_ = (levels.counts > 1) & (bounds.inside(levels) < wanted)
            # Between ends that are not known well enough themselves, nothing inside need be better known.
            clear = open_ & ((lower[:-1] >= wanted) | (lower[1:] >= wanted))
            if not clear.any() or (isinstance(bounds, LevelBounds) and levels.counts[open_].sum() <= GATHERED):
                break
            levels = yield from refined(levels, clear)
        if isinstance(bounds, LevelBounds):
            return (yield from self._around(formula, bounds, levels, open_))
        return (yield from self._at_end(formula, bounds, levels, int(upper.argmin())))

    def _around(self, formula: Formula, bounds: LevelBounds, levels: Levels, open_: Bools) -> Talk[DecisionInPieces]:
        """The decision where only numbers at ends of levels and inside those that are ``open_`` may be best."""
        lower, upper = bounds.at(*levels.ends, *levels.rests)
        inside, best = bounds.inside(levels), int(upper.argmin())
        near = (lower < upper[best] - self.tol) | np.append(open_, False) | np.append(False, open_)
        near[best] = True
        first, last = np.flatnonzero(near)[[0, -1]].tolist()
        low, high = range_of(levels, first, last)
        inner = (levels.least >= low) & (levels.most <= high)
        if first == last or levels.counts[inner].sum() > MOST:
            return (yield from self._at_end(formula, bounds, levels, best))
        found = yield from ask_for_range(low, high)
        outside = [np.delete(lower, slice(first, last + 1)), np.delete(inside, slice(first, last))]
        rest = float(np.concatenate(outside).min(initial=np.inf))
        above, below = levels.take(levels.least > high), levels.take(levels.most < low)
        size, value, bound = Region(formula, found).least(bounds, above, below, self.tol)
        return self._decided(cut_of(found, size, high), value, min(bound, rest))

    def _at_end(self, formula: Formula, bounds: AnyBounds, levels: Levels, best: int) -> Talk[DecisionInPieces]:
        """The decision that predicts all before an end of the levels."""
        lower, upper = bounds.at(*levels.ends, *levels.rests)
        size, (at, _) = int(levels.ends[0][best]), range_of(levels, best, best)
        found = yield from ask_for_range(at, at)
        lower[best], value = Region(formula, found).known(size - found.above, float(lower[best]), float(upper[best]))
        bound = min(lower.min(), bounds.inside(levels).min(initial=np.inf))
        return self._decided(cut_of(found, size, at), value, float(bound))

    def _first(self, formula: Formula, at: float, size: int | None = None) -> Talk[DecisionInPieces]:
        """The decision that predicts the ``size`` most probable ones, down to ``at``, or all of at least ``at``."""
        found = yield from ask_for_range(at, at)
        size = found.above + int(found.times.sum()) if size is None else size
        value = Region(formula, found).value(size - found.above)
        return self._decided(cut_of(found, size, at), value, value)

    def _decided(self, cut: tuple[float, int | None, int], value: float, bound: float) -> DecisionInPieces:
        bound = min(bound, value)
        return DecisionInPieces(*cut, value, bound, bound >= value - self.tol)


def _largest(levels: Levels, size: int) -> Talk[float]:
    """The probability of rank ``size``, from 1, among the largest."""
    while True:
        ends = levels.ends[0]
        at = int(np.searchsorted(ends, size)) - 1
        if levels.settled[at] or ends[at + 1] == size:
            return float(levels.least[at])
        levels = yield from refined(levels, np.arange(len(levels.counts)) == at)


def _least_good(rule: BySums, every: Pmf) -> float:
    """The least probability with which a decision should be predicted; above 1 if there is none."""
    # The floats from 0 to 1 are in the order of their bits.
    low, high = 0, int(np.nextafter(1.0, 2.0).view(np.int64))
    while low < high:
        middle = (low + high) // 2
        good = rule.weight(np.array([middle]).view(np.float64), 0, every) < 0.0
        low, high = (low, middle) if good else (middle + 1, high)
    return float(np.array([low]).view(np.float64)[0])
