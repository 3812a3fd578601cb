"""Base functions: submodular functions of binary labels that vanish where all of them are 0.

Cuts of lattices and of other graphs, concave functions of the size, modular functions, and those of the user. Several
cuts share one network.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.checks import LARGEST, Bools, Ints, Values, as_array, as_count, as_reals, as_scores, shown
from setwise.core.exceptions import Refusal
from setwise.core.networks import Graphs
from setwise.core.pages import DISTRIBUTIONS
from setwise.inference.max_flow import wirings
from setwise.kernels.max_flow import arcs_of


class ConditionalFunction(NamedTuple):
    """A function of the free labels: ``f(A + y) - f(A) = function(y) + <linear, y>``, where A are the labels set to 1.

    Attributes
    ----------
    function : of the same kind, of the labels that are free
    linear : (free,)
    constant : f(A), the value where all free labels are 0
    """

    function: "BaseFunction"
    linear: Values
    constant: float


class BaseFunction(ABC):
    """A submodular function f of p labels, ``f(y) + f(z) >= f(min(y, z)) + f(max(y, z))``, with ``f(0) = 0``.

    These are the f_k of :class:`setwise.probabilistic.LogSupermodularDistribution` (LSM 2.1 and 4). A function of one's
    own is a :class:`setwise.probabilistic.CallableSetFunction`, or derives from this class.

    Attributes
    ----------
    total : p, the number of labels

    Examples
    --------
    >>> from setwise.probabilistic import Cut
    >>> function = Cut(3, [[0, 1], [1, 2]])
    >>> function.values(np.array([[True, False, True], [True, True, False]]))
    array([2., 1.])
    >>> function.gains(np.array([0, 1, 2]))  # of the labels in this order: the values are 1, 1, 0
    array([ 1.,  0., -1.])
    """

    total: int

    @abstractmethod
    def values(self, labels: Bools) -> Values:
        """The value f of each row of ``labels`` (n, p), (n,)."""

    def gains(self, order: Ints) -> Values:
        """What each label adds to f where the labels become 1 in the given order, (p,)."""
        rows = np.zeros((self.total + 1, self.total), dtype=bool)
        for k, i in enumerate(order):
            rows[k + 1 :, i] = True
        return np.diff(self.values(rows))

    def turns(self, labels: Bools) -> Values:
        """What f gains if each label is flipped alone, ``f(y ^ e_i) - f(y)`` at y = ``labels`` (p,), (p,)."""
        return self.values(labels ^ np.eye(self.total, dtype=bool)) - self.values(labels[None])

    @property
    def largest(self) -> float:
        """An upper bound of the sum of the absolute values of the terms of f, for all labelings."""
        return float(np.abs(self.gains(np.arange(self.total))).sum())

    @abstractmethod
    def condition(self, fixed: NDArray[np.int8]) -> ConditionalFunction:
        """The function of the labels that are -1 in ``fixed`` (p,), at least one, where the others are 0 and 1."""


STEPS = ((0, 1), (1, 0), (1, 1), (1, -1))
"""The directions of the edges of an image, in rows and columns, ordered as in :class:`setwise.core.networks.Grids`."""


class Image(NamedTuple):
    """The edges of an image that have these directions, which are among ``STEPS``."""

    height: int
    width: int
    steps: tuple[tuple[int, int], ...]

    @property
    def edges(self) -> Ints:
        """The two pixels of each edge, (m, 2), direction by direction; pixels count row by row."""
        height, width, steps = self
        numbers = np.arange(height * width).reshape(height, width)
        edges = [np.zeros((0, 2), np.int64)]
        for down, right in steps:
            left = slice(max(-right, 0), width - max(right, 0))
            there = slice(max(right, 0), width - max(-right, 0))
            edges.append(np.stack([numbers[: height - down, left].ravel(), numbers[down:, there].ravel()], axis=1))
        return np.concatenate(edges)


def lattice_of(images: Sequence[Image], factors: Values) -> tuple[Graphs, Values]:
    """The lattice of images of one height and width, and the weights of its edges.

    The weight of an edge is the sum of the factors of the images that have its direction.
    """
    height, width, _ = images[0]
    sums = dict.fromkeys(STEPS, 0.0)
    for factor, one in zip(factors, images, strict=True):
        for step in one.steps:
            sums[step] += float(factor)
    straight = {step for one in images for step in one.steps} <= set(STEPS[:2])
    neighbors = 4 if straight else 8
    weights = [
        np.full((height - down) * max(width - abs(right), 0), sums[down, right])
        for down, right in STEPS[: neighbors // 2]
    ]
    return Graphs.images([np.zeros((height, width), dtype=bool)], neighbors), np.concatenate(weights)


SLIP = 1e-15
"""Second differences above 0 by no more than this share of the largest value are rounding; all bounds allow for it."""


@final
@dataclass(frozen=True, eq=False)
class Cut(BaseFunction):
    """``f(y) = sum_e w_e [y_a != y_b]`` for the edges (a, b) of a graph, w >= 0.

    It is the cut of LSM 2.1; :meth:`grid` makes that of an image.

    Parameters
    ----------
    total : the number of labels
    edges : (m, 2) whole numbers, the two different labels that each edge joins
    weights : (m,) finite, 0 or above; None takes 1 for each edge

    Attributes
    ----------
    lattice : the image whose edges these are, all of weight 1; None for other graphs

    Raises
    ------
    ValueError, TypeError : for shapes, types and labels other than these
    OverflowError : for weights whose sums leave float64
    Refusal : for weights below 0

    Examples
    --------
    >>> from setwise.probabilistic import Cut
    >>> Cut(3, [[0, 1], [1, 2]], [1.0, 5.0]).values(np.array([[True, False, False], [True, True, False]]))
    array([1., 5.])
    >>> Cut.grid(2, 2).edges.tolist()  # to the right, then down
    [[0, 1], [2, 3], [0, 2], [1, 3]]
    """

    total: int
    edges: Any
    weights: Any = None
    lattice: Image | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        as_count(self.total, "total")
        edges = as_array(self.edges, "edges")
        edges = np.zeros((0, 2), np.int64) if edges.size == 0 else edges
        if edges.dtype.kind not in "iu" or edges.ndim != 2 or edges.shape[1] != 2:
            raise ValueError(f"edges must be whole numbers of shape (m, 2); got {edges.dtype} of shape {edges.shape}.")
        edges = edges.astype(np.int64)
        odd = ((edges < 0) | (edges >= self.total)).any(axis=1) | (edges[:, 0] == edges[:, 1])
        if odd.any():
            raise ValueError(
                f"edges must join different labels of 0..{self.total - 1}; got {shown(edges[odd][0].tolist())}."
            )
        weights = np.ones(len(edges)) if self.weights is None else as_sizes(self.weights, len(edges), "weights")
        if (weights < 0).any():
            raise Refusal(
                f"Cut refuses weights below 0: it would not be submodular; got {weights.min():.4g}.", DISTRIBUTIONS
            )
        object.__setattr__(self, "edges", edges)
        object.__setattr__(self, "weights", weights.copy())

    @classmethod
    def grid(cls, height: int, width: int, direction: tuple[int, int] | None = None) -> "Cut":
        """The cut of an image, whose labels are its pixels row by row, each joined with its neighbors.

        ``direction`` keeps the edges of one direction alone, in rows and columns: (0, 1) to the right, (1, 0) down,
        (1, 1) and (1, -1) along the diagonals; None takes the first two.
        """
        shape = as_count(height, "height"), as_count(width, "width")
        if direction is not None and direction not in STEPS:
            raise ValueError(f"direction must be (0, 1), (1, 0), (1, 1) or (1, -1); got {shown(direction)}.")
        image = Image(*shape, STEPS[:2] if direction is None else (direction,))
        made = cls(height * width, image.edges)
        object.__setattr__(made, "lattice", image)
        return made

    def values(self, labels: Bools) -> Values:
        ends = labels[:, self.edges]
        return np.asarray((ends[..., 0] != ends[..., 1]) @ self.weights)

    def gains(self, order: Ints) -> Values:
        place = np.empty(self.total, np.int64)
        place[order] = np.arange(self.total)
        # An edge is cut by the label of its two ends that becomes 1 first, and joined by the other one.
        own = np.sort(place[self.edges], axis=1)
        first, last = (np.bincount(own[:, end], self.weights, self.total) for end in (0, 1))
        return np.asarray(first - last)

    @property
    def largest(self) -> float:
        return float(self.weights.sum())

    def turns(self, labels: Bools) -> Values:
        apart = labels[self.edges[:, 0]] != labels[self.edges[:, 1]]
        gained = np.repeat(np.where(apart, -self.weights, self.weights), 2)
        return np.asarray(np.bincount(self.edges.ravel(), gained, self.total), dtype=np.float64)

    def condition(self, fixed: NDArray[np.int8]) -> ConditionalFunction:
        free = fixed < 0
        number = np.cumsum(free) - 1
        ends = free[self.edges]
        both, one = ends.all(axis=1), ends.any(axis=1) & ~ends.all(axis=1)
        edges, weights = self.edges[one], self.weights[one]
        inner = np.where(free[edges[:, 0]], edges[:, 0], edges[:, 1])
        outer = np.where(free[edges[:, 0]], edges[:, 1], edges[:, 0])
        sign = np.where(fixed[outer] == 1, -1.0, 1.0)
        linear = np.bincount(number[inner], sign * weights, int(free.sum())).astype(np.float64)
        rest = Cut(int(free.sum()), number[self.edges[both]], self.weights[both])
        constant = float(self.values((fixed == 1)[None])[0])
        return ConditionalFunction(rest, linear, constant)


@final
@dataclass(frozen=True, eq=False)
class ConcaveSizeFunction(BaseFunction):
    """``f(y) = h(sum_i y_i) - h(0)`` for a concave h (LSM 2.1).

    Parameters
    ----------
    table : (p + 1,) finite, h of 0, 1, .., p; its second differences must not be above 0

    Raises
    ------
    ValueError : for another shape, and for numbers that are not finite
    OverflowError : for differences that leave float64
    Refusal : for a table that is not concave

    Examples
    --------
    >>> from setwise.probabilistic import ConcaveSizeFunction
    >>> function = ConcaveSizeFunction(np.sqrt(np.arange(5)))  # of four labels
    >>> function.values(np.array([[True, False, False, False], [True, True, True, True]]))
    array([1., 2.])
    >>> ConcaveSizeFunction([0.0, 1.0, 3.0])
    Traceback (most recent call last):
    setwise.core.exceptions.Refusal: ConcaveSizeFunction refuses this table: it is not concave at 1, by 1, so ...
    """

    table: Any

    def __post_init__(self) -> None:
        table = as_reals(self.table, "table")
        if table.ndim != 1 or len(table) < 2:
            raise ValueError(f"table must have p + 1 >= 2 numbers; got shape {table.shape}.")
        with np.errstate(over="ignore", invalid="ignore"):
            table = table - table[0]
            bent = np.diff(table, 2)
        if not (np.abs(table).max() <= LARGEST):
            raise OverflowError("table is too large: its differences overflow float64. Scale it down.")
        # What table[0] was added for is lost to rounding, which counts as a bend too.
        if len(bent) and bent.max() > SLIP * np.abs(table).max():
            k = int(bent.argmax()) + 1
            raise Refusal(
                f"ConcaveSizeFunction refuses this table: it is not concave at {k}, by {bent.max():.3g}, "
                "so f would not be submodular.",
                DISTRIBUTIONS,
            )
        object.__setattr__(self, "table", table)
        object.__setattr__(self, "_largest", float(np.abs(table).max()))

    @property
    def largest(self) -> float:
        """The largest absolute number of the table, or of the whole one of which this is a part."""
        largest: float = self.__dict__["_largest"]
        return largest

    def _part(self, first: int, last: int) -> "ConcaveSizeFunction":
        """The function of ``first``, .., ``last`` ones, less its first value; its rounding is that of the whole."""
        made = object.__new__(ConcaveSizeFunction)
        object.__setattr__(made, "table", self.table[first : last + 1] - self.table[first])
        object.__setattr__(made, "_largest", self.largest)
        return made

    @property
    def total(self) -> int:  # type: ignore[override]
        """The number of labels."""
        return len(self.table) - 1

    def values(self, labels: Bools) -> Values:
        return np.asarray(self.table[labels.sum(axis=1)])

    def gains(self, order: Ints) -> Values:
        return np.diff(self.table)

    def turns(self, labels: Bools) -> Values:
        k = int(labels.sum())
        return np.asarray(self.table[np.where(labels, k - 1, k + 1)] - self.table[k])

    def condition(self, fixed: NDArray[np.int8]) -> ConditionalFunction:
        free, ones = int((fixed < 0).sum()), int((fixed == 1).sum())
        rest = self._part(ones, ones + free)
        return ConditionalFunction(rest, np.zeros(free), float(self.table[ones]))


@final
@dataclass(frozen=True, eq=False)
class ModularFunction(BaseFunction):
    """``f(y) = <slopes, y>``, as of an observation whose weight is learned (LSM 4.3).

    Parameters
    ----------
    slopes : (p,) finite

    Raises
    ------
    ValueError : for another shape, and for numbers that are not finite
    OverflowError : for slopes whose sums leave float64

    Examples
    --------
    >>> from setwise.probabilistic import Cut, LogSupermodularDistribution, ModularFunction
    >>> observed = np.array([1.0, -1.0, 1.0])  # 1 where a pixel was seen as positive, and -1
    >>> model = LogSupermodularDistribution([Cut.grid(1, 3), ModularFunction(-observed)], weights=[1.0, 2.0])
    >>> model.minimum().labels.tolist()  # seen as negative: 2 to change, and 2 edges to keep
    [True, False, True]
    """

    slopes: Any

    def __post_init__(self) -> None:
        slopes = as_reals(self.slopes, "slopes")
        if slopes.ndim != 1 or not len(slopes):
            raise ValueError(f"slopes must have shape (p,), one for each label; got shape {slopes.shape}.")
        object.__setattr__(self, "slopes", as_sizes(slopes, len(slopes), "slopes"))

    @property
    def total(self) -> int:  # type: ignore[override]
        """The number of labels."""
        return len(self.slopes)

    def values(self, labels: Bools) -> Values:
        return np.asarray(labels @ self.slopes)

    def gains(self, order: Ints) -> Values:
        return np.asarray(self.slopes[order])

    def turns(self, labels: Bools) -> Values:
        return np.asarray(np.where(labels, -self.slopes, self.slopes))

    def condition(self, fixed: NDArray[np.int8]) -> ConditionalFunction:
        free = fixed < 0
        return ConditionalFunction(
            ModularFunction(self.slopes[free]), np.zeros(int(free.sum())), float(self.slopes @ (fixed == 1))
        )


@final
@dataclass(frozen=True, eq=False)
class CallableSetFunction(BaseFunction):
    """``f(y) = function(y) - function(0)`` for a function that its user knows to be submodular.

    Nothing checks that it is. Minima are found by evaluations of it alone, which takes longer than minimum cuts.

    Source: own; compared with the enumeration of all labelings in tests/probabilistic/test_functions.py.

    Parameters
    ----------
    total : the number of labels
    function : of labels (p,), bool; it returns a number in nats, as all f

    Raises
    ------
    ValueError, TypeError : for a total below 1, what is no function, and values that are no finite numbers

    Examples
    --------
    >>> from setwise.probabilistic import LogSupermodularDistribution, CallableSetFunction, exact
    >>> covered = [{0, 1}, {1, 2}, {5}]  # what each of three sensors sees
    >>> def coverage(labels):
    ...     return len(set().union(*(seen for seen, on in zip(covered, labels) if on)))
    >>> function = CallableSetFunction(3, coverage)
    >>> function.values(np.array([[True, False, False], [True, True, True]]))
    array([2., 4.])
    >>> exact(LogSupermodularDistribution([function])).marginals.round(2)
    array([0.14, 0.14, 0.27])
    """

    total: int
    function: Callable[[Bools], float]

    def __post_init__(self) -> None:
        as_count(self.total, "total")
        if not callable(self.function):
            raise TypeError(f"function must be a function of labels; got {shown(self.function)}.")
        none = as_reals(self.function(np.zeros(self.total, dtype=bool)), "function(labels)", ())
        object.__setattr__(self, "_none", float(none))

    def values(self, labels: Bools) -> Values:
        none: float = self.__dict__["_none"]
        return np.array([float(as_reals(self.function(row), "function(labels)", ())) - none for row in labels])

    def condition(self, fixed: NDArray[np.int8]) -> ConditionalFunction:
        free, base = fixed < 0, fixed == 1

        def rest(labels: Bools) -> float:
            whole = base.copy()
            whole[free] = labels
            return self.function(whole)

        constant = float(self.values(base[None])[0])
        count = int(free.sum())
        return ConditionalFunction(CallableSetFunction(count, rest), np.zeros(count), constant)


def as_sizes(values: Any, size: int, name: str) -> Values:
    """Check numbers (size,), whose sums must not leave float64, and return them as float64."""
    return np.asarray(as_scores(values, size, name), dtype=np.float64)


def as_rows(labels: ArrayLike, total: int, name: str = "labels") -> Bools:
    """Check labels (n, p) or (p,) of 0 and 1 and return them as rows."""
    given = as_array(labels, name)
    rows = given[None] if given.ndim == 1 else given
    if rows.ndim != 2 or rows.shape[1] != total:
        raise ValueError(f"{name} must have shape (n, {total}) or ({total},); got shape {given.shape}.")
    if rows.dtype != bool and (rows.dtype.kind not in "iuf" or not np.isin(rows, (0, 1)).all()):
        raise ValueError(f"{name} must be 0 and 1; got {shown(given.tolist())}.")
    return np.asarray(rows == 1)


def joined(total: int, cuts: Sequence[Cut], factors: Values) -> tuple[Graphs, Values]:
    """One graph of all cuts, and the weights (m,) of its edges, each cut times its factor.

    It is a lattice, on which minimum cuts are faster, where all cuts are those of one image; else each edge occurs
    once.
    """
    images = [one.lattice for one in cuts if one.lattice is not None]
    if len(images) == len(cuts) and len({one[:2] for one in images}) == 1:
        return lattice_of(images, factors)
    edges = np.concatenate([np.zeros((0, 2), np.int64), *(one.edges for one in cuts)])
    weights = np.concatenate([np.zeros(0), *(f * one.weights for f, one in zip(factors, cuts, strict=True))])
    pairs, place = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True)
    sums = np.bincount(place.ravel(), weights, len(pairs)).astype(np.float64)
    # The labels say nothing.
    return Graphs(np.zeros(total, dtype=bool), np.array([0, total]), pairs), sums


class CutNetwork(NamedTuple):
    """The network of the cuts among some base functions, and the capacities of each, (K, arcs); 0 for all others."""

    network: Any
    capacities: Values


def wiring_of(terms: Sequence[BaseFunction], p: int) -> CutNetwork | None:
    """The cuts among the terms as one network; None if a term is neither a cut nor modular."""
    if not all(isinstance(one, Cut | ModularFunction) for one in terms):
        return None
    cuts = [one for one in terms if isinstance(one, Cut)]
    (wires,) = wirings(joined(p, cuts, np.ones(len(cuts)))[0], p)
    capacities = np.zeros((len(terms), arcs_of(wires.network, p)))
    for row, own in zip(np.flatnonzero([isinstance(one, Cut) for one in terms]), np.eye(len(cuts)), strict=True):
        wires.place(joined(p, cuts, own)[1], capacities[row])
    return CutNetwork(wires.network, capacities)
