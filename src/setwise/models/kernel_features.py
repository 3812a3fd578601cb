"""Kernels as explicit features: the coordinates of inputs, or of inputs with labels, in a basis of some of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from scipy.linalg import solve_triangular
from scipy.sparse import issparse

from setwise.core.checks import Ints, Values, as_count, as_number, as_reals, shown

CHUNK = 64
"""The diagonal of a kernel is computed in square blocks of this size."""

CHECKED, SLIP = 300, 1e-6
"""So many points are compared with each other at the end, up to this share of the largest value of the kernel."""


@dataclass(frozen=True)
class FactoredKernel:
    """A function of two lists of points that returns their kernel, factored by pivoted Cholesky up to rank and tol."""

    function: Callable[..., Any]
    rank: int | None = None
    tol: float = 1e-10

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"function must be callable; got {shown(self.function)}.")
        if self.rank is not None:
            as_count(self.rank, "rank")
        as_number(self.tol, "tol", low=0.0)


@final
@dataclass(frozen=True)
class Kernel(FactoredKernel):
    """A kernel ``k(x, x')`` of inputs; that of inputs with labels is ``k(x, x') <kappa(y), kappa(y')>``.

    The inputs are factored alone, ``K = Phi Phi^T`` by pivoted Cholesky, and labels stay explicit. So labels that occur
    in no constraint of a working set are as exact as others.

    Source: MLSP Eq. 14; the factorization is that of Fine and Scheinberg (2001).

    Parameters
    ----------
    function : of rows (a, d) and rows (b, d), dense or CSR as X is, that returns their kernel (a, b): symmetric and
        positive semidefinite, as ``functools.partial(sklearn.metrics.pairwise.rbf_kernel, gamma=0.1)``
    rank : the largest number of features, None for no limit. The memory is 8 n rank bytes
    tol : the factorization ends once no ``k(x, x)`` is off by more than this share of the largest one

    Raises
    ------
    TypeError : for a function that is none, and numbers that are none
    ValueError : for a ``rank`` below 1 and a ``tol`` below 0; from :meth:`basis`, for a kernel that is not symmetric
        and positive semidefinite

    Examples
    --------
    >>> from functools import partial
    >>> from sklearn.metrics.pairwise import polynomial_kernel
    >>> from setwise.models import Kernel
    >>> square = Kernel(partial(polynomial_kernel, degree=2, gamma=1.0, coef0=0.0))  # k(x, x') = <x, x'>^2
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0], [2.0, 0.0]])
    >>> basis, coordinates = square.basis(X)
    >>> coordinates.shape, np.allclose(coordinates @ coordinates.T, (X @ X.T) ** 2)
    ((3, 2), True)
    """

    function: Callable[[Any, Any], Any]

    def basis(self, X: Any) -> tuple["RowBasis", Values]:
        """The basis of the rows of X, and their coordinates (n, r)."""
        at, phi, triangle, residual = _factor(X.shape[0], lambda a, b: gram_of(self.function, X[a], X[b]), self)
        return RowBasis(self.function, X[at], triangle, residual), phi


@final
@dataclass(frozen=True)
class JointKernel(FactoredKernel):
    """Any kernel ``k((x, y), (x', y'))`` of inputs with labels, for labels that are listed.

    All pairs of an input and a label are factored together by pivoted Cholesky, so none of them is out of the basis.

    Source: MLSP Eq. 14 with any joint kernel; the factorization is that of Fine and Scheinberg (2001).

    Parameters
    ----------
    function : of rows (a, d), their labels (a list of a), rows (b, d) and their labels, that returns the kernel (a, b)
    rank : the largest number of features, None for no limit; the memory is 8 n p rank bytes for p labels
    tol : the factorization ends once no kernel of a pair with itself is off by more than this share of the largest one

    Raises
    ------
    TypeError : for a function that is none, and numbers that are none
    ValueError : for a ``rank`` below 1 and a ``tol`` below 0; from :meth:`basis`, for a kernel that is not symmetric
        and positive semidefinite

    Examples
    --------
    >>> from setwise.models import JointKernel
    >>> def kernel(A, labels, B, others):  # <x, x'> where the labels are equal
    ...     return (A @ B.T) * (np.array(labels)[:, None] == np.array(others))
    >>> X = np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> basis, coordinates = JointKernel(kernel).basis(X, ["cat", "dog"])
    >>> coordinates.shape  # two rows with two labels each, in 2 * 2 features
    (4, 4)
    >>> (coordinates @ coordinates.T).round(6)[0]  # (first row, cat) with all four
    array([1., 0., 1., 0.])
    """

    function: Callable[[Any, list[Any], Any, list[Any]], Any]

    def basis(self, X: Any, labels: Sequence[Any]) -> tuple["PairBasis", Values]:
        """The basis of all rows of X with all labels, and their coordinates (n p, r), flat by rows."""
        p = len(labels)

        def block(a: Ints, b: Ints) -> Values:
            return gram_of(self.function, X[a // p], [labels[j] for j in a % p], X[b // p], [labels[j] for j in b % p])

        at, phi, triangle, residual = _factor(X.shape[0] * p, block, self)
        return PairBasis(self.function, X[at // p], [labels[j] for j in at % p], triangle, residual), phi


@final
@dataclass(frozen=True, eq=False)
class RowBasis:
    """Features ``Phi(x) = L^-1 k(landmarks, x)`` with ``<Phi(x), Phi(x')> = k(x, x')``, up to the residual.

    Attributes
    ----------
    landmarks : (r, d)
    triangle : L (r, r), the Cholesky factor of the kernel of the landmarks
    residual : ``|Phi(x)|^2`` is below ``k(x, x)`` by at most this share of the largest ``k(x, x)`` in training
    """

    function: Callable[[Any, Any], Any]
    landmarks: Any
    triangle: Values
    residual: float

    def coordinates(self, X: Any) -> Values:
        """The features of rows, (n, r)."""
        return _solved(self.triangle, gram_of(self.function, self.landmarks, X))


@final
@dataclass(frozen=True, eq=False)
class PairBasis:
    """Features of rows with labels, as in :class:`RowBasis`."""

    function: Callable[[Any, list[Any], Any, list[Any]], Any]
    landmarks: Any
    labels: list[Any]
    triangle: Values
    residual: float

    def coordinates(self, X: Any, labels: Sequence[Any]) -> Values:
        """The features of all rows with all ``labels``, (n p, r), flat by rows."""
        n, p = X.shape[0], len(labels)
        rows, named = X[np.repeat(np.arange(n), p)], list(labels) * n
        return _solved(self.triangle, gram_of(self.function, self.landmarks, self.labels, rows, named))


def _factor(
    m: int, block: Callable[[Ints, Ints], Values], kernel: FactoredKernel
) -> tuple[Ints, Values, Values, float]:
    """The pivoted Cholesky factorization ``K = Phi Phi^T`` of m points, O(m r^2) and m r columns of K.

    Returns the pivots (r,), Phi (m, r), the lower triangle of its rows at the pivots, and the residual. The next pivot
    is the point whose kernel with itself is explained the least.
    """
    spans = [np.arange(a, min(a + CHUNK, m)) for a in range(0, m, CHUNK)]
    left = np.concatenate([np.diag(block(span, span)) for span in spans])
    most, scale, pivots = min(m, kernel.rank or m), float(left.max()), np.zeros(0, np.int64)
    if not scale > 0.0:
        raise ValueError(f"kernel must be above 0 for some point with itself; got at most {scale:.4g}.")
    every, phi = np.arange(m), np.zeros((m, min(most, CHUNK)))
    while len(pivots) < most:
        k, at = len(pivots), int(left.argmax())
        if left[at] <= kernel.tol * scale:
            break
        if k == phi.shape[1]:
            phi = np.concatenate([phi, np.zeros((m, min(most, 2 * k) - k))], axis=1)
        column = block(every, every[at : at + 1])[:, 0] - phi[:, :k] @ phi[at, :k]
        # What is left of a kernel is a kernel, so no entry exceeds the root of the product of two of its diagonal.
        if (np.abs(column) > np.sqrt(np.maximum(left, 0.0) * left[at]) + SLIP * scale).any():
            raise _no_kernel()
        phi[:, k] = column / np.sqrt(left[at])
        # The points of the basis are explained in full: what rounding leaves of them is no feature.
        phi[pivots, k], phi[at, k] = 0.0, np.sqrt(left[at])
        left -= phi[:, k] ** 2
        pivots = np.append(pivots, at)
        left[pivots] = 0.0
    phi = np.ascontiguousarray(phi[:, : len(pivots)])
    some = every if m <= CHECKED else np.sort(np.random.default_rng(0).choice(m, CHECKED, replace=False))
    roots = np.sqrt(np.maximum(left[some], 0.0))
    off = np.abs(block(some, some) - phi[some] @ phi[some].T)
    if left.min() < -SLIP * scale or (off > roots[:, None] * roots + SLIP * scale).any():
        raise _no_kernel()
    return pivots, phi, np.tril(phi[pivots]), max(float(left.max()), 0.0) / scale


def _no_kernel() -> ValueError:
    return ValueError(
        "kernel must be symmetric and positive semidefinite; got values that are not products of features."
    )


def _solved(triangle: Values, block: Values) -> Values:
    return np.ascontiguousarray(solve_triangular(triangle, block, lower=True).T)


def gram_of(function: Callable[..., Any], *points: Any) -> Values:
    """The kernel of some points with others; raises ValueError for what is no finite array of their shape."""
    half = len(points) // 2
    shape = points[0].shape[0], points[half].shape[0]
    found = function(*points)
    return as_reals(found.toarray() if issparse(found) else found, "kernel(A, B)", shape)
