"""What a method is fitted to, its settings, and the models that come out."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from setwise.core.checks import Ints, Values
from setwise.core.surrogate import Evaluator, Surrogate
from setwise.estimators.weak.knowledge import Knowledge
from setwise.estimators.weak.progress import Watch
from setwise.models import Independent
from setwise.risks import MeanRisk


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """Rows with what is known of them.

    Attributes
    ----------
    X : the rows in the order of the knowledge; scaled features for linear models, anything for other classifiers
    knowledge : what is known of them
    whole : the problem of which these are the bags ``parts``, or None
    """

    X: Any
    knowledge: Knowledge
    whole: "tuple[Problem, Ints] | None" = None

    def take(self, parts: Ints) -> "Problem":
        """The problem of some bags."""
        places, knowledge = self.knowledge.take(parts)
        return Problem(taken(self.X, places), knowledge, (self, parts))

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
        return MeanRisk(Independent(self.X, sets.offsets), evaluator, n_jobs=n_jobs)


@final
@dataclass(frozen=True, eq=False)
class Settings:
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
    watch: Watch = field(default_factory=Watch)
    seed: int = 0

    def at(self, C: float) -> "Settings":
        """The same with another C."""
        return replace(self, C=C)


class Model(ABC):
    """A fitted model of one class against the rest.

    Attributes
    ----------
    status : ``"converged"``, ``"max_iter"`` or ``"interrupted"``
    message : the same in a sentence
    objective : the value that was minimized, at the model; nan where there is none
    n_iter : the number of steps
    """

    status: str
    message: str
    objective: float
    n_iter: int

    @abstractmethod
    def scores(self, X: Any) -> Values:
        """The log-odds of each row, (n,), for X as that of its problem."""


@final
@dataclass(frozen=True, eq=False)
class LinearModel(Model):
    """``X w + w_last``, for scaled features."""

    w: Values
    status: str = "converged"
    message: str = ""
    objective: float = 0.0
    n_iter: int = 0

    def scores(self, X: Any) -> Values:
        """The log-odds of each row, (n,)."""
        return np.asarray(X @ self.w[:-1] + self.w[-1])


@final
@dataclass(frozen=True, eq=False)
class ConstantModel(Model):
    """The same log-odds for all rows."""

    log_odds: float
    status: str = "converged"
    message: str = ""
    objective: float = np.nan
    n_iter: int = 0

    def scores(self, X: Any) -> Values:
        """The log-odds of each row, (n,)."""
        return np.full(_num_samples(X), self.log_odds)


def taken(X: Any, places: Any) -> Any:
    """Some rows of an array, a sparse matrix, a table of pandas, or a list."""
    if isinstance(places, slice):
        places = np.arange(*places.indices(_num_samples(X)))
    return _safe_indexing(X, places)
