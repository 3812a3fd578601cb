"""The models that methods for bags are fitted for: linear ones, and any classifier of scikit-learn.

A classifier is fitted to rows with soft labels, or to the features of whole bags.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice, repeat
from typing import Any, final

import numpy as np
from scipy.special import logit
from sklearn import config_context
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from setwise.core.batch import Sets
from setwise.core.checks import Ints, Values, shown
from setwise.core.surrogate import Surrogate
from setwise.estimators.weak import methods
from setwise.estimators.weak.bag_features import BagFeatureModel, bag_features, log_odds, refusal
from setwise.estimators.weak.knowledge import Knowledge, Posterior
from setwise.estimators.weak.methods import LINEAR, loss_of
from setwise.estimators.weak.problem import (
    BagProblem,
    ConstantModel,
    FitSettings,
    LinearModel,
    Model,
    calibrated,
    taken,
)


class Family(ABC):
    """How a model of one class against the rest is fitted.

    Attributes
    ----------
    methods : the names of the methods, the most trusted first: it is taken where no race decides
    regularized : whether ``C`` of the settings matters
    steps : the largest number of steps of a descent, or of fits, where the user names none
    """

    methods: tuple[str, ...]
    regularized: bool
    steps: int = 1000

    @abstractmethod
    def start(self, problem: BagProblem, before: Model | None, settings: FitSettings) -> Model:
        """The model of soft labels, at which methods begin; ``before`` is one with other settings."""

    @abstractmethod
    def fit(self, method: str, problem: BagProblem, start: Model, settings: FitSettings) -> Model:
        """The model of a method."""


@final
class LinearFamily(Family):
    """Linear log-odds with ``0.5 |w|^2``, for scaled features.

    Parameters
    ----------
    surrogate : one of a loss that judges whole bags, whose text is then the name of the only method; or None
    """

    methods: tuple[str, ...] = ("count_likelihood", "proportion_loss", "alternation", "margin")
    regularized = True

    def __init__(self, surrogate: Surrogate | None = None) -> None:
        self.surrogate = surrogate
        if surrogate is not None:
            self.methods = (repr(surrogate),)

    def start(self, problem: BagProblem, before: Model | None, settings: FitSettings) -> Model:
        """Logistic regression in which each row has its share of a positive as its label."""
        begin = before.w if isinstance(before, LinearModel) else None
        return methods.fit_to(problem, problem.knowledge.shares, begin, settings)

    def fit(self, method: str, problem: BagProblem, start: Model, settings: FitSettings) -> Model:
        """The model of a method from the weights of ``start``."""
        assert isinstance(start, LinearModel)
        if self.surrogate is not None:
            return methods.fit_judged_bags(problem, start.w, settings, self.surrogate)
        return LINEAR[method](problem, start.w, settings)


CLIP = 1e-6
"""Probabilities of a classifier are kept this far from 0 and 1."""

CLOSE = 1e-3
"""The smallest tolerance: EM ends where no soft label moves by more."""

SHARPNESS = (2.0, 8.0)
"""Factors of the log-odds in the rounds of an alternation before its labels are hard."""


@final
@dataclass(frozen=True, eq=False)
class ClassifierModel(Model):
    """``slope * log-odds + shift`` of a fitted classifier."""

    estimator: Any
    slope: float = 1.0
    shift: float = 0.0

    def scores(self, X: Any) -> Values:
        """The log-odds of each row, (n,)."""
        found = np.asarray(self.estimator.predict_proba(X), dtype=np.float64)
        return np.asarray(self.slope * logit(np.clip(found[:, 1], CLIP, 1.0 - CLIP)) + self.shift)


@final
@dataclass(frozen=True, eq=False)
class ClassifierFamily(Family):
    """A classifier with ``predict_proba``: each row is given twice, weighted by how likely it is of each class.

    A classifier that takes no weights is given labels that are drawn with these probabilities.

    Parameters
    ----------
    estimator : the classifier, which is cloned
    """

    estimator: Any

    methods = ("count_likelihood", "proportion_loss", "alternation")
    regularized = False
    steps = 20

    def start(self, problem: BagProblem, before: Model | None, settings: FitSettings) -> Model:
        """The classifier of soft labels, the shares of the bags; it is that of ``"proportion_loss"`` too."""
        return self._fitted(problem, problem.knowledge.shares, settings, 0)

    def fit(self, method: str, problem: BagProblem, start: Model, settings: FitSettings) -> Model:
        """EM, alternation, or the start itself."""
        if method == "proportion_loss":
            return self._ended(problem, start, "converged", "soft labels are the shares of the bags", 1)
        hard = method == "alternation"
        posterior, model, before = Posterior(problem.knowledge), start, problem.knowledge.shares
        sharpness: Iterator[float] = chain(SHARPNESS, repeat(np.inf)) if hard else repeat(1.0)
        status, words, done = "max_iter", f"stopped after max_iter={settings.max_iter} fits", 1
        try:
            # The start is the first fit.
            for factor in islice(sharpness, settings.max_iter - 1):
                targets = posterior(model.scores(problem.X), factor)
                moves = np.abs(targets - before)
                if moves.mean() <= settings.tol if hard else moves.max() <= max(settings.tol, CLOSE):
                    status, words = "converged", "the labels of the rows no longer change"
                    break
                model, before = self._fitted(problem, targets, settings, done), targets
                done += 1
                settings.watch.step(float(np.abs(targets - 0.5).mean()), done)
        except KeyboardInterrupt:
            status, words = "interrupted", "interrupted; this is the last classifier that was fitted"
        settings.watch.close()
        return self._ended(problem, model, status, words, done, boundary_stays=hard)

    def _ended(
        self, problem: BagProblem, model: Model, status: str, words: str, fits: int, *, boundary_stays: bool = False
    ) -> Model:
        """The model as log-odds of greatest likelihood of what is known."""
        if isinstance(model, ClassifierModel):
            slope, shift = calibrated(problem.knowledge, model.scores(problem.X), boundary_stays=boundary_stays)
            model = replace(model, slope=slope, shift=shift)
        assert isinstance(model, ClassifierModel | ConstantModel)
        objective = float(problem.knowledge.likelihood(model.scores(problem.X)).values.sum())
        return replace(model, status=status, message=words, objective=objective, n_iter=fits)

    def _fitted(self, problem: BagProblem, targets: Values, settings: FitSettings, number: int) -> Model:
        """A clone that is fitted to the shares of a positive, (total,)."""
        if targets.max() <= 0.0 or targets.min() >= 1.0:
            n = len(targets)
            return ConstantModel(float(logit((n + 0.5 if targets.min() >= 1.0 else 0.5) / (n + 1.0))))
        name = _weight_name(self.estimator)
        hard = bool(((targets == 0.0) | (targets == 1.0)).all())
        model = clone(self.estimator)
        if hard or name is None:
            draws = np.random.default_rng([settings.seed, number]).random(len(targets))
            return _trained(model, problem.X, (draws < targets).astype(np.int64))
        ones, zeros = np.flatnonzero(targets > 0.0), np.flatnonzero(targets < 1.0)
        places = np.concatenate([ones, zeros])
        labels = (np.arange(len(places)) < len(ones)).astype(np.int64)
        weights = np.concatenate([targets[ones], 1.0 - targets[zeros]])
        return _trained(model, taken(problem.X, places), labels, **{name: weights})


BAG_FEATURES = "bag_features"
"""The name of the method that judges whole bags by their features."""

TREES = 300
"""The trees of the forest that judges bags by default."""


@final
@dataclass(frozen=True, eq=False)
class BagFeatureFamily(Family):
    """A classifier of bags, fitted to their features and to whether they have a positive row.

    Log-odds of the forest are scaled to the greatest likelihood of bags that its trees did not see; the probabilities
    of another classifier are taken as they are.

    Parameters
    ----------
    estimator : the classifier, which is cloned; None is a random forest of 300 trees
    """

    estimator: Any = None

    methods = (BAG_FEATURES,)
    regularized = False

    def start(self, problem: BagProblem, before: Model | None, settings: FitSettings) -> Model:
        """The fitted classifier; ValueError where features of bags do not teach what is known."""
        why = refusal(problem)
        if why:
            raise ValueError(f"method must be another one here: {why}")
        return self.fitted(problem, settings)

    def fit(self, method: str, problem: BagProblem, start: Model, settings: FitSettings) -> Model:
        """The start."""
        return start

    def fitted(self, problem: BagProblem, settings: FitSettings) -> BagFeatureModel:
        """The classifier, or the share of the bags where all are of one kind, as those outside of a fold may be."""
        known = problem.knowledge
        labels, bags = (known.low > 0).astype(np.int64), len(known)
        if labels.min() == labels.max():
            model = DummyClassifier()
        elif self.estimator is None:
            model = RandomForestClassifier(TREES, oob_score=True, n_jobs=settings.n_jobs, random_state=settings.seed)
        else:
            model = clone(self.estimator)
        fitted = _trained(model, bag_features(problem.X, known.sets.offsets), labels).estimator
        found = BagFeatureModel(fitted, bags, message="a classifier was fitted to features of bags", n_iter=1)
        if isinstance(model, RandomForestClassifier) and self.estimator is None:
            each = Sets(labels.astype(np.int8), np.arange(bags + 1))
            scores = log_odds(fitted.oob_decision_function_[:, 1], bags)
            slope, shift = calibrated(Knowledge(np.arange(bags), each, labels, labels), scores)
            found = replace(found, slope=slope, shift=shift)
        return replace(found, objective=float(found.losses(problem).sum()))


def _trained(estimator: Any, X: Any, labels: Ints, **weights: Values) -> ClassifierModel:
    """The model of a classifier that is fitted to hard labels with weights of rows.

    The weights are part of the method and no metadata of the user, so that they go to the classifier without routing,
    which some classifiers do not support.
    """
    with config_context(enable_metadata_routing=False):
        estimator.fit(X, labels, **weights)
    return ClassifierModel(estimator)


def _weight_name(estimator: Any) -> str | None:
    """The name of the argument of fit for weights of rows, or None if there is none."""
    if isinstance(estimator, Pipeline):
        last, step = estimator.steps[-1]
        name = None if isinstance(step, str) or step is None else _weight_name(step)
        return None if name is None else f"{last}__{name}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def family_of(estimator: Any, method: str | Surrogate) -> tuple[Family, str]:
    """The family, and the name of its method or ``"auto"``: a surrogate is the only method of its own family."""
    if method == BAG_FEATURES:
        return BagFeatureFamily(estimator), "auto"
    if estimator is None:
        if not isinstance(method, Surrogate):
            return LinearFamily(), method
        loss_of(method)
        return LinearFamily(method), "auto"
    family = ClassifierFamily(estimator)
    if isinstance(method, Surrogate) or method not in ("auto", *family.methods):
        *names, last = (repr(name) for name in ("auto", *family.methods, BAG_FEATURES))
        raise ValueError(
            f"method must be {', '.join(names)} or {last} where estimator is given, since all others are for linear "
            f"models; got {shown(method)}."
        )
    return family, method
