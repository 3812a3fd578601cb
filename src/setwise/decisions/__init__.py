"""What to predict once scores or probabilities are known: thresholds, and labelings of least expected loss."""

from setwise.decisions.thresholds import Threshold, best_threshold, threshold_curve

__all__ = ["Threshold", "best_threshold", "threshold_curve"]
