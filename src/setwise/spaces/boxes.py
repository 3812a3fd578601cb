"""Single windows of images: the batch, what a wrong window costs by its overlap, and the search for the best ones.

Branch and bound with a budget, and then the search over pairs of rows, find the worst window, the best ones, and lists
of them.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from threading import Lock
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.batch import Batch
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import (
    Floats,
    Ints,
    Values,
    as_array,
    as_count,
    as_factor,
    as_limit,
    as_number,
    as_scores,
    shown,
)
from setwise.core.exceptions import Refusal
from setwise.core.inference import Inference, Maximizer, Solution, Solutions, Takes
from setwise.core.pages import FORCED_LABELS, WINDOW_COSTS
from setwise.core.single_labels import EqualCosts, FlipCosts, Flips
from setwise.inference.single_labels import single_labels
from setwise.kernels.jit import Array
from setwise.kernels.subwindows import subwindows_above, windows_above
from setwise.kernels.threads import map_units
from setwise.kernels.windows import grid_sums, mark_inside, overlap_costs, sums_inside

LARGEST_SIDE = 1 << 15
"""No image has a longer side, in pixels; areas of windows then fit float64 exactly."""


@final
class Boxes(Flips):
    """Windows of n images, of which some are right: ``f(y) = sum of the scores of the points inside + c``.

    A window ``y = (top, left, bottom, right)`` holds the pixels of the rows ``top..bottom-1`` and of the columns
    ``left..right-1``, one of each or more. The scores of an image are those of its points, then c.

    Parameters
    ----------
    shapes : (n, 2) the heights and widths of the images in pixels
    points : for each image where its points lie, (m_i, 2) rows and columns; several may share a pixel
    truths : for each image its right windows, (k_i, 4), distinct; None for none at all, as in images to predict
    difficult : for each image the boxes that nobody has verified, (u_i, 4); what overlaps one may be right or wrong.
        None for none at all
    stride : windows that are searched begin and end at its multiples or at the lower or right border; right ones need
        not
    """

    def methods(self, auto: Any) -> tuple[Inference, ...]:
        return (ByWindows(),)

    def __init__(self, shapes: Any, points: Any, truths: Any = None, difficult: Any = None, stride: int = 1) -> None:
        self.shapes = as_shapes(shapes)
        self.stride = as_count(stride, "stride", high=LARGEST_SIDE)
        n = len(self.shapes)
        self.points = tuple(
            as_points(given, f"points[{i}]", shape)
            for i, (given, shape) in enumerate(zip(as_lists(points, n, "points"), self.shapes, strict=True))
        )
        self.cells = tuple(np.ascontiguousarray(places // self.stride) for places in self.points)
        super().__init__(as_lists(truths, n, "truths"), np.full(n, 4), np.array([len(p) + 1 for p in self.points]))
        self.difficult = tuple(
            as_boxes(given, f"difficult[{i}]", shape)
            for i, (given, shape) in enumerate(zip(as_lists(difficult, n, "difficult"), self.shapes, strict=True))
        )

    @property
    def largest(self) -> Ints:
        heights, widths = self.shapes.T
        return np.stack([heights, widths, heights + 1, widths + 1], axis=1).ravel()

    def check_labels(self, i: int, labels: Ints, name: str) -> None:
        check_boxes(labels, self.shapes[i], name)

    def indicators(self, labels: Ints) -> Values:
        named = self.named(labels)
        windows = labels.reshape(-1, 4) - 1
        out = np.zeros(self.n_scores)
        for i in np.flatnonzero(named).tolist():
            own = out[self.score_offsets[i] : self.score_offsets[i + 1]]
            mark_inside(self.points[i], windows, i, own)
            own[-1] = 1.0
        return out

    def label_scores(self, i: int, scores: Values, labels: Ints) -> Values:
        inside = sums_inside(self.points[i], scores, np.ascontiguousarray(labels, np.int64))
        return np.asarray(inside + scores[-1])

    def own(self, parts: Ints) -> dict[str, Any]:
        lists = {"points": self.points, "cells": self.cells, "difficult": self.difficult}
        own = {name: tuple(each[i] for i in parts) for name, each in lists.items()}
        return {"shapes": self.shapes[parts], "stride": self.stride, **own}


@final
@dataclass(frozen=True)
class Overlap(FlipCosts):
    """1 for right windows; for others 0 if they overlap a right or a difficult one by ``threshold`` or more, else 1.

    The overlap is the area of the intersection over that of the union. So what finds a right window without being equal
    to it costs nothing, whatever its score is.

    Source: MLSP 5.2, with a threshold of 0.5. Difficult windows are setwise's own.

    Parameters
    ----------
    threshold : above 0, at most 1
    factor : by which the cost is multiplied, above 0

    Raises
    ------
    Refusal : for a batch that is not one of windows
    TypeError, ValueError : if threshold is no number in (0, 1], or factor none above 0

    Examples
    --------
    >>> from setwise.spaces.boxes import Boxes
    >>> from setwise.losses import MaxLoss
    >>> from setwise.spaces import Overlap
    >>> # Rows and columns 0 to 3 are right.
    >>> image = Boxes(shapes=[[9, 9]], points=[[[1, 1]]], truths=[[[0, 0, 4, 4]]])
    >>> # Right, 12/16 of it, 4/16 of it.
    >>> windows = [[0, 0, 4, 4], [0, 0, 4, 3], [0, 0, 4, 1]]
    >>> loss = MaxLoss(Overlap())
    >>> [loss.values(image, np.array(window) + 1).item() for window in windows]
    [1.0, 0.0, 1.0]
    """

    threshold: float = 0.5
    factor: float = 1.0
    binary: ClassVar[bool] = True
    most = 1.0

    def __post_init__(self) -> None:
        as_number(self.threshold, "threshold", low=0.0, high=1.0, open_low=True)
        as_factor(self.factor)

    def check(self, batch: Batch) -> None:
        if not isinstance(batch, Boxes):
            raise Refusal(
                f"{self!r} refuses {type(batch).__name__}: it gives costs to windows of images, such as Boxes.",
                WINDOW_COSTS,
            )

    def of(self, batch: Boxes, i: int, labels: Ints) -> Values:
        found = np.ascontiguousarray(labels, np.int64)
        return overlap_costs(found, batch.truths[i], batch.difficult[i], self.threshold)

    def forbidding(self, batch: Boxes, i: int) -> Ints:
        """The boxes (k, 4) of image i: a wrong window that overlaps one of them by the threshold costs nothing."""
        return np.concatenate([batch.truths[i], batch.difficult[i]])


def as_boxes(boxes: Any, name: str, shape: Any) -> Ints:
    """Boxes (k, 4) inside an image, each of one pixel or more."""
    found = as_whole(boxes, name, 4, "k")
    if len(found):
        check_boxes(found, shape, name)
    return found


def check_boxes(boxes: Ints, shape: Any, name: str) -> None:
    """Raise ValueError for boxes (k, 4), k >= 1, that are not inside an image or hold no pixel."""
    top, left, bottom, right = boxes.T
    height, width = (int(side) for side in shape)
    if ((top < 0) | (left < 0) | (bottom > height) | (right > width) | (top >= bottom) | (left >= right)).any():
        raise ValueError(
            f"{name} must be boxes 0 <= top < bottom <= {height}, 0 <= left < right <= {width}; got "
            f"{shown(boxes.tolist())}."
        )


def as_shapes(shapes: Any) -> Ints:
    """Heights and widths (n, 2) of one image or more."""
    found = as_array(shapes, "shapes")
    if found.ndim != 2 or found.shape[1] != 2 or found.dtype.kind not in "iu" or not len(found):
        raise ValueError(f"shapes must be whole numbers of shape (n, 2), n >= 1; got {shown(found.tolist())}.")
    if found.min() < 1 or found.max() > LARGEST_SIDE:
        raise ValueError(f"shapes must be from 1 to {LARGEST_SIDE}; got {shown(found.tolist())}.")
    return found.astype(np.int64)


def as_points(points: Any, name: str, shape: Any) -> Ints:
    """Rows and columns (m, 2) of the points of an image."""
    found, (height, width) = as_whole(points, name, 2, "m"), (int(side) for side in shape)
    if len(found) and (found.min() < 0 or found[:, 0].max() >= height or found[:, 1].max() >= width):
        raise ValueError(f"{name} must lie in 0..{height - 1} and 0..{width - 1}; got {shown(found.tolist())}.")
    return found


def as_whole(values: Any, name: str, width: int, count: str) -> Ints:
    """Rows of whole numbers, (m, width); nothing at all is no rows."""
    found = as_array(values, name)
    if found.size == 0 and found.ndim:
        return np.zeros((0, width), np.int64)
    if found.ndim != 2 or found.shape[1] != width or found.dtype.kind not in "iu":
        raise ValueError(
            f"{name} must be whole numbers of shape ({count}, {width}); got {found.dtype} of shape {found.shape}."
        )
    if found.dtype.kind == "u" and found.max() > np.iinfo(np.int64).max:
        raise ValueError(f"{name} must fit int64; got {found.max()}.")
    # A copy, for the numbers were checked once and are read without further checks.
    return np.array(found, np.int64, order="C")


def as_lists(lists: Any, n: int, name: str, what: str = "arrays, one for each image") -> list[Any]:
    """One list for each of n inputs; None stands for n empty ones."""
    if lists is None:
        return [()] * n
    if not isinstance(lists, list | tuple) or len(lists) != n:
        raise ValueError(f"{name} must be a list of {n} {what}; got {shown(lists)}.")
    return list(lists)


STEPS_OF_A_SET = 10_000
"""To halve a set of windows takes .2 us, and as long as some 1,000 steps of the search over pairs of rows. So by
default branch and bound may take a tenth of the time of that search, which grows faster with the image
(``benchmarks/windows.py``)."""

SWAPPED = [1, 0, 3, 2]
"""The numbers of a window where rows and columns change places."""

FEWEST_SETS = 100
"""With a smaller budget branch and bound is not begun by default, as on coarse grids."""

MOST_SETS = 500_000
"""Branch and bound never visits more sets for one list, which bounds its memory to 60 MB."""


class Points(NamedTuple):
    """Where the points of an image lie.

    Attributes
    ----------
    height, width : of the image, in pixels
    cells : (m, 2) int64, the rows and columns of the points, divided by the stride
    stride : windows begin and end at its multiples, and at the lower and the right border
    """

    height: int
    width: int
    cells: Array
    stride: int = 1


class WindowSearchResult(NamedTuple):
    """Windows (k, 4) as (top, left, bottom, right), the sums of their scores (k,), and what it took to find them.

    Attributes
    ----------
    visited : sets of windows that branch and bound has halved
    searches : pairs of rows between which windows were searched with the boxes that forbid them
    method : what has closed the search: "bound" of all windows, "branch and bound" or "row pairs"
    """

    windows: Array
    sums: Array
    visited: int
    searches: int
    method: str


@lru_cache(maxsize=256)
def lines(size: int, stride: int) -> Array:
    """The pixels at which windows may begin or end: the multiples of the stride, and the border."""
    return np.append(np.arange(0, size, stride), size).astype(np.int64)


def search(
    points: Points,
    scores: Array,
    boxes: Array,
    limits: Array,
    floor: float = -np.inf,
    count: int = 1,
    overlap: float = 1.0,
    budget: int | None = None,
) -> WindowSearchResult:
    """Finds up to ``count`` windows whose scores have a sum above ``floor``, each the best one that is allowed.

    A window is allowed if it overlaps each of ``boxes`` (m, 4) by less than its limit (m,), and each window found
    before it by less than ``overlap``; an overlap of 1 excludes equal windows alone. Which of equal sums comes first is
    left open. O(h^2 w) for h rows and w columns, the fewer of them being the rows. Branch and bound may visit
    ``budget`` sets before for each window asked for; None stands for about a tenth of the time of the other search.
    """
    if not np.maximum(scores, 0.0).sum() > floor:
        return WindowSearchResult(np.zeros((0, 4), np.int64), np.zeros(0), 0, 0, "bound")
    # The fewer lines are the rows.
    if points.width < points.height:
        turned = Points(points.width, points.height, points.cells[:, ::-1], points.stride)
        found = search(turned, scores, boxes[:, SWAPPED], limits, floor, count, overlap, budget)
        return found._replace(windows=found.windows[:, SWAPPED])
    rows, columns = lines(points.height, points.stride), lines(points.width, points.stride)
    cells, h, w = np.ascontiguousarray(points.cells), len(rows) - 1, len(columns) - 1
    boxes, limits = np.ascontiguousarray(boxes, np.int64), np.ascontiguousarray(limits, np.float64)
    # Around a window that alone is left out are many sets, and few pairs of rows have to be searched again.
    usual = h * (h + 1) // 2 * w // STEPS_OF_A_SET
    allowed = (usual if usual >= FEWEST_SETS else 0) if budget is None else budget
    allowed = 0 if count > 1 and overlap == 1.0 else min(allowed * count, MOST_SETS)
    first, sums, visited, known, best = np.zeros((0, 4), np.int64), np.zeros(0), 0, np.full(4, -1), floor
    if allowed:
        positive, negative = grid_sums(cells, scores, h, w, 1), grid_sums(cells, scores, h, w, -1)
        first, sums, visited, closed, known, best = subwindows_above(
            positive, rows, columns, negative, boxes, limits, floor, count, overlap, allowed
        )
        if closed:
            return WindowSearchResult(_pixels(first, rows, columns), sums, visited, 0, "branch and bound")
        if len(first):
            boxes = np.concatenate((boxes, _pixels(first, rows, columns)))
            limits = np.concatenate((limits, np.full(len(first), overlap)))
    left = count - len(first)
    # If a window is known that may be the last one, only a better one matters.
    known_last = left == 1 and known[0] >= 0
    both, low = grid_sums(cells, scores, h, w, 0), best if known_last else floor
    windows, values, searches = windows_above(both, rows, columns, boxes, limits, low, left, overlap)
    if known_last and not len(windows):
        windows, values = known[None], np.array([best])
    if len(first):
        windows, values = np.concatenate([first, windows]), np.concatenate([sums, values])
    return WindowSearchResult(_pixels(windows, rows, columns), values, visited, searches, "row pairs")


def _pixels(windows: Array, rows: Array, columns: Array) -> Array:
    """Windows (k, 4) of pixels instead of lines."""
    out = np.empty_like(windows)
    out[:, 0::2], out[:, 1::2] = rows[windows[:, 0::2]], columns[windows[:, 1::2]]
    return out


_LOCK = Lock()


@dataclass
class SearchStatistics:
    """What the searches of a maximizer took so far, and of the parts taken from it.

    Attributes
    ----------
    calls : the number of searches
    visited : the sets of windows that branch and bound has halved, in all of them
    searches : the pairs of rows that were searched with the boxes that forbid windows there, in all of them
    closed : how many searches ended by each method
    """

    calls: int = 0
    visited: int = 0
    searches: int = 0
    closed: Counter[str] = field(default_factory=Counter)

    def count(self, found: list[WindowSearchResult]) -> None:
        """Add what searches took."""
        with _LOCK:
            self.calls += len(found)
            self.visited += sum(one.visited for one in found)
            self.searches += sum(one.searches for one in found)
            self.closed.update(one.method for one in found)


@final
@dataclass(frozen=True)
class ByWindows(Inference):
    """The worst window of each image, or none: ``max lambda (1 - v f)``, or ``lambda - v f``; lists of windows.

    Exact for equal costs and for those by overlap (:class:`setwise.spaces.Overlap`). Right windows are checked one by
    one. Others are searched by branch and bound over sets of windows (Lampert, Blaschko and Hofmann 2009), in which a
    set costs nothing if one box alone overlaps all of it, and after a budget by the maximum over pairs of rows,
    O(h^2 w) for images of h rows and w columns. ``above`` lists windows greedily: each is the best one that overlaps no
    window before it by ``overlap``. ``k_best`` leaves nothing out. The maximizer counts in ``statistics`` what it took.

    Parameters
    ----------
    overlap : intersection over union, above 0 and at most 1; at 1 equal windows alone are left out of lists
    budget : so many sets may be visited for each window that is asked for; None for about a tenth of the time of the
        search over pairs of rows, 0 for that search alone

    Raises
    ------
    TypeError : for an ``overlap`` that is no number, and a ``budget`` that is no whole number
    ValueError : for an ``overlap`` outside of (0, 1], and a ``budget`` below 0
    Refusal : from :meth:`prepare`, for batches other than ``Boxes``, for other costs of windows, and for costs by
        overlap under margin rescaling

    Examples
    --------
    >>> from setwise.spaces.boxes import Boxes
    >>> from setwise.spaces import ByWindows
    >>> from setwise.losses import MaxLoss
    >>> batch = Boxes(shapes=[[1, 3]], points=[[[0, 0], [0, 2]]], truths=[[[0, 0, 1, 1]]])  # an image of 1 x 3 pixels
    >>> found = ByWindows().prepare(MaxLoss().bind(batch), slack=True).maximize([2.0, -1.0, 0.0])
    >>> print(found.labels - 1, found.values)  # the window of two pixels has f = 2, and is not the right one
    [0 0 1 2] [3.]
    """

    overlap: float = 0.5
    budget: int | None = None

    name: ClassVar[str] = "by_windows"
    about: ClassVar[str] = "branch and bound over windows, then pairs of rows"
    takes: ClassVar[Takes] = single_labels(Boxes)

    def __post_init__(self) -> None:
        as_number(self.overlap, "overlap", low=0.0, high=1.0, open_low=True)
        if self.budget is not None:
            as_count(self.budget, "budget", low=0)

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        if not all(isinstance(term, EqualCosts | Overlap) for term in bound_loss.terms):
            return (
                f"ByWindows refuses {bound_loss!r}: it takes equal costs or those by overlap. Use MaxLoss(Overlap())."
            )
        if not slack and any(isinstance(term, Overlap) for term in bound_loss.terms):
            return (
                f"ByWindows refuses margin rescaling of {bound_loss!r}: a window that holds the same points as a right "
                "one has its score f and costs 0, so the hinge is at least max(1 - f, f), 1/2 or more whatever the "
                "weights are. Use rescaling='slack'."
            )
        return None

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return _ByWindows(self, bound_loss, slack, SearchStatistics())


@final
class _ByWindows(Maximizer):
    method: ByWindows

    def __init__(self, method: ByWindows, bound_loss: BoundLoss, slack: bool, statistics: SearchStatistics) -> None:
        self.method, self.bound_loss, self.slack, self.statistics = method, bound_loss, slack, statistics
        assert isinstance(bound_loss.batch, Boxes)
        self.boxes = bound_loss.batch
        self.costs: FlipCosts | None = bound_loss.terms[0] if bound_loss.terms else None  # type: ignore[assignment]
        self.cost = 0.0 if self.costs is None else self.costs.factor

    def take(self, parts: Ints) -> Maximizer:
        return _ByWindows(self.method, self.bound_loss.take(parts), self.slack, self.statistics)

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        labels = np.zeros(self.boxes.total, np.int64)
        # Under slack rescaling a window without cost is worth 0, as much as none.
        if self.cost or not self.slack:
            units = list(enumerate(self._own(scores)))
            answers = map_units(self._worst, units)
            self.statistics.count([found for _, found in answers])
            for i, (label, _) in enumerate(answers):
                if label is not None:
                    labels[4 * i : 4 * i + 4] = label + 1
        return self.solved(scores, labels)

    def _own(self, scores: Floats) -> list[Values]:
        """The scores of each image."""
        return np.split(np.asarray(scores, np.float64), self.boxes.score_offsets[1:-1])

    def _worst(self, unit: tuple[int, Values]) -> tuple[Ints | None, WindowSearchResult]:
        """The worst window of an image, None where none is worth more than 0; and the search for it."""
        (i, own), cost, truths = unit, self.cost, self.boxes.truths[unit[0]]
        value, label = 0.0, None
        if len(truths):
            f = self.boxes.label_scores(i, own, truths)
            values = cost * (1.0 - f) if self.slack else cost - f
            if values.max() > 0.0:
                value, label = float(values.max()), truths[int(values.argmax())]
        if isinstance(self.costs, Overlap):
            forbidding, limit = self.costs.forbidding(self.boxes, i), self.costs.threshold
        else:
            # Only a window that is equal to a right one overlaps it by 1.
            forbidding, limit = truths, 1.0
        # Another window must be worth more.
        floor = value / cost - 1.0 if self.slack else value - cost
        found = self._search(i, own, forbidding, limit, floor)
        return (found.windows[0] if len(found.windows) else label), found

    def _search(
        self, i: int, own: Values, boxes: Ints, limit: float, floor: float, count: int = 1, overlap: float = 1.0
    ) -> WindowSearchResult:
        """The best windows of an image whose score is above ``floor``."""
        height, width = self.boxes.shapes[i].tolist()
        points = Points(height, width, self.boxes.cells[i], self.boxes.stride)
        limits = np.full(len(boxes), limit)
        return search(points, own[:-1], boxes, limits, floor - float(own[-1]), count, overlap, self.method.budget)

    def above(self, scores: ArrayLike, threshold: float, limit: int = 1000) -> list[list[Solution]]:
        """For every image windows of a score above ``threshold``, at most ``limit`` of them, chosen greedily.

        Each is the best window that overlaps none before it by ``overlap`` of the method or more.
        """
        floor, count = as_limit(threshold, "threshold"), as_count(limit, "limit")
        none = np.zeros((0, 4), np.int64)

        def listed(unit: tuple[int, Values]) -> WindowSearchResult:
            return self._search(*unit, none, 1.0, floor, count, self.method.overlap)

        own = self._listable(scores)
        answers = map_units(listed, list(enumerate(own)))
        self.statistics.count(answers)
        lists = [self._solutions(i, found, s) for i, (found, s) in enumerate(zip(answers, own, strict=True))]
        # Sums by differences may be above the threshold by their rounding alone.
        return [[one for one in row if one.value > floor] for row in lists]

    def _listable(self, scores: ArrayLike) -> list[Values]:
        """The scores of each image, for lists of its windows."""
        if self.costs is not None or any(len(rows) for rows in self.boxes.truths):
            raise Refusal(
                f"k_best and above refuse {self.bound_loss!r} with right windows: they list windows by their scores. "
                "Take a batch without truths, and no loss.",
                FORCED_LABELS,
            )
        return self._own(as_scores(scores, self.boxes.n_scores))

    def _ranked(self, scores: ArrayLike) -> list[Iterator[Solution]]:
        return [self._falling(i, own) for i, own in enumerate(self._listable(scores))]

    def _falling(self, i: int, own: Values) -> Iterator[Solution]:
        """All windows of an image, best first, which are searched in lists of growing length."""
        seen, count = np.zeros((0, 4), np.int64), 8
        while True:
            found = self._search(i, own, seen, 1.0, -np.inf, count)
            self.statistics.count([found])
            yield from self._solutions(i, found, own)
            if len(found.sums) < count:
                return
            seen, count = np.concatenate([seen, found.windows]), 4 * count

    def _solutions(self, i: int, found: WindowSearchResult, own: Values) -> list[Solution]:
        """The windows of image i that were found, with their scores as sums of the points inside."""
        scores = self.boxes.label_scores(i, own, found.windows)
        status = f"ByWindows: {found.method}"
        return [Solution(y + 1, f, f, True, status) for y, f in zip(found.windows, scores.tolist(), strict=True)]
