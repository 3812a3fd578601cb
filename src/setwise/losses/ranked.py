"""Counts of labels in sets that are sorted by score, from which measures of a ranking are computed."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.batch import Sets
from setwise.core.checks import Ints, Values
from setwise.kernels.segments import segment_sums
from setwise.kernels.sorting import sort_falling


@final
@dataclass(frozen=True, eq=False)
class Ranked:
    """The numbers of labels in each run of equal scores, and in the runs before it, from the largest score down.

    A run holds all decisions of a set that have the same score. The four arrays (t,) of whole numbers go over the t
    runs of all sets; set ``i`` owns the runs ``offsets[i]:offsets[i+1]``.
    """

    positives: Ints
    negatives: Ints
    positives_before: Ints
    negatives_before: Ints
    offsets: Ints

    @classmethod
    def of(cls, sets: Sets, scores: NDArray[Any]) -> "Ranked":
        """Sort the decisions of every set by ``scores`` (total,) and count the labels of each run."""
        _, labels, values, starts = sort_falling(np.asarray(scores), sets.truth, sets.offsets)
        # A run begins where the score changes, and at the beginning of each set.
        begins = np.ones(len(values), dtype=bool)
        begins[1:] = values[1:] != values[:-1]
        begins[starts[:-1]] = True
        first = np.flatnonzero(begins)
        sizes = np.diff(np.append(first, len(values)))
        # Running numbers of positives give the number in any stretch as a difference.
        running = np.concatenate(([0], np.cumsum(labels)))
        positives = running[first + sizes] - running[first]
        owner = np.searchsorted(starts, first, side="right") - 1
        # What lies between the beginning of the set and that of the run stands before the run.
        positives_before = running[first] - running[starts[owner]]
        negatives_before = first - starts[owner] - positives_before
        return cls(positives, sizes - positives, positives_before, negatives_before, np.searchsorted(first, starts))

    def sum(self, x: Values | Ints) -> Values:
        """The sum of ``x`` (t,) over the runs of each set, (n,)."""
        return segment_sums(x, self.offsets)
