"""The training of a linear model on rows: its objective and its start."""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from setwise.core.attributes import cached_property
from setwise.core.batch import Batch
from setwise.core.checks import Values
from setwise.core.loss import Loss
from setwise.core.risk import Features, Risk
from setwise.core.surrogate import Surrogate
from setwise.estimators.certain import certain
from setwise.estimators.descent import Trained, Training
from setwise.estimators.grouping import Grouping, group
from setwise.estimators.learner import default_c
from setwise.estimators.logistic import Logistic
from setwise.estimators.notices import largest_number, way_from_constant
from setwise.estimators.objective import convex_surrogate, may_ramp, named_surrogate, sees_places
from setwise.estimators.splits import row_keys
from setwise.estimators.start import scaled, thresholds
from setwise.estimators.vacuous import least_constant_loss

CONVEX = ("convex", "lovasz", "margin", "slack")
"""Names of surrogates that are convex."""


@final
@dataclass(frozen=True, eq=False)
class Problem(Training):
    """What is trained on, bound once; :meth:`solve` may be called for several weights C.

    Attributes
    ----------
    X, target : the rows
    grouping : the sets of the rows
    score_loss : the loss that is reported
    loss : the loss that is trained for, with weighted classes
    surrogate : a name, or an object that brings its own loss
    start : ``"auto"``, ``"zero"``, ``"logistic"``, or a logistic regression
    average : what a set is in a label matrix
    intercept : the value of the constant feature, 0 for none
    row_weights : the weight of each row, (n,), or None
    jobs : the number of threads
    path : whether it is solved for several C, so that planes are remembered
    bare : whether C = 0 leaves logistic regression without a threshold, because one is chosen afterwards: thresholds of
        several folds would differ by noise
    plain : whether logistic regression takes the features as they are, without a scale
    ids : the set of each row, (n,), where groups are given
    """

    X: Any
    target: NDArray[Any]
    grouping: Grouping
    score_loss: Loss
    loss: Loss
    surrogate: str | Surrogate
    start: str | LogisticRegression
    average: str
    intercept: float
    row_weights: Any
    jobs: int
    path: bool = False
    bare: bool = False
    plain: bool = False
    ids: NDArray[np.int64] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of decisions and thresholds: (n,), or (n, p) for a label matrix."""
        shape: tuple[int, ...] = self.target.shape
        return shape if self.grouping.is_matrix else shape[:1]

    def in_order(self, in_folds: bool = False) -> "Problem":
        """The same problem with its rows in an order that follows from the rows, whatever order they are given in.

        Then neither folds nor ties nor rounding depend on that order. Rows whose order means something to the loss keep
        it, and so do those of a convex surrogate from w = 0, whose objective is certified in any order, unless they are
        to be held out ``in_folds``. X is copied.
        """
        name = self.surrogate if isinstance(self.surrogate, str) else self.surrogate.name
        certified = name in CONVEX and self.start in ("auto", "zero") and not (self.bare or in_folds)
        if certified or sees_places(self.surrogate, self.score_loss, self.loss):
            return self
        weights = None if self.weights is None else np.asarray(self.row_weights, dtype=np.float64)
        labels = np.unique(self.target, return_inverse=True)[1].reshape(len(self.target), -1)
        outer = [] if self.ids is None else [self.ids]
        order = np.lexsort([*([] if weights is None else [weights]), *labels.T, row_keys(self.X), *outer])
        if (order[1:] > order[:-1]).all():
            return self
        X, target = self.X[order], self.target[order]
        ids = None if self.ids is None else self.ids[order]
        weights = None if weights is None else weights[order]
        grouping = group(target, ids, self.average, self.grouping.classes)
        return replace(self, X=X, target=target, grouping=grouping, ids=ids, row_weights=weights)

    @property
    def multiplications(self) -> int:
        """The number of multiplications for all scores."""
        return int(self.X.shape[0]) * int(self.X.shape[1]) * self.grouping.outputs

    @property
    def batch(self) -> Batch:
        """The sets with their true labels."""
        return self.grouping.batch

    @cached_property
    def features(self) -> Features:
        """The linear model of the scores."""
        return self.grouping.features(self.X, self.intercept)

    @cached_property
    def weights(self) -> Values | None:
        """The weight of each set."""
        return self.grouping.weights(self.row_weights, self.X.shape[0])

    @cached_property
    def logistic(self) -> tuple[Values, float]:
        """The weights of logistic regression with the best threshold of the loss, and the mean size of its scores.

        Where C of logistic regression is chosen on held-out rows, so is the threshold, unless a constant labeling is as
        good as it in training.
        """
        found = self._regression
        scores = found.scores(self.X)
        w, size = self._at_threshold(found, scores, scores if found.held_out is None else found.held_out)
        if found.held_out is not None and self.loss_at(w) >= self.constant:
            w, size = self._at_threshold(found, scores, scores)
        return w, size

    @cached_property
    def _regression(self) -> Logistic:
        rows = self.X, self.grouping, self.target, self.row_weights
        return Logistic(*rows, self.intercept != 0.0, None if isinstance(self.start, str) else self.start, self.plain)

    @property
    def bare_start(self) -> Values:
        """The weights of logistic regression as it is."""
        coef, intercept = self._regression.coef, self._regression.intercept
        return np.ravel(np.column_stack([coef, intercept / self.intercept]) if self.intercept else coef)

    def _at_threshold(self, found: Logistic, scores: Values, chosen_on: Values) -> tuple[Values, float]:
        """The weights with the best threshold of the scores ``chosen_on``, and the mean size of ``scores`` with it."""
        if self.intercept == 0.0:
            return found.coef.ravel(), float(np.abs(scores).mean())
        best = thresholds(self.loss, self.grouping, self.average, chosen_on)
        coef = np.column_stack([found.coef, (found.intercept - best) / self.intercept])
        return coef.ravel(), float(np.abs(scores - best).mean())

    @cached_property
    def constant(self) -> float:
        """The mean loss of the best constant labeling."""
        return least_constant_loss(self.loss, self.grouping, self.omega)

    @property
    def way_out(self) -> str:
        """What to do where a bound says nothing, in a few words."""
        return way_from_constant(largest_number(self.X), super().way_out)

    def named(self, name: str) -> Surrogate:
        """The surrogate of this name for the loss."""
        return named_surrogate(name, self.loss, self.grouping)

    def usual_c(self, surrogate: Surrogate) -> float:
        """The weight of the mean risk that ``C="auto"`` stands for."""
        return default_c(surrogate, *self.X.shape)

    def convex(self) -> Surrogate:
        """The Lovász hinge where the loss is submodular, otherwise margin rescaling."""
        return convex_surrogate(self.loss, self.grouping)

    def beginning(self, risk: Risk) -> Values:
        """The start :attr:`logistic`, at a scale that suits the risk."""
        return scaled(risk, *self.logistic)

    def certain_share(self, trained: Trained, shift: Any) -> float:
        """The share of the training decisions, from scores less ``shift``, that no optimization changes any more."""
        if np.isnan(trained.radius):
            return np.nan
        scores, lengths = self.features.scores(trained.w), self.features.row_lengths
        if self.grouping.layout == "classes":
            k = self.grouping.outputs
            return float(certain(scores.reshape(-1, k), lengths[::k], True, trained.radius).mean())
        if self.grouping.is_matrix:
            shift = self.grouping.flat(np.broadcast_to(shift, self.target.shape))
        return float(certain(scores - shift, lengths, False, trained.radius).mean())

    @property
    def ramp_alone(self) -> bool:
        """Whether ``"auto"`` is the ramp from the beginning.

        On real tables the bound of one set says something mostly where the convex model fits its rows too closely.
        """
        single = self.surrogate == "auto" and self.start != "zero" and len(self.grouping.batch) == 1
        return single and may_ramp(self.loss, self.grouping)

    def loss_at(self, w: Values) -> float:
        """The mean training loss of the weights."""
        scores, batch = self.features.scores(w), self.grouping.batch
        predictions = scores if self.loss.reads == "scores" else batch.decide(scores)
        return float(self.omega @ self.loss.values(batch, predictions))
