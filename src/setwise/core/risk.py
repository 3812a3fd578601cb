"""A risk is the function of the weights that learners minimize; it is evaluated by planes below it.

Features map weights to scores; the map is affine. What is taken of single sets is kept, so that learners that visit one
set at a time do not take it again.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, final

import numpy as np

from setwise.core.batch import segments
from setwise.core.checks import Floats, Ints, Values, as_reals
from setwise.core.exceptions import Refusal
from setwise.core.pages import NOT_CONVEX


@final
@dataclass(frozen=True, eq=False)
class CuttingPlane:
    """A plane with ``risk(v) >= offset + <slope, v>`` for all v, made at a point w where ``value <= risk(w) <= upper``.

    ``value = offset + <slope, w>``; with exact inference the plane is tight at w and ``value == upper``. All of this
    holds up to ``rounding``, which bounds about how much floating point has changed the plane near w.
    """

    offset: float
    slope: Values
    value: float
    upper: float
    rounding: float = 0.0


@final
@dataclass(frozen=True, eq=False)
class Bundle:
    """Planes that a learner holds: ``risk(v) >= offsets_t + <slopes_t, v>`` for all v, up to ``roundings_t``; (t, ...).

    They lie below the whole risk each, or, if not ``whole``, below one part each, in the order of the parts.
    """

    offsets: Values
    slopes: Values
    roundings: Values
    whole: bool = True

    @property
    def cuts(self) -> tuple[CuttingPlane, ...]:
        """The planes of the whole risk one by one; none, if they are those of parts."""
        rows = zip(self.offsets, self.slopes, self.roundings, strict=True) if self.whole else ()
        return tuple(CuttingPlane(float(offset), slope, -np.inf, np.inf, float(lost)) for offset, slope, lost in rows)

    def at(self, w: Values) -> float:
        """The largest value of the planes at ``w``, less their rounding; of those of parts it is the sum."""
        known = self.offsets - self.roundings + self.slopes @ w
        return float(known.max(initial=-np.inf) if self.whole else known.sum())


@final
@dataclass(frozen=True, eq=False)
class PartPlanes:
    """The planes of b parts of a risk, made at one point: all fields are (b,), but ``slopes`` is (b, d).

    ``roundings`` None means 0. ``lengths`` are upper bounds of the Euclidean lengths of the slopes, None if unknown.
    """

    offsets: Values
    slopes: Values
    values: Values
    uppers: Values
    roundings: Values | None = None
    lengths: Values | None = None


class Risk(ABC):
    """A sum of ``n_parts`` functions of the weights; planes of parts add up to planes of the whole.

    A subclass decides where the parts are computed: in this process, in threads, or on other machines.

    Source: own; docs/architecture.md tells what learners and risks know of each other.

    Attributes
    ----------
    size : the number d of weights; it may grow with a cut, and then older planes are padded with zeros
    n_parts : the number of parts
    lower : (d,) the lower bounds of the weights, -inf for a free weight; None bounds no weight
    convex : whether the planes lie below the risk
    floors : (n_parts,) lower bounds of all values of the parts; None if none are known
    planes : planes that are known to lie below the whole risk; learners that make planes of the whole begin with them
    part_planes : one plane below each part; learners that make planes of parts begin with them
    iterations : the number of iterations behind these planes, where a fit goes on

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.models import RowModel
    >>> from setwise.risks import MeanRisk
    >>> from setwise.surrogates import LovaszHinge
    >>> risk = MeanRisk(RowModel([[1.0]], intercept=0.0), LovaszHinge("hamming").on(Sets.single([1])))
    >>> cut = risk.cut(np.array([0.5]))  # of max(0, 1 - w)
    >>> print(cut.value, cut.slope, cut.offset)  # the plane 1 - w
    0.5 [-1.] 1.0
    """

    size: int
    n_parts: int
    lower: Values | None = None
    convex: bool = True
    floors: Values | None = None
    planes: tuple[CuttingPlane, ...] = ()
    part_planes: Bundle | None = None
    iterations: int = 0

    @property
    def floor(self) -> float:
        """A lower bound of all values of the whole risk."""
        return -np.inf if self.floors is None else float(self.floors.sum())

    @abstractmethod
    def cut(self, w: Values, tol: float = 0.0) -> CuttingPlane:
        """A plane below the whole risk, made at ``w``; its value may be up to ``tol`` below the risk."""

    @abstractmethod
    def cuts(self, w: Values, parts: Ints, tol: float = 0.0) -> PartPlanes:
        """Planes below the chosen parts, made at ``w``; the sum of their values may be up to ``tol`` too low."""

    def majorant(self, w: Values) -> "Risk":
        """A convex risk that is nowhere below this one and equals it at ``w``; itself where it is convex."""
        if self.convex:
            return self
        raise Refusal(f"{type(self).__name__} has no convex majorant.", NOT_CONVEX)

    def redrawn(self, seed: int) -> "Risk":
        """The same risk with new noise, which depends on the seed alone; itself if it has no noise."""
        return self


class Features(ABC):
    """``s = base + Phi w`` for the sets of one batch, bound to their data X.

    Source: own; docs/adr/0002-surrogates-live-on-scores.md tells what models give and take.

    Attributes
    ----------
    size : the number d of weights
    lower : (d,) the lower bounds of the weights, -inf for a free weight; None bounds no weight
    base : (n_scores,) fixed scores that are added; None means 0
    row_lengths : (n_scores,) upper bounds of the Euclidean lengths of the rows of Phi, so that
        ``|s_i - base_i| <= row_lengths_i |w|``

    Examples
    --------
    >>> from setwise.models import RowModel
    >>> features = RowModel([[1.0, 2.0], [0.0, 3.0]], intercept=0.0)
    >>> w, g = np.array([1.0, -1.0]), np.array([1.0, 1.0])
    >>> features.scores(w), features.pullback(g)
    (array([-1., -3.]), array([1., 5.]))
    >>> float(features.scores(w) @ g) == float(w @ features.pullback(g))  # one map and its adjoint
    True
    """

    size: int
    lower: Values | None = None
    base: Values | None = None
    row_lengths: Values

    @abstractmethod
    def scores(self, w: Values, parts: Ints | None = None) -> Values:
        """``base + Phi w`` of the chosen sets, or of all sets, flat in the layout of the batch."""

    @abstractmethod
    def pullback(self, gradient: Floats, parts: Ints | None = None) -> Values:
        """``Phi^T g``, (d,): the adjoint of the linear part of :meth:`scores`, which turns gradients into slopes."""

    @abstractmethod
    def pullbacks(self, gradient: Floats, parts: Ints | None = None) -> Values:
        """``Phi_i^T g_i`` of each of the b chosen sets, or of all sets, (b, d)."""

    @abstractmethod
    def based(self, base: Values | None, lower: Values | None) -> "Features":
        """The features with the same Phi, other fixed scores and other bounds."""

    def with_base(self, scores: Values, parts: Ints | None, ends: Ints) -> Values:
        """``base + s`` for ``s = Phi w`` of the chosen sets, or of all; ``ends`` tell where scores of sets begin."""
        if self.base is None:
            return scores
        return scores + (self.base if parts is None else self.base[segments(parts, ends)])

    def centred(self, w0: Values) -> "Features":
        """``base + Phi w0 + Phi v`` with ``v >= lower - w0``: the features whose weights v are steps away from w0."""
        return self.based(self.scores(w0), None if self.lower is None else self.lower - w0)


def as_lower(lower: Any, size: int) -> Values | None:
    """Check lower bounds of weights and return them as float64 (size,), all below +inf; None bounds no weight."""
    # A bound of -inf is fine and means a free weight; a bound of +inf leaves no weight at all.
    return None if lower is None else as_reals(lower, "lower", (size,), finite=False)


def as_base(base: Any, size: int) -> Values | None:
    """Check fixed scores and return them as finite float64 (size,); None stands for no fixed scores."""
    return None if base is None else as_reals(base, "base", (size,))


Taken = TypeVar("Taken")

LARGEST = 1 << 22
"""What belongs to batches of more scores is not kept: it would double their memory."""


@final
class SetCache(Generic[Taken]):
    """What was taken of each set alone.

    Parameters
    ----------
    n_scores : the number of scores of all sets
    """

    def __init__(self, n_scores: int) -> None:
        self._keeps, self._kept = n_scores <= LARGEST, dict[int, Taken]()

    def of(self, parts: Ints, take: Callable[[Ints], Taken]) -> Taken:
        """``take(parts)``, from the time before where ``parts`` is one number that was asked for."""
        single = self._keeps and isinstance(parts, np.ndarray) and parts.dtype == np.int64 and parts.shape == (1,)
        if not single:
            return take(parts)
        part = int(parts[0])
        if part not in self._kept:
            self._kept[part] = take(parts)
        return self._kept[part]
