"""Labels that share weights: the score of a label is bilinear in the features of the row and those of the label.

Sets may have one more score, that of a constant.
"""

from typing import Any, final

import numpy as np

from setwise.core.batch import segments
from setwise.core.checks import (
    Floats,
    Ints,
    Values,
    as_kind,
    as_number,
    as_offsets,
    as_parts,
    as_point,
    as_reals,
    as_shaped,
)
from setwise.core.risk import Features, as_base, as_lower
from setwise.kernels.segments import chosen_offsets
from setwise.models.rows import MultilabelModel


@final
class JointLabels(Features):
    """``f(x, y) = kappa(y)^T (W x + intercept b) + bias c_y``, for each row x and label y (MLSP 5.1).

    Labels that share features share weights: in a hierarchy kappa(y) marks the nodes of the path to y. With the
    identity, and without a bias, this is :class:`MultilabelModel`.

    ``w`` holds the rows of ``[W | b]``, one for each feature of labels, one after another, and then c, if there is one.

    Parameters
    ----------
    X : (rows, features) float64, dense or CSR
    kappa : (p, q) the features of the p labels, finite
    offsets : (n+1,) set i has the rows ``offsets[i]:offsets[i+1]`` with all their labels; None makes all rows one set
    intercept : value of a constant feature of rows, as in :class:`setwise.models.RowModel`
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
        self._nodes = MultilabelModel(X, q, offsets, intercept=intercept)
        self.bias = as_number(bias, "bias", low=0.0)
        rows, self.size = int(self._nodes.X.shape[0]), self._nodes.size + (p if self.bias else 0)
        self.base, self.lower = as_base(base, rows * p), as_lower(lower, self.size)
        self._ends = self._nodes.offsets * p
        lengths = self._nodes.row_lengths.reshape(rows, q)[:, :1]
        self.row_lengths = np.hypot(lengths * np.linalg.norm(self.kappa, axis=1), self.bias).ravel()

    def scores(self, w: Values, parts: Ints | None = None) -> Values:
        w = as_point(w, self.size)
        S = self._nodes.scores(w[: self._nodes.size], parts).reshape(-1, self.kappa.shape[1]) @ self.kappa.T
        s = (S + self.bias * w[self._nodes.size :] if self.bias else S).ravel()
        return self.with_base(s, parts, self._ends)

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


@final
class ModelWithConstant(Features):
    """The scores of ``inner``, and after those of each set the score ``constant * c``, whose weight c comes last in w.

    Batches of single labels, as :class:`setwise.spaces.sequences.Sequences`, have such a score: the threshold above
    which a label is predicted.

    Source: this library.

    Parameters
    ----------
    inner : a model without fixed scores
    offsets : (n+1,) set i has the scores ``offsets[i]:offsets[i+1]`` of ``inner``, one or more
    constant : 0 or above; 0 leaves the weight out, so that these scores are 0
    base : (n_scores + n,) fixed scores that are added, None for none
    lower : (d,) least values of the weights; None is those of ``inner``

    Raises
    ------
    TypeError : for an ``inner`` that is no model
    ValueError : for an ``inner`` with fixed scores, a ``constant`` below 0, and shapes that do not agree

    Examples
    --------
    >>> from setwise.models import RowModel, ModelWithConstant
    >>> model = ModelWithConstant(RowModel([[1.0], [2.0], [3.0]], intercept=0.0), offsets=[0, 2, 3])
    >>> model.scores(np.array([1.0, -0.5]))  # two sets, each with the weight of the constant behind it
    array([ 1. ,  2. , -0.5,  3. , -0.5])
    """

    def __init__(
        self, inner: Features, offsets: Ints, constant: float = 1.0, base: Values | None = None, lower: Any = None
    ) -> None:
        self.inner: Features = as_kind(inner, "inner", Features, "RowModel(X)")
        if inner.base is not None:
            raise ValueError("inner must have no fixed scores; give them as base.")
        self.inner_offsets = as_offsets(offsets, len(inner.row_lengths))
        self.offsets = self.inner_offsets + np.arange(len(self.inner_offsets))
        self.constant = as_number(constant, "constant", low=0.0)
        self.size = inner.size + bool(self.constant)
        self.row_lengths = np.insert(inner.row_lengths, self.inner_offsets[1:], self.constant)
        self.base = as_base(base, len(self.row_lengths))
        usual = None if inner.lower is None else np.append(inner.lower, [-np.inf] * (self.size - inner.size))
        self.lower = usual if lower is None else as_lower(lower, self.size)

    def scores(self, w: Values, parts: Ints | None = None) -> Values:
        w = as_point(w, self.size)
        threshold = self.constant * w[-1] if self.constant else 0.0
        s = np.insert(self.inner.scores(w[: self.inner.size], parts), self._ends(parts), threshold)
        return self.with_base(s, parts, self.offsets)

    def pullback(self, gradient: Floats, parts: Ints | None = None) -> Values:
        own, last = self._split(gradient, parts)
        slope = self.inner.pullback(own, parts)
        return np.append(slope, self.constant * last.sum()) if self.constant else slope

    def pullbacks(self, gradient: Floats, parts: Ints | None = None) -> Values:
        own, last = self._split(gradient, parts)
        slopes = self.inner.pullbacks(own, parts)
        return np.column_stack([slopes, self.constant * last]) if self.constant else slopes

    def based(self, base: Values | None, lower: Values | None) -> "ModelWithConstant":
        free = np.full(self.size, -np.inf) if lower is None else lower
        return ModelWithConstant(self.inner, self.inner_offsets, self.constant, base, free)

    def _ends(self, parts: Ints | None) -> Ints:
        """Where the scores of the chosen sets end among those of ``inner``."""
        if parts is None:
            return self.inner_offsets[1:]
        segments(parts, self.inner_offsets)
        return chosen_offsets(parts, self.inner_offsets)[1:]

    def _split(self, gradient: Floats, parts: Ints | None) -> tuple[Values, Values]:
        """The gradient in the scores of ``inner``, and in those of the constants."""
        ends = self._ends(parts)
        g = as_shaped(gradient, int(ends[-1]) + len(ends), "gradient")
        last = ends + np.arange(len(ends))
        return np.delete(g, last), np.asarray(g[last], dtype=np.float64)
