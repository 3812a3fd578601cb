"""What to predict once scores or probabilities are known: thresholds, and labelings of least expected loss."""

from setwise.decisions.decision import Decision
from setwise.decisions.floors import Floor, UnmetFloor
from setwise.decisions.label_thresholds import LabelThresholds, label_thresholds
from setwise.decisions.least import expected_loss, least_expected_loss
from setwise.decisions.operating_point import (
    OperatingPoint,
    constrained_threshold,
    precision_at_recall,
    recall_at_false_positive_rate,
    recall_at_precision,
)
from setwise.decisions.thresholds import Threshold, best_threshold, threshold_curve

__all__ = [
    "Decision",
    "Floor",
    "LabelThresholds",
    "OperatingPoint",
    "Threshold",
    "UnmetFloor",
    "best_threshold",
    "constrained_threshold",
    "expected_loss",
    "label_thresholds",
    "least_expected_loss",
    "precision_at_recall",
    "recall_at_false_positive_rate",
    "recall_at_precision",
    "threshold_curve",
]
