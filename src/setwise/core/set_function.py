"""The term of an arbitrary set function of the mistakes of each set."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Bools, Ints, Values
from setwise.core.batch import Batch
from setwise.core.sets import Orders, Sets
from setwise.core.terms import MistakesTerm, Term
from setwise.core.traits import SHAPES, Trait


@final
@dataclass(frozen=True, eq=False)
class SetFunction(MistakesTerm):
    """``factor f(A)`` for any set function f of the mistakes of each set: a term of a :class:`Structure`.

    If ``gain`` or ``marginal`` is None, ``value`` is called for each mistake instead.

    Source: LH Eq. 9 for ``l_y(A)``.

    Parameters
    ----------
    value : a function of the batch and a mask of mistakes (total,) that returns f of every set, (n,)
    promises : the traits of f
    gain : a function of the batch and :class:`setwise.core.sets.Orders` that returns what each mistake adds, (m,)
    marginal : a function of the batch and a mask of mistakes (total,) that returns what each further mistake adds,
        (total,)
    factor : the positive factor of f

    Raises
    ------
    BrokenPromise : by learners, where a plane shows that f does not keep its ``promises``; nothing is checked here

    Examples
    --------
    1 for a set with any mistake, on two sets of two decisions:

    >>> from setwise.core import SetFunction, Sets, Structure
    >>> from setwise.losses import Trait
    >>> def any_wrong(batch, mistakes):
    ...     return np.maximum.reduceat(mistakes, batch.offsets[:-1]).astype(float)
    >>> promises = frozenset({Trait.INCREASING, Trait.SUBMODULAR, Trait.CARDINALITY, Trait.LABEL_FREE})
    >>> structure = Structure(Sets.rows([[1, 0], [1, 1]]), (SetFunction(any_wrong, promises),))
    >>> structure.values(np.array([1, 0, 0, 0])).tolist(), (2.0 * structure).values(np.array([1, 0, 0, 0])).tolist()
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
