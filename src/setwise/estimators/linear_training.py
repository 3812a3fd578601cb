"""How linear estimators are trained: the objective, its start, when the ramp is taken, and what is certain of the end.

The bound of a convex surrogate may say nothing: then a model that predicts a constant may be as good.

The objective F is 1-strongly convex, so its minimizer w* is within ``r = sqrt(2 gap)`` of any w, where the gap is
``F(w) - min F`` or more. A score ``<w, x>`` is therefore within ``r |x|`` of that of w*: some decisions cannot change.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from setwise.core.attributes import cached_property
from setwise.core.batch import Batch
from setwise.core.checkpoint import OpenCheckpoint
from setwise.core.checks import Bools, Values
from setwise.core.learner import SMALLEST, Callback, Fit, Learner, ProgressBar, plain_interrupts, relative_gap
from setwise.core.loss import Loss
from setwise.core.pages import AFTER_A_FIT, EMPTY_MODELS, Page
from setwise.core.risk import Features, Risk
from setwise.core.surrogate import Surrogate
from setwise.estimators.base import blas_threads, warn_of_end
from setwise.estimators.objective import learner_for
from setwise.estimators.sets import Grouping
from setwise.kernels.jit import outside
from setwise.learners import NRBM
from setwise.risks import DistributedRisk, MeanRisk, RiskWithPlanes
from setwise.surrogates import Ramp

VACUOUS, DOUBTFUL = 0.95, 0.5
"""A bound of at least these shares of the loss of the best constant labeling says nothing, or little."""


class VacuousBoundWarning(UserWarning):
    """Warns that a convex surrogate guarantees no smaller loss than a constant prediction.

    Its bound is then at least .95 of the loss of the best constant labeling, or w = 0 is optimal: no labels, or all,
    may be predicted. Estimators of sets of labels also warn where ``surrogate="auto"`` took the ramp instead. The fit
    has ended well, so this is no ``ConvergenceWarning``. docs/how/surrogates.md tells how such a bound comes about.

    Examples
    --------
    The two classes overlap, and the bound of the Lovász hinge is empty; the filter hides that, and nothing else:

    >>> import warnings
    >>> from setwise import SetClassifier, VacuousBoundWarning
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((200, 2)), np.arange(200) % 4 == 0
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", VacuousBoundWarning)
    ...     model = SetClassifier("jaccard", surrogate="lovasz").fit(X, y)
    >>> bool(model.predict(X).any())
    False

    The filter ``"error"`` makes an exception of it, as for a search over parameters:

    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", VacuousBoundWarning)
    ...     try:
    ...         model = SetClassifier("jaccard", surrogate="lovasz").fit(X, y)
    ...     except VacuousBoundWarning as warning:
    ...         print(str(warning).split(" here")[0])
    the convex surrogate 'lovasz' guarantees no smaller loss
    """


def least_constant_loss(loss: Loss, grouping: Grouping, weights: Values) -> float:
    """The mean loss of the best constant labeling: none, all, the commonest row of a label matrix, or one class.

    For losses of a ranking it is that of equal scores.
    """
    batch = grouping.batch
    if loss.reads == "scores":
        return float(weights @ loss.values(batch, np.zeros(batch.total)))
    if grouping.layout == "classes":
        labelings = [np.full(batch.total, c) for c in range(len(grouping.classes))]
    else:
        labelings = [np.zeros(batch.total, dtype=bool), np.ones(batch.total, dtype=bool)]
    if grouping.layout == "samples":
        rows = batch.truth.reshape(len(batch), -1)
        # Equal rows have equal sums of random numbers, and other rows have others but for a chance of nothing.
        keys = rows @ np.random.default_rng(0).standard_normal(rows.shape[1])
        _, first, counts = np.unique(keys, return_index=True, return_counts=True)
        labelings.append(np.tile(rows[first[counts.argmax()]], len(rows)))
    return min(float(weights @ loss.values(batch, labels)) for labels in labelings)


def share_of_constant(risk: Risk, fit: Fit, C: float, constant: float, centred: bool) -> float:
    """The risk at the end of a fit over the loss ``constant`` of the best constant labeling.

    It is inf where w = 0 is optimal up to the gap of the fit, unless the weights are steps from a start (``centred``),
    and 0 where a constant labeling has no loss.
    """
    if constant == 0.0:
        return 0.0
    half = 0.5 * float(fit.w @ fit.w)
    share = (fit.upper_bound - half) / C / constant
    # Two points within the gap of the minimum are close together, for the objective is strongly convex.
    if (
        centred
        or share >= VACUOUS
        or not fit.gap < 1.0
        or half > 4.0 * fit.gap * abs(fit.upper_bound) / (1.0 - fit.gap)
    ):
        return float(share)
    nothing = C * risk.cut(np.zeros(risk.size)).upper
    return np.inf if nothing - fit.lower_bound <= fit.gap * max(nothing, SMALLEST * C) else float(share)


def says_nothing(fit: Fit, C: float, constant: float) -> bool:
    """Whether the risk at the end of a fit is at least .95 of the loss ``constant`` of the best constant labeling."""
    return C > 0.0 and constant > 0.0 and fit.upper_bound - 0.5 * float(fit.w @ fit.w) >= VACUOUS * C * constant


NO_LESS = "the convex surrogate {!r} guarantees no smaller loss here than a constant prediction, "
"""What is said of a bound that says nothing, with the name of its surrogate."""


def warn_of_vacuous_bound(words: str, page: Page) -> None:
    """Warn in ``words`` that a model may be no better than a constant prediction."""
    warnings.warn(words + page.see, VacuousBoundWarning, stacklevel=outside())


@contextmanager
def quiet_fits() -> Iterator[None]:
    """Fits on some of the rows do not warn here of how they end: the fit on all rows warns of the same."""
    with warnings.catch_warnings():
        for kind in (VacuousBoundWarning, ConvergenceWarning):
            warnings.simplefilter("ignore", kind)
        yield


def radius(fit: Fit, convex: bool) -> float:
    """``sqrt(2 (upper - lower))``, the largest distance of the minimizer; nan if the risk is not convex."""
    return float(np.sqrt(2.0 * max(fit.upper_bound - fit.lower_bound, 0.0))) if convex else np.nan


def certain(scores: NDArray[np.float64], lengths: NDArray[np.float64], classes: bool, r: float) -> NDArray[np.bool_]:
    """Which predictions no weights within r of the fitted ones change, for rows of ``lengths`` with their constants.

    With ``classes`` the largest of the scores (n, k) of a row is predicted, (n,); otherwise the decisions with a score
    above 0, shaped as the scores. The lengths are broadcast to the scores, or (n,) for classes.
    """
    if not classes:
        return np.asarray(np.abs(scores) > r * lengths)
    two = np.partition(scores, scores.shape[1] - 2, axis=1)[:, -2:]
    # Two classes have different weights, so the difference of their scores moves by sqrt(2) times as much at most.
    return np.asarray(two[:, 1] - two[:, 0] > np.sqrt(2.0) * r * lengths)


MakeLearner = Callable[[Surrogate, bool, float], Learner | None]
"""A function of the surrogate, of whether it is convex, and of the usual C; None where C is 0."""


@final
@dataclass(frozen=True, eq=False)
class LinearFit:
    """The weights of a fit, and how they were found.

    Attributes
    ----------
    w : (d,)
    C : the weight of the risk
    fit : the fit, whose weights may be steps from a start
    surrogate : the short name of the surrogate, ``"ramp"`` where the bound of the convex one said nothing
    radius : the minimizer of the objective is no farther from w than this; nan without a certificate
    """

    w: Values
    C: float
    fit: Fit
    surrogate: str
    radius: float

    @property
    def certified(self) -> bool:
        """Whether the gap says something: the risk is convex, and its weight is above 0."""
        return not np.isnan(self.radius)


class Training(ABC):
    """A linear model to be trained, bound to its data once; :meth:`solve` may be called for several weights C.

    Rows, networks and labels in this process are a :class:`BatchTraining`; rows in several places have one of their
    own.

    Attributes
    ----------
    surrogate : a name, or an object that brings its own loss
    start : ``"auto"``, ``"zero"``, ``"logistic"``, or a logistic regression
    path : whether it is solved for several C, so that planes are remembered
    bare : whether C = 0 leaves logistic regression without a threshold, because one is chosen afterwards: thresholds of
        several folds would differ by noise
    ramp_may_follow : whether ``"auto"`` becomes the ramp where the bound of the convex surrogate says nothing
    """

    surrogate: str | Surrogate
    start: Any
    path: bool = False
    bare: bool = False
    ramp_may_follow: bool = True

    @abstractmethod
    def risk_of(self, surrogate: Surrogate) -> MeanRisk | DistributedRisk:
        """The mean of a surrogate over the sets."""

    @property
    @abstractmethod
    def constant(self) -> float:
        """The mean loss of the best constant labeling."""

    @property
    @abstractmethod
    def logistic(self) -> tuple[Values, float]:
        """The weights of the start that fits the loss best, and the mean size of its scores."""

    @property
    def bare_start(self) -> Values:
        """The weights of the start without a threshold, where it has one."""
        return self.logistic[0]

    @property
    def ramp_alone(self) -> bool:
        """Whether ``"auto"`` is the ramp from the beginning."""
        return False

    @property
    def way_out(self) -> str:
        """What to do where a bound says nothing, in a few words."""
        return (
            "take surrogate='auto' with start='auto', which starts from logistic regression, or raise C if it is small"
        )

    @abstractmethod
    def named(self, name: str) -> Surrogate:
        """The surrogate of this name."""

    def usual_c(self, surrogate: Surrogate) -> float:
        """The weight of the mean risk that ``C="auto"`` stands for, where the estimator lets it be chosen."""
        return 1.0

    @abstractmethod
    def convex(self) -> Surrogate:
        """The convex surrogate that suits the loss."""

    @property
    def unit(self) -> float | None:
        """The largest loss, where scores and C are in its unit; otherwise None."""
        return None

    def other_starts(self) -> list[tuple[Values, float]]:
        """More weights where the ramp may start, each with the mean size of its scores."""
        return []

    def beginning(self, risk: Risk) -> Values:
        """:attr:`logistic`, or one of the other starts with a smaller training loss, at a scale that suits the risk."""
        starts = [self.logistic]
        starts += self.other_starts()
        found = [scaled(risk, w, size / (self.unit or 1.0)) for w, size in starts]
        return found[0] if len(found) == 1 else min(found, key=self.loss_at)

    @abstractmethod
    def loss_at(self, w: Values) -> float:
        """The mean training loss of the weights."""

    @cached_property
    def risks(self) -> dict[str, tuple[Risk, Values]]:
        """The risk of each surrogate that was tried, and the start that it is centred at, for further values of C."""
        return {}

    @cached_property
    def starts(self) -> list[Values]:
        """The weights that the search for a start has found so far."""
        return []

    def solve(
        self,
        make: MakeLearner,
        may_replace: bool,
        last: Values | None = None,
        callback: Callback | None = None,
        checkpoint: OpenCheckpoint | None = None,
    ) -> LinearFit:
        """Train with the learner that ``make`` makes, beginning at the weights ``last`` if they are given.

        Each surrogate that is tried is a part of the checkpoint, and goes on from what that holds of it.

        With ``may_replace`` the surrogate ``"auto"`` becomes the ramp for a single set, unless the start is w = 0. For
        several sets it becomes the ramp where the bound of the convex one says nothing, and where it says little and
        logistic regression has a smaller training loss; if the ramp has no larger one.

        After Ctrl-C the result has the status ``"interrupted"``; KeyboardInterrupt is raised where there is none yet.
        """
        minimized = partial(self._minimized, make=make, last=last, callback=callback, checkpoint=checkpoint)
        if not isinstance(self.surrogate, str):
            return minimized(self.surrogate)
        if may_replace and self.ramp_alone:
            return minimized(self.named(Ramp.name))
        surrogate = self.convex() if self.surrogate in ("auto", "convex") else self.named(self.surrogate)
        found = minimized(surrogate)
        if found.C == 0 or np.isnan(found.radius) or found.fit.status == "interrupted" or not found.fit.history:
            return found
        may_replace = may_replace and self.ramp_may_follow and self.surrogate == "auto"
        try:
            with plain_interrupts():
                return self._judged(found, surrogate.name, may_replace, minimized)
        except KeyboardInterrupt:
            return _ended(found)

    def _judged(
        self, found: LinearFit, name: str, may_replace: bool, minimized: Callable[[Surrogate], LinearFit]
    ) -> LinearFit:
        """The fit of a convex surrogate, or the ramp in its place; warns where its bound says nothing."""
        risk = self.risks[name][0]
        share = share_of_constant(risk, found.fit, found.C, self.constant, self._logistic_start)
        if not may_replace and share >= VACUOUS:
            self._warn_of_bound(name)
        if not may_replace or share < DOUBTFUL:
            return found
        loss = self.loss_at(found.w)
        if share < VACUOUS and loss <= self.loss_at(self.logistic[0]):
            return found
        ramp = minimized(self.named(Ramp.name))
        # Equal scores rank nothing, though by luck their loss may be less.
        better = self.loss_at(ramp.w) <= loss or not found.w.any()
        chosen = ramp if better else _ended(found) if ramp.fit.status == "interrupted" else found
        # The ramp may not get away from w = 0, nor be better than equal scores.
        if share >= VACUOUS and self.loss_at(chosen.w) >= self.constant:
            self._warn_of_bound(name)
        return chosen

    def _warn_of_bound(self, name: str) -> None:
        """Warn that the bound of the surrogate ``name`` says nothing, and what to do."""
        warn_of_vacuous_bound(f"{NO_LESS.format(name)}whatever its gap: {self.way_out}.", EMPTY_MODELS)

    def _minimized(
        self,
        surrogate: Surrogate,
        make: MakeLearner,
        last: Values | None,
        callback: Callback | None,
        checkpoint: OpenCheckpoint | None,
    ) -> LinearFit:
        """The result of one surrogate."""
        kept = None if checkpoint is None else checkpoint.part(surrogate.name)
        try:
            with plain_interrupts():
                if surrogate.name not in self.risks:
                    self.risks[surrogate.name] = self._risk(surrogate, kept)
                risk, origin = self.risks[surrogate.name]
                learner = make(surrogate, risk.convex, self.usual_c(surrogate))
                if learner is None:
                    return self._unmoved(surrogate, risk, origin)
                if kept is not None and kept.part("start").arrays:
                    # It may have taken long to find.
                    kept.write()
                begin = None if last is None else last - origin
                part = None if kept is None else kept.part("fit")
                fit = learner.minimize(risk, w0=begin, callback=callback, checkpoint=part)
        except KeyboardInterrupt:
            return self._interrupted(surrogate)
        trained = LinearFit(origin + fit.w, learner.C, fit, surrogate.name, radius(fit, risk.convex))
        try:
            with plain_interrupts():
                # Descent lowers the ramp. The start stays a candidate, for the loss itself may have risen.
                if not risk.convex and self.loss_at(trained.w) > self.loss_at(origin):
                    fit = at_the_start(fit, risk, learner.C)
        except KeyboardInterrupt:
            return _ended(trained)
        if isinstance(risk, RiskWithPlanes):
            risk.keep(fit.w)
        return replace(trained, w=origin + fit.w, fit=fit)

    def _unmoved(self, surrogate: Surrogate, risk: Risk, origin: Values) -> LinearFit:
        """The start as it is, for C = 0."""
        if not self.starts_at_logistic(risk.convex):
            raise ValueError(
                "C must be above 0 where the start is w = 0, which predicts nothing; got 0. Use start='logistic'."
            )
        words = "C = 0 keeps the start: nothing was minimized or certified"
        fit = Fit(np.zeros(risk.size), 0.0, 0.0, 0.0, np.nan, "start", words, ())
        return LinearFit(self.bare_start if self.bare else origin, 0.0, fit, surrogate.name, np.nan)

    def _interrupted(self, surrogate: Surrogate) -> LinearFit:
        """The best weights of a start that Ctrl-C has ended; raises KeyboardInterrupt where there are none."""
        if not self.starts:
            raise KeyboardInterrupt
        w = min(self.starts, key=self.loss_at) if len(self.starts) > 1 else self.starts[0]
        words = "interrupted in its start; these are the best weights so far, without a certificate"
        fit = Fit(np.zeros(len(w)), np.inf, -np.inf, np.inf, np.inf, "interrupted", words, ())
        return LinearFit(w, 0.0, fit, surrogate.name, np.nan)

    def _risk(self, surrogate: Surrogate, kept: OpenCheckpoint | None = None) -> tuple[Risk, Values]:
        """The risk of a surrogate, and the weights from which its weights are steps."""
        plain = self.risk_of(surrogate)
        risk: Risk = plain
        origin = np.zeros(risk.size)
        if self.starts_at_logistic(plain.convex):
            start = None if kept is None else kept.part("start")
            if start is not None and start.arrays:
                # Planes are those of steps from the very start that they were made with.
                origin = start.numbers("w", origin.shape)
            else:
                origin = self.beginning(plain)
            if start is not None:
                start.put({"w": origin})
            self.starts[:] = [origin]
            risk = plain.centred(origin)
        # A single fit has no use for the memory of planes.
        return (RiskWithPlanes(risk) if self.path and risk.convex else risk), origin

    def starts_at_logistic(self, convex: bool) -> bool:
        """Whether the fit of a surrogate, convex or not, starts at logistic regression."""
        return self._logistic_start or (self.start == "auto" and not convex)

    @property
    def _logistic_start(self) -> bool:
        return self.start not in ("auto", "zero")


class BatchTraining(Training):
    """A linear model of the scores of a batch in this process.

    Attributes
    ----------
    jobs : the number of threads
    """

    jobs: int

    @property
    @abstractmethod
    def features(self) -> Features:
        """The linear model of the scores."""

    @property
    @abstractmethod
    def batch(self) -> Batch:
        """The sets with their true labels."""

    @property
    def weights(self) -> Values | None:
        """The weight of each set, (n,); None for equal weights."""
        return None

    @property
    @abstractmethod
    def multiplications(self) -> int:
        """The number of multiplications for all scores."""

    @cached_property
    def omega(self) -> Values:
        """The share of each set in the mean."""
        weights = np.ones(len(self.batch)) if self.weights is None else self.weights
        # Divided by the largest first, for a sum of large weights may overflow.
        return np.asarray(weights / weights.max() / (weights / weights.max()).sum())

    def certain_decisions(self, trained: LinearFit, shift: Any) -> Bools:
        """Which training decisions, from scores less ``shift``, no optimization changes any more."""
        return certain(self.features.scores(trained.w) - shift, self.features.row_lengths, False, trained.radius)

    def certain_share(self, trained: LinearFit, shift: Any = 0.0) -> float:
        """The share of these decisions; nan where none is certified, or where there is none."""
        found = self.certain_decisions(trained, shift) if trained.certified else np.empty(0)
        return float(found.mean()) if len(found) else np.nan

    def risk_of(self, surrogate: Surrogate) -> MeanRisk:
        """The mean of a surrogate over the sets."""
        return MeanRisk(self.features, surrogate.on(self.batch), self.weights, self.jobs)


CLOSE = 0.1
"""A start is scaled up until its risk has come this close to the least one, as a share of the way from w = 0."""

SCALES = 2.0 ** np.arange(-3, 21)
"""The scales that are tried, as multiples of the one at which scores have a mean size of 1."""


def scaled(risk: Risk, w: Values, size: float) -> Values:
    """``a w`` with the least a > 0 whose risk is close to that of the best a; ``size`` is the mean size of the scores.

    The labels that are predicted do not depend on a. Where scores are small against the loss, a surrogate is far above
    the loss; where they are very large, the ramp is flat. The least scale whose risk has gone nine tenths of the way
    from w = 0 to the least risk lies between.
    """
    if size == 0.0 or not np.isfinite(size):
        return w
    scales = SCALES / size
    values = np.array([risk.cut(a * w).value for a in scales])
    nothing, least = risk.cut(np.zeros(risk.size)).value, float(values.min())
    close = values - least <= CLOSE * max(nothing - least, 0.0)
    return np.asarray(scales[int(close.argmax())] * w)


def _ended(trained: LinearFit) -> LinearFit:
    """The weights of a fit that had ended when Ctrl-C came."""
    words = f"interrupted after the fit, during its evaluation; {trained.fit.message}"
    return replace(trained, fit=replace(trained.fit, status="interrupted", message=words))


def at_the_start(fit: Fit, risk: Risk, C: float) -> Fit:
    """The fit with the weights of its start, from which it took steps."""
    w = np.zeros(risk.size)
    cut = risk.cut(w)
    upper, words = C * cut.upper, f"{fit.message}; the start is kept, because its training loss is smaller"
    gap = relative_gap(fit.lower_bound, upper, C)
    return replace(fit, w=w, objective=C * cut.value, upper_bound=upper, gap=gap, message=words)


def solve(
    model: Any,
    problem: Training,
    last: Values | None,
    descent: type[Learner] = NRBM,
    checkpoint: OpenCheckpoint | None = None,
) -> LinearFit:
    """The weights of a problem for the parameters of ``model``, found from the weights ``last`` on.

    ``descent`` is the learner that ``learner="auto"`` takes for risks that are not convex. Where the ``checkpoint``
    holds an earlier fit, this one goes on from there.
    """
    bar = ProgressBar(model.tol, type(model).__name__) if model.verbose else None
    limit: AbstractContextManager[None] = nullcontext()
    if isinstance(problem, BatchTraining):
        limit = blas_threads(problem.multiplications, None if model.n_jobs is None else problem.jobs)
    with limit:
        make = partial(learner_for, model, descent=descent)
        trained = problem.solve(make, isinstance(model.learner, str), last, bar, checkpoint)
    if bar is not None:
        bar.close()
    return trained


def shift_of(model: Any, trained: LinearFit, given: Any, tune: Callable[[], Any]) -> tuple[Any, bool]:
    """The threshold of a fit, and whether Ctrl-C has ended the fit or the choice of the threshold.

    It is ``given``, or ``tune()`` where ``model`` asks for that, else 0. It is 0 after Ctrl-C too, with a warning.
    """
    interrupted = trained.fit.status == "interrupted"
    if given is not None or model.threshold == "zero" or interrupted:
        return (0.0 if given is None else given), interrupted
    name = type(model).__name__
    try:
        with warnings.catch_warnings():
            # The fit of a fold is no model of the user.
            warnings.filterwarnings("ignore", f"{name} was interrupted", RuntimeWarning)
            return tune(), False
    except KeyboardInterrupt:
        words = f"{name} was interrupted while its threshold was chosen; the fitted weights are stored, without it."
        warnings.warn(words + AFTER_A_FIT.see, RuntimeWarning, stacklevel=4)
        return 0.0, True


def keep_certificates(model: Any, trained: LinearFit, longest: float = 0.0) -> None:
    """Store in the attributes of ``model`` how its weights were found, and how good they are.

    It warns where the fit ended short of its tolerance; ``longest`` is the length of the longest row of features.
    """
    fit = trained.fit
    model.surrogate_, model.C_, model._radius = trained.surrogate, trained.C, trained.radius
    model.objective_, model.lower_bound_, model.duality_gap_ = fit.objective, fit.lower_bound, fit.gap
    fields = ("objective", "lower_bound", "upper_bound", "seconds")
    model.history_ = {name: np.array([getattr(record, name) for record in fit.history]) for name in fields}
    model.n_iter_, model.status_, model.stop_reason_ = len(fit.history), fit.status, fit.message
    warn_of_end(type(model).__name__, fit, trained.certified, longest)
