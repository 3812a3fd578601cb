"""A loss to which each further mistake adds less, plus a cost of each mistake."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.batch import Batch, Sets
from setwise.core.checks import Values, as_factor, as_weights
from setwise.core.counts import Counts, Formula
from setwise.core.loss import Loss
from setwise.core.structure import Structure
from setwise.core.terms import Mistakes, Term, Trait
from setwise.losses.weights import check_weights, example_weights, weights_repr


@final
@dataclass(frozen=True, eq=False, repr=False)
class Saturating(Loss):
    """``1 - exp(-alpha |A|) + sum_(i in A) weights_i``: each further mistake adds less, plus a cost of its own.

    The loss is submodular and increasing, and in [0, 1 + sum of weights).

    Source: LH Eq. 53 to 55.

    Parameters
    ----------
    alpha : above 0; the larger, the fewer mistakes bring the first part close to 1
    weights : (p,) non-negative, one for each position in a set; every set must then have p decisions. None leaves the
        sum out (LH Eq. 54)

    Raises
    ------
    TypeError : if alpha is no number
    ValueError : if alpha is not above 0, a weight is negative, or a set has another number of decisions than weights

    Examples
    --------
    >>> from setwise.losses import Saturating
    >>> loss = Saturating(alpha=np.log(2))  # 1 - 2^(-|A|)
    >>> predicted = [1, 0, 0], [1, 1, 0], [1, 1, 1]
    >>> [round(loss([0, 0, 0], wrong), 3) for wrong in predicted]
    [0.5, 0.75, 0.875]
    """

    alpha: float = 1.0
    weights: ArrayLike | None = None

    name: ClassVar[str] = "saturating"

    def __post_init__(self) -> None:
        object.__setattr__(self, "alpha", as_factor(self.alpha, "alpha"))
        if self.weights is not None:
            object.__setattr__(self, "weights", as_weights(self.weights))

    @classmethod
    def examples(cls, p: int) -> "list[Saturating]":
        return [Saturating(), Saturating(0.3, example_weights(p)), Saturating(2.0, np.full(p, 0.5))]

    @property
    def traits(self) -> frozenset[Trait]:
        # With equal weights both parts depend on the number of mistakes alone.
        even = self.weights is None or np.ptp(self.weights) == 0
        found = {Trait.INCREASING, Trait.SUBMODULAR, Trait.LABEL_FREE}
        return frozenset(found | ({Trait.COUNTS, Trait.CARDINALITY} if even else set()))

    @property
    def formula(self) -> Formula | None:
        return self._of_counts if self.weights is None else None

    def check(self, batch: Batch) -> None:
        check_weights(self.weights, batch, self)

    def bind(self, batch: Sets) -> Structure:
        # These are the traits of the first part alone; the sum is a modular term of its own.
        promises = frozenset({Trait.INCREASING, Trait.SUBMODULAR, Trait.COUNTS, Trait.CARDINALITY, Trait.LABEL_FREE})
        terms: tuple[Term, ...] = (
            Counts(
                ((1.0, self._of_counts),),
                batch.count(1),
                batch.count(0),
                promises,
                diluted=True,
                bends=((1.0, self._bend),),
            ),
        )
        if self.weights is not None:
            terms = (*terms, Mistakes(np.asarray(self.weights)[batch.places]))
        return Structure(batch, terms)

    def _of_counts(self, fn: Values, fp: Values, P: Values, N: Values) -> Values:
        # ``expm1`` keeps the digits of a small exponent, which ``1 - exp`` would lose.
        return -np.expm1(-self.alpha * (fn + fp))

    def _bend(
        self, fn: Values, last_fn: Values, fp: Values, last_fp: Values, P: Values, N: Values
    ) -> tuple[Values, Values, Values]:
        # Second and mixed derivatives are equal, at most 0, and least where there are fewest mistakes.
        least = -(self.alpha**2) * np.exp(-self.alpha * (fn + fp))
        return least, least, 0.0 * least

    def __repr__(self) -> str:
        tail = f", {weights_repr(self.weights)}" if self.weights is not None else ""
        return f"Saturating(alpha={self.alpha:g}{tail})"
