"""Rows in several places, with their labels and sets, and the loss of predictions for them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.attributes import cached_property
from setwise.core.batch import Sets
from setwise.core.checkpoint import fingerprint
from setwise.core.checks import Bools, Ints, Values
from setwise.core.exceptions import Refusal
from setwise.core.loss import Combination, Loss
from setwise.core.pages import PLACES_REFUSE
from setwise.core.surrogate import Piece, Question, ended
from setwise.core.terms import Trait
from setwise.decisions.threshold_pieces import twice_swapped
from setwise.estimators.checkpoints import table_parts
from setwise.estimators.sets import positive_last, refuse_unknown
from setwise.losses.rankings import RocArea
from setwise.risks.distributed_risk import FEW, MOST, extent_of, joined_ids
from setwise.risks.places import PlacedObjects, Places


@final
class LossesOfSets:
    """The losses of sets whose rows lie in several places, from labels, scores and ids that stay there.

    Sets are numbered by their sorted ids; of each the number of rows and of places is known.
    """

    def __init__(
        self, places: Places, loss: Loss, truth: PlacedObjects, scores: PlacedObjects, ids: PlacedObjects | None
    ) -> None:
        self.places, self.loss, self.kept = places, loss, (truth, scores, ids)
        extents = places.tell(extent_of, truth, ids)
        columns = [np.column_stack([sizes, positives, np.ones_like(sizes)]) for _, sizes, positives in extents]
        self.ids, totals = _summed([extent.ids for extent in extents], columns)
        self.sizes, self.positives, self.held = totals.T

    def mean(self) -> float:
        """The mean loss of the sets, where scores above 0 are predicted positive if the loss reads labels.

        Few rows are gathered. Of more, sets that lie in one place are evaluated there, and others are gathered, about
        ``MOST`` rows at a time. The ROC area of larger sets comes from histograms and from scores that are sent in
        turn, see :func:`setwise.decisions.threshold_pieces.twice_swapped`.

        Raises
        ------
        Refusal : for other losses where a set has more than ``MOST`` rows in several places, or of more than ``MOST``
            rows if they read labels
        """
        factor, rows = area_factor(self.loss), int(self.sizes.sum())
        most = MOST if factor is None else FEW
        if rows <= most:
            return float(self._gathered(np.arange(len(self.ids))).mean())
        alone = self.held == 1
        large = np.flatnonzero(~alone & (self.sizes > most))
        # Parameters of losses of labels may number all decisions.
        if factor is None and (len(large) or self.loss.reads == "labels"):
            size, what = (int(self.sizes[large[0]]), " of a set") if self.loss.reads == "scores" else (rows, "")
            raise Refusal(
                f"a score for {self.loss!r} is refused: it needs all scores{what} in one place, {size} of {MOST}.",
                PLACES_REFUSE,
            )
        values = np.zeros(len(self.ids))
        if alone.any():
            values[alone] = self._alone(alone)
        # Sets of at most so many rows in all are brought together at a time.
        others = np.flatnonzero(~alone & (self.sizes <= most))
        turns = np.cumsum(self.sizes[others]) // MOST
        for turn in np.unique(turns):
            values[others[turns == turn]] = self._gathered(others[turns == turn])
        for i in large.tolist():
            values[i] = (factor or 0.0) * self._area(i)
        return float(values.mean())

    def _gathered(self, chosen: Ints) -> Values:
        """The losses of the chosen sets, whose rows come together."""
        wanted = None if len(chosen) == len(self.ids) else self.ids[chosen]
        parts = self.places.tell(_rows_of, *self.kept, wanted)
        truth, scores = (np.concatenate([part[k] for part in parts]) for k in range(2))
        return _losses(self.loss, truth, scores, joined_ids([part[2] for part in parts]))[1]

    def _alone(self, alone: Bools) -> Values:
        """The losses of the sets that lie in one place."""
        found = self.places.tell(_losses_of, self.loss, *self.kept, self.ids[alone])
        order = np.argsort(joined_ids([ids for ids, _ in found]), kind="stable")
        return np.asarray(np.concatenate([values for _, values in found])[order])

    def _area(self, i: int) -> float:
        """1 - the area under the ROC curve of a set."""
        pairs = int(self.positives[i]) * int(self.sizes[i] - self.positives[i])
        if not pairs:
            return 0.0
        chosen = self.ids[i : i + 1]
        twice = ended(twice_swapped(), lambda question: self.places.tell(_answer, question, *self.kept, chosen))
        return twice / (2 * pairs)


def area_factor(loss: Loss) -> float | None:
    """C where the loss is c times the ROC area's; None for other losses."""
    if isinstance(loss, Combination) and len(loss.parts) == 1:
        return loss.parts[0][0] if isinstance(loss.parts[0][1], RocArea) else None
    return 1.0 if isinstance(loss, RocArea) else None


def _rows_of(truth: Bools, scores: Values, ids: Any, wanted: Any) -> tuple[Bools, Values, Any]:
    """The rows of a place that belong to the wanted sets; None wants all."""
    if len(truth) != len(scores):
        raise ValueError(f"X and y must have equally many rows in each place; got {len(scores)} and {len(truth)}.")
    owners = np.zeros(len(truth), int) if ids is None else np.asarray(ids)
    if wanted is None or ids is None:
        return truth, scores, owners
    # The ids of all places have a type in which all of them differ.
    chosen = np.isin(owners.astype(wanted.dtype), wanted)
    return truth[chosen], scores[chosen], owners[chosen]


def _losses_of(loss: Loss, truth: Bools, scores: Values, ids: Any, wanted: Any) -> tuple[Any, Values]:
    """The ids and the losses of the wanted sets of a place, which has all of their rows."""
    rows = _rows_of(truth, scores, ids, wanted)
    return _losses(loss, *rows) if len(rows[0]) else (rows[2], np.empty(0))


def _losses(loss: Loss, truth: Bools, scores: Values, owners: NDArray[Any]) -> tuple[Any, Values]:
    """The sorted ids of the sets of these rows, and their losses."""
    known, sizes = np.unique(owners, return_counts=True)
    order = np.argsort(owners, kind="stable")
    batch = Sets(truth[order], np.concatenate(([0], np.cumsum(sizes))).astype(np.int64))
    values = scores[order] if loss.reads == "scores" else scores[order] > 0
    return known, np.asarray(loss.values(batch, values))


def _answer(question: Question, truth: Bools, scores: Values, ids: Any, wanted: Any) -> Any:
    truth, scores, _ = _rows_of(truth, scores, ids, wanted)
    return question(Piece(scores, truth))


@final
@dataclass(frozen=True, eq=False)
class PlacedRows:
    """Features X (m, d), labels y (m,) and ids (m,) of the sets of the rows of each place; no ids are one set.

    ``names`` are those of the d features, where they have any.
    """

    places: Places
    X: PlacedObjects
    y: PlacedObjects
    ids: PlacedObjects | None
    names: tuple[str, ...] | None = None

    @cached_property
    def single(self) -> bool:
        """Whether all rows are one set."""
        if self.ids is None:
            return True
        known = [some for some in self.places.tell(np.unique, self.ids) if len(some)]
        return len(known) > 0 and len(np.unique(joined_ids(known))) == 1

    def count(self) -> int:
        """The number of rows."""
        return int(sum(self.places.tell(len, self.y)))

    def classes(self, pos_label: Any) -> NDArray[Any]:
        """The two labels, the positive one last: ``pos_label``, or the last in sorted order."""
        parts = [some for some in self.places.tell(np.unique, self.y) if len(some)]
        if not parts:
            raise ValueError("X and y must not be empty in all places.")
        if len({some.dtype.kind in "biuf" for some in parts}) > 1:
            raise ValueError("y must hold numbers in all places, or text in all; got both.")
        found = np.unique(np.concatenate(parts))
        if len(found) != 2:
            raise ValueError(f"y must have two labels; got {len(found)}: {found[:10].tolist()}.")
        return positive_last(found, pos_label)

    def positives(self, positive: Any, known: NDArray[Any] | None = None) -> PlacedObjects:
        """Which rows have the positive label, at each place; ValueError for labels that are not ``known``."""
        if known is not None:
            for some in self.places.tell(np.unique, self.y):
                refuse_unknown(some.tolist(), known.tolist())
        return self.places.keep(_equals, self.y, positive)


def fingerprints(found: PlacedRows) -> dict[str, str]:
    """The fingerprints of X, y and ids over all places, in their order; other places are other data."""
    given = {"X": found.X, "y": found.y, "groups": found.ids}
    return {name: fingerprint(*(() if one is None else found.places.tell(_said, one))) for name, one in given.items()}


def _said(part: Any) -> str:
    return fingerprint(*table_parts(part))


def mean_loss_of(found: PlacedRows, loss: Loss, truth: PlacedObjects, scores: PlacedObjects) -> float:
    """The mean loss of the sets, where scores above 0 are predicted positive: exact, from counts of each place.

    Of a loss that is no function of counts, see :class:`LossesOfSets`.
    """
    if loss.reads == "labels":
        ids, tallies = zip(*found.places.tell(_tally, truth, scores, found.ids), strict=True)
        P, N, fn, fp = _summed(ids, tallies)[1].T
        term = loss.bind(Sets.pieces(P, N)).counts if Trait.COUNTS in loss.traits else None
        if term is not None and term.areas is None and term.predicted is None:
            return float(term.of(fn, fp).mean())
    return LossesOfSets(found.places, loss, truth, scores, found.ids).mean()


def _equals(labels: NDArray[Any], positive: Any) -> Bools:
    return np.asarray(labels == positive)


def _tally(truth: Bools, scores: Values, ids: Any) -> tuple[Any, Values]:
    """The ids of the sets at a place, and their numbers of positives, negatives, misses and false alarms, (m, 4)."""
    if len(truth) != len(scores):
        raise ValueError(f"X and y must have equally many rows in each place; got {len(scores)} and {len(truth)}.")
    if ids is not None and len(ids) != len(truth):
        raise ValueError(f"groups must have one id for each row, {len(truth)} in a place; got {len(ids)}.")
    known, owners = (np.zeros(min(len(truth), 1), int), np.zeros(len(truth), int)) if ids is None else _numbered(ids)
    wrong = (scores > 0) != truth
    kinds = truth, ~truth, wrong & truth, wrong & ~truth
    return known, np.column_stack([np.bincount(owners[kind], minlength=len(known)) for kind in kinds]).astype(float)


def _numbered(ids: Any) -> tuple[Any, Ints]:
    known, owners = np.unique(ids, return_inverse=True)
    return known, np.ravel(owners)


def _summed(ids: Sequence[Any], numbers: Sequence[NDArray[Any]]) -> tuple[Any, NDArray[Any]]:
    """The sorted ids (n,) of all places, and the sums (n, k) of the numbers that places have of each."""
    known, owners = _numbered(joined_ids(ids))
    every = np.concatenate(numbers)
    sums = np.zeros((len(known), every.shape[1]), every.dtype)
    np.add.at(sums, owners, every)
    return known, sums
