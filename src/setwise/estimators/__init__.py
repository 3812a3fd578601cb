"""Estimators with the interface of scikit-learn."""

from setwise.estimators.binary_denoiser import BinaryDenoiser
from setwise.estimators.graph_classifier import GraphClassifier
from setwise.estimators.log_supermodular_model import LogSupermodularModel
from setwise.estimators.measure_classifier import MeasureClassifier
from setwise.estimators.multilabel_structured_predictor import MultilabelStructuredPredictor
from setwise.estimators.set_classifier import SetClassifier
from setwise.estimators.set_classifier_cv import SetClassifierCV
from setwise.estimators.table_encoder import TableEncoder, tree_categories

__all__ = [
    "BinaryDenoiser",
    "GraphClassifier",
    "LogSupermodularModel",
    "MeasureClassifier",
    "MultilabelStructuredPredictor",
    "SetClassifier",
    "SetClassifierCV",
    "TableEncoder",
    "tree_categories",
]
