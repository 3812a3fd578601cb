"""A batch: the reference labels of many sets of decisions, and the layout of the scores of their labelings."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Bools, Floats, Ints, Values
from setwise.core.refusal import Refusal
from setwise.kernels.segments import segment_places, segment_sums

Places = slice | Ints


class Batch(ABC):
    """``n`` sets of decisions, each with a reference label; a labeling ``y`` of a set has the score ``<s, phi(y)>``.

    The batch says what the flat scores ``s`` mean: phi is :meth:`encode`. It also says which labelings are allowed, so
    a method of inference must know the kind of batch before it may maximize over its labelings.

    Attributes
    ----------
    labels : (total,) reference labels, in 0..n_labels-1; -1 marks a label that is unknown
    offsets : (n+1,) int64; set ``i`` owns the decisions ``offsets[i]:offsets[i+1]``
    """

    labels: NDArray[Any]
    offsets: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getstate__(self) -> dict[str, Any]:
        # Weak references are not to be pickled.
        return {name: value for name, value in self.__dict__.items() if name != "kept"}

    @property
    @abstractmethod
    def n_labels(self) -> int:
        """How many labels a decision may have."""

    @property
    def total(self) -> int:
        """Number of decisions in all sets."""
        return len(self.labels)

    @property
    def binary(self) -> bool:
        """Whether losses of labels 0 and 1 are bound as they are; else one label is set against all others."""
        return self.n_labels == 2

    @cached_property
    def sizes(self) -> Ints:
        """Number of decisions of each set, (n,)."""
        return np.diff(self.offsets)

    @cached_property
    def places(self) -> Ints:
        """Place of every decision inside its own set, (total,), from 0."""
        return np.arange(self.total) - np.repeat(self.offsets[:-1], self.sizes)

    @cached_property
    def owners(self) -> Ints:
        """Number of the set that owns each decision, (total,)."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def truth(self) -> Bools:
        """Which decisions are known to have label 1, (total,)."""
        return np.asarray(self.labels == 1)

    @cached_property
    def known(self) -> Bools | None:
        """Which labels are known, (total,); None where all are."""
        known = np.asarray(self.labels >= 0)
        return None if known.all() else known

    @cached_property
    def score_offsets(self) -> Ints:
        """Set ``i`` owns the scores ``score_offsets[i]:score_offsets[i+1]``, (n+1,); one a decision unless said."""
        return self.offsets

    @cached_property
    def target(self) -> Values:
        """What labelings are compared with in score, (n_scores,): phi of the truth, unless a mean of several phi."""
        return self.encode(self.labels)

    @cached_property
    def kept(self) -> WeakKeyDictionary[Any, Any]:
        """What surrogates have bound to this batch, as long as they live."""
        return WeakKeyDictionary()

    @property
    def n_scores(self) -> int:
        """Number of scores of all sets."""
        return int(self.score_offsets[-1])

    @property
    def unary(self) -> Ints | None:
        """Where the score of (decision, label) stands, (total, n_labels), -1 where it has none; None without a layout
        by decisions.
        """
        return None

    @abstractmethod
    def encode(self, labels: NDArray[Any]) -> Values:
        """``phi(labels)``, (n_scores,)."""

    @abstractmethod
    def take(self, parts: Ints) -> Self:
        """The chosen sets as a batch of their own."""

    def away(self, labels: NDArray[Any], dtype: Any = np.float64) -> Floats:
        """``phi(labels) - target``, (n_scores,): the direction in which a labeling is away from the truth."""
        return (self.encode(labels) - self.target).astype(dtype, copy=False)

    def won(self, scores: Floats, labels: NDArray[Any]) -> Values:
        """``<s, phi(labels) - target>`` of each set, (n,): what a labeling wins in score over the target."""
        return segment_sums(scores * self.away(labels), self.score_offsets)

    def at_target(self, scores: Floats) -> Values:
        """``<s, target>`` of each set, (n,)."""
        return segment_sums(scores * self.target, self.score_offsets)

    def mistakes(self, labels: NDArray[Any]) -> Bools:
        """Which known labels differ from the reference, (total,)."""
        wrong: Bools = labels != self.labels
        return wrong if self.known is None else wrong & self.known

    def count(self, label: int, areas: Values | None = None) -> Values:
        """How many decisions of each *whole* set have the reference ``label``, or their total area, (n,)."""
        chosen = self.labels == label
        return segment_sums(chosen * (1.0 if areas is None else areas), self.offsets)

    def seen(self, label: int | None, labels: NDArray[Any]) -> Bools:
        """A labeling as binary decisions, (total,): is it ``label``? With None: is it right?"""
        return np.asarray(labels == (self.labels if label is None else label))

    def decisions(self, parts: Ints) -> Places:
        """Where the decisions of the chosen sets stand in the flat arrays of this batch."""
        return segments(parts, self.offsets)

    def force(self, scores: Floats, forced: NDArray[Any], strength: Values) -> Values:
        """Scores under which decision ``i`` gains ``strength_i`` by its label ``forced_i``; -1 leaves it free."""
        if self.unary is None:
            raise Refusal(f"{type(self).__name__} has no scores of single decisions, so no label can be forced.")
        out = np.array(scores, dtype=np.float64)
        for label in range(self.n_labels):
            rows = np.flatnonzero((forced >= 0) & (self.unary[:, label] >= 0))
            sign = np.where(forced[rows] == label, 1.0, -1.0)
            out[self.unary[rows, label]] += sign * strength[rows]
        return out


def segments(parts: Ints, offsets: Ints) -> Places:
    """The flat places of chosen segments: a slice where they lie side by side, so that it cuts views and no copies."""
    places, adjacent = segment_places(parts, offsets)
    return slice(int(offsets[parts[0]]), int(offsets[parts[-1] + 1])) if adjacent else places
