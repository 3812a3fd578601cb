"""Weights of the rows of one set, which count in its loss as so many equal rows would."""

from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.batch import Batch
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Ints, Values
from setwise.core.counts import Counts
from setwise.core.exceptions import Refusal
from setwise.core.loss import Combination, CountLoss, Loss
from setwise.core.pages import MEASURE_COST
from setwise.core.terms import CURVATURES, SHAPES, Constant, Mistakes, Term, Trait


@final
@dataclass(frozen=True, eq=False)
class RowWeighted(Loss):
    """``f(fn, fp, P, N)`` of sums of weights of rows in place of numbers, or a sum of costs times weights.

    So ``sample_weight`` counts in the measures of scikit-learn.

    Parameters
    ----------
    loss : a loss of counts, or one that is a sum over rows
    weights : (total,) of the rows of one batch, not negative
    """

    loss: Loss
    weights: Values

    name: ClassVar[str] = ""

    @classmethod
    def examples(cls, p: int) -> list[Any]:
        """None: weights belong to the rows of one batch."""
        return []

    @property
    def traits(self) -> frozenset[Trait]:
        """What the loss promises of its shape."""
        return self.loss.traits & {Trait.INCREASING, *(CURVATURES if Trait.MODULAR in self.loss.traits else ())}

    def of_one_batch(self, batch: Batch) -> bool:
        """True: a weight belongs to its row."""
        return True

    def of_rows(self, rows: Ints) -> "RowWeighted":
        """The loss and the weights of some of the rows."""
        return RowWeighted(self.loss.of_rows(rows), self.weights[rows])

    def check(self, batch: Batch) -> None:
        """Raise ValueError for another number of rows."""
        if len(self.weights) != batch.total:
            raise ValueError(f"weights must be those of {batch.total} rows; got {len(self.weights)}.")
        self.loss.check(batch)

    def _bind(self, batch: Any) -> BoundLoss:
        if isinstance(self.loss, Combination):
            parts = [factor * RowWeighted(loss, self.weights).bind(batch) for factor, loss in self.loss.parts]
            return reduce(BoundLoss.__add__, parts)
        if isinstance(self.loss, CountLoss) and self.loss.predicted(np.ones(1), np.ones(1)) is None:
            P, N = batch.count(1, self.weights), batch.count(0, self.weights)
            promises = self.loss.traits & {*SHAPES}
            quotient = self.loss.quotient(P, N) if Trait.INCREASING in promises else None
            return BoundLoss(batch, (Counts(((1.0, self.loss.of_counts),), P, N, promises, self.weights, quotient),))
        terms = self.loss.bind(batch).terms
        weighted: list[Term] = [
            type(term)(self.weights * term.costs) for term in terms if isinstance(term, Mistakes | Constant)
        ]
        if len(weighted) < len(terms):
            raise Refusal(
                f"{self.loss!r} refuses weights of rows: it is neither a function of counts nor a sum over rows.",
                MEASURE_COST,
            )
        return BoundLoss(batch, tuple(weighted))

    def __repr__(self) -> str:
        return f"{self.loss!r} with weights of rows"
