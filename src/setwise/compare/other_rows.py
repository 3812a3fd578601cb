"""The rows of a file that a comparison has not seen: the recommendation is judged on all of them, block by block."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from setwise.compare.answer import OtherRowsReport
from setwise.compare.plan import Key, NamedLoss
from setwise.compare.problem import Problem, targets_of
from setwise.core.exceptions import Refusal, reason_of
from setwise.core.pages import LARGE_FILES
from setwise.core.terms import Trait
from setwise.datasets.blocks import Budget, joined
from setwise.datasets.files import Sample, rows_of
from setwise.decisions.task import Task
from setwise.estimators.selection.floors import FlooredThreshold
from setwise.estimators.selection.out_of_fold import OutOfFoldBase
from setwise.estimators.selection.strategies import Rule
from setwise.estimators.sets import as_ids
from setwise.losses.row_costs import Place, RowCosts

RUN = 1 << 14
"""Models say what they do about so many rows at a time, for they make copies of them."""

Ways = Mapping[Key, tuple[Rule, OutOfFoldBase]]
"""The rules to judge, each with the fitted model that it reads."""


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

    def judge(
        self, ways: Ways, measured: NamedLoss, held_out: Mapping[Key, Any], floor: FlooredThreshold | None = None
    ) -> OtherRowsReport:
        """The mean loss of each way on these rows, and what it reaches under a floor.

        Where the sample has the rows of the rarer label, it is judged too: by ``held_out``, which comes from
        models that did not see the row.

        Where they cannot be read or judged there is a sentence in place of figures.
        """
        try:
            task, said = self._said(ways, measured, held_out)
        # A comparison of hours is not lost because a cell of other rows holds what its sample did not.
        except (ValueError, OSError) as error:
            return OtherRowsReport(self.judged, refusal=f"{reason_of(error)}.")
        losses = {key: task.mean_loss(one) for key, one in said.items()}
        reached = {} if floor is None else {key: floor.reached(task, one) for key, one in said.items()}
        return OtherRowsReport(self.judged, losses, reached)

    @property
    def judged(self) -> int:
        """How many rows are judged: the other rows, or all."""
        return self.count if self.problem.weights is None else self.sample.table.rows

    def _said(self, ways: Ways, measured: NamedLoss, held_out: Mapping[Key, Any]) -> tuple[Task, dict[Key, Any]]:
        """The truth of these rows with their sets, and the labels of each way, or its scores."""
        loss, room, sample = measured.loss, self.memory.room(self.count), self.sample
        if (loss.reads == "scores" or Trait.COUNTS not in loss.traits) and self.count > room:
            has = f"--memory has room for those of {room:,} of them"
            raise Refusal(f"{measured.title} needs all their scores or costs in one place, and {has}.", LARGE_FILES)
        group, table, columns = sample.asked.group, sample.table, self.problem.columns
        classes, many = self.problem.classes, self.problem.many
        if group is not None and any(rule.joint for rule, _ in ways.values()):
            raise Refusal("their groups are decided as a whole, and the file is read in parts.", LARGE_FILES)
        names = [*dict.fromkeys(column.source for column in columns), *sample.target]
        parts, edges = joined(table.sizes, self.most)
        # Where the sample has all rows of the rarer label, it is judged too.
        own = self.problem.weights is not None
        truth, said = [self.problem.y == 1] if own else [], {key: [held_out[key]] if own else [] for key in ways}
        codes, ids = dict[Any, int](), list[Any]()
        costs = loss if isinstance(loss, RowCosts) else None
        places, paid = {} if costs is None else costs.columns, list[Any]()
        for part, first, last in zip(parts, edges, edges[1:], strict=False):
            kept = np.setdiff1d(np.arange(first, last), sample.rows) - first
            held = rows_of(table.columns(table.arrow(part, names).take(kept)), columns, None, sample.target)
            truth.append(self.problem.truth(targets_of(held.kept, classes, sample.target, table.path.name, many)))
            ids += [] if group is None else [table.ids(part, group, codes)[kept]]
            paid.append(held.X[:, [place.at for place in places.values() if isinstance(place, Place)]])
            for at in range(0, len(kept), RUN):
                rows = held.X[at : at + RUN]
                fresh = {source: source.fresh(rows) for _, source in ways.values()}
                for key, (rule, source) in ways.items():
                    by = rule if costs is None else rule.for_rows(costs.read(rows))
                    said[key].append(by.labels(fresh[source]))
        groups = as_ids(np.concatenate(ids), self.count) if ids else None
        loss = measured.on(None) if measured.classes else loss
        if costs is not None:
            each = np.concatenate(paid)
            costs = replace(costs, **{cell: each[:, i] for i, cell in enumerate(places)})
            loss = replace(measured, loss=costs).on(each, groups)
        task = Task(np.concatenate(truth), loss, groups, measured.average)  # type: ignore[arg-type]
        return task, {key: np.concatenate(one) for key, one in said.items()}
