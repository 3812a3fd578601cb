"""Batches: the true labels of many sets of decisions, and the layout of the scores of their labelings.

Sets of independent decisions lie in flat arrays, one after another, and may differ in size: ``Sets`` of two labels,
``Classes`` of k labels.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.attributes import cached_property
from setwise.core.checks import (
    LARGEST_LABEL,
    Bools,
    Floats,
    Ints,
    Values,
    as_array,
    as_class_labels,
    as_count,
    as_labels,
    as_offsets,
    as_parts,
    as_reals,
    as_shaped,
    shown,
)
from setwise.core.exceptions import Refusal
from setwise.core.pages import FORCED_LABELS
from setwise.kernels.segments import chosen_offsets, count_true, masked_sums, segment_places, segment_sums

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

    def methods(self, auto: Any) -> Sequence[Any]:
        """The methods of inference for this kind of batch alone, which solve their smaller problems by ``auto``."""
        return ()

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


@final
@dataclass(frozen=True, eq=False)
class Sets(Batch):
    """``n`` sets of independent binary decisions with one score each: ``phi(y) = y``, and every labeling is allowed.

    :meth:`single` makes one set of an array of 0 and 1, and :meth:`rows` a set of each row of a label matrix.

    Source: own; docs/notation.md tells what the letters stand for.

    Parameters
    ----------
    labels : (total,) bool, or whole numbers -1, 0 and 1 where -1 marks an unknown label
    offsets : (n+1,) int64, strictly increasing from 0 to total, so that no set is empty
    compared : (total,) the vector with which labelings are compared in score; None compares with the labels
    totals : (n, 2) the numbers of negatives and positives in the whole sets, if this batch holds only a piece of each

    Raises
    ------
    ValueError : for labels of other kinds, empty sets, offsets that do not rise from 0 to total, ``compared`` outside
        of [0, 1], and ``totals`` below the numbers in this batch

    Examples
    --------
    Sets of three and of two decisions, then the rows of a label matrix, and one set:

    >>> from setwise.core import Sets
    >>> from setwise.losses import Jaccard
    >>> batch = Sets(np.array([True, True, False, False, True]), np.array([0, 3, 5]))
    >>> batch.positives.tolist(), batch.negatives.tolist()
    ([2, 1], [1, 1])
    >>> Jaccard().values(batch, [1, 0, 0, 1, 1]).tolist()
    [0.5, 0.5]
    >>> len(Sets.rows([[1, 0], [1, 1], [0, 0]])), len(Sets.single([1, 0, 0]))
    (3, 1)
    """

    labels: NDArray[Any]
    offsets: Ints
    compared: Values | None = None
    totals: Values | None = None
    n_labels = 2
    """The number of labels of a decision: two."""

    def __post_init__(self) -> None:
        labels = as_truth(self.labels)
        # The kernels index decisions by int32.
        if len(labels) > np.iinfo(np.int32).max:
            raise ValueError(f"labels must be at most 2^31 - 1; got {len(labels)} of them.")
        self.__dict__.update(labels=labels, offsets=as_offsets(self.offsets, len(labels)))
        if self.compared is not None:
            self._check_compared(self.compared)
        if self.totals is not None:
            self._check_totals(self.totals)

    def _check_compared(self, compared: Values) -> None:
        target = as_reals(compared, "compared", self.labels.shape)
        if (target < 0).any() or (target > 1).any():
            raise ValueError("compared must be in [0, 1], as every mean of labelings is.")
        object.__setattr__(self, "compared", target)

    def _check_totals(self, totals: Values) -> None:
        whole = as_reals(totals, "totals", (len(self), 2))
        if (whole < np.column_stack([self.negatives, self.positives])).any():
            raise ValueError("totals must not be below the numbers of negatives and positives in this batch.")
        object.__setattr__(self, "totals", whole)

    @classmethod
    def single(cls, y: ArrayLike, name: str = "y_true") -> "Sets":
        """One set that holds all decisions of ``y``, shape (p,), values 0/1."""
        labels = as_labels(y, name)
        return cls(labels, np.array([0, len(labels)], dtype=np.int64))

    @classmethod
    def rows(cls, Y: ArrayLike) -> "Sets":
        """The batch in which each row of the label matrix ``Y``, shape (n, p), values 0/1, is one set."""
        matrix = as_array(Y, "Y")
        if matrix.ndim != 2 or matrix.size == 0:
            raise ValueError(f"Y must have shape (n, p) with n, p >= 1; got shape {matrix.shape}.")
        n, p = matrix.shape
        return cls(as_labels(np.ascontiguousarray(matrix).ravel(), "Y"), np.arange(n + 1, dtype=np.int64) * p)

    @classmethod
    def pieces(cls, P: Ints | Values, N: Ints | Values) -> "Sets":
        """One decision of each class that a set has, for sets of P positives and N negatives in whole, (n,) each."""
        there = np.column_stack([P > 0, N > 0])
        labels = np.broadcast_to([True, False], there.shape)[there]
        offsets = np.concatenate(([0], np.cumsum(there.sum(axis=1))))
        return cls(labels, offsets, totals=np.column_stack([N, P]).astype(np.float64))

    @cached_property
    def truth(self) -> Bools:
        """A mask of the decisions that are known to be positive, (total,)."""
        return np.asarray(self.labels if self.labels.dtype == np.bool_ else self.labels == 1)

    @cached_property
    def known(self) -> Bools | None:
        """A mask of the known labels, (total,); None if all labels are known."""
        if self.labels.dtype == np.bool_ or (self.labels >= 0).all():
            return None
        return np.asarray(self.labels >= 0)

    @cached_property
    def unary(self) -> Ints:
        """The positions of the scores, (total, 2): the score of a decision belongs to label 1, and label 0 has none."""
        return np.column_stack([np.full(self.total, -1), np.arange(self.total)])

    @cached_property
    def target(self) -> Values:
        """The vector with which labelings are compared, (total,): ``compared``, or the labels with 0 where unknown."""
        return self.truth.astype(np.float64) if self.compared is None else self.compared

    @cached_property
    def target_shift(self) -> Values | None:
        """``truth - target``, (total,); None if labelings are compared with the truth itself."""
        return None if self.compared is None else self.truth - self.compared

    @cached_property
    def positives(self) -> Ints:
        """The number of positive labels of each set in this batch, (n,)."""
        return count_true(self.truth, self.offsets)

    @cached_property
    def negatives(self) -> Ints:
        """The number of all other labels of each set in this batch, unknown ones included, (n,)."""
        return self.sizes - self.positives

    def encode(self, labels: NDArray[Any]) -> Values:
        return np.asarray(labels == 1, dtype=np.float64)

    def away(self, labels: NDArray[Any], dtype: Any = np.float64) -> Floats:
        if self.compared is not None or self.known is not None:
            return (self.encode(labels) - self.target).astype(dtype, copy=False)
        # The difference of bools as bytes takes one pass over p bytes instead of several over p floats.
        change = np.asarray(labels, dtype=np.bool_).view(np.int8) - self.truth.view(np.int8)
        return change.astype(dtype)

    def at_target(self, scores: Floats) -> Values:
        if self.compared is not None:
            return super().at_target(scores)
        return masked_sums(as_shaped(scores, self.total, "scores"), self.truth, self.offsets)

    def mistakes(self, labels: NDArray[Any]) -> Bools:
        # A labeling differs from the truth where the exclusive or is true.
        wrong = np.asarray(labels, dtype=np.bool_) ^ self.truth
        return wrong if self.known is None else wrong & self.known

    def count(self, label: int, areas: Values | None = None) -> Values:
        # A piece of a set knows the totals of the whole set, on which the loss depends.
        if self.totals is not None:
            return np.asarray(self.totals[:, label], dtype=np.float64)
        if areas is not None:
            chosen = self.truth if label == 1 else self.labels == 0
            return segment_sums(np.where(chosen, areas, 0.0), self.offsets)
        if label == 1 or self.known is None:
            return (self.positives if label == 1 else self.negatives).astype(np.float64)
        return count_true(self.labels == 0, self.offsets).astype(np.float64)

    def decide(self, scores: Floats) -> Bools:
        """The labels that ``scores`` (total,) predict: a decision is positive if its score is above 0."""
        return scores > 0

    def take(self, parts: Ints) -> "Sets":
        at = self.decisions(parts)
        # Sets of a checked batch need no second check, which __init__ would make.
        chosen = object.__new__(Sets)
        chosen.__dict__.update(
            labels=self.labels[at],
            offsets=chosen_offsets(parts, self.offsets),
            compared=None if self.compared is None else self.compared[at],
            totals=None if self.totals is None else self.totals[parts],
        )
        return chosen


def as_truth(given: Any) -> NDArray[Any]:
    """The labels of a batch of binary decisions: flat bools as they are, or whole numbers -1, 0 and 1 as int8."""
    labels = as_array(given, "labels")
    if labels.dtype.kind not in "biu" or labels.ndim != 1:
        got = f"{labels.dtype} of shape {labels.shape}"
        raise ValueError(f"labels must be bool, or whole numbers -1, 0 and 1, of shape (total,); got {got}.")
    if labels.dtype.kind != "b" and labels.size and (labels.min() < -1 or labels.max() > 1):
        raise ValueError(f"labels must be -1, 0 or 1; got {labels.min()} to {labels.max()}.")
    return labels if labels.dtype == np.bool_ else labels.astype(np.int8, copy=False)


@final
@dataclass(frozen=True, eq=False)
class Orders:
    """The order in which mistakes enter each set: the beginning of a permutation of its decisions.

    Parameters
    ----------
    items : (m,) int32, flat positions in ``Sets.labels``
    labels : (m,) bool, the labels at these positions
    offsets : (n+1,) int64; set ``i`` owns ``items[offsets[i]:offsets[i+1]]``, which may be empty
    """

    items: NDArray[np.int32]
    labels: Bools
    offsets: Ints

    @classmethod
    def of_mistakes(cls, sets: Sets, mistakes: Bools) -> "Orders":
        """The mistakes of each set in the order of their positions."""
        items = np.flatnonzero(mistakes).astype(np.int32)
        offsets = np.concatenate(([0], np.cumsum(count_true(mistakes, sets.offsets))))
        return cls(items, sets.truth[items], offsets)

    @property
    def sizes(self) -> Ints:
        """The number of ordered decisions of each set, (n,)."""
        return np.diff(self.offsets)


def check_orders(orders: object, batch: Batch) -> None:
    """Raise ValueError for what is no order of mistakes of the sets of ``batch``."""
    if not isinstance(orders, Orders):
        raise ValueError(f"orders must be Orders of mistakes; got {shown(orders)}.")
    items, ends = orders.items, orders.offsets
    for name, array, kind in (
        ("items", items, np.int32),
        ("labels", orders.labels, np.bool_),
        ("offsets", ends, np.int64),
    ):
        if not isinstance(array, np.ndarray) or array.ndim != 1 or array.dtype != kind:
            raise ValueError(f"{name} of orders must be a flat array of {np.dtype(kind)}; got {shown(array)}.")
    if len(ends) != len(batch) + 1 or ends[0] != 0 or (np.diff(ends) < 0).any():
        raise ValueError(f"offsets of orders must rise from 0, one for each of {len(batch)} sets and one more.")
    if len(items) != ends[-1] or len(orders.labels) != len(items):
        raise ValueError(f"orders must hold {ends[-1]} items and labels; got {len(items)} and {len(orders.labels)}.")
    owners = np.repeat(np.arange(len(batch)), np.diff(ends))
    inside = (items >= batch.offsets[owners]) & (items < batch.offsets[owners + 1])
    if not inside.all() or len(np.unique(items)) < len(items):
        raise ValueError("orders must hold different decisions of their own set.")


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
    binary = False
    """False, also for two labels, since each label has a score of its own here."""

    def __post_init__(self) -> None:
        as_count(self.k, "k", low=2, high=LARGEST_LABEL + 1)
        labels = as_codes(self.labels, self.k)
        self.__dict__.update(labels=labels, offsets=as_offsets(self.offsets, len(labels)))

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
