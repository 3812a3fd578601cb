"""What is to be predicted, and by what it is judged: the truth of some rows, and the loss of its sets."""

from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.attributes import cached_property
from setwise.core.batch import Sets
from setwise.core.checks import Bools, Ints, Values
from setwise.core.loss import Loss

Layout = Literal["vector", "samples", "macro", "micro"]


@final
@dataclass(frozen=True, eq=False)
class Task:
    """The true labels of n rows and a loss of the sets that they form.

    Parameters
    ----------
    truth : (n,) bool, or (n, p) bool for a label matrix
    loss : a loss that reads labels
    groups : (n,) the number of the set of each row, for truth (n,); None makes all rows one set
    average : what a set is in a label matrix: each row (``"samples"``), each column (``"macro"``), or the whole matrix
        (``"micro"``)
    """

    truth: Bools
    loss: Loss
    groups: Ints | None = None
    average: Layout = "samples"

    @property
    def layout(self) -> Layout:
        """``"vector"`` for truth (n,), or else what a set is in a label matrix."""
        return "vector" if self.truth.ndim == 1 else self.average

    @property
    def is_matrix(self) -> bool:
        """Whether the truth is a label matrix."""
        return self.truth.ndim == 2

    @property
    def spans_rows(self) -> bool:
        """Whether a set may hold all rows, so that its loss is no mean over rows or groups."""
        return self.layout in ("macro", "micro") or (self.layout == "vector" and self.groups is None)

    @cached_property
    def order(self) -> Ints | None:
        """The rows in the order of their groups, inside which they keep theirs; None if they are in it already."""
        if self.groups is None or (np.diff(self.groups) >= 0).all():
            return None
        return np.argsort(self.groups, kind="stable")

    @cached_property
    def sets(self) -> Sets:
        """The true labels of the sets."""
        flat = self.flat(self.truth)
        if self.layout == "samples":
            return Sets.rows(self.truth)
        if self.layout == "macro":
            return Sets.rows(self.truth.T)
        if self.groups is None:
            return Sets.single(flat)
        sizes = np.bincount(self.groups)
        # Where only some rows are taken, groups without rows are no sets.
        return Sets(flat, np.concatenate(([0], np.cumsum(sizes[sizes > 0]))))

    def flat(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the rows, (n,) or (n, p), flat and in the order of the sets."""
        # A column is a set here, so the transposed matrix has the sets one after the other.
        if self.layout == "macro":
            return np.ascontiguousarray(values.T).ravel()
        return np.ascontiguousarray(values if self.order is None else values[self.order]).ravel()

    def by_rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """The inverse of :meth:`flat`: values in the order of the sets as (n,) or (n, p)."""
        if self.layout == "macro":
            return values.reshape(self.truth.shape[::-1]).T
        if self.order is None:
            return values.reshape(self.truth.shape)
        out = np.empty_like(values)
        out[self.order] = values
        return out

    def losses(self, labels: Bools) -> Values:
        """The loss of each set, for the predicted labels of the rows."""
        return self.loss.values(self.sets, self.flat(labels))

    def mean_loss(self, labels: Bools) -> float:
        """The mean loss over the sets, for the predicted labels of the rows."""
        return float(self.losses(labels).mean())

    def take(self, rows: Ints) -> "Task":
        """The task of some rows; a group of which rows are missing is a smaller set."""
        return replace(self, truth=self.truth[rows], groups=None if self.groups is None else self.groups[rows])
