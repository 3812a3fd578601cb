"""The training of labels that are too many to list, or are others for each input."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from setwise.core.arrays import Ints, Values
from setwise.core.batch import Batch
from setwise.core.checks import as_number
from setwise.core.evaluator import Surrogate
from setwise.core.features import Features
from setwise.core.flip_costs import FlipCosts
from setwise.core.flips import Flips
from setwise.core.measure import Loss
from setwise.core.refusal import Refusal
from setwise.core.risk import Risk
from setwise.core.structure import Structure
from setwise.estimators.descent import Training
from setwise.estimators.threads import threads
from setwise.inference.auto import Auto
from setwise.learners import OneSlack
from setwise.risks import MeanRisk
from setwise.spaces.large_space import LargeSpace, Scored
from setwise.surrogates.margin_rescaling import MarginRescaling
from setwise.surrogates.multilabel_hinge import MultilabelHinge, Rescaling
from setwise.surrogates.ramp import Ramp

LABELS = 100
"""So many labels of an input with scores above 0 are looked at for the loss."""


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
    rescaling : of the hinge
    C : the weight of the hinge at whose minimum the ramp begins
    """

    space: LargeSpace
    loss: Loss
    layout: Batch
    bound: Features
    rescaling: Rescaling
    surrogate: str | Surrogate
    C: float
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
        return self._mean_loss([np.zeros((0, int(width)), np.int64) for width in self.layout.sizes])

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

    def named(self, name: str) -> Surrogate:
        """The surrogate of this name for the loss."""
        if name == Ramp.name:
            return Ramp(self.loss)
        if name == MarginRescaling.name:
            if isinstance(self.layout, Flips):
                raise Refusal(
                    f"surrogate='margin' refuses {type(self.space).__name__}: it goes over all sets of labels, and the "
                    "labels alone are too many to list (MLSP 4.1). Use surrogate='hinge'."
                )
            return MarginRescaling(self.loss)
        return MultilabelHinge(self.loss, self.rescaling)

    def convex(self) -> Surrogate:
        """The hinge of single labels."""
        return self.named("hinge")

    def usual_c(self, surrogate: Surrogate) -> float:
        """The weight of the mean risk; the predictor always names one."""
        return 1.0

    def beginning(self, risk: Risk) -> Values:
        """The minimum of the hinge."""
        return self.logistic[0]

    def loss_at(self, w: Values) -> float:
        """The mean training loss of the weights, by the best labels of each input."""
        return self.loss_of_scores(self.features.scores(w))

    def loss_of_scores(self, scores: Values) -> float:
        """The mean loss of the labels with scores above 0, at most 100 for each input."""
        if not isinstance(self.layout, Flips):
            return float(self.loss.values(self.layout, scores > 0.0).mean())
        found = Auto().prepare(Structure(self.layout.to_predict())).above(scores, 0.0, LABELS)
        widths = self.layout.sizes.tolist()
        rows = [[one.labels - 1 for one in labels] for labels in found]
        return self._mean_loss([np.array(r, np.int64).reshape(-1, w) for r, w in zip(rows, widths, strict=True)])

    def _mean_loss(self, predicted: Sequence[Ints]) -> float:
        """The mean loss of lists of labels, (m, width) each."""
        if not isinstance(self.layout, Flips):
            return float(self.loss.values(self.layout, np.zeros(self.layout.total, dtype=bool)).mean())
        term = self.loss.structure(self.layout).terms[0]
        assert isinstance(term, FlipCosts)
        losses = [_largest(self.layout, term, i, labels) for i, labels in enumerate(predicted)]
        return float(np.mean(losses))


def _largest(batch: Flips, costs: FlipCosts, i: int, labels: Ints) -> float:
    """The largest cost of a label of input i that is right or predicted, but not both."""
    right, found = batch.truths[i], {row.tobytes() for row in labels}
    known = {row.tobytes() for row in right}
    missed = [row for row in right if row.tobytes() not in found]
    wrong = np.array([*missed, *(row for row in labels if row.tobytes() not in known)], np.int64)
    if not len(wrong):
        return 0.0
    return float(costs.factor * costs.of(batch, i, wrong).max())


def large_problem(model: Any, loss: Loss, X: Any, Y: Any) -> LargeLabelProblem:
    """What the predictor ``model`` trains on, or measures."""
    layout, features = model.space.bind(X, Y, constant_of(model))
    # Independent training cannot go over all labels, so "auto" stays at the hinge, with a warning where it is vacuous.
    surrogate = "convex" if isinstance(model.surrogate, str) and model.surrogate == "auto" else model.surrogate
    C, jobs = float(model.C), threads(model.n_jobs)
    return LargeLabelProblem(model.space, loss, layout, features, model.rescaling, surrogate, C, jobs)


def constant_of(model: Any) -> float:
    """The value of the feature that all labels have, 0 for none."""
    return as_number(model.intercept_scaling, "intercept_scaling") if model.fit_intercept else 0.0


def refuse_listed_only(model: Any) -> None:
    """Refuse parameters of the predictor that need a list of labels."""
    name = type(model.space).__name__
    if model.kernel != "linear":
        raise Refusal(
            f"kernel={model.kernel!r} refuses {name}: the features of its labels make the scores that are searched, "
            "which a kernel has for listed labels alone. Use kernel='linear', or Finite."
        )
    if model.label_bias:
        raise Refusal(f"label_bias={model.label_bias:g} refuses {name}: its labels are too many for a bias each.")
    if not (isinstance(model.start, str) and model.start in ("auto", "zero")):
        raise Refusal(f"start={model.start!r} refuses {name}: its labels are too many to train each alone.")


def best_labels(
    space: LargeSpace, X: Any, w: Values, constant: float, limit: int, threshold: float
) -> list[list[Scored]]:
    """The labels of inputs with scores above ``threshold``, best first, and at most ``limit`` of each."""
    layout, features = space.bind(X, None, constant)
    return space.best(layout, features.scores(w), limit, threshold)


def named(found: list[list[Scored]]) -> list[list[Any]]:
    """The labels without their scores."""
    return [[label for label, _ in row] for row in found]
