"""What is known of probabilities in several places, from the largest down, and bounds of expected losses from that.

Sums of probabilities are known at some numbers predicted alone. The bounds tell which numbers may be best where a range
of probabilities is known one by one, or is equal ones.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial, reduce
from typing import Any, NamedTuple, Self, TypeVar, final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.checks import Bools, Ints, Values
from setwise.decisions.distributions import TINY, CountRuns, CountSplits, Pmf, convolved, count_of, tail_of, trimmed
from setwise.decisions.formula import Formula, Fraction
from setwise.decisions.large_sets import ROUNDING, bound_of_interval, expected
from setwise.kernels.histograms import Chances, chances
from setwise.surrogates.pieces.counts import new_edges

Asked = Callable[[Values], Any]
"""What a place computes of its probabilities (m,): a small answer of plain arrays. Questions can be pickled."""

Found = TypeVar("Found")

Talk = Generator[Asked, list[Any], Found]
"""It yields questions, is sent the answers of all places in their order, and returns what it has found."""

BINS = 1024
"""About how many bins a question asks about."""

SURE = 1.0 - 1e-16
"""Larger probabilities are taken for this one where the chance that nothing is positive is computed."""


def first_question() -> Asked:
    """Asks what bins of all probabilities hold."""
    return partial(chances, edges=new_edges(0.0, 1.0, BINS, np.empty(0)))


def no_positives(q: Values) -> float:
    """The logarithm of the chance that nothing is positive."""
    return float(np.log1p(-np.minimum(q, SURE, dtype=np.float64)).sum())


def mistakes(q: Values) -> Pmf:
    """The number of mistakes where each decision takes its more probable label."""
    q = np.asarray(q, np.float64)
    return count_of(np.minimum(q, 1.0 - q))


def positives(q: Values) -> Pmf:
    """The number of positives."""
    return count_of(np.asarray(q, np.float64))


class RangeSummary(NamedTuple):
    """The numbers of probabilities above and below a range, the distributions of their positives, and the range.

    Those in the range are the sorted different ``inside`` and how many there are of each.
    """

    above: int
    hits: Pmf
    below: int
    misses: Pmf
    inside: Values
    times: Ints


def around_range(q: Values, low: float, high: float) -> RangeSummary:
    """What lies around a range of the probabilities of a place, whose ends belong to it, and those in it."""
    # Beside float32 a number of Python would be rounded to it.
    low, high = np.float64(low), np.float64(high)
    above, below = (np.asarray(q[where], np.float64) for where in (q > high, q < low))
    inside = np.asarray(q[(q >= low) & (q <= high)], np.float64)
    return RangeSummary(
        len(above), count_of(above), len(below), count_of(below), *np.unique(inside, return_counts=True)
    )


def ask_for_range(low: float, high: float) -> Talk[RangeSummary]:
    """What lies around a range of the probabilities of all places."""
    answers: list[RangeSummary] = yield partial(around_range, low=low, high=high)
    hits, misses = (summed([getattr(one, name) for one in answers]) for name in ("hits", "misses"))
    above, below = sum(one.above for one in answers), sum(one.below for one in answers)
    inside, places = np.unique(np.concatenate([one.inside for one in answers]), return_inverse=True)
    weights = np.concatenate([one.times for one in answers]).astype(np.float64)
    times = np.bincount(np.ravel(places), weights, len(inside)).astype(np.int64)
    return RangeSummary(above, hits, below, misses, inside, times)


def summed(counts: list[Pmf]) -> Pmf:
    """The sum of independent counts, halves first."""
    if len(counts) == 1:
        return counts[0]
    middle = len(counts) // 2
    return trimmed(convolved(summed(counts[:middle]), summed(counts[middle:])))


@dataclass(frozen=True, eq=False)
class NumberRanges:
    """Ranges of numbers that do not overlap, downwards, but that equal ones may be divided.

    Parameters
    ----------
    counts : (k,) or (k, classes) int64, how many numbers are in each, at least 1
    least, most : (k,) the least and the largest of them
    """

    counts: Ints
    least: Values
    most: Values

    def take(self, where: Any) -> Self:
        """The chosen ranges."""
        return replace(self, **{one.name: getattr(self, one.name)[where] for one in fields(self)})

    def joined(self, other: Self) -> Self:
        """The ranges of both, which do not overlap."""
        both = {one.name: [getattr(self, one.name), getattr(other, one.name)] for one in fields(self)}
        found = replace(self, **{name: np.concatenate(parts) for name, parts in both.items()})
        # Of equal largest ones a range that goes on downwards comes last.
        return found.take(np.lexsort((-found.least, -found.most)))

    def new_bins(self) -> tuple[Values, Bools]:
        """Rising edges of new bins in the ranges, and which bins are those; others lie between two ranges."""
        parts = max(BINS // len(self.least), 4)
        pairs = zip(self.least[::-1].tolist(), self.most[::-1].tolist(), strict=True)
        edges = [new_edges(low, high, parts, np.empty(0)) for low, high in pairs]
        asked = np.concatenate([np.arange(len(each)) < len(each) - 1 for each in edges])
        return np.concatenate(edges), asked[:-1]


@final
@dataclass(frozen=True, eq=False)
class Levels(NumberRanges):
    """Ranges of probabilities.

    Parameters
    ----------
    means, variances : (k,) the sums of q and of q (1 - q)
    """

    means: Values
    variances: Values

    @classmethod
    def of(cls, answers: Sequence[Chances], asked: Bools | None = None) -> "Levels":
        """Those of the bins that are ``asked`` and not empty, from the answers of all places."""
        counts, means, variances = (reduce(np.add, [one[i] for one in answers])[::-1] for i in range(3))
        least = np.min([one.least for one in answers], axis=0)[::-1]
        most = np.max([one.most for one in answers], axis=0)[::-1]
        some = (counts > 0) & (True if asked is None else asked[::-1])
        return cls(counts[some], least[some], most[some], means[some], variances[some])

    @property
    def settled(self) -> Bools:
        """The ranges of equal probabilities, (k,)."""
        return np.asarray(self.least == self.most)

    @cached_property
    def ends(self) -> tuple[Ints, Values, Values]:
        """The number before each end of a range, and their sums of q and of q (1 - q), (k + 1,)."""
        columns = self.counts, self.means, self.variances
        return tuple(np.concatenate((each[:1] * 0, np.cumsum(each))) for each in columns)  # type: ignore[return-value]

    @cached_property
    def rests(self) -> tuple[Values, Values]:
        """The sums of q and of q (1 - q) after each end of a range, (k + 1,)."""
        columns = self.means, self.variances
        return tuple(np.append(np.cumsum(each[::-1])[::-1], 0.0) for each in columns)  # type: ignore[return-value]

    def divided(self, parts: int) -> "Levels":
        """Settled ranges, each in up to so many ranges of about the same number."""
        sizes = [np.diff(np.arange(0, min(parts, n) + 1) * n // min(parts, n)) for n in self.counts.tolist()]
        counts, q = np.concatenate(sizes), np.repeat(self.least, [len(each) for each in sizes])
        return Levels(counts, q, q, counts * q, counts * (q * (1.0 - q)))


def refined(levels: Levels, where: Bools) -> Talk[Levels]:
    """The levels with finer ranges in place of those ``where``: equal probabilities are divided without a question."""
    even, chosen = where & levels.settled, levels.take(where & ~levels.settled)
    rest = levels.take(~where)
    if even.any():
        rest = rest.joined(levels.take(even).divided(max(BINS // int(even.sum()), 4)))
    if not len(chosen.counts):
        return rest
    edges, asked = chosen.new_bins()
    return rest.joined(Levels.of((yield partial(chances, edges=edges)), asked))


@final
@dataclass(frozen=True, eq=False)
class LevelBounds:
    """Bounds of ``E f(k, tp, fn)``, f = A / D with A and D linear in (P, fn, fp), at the ends of levels and inside.

    Let the first a of all p decisions, which fall in probability, be predicted, or b, or any number k between. As sums
    of decisions, fn_k >= fn_b and fp_k >= fp_a for every truth, and f increases at each truth; so

        f_k = f(fn_k, fp_k, P) >= f(fn_b, fp_a, P) = A / D =: x, with fp_a = a - tp_a and P = tp_a + m + fn_b,

    where m counts the positives of the decisions between a and b. These counts of mistakes are possible ones, since
    fn_b <= P and fp_a <= p - P; so x is not negative, and at most the largest loss. A and D are linear in the counts
    tp_a, m and fn_b, which are independent, with the sums of q as means and those of q (1 - q) as variances. With M the
    mean of D, ``A / D = A / M - A (D - M) / M^2 + (A / D) (D - M)^2 / M^2``, of which the last term is at least 0. So

        E f_k >= E x >= E[A] / M - Cov(A, D) / M^2.

    For a = k = b the first inequality is an equality, and the second one misses at most the largest loss times
    ``Var(D) / M^2``, which is of the order of 1/p. Where nothing is positive f need not be A / D. Then it is at least
    its value with a predicted, by which the bounds are corrected with the chance ``none`` of that truth.

    Parameters
    ----------
    formula : the loss, with a ``fraction``; its truths begin with P = 0 if ``none`` is above 0
    none : the chance that nothing is positive, or 0 where that is negligible
    """

    formula: Formula
    none: float

    def inside(self, levels: Levels) -> Values:
        """Lower bounds for all numbers between the two ends of each level, (k,)."""
        (k, hit, spread), (miss, rest) = levels.ends, levels.rests
        first = slice(0, -1)
        before = k[first], hit[first], spread[first]
        lower, _ = self._lower(*before, levels.means, levels.variances, miss[1:], rest[1:])
        # Between the ends of a single decision there is no number.
        return np.where(levels.counts > 1, lower, np.inf)

    def at(self, k: Ints, hit: Values, spread: Values, miss: Values, rest: Values) -> tuple[Values, Values]:
        """Lower and upper bounds where k are predicted.

        The positives among them have the mean ``hit`` and the variance ``spread``, and those among the others ``miss``
        and ``rest``; (n,) each.
        """
        zero = np.zeros(len(k))
        lower, more = self._lower(k, hit, spread, zero, zero, miss, rest)
        return lower, np.minimum(lower + more, self.largest)

    def _lower(
        self, a: Ints, hit: Values, spread: Values, between: Values, within: Values, miss: Values, rest: Values
    ) -> tuple[Values, Values]:
        """The lower bounds, and how far the losses may be above them where nothing is between."""
        k, (t, d) = a.astype(np.float64), (self._fraction.top, self._fraction.bottom)
        with np.errstate(all="ignore"):
            top, bottom = (x[0] + x[3] * k for x in (t, d))
            # The slopes of A and D along tp_a, m and fn_b.
            slopes = [(x[1] - x[3], x[1], x[1] + x[2]) for x in (t, d)]
            mean = bottom + slopes[1][0] * hit + slopes[1][1] * between + slopes[1][2] * miss
            mean = np.where(mean > 0.0, mean, 1.0)
            number = top + slopes[0][0] * hit + slopes[0][1] * between + slopes[0][2] * miss
            variances = spread, within, rest
            both = sum((x * y * v / mean for x, y, v in zip(*slopes, variances, strict=True)), 0.0 * k) / mean
            share = sum((y * y * v / mean for y, v in zip(slopes[1], variances, strict=True)), 0.0 * k) / mean
            shift = self._shift(k)
            low = number / mean - both + shift
            more = self.largest * share + np.maximum(-shift, 0.0) + 2.0 * self.rounding
        # Tiny means have variances relative to their squares that leave float64: then the bounds say nothing.
        low = np.where(np.isfinite(low), np.maximum(low - self.rounding, 0.0), 0.0)
        return low, np.where(np.isfinite(more), more, np.inf)

    def _shift(self, k: Values) -> Values:
        """The chance that nothing is positive, times the difference of the loss there from A / D."""
        if self.none == 0.0:
            return 0.0 * k
        quotient = np.maximum(self._fraction.without_positives(k), 0.0)
        loss = self.formula.of(0.0 * k, k, 0.0 * k)
        return np.asarray(self.none * (loss - quotient))

    @property
    def _fraction(self) -> Fraction:
        assert self.formula.fraction is not None
        return self.formula.fraction

    @cached_property
    def largest(self) -> float:
        """The largest loss: that of labelings without a right decision, monotone in P >= 1, or that at P = 0."""
        fraction, p = self._fraction, float(self.formula.size)
        P = np.array([1.0, p])
        top, bottom = (x[0] + x[1] * P + x[2] * P + x[3] * (p - P) for x in (fraction.top, fraction.bottom))
        k = np.array([0.0, 1.0, p])
        found = [*(top / bottom), *fraction.without_positives(k)]
        if self.formula.first == 0:
            found += list(self.formula.of(0.0 * k, k, 0.0 * k))
        return float(max(found))

    @property
    def rounding(self) -> float:
        """A bound on the rounding of the bounds."""
        return ROUNDING * self.largest


WORK = 1 << 30
"""Expected losses that need more values of the loss are bounded by moments."""


@final
class Region:
    """The numbers predicted that may be best: all above a range of probabilities and some of it.

    Parameters
    ----------
    formula : the loss
    found : what lies around the range
    """

    def __init__(self, formula: Formula, found: RangeSummary) -> None:
        self.formula, self.found = formula, found

    @cached_property
    def halves(self) -> CountSplits:
        """The probabilities of the range."""
        return CountSplits(np.repeat(self.found.inside, self.found.times)[::-1].copy())

    def least(self, bounds: LevelBounds, above: Levels, below: Levels, tol: float) -> tuple[int, float, float]:
        """The best number predicted, its expected loss, and a lower bound of the least one.

        ``above`` and ``below`` are the levels that are not in the range.
        """
        means, variances, first = self.halves.means, self.halves.variances, self.found.above
        hit, spread = above.means.sum() + means, above.variances.sum() + variances
        miss, rest = below.means.sum() + (means[-1] - means), below.variances.sum() + (variances[-1] - variances)
        lower, upper = bounds.at(first + np.arange(len(means)), hit, spread, miss, rest)
        best = tried = int(upper.argmin())
        lower[tried], upper[tried] = self.known(tried, lower[tried], upper[tried])
        for i in np.argsort(lower, kind="stable").tolist():
            if lower[i] >= upper[best] - tol:
                break
            if i != tried:
                lower[i], upper[i] = self.known(i, lower[i], upper[i])
            if upper[i] < upper[best]:
                best = i
        return first + best, float(upper[best]), float(lower.min())

    def known(self, i: int, lower: float, upper: float) -> tuple[float, float]:
        """Both bounds of the expected loss where the first i of the range are predicted.

        They are equal, or the given ones where that takes too long.
        """
        hits, misses = self._counts(i)
        easy = self.formula.counts.affine or self.formula.affine_beside_misses
        if not easy and len(hits.pmf) * len(misses.pmf) > WORK and np.isfinite(upper):
            return lower, upper
        value = expected(self.formula, hits, misses, self.found.above + i)
        return value, value

    def value(self, i: int) -> float:
        """The expected loss where the first i of the range are predicted."""
        return expected(self.formula, *self._counts(i), self.found.above + i)

    def _counts(self, i: int) -> tuple[Pmf, Pmf]:
        """The positives among what is predicted, the first i of the range with it, and among all others."""
        if len(self.found.inside) > 1:
            top, rest = self.halves.first(i), self.halves.others(i)
        else:
            # Of equal probabilities there may be very many.
            q = float(self.found.inside.max(initial=0.0))
            top, rest = binomial(i, q), binomial(int(self.found.times.sum()) - i, q)
        return trimmed(convolved(self.found.hits, top)), trimmed(convolved(self.found.misses, rest))


def binomial(n: int, q: float) -> Pmf:
    """The number of positives among n decisions of the same probability, without its tails; O(sqrt(n))."""
    if n == 0 or q in (0.0, 1.0):
        return Pmf(n if q == 1.0 else 0, np.ones(1))
    mode, reach = min(int((n + 1) * q), n), int(tail_of(n * q * (1.0 - q), TINY)) + 2
    # Each probability is a multiple of that of its neighbor nearer to the most probable number.
    up = np.arange(mode, min(mode + reach, n), dtype=np.float64)
    down = np.arange(mode, max(mode - reach, 0), -1, dtype=np.float64)
    more = np.cumprod((n - up) / (up + 1.0) * (q / (1.0 - q)))
    fewer = np.cumprod(down / (n - down + 1.0) * ((1.0 - q) / q)) if len(down) else down
    pmf = np.concatenate((fewer[::-1], [1.0], more))
    return Pmf(mode - len(down), pmf / pmf.sum())


def range_of(levels: Levels, first: int, last: int) -> tuple[float, float]:
    """The least and the largest probability of the levels from one end to another one; of one before an only end."""
    if first < last:
        return float(levels.least[last - 1]), float(levels.most[first])
    at = float(levels.least[first - 1]) if first else np.inf
    return at, at


def cut_of(found: RangeSummary, size: int, high: float = 1.0) -> tuple[float, int | None, int]:
    """The threshold that predicts ``size`` decisions, its ties, and this number, from what lies around a range."""
    if size <= found.above:
        return (high, 0, size) if size else (np.inf, None, size)
    ends = np.cumsum(found.times[::-1])
    at = int(np.searchsorted(ends, size - found.above))
    number, left = int(found.times[::-1][at]), size - found.above - int(ends[at])
    return float(found.inside[::-1][at]), None if left == 0 else number + left, size


SPARE = 1e-9
"""The mass that is left out of a count."""

PARTS = 64
"""A count is divided into about so many blocks."""

BLOCK_ROUNDING = 1e-11
"""A bound on the rounding of expected losses, relative to the largest loss."""


@final
@dataclass(frozen=True, eq=False)
class BlockBounds:
    """Bounds of ``E f(k, tp, fn)`` at the ends of levels and inside, for increasing losses that are ``diluted``.

    A count of n decisions with mean m and variance v is below x with a probability between ``Phi((x - m) / sqrt(v))``
    less and more ``0.56 / sqrt(v)``, see :class:`CountRuns`. So there is a variable that is stochastically larger and
    known, and one that is smaller. f is never larger with more true positives among k predicted ones, and never smaller
    with more false negatives. With the larger variable for tp and the smaller one for fn its mean is below the expected
    loss, and with the others above it, up to a mass of ``SPARE``, in which f is between 0 and the largest loss.

    Let b > a, and m of the decisions between be positive. For all k between there are at least fn_b false negatives and
    a - tp_b false positives, or, since m <= b - a, at least fn_a - (b - a) and a - tp_a, see
    :func:`bound_of_interval`. The first is taken where most of the decisions between are negative, else the second.
    Costs that are the same for all truths are least at fn_b and a - tp_a, whose means are known.

    Parameters
    ----------
    formula : the loss
    """

    formula: Formula

    def inside(self, levels: Levels) -> Values:
        """Lower bounds for all numbers between the two ends of each level, (k,)."""
        (k, hit, spread), (miss, rest) = levels.ends, levels.rests
        out, p = np.full(len(levels.counts), np.inf), self.formula.size
        missed, alarm = self.formula.costs or (0.0, 0.0)
        for i in np.flatnonzero(levels.counts > 1).tolist():
            a, n = int(k[i]), int(levels.counts[i])
            few = 2.0 * levels.means[i] <= n
            at, number, most = (i + 1, a, 0) if few else (i, a, n)
            top = _larger(int(k[at]), hit[at], spread[at])
            after = _smaller(p - int(k[at]), miss[at], rest[at])
            out[i] = self._least(number, most, top, after) + missed * miss[i + 1] + alarm * (a - hit[i])
        return out

    def at(self, k: Ints, hit: Values, spread: Values, miss: Values, rest: Values) -> tuple[Values, Values]:
        """Lower and upper bounds where k are predicted, see :meth:`LevelBounds.at`."""
        lower, upper, p = np.empty(len(k)), np.empty(len(k)), self.formula.size
        for i, size in enumerate(k.tolist()):
            tp, fn = (size, hit[i], spread[i]), (p - size, miss[i], rest[i])
            lower[i] = self._least(size, 0, _larger(*tp), _smaller(*fn))
            upper[i] = self._most(size, _smaller(*tp), _larger(*fn))
        missed, alarm = self.formula.costs or (0.0, 0.0)
        costs = missed * miss + alarm * (k - hit)
        return lower + costs, upper + costs

    def _least(self, number: int, most: int, top: CountRuns, rest: CountRuns) -> float:
        """The mean of the least losses of the blocks."""
        found, _ = bound_of_interval(self.formula.without_costs, number, most, top, rest)
        return max(found - self._rounding, 0.0)

    def _most(self, size: int, top: CountRuns, rest: CountRuns) -> float:
        """The mean of the largest losses of the blocks."""
        tp, fn, curved = top.low[:, None], rest.high[None, :], self.formula.without_costs
        values = curved.of_rights(tp, fn, size - tp, self.formula.size - size - fn)
        found = float(top.mass @ values @ rest.mass)
        return found + (1.0 - float(top.mass.sum() * rest.mass.sum())) * curved.largest + self._rounding

    @cached_property
    def _rounding(self) -> float:
        return BLOCK_ROUNDING * self.formula.without_costs.largest


def _larger(n: int, mean: float, variance: float) -> CountRuns:
    """A count that is stochastically larger than that of the positives among n decisions."""
    mean, variance = min(max(mean, 0.0), float(n)), max(variance, 0.0)
    if 2.0 * variance <= SPARE:
        # A decision takes its less probable label with a chance of min(q, 1 - q) <= 2 q (1 - q): none does.
        at = np.array([np.rint(mean)])
        return CountRuns(at, at, np.array([1.0 - SPARE]))
    if variance < 1.0:
        at = np.array([min(np.ceil(mean + tail_of(variance, SPARE) + 1e-9 * n), float(n))])
        return CountRuns(at, at, np.array([1.0 - SPARE]))
    width = max(1, int(np.ceil(12.0 * np.sqrt(variance) / PARTS)))
    found = CountRuns.above(n, mean, variance, width, SPARE)
    # Below 0 there is no mass, and the loss need not be defined.
    return CountRuns(np.maximum(found.low, 0.0), np.maximum(found.high, 0.0), found.mass)


def _smaller(n: int, mean: float, variance: float) -> CountRuns:
    """A count that is stochastically smaller."""
    return _larger(n, n - mean, variance).exchanged(n)
