"""Spaces: which labels there are, the features that labels share, and how sets of labels become matrices of truths."""

from setwise.spaces.candidates import Candidates
from setwise.spaces.finite import Finite
from setwise.spaces.hierarchical import hierarchical_f1, hierarchical_precision, hierarchical_recall
from setwise.spaces.hierarchy import Hierarchy
from setwise.spaces.label_scores import label_f1, label_precision, label_recall, mean_average_precision
from setwise.spaces.label_sequences import LabelSequences
from setwise.spaces.large_space import LargeSpace
from setwise.spaces.matchings import Matchings
from setwise.spaces.network_labelings import NetworkLabelings
from setwise.spaces.space import Space
from setwise.spaces.window_scores import window_average_precision, window_f1, window_precision, window_recall
from setwise.spaces.windows import Windows, WordImage

__all__ = [
    "Candidates",
    "Finite",
    "Hierarchy",
    "LabelSequences",
    "LargeSpace",
    "Matchings",
    "NetworkLabelings",
    "Space",
    "Windows",
    "WordImage",
    "hierarchical_f1",
    "hierarchical_precision",
    "hierarchical_recall",
    "label_f1",
    "label_precision",
    "label_recall",
    "mean_average_precision",
    "window_average_precision",
    "window_f1",
    "window_precision",
    "window_recall",
]
