"""The best assignments of rows to columns, one after another."""

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def best_assignments(scores: Array) -> Iterator[tuple[float, Array]]:
    """Yields ``sum_r S[r, y_r]`` and the columns y (n,) of all assignments, the largest sum first (Murty 1968).

    An assignment gives each of n rows a column of its own, out of m >= n. All but the best one are divided by the first
    row in which they differ from it; the best of each part is an assignment problem again. So each next assignment
    costs n problems of O(n^2 m) at most.

    Parameters
    ----------
    scores : (n, m) finite, n <= m

    Raises
    ------
    ValueError : for more rows than columns
    """
    n, m = scores.shape
    if n > m:
        raise ValueError(f"scores must have as many columns as rows or more, a column for each row; got {n} x {m}.")
    scores = scores.astype(np.float64)
    # Tickets break ties of the heap, which cannot compare arrays.
    ticket = count()
    heap: list[tuple[float, int, Array, int, Array]] = []

    def push(columns: Array, first: int, banned: Array) -> None:
        """The best assignment that has the columns of the rows before ``first``, and not the banned ones there."""
        found = _completed(scores, columns, first, banned)
        if found is not None:
            rest = float(scores[np.arange(n), found].sum())
            heappush(heap, (-rest, next(ticket), found, first, banned))

    push(np.zeros(n, dtype=np.int64), 0, np.zeros(m, dtype=bool))
    while heap:
        value, _, columns, first, banned = heappop(heap)
        yield -value, columns
        for row in range(first, n):
            # Rows before this one agree with the assignment, and this one does not.
            others = banned.copy() if row == first else np.zeros(m, dtype=bool)
            others[columns[row]] = True
            push(columns, row, others)


def _completed(scores: Array, columns: Array, first: int, banned: Array) -> Array | None:
    """The best assignment with given columns of the first rows, where row ``first`` has none of the banned columns."""
    # To import it takes longer than most calls of the library.
    from scipy.optimize import linear_sum_assignment

    free = np.ones(scores.shape[1], dtype=bool)
    free[columns[:first]] = False
    if not (free & ~banned).any():
        return None
    left = np.flatnonzero(free)
    part = scores[first:, left]
    part[0, banned[left]] = -np.inf
    out = columns.copy()
    out[first:] = left[linear_sum_assignment(part, maximize=True)[1]]
    return out
