"""Batches of sets of independent binary decisions, in flat arrays; the sets may differ in size."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.arrays import Bools, Floats, Ints, Values
from setwise.core.batch import Batch
from setwise.core.cached import cached_property
from setwise.core.checks import as_array, as_labels, as_offsets, as_reals, as_shaped, shown
from setwise.kernels.segments import chosen_offsets, count_true, masked_sums, segment_sums


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

    def __post_init__(self) -> None:
        labels = as_truth(self.labels)
        # The kernels index decisions by int32.
        if len(labels) > np.iinfo(np.int32).max:
            raise ValueError(f"labels must be at most 2^31 - 1; got {len(labels)} of them.")
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "offsets", as_offsets(self.offsets, len(labels)))
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

    @property
    def n_labels(self) -> int:
        """The number of labels of a decision: two."""
        return 2

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
