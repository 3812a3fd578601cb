"""Labels of greatest expected F, by models of each label together with the number of positives of the row."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax
from sklearn.linear_model import LogisticRegression

from setwise.core.checks import Bools, Ints, Values, as_factor
from setwise.core.loss import Loss
from setwise.decisions import gfm
from setwise.decisions.formula import formula_of
from setwise.decisions.gfm import is_affine
from setwise.decisions.task import Task
from setwise.estimators.choosing.lever import Base, Evidence, Lever, Rule
from setwise.estimators.choosing.tables import Scaling
from setwise.estimators.threads import base_threads
from setwise.losses import FBeta

MOST_LABELS = 64
"""With more labels there are too many models, and too many numbers of positives for each."""

ABSENT = -1e9
"""The score of a number of positives that did not occur."""

CELLS = 1 << 22
"""About so many probabilities are held at once."""


@final
@dataclass(frozen=True)
class GFM(Lever):
    """``argmin over h of E[loss(y, h)]`` from ``Pr(y_i = 1, number of positives = s)`` of each row (gfm).

    A multinomial logistic regression of the log-odds of all labels models, for each label i, the number of positives of
    the rows in which it is positive, and 0 elsewhere (Dembczynski et al. 2011). No label need be independent of the
    others. This is the best labeling for losses that are affine in the true positives at each number predicted, as F
    and MCC are. For all others F1 stands in: rows with a large F1 have a large Jaccard, F1 / (2 - F1), too.

    Parameters
    ----------
    C : the inverse strength of the regularizer of these models, above 0

    Raises
    ------
    ValueError : for C that is not above 0
    TypeError : for C that is no number

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise import MeasureClassifier
    >>> from setwise.estimators.levers import GFM
    >>> X, Y = make_multilabel_classification(100, n_features=5, n_classes=3, random_state=0)
    >>> model = MeasureClassifier(LogisticRegression(), "f1", [GFM()], cv=3, random_state=0).fit(X, Y)
    >>> [candidate.lever for candidate in model.candidates_]
    ['threshold', 'gfm']
    """

    C: float = 1.0

    name: ClassVar[str] = "gfm"
    many_numbers: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_factor(self.C, "C")

    def refuses(self, task: Task, base: Base) -> str | None:
        if task.layout != "samples":
            return "gfm refuses all but the rows of label matrices: it is about the labels of one row."
        if task.truth.shape[1] > MOST_LABELS:
            return f"gfm refuses {task.truth.shape[1]} labels: it takes {MOST_LABELS} at most."
        return None

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        least = 0.5 / len(task.truth)
        odds = evidence.response().log_odds(least)
        scaling = Scaling.of(odds)
        features, number = scaling(odds), task.truth.sum(axis=1)
        size = task.truth.shape[1] + 1
        targets = np.where(task.truth, number[:, None], 0)
        weights = np.stack([self._model(features, target, size) for target in targets.T])
        return ByNumber(
            _affine(task.loss, task.truth.shape[1]),
            weights,
            self._model(features, (number == 0).astype(np.int64), 2),
            scaling,
            least,
        )

    def _model(self, features: Values, target: Ints, size: int) -> Values:
        """The weights (m + 1, size) of the scores of 0..size-1, the last row for a constant feature."""
        weights = np.zeros((features.shape[1] + 1, size))
        seen = np.unique(target)
        weights[-1] = ABSENT
        weights[-1, seen] = 0.0
        if len(seen) == 1:
            return weights
        with base_threads(features):
            model = LogisticRegression(C=self.C, max_iter=500).fit(features, target)
        if len(seen) == 2:
            # Two classes share one vector, which speaks for the second of them.
            weights[:-1, seen[1]], weights[-1, seen[1]] = model.coef_[0], model.intercept_[0]
        else:
            weights[:-1, seen], weights[-1, seen] = model.coef_.T, model.intercept_
        return weights


def _affine(loss: Loss, p: int) -> Loss:
    """The loss, or F1 where it is not affine in the true positives."""
    formula = formula_of(loss, p)
    return loss if formula is not None and is_affine(formula) else FBeta()


@final
@dataclass(frozen=True, eq=False)
class ByNumber(Rule):
    """The labeling of least expected loss for multinomial models of each label and the number of positives.

    Parameters
    ----------
    loss : the loss of a row, or F1 in its place
    weights : (p, m + 1, p + 1) the models of the labels
    none : (m + 1, 2) the model of rows without a positive
    scaling : the means and deviations of the log-odds
    least : probabilities are clipped to [least, 1 - least] before their log-odds are taken
    """

    loss: Loss
    weights: Values
    none: Values
    scaling: Scaling
    least: float

    def labels(self, evidence: Evidence) -> Bools:
        features = self.scaling(evidence.response().log_odds(self.least))
        rows = np.column_stack([features, np.ones(len(features))])
        step = max(1, CELLS // self.weights[:, 0].size)
        parts = [self._of(rows[start : start + step]) for start in range(0, len(rows), step)]
        return np.concatenate(parts) if parts else np.zeros(features.shape, dtype=np.bool_)

    def _of(self, rows: NDArray[np.float64]) -> Bools:
        joint = softmax(np.einsum("nm,pms->nps", rows, self.weights, optimize=True), axis=2)[:, :, 1:]
        none = softmax(rows @ self.none, axis=1)[:, 1]
        # Where all labels are surely absent, nothing but that is left.
        none = np.where(joint.sum(axis=(1, 2)) > 0, none, 1.0)
        return np.asarray(gfm(joint, self.loss, none=none).labels)
