"""Sets sorted by score, ties taken together: what measures of a ranking count."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Ints, Values
from setwise.core.sets import Sets
from setwise.kernels.segments import segment_sums
from setwise.kernels.sorting import sort_falling


@final
@dataclass(frozen=True, eq=False)
class Ranked:
    """Ties of each set from the highest score down: ``positives`` and ``negatives`` in each, and in the ties before it.

    Four arrays (t,) of whole numbers over all ties; ``offsets`` (n+1,) says which belong to which set.
    """

    positives: Ints
    negatives: Ints
    positives_before: Ints
    negatives_before: Ints
    offsets: Ints

    @classmethod
    def of(cls, sets: Sets, scores: NDArray[Any]) -> "Ranked":
        """Sort every set of ``scores`` (total,)."""
        _, labels, values, starts = sort_falling(np.asarray(scores), sets.truth, sets.offsets)
        fresh = np.ones(len(values), dtype=bool)
        fresh[1:] = values[1:] != values[:-1]
        fresh[starts[:-1]] = True
        first = np.flatnonzero(fresh)
        sizes = np.diff(np.append(first, len(values)))
        total = np.concatenate(([0], np.cumsum(labels)))
        positives = total[first + sizes] - total[first]
        owner = np.searchsorted(starts, first, side="right") - 1
        positives_before = total[first] - total[starts[owner]]
        negatives_before = first - starts[owner] - positives_before
        return cls(positives, sizes - positives, positives_before, negatives_before, np.searchsorted(first, starts))

    def sum(self, x: Values | Ints) -> Values:
        """Sum of ``x`` (t,) over the ties of each set, (n,)."""
        return segment_sums(x, self.offsets)
