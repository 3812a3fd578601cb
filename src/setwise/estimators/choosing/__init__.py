"""The choice among ways to predict, by what they lose on rows that they did not see."""

from setwise.decisions.task import Task
from setwise.estimators.choosing.choice import Candidate, Choice, choose
from setwise.estimators.choosing.gain import Gain, gain_of, repeated_choice
from setwise.estimators.choosing.out_of_fold import OutOfFold
from setwise.estimators.choosing.problem import Problem, problem_of

__all__ = [
    "Candidate",
    "Choice",
    "Gain",
    "OutOfFold",
    "Problem",
    "Task",
    "choose",
    "gain_of",
    "problem_of",
    "repeated_choice",
]
