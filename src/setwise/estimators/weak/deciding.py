"""The threshold at which rows are positive so that the expected loss of a set of them is least."""

import numpy as np
from scipy.special import expit

from setwise.core.arrays import Values
from setwise.core.measure import Loss
from setwise.core.refusal import Refusal
from setwise.decisions import least_expected_loss


def threshold_for(loss: Loss, scores: Values) -> float:
    """The log-odds above which rows with the log-odds ``scores`` (n,) are positive in the best labeling of them all.

    The rows are one set of independent decisions with these log-odds, and no label is read. Between the last positive
    and the first negative row it is halfway; where all rows are positive, or none is, it is -inf or inf. For losses to
    which some rows with more and some with less probability should be positive there is no such threshold: Refusal.
    """
    found = least_expected_loss(expit(scores), loss)
    positive = np.asarray(found.labels, dtype=bool)
    if positive.all() or not positive.any():
        return -np.inf if positive.all() else np.inf
    last, first = float(scores[positive].min()), float(scores[~positive].max())
    if last < first:
        raise Refusal(
            f"loss={loss!r} is refused: the best labeling of these rows is not that of a threshold. Use another "
            "loss, or setwise.decisions.least_expected_loss on the probabilities."
        )
    # Of rows with equal scores some may be positive and some not; all are then.
    return last / 2.0 + first / 2.0 if first < last else float(np.nextafter(last, -np.inf))
