"""Ragged batches: many sets of binary decisions in flat arrays."""

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.checks import as_labels
from setwise.kernels.segments import count_true

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


@final
@dataclass(frozen=True, eq=False)
class Sets:
    """Ground truth of ``n`` sets: set ``i`` owns the decisions ``offsets[i]:offsets[i+1]`` of the flat ``labels``.

    Parameters
    ----------
    labels : (total,) bool
    offsets : (n+1,) int64, strictly increasing from 0 to total: no set is empty
    """

    labels: Bools
    offsets: Ints

    def __post_init__(self) -> None:
        labels, offsets = np.asarray(self.labels), np.asarray(self.offsets)
        if labels.dtype != np.bool_ or labels.ndim != 1:
            raise ValueError(f"labels must be bool of shape (total,); got {labels.dtype} of shape {labels.shape}.")
        if offsets.dtype != np.int64 or offsets.ndim != 1:
            raise ValueError(f"offsets must be int64 of shape (n+1,); got {offsets.dtype} of shape {offsets.shape}.")
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "offsets", offsets)
        if len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != len(self.labels) or (np.diff(offsets) < 1).any():
            raise ValueError(f"offsets must rise strictly from 0 to {len(self.labels)}; got {offsets[:8].tolist()}.")
        if len(self.labels) > np.iinfo(np.int32).max:
            raise ValueError(f"a batch holds at most 2^31 - 1 decisions; got {len(self.labels)}.")

    @classmethod
    def single(cls, y: ArrayLike) -> "Sets":
        """One set of all the decisions in ``y``, shape (p,), values 0/1."""
        labels = as_labels(y)
        return cls(labels, np.array([0, len(labels)], dtype=np.int64))

    @classmethod
    def rows(cls, Y: ArrayLike) -> "Sets":
        """Each row of the label matrix ``Y``, shape (n, p), values 0/1, is one set."""
        matrix = np.asarray(Y)
        if matrix.ndim != 2 or matrix.size == 0:
            raise ValueError(f"Y must have shape (n, p) with n, p >= 1; got shape {matrix.shape}.")
        n, p = matrix.shape
        return cls(as_labels(np.ascontiguousarray(matrix).ravel(), "Y"), np.arange(n + 1, dtype=np.int64) * p)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def total(self) -> int:
        """Number of decisions in all sets."""
        return len(self.labels)

    @cached_property
    def sizes(self) -> Ints:
        """Number of decisions of each set, (n,)."""
        return np.diff(self.offsets)

    @cached_property
    def positives(self) -> Ints:
        """Number of positive labels of each set, (n,)."""
        return count_true(self.labels, self.offsets)

    @cached_property
    def negatives(self) -> Ints:
        """Number of negative labels of each set, (n,)."""
        return self.sizes - self.positives

    @cached_property
    def places(self) -> Ints:
        """Place of every decision inside its own set, (total,), from 0."""
        return np.arange(self.total) - np.repeat(self.offsets[:-1], self.sizes)

    @cached_property
    def owners(self) -> Ints:
        """Number of the set that owns each decision, (total,)."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def part(self, start: int, stop: int) -> "Sets":
        """The sets ``start:stop`` as a batch of their own (views, no copy)."""
        low, high = self.offsets[start], self.offsets[stop]
        return Sets(self.labels[low:high], self.offsets[start : stop + 1] - low)

    def take(self, parts: Ints) -> tuple["Sets", Ints]:
        """The chosen sets as a batch, and the flat positions of their decisions in this one."""
        sizes = self.sizes[parts]
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        positions = np.arange(offsets[-1]) + np.repeat(self.offsets[parts] - offsets[:-1], sizes)
        return Sets(self.labels[positions], offsets), positions


@final
@dataclass(frozen=True, eq=False)
class Orders:
    """For each set the beginning of a permutation of its decisions: the order in which mistakes enter.

    Parameters
    ----------
    items : (m,) int32, flat positions in ``Sets.labels``
    labels : (m,) bool, their labels
    offsets : (n+1,) int64, set ``i`` owns ``items[offsets[i]:offsets[i+1]]``, possibly none
    """

    items: NDArray[np.int32]
    labels: Bools
    offsets: Ints

    @classmethod
    def of_mistakes(cls, sets: Sets, mistakes: Bools) -> "Orders":
        """The mistakes of each set in their natural order."""
        items = np.flatnonzero(mistakes).astype(np.int32)
        offsets = np.concatenate(([0], np.cumsum(count_true(mistakes, sets.offsets))))
        return cls(items, sets.labels[items], offsets)

    @property
    def sizes(self) -> Ints:
        """Number of ordered decisions of each set, (n,)."""
        return np.diff(self.offsets)
