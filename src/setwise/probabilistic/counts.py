"""The likelihood of what is known of numbers of positives, under independent decisions: ``A(s) - A_allowed(s)``.

Bags are sets of which a bound loss allows certain numbers of positives. The usual start with proportions is the
cross-entropy of a bag's proportion and its mean probability.
"""

from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np
from scipy.special import expit, log_expit, xlogy

from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Floats, Ints, Values, as_kind
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import WEAK_LOSSES
from setwise.core.surrogate import Difference, Evaluation, Evaluator, Surrogate
from setwise.core.terms import Mistakes, RegionCounts
from setwise.kernels.count_partition import count_partitions
from setwise.kernels.segments import segment_sums
from setwise.losses import as_loss


@final
class Bags:
    """The decisions of a batch of which numbers of positives are allowed, and those that are fixed.

    A bound loss of the values 0 and -inf tells them, to an object that is called ``name`` in sentences.

    Attributes
    ----------
    fixed : (total,) 1 for decisions that must be positive, and 0
    members : (entries,) the decisions that are not fixed, run by run
    starts : (runs + 1,) the run r has ``members[starts[r]:starts[r + 1]]``
    low, high : (runs,) the least and the largest number of positives
    bags : (runs,) rising, the bag of each run: a bag has a run for each range of numbers that it allows
    sizes : (bags,) the number of decisions of each bag
    owners : (bags,) the set of each bag
    """

    def __init__(self, bound_loss: BoundLoss, name: str) -> None:
        batch = bound_loss.batch
        if type(batch) is not Sets or batch.totals is not None:
            raise Refusal(
                f"{name} refuses {type(batch).__name__}: it is for sets of independent decisions.", WEAK_LOSSES
            )
        mistakes = [term for term in bound_loss.terms if isinstance(term, Mistakes)]
        regions = [term for term in bound_loss.terms if isinstance(term, RegionCounts)]
        if len(mistakes) + len(regions) < len(bound_loss.terms) or len(regions) > 1:
            raise Refusal(
                f"{name} refuses {bound_loss!r}: these labelings are not ranges of numbers of positives. "
                "Use CountRange.",
                WEAK_LOSSES,
            )
        values = np.concatenate([np.zeros(0), *(term.costs for term in mistakes), *(term.tables for term in regions)])
        if ((values != 0.0) & (values != -np.inf)).any():
            raise Refusal(
                f"{name} refuses {bound_loss!r}: it is for values of 0 and -inf, which say what is allowed. Use "
                "zero().",
                WEAK_LOSSES,
            )
        held = np.zeros(batch.total, dtype=bool)
        for term in mistakes:
            held |= (term.costs == -np.inf) & (batch.labels >= 0)
        self.fixed = np.where(held, batch.truth, 0.0)
        # Decisions that are neither fixed nor in a region make a bag of each set, of which any number is allowed.
        rest = ~held
        for region in regions:
            rest[region.members] = False
        free = np.flatnonzero(rest)
        sizes = np.bincount(batch.owners[free], minlength=len(batch))
        owners = np.flatnonzero(sizes)
        every = free, sizes[owners], np.zeros(len(owners), np.int64), sizes[owners], owners, np.arange(len(owners))
        parts: list[tuple[Ints, ...]] = [every, *map(_runs, regions)]
        joined = (np.concatenate([part[k] for part in parts]) for k in range(5))
        self.members, widths, self.low, self.high, self.owners = joined
        self.bags = np.concatenate([part[5] + (len(parts[0][4]) if k else 0) for k, part in enumerate(parts)])
        first = np.searchsorted(self.bags, np.arange(len(self.owners)))
        self.starts = np.concatenate(([0], np.cumsum(widths)))
        self.sizes = widths[first] if len(widths) else widths


def _runs(region: RegionCounts) -> tuple[Ints, ...]:
    """The ranges of allowed numbers of each region: members, numbers of them, low, high, owners of bags, and bags."""
    allowed, begins = region.tables == 0.0, region.table_starts
    first, last = allowed.copy(), allowed.copy()
    # A range begins where the number before it is not allowed, or is that of another region.
    first[1:] &= ~allowed[:-1] | np.isin(np.arange(1, len(allowed)), begins)
    last[:-1] &= ~allowed[1:] | np.isin(np.arange(1, len(allowed)), begins)
    begin, end = np.flatnonzero(first), np.flatnonzero(last)
    bags = np.searchsorted(begins, begin, side="right") - 1
    widths = np.diff(region.starts)
    places = np.repeat(region.starts[bags] - np.concatenate(([0], np.cumsum(widths[bags])[:-1])), widths[bags])
    members = region.members[places + np.arange(len(places))]
    return members, widths[bags], begin - begins[bags], end - begins[bags], region.owners, bags


class BagEvaluator(Evaluator):
    """A function of the scores of bags, which a bound loss of the values 0 and -inf tells."""

    batch: Sets

    def __init__(self, bound_loss: BoundLoss) -> None:
        as_kind(bound_loss, "bound_loss", BoundLoss, "CountRange(1).bind(sets).zero()")
        self.bound_loss, self.bags = bound_loss, Bags(bound_loss, type(self).__name__)
        self.batch = bound_loss.batch  # type: ignore[assignment]

    def take(self, parts: Ints) -> Self:
        return type(self)(self.bound_loss.take(parts))


@final
class AllowedPartition(BagEvaluator):
    """``log sum_y exp <s, y>`` over the labelings y that a bound loss allows. Convex.

    The gradient is the mean of y, the posterior marginals of independent decisions given that y is allowed. Both are
    exact to rounding.

    Source: own; compared with the enumeration of all labelings in tests/probabilistic/test_count_likelihood.py.

    Parameters
    ----------
    bound_loss : of the values 0 and -inf, for sets of independent decisions: one without terms allows all labelings,
        and ``CountRange(low, high).bind(sets).zero()`` ranges of the numbers of positives

    Raises
    ------
    TypeError : for anything but a bound loss
    Refusal : for other batches and other values than these
    ValueError, OverflowError : when called, for scores that are not finite or whose sums leave float64

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.losses import CountRange
    >>> from setwise.probabilistic import AllowedPartition
    >>> bag = Sets(np.array([-1, -1, -1], dtype=np.int8), np.array([0, 3]))  # three unknown labels
    >>> one = AllowedPartition(CountRange(1, 1).bind(bag).zero())(np.zeros(3))  # one of them is positive
    >>> np.exp(one.values).round(6), one.gradient.round(3)  # three labelings, equally probable
    (array([3.]), array([0.333, 0.333, 0.333]))
    """

    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        s, bags = np.asarray(scores, dtype=np.float64), self.bags
        each, means = np.empty(len(bags.low)), np.empty(len(bags.members))
        count_partitions(s[bags.members], bags.starts, bags.low, bags.high, each, means)
        if len(bags.owners) < len(each):
            each = self._of_ranges(each, means)
        values = segment_sums(s * bags.fixed, self.batch.offsets)
        np.add.at(values, bags.owners, each)
        gradient = bags.fixed + np.bincount(bags.members, means, len(s))
        return Evaluation(values, gradient.astype(scores.dtype), values, np.ones(len(values), dtype=bool))

    def _of_ranges(self, each: Values, means: Values) -> Values:
        """The values of bags from those of their ranges; ``means`` are weighted by the probability of the range."""
        bags = self.bags.bags
        values = np.logaddexp.reduceat(each, np.searchsorted(bags, np.arange(len(self.bags.owners))))
        means *= np.repeat(np.exp(each - values[bags]), np.diff(self.bags.starts))
        return values

    def __repr__(self) -> str:
        return f"the log-partition function of {self.bound_loss!r}"


@final
@dataclass(frozen=True, eq=False)
class CountLikelihood(Surrogate):
    """``-log Pr(y has the least loss)`` with ``Pr(y_i = 1) = sigmoid(s_i)``, independently: ``A(s) - A_allowed(s)``.

    The loss says what is known: all labelings of least loss agree with it (HOL 4.1). So a number of positives, a range
    of them, "at least one", and single known labels are one formula. Its gradient is ``Pr(y_i = 1) - Pr(y_i = 1 |
    known)``, exact to rounding. It is a difference of convex functions: the majorant has the tangent of the second, so
    that it is the cross-entropy with the posterior as soft labels, and the convex-concave procedure is the EM
    algorithm. Known labels alone give the logistic loss.

    Parameters
    ----------
    loss : a loss whose labelings of least loss are ranges of numbers of positives, as ``CountRange(low, high)``, and
        ``BoxFullness(shares)`` for the numbers next to given shares; or the name of one

    Raises
    ------
    TypeError : for a loss that is neither a loss nor text; from :meth:`on` for anything but ``Sets``
    ValueError : for a name that no loss has
    Refusal : from :meth:`on`, where the labelings of least loss are no such ranges

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.losses import CountRange
    >>> from setwise.probabilistic import CountLikelihood
    >>> bag = Sets(np.array([-1, -1], dtype=np.int8), np.array([0, 2]))  # two unknown labels, each positive with 1/2
    >>> at_least_one = CountLikelihood(CountRange(1)).on(bag)(np.zeros(2))
    >>> np.exp(-at_least_one.values)
    array([0.75])
    >>> at_least_one.gradient.round(3)  # 1/2 less the posterior, 2/3
    array([-0.167, -0.167])
    """

    loss: Loss

    name: ClassVar[str] = "count_likelihood"

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", as_loss(self.loss))

    def on(self, batch: Any) -> Evaluator:
        as_kind(batch, "batch", Sets, "Sets(labels, offsets)")
        known = AllowedPartition(self.loss.bind(batch).zero())
        # A probability is at most 1.
        return Difference(AllowedPartition(BoundLoss(batch)), known, floor=0.0)


LEAST = 1e-300
"""The least mean probability of either label: with 0 the divergence would be infinite."""


@final
class BagDivergence(BagEvaluator):
    """``sum over bags of m KL(R || mean of sigmoid(s_i)) + logistic losses of known labels``. Not convex.

    R is the share of positives that is nearest to the mean among those from the least to the largest number that the
    bound loss allows, of m decisions.

    Source: own; compared with the formula in tests/probabilistic/test_count_likelihood.py.

    Parameters
    ----------
    bound_loss : of the values 0 and -inf, as that of :class:`setwise.probabilistic.AllowedPartition`

    Raises
    ------
    TypeError : for anything but a bound loss
    Refusal : for other batches and other values than these
    ValueError, OverflowError : when called, for scores that are not finite or whose sums leave float64

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.losses import CountRange
    >>> from setwise.probabilistic import BagDivergence
    >>> bag = Sets(np.array([-1, -1, 1], dtype=np.int8), np.array([0, 3]))  # two unknown labels, and a known one
    >>> both = BagDivergence(CountRange(3, 3).bind(bag).zero())(np.zeros(3))
    >>> np.exp(-both.values).round(6)  # 1/2 for the known label, and (1/2)^2 for the share 1 of the bag
    array([0.125])
    """

    convex = False
    floor = 0.0

    def __init__(self, bound_loss: BoundLoss) -> None:
        super().__init__(bound_loss)
        bags = self.bags
        first = np.searchsorted(bags.bags, np.arange(len(bags.owners)))
        last = np.searchsorted(bags.bags, np.arange(len(bags.owners)), side="right") - 1
        # Of several ranges of one bag, each holds all of its decisions.
        places = np.repeat(bags.starts[first] - np.concatenate(([0], np.cumsum(bags.sizes)[:-1])), bags.sizes)
        self._members = bags.members[places + np.arange(len(places))]
        self._begins = np.concatenate(([0], np.cumsum(bags.sizes)[:-1])).astype(np.int64)
        self._low, self._high = bags.low[first] / bags.sizes, bags.high[last] / bags.sizes
        self._known = np.ones(self.batch.total, dtype=bool)
        self._known[self._members] = False

    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        s = np.asarray(scores, dtype=np.float64)
        p, sizes = expit(s), self.bags.sizes
        sign = np.where(self.bags.fixed[self._known] > 0, 1.0, -1.0)
        values = np.zeros(len(self.batch))
        np.add.at(values, self.batch.owners[self._known], -log_expit(sign * s[self._known]))
        gradient = p - self.bags.fixed
        if len(sizes):
            # Both are sums: 1 - mean would lose the digits of a mean near 1.
            of_ones, of_zeros = p[self._members], expit(-s[self._members])
            mean, rest = (np.maximum(np.add.reduceat(q, self._begins) / sizes, LEAST) for q in (of_ones, of_zeros))
            R, S = np.clip(mean, self._low, self._high), np.clip(rest, 1.0 - self._high, 1.0 - self._low)
            each = sizes * (xlogy(R, R / mean) + xlogy(S, S / rest))
            np.add.at(values, self.bags.owners, np.maximum(each, 0.0))
            gradient[self._members] = np.repeat(S / rest - R / mean, sizes) * of_ones * of_zeros
        return Evaluation(values, gradient.astype(scores.dtype), values, np.ones(len(values), dtype=bool))

    def __repr__(self) -> str:
        return f"the divergence of bags of {self.bound_loss!r}"


@final
@dataclass(frozen=True, eq=False)
class ProportionLoss(Surrogate):
    """``m KL(R || mean of sigmoid(s_i))`` for each bag of m decisions with a share R of positives.

    This is the cross-entropy of the proportion and the mean probability without its least value, times the size of the
    bag. Where a range of shares is known, R is the nearest of them, so that nothing is lost inside. Decisions with
    known labels have the logistic loss, and bags are their unknown decisions.

    Source: own; compared with the formula in tests/probabilistic/test_count_likelihood.py.

    Parameters
    ----------
    loss : as for :class:`setwise.probabilistic.CountLikelihood`

    Raises
    ------
    TypeError : for a loss that is neither a loss nor text; from :meth:`on` for anything but ``Sets``
    ValueError : for a name that no loss has
    Refusal : from :meth:`on`, where the labelings of least loss are no ranges of numbers of positives

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.losses import CountRange
    >>> from setwise.probabilistic import ProportionLoss
    >>> bag = Sets(np.array([-1, -1, -1], dtype=np.int8), np.array([0, 3]))
    >>> ProportionLoss(CountRange(1, 2)).on(bag)(np.zeros(3)).values  # the mean 1/2 lies between 1/3 and 2/3
    array([0.])
    >>> ProportionLoss(CountRange(1, 1)).on(bag)(np.zeros(3)).values.round(3)  # log(2/3) + 2 log(4/3)
    array([0.17])
    """

    loss: Loss

    name: ClassVar[str] = "proportion_loss"

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", as_loss(self.loss))

    def on(self, batch: Any) -> Evaluator:
        return BagDivergence(self.loss.bind(as_kind(batch, "batch", Sets, "Sets(labels, offsets)")).zero())
