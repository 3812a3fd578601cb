"""Labels that share weights: the score of a label is bilinear in the features of the row and those of the label."""

from typing import Any, final

import numpy as np

from setwise.core.batch import segments
from setwise.core.checks import Floats, Ints, Values, as_number, as_parts, as_point, as_reals, as_shaped
from setwise.core.risk import Features, as_base, as_lower
from setwise.kernels.segments import chosen_offsets
from setwise.models.multi_label import MultiLabel


@final
class JointLabels(Features):
    """``f(x, y) = kappa(y)^T (W x + intercept b) + bias c_y``, for each row x and label y (MLSP 5.1).

    Labels that share features share weights: in a hierarchy kappa(y) marks the nodes of the path to y. With the
    identity, and without a bias, this is :class:`MultiLabel`.

    ``w`` holds the rows of ``[W | b]``, one for each feature of labels, one after another, and then c, if there is one.

    Parameters
    ----------
    X : (rows, features) float64, dense or CSR
    kappa : (p, q) the features of the p labels, finite
    offsets : (n+1,) set i has the rows ``offsets[i]:offsets[i+1]`` with all their labels; None makes all rows one set
    intercept : value of a constant feature of rows, as in :class:`setwise.models.Independent`
    base : (rows p,) fixed scores, None for none
    lower : (d,) least values of the weights, None for none
    bias : value, at least 0, of a constant feature that each label has alone; 0 for none

    Raises
    ------
    ValueError : for shapes that do not agree, numbers that are not finite, and a sparse X that is not float64
    OverflowError : where the length of a row of X is beyond float64

    Examples
    --------
    >>> from setwise.models import JointLabels
    >>> kappa = [[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]  # two labels below one root: root, first, second
    >>> model = JointLabels([[2.0]], kappa, intercept=0.0)
    >>> model.scores(np.array([1.0, 0.5, -0.5]))  # 2 (1 + 0.5) and 2 (1 - 0.5)
    array([3., 1.])
    """

    def __init__(
        self,
        X: Any,
        kappa: Any,
        offsets: Ints | None = None,
        intercept: float = 1.0,
        base: Values | None = None,
        lower: Any = None,
        bias: float = 0.0,
    ) -> None:
        self.kappa = as_reals(kappa, "kappa")
        if self.kappa.ndim != 2 or not self.kappa.size:
            raise ValueError(f"kappa must have shape (labels, features of labels); got shape {self.kappa.shape}.")
        p, q = self.kappa.shape
        self._nodes = MultiLabel(X, q, offsets, intercept=intercept)
        self.bias = as_number(bias, "bias", low=0.0)
        rows, self.size = int(self._nodes.X.shape[0]), self._nodes.size + (p if self.bias else 0)
        self.base, self.lower = as_base(base, rows * p), as_lower(lower, self.size)
        lengths = self._nodes.row_lengths.reshape(rows, q)[:, :1]
        self.row_lengths = np.hypot(lengths * np.linalg.norm(self.kappa, axis=1), self.bias).ravel()

    def scores(self, w: Values, parts: Ints | None = None) -> Values:
        w = as_point(w, self.size)
        S = self._nodes.scores(w[: self._nodes.size], parts).reshape(-1, self.kappa.shape[1]) @ self.kappa.T
        s = (S + self.bias * w[self._nodes.size :] if self.bias else S).ravel()
        if self.base is None:
            return s
        return s + (self.base if parts is None else self.base[segments(parts, self._nodes.offsets * len(self.kappa))])

    def pullback(self, gradient: Floats, parts: Ints | None = None) -> Values:
        G = self._by_rows(gradient, parts)
        slope = self._nodes.pullback((G @ self.kappa).ravel(), parts)
        return np.append(slope, self.bias * G.sum(axis=0)) if self.bias else slope

    def pullbacks(self, gradient: Floats, parts: Ints | None = None) -> Values:
        G, offsets = self._by_rows(gradient, parts), self._nodes.offsets
        slopes = self._nodes.pullbacks((G @ self.kappa).ravel(), parts)
        if not self.bias:
            return slopes
        ends = offsets if parts is None else chosen_offsets(parts, offsets)
        return np.column_stack([slopes, self.bias * np.add.reduceat(G, ends[:-1], axis=0)])

    def based(self, base: Values | None, lower: Values | None) -> "JointLabels":
        nodes = self._nodes
        return JointLabels(nodes.X, self.kappa, nodes.offsets, nodes.intercept, base, lower, self.bias)

    def _by_rows(self, gradient: Floats, parts: Ints | None) -> Floats:
        """The gradient with respect to the scores of the chosen rows, (rows, p)."""
        offsets, p = self._nodes.offsets, len(self.kappa)
        rows = int(offsets[-1]) if parts is None else int(np.diff(offsets)[as_parts(parts, len(offsets) - 1)].sum())
        return as_shaped(gradient, rows * p, "gradient").reshape(rows, p)
