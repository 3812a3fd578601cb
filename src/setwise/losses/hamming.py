"""The Hamming loss: the number of mistakes, or the sum of their weights."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.batch import Batch, Sets
from setwise.core.checks import Values, as_weights
from setwise.core.counts import Formula
from setwise.core.loss import Loss
from setwise.core.structure import Structure
from setwise.core.terms import CURVATURES, Mistakes, Trait
from setwise.losses.weights import check_weights, example_weights, weights_repr


@final
@dataclass(frozen=True, eq=False, repr=False)
class Hamming(Loss):
    """``sum_(i in A) weights_i``, or the number of mistakes if ``weights`` is None; in [0, sum of weights].

    The loss is modular. Its Lovász hinge and its margin rescaling are the sum of the hinges of an SVM.

    Source: LH 2.1 and Prop. 7.

    Parameters
    ----------
    weights : (p,) non-negative, one for each position in a set; every set must then have p decisions

    Raises
    ------
    ValueError : if a weight is negative, or a set has another number of decisions than there are weights

    Examples
    --------
    >>> from setwise.losses import Hamming
    >>> Hamming()([1, 1, 0], [1, 0, 1])
    2.0
    >>> Hamming(weights=[1.0, 2.0, 0.5])([1, 1, 0], [1, 0, 1])  # 2 + 0.5
    2.5
    """

    weights: ArrayLike | None = None

    name: ClassVar[str] = "hamming"

    def __post_init__(self) -> None:
        if self.weights is not None:
            object.__setattr__(self, "weights", as_weights(self.weights))

    @classmethod
    def examples(cls, p: int) -> "list[Hamming]":
        return [Hamming(), Hamming(example_weights(p)), Hamming(np.full(p, 2.0)), Hamming(np.arange(p) % 3 / 4)]

    @property
    def traits(self) -> frozenset[Trait]:
        modular = CURVATURES | {Trait.INCREASING, Trait.LABEL_FREE}
        # Equal weights make the loss a multiple of the number of mistakes.
        even = self.weights is None or np.ptp(self.weights) == 0
        return modular | {Trait.COUNTS, Trait.CARDINALITY} if even else modular

    @property
    def formula(self) -> Formula | None:
        return _number_of_mistakes if self.weights is None else None

    def check(self, batch: Batch) -> None:
        check_weights(self.weights, batch, self)

    def bind(self, batch: Sets) -> Structure:
        costs = np.ones(batch.total) if self.weights is None else np.asarray(self.weights)[batch.places]
        return Structure(batch, (Mistakes(costs),))

    def __repr__(self) -> str:
        return f"Hamming({weights_repr(self.weights)})"


def _number_of_mistakes(fn: Values, fp: Values, P: Values, N: Values) -> Values:
    return fn + fp
