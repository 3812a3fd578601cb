"""The plan of a comparison: folds, constants, base models, strategies and measures.

Base models are logistic regression, the reference, a random forest, boosted trees, those of LightGBM, XGBoost and
CatBoost where they are installed, and classifiers of the user. Losses of a ranking read the order of the scores, in
which no threshold and no decision occurs.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, reduce
from importlib import import_module
from typing import Any, ClassVar, final

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from setwise.compare.problem import Problem
from setwise.compare.source import Code
from setwise.core.checks import as_choice, as_count, as_kind, as_number, as_text, shown
from setwise.core.loss import Loss
from setwise.datasets.columns import Category
from setwise.decisions.confusion import MeanOfClasses, class_loss
from setwise.decisions.task import Task, formula_of
from setwise.estimators.selection import STRATEGIES, CostWeight, Strategy
from setwise.estimators.selection.base_models import RESPONSE_METHODS, array_pipeline
from setwise.estimators.selection.decision import BayesDecision
from setwise.estimators.selection.floors import FlooredThreshold, NearestThreshold
from setwise.estimators.selection.several_classes import CLASS_STRATEGIES, ClassStrategy
from setwise.estimators.selection.strategies import Evidence, OwnLabelsRule, Rule, ScoreOrder, SingleThreshold
from setwise.estimators.table_encoder import LARGEST, TableEncoder, tree_categories
from setwise.losses import LOSSES, MCC, CohenKappa, as_loss, parse_losses
from setwise.losses.combinations import LossOfClasses, OneClass
from setwise.losses.cost_matrix import CostMatrix
from setwise.losses.functions import MetricLoss
from setwise.losses.names import ONE_SIDED, OWN_LOSS, SYNONYMS, text_of
from setwise.losses.overlap import FBeta
from setwise.losses.row_costs import RowCosts

SCORES: dict[str, str] = {
    "auc": "AUC",
    "average_precision": "average precision",
    "balanced_error": "balanced accuracy",
    "break_even": "precision at break-even",
    "error_rate": "accuracy",
    "f1": "F1",
    "g_mean": "G-mean",
    "h_mean": "H-mean",
    "jaccard": "Jaccard index",
    "kappa": "Cohen's kappa",
    "mcc": "Matthews correlation",
    "ndcg": "NDCG",
    "precision_at_k": "precision at k",
    "recall_at_k": "recall at k",
    "tversky": "Tversky index",
}
"""The losses that are one minus a measure by which users know them, with the names of these measures."""

NAMES = ("negative", "positive")
"""The words for the labels of two classes."""

COSTS, MEAN_COST = "costs", "mean_cost"
"""What the measure is called where each row has its costs, and where each kind of mistake of several classes has."""

HEADINGS = {
    "tversky:1:1e-9": "precision", "tversky:1e-9:1": "recall", COSTS: "cost of 1,000 rows", MEAN_COST: "mean cost",
}  # fmt: skip
"""The names of losses with parameters that users know under another name."""


@final
@dataclass(frozen=True)
class NamedLoss:
    """A loss with the words for it.

    Attributes
    ----------
    name : what was asked for, as ``"f1"`` or ``"fbeta:2"``; of a function of yours ``"module:function"``
    loss : the loss, or what :func:`setwise.losses.as_loss` takes for one
    average : what a set is in a label matrix, as for :class:`setwise.SetClassifier`
    classes : the number of classes where there are more than two, else 0; the loss is then that of
        :class:`setwise.MeasureClassifier` for them, as macro F1 for F1

    Raises
    ------
    ValueError : for an empty name, another average, and losses of another number of labels
    TypeError : for a name or a loss of another kind

    Examples
    --------
    >>> from setwise.compare import NamedLoss
    >>> from setwise.losses import FBeta
    >>> f1 = NamedLoss("f1", FBeta())
    >>> f1.title, f1.better, f1.shown(0.25)
    ('F1', 'higher is better', 0.75)
    """

    name: str
    loss: Loss
    average: str = "samples"
    classes: int = 0

    def __post_init__(self) -> None:
        if not as_text(self.name, "name"):
            raise ValueError("name must not be empty; it is what the loss is called, as 'f1'.")
        object.__setattr__(self, "loss", as_loss(self.loss))
        if as_count(self.classes, "classes", low=0):
            class_loss(self.loss, self.classes)
        elif self.loss.reads == "classes" and formula_of(self.loss) is None:
            raise ValueError(f"loss must judge labels 0 and 1 or scores; {self.loss!r} judges {self.loss.reads}.")
        as_choice(self.average, "average", ("samples", "macro", "micro"))

    def of(self, problem: Problem) -> "NamedLoss":
        """The same for the classes of a problem, whose labels are what functions get."""
        return replace(self, classes=problem.several, loss=self.loss.for_labels(problem.labels))

    @property
    def _of_class(self) -> "NamedLoss":
        """The loss of one class, if this is the mean over the classes or that of another class; or itself."""
        form = class_loss(self.loss, self.classes) if self.classes else self.loss
        if not isinstance(form, MeanOfClasses | LossOfClasses):
            return self
        inner = form.inner if isinstance(form, MeanOfClasses) else form.loss
        return NamedLoss(self.name if self.loss == inner else inner.name, inner)

    @property
    def is_score(self) -> bool:
        """Whether more is better of what readers know: ``1 - loss``, or a gain."""
        return self.is_gain or self._of_class.loss.name in SCORES

    @property
    def is_gain(self) -> bool:
        """Whether it is a function of a user of which more is better."""
        return isinstance(self.loss, MetricLoss) and self.loss.greater_is_better

    @property
    def title(self) -> str:
        """The name of what is shown, as ``"F1"``."""
        if (one := self._of_class) is not self:
            if isinstance(self.loss, OneClass):
                which = f"class {self.loss.label}" if self.classes else f"the {NAMES[self.loss.label]} label"
                return f"{one.title} of {which}"
            return f"{'weighted' if getattr(self.loss, 'weights', '') == 'support' else 'macro'} {one.title}"
        if self.name in HEADINGS:
            return HEADINGS[self.name]
        if isinstance(self.loss, FBeta):
            return f"F{self.loss.beta:g}"
        if isinstance(self.loss, MetricLoss):
            return self.name.rpartition(":")[2].replace("_", " ")
        # A scorer of a known metric, in a module of the user, is that metric.
        name = text_of(self.loss) if is_own_loss(self.name) else self.name
        if name == self.loss.name:
            return SCORES.get(name, f"{name.replace('_', ' ')} loss")
        return name if self.is_score else f"{name} loss"

    @property
    def better(self) -> str:
        """``"higher is better"`` or ``"lower is better"``."""
        return "higher is better" if self.is_score else "lower is better"

    @property
    def range(self) -> tuple[float, float]:
        """The least and the largest number that can be shown, as far as they are known."""
        one = self._of_class.loss
        if self.is_gain or isinstance(one, MetricLoss | RowCosts):
            return -np.inf, np.inf
        return (-1.0 if isinstance(one, MCC | CohenKappa) else 0.0, 1.0) if self.is_score else (0.0, np.inf)

    @property
    def orders(self) -> bool:
        """Whether the loss reads scores, of which only the order counts, so that no threshold occurs in it."""
        return self.loss.reads == "scores"

    def on(self, X: Any, groups: Any = None) -> Loss:
        """The loss of the rows X, as it is reported; the mean over groups is the cost of 1,000 rows with costs."""
        if self.classes:
            return class_loss(self.loss, self.classes).reported
        loss, sets = self.loss.reported, 1 if groups is None else len(np.unique(groups))
        return loss.read(X).times(1000.0 * sets / X.shape[0]) if isinstance(loss, RowCosts) else loss

    def shown(self, loss: float) -> float:
        """The figure that is shown for a value of the loss."""
        return -loss if self.is_gain else 1.0 - loss if self.is_score else loss


GRID = (1e-2, 1e-1, 1.0, 10.0, 100.0)
"""The constants C from which logistic regression takes the one that is best for the measure."""

QUICK_GRID = (1e-2, 1.0, 100.0)

SPARSE = 0.3
"""Below this share of features that are not 0, a fit to 50,000 rows with words is several times faster if sparse."""


@final
@dataclass(frozen=True)
class BaseModel:
    """A base model: a classifier with probabilities, over the table of a problem.

    Attributes
    ----------
    name : the short name in options
    title : the name in sentences
    build : makes the classifier for a problem, a constant and a seed, not yet fitted; what it learns of the table it
        learns in ``fit``
    cost : the seconds of a fit on a usual processor, at least and for each cell of the table
    package : what must be installed for it beside setwise, or ""
    sparse : whether it reads a sparse table
    regularized : whether it has a constant C to choose
    code : the code of the classifier itself; None where its parameters say it
    """

    name: str
    title: str
    build: Callable[[Problem, float | None, int], Any]
    cost: tuple[float, float]
    package: str = ""
    sparse: bool = True
    regularized: bool = False
    code: Code | None = None

    @property
    def is_installed(self) -> bool:
        """Whether its package is there and can be loaded."""
        try:
            return not self.package or bool(import_module(self.package))
        # A package of compiled code may lack a library of the system, which XGBoost says by a ValueError.
        except (ImportError, OSError, ValueError):
            return False

    def constants(self, grid: tuple[float, ...]) -> tuple[float | None, ...]:
        """The constants of the model to choose from; a model that has none is tried once, with None."""
        return grid if self.regularized else (None,)


def over_table(problem: Problem, trees: Any, **given: Any) -> Any:
    """Trees over the table of a problem, which is prepared for them where it is a raw one."""
    return array_pipeline(TableEncoder(problem.columns, "trees", **given), trees) if problem.columns else trees


def over_numbers(problem: Problem, model: Any, sparse: float = 0.0) -> Any:
    """A model over standardized features; gaps become medians and words indicators.

    Sparse features are divided by their largest absolute value instead, so that they stay sparse.
    """
    if problem.columns:
        return array_pipeline(TableEncoder(problem.columns, sparse_threshold=sparse), model)
    if issparse(problem.X):
        return array_pipeline(MaxAbsScaler(), model)
    if problem.has_gaps:
        return array_pipeline(StandardScaler(), SimpleImputer(strategy="median", add_indicator=True), model)
    return array_pipeline(StandardScaler(), model)


def _categories(problem: Problem, name: str) -> dict[str, Any]:
    """The parameter ``name`` of trees, which says which features are words; nothing where there are none."""
    words = tree_categories(problem.columns) if problem.columns else []
    return {name: words} if words else {}


def logistic_regression(problem: Problem, constant: float | None, seed: int) -> Any:
    """Logistic regression on standardized features, with its C from a grid."""
    return over_numbers(problem, LogisticRegression(C=constant or 1.0, max_iter=1000), SPARSE)


def random_forest(problem: Problem, constant: float | None, seed: int) -> Any:
    """A random forest of 100 trees, whose probabilities are the mean of its trees."""
    return over_table(problem, RandomForestClassifier(random_state=seed))


def boosted_trees(problem: Problem, constant: float | None, seed: int) -> Any:
    """Boosted trees, ``HistGradientBoostingClassifier`` of scikit-learn with its defaults."""
    trees = HistGradientBoostingClassifier(**_categories(problem, "categorical_features"), random_state=seed)
    return over_table(problem, trees, min_values=trees.min_samples_leaf)


BOOSTING = {"n_estimators": 200, "learning_rate": 0.05, "n_jobs": 1}
"""Smaller steps than the packages' own, as boosting without held-out rows does not stop early. Folds share processors.
"""


def lightgbm(problem: Problem, constant: float | None, seed: int) -> Any:
    """Boosted trees of LightGBM, 200 with the learning rate .05; the same bits on every number of processors."""
    # Under its usual name LightGBM refuses the parameter, and says that fit takes it.
    given = _categories(problem, "categorical_column")
    same = {"deterministic": True, "force_row_wise": True, "verbose": -1}
    trees = import_module("lightgbm").LGBMClassifier(**BOOSTING, **same, **given, random_state=seed)
    return over_table(problem, trees)


def xgboost(problem: Problem, constant: float | None, seed: int) -> Any:
    """Boosted trees of XGBoost, 200 with the learning rate .05, over numbers and indicators of words."""
    return over_numbers(problem, import_module("xgboost").XGBClassifier(**BOOSTING, random_state=seed), SPARSE)


def catboost(problem: Problem, constant: float | None, seed: int) -> Any:
    """Boosted trees of CatBoost, 200, over numbers and indicators of words."""
    quiet = {"verbose": False, "allow_writing_files": False}
    trees = import_module("catboost").CatBoostClassifier(iterations=200, random_seed=seed, thread_count=1, **quiet)
    return over_numbers(problem, trees, SPARSE)


def imported(name: str) -> Any:
    """What ``"module:object"`` names."""
    home, _, path = name.partition(":")
    return reduce(getattr, path.split("."), import_module(home))


@contextmanager
def refused_import(what: str, name: str, near: str = "") -> Iterator[None]:
    """Raise ValueError in one sentence where ``"module:object"`` cannot be imported or made."""
    try:
        yield
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        is_held = isinstance(error, ValueError) and all(name.split(":"))
        begin = f"{what} {name!r} {'cannot be used:' if is_held else 'must be module:object;'}"
        raise ValueError(f"{begin} {str(error).rstrip('.')}.{near}") from None


def import_of(name: str) -> Code:
    """The code of what ``"module:object"`` names, and the line that imports it."""
    home, _, path = name.partition(":")
    return path, [f"from {home} import {path.partition('.')[0]}"]


LOSS_NAMES = {*LOSSES, *SYNONYMS, *ONE_SIDED, *(kind.__name__.lower() for kind in LOSSES.values())}
"""What is read as the name of a loss, and not as a module."""


def is_own_loss(name: str) -> bool:
    """Whether text names a function of the user, ``module:function``, and no loss with a parameter."""
    return OWN_LOSS.fullmatch(name) is not None and name.partition(":")[0].lower() not in LOSS_NAMES


def own_loss(name: str) -> Loss:
    """The loss that ``"module:function"`` names; ValueError in one sentence where it cannot be imported or is none."""
    near = difflib.get_close_matches(name.partition(":")[0].lower(), LOSS_NAMES, 1)
    with refused_import("the loss", name, f" The nearest loss is {near[0]}." if near else ""):
        return as_loss(imported(name))


def measures_of(text: str, average: str) -> tuple[NamedLoss, ...]:
    """The losses in a text that joins their names by commas; ValueError for a name that does not exist."""
    parts = [part.strip() for part in text.split(",")]
    each = list(dict.fromkeys(parts)) if any(map(is_own_loss, parts)) else [text]
    found = [{one: own_loss(one)} if is_own_loss(one) else parse_losses(one) for one in each]
    return tuple(NamedLoss(name, loss, average) for losses in found for name, loss in losses.items())


def named_loss(loss: Any, average: str, classes: int = 0) -> NamedLoss:
    """What :func:`setwise.losses.as_loss` takes for a loss, under the name that the command line has for it.

    ``classes`` is the number of classes where there are more than two, else 0.
    """
    if isinstance(loss, NamedLoss):
        return replace(loss, average=average, classes=classes)
    asked = as_loss(loss)
    if isinstance(asked, RowCosts | CostMatrix):
        name = COSTS if isinstance(asked, RowCosts) else MEAN_COST
    else:
        name = SYNONYMS.get(loss.lower(), loss.lower()) if isinstance(loss, str) else text_of(asked)
    return NamedLoss(name, asked, average, classes)


def own_model(name: str) -> BaseModel:
    """A classifier of the user over standardized numbers, with indicators of words.

    ``name`` is ``"module:object"``, where the object is a classifier, or a class or function that makes one. Raises
    ValueError, in one sentence, where it cannot be imported or is no classifier.
    """
    with refused_import("the base model", name):
        held = imported(name)
        called = isinstance(held, type) or not hasattr(held, "fit")
        # A class may need arguments.
        estimator = held() if called and callable(held) else held
    has = [hasattr(estimator, method) for method in ("fit", "predict", "get_params")]
    if not all(has) or not any(hasattr(estimator, method) for method in RESPONSE_METHODS["auto"]):
        wanted = "a classifier of scikit-learn with scores"
        raise ValueError(f"the base model {name!r} must be {wanted}; got {shown(held)}.")

    def build(problem: Problem, constant: float | None, seed: int) -> Any:
        model = clone(estimator)
        if model.get_params().get("random_state", 0) is None:
            model.set_params(random_state=seed)
        return over_numbers(problem, model)

    path, lines = import_of(name)
    code = f"{path}{'()' if called else ''}", lines
    return BaseModel(name, type(estimator).__name__, build, (0.1, 5e-6), code=code)


BASES = {
    base.name: base
    for base in (
        BaseModel("linear", "logistic regression", logistic_regression, (0.01, 8e-7), regularized=True),
        BaseModel("forest", "random forest", random_forest, (0.1, 2e-5)),
        BaseModel("boosted", "boosted trees", boosted_trees, (0.1, 5e-7), sparse=False),
        BaseModel("lightgbm", "LightGBM", lightgbm, (0.1, 1.5e-6), "lightgbm"),
        BaseModel("xgboost", "XGBoost", xgboost, (0.1, 2e-6), "xgboost"),
        BaseModel("catboost", "CatBoost", catboost, (0.4, 3e-6), "catboost"),
    )
}
"""The base models by their names; the first one is the reference."""


@cache
def base_model(name: str) -> BaseModel:
    """The base model of a name, or of ``module:object``; ValueError in one sentence where there is none."""
    if ":" in name:
        return own_model(name)
    if name not in BASES:
        raise ValueError(f"there is no base model {name!r}; use {', '.join(BASES)}, or module:object.")
    if not BASES[name].is_installed:
        raise ValueError(f"the base model {name!r} is not installed; pip install {BASES[name].package}.")
    return BASES[name]


def shared_words(problem: Problem) -> list[str]:
    """Notes on columns of more words than some base models tell apart."""
    trees, linear = LARGEST["trees"], LARGEST["linear"]
    return [
        f"Column {column.name!r} has {len(column.words):,} words: trees tell at most {trees} of them apart, logistic "
        f"regression at most {linear}, and the rarest ones count as one."
        for column in problem.columns
        if isinstance(column, Category) and len(column.words) > trees
    ]


@final
@dataclass(frozen=True)
class MostProbable(ClassStrategy):
    """What the base model predicts of more than two classes, the most probable one.

    It is :class:`~setwise.estimators.selection.OwnPrediction` under words that know no 0.5.
    """

    name: ClassVar[str] = "most_probable"
    title = "most probable class"
    phrase = "with the most probable class"
    explanation = "the class that the model predicts by itself"

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        return OwnLabelsRule()


OF_CLASSES: Mapping[str, type[Strategy]] = {MostProbable.name: MostProbable} | {
    name: kind for name, kind in CLASS_STRATEGIES.items() if name not in STRATEGIES
}
"""The strategies for more than two classes; the first one is the reference."""

TRIED: Mapping[str, type[Strategy]] = {**STRATEGIES, CostWeight.name: CostWeight, **OF_CLASSES}
"""The strategies by their names; weights by costs are for costs of each row alone, others for several classes alone."""

Key = tuple[str, str]
"""A way to get predictions: the names of the base model and of the strategy."""

FIRST = next(iter(BASES))

REFERENCE: Key = (FIRST, "threshold")
"""Logistic regression with a tuned threshold, by which every other way is judged."""

PLAIN: Key = (FIRST, "as_it_is")
"""Logistic regression at 0.5."""

LEAST_FOLDS = 4
"""With fewer outer folds hardly any gain is sure, so that the folds inside judge."""


@final
@dataclass(frozen=True)
class Plan:
    """What is tried, and in which folds.

    Attributes
    ----------
    folds : the number of outer folds, 2 or more; the whole choice is repeated in each
    inner : the number of folds, 3 or more, inside a training part, by which strategies are tuned and judged
    grid : the constants C of logistic regression, above 0
    bases, strategies : the names of the base models and of the strategies; ``"module:object"`` is a classifier of yours
    seed : the seed of the outer folds and of the trees
    n_jobs : the number of processes; -1 takes all processors
    skipped : pairs of base model and strategy that do not fit into the budget
    floor : the threshold that keeps floors, which of other strategies ``"decision"`` alone may do; None without floors
    outer : how many of the outer folds are run; None runs all
    by_row : whether the reference decides each row by its own costs, which must all be known

    Raises
    ------
    ValueError : for numbers out of range, and names of no base model or strategy
    TypeError : for numbers, pairs or a floor of another kind

    Examples
    --------
    >>> from setwise.compare import Plan
    >>> plan = Plan(folds=3, bases=("linear",), strategies=("stack",))
    >>> [strategy.name for strategy in plan.tried("linear")]  # as it is and with a tuned threshold each model is tried
    ['as_it_is', 'threshold', 'stack']
    """

    folds: int = 5
    inner: int = 5
    grid: tuple[float, ...] = GRID
    bases: tuple[str, ...] = ("linear", "forest", "boosted")
    strategies: tuple[str, ...] = tuple(STRATEGIES)
    seed: int = 0
    n_jobs: int = 1
    skipped: frozenset[Key] = frozenset()
    floor: FlooredThreshold | None = None
    outer: int | None = None
    by_row: bool = False

    def __post_init__(self) -> None:
        as_count(self.folds, "folds", low=2)
        if self.outer is not None:
            as_count(self.outer, "outer", low=0, high=self.folds)
        as_count(self.inner, "inner", low=3)
        as_count(self.seed, "seed", low=0, high=2**32 - 1)
        if not isinstance(self.grid, tuple) or not self.grid:
            raise ValueError(f"grid must be a tuple of constants C; got {shown(self.grid)}.")
        for c in self.grid:
            as_number(c, "a constant of grid", low=0.0, open_low=True)
        own = [one for one in self.bases if ":" in str(one)] if isinstance(self.bases, tuple) else []
        for name, known in (("bases", [*BASES, *own]), ("strategies", list(TRIED))):
            held = getattr(self, name)
            if not isinstance(held, tuple) or not all(isinstance(one, str) and one in known for one in held):
                raise ValueError(f"{name} must be names among {', '.join(known)}; got {shown(held)}.")
        for base in self.bases:
            base_model(base)
        if isinstance(self.n_jobs, bool) or not isinstance(self.n_jobs, int) or self.n_jobs == 0:
            raise ValueError(f"n_jobs must be a number of processes, or -1 for all; got {shown(self.n_jobs)}.")
        if not isinstance(self.skipped, frozenset):
            raise TypeError(f"skipped must be a frozenset of pairs (base, strategy); got {shown(self.skipped)}.")
        if self.floor is not None:
            as_kind(self.floor, "floor", FlooredThreshold, "FlooredThreshold(recall=0.9)")

    def of(self, problem: Problem) -> "Plan":
        """The plan with the strategies for the classes of a problem: all of them, where none of those is named."""
        names = tuple(name for name in self.strategies if (name in OF_CLASSES) == bool(problem.several))
        if problem.several:
            names = tuple(dict.fromkeys((MostProbable.name, *(names or OF_CLASSES))))
        return replace(self, strategies=names)

    def models(self, problem: Problem) -> tuple[BaseModel, ...]:
        """The base models that fit the table; the reference is always among them, and comes first."""
        named = [base_model(name) for name in dict.fromkeys((FIRST, *self.bases))]
        return tuple(base for base in named if base.sparse or not issparse(problem.X))

    def tried(self, base: str) -> tuple[Strategy, ...]:
        """The strategies that are tried over a base model; as it is and with a tuned threshold each model is tried."""
        if self.floor is not None:
            return NearestThreshold(self.floor), *(one for one in self.floor.decisions if one.name in self.strategies)
        usual = (MostProbable.name,) if MostProbable.name in self.strategies else ("as_it_is", "threshold")
        names = dict.fromkeys((*usual, *self.strategies))
        return tuple(TRIED[name]() for name in names if (base, name) not in self.skipped)

    def kept(self, base: str, task: Task) -> tuple[Strategy, ...]:
        """The strategies that are tried over a base model for a task; under floors those that are for its loss."""
        return tuple(one for one in self.tried(base) if self.floor is None or one.refuses_data(task) is None)

    def order(self, problem: Problem) -> list[tuple[BaseModel, float | None]]:
        """The base models with their constants in the order in which they are fitted.

        First logistic regression, then the other base models by their costs, each with the constant in the middle of
        its grid; then the other constants, the outer ones last.
        """
        models = sorted(self.models(problem), key=lambda base: (base.name != FIRST, base.cost[1]))
        grids = [(base, base.constants(self.grid)) for base in models]
        steps = [(abs(place - len(held) // 2), base, c) for base, held in grids for place, c in enumerate(held)]
        return [(base, constant) for _, base, constant in sorted(steps, key=lambda step: step[0])]

    def reference(self, measured: NamedLoss) -> Strategy:
        """The strategy of the reference: the best threshold, the best one under the floors, or the order of scores.

        Where each row has its own costs, it decides by them.
        """
        if measured.classes:
            return MostProbable()
        if measured.orders:
            return ScoreOrder()
        if self.floor is not None:
            return NearestThreshold(self.floor)
        return BayesDecision() if self.by_row else SingleThreshold()

    def steps(self, problem: Problem, measures: int) -> int:
        """The number of steps of progress: one for each constant and each strategy, in each part of the rows."""
        constants = sum(len(base.constants(self.grid)) for base in self.models(problem))
        strategies = sum(len(self.tried(base.name)) for base in self.models(problem))
        return (self.folds + 1) * (constants + measures * strategies)
