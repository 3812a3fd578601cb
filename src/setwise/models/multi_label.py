"""The linear multi-label model: one weight vector for each label scores the rows of a label matrix."""

from typing import Any, final

import numpy as np

from setwise.core.batch import segments
from setwise.core.checks import Floats, Ints, Values, as_count, as_flag, as_parts, as_point, as_shaped
from setwise.core.risk import Features, as_base, as_lower
from setwise.kernels.segments import chosen_offsets
from setwise.models.rows import check_rows, with_constant


@final
class MultiLabel(Features):
    """``S = X W^T + intercept b``, one score for each row and label; label j has the weights ``W_j, b_j``.

    A set is a run of rows with all their labels: each row of a label matrix, the whole matrix, or the rows of one group
    whose decisions have p labels. Its scores are flat by rows. With ``columns`` a set is the column of one label, and
    the scores are flat by columns.

    ``w`` holds the rows of ``[W | b]`` one after another, (p * (features + 1),), or those of ``W`` where the intercept
    is 0.

    Source: this library; one linear function of the features for each label.

    Parameters
    ----------
    X : (rows, features) float64, dense or CSR
    p : number of labels
    offsets : (n+1,) set i has the rows ``offsets[i]:offsets[i+1]``; not used with ``columns``
    columns : whether each label is a set
    intercept : value of a constant feature, as in :class:`setwise.models.Independent`
    base : fixed scores in the layout of the sets, None for none
    lower : (d,) least values of the weights, None for none

    Raises
    ------
    TypeError : for a ``p`` that is no whole number, and ``columns`` that are neither True nor False
    ValueError : for shapes that do not agree, numbers that are not finite, and a sparse X that is not float64
    OverflowError : where the length of a row of X is beyond float64

    Examples
    --------
    >>> from setwise.models import MultiLabel
    >>> model = MultiLabel([[1.0], [2.0]], p=2, intercept=0.0)  # two rows with two labels
    >>> model.scores(np.array([1.0, 10.0])).reshape(2, 2)
    array([[ 1., 10.],
           [ 2., 20.]])
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
        self.p, self.columns = as_count(p, "p"), as_flag(columns, "columns")
        self.X, self.offsets, self.intercept, lengths = check_rows(X, None if columns else offsets, intercept)
        self._width = int(self.X.shape[1]) + bool(intercept)
        self.size = self.p * self._width
        self.base, self.lower = as_base(base, int(self.X.shape[0]) * self.p), as_lower(lower, self.size)
        self.row_lengths = np.tile(lengths, p) if columns else np.repeat(lengths, p)

    def scores(self, w: Values, parts: Ints | None = None) -> Values:
        W = as_point(w, self.size).reshape(self.p, -1)
        rows, labels = self._chosen(parts)
        W = W if labels is None else W[labels]
        S = np.asarray(rows @ W[:, :-1].T + self.intercept * W[:, -1] if self.intercept else rows @ W.T)
        s = np.ascontiguousarray(S.T if self.columns else S).ravel()
        return s if self.base is None else s + self._base(parts)

    def pullback(self, gradient: Floats, parts: Ints | None = None) -> Values:
        rows, labels = self._chosen(parts)
        slopes = self._slopes(rows, self._checked(gradient, rows, labels))
        if labels is None:
            return slopes.ravel()
        # The labels that were not chosen have no gradient.
        out = np.zeros((self.p, self._width))
        out[labels] = slopes
        return out.ravel()

    def pullbacks(self, gradient: Floats, parts: Ints | None = None) -> Values:
        rows, labels = self._chosen(parts)
        gradient = self._checked(gradient, rows, labels)
        if self.columns:
            chosen = np.arange(self.p) if labels is None else labels
            out = np.zeros((len(chosen), self.p, self._width))
            # A column has its own weights only, so its slope is 0 at all others.
            out[np.arange(len(chosen)), chosen] = self._slopes(rows, gradient)
            return out.reshape(len(chosen), -1)
        offsets = self.offsets if parts is None else chosen_offsets(parts, self.offsets)
        if len(offsets) == 2:
            return self.pullback(gradient, parts)[None, :]
        # The slope of a row is the outer product of its gradient (p,) and its features; that of a set their sum.
        dense = with_constant(rows, self.intercept)
        row_slopes: Values = (gradient.reshape(-1, self.p)[:, :, None] * dense[:, None, :]).reshape(len(dense), -1)
        if len(offsets) == len(dense) + 1:
            return row_slopes
        return np.add.reduceat(row_slopes, offsets[:-1], axis=0)

    def based(self, base: Values | None, lower: Values | None) -> "MultiLabel":
        return MultiLabel(self.X, self.p, self.offsets, self.columns, self.intercept, base, lower)

    def _chosen(self, parts: Ints | None) -> tuple[Any, Ints | None]:
        """Returns the rows of the chosen sets, and their labels, or None where these are all labels."""
        if parts is None:
            return self.X, None
        return (self.X, as_parts(parts, self.p)) if self.columns else (self.X[segments(parts, self.offsets)], None)

    def _checked(self, gradient: Floats, rows: Any, labels: Ints | None) -> Floats:
        return as_shaped(gradient, rows.shape[0] * (self.p if labels is None else len(labels)), "gradient")

    def _base(self, parts: Ints | None) -> Values:
        """Returns the fixed scores of the chosen sets."""
        assert self.base is not None
        if parts is None:
            return self.base
        # The places at which the sets begin in the flat scores: columns, or runs of rows with p scores each.
        ends = np.arange(self.p + 1) * self.X.shape[0] if self.columns else self.offsets * self.p
        return self.base[segments(parts, ends)]

    def _slopes(self, rows: Any, gradient: Floats) -> Values:
        """Returns the slope of each label that has a gradient, (labels, features + 1)."""
        G = gradient.reshape(-1, rows.shape[0]).T if self.columns else gradient.reshape(-1, self.p)
        slopes = np.asarray((rows.T @ G).T)
        return (
            np.column_stack([slopes, self.intercept * G.sum(axis=0)])
            if self.intercept
            else np.ascontiguousarray(slopes)
        )
