"""Inference: maximise loss and score together, exactly where possible, with a certificate everywhere."""

from setwise.core.inference import Inference, Problem, Solutions
from setwise.inference.by_cardinality import ByCardinality
from setwise.inference.by_submodular_minimum import BySubmodularMinimum
from setwise.inference.default import default_inference
from setwise.inference.enumeration import Enumeration
from setwise.inference.greedy import Greedy
from setwise.inference.min_norm_point import minimize_submodular
from setwise.inference.modular import Modular

__all__ = [
    "ByCardinality",
    "BySubmodularMinimum",
    "Enumeration",
    "Greedy",
    "Inference",
    "Modular",
    "Problem",
    "Solutions",
    "default_inference",
    "minimize_submodular",
]
