"""A batch holds the true labels of many sets of decisions, and the layout of the scores of their labelings."""

from abc import ABC, abstractmethod
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Bools, Floats, Ints, Values
from setwise.core.cached import cached_property
from setwise.core.checks import as_parts, as_shaped
from setwise.core.pages import FORCED_LABELS
from setwise.core.refusal import Refusal
from setwise.kernels.segments import segment_places, segment_sums

Places = slice | Ints


class Batch(ABC):
    """``n`` sets of decisions with their true labels; a labeling ``y`` of a set has the score ``<s, phi(y)>``.

    The batch says what the flat scores ``s`` mean: phi is :meth:`encode`. It also says which labelings are allowed, so
    a method of inference must know the kind of batch before it may maximize over its labelings.

    Source: own; docs/notation.md tells what the letters stand for.

    Attributes
    ----------
    labels : (total,) true labels, in 0..n_labels-1; -1 marks a label that is unknown
    offsets : (n+1,) int64; set ``i`` owns the decisions ``offsets[i]:offsets[i+1]``

    Examples
    --------
    >>> from setwise.core import Batch, Sets
    >>> batch: Batch = Sets.rows([[1, 0, 1], [0, 0, 1]])
    >>> len(batch), batch.total, batch.sizes.tolist(), batch.n_scores
    (2, 6, [3, 3], 6)
    >>> # <s, phi(y) - target> of each set: what a labeling wins over the truth.
    >>> scores, guess = np.array([2.0, 1.0, 0.5, 1.0, -1.0, 3.0]), np.array([1, 1, 0, 0, 0, 1])
    >>> batch.won(scores, guess).tolist()
    [0.5, 0.0]
    """

    labels: NDArray[Any]
    offsets: Ints

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getstate__(self) -> dict[str, Any]:
        # Weak references cannot be pickled, and what they hold can be computed again.
        return {name: value for name, value in self.__dict__.items() if name != "kept"}

    @property
    @abstractmethod
    def n_labels(self) -> int:
        """The number of labels that a decision may have."""

    @property
    def largest(self) -> int | Ints:
        """The largest label that a decision may have, one for all or one for each; the least is 0."""
        return self.n_labels - 1

    @property
    def total(self) -> int:
        """The number of decisions in all sets."""
        return len(self.labels)

    @property
    def binary(self) -> bool:
        """Whether losses of labels 0 and 1 apply directly; otherwise they apply to one label against all others."""
        return self.n_labels == 2

    @cached_property
    def sizes(self) -> Ints:
        """The number of decisions of each set, (n,)."""
        return np.diff(self.offsets)

    @property
    def addends(self) -> Ints:
        """The number of terms of the score of a labeling of each set, (n,): by default one for each decision."""
        return self.sizes

    @cached_property
    def places(self) -> Ints:
        """The index of every decision inside its own set, (total,), counted from 0."""
        return np.arange(self.total) - np.repeat(self.offsets[:-1], self.sizes)

    @cached_property
    def owners(self) -> Ints:
        """The index of the set that owns each decision, (total,)."""
        return np.repeat(np.arange(len(self)), self.sizes)

    @cached_property
    def truth(self) -> Bools:
        """A mask of the decisions that are known to have label 1, (total,)."""
        return np.asarray(self.labels == 1)

    @cached_property
    def known(self) -> Bools | None:
        """A mask of the known labels, (total,); None if all labels are known."""
        known = np.asarray(self.labels >= 0)
        # None lets callers skip a pass over the mask in the usual case.
        return None if known.all() else known

    @cached_property
    def score_offsets(self) -> Ints:
        """Set ``i`` owns the scores ``score_offsets[i]:score_offsets[i+1]``, (n+1,); by default a decision has one."""
        return self.offsets

    @cached_property
    def target(self) -> Values:
        """The vector with which labelings are compared in score, (n_scores,): phi of the truth, or a mean of phi."""
        return self.encode(self.labels)

    @cached_property
    def kept(self) -> WeakKeyDictionary[Any, Any]:
        """The evaluators that surrogates have bound to this batch; each is stored as long as its surrogate lives."""
        return WeakKeyDictionary()

    @property
    def n_scores(self) -> int:
        """The number of scores of all sets."""
        return int(self.score_offsets[-1])

    @property
    def unary(self) -> Ints | None:
        """The position of the score of each (decision, label), (total, n_labels), and -1 where there is none.

        None if the scores do not belong to single decisions.
        """
        return None

    @abstractmethod
    def encode(self, labels: NDArray[Any]) -> Values:
        """``phi(labels)``, (n_scores,): the coefficients of the scores in the score of the labeling."""

    @abstractmethod
    def take(self, parts: Ints) -> Self:
        """The batch that holds the chosen sets alone."""

    def away(self, labels: NDArray[Any], dtype: Any = np.float64) -> Floats:
        """``phi(labels) - target``, (n_scores,): the gradient of :meth:`won` in the scores."""
        return (self.encode(labels) - self.target).astype(dtype, copy=False)

    def won(self, scores: Floats, labels: NDArray[Any]) -> Values:
        """``<s, phi(labels) - target>`` of each set, (n,): how far the score of a labeling is above the target's."""
        away = self.away(labels)
        return segment_sums(np.multiply(scores, away, out=away), self.score_offsets)

    def at_target(self, scores: Floats) -> Values:
        """``<s, target>`` of each set, (n,): the score of the target."""
        return segment_sums(as_shaped(scores, self.n_scores, "scores") * self.target, self.score_offsets)

    def mistakes(self, labels: NDArray[Any]) -> Bools:
        """A mask of the decisions whose label is known and differs from it, (total,)."""
        # A decision without a known label cannot be wrong.
        wrong: Bools = labels != self.labels
        return wrong if self.known is None else wrong & self.known

    def count(self, label: int, areas: Values | None = None) -> Values:
        """The number, or the total area, of the decisions of each *whole* set whose true label is ``label``, (n,)."""
        chosen = self.labels == label
        return segment_sums(chosen * (1.0 if areas is None else areas), self.offsets)

    def seen(self, label: int | None, labels: NDArray[Any]) -> Bools:
        """A mask of the decisions that a labeling gives ``label``, (total,); with None, of those that it gets right."""
        return np.asarray(labels == (self.labels if label is None else label))

    def decisions(self, parts: Ints) -> Places:
        """The positions of the decisions of the chosen sets in the flat arrays of this batch."""
        return segments(parts, self.offsets)

    def force(self, scores: Floats, forced: NDArray[Any], strength: Values) -> Values:
        """Scores that favor the label ``forced_i`` of each decision ``i`` by ``strength_i`` or more; -1 favors none.

        The forced label gains ``strength_i`` and each other label loses it, as far as these labels have a score.
        """
        if self.unary is None:
            raise Refusal(
                f"{type(self).__name__} has no scores of single decisions, so no label can be forced.", FORCED_LABELS
            )
        # The copy is float64, since a strength far above the scores would swallow them in float32.
        out = np.array(scores, dtype=np.float64)
        for label in range(self.n_labels):
            # A label without a score is favored through the scores of the other labels, as label 0 of binary
            # decisions.
            rows = np.flatnonzero((forced >= 0) & (self.unary[:, label] >= 0))
            sign = np.where(forced[rows] == label, 1.0, -1.0)
            out[self.unary[rows, label]] += sign * strength[rows]
        return out


def segments(parts: Ints, offsets: Ints) -> Places:
    """The flat positions of chosen segments; adjacent segments give a slice, which selects a view instead of a copy."""
    # Learners ask at every step: the kernel sees wrong numbers by itself, and the words for them are found then.
    if not isinstance(parts, np.ndarray) or parts.dtype != np.int64 or parts.ndim != 1 or not len(parts):
        as_parts(parts, len(offsets) - 1)
    try:
        places, adjacent = segment_places(parts, offsets)
    except IndexError:
        as_parts(parts, len(offsets) - 1)
        raise
    return slice(int(offsets[parts[0]]), int(offsets[parts[-1] + 1])) if adjacent else places
