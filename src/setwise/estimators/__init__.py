"""The estimators of setwise, which follow the interface of scikit-learn."""

from setwise.estimators.set_classifier import SetClassifier
from setwise.estimators.set_classifier_cv import SetClassifierCV

__all__ = ["SetClassifier", "SetClassifierCV"]
