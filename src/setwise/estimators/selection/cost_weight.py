"""The strategies that fit the base model, or boosted trees, to rows weighted by what their mistakes cost."""

from dataclasses import dataclass, replace
from typing import ClassVar, final

from setwise.core import pages
from setwise.core.checks import as_count
from setwise.core.pages import Page
from setwise.decisions.task import Task
from setwise.estimators.selection.strategies import (
    Base,
    Evidence,
    Rule,
    Strategy,
    ThresholdRule,
    TreesByCosts,
    Weight,
    steady_threshold,
)
from setwise.losses.row_costs import RowCosts


@dataclass(frozen=True)
class CostWeight(Strategy):
    """``[score >= t]`` with scores of the base model fitted to rows that are weighted by what their mistakes cost.

    A row whose mistake is cheaper than its right label is fitted with the other label. The threshold is tuned as that
    of :class:`~setwise.estimators.selection.SingleThreshold`. The rule needs no costs of new rows.

    :class:`~setwise.MeasureClassifier` tries it where the loss has costs of each row.

    Source: Zadrozny, Langford and Abe (2003), section 3.

    Parameters
    ----------
    n_resamples : the threshold is steadied by so many resamples
    costs : the costs of all training rows, which are those of the loss; None until these are known

    Raises
    ------
    ValueError : for a number of resamples below 0
    TypeError : for what is no whole number

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise import MeasureClassifier
    >>> from setwise.estimators.selection.cost_weight import CostWeight
    >>> from setwise.losses import RowCosts
    >>> X, y = make_classification(200, 4, weights=[0.8], class_sep=0.5, random_state=0)
    >>> costs = RowCosts(fp=1.0, fn=np.exp(X[:, 0]))
    >>> model = MeasureClassifier(LogisticRegression(), costs, [CostWeight()], cv=3, random_state=0).fit(X, y)
    >>> [candidate.strategy for candidate in model.candidates_]
    ['threshold', 'cost_weight']
    """

    n_resamples: int = 100
    costs: RowCosts | None = None

    name: ClassVar[str] = "cost_weight"
    title = "rows weighted by costs"
    phrase = "fitted to cost-weighted rows, with a tuned threshold"
    explanation = "the model is fitted again with each row weighted by what its mistake costs, with a tuned threshold"
    needs = "because this model cannot be fitted to weighted rows here"
    page: ClassVar[Page] = pages.ROW_COSTS
    listed: ClassVar[bool] = False

    def __post_init__(self) -> None:
        as_count(self.n_resamples, "n_resamples", low=0)

    def refuses_weights(self, task: Task) -> str | None:
        """None: weights of rows count."""
        return None

    def refuses_data(self, task: Task) -> str | None:
        if not isinstance(task.loss, RowCosts) or task.loss.by_class is not None:
            return f"{self.name} refuses {task.loss!r}: it needs costs that differ between rows, as RowCosts has."
        return None

    def refuses(self, task: Task, base: Base) -> str | None:
        unweighted = f"cost_weight refuses {base.name}: it cannot be fitted with weighted rows here."
        return self.refuses_data(task) or (None if base.weighable else unweighted)

    def bound(self, task: Task) -> "CostWeight":
        assert isinstance(task.loss, RowCosts)
        return replace(self, costs=task.loss)

    @property
    def fits(self) -> tuple[Weight, ...]:
        assert self.costs is not None
        return (self.costs,)

    def tune(self, evidence: Evidence, task: Task) -> Rule:
        (weight,) = self.fits
        return ThresholdRule(steady_threshold(task, evidence.response(weight).scores, self.n_resamples), weight)


@final
@dataclass(frozen=True)
class CostTrees(CostWeight):
    """``[score >= t]`` with scores of boosted trees in place of the classifier, fitted as for :class:`CostWeight`.

    The trees are ``HistGradientBoostingClassifier``. In a pipeline they take the place of the last step, so that its
    other steps prepare the columns; a search gives way to the pipeline that it holds. If this is chosen, ``estimator_``
    of :class:`~setwise.MeasureClassifier` holds the trees, and ``predict_proba`` says how likely the costly label is,
    with each row weighted by its costs.

    Source: Zadrozny, Langford and Abe (2003), section 3, with another learner.

    Parameters
    ----------
    n_resamples : the threshold is steadied by so many resamples
    costs : the costs of all training rows, which are those of the loss; None until these are known

    Raises
    ------
    ValueError : for a number of resamples below 0
    TypeError : for what is no whole number

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise import MeasureClassifier
    >>> from setwise.estimators.selection.cost_weight import CostTrees
    >>> from setwise.losses import RowCosts
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = X[:, 0] * X[:, 1] > rng.logistic(size=2000)
    >>> costs = RowCosts(fp=1.0, fn=np.exp(X[:, 0]))
    >>> model = MeasureClassifier(LogisticRegression(), costs, [CostTrees()], cv=3, random_state=0).fit(X, y)
    >>> model.best_strategy_, type(model.estimator_).__name__
    ('cost_trees', 'HistGradientBoostingClassifier')
    """

    name: ClassVar[str] = "cost_trees"
    title = "boosted trees weighted by costs"
    phrase = "with boosted trees in its place, fitted to cost-weighted rows, with a tuned threshold"
    explanation = "boosted trees are fitted with each row weighted by what its mistake costs, with a tuned threshold"
    needs = "because this model is boosted trees, or is not fitted here"

    def refuses(self, task: Task, base: Base) -> str | None:
        same = f"cost_trees refuses {base.name}: it is boosted trees itself, or is not fitted here."
        return self.refuses_data(task) or (None if base.replaceable else same)

    @property
    def fits(self) -> tuple[Weight, ...]:
        assert self.costs is not None
        return (TreesByCosts(self.costs),)


COST_STRATEGIES: dict[str, type[Strategy]] = {kind.name: kind for kind in (CostWeight, CostTrees)}
"""The strategies that are for costs of each row alone, by their names; ``"auto"`` tries them there.

>>> from setwise.estimators.selection import COST_STRATEGIES
>>> list(COST_STRATEGIES)
['cost_weight', 'cost_trees']
"""
