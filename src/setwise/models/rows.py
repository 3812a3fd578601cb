"""Linear models of rows of features: one weight vector scores each row, or one for each label of a label matrix.

Rows in several places give their scores there, and what gradients of the scores give weights.
"""

from dataclasses import InitVar, dataclass, field
from typing import Any, final

import numpy as np
from scipy.sparse import csr_array, issparse

from setwise.core.batch import segments
from setwise.core.checks import (
    Floats,
    Ints,
    Values,
    as_array,
    as_count,
    as_flag,
    as_number,
    as_offsets,
    as_parts,
    as_point,
    as_shaped,
)
from setwise.core.risk import Features, as_base, as_lower
from setwise.kernels.segments import chosen_offsets, column_products, row_lengths, row_products


def check_rows(X: Any, offsets: Ints | None, intercept: float) -> tuple[Any, Ints, float, Values]:
    """Returns X (rows, features), dense or CSR, the offsets of the sets in its rows, the constant, and lengths (rows,).

    The lengths are those of the rows with their constant feature. All rows are one set where the offsets are None.

    Raises ValueError where the shapes do not agree, or where X is not float64 or not finite, and OverflowError where
    the length of a row is not.
    """
    X = X if issparse(X) else as_array(X, "X")
    if X.ndim != 2 or X.shape[0] == 0:
        raise ValueError(f"X must have shape (rows, features) with rows >= 1; got shape {X.shape}.")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X must hold numbers, in a dense or sparse matrix (rows, features); got dtype {X.dtype}.")
    X = X.tocsr() if issparse(X) else np.ascontiguousarray(X, dtype=np.float64)
    if X.dtype != np.float64:
        raise ValueError(f"X must be float64; got {X.dtype}.")
    intercept = as_number(intercept, "intercept", low=0.0)
    lengths = _row_lengths(X, intercept)
    # The squares of finite numbers may overflow, so X is looked at once more before it is refused.
    if not np.isfinite(lengths).all() and not np.isfinite(X.data if issparse(X) else X).all():
        raise ValueError("X must be finite; got NaN or inf.")
    if not np.isfinite(lengths).all():
        raise OverflowError("X is too large: the length of a row, with its intercept, overflows float64; scale X down.")
    # Empty sets are refused here, for sums over rows by ``np.add.reduceat`` would take a row of another set for them.
    whole = np.array([0, X.shape[0]], dtype=np.int64) if offsets is None else offsets
    return X, as_offsets(whole, int(X.shape[0])), intercept, lengths


def _row_lengths(X: Any, intercept: float) -> Values:
    """Returns the Euclidean length of each row with its constant feature, (rows,)."""
    with np.errstate(over="ignore", invalid="ignore"):
        squares = X.multiply(X).sum(axis=1) if issparse(X) else np.einsum("ij,ij->i", X, X)
        return np.sqrt(np.ravel(squares) + intercept * intercept)


def with_constant(rows: Any, intercept: float) -> Values:
    """Returns the rows as a dense array with the constant feature last."""
    dense = rows.toarray() if issparse(rows) else rows
    return np.column_stack([dense, np.full(len(dense), intercept)]) if intercept else dense


@final
class RowModel(Features):
    """``s_i = <w, x_i> + intercept b`` for decision i, whose features x_i are row i of ``X``.

    Source: this library; one linear function of the features.

    Parameters
    ----------
    X : (rows, features) float64, dense or CSR
    offsets : (n+1,) set i has the rows ``offsets[i]:offsets[i+1]``; None makes all rows one set
    intercept : value of a constant feature, whose weight b comes last in w. It is regularized like the others, but the
        less the larger the value is; 0 leaves it out
    base : (rows,) fixed scores that are added, None for none
    lower : (d,) least values of the weights, None for none

    Raises
    ------
    ValueError : for shapes that do not agree, numbers that are not finite, and a sparse X that is not float64
    OverflowError : where the length of a row of X is beyond float64

    Examples
    --------
    >>> from setwise.models import RowModel
    >>> model = RowModel([[1.0, 2.0], [0.0, 3.0]], intercept=1.0)
    >>> model.scores(np.array([1.0, -1.0, 0.5]))  # 1 - 2 + 0.5 and 0 - 3 + 0.5
    array([-0.5, -2.5])
    """

    def __init__(
        self, X: Any, offsets: Ints | None = None, intercept: float = 1.0, base: Values | None = None, lower: Any = None
    ) -> None:
        self.X, self.offsets, self.intercept, self.row_lengths = check_rows(X, offsets, intercept)
        self.size = int(self.X.shape[1]) + bool(intercept)
        self.base, self.lower = as_base(base, int(self.X.shape[0])), as_lower(lower, self.size)

    def scores(self, w: Values, parts: Ints | None = None) -> Values:
        w, places = as_point(w, self.size), slice(None) if parts is None else segments(parts, self.offsets)
        rows = self.X if parts is None else self.X[places]
        s = np.asarray(rows @ w[:-1] + self.intercept * w[-1] if self.intercept else rows @ w)
        return s if self.base is None else s + self.base[places]

    def pullback(self, gradient: Floats, parts: Ints | None = None) -> Values:
        rows = self.X if parts is None else self.X[segments(parts, self.offsets)]
        gradient = as_shaped(gradient, rows.shape[0], "gradient")
        slope = np.asarray(rows.T @ gradient)
        return np.append(slope, self.intercept * gradient.sum()) if self.intercept else slope

    def pullbacks(self, gradient: Floats, parts: Ints | None = None) -> Values:
        rows = self.X if parts is None else self.X[segments(parts, self.offsets)]
        gradient = as_shaped(gradient, rows.shape[0], "gradient")
        offsets = self.offsets if parts is None else chosen_offsets(parts, self.offsets)
        # The slope of a set is the sum of its rows, each times its entry of the gradient.
        if issparse(rows):
            # A row for each set, so that the rows of decisions stay sparse.
            owned = csr_array((gradient, np.arange(len(gradient)), offsets), shape=(len(offsets) - 1, len(gradient)))
            slopes = np.asarray((owned @ rows).toarray())
            sums = np.add.reduceat(gradient, offsets[:-1])
            return np.column_stack([slopes, self.intercept * sums]) if self.intercept else slopes
        scaled = rows * gradient[:, None]
        if self.intercept:
            scaled = np.column_stack([scaled, self.intercept * gradient])
        return np.add.reduceat(scaled, offsets[:-1], axis=0)

    def based(self, base: Values | None, lower: Values | None) -> "RowModel":
        return RowModel(self.X, self.offsets, self.intercept, base, lower)


@final
class MultilabelModel(Features):
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
    intercept : value of a constant feature, as in :class:`setwise.models.RowModel`
    base : fixed scores in the layout of the sets, None for none
    lower : (d,) least values of the weights, None for none

    Raises
    ------
    TypeError : for a ``p`` that is no whole number, and ``columns`` that are neither True nor False
    ValueError : for shapes that do not agree, numbers that are not finite, and a sparse X that is not float64
    OverflowError : where the length of a row of X is beyond float64

    Examples
    --------
    >>> from setwise.models import MultilabelModel
    >>> model = MultilabelModel([[1.0], [2.0]], p=2, intercept=0.0)  # two rows with two labels
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
        # The places at which the sets begin in the flat scores: columns, or runs of rows with p scores each.
        self._ends = np.arange(self.p + 1) * self.X.shape[0] if columns else self.offsets * self.p

    def scores(self, w: Values, parts: Ints | None = None) -> Values:
        W = as_point(w, self.size).reshape(self.p, -1)
        rows, labels = self._chosen(parts)
        W = W if labels is None else W[labels]
        S = np.asarray(rows @ W[:, :-1].T + self.intercept * W[:, -1] if self.intercept else rows @ W.T)
        s = np.ascontiguousarray(S.T if self.columns else S).ravel()
        return self.with_base(s, parts, self._ends)

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

    def based(self, base: Values | None, lower: Values | None) -> "MultilabelModel":
        return MultilabelModel(self.X, self.p, self.offsets, self.columns, self.intercept, base, lower)

    def _chosen(self, parts: Ints | None) -> tuple[Any, Ints | None]:
        """Returns the rows of the chosen sets, and their labels, or None where these are all labels."""
        if parts is None:
            return self.X, None
        return (self.X, as_parts(parts, self.p)) if self.columns else (self.X[segments(parts, self.offsets)], None)

    def _checked(self, gradient: Floats, rows: Any, labels: Ints | None) -> Floats:
        return as_shaped(gradient, rows.shape[0] * (self.p if labels is None else len(labels)), "gradient")

    def _slopes(self, rows: Any, gradient: Floats) -> Values:
        """Returns the slope of each label that has a gradient, (labels, features + 1)."""
        G = gradient.reshape(-1, rows.shape[0]).T if self.columns else gradient.reshape(-1, self.p)
        slopes = np.asarray((rows.T @ G).T)
        return (
            np.column_stack([slopes, self.intercept * G.sum(axis=0)])
            if self.intercept
            else np.ascontiguousarray(slopes)
        )


@final
@dataclass(frozen=True, eq=False)
class RowBlock:
    """``s_i = <w, x_i> + intercept b`` for the rows x_i of ``X``, with b last in w; all sums are in float64.

    Rows of float32 are never copied to float64. There may be no rows. ``lengths`` (m,) are the Euclidean lengths of the
    rows with their constant feature.

    Source: this library.

    Parameters
    ----------
    X : (m, features) float32 or float64, dense or CSR, finite
    intercept : the value, at least 0, of a constant feature; 0 leaves it out
    known : the lengths (m,), where they were computed when the same rows were read before; then nothing is computed,
        and numbers are not looked at again

    Raises
    ------
    ValueError : where X is no matrix of finite numbers
    OverflowError : where the length of a row is not finite

    Examples
    --------
    >>> from setwise.models import RowBlock
    >>> block = RowBlock(np.array([[3.0], [0.0]], dtype=np.float32), intercept=4.0)
    >>> block.lengths
    array([5., 4.])
    """

    X: Any
    intercept: float = 1.0
    known: InitVar[Values | None] = None
    lengths: Values = field(init=False, repr=False)

    def __post_init__(self, known: Values | None) -> None:
        X: Any = self.X if issparse(self.X) else as_array(self.X, "X")
        if X.ndim != 2:
            raise ValueError(f"X must have shape (rows, features); got shape {X.shape}.")
        if X.dtype not in (np.float32, np.float64):
            if X.dtype.kind not in "biuf":
                raise ValueError(f"X must hold numbers, in a dense or sparse matrix; got dtype {X.dtype}.")
            X = X.astype(np.float64)
        X = X.tocsr() if issparse(X) else np.ascontiguousarray(X)
        object.__setattr__(self, "X", X)
        object.__setattr__(self, "intercept", as_number(self.intercept, "intercept", low=0.0))
        # What is not finite is refused here.
        lengths = self._lengths() if known is None else as_shaped(known, X.shape[0], "known")
        object.__setattr__(self, "lengths", lengths)

    @property
    def size(self) -> int:
        """The number of weights."""
        return int(self.X.shape[1]) + bool(self.intercept)

    def _lengths(self) -> Values:
        out = np.empty(self.X.shape[0])
        with np.errstate(over="ignore", invalid="ignore"):
            if issparse(self.X):
                squares = self.X.astype(np.float64).power(2).sum(axis=1)
                out[:] = np.sqrt(np.ravel(squares) + self.intercept**2)
            else:
                row_lengths(self.X, self.intercept, out)
        if not np.isfinite(out).all() and not np.isfinite(self.X.data if issparse(self.X) else self.X).all():
            raise ValueError("X must be finite; got NaN or inf.")
        if not np.isfinite(out).all():
            raise OverflowError("X is too large: the length of a row overflows float64; scale X down.")
        return out

    def scores(self, w: Values) -> Values:
        """The scores of the rows, (m,), for weights (size,)."""
        plain, constant = (w[:-1], self.intercept * float(w[-1])) if self.intercept else (w, 0.0)
        if issparse(self.X):
            return np.asarray(self.X @ plain + constant, dtype=np.float64)
        out = np.empty(len(self.X))
        row_products(self.X, np.ascontiguousarray(plain), constant, out)
        return out

    def pullback(self, gradient: Floats) -> Values:
        """The sum of the rows with their constant feature, each times its entry of the gradient (m,); (size,)."""
        g, out = np.asarray(gradient, dtype=np.float64), np.zeros(self.X.shape[1])
        if issparse(self.X):
            out += self.X.T @ g
        else:
            column_products(self.X, g, out, np.empty_like(out))
        return np.append(out, self.intercept * g.sum()) if self.intercept else out

    def moments(self) -> Values:
        """The number of rows, and the sums and the sums of squares of their features, (1 + 2 d,)."""
        X = self.X
        if issparse(X):
            sums, squares = X.sum(axis=0, dtype=np.float64), X.astype(np.float64).power(2).sum(axis=0)
        else:
            sums, squares = X.sum(axis=0, dtype=np.float64), np.einsum("ij,ij->j", X, X, dtype=np.float64)
        return np.concatenate(([X.shape[0]], np.ravel(sums), np.ravel(squares)))

    def extent(self) -> tuple[float, float]:
        """The largest size of a feature, and the length of the longest row; 0 where there are no rows."""
        numbers = self.X.data if issparse(self.X) else self.X
        return float(max(numbers.max(initial=0.0), -numbers.min(initial=0.0))), float(self.lengths.max(initial=0.0))

    def take(self, rows: Any) -> "RowBlock":
        """The chosen rows."""
        return RowBlock(self.X[rows], self.intercept)
