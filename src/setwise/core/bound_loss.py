"""A bound loss is a loss bound to a batch, as a sum of terms that are data.

Seen from one ground truth a loss is a set function of the mistakes. A loss of binary decisions becomes one of decisions
with k labels, where one label is set against all others.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.attributes import cached_property
from setwise.core.batch import Batch, Orders, Sets, check_orders
from setwise.core.checks import Bools, Ints, Values, as_array, as_factor, as_kind, shown
from setwise.core.counts import Ceiling, Counts, Curvature, Formula
from setwise.core.exceptions import Refusal
from setwise.core.pages import LOSSES, SUMS
from setwise.core.terms import SHAPES, CostsTerm, Mistakes, MistakesTerm, SetFunction, Term, Trait
from setwise.kernels.segments import class_costs, segment_sums


@final
@dataclass(frozen=True, eq=False)
class BoundLoss:
    """``l(y) = sum of the terms`` for every set of a batch; sums and positive multiples are bound losses again.

    Inference reads the terms, which hold as data all that makes a search fast. So sums and multiples lose nothing.

    Source: LH Eq. 9 for ``l_y(A)``; docs/adr/0007-structure-is-a-value-bound-once.md tells why it is bound once.

    Parameters
    ----------
    batch : the true labels and the layout of the scores
    terms : instances of :class:`setwise.core.terms.Term`, merged where possible; no terms at all are the loss 0
    source : the name of the bound loss in sentences, usually the loss that made it

    Raises
    ------
    TypeError : for a batch and terms of other kinds
    ValueError : for terms that do not fit the batch
    Refusal : a ValueError, for sums of bound losses of different batches; and by methods that only set functions of
        mistakes have, for other terms

    Examples
    --------
    ``Loss.bind`` makes them; without terms a bound loss has the loss 0, and inference finds the best score alone:

    >>> from setwise.core import BoundLoss, Sets
    >>> from setwise.inference import Auto
    >>> from setwise.losses import Hamming, Jaccard
    >>> batch = Sets.rows([[1, 1, 0], [1, 0, 0]])
    >>> bound_loss = Jaccard().bind(batch) + 2.0 * Hamming().bind(batch)
    >>> bound_loss.values(np.array([1, 0, 0, 1, 0, 0])).tolist()
    [2.5, 0.0]
    >>> Auto().prepare(BoundLoss(batch)).maximize([1.0, -1.0, 2.0, -1.0, 0.0, 3.0]).labels.tolist()
    [True, False, True, False, False, True]
    """

    batch: Batch
    terms: tuple[Term, ...] = ()
    source: object = None

    def __post_init__(self) -> None:
        as_kind(self.batch, "batch", Batch, "Sets.single(y)")
        for term in self.terms:
            as_kind(term, "terms", Term, "Mistakes(costs)").check(self.batch)

    @cached_property
    def traits(self) -> frozenset[Trait]:
        """The traits that hold for all terms, and hence for their sum."""
        return reduce(frozenset.__and__, (term.traits for term in self.terms), frozenset(Trait))

    def values(self, labels: NDArray[Any]) -> Values:
        """The loss of every set under a labeling (total,), (n,); -inf where the labeling is not allowed."""
        labels = self._labels(labels)
        return self._sum([term.values(self.batch, labels) for term in self.terms], len(self.batch))

    def gains(self, orders: Orders) -> Values:
        """``l({pi_1..pi_j}) - l({pi_1..pi_(j-1)})`` for every position j of the order pi of every set, (m,)."""
        check_orders(orders, self.batch)
        return self.gains_of(orders)

    def gains_of(self, orders: Orders) -> Values:
        """The same for orders that need no checks."""
        return self._sum([term.gains(self.batch, orders) for term in self._of_mistakes], len(orders.items))

    def sweep(self, orders: Orders) -> Values:
        """The loss of each set once each item of an order and those before it are predicted positive alone, (m,)."""
        check_orders(orders, self.batch)
        return self.sweep_of(orders)

    def sweep_of(self, orders: Orders) -> Values:
        """The same for orders that need no checks."""
        # Counts are whole numbers, so one function of them has no rounded sums of costs.
        terms = self._of_mistakes if self.counts is None else [self.counts]
        return self._sum([term.sweep(self.batch, orders) for term in terms], len(orders.items))

    def marginals(self, labels: NDArray[Any]) -> Values:
        """``l(A + i) - l(A)`` for every decision i that is right in the labeling (total,), and 0 for the others."""
        labels = self._labels(labels)
        return self._sum([term.marginals(self.batch, labels) for term in self._of_mistakes], self.batch.total)

    def at_empty(self) -> Values:
        """The loss of no mistake, (n,), which is 0 for nearly every loss."""
        return self._sum([term.at_empty(self.batch) for term in self._of_mistakes], len(self.batch))

    def _labels(self, labels: NDArray[Any]) -> NDArray[Any]:
        given = labels if isinstance(labels, np.ndarray) else as_array(labels, "labels")
        if given.shape != (self.batch.total,) or given.dtype.kind not in "biu":
            raise ValueError(f"labels must be whole numbers ({self.batch.total},); got {given.dtype} {given.shape}.")
        if given.dtype != np.bool_ and ((given < 0) | (given > self.batch.largest)).any():
            kind = type(self.batch).__name__
            raise ValueError(f"labels must be in the range of those of {kind}; got {shown(given)}.")
        return given

    @property
    def _of_mistakes(self) -> list[MistakesTerm]:
        """The terms, all of which must be set functions of mistakes."""
        for term in self.terms:
            if not isinstance(term, MistakesTerm):
                raise Refusal(f"{self!r} is not a set function of mistakes.", LOSSES)
        return [term for term in self.terms if isinstance(term, MistakesTerm)]

    @staticmethod
    def _sum(parts: list[Values], size: int) -> Values:
        return reduce(np.add, parts) if parts else np.zeros(size)

    def take(self, parts: Ints) -> "BoundLoss":
        """The bound loss of the chosen sets."""
        return BoundLoss(self.batch.take(parts), tuple(t.take(self.batch, parts) for t in self.terms), self.source)

    def allowed(self) -> "BoundLoss":
        """0 on the labelings that the loss allows, otherwise -inf: their best score is that of the prediction."""
        terms = [term.allowed(self.batch) for term in self.terms]
        return _merged(self.batch, [term for term in terms if term is not None], f"the labelings of {self!r}")

    def zero(self) -> "BoundLoss":
        """0 on the labelings of least loss, otherwise -inf: the constraint that a partly known labeling sets.

        It is refused for losses that do not increase: the least loss of a sum need not be the sum of the least ones.
        """
        return _merged(self.batch, [t.zero(self.batch) for t in self.terms], f"the labelings of least {self!r}")

    def split(self) -> "tuple[Values | None, BoundLoss]":
        """The modular part, as the cost of each mistake, (total,), or None, and the remainder, a bound loss."""
        modular = [term.costs for term in self.terms if isinstance(term, Mistakes)]
        if not modular:
            return None, self
        remainder = tuple(term for term in self.terms if not isinstance(term, Mistakes))
        return reduce(np.add, modular), replace(self, terms=remainder)

    @cached_property
    def counts(self) -> Counts | None:
        """The bound loss as one function of counts, or None if it is not such a function.

        Costs that are equal for all mistakes of a class in a set are a count times a cost.
        """
        if not isinstance(self.batch, Sets):
            return None
        modular, remainder = self.split()
        counts = remainder.terms[0] if remainder.terms else None
        if len(remainder.terms) > 1 or not isinstance(counts, Counts | None):
            return None
        # Areas with a modular part depend on numbers and areas at once, so they are no function of two counts.
        if counts is not None and (modular is None or counts.areas is not None):
            return counts if modular is None else None
        modular = np.zeros(self.batch.total) if modular is None else modular
        # The costs must be equal inside each class of each set, and no mistake may be forbidden by -inf.
        linear, equal = class_costs(modular, self.batch.truth, self.batch.offsets)
        if not equal or not np.isfinite(linear).all() or self.batch.known is not None:
            return None
        # With one cost for both classes the linear part depends on the number of mistakes alone.
        same = bool((linear[:, 0] == linear[:, 1]).all())
        kinds = {Trait.COUNTS, Trait.CARDINALITY} if same else {Trait.COUNTS}
        if counts is not None:
            return replace(counts, promises=self.traits | (counts.promises & kinds), linear=linear, quotient=None)
        P, N, traits = self.batch.count(1), self.batch.count(0), self.traits | kinds
        # The mixed differences of a linear function are 0, so it has the Monge property.
        return Counts((), P, N, traits, linear=linear, monge=True, affine=True, diluted=True, curvatures=())

    def __add__(self, other: object) -> "BoundLoss":
        if not isinstance(other, BoundLoss):
            return NotImplemented
        if self.batch is not other.batch:
            raise Refusal(
                f"+ refuses {self!r} and {other!r}: they are about different labelings. Train for one alone.", SUMS
            )
        return _merged(self.batch, [*self.terms, *other.terms], f"{self!r} + {other!r}")

    def __radd__(self, other: object) -> "BoundLoss":
        # Python's sum() begins with 0.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __mul__(self, factor: object) -> "BoundLoss":
        if not isinstance(factor, int | float | np.integer | np.floating):
            return NotImplemented
        # A factor of 0 or less would turn what the terms promise into its contrary.
        c = as_factor(factor)
        return replace(self, terms=tuple(t.scaled(c) for t in self.terms), source=f"{c:g} * ({self!r})")

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return "no loss" if self.source is None else str(self.source)


def _merged(batch: Batch, terms: list[Term], source: object) -> BoundLoss:
    """The bound loss of the sum of the terms, in which each term is merged with the first one that takes it."""
    merged: list[Term] = []
    for term in terms:
        for k, other in enumerate(merged):
            both = other.merged(term)
            if both is not None:
                merged[k] = both
                break
        else:
            merged.append(term)
    return BoundLoss(batch, tuple(merged), source)


@final
@dataclass(frozen=True, eq=False)
class FunctionOfMistakes:
    """``A -> l_y(A)`` for one ground truth ``y``; made by :meth:`setwise.core.loss.Loss.of_mistakes`."""

    bound_loss: BoundLoss

    @property
    def p(self) -> int:
        """The number of decisions."""
        return self.bound_loss.batch.total

    def __call__(self, mistakes: ArrayLike) -> float:
        """``l_y(A)`` for a mask of mistakes A, bool of shape (p,)."""
        mask = as_array(mistakes, "mistakes")
        if mask.dtype != np.bool_ or mask.shape != (self.p,):
            raise ValueError(f"mistakes must be bool of shape ({self.p},); got {mask.dtype} of shape {mask.shape}.")
        # Bound losses take labelings: a mistake is the opposite of the true label.
        return float(self.bound_loss.values(mask ^ self._truth)[0])

    def gains(self, order: ArrayLike) -> Values:
        """What each mistake adds when mistakes enter in ``order``, which holds m distinct indices in 0..p-1; (m,)."""
        items = as_array(order, "order")
        if items.ndim != 1 or (items.size and (items.dtype.kind not in "iu" or len(np.unique(items)) != len(items))):
            raise ValueError("order must be a flat array of distinct whole numbers.")
        if items.size and (items.min() < 0 or items.max() >= self.p):
            raise ValueError(f"order must hold places in 0..{self.p - 1}; got {items.min()} to {items.max()}.")
        items = items.astype(np.int32)
        return self.bound_loss.gains(Orders(items, self._truth[items], np.array([0, len(items)], dtype=np.int64)))

    @property
    def _truth(self) -> np.ndarray:
        assert isinstance(self.bound_loss.batch, Sets)
        return self.bound_loss.batch.truth


def binary_view(batch: Batch, label: int | None) -> Sets:
    """The binary decisions "is this ``label``?"; with None "is this label right?", whose true answer is always yes."""
    truth = batch.seen(label, batch.labels)
    return Sets(truth if batch.known is None else np.where(batch.known, truth, -1).astype(np.int8), batch.offsets)


def lift(batch: Batch, label: int | None, bound_loss: BoundLoss) -> BoundLoss:
    """The bound loss of ``batch`` for that of its binary view; the modular part becomes label costs.

    With label costs, decisions with k labels are maximized one by one where the loss is modular.
    """
    costs, rest = bound_loss.split()
    terms: tuple[Term, ...] = (OneLabel(label, rest),) if rest.terms else ()
    if costs is not None:
        # A label has a cost where its answer to the binary question differs from the true answer.
        answers = [batch.seen(label, np.full(batch.total, v)) for v in range(batch.n_labels)]
        differs = np.stack(answers, axis=1) != batch.seen(label, batch.labels)[:, None]
        if batch.known is not None:
            # An unknown label has no true answer, and costs nothing.
            differs &= batch.known[:, None]
        terms = (LabelCosts(np.where(differs, costs[:, None], 0.0)), *terms)
    return BoundLoss(batch, terms, bound_loss.source)


def flipped(sets: Sets) -> Sets:
    """The same binary decisions with the two labels exchanged."""
    return Sets(
        np.where(sets.labels == -1, -1, 1 - sets.truth).astype(np.int8) if sets.known is not None else ~sets.truth,
        sets.offsets,
        totals=None if sets.totals is None else sets.totals[:, ::-1],
    )


def flip_back(sets: Sets, bound_loss: BoundLoss) -> BoundLoss:
    """The bound loss of ``sets`` for that of their :func:`flipped` sets.

    A false negative of the sets is a false positive of the flipped sets, so the two counts are exchanged.
    """
    terms: list[Term] = []
    for term in bound_loss.terms:
        if isinstance(term, Counts):
            formulas = tuple((c, _exchanged(f)) for c, f in term.formulas)
            ceilings, curvatures, quotient = term.ceilings, term.curvatures, term.quotient
            if quotient is not None:
                # The columns are the coefficients of 1, fn and fp.
                quotient = quotient[0][:, [0, 2, 1]], quotient[1][:, [0, 2, 1]]
            if ceilings is not None:
                ceilings = tuple((c, _exchanged_ceiling(f)) for c, f in ceilings)
            if curvatures is not None:
                curvatures = tuple((c, _exchanged_curvature(f)) for c, f in curvatures)
            exchanged = replace(term, formulas=formulas, ceilings=ceilings, curvatures=curvatures, quotient=quotient)
            terms.append(replace(exchanged, P=term.N, N=term.P))
        elif isinstance(term, SetFunction):
            terms.append(_flipped_function(term))
        else:
            # Other terms see which decisions are wrong, and these are the same for both.
            terms.append(term)
    return BoundLoss(sets, tuple(terms), bound_loss.source)


def _exchanged(f: Formula) -> Formula:
    """The formula with the two classes exchanged."""
    return lambda fn, fp, P, N: f(fp, fn, N, P)


def _exchanged_ceiling(most: Ceiling) -> Ceiling:
    """The bound of the formula with the two classes exchanged."""
    return lambda fn, last_fn, fp, last_fp, P, N: most(fp, last_fp, fn, last_fn, N, P)


def _exchanged_curvature(curvature: Curvature) -> Curvature:
    """The bounds on differences of the formula with the two classes exchanged."""

    def exchanged(
        fn: Values, last_fn: Values, fp: Values, last_fp: Values, P: Values, N: Values
    ) -> tuple[Values, Values, Values]:
        along_fn, along_fp, mixed = curvature(fp, last_fp, fn, last_fn, N, P)
        return along_fp, along_fn, mixed

    return exchanged


def _flipped_function(term: SetFunction) -> SetFunction:
    """The set function of the same mistakes, computed on the flipped sets."""
    gain = term.gain

    def of_flipped(function: Callable[[Sets, Bools], Values]) -> Callable[[Sets, Bools], Values]:
        return lambda sets, mistakes: function(flipped(sets), mistakes)

    def flipped_gain(sets: Sets, orders: Orders) -> Values:
        assert gain is not None
        return gain(flipped(sets), Orders(orders.items, ~orders.labels, orders.offsets))

    marginal = None if term.marginal is None else of_flipped(term.marginal)
    return replace(term, value=of_flipped(term.value), gain=None if gain is None else flipped_gain, marginal=marginal)


@final
@dataclass(frozen=True, eq=False)
class LabelCosts(CostsTerm):
    """``sum_i costs[i, y_i]``: each label of each decision has a cost of its own; ``costs`` (total, k)."""

    traits = frozenset(SHAPES)

    def values(self, batch: Batch, labels: NDArray[Any]) -> Values:
        return segment_sums(np.take_along_axis(self.costs, labels[:, None], axis=1)[:, 0], batch.offsets)

    def merged(self, other: Term) -> Term | None:
        return LabelCosts(self.costs + other.costs) if isinstance(other, LabelCosts) else None


@final
@dataclass(frozen=True, eq=False)
class OneLabel(Term):
    """``l(y == label)``: the value of a bound loss l of the binary decisions "is this ``label``?".

    With ``label`` None the decisions are "is this label right?". ``bound_loss`` is bound to the binary view of the
    batch, see :func:`binary_view`.
    """

    label: int | None
    bound_loss: BoundLoss

    @property
    def traits(self) -> frozenset[Trait]:
        return self.bound_loss.traits

    def values(self, batch: Batch, labels: NDArray[Any]) -> Values:
        return self.bound_loss.values(batch.seen(self.label, labels))

    def scaled(self, factor: float) -> "OneLabel":
        return OneLabel(self.label, factor * self.bound_loss)

    def merged(self, other: Term) -> Term | None:
        if not isinstance(other, OneLabel) or other.label != self.label:
            return None
        # Both views are equal, but BoundLoss adds only those of one batch object.
        return OneLabel(self.label, BoundLoss(self.bound_loss.batch, other.bound_loss.terms) + self.bound_loss)

    def take(self, batch: Batch, parts: Ints) -> "OneLabel":
        return OneLabel(self.label, self.bound_loss.take(parts))

    def allowed(self, batch: Batch) -> "OneLabel | None":
        inner = self.bound_loss.allowed()
        return OneLabel(self.label, inner) if inner.terms else None

    def zero(self, batch: Batch) -> "OneLabel":
        return OneLabel(self.label, self.bound_loss.zero())
