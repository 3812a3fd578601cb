"""The rows of a file that a comparison has not seen: the recommendation is judged on all of them, block by block."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from setwise.compare.answer import OtherRowsReport
from setwise.compare.plan import Key, NamedLoss
from setwise.compare.problem import Problem, targets_of
from setwise.core.checks import Bools, Values
from setwise.core.exceptions import Refusal
from setwise.core.pages import LARGE_FILES
from setwise.core.terms import Trait
from setwise.datasets.blocks import Budget, joined
from setwise.datasets.files import Sample, rows_of
from setwise.decisions.task import Task
from setwise.distributed.rows import PlacedRows, mean_loss_of
from setwise.estimators.selection.floors import FlooredThreshold
from setwise.estimators.selection.out_of_fold import OutOfFoldBase
from setwise.estimators.selection.strategies import Evidence, Rule
from setwise.risks.places import FileObjects, FilePlaces, LocalObjects

RUN = 1 << 14
"""Models say what they do about so many rows at a time, for they make copies of them."""

Ways = Mapping[Key, tuple[Rule, OutOfFoldBase]]
"""The rules to judge, each with the fitted model that it reads."""


RowBatch = tuple[Values, Bools, Any]
"""Some rows: the table (m, d), the truth (m,) or (m, p), and the ids (m,) of their sets, or None."""


@final
@dataclass(frozen=True, eq=False)
class OtherRows:
    """All rows of a Parquet table but those of a sample. They are read once for each measure, and never kept.

    Parameters
    ----------
    sample : the part that the comparison sees
    problem : that part, as it was read
    most : how many rows a block may have
    memory : the bytes for everything
    """

    sample: Sample
    problem: Problem
    most: int
    memory: Budget

    @property
    def count(self) -> int:
        """The number of the other rows."""
        return int(self.sample.table.rows - len(self.sample.rows))

    def judge(self, ways: Ways, measured: NamedLoss, floor: FlooredThreshold | None = None) -> OtherRowsReport:
        """The mean loss of each way on these rows, and what it reaches under a floor.

        Where they cannot be read or judged there is a sentence in place of figures.
        """
        try:
            return self._judged(ways, measured, floor)
        # A comparison of hours is not lost because a cell of other rows holds what its sample did not.
        except (ValueError, OSError) as why:
            return OtherRowsReport(self.count, refusal=" ".join(str(why).split()))

    def _judged(self, ways: Ways, measured: NamedLoss, floor: FlooredThreshold | None) -> OtherRowsReport:
        loss, room = measured.loss, self.memory.room(self.count)
        if (loss.reads == "scores" or Trait.COUNTS not in loss.traits) and self.count > room:
            raise Refusal(
                f"{measured.title} needs all their scores in one place, and --memory has room for those of {room:,} of "
                "them.",
                LARGE_FILES,
            )
        if self.sample.asked.group is not None and any(rule.joint for rule, _ in ways.values()):
            raise Refusal("their groups are decided as a whole, and the file is read in parts.", LARGE_FILES)
        groups, edges = joined(self.sample.table.sizes, self.most)
        read = partial(_read, self, dict[Any, int](), groups, edges)
        places = FilePlaces(len(groups))
        truth, ids, said = map(list, zip(*places.tell(partial(_say, ways), FileObjects(read)), strict=True))
        labels = {key: [one[key] for one in said] for key in ways}
        losses = {key: self._loss(places, truth, ids, found, measured) for key, found in labels.items()}
        if floor is None:
            return OtherRowsReport(self.count, losses)
        task = Task(np.concatenate(truth), measured.loss)
        reached = {key: floor.reached(task, np.concatenate(found)) for key, found in labels.items()}
        return OtherRowsReport(self.count, losses, reached)

    def _loss(
        self, places: FilePlaces, truth: list[Any], ids: list[Any], labels: list[Any], measured: NamedLoss
    ) -> float:
        """The mean loss of labels, or of scores, over all sets of these rows."""
        average = measured.average
        if truth[0].ndim == 2 and average == "samples":
            pairs = [(y, h) for y, h in zip(truth, labels, strict=True) if len(y)]
            return sum(float(Task(y, measured.loss).losses(h).sum()) for y, h in pairs) / self.count
        if truth[0].ndim == 2:
            columns = np.arange(truth[0].shape[1], dtype=np.int32)
            ids = [np.tile(columns, len(y)) if average == "macro" else None for y in truth]
            truth, labels = [y.ravel() for y in truth], [h.ravel() for h in labels]
        kept = None if ids[0] is None else LocalObjects(ids)
        rows = PlacedRows(places, LocalObjects(truth), LocalObjects(truth), kept)
        return mean_loss_of(rows, measured.loss, LocalObjects(truth), LocalObjects(labels))


def _read(
    others: OtherRows, codes: dict[Any, int], groups: Sequence[list[int]], edges: Sequence[int], k: int
) -> RowBatch:
    """What block k has of the other rows."""
    sample, problem = others.sample, others.problem
    kept, group = np.setdiff1d(np.arange(edges[k], edges[k + 1]), sample.rows) - edges[k], sample.asked.group
    names = [*dict.fromkeys(column.source for column in problem.columns), *sample.target]
    part = sample.table.columns(sample.table.arrow(groups[k], names).take(kept))
    ids = None if group is None else sample.table.ids(groups[k], group, codes)[kept]
    held = rows_of(part, problem.columns, None, sample.target)
    return held.X, targets_of(held.kept, problem, sample.target, sample.table.path.name) == 1, ids


def _say(ways: Ways, block: RowBatch) -> tuple[Bools, Any, dict[Key, Any]]:
    """The truth and ids of a block, and the labels of each way."""
    (X, truth, ids), parts = block, {key: [block[1][:0]] for key in ways}
    for first in range(0, len(truth), RUN):
        fresh: dict[OutOfFoldBase, Evidence] = {}
        for key, (rule, source) in ways.items():
            parts[key].append(rule.labels(fresh.setdefault(source, source.fresh(X[first : first + RUN]))))
    return truth, ids, {key: np.concatenate(found) for key, found in parts.items()}
