"""Compiled parts of scikit-learn's estimators in a saved model: as what they are built from, and built again by it."""

from typing import Any

from scipy.interpolate import BSpline
from sklearn.neighbors._ball_tree import BallTree
from sklearn.neighbors._base import NeighborsBase
from sklearn.neighbors._kd_tree import KDTree
from sklearn.preprocessing import SplineTransformer

TREES = {"KDTree": KDTree, "BallTree": BallTree}
"""The trees of nearest neighbors, whose nodes are followed without a check of their bounds."""


def stored(part: Any) -> Any:
    """What a file holds in the place of a compiled part; None for another object.

    A tree of neighbors is built again from the rows that its estimator holds.
    """
    if isinstance(part, BSpline):
        return part.t, part.c, part.k, part.extrapolate, part.axis
    return type(part).__name__ if type(part) in TREES.values() else None


def build(holder: Any) -> None:
    """Build the parts of an estimator that a file holds so; the constructors check what they are given."""
    held = getattr(holder, "__dict__", {})
    if isinstance(holder, NeighborsBase) and isinstance(kind := held.get("_tree"), str):
        params = holder.effective_metric_params_
        holder._tree = TREES[kind](holder._fit_X, holder.leaf_size, metric=holder.effective_metric_, **params)
    if isinstance(holder, SplineTransformer) and "bsplines_" in held:
        holder.bsplines_ = [BSpline(*one) if isinstance(one, tuple) else one for one in holder.bsplines_]
