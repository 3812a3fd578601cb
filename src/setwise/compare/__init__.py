"""Compare methods of training for a measure on given data, on the same folds, with intervals of their differences."""

from setwise.compare.comparison import Comparison, Duel, Plan, compare
from setwise.compare.problem import Problem

__all__ = ["Comparison", "Duel", "Plan", "Problem", "compare"]
