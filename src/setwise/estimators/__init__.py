"""Estimators with the interface of scikit-learn."""

from setwise.estimators.graph_classifier import GraphClassifier
from setwise.estimators.measure_classifier import MeasureClassifier
from setwise.estimators.set_classifier import SetClassifier
from setwise.estimators.set_classifier_cv import SetClassifierCV
from setwise.estimators.table_encoder import TableEncoder, tree_categories

__all__ = [
    "GraphClassifier",
    "MeasureClassifier",
    "SetClassifier",
    "SetClassifierCV",
    "TableEncoder",
    "tree_categories",
]
