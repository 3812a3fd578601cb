"""Compare methods of training for a measure on given data, on the same folds, with intervals of their differences."""

from setwise.compare.comparison import Comparison, Duel, Plan, compare
from setwise.compare.problem import Problem
from setwise.compare.saved import SavedModel, load_model, save_model

__all__ = ["Comparison", "Duel", "Plan", "Problem", "SavedModel", "compare", "load_model", "save_model"]
