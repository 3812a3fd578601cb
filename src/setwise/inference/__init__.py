"""Inference: maximize loss and score together, exactly where possible, with a certificate everywhere."""

from setwise.core.inference import Inference, Problem, Solution, Solutions
from setwise.inference.by_area import ByArea
from setwise.inference.by_cardinality import ByCardinality
from setwise.inference.by_submodular_minimum import BySubmodularMinimum
from setwise.inference.counts import CountSearch, max_marginals
from setwise.inference.default import default_inference
from setwise.inference.enumeration import Enumeration
from setwise.inference.greedy import Greedy
from setwise.inference.loss_augmented import loss_augmented_inference
from setwise.inference.min_norm_point import minimize_submodular
from setwise.inference.modular import Modular
from setwise.inference.multi_class import mean_over_classes, multi_class_inference
from setwise.inference.worst_ranking import worst_ranking

__all__ = [
    "ByArea",
    "ByCardinality",
    "BySubmodularMinimum",
    "CountSearch",
    "Enumeration",
    "Greedy",
    "Inference",
    "Modular",
    "Problem",
    "Solution",
    "Solutions",
    "default_inference",
    "loss_augmented_inference",
    "max_marginals",
    "mean_over_classes",
    "minimize_submodular",
    "multi_class_inference",
    "worst_ranking",
]
