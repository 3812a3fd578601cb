"""The linear model of landmarks: each of k points has weights that score the states of a grid."""

from typing import Any, final

import numpy as np

from setwise.core.checks import Floats, Ints, Values, as_array, as_count, as_parts, as_point, as_shaped
from setwise.core.risk import Features, as_base, as_lower
from setwise.models.rows import check_rows


@final
class LandmarkModel(Features):
    """``s_(i, v) = <w_i, x_v>`` for point i in state v, or ``<w_i, x_(i, v)>`` (HOL 5.1).

    A set has k points, each of which is in one of S states, as the g*g cells of a grid. Its batch is
    :class:`setwise.core.Classes` with S labels and k decisions a set. The points share the features of the
    states, or each has its own. ``w`` holds the weights of the points one after another, (k * d,). There is no
    intercept, for it would add the same to all states of a point.

    Parameters
    ----------
    X : float64 (n, S, d), shared by all points, or (n, k, S, d)
    k : number of points of a set
    base : (n * k * S,) fixed scores that are added, None for none
    lower : (k * d,) least values of the weights, None for none

    Raises
    ------
    TypeError : for a ``k`` that is no whole number
    ValueError : for shapes that do not agree, and numbers that are not finite
    OverflowError : where the length of a row of X is beyond float64

    Examples
    --------
    >>> from setwise.models import LandmarkModel
    >>> X = np.array([[[1.0], [2.0], [3.0]]])  # one set of three states, a feature each
    >>> LandmarkModel(X, k=2).scores(np.array([1.0, -1.0])).reshape(2, 3)
    array([[ 1.,  2.,  3.],
           [-1., -2., -3.]])
    """

    def __init__(self, X: Any, k: int, base: Values | None = None, lower: Any = None) -> None:
        self.k = as_count(k, "k")
        X = as_array(X, "X")
        if X.ndim not in (3, 4) or 0 in X.shape or (X.ndim == 4 and X.shape[1] != self.k):
            raise ValueError(f"X must have shape (sets, states, features) or (sets, {self.k}, ...); got {X.shape}.")
        rows, _, _, lengths = check_rows(X.reshape(-1, X.shape[-1]), None, 0.0)
        # Features that all points share are kept once.
        self.X: Values = rows.reshape(X.shape if X.ndim == 4 else (X.shape[0], 1, *X.shape[1:]))
        n, _, self._states, self._width = self.X.shape
        self.size = self.k * self._width
        self.base, self.lower = as_base(base, n * self.k * self._states), as_lower(lower, self.size)
        self.row_lengths = np.broadcast_to(lengths.reshape(self.X.shape[:3]), (n, self.k, self._states)).ravel()

    def scores(self, w: Values, parts: Ints | None = None) -> Values:
        W, X = as_point(w, self.size).reshape(self.k, -1), self._chosen(parts)
        # One product of matrices for shared features, else one for each point.
        s = (X[:, 0] @ W.T).transpose(0, 2, 1) if X.shape[1] == 1 else np.matmul(X, W[None, :, :, None])[..., 0]
        s = np.ascontiguousarray(s).ravel()
        if self.base is None:
            return s
        return s + (self.base if parts is None else self.base.reshape(len(self.X), -1)[parts].ravel())

    def pullback(self, gradient: Floats, parts: Ints | None = None) -> Values:
        X = self._chosen(parts)
        G = self._gradient(gradient, X)
        if X.shape[1] == 1:
            return np.asarray(np.tensordot(G, X[:, 0], axes=([0, 2], [0, 1]))).ravel()
        return np.asarray(np.einsum("niv,nivd->id", G, X, optimize=True)).ravel()

    def pullbacks(self, gradient: Floats, parts: Ints | None = None) -> Values:
        X = self._chosen(parts)
        G = self._gradient(gradient, X)
        slopes: Values = np.matmul(G, X[:, 0]) if X.shape[1] == 1 else np.matmul(G[:, :, None, :], X)[:, :, 0]
        return slopes.reshape(len(X), self.size)

    def based(self, base: Values | None, lower: Values | None) -> "LandmarkModel":
        return LandmarkModel(self.X if self.X.shape[1] == self.k else self.X[:, 0], self.k, base, lower)

    def _chosen(self, parts: Ints | None) -> Values:
        return self.X if parts is None else self.X[as_parts(parts, len(self.X))]

    def _gradient(self, gradient: Floats, X: Values) -> Values:
        """The gradient of the chosen sets, (sets, k, states)."""
        return as_shaped(gradient, len(X) * self.k * self._states, "gradient").reshape(len(X), self.k, self._states)
