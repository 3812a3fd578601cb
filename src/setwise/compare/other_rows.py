"""The rows of a file that a comparison has not seen: the recommendation is judged on all of them, block by block."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from setwise.compare.answer import OtherRowsReport
from setwise.compare.plan import Key, NamedLoss
from setwise.compare.problem import Problem, targets_of
from setwise.core.checks import Bools, Ints, Values
from setwise.core.exceptions import Refusal
from setwise.core.pages import LARGE_FILES
from setwise.core.terms import Trait
from setwise.datasets.blocks import Budget, joined
from setwise.datasets.files import Sample, rows_of
from setwise.decisions.task import Task
from setwise.distributed.rows import PlacedRows, mean_loss_of
from setwise.estimators.selection.base_models import Response
from setwise.estimators.selection.floors import FlooredThreshold, FloorShares
from setwise.estimators.selection.out_of_fold import OutOfFoldBase
from setwise.estimators.selection.strategies import Evidence, Rule
from setwise.risks.places import FileObjects, FilePlaces, LocalObjects

RUN = 1 << 14
"""Models say what they do about so many rows at a time, for they make copies of them."""

Ways = Mapping[Key, tuple[Rule, OutOfFoldBase]]
"""The rules to judge, each with the fitted model that it reads."""


RowBatch = tuple[Values, Bools, Any]
"""Some rows: the table (m, d), the truth (m,) or (m, p), and the ids (m,) of their sets, or None."""


class RowBatchAnswers(NamedTuple):
    """What is kept of a block: its truth and ids, and for each way its labels, or the responses behind them."""

    truth: Bools
    ids: Any
    answers: dict[Key, Any]


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
        found = OtherRowsReport(self.count)
        try:
            losses, reached = self._judged(ways, measured, floor)
            return replace(found, losses=losses, reached=reached)
        # A comparison of hours is not lost because a cell of other rows holds what its sample did not.
        except (ValueError, OSError) as why:
            return replace(found, refusal=" ".join(str(why).split()))

    def _judged(
        self, ways: Ways, measured: NamedLoss, floor: FlooredThreshold | None
    ) -> tuple[dict[Key, float], dict[Key, FloorShares]]:
        loss = measured.loss
        if loss.reads == "scores" or Trait.COUNTS not in loss.traits:
            self._refuse_many(f"{measured.title} needs all their scores in one place")
        grouped = self.sample.asked.group is not None
        if grouped and any(rule.joint for rule, _ in ways.values()):
            self._refuse_many("their groups are decided together")
        groups, edges = joined(self.sample.table.sizes, self.most)
        read = partial(_read, self, dict[Any, int](), groups, edges)
        places, labels = FilePlaces(len(groups)), dict[Key, list[Any]]()
        said: list[RowBatchAnswers] = places.tell(partial(_say, ways), FileObjects(read))
        for key, (rule, _) in ways.items():
            labels[key] = [one.answers[key] for one in said]
            if grouped and rule.joint:
                labels[key] = _together(rule, labels[key], [one.ids for one in said])
        losses = {key: self._loss(places, said, found, measured) for key, found in labels.items()}
        if floor is None:
            return losses, {}
        task = Task(np.concatenate([one.truth for one in said]), measured.loss)
        return losses, {key: floor.reached(task, np.concatenate(found)) for key, found in labels.items()}

    def _refuse_many(self, why: str) -> None:
        room = self.memory.room(self.count)
        if self.count > room:
            raise Refusal(f"{why}, and --memory has room for those of {room:,} of them.", LARGE_FILES)

    def _loss(
        self, places: FilePlaces, said: Sequence[RowBatchAnswers], labels: list[Any], measured: NamedLoss
    ) -> float:
        """The mean loss of labels, or of scores, over all sets of these rows."""
        truth, ids, average = [one.truth for one in said], [one.ids for one in said], measured.average
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


def _say(ways: Ways, block: RowBatch) -> RowBatchAnswers:
    """The labels of each way for a block; the responses of its model where groups are decided later."""
    (X, truth, ids), parts = block, {key: list[Any]() for key in ways}
    gathered = {key for key, (rule, _) in ways.items() if rule.joint and ids is not None}
    for first in range(0, len(truth), RUN):
        fresh: dict[OutOfFoldBase, Evidence] = {}
        for key, (rule, source) in ways.items():
            seen = fresh.setdefault(source, source.fresh(X[first : first + RUN]))
            parts[key].append(seen.response(rule.weight) if key in gathered else rule.labels(seen))
    answers = {key: found if key in gathered else np.concatenate([truth[:0], *found]) for key, found in parts.items()}
    return RowBatchAnswers(truth, ids, answers)


@final
class ResponseEvidence(Evidence):
    """The responses to rows of which nothing else is kept."""

    def __init__(self, response: Response, groups: Ints) -> None:
        self._response, self.groups = response, groups

    def response(self, weight: float = 1.0) -> Response:
        """The response of the model that the rule reads."""
        return self._response

    @property
    def numbers(self) -> Values | None:
        """None: no rule that decides groups reads them."""
        return None


def _together(rule: Rule, said: Sequence[Sequence[Response]], ids: Sequence[NDArray[Any]]) -> list[Bools]:
    """The labels of each block by a rule that decides groups, of which the blocks have parts."""
    parts = [part for one in said for part in one]
    scores, labels = (np.concatenate([getattr(one, name) for one in parts]) for name in ("scores", "labels"))
    numbers = np.unique(np.concatenate(ids), return_inverse=True)[1]
    found = rule.labels(ResponseEvidence(Response(labels, scores, parts[0].probability), np.ravel(numbers)))
    edges = np.cumsum([0, *(len(one) for one in ids)])
    return [found[first:last] for first, last in pairwise(edges)]
