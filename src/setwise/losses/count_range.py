"""The loss of bags of which only the number of positives is known, exactly or up to a range."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.batch import Batch
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Ints, as_array, shown
from setwise.core.loss import Loss
from setwise.core.terms import Mistakes
from setwise.losses.box_fullness import BoxMembers


@final
@dataclass(frozen=True, eq=False, repr=False)
class CountRange(Loss):
    """``mistakes on known labels + max(0, low - c, c - high)``, with c the number of positives of the set.

    The loss is at least 0. The labels of a batch are 0, 1, or -1 where they are unknown; known positives are counted in
    c. A set without unknown labels has the number of mistakes as its loss, whatever its range is.

    Source: HOL 4.2, a function of the count as that of Eq. 7.

    Parameters
    ----------
    low : the least number of positives, one whole number or one for each set, (n,): 1 is "at least one"
    high : the largest number, in the same way, up to the size of the set; None sets no limit

    Raises
    ------
    ValueError : if a number is not whole or below 0, or a set cannot have so many positives by its labels

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.losses import CountRange
    >>> # Three unknown decisions and a negative one.
    >>> labels = np.array([-1, -1, -1, 0], np.int8)
    >>> bag = Sets(labels, offsets=np.array([0, 4]))
    >>> decided = [0, 0, 0, 0], [1, 0, 1, 0], [1, 1, 1, 0]
    >>> [CountRange(1, 2).values(bag, labels).item() for labels in decided]
    [1.0, 0.0, 1.0]
    """

    low: int | NDArray[np.int64]
    high: int | NDArray[np.int64] | None = None

    name: ClassVar[str] = "count_range"
    traits = frozenset()
    weak = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", _as_numbers(self.low, "low"))
        if self.high is not None:
            object.__setattr__(self, "high", _as_numbers(self.high, "high"))

    @classmethod
    def examples(cls, p: int) -> "list[CountRange]":
        return [CountRange(1), CountRange(1, 2)]

    def check(self, batch: Batch) -> None:
        low, high = self._range(batch)
        if batch.known is None:
            return
        given = np.bincount(batch.owners[batch.labels == 1], minlength=len(batch))
        unknown = np.bincount(batch.owners[batch.labels == -1], minlength=len(batch))
        odd = (unknown > 0) & ((low > high) | (low > given + unknown) | (high < given))
        if odd.any():
            i = int(np.flatnonzero(odd)[0])
            raise ValueError(
                f"low and high must hold a number of positives that set {i} may have, {given[i]} to "
                f"{given[i] + unknown[i]} by its labels; got {low[i]} to {high[i]}."
            )

    def _range(self, batch: Batch) -> tuple[Ints, Ints]:
        """The least and the largest number of positives of each set, (n,)."""
        n = len(batch)
        found = []
        for name, value in (("low", self.low), ("high", batch.sizes if self.high is None else self.high)):
            if isinstance(value, np.ndarray) and len(value) != n:
                raise ValueError(f"{name} must be one whole number or {n}, one for each set; got {len(value)}.")
            found.append(np.broadcast_to(value, n))
        return found[0], np.minimum(found[1], batch.sizes)

    def _bind(self, batch: Batch) -> BoundLoss:
        mistakes = Mistakes(np.ones(batch.total))
        if batch.known is None:
            return BoundLoss(batch, (mistakes,))
        some = np.bincount(batch.owners[~batch.known], minlength=len(batch)) > 0
        # A set with unknown labels is one box.
        boxes = BoxMembers.of(batch, np.where(some[batch.owners], 0, -1))
        low, high = (each[boxes.owners][boxes.of_value] for each in self._range(batch))
        count, _ = boxes.grid()
        return BoundLoss(batch, (mistakes, boxes.term(np.maximum(np.maximum(low - count, count - high), 0.0))))

    def __repr__(self) -> str:
        shown = [f"{len(one)} numbers" if isinstance(one, np.ndarray) else str(one) for one in (self.low, self.high)]
        return f"CountRange({', '.join(shown[: 1 if self.high is None else 2])})"


def _as_numbers(value: Any, name: str) -> int | Ints:
    """One whole number of at least 0, or several, (n,)."""
    found = as_array(value, name)
    if found.ndim > 1 or not found.size or found.dtype.kind not in "iu" or found.min() < 0:
        raise ValueError(f"{name} must be a whole number from 0 on, or one for each set; got {shown(value)}.")
    return found.astype(np.int64) if found.ndim else int(found)
