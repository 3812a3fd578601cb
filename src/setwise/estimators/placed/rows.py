"""Rows in several places, with their labels and sets, and the loss of predictions for them."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.batch import Sets
from setwise.core.checkpoint import fingerprint
from setwise.core.checks import Bools, Ints, Values, shown
from setwise.core.loss import Loss
from setwise.core.terms import Trait
from setwise.estimators.checkpoints import table_parts
from setwise.estimators.placed.sets import mean_loss_of_sets
from setwise.estimators.sets import is_missing
from setwise.risks.distributed_risk import joined_ids
from setwise.risks.places import Kept, Places


@final
@dataclass(frozen=True, eq=False)
class PlacedRows:
    """Features X (m, d), labels y (m,) and ids (m,) of the sets of the rows of each place; no ids are one set.

    ``names`` are those of the d features, where they have any.
    """

    places: Places
    X: Kept
    y: Kept
    ids: Kept | None
    names: tuple[str, ...] | None = None

    @property
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
            raise ValueError("y must hold numbers in all places, or words in all; got both.")
        found = np.unique(np.concatenate(parts))
        if len(found) != 2:
            raise ValueError(f"y must have two labels; got {len(found)}: {found[:10].tolist()}.")
        if pos_label is None:
            return found
        if np.ndim(pos_label) or is_missing(pos_label) or pos_label not in found.tolist():
            raise ValueError(f"pos_label must be one of the labels {found.tolist()}; got {shown(pos_label)}.")
        return found if found.tolist().index(pos_label) == 1 else found[::-1].copy()

    def positives(self, positive: Any, known: NDArray[Any] | None = None) -> Kept:
        """Which rows have the positive label, at each place; ValueError for labels that are not ``known``."""
        if known is not None:
            for some in self.places.tell(np.unique, self.y):
                odd = [label for label in some.tolist() if label not in known.tolist()]
                if odd:
                    raise ValueError(f"y must hold the labels {known.tolist()} that were fitted; got {odd[0]!r}.")
        return self.places.keep(_equals, self.y, positive)


def fingerprints(found: PlacedRows) -> dict[str, str]:
    """The fingerprints of X, y and ids over all places, in their order; other places are other data."""
    given = {"X": found.X, "y": found.y, "groups": found.ids}
    return {name: fingerprint(*(() if one is None else found.places.tell(_said, one))) for name, one in given.items()}


def _said(part: Any) -> str:
    return fingerprint(*table_parts(part))


def mean_loss_of(found: PlacedRows, loss: Loss, truth: Kept, scores: Kept) -> float:
    """The mean loss of the sets, where scores above 0 are predicted positive: exact, from counts of each place.

    Of a loss that is no function of counts, see :func:`mean_loss_of_sets`.
    """
    if loss.reads == "labels":
        tallies = found.places.tell(_tally, truth, scores, found.ids)
        sums = _summed(tallies)
        # One decision of each class stands for all of them.
        there = sums[:, 1::-1] > 0
        offsets = np.concatenate(([0], np.cumsum(there.sum(axis=1))))
        sets = Sets(np.nonzero(there)[1] == 1, offsets, totals=sums[:, 1::-1])
        term = loss.structure(sets).counts if Trait.COUNTS in loss.traits else None
        if term is not None and term.areas is None and term.predicted is None:
            return float(term.of(sums[:, 2], sums[:, 3]).mean())
    return mean_loss_of_sets(found.places, loss, truth, scores, found.ids)


def _equals(labels: NDArray[Any], positive: Any) -> Bools:
    return np.asarray(labels == positive)


def _tally(truth: Bools, scores: Values, ids: Any) -> tuple[Any, Values]:
    """The ids of the sets at a place, and their numbers of positives, negatives, misses and false alarms, (m, 4)."""
    if len(truth) != len(scores):
        raise ValueError(f"X and y must have as many rows in each place; got {len(scores)} and {len(truth)}.")
    if ids is not None and len(ids) != len(truth):
        raise ValueError(f"groups must have one id for each row, {len(truth)} in a place; got {len(ids)}.")
    known, owners = (np.zeros(min(len(truth), 1), int), np.zeros(len(truth), int)) if ids is None else _numbered(ids)
    wrong = (scores > 0) != truth
    kinds = truth, ~truth, wrong & truth, wrong & ~truth
    return known, np.column_stack([np.bincount(owners[kind], minlength=len(known)) for kind in kinds]).astype(float)


def _numbered(ids: Any) -> tuple[Any, Ints]:
    known, owners = np.unique(ids, return_inverse=True)
    return known, np.ravel(owners)


def _summed(tallies: list[tuple[Any, Values]]) -> Values:
    """The sums of the numbers of all sets, in the order of their ids, (n, 4)."""
    ids, owners = _numbered(joined_ids([known for known, _ in tallies]))
    sums = np.zeros((len(ids), 4))
    np.add.at(sums, owners, np.concatenate([numbers for known, numbers in tallies if len(known)]))
    return sums
