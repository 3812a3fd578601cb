"""Terms: the functions of labelings of which a loss is the sum, as data bound to a batch; and the traits of losses.

A term depends on which decisions are wrong (any set function, the largest cost, the maximum of linear functions), on
how many positives lie in regions, or on where labels lie: in the order of points, or along paths. A trait is a promise
that a loss makes about its set function of mistakes.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.attributes import cached_property
from setwise.core.batch import Batch, Orders, Sets, segments
from setwise.core.checks import Bools, Floats, Ints, Values, as_reals
from setwise.core.exceptions import Refusal
from setwise.core.pages import WEAK_LABELS
from setwise.kernels.paths import misplaced_pairs
from setwise.kernels.segments import chosen_offsets, count_true, differences, running_sums, segment_sums
from setwise.kernels.set_functions import running_maxima, segment_maxima


class Trait(Enum):
    """One promise about ``l_y(A)``, for every ground truth ``y``; tests check each by enumeration.

    Traits decide which surrogates and methods of inference take a loss. :func:`setwise.describe` looks at those of a
    loss for one target.

    Examples
    --------
    >>> from setwise.losses import FBeta, Jaccard, Trait
    >>> Trait.SUBMODULAR in Jaccard().traits, Trait.SUBMODULAR in FBeta().traits
    (True, False)
    >>> Trait.SUBMODULAR.value
    'submodular: the gain of a mistake shrinks as mistakes gather (LH Eq. 7)'
    """

    INCREASING = "increasing: l(A) <= l(A + i) (LH Eq. 8)"
    SUBMODULAR = "submodular: the gain of a mistake shrinks as mistakes gather (LH Eq. 7)"
    SUPERMODULAR = "supermodular: the gain of a mistake grows as mistakes gather"
    MODULAR = "modular: a sum of one cost per mistake"
    COUNTS = "depends on the counts (fn, fp, P, N) alone"
    CARDINALITY = "depends on the number of mistakes alone"
    LABEL_FREE = "depends on which decisions are wrong, not on their labels"

    # Each member is one object, so its identity is a valid hash; Enum would hash the name instead, which is slow.
    __hash__ = object.__hash__


SHAPES = (Trait.INCREASING, Trait.SUBMODULAR, Trait.SUPERMODULAR, Trait.MODULAR)
"""The traits of the shape of a set function; the others say what it depends on."""

CURVATURES = frozenset({Trait.SUBMODULAR, Trait.SUPERMODULAR, Trait.MODULAR})
"""The traits of every modular function, whether it increases or not."""


class Term(ABC):
    """A function of the labelings of each set of a batch; a loss bound to the batch is a sum of terms.

    A term holds data only, so its methods take the batch to which it was bound.
    """

    @property
    def traits(self) -> frozenset[Trait]:
        """The traits that hold for the set function of mistakes of every set of the batch; none by default."""
        return frozenset()

    @abstractmethod
    def values(self, batch: Any, labels: NDArray[Any]) -> Values:
        """The value of every set under a labeling (total,), (n,); -inf where the labeling is not allowed."""

    @abstractmethod
    def scaled(self, factor: float) -> "Term":
        """The term times ``factor`` > 0."""

    @abstractmethod
    def take(self, batch: Any, parts: Ints) -> "Term":
        """The term of the chosen sets of ``batch``."""

    def check(self, batch: Any) -> None:  # noqa: B027
        """Raise ValueError if the data of the term do not have the shape of the batch."""

    def merged(self, other: "Term") -> "Term | None":
        """The sum with ``other`` as one term, or None if no single term is that sum."""
        return None

    def allowed(self, batch: Any) -> "Term | None":
        """The term that is 0 on the labelings with a value and -inf on all others; None if it allows all of them."""
        return None

    def zero(self, batch: Any) -> "Term":
        """The term that is 0 on the labelings of least value and -inf on all others."""
        raise Refusal(f"{self!r} does not tell which of its labelings have the least value.", WEAK_LABELS)


class MistakesTerm(Term):
    """A term that is a set function of the mistakes of each set."""

    @abstractmethod
    def gains(self, batch: Any, orders: Orders) -> Values:
        """What each mistake of an order adds to the mistakes before it, (m,)."""

    @abstractmethod
    def marginals(self, batch: Any, labels: NDArray[Any]) -> Values:
        """What each further mistake adds to those of the labeling, (total,); 0 where a decision is wrong already."""

    def at_empty(self, batch: Any) -> Values:
        """The value of no mistake, (n,)."""
        return self.values(batch, batch.truth)

    def sweep(self, batch: Any, orders: Orders) -> Values:
        """The value of each set once each item of an order and those before it are predicted positive alone, (m,).

        This costs one evaluation for each item, O(p^2) for a set of p decisions; terms of counts have a faster way.
        """
        out, labels = np.empty(len(orders.items)), np.zeros(batch.total, dtype=bool)
        # The j-th items of all sets join together.
        for j in range(int(orders.sizes.max(initial=0))):
            owners = np.flatnonzero(orders.sizes > j)
            at = orders.offsets[owners] + j
            labels[orders.items[at]] = True
            if len(owners) == len(batch):
                out[at] = self.values(batch, labels)
            else:
                out[at] = self.take(batch, owners).values(batch.take(owners), labels[batch.decisions(owners)])
        return out


@dataclass(frozen=True, eq=False)
class CostsTerm(Term):
    """A term that holds a cost of each decision, or of each of its labels: ``costs`` (total,) or (total, k)."""

    costs: Values

    def scaled(self, factor: float) -> Self:
        return type(self)(factor * self.costs)

    def take(self, batch: Batch, parts: Ints) -> Self:
        return type(self)(self.costs[batch.decisions(parts)])

    def zero(self, batch: Batch) -> "CostsTerm":
        # The least sum has no mistake of positive cost; mistakes of cost 0 are free.
        return type(self)(np.where(self.costs > 0, -np.inf, 0.0))


@final
@dataclass(frozen=True, eq=False)
class Mistakes(CostsTerm, MistakesTerm):
    """``sum_(i in A) costs_i``: a modular term, in which each mistake has a cost of its own.

    ``costs`` has shape (total,); -inf forbids a mistake.
    """

    @cached_property
    def traits(self) -> frozenset[Trait]:
        return CURVATURES | {Trait.INCREASING} if (self.costs >= 0).all() else CURVATURES

    def check(self, batch: Batch) -> None:
        if np.shape(self.costs) != (batch.total,):
            raise ValueError(
                f"costs must have shape ({batch.total},), one for each decision; got {np.shape(self.costs)}."
            )

    def values(self, batch: Batch, labels: NDArray[Any]) -> Values:
        return segment_sums(np.where(batch.mistakes(labels), self.costs, 0.0), batch.offsets)

    def gains(self, batch: Sets, orders: Orders) -> Values:
        return self.costs[orders.items]

    def marginals(self, batch: Sets, labels: NDArray[Any]) -> Values:
        return np.where(batch.mistakes(labels), 0.0, self.costs)

    def sweep(self, batch: Sets, orders: Orders) -> Values:
        # A positive that is predicted is no mistake any more, a negative becomes one.
        cost = self.costs[orders.items]
        found = running_sums(np.where(orders.labels, cost, 0.0), orders.offsets)
        alarms = running_sums(np.where(orders.labels, 0.0, cost), orders.offsets)
        missed = np.repeat(self.values(batch, np.zeros(batch.total, dtype=bool)), orders.sizes)
        return missed - found + alarms

    def merged(self, other: Term) -> Term | None:
        return Mistakes(self.costs + other.costs) if isinstance(other, Mistakes) else None

    def allowed(self, batch: Batch) -> "Mistakes | None":
        forbidden = self.costs == -np.inf
        return Mistakes(np.where(forbidden, -np.inf, 0.0)) if forbidden.any() else None


@final
@dataclass(frozen=True, eq=False)
class Constant(CostsTerm, MistakesTerm):
    """``sum_i costs_i`` over all decisions of a set, whatever is predicted; ``costs`` has shape (total,)."""

    @property
    def traits(self) -> frozenset[Trait]:
        return CURVATURES | {Trait.INCREASING}

    def zero(self, batch: Batch) -> "Constant":
        return Constant(np.zeros(batch.total))

    def values(self, batch: Batch, labels: NDArray[Any]) -> Values:
        return segment_sums(self.costs, batch.offsets)

    def gains(self, batch: Sets, orders: Orders) -> Values:
        return np.zeros(len(orders.items))

    def marginals(self, batch: Sets, labels: NDArray[Any]) -> Values:
        return np.zeros(batch.total)

    def sweep(self, batch: Sets, orders: Orders) -> Values:
        return np.repeat(segment_sums(self.costs, batch.offsets), orders.sizes)

    def merged(self, other: Term) -> Term | None:
        return Constant(self.costs + other.costs) if isinstance(other, Constant) else None


@final
@dataclass(frozen=True, eq=False)
class SetFunction(MistakesTerm):
    """``factor f(A)`` for any set function f of the mistakes of each set: a term of a :class:`BoundLoss`.

    If ``gain`` or ``marginal`` is None, ``value`` is called for each mistake instead.

    Source: LH Eq. 9 for ``l_y(A)``.

    Parameters
    ----------
    value : a function of the batch and a mask of mistakes (total,) that returns f of every set, (n,)
    promises : the traits of f
    gain : a function of the batch and :class:`setwise.core.batch.Orders` that returns what each mistake adds, (m,)
    marginal : a function of the batch and a mask of mistakes (total,) that returns what each further mistake adds,
        (total,)
    factor : the positive factor of f

    Raises
    ------
    BrokenPromise : by learners, where a plane shows that f does not keep its ``promises``; nothing is checked here

    Examples
    --------
    1 for a set with any mistake, on two sets of two decisions:

    >>> from setwise.core import BoundLoss, SetFunction, Sets
    >>> from setwise.losses import Trait
    >>> def any_wrong(batch, mistakes):
    ...     return np.maximum.reduceat(mistakes, batch.offsets[:-1]).astype(float)
    >>> promises = frozenset({Trait.INCREASING, Trait.SUBMODULAR, Trait.CARDINALITY, Trait.LABEL_FREE})
    >>> bound_loss = BoundLoss(Sets.rows([[1, 0], [1, 1]]), (SetFunction(any_wrong, promises),))
    >>> bound_loss.values(np.array([1, 0, 0, 0])).tolist(), (2.0 * bound_loss).values(np.array([1, 0, 0, 0])).tolist()
    ([0.0, 1.0], [0.0, 2.0])
    """

    value: Callable[[Sets, Bools], Values]
    promises: frozenset[Trait]
    gain: Callable[[Sets, Orders], Values] | None = None
    marginal: Callable[[Sets, Bools], Values] | None = None
    factor: float = 1.0

    @property
    def traits(self) -> frozenset[Trait]:
        return self.promises

    def values(self, batch: Sets, labels: NDArray[Any]) -> Values:
        return self.factor * self.value(batch, batch.mistakes(labels))

    def gains(self, batch: Sets, orders: Orders) -> Values:
        if self.gain is not None:
            return self.factor * self.gain(batch, orders)
        out, mask = np.empty(len(orders.items)), np.zeros(batch.total, dtype=bool)
        before = self.value(batch, mask)
        # The j-th mistakes of all sets enter together.
        for j in range(int(orders.sizes.max(initial=0))):
            owners = np.flatnonzero(orders.sizes > j)
            at = orders.offsets[owners] + j
            mask[orders.items[at]] = True
            after = self._of_some(batch, owners, mask)
            # The sets whose order has ended keep their last value, which nothing reads any more.
            out[at], before[owners] = after - before[owners], after
        return self.factor * out

    def marginals(self, batch: Sets, labels: NDArray[Any]) -> Values:
        mask = batch.mistakes(labels)
        if self.marginal is not None:
            return self.factor * self.marginal(batch, mask)
        out, now = np.zeros(batch.total), self.value(batch, mask)
        # The j-th decisions of all sets are tried together.
        for j in range(int(batch.sizes.max())):
            owners = np.flatnonzero(batch.sizes > j)
            at = batch.offsets[owners] + j
            # What is a mistake already adds nothing.
            at, owners = at[~mask[at]], owners[~mask[at]]
            mask[at] = True
            out[at] = self._of_some(batch, owners, mask) - now[owners]
            mask[at] = False
        return self.factor * out

    def _of_some(self, batch: Sets, owners: Ints, mask: Bools) -> Values:
        """The values of the chosen sets alone, (b,); no smaller batch is made where all sets are chosen."""
        if len(owners) == len(batch):
            return self.value(batch, mask)
        return self.value(batch.take(owners), mask[batch.decisions(owners)]) if len(owners) else np.empty(0)

    def scaled(self, factor: float) -> "SetFunction":
        return replace(self, factor=factor * self.factor)

    def take(self, batch: Batch, parts: Ints) -> "SetFunction":
        # Nothing here belongs to single sets: ``value`` is given the batch each time.
        return self

    def zero(self, batch: Sets) -> Term:
        if Trait.INCREASING not in self.traits:
            return super().zero(batch)

        # An increasing function is least at no mistake.
        def attained(sets: Sets, mistakes: Bools) -> Values:
            none = np.zeros(sets.total, dtype=bool)
            return np.where(self.value(sets, mistakes) <= self.value(sets, none), 0.0, -np.inf)

        return SetFunction(attained, self.promises - set(SHAPES))


@final
@dataclass(frozen=True, eq=False)
class MaximumOfSums(Term):
    """``max_j [constants[i, j] + sum over the decisions d of set i of costs[j, d, y_d]]`` for every set i.

    Each piece j is modular, so with the score it is maximized like a modular loss, and the best piece is the maximum
    of all: see :class:`setwise.inference.ByPieces`.

    Parameters
    ----------
    constants : (n, J); -inf leaves a piece out of a set, and each set has one piece or more
    costs : (J, total, k), the cost of each label of each decision in each piece, finite
    twin : the same function as another term, which knows its least labelings; None where there is none
    """

    constants: Values
    costs: Values
    twin: Term | None = None

    def check(self, batch: Batch) -> None:
        n, pieces = len(batch), len(self.costs)
        constants = as_reals(self.constants, "constants", (n, pieces), finite=False)
        if not (constants > -np.inf).any(axis=1).all():
            raise ValueError("constants must leave each set one piece or more; got a set with -inf alone.")
        as_reals(self.costs, "costs", (pieces, batch.total, batch.n_labels))

    def values(self, batch: Batch, labels: NDArray[Any]) -> Values:
        at = np.asarray(labels, dtype=np.int64)[:, None]
        pieces = [segment_sums(np.take_along_axis(costs, at, axis=1)[:, 0], batch.offsets) for costs in self.costs]
        return np.asarray((self.constants + np.stack(pieces, axis=1)).max(axis=1))

    def scaled(self, factor: float) -> "MaximumOfSums":
        twin = None if self.twin is None else self.twin.scaled(factor)
        return replace(self, constants=factor * self.constants, costs=factor * self.costs, twin=twin)

    def take(self, batch: Batch, parts: Ints) -> "MaximumOfSums":
        twin = None if self.twin is None else self.twin.take(batch, parts)
        return MaximumOfSums(self.constants[parts], self.costs[:, batch.decisions(parts)], twin)

    def zero(self, batch: Batch) -> Term:
        return super().zero(batch) if self.twin is None else self.twin.zero(batch)

    def as_scores(self, batch: Batch) -> tuple[Floats, Values]:
        """The pieces as changes of the scores, (J, n_scores), and as constants besides, (n, J).

        ``piece_j(y) = constant_j + <change_j, phi(y) - target>``. A label without a score has its cost in the constant,
        and the other labels of the decision have theirs less that.
        """
        unary = batch.unary
        assert unary is not None
        changes = np.zeros((len(self.costs), batch.n_scores))
        constants = self.constants.copy()
        placed = unary >= 0
        for j, costs in enumerate(self.costs):
            # A decision has one label without a score, or none.
            bare = np.where(placed, 0.0, costs).sum(axis=1)
            changes[j, unary[placed]] = (costs - bare[:, None])[placed]
            constants[:, j] += segment_sums(bare, batch.offsets)
            constants[:, j] += segment_sums(changes[j] * batch.target, batch.score_offsets)
        return changes, constants


@final
@dataclass(frozen=True, eq=False)
class LargestCost(CostsTerm, MistakesTerm):
    """``max_(i in A) costs_i``, and 0 for no mistake: increasing and submodular. ``costs`` (total,) are 0 or above."""

    traits = frozenset({Trait.INCREASING, Trait.SUBMODULAR})

    def check(self, batch: Batch) -> None:
        if np.shape(self.costs) != (batch.total,):
            raise ValueError(f"costs must have shape ({batch.total},), one for each decision; got {self.costs.shape}.")

    def values(self, batch: Batch, labels: NDArray[Any]) -> Values:
        return segment_maxima(self.costs, batch.mistakes(labels), batch.offsets)

    def gains(self, batch: Sets, orders: Orders) -> Values:
        most = running_maxima(self.costs[orders.items], orders.offsets)
        return differences(most, orders.offsets, np.zeros(len(batch)))

    def marginals(self, batch: Sets, labels: NDArray[Any]) -> Values:
        more = np.maximum(self.costs - self.values(batch, labels)[batch.owners], 0.0)
        return np.where(batch.mistakes(labels), 0.0, more)

    def zero(self, batch: Batch) -> Mistakes:
        return Mistakes(np.where(self.costs > 0, -np.inf, 0.0))


@final
@dataclass(frozen=True, eq=False)
class OneMistake(Term):
    """0 on the labelings with one mistake at most, and -inf on all others: the single labels of MLSP (Eq. 6)."""

    def values(self, batch: Batch, labels: NDArray[Any]) -> Values:
        return np.where(count_true(batch.mistakes(labels), batch.offsets) > 1, -np.inf, 0.0)

    def scaled(self, factor: float) -> "OneMistake":
        return self

    def take(self, batch: Batch, parts: Ints) -> "OneMistake":
        return self

    def merged(self, other: Term) -> Term | None:
        return self if isinstance(other, OneMistake) else None

    def allowed(self, batch: Batch) -> "OneMistake":
        return self


@dataclass(frozen=True, eq=False)
class GroupsTerm(Term):
    """A sum over groups of decisions of each set, as regions or paths.

    Parameters
    ----------
    members : (entries,) int64, the decisions of all groups, group by group, and those in the order of the sets
    starts : (B + 1,) int64; group b holds ``members[starts[b]:starts[b+1]]``
    owners : (B,) int64, rising: the set of each group
    """

    members: Ints
    starts: Ints
    owners: Ints

    def _check_members(self, batch: Batch, group: str, fewest: int, order: str) -> None:
        """Raise ValueError for members, starts and owners that do not fit the batch; a group has ``fewest`` members."""
        entries, groups = len(self.members), len(self.owners)
        if self.starts.shape != (groups + 1,) or self.starts[0] != 0 or self.starts[-1] != entries:
            raise ValueError(f"starts must rise from 0 to {entries}, one for each of {groups} {group}s and one more.")
        if (np.diff(self.starts) < fewest).any() or (np.diff(self.owners) < 0).any():
            raise ValueError(order)
        if entries and (self.members.min() < 0 or self.members.max() >= batch.total):
            raise ValueError(f"members must be decisions 0..{batch.total - 1}.")
        if (batch.owners[self.members] != np.repeat(self.owners, np.diff(self.starts))).any():
            raise ValueError(f"members must be of the set that owns their {group}.")

    def _taken(self, batch: Batch, parts: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """The groups of the chosen sets, and the members, starts and owners of these."""
        ends = np.searchsorted(self.owners, np.arange(len(batch) + 1))
        counts = np.diff(ends)[parts]
        owners = np.repeat(np.arange(len(parts)), counts)
        empty = np.zeros(0, np.int64)
        if not len(owners):
            return empty, empty, np.zeros(1, np.int64), empty
        before = np.concatenate(([0], np.cumsum(counts)[:-1]))
        chosen = np.repeat(ends[parts] - before, counts) + np.arange(len(owners))
        moved = chosen_offsets(parts, batch.offsets)[:-1] - batch.offsets[parts]
        starts = chosen_offsets(chosen, self.starts)
        members = self.members[segments(chosen, self.starts)] + np.repeat(moved[owners], np.diff(starts))
        return chosen, members, starts, owners


@final
@dataclass(frozen=True, eq=False)
class RegionCounts(GroupsTerm):
    """``sum_b f_b(number of the decisions of region b that have label 1)`` over the regions of each set.

    Regions share no decisions. A value -inf of ``f_b`` forbids that number.

    Parameters
    ----------
    members : (entries,) int64, the decisions of all regions, region by region, and those in the order of the sets
    starts : (B + 1,) int64; region b holds ``members[starts[b]:starts[b+1]]``, n_b of them, perhaps none
    owners : (B,) int64, rising: the set of each region
    tables : (entries + B,) the values of ``f_b`` at 0..n_b, region by region
    """

    tables: Values

    @property
    def table_starts(self) -> Ints:
        """Where the table of each region begins, (B + 1,)."""
        return self.starts + np.arange(len(self.starts))

    def check(self, batch: Batch) -> None:
        self._check_members(batch, "region", 0, "starts and owners must not fall.")
        entries, regions = len(self.members), len(self.owners)
        if self.tables.shape != (entries + regions,) or not (self.tables < np.inf).all():
            raise ValueError(f"tables must hold {entries + regions} numbers below inf; got shape {self.tables.shape}.")
        if len(np.unique(self.members)) < entries:
            raise ValueError("members must be different decisions: regions share none.")

    def counts(self, labels: NDArray[Any]) -> Ints:
        """The number of members of each region that have label 1, (B,)."""
        return count_true(np.asarray(labels == 1)[self.members], self.starts)

    def values(self, batch: Batch, labels: NDArray[Any]) -> Values:
        found = np.zeros(len(batch))
        np.add.at(found, self.owners, self.tables[self.table_starts[:-1] + self.counts(labels)])
        return found

    def scaled(self, factor: float) -> "RegionCounts":
        return replace(self, tables=factor * self.tables)

    def merged(self, other: Term) -> Term | None:
        # Regions of one loss share their arrays, so comparing values would be a waste.
        if isinstance(other, RegionCounts) and other.members is self.members and other.starts is self.starts:
            return replace(self, tables=self.tables + other.tables)
        return None

    def take(self, batch: Batch, parts: Ints) -> "RegionCounts":
        chosen, members, starts, owners = self._taken(batch, parts)
        tables = self.tables[segments(chosen, self.table_starts)] if len(chosen) else np.zeros(0)
        return RegionCounts(members, starts, owners, tables)

    def allowed(self, batch: Batch) -> Term | None:
        if (self.tables > -np.inf).all():
            return None
        return replace(self, tables=np.where(self.tables > -np.inf, 0.0, -np.inf))

    def zero(self, batch: Batch) -> "RegionCounts":
        # Regions share no decisions, so the least sum has the least value in each of them.
        if not len(self.owners):
            return self
        allowed, begins = self.tables > -np.inf, self.table_starts
        least = np.minimum.reduceat(np.where(allowed, self.tables, np.inf), begins[:-1])
        largest = np.maximum.reduceat(self.tables, begins[:-1])
        # Two numbers as far from a share of the size should tie although the share is rounded.
        limit = np.repeat(least + 1e-12 * (largest - least), np.diff(begins))
        return replace(self, tables=np.where(allowed & (self.tables <= limit), 0.0, -np.inf))


@final
@dataclass(frozen=True, eq=False)
class MisplacedPairs(Term):
    """``factor * [some pair lies wrong]``, or with ``share`` ``factor * wrong pairs / all pairs``.

    State v is the point in row ``v // width`` and column ``v % width``. A pair lies wrong if its points are not in the
    true order from top to bottom or from left to right; equal rows, or columns, are an order of their own. Pairs with a
    point whose true state is not known are not counted, and without pairs the value is 0.

    Parameters
    ----------
    width : the number of columns
    factor : what a wrong order is worth
    share : whether each pair counts for itself
    required : whether the value is 0 where all pairs lie right and -inf elsewhere
    """

    width: int
    factor: float = 1.0
    share: bool = False
    required: bool = False

    def values(self, batch: Batch, labels: NDArray[Any]) -> Values:
        states, truth = labels.astype(np.int64), np.asarray(batch.labels, dtype=np.int64)
        pairs, wrong = misplaced_pairs(states, truth, batch.offsets, self.width).T
        if self.required:
            return np.where(wrong > 0, -np.inf, 0.0)
        return np.asarray(self.factor * (wrong / np.maximum(pairs, 1) if self.share else wrong > 0))

    def scaled(self, factor: float) -> "MisplacedPairs":
        return replace(self, factor=factor * self.factor)

    def merged(self, other: Term) -> Term | None:
        if not isinstance(other, MisplacedPairs):
            return None
        if (self.width, self.share, self.required) != (other.width, other.share, other.required):
            return None
        return replace(self, factor=self.factor + other.factor)

    def take(self, batch: Batch, parts: Ints) -> "MisplacedPairs":
        return self

    def allowed(self, batch: Batch) -> "MisplacedPairs | None":
        return self if self.required else None

    def zero(self, batch: Batch) -> "MisplacedPairs":
        return replace(self, factor=1.0, share=False, required=True)


@final
@dataclass(frozen=True, eq=False)
class PathOrders(GroupsTerm):
    """``sum_k costs_k [the labels along path k are not 1, .., 1, 0, .., 0]`` over the paths of each set (HOL Eq. 8).

    Paths may share decisions; a path passes none twice.

    Parameters
    ----------
    members : (entries,) int64, the decisions along all paths, path by path, and those in the order of the sets
    starts : (paths + 1,) int64; path k is ``members[starts[k]:starts[k+1]]``, one decision or more
    owners : (paths,) int64, rising: the set of each path
    costs : (paths,), above 0
    """

    costs: Values

    def check(self, batch: Batch) -> None:
        self._check_members(batch, "path", 1, "starts must rise, and owners must not fall.")
        paths = len(self.owners)
        if self.costs.shape != (paths,) or not ((self.costs > 0) & (self.costs < np.inf)).all():
            raise ValueError(f"costs must be {paths} finite numbers above 0, one for each path.")
        own = np.repeat(np.arange(paths), np.diff(self.starts))
        if len(np.unique(own * batch.total + self.members)) < len(self.members):
            raise ValueError("members must be different decisions along each path.")

    def values(self, batch: Batch, labels: NDArray[Any]) -> Values:
        along = np.asarray(labels == 1)[self.members]
        rises = np.zeros(len(along), dtype=bool)
        rises[1:] = along[1:] & ~along[:-1]
        rises[self.starts[:-1]] = False
        broken = count_true(rises, self.starts) > 0
        return np.asarray(np.bincount(self.owners, np.where(broken, self.costs, 0.0), len(batch)), dtype=np.float64)

    def scaled(self, factor: float) -> "PathOrders":
        return replace(self, costs=factor * self.costs)

    def merged(self, other: Term) -> Term | None:
        # Paths of one loss share their arrays, so comparing values would be a waste.
        if isinstance(other, PathOrders) and other.members is self.members and other.starts is self.starts:
            return replace(self, costs=self.costs + other.costs)
        return None

    def take(self, batch: Batch, parts: Ints) -> "PathOrders":
        chosen, members, starts, owners = self._taken(batch, parts)
        return PathOrders(members, starts, owners, self.costs[chosen])

    def zero(self, batch: Batch) -> "Precedence":
        # All labels 1 along all paths cost nothing, so the least value is 0.
        step = np.ones(len(self.members), dtype=bool)
        step[self.starts[:-1]] = False
        at = np.flatnonzero(step)
        return Precedence(np.unique(np.column_stack([self.members[at - 1], self.members[at]]), axis=0))


@final
@dataclass(frozen=True, eq=False)
class Precedence(Term):
    """0 where ``y_a >= y_b`` for all ``pairs`` (a, b) of a set, otherwise -inf; ``pairs`` (m, 2) int64."""

    pairs: Ints

    def check(self, batch: Batch) -> None:
        pairs = self.pairs
        if pairs.dtype != np.int64 or pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError(f"pairs must be int64 of shape (m, 2); got {pairs.dtype} of shape {pairs.shape}.")
        if len(pairs) and (pairs.min() < 0 or pairs.max() >= batch.total):
            raise ValueError(f"pairs must be decisions 0..{batch.total - 1}.")
        own = batch.owners[pairs]
        if (own[:, 0] != own[:, 1]).any() or (pairs[:, 0] == pairs[:, 1]).any():
            raise ValueError("pairs must be different decisions of one set.")

    def values(self, batch: Batch, labels: NDArray[Any]) -> Values:
        positive = np.asarray(labels == 1)
        broken = ~positive[self.pairs[:, 0]] & positive[self.pairs[:, 1]]
        return np.where(np.bincount(batch.owners[self.pairs[broken, 0]], minlength=len(batch)) > 0, -np.inf, 0.0)

    def scaled(self, factor: float) -> "Precedence":
        return self

    def merged(self, other: Term) -> Term | None:
        return Precedence(np.vstack([self.pairs, other.pairs])) if isinstance(other, Precedence) else None

    def take(self, batch: Batch, parts: Ints) -> "Precedence":
        order = np.argsort(batch.owners[self.pairs[:, 0]], kind="stable")
        pairs = self.pairs[order]
        ends = np.searchsorted(batch.owners[pairs[:, 0]], np.arange(len(batch) + 1))
        moved = chosen_offsets(parts, batch.offsets)[:-1] - batch.offsets[parts]
        return Precedence(pairs[segments(parts, ends)] + np.repeat(moved, np.diff(ends)[parts])[:, None])

    def allowed(self, batch: Batch) -> "Precedence":
        return self

    def zero(self, batch: Batch) -> "Precedence":
        return self
