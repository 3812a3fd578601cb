"""A user's own set function of the mistakes."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import final

import numpy as np

from setwise.core.loss import Loss, Values
from setwise.core.sets import Bools, Orders, Sets
from setwise.core.traits import Trait


@final
@dataclass(frozen=True, eq=False, repr=False)
class SetFunctionLoss(Loss):
    """``f(y_true, mistakes)`` for any Python function ``f``; gains cost one call of ``f`` for each mistake.

    Parameters
    ----------
    f : takes ``y_true`` and ``mistakes``, both bool of shape (p,), and returns a finite number >= 0
    promises : traits that hold for every ground truth, e.g. ``(Trait.SUBMODULAR, Trait.INCREASING)``. They are taken at
        their word: :func:`setwise.losses.describe` checks them for one ground truth. ``Trait.MODULAR`` promises
        sub- and supermodularity too. ``Trait.COUNTS`` and ``Trait.CARDINALITY`` are not accepted: use ``CountLoss``
        or ``Cardinality``.
    """

    f: Callable[[Bools, Bools], float]
    promises: Iterable[Trait] = ()

    def __post_init__(self) -> None:
        if not callable(self.f):
            raise TypeError(f"f must be a function of (y_true, mistakes); got {self.f!r}.")
        promises = frozenset(self.promises)
        odd = [t for t in promises if not isinstance(t, Trait) or t in (Trait.COUNTS, Trait.CARDINALITY)]
        if odd:
            raise ValueError(f"promises must be traits other than COUNTS and CARDINALITY; got {odd[0]!r}.")
        if Trait.MODULAR in promises:
            promises |= {Trait.SUBMODULAR, Trait.SUPERMODULAR}
        object.__setattr__(self, "promises", promises)

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset(self.promises)

    def values(self, sets: Sets, mistakes: Bools) -> Values:
        return np.array([self._call(sets.labels[a:b], mistakes[a:b]) for a, b in pairwise(sets.offsets)])

    def gains(self, sets: Sets, orders: Orders) -> Values:
        out = np.empty(len(orders.items))
        for i, first in enumerate(sets.offsets[:-1]):
            y = sets.labels[first : sets.offsets[i + 1]]
            mask = np.zeros(len(y), dtype=bool)
            before = self._call(y, mask)
            for j in range(orders.offsets[i], orders.offsets[i + 1]):
                mask[orders.items[j] - first] = True
                after = self._call(y, mask)
                out[j], before = after - before, after
        return out

    def marginals(self, sets: Sets, mistakes: Bools) -> Values:
        out = np.zeros(sets.total)
        for i, first in enumerate(sets.offsets[:-1]):
            y, mask = sets.labels[first : sets.offsets[i + 1]], mistakes[first : sets.offsets[i + 1]].copy()
            now = self._call(y, mask)
            for j in np.flatnonzero(~mask):
                mask[j] = True
                out[first + j] = self._call(y, mask) - now
                mask[j] = False
        return out

    def _call(self, y: Bools, mistakes: Bools) -> float:
        value = float(self.f(y, mistakes.copy()))
        if not 0.0 <= value < np.inf:
            wrong = np.flatnonzero(mistakes).tolist()
            raise ValueError(f"f must return a finite number >= 0; got {value!r} for the mistakes {wrong}.")
        return value

    def __repr__(self) -> str:
        return f"SetFunctionLoss({getattr(self.f, '__name__', type(self.f).__name__)})"
