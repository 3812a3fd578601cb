"""A linear classifier for measures of sets whose rows lie in several places.

It starts at logistic regression with the best threshold for the loss. The bound of a convex surrogate is judged by the
loss of constant labelings.
"""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from setwise.core.checkpoint import OpenCheckpoint, opened
from setwise.core.checks import Bools, Values, as_number
from setwise.core.exceptions import Refusal
from setwise.core.learner import Fit, Learner, ProgressBar, plain_interrupts
from setwise.core.loss import Loss
from setwise.core.pages import PLACES_REFUSE
from setwise.core.risk import Risk
from setwise.core.surrogate import Surrogate
from setwise.core.terms import Trait
from setwise.distributed.decisions import best_threshold_of
from setwise.distributed.rows import PlacedRows, fingerprints, mean_loss_of
from setwise.estimators.base import CONSTRAINTS, SHORT, VersionedEstimator, warn_of_end, way_from_constant
from setwise.estimators.checkpoints import UNROUTED
from setwise.estimators.linear_training import (
    VACUOUS,
    LinearFit,
    at_the_start,
    interrupted_start,
    keep_certificates,
    radius,
    share_of_constant,
    warn_of_vacuous_bound,
)
from setwise.estimators.objective import default_c, learner_for, plain_surrogate
from setwise.estimators.set_classifier import SetClassifier
from setwise.estimators.set_training import about_rows, refuse_tiny, scaled
from setwise.losses import as_loss
from setwise.models import RowBlock
from setwise.risks import DistributedRisk, ShiftedRisk
from setwise.risks.distributed_risk import tree_sum
from setwise.risks.places import PlacedObjects, Places
from setwise.surrogates.lovasz_hinge import LovaszHinge
from setwise.surrogates.ramp import Ramp
from setwise.surrogates.rescaling import MarginRescaling


def least_constant_loss_of(found: PlacedRows, loss: Loss, truth: PlacedObjects) -> float:
    """The mean loss of predicting none, or all: the lesser of the two, without a pass over the features.

    For losses of a ranking it is that of equal scores. It is inf where all rows would have to be gathered and are too
    many.
    """
    if Trait.COUNTS not in loss.traits and found.count() > found.places.room:
        return np.inf
    with suppress(Refusal):
        each = [found.places.keep(_constant, truth, sign) for sign in (False, True)]
        return min(mean_loss_of(found, loss, truth, scores) for scores in each)
    return np.inf


def says_nothing(found: PlacedRows, loss: Loss, truth: PlacedObjects, risk: Risk, fit: Fit, C: float) -> bool:
    """Whether a fit of a convex risk promises no less loss than the best constant labeling has.

    This takes a cut more where the weights are short, which tells whether w = 0 is optimal.
    """
    return share_of_constant(risk, fit, C, least_constant_loss_of(found, loss, truth), False) >= VACUOUS


def _constant(truth: Bools, sign: bool) -> Bools:
    return np.full(len(truth), sign)


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
                low, high = ends[:, 0].min(), ends[:, 1].max()
                # A threshold that predicts none or all is put beyond the scores by their spread.
                spread = max(high - low, 1.0)
                shift = float(np.clip(best, low - spread, high + spread))
            w[-1] -= shift / self.intercept
            self.w = w
        sizes = np.sum(self.places.tell(_sizes, scores, shift), axis=0)
        return w, float(sizes[0] / sizes[1])


def start_of(logistic: PlacedLogistic, risk: Risk, loss: Loss, kept: OpenCheckpoint | None) -> Values:
    """The weights of logistic regression at its best threshold, at a scale that suits the risk.

    A checkpoint keeps them when they are found. A start that was not finished begins anew, so that it ends with the
    same bits as one that was never interrupted: L-BFGS remembers more than its last step.
    """
    if kept is not None and "w" in kept.arrays:
        return kept.numbers("w", (risk.size,))
    logistic.fit()
    w = scaled(risk, *logistic.at_threshold(loss))
    if kept is not None:
        kept.put({"w": w})
        kept.write()
    return w


def _log_loss(rows: RowBlock, truth: Bools, w: Values) -> tuple[float, Values]:
    """The sum of the log-losses and its gradient by the weights."""
    signed = rows.scores(w) * (1 - 2.0 * truth)
    return float(np.logaddexp(0.0, signed).sum()), rows.pullback(expit(signed) * (1 - 2.0 * truth))


def _ends(scores: Values) -> tuple[float, float]:
    return (float(scores.min()), float(scores.max())) if len(scores) else (np.inf, -np.inf)


def _sizes(scores: Values, shift: float) -> tuple[float, int]:
    """The sum of the sizes of scores less a threshold, and how many there are."""
    return float(np.abs(scores - shift).sum()), len(scores)


SHARED = ("loss", "surrogate", "learner", "C", "tol", "max_iter", "fit_intercept", "intercept_scaling", "pos_label")

WAY_OUT = "take surrogate='ramp', which begins at logistic regression, or raise C if it is small"
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


class PlacedClassifier(ClassifierMixin, VersionedEstimator):
    """``0.5 |w|^2 + C mean over sets of surrogate(loss)``, where rows stay where they lie; a subclass finds the places.

    The parameters are those of :class:`~setwise.SetClassifier`.
    """

    __metadata_request__fit: ClassVar[dict[str, Any]] = UNROUTED
    random_state: ClassVar[None] = None
    """Learners that draw parts have nothing to draw: the whole risk is one part."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {name: CONSTRAINTS[name] for name in (*SHARED, "verbose")}

    def __init__(
        self,
        loss: str | Loss = "jaccard",
        surrogate: str | Surrogate = "auto",
        learner: str | Learner = "auto",
        C: float | str = "auto",
        tol: float = 1e-3,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        pos_label: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.surrogate = surrogate
        self.learner = learner
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.pos_label = pos_label
        self.verbose = verbose

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
        local._layout, local._grouped, local.threshold_ = "vector", self._grouped, 0.0
        # The rows of the training are elsewhere.
        local.certain_share_ = np.nan
        return local

    def _fit(self, found: PlacedRows, checkpoint: Any = None, resume: bool = False) -> Self:
        """Train on the rows; Ctrl-C stores the best weights so far and goes on."""
        before = dict(self.__dict__)
        try:
            loss = as_loss(self.loss)
            if loss.reads == "classes":
                raise Refusal(
                    f"{type(self).__name__} refuses {loss!r}, which is for more than two classes.", PLACES_REFUSE
                )
            classes = found.classes(self.pos_label)
            kept = opened(checkpoint, resume, lambda: about_rows(self, fingerprints(found), loss))
            trained = self._trained(found, loss, found.positives(classes[1]), kept)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        w, constant = trained.w, bool(self._intercept)
        self.classes_, self.loss_, self._grouped = classes, loss, found.ids is not None
        self.n_features_in_ = len(w) - constant
        self.__dict__.pop("feature_names_in_", None)
        if found.names is not None:
            self.feature_names_in_ = np.array(found.names, dtype=object)
        self.coef_ = w[None, : self.n_features_in_].copy()
        self.intercept_ = self._intercept * w[-1:] if constant else np.zeros(1)
        keep_certificates(self, trained)
        longest = self._extent(found)[1] if trained.fit.status in SHORT else 0.0
        warn_of_end(type(self).__name__, trained.fit, trained.certified, longest)
        if trained.fit.status == "interrupted":
            raise KeyboardInterrupt
        return self

    def _trained(self, found: PlacedRows, loss: Loss, truth: PlacedObjects, kept: OpenCheckpoint | None) -> LinearFit:
        """The weights of the objective. Where the bound of a ranking says nothing, ``"auto"`` takes the ramp."""
        trained, way_out = self._minimized(found, loss, truth, self._surrogate(loss, found.single), kept)
        if way_out is None:
            return trained
        convex, gained = trained.surrogate, False
        if self.surrogate == "auto" and loss.reads == "scores" and found.single:
            try:
                part = None if kept is None else kept.part(Ramp.name)
                ramp, _ = self._minimized(found, loss, truth, plain_surrogate(Ramp.name, loss), part)
                with plain_interrupts():
                    kept_loss, ramp_loss = (self._loss_at(found, loss, truth, one.w) for one in (trained, ramp))
                    least = least_constant_loss_of(found, loss, truth)
            except KeyboardInterrupt:
                return _judged(trained)
            # Equal scores rank nothing, though by luck their loss may be less.
            if ramp_loss <= kept_loss or not trained.w.any() or ramp.fit.status == "interrupted":
                trained, kept_loss = ramp, ramp_loss
            gained = kept_loss < least
        if not gained:
            warn_of_vacuous_bound(convex, way_out)
        return trained

    def _minimized(
        self, found: PlacedRows, loss: Loss, truth: PlacedObjects, surrogate: Surrogate, kept: OpenCheckpoint | None
    ) -> tuple[LinearFit, str | None]:
        """The weights of one surrogate, those of the ramp from logistic regression on; and the way out, if vacuous."""
        rows = found.places.rows(found.X, self._intercept)
        risk: Risk = DistributedRisk(found.places, rows, truth, surrogate, found.ids)
        usual = default_c(surrogate, found.count(), risk.size - bool(self._intercept))
        learner = learner_for(self, surrogate, risk.convex, usual)
        if learner is None:
            raise ValueError("C must be above 0 for rows in several places; got 0.")
        origin, part = np.zeros(risk.size), kept
        if not risk.convex:
            start = PlacedLogistic(found.places, rows, truth, self._intercept)
            try:
                with plain_interrupts():
                    origin = start_of(start, risk, loss, None if kept is None else kept.part("start"))
            except KeyboardInterrupt:
                return _stopped(start.w, surrogate), None
            risk, part = ShiftedRisk(risk, origin), None if kept is None else kept.part("fit")
        bar = ProgressBar(self.tol, type(self).__name__) if self.verbose else None
        try:
            fit = learner.minimize(risk, callback=bar, checkpoint=part)
        except KeyboardInterrupt:
            # Before the first step there are the weights of the start alone.
            return _stopped(None if risk.convex else origin, surrogate), None
        if bar is not None:
            bar.close()
        trained = LinearFit(origin + fit.w, learner.C, fit, surrogate.name, radius(fit, risk.convex))
        return self._checked(found, loss, truth, risk, origin, trained)

    def _checked(
        self, found: PlacedRows, loss: Loss, truth: PlacedObjects, risk: Risk, origin: Values, trained: LinearFit
    ) -> tuple[LinearFit, str | None]:
        """The same, or the start where descent has raised the loss itself; and the way out where a bound is vacuous."""
        fit, way_out = trained.fit, None
        try:
            with plain_interrupts():
                ended = risk.convex and fit.status != "interrupted"
                if ended and says_nothing(found, loss, truth, risk, fit, trained.C):
                    way_out = way_from_constant(self._extent(found)[0], WAY_OUT)
                # Descent lowers the ramp. The start stays a candidate, for the loss itself may have risen.
                losses = [] if risk.convex else [self._loss_at(found, loss, truth, w) for w in (trained.w, origin)]
                if losses and losses[0] > losses[1]:
                    trained = replace(trained, w=origin, fit=at_the_start(fit, risk, trained.C))
        except KeyboardInterrupt:
            return _judged(trained), None
        return trained, way_out

    def _extent(self, found: PlacedRows) -> tuple[float, float]:
        """The largest size of a feature, and the length of the longest row; a pass over the rows."""
        parts = np.array(found.places.tell(RowBlock.extent, found.places.rows(found.X, self._intercept)))
        return float(parts[:, 0].max()), float(parts[:, 1].max())

    def _score(self, found: PlacedRows) -> float:
        """``1 - mean loss`` of the sets of other rows."""
        check_is_fitted(self)
        truth, scores = (
            found.positives(self.classes_[1], self.classes_),
            found.places.keep(self._scorer.scores, found.X),
        )
        return 1.0 - mean_loss_of(found, self.loss_, truth, scores)

    @property
    def _scorer(self) -> "Scorer":
        return Scorer(self.coef_[0], float(self.intercept_[0]), self.classes_)

    def _loss_at(self, found: PlacedRows, loss: Loss, truth: PlacedObjects, w: NDArray[np.float64]) -> float:
        """The mean loss of the weights on the rows."""
        coef, intercept = (w[:-1], self._intercept * float(w[-1])) if self._intercept else (w, 0.0)
        scorer = Scorer(coef, intercept, np.arange(2))
        return mean_loss_of(found, loss, truth, found.places.keep(scorer.scores, found.X))

    def _surrogate(self, loss: Loss, single: bool) -> Surrogate:
        """The surrogate that is asked for, for one set of all rows (``single``) or for several sets."""
        if isinstance(self.surrogate, Surrogate):
            return self.surrogate
        if self.surrogate not in ("auto", "convex"):
            return plain_surrogate(self.surrogate, loss)
        if self.surrogate == "auto" and single and loss.reads == "labels":
            return plain_surrogate(Ramp.name, loss)
        submodular = loss.reads == "labels" and Trait.SUBMODULAR in loss.traits
        return LovaszHinge(loss) if submodular else MarginRescaling(loss, scale="size")

    @property
    def _intercept(self) -> float:
        return as_number(self.intercept_scaling, "intercept_scaling") if self.fit_intercept else 0.0


def _judged(trained: LinearFit) -> LinearFit:
    """The weights of a fit that had ended when Ctrl-C came."""
    words = f"interrupted when its fit had ended and was judged; {trained.fit.message}"
    return replace(trained, fit=replace(trained.fit, status="interrupted", message=words))


def _stopped(w: Values | None, surrogate: Surrogate) -> LinearFit:
    """The weights of a start that Ctrl-C has ended; raises KeyboardInterrupt where there are none."""
    if w is None:
        raise KeyboardInterrupt
    return LinearFit(w, 0.0, interrupted_start(len(w)), surrogate.name, np.nan)
