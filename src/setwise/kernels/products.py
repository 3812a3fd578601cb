"""Products of a dense matrix of rows, float32 or float64, with weights and with gradients, in float64."""

from typing import Any

from numpy.typing import NDArray

from setwise.kernels.jit import reordered

Array = NDArray[Any]

RUN = 1024
"""So many rows are summed before their sum joins that of the others, which keeps rounding small."""


@reordered
def row_products(X: Array, w: Array, constant: float, out: Array) -> None:
    """Writes ``X w + constant``, (m,), for X (m, d) and w (d,); O(m d)."""
    m, d = X.shape
    if len(w) != d or len(out) != m:
        raise ValueError("there must be one weight for each column, and one product for each row")
    for i in range(m):
        total = 0.0
        for j in range(d):
            total += X[i, j] * w[j]
        out[i] = total + constant


@reordered
def column_products(X: Array, g: Array, out: Array, run: Array) -> None:
    """Writes ``X^T g``, (d,), for X (m, d) and g (m,); ``run`` (d,) is room for the sum of some rows. O(m d)."""
    m, d = X.shape
    if len(g) != m or len(out) != d or len(run) != d:
        raise ValueError("there must be one entry of the gradient for each row, and one sum for each column")
    out[:] = 0.0
    for first in range(0, m, RUN):
        run[:] = 0.0
        for i in range(first, min(m, first + RUN)):
            if g[i] != 0.0:
                for j in range(d):
                    run[j] += g[i] * X[i, j]
        for j in range(d):
            out[j] += run[j]


@reordered
def row_lengths(X: Array, constant: float, out: Array) -> None:
    """Writes the Euclidean length of each row with a constant feature, (m,), for X (m, d); O(m d)."""
    m, d = X.shape
    if len(out) != m:
        raise ValueError("there must be one length for each row")
    for i in range(m):
        total = constant * constant
        for j in range(d):
            total += X[i, j] * X[i, j]
        out[i] = total**0.5
