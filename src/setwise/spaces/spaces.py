"""Finite spaces of labels: matrices of truths from sets of labels, and back; and the space that is a list."""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.checks import Bools, Ints, Values, as_array, as_bools, as_reals, shown


class Space(ABC):
    """p labels, of which any number may be right for an input, none included.

    Labels are any hashable objects. They are compared by ``==``, as the keys of a dict. A subclass names the labels and
    gives their features, kappa; :class:`FiniteSpace` and :class:`Hierarchy` are such.

    Source: MLSP 2.

    Examples
    --------
    >>> from setwise.spaces import FiniteSpace, Space
    >>> space: Space = FiniteSpace(["sun", "rain"])
    >>> len(space), space.places["rain"]
    (2, 1)
    >>> # In the order of the columns.
    >>> space.decode(space.encode([["rain", "sun"], ["rain"]]))
    [['sun', 'rain'], ['rain']]
    """

    name: ClassVar[str]

    @classmethod
    def examples(cls) -> "list[Space]":
        """Spaces of a few labels, on which the tests try all sets of them."""
        return []

    @property
    @abstractmethod
    def names(self) -> tuple[Hashable, ...]:
        """The labels, in the order of the columns of :meth:`encode`."""

    @property
    @abstractmethod
    def kappa(self) -> Values | None:
        """The features of the labels, (p, q); None for the identity, where labels share nothing."""

    @cached_property
    def places(self) -> dict[Hashable, int]:
        """The column of each label."""
        return {label: j for j, label in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def encode(self, Y: Any, name: str = "Y") -> Bools:
        """The sets of labels as a matrix of truths (n, p).

        Parameters
        ----------
        Y : a list of n collections of labels, which may be empty; or an array (n, p) of 0 and 1. An array of two
            dimensions is always taken for such a matrix
        name : what Y is called in sentences
        """
        if len(getattr(Y, "shape", ())) == 2:
            given = as_array(self._in_order(Y, name), name)
            if given.shape[1] != len(self):
                raise ValueError(f"{name} must have a column for each of {len(self)} labels; got shape {given.shape}.")
            return as_bools(given, name)
        rows = members(Y, name, "a list of collections of labels")
        out = np.zeros((len(rows), len(self)), dtype=bool)
        for i, row in enumerate(rows):
            out[i, self._codes(row, f"{name}[{i}]")] = True
        return out

    def _in_order(self, Y: Any, name: str) -> Any:
        """A table with the labels as names of its columns, with these in the order of the space; others as they are."""
        columns = getattr(Y, "columns", None)
        if columns is None or list(columns) == list(range(len(self))):
            return Y
        found = list(columns)
        if len(found) != len(self) or set(found) != set(self.names):
            raise ValueError(f"{name} must have the labels {shown(list(self.names))} as columns; got {shown(found)}.")
        return Y[list(self.names)]

    def decode(self, matrix: Any) -> list[list[Any]]:
        """The labels of each row of a matrix of 0 and 1 (n, p), in the order of the columns."""
        given = as_array(matrix, "matrix")
        if given.ndim != 2 or given.shape[1] != len(self):
            raise ValueError(f"matrix must have shape (n, {len(self)}); got shape {given.shape}.")
        truths = as_bools(given, "matrix")
        return [[self.names[j] for j in np.flatnonzero(row)] for row in truths]

    def _codes(self, row: Any, name: str) -> Ints:
        """The columns of the labels of a collection."""
        codes = [code_of(label, self.places, name) for label in members(row, name, "a collection of labels")]
        return np.array(codes, dtype=np.int64)


def code_of(label: Any, places: dict[Hashable, int], name: str) -> int:
    """The number of a label; raises ValueError for one that the space does not have."""
    found = places.get(label) if is_hashable(label) else None
    if found is None:
        known = shown(list(places))
        raise ValueError(f"{name} must hold labels of the space, {known}; got {shown(label)}.")
    return found


def is_hashable(label: Any) -> bool:
    """Whether an object can be a label; tuples of lists, for one, cannot."""
    try:
        hash(label)
    except TypeError:
        return False
    return True


def equals_itself(label: Any) -> bool:
    """Whether a label can be found again; NaN and other marks of missing values cannot."""
    try:
        return bool(label == label)
    except (TypeError, ValueError):
        return False


def members(values: Any, name: str, what: str) -> list[Any]:
    """The members of a collection; text and dicts are refused, whose members are letters and keys."""
    # An array without dimensions says that it can be iterated over, and then cannot.
    single = isinstance(values, str | bytes | Mapping) or getattr(values, "shape", None) == ()
    if single or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be {what}; got {shown(values)}.")
    return list(values)


@final
@dataclass(frozen=True, eq=False)
class FiniteSpace(Space):
    """The labels of a list, each of which is right or wrong for an input: ``f(x, y) = x^T W kappa(y)``.

    Source: MLSP 2 and 5.1.

    Parameters
    ----------
    labels : distinct hashable objects, one or more
    features : kappa (p, q), the features of each label, so that labels with the same features share weights; None
        gives each label weights of its own

    Raises
    ------
    TypeError : if labels is no collection, as a text
    ValueError : if labels are not hashable, not distinct, or none, or features have another shape

    Examples
    --------
    >>> from setwise.spaces import FiniteSpace
    >>> space = FiniteSpace(["cat", "dog", "car"])
    >>> # Two rows, of which the second has no label.
    >>> space.encode([["dog", "cat"], []]).astype(int).tolist()
    [[1, 1, 0], [0, 0, 0]]
    >>> space.decode([[0, 0, 1]])
    [['car']]
    """

    labels: Any
    features: Any = None

    name: ClassVar[str] = "finite"

    @classmethod
    def examples(cls) -> list[Space]:
        return [FiniteSpace([0]), FiniteSpace(["a", ("b", 1), None], [[1.0, 0.0], [1.0, 1.0], [0.0, 2.0]])]

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", as_distinct(self.labels, "labels"))
        if self.features is None:
            return
        kappa = as_reals(self.features, "features")
        if kappa.ndim != 2 or len(kappa) != len(self.labels) or not kappa.size:
            raise ValueError(
                f"features must have shape (p, q) for p = {len(self.labels)} labels; got shape {kappa.shape}."
            )
        object.__setattr__(self, "features", kappa)

    @property
    def names(self) -> tuple[Hashable, ...]:
        return tuple(self.labels)

    @property
    def kappa(self) -> Values | None:
        return None if self.features is None else self.features


def as_distinct(labels: Any, name: str) -> tuple[Hashable, ...]:
    """``labels`` as a tuple of distinct hashable objects, one or more."""
    try:
        found = None if isinstance(labels, str | bytes | dict) else tuple(labels)
    except TypeError:
        found = None
    if found is None:
        raise TypeError(f"{name} must be a list of labels; got {shown(labels)}.")
    for label in found:
        # NaN is not equal to itself, so it would never be found again.
        if not is_hashable(label) or not equals_itself(label):
            raise ValueError(f"{name} must be hashable objects that equal themselves; got {shown(label)}.")
    if not found or len(set(found)) != len(found):
        raise ValueError(f"{name} must be distinct, and one or more; got {shown(labels)}.")
    return found
