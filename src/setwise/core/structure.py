"""A structure is a loss bound to a batch, as a sum of terms that are data."""

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Ints, Values
from setwise.core.batch import Batch
from setwise.core.cached import cached_property
from setwise.core.checks import as_array, as_factor, as_kind, shown
from setwise.core.counts import Counts
from setwise.core.pages import LOSSES, SUMS
from setwise.core.refusal import Refusal
from setwise.core.sets import Orders, Sets, check_orders
from setwise.core.terms import Mistakes, MistakesTerm, Term
from setwise.core.traits import Trait
from setwise.kernels.segments import class_costs


@final
@dataclass(frozen=True, eq=False)
class Structure:
    """``l(y) = sum of the terms`` for every set of a batch; sums and positive multiples are structures again.

    Inference reads the terms, which hold as data all that makes a search fast. So sums and multiples lose nothing.

    Source: LH Eq. 9 for ``l_y(A)``; docs/adr/0007-structure-is-a-value-bound-once.md tells why it is bound once.

    Parameters
    ----------
    batch : the true labels and the layout of the scores
    terms : instances of :class:`setwise.core.terms.Term`, merged where possible; no terms at all are the loss 0
    source : the name of the structure in sentences, usually the loss that made it

    Raises
    ------
    TypeError : for a batch and terms of other kinds
    ValueError : for terms that do not fit the batch
    Refusal : a ValueError, for sums of structures of different batches; and by methods that only set functions of
        mistakes have, for other terms

    Examples
    --------
    Losses make structures; without terms a structure has the loss 0, and inference finds the best score alone:

    >>> from setwise.core import Sets, Structure
    >>> from setwise.inference import Auto
    >>> from setwise.losses import Hamming, Jaccard
    >>> batch = Sets.rows([[1, 1, 0], [1, 0, 0]])
    >>> structure = Jaccard().structure(batch) + 2.0 * Hamming().structure(batch)
    >>> structure.values(np.array([1, 0, 0, 1, 0, 0])).tolist()
    [2.5, 0.0]
    >>> Auto().prepare(Structure(batch)).maximize([1.0, -1.0, 2.0, -1.0, 0.0, 3.0]).labels.tolist()
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
            raise ValueError(
                f"labels must be in the range of those of {type(self.batch).__name__}; got {shown(given)}."
            )
        return given

    @property
    def _of_mistakes(self) -> list[MistakesTerm]:
        """The terms, all of which must be set functions of mistakes."""
        for term in self.terms:
            if not isinstance(term, MistakesTerm):
                raise Refusal(f"{self!r} is no set function of mistakes.", LOSSES)
        return [term for term in self.terms if isinstance(term, MistakesTerm)]

    @staticmethod
    def _sum(parts: list[Values], size: int) -> Values:
        return reduce(np.add, parts) if parts else np.zeros(size)

    def take(self, parts: Ints) -> "Structure":
        """The structure of the chosen sets."""
        return Structure(self.batch.take(parts), tuple(t.take(self.batch, parts) for t in self.terms), self.source)

    def allowed(self) -> "Structure":
        """0 on the labelings that the loss allows, otherwise -inf: their best score is that of the prediction."""
        terms = [term.allowed(self.batch) for term in self.terms]
        return _merged(self.batch, [term for term in terms if term is not None], f"the labelings of {self!r}")

    def zero(self) -> "Structure":
        """0 on the labelings of least loss, otherwise -inf: the constraint that a partly known labeling sets.

        It is refused for losses that do not increase: the least loss of a sum need not be the sum of the least ones.
        """
        return _merged(self.batch, [t.zero(self.batch) for t in self.terms], f"the labelings of least {self!r}")

    def split(self) -> "tuple[Values | None, Structure]":
        """The modular part, as the cost of each mistake, (total,), or None, and the remainder, a structure."""
        modular = [term.costs for term in self.terms if isinstance(term, Mistakes)]
        if not modular:
            return None, self
        remainder = tuple(term for term in self.terms if not isinstance(term, Mistakes))
        return reduce(np.add, modular), replace(self, terms=remainder)

    @cached_property
    def counts(self) -> Counts | None:
        """The whole structure as one function of counts, or None if it is not such a function.

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
        P, N = self.batch.count(1), self.batch.count(0)
        # The mixed differences of a linear function are 0, so it has the Monge property.
        return Counts((), P, N, self.traits | kinds, linear=linear, monge=True, affine=True, diluted=True, bends=())

    def __add__(self, other: object) -> "Structure":
        if not isinstance(other, Structure):
            return NotImplemented
        if self.batch is not other.batch:
            raise Refusal(
                f"+ refuses {self!r} and {other!r}: they are about different labelings. Train for one alone.", SUMS
            )
        return _merged(self.batch, [*self.terms, *other.terms], f"{self!r} + {other!r}")

    def __radd__(self, other: object) -> "Structure":
        # Python's sum() begins with 0.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __mul__(self, factor: object) -> "Structure":
        if not isinstance(factor, int | float | np.integer | np.floating):
            return NotImplemented
        # A factor of 0 or less would turn what the terms promise into its contrary.
        c = as_factor(factor)
        return replace(self, terms=tuple(t.scaled(c) for t in self.terms), source=f"{c:g} * ({self!r})")

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return "no loss" if self.source is None else str(self.source)


def _merged(batch: Batch, terms: list[Term], source: object) -> Structure:
    """The structure of the sum of the terms, in which each term is merged with the first one that takes it."""
    merged: list[Term] = []
    for term in terms:
        for k, other in enumerate(merged):
            both = other.merged(term)
            if both is not None:
                merged[k] = both
                break
        else:
            merged.append(term)
    return Structure(batch, tuple(merged), source)
