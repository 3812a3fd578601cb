"""Any function of the number of mistakes."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.counts import CountBased
from setwise.core.loss import Values
from setwise.core.sets import Sets
from setwise.core.traits import Trait


@final
@dataclass(frozen=True, eq=False, repr=False)
class Cardinality(CountBased):
    """``g(|A|)``; submodular exactly where ``g`` is concave, supermodular where it is convex.

    Parameters
    ----------
    g : (p+1,) finite and non-negative, the loss of 0, 1, ..., p mistakes; every set must have p decisions
    """

    g: ArrayLike

    def __post_init__(self) -> None:
        g = np.array(self.g, dtype=np.float64)
        if g.ndim != 1 or g.size < 2 or not np.isfinite(g).all() or (g < 0).any():
            raise ValueError(f"g must hold p + 1 >= 2 finite, non-negative losses of 0..p mistakes; got {self.g!r}.")
        g.setflags(write=False)
        object.__setattr__(self, "g", g)

    @property
    def _table(self) -> NDArray[np.float64]:
        return np.asarray(self.g)

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.COUNTS, Trait.CARDINALITY, Trait.LABEL_FREE}) | _shape(self._table)

    @property
    def denied(self) -> frozenset[Trait]:
        shape = {Trait.INCREASING, Trait.SUBMODULAR, Trait.SUPERMODULAR, Trait.MODULAR}
        return frozenset(shape) - _shape(self._table)

    def check(self, sets: Sets) -> None:
        p = len(self._table) - 1
        if (sets.sizes != p).any():
            raise ValueError(f"{self!r} fits sets of {p} decisions; got one of {sets.sizes[sets.sizes != p][0]}.")

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return self._table[np.asarray(fn + fp).astype(np.int64)]

    def __repr__(self) -> str:
        shown = [f"{v:g}" for v in self._table[:6]] + ["..."] * (len(self._table) > 6)
        return f"Cardinality([{', '.join(shown)}])"


def _shape(g: NDArray[np.float64]) -> frozenset[Trait]:
    """Traits of ``|A| -> g``, read off its first and second differences; rounding of 1e-12 of the range is forgiven."""
    slack = 1e-12 * max(1.0, float(np.abs(g).max()))
    rise, bend = np.diff(g), np.diff(g, 2)
    found = set()
    if (rise >= -slack).all():
        found.add(Trait.INCREASING)
    if (bend <= slack).all():
        found.add(Trait.SUBMODULAR)
    if (bend >= -slack).all():
        found.add(Trait.SUPERMODULAR)
    if {Trait.SUBMODULAR, Trait.SUPERMODULAR} <= found:
        found.add(Trait.MODULAR)
    return frozenset(found)
