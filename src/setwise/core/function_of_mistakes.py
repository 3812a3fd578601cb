"""A loss, seen from one ground truth, is a set function of the mistakes."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.arrays import Values
from setwise.core.checks import as_array
from setwise.core.sets import Orders, Sets
from setwise.core.structure import Structure


@final
@dataclass(frozen=True, eq=False)
class FunctionOfMistakes:
    """``A -> l_y(A)`` for one ground truth ``y``; made by :meth:`setwise.core.measure.Loss.of_mistakes`."""

    structure: Structure

    @property
    def p(self) -> int:
        """The number of decisions."""
        return self.structure.batch.total

    def __call__(self, mistakes: ArrayLike) -> float:
        """``l_y(A)`` for a mask of mistakes A, bool of shape (p,)."""
        mask = as_array(mistakes, "mistakes")
        if mask.dtype != np.bool_ or mask.shape != (self.p,):
            raise ValueError(f"mistakes must be bool of shape ({self.p},); got {mask.dtype} of shape {mask.shape}.")
        # Structures take labelings: a mistake is the opposite of the true label.
        return float(self.structure.values(mask ^ self._truth)[0])

    def gains(self, order: ArrayLike) -> Values:
        """What each mistake adds when mistakes enter in ``order``, which holds m distinct indices in 0..p-1; (m,)."""
        items = as_array(order, "order")
        if items.ndim != 1 or (items.size and (items.dtype.kind not in "iu" or len(np.unique(items)) != len(items))):
            raise ValueError("order must be a flat array of distinct whole numbers.")
        if items.size and (items.min() < 0 or items.max() >= self.p):
            raise ValueError(f"order must hold places in 0..{self.p - 1}; got {items.min()} to {items.max()}.")
        items = items.astype(np.int32)
        return self.structure.gains(Orders(items, self._truth[items], np.array([0, len(items)], dtype=np.int64)))

    @property
    def _truth(self) -> np.ndarray:
        assert isinstance(self.structure.batch, Sets)
        return self.structure.batch.truth
