"""Spaces of labels that are too many to list: from inputs and right labels to a batch and a model.

Also lists of candidates that differ by input.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.batch import Batch, Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Ints, Values, as_reals, shown
from setwise.core.risk import Features
from setwise.inference.auto import Auto
from setwise.models.rows import RowModel
from setwise.spaces.spaces import members

Scored = tuple[Any, float]
"""A label and its score."""


class LargeSpace(ABC):
    """Labels that are too many to list, of which any number may be right for an input, none included.

    A subclass turns inputs and their right labels into a batch and a model by :meth:`bind`, and labelings of the batch
    back into labels by :meth:`decode`. :class:`setwise.MultilabelStructuredPredictor` takes one.

    Source: MLSP 3.

    Examples
    --------
    >>> from setwise.spaces import LargeSpace, Matchings
    >>> isinstance(Matchings(), LargeSpace)
    True
    >>> # Two right assignments.
    >>> batch, model = Matchings().bind([np.ones((2, 3, 1))], [[[0, 1], [2, 0]]])
    >>> # The weights are that of the feature and that of the constant.
    >>> batch.truths[0].tolist(), model.size
    ([[0, 1], [2, 0]], 2)
    """

    name: ClassVar[str]

    @classmethod
    def examples(cls) -> list[tuple[Any, Any]]:
        """Spaces, each with a list of inputs that have few labels: tests compare searches with lists of all labels."""
        return []

    @abstractmethod
    def bind(self, X: Any, Y: Any = None, constant: float = 1.0) -> tuple[Batch, Features]:
        """The batch of the right labels of n inputs, and the model of their scores.

        Parameters
        ----------
        X : a list of n inputs
        Y : a list of n collections of labels, each of which may be empty; None for inputs to predict
        constant : the size of the constant feature that all labels have; 0 leaves it out

        Raises
        ------
        ValueError, TypeError : for inputs and labels that the space does not have
        """

    def decode(self, labels: NDArray[Any]) -> Any:
        """The label of one input that a labeling of the batch names, as in Y; None where it names none."""
        return named(labels)

    def widths(self, X: Any) -> tuple[int, ...]:
        """The numbers of features of inputs that :meth:`bind` has taken, for which there are weights."""
        return (int(np.shape(X[0])[-1]),)

    def best(self, batch: Any, scores: Values, limit: int, threshold: float = -np.inf) -> list[list[Scored]]:
        """The labels of each input with scores above ``threshold`` and these, best first, and at most ``limit``.

        ``batch`` is one without right labels.
        """
        found = Auto().prepare(BoundLoss(batch))
        lists = found.k_best(scores, limit) if threshold == -np.inf else found.above(scores, threshold, limit)
        return [[(self.decode(one.labels), one.value) for one in row] for row in lists]


def as_arrays(X: Any, axes: int, shape: str) -> list[Values]:
    """X as a list of finite arrays with so many axes, none of them empty, the last one equal in all of them."""
    found = [as_reals(x, f"X[{i}]") for i, x in enumerate(members(X, "X", f"a list of arrays {shape}"))]
    if not found:
        raise ValueError(f"X must hold one array {shape} or more; got none.")
    for i, x in enumerate(found):
        if x.ndim != axes or x.size == 0:
            raise ValueError(f"X[{i}] must have shape {shape}, no axis of it empty; got shape {x.shape}.")
        if x.shape[-1] != found[0].shape[-1]:
            raise ValueError(f"X[{i}] must have {found[0].shape[-1]} features, like X[0]; got {x.shape[-1]}.")
    return found


def as_right(Y: Any, n: int) -> list[list[Any]]:
    """Y as a list of n lists of labels; None stands for no right labels."""
    if Y is None:
        return [[] for _ in range(n)]
    rows = members(Y, "Y", "a list of collections of labels")
    if len(rows) != n:
        raise ValueError(f"Y must hold a collection of labels for each of {n} inputs; got {len(rows)}.")
    return [members(row, f"Y[{i}]", "a collection of labels") for i, row in enumerate(rows)]


def as_numbers(label: Any, width: int, name: str, what: str) -> Ints:
    """One label as whole numbers (width,)."""
    try:
        found = np.asarray(label)
    except (TypeError, ValueError, OverflowError):
        found = np.zeros(0)
    if found.shape != (width,) or found.dtype.kind not in "iu":
        raise ValueError(f"{name} must hold {what} of shape ({width},); got {shown(label)}.")
    return found.astype(np.int64)


def as_labels_of(Y: Any, widths: list[int], what: str) -> list[Ints]:
    """The right labels of inputs, each as whole numbers (width,) of its input; refusals say ``what`` they are."""
    return [
        as_written([as_numbers(y, width, f"Y[{i}]", what) for y in rows], width, f"Y[{i}]")
        for i, (rows, width) in enumerate(zip(as_right(Y, len(widths)), widths, strict=True))
    ]


def as_written(rows: list[Ints], width: int, name: str) -> Ints:
    """Distinct labels as int64 (m, width)."""
    found = np.array(rows, dtype=np.int64).reshape(-1, width)
    if len(np.unique(found, axis=0)) < len(found):
        raise ValueError(f"{name} must hold each label once; got {shown(found.tolist())}.")
    return found


def offsets_of(sizes: list[int]) -> Ints:
    """Where parts of these sizes begin and end in a flat array."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def named(labels: Any) -> Ints | None:
    """The numbers that a labeling of one input holds, or None where it names no label."""
    found = np.asarray(labels)
    if found.ndim != 1 or found.size == 0 or found.dtype.kind not in "iu" or found.min() < 0:
        raise ValueError(
            f"labels must be whole numbers of shape (width,), such as Solution.labels; got {shown(labels)}."
        )
    return found.astype(np.int64) - 1 if found.all() else None


@final
@dataclass(frozen=True, eq=False)
class Candidates(LargeSpace):
    """Lists of labels that differ by input, as region proposals or n-best parses: ``f(x, y) = <w, x_y> + c``.

    X is a list of arrays (m_i, d), the features of the candidates of each input, and Y a list of collections of the
    numbers 0..m_i-1 of right ones. They are few enough to be decided one by one, so the batch is that of independent
    decisions, for which costs are numbers or a function of the truth.

    Source: MLSP 2, with label sets of the inputs' own.

    Examples
    --------
    >>> from setwise.spaces import Candidates
    >>> # One input with three candidates, of one feature each.
    >>> X = [[[2.0], [0.5], [-1.0]]]
    >>> batch, model = Candidates().bind(X)
    >>> # The weight of the feature, and that of the constant: the feature minus one.
    >>> scores = model.scores(np.array([1.0, -1.0]))
    >>> Candidates().best(batch, scores, limit=2)[0]
    [(0, 1.0), (1, -0.5)]
    """

    name: ClassVar[str] = "candidates"

    @classmethod
    def examples(cls) -> list[tuple[Any, Any]]:
        return [(Candidates(), [np.array([[2.0], [0.5], [-1.0]]), np.array([[1.0]])])]

    def bind(self, X: Any, Y: Any = None, constant: float = 1.0) -> tuple[Sets, Features]:
        arrays = as_arrays(X, 2, "(m, d)")
        offsets = offsets_of([len(x) for x in arrays])
        right = np.zeros(int(offsets[-1]), dtype=bool)
        for i, rows in enumerate(as_right(Y, len(arrays))):
            chosen = _as_places(rows, len(arrays[i]), f"Y[{i}]")
            right[offsets[i] + np.array(chosen, dtype=np.int64)] = True
        return Sets(right, offsets), RowModel(np.concatenate(arrays), offsets, constant)

    def best(self, batch: Any, scores: Values, limit: int, threshold: float = -np.inf) -> list[list[Scored]]:
        rows = [scores[a:b] for a, b in pairwise(batch.offsets.tolist())]
        orders = [np.argsort(-row, kind="stable")[:limit].tolist() for row in rows]
        return [
            [(j, float(row[j])) for j in order if row[j] > threshold] for row, order in zip(rows, orders, strict=True)
        ]

    def decode(self, labels: NDArray[Any]) -> list[int]:
        """The numbers of the candidates of one input that a labeling (m_i,) says are right."""
        found = np.asarray(labels)
        if found.ndim != 1 or found.dtype.kind not in "biu":
            raise ValueError(f"labels must be booleans of shape (m,), such as Solution.labels; got {shown(labels)}.")
        places: list[int] = np.flatnonzero(found).tolist()
        return places


def _as_places(rows: list[Any], size: int, name: str) -> list[int]:
    """Different whole numbers from 0 to size - 1."""
    for place in rows:
        if isinstance(place, bool | np.bool_) or not isinstance(place, int | np.integer):
            raise TypeError(f"{name} must hold whole numbers, those of candidates; got {shown(place)}.")
        if not 0 <= place < size:
            raise ValueError(f"{name} must hold candidates 0..{size - 1}; got {place}.")
    if len(set(rows)) < len(rows):
        raise ValueError(f"{name} must hold each label once; got {shown(rows)}.")
    return rows
