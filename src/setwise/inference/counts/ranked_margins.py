"""The decisions of a batch in the order in which they become mistakes, and the score that numbers of them lose."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.attributes import cached_property
from setwise.core.batch import Sets
from setwise.core.checks import Bools, Ints
from setwise.kernels.rankings import mark_mistakes, prefix_sums, rank_margins
from setwise.kernels.segments import count_true

Floats = NDArray[np.float64]


@final
@dataclass(frozen=True, eq=False)
class RankedMargins:
    """The margins of each class of each set, sorted upwards: the best c mistakes of a class are its c smallest margins.

    Segment 2 i holds the positives of set i and segment 2 i + 1 its negatives. Decisions with a margin at or under
    ``floor`` are always wrong, ``low`` (2n,) of them, and win ``base`` (n,) in score; those at or over their cap are
    never wrong. The rest are ranked. ``truth`` (n,) is the score of the true labels.
    """

    sets: Sets
    scores: NDArray[Any]
    floor: float
    caps: Floats
    keys: NDArray[np.uint64]
    margins: NDArray[Any]
    starts: Ints
    low: Ints
    base: Floats
    truth: Floats

    @classmethod
    def of(
        cls, sets: Sets, scores: NDArray[Any], floor: float = -np.inf, caps: Floats | None = None
    ) -> "RankedMargins":
        """Sorts all margins between floor and cap; O(p log p)."""
        caps = np.full(2 * len(sets), np.inf) if caps is None else caps
        return cls(sets, scores, floor, caps, *rank_margins(scores, sets.truth, sets.offsets, floor, caps))

    @cached_property
    def sums(self) -> Floats:
        """Prefix sums of the ranked margins, (m + 2n,); those of segment k begin at ``starts[k] + k``."""
        return np.asarray(prefix_sums(self.margins, self.starts))

    @cached_property
    def ranked(self) -> Ints:
        """The number of ranked decisions of each segment, (2n,)."""
        return np.diff(self.starts)

    @cached_property
    def gainful(self) -> Ints:
        """The number of ranked decisions of each segment whose mistake wins score, (2n,): those of negative margin."""
        return np.asarray(count_true(self.margins < 0, self.starts))

    @property
    def parts(self) -> tuple[Any, ...]:
        """The arrays as kernels take them."""
        return self.keys, self.margins, self.sums, self.starts, self.low, self.floor

    def score_lost(self, segment: Ints, count: Ints) -> Floats:
        """Returns the sum of the ``count`` smallest ranked margins of segments; vectorized."""
        return np.asarray(self.sums[self.starts[segment] + segment + count])

    def mistakes(self, x: Ints, y: Ints) -> Bools:
        """Returns the best mistakes with x (n,) ranked positives and y (n,) ranked negatives wrong, (total,)."""
        counts = np.stack([x, y], axis=1).ravel()
        sets = self.sets
        return np.asarray(
            mark_mistakes(self.scores, sets.truth, sets.offsets, self.floor, self.keys, self.starts, counts)
        )
