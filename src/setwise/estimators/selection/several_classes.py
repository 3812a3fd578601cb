"""Strategies for more than two classes: offsets of the scores, and the class of least expected cost."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core import pages
from setwise.core.checks import Ints, Values, as_count
from setwise.core.exceptions import Refusal
from setwise.decisions.class_offsets import class_offsets
from setwise.decisions.confusion import MeanCost
from setwise.decisions.task import Task
from setwise.estimators.selection.base_models import Response
from setwise.estimators.selection.strategies import Evidence, OwnPrediction, Rule, Strategy

LEAST = 1e-12
"""The least probability of a class, before its logarithm is taken."""


def log_scores(response: Response) -> Values:
    """The logarithms of probabilities (n, k), or scores that are none as they are."""
    return np.log(np.maximum(response.scores, LEAST)) if response.probability else response.scores


class ClassStrategy(Strategy):
    """A strategy for more than two classes."""

    listed: ClassVar[bool] = False
    several_classes: ClassVar[bool] = True
    page: ClassVar[pages.Page] = pages.CLASS_LOSSES

    def refuses_data(self, task: Task) -> str | None:
        return None if task.classes else f"{self.name} refuses two classes; use 'threshold'."

    def refuses_weights(self, task: Task) -> str | None:
        """None: weights of rows count."""
        return None


@final
@dataclass(frozen=True)
class ClassMultipliers(ClassStrategy):
    """``argmax_c w_c q_c`` with multipliers w of the probabilities, of least out-of-fold loss, steadied by bagging.

    Scores that are no probabilities get offsets. See :func:`~setwise.decisions.class_offsets`.

    Source: own; measured in docs/guide/several_classes.md.

    Parameters
    ----------
    n_resamples : the multipliers are the mean of those of so many resamples, in logarithms; 0 takes the best ones. Of
        more than 10,000 rows there are fewer in proportion

    Raises
    ------
    ValueError : for a number below 0
    TypeError : for what is no whole number

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise import MeasureClassifier
    >>> from setwise.estimators.selection import ClassMultipliers
    >>> X, y = make_classification(600, 6, n_informative=4, n_classes=3, weights=[0.8, 0.15], random_state=0)
    >>> model = MeasureClassifier(LogisticRegression(), "f1", [ClassMultipliers()], cv=3, random_state=0).fit(X, y)
    >>> [candidate.strategy for candidate in model.candidates_]
    ['as_it_is', 'class_multipliers']
    """

    n_resamples: int = 20

    name: ClassVar[str] = "class_multipliers"
    title = "class multipliers"
    phrase = "with a tuned multiplier for each class"
    explanation = "the most probable class after each probability is multiplied by a tuned number"
    linear = True

    def __post_init__(self) -> None:
        as_count(self.n_resamples, "n_resamples", low=0)

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        scores = log_scores(evidence.response())
        if task.groups is not None:
            raise Refusal("class_multipliers refuses groups: the loss of one set of rows tunes them.", self.page)
        n = len(scores)
        drawn = min(self.n_resamples, self.n_resamples * MANY_ROWS // n)
        found = class_offsets(task.truth, scores, task.loss, sample_weight=task.weights, n_resamples=drawn)
        return OffsetRule(found.offsets)


MANY_ROWS = 10_000
"""Resamples of more rows are fewer."""


@final
@dataclass(frozen=True, eq=False)
class OffsetRule(Rule):
    """``argmax_c scores[i, c] + offsets[c]``, of the logarithms of probabilities; ``offsets`` (k,)."""

    offsets: Values

    def labels(self, evidence: Evidence) -> Ints:
        return np.asarray((log_scores(evidence.response()) + self.offsets).argmax(axis=1))


@final
@dataclass(frozen=True)
class LeastExpectedCost(ClassStrategy):
    """``argmin_d sum_c q_c costs[c, d]``: the class of least expected cost, for a matrix of costs.

    It is the best decision if the probabilities q are right. Accuracy and balanced accuracy are costs too.

    Source: Elkan (2001).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from setwise import MeasureClassifier
    >>> from setwise.estimators.selection import LeastExpectedCost
    >>> from setwise.losses import CostMatrix
    >>> costs = CostMatrix([[0, 1, 5], [1, 0, 1], [1, 1, 0]])
    >>> model = MeasureClassifier(None, costs, [LeastExpectedCost()], cv=3, random_state=0)
    >>> model = model.fit(*load_wine(return_X_y=True))
    >>> [candidate.strategy for candidate in model.candidates_]
    ['as_it_is', 'least_cost']
    """

    name: ClassVar[str] = "least_cost"
    title = "least expected cost"
    phrase = "by least expected cost"
    explanation = "the class whose expected cost is least by the probabilities"

    def refuses_data(self, task: Task) -> str | None:
        why = super().refuses_data(task)
        if why is None and not isinstance(task.loss, MeanCost):
            why = "least_cost refuses this loss: it is for CostMatrix and for accuracy."
        return why

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        if not evidence.response().probability:
            raise Refusal("least_cost needs probabilities: use a classifier with predict_proba.", self.page)
        assert isinstance(task.loss, MeanCost)
        return CostRule(task.loss.costs)


@final
@dataclass(frozen=True, eq=False)
class CostRule(Rule):
    """``argmin_d sum_c q_c costs[c, d]`` with ``costs`` (k, k)."""

    costs: Values

    def labels(self, evidence: Evidence) -> Ints:
        return np.asarray((evidence.response().scores @ self.costs).argmin(axis=1))


CLASS_STRATEGIES: dict[str, type[Strategy]] = {
    kind.name: kind for kind in (OwnPrediction, ClassMultipliers, LeastExpectedCost)
}
"""The strategies for more than two classes by their names; the first one is the reference.

>>> from setwise.estimators.selection import CLASS_STRATEGIES
>>> list(CLASS_STRATEGIES)
['as_it_is', 'class_multipliers', 'least_cost']
"""
