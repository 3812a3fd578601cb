"""Questions about the keys of decisions in bins, and the search that makes bins finer where that matters.

Of the set only the numbers of positives and negatives are known; losses of counts are bound to that.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Floats, Ints, Values, as_count
from setwise.core.counts import Counts
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import PLACES_REFUSE
from setwise.core.surrogate import Dialogue, Piece, PiecedEvaluation, Question
from setwise.core.terms import Trait
from setwise.kernels.histograms import bin_keys, bin_slopes, bin_totals, key_range
from setwise.surrogates.pieces.counts import CountBound

ROUNDING = 5e-10
"""A gap of this share of the value counts as none: exact values are asked for up to rounding."""


@final
@dataclass(frozen=True)
class BinPlan:
    """How many ``bins`` there are at first, how many more a round may ask for, and how ``few`` decisions are sent."""

    bins: int = 512
    most: int = 1 << 15
    few: int = 4096


def ends_of_keys(line: Values, floor: float, piece: Piece) -> tuple[Ints, Values, bool]:
    """:func:`setwise.kernels.histograms.key_range` of a piece: counts, ends, and whether all keys are finite."""
    return key_range(piece.scores, piece.truth, line, floor)


def totals_in_bins(line: Values, edges: Values, chosen: Bools, piece: Piece) -> tuple[Any, Values]:
    """:func:`setwise.kernels.histograms.bin_totals` of the bins between ``edges`` (k+1,), where ``chosen`` (k,)."""
    found = bin_totals(piece.scores, piece.truth, line, edges)[chosen]
    # Half of the bytes hold any number of decisions that one place can have.
    return found[:, :2].astype(np.uint32), found[:, 2:]


def keys_in_bins(line: Values, edges: Values, chosen: Bools, piece: Piece) -> tuple[Values, Bools]:
    """The keys and the labels of all decisions in bins between the ``edges`` (k+1,), where ``chosen`` (k,)."""
    return bin_keys(piece.scores, piece.truth, line, edges, chosen)


def bin_gradient(line: Values, edges: Values, slopes: Values, piece: Piece) -> Floats:
    """The gradient (m,): what ``slopes`` (k, 2) hold for the bin and the class of each decision, or 0."""
    gradient = np.empty_like(piece.scores)
    bin_slopes(piece.scores, piece.truth, line, edges, slopes, gradient)
    return gradient


def without_gradient(piece: Piece) -> Floats:
    """A gradient that is 0."""
    return np.zeros_like(piece.scores)


@final
@dataclass(frozen=True, eq=False)
class Leaves:
    """Bins that hold decisions, by rising keys: the first holds keys above ``floor``, others above the top before.

    Parameters
    ----------
    floor : keys up to it take no part, nor do those above the last top
    tops : (k,) the ends of the bins
    counts, sums : (k, 2) the numbers of the negatives and of the positives, and the sums of their keys less the top
    low, high : (k,) the lowest and the highest key
    """

    floor: float
    tops: Values
    counts: Values
    sums: Values
    low: Values
    high: Values

    @property
    def means(self) -> Values:
        """The mean key of each class, (k, 2); 0 for a class without decisions."""
        return np.where(self.counts > 0, self.tops[:, None] + self.sums / np.maximum(self.counts, 1.0), 0.0)

    @property
    def shares(self) -> Values:
        """Where the mean key of each class lies between the lowest key, at 0, and the highest, at 1, (k, 2)."""
        width = self.high - self.low
        above = (self.tops - self.low)[:, None] + self.sums / np.maximum(self.counts, 1.0)
        far = above / np.where(width > 0, width, 1.0)[:, None]
        return np.where(self.counts > 0, np.clip(far, 0.0, 1.0), 0.0)

    def instead(self, asked: Ints, rows: Values, tops: Values) -> "Leaves":
        """The leaves with others in the place of those ``asked``: their ends, and totals as of ``bin_totals``."""
        some, kept = rows[:, 0] + rows[:, 1] > 0, np.ones(len(self.tops), dtype=bool)
        kept[asked] = False
        own = np.column_stack([self.counts, self.sums, self.low, self.high])
        # A bin without decisions is left out: that above it then reaches further down, and holds the same ones.
        tops, rows = np.concatenate([self.tops[kept], tops[some]]), np.concatenate([own[kept], rows[some]])
        order = np.argsort(tops)
        rows = rows[order]
        return Leaves(self.floor, tops[order], rows[:, :2], rows[:, 2:4], rows[:, 4], rows[:, 5])

    def gradient(self, line: Values, slopes: Values) -> Question:
        """The question for the gradient, which is that of ``slopes`` (k, 2) in the bins and 0 outside of them."""
        return partial(bin_gradient, line, np.append(self.floor, self.tops), slopes)


@final
@dataclass(frozen=True, eq=False)
class LeafAssessment:
    """``value``, and what it may lack in each leaf, ``gaps`` (k,); ``slopes`` (k, 2) make its gradient.

    ``size`` is what the value is added up from, whose rounding no bins can mend.
    """

    value: float
    gaps: Values
    slopes: Values
    size: float

    @property
    def upper(self) -> float:
        """The upper bound that all gaps leave."""
        return self.value + float(self.gaps.sum())

    def evaluation(self, gradient: Question, pieces: int) -> PiecedEvaluation:
        """The bounds of the value, which is not below 0, with the question for the gradient of so many pieces."""
        return PiecedEvaluation(max(self.value, 0.0), max(self.upper, 0.0), [gradient] * pieces)


def whole_range(
    line: Values, floor: float, negatives: int, positives: int
) -> Dialogue[tuple[Ints, Values, Values, int]]:
    """The question for the range of the keys, and a check of the numbers of all decisions.

    Returns how many keys of each class are above the floor, their lowest and highest, (2,) each, and how many pieces
    there are.
    """
    answers = yield partial(ends_of_keys, line, floor)
    counts, ends, proper = zip(*answers, strict=True)
    if not all(proper):
        raise ValueError("scores of the pieces must be finite; got NaN or inf.")
    total, both = sum(counts), np.stack(ends)
    if total[0, 0] != negatives or total[1, 0] != positives:
        wanted = f"{negatives} negatives and {positives} positives"
        raise ValueError(f"pieces must hold {wanted} in all; got {total[0, 0]} and {total[1, 0]}.")
    return total[:, 1], both[:, :, 0].min(axis=0), both[:, :, 1].max(axis=0), len(answers)


def refined(
    line: Values,
    ends: tuple[float, float],
    size: int,
    assess: Callable[[Leaves], LeafAssessment],
    tol: float,
    plan: BinPlan,
) -> Dialogue[tuple[Leaves, LeafAssessment]]:
    """The dialogue that divides the keys between ``ends`` into bins whose gaps add up to at most ``tol``.

    The gap of a bin grows as its width times the square of the decisions that it holds. So an even bin in k parts has a
    k^2-th of its gap, and the parts are fewest in all where their numbers are as the cube roots of the gaps. Decisions
    that are not many more than the parts would be are sent themselves; each distinct key is then a bin of its own.

    Parameters
    ----------
    line : offset and slope of the keys of negatives and of positives, (2, 2)
    ends : the lowest and the highest key that take part
    size : no more decisions than this take part
    assess : the value and the gap of given leaves
    tol : the gap that is left, at least that of rounding
    plan : the sizes of questions
    """
    floor = np.nextafter(ends[0], -np.inf)
    low, high = np.array([ends[0]]), np.array([ends[1]])
    leaves = Leaves(floor, high, np.array([[size, 0.0]]), np.zeros((1, 2)), low, high)
    asked, parts = np.zeros(1, dtype=np.int64), np.array([plan.bins])
    while len(asked):
        if leaves.counts[asked].sum() <= max(plan.few, 4 * int(parts.sum())) and plan.few:
            answers = yield partial(keys_in_bins, line, *_bounds(leaves, asked, leaves.tops[asked]))
            rows = _of_keys(answers)
            leaves = leaves.instead(asked, rows, rows[:, 4])
        else:
            tops = _divided(leaves, asked, parts)
            answers = yield partial(totals_in_bins, line, *_bounds(leaves, asked, tops))
            leaves = leaves.instead(asked, _of_totals(answers, tops), tops)
        # An overflow is refused in one sentence, so NumPy need not warn of it.
        with np.errstate(over="ignore", invalid="ignore"):
            found = assess(leaves)
        if not np.isfinite(found.upper):
            raise OverflowError("scores are too large: the surrogate of the pieces overflows float64; scale them down.")
        # What is clipped at 0 as a whole is known once all of it is below.
        if found.upper <= 0.0:
            break
        goal = max(tol, ROUNDING * abs(found.value), 1e-14 * found.size)
        asked, parts = _undecided(found.gaps, goal, plan)
    return leaves, found


def _undecided(gaps: Values, goal: float, plan: BinPlan) -> tuple[Ints, Ints]:
    """The leaves to divide and their numbers of parts, for gaps of about half the goal; none if it is met."""
    if gaps.sum() <= goal:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    falling = np.argsort(-gaps, kind="stable")
    # The smallest gaps, which make up a quarter of the goal, stay.
    left = np.cumsum(gaps[falling][::-1])[::-1]
    asked = falling[left > goal / 4][: max(plan.most // 2, 1)]
    asked = asked[gaps[asked] > 0]
    most = gaps[asked[0]]
    roots = np.cbrt(gaps[asked] / most)
    # A goal of 0 asks for as many parts as are allowed.
    parts = np.sqrt(4.0 * min(most / max(goal, 1e-300), 1e30) * roots.sum()) * roots
    parts = np.ceil(parts * min(1.0, plan.most / parts.sum()))
    order = np.argsort(asked)
    return asked[order], np.maximum(parts, 2.0).astype(np.int64)[order]


def _divided(leaves: Leaves, asked: Ints, parts: Ints) -> Values:
    """The tops of so many equal parts of the leaves asked, as far as float64 can tell them apart."""
    owner = np.repeat(asked, parts)
    step = np.arange(len(owner)) - np.repeat(np.cumsum(parts) - parts, parts) + 1.0
    share = step / np.repeat(parts, parts)
    low, high = leaves.low[owner], leaves.high[owner]
    # The lowest key lies in the first part and the highest in the last, so every division makes progress.
    inner = np.clip(low * (1.0 - share) + high * share, low, np.maximum(low, np.nextafter(high, -np.inf)))
    return np.unique(np.where(share < 1.0, inner, leaves.tops[owner]))


def _bounds(leaves: Leaves, asked: Ints, tops: Values) -> tuple[Values, Bools]:
    """The edges of the bins of the leaves asked that have these ``tops``, and a mask of such bins."""
    lower = np.append(leaves.floor, leaves.tops)[asked]
    both = np.union1d(tops, lower)
    return both, np.isin(both[1:], tops)


def _of_totals(answers: Sequence[tuple[Any, Values]], tops: Values) -> Values:
    """The totals of all pieces together, added up in their order."""
    counts, rest = zip(*answers, strict=True)
    rows = np.zeros((len(rest[0]), 6))
    for count, sums in zip(counts, rest, strict=True):
        rows[:, :2] += count
        rows[:, 2:4] += sums[:, :2]
    rows[:, 4] = np.min([x[:, 2] for x in rest], axis=0)
    rows[:, 5] = np.max([x[:, 3] for x in rest], axis=0)
    # Many equal keys would be rounded one after another, and always in the same direction.
    equal = rows[:, 4] == rows[:, 5]
    rows[equal, 2:4] = rows[equal, :2] * (rows[equal, 4] - tops[equal])[:, None]
    return rows


def _of_keys(answers: Sequence[tuple[Values, Bools]]) -> Values:
    """The totals of bins with one distinct key each."""
    keys, place = np.unique(np.concatenate([k for k, _ in answers]), return_inverse=True)
    truth = np.concatenate([y for _, y in answers])
    counts = np.column_stack([np.bincount(place[truth == y], minlength=len(keys)) for y in (False, True)])
    return np.column_stack([counts, np.zeros_like(counts), keys, keys])


def bound_of_counts(loss: Loss, negatives: int, positives: int) -> CountBound:
    """The loss as a function of counts of a set with these numbers of negatives and positives, with its bounds.

    Raises
    ------
    Refusal : for a loss that is no function of (fn, fp, P, N), fixes the number predicted, or has no bound
    """
    term = bound_loss_of_totals(loss, negatives, positives)[1]
    if term.curvatures is None and not term.bounded:
        raise Refusal(
            f"{loss!r} refuses pieces of a set: nothing bounds it. Promise Trait.INCREASING if it holds.", PLACES_REFUSE
        )
    return CountBound(term)


def bound_loss_of_totals(loss: Loss, negatives: int, positives: int) -> tuple[BoundLoss, Counts]:
    """The loss bound to a set with these numbers of negatives and positives, and the same as a function of counts.

    Raises
    ------
    Refusal : for a loss that is no function of (fn, fp, P, N), or fixes the number predicted
    """
    for name, count in (("negatives", negatives), ("positives", positives)):
        as_count(count, name, low=0)
    if negatives + positives == 0:
        raise ValueError("negatives and positives must not both be 0.")
    if Trait.COUNTS not in loss.traits:
        raise Refusal(f"{loss!r} refuses pieces of a set: it does not promise Trait.COUNTS.", PLACES_REFUSE)
    # A few decisions stand for all of them: a piece of a set knows the totals of the whole. A loss that takes both
    # numbers of decisions takes any.
    batches = [_stand_in(negatives, positives, most) for most in (1, 2)]
    try:
        for batch in batches:
            loss.check(batch)
    except ValueError as error:
        raise Refusal(
            f"{loss!r} refuses pieces of a set: it asks for a number of decisions in each batch.", PLACES_REFUSE
        ) from error
    bound_losses = [loss.bind(batch) for batch in batches]
    term, other = (bound_loss.counts for bound_loss in bound_losses)
    fn, fp = np.array([0.0, positives > 0, 0.0, positives]), np.array([0.0, 0.0, negatives > 0, negatives])
    # A loss that counts the decisions of the batch itself would differ.
    if term is None or term.areas is not None or other is None or (term.of(fn, fp) != other.of(fn, fp)).any():
        raise Refusal(f"{loss!r} refuses pieces of a set: it is not a function of (fn, fp, P, N).", PLACES_REFUSE)
    if term.predicted is not None:
        raise Refusal(f"{loss!r} refuses pieces of a set: it fixes the number of predicted positives.", PLACES_REFUSE)
    return bound_losses[0], term


def _stand_in(negatives: int, positives: int, most: int) -> Sets:
    """A piece of the set, of at most so many decisions of each class."""
    labels = np.repeat([False, True], [min(negatives, most), min(positives, most)])
    totals = np.array([[negatives, positives]], dtype=np.float64)
    return Sets(labels, np.array([0, len(labels)], dtype=np.int64), totals=totals)
