"""The main job: which way of training is best for a measure on given data, on the same folds, and how sure that is."""

from setwise.compare.comparison import Comparison, Duel, Plan, compare
from setwise.compare.problem import Problem

__all__ = ["Comparison", "Duel", "Plan", "Problem", "compare"]
