"""L-Field: the upper bound by a point of the base polytope (Djolonga and Krause 2014; LSM 3.1)."""

from typing import NamedTuple

import numpy as np

from setwise.core.checks import Values, as_kind, as_point
from setwise.core.exceptions import Refusal
from setwise.core.pages import DISTRIBUTIONS
from setwise.inference.cuts import nested
from setwise.probabilistic.bounds.log_partition import LogPartition, certain, sigmoid
from setwise.probabilistic.log_supermodular import LogSupermodular
from setwise.probabilistic.minimizers import least_norm_of

EXAMPLE = "LogSupermodular([Cut.grid(5, 5)])"
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


def base_point(model: LogSupermodular) -> BasePoint:
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
    TypeError : for anything but a :class:`setwise.probabilistic.LogSupermodular`

    Examples
    --------
    >>> from setwise.probabilistic import Cut, LogSupermodular, base_point
    >>> model = LogSupermodular([Cut(2, [[0, 1]])], unary=[1.0, 0.0])
    >>> base_point(model).point  # its sum is f(1, 1) = -1, and <s, y> <= f(y) holds: -0.5 <= 0 and -0.5 <= 1
    array([-0.5, -0.5])
    """
    as_kind(model, "model", LogSupermodular, EXAMPLE)
    pairs, p = model.pairwise, model.total
    if pairs is None:
        point = least_norm_of(model.oracle())
        size = float(np.abs(model.gains(np.arange(p))).max()) + float(np.abs(point).max())
        return BasePoint(point, 16.0 * EPSILON * p * p * size)
    point = nested(pairs.graphs, np.concatenate([model.scores, pairs.weights])).point
    degrees = np.bincount(pairs.edges.ravel(), minlength=p)
    sizes = np.abs(model.scores) + np.abs(point) + np.bincount(pairs.edges.ravel(), np.repeat(pairs.weights, 2), p)
    return BasePoint(point, 4.0 * EPSILON * float(((degrees + 2) * sizes).sum()))


def l_field(model: LogSupermodular, point: Values | None = None) -> LogPartition:
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
    >>> from setwise.probabilistic import Cut, LogSupermodular, exact, l_field
    >>> model = LogSupermodular([Cut(2, [[0, 1]])], unary=[1.0, 0.0])
    >>> found = l_field(model)  # 2 log(1 + exp(0.5)), from the base point (-0.5, -0.5)
    >>> print(found.kind, round(found.value, 3), found.marginals.round(3), round(exact(model).value, 3))
    upper 1.948 [0.622 0.622] 1.627
    """
    found = base_point(model) if point is None else _proved(model, as_point(point, model.total, "point"))
    parts = np.logaddexp(0.0, -found.point)
    value = float(parts.sum()) * (1.0 + (len(parts) + 4) * EPSILON) + found.slip
    return certain(value, "upper", sigmoid(-found.point))


def _proved(model: LogSupermodular, point: Values) -> BasePoint:
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
