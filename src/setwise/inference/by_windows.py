"""Windows of images by branch and bound and by pairs of rows: the worst one, the best ones, and lists of them."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import ClassVar, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.boxes import Boxes, Overlap
from setwise.core.checks import Floats, Ints, Values, as_count, as_limit, as_number, as_scores
from setwise.core.exceptions import Refusal
from setwise.core.inference import Inference, Maximizer, Solution, Solutions
from setwise.core.pages import FORCED_LABELS
from setwise.core.single_labels import EqualCosts, FlipCosts
from setwise.core.structure import Structure
from setwise.inference.single_labels import unfit_for_flips
from setwise.inference.window_search import Found, Points, search
from setwise.kernels.threads import map_units

_LOCK = Lock()


@dataclass
class Visits:
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

    def count(self, found: list[Found]) -> None:
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

    Exact for equal costs and for those by overlap (:class:`setwise.losses.Overlap`). Right windows are checked one by
    one. Others are searched by branch and bound over sets of windows (Lampert, Blaschko and Hofmann 2009), in which a
    set costs nothing if one box alone overlaps all of it, and after a budget by the maximum over pairs of rows,
    O(h^2 w) for images of h rows and w columns. ``above`` lists windows greedily: each is the best one that overlaps no
    window before it by ``overlap``. ``k_best`` leaves nothing out. The maximizer counts in ``visits`` what it took.

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
    >>> from setwise.core.boxes import Boxes
    >>> from setwise.inference import ByWindows
    >>> from setwise.losses import MaxLoss
    >>> batch = Boxes(shapes=[[1, 3]], points=[[[0, 0], [0, 2]]], truths=[[[0, 0, 1, 1]]])  # an image of 1 x 3 pixels
    >>> found = ByWindows().prepare(MaxLoss().structure(batch), slack=True).maximize([2.0, -1.0, 0.0])
    >>> print(found.labels - 1, found.values)  # the window of two pixels has f = 2, and is not the right one
    [0 0 1 2] [3.]
    """

    overlap: float = 0.5
    budget: int | None = None

    name: ClassVar[str] = "by_windows"
    about: ClassVar[str] = "branch and bound over windows, then pairs of rows"

    def __post_init__(self) -> None:
        as_number(self.overlap, "overlap", low=0.0, high=1.0, open_low=True)
        if self.budget is not None:
            as_count(self.budget, "budget", low=0)

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        unfit = unfit_for_flips(self, structure, Boxes)
        if unfit is not None:
            return unfit
        if not all(isinstance(term, EqualCosts | Overlap) for term in structure.terms):
            return f"ByWindows refuses {structure!r}: it takes equal costs or those by overlap. Use MaxLoss(Overlap())."
        if not slack and any(isinstance(term, Overlap) for term in structure.terms):
            return (
                f"ByWindows refuses margin rescaling of {structure!r}: a window that holds the same points as a right "
                "one has its score f and costs 0, so the hinge is at least max(1 - f, f), 1/2 or more whatever the "
                "weights are. Use rescaling='slack'."
            )
        return None

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        return _ByWindows(self, structure, slack, Visits())


@final
class _ByWindows(Maximizer):
    method: ByWindows

    def __init__(self, method: ByWindows, structure: Structure, slack: bool, visits: Visits) -> None:
        self.method, self.structure, self.slack, self.visits = method, structure, slack, visits
        assert isinstance(structure.batch, Boxes)
        self.boxes = structure.batch
        self.costs: FlipCosts | None = structure.terms[0] if structure.terms else None  # type: ignore[assignment]
        self.cost = 0.0 if self.costs is None else self.costs.factor

    def take(self, parts: Ints) -> Maximizer:
        return _ByWindows(self.method, self.structure.take(parts), self.slack, self.visits)

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        labels = np.zeros(self.boxes.total, np.int64)
        # Under slack rescaling a window without cost is worth 0, as much as none.
        if self.cost or not self.slack:
            units = list(enumerate(self._own(scores)))
            answers = map_units(self._worst, units)
            self.visits.count([found for _, found in answers])
            for i, (label, _) in enumerate(answers):
                if label is not None:
                    labels[4 * i : 4 * i + 4] = label + 1
        return self.solved(scores, labels)

    def _own(self, scores: Floats) -> list[Values]:
        """The scores of each image."""
        return np.split(np.asarray(scores, np.float64), self.boxes.score_offsets[1:-1])

    def _worst(self, unit: tuple[int, Values]) -> tuple[Ints | None, Found]:
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
    ) -> Found:
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

        def listed(unit: tuple[int, Values]) -> Found:
            return self._search(*unit, none, 1.0, floor, count, self.method.overlap)

        own = self._listable(scores)
        answers = map_units(listed, list(enumerate(own)))
        self.visits.count(answers)
        lists = [self._solutions(i, found, s) for i, (found, s) in enumerate(zip(answers, own, strict=True))]
        # Sums by differences may be above the threshold by their rounding alone.
        return [[one for one in row if one.value > floor] for row in lists]

    def _listable(self, scores: ArrayLike) -> list[Values]:
        """The scores of each image, for lists of its windows."""
        if self.costs is not None or any(len(rows) for rows in self.boxes.truths):
            raise Refusal(
                f"k_best and above refuse {self.structure!r} with right windows: they list windows by their scores. "
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
            self.visits.count([found])
            yield from self._solutions(i, found, own)
            if len(found.sums) < count:
                return
            seen, count = np.concatenate([seen, found.windows]), 4 * count

    def _solutions(self, i: int, found: Found, own: Values) -> list[Solution]:
        """The windows of image i that were found, with their scores as sums of the points inside."""
        scores = self.boxes.label_scores(i, own, found.windows)
        status = f"ByWindows: {found.method}"
        return [Solution(y + 1, f, f, True, status) for y, f in zip(found.windows, scores.tolist(), strict=True)]
