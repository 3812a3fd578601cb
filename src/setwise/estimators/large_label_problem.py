"""The training of labels that are too many to list, or are others for each input."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.batch import Batch
from setwise.core.checks import Bools, Values
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import LABEL_SPACES
from setwise.core.risk import Features, Risk
from setwise.core.single_labels import Flips
from setwise.core.surrogate import Surrogate
from setwise.estimators.certain import certain
from setwise.estimators.descent import Trained, Training
from setwise.estimators.large_labels import mean_loss, mean_loss_of_none
from setwise.learners import OneSlack
from setwise.risks import MeanRisk
from setwise.spaces.large_space import LargeSpace
from setwise.surrogates.ramp import Ramp
from setwise.surrogates.rescaling import MarginRescaling, MultilabelHinge, Rescaling


@final
@dataclass(frozen=True, eq=False)
class LargeLabelProblem(Training):
    """What is trained on, bound once.

    Attributes
    ----------
    space : the labels
    loss : of sets of labels
    layout : the inputs with their right labels
    bound : the model of the scores
    widths : the numbers of features of the inputs
    rescaling : of the hinge
    C : the weight of the hinge at whose minimum the ramp begins
    constant_feature : the value of the feature that all labels have, 0 for none
    """

    space: LargeSpace
    loss: Loss
    layout: Batch
    bound: Features
    widths: tuple[int, ...]
    rescaling: Rescaling
    surrogate: str | Surrogate
    C: float
    constant_feature: float
    jobs: int
    start: str = "auto"
    path: bool = False
    bare: bool = False

    @property
    def features(self) -> Features:
        """The linear model of the scores."""
        return self.bound

    @property
    def batch(self) -> Batch:
        """The inputs with their right labels."""
        return self.layout

    @property
    def weights(self) -> None:
        """All inputs have the same weight."""
        return

    @property
    def multiplications(self) -> int:
        """The number of scores; each takes a few multiplications."""
        return self.layout.n_scores

    @cached_property
    def constant(self) -> float:
        """The mean loss where no label is predicted."""
        return mean_loss_of_none(self.loss, self.layout)

    @cached_property
    def logistic(self) -> tuple[Values, float]:
        """The weights at the minimum of the hinge, and the mean size of their scores: where the ramp begins."""
        risk = MeanRisk(self.features, self.named("hinge").on(self.batch), n_jobs=self.jobs)
        w = OneSlack(C=self.C, tol=1e-2, max_iter=200).minimize(risk).w
        return w, float(np.abs(self.features.scores(w)).mean())

    @property
    def bare_start(self) -> Values:
        """The same weights."""
        return self.logistic[0]

    @property
    def ramp_alone(self) -> bool:
        """The ramp comes only where it is asked for."""
        return False

    @property
    def way_out(self) -> str:
        """What to do where a bound says nothing, in a few words."""
        return (
            "raise C if it is small, take costs that forgive close labels, as MaxLoss(Overlap()) for windows and "
            "MaxLoss(NearestHamming()) for sequences, or surrogate='ramp', which descends from here"
        )

    def named(self, name: str) -> Surrogate:
        """The surrogate of this name for the loss."""
        if name == Ramp.name:
            return Ramp(self.loss)
        if name == MarginRescaling.name:
            if isinstance(self.layout, Flips):
                raise Refusal(
                    f"surrogate='margin' refuses {type(self.space).__name__}: it goes over all sets of labels, and the "
                    "labels alone are too many to list (MLSP 4.1). Use surrogate='hinge'.",
                    LABEL_SPACES,
                )
            return MarginRescaling(self.loss)
        return MultilabelHinge(self.loss, self.rescaling)

    def convex(self) -> Surrogate:
        """The hinge of single labels where it bounds the loss; otherwise margin rescaling, for lists that differ."""
        if isinstance(self.layout, Flips):
            return self.named("hinge")
        try:
            self.named("hinge").on(self.layout)
        except Refusal:
            return self.named(MarginRescaling.name)
        return self.named("hinge")

    def usual_c(self, surrogate: Surrogate) -> float:
        """The weight of the mean risk; the predictor always names one."""
        return 1.0

    def beginning(self, risk: Risk) -> Values:
        """The minimum of the hinge."""
        return self.logistic[0]

    def certain_share(self, trained: Trained) -> float:
        """The share of the right labels, or of all where these are few, that no optimization loses any more."""
        if np.isnan(trained.radius):
            return np.nan
        features, scores = self.features, self.features.scores(trained.w)
        if not isinstance(self.layout, Flips):
            return float(certain(scores, features.row_lengths, False, trained.radius).mean())
        found = [certain_of(i, self.layout, features, trained) for i in range(len(self.layout))]
        flat = np.concatenate(found)
        return float(flat.mean()) if len(flat) else np.nan

    def loss_at(self, w: Values) -> float:
        """The mean training loss of the weights, by the best labels of each input."""
        return mean_loss(self.loss, self.layout, self.features.scores(w))


def certain_of(i: int, layout: Flips, features: Features, trained: Trained) -> Bools:
    """Which right labels of input i no optimization moves to the other side of 0, (m,)."""
    one = np.array([i])
    part = layout.take(one)
    psis = np.array([features.pullback(part.indicators(label + 1), one) for label in part.truths[0]])
    psis = psis.reshape(-1, features.size)
    return certain(psis @ trained.w, np.linalg.norm(psis, axis=1), False, trained.radius)


def refuse_listed_only(model: Any, start: Any) -> None:
    """Refuse parameters of a predictor that need a list of labels."""
    name = type(model.space).__name__
    if model.C == 0:
        raise ValueError(f"C must be above 0 for {name}, where there is no other start than w = 0; got 0.")
    if model.kernel != "linear":
        raise Refusal(
            f"kernel={model.kernel!r} refuses {name}: the features of its labels make the scores that are searched, "
            "which a kernel has for listed labels alone. Use kernel='linear', or Finite.",
            LABEL_SPACES,
        )
    if model.label_bias:
        raise Refusal(
            f"label_bias={model.label_bias:g} refuses {name}: its labels are too many for a bias each.", LABEL_SPACES
        )
    if not (isinstance(start, str) and start in ("auto", "zero")):
        raise Refusal(f"start={start!r} refuses {name}: its labels are too many to train each alone.", LABEL_SPACES)
