"""The training of labels that may share weights: its objective, and its start at independent labels."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.batch import Batch
from setwise.core.checks import Values
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import KERNELS
from setwise.core.risk import Features, Risk
from setwise.core.surrogate import Surrogate
from setwise.estimators.certain import certain
from setwise.estimators.descent import Trained, Training
from setwise.estimators.notices import SMALL, largest_number
from setwise.estimators.start import scaled
from setwise.estimators.training import Problem
from setwise.models import Independent, JointLabels, MultiLabel
from setwise.models.kernel_features import JointKernel, Kernel, PairBasis, RowBasis
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
        return self.of_coordinates(self.coordinates(X))

    def coordinates(self, X: Any) -> Any:
        """X itself, or the features of its rows, or of these with each label, that a kernel has."""
        if isinstance(self.basis, PairBasis):
            return self.basis.coordinates(X, self.names)
        return X if self.basis is None else self.basis.coordinates(X)

    def of_coordinates(self, rows: Any) -> Features:
        """The model where these are known."""
        p = len(self.names)
        if isinstance(self.basis, PairBasis):
            return Independent(rows, p * np.arange(len(rows) // p + 1), self.intercept)
        ends = np.arange(rows.shape[0] + 1)
        if self.kappa is None and self.bias == 0.0:
            return MultiLabel(rows, p, ends, intercept=self.intercept)
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


@final
@dataclass(frozen=True, eq=False)
class LabelProblem(Training):
    """What is trained on, bound once.

    Attributes
    ----------
    alone : the same rows, where each label has weights of its own; or all rows with each label, where a kernel joins
        them
    model : the linear model of the scores
    bound : the model bound to the rows
    rescaling : of the hinge
    """

    alone: Problem
    model: LabelModel
    bound: Features
    rescaling: Rescaling
    surrogate: str | Surrogate
    start: Any
    jobs: int
    path: bool = False
    bare: bool = False

    @property
    def features(self) -> Features:
        """The linear model of the scores."""
        return self.bound

    @property
    def loss(self) -> Loss:
        """The loss of sets of labels."""
        return self.alone.loss

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
    def bare_start(self) -> Values:
        """The same weights, with their thresholds."""
        return self.logistic[0]

    @property
    def ramp_alone(self) -> bool:
        """The hinge comes before the ramp."""
        return False

    @property
    def way_out(self) -> str:
        """What to do where a bound says nothing, in a few words."""
        return super().way_out if self.model.basis is not None else self.alone.way_out

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

    def is_lost_in_small_rows(self, w: Values) -> bool:
        """Whether features are too small for the weights, so that all rows get the same labels, which they have not."""
        if self.model.basis is not None or not 0.0 < largest_number(self.alone.X) < SMALL:
            return False
        found = (self.features.scores(w) > 0.0).reshape(self.alone.target.shape)
        return bool((found == found[0]).all() and (self.alone.target != self.alone.target[0]).any())

    def certain_share(self, trained: Trained) -> float:
        """The share of the training decisions that no optimization changes any more; nan where none is certified."""
        if np.isnan(trained.radius):
            return np.nan
        features = self.features
        return float(certain(features.scores(trained.w), features.row_lengths, False, trained.radius).mean())


def as_basis(kernel: Any, X: Any, names: tuple[Any, ...], bias: float) -> tuple[RowBasis | PairBasis | None, Any]:
    """The basis of a kernel, and the coordinates of the rows of X, or of these with each label, in it."""
    if isinstance(kernel, JointKernel):
        if bias:
            raise Refusal(
                f"label_bias={bias:g} refuses {kernel!r}: a kernel of labels holds a constant of its own.", KERNELS
            )
        return kernel.basis(X, names)
    if isinstance(kernel, str):
        return None, X
    return (kernel if isinstance(kernel, Kernel) else Kernel(kernel)).basis(X)
