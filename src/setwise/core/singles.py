"""What is taken of single sets is kept, so that learners that visit one set at a time do not take it again."""

from collections.abc import Callable
from typing import Generic, TypeVar, final

import numpy as np

from setwise.core.arrays import Ints

Taken = TypeVar("Taken")

LARGEST = 1 << 22
"""What belongs to batches of more scores is not kept: it would double their memory."""


@final
class Singles(Generic[Taken]):
    """What was taken of each set alone.

    Parameters
    ----------
    n_scores : the number of scores of all sets
    """

    def __init__(self, n_scores: int) -> None:
        self._keeps, self._kept = n_scores <= LARGEST, dict[int, Taken]()

    def of(self, parts: Ints, take: Callable[[Ints], Taken]) -> Taken:
        """``take(parts)``, from the time before where ``parts`` is one number that was asked for."""
        single = self._keeps and isinstance(parts, np.ndarray) and parts.dtype == np.int64 and parts.shape == (1,)
        if not single:
            return take(parts)
        part = int(parts[0])
        if part not in self._kept:
            self._kept[part] = take(parts)
        return self._kept[part]
