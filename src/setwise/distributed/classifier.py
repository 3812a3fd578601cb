"""A linear classifier for measures of sets whose rows lie in several places.

Its training is that of other linear estimators; the start and the losses are found in passes over the places.
"""

from contextlib import suppress
from dataclasses import dataclass
from inspect import signature
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted

from setwise.core.attributes import cached_property
from setwise.core.checkpoint import opened
from setwise.core.checks import Bools, Values
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import PLACES_REFUSE
from setwise.core.surrogate import Surrogate
from setwise.core.terms import Trait
from setwise.distributed.decisions import best_threshold_of
from setwise.distributed.rows import PlacedRows, fingerprints, mean_loss_of
from setwise.estimators.base import CONSTRAINTS, SHORT, LinearSetClassifier, way_from_constant, with_parameters
from setwise.estimators.linear_training import Training, keep_certificates, solve
from setwise.estimators.objective import default_c, plain_surrogate
from setwise.estimators.set_classifier import SetClassifier
from setwise.estimators.set_training import about, near_scores, refuse_tiny
from setwise.losses import as_loss
from setwise.models import RowBlock
from setwise.risks import DistributedRisk
from setwise.risks.distributed_risk import tree_sum
from setwise.risks.places import PlacedObjects, Places
from setwise.surrogates.lovasz_hinge import LovaszHinge
from setwise.surrogates.rescaling import MarginRescaling

STEPS = 100
"""The most steps of logistic regression: it is a start, and no more, so it need not converge."""


@final
class PlacedLogistic:
    """``sum log(1 + exp(-t f(x))) + 0.5 |coef|^2`` over scaled features, as weights for features that are not scaled.

    It is minimized by L-BFGS; each step is one pass over the rows at all places.

    Parameters
    ----------
    places, rows, truth : the :class:`~setwise.models.RowBlock` and the labels of each place
    intercept : the value of the constant feature, 0 for none

    Attributes
    ----------
    w : (d,) the best weights so far, with that of the constant feature last; None before the first step
    """

    def __init__(self, places: Places, rows: PlacedObjects, truth: PlacedObjects, intercept: float) -> None:
        self.places, self.rows, self.truth, self.intercept = places, rows, truth, intercept
        self.w: Values | None = None

    def fit(self) -> None:
        """Find the weights."""
        self.mean, self.scale = self._moments()

        def step(scaled: Values) -> None:
            self.w = self._plain(scaled)

        begin = np.zeros(len(self.scale) + bool(self.intercept))
        found = minimize(self._objective, begin, jac=True, method="L-BFGS-B", callback=step, options={"maxiter": STEPS})
        self.w = self._plain(found.x)
        refuse_tiny(self.w, float(np.array(self.places.tell(RowBlock.extent, self.rows))[:, 0].max()))

    def _moments(self) -> tuple[Values, Values]:
        """The means and deviations by which features are scaled; without an intercept they are not centered."""
        sums = tree_sum(self.places.tell(RowBlock.moments, self.rows))
        n, first, second = sums[0], sums[1 : len(sums) // 2 + 1], sums[len(sums) // 2 + 1 :]
        # Rounding may make a variance negative; a constant feature keeps its size.
        spread = np.sqrt(np.maximum(second / n - (first / n) ** 2, 0.0))
        scale = np.where(spread > 1e-12 * np.sqrt(second / n), spread, 1.0)
        return first / n if self.intercept else np.zeros_like(first), scale

    def _plain(self, scaled: Values) -> Values:
        """The weights of features as they are."""
        coef = scaled[: len(self.scale)] / self.scale
        return np.append(coef, (scaled[-1] - coef @ self.mean) / self.intercept) if self.intercept else coef

    def _objective(self, scaled: Values) -> tuple[float, Values]:
        """The objective and its gradient."""
        parts = self.places.tell(_log_loss, self.rows, self.truth, self._plain(scaled))
        value, slope = float(tree_sum([part[0] for part in parts])), tree_sum([part[1] for part in parts])
        coef, d = scaled.copy(), len(self.scale)
        gradient = slope[:d] / self.scale
        if self.intercept:
            total = slope[-1] / self.intercept
            gradient, coef[-1] = np.append(gradient - total * self.mean / self.scale, total), 0.0
        return value + 0.5 * float(coef @ coef), gradient + coef

    def at_threshold(self, loss: Loss) -> tuple[Values, float]:
        """The weights of :meth:`fit` with the best threshold of all rows for the loss, and the mean size of the scores.

        Without a constant feature, and for losses whose threshold needs all scores in one place, it is 0.
        """
        assert self.w is not None
        w, scores = self.w.copy(), self.places.keep(RowBlock.scores, self.rows, self.w)
        shift = 0.0
        if self.intercept and loss.reads == "labels":
            with suppress(Refusal):
                best = best_threshold_of(self.places, scores, self.truth, loss).threshold
                ends = np.array(self.places.tell(_ends, scores))
                shift = float(near_scores(best, ends[:, 0].min(), ends[:, 1].max()))
            w[-1] -= shift / self.intercept
            self.w = w
        sizes = np.sum(self.places.tell(_sizes, scores, shift), axis=0)
        return w, float(sizes[0] / sizes[1])


def _log_loss(rows: RowBlock, truth: Bools, w: Values) -> tuple[float, Values]:
    """The sum of the log-losses and its gradient by the weights."""
    signed = rows.scores(w) * (1 - 2.0 * truth)
    return float(np.logaddexp(0.0, signed).sum()), rows.pullback(expit(signed) * (1 - 2.0 * truth))


def _ends(scores: Values) -> tuple[float, float]:
    return (float(scores.min()), float(scores.max())) if len(scores) else (np.inf, -np.inf)


def _sizes(scores: Values, shift: float) -> tuple[float, int]:
    """The sum of the sizes of scores less a threshold, and how many there are."""
    return float(np.abs(scores - shift).sum()), len(scores)


SHARED = tuple(signature(LinearSetClassifier).parameters)
"""The parameters that stay where a classifier leaves the places."""

WAY_OUT = "take surrogate='ramp', which starts from logistic regression, or raise C if it is small"
"""What to do where a bound says nothing."""


@final
@dataclass(frozen=True, eq=False)
class Scorer:
    """What travels to rows to score them: weights (d,), an intercept and the two labels."""

    coef: Values
    intercept: float
    classes: NDArray[Any]

    def scores(self, X: Any) -> Values:
        """The scores of some rows, (m,)."""
        block = RowBlock(X, 0.0)
        if block.size != len(self.coef):
            raise ValueError(f"X must have {len(self.coef)} features; got {block.size}.")
        return np.asarray(block.scores(self.coef) + self.intercept)

    def labels(self, X: Any) -> NDArray[Any]:
        """The predicted labels of some rows, (m,)."""
        return np.asarray(self.classes[(self.scores(X) > 0).astype(np.int64)])


@final
@dataclass(frozen=True, eq=False)
class PlacedTraining(Training):
    """What is trained on where it lies, bound once.

    Attributes
    ----------
    found : the rows
    truth : which rows are positive, at each place
    loss : the loss that is trained for and reported
    surrogate : a name, or an object that brings its own loss
    intercept : the value of the constant feature, 0 for none
    """

    found: PlacedRows
    truth: PlacedObjects
    loss: Loss
    surrogate: str | Surrogate
    intercept: float
    start: str = "auto"

    @cached_property
    def rows(self) -> PlacedObjects:
        """The :class:`~setwise.models.RowBlock` of each place."""
        return self.found.places.rows(self.found.X, self.intercept)

    @property
    def ramp_alone(self) -> bool:
        """Whether ``"auto"`` is the ramp from the beginning: for one set and losses of labels."""
        return self.surrogate == "auto" and self.loss.reads == "labels" and self.found.single

    @property
    def ramp_may_follow(self) -> bool:  # type: ignore[override]
        """Whether ``"auto"`` becomes the ramp where the bound of the convex surrogate says nothing: for one ranking."""
        return self.loss.reads == "scores" and self.found.single

    @cached_property
    def constant(self) -> float:
        """The mean loss of predicting none, or all: the lesser of the two, without a pass over the features.

        For losses of a ranking it is that of equal scores. It is inf where all rows would have to be gathered and are
        too many.
        """
        places = self.found.places
        if Trait.COUNTS not in self.loss.traits and self.found.count() > places.room:
            return np.inf
        with suppress(Refusal):
            each = [places.keep(np.full_like, self.truth, sign) for sign in (False, True)]
            return min(mean_loss_of(self.found, self.loss, self.truth, scores) for scores in each)
        return np.inf

    @cached_property
    def logistic(self) -> tuple[Values, float]:
        """The weights of logistic regression with the best threshold of the loss, and the mean size of its scores."""
        start = PlacedLogistic(self.found.places, self.rows, self.truth, self.intercept)
        try:
            start.fit()
            return start.at_threshold(self.loss)
        finally:
            if start.w is not None:
                self.starts.append(start.w)

    @cached_property
    def extent(self) -> tuple[float, float]:
        """The largest size of a feature, and the length of the longest row; a pass over the rows."""
        parts = np.array(self.found.places.tell(RowBlock.extent, self.rows))
        return float(parts[:, 0].max()), float(parts[:, 1].max())

    @property
    def way_out(self) -> str:
        """What to do where a bound says nothing, in a few words."""
        return way_from_constant(self.extent[0], WAY_OUT)

    def risk_of(self, surrogate: Surrogate) -> DistributedRisk:
        """The mean of a surrogate over the sets."""
        return DistributedRisk(self.found.places, self.rows, self.truth, surrogate, self.found.ids)

    def named(self, name: str) -> Surrogate:
        """The surrogate of this name for the loss."""
        return plain_surrogate(name, self.loss)

    def usual_c(self, surrogate: Surrogate) -> float:
        """The weight of the mean risk that ``C="auto"`` stands for."""
        size = self.risks[surrogate.name][0].size
        return default_c(surrogate, self.found.count(), size - bool(self.intercept))

    def convex(self) -> Surrogate:
        """The Lovász hinge where the loss promises to be submodular, otherwise margin rescaling."""
        submodular = self.loss.reads == "labels" and Trait.SUBMODULAR in self.loss.traits
        return LovaszHinge(self.loss) if submodular else MarginRescaling(self.loss, scale="size")

    def loss_at(self, w: Values) -> float:
        """The mean training loss of the weights."""
        scores = self.found.places.keep(RowBlock.scores, self.rows, w)
        return mean_loss_of(self.found, self.loss, self.truth, scores)


@with_parameters
class PlacedClassifier(LinearSetClassifier):
    """``0.5 |w|^2 + C mean over sets of surrogate(loss)``, where rows stay where they lie; a subclass finds the places.

    The parameters are those of :class:`~setwise.SetClassifier`.
    """

    random_state: ClassVar[None] = None
    """Learners that draw parts have nothing to draw: the whole risk is one part."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {name: CONSTRAINTS[name] for name in (*SHARED, "verbose")}

    verbose: int = 0

    def to_local(self) -> SetClassifier:
        """The fitted :class:`~setwise.SetClassifier` of this process, which knows nothing of places.

        Returns
        -------
        local : a SetClassifier with the weights, labels and certificates of this one. Its ``certain_share_`` is nan,
            because the rows of the training are elsewhere

        Raises
        ------
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        local = SetClassifier(**{name: getattr(self, name) for name in SHARED})
        for name in vars(self):
            if name.endswith("_") or name == "_radius":
                setattr(local, name, getattr(self, name))
        local._layout, local._grouped, local._told, local.threshold_ = "vector", self._grouped, (), 0.0
        # The rows of the training are elsewhere.
        local.certain_share_ = np.nan
        return local

    def _fit(self, found: PlacedRows, checkpoint: Any = None, resume: bool = False) -> Self:
        """Train on the rows; Ctrl-C stores the best weights so far and goes on."""
        with self._unchanged_by_errors():
            loss = as_loss(self.loss)
            if loss.reads == "classes":
                raise Refusal(
                    f"{type(self).__name__} refuses {loss!r}, which is for more than two classes.", PLACES_REFUSE
                )
            classes = found.classes(self.pos_label)
            kept = opened(checkpoint, resume, lambda: about(self, fingerprints(found), loss))
            if self.C == 0 and isinstance(self.learner, str):
                raise ValueError("C must be above 0 for rows in several places; got 0.")
            problem = PlacedTraining(found, found.positives(classes[1]), loss, self.surrogate, self._intercept)
            trained = solve(self, problem, None, checkpoint=kept)
        w, constant = trained.w, bool(self._intercept)
        self.classes_, self.loss_, self._grouped = classes, loss, found.ids is not None
        self.n_features_in_ = len(w) - constant
        self.__dict__.pop("feature_names_in_", None)
        if found.names is not None:
            self.feature_names_in_ = np.array(found.names, dtype=object)
        self.coef_ = w[None, : self.n_features_in_].copy()
        self.intercept_ = self._intercept * w[-1:] if constant else np.zeros(1)
        keep_certificates(self, trained, problem.extent[1] if trained.fit.status in SHORT else 0.0)
        if trained.fit.status == "interrupted":
            raise KeyboardInterrupt
        return self

    def _score(self, found: PlacedRows) -> float:
        """``1 - mean loss`` of the sets of other rows."""
        check_is_fitted(self)
        truth = found.positives(self.classes_[1], self.classes_)
        return 1.0 - mean_loss_of(found, self.loss_, truth, found.places.keep(self._scorer.scores, found.X))

    @property
    def _scorer(self) -> "Scorer":
        return Scorer(self.coef_[0], float(self.intercept_[0]), self.classes_)
