"""The lower bound by modular functions above f (Djolonga and Krause 2014)."""

from typing import NamedTuple

import numpy as np

from setwise.core.checks import Bools, Values, as_kind
from setwise.probabilistic.bounds.l_field import EPSILON, EXAMPLE
from setwise.probabilistic.bounds.log_partition import LogPartition, certain, sigmoid
from setwise.probabilistic.log_supermodular import LogSupermodular


class Touching(NamedTuple):
    """A modular function ``f(X) + sum_(j not in X) g_j y_j - sum_(j in X) g_j (1 - y_j)`` that is nowhere below f."""

    at: Bools
    value: float
    gains: Values

    @property
    def bound(self) -> float:
        """``log sum_y exp(-g(y))``."""
        return -self.value + float(np.logaddexp(0.0, np.where(self.at, self.gains, -self.gains)).sum())

    @property
    def probabilities(self) -> Values:
        """Those of label 1 under ``exp(-g)``, (p,)."""
        return sigmoid(-self.gains)


def superdifferential(model: LogSupermodular) -> LogPartition:
    """``max_X -f(X) + sum_(j in X) log(1 + exp f(j | V-j)) + sum_(j not in X) log(1 + exp(-f(j)))``, below A(f).

    The maximum is one submodular minimization. At its X the same bound is taken for the grow function, which has
    ``f(j | X-j)`` for the labels in X, and for the shrink function, which has ``f(j | X)`` for those outside; each of
    them is as good or better, and the best of the three is returned (Djolonga and Krause 2014; the three
    supergradients have their names from Iyer, Jegelka and Bilmes 2013). The bound is certain: rounding is taken off.

    Parameters
    ----------
    model : the distribution

    Returns
    -------
    bound : a lower bound of A(f), and the marginals of the modular function that gives it

    Raises
    ------
    TypeError : for anything but a :class:`setwise.probabilistic.LogSupermodular`

    Examples
    --------
    >>> from setwise.probabilistic import Cut, LogSupermodular, exact, superdifferential
    >>> model = LogSupermodular([Cut(2, [[0, 1]])], unary=[1.0, 0.0])
    >>> found = superdifferential(model)  # at X = V: 1 + log(1 + exp(-2)) + log(1 + exp(-1))
    >>> print(found.kind, round(found.value, 3), found.marginals.round(3), round(exact(model).value, 3))
    lower 1.44 [0.881 0.731] 1.627
    """
    best = best_touching(model)
    return certain(rounded_down(model, best.bound), "lower", best.probabilities)


def best_touching(model: LogSupermodular) -> Touching:
    """The modular function above f with the largest sum of ``exp(-g)`` among the three at the best X."""
    as_kind(model, "model", LogSupermodular, EXAMPLE)
    first, last = model.singles
    # For each X the bound is -f(X) and a sum over labels, so the best X is the minimum of f with other unary terms.
    moved = model.scores + np.logaddexp(0.0, last) - np.logaddexp(0.0, -first)
    X = model.minimizer(moved).labels
    value = float(model.values(X)[0])
    turned = model.turns(X)
    # Without j where j is in X, and with j where it is not.
    inside, outside = -turned, turned
    ways = ((last, first), (inside, first), (last, outside))
    return max((Touching(X, value, np.where(X, a, b)) for a, b in ways), key=lambda one: one.bound)


def rounded_down(model: LogSupermodular, value: float) -> float:
    """The value less what rounding may have added."""
    size = model.largest + abs(value) + model.total
    return value - 8.0 * EPSILON * size * (2 + model.total.bit_length())
