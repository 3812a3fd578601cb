"""What is to be predicted, and by what it is judged: the truth of some rows, and the loss of its sets."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Bools, Ints, Values
from setwise.core.measure import Loss
from setwise.core.sets import Sets
from setwise.estimators.grouping import Grouping, Layout, group_vector


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
    def grouping(self) -> Grouping:
        """The sets, and the order of the rows in them."""
        if not self.is_matrix:
            return group_vector(self.truth, self.groups, np.array([False, True]))
        names = np.arange(self.truth.shape[1])
        if self.average == "macro":
            return Grouping(Sets.rows(self.truth.T), "macro", names, None)
        if self.average == "micro":
            return Grouping(Sets.single(self.truth.ravel(), "Y"), "micro", names, None)
        return Grouping(Sets.rows(self.truth), "samples", names, None)

    @property
    def sets(self) -> Sets:
        """The true labels of the sets."""
        batch = self.grouping.batch
        assert isinstance(batch, Sets)
        return batch

    def flat(self, values: NDArray[Any]) -> NDArray[Any]:
        """Values of the rows, (n,) or (n, p), flat and in the order of the sets."""
        return np.ascontiguousarray(self.grouping.flat(values))

    def by_rows(self, values: NDArray[Any]) -> NDArray[Any]:
        """The inverse of :meth:`flat`: values in the order of the sets as (n,) or (n, p)."""
        out = np.empty(self.truth.shape, dtype=values.dtype)
        if self.layout == "macro":
            return values.reshape(self.truth.shape[::-1]).T
        order = self.grouping.order
        if order is None:
            return values.reshape(self.truth.shape)
        out[order] = values
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
