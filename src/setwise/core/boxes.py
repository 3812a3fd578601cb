"""Batches of images whose labelings are single windows, and what a wrong window costs by its overlap."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self, final

import numpy as np

from setwise.core.batch import Batch
from setwise.core.checks import Ints, Values, as_array, as_count, as_factor, as_number, shown
from setwise.core.exceptions import Refusal
from setwise.core.pages import WINDOW_COSTS
from setwise.core.single_labels import FlipCosts, Flips
from setwise.kernels.windows import mark_inside, overlap_costs, sums_inside

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
            self._as_boxes(i, given, f"difficult[{i}]") for i, given in enumerate(as_lists(difficult, n, "difficult"))
        )

    def _as_boxes(self, i: int, given: Any, name: str) -> Ints:
        """Boxes (k, 4) of an image."""
        found = as_array(given, name)
        if found.size == 0:
            return np.zeros((0, 4), np.int64)
        if found.ndim != 2 or found.shape[1] != 4 or found.dtype.kind not in "iu":
            raise ValueError(f"{name} must be whole numbers of shape (k, 4); got {found.dtype} of shape {found.shape}.")
        self.check_labels(i, found, name)
        return found.astype(np.int64)

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

    def take(self, parts: Ints) -> Self:
        chosen = self.chosen(parts)
        chosen.shapes, chosen.stride = self.shapes[parts], self.stride
        chosen.points, chosen.cells, chosen.difficult = (
            tuple(lists[i] for i in parts) for lists in (self.points, self.cells, self.difficult)
        )
        return chosen


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
    >>> from setwise.core.boxes import Boxes
    >>> from setwise.losses import MaxLoss, Overlap
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

    def __post_init__(self) -> None:
        as_number(self.threshold, "threshold", low=0.0, high=1.0, open_low=True)
        as_factor(self.factor)

    @property
    def most(self) -> float:
        return 1.0

    def check(self, batch: Batch) -> None:
        if not isinstance(batch, Boxes):
            raise Refusal(
                f"{self!r} refuses {type(batch).__name__}: it costs windows of images, as Boxes.", WINDOW_COSTS
            )

    def of(self, batch: Boxes, i: int, labels: Ints) -> Values:
        found = np.ascontiguousarray(labels, np.int64)
        return overlap_costs(found, batch.truths[i], batch.difficult[i], self.threshold)

    def forbidding(self, batch: Boxes, i: int) -> Ints:
        """The boxes (k, 4) of image i: a wrong window that overlaps one of them by the threshold costs nothing."""
        return np.concatenate([batch.truths[i], batch.difficult[i]])


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
    found, (height, width) = as_array(points, name), (int(side) for side in shape)
    if found.size == 0:
        return np.zeros((0, 2), np.int64)
    if found.ndim != 2 or found.shape[1] != 2 or found.dtype.kind not in "iu":
        raise ValueError(f"{name} must be whole numbers of shape (m, 2); got {found.dtype} of shape {found.shape}.")
    if found.min() < 0 or found[:, 0].max() >= height or found[:, 1].max() >= width:
        raise ValueError(f"{name} must lie in 0..{height - 1} and 0..{width - 1}; got {shown(found.tolist())}.")
    return np.array(found, np.int64, order="C")


def as_lists(lists: Any, n: int, name: str) -> list[Any]:
    """One list for each of n images; None stands for n empty ones."""
    if lists is None:
        return [()] * n
    if not isinstance(lists, list | tuple) or len(lists) != n:
        raise ValueError(f"{name} must be a list of {n} arrays, one for each image; got {shown(lists)}.")
    return list(lists)
