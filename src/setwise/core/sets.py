"""Ragged batches of independent binary decisions, in flat arrays."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.arrays import Bools, Floats, Ints, Values
from setwise.core.batch import Batch
from setwise.core.checks import as_labels
from setwise.kernels.segments import chosen_offsets, count_true, masked_sums, segment_sums


@final
@dataclass(frozen=True, eq=False)
class Sets(Batch):
    """``n`` sets of independent binary decisions, one score each: ``phi(y) = y``, and every labeling is allowed.

    Parameters
    ----------
    labels : (total,) bool; or int8 of -1, 0, 1 where -1 is a label that is not known
    offsets : (n+1,) int64, strictly increasing from 0 to total: no set is empty
    compared : (total,) what labelings are compared with in score; None compares with the labels
    totals : (n, 2) numbers of negatives and positives in the whole sets, where this batch holds only a piece of each
    """

    labels: NDArray[Any]
    offsets: Ints
    compared: Values | None = None
    totals: Values | None = None

    def __post_init__(self) -> None:
        labels, offsets = np.asarray(self.labels), np.asarray(self.offsets)
        if labels.dtype not in (np.bool_, np.int8) or labels.ndim != 1:
            raise ValueError(f"labels must be bool of shape (total,); got {labels.dtype} of shape {labels.shape}.")
        if labels.dtype == np.int8 and labels.size and (labels.min() < -1 or labels.max() > 1):
            raise ValueError(f"labels must be -1, 0 or 1; got {labels.min()} to {labels.max()}.")
        if offsets.dtype != np.int64 or offsets.ndim != 1:
            raise ValueError(f"offsets must be int64 of shape (n+1,); got {offsets.dtype} of shape {offsets.shape}.")
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "offsets", offsets)
        if len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != len(labels) or (np.diff(offsets) < 1).any():
            raise ValueError(f"offsets must rise strictly from 0 to {len(labels)}; got {offsets[:8].tolist()}.")
        if len(labels) > np.iinfo(np.int32).max:
            raise ValueError(f"a batch holds at most 2^31 - 1 decisions; got {len(labels)}.")
        for name, shape in (("compared", labels.shape), ("totals", (len(offsets) - 1, 2))):
            given = getattr(self, name)
            if given is not None and (np.shape(given) != shape or not np.isfinite(given).all()):
                raise ValueError(f"{name} must be finite numbers of shape {shape}; got shape {np.shape(given)}.")

    @classmethod
    def single(cls, y: ArrayLike, name: str = "y_true") -> "Sets":
        """One set of all the decisions in ``y``, shape (p,), values 0/1."""
        labels = as_labels(y, name)
        return cls(labels, np.array([0, len(labels)], dtype=np.int64))

    @classmethod
    def rows(cls, Y: ArrayLike) -> "Sets":
        """Each row of the label matrix ``Y``, shape (n, p), values 0/1, is one set."""
        matrix = np.asarray(Y)
        if matrix.ndim != 2 or matrix.size == 0:
            raise ValueError(f"Y must have shape (n, p) with n, p >= 1; got shape {matrix.shape}.")
        n, p = matrix.shape
        return cls(as_labels(np.ascontiguousarray(matrix).ravel(), "Y"), np.arange(n + 1, dtype=np.int64) * p)

    @property
    def n_labels(self) -> int:
        """Two."""
        return 2

    @cached_property
    def truth(self) -> Bools:
        """Which decisions are known to be positive, (total,)."""
        return np.asarray(self.labels if self.labels.dtype == np.bool_ else self.labels == 1)

    @cached_property
    def known(self) -> Bools | None:
        """Which labels are known, (total,); None where all are."""
        if self.labels.dtype == np.bool_ or (self.labels >= 0).all():
            return None
        return np.asarray(self.labels >= 0)

    @cached_property
    def unary(self) -> Ints:
        """The score stands for label 1; label 0 has none."""
        return np.column_stack([np.full(self.total, -1), np.arange(self.total)])

    @cached_property
    def target(self) -> Values:
        """``compared``, or the labels with 0 for those that are not known."""
        return self.truth.astype(np.float64) if self.compared is None else self.compared

    @cached_property
    def lift(self) -> Values | None:
        """``truth - target``, (total,); None where labelings are compared with the truth itself."""
        return None if self.compared is None else self.truth - self.compared

    @cached_property
    def positives(self) -> Ints:
        """Number of positive labels of each set in this batch, (n,)."""
        return count_true(self.truth, self.offsets)

    @cached_property
    def negatives(self) -> Ints:
        """Number of all other labels of each set in this batch, (n,)."""
        return self.sizes - self.positives

    def encode(self, labels: NDArray[Any]) -> Values:
        return np.asarray(labels == 1, dtype=np.float64)

    def away(self, labels: NDArray[Any], dtype: Any = np.float64) -> Floats:
        if self.compared is not None or self.known is not None:
            return (self.encode(labels) - self.target).astype(dtype, copy=False)
        # Differences of bools as bytes: a pass over p bytes in place of several over p floats.
        change = np.asarray(labels, dtype=np.bool_).view(np.int8) - self.truth.view(np.int8)
        return change.astype(dtype)

    def at_target(self, scores: Floats) -> Values:
        return super().at_target(scores) if self.compared is not None else masked_sums(scores, self.truth, self.offsets)

    def mistakes(self, labels: NDArray[Any]) -> Bools:
        wrong = np.asarray(labels, dtype=np.bool_) ^ self.truth
        return wrong if self.known is None else wrong & self.known

    def count(self, label: int, areas: Values | None = None) -> Values:
        if self.totals is not None:
            return np.asarray(self.totals[:, label], dtype=np.float64)
        if areas is not None:
            chosen = self.truth if label == 1 else self.labels == 0
            return segment_sums(np.where(chosen, areas, 0.0), self.offsets)
        if label == 1 or self.known is None:
            return (self.positives if label == 1 else self.negatives).astype(np.float64)
        return count_true(self.labels == 0, self.offsets).astype(np.float64)

    def decide(self, scores: Floats) -> Bools:
        """The labels that ``scores`` (total,) predict: positive where above 0."""
        return scores > 0

    def take(self, parts: Ints) -> "Sets":
        at = self.decisions(parts)
        # Sets of a batch that was checked need no second check.
        chosen = object.__new__(Sets)
        chosen.__dict__.update(
            labels=self.labels[at],
            offsets=chosen_offsets(parts, self.offsets),
            compared=None if self.compared is None else self.compared[at],
            totals=None if self.totals is None else self.totals[parts],
        )
        return chosen


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
        return cls(items, sets.truth[items], offsets)

    @property
    def sizes(self) -> Ints:
        """Number of ordered decisions of each set, (n,)."""
        return np.diff(self.offsets)
