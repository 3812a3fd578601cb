"""The columns of a label matrix, each in falling order of its scores."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.attributes import cached_property
from setwise.core.batch import Batch, Sets
from setwise.core.checks import Bools, Floats, Ints, Values, as_array, as_scores
from setwise.decisions.sweep import Falling

LARGEST_ROUNDS = 100
"""Columns are changed one after another at most so often; the loss falls in each round but the last."""


@final
@dataclass(frozen=True, eq=False)
class Columns:
    """A label matrix with scores.

    Parameters
    ----------
    rows : n sets of p decisions, the rows of the matrix
    scores : (n, p) float32 or float64
    """

    rows: Sets
    scores: Floats

    @classmethod
    def of(cls, Y: Any, scores: ArrayLike) -> "Columns":
        """A matrix (n, p) of labels 0 and 1, or a batch of sets of equal size, with scores (n, p)."""
        if isinstance(Y, Batch) and not isinstance(Y, Sets):
            raise TypeError(f"Y must be labels of shape (n, p), or a batch of the kind Sets; got {type(Y).__name__}.")
        rows = Y if isinstance(Y, Sets) else Sets.rows(Y)
        if (rows.sizes != rows.sizes[0]).any():
            raise ValueError(f"Y must have sets of one size; got {rows.sizes.min()} to {rows.sizes.max()} decisions.")
        shape, given = (len(rows), int(rows.sizes[0])), as_array(scores, "scores")
        if given.shape != shape:
            raise ValueError(f"scores must have shape {shape}, one per decision; got shape {given.shape}.")
        return cls(rows, as_scores(given.ravel(), rows.total).reshape(shape))

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers n of rows and p of columns."""
        return len(self.rows), int(self.rows.sizes[0])

    @cached_property
    def sets(self) -> Sets:
        """The batch in which each column is one set."""
        n, p = self.shape
        return Sets(np.ascontiguousarray(self.rows.labels.reshape(n, p).T).ravel(), n * np.arange(p + 1))

    @cached_property
    def order(self) -> Falling:
        """The decisions of each column in falling order of their scores; O(n p log n)."""
        return Falling.each(self.sets, np.ascontiguousarray(self.scores.T).ravel())

    @cached_property
    def places(self) -> Ints:
        """The places of the decisions of :attr:`order` in the flat matrix, row by row, (m,)."""
        n, p = self.shape
        column, row = np.divmod(self.order.items.astype(np.int64), n)
        return row * p + column

    def labels(self, thresholds: Values) -> Bools:
        """The labels that thresholds (p,) predict, (n, p)."""
        return np.asarray(self.scores >= thresholds)
