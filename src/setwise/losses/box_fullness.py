"""The loss of images of which only boxes are known: nothing outside, and about a given share of each box inside."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.batch import Batch
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Ints, Values, as_array, as_choice, as_number, as_reals, shown
from setwise.core.loss import Loss
from setwise.core.terms import MaximumOfSums, Mistakes, RegionCounts, Term
from setwise.losses.functions import takes

BENDS = 4
"""A convex function with at most this number of linear pieces is maximized piece by piece."""

COMBINATIONS = 256
"""All combinations of the pieces of the boxes of a set are tried up to this number; else boxes are counts."""


@final
@dataclass(frozen=True, eq=False, repr=False)
class BoxFullness(Loss):
    """``mistakes on known labels + sum_b |c_b - R n_b|``, with c_b positives among the n_b decisions of box b.

    A batch tells the boxes by its labels: 0 outside of all boxes, -1 inside, as not known, and 0 or 1 for single
    decisions inside that are known all the same; these count in ``c_b`` by their known label. Where ``R n_b`` is no
    whole number no labeling has the loss 0, and a completion has the least loss. A batch without unknown labels has the
    number of mistakes as its loss, so images with full labels may stand beside those with boxes.

    Margin rescaling needs ``J^B`` cuts on graphs, for B boxes in one set and J linear pieces of the function of the
    count: J = 2 for one ratio, 3 for a range. With a function that is not convex, or with too many boxes, the maximum
    is bounded.

    Source: HOL Eq. 7, which it is with zeros outside and a single box without known decisions; HOL 4.2 for functions.

    Parameters
    ----------
    ratio : R in [0, 1]; or an array of them, (n,) for one of each set, and where ``boxes`` are given one for each
        number of a box, as for bags whose shares of positives are known; or a pair (low, high), between which the share
        costs nothing: each box then costs ``max(0, low n_b - c_b, c_b - high n_b)``; or any function
        ``f(counts, sizes)`` >= 0 of arrays, in pixels
    boxes : (total,) whole numbers, the number of the box of each decision inside its set, from 0 up, and -1 for none;
        None makes all decisions of a set without a known label one box. Decisions without a label in no box are free
    unit : ``"pixel"`` as above, or ``"share"``, which divides the loss of each set by its number of decisions

    Raises
    ------
    TypeError : if ratio is no number, array, pair or function of two arguments
    ValueError : if a ratio is not in [0, 1], boxes are no whole numbers from -1 on, their numbers do not fit the batch,
        unit is another word, or the function returns anything but finite numbers >= 0

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.losses import BoxFullness
    >>> # A box of four pixels, and two outside.
    >>> labels = np.array([0, -1, -1, -1, -1, 0], np.int8)
    >>> image = Sets(labels, offsets=np.array([0, 6]))
    >>> half = BoxFullness(0.5)
    >>> half.values(image, [0, 1, 1, 0, 0, 0]).item()  # the box is half full
    0.0
    >>> # One pixel outside is positive, and one too many inside.
    >>> half.values(image, [1, 1, 1, 1, 0, 0]).item()
    2.0
    """

    ratio: float | tuple[float, float] | NDArray[np.float64] | Callable[..., Any]
    boxes: Any = None
    unit: Literal["pixel", "share"] = "pixel"

    name: ClassVar[str] = "box_fullness"
    traits = frozenset()
    weak = True

    def __post_init__(self) -> None:
        as_choice(self.unit, "unit", ("pixel", "share"))
        if callable(self.ratio):
            if not takes(self.ratio, 2):
                raise TypeError(f"ratio must be a number, a pair or a function of (counts, sizes); got {self.ratio!r}.")
        elif isinstance(self.ratio, np.ndarray):
            ratios = as_reals(self.ratio, "ratio")
            if ratios.ndim != 1 or not ratios.size or ratios.min() < 0.0 or ratios.max() > 1.0:
                raise ValueError(
                    f"ratio must be numbers from 0 to 1, one for each set or box; got {shown(self.ratio)}."
                )
            object.__setattr__(self, "ratio", ratios)
        elif isinstance(self.ratio, tuple | list):
            if len(self.ratio) != 2:
                raise ValueError(f"ratio must be one number, a pair of them or a function; got {shown(self.ratio)}.")
            low, high = (as_number(value, "ratio", low=0.0, high=1.0) for value in self.ratio)
            if low > high:
                raise ValueError(f"ratio must be a pair (low, high) with low <= high; got {shown(self.ratio)}.")
            object.__setattr__(self, "ratio", (low, high))
        else:
            object.__setattr__(self, "ratio", as_number(self.ratio, "ratio", low=0.0, high=1.0))
        if self.boxes is not None:
            boxes = as_array(self.boxes, "boxes")
            if boxes.ndim != 1 or boxes.dtype.kind not in "iu" or not boxes.size or boxes.min() < -1:
                raise ValueError(f"boxes must be whole numbers from -1 on, (total,); got {shown(self.boxes)}.")
            object.__setattr__(self, "boxes", boxes.astype(np.int64))

    @classmethod
    def examples(cls, p: int) -> "list[BoxFullness]":
        return [BoxFullness(0.6), BoxFullness((0.3, 0.7), unit="share"), BoxFullness(_far_from_half)]

    def of_one_batch(self, batch: Batch) -> bool:
        return self.boxes is not None

    def check(self, batch: Batch) -> None:
        if self.boxes is not None and len(self.boxes) != batch.total:
            raise ValueError(f"boxes must number all {batch.total} decisions of the batch; got {len(self.boxes)}.")
        if isinstance(self.ratio, np.ndarray):
            wanted, what = (len(batch), "set") if self.boxes is None else (1 + int(self.boxes.max()), "number of a box")
            if len(self.ratio) != wanted:
                raise ValueError(f"ratio must hold {wanted} numbers, one for each {what}; got {len(self.ratio)}.")

    def _bind(self, batch: Batch) -> BoundLoss:
        unit = 1.0 / batch.sizes if self.unit == "share" else np.ones(len(batch))
        outside = Mistakes(unit[batch.owners])
        if batch.known is None:
            return BoundLoss(batch, (outside,))
        numbers = np.where(batch.known, -1, 0) if self.boxes is None else self.boxes
        return BoundLoss(batch, (outside, *self._inside(BoxMembers.of(batch, numbers), batch, unit)))

    def _inside(self, boxes: "BoxMembers", batch: Batch, unit: Values) -> list[Term]:
        """The terms of the boxes: maxima of linear functions where these are few, else functions of counts."""
        counts, sizes = boxes.grid()
        if callable(self.ratio):
            values = as_array(self.ratio(counts, sizes), "what ratio returns")
            if values.shape != counts.shape or values.dtype.kind not in "biuf":
                raise ValueError(f"ratio must return numbers of shape {counts.shape}; got shape {values.shape}.")
            values = values.astype(np.float64)
            if not (np.isfinite(values).all() and (values >= 0).all()):
                raise ValueError(f"ratio must return finite numbers >= 0; got {shown(values.min())}.")
            lines = boxes.lines(values)
        else:
            low, high = boxes.range_of(self.ratio, by_set=self.boxes is None)
            at = boxes.of_value
            values = np.maximum(np.maximum(low[at] * sizes - counts, counts - high[at] * sizes), 0.0)
            lines = boxes.two_sides(low, high)
        table = boxes.term(unit[boxes.owners[boxes.of_value]] * values)
        ranks = boxes.ranks
        if lines is None or lines.shape[2] ** (1 + ranks.max(initial=0)) > COMBINATIONS:
            return [table]
        terms: list[Term] = []
        for rank in range(1 + ranks.max(initial=-1)):
            mine = np.flatnonzero(ranks == rank)
            terms.append(boxes.largest(batch, mine, unit, lines, table))
        return terms

    def __repr__(self) -> str:
        ratio = getattr(self.ratio, "__name__", "f") if callable(self.ratio) else self.ratio
        ratio = f"{len(ratio)} ratios" if isinstance(ratio, np.ndarray) else ratio
        more = "" if self.boxes is None else f", {1 + int(self.boxes.max())} boxes"
        return f"BoxFullness({ratio}{more}{'' if self.unit == 'pixel' else ', share'})"


@final
@dataclass(frozen=True, eq=False)
class BoxMembers:
    """The boxes of a batch, by set: the unknown ``members`` of each, its ``sizes`` and its ``given`` positives."""

    members: Ints
    starts: Ints
    owners: Ints
    sizes: Values
    given: Values
    numbers: Ints

    @classmethod
    def of(cls, batch: Batch, numbers: Ints) -> "BoxMembers":
        inside = np.flatnonzero(numbers >= 0)
        most = 1 + numbers.max(initial=0)
        keys, box = np.unique(batch.owners[inside] * most + numbers[inside], return_inverse=True)
        labels = batch.labels[inside]
        free = labels == -1
        order = np.argsort(box[free], kind="stable")
        sizes, given = (np.bincount(box, weights, len(keys)) for weights in (None, labels == 1))
        starts = np.concatenate(([0], np.cumsum(np.bincount(box[free], minlength=len(keys)))))
        return cls(
            inside[free][order], starts, keys // most, sizes.astype(np.float64), given.astype(np.float64), keys % most
        )

    @property
    def of_value(self) -> Ints:
        """The box of each value in the tables of all boxes."""
        return np.repeat(np.arange(len(self.owners)), np.diff(self.starts) + 1)

    @property
    def ranks(self) -> Ints:
        """The place of each box among those of its set."""
        return np.arange(len(self.owners)) - np.searchsorted(self.owners, self.owners)

    def grid(self) -> tuple[Values, Values]:
        """All counts of positives of each box, and the size of the box beside each."""
        at = self.of_value
        free = np.arange(len(at)) - (self.starts[:-1] + np.arange(len(self.owners)))[at]
        return free + self.given[at], self.sizes[at]

    def term(self, tables: Values) -> RegionCounts:
        return RegionCounts(self.members, self.starts, self.owners, tables)

    def range_of(self, ratio: Any, by_set: bool) -> tuple[Values, Values]:
        """The least and the largest share of each box that costs nothing, (B,) each."""
        if isinstance(ratio, np.ndarray):
            own = ratio[self.owners if by_set else self.numbers]
            return own, own
        low, high = ratio if isinstance(ratio, tuple) else (ratio, ratio)
        return np.full(len(self.owners), low), np.full(len(self.owners), high)

    def two_sides(self, low: Values, high: Values) -> Values:
        """Constants and slopes (2, B, J) in the free counts of ``max(low n - c, c - high n)``, and 0 if low < high."""
        zeros, ones = np.zeros_like(self.sizes), np.ones_like(self.sizes)
        below, above = (low * self.sizes - self.given, -ones), (self.given - high * self.sizes, ones)
        sides = [below, above] if (low == high).all() else [below, (zeros, zeros), above]
        return np.stack([np.stack(part, axis=1) for part in zip(*sides, strict=True)])

    def lines(self, values: Values) -> Values | None:
        """Constants and slopes (2, B, J) of convex functions given by their values; None where they are not such."""
        found: list[list[tuple[float, float]]] = []
        for a, b in zip(self.starts[:-1] + np.arange(len(self.owners)), np.diff(self.starts) + 1, strict=True):
            f = values[a : a + b]
            slopes, slip = np.diff(f), 1e-12 * (1.0 + np.abs(f).max())
            if (np.diff(slopes) < -slip).any():
                return None
            # A new line begins where the slope changes.
            first = np.flatnonzero(np.concatenate(([True], np.diff(slopes) > slip)))
            found.append([(float(f[i] - slopes[i] * i), float(slopes[i])) for i in first if len(slopes)])
            # A box without a free decision has one value alone.
            found[-1] = found[-1] or [(float(f[0]), 0.0)]
        most = max(map(len, found), default=1)
        if most > BENDS:
            return None
        out = np.zeros((2, len(found), most))
        out[0] = -np.inf
        for k, lines in enumerate(found):
            out[:, k, : len(lines)] = np.transpose(lines)
        return out

    def largest(self, batch: Batch, mine: Ints, unit: Values, lines: Values, table: RegionCounts) -> MaximumOfSums:
        """The term of the boxes ``mine``, of which each set has one at most."""
        n, pieces = len(batch), lines.shape[2]
        constants, costs = np.full((n, pieces), -np.inf), np.zeros((pieces, batch.total, 2))
        constants[:, 0] = 0.0
        owners = self.owners[mine]
        constants[owners] = unit[owners, None] * lines[0, mine]
        widths = np.diff(self.starts)[mine]
        places = np.repeat(self.starts[mine] - np.concatenate(([0], np.cumsum(widths)[:-1])), widths)
        members = self.members[places + np.arange(widths.sum())]
        costs[:, members, 1] = np.repeat(unit[owners, None] * lines[1, mine], widths, axis=0).T
        begins = np.concatenate(([0], np.cumsum(widths)))
        at = np.repeat(table.table_starts[mine] - (begins[:-1] + np.arange(len(mine))), widths + 1)
        twin = RegionCounts(members, begins, owners, table.tables[at + np.arange(len(at))])
        return MaximumOfSums(constants, costs, twin)


def _far_from_half(counts: Values, sizes: Values) -> Values:
    """An example that bends at three places: a third to two thirds are free, and far from it costs twice."""
    off = np.maximum(np.abs(counts - sizes / 2) - sizes / 6, 0.0)
    return np.maximum(off, 2 * off - sizes / 6)
