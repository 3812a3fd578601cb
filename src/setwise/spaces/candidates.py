"""Lists of candidates that differ by input."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.batch import Sets
from setwise.core.checks import Values, shown
from setwise.core.risk import Features
from setwise.models.rows import Independent
from setwise.spaces.large_space import LargeSpace, Scored, as_arrays, as_right, offsets_of


@final
@dataclass(frozen=True, eq=False)
class Candidates(LargeSpace):
    """Lists of labels that differ by input, as region proposals or n-best parses: ``f(x, y) = <w, x_y> + c``.

    X is a list of arrays (m_i, d), the features of the candidates of each input, and Y a list of collections of the
    numbers 0..m_i-1 of right ones. They are few enough to be decided one by one, so the batch is that of independent
    decisions, for which costs are numbers or a function of the truth.

    Source: MLSP 2, with label sets of the inputs' own.

    Examples
    --------
    >>> from setwise.spaces import Candidates
    >>> # One input with three candidates, of one feature each.
    >>> X = [[[2.0], [0.5], [-1.0]]]
    >>> batch, model = Candidates().bind(X)
    >>> # The weight of the feature, and that of the constant: the feature minus one.
    >>> scores = model.scores(np.array([1.0, -1.0]))
    >>> Candidates().best(batch, scores, limit=2)[0]
    [(0, 1.0), (1, -0.5)]
    """

    def bind(self, X: Any, Y: Any = None, constant: float = 1.0) -> tuple[Sets, Features]:
        arrays = as_arrays(X, 2, "(m, d)")
        offsets = offsets_of([len(x) for x in arrays])
        right = np.zeros(int(offsets[-1]), dtype=bool)
        for i, rows in enumerate(as_right(Y, len(arrays))):
            chosen = _as_places(rows, len(arrays[i]), f"Y[{i}]")
            right[offsets[i] + np.array(chosen, dtype=np.int64)] = True
        return Sets(right, offsets), Independent(np.concatenate(arrays), offsets, constant)

    def best(self, batch: Any, scores: Values, limit: int, threshold: float = -np.inf) -> list[list[Scored]]:
        rows = [scores[a:b] for a, b in pairwise(batch.offsets.tolist())]
        orders = [np.argsort(-row, kind="stable")[:limit].tolist() for row in rows]
        return [
            [(j, float(row[j])) for j in order if row[j] > threshold] for row, order in zip(rows, orders, strict=True)
        ]

    def decode(self, labels: NDArray[Any]) -> list[int]:
        """The numbers of the candidates of one input that a labeling (m_i,) says are right."""
        found = np.asarray(labels)
        if found.ndim != 1 or found.dtype.kind not in "biu":
            raise ValueError(f"labels must be truth values of shape (m,), as Solution.labels; got {shown(labels)}.")
        places: list[int] = np.flatnonzero(found).tolist()
        return places


def _as_places(rows: list[Any], size: int, name: str) -> list[int]:
    """Different whole numbers from 0 to size - 1."""
    for place in rows:
        if isinstance(place, bool | np.bool_) or not isinstance(place, int | np.integer):
            raise TypeError(f"{name} must hold whole numbers, those of candidates; got {shown(place)}.")
        if not 0 <= place < size:
            raise ValueError(f"{name} must hold candidates 0..{size - 1}; got {place}.")
    if len(set(rows)) < len(rows):
        raise ValueError(f"{name} must hold each label once; got {shown(rows)}.")
    return rows
