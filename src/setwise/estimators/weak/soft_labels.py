"""Logistic regression in which each row has its share of a positive as a label: the convex start of all methods."""

import numpy as np

from setwise.core.checks import Values
from setwise.core.structure import Structure
from setwise.core.surrogate import Difference, Linear
from setwise.estimators.weak.problem import LinearModel, Problem, Settings
from setwise.estimators.weak.smooth import descend
from setwise.probabilistic import AllowedPartition


def fit(problem: Problem, start: Values | None, settings: Settings) -> LinearModel:
    """Minimize ``0.5 |w|^2 + C sum_i log(1 + exp s_i) - R_i s_i`` with the shares R of :class:`Knowledge`."""
    return fit_to(problem, problem.knowledge.shares, start, settings)


def fit_to(problem: Problem, targets: Values, start: Values | None, settings: Settings) -> LinearModel:
    """The same for other shares of a positive, (total,): the supervised step of EM and of alternations."""
    sets = problem.knowledge.sets
    loss = Difference(AllowedPartition(Structure(sets)), Linear(sets, targets, np.zeros(len(sets))))
    flat = np.append(np.zeros(int(problem.X.shape[1])), problem.knowledge.log_odds)
    begin = flat if start is None else start
    return descend(problem.risk(loss, settings.n_jobs), begin, settings)
