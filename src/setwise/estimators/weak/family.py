"""The models that methods are fitted for: linear ones, and any classifier of scikit-learn."""

from abc import ABC, abstractmethod
from typing import final

from setwise.core.surrogate import Surrogate
from setwise.estimators.weak import judged_bags, soft_labels
from setwise.estimators.weak.methods import LINEAR
from setwise.estimators.weak.problem import LinearModel, Model, Problem, Settings


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
    def start(self, problem: Problem, before: Model | None, settings: Settings) -> Model:
        """The model of soft labels, at which methods begin; ``before`` is one with other settings."""

    @abstractmethod
    def fit(self, method: str, problem: Problem, start: Model, settings: Settings) -> Model:
        """The model of a method."""


@final
class LinearFamily(Family):
    """Linear log-odds with ``0.5 |w|^2``, for scaled features."""

    methods = ("count_likelihood", "proportion_loss", "alternation", "margin")
    regularized = True

    def start(self, problem: Problem, before: Model | None, settings: Settings) -> Model:
        """Logistic regression of soft labels."""
        return soft_labels.fit(problem, before.w if isinstance(before, LinearModel) else None, settings)

    def fit(self, method: str, problem: Problem, start: Model, settings: Settings) -> Model:
        """The model of a method from the weights of ``start``."""
        assert isinstance(start, LinearModel)
        return LINEAR[method](problem, start.w, settings)


@final
class SurrogateFamily(Family):
    """The same for a surrogate of bags that a user gives: its text is the name of the only method.

    Parameters
    ----------
    surrogate : one of a loss
    """

    regularized = True

    def __init__(self, surrogate: Surrogate) -> None:
        self.surrogate, self.methods = surrogate, (repr(surrogate),)

    def start(self, problem: Problem, before: Model | None, settings: Settings) -> Model:
        """Logistic regression of soft labels."""
        return LinearFamily().start(problem, before, settings)

    def fit(self, method: str, problem: Problem, start: Model, settings: Settings) -> Model:
        """The model of the surrogate from the weights of ``start``."""
        assert isinstance(start, LinearModel)
        return judged_bags.fit(problem, start.w, settings, self.surrogate)
