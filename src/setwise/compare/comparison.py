"""Methods side by side on the same folds: who wins in which measure, by how much, and how sure that is."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from setwise.compare.methods import METHODS, ROUGH, Method, Trained, only_order, standardized
from setwise.compare.problem import Problem
from setwise.core.measure import Loss
from setwise.core.refusal import Refusal

GRID = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
"""Constants C for a decision that every method chooses from."""

QUICK_GRID = (1e-3, 1e-1, 10.0)


@final
@dataclass(frozen=True)
class Plan:
    """How to compare: outer folds, inner folds for the choice of C, the grid, the gap of the last fit, and the seed."""

    folds: int = 5
    inner: int = 3
    grid: tuple[float, ...] = GRID
    tol: float = 1e-3
    seed: int = 0

    def steps(self, methods: Sequence[Method] = METHODS) -> int:
        """Number of fits for one problem and one measure."""
        return self.folds * len(methods) * (len(self.grid) * self.inner + 1)


@final
@dataclass(frozen=True, eq=False)
class Row:
    """One method, trained for one measure.

    ``losses`` (folds, measures) at test; for each fold the chosen ``c`` and what was trained; ``seconds`` of the
    whole, choice of C included.
    """

    method: Method
    losses: NDArray[np.float64]
    chosen: tuple[float, ...]
    trained: tuple[Trained, ...]
    seconds: float

    @property
    def mean(self) -> NDArray[np.float64]:
        """(measures,)."""
        return np.asarray(self.losses.mean(axis=0))

    @property
    def error(self) -> NDArray[np.float64]:
        """Standard error over the folds, (measures,)."""
        return np.asarray(self.losses.std(axis=0, ddof=1) / np.sqrt(len(self.losses)))

    @property
    def gap(self) -> float | None:
        """The largest certified gap of the folds."""
        gaps = [t.gap for t in self.trained]
        return None if gaps[0] is None else float(max(g for g in gaps if g is not None))

    @property
    def fit_seconds(self) -> float:
        """Mean seconds of a fit with the chosen C."""
        return float(np.mean([t.seconds for t in self.trained]))


@final
@dataclass(frozen=True, eq=False)
class Comparison:
    """All methods on one problem, trained for ``measure``, judged by all ``measures`` (its own first).

    ``fold`` is the first pair of standardized training and test parts; ``notes`` say which methods refused, and why;
    ``ordered`` are the measures in which only the order of scores counts.
    """

    problem: Problem
    measure: str
    measures: tuple[str, ...]
    rows: tuple[Row, ...]
    plan: Plan
    fold: tuple[Problem, Problem]
    notes: tuple[str, ...] = ()
    ordered: frozenset[str] = frozenset()

    @property
    def means(self) -> NDArray[np.float64]:
        """(rows, measures)."""
        return np.array([row.mean for row in self.rows])

    @property
    def errors(self) -> NDArray[np.float64]:
        """(rows, measures)."""
        return np.array([row.error for row in self.rows])


Advance = Callable[[str], None]


def compare(
    problem: Problem,
    measure: str,
    losses: dict[str, Loss],
    plan: Plan,
    advance: Advance,
    methods: Sequence[Method] = METHODS,
) -> Comparison:
    """Train every method for ``measure`` on the same folds and judge it by all ``losses``.

    On each training part every method chooses its C from the same grid by the mean of ``measure`` over the same inner
    folds; features are standardized on the rows that are trained on.

    Parameters
    ----------
    problem : what to learn
    measure : a key of ``losses``
    losses : the measures by name
    plan : folds, grid, seed
    advance : called after each fit with words on what was done
    methods : rows of the table

    Raises
    ------
    ValueError : where the data do not allow the folds, or the measure does not fit the sets
    """
    loss = losses[measure]
    names = (measure, *(n for n in losses if n != measure))
    outer = [standardized(problem.take(a), problem.take(b)) for a, b in problem.folds(plan.folds, plan.seed)]
    rows, notes = [], []
    for method in methods:
        try:
            rows.append(_row(method, outer, loss, [losses[n] for n in names], plan, advance))
        except Refusal as refusal:
            notes.append(f"{method.name} is left out: {refusal}")
            for _ in range(plan.steps([method])):
                advance(f"{method.name} refused")
    ordered = frozenset(n for n in names if only_order(losses[n]))
    return Comparison(problem, measure, names, tuple(rows), plan, outer[0], tuple(notes), ordered)


def _row(
    method: Method,
    folds: list[tuple[Problem, Problem]],
    loss: Loss,
    measures: list[Loss],
    plan: Plan,
    advance: Advance,
) -> Row:
    begin, table, chosen, trained = time.perf_counter(), [], [], []
    for k, (train, test) in enumerate(folds):
        what = f"{train.name}: {method.name}, fold {k + 1}"
        c = choose(method, train, loss, plan, partial(advance, what))
        found = method.train(train, loss, c, plan.tol)
        advance(what)
        scores = found.margins(test)
        table.append([test.loss(measure, scores) for measure in measures])
        chosen.append(c)
        trained.append(found)
    return Row(method, np.array(table), tuple(chosen), tuple(trained), time.perf_counter() - begin)


def choose(method: Method, train: Problem, loss: Loss, plan: Plan, advance: Callable[[], None]) -> float:
    """The c of the grid with the least mean loss over the inner folds; the smallest of several."""
    parts = [standardized(train.take(a), train.take(b)) for a, b in train.folds(plan.inner, plan.seed + 1)]
    means = []
    for c in plan.grid:
        found = []
        for part, held_out in parts:
            found.append(held_out.loss(loss, method.train(part, loss, c, *ROUGH).margins(held_out)))
            advance()
        means.append(np.mean(found))
    return plan.grid[int(np.argmin(np.round(means, 12)))]


@final
@dataclass(frozen=True)
class Duel:
    """Paired difference over folds, ``first - second``, and the half-width of its 95 % interval by Student's t."""

    difference: float
    width: float

    @property
    def clear(self) -> bool:
        """Whether the interval leaves out 0."""
        return abs(self.difference) > self.width

    @classmethod
    def of(cls, first: Any, second: Any) -> "Duel":
        """From the losses of the folds, (folds,) each."""
        d = np.asarray(first) - np.asarray(second)
        error = d.std(ddof=1) / np.sqrt(len(d))
        return cls(float(d.mean()), float(student.ppf(0.975, len(d) - 1) * error))
