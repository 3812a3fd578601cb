"""Bounds of the logarithm of a sum over all labelings: L-Field, the superdifferential, and mean field.

L-Field is the upper bound by a point of the base polytope, the superdifferential the lower one by modular functions
above f (Djolonga and Krause 2014; LSM 3.1), mean field the lower one by independent labels.
"""

from dataclasses import dataclass
from typing import Literal, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.checks import Bools, Values, as_count, as_kind, as_point, as_reals
from setwise.core.exceptions import Refusal
from setwise.core.pages import DISTRIBUTIONS
from setwise.inference.cuts import nested
from setwise.kernels.count_partition import climb, number_of_ones
from setwise.kernels.networks import arcs
from setwise.probabilistic.log_supermodular_distribution import LogSupermodularDistribution
from setwise.probabilistic.minimizers import least_norm_of

Kind = Literal["upper", "lower", "exact", "estimate"]


@final
@dataclass(frozen=True, eq=False)
class LogPartition:
    """A bound or an estimate of ``A(f) = log sum_y exp(-f(y))``, or A(f) itself, with probabilities of label 1.

    Attributes
    ----------
    value : the number
    kind : ``"upper"`` and ``"lower"`` for bounds of A(f) that are certain, rounding included; ``"exact"`` for A(f)
        itself but for rounding; ``"estimate"`` for the mean of samples, which is certain of nothing
    marginals : (p,) the derivatives of the number by the unary terms, which stand for the probabilities of label 1
    interval : the interval at ``level`` around an estimate; for bounds the number twice
    level : the probability with which such intervals hold what is estimated; 1 where nothing is

    Examples
    --------
    >>> from setwise.probabilistic import Cut, LogSupermodularDistribution, l_field, mean_field
    >>> model = LogSupermodularDistribution([Cut.grid(3, 3)], weights=[0.2])
    >>> low, high = mean_field(model), l_field(model)
    >>> print(low.kind, round(low.value, 2), high.kind, round(high.value, 2))
    lower 5.04 upper 6.24
    """

    value: float
    kind: Kind
    marginals: Values
    interval: tuple[float, float]
    level: float = 1.0


def certain(value: float, kind: Kind, marginals: Values) -> LogPartition:
    """A bound, or the exact number."""
    return LogPartition(value, kind, marginals, (value, value))


def sigmoid(x: Values) -> Values:
    """``1 / (1 + exp(-x))``, without overflow."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)))


def entropy(q: Values) -> float:
    """``-sum q log q + (1 - q) log(1 - q)``."""
    inner = (q > 0.0) & (q < 1.0)
    return -float((q[inner] * np.log(q[inner]) + (1.0 - q[inner]) * np.log1p(-q[inner])).sum())


EXAMPLE = "LogSupermodularDistribution([Cut.grid(5, 5)])"

EPSILON = float(np.finfo(np.float64).eps)

SHARE = 1e-9
"""A point may be outside by this share of all numbers, as sums of it are rounded."""


class BasePoint(NamedTuple):
    """A point s of the base polytope ``B(f) = {s : <s, y> <= f(y) for all y, <s, 1> = f(1)}``.

    Attributes
    ----------
    point : (p,)
    slip : rounding may have moved it from B(f) by so much, as the sum over all labels
    """

    point: Values
    slip: float

    def above(self, z: Values) -> float:
        """``sum_d max(z_d - s_d, 0)``, which is not below ``max_y <z, y> - f(y)``, rounding included (LSM Prop. 1)."""
        parts = np.maximum(z - self.point, 0.0)
        return float(parts.sum()) * (1.0 + len(z) * EPSILON) + self.slip + EPSILON * float(np.abs(z).sum())


def base_point(model: LogSupermodularDistribution) -> BasePoint:
    """The point of least norm in the base polytope of f, which is also that of the least L-Field bound.

    For cuts it is found by minimum cuts for all biases: ``s_i`` is the bias at which label i becomes 1. The flow of
    these cuts proves that it lies in the polytope: ``s + t`` is what flows out of each node. For other functions it is
    a convex combination of vertices, by the algorithm of Fujishige and Wolfe. That the least norm gives the least bound
    is told in LSM 3.1.

    Parameters
    ----------
    model : the distribution

    Returns
    -------
    found : the ``point`` (p,), and ``slip``, by which rounding may have moved it, as the sum over all labels

    Raises
    ------
    TypeError : for anything but a :class:`setwise.probabilistic.LogSupermodularDistribution`

    Examples
    --------
    >>> from setwise.probabilistic import Cut, LogSupermodularDistribution, base_point
    >>> model = LogSupermodularDistribution([Cut(2, [[0, 1]])], unary=[1.0, 0.0])
    >>> base_point(model).point  # its sum is f(1, 1) = -1, and <s, y> <= f(y) holds: -0.5 <= 0 and -0.5 <= 1
    array([-0.5, -0.5])
    """
    as_kind(model, "model", LogSupermodularDistribution, EXAMPLE)
    pairs, p = model.pairwise, model.total
    if pairs is None:
        point = least_norm_of(model.oracle())
        size = float(np.abs(model.gains(np.arange(p))).max()) + float(np.abs(point).max())
        return BasePoint(point, 16.0 * EPSILON * p * p * size)
    point = nested(pairs.graphs, np.concatenate([model.scores, pairs.weights])).point
    degrees = np.bincount(pairs.edges.ravel(), minlength=p)
    sizes = np.abs(model.scores) + np.abs(point) + np.bincount(pairs.edges.ravel(), np.repeat(pairs.weights, 2), p)
    return BasePoint(point, 4.0 * EPSILON * float(((degrees + 2) * sizes).sum()))


def l_field(model: LogSupermodularDistribution, point: Values | None = None) -> LogPartition:
    """``A(f) <= sum_d log(1 + exp(-s_d))`` for the s of the base polytope with the least such sum (LSM Eq. 1).

    That is the point of least norm. The marginals are ``1 / (1 + exp(s_d))``. The bound is certain: rounding is added.

    Parameters
    ----------
    model : the distribution
    point : (p,) another point s of the base polytope; one minimization of f - s proves that it lies there, and what it
        is above f by rounding is added

    Returns
    -------
    bound : an upper bound of A(f)

    Raises
    ------
    ValueError, TypeError : for anything but a model, and a point that is no (p,) finite numbers
    Refusal : for a point outside

    Examples
    --------
    >>> from setwise.probabilistic import Cut, LogSupermodularDistribution, exact, l_field
    >>> model = LogSupermodularDistribution([Cut(2, [[0, 1]])], unary=[1.0, 0.0])
    >>> found = l_field(model)  # 2 log(1 + exp(0.5)), from the base point (-0.5, -0.5)
    >>> print(found.kind, round(found.value, 3), found.marginals.round(3), round(exact(model).value, 3))
    upper 1.948 [0.622 0.622] 1.627
    """
    found = base_point(model) if point is None else _proved(model, as_point(point, model.total, "point"))
    parts = np.logaddexp(0.0, -found.point)
    value = float(parts.sum()) * (1.0 + (len(parts) + 4) * EPSILON) + found.slip
    return certain(value, "upper", sigmoid(-found.point))


def _proved(model: LogSupermodularDistribution, point: Values) -> BasePoint:
    """The point with what it is above f somewhere, which must be rounding."""
    above = max(-model.minimizer(model.scores + point).bound, 0.0)
    whole = float(model.values(np.ones(model.total, dtype=bool))[0])
    size = model.largest + float(np.abs(point).sum())
    if above > SHARE * size or abs(float(point.sum()) - whole) > SHARE * size:
        raise Refusal(
            f"l_field refuses this point: it is not proved to be one of the base polytope, where <s, y> <= f(y), which "
            f"it may exceed by {above:.3g}, and sum(s) = f(1) = {whole:.6g}; got {point.sum():.6g}.",
            DISTRIBUTIONS,
        )
    return BasePoint(point, above + 8.0 * EPSILON * (len(point) + 4) * size)


class ModularUpperBound(NamedTuple):
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


def superdifferential(model: LogSupermodularDistribution) -> LogPartition:
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
    TypeError : for anything but a :class:`setwise.probabilistic.LogSupermodularDistribution`

    Examples
    --------
    >>> from setwise.probabilistic import Cut, LogSupermodularDistribution, exact, superdifferential
    >>> model = LogSupermodularDistribution([Cut(2, [[0, 1]])], unary=[1.0, 0.0])
    >>> found = superdifferential(model)  # at X = V: 1 + log(1 + exp(-2)) + log(1 + exp(-1))
    >>> print(found.kind, round(found.value, 3), found.marginals.round(3), round(exact(model).value, 3))
    lower 1.44 [0.881 0.731] 1.627
    """
    best = best_touching(model)
    return certain(rounded_down(model, best.bound), "lower", best.probabilities)


def best_touching(model: LogSupermodularDistribution) -> ModularUpperBound:
    """The modular function above f with the largest sum of ``exp(-g)`` among the three at the best X."""
    as_kind(model, "model", LogSupermodularDistribution, EXAMPLE)
    first, last = model.singles
    # For each X the bound is -f(X) and a sum over labels, so the best X is the minimum of f with other unary terms.
    moved = model.scores + np.logaddexp(0.0, last) - np.logaddexp(0.0, -first)
    X = model.minimizer(moved).labels
    value = float(model.values(X)[0])
    turned = model.turns(X)
    # Without j where j is in X, and with j where it is not.
    inside, outside = -turned, turned
    ways = ((last, first), (inside, first), (last, outside))
    return max((ModularUpperBound(X, value, np.where(X, a, b)) for a, b in ways), key=lambda one: one.bound)


def rounded_down(model: LogSupermodularDistribution, value: float) -> float:
    """The value less what rounding may have added."""
    size = model.largest + abs(value) + model.total
    return value - 8.0 * EPSILON * size * (2 + model.total.bit_length())


CLOSE = 1e-13
"""The ascent ends where a sweep gains no more than this share."""


def mean_field(
    model: LogSupermodularDistribution, start: ArrayLike | None = None, max_iter: int = 1000
) -> LogPartition:
    """``max_q H(q) - E_q f``, a lower bound by independent labels of probabilities q, by coordinate ascent.

    It begins at the independent labels of :func:`superdifferential`, and is never below that bound. A sweep sets each
    ``q_j = 1 / (1 + exp(E f(y_j = 1) - E f(y_j = 0)))``. It ends at a local maximum
    (Wainwright and Jordan 2008, section 5.3).

    Parameters
    ----------
    model : a distribution of cuts and concave functions of the size; others are refused
    start : (p,) the probabilities to begin with, 0 to 1
    max_iter : the most sweeps

    Returns
    -------
    bound : a lower bound of A(f)

    Raises
    ------
    ValueError, TypeError : for anything but a model, a start that is no (p,) probabilities, and ``max_iter`` below 1
    Refusal : for other terms than cuts and concave functions of the size

    Examples
    --------
    >>> from setwise.probabilistic import Cut, LogSupermodularDistribution, exact, mean_field
    >>> model = LogSupermodularDistribution([Cut(2, [[0, 1]])], unary=[1.0, 0.0])
    >>> found = mean_field(model)
    >>> print(found.kind, round(found.value, 3), found.marginals.round(3), round(exact(model).value, 3))
    lower 1.539 [0.781 0.637] 1.627
    """
    as_kind(model, "model", LogSupermodularDistribution, EXAMPLE)
    as_count(max_iter, "max_iter")
    if model.table is None:
        raise Refusal(
            f"mean_field refuses {model!r}: the mean of a set function over independent labels has no closed form. "
            "Use superdifferential.",
            DISTRIBUTIONS,
        )
    touching = best_touching(model) if start is None else None
    # Where the ascent begins at that bound it ends nowhere below it, rounding included.
    floor = -np.inf if touching is None else rounded_down(model, touching.bound)
    q = as_reals(start, "start", (model.total,)) if touching is None else touching.probabilities
    if (q < 0.0).any() or (q > 1.0).any():
        raise ValueError(f"start must be probabilities; got {q.min():.4g} to {q.max():.4g}.")
    (edges, cuts), table = model.cuts.active, model.table
    network, places = arcs(edges, model.total)
    weights = np.zeros(len(network.heads))
    weights[places] = cuts[:, None]
    heights = table if table.any() else np.zeros(0)
    value, q = _bound(model, q), np.array(q)
    for _ in range(max_iter):
        before, last = value, q.copy()
        climb(network, weights, model.scores, heights, q)
        value = _bound(model, q)
        if value - before <= CLOSE * (1.0 + abs(value)):
            break
    # A sweep at the end of the ascent may lose by rounding.
    best, q = (value, q) if value >= before else (before, last)
    return certain(max(rounded_down(model, best), floor), "lower", q)


def _bound(model: LogSupermodularDistribution, q: Values) -> float:
    """``H(q) - E_q f``."""
    (edges, weights), table = model.cuts.active, model.table
    a, b = q[edges].T
    mean = float(weights @ (a * (1.0 - b) + b * (1.0 - a)) - model.scores @ q)
    if table is not None and table.any():
        pmf = np.empty(model.total + 1)
        number_of_ones(q, -1, pmf)
        mean += float(pmf @ table)
    return entropy(q) - mean
