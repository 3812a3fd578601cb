"""What is known of rows in bags: the labels of some rows, and a range of the number of positives of each bag."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit

from setwise.core.attributes import cached_property
from setwise.core.batch import Places, Sets
from setwise.core.checks import Ints, Values
from setwise.estimators.weak.bag_values import Bagging
from setwise.kernels.segments import segment_sums
from setwise.losses import CountRange


@final
@dataclass(frozen=True, eq=False)
class Knowledge:
    """Bags of rows with labels 1, 0, and -1 where they are unknown, and the numbers of positives that they may have.

    Rows of which nothing is known, neither by themselves nor by their bag, are left out. Labels are known too where a
    bag allows one labeling only, as in bags without positives.

    Attributes
    ----------
    order : (total,) the rows, bag by bag, in their own order inside of a bag
    sets : their labels, int8, and the offsets of the bags
    low, high : (bags,) the least and the largest number of positives
    ids : (bags,) the ids of the bags, sorted
    labeled : whether the label of a row was given, beside those that follow from numbers
    """

    order: Ints
    sets: Sets
    low: Ints
    high: Ints
    ids: NDArray[Any]
    labeled: bool = False

    @classmethod
    def of(cls, bags: Bagging, labels: NDArray[np.int8], low: Ints, high: Ints, what: str = "any bag") -> "Knowledge":
        """The knowledge of n rows with labels (n,), and ranges (bags,) of all bags; ``what`` it is of, in words.

        Raises ValueError where a range holds no number that the labels allow, and where nothing is known at all.
        """
        given = np.bincount(bags.owners[labels == 1], minlength=len(bags))
        unknown = np.bincount(bags.owners[labels == -1], minlength=len(bags))
        odd = (low > given + unknown) | (high < given)
        if odd.any():
            b = int(np.flatnonzero(odd)[0])
            raise ValueError(
                f"what is known of bag {bags.name(b)} must have a labeling: it has {low[b]} to {high[b]} positives, "
                f"and by y {given[b]} to {given[b] + unknown[b]} of its {bags.sizes[b]} rows are positive."
            )
        labeled = bool((labels >= 0).any())
        # Where a bag allows one labeling only, all of its labels are known.
        forced = np.where(high == given, 0, np.where(low == given + unknown, 1, -1))
        labels = np.where(labels == -1, forced[bags.owners], labels).astype(np.int8)
        free = (low <= given) & (high >= given + unknown)
        used = np.flatnonzero((labels >= 0) | ~free[bags.owners])
        if not len(used):
            raise ValueError(
                "fit requires y to be passed, but the target y is None or unknown for all rows, and nothing is known "
                f"of {what}: give counts, proportions, at_least or between."
            )
        order = used[np.argsort(bags.owners[used], kind="stable")]
        sizes = np.bincount(bags.owners[order], minlength=len(bags))
        kept = np.flatnonzero(sizes)
        offsets = np.concatenate(([0], np.cumsum(sizes[kept]))).astype(np.int64)
        return cls(
            order, Sets(labels[order], offsets), low[kept], np.minimum(high, sizes)[kept], bags.ids[kept], labeled
        )

    def __len__(self) -> int:
        return len(self.low)

    @property
    def loss(self) -> CountRange:
        """The loss that is least for all labelings that agree with the knowledge."""
        return CountRange(self.low, self.high)

    @cached_property
    def shares(self) -> Values:
        """The share of positives of each row, (total,): its label, or the middle of the range for the unknown rows."""
        labels, offsets = self.sets.labels, self.sets.offsets
        given = segment_sums((labels == 1).astype(np.float64), offsets)
        unknown = np.maximum(segment_sums((labels == -1).astype(np.float64), offsets), 1.0)
        least, most = np.maximum(self.low - given, 0.0), np.minimum(self.high - given, unknown)
        middle = (least + most) / 2.0 / unknown
        return np.where(labels >= 0, labels == 1, middle[self.sets.owners])

    @property
    def log_odds(self) -> float:
        """The log-odds of the mean share of positives of all rows."""
        return float(logit(np.clip(self.shares.mean(), 1e-3, 1.0 - 1e-3)))

    def take(self, parts: Ints) -> "tuple[Places, Knowledge]":
        """The places of the rows of some bags, and what is known of them."""
        places = self.sets.decisions(parts)
        low, high, ids = self.low[parts], self.high[parts], self.ids[parts]
        return places, Knowledge(self.order[places], self.sets.take(parts), low, high, ids, self.labeled)
