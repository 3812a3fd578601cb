"""A structure: a loss bound to a batch, as a sum of terms that are data."""

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Ints, Values
from setwise.core.batch import Batch
from setwise.core.checks import as_array, as_kind
from setwise.core.counts import Counts
from setwise.core.refusal import Refusal
from setwise.core.sets import Orders, Sets, check_orders
from setwise.core.terms import Mistakes, MistakesTerm, Term
from setwise.core.traits import Trait
from setwise.kernels.segments import class_costs


@final
@dataclass(frozen=True, eq=False)
class Structure:
    """``l(y) = sum of the terms`` for every set of a batch; sums and positive multiples are structures again.

    Inference reads the terms; they say in data what makes a search fast, so nothing is lost in a sum or a multiple.

    Parameters
    ----------
    batch : reference labels and layout of the scores
    terms : kinds of :class:`setwise.core.terms.Term`, merged where two are of one kind; none at all is the loss 0
    source : what the structure is called in sentences, usually the loss that made it
    """

    batch: Batch
    terms: tuple[Term, ...] = ()
    source: object = None

    def __post_init__(self) -> None:
        as_kind(self.batch, "batch", Batch, "Sets.single(y)")

    @cached_property
    def traits(self) -> frozenset[Trait]:
        """What holds for all terms, hence for their sum."""
        return reduce(frozenset.__and__, (term.traits for term in self.terms), frozenset(Trait))

    def values(self, labels: NDArray[Any]) -> Values:
        """The loss of the labeling (total,) of every set, (n,); -inf where a labeling is not allowed."""
        labels = self._labels(labels)
        return self._sum([term.values(self.batch, labels) for term in self.terms], len(self.batch))

    def gains(self, orders: Orders) -> Values:
        """``l({pi_1..pi_j}) - l({pi_1..pi_(j-1)})`` for every place of every order of mistakes, (m,)."""
        check_orders(orders, self.batch)
        return self.gains_of(orders)

    def gains_of(self, orders: Orders) -> Values:
        """The same for orders that need no checks."""
        return self._sum([term.gains(self.batch, orders) for term in self._of_mistakes], len(orders.items))

    def marginals(self, labels: NDArray[Any]) -> Values:
        """``l(A + i) - l(A)`` for every decision i that is right in the labeling (total,), and 0 for the others."""
        labels = self._labels(labels)
        return self._sum([term.marginals(self.batch, labels) for term in self._of_mistakes], self.batch.total)

    def at_empty(self) -> Values:
        """The loss of no mistake, (n,): 0 for nearly every loss."""
        return self._sum([term.at_empty(self.batch) for term in self._of_mistakes], len(self.batch))

    def _labels(self, labels: NDArray[Any]) -> NDArray[Any]:
        given = labels if isinstance(labels, np.ndarray) else as_array(labels, "labels")
        if given.shape != (self.batch.total,) or given.dtype.kind not in "biu":
            raise ValueError(f"labels must be whole numbers ({self.batch.total},); got {given.dtype} {given.shape}.")
        return given

    @property
    def _of_mistakes(self) -> list[MistakesTerm]:
        for term in self.terms:
            if not isinstance(term, MistakesTerm):
                raise Refusal(f"{self!r} is no set function of mistakes.")
        return [term for term in self.terms if isinstance(term, MistakesTerm)]

    @staticmethod
    def _sum(parts: list[Values], size: int) -> Values:
        return reduce(np.add, parts) if parts else np.zeros(size)

    def take(self, parts: Ints) -> "Structure":
        """The structure of the chosen sets."""
        return Structure(self.batch.take(parts), tuple(t.take(self.batch, parts) for t in self.terms), self.source)

    def zero(self) -> "Structure":
        """0 on the labelings of least loss, else -inf: what is known of the labels when they are known in part.

        Refused for losses that do not increase: there the least loss of a sum need not be that of its terms.
        """
        return _merged(self.batch, [t.zero(self.batch) for t in self.terms], f"the labelings of least {self!r}")

    def split(self) -> "tuple[Values | None, Structure]":
        """The costs of the modular part, (total,) or None, and the structure that remains without it."""
        costs = [term.costs for term in self.terms if isinstance(term, Mistakes)]
        if not costs:
            return None, self
        rest = tuple(term for term in self.terms if not isinstance(term, Mistakes))
        return reduce(np.add, costs), replace(self, terms=rest)

    @cached_property
    def counts(self) -> Counts | None:
        """The sum as one function of counts, None where it is none.

        Costs that are equal for all mistakes of a class in a set are counts times a cost.
        """
        if not isinstance(self.batch, Sets):
            return None
        costs, rest = self.split()
        found = rest.terms[0] if rest.terms else None
        if len(rest.terms) > 1 or not isinstance(found, Counts | None):
            return None
        if found is not None and (costs is None or found.areas is not None):
            return found if costs is None else None
        costs = np.zeros(self.batch.total) if costs is None else costs
        linear, even = class_costs(costs, self.batch.truth, self.batch.offsets)
        if not even or not np.isfinite(linear).all() or self.batch.known is not None:
            return None
        one = bool((linear[:, 0] == linear[:, 1]).all())
        kinds = {Trait.COUNTS, Trait.CARDINALITY} if one else {Trait.COUNTS}
        if found is not None:
            return replace(found, promises=self.traits | (found.promises & kinds), linear=linear, quotient=None)
        P, N = self.batch.count(1), self.batch.count(0)
        return Counts((), P, N, self.traits | kinds, linear=linear, monge=True)

    def __add__(self, other: "Structure") -> "Structure":
        if self.batch is not other.batch:
            raise Refusal(f"+ refuses {self!r} and {other!r}: they are about different labelings. Train for one alone.")
        return _merged(self.batch, [*self.terms, *other.terms], f"{self!r} + {other!r}")

    def __mul__(self, factor: float) -> "Structure":
        return replace(self, terms=tuple(t.scaled(factor) for t in self.terms), source=f"{factor:g} * ({self!r})")

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return "no loss" if self.source is None else str(self.source)


def _merged(batch: Batch, terms: list[Term], source: object) -> Structure:
    """A structure in which no two terms could be one."""
    found: list[Term] = []
    for term in terms:
        for k, other in enumerate(found):
            both = other.merged(term)
            if both is not None:
                found[k] = both
                break
        else:
            found.append(term)
    return Structure(batch, tuple(found), source)
