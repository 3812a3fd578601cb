"""What a base function is: a submodular function of binary labels that vanishes where all of them are 0."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Bools, Ints, Values


class Conditioned(NamedTuple):
    """A function of the free labels: ``f(A + y) - f(A) = function(y) + <linear, y>``, where A are the labels set to 1.

    Attributes
    ----------
    function : of the same kind, of the labels that are free
    linear : (free,)
    constant : f(A), the value where all free labels are 0
    """

    function: "BaseFunction"
    linear: Values
    constant: float


class BaseFunction(ABC):
    """A submodular function f of p labels, ``f(y) + f(z) >= f(min(y, z)) + f(max(y, z))``, with ``f(0) = 0``.

    These are the f_k of :class:`setwise.probabilistic.LogSupermodular` (LSM 2.1 and 4). A function of one's own is a
    :class:`setwise.probabilistic.SetFunctionOf`, or derives from this class.

    Attributes
    ----------
    total : p, the number of labels

    Examples
    --------
    >>> from setwise.probabilistic import Cut
    >>> function = Cut(3, [[0, 1], [1, 2]])
    >>> function.values(np.array([[True, False, True], [True, True, False]]))
    array([2., 1.])
    >>> function.gains(np.array([0, 1, 2]))  # of the labels in this order: the values are 1, 1, 0
    array([ 1.,  0., -1.])
    """

    total: int

    @abstractmethod
    def values(self, labels: Bools) -> Values:
        """The value f of each row of ``labels`` (n, p), (n,)."""

    def gains(self, order: Ints) -> Values:
        """What each label adds to f where the labels become 1 in the given order, (p,)."""
        rows = np.zeros((self.total + 1, self.total), dtype=bool)
        for k, i in enumerate(order):
            rows[k + 1 :, i] = True
        return np.diff(self.values(rows))

    def turns(self, labels: Bools) -> Values:
        """What f gains where each label is turned alone, ``f(y ^ e_i) - f(y)`` at y = ``labels`` (p,), (p,)."""
        return self.values(labels ^ np.eye(self.total, dtype=bool)) - self.values(labels[None])

    @property
    def largest(self) -> float:
        """A number that is not below the sum of the absolute numbers that a value of f is summed up of."""
        return float(np.abs(self.gains(np.arange(self.total))).sum())

    @abstractmethod
    def condition(self, fixed: NDArray[np.int8]) -> Conditioned:
        """The function of the labels that are -1 in ``fixed`` (p,), at least one, where the others are 0 and 1."""
