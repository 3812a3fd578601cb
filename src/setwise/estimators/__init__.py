"""The estimators of setwise, which follow the interface of scikit-learn."""

from setwise.estimators.measure_classifier import MeasureClassifier
from setwise.estimators.set_classifier import SetClassifier

__all__ = ["MeasureClassifier", "SetClassifier"]
