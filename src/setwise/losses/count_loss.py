"""A user's own function of the counts."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.counts import CountBased
from setwise.core.loss import Values
from setwise.core.traits import Trait

PROMISES = (Trait.INCREASING, Trait.SUBMODULAR, Trait.SUPERMODULAR)


@final
@dataclass(frozen=True, repr=False, eq=False)
class CountLoss(CountBased):
    """``f(fn, fp, P, N)`` for any vectorized f of false negatives, false positives, positives and negatives.

    Parameters
    ----------
    f : takes four float64 arrays that broadcast, 0 <= fn <= P and 0 <= fp <= N, and returns finite numbers >= 0
    promises : of ``Trait.INCREASING``, ``Trait.SUBMODULAR`` and ``Trait.SUPERMODULAR`` those that hold for every ground
        truth. They are taken at their word; ``Trait.INCREASING`` lets inference prune large tables.
    """

    f: Callable[[Values, Values, Values, Values], Values]
    promises: Iterable[Trait] = ()

    def __post_init__(self) -> None:
        if not callable(self.f):
            raise TypeError(f"f must be a function of (fn, fp, P, N); got {self.f!r}.")
        promises = frozenset(self.promises)
        odd = [t for t in promises if t not in PROMISES]
        if odd:
            raise ValueError(f"promises must be among {', '.join(t.name for t in PROMISES)}; got {odd[0]!r}.")
        object.__setattr__(self, "promises", promises)

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset(self.promises) | {Trait.COUNTS}

    def __repr__(self) -> str:
        promises = "".join(f", {t.name}" for t in PROMISES if t in self.traits)
        return f"CountLoss({getattr(self.f, '__name__', type(self.f).__name__)}{promises})"

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        shape = np.broadcast_shapes(*(np.shape(c) for c in (fn, fp, P, N)))
        values = np.asarray(self.f(fn, fp, P, N))
        if values.shape != shape or values.dtype.kind not in "biuf":
            raise ValueError(
                f"f must return real numbers of shape {shape}, one for each of its counts; got {values.dtype} of shape "
                f"{values.shape}. Write it with NumPy functions of arrays, as np.where for if."
            )
        values = values.astype(np.float64)
        if not (np.isfinite(values).all() and (values >= 0).all()):
            raise ValueError(
                f"f must return finite numbers >= 0; got {values[~(values >= 0) | np.isinf(values)][:3].tolist()}."
            )
        return values
