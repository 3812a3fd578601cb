"""Batches of matchings: one wrong assignment of rows to columns of each input, or none."""

from typing import Any, final

import numpy as np

from setwise.core.checks import Ints, Values, as_array, shown
from setwise.core.label_sequences import as_truths
from setwise.core.single_labels import Flips


@final
class Assignments(Flips):
    """Assignments ``y`` of rows to different columns, of which some are right: ``f(y) = sum_r S[r, y_r] + c``.

    The scores of an input are those of its pairs, ``S`` (rows, columns), then that of the constant, c.

    Parameters
    ----------
    shapes : (n, 2) the numbers of rows and of columns of each input; 1 <= rows <= columns
    truths : for each input its right assignments, (m_i, rows) columns in 0..columns-1, distinct; m_i may be 0. None for
        no right assignments at all, as in batches to predict
    """

    def __init__(self, shapes: Any, truths: Any = None) -> None:
        found = as_array(shapes, "shapes")
        if found.ndim != 2 or found.shape[1] != 2 or found.dtype.kind not in "iu" or not found.size:
            raise ValueError(f"shapes must be whole numbers of shape (n, 2); got {found.dtype} of shape {found.shape}.")
        self.shapes = found.astype(np.int64)
        check_shapes(self.shapes)
        rows, columns = self.shapes.T
        super().__init__(as_truths(truths, len(rows)), rows, rows * columns + 1)

    @property
    def largest(self) -> Ints:
        return np.repeat(self.shapes[:, 1], self.sizes)

    def check_labels(self, i: int, labels: Ints, name: str) -> None:
        columns = int(self.shapes[i, 1])
        if labels.min() < 0 or labels.max() >= columns:
            raise ValueError(f"{name} must hold columns 0..{columns - 1}; got {shown(labels.tolist())}.")
        if (np.diff(np.sort(labels, axis=1), axis=1) == 0).any():
            raise ValueError(f"{name} must give each row a column of its own; got {shown(labels.tolist())}.")

    def indicators(self, labels: Ints) -> Values:
        out, ends = np.zeros(self.n_scores), self.score_offsets[1:] - 1
        named = self.named(labels)
        at = np.flatnonzero(np.repeat(named, self.sizes))
        owners = self.owners[at]
        out[self.score_offsets[owners] + self.places[at] * self.shapes[owners, 1] + labels[at] - 1] = 1.0
        out[ends[named]] = 1.0
        return out

    def label_scores(self, i: int, scores: Values, labels: Ints) -> Values:
        pairs, constant = self.parts(i, scores)
        return np.asarray(pairs[np.arange(len(pairs)), labels].sum(axis=1) + constant)

    def parts(self, i: int, scores: Values) -> tuple[Values, float]:
        """The scores of the pairs (rows, columns) of input i, and that of the constant."""
        return scores[:-1].reshape(self.shapes[i]), float(scores[-1])

    def take(self, parts: Ints) -> "Assignments":
        chosen = self.chosen(parts)
        chosen.shapes = self.shapes[parts]
        return chosen


def check_shapes(shapes: Ints) -> None:
    """Raise ValueError for inputs without rows, or with more rows than columns."""
    for i, (rows, columns) in enumerate(shapes.tolist()):
        if not 1 <= rows <= columns:
            raise ValueError(
                f"shapes[{i}] must have one row or more, and a column for each of them; got {rows} x {columns}. "
                "Exchange rows and columns, or add columns that stand for no partner."
            )
