"""The scikit-learn face of setwise."""

from setwise.estimators.set_classifier import SetClassifier

__all__ = ["SetClassifier"]
