"""What to predict once scores or probabilities are known: thresholds, and labelings of least expected loss."""

from setwise.decisions.label_thresholds import LabelThresholds, label_thresholds
from setwise.decisions.thresholds import Threshold, best_threshold, threshold_curve

__all__ = ["LabelThresholds", "Threshold", "best_threshold", "label_thresholds", "threshold_curve"]
