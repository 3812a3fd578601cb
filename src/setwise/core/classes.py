"""Ragged batches of independent decisions with k labels."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.arrays import Floats, Ints, Values
from setwise.core.batch import Batch
from setwise.core.checks import as_class_labels, as_count
from setwise.core.sets import Sets
from setwise.kernels.segments import chosen_offsets


@final
@dataclass(frozen=True, eq=False)
class Classes(Batch):
    """``n`` sets of independent decisions with k labels, one score each: phi(y) marks the label of each decision.

    Parameters
    ----------
    labels : (total,) int64 in 0..k-1; -1 is a label that is not known
    offsets : (n+1,) int64, strictly increasing from 0 to total
    k : number of labels, at least 2
    """

    labels: NDArray[np.int64]
    offsets: Ints
    k: int

    def __post_init__(self) -> None:
        as_count(self.k, "k", low=2)
        labels, offsets = np.asarray(self.labels), np.asarray(self.offsets)
        if labels.dtype != np.int64 or labels.ndim != 1:
            raise ValueError(f"labels must be int64 of shape (total,); got {labels.dtype} of shape {labels.shape}.")
        if labels.size and (labels.min() < -1 or labels.max() >= self.k):
            raise ValueError(f"labels must be in -1..{self.k - 1}; got {labels.min()} to {labels.max()}.")
        # The checks of the offsets are those of binary sets.
        Sets(labels == 0, offsets)

    @classmethod
    def single(cls, y: ArrayLike, k: int) -> "Classes":
        """One set of all the decisions in ``y``, shape (p,), values 0..k-1."""
        labels = as_class_labels(y, "y_true")
        return cls(labels, np.array([0, len(labels)], dtype=np.int64), k)

    @property
    def n_labels(self) -> int:
        """K."""
        return self.k

    @property
    def binary(self) -> bool:
        """Never: also two labels have a score each."""
        return False

    @cached_property
    def score_offsets(self) -> Ints:
        """K scores for each decision, those of one decision side by side."""
        return self.offsets * self.k

    @cached_property
    def unary(self) -> Ints:
        return np.arange(self.total * self.k).reshape(self.total, self.k)

    def encode(self, labels: NDArray[Any]) -> Values:
        return np.asarray(labels[:, None] == np.arange(self.k), dtype=np.float64).ravel()

    def decide(self, scores: Floats) -> Ints:
        """The label of the largest score of each decision, the first of several, (total,)."""
        return np.asarray(scores.reshape(self.total, self.k).argmax(axis=1))

    def take(self, parts: Ints) -> "Classes":
        return Classes(self.labels[self.decisions(parts)], chosen_offsets(parts, self.offsets), self.k)
