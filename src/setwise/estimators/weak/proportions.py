"""Linear log-odds whose mean probability in each bag is near its share of positives."""

from setwise.core.checks import Values
from setwise.estimators.weak import soft_labels
from setwise.estimators.weak.problem import LinearModel, Problem, Settings
from setwise.estimators.weak.smooth import descend
from setwise.probabilistic import ProportionLoss


def fit(problem: Problem, start: Values | None, settings: Settings) -> LinearModel:
    """A local minimum of ``0.5 |w|^2 + C sum over bags of ProportionLoss``, from soft labels or ``start``."""
    begin = soft_labels.fit(problem, None, settings).w if start is None else start
    return descend(problem.risk(ProportionLoss(problem.knowledge.loss), settings.n_jobs), begin, settings)
