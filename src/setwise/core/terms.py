"""Terms: the kinds of functions that a loss is made of, as data bound to a batch."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Ints, Values
from setwise.core.batch import Batch
from setwise.core.refusal import Refusal
from setwise.core.sets import Orders, Sets
from setwise.core.traits import CURVATURES, Trait
from setwise.kernels.segments import segment_sums


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
    def gains(self, batch: Any, orders: Orders) -> Values:
        """What each mistake of an order adds, (m,)."""

    @abstractmethod
    def marginals(self, batch: Any, labels: NDArray[Any]) -> Values:
        """What one more mistake adds, (total,); 0 where there is one already."""

    def at_empty(self, batch: Any) -> Values:
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
