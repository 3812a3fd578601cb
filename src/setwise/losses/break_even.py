"""1 - the break-even point of precision and recall."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Values
from setwise.core.loss import CountLoss
from setwise.core.terms import Trait
from setwise.losses.top import hits, of_largest


@final
@dataclass(frozen=True)
class BreakEven(CountLoss):
    """``fn / P`` where as many decisions are predicted positive as there are positives; in [0, 1].

    At this number precision equals recall, so the loss is 1 - the precision-recall break-even point (PRBEP). It reads
    scores: the decisions of the P largest are predicted positive, and decisions with equal scores share the last
    places. In training, inference maximizes over the labelings with P predicted positives, of which the truth is one.
    Without positives the loss is 0.

    Source: Joachims (2005).

    Examples
    --------
    >>> from setwise.losses import BreakEven
    >>> # One of the two largest scores is a positive.
    >>> BreakEven()([1, 0, 1, 0], [0.9, 0.8, 0.1, 0.0])
    0.5
    >>> # The order alone counts, not the signs.
    >>> BreakEven()([1, 0, 1, 0], [-0.1, -0.8, -0.2, -0.9])
    0.0
    """

    name: ClassVar[str] = "break_even"
    reads: ClassVar = "scores"

    @classmethod
    def examples(cls, p: int) -> "list[BreakEven]":
        return [BreakEven()]

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset({Trait.INCREASING, Trait.COUNTS})

    def predicted(self, P: Values, N: Values) -> Values:
        """The number of positives of each set, (n,)."""
        return np.asarray(P, dtype=np.float64)

    def of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        found = hits(fn, fp, P, P) / np.maximum(P, 1.0)
        # Without positives nothing may be predicted, and a labeling that does so anyway has the loss 1.
        return 1.0 - np.where(P > 0, found, np.where(fp > 0, 0.0, 1.0))

    def evaluate(self, batch: Any, predictions: NDArray[Any]) -> Values:
        return of_largest(self, batch, predictions)
