"""Margin rescaling of what is known of bags, against its completions, and its ramp, from soft labels (HOL 4.1)."""

from setwise.core.checks import Values
from setwise.estimators.weak import judged_bags
from setwise.estimators.weak.problem import LinearModel, Problem, Settings
from setwise.surrogates import MarginRescaling, Ramp


def fit(problem: Problem, start: Values | None, settings: Settings) -> LinearModel:
    """A local minimum of ``0.5 |w|^2 + C sum over bags of MarginRescaling(CountRange)``, as log-odds.

    A bag costs what its best labeling with a wrong number of positives, or with wrong known labels, has more in loss
    and score than its best labeling that agrees with what is known. The scores are then log-odds by the factor of
    greatest likelihood.
    """
    known = problem.knowledge
    return judged_bags.fit(Problem(problem.X, known), start, settings, MarginRescaling(known.loss))


def ramp(problem: Problem, start: Values | None, settings: Settings) -> LinearModel:
    """The same for ``Ramp(CountRange)``, from there: it compares with what is predicted and not with that labeling."""
    known = problem.knowledge
    return judged_bags.fit(Problem(problem.X, known), start, settings, Ramp(known.loss))
