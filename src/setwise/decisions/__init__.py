"""What to predict once scores or probabilities are known: thresholds, and labelings of least expected loss."""

from setwise.decisions.class_offsets import ClassOffsets, class_offsets
from setwise.decisions.expected_loss import Decision, DecisionInPieces, expected_loss, least_expected_loss
from setwise.decisions.floors import Floor, UnmetFloor
from setwise.decisions.gfm import gfm
from setwise.decisions.label_thresholds import LabelThresholds, label_thresholds
from setwise.decisions.maps import least_expected_loss_of_map
from setwise.decisions.operating_point import (
    OperatingPoint,
    constrained_threshold,
    precision_at_recall,
    recall_at_alarm_rate,
    recall_at_false_positive_rate,
    recall_at_precision,
)
from setwise.decisions.resampling import BootstrapThreshold, bagged_threshold, bootstrap_threshold
from setwise.decisions.samples import least_expected_loss_of_samples
from setwise.decisions.thresholds import Threshold, best_threshold, threshold_curve
from setwise.decisions.top_k import TopLabels, top_k_labels

__all__ = [
    "BootstrapThreshold",
    "ClassOffsets",
    "Decision",
    "DecisionInPieces",
    "Floor",
    "LabelThresholds",
    "OperatingPoint",
    "Threshold",
    "TopLabels",
    "UnmetFloor",
    "bagged_threshold",
    "best_threshold",
    "bootstrap_threshold",
    "class_offsets",
    "constrained_threshold",
    "expected_loss",
    "gfm",
    "label_thresholds",
    "least_expected_loss",
    "least_expected_loss_of_map",
    "least_expected_loss_of_samples",
    "precision_at_recall",
    "recall_at_alarm_rate",
    "recall_at_false_positive_rate",
    "recall_at_precision",
    "threshold_curve",
    "top_k_labels",
]
