"""Assignments of rows to columns."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Ints
from setwise.core.matchings import Assignments
from setwise.core.risk import Features
from setwise.models.joint_labels import WithConstant
from setwise.models.rows import Independent
from setwise.spaces.large_space import LargeSpace, as_arrays, as_numbers, as_right, as_written, named, offsets_of


@final
@dataclass(frozen=True, eq=False)
class Matchings(LargeSpace):
    """Assignments of n rows to different ones of m columns, n <= m: ``f(x, y) = sum_r <w, x_(r, y_r)> + c``.

    X is a list of arrays (n_i, m_i, d), the features of all pairs of a row and a column, and Y a list of collections of
    assignments (n_i,), the column of each row. The weights are w (d,) and that of the constant, c.

    Source: MLSP 3, over the assignments; the best ones are listed after Murty (1968).

    Examples
    --------
    >>> from setwise.spaces import Matchings
    >>> # Row 0 fits column 0, row 1 fits both alike.
    >>> pairs = [[[3.0], [1.0]], [[2.0], [2.0]]]
    >>> batch, model = Matchings().bind([pairs])
    >>> scores = model.scores(np.array([1.0, 0.0]))
    >>> found = Matchings().best(batch, scores, limit=2)[0]
    >>> [(columns.tolist(), score) for columns, score in found]  # 3 + 2, and 1 + 2
    [([0, 1], 5.0), ([1, 0], 3.0)]
    """

    def bind(self, X: Any, Y: Any = None, constant: float = 1.0) -> tuple[Assignments, Features]:
        arrays = as_arrays(X, 3, "(n, m, d)")
        for i, x in enumerate(arrays):
            if x.shape[0] > x.shape[1]:
                raise ValueError(
                    f"X[{i}] must have a column for each row, so n <= m; got {x.shape[0]} x {x.shape[1]}. Exchange "
                    "rows and columns, or add columns that stand for no partner."
                )
        truths = [
            as_written([as_numbers(y, len(x), f"Y[{i}]", "columns") for y in rows], len(x), f"Y[{i}]")
            for i, (rows, x) in enumerate(zip(as_right(Y, len(arrays)), arrays, strict=True))
        ]
        offsets = offsets_of([x.shape[0] * x.shape[1] for x in arrays])
        rows = np.concatenate([x.reshape(-1, x.shape[2]) for x in arrays])
        features = WithConstant(Independent(rows, offsets, intercept=0.0), offsets, constant)
        return Assignments(np.array([x.shape[:2] for x in arrays]), truths), features

    def decode(self, labels: NDArray[Any]) -> Ints | None:
        return named(labels)
