"""What a method for bags is fitted to, its settings, how it descends, and the models that come out.

Descent is by L-BFGS for risks with a gradient, and by planes for surrogates. Features are scaled, and scores of any
scale become log-odds.
"""

import sys
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import issparse
from sklearn.preprocessing import StandardScaler
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from setwise.core.checks import Ints, Values
from setwise.core.learner import plain_interrupts
from setwise.core.risk import Risk
from setwise.core.surrogate import Evaluator, Surrogate
from setwise.estimators.weak.knowledge import Knowledge
from setwise.learners import NRBM
from setwise.models import RowModel
from setwise.risks import MeanRisk


@final
class FitProgress:
    """Draws one line on standard error: what is fitted, its objective, and the number of steps; or nothing."""

    def __init__(self, shown: bool = False, label: str = "") -> None:
        self.shown, self.label = shown, label
        self._begin, self._drawn, self._open = time.perf_counter(), -1.0, False

    def step(self, objective: float, iteration: int) -> None:
        """Draw the line, at most ten times a second."""
        self._draw(f": objective {objective:.6g}  step {iteration}  {time.perf_counter() - self._begin:.1f} s ")

    def note(self, words: str) -> None:
        """Draw what is done now, at most ten times a second."""
        self._draw(f" {words:60}")

    def _draw(self, text: str) -> None:
        seconds = time.perf_counter() - self._begin
        if self.shown and not (self._open and seconds - self._drawn < 0.1):
            self._drawn, self._open = seconds, True
            sys.stderr.write(f"\r{self.label}{text}")
            sys.stderr.flush()

    def close(self) -> None:
        """End the line with a line break."""
        if self._open:
            sys.stderr.write("\n")
            sys.stderr.flush()
            self._open = False

    def say(self, words: str) -> None:
        """A sentence on standard output, where progress is shown."""
        if self.shown:
            print(words)


@final
@dataclass(frozen=True, eq=False)
class BagProblem:
    """Rows with what is known of them.

    Attributes
    ----------
    X : the rows in the order of the knowledge; scaled features for linear models, anything for other classifiers
    knowledge : what is known of them
    whole : the problem of which these are the bags ``parts``, or None
    """

    X: Any
    knowledge: Knowledge
    whole: "tuple[BagProblem, Ints] | None" = None

    def take(self, parts: Ints) -> "BagProblem":
        """The problem of some bags."""
        places, knowledge = self.knowledge.take(parts)
        return BagProblem(taken(self.X, places), knowledge, (self, parts))

    def bound(self, surrogate: Surrogate) -> Evaluator:
        """A surrogate of the bags, whose loss may have a value for each bag of the whole problem."""
        if self.whole is None:
            return surrogate.on(self.knowledge.sets)
        problem, parts = self.whole
        return problem.bound(surrogate).take(parts)

    def risk(self, surrogate: Surrogate | Evaluator, n_jobs: int = 1) -> MeanRisk:
        """The mean over bags of a surrogate, as a function of d weights and the constant, which is the last."""
        sets = self.knowledge.sets
        evaluator = surrogate if isinstance(surrogate, Evaluator) else surrogate.on(sets)
        return MeanRisk(RowModel(self.X, sets.offsets), evaluator, n_jobs=n_jobs)


@final
@dataclass(frozen=True, eq=False)
class FitSettings:
    """How a method is fitted.

    Attributes
    ----------
    C : the weight of the sum over bags against ``0.5 |w|^2``
    tol : descent ends where a step lowers the objective by less than this share of it
    max_iter : the largest number of steps of a descent, or of fits of a classifier
    n_jobs : the number of threads that share the bags
    watch : what shows the progress
    seed : of labels that are drawn, for classifiers without weights
    """

    C: float = 1.0
    tol: float = 1e-6
    max_iter: int = 1000
    n_jobs: int = 1
    watch: FitProgress = field(default_factory=FitProgress)
    seed: int = 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Model(ABC):
    """A fitted model of one class against the rest.

    Attributes
    ----------
    status : ``"converged"``, ``"max_iter"`` or ``"interrupted"``
    message : the same in a sentence
    objective : the value that was minimized, at the model; nan where there is none
    n_iter : the number of steps
    """

    status: str = "converged"
    message: str = ""
    objective: float = np.nan
    n_iter: int = 0

    @abstractmethod
    def scores(self, X: Any) -> Values:
        """The log-odds of each row, (n,), for X as that of its problem."""

    def losses(self, problem: BagProblem) -> Values:
        """``-log Pr(what is known)`` of each bag of a problem, (bags,)."""
        return np.asarray(problem.knowledge.likelihood(self.scores(problem.X)).values)


@final
@dataclass(frozen=True, eq=False)
class LinearModel(Model):
    """``X w + w_last``, for scaled features."""

    w: Values

    def scores(self, X: Any) -> Values:
        """The log-odds of each row, (n,)."""
        return np.asarray(X @ self.w[:-1] + self.w[-1])


@final
@dataclass(frozen=True, eq=False)
class ConstantModel(Model):
    """The same log-odds for all rows."""

    log_odds: float

    def scores(self, X: Any) -> Values:
        """The log-odds of each row, (n,)."""
        return np.full(_num_samples(X), self.log_odds)


def taken(X: Any, places: Any) -> Any:
    """Some rows of an array, a sparse matrix, a table of pandas, or a list."""
    if isinstance(places, slice):
        places = np.arange(*places.indices(_num_samples(X)))
    return _safe_indexing(X, places)


INTERCEPT_SHRINKAGE = 1e-4
"""The square of the constant counts so much beside those of the other weights: it is bounded, and hardly shrunk."""

GRADIENT = 1e-10
"""Descent also ends where no slope is larger than this share of the objective at the start."""


@final
class _BagObjective:
    """The objective and its gradient; it keeps the best point that was seen."""

    def __init__(self, risk: Risk, weight: float, settings: FitSettings) -> None:
        self.risk, self.weight, self.watch = risk, weight, settings.watch
        self.ridge = np.append(np.ones(risk.size - 1), INTERCEPT_SHRINKAGE)
        self.best: Values | None = None
        self.least, self.steps = np.inf, 0
        # L-BFGS compares its progress with 1, so it sees the objective in units of that of its start.
        self.unit = 0.0

    def __call__(self, w: Values) -> tuple[float, Values]:
        with plain_interrupts():
            cut = self.risk.cut(w)
        value = 0.5 * float(self.ridge @ (w * w)) + self.weight * cut.value
        if value < self.least:
            self.best, self.least = w.copy(), value
        self.unit = self.unit or max(abs(value), np.finfo(np.float64).tiny)
        return value / self.unit, (self.ridge * w + self.weight * cut.slope) / self.unit

    def step(self, _: Any) -> None:
        """One step of the descent is done."""
        self.steps += 1
        self.watch.step(self.least, self.steps)


def descend_by_lbfgs(risk: Risk, start: Values, settings: FitSettings) -> LinearModel:
    """The weights where L-BFGS ends that begins at ``start``, (size,); the best so far after Ctrl-C.

    The weight of the risk is C times the number of bags, so that C weighs their sum. The last weight is that of the
    constant feature, which is hardly regularized. On a risk that is not convex this is a local minimum.
    """
    objective = _BagObjective(risk, settings.C * risk.n_parts, settings)
    options = {"maxiter": settings.max_iter, "ftol": settings.tol, "gtol": GRADIENT, "maxcor": 20}
    status, words = "converged", f"descent ended within tol={settings.tol:g}"
    try:
        found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options, callback=objective.step)
        if found.status == 1:
            status, words = "max_iter", f"stopped after max_iter={settings.max_iter} steps"
    except KeyboardInterrupt:
        status, words = "interrupted", "interrupted; these are the best weights so far"
    settings.watch.close()
    best = start if objective.best is None else objective.best
    return LinearModel(best, status=status, message=words, objective=objective.least, n_iter=objective.steps)


def calibrated(knowledge: Knowledge, scores: Values, *, boundary_stays: bool = False) -> tuple[float, float]:
    """``(a, b)`` of least ``-log Pr(what is known)`` at the log-odds ``a scores + b``, with ``0.01 <= a <= 100``.

    With ``boundary_stays`` b is 0. A small term keeps both finite where bags or rows can be told apart without a
    mistake.
    """
    size = max(float(np.abs(scores).mean()), np.finfo(np.float64).tiny)
    bags = len(knowledge)

    def objective(ab: Values) -> tuple[float, Values]:
        a = np.exp(ab[0])
        found = knowledge.likelihood(a * scores + ab[1])
        prior = 1e-3 * float((a * size) ** 2 + ab[1] ** 2)
        slope = np.array([a * (found.gradient @ scores) + 2e-3 * (a * size) ** 2, found.gradient.sum() + 2e-3 * ab[1]])
        return (float(found.values.sum()) + prior) / bags, slope / bags

    bounds = [(np.log(0.01), np.log(100.0)), (0.0, 0.0) if boundary_stays else (None, None)]
    found = minimize(objective, np.zeros(2), jac=True, method="L-BFGS-B", bounds=bounds)
    return float(np.exp(found.x[0])), float(found.x[1])


@final
@dataclass(frozen=True, eq=False)
class FeatureScaling:
    """``(x - mean) / scale``; sparse features are not centred."""

    mean: Values
    scale: Values

    @classmethod
    def of(cls, X: Any) -> "FeatureScaling":
        """The scaling of the rows X (n, d), dense or CSR."""
        with np.errstate(over="ignore", invalid="ignore"):
            scaler = StandardScaler(with_mean=not issparse(X)).fit(X)
        mean = np.zeros(X.shape[1]) if issparse(X) else np.asarray(scaler.mean_)
        scale = np.asarray(scaler.scale_)
        if not (np.isfinite(mean).all() and np.isfinite(scale).all()):
            raise OverflowError("X is too large: the variance of a feature overflows float64; scale X down.")
        return cls(mean, scale)

    def inside(self, X: Any) -> Any:
        """The scaled rows; a dense X is overwritten, for a copy may be large."""
        if issparse(X):
            return X.multiply(1.0 / self.scale).tocsr()
        X -= self.mean
        X /= self.scale
        return X

    def given(self, w: Values) -> tuple[Values, float]:
        """Weights (d,) and the intercept for rows that are not scaled, of weights (d + 1,) for those that are."""
        coef = w[:-1] / self.scale
        return coef, float(w[-1] - coef @ self.mean)


CONSTANT_FEATURE = 10.0
"""The value of the constant feature: its weight is regularized a hundredth as much as a score of it would be."""

TOL, STEPS = 1e-3, 100
"""The smallest tolerance and the largest number of planes: a score more or less decides little."""


def descend_by_bundles(problem: BagProblem, evaluator: Evaluator, start: Values, settings: FitSettings) -> LinearModel:
    """``min 0.5 |w|^2 + C sum over bags of a surrogate`` from ``start`` (d + 1,), by :class:`setwise.learners.NRBM`.

    The minimum is local where the surrogate is not convex. The objective is never above that of the start.
    """
    known, scale = problem.knowledge, np.append(np.ones(len(start) - 1), CONSTANT_FEATURE)
    risk = MeanRisk(RowModel(problem.X, known.sets.offsets, CONSTANT_FEATURE), evaluator, n_jobs=settings.n_jobs)
    learner = NRBM(settings.C * len(known), max(settings.tol, TOL), min(settings.max_iter, STEPS))
    watch = settings.watch
    found = learner.minimize(risk, w0=start / scale, callback=lambda at, _: watch.step(at.objective, at.iteration))
    watch.close()
    model = LinearModel(scale * found.w, message=found.message, objective=found.objective, n_iter=len(found.history))
    # So many planes are enough for a local minimum.
    return replace(model, status="interrupted") if found.status == "interrupted" else model


def as_log_odds(problem: BagProblem, found: LinearModel, ranked: bool = False) -> LinearModel:
    """The model with the factor of its scores under which what is known is most likely; its boundary stays.

    Scores that are ``ranked`` alone have no boundary, so that they take the constant of greatest likelihood too.
    """
    slope, shift = calibrated(problem.knowledge, found.scores(problem.X), boundary_stays=not ranked)
    return replace(found, w=slope * found.w + np.append(np.zeros(len(found.w) - 1), shift))
