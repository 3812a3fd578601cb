"""Terms: the kinds of functions that a loss is made of, as data bound to a batch."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Bools, Ints, Values
from setwise.core.batch import Batch
from setwise.core.refusal import Refusal
from setwise.core.sets import Orders, Sets
from setwise.core.traits import CURVATURES, SHAPES, Trait
from setwise.kernels.counts import quotient_gains, running_counts
from setwise.kernels.segments import count_true, running_sums, segment_sums, differences


class Term(ABC):
    """A function of the labelings of each set of a batch; a loss bound to the batch is a sum of terms.

    A term holds data only, so its methods take the batch that it was bound to.
    """

    @property
    @abstractmethod
    def traits(self) -> frozenset[Trait]:
        """What holds for the set function of mistakes of every set of the batch."""

    @abstractmethod
    def values(self, batch: Any, labels: NDArray[Any]) -> Values:
        """The value of the labeling of every set, (n,); -inf where a labeling is not allowed."""

    @abstractmethod
    def scaled(self, factor: float) -> "Term":
        """The term times ``factor`` > 0."""

    @abstractmethod
    def take(self, batch: Any, parts: Ints) -> "Term":
        """The term of the chosen sets of ``batch``."""

    def merged(self, other: "Term") -> "Term | None":
        """The sum with ``other`` as one term, None where there is no such."""
        return None

    def zero(self, batch: Any) -> "Term":
        """0 on the labelings of least value, else -inf."""
        raise Refusal(f"{self!r} does not tell which of its labelings have the least value.")


class MistakesTerm(Term):
    """A set function of the mistakes of each set."""

    @abstractmethod
    def gains(self, batch: Sets, orders: Orders) -> Values:
        """What each mistake of an order adds, (m,)."""

    @abstractmethod
    def marginals(self, batch: Sets, labels: NDArray[Any]) -> Values:
        """What one more mistake adds, (total,); 0 where there is one already."""

    def at_empty(self, batch: Sets) -> Values:
        """The value of no mistake, (n,)."""
        return self.values(batch, batch.truth)


@final
@dataclass(frozen=True, eq=False)
class Mistakes(MistakesTerm):
    """``sum_(i in A) costs_i``: each mistake costs what it costs, whatever the others.

    ``costs`` (total,); -inf forbids the mistake.
    """

    costs: Values

    @cached_property
    def traits(self) -> frozenset[Trait]:
        return CURVATURES | {Trait.INCREASING} if (self.costs >= 0).all() else CURVATURES

    def values(self, batch: Batch, labels: NDArray[Any]) -> Values:
        return segment_sums(np.where(batch.mistakes(labels), self.costs, 0.0), batch.offsets)

    def gains(self, batch: Sets, orders: Orders) -> Values:
        return self.costs[orders.items]

    def marginals(self, batch: Sets, labels: NDArray[Any]) -> Values:
        return np.where(batch.mistakes(labels), 0.0, self.costs)

    def scaled(self, factor: float) -> "Mistakes":
        return Mistakes(factor * self.costs)

    def merged(self, other: Term) -> Term | None:
        return Mistakes(self.costs + other.costs) if isinstance(other, Mistakes) else None

    def take(self, batch: Batch, parts: Ints) -> "Mistakes":
        return Mistakes(self.costs[batch.decisions(parts)])

    def zero(self, batch: Batch) -> "Mistakes":
        return Mistakes(np.where(self.costs > 0, -np.inf, 0.0))


Formula = Callable[[Values, Values, Values, Values], Values]


@final
@dataclass(frozen=True, eq=False)
class Counts(MistakesTerm):
    """``sum_t factor_t f_t(fn, fp, P, N)`` of the false negatives and false positives, or of their areas.

    Parameters
    ----------
    formulas : pairs (factor, f) with vectorized f
    P, N : (n,) positives and negatives of the whole sets
    promises : the traits of the sum of the formulas
    areas : (total,) what each decision counts; None counts 1
    quotient : coefficients (n, 3) of 1, fn, fp in numerator and denominator, where the sum is such a quotient and
        increases. The denominator is positive, except at fn = fp = 0 where it may vanish
    monge : True promises that the gain of a false negative never grows with fp; None promises nothing
    predicted : (n,) numbers of decisions that must be predicted positive, all other labelings having the value -inf;
        None leaves them free
    linear : (n, 2) costs of a false negative and of a false positive, to be added to the formulas; None adds nothing
    """

    formulas: tuple[tuple[float, Formula], ...]
    P: Values
    N: Values
    promises: frozenset[Trait]
    areas: Values | None = None
    quotient: tuple[Values, Values] | None = None
    monge: bool | None = None
    predicted: Values | None = None
    linear: Values | None = None

    @property
    def traits(self) -> frozenset[Trait]:
        return self.promises

    def of(self, fn: Values, fp: Values, at: Any = slice(None)) -> Values:
        """The formula for given counts of the sets ``at``; vectorized."""
        P, N = self.P[at], self.N[at]
        parts = [f(fn, fp, P, N) if factor == 1.0 else factor * f(fn, fp, P, N) for factor, f in self.formulas]
        if self.linear is not None:
            parts.append(self.linear[at, 0] * fn + self.linear[at, 1] * fp)
        return reduce(np.add, parts)

    @cached_property
    def origin(self) -> Values:
        """The formula of no mistake, (n,)."""
        none = np.zeros(len(self.P))
        return self.of(none, none)

    def counts(self, batch: Sets, labels: NDArray[Any]) -> tuple[Values, Values]:
        """False negatives and false positives of a labeling, or their areas, (n,) each."""
        wrong = batch.mistakes(labels)
        if self.areas is not None:
            area = np.where(wrong, self.areas, 0.0)
            fn = segment_sums(np.where(batch.truth, area, 0.0), batch.offsets)
            return fn, segment_sums(np.where(batch.truth, 0.0, area), batch.offsets)
        fn = count_true(wrong & batch.truth, batch.offsets).astype(np.float64)
        return fn, count_true(wrong, batch.offsets) - fn

    def values(self, batch: Sets, labels: NDArray[Any]) -> Values:
        fn, fp = self.counts(batch, labels)
        out = self.of(fn, fp)
        return out if self.predicted is None else np.where(self.P - fn + fp == self.predicted, out, -np.inf)

    def at_empty(self, batch: Sets) -> Values:
        return self.origin

    def gains(self, batch: Sets, orders: Orders) -> Values:
        if self.areas is None and self.quotient is not None:
            return quotient_gains(orders.labels, orders.offsets, *self.quotient, self.origin)
        if self.areas is None:
            fn, fp = running_counts(orders.labels, orders.offsets)
        else:
            area = self.areas[orders.items]
            fn = running_sums(np.where(orders.labels, area, 0.0), orders.offsets)
            fp = running_sums(np.where(orders.labels, 0.0, area), orders.offsets)
        owners = np.repeat(np.arange(len(batch)), orders.sizes)
        return differences(self.of(fn, fp, owners), orders.offsets, self.origin)

    def marginals(self, batch: Sets, labels: NDArray[Any]) -> Values:
        fn, fp = self.counts(batch, labels)
        owners, area = batch.owners, np.float64(1.0) if self.areas is None else self.areas
        more_fn = np.minimum(fn[owners] + np.where(batch.truth, area, 0.0), self.P[owners])
        more_fp = np.minimum(fp[owners] + np.where(batch.truth, 0.0, area), self.N[owners])
        wrong = batch.mistakes(labels)
        free = ~wrong if batch.known is None else ~wrong & batch.known
        return np.where(free, self.of(more_fn, more_fp, owners) - self.of(fn, fp)[owners], 0.0)

    def scaled(self, factor: float) -> "Counts":
        return replace(
            self,
            formulas=tuple((factor * c, f) for c, f in self.formulas),
            quotient=None if self.quotient is None else (factor * self.quotient[0], self.quotient[1]),
            linear=None if self.linear is None else factor * self.linear,
        )

    def merged(self, other: Term) -> Term | None:
        if not isinstance(other, Counts) or self.areas is not other.areas:
            return None
        if any(x is not None for x in (self.predicted, other.predicted, self.linear, other.linear)):
            return None
        return replace(
            self,
            formulas=self.formulas + other.formulas,
            promises=self.promises & other.promises,
            quotient=_sum_of_quotients(self.quotient, other.quotient),
            monge=True if self.monge and other.monge else None,
        )

    def take(self, batch: Batch, parts: Ints) -> "Counts":
        return replace(
            self,
            P=self.P[parts],
            N=self.N[parts],
            areas=None if self.areas is None else self.areas[batch.decisions(parts)],
            quotient=None if self.quotient is None else (self.quotient[0][parts], self.quotient[1][parts]),
            predicted=None if self.predicted is None else self.predicted[parts],
            linear=None if self.linear is None else self.linear[parts],
        )

    def zero(self, batch: Batch) -> Term:
        if Trait.INCREASING not in self.traits or self.predicted is not None or self.linear is not None:
            return super().zero(batch)
        one, none = np.minimum(self.P, 1.0), np.zeros(len(self.P))
        first = self.of(one, none), self.of(none, np.minimum(self.N, 1.0))
        if all((after > self.origin)[there > 0].all() for after, there in zip(first, (self.P, self.N), strict=True)):
            weighs = True if self.areas is None else self.areas > 0
            return Mistakes(np.where(weighs, -np.inf, np.zeros(batch.total)))

        def attained(fn: Values, fp: Values, P: Values, N: Values) -> Values:
            whole, start = (sum(c * f(x, y, P, N) for c, f in self.formulas) for x, y in ((fn, fp), (0 * fn, 0 * fp)))
            return np.where(whole <= start, 0.0, -np.inf)

        return Counts(((1.0, attained),), self.P, self.N, self.promises - set(SHAPES), self.areas)


Quotient = tuple[Values, Values]


def _sum_of_quotients(first: Quotient | None, second: Quotient | None) -> Quotient | None:
    """Numerators over one denominator add up; all other sums are no quotients of linear functions."""
    if first is None or second is None or not np.array_equal(first[1], second[1]):
        return None
    return first[0] + second[0], first[1]


@final
@dataclass(frozen=True, eq=False)
class SetFunction(MistakesTerm):
    """``factor f(A)`` for any set function f of the mistakes of each set.

    Parameters
    ----------
    value : takes the batch and a mask of mistakes (total,), returns f of every set, (n,)
    promises : the traits of f
    gain, marginal : what each mistake of :class:`Orders` adds, (m,), and what one more mistake adds to a mask, (total,);
        by default both ask ``value`` for each mistake
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
            at, owners = at[~mask[at]], owners[~mask[at]]
            mask[at] = True
            out[at] = self._of_some(batch, owners, mask) - now[owners]
            mask[at] = False
        return self.factor * out

    def _of_some(self, batch: Sets, owners: Ints, mask: Bools) -> Values:
        if len(owners) == len(batch):
            return self.value(batch, mask)
        return self.value(batch.take(owners), mask[batch.decisions(owners)]) if len(owners) else np.empty(0)

    def scaled(self, factor: float) -> "SetFunction":
        return replace(self, factor=factor * self.factor)

    def take(self, batch: Batch, parts: Ints) -> "SetFunction":
        return self

    def zero(self, batch: Sets) -> Term:
        if Trait.INCREASING not in self.traits:
            return super().zero(batch)

        def attained(sets: Sets, mistakes: Bools) -> Values:
            none = np.zeros(sets.total, dtype=bool)
            return np.where(self.value(sets, mistakes) <= self.value(sets, none), 0.0, -np.inf)

        return SetFunction(attained, self.promises - set(SHAPES))
