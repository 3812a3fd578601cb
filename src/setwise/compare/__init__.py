"""The main job: which way of training, tuning and deciding is best for a measure on given data, and how sure it is."""

from setwise.compare.answer import Answer
from setwise.compare.plan import NamedLoss, Plan
from setwise.compare.problem import Problem
from setwise.compare.run import compare
from setwise.compare.saved_model import SavedModel, load_model, save_model
from setwise.compare.tuning import TunedModel, tune
from setwise.estimators.selection.floors import FlooredThreshold

__all__ = [
    "Answer", "FlooredThreshold", "NamedLoss", "Plan", "Problem", "SavedModel", "TunedModel", "compare", "load_model",
    "save_model", "tune",
]  # fmt: skip
