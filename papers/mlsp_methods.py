"""What the tables of MLSP share: the methods, the features they see, the measures of each row, and the choice of C."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from setwise.core.checks import Bools, Values
from setwise.estimators.multilabel_baselines import SSVM, IndependentSVMs, JointKernelSupport, PowersetSSVM
from setwise.estimators.multilabel_structured_predictor import MultilabelStructuredPredictor
from setwise.spaces import Space

CS = tuple(2.0**k for k in (2, 5, 8, 11, 14))
NUS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Every third of the paper's 2^-1 to 2^14 from 2^2 on, and five of its nineteen nu."""

MEASURES = ("max loss", "sum loss", "mAUC", "F1", "precision", "recall")
SIGNS = np.array([1.0, 1.0, -1.0, -1.0, -1.0, -1.0])
"""1 where less is better, -1 where more is."""


@final
@dataclass(frozen=True)
class LabelMethod:
    """A method: its name, an estimator of a space, a parameter, a tolerance and an iteration limit, and its grid."""

    name: str
    make: Callable[[Space, float, float, int], Any]
    grid: tuple[float, ...] = CS
    constant: bool = False


METHODS = (
    LabelMethod(
        "MLSP", lambda s, C, tol, n: MultilabelStructuredPredictor(s, surrogate="hinge", C=C, tol=tol, max_iter=n)
    ),
    LabelMethod(
        "ramp", lambda s, C, tol, n: MultilabelStructuredPredictor(s, surrogate="ramp", C=C, tol=tol, max_iter=n)
    ),
    LabelMethod("P-SSVM, sum", lambda s, C, tol, n: PowersetSSVM(s, loss="sum", C=C, tol=tol, max_iter=n)),
    LabelMethod("P-SSVM, max", lambda s, C, tol, n: PowersetSSVM(s, loss="max", C=C, tol=tol, max_iter=n)),
    LabelMethod("SSVM", lambda s, C, tol, n: SSVM(s, C=C, tol=tol, max_iter=n)),
    LabelMethod("JKSE", lambda s, nu, tol, n: JointKernelSupport(s, nu=nu), NUS, constant=True),
    LabelMethod("independent", lambda s, C, tol, n: IndependentSVMs(s, C=C, tol=tol, max_iter=n)),
)
NAMES = tuple(method.name for method in METHODS)


@final
@dataclass(frozen=True)
class Limits:
    """The relative gap and the number of iterations at which every fit stops."""

    tol: float
    max_iter: int


@final
@dataclass(frozen=True, eq=False)
class LabelRows:
    """Rows X with the matrix of their true labels."""

    X: Values
    Y: Bools

    def take(self, rows: Any) -> "LabelRows":
        """Some of the rows."""
        return LabelRows(self.X[rows], self.Y[rows])


@final
@dataclass(frozen=True, eq=False)
class FitResult:
    """Scores of new rows and the time of training; for models with a certificate also their gap and objective / C."""

    scores: Values
    seconds: float
    gap: float
    bound: float


def scaled(train: LabelRows, *others: LabelRows) -> list[LabelRows]:
    """All parts with the means and deviations of the training rows, divided by ``sqrt(d)``.

    A missing value becomes the mean of its feature in the training rows, and a feature that is constant there becomes
    0; d is the number of the other features. So the mean of ``|x|^2`` is 1 in training, whatever d is.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a feature may be missing in all training rows
        mean, deviation = np.nanmean(train.X, axis=0), np.nanstd(train.X, axis=0)
    used = deviation > 1e-12
    scale = np.where(used, 1.0 / np.where(used, deviation, 1.0), 0.0) / np.sqrt(max(int(used.sum()), 1))
    return [LabelRows(np.nan_to_num((part.X - mean) * scale), part.Y) for part in (train, *others)]


def trained(
    method: LabelMethod, space: Space, parameter: float, train: LabelRows, X: Values, limits: Limits
) -> FitResult:
    """A method trained on scaled rows, and its scores of others."""
    begin, rows = time.perf_counter(), train.X
    if method.constant:
        # The others have this feature by their intercept.
        rows, X = (np.column_stack([part, np.ones(len(part))]) for part in (rows, X))
    model = method.make(space, parameter, limits.tol, limits.max_iter)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tables show the gaps and the bounds that warnings are about
        model.fit(rows, train.Y)
    seconds = time.perf_counter() - begin
    gap = getattr(model, "duality_gap_", np.nan) if method.name != "ramp" else np.nan
    bound = model.objective_ / parameter if hasattr(model, "objective_") else np.nan
    return FitResult(model.decision_function(X), seconds, gap, bound)


def measures(truth: Bools, guess: Bools, scores: Values | None = None) -> Values:
    """The six :data:`MEASURES` of each row, (n, 6); mAUC is NaN without scores and for rows without a true label.

    Rows with nothing true and nothing predicted have an F1, a precision and a recall of 1.
    """
    both, true, predicted = ((a).sum(axis=1).astype(np.float64) for a in (truth & guess, truth, guess))
    empty = np.where(true + predicted == 0, 1.0, 0.0)

    def ratio(part: Values, whole: Values) -> Values:
        return np.where(whole > 0, part / np.maximum(whole, 1.0), empty)

    area = np.full(len(truth), np.nan) if scores is None else average_precision(truth, scores)
    wrong = (truth != guess).sum(axis=1)
    rates = (ratio(2.0 * both, true + predicted), ratio(both, predicted), ratio(both, true))
    return np.column_stack([wrong > 0, wrong, area, *rates]).astype(np.float64)


def average_precision(truth: Bools, scores: Values) -> Values:
    """The average precision of each row, (n,), NaN without a true label; equal scores are passed together."""
    out = np.full(len(truth), np.nan)
    for i in np.flatnonzero(truth.any(axis=1)):
        # The ranks of a label count all labels, or all true ones, whose scores are not below its own.
        values, true = np.sort(scores[i]), np.sort(scores[i][truth[i]])
        above = len(values) - np.searchsorted(values, true, side="left")
        out[i] = np.mean((len(true) - np.searchsorted(true, true, side="left")) / above)
    return out


def choice(found: Values, by: str) -> int:
    """The place of the best of several parameters by the means of the measures, (parameters, 6).

    ``by="max loss"`` takes the least max loss, of equals that with the least sum loss; ``by="F1"`` the largest F1. Of
    equals the first is taken.
    """
    rounded = np.round(found, 12)
    if by == "F1":
        return int(np.argmax(rounded[:, 3]))
    return int(np.lexsort((np.arange(len(rounded)), rounded[:, 1], rounded[:, 0]))[0])


def mean_and_error(rows: Values) -> tuple[Values, Values]:
    """The means and standard errors over the first axis; NaN are left out, and a column of them has none."""
    counts = (~np.isnan(rows)).sum(axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        means, deviations = np.nanmean(rows, axis=0), np.nanstd(rows, axis=0, ddof=1)
    return means, deviations / np.sqrt(np.maximum(counts, 1))


def paired(first: Values, second: Values) -> tuple[Values, Values]:
    """The mean differences ``first - second`` over rows or splits, and their standard errors."""
    return mean_and_error(first - second)
