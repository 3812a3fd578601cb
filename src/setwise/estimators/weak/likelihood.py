"""Linear log-odds of greatest likelihood of what is known of the bags."""

from setwise.core.checks import Values
from setwise.estimators.weak import soft_labels
from setwise.estimators.weak.problem import LinearModel, Problem, Settings
from setwise.estimators.weak.smooth import descend
from setwise.probabilistic import CountLikelihood


def fit(problem: Problem, start: Values | None, settings: Settings) -> LinearModel:
    """A local minimum of ``0.5 |w|^2 - C sum over bags of log Pr(what is known)``, from soft labels or ``start``."""
    begin = soft_labels.fit(problem, None, settings).w if start is None else start
    return descend(problem.risk(CountLikelihood(problem.knowledge.loss), settings.n_jobs), begin, settings)
