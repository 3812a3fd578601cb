"""How large the numbers are that values of f are summed up of, by which rounding is bounded."""

import numpy as np

from setwise.probabilistic.base_function import BaseFunction
from setwise.probabilistic.functions import ConcaveOfSize, Cut
from setwise.probabilistic.log_supermodular import LogSupermodular


def summed(model: LogSupermodular) -> float:
    """A number that is not below the sum of the absolute numbers that a value of f is summed up of."""
    parts = [weight * _size_of(term) for weight, term in zip(model.weights, model.terms, strict=True)]
    return float(np.abs(model.scores).sum()) + float(sum(parts))


def _size_of(term: BaseFunction) -> float:
    """A number that is not below what is summed up in a value of the term."""
    if isinstance(term, Cut):
        return float(term.weights.sum())
    if isinstance(term, ConcaveOfSize):
        return term.largest
    return float(np.abs(term.gains(np.arange(term.total))).sum())
