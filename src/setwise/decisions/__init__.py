"""What to predict once scores or probabilities are known: thresholds, and labelings of least expected loss."""

from setwise.decisions.decision import Decision
from setwise.decisions.gfm import gfm
from setwise.decisions.least import expected_loss, least_expected_loss
from setwise.decisions.maps import least_expected_loss_of_map
from setwise.decisions.samples import least_expected_loss_of_samples
from setwise.decisions.thresholds import Threshold, best_threshold, threshold_curve

__all__ = [
    "Decision",
    "Threshold",
    "best_threshold",
    "expected_loss",
    "gfm",
    "least_expected_loss",
    "least_expected_loss_of_map",
    "least_expected_loss_of_samples",
    "threshold_curve",
]
