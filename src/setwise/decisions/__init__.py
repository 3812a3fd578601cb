"""What to predict once scores or probabilities are known: thresholds, and labelings of least expected loss."""

from setwise.decisions.decision import Decision
from setwise.decisions.label_thresholds import LabelThresholds, label_thresholds
from setwise.decisions.least import expected_loss, least_expected_loss
from setwise.decisions.thresholds import Threshold, best_threshold, threshold_curve

__all__ = [
    "Decision",
    "LabelThresholds",
    "Threshold",
    "best_threshold",
    "expected_loss",
    "label_thresholds",
    "least_expected_loss",
    "threshold_curve",
]
