"""The rows of an array, in memory or on disk, block by block."""

import mmap
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import as_array, as_float64
from setwise.datasets.budget import Budget
from setwise.datasets.stamp import Stamp

RUN = 1 << 13
"""So many rows are converted at a time; of a mapped file their pages are in memory meanwhile."""


@final
class ArrayBlocks:
    """Blocks of successive rows of ``X`` (n, d), which may be an ``np.memmap``.

    Parameters
    ----------
    X : a matrix of finite numbers; float32, and what float32 holds exactly, is read as float32, all others as float64
    budget : what blocks and rows may take

    Attributes
    ----------
    count, features : the number of blocks, and of columns
    edges : block k has the rows ``edges[k]:edges[k+1]``
    room : how many rows may be evaluated in one place
    names : None, for arrays have no names of columns
    """

    names = None

    def __init__(self, X: NDArray[Any], budget: Budget) -> None:
        if as_array(X, "X").ndim != 2 or 0 in X.shape:
            raise ValueError(f"X must have shape (rows, features), both at least 1; got shape {X.shape}.")
        if X.dtype.kind not in "biuf":
            raise ValueError(f"X must hold real numbers; got dtype {X.dtype}.")
        n, self.features = X.shape
        self._X: Any = X
        self._dtype = matrix_dtype([X.dtype])
        rows = min(budget.rows(n, self.features * self._dtype.itemsize), n)
        self.edges = [*range(0, n, rows), n]
        self.count, self.room = len(self.edges) - 1, budget.room(n)
        self._map = getattr(X, "_mmap", None) if isinstance(X, np.memmap) else None
        self._stamp = None if self._map is None else _stamp_of(getattr(X, "filename", None))

    def rows(self, k: int) -> NDArray[Any]:
        """Block k as a matrix (m, features)."""
        first, last = self.edges[k : k + 2]
        if self._map is None and self._X.dtype == self._dtype:
            return np.ascontiguousarray(self._X[first:last])
        out = room_for(last - first, self.features, self._dtype)
        for a in range(first, last, RUN):
            # What is cut off a mapped file is not to be touched: the process would end.
            self._check()
            rows = np.asarray(self._X[a : min(a + RUN, last)])
            out[a - first : a - first + RUN] = rows if rows.itemsize < 8 else as_float64(rows, rows, "X")
            self._release()
        self._check()
        return out

    def _check(self) -> None:
        if self._stamp is not None:
            self._stamp.check()

    def _release(self) -> None:
        """Give pages of a mapped file back, for they count as memory of the process as long as they are mapped."""
        # Pages of a mapping that is written to by copying hold what the file does not.
        if self._map is not None and self._X.mode != "c" and hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)


def _stamp_of(name: Any) -> Stamp | None:
    """The stamp of the file behind a mapping; None for a file without a name, or that has been removed since.

    What is read is the file that was mapped, even if another one has taken its name.
    """
    if name is None:
        return None
    try:
        return Stamp.of(Path(name))
    except OSError:
        return None


def room_for(rows: int, features: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    """A matrix of no values yet, in memory that goes back to the system with it."""
    # What malloc is given back by one thread stays with it, for a thread that may never come.
    size = rows * features * dtype.itemsize
    return np.frombuffer(mmap.mmap(-1, max(size, 1)), dtype, rows * features).reshape(rows, features)


def matrix_dtype(kinds: list[np.dtype[Any]]) -> np.dtype[Any]:
    """float32 where it holds all numbers of these kinds exactly, else float64."""
    short = all(np.can_cast(kind, np.float32, "safe") for kind in kinds)
    return np.dtype(np.float32 if short else np.float64)
