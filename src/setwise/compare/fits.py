"""The fits of all base models over some rows, made once and shared by all strategies and measures."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import final

import numpy as np

from setwise.compare.plan import FIRST, PLAIN, BaseModel, Key, NamedLoss, Plan
from setwise.compare.problem import Problem
from setwise.core.checkpoint import OpenCheckpoint
from setwise.core.exceptions import Refusal
from setwise.decisions.task import Task
from setwise.estimators.selection.out_of_fold import OutOfFoldBase
from setwise.estimators.selection.problem import SelectionProblem as Rows
from setwise.estimators.selection.strategies import Strategy
from setwise.estimators.sets import as_ids

Advance = Callable[[str, int], None]

SEED = 0
"""The seed of the inner folds and of the bootstrap; MeasureClassifier has the same one, so that it repeats a choice."""


def rows_of(problem: Problem, measured: NamedLoss) -> Rows:
    """The rows of a problem with their target, judged by a measure."""
    ids = None if problem.groups is None else as_ids(problem.groups, len(problem.y))
    target, loss = problem.y if problem.many else problem.y.ravel(), measured.on(problem.X, ids)
    task = Task(problem.truth(target), loss, ids, measured.average, problem.weights)  # type: ignore[arg-type]
    classes = np.arange(target.shape[1] if problem.many else problem.several or 2)
    positive = classes if problem.several else 1
    return Rows(problem.X, target, classes, positive, task, ids, problem.weights, blocks=problem.blocks)


def judged_by(rows: Rows, measured: NamedLoss) -> Task:
    """The truth of some rows, judged by another measure."""
    loss = measured.on(rows.X, rows.groups)
    return replace(rows.task, loss=loss, average=measured.average)  # type: ignore[arg-type]


@final
class Fits:
    """Out-of-fold responses of base models to the rows, each with some of its constants.

    Parameters
    ----------
    rows : the rows and their target; the measure is not read
    problem : the problem that they come from, which says how the table is read
    plan : the base models and the folds
    where : the words for the rows in the line of progress
    advance : called with words on what was done and with the number of steps
    kept : the part of a checkpoint that keeps the responses, or None
    """

    def __init__(
        self, rows: Rows, problem: Problem, plan: Plan, where: str, advance: Advance, kept: OpenCheckpoint | None = None
    ) -> None:
        self.rows, self.folds = rows, rows.folds(plan.inner, SEED)
        self.where, self.advance = where, advance
        self._problem, self._plan, self._kept = problem, plan, kept
        self._sources: dict[str, dict[float | None, OutOfFoldBase]] = {}

    def add(self, base: BaseModel, constant: float | None) -> OutOfFoldBase:
        """Make the fits of a base model with one of its constants, and return its responses."""
        plan, words = self._plan, f"{self.where}: {base.title}"
        self.advance(words, 0)
        model = base.build(self._problem, constant, plan.seed)
        floored = plan.floor is not None
        source = self.rows.out_of_fold(model, self.folds, n_jobs=plan.n_jobs, kept=self._kept, same_penalty=floored)
        source.name = base.title
        source.prepare()
        found = {**self._sources.get(base.name, {}), constant: source}
        # Of equally good constants the first one of the grid is taken.
        self._sources[base.name] = {c: found[c] for c in base.constants(plan.grid) if c in found}
        self.advance(words, 1)
        return source

    def known(self, base: BaseModel, constant: float | None) -> OutOfFoldBase | None:
        """The responses of a base model with one of its constants, where its fits are made."""
        return self._sources.get(base.name, {}).get(constant)

    def complete(self) -> "Fits":
        """Make the fits of all base models with all their constants; returns itself."""
        for base, constant in self._plan.order(self._problem):
            self.add(base, constant)
        return self

    def best(self, task: Task, reference: Strategy) -> "BaseResponses":
        """The responses of each base model with the constant that is best for the measure.

        The best constant has the least out-of-fold loss with the strategy of the reference; under floors, among those
        that keep them, or else come nearest. For logistic regression at 0.5 it is the one with the least loss at 0.5;
        under floors, which 0.5 does not know, it is that of the reference.
        """
        made = {name: self._sources[name] for name in (FIRST, *self._plan.bases) if name in self._sources}
        chosen = {name: _least(found, lambda one: tuned_loss(one, task, reference)) for name, found in made.items()}
        plain = chosen[FIRST]
        if task.loss.reads != "scores" and self._plan.floor is None:
            plain = _least(self._sources[FIRST], lambda source: (task.mean_loss(source.response().labels),))
        tuned = {name: self._sources[name][constant] for name, constant in chosen.items()}
        return BaseResponses(tuned, chosen, self._sources[FIRST][plain])


@final
@dataclass(frozen=True, eq=False)
class BaseResponses:
    """The responses of each base model with the constant that suits a measure, these constants, and those at 0.5."""

    tuned: Mapping[str, OutOfFoldBase]
    constants: Mapping[str, float | None]
    plain: OutOfFoldBase

    def of(self, key: Key) -> OutOfFoldBase:
        """The responses that the way with this key reads."""
        return self.plain if key == PLAIN else self.tuned[key[0]]


def _least(
    found: Mapping[float | None, OutOfFoldBase], losses: Callable[[OutOfFoldBase], tuple[float, ...]]
) -> float | None:
    """The constant of the least losses in their order, rounded so that the first of equal ones is taken."""
    if len(found) == 1:
        return next(iter(found))
    return min(found, key=lambda c: [round(loss, 12) for loss in losses(found[c])])


def tuned_loss(source: OutOfFoldBase, task: Task, strategy: Strategy) -> tuple[float, float]:
    """What a strategy tuned on the same rows misses floors by, and its out-of-fold loss; inf if it is refused."""
    evidence = source.held_out()
    try:
        rule = strategy.bound(task).tune(evidence, task)
    except Refusal:
        return np.inf, np.inf
    return rule.short, task.mean_loss(rule.labels(evidence))


def no_advance(what: str, steps: int) -> None:
    """Report nothing."""
