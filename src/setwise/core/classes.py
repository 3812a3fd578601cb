"""Batches of sets of independent decisions with k labels, in flat arrays; the sets may differ in size."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.arrays import Floats, Ints, Values
from setwise.core.batch import Batch
from setwise.core.cached import cached_property
from setwise.core.checks import LARGEST_LABEL, as_array, as_class_labels, as_count, as_offsets
from setwise.kernels.segments import chosen_offsets


@final
@dataclass(frozen=True, eq=False)
class Classes(Batch):
    """``n`` sets of independent decisions with k labels and one score for each label: phi(y) is the one-hot code of y.

    :meth:`single` makes one set of an array of labels 0..k-1.

    Source: Crammer and Singer (2001) for a score of each label.

    Parameters
    ----------
    labels : (total,) int64 in 0..k-1; -1 marks a label that is unknown
    offsets : (n+1,) int64, strictly increasing from 0 to total
    k : the number of labels, at least 2

    Raises
    ------
    ValueError : for labels that are no int64 in -1..k-1, empty sets, offsets that do not rise from 0 to total, and k
        below 2
    TypeError : for k that is no whole number

    Examples
    --------
    Three decisions with three labels; the scores of a decision lie side by side:

    >>> from setwise.core import Classes
    >>> batch = Classes.single([0, 2, 1], k=3)
    >>> batch.n_scores, batch.target.tolist()
    (9, [1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0])
    >>> batch.decide(np.array([0.1, 0.2, 0.0, 0.0, 0.0, 1.0, 0.5, 0.4, 0.3])).tolist()
    [1, 2, 0]
    """

    labels: NDArray[np.int64]
    offsets: Ints
    k: int

    def __post_init__(self) -> None:
        as_count(self.k, "k", low=2, high=LARGEST_LABEL + 1)
        labels = as_codes(self.labels, self.k)
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "offsets", as_offsets(self.offsets, len(labels)))

    @classmethod
    def single(cls, y: ArrayLike, k: int, name: str = "y_true") -> "Classes":
        """One set that holds all decisions of ``y``, shape (p,), values 0..k-1."""
        labels, k = as_class_labels(y, name), as_count(k, "k", low=2, high=LARGEST_LABEL + 1)
        if labels.max() >= k:
            raise ValueError(f"{name} must hold labels 0..{k - 1}; got {labels.max()}.")
        return cls(labels, np.array([0, len(labels)], dtype=np.int64), k)

    @property
    def n_labels(self) -> int:
        """The number of labels, which is ``k``."""
        return self.k

    @property
    def binary(self) -> bool:
        """False, also for two labels, since each label has a score of its own here."""
        return False

    @cached_property
    def score_offsets(self) -> Ints:
        """Each decision has k scores, which lie side by side, (n+1,)."""
        return self.offsets * self.k

    @cached_property
    def unary(self) -> Ints:
        return np.arange(self.total * self.k).reshape(self.total, self.k)

    def encode(self, labels: NDArray[Any]) -> Values:
        return np.asarray(labels[:, None] == np.arange(self.k), dtype=np.float64).ravel()

    def decide(self, scores: Floats) -> Ints:
        """The label with the largest score for each decision, the first one among equal scores, (total,)."""
        return np.asarray(scores.reshape(self.total, self.k).argmax(axis=1))

    def take(self, parts: Ints) -> "Classes":
        return Classes(self.labels[self.decisions(parts)], chosen_offsets(parts, self.offsets), self.k)


def as_codes(given: Any, k: int) -> Ints:
    """The labels of a batch of decisions with k labels as they are: flat int64 in -1..k-1."""
    labels = as_array(given, "labels")
    if labels.dtype != np.int64 or labels.ndim != 1:
        raise ValueError(f"labels must be int64 of shape (total,); got {labels.dtype} of shape {labels.shape}.")
    if labels.size and (labels.min() < -1 or labels.max() >= k):
        raise ValueError(f"labels must be in -1..{k - 1}; got {labels.min()} to {labels.max()}.")
    return labels
