"""The training of labels that may share weights: its objective, and its start at independent labels.

Labels may be too many to list, or others for each input; then the loss of those that are predicted is another.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.batch import Batch
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Ints, Values
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import KERNELS, LABEL_SPACES
from setwise.core.risk import Features, Risk
from setwise.core.single_labels import FlipCosts, Flips
from setwise.core.surrogate import Surrogate
from setwise.estimators.base import SMALL, largest_number
from setwise.estimators.linear_training import BatchTraining, LinearFit, certain
from setwise.estimators.set_training import SetProblem
from setwise.inference.auto import Auto
from setwise.learners import OneSlack
from setwise.models import JointLabels, MultilabelModel, RowModel
from setwise.models.kernel_features import JointKernel, Kernel, PairBasis, RowBasis
from setwise.risks import MeanRisk
from setwise.spaces.large_space import LargeSpace, Scored
from setwise.surrogates.ramp import Ramp
from setwise.surrogates.rescaling import MarginRescaling, MultilabelHinge, Rescaling


@final
@dataclass(frozen=True, eq=False)
class LabelModel:
    """``f(x, y)`` as a linear model: the features of rows with each label.

    Attributes
    ----------
    names : the p labels
    kappa : the features of labels, (p, q), or None for the identity
    intercept, bias : the values of the constant features of rows and of labels, 0 for none
    basis : of a kernel of rows, or of rows with labels, which then stands for kappa too; None for the linear kernel
    """

    names: tuple[Any, ...]
    kappa: Values | None
    intercept: float
    bias: float
    basis: RowBasis | PairBasis | None = None

    def features(self, X: Any) -> Features:
        """The model of the scores of all labels for each row of X, which is a set."""
        if isinstance(self.basis, PairBasis):
            return self.of_coordinates(self.basis.coordinates(X, self.names))
        return self.of_coordinates(X if self.basis is None else self.basis.coordinates(X))

    def of_coordinates(self, rows: Any) -> Features:
        """The same for X itself, or for the features of its rows, or of these with each label, that a kernel has."""
        p = len(self.names)
        if isinstance(self.basis, PairBasis):
            return RowModel(rows, p * np.arange(len(rows) // p + 1), self.intercept)
        ends = np.arange(rows.shape[0] + 1)
        if self.kappa is None and self.bias == 0.0:
            return MultilabelModel(rows, p, ends, intercept=self.intercept)
        kappa = np.eye(p) if self.kappa is None else self.kappa
        return JointLabels(rows, kappa, ends, self.intercept, bias=self.bias)

    def split(self, w: Values) -> tuple[Values, Values, Values]:
        """The weights W (q, d), b (q,) and c (p,); those of a kernel of rows with labels are one row, (1, r)."""
        p, q = len(self.names), len(self.names) if self.kappa is None else self.kappa.shape[1]
        end = len(w) - (p if self.bias else 0)
        rows = w[:end].reshape(1 if isinstance(self.basis, PairBasis) else q, -1)
        d = rows.shape[1] - (self.intercept > 0.0)
        b = self.intercept * rows[:, d] if self.intercept else np.zeros(len(rows))
        return rows[:, :d].copy(), b, self.bias * w[end:] if self.bias else np.zeros(p)

    def joined(self, W: Values, b: Values, c: Values) -> Values:
        """The weights of which :meth:`split` makes these."""
        rows = np.column_stack([W, b / self.intercept]) if self.intercept else W
        return np.append(rows, c / self.bias) if self.bias else rows.ravel()


class LabelTraining(BatchTraining):
    """The training of labels for the hinge of single labels, or for margin rescaling or the ramp over sets of them.

    Attributes
    ----------
    loss : of sets of labels
    rescaling : of the hinge
    """

    loss: Loss
    rescaling: Rescaling

    def named(self, name: str) -> Surrogate:
        """The surrogate of this name for the loss."""
        if name == Ramp.name:
            return Ramp(self.loss)
        if name == MarginRescaling.name:
            return MarginRescaling(self.loss)
        return MultilabelHinge(self.loss, self.rescaling)

    def convex(self) -> Surrogate:
        """The hinge of single labels where it bounds the loss; otherwise margin rescaling over sets of labels."""
        hinge = self.named("hinge")
        try:
            hinge.on(self.batch)
        except Refusal:
            return self.named(MarginRescaling.name)
        return hinge

    def loss_at(self, w: Values) -> float:
        """The mean training loss of the weights, in large spaces by the best labels of each input."""
        return mean_loss(self.loss, self.batch, self.features.scores(w))


@final
@dataclass(frozen=True, eq=False)
class LabelProblem(LabelTraining):
    """What is trained on, bound once.

    Attributes
    ----------
    alone : the same rows, where each label has weights of its own; or all rows with each label, where a kernel joins
        them
    model : the linear model of the scores
    rescaling : of the hinge
    """

    alone: SetProblem
    model: LabelModel
    rescaling: Rescaling
    surrogate: str | Surrogate
    start: Any
    jobs: int

    @cached_property
    def features(self) -> Features:
        """The linear model of the scores."""
        return self.model.of_coordinates(self.alone.X)

    @property
    def loss(self) -> Loss:  # type: ignore[override]
        """The loss of sets of labels."""
        return self.alone.loss

    @property
    def batch(self) -> Batch:
        """The rows as sets of their true labels."""
        return self.alone.batch

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
            w = self._shared(w.reshape(len(self.features.kappa), -1), self.features.kappa)
        return w, float(np.abs(self.features.scores(w)).mean())

    def _shared(self, own: Values, kappa: Values) -> Values:
        """Weights of labels that share them, as close as they can be to weights of labels alone."""
        intercept, bias = self.model.intercept, self.model.bias
        split = own.shape[1] - (bias > 0.0 and intercept == 0.0)
        shared = np.linalg.lstsq(kappa, own[:, :split], rcond=None)[0]
        rest = np.zeros(len(kappa)) if bias == 0.0 else own[:, -1]
        if bias > 0.0 and intercept > 0.0:
            rest = (rest - kappa @ shared[:, -1]) * intercept / bias
        return np.append(shared, rest if bias > 0.0 else [])

    @property
    def way_out(self) -> str:
        """What to do where a bound says nothing, in a few words."""
        return super().way_out if self.model.basis is not None else self.alone.way_out

    def is_lost_in_small_rows(self, w: Values) -> bool:
        """Whether features are too small for the weights, so that all rows get the same labels, which they have not."""
        if self.model.basis is not None or not 0.0 < largest_number(self.alone.X) < SMALL:
            return False
        found = (self.features.scores(w) > 0.0).reshape(self.alone.target.shape)
        return bool((found == found[0]).all() and (self.alone.target != self.alone.target[0]).any())


def as_basis(kernel: Any, X: Any, names: tuple[Any, ...], bias: float) -> tuple[RowBasis | PairBasis | None, Any]:
    """The basis of a kernel, and the coordinates of the rows of X, or of these with each label, in it."""
    if isinstance(kernel, JointKernel):
        if bias:
            raise Refusal(f"label_bias={bias:g} refuses {kernel!r}: a kernel of labels has its own constant.", KERNELS)
        return kernel.basis(X, names)
    if isinstance(kernel, str):
        return None, X
    return (kernel if isinstance(kernel, Kernel) else Kernel(kernel)).basis(X)


LABELS = 100
"""So many labels of an input with scores above 0 are looked at where no other number is given."""


def mean_loss(loss: Loss, layout: Batch, scores: Values) -> float:
    """The mean loss of the labels with scores above 0; where costs are not 0 and 1, of 100 for each input at most."""
    if not isinstance(layout, Flips):
        return float(loss.values(layout, scores > 0.0).mean())
    bound_loss = loss.bind(layout)
    costs = bound_loss.terms[0]
    if isinstance(costs, FlipCosts) and costs.binary:
        # A label that costs 1 is above 0 and wrong where the hinge is above 1.
        wrong = Auto().prepare(bound_loss, slack=True).maximize(scores).values > costs.factor * (1.0 + 1e-12)
        return costs.factor * float(np.mean(wrong | _misses(layout, scores)))
    found = Auto().prepare(BoundLoss(layout.to_predict())).above(scores, 0.0, LABELS)
    widths = layout.sizes.tolist()
    rows = [
        np.array([one.labels for one in row], np.int64).reshape(-1, w) - 1 for row, w in zip(found, widths, strict=True)
    ]
    return _mean_of_lists(loss, layout, rows)


def _misses(layout: Flips, scores: Values) -> Bools:
    """Whether a right label of each input is not above 0, (n,)."""
    own = np.split(scores, layout.score_offsets[1:-1])
    found = [
        bool((layout.label_scores(i, part, rows) <= 0.0).any()) if len(rows) else False
        for i, (part, rows) in enumerate(zip(own, layout.truths, strict=True))
    ]
    return np.array(found)


def _mean_of_lists(loss: Loss, layout: Flips, predicted: Sequence[Ints]) -> float:
    """The mean loss of lists of labels, (m, width) each."""
    return float(np.mean(losses_of_lists(loss, layout, predicted)))


def losses_of_lists(loss: Loss, layout: Flips, predicted: Sequence[Ints]) -> Values:
    """The loss of the list of labels of each input, (n,)."""
    term = loss.bind(layout).terms[0]
    assert isinstance(term, FlipCosts)
    return np.array([_largest(layout, term, i, labels) for i, labels in enumerate(predicted)])


def _largest(batch: Flips, costs: FlipCosts, i: int, labels: Ints) -> float:
    """The largest cost of a label of input i that is right or predicted, but not both."""
    right, found = batch.truths[i], {row.tobytes() for row in labels}
    known = {row.tobytes() for row in right}
    missed = [row for row in right if row.tobytes() not in found]
    wrong = np.array([*missed, *(row for row in labels if row.tobytes() not in known)], np.int64)
    if not len(wrong):
        return 0.0
    return float(costs.factor * costs.of(batch, i, wrong).max())


def right_pairs(layout: Batch, features: Features) -> Values:
    """The features psi(x_i, y) of every input with each of its right labels, (pairs, d)."""
    return np.concatenate([right_pairs_of(i, layout, features) for i in range(len(layout))])


def right_pairs_of(i: int, layout: Batch, features: Features) -> Values:
    """Those of input i, (m, d)."""
    one = np.array([i])
    part = layout.take(one)
    if isinstance(part, Flips):
        rows = [part.indicators((label + 1).ravel()) for label in part.truths[0]]
    else:
        rows = list(np.eye(part.total)[part.truth])
    return np.array([features.pullback(row, one) for row in rows]).reshape(-1, features.size)


def lowered(layout: Batch, scores: Values, threshold: float) -> Values:
    """Scores by which each label has its score less ``threshold``."""
    if not isinstance(layout, Flips):
        return scores - threshold
    # The last score of an input is that of the constant, which all its labels have.
    lower = scores.copy()
    lower[layout.score_offsets[1:] - 1] -= threshold
    return lower


def named(found: list[list[Scored]]) -> list[list[Any]]:
    """The labels without their scores."""
    return [[label for label, _ in row] for row in found]


@final
@dataclass(frozen=True, eq=False)
class LargeLabelProblem(LabelTraining):
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

    @property
    def features(self) -> Features:
        """The linear model of the scores."""
        return self.bound

    @property
    def batch(self) -> Batch:
        """The inputs with their right labels."""
        return self.layout

    @property
    def multiplications(self) -> int:
        """The number of scores; each takes a few multiplications."""
        return self.layout.n_scores

    @cached_property
    def constant(self) -> float:
        """The mean loss where no label is predicted."""
        layout = self.layout
        if not isinstance(layout, Flips):
            return float(self.loss.values(layout, np.zeros(layout.total, dtype=bool)).mean())
        return _mean_of_lists(self.loss, layout, [np.zeros((0, int(width)), np.int64) for width in layout.sizes])

    @cached_property
    def logistic(self) -> tuple[Values, float]:
        """The weights at the minimum of the hinge, and the mean size of their scores: where the ramp begins."""
        risk = MeanRisk(self.features, self.named("hinge").on(self.batch), n_jobs=self.jobs)
        w = OneSlack(C=self.C, tol=1e-2, max_iter=200).minimize(risk).w
        return w, float(np.abs(self.features.scores(w)).mean())

    @property
    def way_out(self) -> str:
        """What to do where a bound says nothing, in a few words."""
        return (
            "raise C if it is small, take costs that forgive close labels, such as MaxLoss(Overlap()) for windows and "
            "MaxLoss(NearestHammingCosts()) for sequences, or surrogate='ramp', which continues from here"
        )

    def named(self, name: str) -> Surrogate:
        """The surrogate of this name for the loss."""
        if name == MarginRescaling.name and isinstance(self.layout, Flips):
            raise Refusal(
                f"surrogate='margin' refuses {type(self.space).__name__}: it goes over all sets of labels, and the "
                "labels alone are too many to list (MLSP 4.1). Use surrogate='hinge'.",
                LABEL_SPACES,
            )
        return super().named(name)

    def convex(self) -> Surrogate:
        """The hinge of single labels where it bounds the loss; otherwise margin rescaling, for lists that differ."""
        return self.named("hinge") if isinstance(self.layout, Flips) else super().convex()

    def beginning(self, risk: Risk) -> Values:
        """The minimum of the hinge."""
        return self.logistic[0]

    def certain_decisions(self, trained: LinearFit, shift: Any) -> Bools:
        """Which right labels, or of all where these are few, no optimization moves to the other side of 0."""
        if not isinstance(self.layout, Flips):
            return super().certain_decisions(trained, shift)
        found = []
        for i in range(len(self.layout)):
            psis = right_pairs_of(i, self.layout, self.features)
            found.append(certain(psis @ trained.w, np.linalg.norm(psis, axis=1), False, trained.radius))
        return np.concatenate(found)


def refuse_listed_only(model: Any) -> None:
    """Refuse parameters of a predictor that need a list of labels."""
    name, start = type(model.space).__name__, model.start
    if model.C == 0:
        raise ValueError(f"C must be above 0 for {name}, which can only start at w = 0; got 0.")
    if model.kernel != "linear":
        raise Refusal(
            f"kernel={model.kernel!r} refuses {name}: its scores are searched through features of its labels, and a "
            "kernel works only for listed labels. Use kernel='linear', or FiniteSpace.",
            LABEL_SPACES,
        )
    if model.label_bias:
        raise Refusal(
            f"label_bias={model.label_bias:g} refuses {name}: it has too many labels for one bias each.", LABEL_SPACES
        )
    if not (isinstance(start, str) and start in ("auto", "zero")):
        raise Refusal(f"start={start!r} refuses {name}: it has too many labels to train each one alone.", LABEL_SPACES)
