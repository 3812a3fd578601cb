"""1 - average precision."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.batch import Sets
from setwise.core.checks import Values
from setwise.core.loss import Loss
from setwise.core.rankings import Rankings, Swaps
from setwise.core.structure import Structure
from setwise.core.terms import Trait
from setwise.losses.ranked import Ranked


@final
@dataclass(frozen=True)
class AveragePrecision(Loss):
    """``1 - (1/P) sum over positives of the precision at their rank``, 1 - ``sklearn.metrics.average_precision_score``.

    The loss reads scores and is in [0, 1): 0 if all positives are above all negatives. Decisions with equal scores
    enter the ranking together, with one precision. In a set of one class every order is perfect, and the loss 0.

    Source: Yue, Finley, Radlinski and Joachims (2007).

    Examples
    --------
    >>> from setwise.losses import AveragePrecision
    >>> # The precisions are 1 at rank 1 and 2/4 at rank 4.
    >>> AveragePrecision()([1, 0, 0, 1], [0.9, 0.8, 0.7, 0.6])
    0.25
    """

    name: ClassVar[str] = "average_precision"
    reads: ClassVar = "scores"

    @classmethod
    def examples(cls, p: int) -> "list[AveragePrecision]":
        return [AveragePrecision()]

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset()

    def evaluate(self, batch: Any, predictions: NDArray[Any]) -> Values:
        ranked = Ranked.of(batch, predictions)
        found = ranked.positives_before + ranked.positives
        # A run of equal scores has one precision, which counts the whole run.
        precision = found / (found + ranked.negatives_before + ranked.negatives)
        found_all = ranked.sum(ranked.positives * precision) / np.maximum(batch.positives, 1)
        # In a set of one class every order is perfect.
        return np.where(batch.positives * batch.negatives > 0, 1.0 - found_all, 0.0)

    def bind(self, batch: Sets) -> Structure:
        rankings = Rankings.of(batch, self)
        place, P = rankings.places, np.repeat(rankings.positives, rankings.sizes)
        # Below k negatives the precision of the r-th best positive falls from 1 to r / (r + k), which is the sum of the
        # drops r / ((r + j) (r + j + 1)) over j < k; ``place`` is r - 1.
        weight = (place + 1.0) / np.maximum(P, 1)
        return Structure(rankings, (Swaps(weight, 1.0 / ((place + 1.0) * (place + 2.0))),))
