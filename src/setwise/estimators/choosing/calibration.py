"""Scores turned into probabilities, by rows that the model behind the scores did not see."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.isotonic import IsotonicRegression

from setwise.core.checks import Bools, Values
from setwise.estimators.threads import base_threads


class Calibration(ABC):
    """A function that rises, from scores to the probabilities of positives."""

    @abstractmethod
    def __call__(self, scores: NDArray[np.float64]) -> Values:
        """The probability of each score, of the shape of the scores."""


@final
@dataclass(frozen=True)
class Sigmoid(Calibration):
    """``1 / (1 + exp(-(slope s + intercept)))`` with a slope of at least 0 (Platt 1999)."""

    slope: float
    intercept: float

    def __call__(self, scores: NDArray[np.float64]) -> Values:
        return np.asarray(expit(self.slope * scores + self.intercept))


@final
@dataclass(frozen=True, eq=False)
class Isotonic(Calibration):
    """The steps of an isotonic regression, joined by lines, and constant outside of them.

    Parameters
    ----------
    at : (k,) scores in rising order
    values : (k,) the probabilities there
    """

    at: Values
    values: Values

    def __call__(self, scores: NDArray[np.float64]) -> Values:
        return np.interp(scores, self.at, self.values)


def sigmoid(scores: Values, truth: Bools) -> Sigmoid:
    """The sigmoid of least log loss, with the targets of Platt, that never are 0 or 1 (Platt 1999, section 2.2)."""
    P, N = int(truth.sum()), int((~truth).sum())
    target = np.where(truth, (P + 1) / (P + 2), 1 / (N + 2))
    center, scale = scores.mean(), scores.std()
    # Scores that do not differ have the share of positives for their probability.
    if not scale > 0:
        return Sigmoid(0.0, float(np.log((P + 1) / (N + 1))))
    z = (scores - center) / scale

    def objective(w: Values) -> tuple[float, Values]:
        margin = w[0] * z + w[1]
        value = np.logaddexp(0.0, margin) - target * margin
        slope = expit(margin) - target
        return float(value.mean()), np.array([(slope * z).mean(), slope.mean()])

    start = np.array([1.0, np.log((P + 1) / (N + 1))])
    with base_threads(scores):
        found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None), (None, None)]).x
    return Sigmoid(float(found[0] / scale), float(found[1] - found[0] * center / scale))


def isotonic(scores: Values, truth: Bools) -> Isotonic:
    """The function that rises with the scores and has the least squared error."""
    model = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(scores, truth.astype(np.float64))
    return Isotonic(np.asarray(model.X_thresholds_), np.asarray(model.y_thresholds_))


METHODS = {"sigmoid": sigmoid, "isotonic": isotonic}
"""The ways to calibrate, by name."""
