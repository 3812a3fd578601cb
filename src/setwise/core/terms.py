"""Terms are the functions of labelings of which a loss is the sum, as data bound to a batch."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Ints, Values
from setwise.core.batch import Batch
from setwise.core.cached import cached_property
from setwise.core.pages import WEAK_LABELS
from setwise.core.refusal import Refusal
from setwise.core.sets import Orders, Sets
from setwise.core.traits import CURVATURES, Trait
from setwise.kernels.segments import running_sums, segment_sums


class Term(ABC):
    """A function of the labelings of each set of a batch; a loss bound to the batch is a sum of terms.

    A term holds data only, so its methods take the batch to which it was bound.
    """

    @property
    @abstractmethod
    def traits(self) -> frozenset[Trait]:
        """The traits that hold for the set function of mistakes of every set of the batch."""

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


@final
@dataclass(frozen=True, eq=False)
class Mistakes(MistakesTerm):
    """``sum_(i in A) costs_i``: a modular term, in which each mistake has a cost of its own.

    ``costs`` has shape (total,); -inf forbids a mistake.
    """

    costs: Values

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

    def scaled(self, factor: float) -> "Mistakes":
        return Mistakes(factor * self.costs)

    def merged(self, other: Term) -> Term | None:
        return Mistakes(self.costs + other.costs) if isinstance(other, Mistakes) else None

    def take(self, batch: Batch, parts: Ints) -> "Mistakes":
        return Mistakes(self.costs[batch.decisions(parts)])

    def allowed(self, batch: Batch) -> "Mistakes | None":
        forbidden = self.costs == -np.inf
        return Mistakes(np.where(forbidden, -np.inf, 0.0)) if forbidden.any() else None

    def zero(self, batch: Batch) -> "Mistakes":
        # The least sum has no mistake of positive cost; mistakes of cost 0 are free.
        return Mistakes(np.where(self.costs > 0, -np.inf, 0.0))
