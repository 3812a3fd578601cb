"""The Lovász hinge: the tight convex surrogate of a submodular loss (LH section 4)."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.loss import Loss
from setwise.core.ranking import RankLoss
from setwise.core.refusal import Refusal
from setwise.core.sets import Orders, Sets
from setwise.core.surrogate import Bounds, Surrogate, check_loss
from setwise.core.traits import Trait
from setwise.kernels.lovasz import lovasz_bounds, margin_errors, quotient_hinge
from setwise.kernels.sorting import sort_falling, sort_keys


@final
@dataclass(frozen=True, eq=False)
class LovaszHinge(Surrogate):
    """``l(none) + sum_j (u_(j))_+ gain_j`` along the margin errors ``u = 1 - s (2y - 1)``, sorted down (LH Def. 5).

    For losses that do not increase the components are not thresholded but the whole is clipped at 0:
    ``(l(none) + sum_j u_(j) gain_j)_+`` (LH Def. 6). Convex, an extension of the loss, exact in O(p log p): under
    Def. 5 only the active decisions, ``u > 0``, are sorted.

    Parameters
    ----------
    loss : a loss that promises ``Trait.SUBMODULAR``; refused otherwise, for the surrogate would not be convex
        (LH Prop. 4)
    increasing : None chooses the definition by the loss's traits; True forces Def. 5, False Def. 6. Forcing Def. 5 on a
        loss that is not increasing gives a function that is not convex (LH Prop. 9): good for pictures, not for
        learners

    Compatibility
    -------------
    Any submodular loss, any model with one score per decision, every learner. Gradients have the dtype of the scores.
    """

    loss: Loss
    increasing: bool | None = None

    def __post_init__(self) -> None:
        check_loss(self.loss)
        if isinstance(self.loss, RankLoss):
            why = "it judges a ranking, not a set of mistakes"
            raise Refusal(f"LovaszHinge refuses {self.loss!r}: {why}. Use surrogate='margin'.")
        if Trait.SUBMODULAR not in self.loss.traits:
            known = "is not submodular" if Trait.SUBMODULAR in self.loss.denied else "does not promise to be submodular"
            raise Refusal(f"LovaszHinge refuses {self.loss!r}: the loss {known}. Use surrogate='margin'.")

    @property
    def convex(self) -> bool:
        """False only where Def. 5 is forced on a loss that does not increase (LH Prop. 9)."""
        return not (self.increasing and Trait.INCREASING not in self.loss.traits)

    def _batch(self, sets: Sets, scores: NDArray[Any]) -> Bounds:
        """Value and gradient of every set; exact, so ``upper`` is the value."""
        thresholded = Trait.INCREASING in self.loss.traits if self.increasing is None else self.increasing
        errors = margin_errors(scores, sets.labels)
        none = self.loss.at_none(sets)
        quotient = self.loss.quotient(sets.positives, sets.negatives) if thresholded else None
        if quotient is not None:
            keys, exact, starts = sort_keys(errors, sets.labels, sets.offsets, above_zero=True)
            exact = np.empty(0) if exact is None else exact
            gradient = _emptied(errors)
            values = quotient_hinge(keys, exact, starts, sets.offsets, *quotient, none, gradient)
        else:
            items, labels, ordered, starts = sort_falling(errors, sets.labels, sets.offsets, above_zero=thresholded)
            gains = self.loss.gains(sets, Orders(items, labels, starts))
            gradient = _emptied(errors)
            values = lovasz_bounds(ordered, gains, items, labels, starts, none, gradient)
        return Bounds(values, gradient, values, np.ones(len(sets), dtype=bool))


def _emptied(errors: NDArray[Any]) -> NDArray[Any]:
    """The array of errors, zeroed: the sorted order holds them by now, and fresh memory costs as much as the sums."""
    errors.fill(0)
    return errors
