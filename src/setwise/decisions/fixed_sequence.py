"""The cuts of a ranking at which a share is sure, whichever of them is picked: fixed-sequence tests."""

from dataclasses import dataclass
from typing import Literal, final

import numpy as np
from scipy.special import gammaincc

from setwise.core.checks import Bools, Ints, Values
from setwise.decisions.floors import SLACK, tail

FIRST, RATIO, DECAY = 4.5, 3.0, 0.2
"""Where walks begin: see :func:`starts`."""

LAST = 0.04
"""The share of the level that the cut of all decisions brings."""

NEAR = 0.3
"""A walk may begin so much further down, where the exact test wastes less of its level."""

STEP = 0.001
"""Cuts that lie closer together, as a share of the predicted, are not tested."""

PART = 25
"""Over sets the first walk begins at one row in so many: fewer rows come from few sets."""

MOST = 10_000
"""More sets than this are not proposed."""

MODEST, SPARE = 0.45, 0.7
"""For the number of sets that are needed the mean where a walk begins counts as less by so many standard errors, for
the best of several starts looks better than it is; and the level as so much less, so that more than half are enough."""


@final
@dataclass(frozen=True, eq=False)
class SetSums:
    """How ``D_g = right_g - least * whole_g`` of sets is spread at every cut of a ranking.

    The mean of D is at least 0 exactly if the share, pooled over the rows of new sets, is at least ``least``.

    Parameters
    ----------
    count : the number of sets
    sums : (3, m+1) the sums over the sets of D, D^2 and D^3
    failing : (m+1,) how far a set of mean size in which all is wrong is below 0: ``least`` times the mean of whole
        over the sets that have some
    """

    count: int
    sums: Values
    failing: Values

    @classmethod
    def of(cls, owner: Ints, start: Values, step: Values, failing: Values) -> "SetSums":
        """From D at the cut of none, (count,), and what each decision adds to that of its set, (m,); O(m log m)."""
        order = np.argsort(owner, kind="stable")
        added = np.cumsum(step[order])
        sizes = np.bincount(owner, minlength=len(start))
        ends = np.cumsum(sizes)
        base = np.append(0.0, added)[ends - sizes]
        before = np.empty(len(step))
        before[order] = start[owner[order]] + added - step[order] - base[owner[order]]
        grown = (step, (2 * before + step) * step, ((3 * before + 3 * step) * before + step**2) * step)
        first = (start.sum(), (start**2).sum(), (start**3).sum())
        sums = np.stack([s + np.append(0.0, np.cumsum(v)) for s, v in zip(first, grown, strict=True)])
        return cls(len(start), sums, failing)

    def p_values(self, at: Ints, more: float = 1.0, modest: float = 0.0) -> Values:
        """``P(sum_g e_g D_g <= e_0 failing)`` with exponential weights e, which tests that the mean of D is below 0.

        The bound of Gaffke (2005), a Bayesian bootstrap with one set more that fails wholly, of mean size. For sets of
        one size that are right or wrong as a whole it is the binomial test. The sum is taken for a shifted gamma
        variable of the same mean, variance and skewness (Pearson's type III), whose skewness is at most 0. ``more``
        asks for the value of so many times as many sets, spread as these are, whose mean is less by ``modest`` standard
        errors of the mean of these.
        """
        lost = self.failing[at]
        spread = np.sqrt(np.maximum(self.sums[1, at] - self.sums[0, at] ** 2 / self.count, 0.0))
        mean = more * (self.sums[0, at] - modest * spread) - lost
        scale = np.sqrt(np.maximum(more * self.sums[1, at] + lost**2, 1e-300))
        skew = 2.0 * (more * self.sums[2, at] - lost**3) / scale**3
        # The gamma variable of a skewness this small is normal.
        shape = 4.0 / np.minimum(skew, -1e-3) ** 2
        return np.asarray(gammaincc(shape, np.maximum(shape + mean / scale * np.sqrt(shape), 0.0)))


@final
@dataclass(frozen=True, eq=False)
class Share:
    """Of ``whole[k]`` decisions ``right[k]`` are right if the first k of a ranking are predicted positive, k = 0..m.

    Parameters
    ----------
    right, whole : (m+1,) numbers of decisions
    cuts : the k between distinct scores, rising from 0 to m
    least : the share that is to be sure, in (0, 1)
    sets : the sets of the decisions; None where all decisions are independent
    """

    right: Values
    whole: Values
    cuts: Ints
    least: float
    sets: SetSums | None = None

    def passes(self, at: Ints, level: float, need: Values | None = None) -> Bools:
        """Whether tests at ``level`` reject that the share is below ``least``, at each of the cuts ``at`` alone."""
        if need is None:
            found = tail(self.right[at], self.whole[at], self.least) <= level + SLACK
        else:
            found = self.right[at] >= need
        if self.sets is not None:
            found &= self.sets.p_values(at) <= level + SLACK
        return found

    def sure_before_failure(self, level: float, *, from_last: bool) -> Bools:
        """The cuts before the first one that fails, (m+1,); for a share that falls, or stays, from cut to cut.

        The test of the first cut at which the share is too low rejects with at most the probability ``level``. For a
        share that rises from cut to cut they begin ``from_last``.
        """
        found, cuts = np.zeros(len(self.right), dtype=bool), self.cuts[::-1] if from_last else self.cuts
        passed = self.passes(cuts, level)
        found[cuts[: len(passed) if passed.all() else int(passed.argmin())]] = True
        return found

    def sure_in_walks(self, level: float) -> Bools:
        """Cuts that may be picked at will, (m+1,), for a share of the first k, ``whole = k``, which may rise and fall.

        From each of the ranks of :func:`starts` a walk goes down the ranking. It tests cut after cut at all the level
        that the starts have brought since it began; at the first failure that level is lost, and the next start begins
        anew. Which cuts are tested depends on the number of decisions, ``least`` and ties alone. The probability that
        any cut with a share below ``least`` passes is at most ``level`` if decisions are independent.

        Source: own, docs/guide/thresholds.md has the proof; simulated in
        tests/decisions/test_fixed_sequence.py and benchmarks/floors.py.
        """
        found, m = np.zeros(len(self.right), dtype=bool), len(self.right) - 1
        cuts = self.cuts[1:]
        cuts = cuts[np.unique(np.log(cuts) // STEP, return_index=True)[1]]
        ranks, brought = starts(m, self.least, level, m / PART if self.sets is not None else 0.0)
        ends, left = np.searchsorted(cuts, np.append(ranks, m + 1)), 0.0
        for j, more in enumerate(brought):
            left += more
            at = cuts[ends[j] : ends[j + 1]]
            if not len(at):
                continue
            need = least_right(self.whole[at], self.least, left)
            # Of cuts that need as many right ones, the last one holds most of them.
            tested = np.append(need[1:] > need[:-1], True)
            tested[0] = True
            at = at[tested]
            passed = self.passes(at, left, need[tested])
            fails = not passed.all()
            found[at[: int(passed.argmin()) if fails else len(at)]] = True
            left = 0.0 if fails else left
        return found

    def sets_needed(self, level: float, count: int, side: Literal["low", "high", "both"]) -> int | None:
        """About how many sets like these would pass the first test of a sequence; None for more than MOST.

        ``count`` is the number of sets of the sample, of which some may hold nothing that counts.
        """
        sets, m = self.sets, len(self.right) - 1
        assert sets is not None

        def enough(wanted: int) -> bool:
            more = wanted / count
            if side == "both":
                ranks, levels = starts(int(m * more), self.least, level, m * more / PART)
                at, modest = self.cuts[np.minimum(np.searchsorted(self.cuts, ranks / more), len(self.cuts) - 1)], MODEST
            else:
                at, levels, modest = self.cuts[[-1 if side == "low" else 0]], np.array([level]), 0.0
            of_rows = tail(np.floor(self.right[at] * more), self.whole[at] * more, self.least)
            return bool((np.maximum(of_rows, sets.p_values(at, more, modest)) <= SPARE * levels).any())

        low, high = count, MOST + 1
        while high - low > 1:
            middle = int(np.sqrt(low * high)) if high > 2 * low else (low + high) // 2
            low, high = (low, middle) if enough(middle) else (middle, high)
        return high if high <= MOST else None


def starts(m: int, least: float, level: float, lowest: float = 0.0) -> tuple[Ints, Values]:
    """The ranks at which walks down a ranking of m decisions begin, and the share of ``level`` that each brings.

    Ranks are ``k, 3 k, 9 k, ..`` from ``k = 4.5 (m / 1000)^(1/3) / (least (1 - least))``; each brings a fifth of what
    the one before it does. A rank moves down by up to 30 % to where the exact test wastes least of its level. The cut
    of all decisions has a twenty-fifth of the level for itself, for a floor below the share of positives.
    """
    first = FIRST * (m / 1000) ** (1 / 3) / (least * (1 - least))
    first = max(first, np.log((1 - DECAY) * level) / np.log(least), lowest)
    ranks = [max(1, int(np.ceil(min(first, m / 2))))]
    while ranks[-1] * RATIO <= m:
        ranks.append(int(np.ceil(ranks[-1] * RATIO)))
    brought = DECAY ** np.arange(float(len(ranks)))
    brought *= level * (1.0 - LAST if ranks[-1] < m else 1.0) / brought.sum()
    for j, k in enumerate(ranks):
        near = np.arange(float(k), min(m, int((1 + NEAR) * k), k + 60) + 1)
        used = tail(least_right(near, least, brought[j]), near, least)
        ranks[j] = int(near[used.argmax()]) if len(near) else k
    if ranks[-1] < m:
        return np.array([*ranks, m]), np.append(brought, LAST * level)
    # The last walk may have moved to the cut of all decisions, which then brings the rest too.
    brought[-1] += level - brought.sum()
    return np.array(ranks), brought


def least_right(whole: Values, least: float, level: float) -> Values:
    """The smallest numbers of right ones whose :func:`tail` is at most ``level``; ``whole + 1`` where there is none."""
    whole = np.asarray(whole, dtype=np.float64)
    # The median of a binomial number is next to its mean, and Hoeffding (1963) bounds it from above.
    fails = np.maximum(np.floor(least * whole) - 1.0, 0.0) if level < 0.5 else np.zeros(len(whole))
    enough = np.minimum(whole + 1, np.ceil(least * whole + np.sqrt(-0.5 * np.log(level) * whole)) + 1)
    while (enough - fails > 1).any():
        middle = np.floor((fails + enough) / 2)
        holds = (tail(middle, whole, least) <= level + SLACK) & (middle > fails)
        fails, enough = np.where(holds, fails, middle), np.where(holds, middle, enough)
    return np.asarray(enough, dtype=np.float64)
