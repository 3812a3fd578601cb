"""Compare methods on the same folds: their mean losses, and paired differences with confidence intervals."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.stats import t as student

from setwise.compare.budget import Advance, within_budget
from setwise.compare.methods import METHODS, ROUGH, Method, Trained, only_order, standardized
from setwise.compare.plan import GRID, QUICK_GRID, Plan
from setwise.compare.problem import Problem
from setwise.core.checks import as_choice, as_kind, as_mapping, as_number, shown
from setwise.core.measure import Loss
from setwise.core.refusal import Refusal
from setwise.losses import as_loss

__all__ = ["GRID", "QUICK_GRID", "Comparison", "Duel", "Plan", "Row", "choose", "compare"]


@final
@dataclass(frozen=True, eq=False)
class Row:
    """The results of one method, trained for one measure.

    ``losses`` (folds, measures) are those at test; ``chosen`` and ``trained`` hold the constant c and the trained rule
    of each fold; ``seconds`` is the time of everything, the choice of c included.
    """

    method: Method
    losses: NDArray[np.float64]
    chosen: tuple[float, ...]
    trained: tuple[Trained, ...]
    seconds: float

    @property
    def mean(self) -> NDArray[np.float64]:
        """The mean losses over the folds, (measures,)."""
        return np.asarray(self.losses.mean(axis=0))

    @property
    def error(self) -> NDArray[np.float64]:
        """The standard errors over the folds, (measures,)."""
        return np.asarray(self.losses.std(axis=0, ddof=1) / np.sqrt(len(self.losses)))

    @property
    def gap(self) -> float | None:
        """The largest certified gap of the folds; None if the method certifies nothing."""
        gaps = [t.gap for t in self.trained]
        return None if gaps[0] is None else float(max(g for g in gaps if g is not None))

    @property
    def fit_seconds(self) -> float:
        """The mean seconds of a fit with the chosen c."""
        return float(np.mean([t.seconds for t in self.trained]))


@final
@dataclass(frozen=True, eq=False)
class Comparison:
    """The results of all methods on one problem, trained for ``measure`` and evaluated with ``measures``.

    ``measures`` begins with the one that was trained for; ``fold`` is the first pair of standardized training and test
    parts; ``notes`` are sentences on what was left out, and why; ``ordered`` are the measures in which only the order
    of scores counts.
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
        """The mean losses over the folds, (rows, measures)."""
        return np.array([row.mean for row in self.rows])

    @property
    def errors(self) -> NDArray[np.float64]:
        """The standard errors over the folds, (rows, measures)."""
        return np.array([row.error for row in self.rows])


def compare(
    problem: Problem,
    measure: str,
    losses: Mapping[str, Loss | str],
    plan: Plan,
    advance: Advance,
    methods: Sequence[Method] = METHODS,
    budget: float | None = None,
) -> Comparison:
    """Train every method for ``measure`` on the same folds and evaluate it with all ``losses``.

    On each training part every method chooses its C from the same grid by the mean of ``measure`` over the same inner
    folds; features are standardized on the rows of the training part.

    Parameters
    ----------
    problem : the data
    measure : the measure to train for, a key of ``losses``
    losses : the measures by name, each a loss or the name of one
    plan : the folds, the grid and the seed
    advance : called with words on what was done and with the number of fits that it took, of ``plan.fits(methods)``
    methods : the rows of the table
    budget : the seconds that the comparison may take, about; what does not fit is left out, see
        :func:`setwise.compare.budget.within_budget`. None leaves out nothing

    Raises
    ------
    ValueError : if the data do not allow the folds, the measure does not fit the sets, or the budget is too small
    """
    _check(problem, plan, advance, methods, budget)
    named = {name: as_loss(one) for name, one in as_mapping(losses, "losses", "losses").items()}
    loss = named[as_choice(measure, "measure", named)]
    names = (measure, *(n for n in named if n != measure))
    outer = _outer(problem, plan)
    notes: list[str] = []
    if budget is not None:
        asked = plan
        plan, kept, notes = within_budget(outer[0][0], loss, plan, methods, budget, advance)
        if notes:
            advance("left out", asked.fits(methods) - plan.fits(kept))
        # Folds are drawn again only if the budget has changed their number.
        methods, outer = kept, outer if plan.folds == asked.folds else _outer(problem, plan)
    rows, done = [], 0

    def count(what: str, fits: int = 1) -> None:
        nonlocal done
        done += fits
        advance(what, fits)

    for i, method in enumerate(methods, 1):
        try:
            rows.append(_row(method, outer, loss, [named[n] for n in names], plan, count))
        except Refusal as refusal:
            notes.append(f"{method.name} is left out: {refusal}")
            # The fits that the method did not make count as done.
            count(f"{method.name} refused", plan.fits(methods[:i]) - done)
    ordered = frozenset(n for n in names if only_order(named[n]))
    return Comparison(problem, measure, names, tuple(rows), plan, outer[0], tuple(notes), ordered)


def _check(problem: object, plan: object, advance: object, methods: object, budget: object) -> None:
    """Refuse what is none of the kinds that a comparison takes."""
    given = as_kind(problem, "problem", Problem, "Problem(name, about, X, y)")
    as_kind(plan, "plan", Plan, "Plan()")
    values = given.X.data if issparse(given.X) else given.X
    # Gaps of a raw table are filled on each training part.
    if not (np.isfinite(values) | (bool(given.columns) & np.isnan(values))).all():
        raise ValueError("X of the problem must be finite; got NaN or inf.")
    if not callable(advance):
        raise TypeError(f"advance must be a function of what was done and how much; got {shown(advance)}.")
    if not isinstance(methods, Sequence) or not methods or not all(isinstance(m, Method) for m in methods):
        raise TypeError(f"methods must be a list of methods, as METHODS; got {shown(methods)}.")
    if budget is not None:
        as_number(budget, "budget", low=0.0, open_low=True)


def _outer(problem: Problem, plan: Plan) -> list[tuple[Problem, Problem]]:
    """The standardized training and test parts; ValueError if a training part is too small to choose C in it."""
    folds = [standardized(problem.take(a), problem.take(b)) for a, b in problem.folds(plan.folds, plan.seed)]
    for train, _ in folds:
        try:
            train.folds(plan.inner, plan.seed + 1)
        except ValueError as error:
            raise ValueError(
                f"{problem.name} is too small for {plan.folds} folds, in each of which {plan.inner} folds choose C: in "
                f"a training part, {error}"
            ) from None
    return folds


def _row(
    method: Method,
    folds: list[tuple[Problem, Problem]],
    loss: Loss,
    measures: list[Loss],
    plan: Plan,
    advance: Callable[[str], None],
) -> Row:
    """Train one method on every fold, each time with a C chosen in the training part alone."""
    begin, table, chosen, trained = time.perf_counter(), [], [], []
    for k, (train, test) in enumerate(folds):
        what = f"{train.name}: {method.name}, fold {k + 1}"
        c = choose(method, train, loss, plan, partial(advance, what))
        rule = method.train(train, loss, c, plan.tol)
        advance(what)
        scores = rule.margins(test)
        table.append([test.loss(measure, scores) for measure in measures])
        chosen.append(c)
        trained.append(rule)
    return Row(method, np.array(table), tuple(chosen), tuple(trained), time.perf_counter() - begin)


def choose(method: Method, train: Problem, loss: Loss, plan: Plan, advance: Callable[[], None]) -> float:
    """The constant c of the grid with the least mean loss over the inner folds, the smallest one of equals."""
    parts = [standardized(train.take(a), train.take(b)) for a, b in train.folds(plan.inner, plan.seed + 1)]
    means = []
    for c in plan.grid:
        losses = []
        for part, held_out in parts:
            losses.append(held_out.loss(loss, method.train(part, loss, c, *ROUGH).margins(held_out)))
            advance()
        means.append(np.mean(losses))
    # Equal means may differ in their last digits; rounding lets the smallest c win.
    return plan.grid[int(np.argmin(np.round(means, 12)))]


@final
@dataclass(frozen=True)
class Duel:
    """The mean paired difference ``first - second`` over folds, and the half-width of its 95 % interval.

    The interval is that of Student's t; folds share training data, so it is somewhat too narrow.
    """

    difference: float
    width: float

    @property
    def clear(self) -> bool:
        """Whether the interval excludes 0 by more than rounding."""
        return abs(self.difference) > self.width + 1e-12

    @classmethod
    def of(cls, first: Any, second: Any) -> "Duel":
        """The paired difference of two sequences of losses, (folds,) each."""
        differences = np.asarray(first) - np.asarray(second)
        error = differences.std(ddof=1) / np.sqrt(len(differences))
        return cls(float(differences.mean()), float(student.ppf(0.975, len(differences) - 1) * error))
