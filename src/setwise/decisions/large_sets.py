"""Rules that decide sets of thousands by a search over the number predicted; quotients and sums of costs of any size.

The distributions of the counts are kept without their tails. Losses that are sums of costs, and bounds by means and
variances, need less. An interval of numbers has a lower bound where the loss rises with the counts.
"""

from abc import abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.checks import Bools, Ints, Values
from setwise.decisions.distributions import TINY, CountRuns, Pmf, convolved, count_of, tail_of
from setwise.decisions.formula import Formula
from setwise.decisions.small_sets import DecisionRule, SetDecisions, falling, of_first
from setwise.kernels.poisson_binomial import bounds_by_moments, count, joint_sums, prefixes

BLOCK = 1 << 14
"""About so many values of the formula are computed at once, so that they stay in the cache of a processor."""

COUNTED = 256
"""The positives among at most so many decisions are counted to tell how few they may be."""


def bound_of_interval(formula: Formula, number: int, most: int, top: CountRuns, rest: CountRuns) -> tuple[float, int]:
    """``E f(max(fn - most, 0), max(number - tp, 0), tp + fn)`` from below, and the number of values it took.

    With k..K predicted there are no fewer false negatives than with K, and no fewer false positives than with k. Let m
    of the decisions k+1..K be positive. With the counts of K, ``tp_k = tp_K - m``, so there are at least fn_K false
    negatives and ``k + m - tp_K`` false positives: the bound holds for ``most = 0`` wherever ``m >= number - k``. With
    those of k, ``fn_K = fn_k - m``: it holds for ``number = k`` wherever ``m <= most``. The sum of tp and fn is the
    number of positives either way, and they are independent. ``top`` counts tp and ``rest`` fn, in blocks.

    In a block tp is at most ``high`` and fn at least ``low``. So there are at least ``max(low - most, 0)`` false
    negatives and ``max(number - high, 0)`` false positives, and at most ``high + most`` true positives and ``p - number
    - low`` true negatives. A ``diluted`` loss is least at these four counts. Otherwise it is at least its least value
    at these mistakes over all P that the block allows.
    """
    low, high = rest.low[None, :], top.high[:, None]
    fn, fp = np.maximum(low - most, 0.0), np.maximum(number - high, 0.0)
    steps = 1
    if not formula.diluted:
        first, last = top.low[:, None] + low, high + rest.high[None, :]
        steps = int((last - first).max()) + 1
    total, rows = 0.0, max(1, BLOCK // (steps * len(rest.mass)))
    for a in range(0, len(top.mass), rows):
        part = slice(a, a + rows)
        if formula.diluted:
            values = formula.of_rights(high[part] + most, fn, fp[part], formula.size - number - low)
        else:
            positives = np.minimum(first[None, part] + np.arange(steps)[:, None, None], last[None, part])
            values = formula.of(fn[None], fp[None, part], positives).min(axis=0)
        total += float(top.mass[part] @ values @ rest.mass)
    return total, steps * len(top.mass) * len(rest.mass)


def fewest(q: Values, mean: float, variance: float, spare: float) -> int:
    """A number that the positives among these decisions are below with a probability of at most ``spare``."""
    if len(q) > COUNTED:
        return max(0, int(np.floor(mean - tail_of(variance, spare) - 1e-9 * len(q))))
    low, pmf, _ = count(q, 0.0)
    return int(low) + int(np.searchsorted(np.cumsum(pmf), 0.999 * spare, side="right"))


ADDED = 8
"""Joint probabilities are added up for so many blocks at once: in NumPy a call takes longer than a block."""

INTERVALS = 64
"""So many intervals of numbers predicted, or more, are bounded before single numbers are looked at."""

SPARE = 1e-4
"""Bounds may leave out so large a mass."""

REACH, REACHES = 4.0, (3.5, 5.0, np.inf)
"""Expectations are summed up to so many standard deviations, first roughly, and then for the sizes that may be best."""


@final
@dataclass(frozen=True, eq=False)
class HeadDistributions:
    """The distributions of the numbers of positives among the first k of p decisions, k = 0..p, without their tails."""

    data: Values
    starts: Ints
    lows: Ints

    @classmethod
    def of(cls, q: Values) -> "HeadDistributions":
        """Those of the decisions with probabilities ``q`` (p,), in this order; O(p sqrt(p))."""
        return cls(*prefixes(q, TINY)[:3])

    def most(self, size: int, reach: float) -> Pmf:
        """The number among the first ``size`` within so many standard deviations of its mean, or a little more."""
        pmf = self.data[self.starts[size] : self.starts[size + 1]]
        numbers = np.arange(len(pmf), dtype=np.float64)
        mean = float(numbers @ pmf)
        far = reach * float(np.sqrt(max(float(numbers**2 @ pmf) - mean**2, 0.0))) + 1.0
        low, high = max(0, int(mean - far)), min(len(pmf), int(mean + far) + 2)
        return Pmf(int(self.lows[size]) + low, pmf[low:high])

    def window(self, sizes: Ints, reach: Values, means: Values) -> tuple[Ints, Values]:
        """The numbers within ``reach`` of the means, for several k at once, and their probabilities, (len(sizes), w).

        Probabilities are 0 where a number is out of reach of its own mean.
        """
        ends = self.lows[sizes] + self.starts[sizes + 1] - self.starts[sizes]
        low = np.maximum(self.lows[sizes], np.ceil(means - reach)).astype(np.int64)
        high = np.minimum(ends - 1, np.floor(means + reach)).astype(np.int64)
        numbers = np.arange(low.min(), max(high.max(), low.min()) + 1)
        inside = (numbers >= low[:, None]) & (numbers <= high[:, None])
        places = (self.starts[sizes] - self.lows[sizes])[:, None] + numbers
        return numbers, np.where(inside, self.data[np.where(inside, places, 0)], 0.0)


class BySizes(DecisionRule):
    """``min_k`` of the expected loss of predicting the k most probable decisions, with a bound of the minimum.

    Attributes
    ----------
    formula : the loss
    """

    formula: Formula

    @abstractmethod
    def least(self, q: Values, cuts: Ints) -> tuple[int, float, float]:
        """The best number k among ``cuts`` (c,), rising, its expected loss, and a lower bound of the least one.

        The probabilities (p,) fall.
        """

    def decide(self, q: Values) -> SetDecisions:
        order, ordered = falling(q)
        sizes, values, bounds = np.empty(len(q), dtype=np.int64), np.empty(len(q)), np.empty(len(q))
        every = np.arange(q.shape[1] + 1)
        for i, row in enumerate(ordered):
            sizes[i], values[i], bounds[i] = self.least(row, every)
        return SetDecisions(of_first(order, sizes), values, bounds)

    def cut(self, q: Values, order: Ints, cuts: Ints) -> tuple[int, float]:
        return self.least(np.ascontiguousarray(q[order]), cuts)[:2]

    def expect(self, q: Values, labels: Bools) -> Values:
        self.formula.check_labels(labels)
        return np.array([self.value(x[y], x[~y]) for x, y in zip(q, labels, strict=True)])

    def value(self, top: Values, rest: Values) -> float:
        """The expected loss of predicting the decisions with the probabilities ``top``, and not those with ``rest``."""
        return expected(self.formula, count_of(top), count_of(rest), len(top))


@final
@dataclass(frozen=True, eq=False)
class ByWindow(BySizes):
    """``min_k E f(k, tp, fn)``, where the k most probable decisions are predicted, up to a mass of 1e-15.

    Where f is affine in tp at given k and P, all k together cost O(p sqrt(p)), by the sums over the first k decisions
    of ``Pr(y_i = 1, P = s)``; where it is at given k and fn, by the distributions of fn. Otherwise O(p^2).
    """

    formula: Formula

    def least(self, q: Values, cuts: Ints) -> tuple[int, float, float]:
        low, high = self.formula.numbers
        if low == high:
            value = self.value(q[:low], q[low:])
            return low, value, value
        if self.formula.counts.affine:
            values = self._by_positives(q)
        elif self.formula.affine_beside_misses:
            values = self._by_misses(q)
        else:
            values = self._by_both(q, cuts)
        best = int(cuts[values[cuts].argmin()])
        return best, float(values[best]), float(values[best])

    def _by_positives(self, q: Values) -> Values:
        """All p + 1 expected losses ``sum_s a_ks Pr(P = s) + b_ks E[tp; P = s]`` where f is ``a + b tp``."""
        p, every = len(q), count_of(q)
        out, sums = np.empty(p + 1), np.zeros(len(every.pmf))
        out[0] = self._on_line(np.zeros(1), every, sums[None, :])[0]
        step = max(1, BLOCK // len(every.pmf))
        rows = np.empty((ADDED * step, len(every.pmf)))
        for a in range(0, p, len(rows)):
            joint_sums(q, a, min(p, a + len(rows)), every.pmf, sums, rows)
            for b in range(a, min(p, a + len(rows)), step):
                c = min(p, b + step)
                out[b + 1 : c + 1] = self._on_line(np.arange(b + 1.0, c + 1.0), every, rows[b - a : c - a])
        return out

    def _on_line(self, k: Values, every: Pmf, sums: Values) -> Values:
        """The expected losses for numbers k (m,), from ``E[tp; P = s]`` (m, w)."""
        return np.asarray(along_positives(self.formula, k[:, None], every, sums).sum(axis=1))

    def _by_misses(self, q: Values) -> Values:
        """All p + 1 expected losses where f is affine in tp at given k and fn, but for P = 0."""
        p, rest = len(q), HeadDistributions.of(q[::-1])
        means, none = np.concatenate(([0.0], np.cumsum(q))), np.concatenate(([1.0], np.cumprod(1.0 - q)))
        out = np.empty(p + 1)
        step = max(1, BLOCK // int(np.diff(rest.starts).max()))
        for a in range(0, p + 1, step):
            k = np.arange(a, min(p + 1, a + step))
            fn, pmf = rest.window(p - k, np.full(len(k), np.inf), np.zeros(len(k)))
            out[k] = along_misses(self.formula, k.astype(np.float64), means[k], none[k], fn.astype(np.float64), pmf)
        return out

    def _by_both(self, q: Values, cuts: Ints) -> Values:
        """The expected losses of the k among ``cuts`` that may be best, and inf for the others."""
        p, first, rest = len(q), HeadDistributions.of(q), HeadDistributions.of(q[::-1])
        means, variances = (np.concatenate(([0.0], np.cumsum(x))) for x in (q, q * (1.0 - q)))
        spread = np.sqrt(np.maximum(variances, 0.0)), np.sqrt(np.maximum(variances[-1] - variances, 0.0))
        alive, out = cuts, np.full(p + 1, np.inf)
        if self.formula.increasing:
            alive = self._not_bounded_away(q, cuts, first, rest, means, variances)
        # Other losses may be negative, and then a part of a sum bounds nothing.
        for reach in REACHES if self.formula.increasing else REACHES[-1:]:
            # Losses are not negative, so sums over a part of the counts are lower bounds.
            lower = np.empty(len(alive))
            wide = [min(2.0 * float(_reach(min(reach, 9.0), s[alive]).max()) + 2.0, p + 1.0) for s in spread]
            step = max(1, int(BLOCK // (wide[0] * wide[1])))
            for a in range(0, len(alive), step):
                k = alive[a : a + step]
                tp, top = first.window(k, _reach(reach, spread[0][k]), means[k])
                fn, bottom = rest.window(p - k, _reach(reach, spread[1][k]), means[-1] - means[k])
                lower[a : a + step] = self._over(k.astype(np.float64), tp, top, fn, bottom)
            if reach < np.inf:
                size = int(alive[lower.argmin()])
                best = self.value(q[:size], q[size:])
                alive = alive[lower <= best * (1.0 + 1e-12)]
        out[alive] = lower
        return out

    def _not_bounded_away(
        self, q: Values, cuts: Ints, first: HeadDistributions, rest: HeadDistributions, means: Values, variances: Values
    ) -> Ints:
        """The cuts in those of about ``INTERVALS`` intervals whose bound is below a known expected loss."""
        p = len(q)
        edges = np.unique(np.linspace(0, p + 1, max(INTERVALS, p // 16) + 1).astype(np.int64))
        lower, width = np.empty(len(edges) - 1), max(2, p // (8 * INTERVALS))
        curved, costs = self.formula.without_costs, self.formula.expected_costs(means)
        lost, cheapest = SPARE * curved.largest, int(costs.argmin())
        for i, (a, b) in enumerate(pairwise(edges)):
            k, last = int(a), int(b) - 1
            # Parts of the mass give lower bounds too, since losses are not negative.
            top, after = (CountRuns.of(heads.most(n, REACH), width) for heads, n in ((first, last), (rest, p - last)))
            number = k + fewest(q[k:last], means[last] - means[k], variances[last] - variances[k], SPARE)
            found, _ = bound_of_interval(curved, number, 0, top, after)
            lower[i] = max(0.0, found - lost) + float(costs[min(max(cheapest, k), last)])
        i = int(lower.argmin())
        best = min(self.value(q[:k], q[k:]) for k in cuts[np.searchsorted(cuts, (edges[i], edges[i + 1] - 1))])
        keep = lower <= best * (1.0 + 1e-12)
        return cuts[keep[np.searchsorted(edges, cuts, side="right") - 1]]

    def _over(self, k: Values, tp: Ints, top: Values, fn: Ints, bottom: Values) -> Values:
        """``sum_(t, f) top[k, t] bottom[k, f] f(k, t, f)`` for each k."""
        k3 = k[:, None, None]
        # Where a count is impossible its probability is 0, and another one stands for it.
        t = np.minimum(np.asarray(tp, dtype=np.float64)[None, :, None], k3)
        f = np.minimum(np.asarray(fn, dtype=np.float64)[None, None, :], self.formula.size - k3)
        inner = np.matmul(self.formula.at(k3, t, f), bottom[:, :, None])[:, :, 0]
        return np.asarray((inner * top).sum(axis=1))


def _reach(reach: float, spread: Values) -> Values:
    """How far from its mean a count may be: ``reach`` standard deviations, and one more."""
    return reach * np.maximum(spread, 1e-9) + 1.0


def expected(formula: Formula, top: Pmf, rest: Pmf, k: int) -> float:
    """The expected loss where k decisions are predicted, from the distributions of tp and fn."""
    number = np.asarray(float(k))
    if formula.counts.affine:
        every = convolved(top, rest)
        # ``E[tp; P = s]`` is a convolution too.
        weighted = convolved(Pmf(top.low, top.pmf * top.numbers), rest)
        return float(along_positives(formula, number, every, weighted.pmf).sum())
    if formula.affine_beside_misses:
        fn, none = rest.numbers, np.array([top.at(0)])
        return float(along_misses(formula, number[None], np.array([top.mean]), none, fn, rest.pmf[None, :])[0])
    total, step = 0.0, max(1, BLOCK // len(rest.pmf))
    for a in range(0, len(top.pmf), step):
        values = formula.at(number, top.numbers[a : a + step, None], rest.numbers[None, :])
        total += float(top.pmf[a : a + step] @ (values @ rest.pmf))
    return total


def along_positives(formula: Formula, k: Values, every: Pmf, sums: Values) -> Values:
    """``Pr(P = s) f(k, low) + slope (E[tp; P = s] - low Pr(P = s))`` for each s, where f is affine in tp."""
    low, first, slope = formula.chord(k, every.numbers)
    return np.asarray(every.pmf * first + slope * (sums - low * every.pmf))


def along_misses(formula: Formula, k: Values, means: Values, none: Values, fn: Values, pmf: Values) -> Values:
    """The expected losses for numbers k (m,), from the mean of tp, ``Pr(tp = 0)`` and ``Pr(fn)``, (m, w)."""
    k2 = k[:, None]
    f = np.minimum(fn[None, :], formula.size - k2)
    low = np.where(k2 > 1.0, 1.0, 0.0)
    first = formula.at(k2, low, f)
    slope = (formula.at(k2, k2, f) - first) / np.maximum(k2 - low, 1.0)
    out = (pmf * (first + slope * (means[:, None] - low))).sum(axis=1)
    # Without positives the loss may leave the line, so there its own value is taken.
    if fn[0] == 0:
        off = formula.at(k, np.zeros(len(k)), np.zeros(len(k))) - (first[:, 0] - slope[:, 0] * low[:, 0])
        out += none * pmf[:, 0] * off
    return np.asarray(out)


@final
@dataclass(frozen=True, eq=False)
class BySums(BySizes):
    """``min_k E[sum_(i > k) c(P) y_i + sum_(i <= k) d(P) (1 - y_i)]``, exact; about O(p log p).

    The expected loss of a labeling is that of predicting none, and ``w_i = E[d(P) (1 - y_i)] - E[c(P) y_i]`` for each
    decision predicted. The k most probable decisions are the best k for every k, so w grows as the probabilities fall,
    and the decisions with ``w_i < 0`` are found by bisection.
    """

    formula: Formula

    def least(self, q: Values, cuts: Ints) -> tuple[int, float, float]:
        every = count_of(q)
        low, high = 0, len(q)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.weight(q, middle, every) < 0.0 else (low, middle)
        # The expected loss falls up to this number and grows after it, so the best cut is next to it.
        after = int(np.searchsorted(cuts, low))
        near = [low] if cuts[after] == low else [int(k) for k in cuts[after - 1 : after + 1]]
        values = [self.value(q[:k], q[k:]) for k in near]
        best = int(np.argmin(values))
        return near[best], values[best], values[best]

    def weight(self, q: Values, i: int, every: Pmf) -> float:
        """``w_i``, where ``every`` counts the positives among all decisions."""
        linear = self.formula.counts.linear
        assert linear is not None
        both = np.empty((1, len(every.pmf)))
        # The probabilities that decision i and s - 1 others are positive.
        joint_sums(q, i, i + 1, every.pmf, np.zeros(len(every.pmf)), both)
        low = every.low - self.formula.first
        costs = linear[low : low + len(every.pmf)]
        return float((every.pmf - both[0]) @ costs[:, 1] - both[0] @ costs[:, 0])


CERTAIN = 50.0
"""Of so many expected positives at least one is there, up to a chance of 1e-21."""

ROUNDING = 1e-10
"""A bound on the rounding of the bounds, relative to the largest loss."""


@final
@dataclass(frozen=True, eq=False)
class ByMoments(BySizes):
    """``min_k E[A / D]``, A and D linear in tp and fn: the bounds of all k together cost O(p), after a sort.

    With m the mean of D, ``A / D = A / m - A (D - m) / m^2 + (A / D) (D - m)^2 / m^2``. The last term is not negative,
    and at most the largest loss times ``(D - m)^2 / m^2``, so

        0 <= E[A / D] - (E[A] / m - Cov(A, D) / m^2) <= largest Var(D) / m^2,

    which is of the order of 1/p. Numbers k are evaluated exactly, first that of the least guess between
    both, then those of least bound, until the gap is ``tol``.

    Parameters
    ----------
    formula : the loss, with a ``fraction``
    tol : the gap at which the search may stop
    """

    formula: Formula
    tol: float

    def least(self, q: Values, cuts: Ints) -> tuple[int, float, float]:
        lower, _, guess = (x[cuts] for x in self._bounds(q))
        # The best guess is near the best; then the numbers of least bound decide.
        best = int(guess.argmin())
        lower[best] = value = self.value(q[: cuts[best]], q[cuts[best] :])
        for i in np.argsort(lower, kind="stable"):
            if lower[i] >= value - self.tol:
                break
            lower[i] = self.value(q[: cuts[i]], q[cuts[i] :])
            if lower[i] < value:
                best, value = int(i), float(lower[i])
        return int(cuts[best]), value, min(value, float(lower.min()))

    def _bounds(self, q: Values) -> tuple[Values, Values, Values]:
        """Lower and upper bounds of the expected losses of predicting the first k, k = 0..p, and guesses of them."""
        fraction, p = self.formula.fraction, self.formula.size
        assert fraction is not None
        none = float(np.exp(np.log1p(-np.minimum(q, 1.0 - 1e-16)).sum())) if q.sum() < CERTAIN else 0.0
        lower, upper, guess = np.empty((3, p + 1))
        bounds_by_moments(q, fraction.top, fraction.bottom, none, *self._without_positives, lower, upper, guess)
        return lower, upper, guess

    @cached_property
    def _without_positives(self) -> tuple[Values, float, float]:
        """The loss of each number predicted where nothing is positive, the largest loss, and a bound on rounding."""
        k, zero = np.arange(self.formula.size + 1.0), np.zeros(self.formula.size + 1)
        fraction = self.formula.fraction
        assert fraction is not None
        largest = max(self.formula.largest, float(fraction.without_positives(k).max()))
        return self.formula.of(zero, k, zero), largest, ROUNDING * largest
