"""The training of labels that may share weights: its objective, and its start at independent labels."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from setwise.core.arrays import Values
from setwise.core.batch import Batch
from setwise.core.evaluator import Surrogate
from setwise.core.features import Features
from setwise.core.refusal import Refusal
from setwise.core.risk import Risk
from setwise.estimators.certain import certain
from setwise.estimators.descent import Trained, Training
from setwise.estimators.start import scaled
from setwise.estimators.training import Problem
from setwise.models import JointLabels, MultiLabel
from setwise.surrogates.margin_rescaling import MarginRescaling
from setwise.surrogates.multilabel_hinge import MultilabelHinge, Rescaling
from setwise.surrogates.ramp import Ramp


@final
@dataclass(frozen=True, eq=False)
class LabelProblem(Training):
    """What is trained on, bound once.

    Attributes
    ----------
    alone : the same rows, where each label has weights of its own
    kappa : the features of labels, (p, q), or None for the identity
    intercept, bias : the values of the constant features of rows and of labels, 0 for none
    rescaling : of the hinge
    """

    alone: Problem
    kappa: Values | None
    intercept: float
    bias: float
    rescaling: Rescaling
    surrogate: str | Surrogate
    start: Any
    jobs: int
    path: bool = False
    bare: bool = False

    @cached_property
    def features(self) -> Features:
        """The linear model of the scores."""
        return features_of(self.alone.X, len(self.alone.grouping.classes), self.kappa, self.intercept, self.bias)

    @property
    def batch(self) -> Batch:
        """The rows as sets of their true labels."""
        return self.alone.batch

    @property
    def weights(self) -> None:
        """All rows have the same weight."""
        return

    @property
    def multiplications(self) -> int:
        """The number of multiplications for all scores."""
        return self.alone.multiplications

    @property
    def constant(self) -> float:
        """The mean loss of the best constant set of labels."""
        return self.alone.constant

    @cached_property
    def logistic(self) -> tuple[Values, float]:
        """Weights with the scores of logistic regression of each label alone, or close to them, and their mean size.

        Scores that labels with shared weights cannot have are met by least squares.
        """
        w = self.alone.logistic[0]
        if isinstance(self.features, JointLabels):
            own, p = w.reshape(len(self.features.kappa), -1), len(self.features.kappa)
            split = own.shape[1] - (self.bias > 0.0 and self.intercept == 0.0)
            shared = np.linalg.lstsq(self.features.kappa, own[:, :split], rcond=None)[0]
            rest = np.zeros(p) if self.bias == 0.0 else own[:, -1]
            if self.bias > 0.0 and self.intercept > 0.0:
                rest = (rest - self.features.kappa @ shared[:, -1]) * self.intercept / self.bias
            w = np.append(shared, rest if self.bias > 0.0 else [])
        return w, float(np.abs(self.features.scores(w)).mean())

    @property
    def bare_start(self) -> Values:
        """The same weights, with their thresholds."""
        return self.logistic[0]

    @property
    def ramp_alone(self) -> bool:
        """The hinge comes before the ramp."""
        return False

    def named(self, name: str) -> Surrogate:
        """The surrogate of this name for the loss."""
        loss = self.alone.loss
        if name == Ramp.name:
            return Ramp(loss)
        return MarginRescaling(loss) if name == MarginRescaling.name else MultilabelHinge(loss, self.rescaling)

    def convex(self) -> Surrogate:
        """The hinge of single labels where it bounds the loss, otherwise margin rescaling over sets of labels."""
        try:
            self.named("hinge").on(self.batch)
        except Refusal:
            return self.named(MarginRescaling.name)
        return self.named("hinge")

    def usual_c(self, surrogate: Surrogate) -> float:
        """The weight of the mean risk; the predictor always names one."""
        return 1.0

    def beginning(self, risk: Risk) -> Values:
        """The start :attr:`logistic`, at a scale that suits the risk."""
        return scaled(risk, *self.logistic)

    def loss_at(self, w: Values) -> float:
        """The mean training loss of the weights."""
        return float(self.alone.loss.values(self.batch, self.features.scores(w) > 0.0).mean())

    def certain_share(self, trained: Trained) -> float:
        """The share of the training decisions that no optimization changes any more; nan where none is certified."""
        if np.isnan(trained.radius):
            return np.nan
        features = self.features
        return float(certain(features.scores(trained.w), features.row_lengths, False, trained.radius).mean())


def features_of(X: Any, p: int, kappa: Values | None, intercept: float, bias: float) -> Features:
    """The model of the scores of p labels for each row of X, which is a set."""
    ends = np.arange(X.shape[0] + 1)
    if kappa is None and bias == 0.0:
        return MultiLabel(X, p, ends, intercept=intercept)
    return JointLabels(X, np.eye(p) if kappa is None else kappa, ends, intercept, bias=bias)
