"""The choice of inference where the user makes none."""

from setwise.core.inference import Inference, Problem
from setwise.inference.by_area import ByArea
from setwise.inference.by_cardinality import ByCardinality
from setwise.inference.by_submodular_minimum import BySubmodularMinimum
from setwise.inference.counts.search import CountSearch
from setwise.inference.enumeration import Enumeration
from setwise.inference.greedy import Greedy
from setwise.inference.modular import Modular

METHODS: tuple[Inference, ...] = (
    Modular(),
    ByCardinality(),
    CountSearch(),
    Enumeration(12),
    BySubmodularMinimum(),
    Enumeration(20),
    ByArea(),
    Greedy(),
)


def default_inference(problem: Problem) -> Inference:
    """The first method that takes the problem, exact ones before approximate ones, fast ones before slow ones."""
    return next(method for method in METHODS if method.refuses(problem) is None)
