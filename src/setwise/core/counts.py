"""Functions of the numbers, or areas, of the false negatives and false positives of each set.

How much they bend over ranges of the counts is bounded by their second and mixed differences.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.attributes import cached_property
from setwise.core.batch import Batch, Orders, Sets
from setwise.core.checks import Ints, Values
from setwise.core.terms import SHAPES, Mistakes, MistakesTerm, Term, Trait
from setwise.kernels.counts import quotient_gains, running_counts
from setwise.kernels.segments import count_true, differences, running_sums, segment_sums
from setwise.kernels.thresholds import falling_counts, falling_quotient

Curvature = Callable[[Values, Values, Values, Values, Values, Values], tuple[Values, Values, Values]]
"""From the first and the last fn, the first and the last fp, P and N: lower bounds of the second differences
``f(fn+1) - 2 f(fn) + f(fn-1)``, of those along fp, and upper bounds of the mixed differences
``f(fn+1, fp+1) - f(fn+1, fp) - f(fn, fp+1) + f(fn, fp)`` over the ranges. A bound may be infinite, and NaN is none."""

Coefficients = Callable[[Values, Values], tuple[Values, Values] | None]


def convex_monge(
    first_fn: Values, last_fn: Values, first_fp: Values, last_fp: Values, P: Values, N: Values
) -> tuple[Values, Values, Values]:
    """Bounds for functions that are convex along fn and along fp and have no mixed difference above 0."""
    none = 0.0 * (first_fn + last_fn + first_fp + last_fp + P + N)
    return none, none, none


@final
@dataclass(frozen=True)
class QuotientCurvature:
    """Bounds for increasing quotients n / d of linear functions, from their ``coefficients`` of 1, fn, fp, (n, 3) each.

    Along fn the first derivative is ``(n1 d - d1 n) / d^2``. Its numerator e1 >= 0 does not depend on fn, and is linear
    along fp. So the second derivative ``-2 d1 e1 / d^3`` is at least 0 where d1 <= 0, and elsewhere it is bounded by
    the largest e1 and the least d of the corners. Along fp it is alike. The mixed derivative is
    ``(2 d1 d2 n - (d2 n1 + d1 n2) d) / d^3``, with a linear numerator that is largest at a corner. A difference is a
    mean of derivatives over the counts that it spans.
    """

    coefficients: Coefficients

    def __call__(
        self, first_fn: Values, last_fn: Values, first_fp: Values, last_fp: Values, P: Values, N: Values
    ) -> tuple[Values, Values, Values]:
        """The bounds, as those of any :data:`Curvature`."""
        found = self.coefficients(np.atleast_1d(P), np.atleast_1d(N))
        assert found is not None
        (n0, n1, n2), (d0, d1, d2) = (part.T for part in found)
        rise, least = np.zeros(3)[:, None], np.full(1, np.inf)
        for fn in (first_fn, last_fn):
            for fp in (first_fp, last_fp):
                n, d = n0 + n1 * fn + n2 * fp, d0 + d1 * fn + d2 * fp
                mixed = 2.0 * d1 * d2 * n - (d2 * n1 + d1 * n2) * d
                rise = np.maximum(rise, np.stack([n1 * d - d1 * n, n2 * d - d2 * n, mixed]))
                least = np.minimum(least, d)
        with np.errstate(divide="ignore", invalid="ignore"):
            along_fn, along_fp, mixed = rise / np.maximum(least, 0.0) ** 3
            return -2.0 * np.maximum(d1, 0.0) * along_fn, -2.0 * np.maximum(d2, 0.0) * along_fp, mixed


Formula = Callable[[Values, Values, Values, Values], Values]

Ceiling = Callable[[Values, Values, Values, Values, Values, Values], Values]
"""A bound on a formula from the first and the last fn, the first and the last fp, P and N."""


@final
@dataclass(frozen=True, eq=False)
class Counts(MistakesTerm):
    """``sum_t factor_t f_t(fn, fp, P, N)`` of the numbers of false negatives and false positives, or of their areas.

    Parameters
    ----------
    formulas : pairs (factor, f) with vectorized f
    P, N : (n,) the numbers, or areas, of the positives and negatives of the whole sets
    promises : the traits of the sum of the formulas
    areas : (total,) the area of each decision; None gives each the area 1
    quotient : the coefficients (n, 3) of 1, fn, fp in the numerator and in the denominator of the sum, where it
        increases and is such a quotient. The denominator is positive, except at fn = fp = 0 where it may vanish
    monge : True promises that one more false negative never adds more at a larger fp; None promises nothing
    predicted : (n,) the numbers of decisions that must be predicted positive; all other labelings have the value
        -inf. None allows any number
    linear : (n, 2) costs of a false negative and of a false positive that are added to the formulas; None adds nothing
    affine : True promises that at a given number predicted the sum of the formulas is affine in fn; None promises
        nothing
    diluted : True promises that one more right decision, of either class, never makes the sum of the formulas larger;
        None promises nothing
    ceilings : pairs (factor, bound on a formula over ranges of fn and fp), one for each formula, for sums that do not
        increase; None where a bound is not known
    curvatures : pairs (factor, bounds on second differences of a formula over ranges), one for each formula; None where
        they are not known
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
    affine: bool | None = None
    diluted: bool | None = None
    ceilings: tuple[tuple[float, Ceiling], ...] | None = None
    curvatures: tuple[tuple[float, Curvature], ...] | None = None

    @property
    def traits(self) -> frozenset[Trait]:
        return self.promises

    def of(self, fn: Values, fp: Values, at: Any = slice(None)) -> Values:
        """The value at given counts of the sets ``at``; ``fn`` and ``fp`` broadcast with ``P[at]``."""
        P, N = self.P[at], self.N[at]
        parts = [f(fn, fp, P, N) if factor == 1.0 else factor * f(fn, fp, P, N) for factor, f in self.formulas]
        if self.linear is not None:
            parts.append(self.linear[at, 0] * fn + self.linear[at, 1] * fp)
        return reduce(np.add, parts)

    @property
    def bounded(self) -> bool:
        """Whether :meth:`above` is known: where the sum increases, or there are ceilings."""
        return Trait.INCREASING in self.traits or self.ceilings is not None

    def above(self, fn: tuple[Values, Values], fp: tuple[Values, Values], at: Any = slice(None)) -> Values:
        """A bound on the values at counts between the first and the last of ``fn`` and of ``fp``, if one is known."""
        if Trait.INCREASING in self.traits:
            return self.of(fn[1], fp[1], at)
        assert self.ceilings is not None
        parts = [factor * most(*fn, *fp, self.P[at], self.N[at]) for factor, most in self.ceilings]
        if self.linear is not None:
            for costs, count in zip(self.linear[at].T, (fn, fp), strict=True):
                parts.append(np.maximum(costs * count[0], costs * count[1]))
        return reduce(np.add, parts)

    def curvature(
        self, fn: tuple[Values, Values], fp: tuple[Values, Values], at: Any = slice(None)
    ) -> tuple[Values, Values, Values]:
        """Bounds on the second differences along fn and along fp and on mixed ones, over such ranges, if known."""
        assert self.curvatures is not None
        none = 0.0 * (fn[0] + fp[0])
        parts = [(factor, curvature(*fn, *fp, self.P[at], self.N[at])) for factor, curvature in self.curvatures]
        along_fn, along_fp, mixed = (sum((c * each[k] for c, each in parts), none) for k in range(3))
        return along_fn, along_fp, mixed

    @cached_property
    def origin(self) -> Values:
        """The value of no mistake, (n,)."""
        none = np.zeros(len(self.P))
        return self.of(none, none)

    def counts(self, batch: Sets, labels: NDArray[Any]) -> tuple[Values, Values]:
        """The numbers, or areas, of the false negatives and of the false positives of a labeling, (n,) each."""
        wrong = batch.mistakes(labels)
        if self.areas is not None:
            area = np.where(wrong, self.areas, 0.0)
            fn = segment_sums(np.where(batch.truth, area, 0.0), batch.offsets)
            return fn, segment_sums(np.where(batch.truth, 0.0, area), batch.offsets)
        # All mistakes are counted in one pass, so the false positives cost no second mask.
        fn = count_true(wrong & batch.truth, batch.offsets).astype(np.float64)
        return fn, count_true(wrong, batch.offsets) - fn

    def values(self, batch: Sets, labels: NDArray[Any]) -> Values:
        return self._allowed(*self.counts(batch, labels))

    def _allowed(self, fn: Values, fp: Values, at: Any = slice(None)) -> Values:
        """The value at given counts, -inf where another number must be predicted positive."""
        out = self.of(fn, fp, at)
        # ``P - fn`` true positives and ``fp`` false ones are what the labeling predicts to be positive.
        return out if self.predicted is None else np.where(self.P[at] - fn + fp == self.predicted[at], out, -np.inf)

    def at_empty(self, batch: Sets) -> Values:
        return self.origin

    def gains(self, batch: Sets, orders: Orders) -> Values:
        # The gains of a quotient have a closed form in one pass; any other formula is evaluated along the running
        # counts.
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
        # Rounded sums of areas may exceed the total of the class, at which the formula need not be defined.
        more_fn = np.minimum(fn[owners] + np.where(batch.truth, area, 0.0), self.P[owners])
        more_fp = np.minimum(fp[owners] + np.where(batch.truth, 0.0, area), self.N[owners])
        wrong = batch.mistakes(labels)
        free = ~wrong if batch.known is None else ~wrong & batch.known
        return np.where(free, self.of(more_fn, more_fp, owners) - self.of(fn, fp)[owners], 0.0)

    def sweep(self, batch: Sets, orders: Orders) -> Values:
        none = self.counts(batch, np.zeros(batch.total, dtype=bool))[0]
        if self.areas is None and self.quotient is not None and self.predicted is None:
            return falling_quotient(orders.labels, orders.offsets, none, None, *self.quotient, self.origin)
        owners = np.repeat(np.arange(len(batch)), orders.sizes)
        if self.areas is None:
            fn, fp = falling_counts(orders.labels, orders.offsets, none, None)
        else:
            area = self.areas[orders.items]
            found = running_sums(np.where(orders.labels, area, 0.0), orders.offsets)
            # Rounded sums of areas may leave the range of the totals, outside of which the formula is not defined.
            fn = np.maximum(none[owners] - found, 0.0)
            fp = np.minimum(running_sums(np.where(orders.labels, 0.0, area), orders.offsets), self.N[owners])
        return self._allowed(fn, fp, owners)

    def scaled(self, factor: float) -> "Counts":
        return replace(
            self,
            formulas=tuple((factor * c, f) for c, f in self.formulas),
            quotient=None if self.quotient is None else (factor * self.quotient[0], self.quotient[1]),
            linear=None if self.linear is None else factor * self.linear,
            ceilings=None if self.ceilings is None else tuple((factor * c, most) for c, most in self.ceilings),
            curvatures=None if self.curvatures is None else tuple((factor * c, own) for c, own in self.curvatures),
        )

    def merged(self, other: Term) -> Term | None:
        # Areas are compared by identity: terms of one loss share the array, and comparing values costs a pass.
        if not isinstance(other, Counts) or self.areas is not other.areas:
            return None
        # A restriction would have to hold for both terms, and linear costs are added only when inference reads the
        # counts.
        if any(x is not None for x in (self.predicted, other.predicted, self.linear, other.linear)):
            return None
        own, curvatures = self.curvatures, other.curvatures
        return replace(
            self,
            formulas=self.formulas + other.formulas,
            promises=self.promises & other.promises,
            quotient=_sum_of_quotients(self.quotient, other.quotient),
            monge=True if self.monge and other.monge else None,
            affine=True if self.affine and other.affine else None,
            diluted=True if self.diluted and other.diluted else None,
            ceilings=None if self.ceilings is None or other.ceilings is None else self.ceilings + other.ceilings,
            curvatures=None if curvatures is None or own is None else own + curvatures,
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

    def allowed(self, batch: Batch) -> Term | None:
        if self.predicted is None:
            return None
        return replace(
            self, formulas=((1.0, _nothing),), quotient=None, monge=None, linear=None, ceilings=None, curvatures=None
        )

    def zero(self, batch: Batch) -> Term:
        if Trait.INCREASING not in self.traits or self.predicted is not None or self.linear is not None:
            return super().zero(batch)
        # If the first mistake of either kind already adds to an increasing loss, only the truth has the least value.
        one, none = np.minimum(self.P, 1.0), np.zeros(len(self.P))
        first = self.of(one, none), self.of(none, np.minimum(self.N, 1.0))
        if all((after > self.origin)[there > 0].all() for after, there in zip(first, (self.P, self.N), strict=True)):
            # A mistake without area changes no count, so it stays allowed.
            weighs = True if self.areas is None else self.areas > 0
            return Mistakes(np.where(weighs, -np.inf, np.zeros(batch.total)))

        # Otherwise some mistakes are free, and the formula itself tells which counts reach the least value.
        def attained(fn: Values, fp: Values, P: Values, N: Values) -> Values:
            whole, start = (sum(c * f(x, y, P, N) for c, f in self.formulas) for x, y in ((fn, fp), (0 * fn, 0 * fp)))
            return np.where(whole <= start, 0.0, -np.inf)

        return Counts(((1.0, attained),), self.P, self.N, self.promises - set(SHAPES), self.areas)


def _nothing(fn: Values, fp: Values, P: Values, N: Values) -> Values:
    """The formula that is 0 for all counts."""
    return np.asarray(0.0 * (fn + fp + P + N))


Quotient = tuple[Values, Values]
"""The numerator and the denominator, each made by :func:`linear`."""


def linear(n: int, constant: float | Values, fn: float | Values, fp: float | Values) -> Values:
    """The coefficients (n, 3) of 1, of the false negatives and of the false positives; each is one number or (n,)."""
    if not {type(constant), type(fn), type(fp)} <= {float, np.ndarray}:
        # Other kinds of arrays, as tensors behind the functions of NumPy, are stacked by functions of their own.
        return np.stack([np.broadcast_to(each, (n,)) for each in (constant, fn, fp)], axis=1)
    out = np.empty((n, 3))
    out[:, 0], out[:, 1], out[:, 2] = constant, fn, fp
    return out


def _sum_of_quotients(first: Quotient | None, second: Quotient | None) -> Quotient | None:
    """The sum of two quotients with the same denominator; other sums are not quotients of linear functions: None."""
    if first is None or second is None or not np.array_equal(first[1], second[1]):
        return None
    return first[0] + second[0], first[1]
