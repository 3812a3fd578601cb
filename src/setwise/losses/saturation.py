"""Losses to which each further mistake adds less (LH Delta 2 to 5), and any function of the number of mistakes."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.batch import Batch, Orders, Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Values, as_factor, as_number, as_weights
from setwise.core.counts import Counts, Formula
from setwise.core.enumerate import shapes_of_sequence
from setwise.core.loss import CountLoss, Loss
from setwise.core.terms import CURVATURES, SHAPES, Mistakes, SetFunction, Trait
from setwise.kernels.segments import differences, running_sums, segment_sums
from setwise.losses.functions import check_weights, example_weights, weights_repr


@final
@dataclass(frozen=True, eq=False, repr=False)
class CappedLoss(Loss):
    """``min(cap, sum_(i in A) weights_i)``: beyond the cap further mistakes cost nothing; in [0, cap].

    The loss is submodular and increasing.

    Source: LH Eq. 52.

    Parameters
    ----------
    weights : (p,) non-negative, one for each position in a set; every set must have p decisions
    cap : above 0; if it is below the sum of the weights, the loss is submodular but not modular

    Raises
    ------
    TypeError : if cap is no number
    ValueError : if a weight is negative, cap is not above 0, or a set has another number of decisions than p

    Examples
    --------
    >>> from setwise.losses import CappedLoss
    >>> loss = CappedLoss([1.0, 0.5, 0.2], cap=1.3)  # the weights and the cap of LH 6.3
    >>> loss([1, 1, 1], [1, 0, 0])  # 0.5 + 0.2
    0.7
    >>> loss([1, 1, 1], [0, 0, 0])  # 1.7 is above the cap
    1.3
    """

    weights: ArrayLike
    cap: float

    name: ClassVar[str] = "capped"

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", as_weights(self.weights))
        object.__setattr__(self, "cap", as_number(self.cap, "cap", low=0.0, open_low=True))

    @classmethod
    def examples(cls, p: int) -> "list[CappedLoss]":
        weights = example_weights(p)
        return [CappedLoss(weights, 1.5), CappedLoss(weights, 1e3), CappedLoss(np.full(p, 0.5), 0.75)]

    @property
    def traits(self) -> frozenset[Trait]:
        found = {Trait.INCREASING, Trait.SUBMODULAR, Trait.LABEL_FREE}
        # With equal weights the loss depends on the number of mistakes alone.
        if np.ptp(self.weights) == 0:
            found |= {Trait.COUNTS, Trait.CARDINALITY}
        # A cap that is never exceeded leaves a modular sum.
        if np.sum(self.weights) <= self.cap:
            found |= CURVATURES
        return frozenset(found)

    def check(self, batch: Batch) -> None:
        check_weights(self.weights, batch, self)

    def _bind(self, batch: Sets) -> BoundLoss:
        # The simplest term that holds the loss is chosen, because it has the fastest inference.
        weights = np.asarray(self.weights)
        if Trait.MODULAR in self.traits:
            return BoundLoss(batch, (Mistakes(weights[batch.places]),))
        if Trait.CARDINALITY in self.traits:
            formulas = ((1.0, self._of_counts),)
            return BoundLoss(batch, (Counts(formulas, batch.count(1), batch.count(0), self.traits, diluted=True),))
        return BoundLoss(batch, (SetFunction(self._values, self.traits, self._gains, self._marginals),))

    def _of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        # All weights are equal here, so the first one stands for each.
        cost: Values = np.asarray(self.weights)[0] * (fn + fp)
        return np.minimum(cost, self.cap)

    def _values(self, sets: Sets, mistakes: Bools) -> Values:
        return np.minimum(self._sums(sets, mistakes), self.cap)

    def _gains(self, sets: Sets, orders: Orders) -> Values:
        sums = running_sums(np.asarray(self.weights)[sets.places[orders.items]], orders.offsets)
        return differences(np.minimum(sums, self.cap), orders.offsets, np.zeros(len(sets)))

    def _marginals(self, sets: Sets, mistakes: Bools) -> Values:
        # One more mistake adds its weight, or what is left up to the cap.
        room = np.maximum(self.cap - self._sums(sets, mistakes), 0.0)
        return np.where(mistakes, 0.0, np.minimum(np.asarray(self.weights)[sets.places], room[sets.owners]))

    def _sums(self, sets: Sets, mistakes: Bools) -> Values:
        return segment_sums(np.where(mistakes, np.asarray(self.weights)[sets.places], 0.0), sets.offsets)

    def __repr__(self) -> str:
        return f"CappedLoss({weights_repr(self.weights)}, cap={self.cap:g})"


@final
@dataclass(frozen=True, eq=False, repr=False)
class SaturatingLoss(Loss):
    """``1 - exp(-alpha |A|) + sum_(i in A) weights_i``: each further mistake adds less, plus a cost of its own.

    The loss is submodular and increasing, and in [0, 1 + sum of weights).

    Source: LH Eq. 53 to 55.

    Parameters
    ----------
    alpha : above 0; the larger, the fewer mistakes bring the first part close to 1
    weights : (p,) non-negative, one for each position in a set; every set must then have p decisions. None leaves the
        sum out (LH Eq. 54)

    Raises
    ------
    TypeError : if alpha is no number
    ValueError : if alpha is not above 0, a weight is negative, or a set has another number of decisions than weights

    Examples
    --------
    >>> from setwise.losses import SaturatingLoss
    >>> loss = SaturatingLoss(alpha=np.log(2))  # 1 - 2^(-|A|)
    >>> predicted = [1, 0, 0], [1, 1, 0], [1, 1, 1]
    >>> [round(loss([0, 0, 0], wrong), 3) for wrong in predicted]
    [0.5, 0.75, 0.875]
    """

    alpha: float = 1.0
    weights: ArrayLike | None = None

    name: ClassVar[str] = "saturating"

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", as_factor(self.alpha, "alpha"))
        if self.weights is not None:
            object.__setattr__(self, "weights", as_weights(self.weights))

    @classmethod
    def examples(cls, p: int) -> "list[SaturatingLoss]":
        return [SaturatingLoss(), SaturatingLoss(0.3, example_weights(p)), SaturatingLoss(2.0, np.full(p, 0.5))]

    @property
    def traits(self) -> frozenset[Trait]:
        # With equal weights both parts depend on the number of mistakes alone.
        even = self.weights is None or np.ptp(self.weights) == 0
        found = {Trait.INCREASING, Trait.SUBMODULAR, Trait.LABEL_FREE}
        return frozenset(found | ({Trait.COUNTS, Trait.CARDINALITY} if even else set()))

    @property
    def formula(self) -> Formula | None:
        return self._of_counts if self.weights is None else None

    def check(self, batch: Batch) -> None:
        check_weights(self.weights, batch, self)

    def _bind(self, batch: Sets) -> BoundLoss:
        # These are the traits of the first part alone; the sum is a modular term of its own.
        promises = frozenset({Trait.INCREASING, Trait.SUBMODULAR, Trait.COUNTS, Trait.CARDINALITY, Trait.LABEL_FREE})
        formulas, curvatures = ((1.0, self._of_counts),), ((1.0, self._curvature),)
        term = Counts(formulas, batch.count(1), batch.count(0), promises, diluted=True, curvatures=curvatures)
        costs = () if self.weights is None else (Mistakes(np.asarray(self.weights)[batch.places]),)
        return BoundLoss(batch, (term, *costs))

    def _of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        # ``expm1`` keeps the digits of a small exponent, which ``1 - exp`` would lose.
        return -np.expm1(-self.alpha * (fn + fp))

    def _curvature(
        self, fn: Values, last_fn: Values, fp: Values, last_fp: Values, P: Values, N: Values
    ) -> tuple[Values, Values, Values]:
        # Second and mixed derivatives are equal, at most 0, and least where there are fewest mistakes.
        least = -(self.alpha**2) * np.exp(-self.alpha * (fn + fp))
        return least, least, 0.0 * least

    def __repr__(self) -> str:
        tail = f", {weights_repr(self.weights)}" if self.weights is not None else ""
        return f"SaturatingLoss(alpha={self.alpha:g}{tail})"


@final
@dataclass(frozen=True, eq=False, repr=False)
class Cardinality(CountLoss):
    """``g(|A|)``, where A is the set of mistakes; in [min g, max g].

    The loss is submodular exactly if ``g`` is concave, supermodular exactly if ``g`` is convex, and increasing where
    ``g`` is; these traits are read off ``g``.

    Source: HOL 4.2, which maximizes such losses by cardinality potentials; the curvatures are in Bach (2013).

    Parameters
    ----------
    g : (p+1,) finite and non-negative, the loss of 0, 1, ..., p mistakes; every set must have p decisions

    Raises
    ------
    ValueError : if g has fewer than two values or a negative one, or a set has another number of decisions than p

    Examples
    --------
    >>> from setwise.losses import Cardinality, Trait
    >>> # One mistake in four decisions is nearly free.
    >>> loss = Cardinality([0.0, 0.1, 1.0, 1.0, 1.0])
    >>> loss([1, 1, 0, 0], [1, 1, 0, 1]), loss([1, 1, 0, 0], [0, 0, 0, 0])
    (0.1, 1.0)
    >>> # The second mistake costs more than the first.
    >>> Trait.SUBMODULAR in loss.traits
    False
    """

    g: ArrayLike

    name: ClassVar[str] = "cardinality"

    def __post_init__(self) -> None:
        g = as_weights(self.g, "g")
        if g.size < 2:
            raise ValueError("g must hold p + 1 >= 2 finite, non-negative losses of 0..p mistakes; got one.")
        object.__setattr__(self, "g", g)

    @classmethod
    def examples(cls, p: int) -> "list[Cardinality]":
        k = np.arange(p + 1.0)
        # The values are concave, convex, linear, first rising and then falling, and of no shape at all.
        shapes = (np.sqrt(k), k**2, 3.0 * k, np.minimum(k, p - k) + 1.0, np.random.default_rng(p).random(p + 1))
        return [Cardinality(g) for g in shapes]

    @property
    def _table(self) -> NDArray[np.float64]:
        return np.asarray(self.g)

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.COUNTS, Trait.CARDINALITY, Trait.LABEL_FREE}) | shapes_of_sequence(self._table)

    @property
    def denied(self) -> frozenset[Trait]:
        # The sequence shows all differences of the loss, so a shape that it does not have is known to fail.
        return frozenset(SHAPES) - shapes_of_sequence(self._table)

    def check(self, batch: Batch) -> None:
        p = len(self._table) - 1
        if (batch.sizes != p).any():
            raise ValueError(f"{self!r} fits sets of {p} decisions; got one of {batch.sizes[batch.sizes != p][0]}.")

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return self._table[np.asarray(fn + fp).astype(np.int64)]

    def __repr__(self) -> str:
        shown = [f"{v:g}" for v in self._table[:6]] + ["..."] * (len(self._table) > 6)
        return f"Cardinality([{', '.join(shown)}])"
