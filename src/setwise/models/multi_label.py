"""One weight vector for each label scores the rows of a label matrix."""

from typing import Any, final

import numpy as np

from setwise.core.arrays import Floats, Ints, Values
from setwise.core.batch import segments
from setwise.core.checks import as_count
from setwise.core.features import Features, as_base, as_lower
from setwise.models.rows import check_rows, row_lengths, with_constant


@final
class MultiLabel(Features):
    """``S = X W^T + intercept b``, one score for each row and label; label j has the weights ``W_j, b_j``.

    A set is a run of rows with all their labels, flat by rows: each row of a label matrix, the whole matrix, or the
    rows of one group whose decisions have p labels. With ``columns`` a set is the column of one label, flat by columns.

    ``w`` holds the rows of ``[W | b]`` one after another, (p * (features + 1),), or of ``W`` where the intercept is 0.

    Parameters
    ----------
    X : (rows, features) float64, dense or CSR
    p : number of labels
    offsets : (n+1,) set ``i`` owns the rows ``offsets[i]:offsets[i+1]``; not used with ``columns``
    columns : whether each label is a set
    intercept : value of a constant feature, as in :class:`setwise.models.Independent`
    base : fixed scores in the layout of the sets, None for none
    lower : (d,) least values of the weights, None for none
    """

    def __init__(
        self,
        X: Any,
        p: int,
        offsets: Ints | None = None,
        columns: bool = False,
        intercept: float = 1.0,
        base: Values | None = None,
        lower: Any = None,
    ) -> None:
        whole = np.array([0, X.shape[0]]) if offsets is None or columns else offsets
        self.X, self.offsets, self.intercept = check_rows(X, whole, intercept)
        self.p, self.columns = as_count(p, "p"), columns
        self._width = int(self.X.shape[1]) + bool(intercept)
        self.size = self.p * self._width
        self.base, self.lower = as_base(base, int(self.X.shape[0]) * self.p), as_lower(lower, self.size)
        each = row_lengths(self.X, intercept)
        self.row_lengths = np.tile(each, p) if columns else np.repeat(each, p)

    def scores(self, w: Values, parts: Ints | None = None) -> Values:
        W = w.reshape(self.p, -1)
        rows, labels = self._chosen(parts)
        W = W if labels is None else W[labels]
        S = np.asarray(rows @ W[:, :-1].T + self.intercept * W[:, -1] if self.intercept else rows @ W.T)
        s = np.ascontiguousarray(S.T if self.columns else S).ravel()
        return s if self.base is None else s + self._base(parts)

    def pullback(self, gradient: Floats, parts: Ints | None = None) -> Values:
        rows, labels = self._chosen(parts)
        slopes = self._slopes(rows, gradient)
        if labels is None:
            return slopes.ravel()
        out = np.zeros((self.p, self._width))
        out[labels] = slopes
        return out.ravel()

    def pullbacks(self, gradient: Floats, parts: Ints | None = None) -> Values:
        rows, labels = self._chosen(parts)
        if self.columns:
            which = np.arange(self.p) if labels is None else labels
            out = np.zeros((len(which), self.p, self._width))
            out[np.arange(len(which)), which] = self._slopes(rows, gradient)
            return out.reshape(len(which), -1)
        sizes = np.diff(self.offsets) if parts is None else np.diff(self.offsets)[parts]
        if len(sizes) == 1:
            return self.pullback(gradient, parts)[None, :]
        dense = with_constant(rows, self.intercept)
        each: Values = (gradient.reshape(-1, self.p)[:, :, None] * dense[:, None, :]).reshape(len(dense), -1)
        if (sizes == 1).all():
            return each
        return np.add.reduceat(each, np.concatenate(([0], np.cumsum(sizes)[:-1])), axis=0)

    def based(self, base: Values | None, lower: Values | None) -> "MultiLabel":
        return MultiLabel(self.X, self.p, self.offsets, self.columns, self.intercept, base, lower)

    def _chosen(self, parts: Ints | None) -> tuple[Any, Ints | None]:
        """The rows of the chosen sets, and their labels where these are not all."""
        if parts is None:
            return self.X, None
        return (self.X, parts) if self.columns else (self.X[segments(parts, self.offsets)], None)

    def _base(self, parts: Ints | None) -> Values:
        assert self.base is not None
        if parts is None:
            return self.base
        ends = np.arange(self.p + 1) * self.X.shape[0] if self.columns else self.offsets * self.p
        return self.base[segments(parts, ends)]

    def _slopes(self, rows: Any, gradient: Floats) -> Values:
        """The slope of each label that the gradient speaks of, (labels, features + 1)."""
        G = gradient.reshape(-1, rows.shape[0]).T if self.columns else gradient.reshape(-1, self.p)
        slopes = np.asarray((rows.T @ G).T)
        return (
            np.column_stack([slopes, self.intercept * G.sum(axis=0)])
            if self.intercept
            else np.ascontiguousarray(slopes)
        )
