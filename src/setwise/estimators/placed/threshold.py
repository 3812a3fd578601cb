"""The best threshold of scores that lie in several places."""

from typing import Any

import numpy as np

from setwise.core.checks import Bools, Values
from setwise.core.loss import Loss
from setwise.core.surrogate import Piece, Question, ended
from setwise.decisions import Threshold
from setwise.decisions.threshold_pieces import ThresholdInPieces
from setwise.risks.places import Kept, Places


def best_threshold_of(places: Places, scores: Kept, truth: Kept, loss: Loss) -> Threshold:
    """``argmin over t of loss(y, [scores >= t])`` for all rows as one set; scores and labels (m,) stay at their places.

    Raises
    ------
    Refusal : for losses whose threshold needs all scores in one place
    ValueError : where a place has not as many scores as labels
    """
    negatives, positives = np.sum(places.tell(_numbers, scores, truth), axis=0).tolist()
    search = ThresholdInPieces(loss, negatives, positives).search()
    return ended(search, lambda question: places.tell(_answer, question, scores, truth))


def _numbers(scores: Values, truth: Bools) -> tuple[int, int]:
    """The numbers of negatives and positives."""
    if len(truth) != len(scores):
        raise ValueError(f"X and y must have as many rows in each place; got {len(scores)} and {len(truth)}.")
    return int((~truth).sum()), int(truth.sum())


def _answer(question: Question, scores: Values, truth: Bools) -> Any:
    return question(Piece(scores, truth))
