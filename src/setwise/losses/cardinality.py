"""Any function of the number of mistakes."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.batch import Batch
from setwise.core.checks import Values, as_weights
from setwise.core.enumerate import shapes_of_sequence
from setwise.core.loss import CountLoss
from setwise.core.terms import SHAPES, Trait


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
