"""Spaces: which labels there are, the features that labels share, and how sets of labels become matrices of truths."""

from setwise.spaces.finite import Finite
from setwise.spaces.hierarchical import hierarchical_f1, hierarchical_precision, hierarchical_recall
from setwise.spaces.hierarchy import Hierarchy
from setwise.spaces.label_scores import label_f1, label_precision, label_recall, mean_average_precision
from setwise.spaces.space import Space

__all__ = [
    "Finite",
    "Hierarchy",
    "Space",
    "hierarchical_f1",
    "hierarchical_precision",
    "hierarchical_recall",
    "label_f1",
    "label_precision",
    "label_recall",
    "mean_average_precision",
]
