"""The loss of constant labelings of rows in several places, by which the bound of a convex surrogate is judged."""

from contextlib import suppress

import numpy as np

from setwise.core.checks import Bools
from setwise.core.exceptions import Refusal
from setwise.core.learner import Fit
from setwise.core.loss import Loss
from setwise.core.risk import Risk
from setwise.core.terms import Trait
from setwise.estimators.linear_training import VACUOUS, share_of_constant
from setwise.estimators.placed.rows import PlacedRows, mean_loss_of
from setwise.risks.places import Kept


def least_constant_loss_of(found: PlacedRows, loss: Loss, truth: Kept) -> float:
    """The mean loss of predicting none, or all: the lesser of the two, without a pass over the features.

    For losses of a ranking it is that of equal scores. It is inf where all rows would have to be gathered and are too
    many.
    """
    if Trait.COUNTS not in loss.traits and found.count() > found.places.room:
        return np.inf
    with suppress(Refusal):
        each = [found.places.keep(_constant, truth, sign) for sign in (False, True)]
        return min(mean_loss_of(found, loss, truth, scores) for scores in each)
    return np.inf


def says_nothing(found: PlacedRows, loss: Loss, truth: Kept, risk: Risk, fit: Fit, C: float) -> bool:
    """Whether a fit of a convex risk promises no less loss than the best constant labeling has.

    This takes a cut more where the weights are short, which tells whether w = 0 is optimal.
    """
    return share_of_constant(risk, fit, C, least_constant_loss_of(found, loss, truth), False) >= VACUOUS


def _constant(truth: Bools, sign: bool) -> Bools:
    return np.full(len(truth), sign)
