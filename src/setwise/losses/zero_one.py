"""The zero-one loss of a whole set."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Values
from setwise.core.loss import CountLoss
from setwise.core.terms import Trait


@final
@dataclass(frozen=True)
class ZeroOne(CountLoss):
    """``1 if A else 0``: the loss is 0 only if every decision of the set is right.

    Use it if one mistake spoils the whole set. It is submodular and increasing.

    Source: MLSP 3, the max loss with equal costs.

    Examples
    --------
    >>> from setwise.losses import ZeroOne
    >>> predicted = [1, 0, 1], [1, 0, 0], [0, 1, 0]
    >>> [ZeroOne()([1, 0, 1], guess) for guess in predicted]  # 0, 1 and 3 are wrong
    [0.0, 1.0, 1.0]
    """

    name: ClassVar[str] = "zero_one"

    @classmethod
    def examples(cls, p: int) -> "list[ZeroOne]":
        return [ZeroOne()]

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.INCREASING, Trait.SUBMODULAR, Trait.COUNTS, Trait.CARDINALITY, Trait.LABEL_FREE})

    @property
    def diluted(self) -> bool:
        """True: the loss does not see right decisions."""
        return True

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        return np.where(fn + fp > 0, 1.0, 0.0)
