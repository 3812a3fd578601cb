"""Labels that share weights: the score of a label is bilinear in the features of the row and those of the label."""

from typing import Any, final

import numpy as np

from setwise.core.arrays import Floats, Ints, Values
from setwise.core.batch import segments
from setwise.core.checks import as_parts, as_reals, as_shaped
from setwise.core.features import Features, as_base, as_lower
from setwise.models.multi_label import MultiLabel


@final
class JointLabels(Features):
    """``f(x, y) = <w, phi(x) (x) kappa(y)> = kappa(y)^T W [x | intercept]``, for each row x and label y (MLSP 5.1).

    Labels that share features share weights: in a hierarchy kappa(y) marks the nodes of the path to y. With the
    identity this is :class:`MultiLabel`. A bias of each label is a feature that this label alone has.

    ``w`` holds the rows of ``[W | b]``, one for each feature of labels, one after another.

    Parameters
    ----------
    X : (rows, features) float64, dense or CSR
    kappa : (p, q) the features of the p labels, finite
    offsets : (n+1,) set i has the rows ``offsets[i]:offsets[i+1]`` with all their labels; None makes all rows one set
    intercept : value of a constant feature of rows, as in :class:`setwise.models.Independent`
    base : (rows p,) fixed scores, None for none
    lower : (d,) least values of the weights, None for none
    """

    def __init__(
        self,
        X: Any,
        kappa: Any,
        offsets: Ints | None = None,
        intercept: float = 1.0,
        base: Values | None = None,
        lower: Any = None,
    ) -> None:
        self.kappa = as_reals(kappa, "kappa")
        if self.kappa.ndim != 2 or not self.kappa.size:
            raise ValueError(f"kappa must have shape (labels, features of labels); got shape {self.kappa.shape}.")
        p, q = self.kappa.shape
        self._nodes = MultiLabel(X, q, offsets, intercept=intercept)
        rows, self.size = int(self._nodes.X.shape[0]), self._nodes.size
        self.base, self.lower = as_base(base, rows * p), as_lower(lower, self.size)
        lengths = self._nodes.row_lengths.reshape(rows, q)[:, :1]
        self.row_lengths = (lengths * np.linalg.norm(self.kappa, axis=1)).ravel()

    def scores(self, w: Values, parts: Ints | None = None) -> Values:
        s = (self._nodes.scores(w, parts).reshape(-1, self.kappa.shape[1]) @ self.kappa.T).ravel()
        if self.base is None:
            return s
        return s + (self.base if parts is None else self.base[segments(parts, self._nodes.offsets * len(self.kappa))])

    def pullback(self, gradient: Floats, parts: Ints | None = None) -> Values:
        return self._nodes.pullback(self._to_nodes(gradient, parts), parts)

    def pullbacks(self, gradient: Floats, parts: Ints | None = None) -> Values:
        return self._nodes.pullbacks(self._to_nodes(gradient, parts), parts)

    def based(self, base: Values | None, lower: Values | None) -> "JointLabels":
        nodes = self._nodes
        return JointLabels(nodes.X, self.kappa, nodes.offsets, nodes.intercept, base, lower)

    def _to_nodes(self, gradient: Floats, parts: Ints | None) -> Values:
        """The gradient with respect to the scores of the features of labels, flat."""
        offsets, p = self._nodes.offsets, len(self.kappa)
        rows = int(offsets[-1]) if parts is None else int(np.diff(offsets)[as_parts(parts, len(offsets) - 1)].sum())
        return np.asarray((as_shaped(gradient, rows * p, "gradient").reshape(rows, p) @ self.kappa).ravel())
