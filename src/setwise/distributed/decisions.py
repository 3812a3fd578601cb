"""The best threshold of scores, and the labeling of least expected loss, where scores lie in several places."""

from typing import Any

import numpy as np

from setwise.core.checks import Bools, Floats, Values, as_array, as_reals, refuse_outside
from setwise.core.loss import Loss
from setwise.core.surrogate import Piece, Question, ended
from setwise.decisions import Threshold
from setwise.decisions.expected_loss import DecisionInPieces
from setwise.decisions.expected_loss_pieces import LeastExpectedLossInPieces
from setwise.decisions.levels import Asked
from setwise.decisions.threshold_pieces import ThresholdInPieces
from setwise.risks.places import PlacedObjects, Places


def best_threshold_of(places: Places, scores: PlacedObjects, truth: PlacedObjects, loss: Loss) -> Threshold:
    """``argmin over t of loss(y, [scores >= t])`` for all rows as one set; scores and labels (m,) stay at their places.

    Raises
    ------
    Refusal : for losses whose threshold needs all scores in one place
    ValueError : where a place has not as many scores as labels
    """
    negatives, positives = np.sum(places.tell(_numbers, scores, truth), axis=0).tolist()
    search = ThresholdInPieces(loss, negatives, positives).search()
    return ended(search, lambda question: places.tell(_threshold_answer, question, scores, truth))


def _numbers(scores: Values, truth: Bools) -> tuple[int, int]:
    """The numbers of negatives and positives."""
    if len(truth) != len(scores):
        raise ValueError(f"X and y must have equally many rows in each place; got {len(scores)} and {len(truth)}.")
    return int((~truth).sum()), int(truth.sum())


def _threshold_answer(question: Question, scores: Values, truth: Bools) -> Any:
    return question(Piece(scores, truth))


NAME = "probabilities"


def least_of(places: Places, probabilities: PlacedObjects, loss: Loss, tol: float) -> DecisionInPieces:
    """``argmin over h of E[loss(y, h)]`` for all rows as one set, without labels, for probabilities that are checked.

    See :class:`LeastExpectedLossInPieces`; :func:`predicted` gives the labels (m,) of each place.

    Parameters
    ----------
    places, probabilities : flat arrays (m,) in [0, 1], which stay at their places; m may be 0
    loss : an increasing function of counts
    tol : the gap at which the search may stop

    Raises
    ------
    Refusal : for other losses
    """
    search = LeastExpectedLossInPieces(loss, tol).search()
    return ended(search, lambda question: places.tell(_least_answer, question, probabilities))


def ties_of(places: Places, probabilities: PlacedObjects, found: DecisionInPieces) -> list[int | None]:
    """How many of the probabilities that equal the threshold are predicted at each place; None for all of them."""
    if found.ties is None:
        return [None] * places.count
    equal = np.array(places.tell(_equal, probabilities, found.threshold))
    before = np.cumsum(equal) - equal
    return np.clip(found.ties - before, 0, equal).tolist()  # type: ignore[no-any-return]


def predicted(probabilities: Any, threshold: float, ties: int | None) -> Bools:
    """The labels of the probabilities of a place, (m,)."""
    # Beside float32 a number of Python would be rounded to it.
    q, level = as_probabilities(probabilities), np.float64(threshold)
    if ties is None:
        return np.asarray(q >= level)
    out = np.asarray(q > level)
    out[np.flatnonzero(q == level)[:ties]] = True
    return out


def as_probabilities(values: Any) -> Floats:
    """A place's probabilities, flat; float32 stays float32.

    Raises
    ------
    ValueError : where they are not flat, not real, or not in [0, 1]
    """
    given = as_array(values, NAME)
    if given.ndim != 1:
        raise ValueError(f"{NAME} must be flat, shape (m,) in each place; got shape {given.shape}.")
    if given.dtype != np.float32 or np.isnan(given).any():
        given = as_reals(values, NAME)
    refuse_outside(given, NAME)
    return given


def _least_answer(question: Asked, probabilities: Values) -> Any:
    return question(probabilities)


def _equal(probabilities: Values, threshold: float) -> int:
    """How many probabilities equal the threshold."""
    return int((probabilities == np.float64(threshold)).sum())
