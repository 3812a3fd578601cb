"""Windows of images: bags of visual words."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Ints, Values, as_array, as_count, as_kind, as_number, shown
from setwise.core.inference import Solution
from setwise.models.rows import RowModel
from setwise.spaces.boxes import LARGEST_SIDE, Boxes, ByWindows, as_boxes, as_lists, as_whole
from setwise.spaces.large_space import LargeSpace, Scored, named


@final
@dataclass(frozen=True, eq=False)
class WordImage:
    """An image as points that hold visual words.

    Source: the bags of visual words of MLSP 5.2.

    Parameters
    ----------
    height, width : in pixels
    points : (m, 3) whole numbers: the row, the column and the word of each point; several may share a pixel
    difficult : (u, 4) boxes (top, left, bottom, right) that nobody has verified: windows that overlap one by the
        threshold of the costs are neither right nor wrong; None for none

    Raises
    ------
    TypeError : if height or width is no whole number
    ValueError : if a side is below 1, or points or boxes do not lie inside the image or have another shape

    Examples
    --------
    >>> from setwise.spaces import WordImage
    >>> image = WordImage(240, 320, points=[[10, 20, 0], [200, 300, 5]])
    >>> image.points.shape, image.difficult.shape
    ((2, 3), (0, 4))
    """

    height: int
    width: int
    points: Any
    difficult: Any = None

    def __post_init__(self) -> None:
        for name in ("height", "width"):
            object.__setattr__(self, name, as_count(getattr(self, name), name, high=LARGEST_SIDE))
        points = as_whole(self.points, "points", 3, "m")
        rows, columns, _ = points.T
        if len(points) and (points.min() < 0 or rows.max() >= self.height or columns.max() >= self.width):
            raise ValueError(
                f"points must be rows 0..{self.height - 1}, columns 0..{self.width - 1} and words 0, 1, ...; got "
                f"{shown(points.tolist())}."
            )
        object.__setattr__(self, "points", points)
        object.__setattr__(self, "difficult", self.boxes(() if self.difficult is None else self.difficult, "difficult"))

    def boxes(self, boxes: Any, name: str) -> Ints:
        """``boxes`` as int64 (k, 4) inside this image; raises ValueError for others."""
        return as_boxes(boxes, name, (self.height, self.width))


@final
@dataclass(frozen=True)
class Windows(LargeSpace):
    """All windows of an image: ``f(x, y) = sum of w_(word of p) over the points p inside y, plus c``.

    X is a list of :class:`WordImage`, and Y a list of arrays (k_i, 4) of boxes ``(top, left, bottom, right)`` of pixels
    that hold the rows ``top..bottom-1`` and the columns ``left..right-1``. The weights are w (n_words,) and that of the
    constant, c.

    Source: MLSP 5.2; the best windows are searched as by Lampert, Blaschko and Hofmann (2009).

    Parameters
    ----------
    n_words : the number of words, which are 0..n_words-1
    stride : in pixels, 1 or more; windows that are searched begin and end at multiples of it, or at the lower or right
        border
    overlap : lists of windows above a threshold leave out what overlaps a better one of the list by this intersection
        over union; above 0, at most 1

    Raises
    ------
    TypeError : if a number is no number, or n_words or stride no whole one
    ValueError : if n_words or stride is below 1, or overlap is not in (0, 1]

    Examples
    --------
    >>> from setwise.spaces import Windows, WordImage
    >>> # Word 0 twice, word 1 once.
    >>> image = WordImage(2, 3, points=[[0, 0, 0], [1, 1, 0], [0, 2, 1]])
    >>> space = Windows(n_words=2)
    >>> batch, model = space.bind([image])
    >>> scores = model.scores(np.array([1.0, -1.0, 0.0]))
    >>> window, score = space.best(batch, scores, limit=1)[0][0]
    >>> window.tolist(), score  # word 0 is worth 1, word 1 is worth -1
    ([0, 0, 2, 2], 2.0)
    """

    n_words: int
    stride: int = 1
    overlap: float = 0.5

    name: ClassVar[str] = "windows"

    @classmethod
    def examples(cls) -> list[tuple[Any, Any]]:
        return [(Windows(2), [WordImage(2, 3, [[0, 0, 0], [1, 1, 0], [0, 2, 1]]), WordImage(1, 1, [])])]

    def __post_init__(self) -> None:
        as_count(self.n_words, "n_words", high=1 << 24)
        as_count(self.stride, "stride", high=LARGEST_SIDE)
        as_number(self.overlap, "overlap", low=0.0, high=1.0, open_low=True)

    def bind(self, X: Any, Y: Any = None, constant: float = 1.0) -> tuple[Boxes, RowModel]:
        """The batch of the right windows of n images, and the model of the scores of their points.

        Parameters
        ----------
        X : a list of images
        Y : a list of n arrays of boxes, each of which may be empty; None for images to predict
        constant : the size of the constant feature that all windows have; 0 leaves it out
        """
        if isinstance(X, str | bytes | dict) or not isinstance(X, Iterable):
            raise TypeError(f"X must be a list of WordImage; got {shown(X)}.")
        images = [as_kind(x, f"X[{i}]", WordImage, "WordImage(240, 320, points)") for i, x in enumerate(X)]
        if not images:
            raise ValueError("X must hold one image or more; got none.")
        for i, image in enumerate(images):
            if image.points[:, 2].max(initial=0) >= self.n_words:
                raise ValueError(
                    f"X[{i}] must hold words 0..{self.n_words - 1}; got {int(image.points[:, 2].max(initial=0))}."
                )
        truths = [image.boxes(y, f"Y[{i}]") for i, (image, y) in enumerate(zip(images, _lists(Y, images), strict=True))]
        batch = Boxes(
            [(image.height, image.width) for image in images],
            [image.points[:, :2] for image in images],
            truths,
            [image.difficult for image in images],
            self.stride,
        )
        return batch, self._features(images, batch, as_number(constant, "constant", low=0.0))

    def _features(self, images: list[WordImage], batch: Boxes, constant: float) -> RowModel:
        """A row for each point, which has a 1 at its word, and a row for the constant of each image."""
        columns = np.concatenate([np.append(image.points[:, 2], self.n_words) for image in images])
        values = np.ones(len(columns))
        last = batch.score_offsets[1:] - 1
        values[last] = constant
        if not constant:
            columns[last] = 0
        starts = np.arange(len(columns) + 1)
        X = csr_array((values, columns, starts), shape=(len(columns), self.n_words + bool(constant)))
        X.eliminate_zeros()
        return RowModel(X, batch.score_offsets, intercept=0.0)

    def widths(self, X: Any) -> tuple[int, ...]:
        """The number of words."""
        return (self.n_words,)

    def decode(self, labels: NDArray[Any]) -> Ints | None:
        """The window (4,) that the labeling of one image names, as ``Solution.labels``; None where it names none."""
        found = as_array(labels, "labels")
        if found.shape != (4,):
            raise ValueError(
                f"labels must be whole numbers of shape (4,), such as Solution.labels; got {shown(labels)}."
            )
        return named(found)

    def best(self, batch: Any, scores: Values, limit: int, threshold: float = -np.inf) -> list[list[Scored]]:
        """The ``limit`` best windows of each image; with a threshold a greedy list of those above it, see overlap."""
        search = ByWindows(self.overlap).prepare(BoundLoss(batch))
        lists = search.k_best(scores, limit) if threshold == -np.inf else search.above(scores, threshold, limit)
        return [[(self.decode(one.labels), one.value) for one in row] for row in lists]

    def boxes(self, solutions: list[Solution]) -> Ints:
        """The windows (k, 4) of a list of solutions of one image."""
        return np.array([solution.labels - 1 for solution in solutions], np.int64).reshape(-1, 4)


def _lists(Y: Any, images: list[WordImage]) -> list[Any]:
    """Y as one array for each image; an iterable that is not a list becomes one."""
    given = list(Y) if isinstance(Y, np.ndarray) and Y.ndim == 3 else Y
    return as_lists(given, len(images), "Y")
