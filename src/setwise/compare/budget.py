"""How long the steps of a comparison take on a usual machine, what fits into a budget, and what is left of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import final

from scipy.sparse import issparse

from setwise.compare.plan import FIRST, QUICK_GRID, Key, NamedLoss, Plan, base_model
from setwise.compare.problem import Problem
from setwise.compare.sentences import WAYS, foreign
from setwise.compare.text import seconds_text

ALWAYS = ("as_it_is", "threshold", "order", "decision", "most_probable", "class_multipliers")
"""Strategies that cost next to nothing, and are never left out."""

FITS = {"class_weight": 4.0, "cost_weight": 1.0, "ramp": 1.7, "stack": 1.7, "gfm": 1.7}
"""How many times the fits of a base model with one constant a strategy asks for further ones."""

SECONDS = {
    **dict.fromkeys(("as_it_is", "most_probable"), 1e-7),
    **dict.fromkeys(("threshold", "class_weight", "cost_weight"), 2e-5),
    "decision": 1e-5,
}
"""Seconds that tuning and judging a strategy takes for each label of a row; most others take ``OTHERS``."""

OTHERS = 6e-5

CORES = 2
"""Fits share so many processors on a usual machine."""


@final
@dataclass(frozen=True)
class Costs:
    """Seconds of the steps of a comparison on a usual machine, by the size of the table alone.

    So the same table has the same plan on every machine.

    Attributes
    ----------
    rows, columns, labels : the size of the table, and the number of labels of a row, or of more than two classes
    free : the strategies that do not fit the data, and so take no time
    """

    rows: int
    columns: int
    labels: int = 1
    free: frozenset[str] = frozenset()

    @classmethod
    def of(cls, problem: Problem, measures: Sequence[NamedLoss]) -> "Costs":
        """Those of a problem and its measures."""
        n, d = problem.X.shape
        # A sparse matrix has the cells that are not 0.
        columns = -(-problem.X.nnz // n) if issparse(problem.X) else d
        free = frozenset.intersection(*(frozenset(foreign(problem, measured)) for measured in measures))
        return cls(n, max(int(columns), 1), problem.y.shape[1] if problem.many else problem.several or 1, free)

    def fits(self, base: str, plan: Plan) -> float:
        """Of a base model with one constant: a fit for each inner fold, and one on all rows."""
        least, each = base_model(base).cost
        return (plan.inner + 1) / CORES * self.labels * (least + each * (self.rows * self.columns))

    def step(self, key: Key, plan: Plan) -> float:
        """Of a strategy over a base model with its further fits; where it has no name, of the base model by itself."""
        base, name = key
        if not name:
            return len(base_model(base).constants(plan.grid)) * self.fits(base, plan)
        if name in self.free:
            return 0.0
        return FITS.get(name, 0.0) * self.fits(base, plan) + SECONDS.get(name, OTHERS) * self.rows * self.labels

    def judged(self, base: str, plan: Plan) -> float:
        """Of the strategies over a base model that are never left out."""
        return sum(self.step((base, one.name), plan) for one in plan.tried(base) if one.name in ALWAYS)

    def expected(self, plan: Plan) -> float:
        """Of a plan: each of k outer folds repeats the choice on ``1 - 1/k`` of the rows."""
        outer = plan.folds if plan.outer is None else plan.outer
        return (1.0 + outer * (1.0 - 1.0 / plan.folds)) * sum(self.step(key, plan) for key in _steps(plan))


def within(plan: Plan, costs: Costs, budget: float) -> tuple[Plan, list[str]]:
    """The plan that fits into ``budget`` seconds on a usual machine, and a sentence on what is left out.

    Given up are values of C down to three; then, the most expensive first, base models but for the reference and one
    other, and strategies over single base models. If that is not enough, all outer folds are, and as little as possible
    of the rest; at last all values of C but one.
    """
    whole_time, gone, given = costs.expected(plan), list[Key](), plan

    def late() -> bool:
        return costs.expected(plan) > budget

    for outer in (given.outer, 0):
        plan, gone = replace(given, outer=outer), []
        if late() and len(plan.grid) > len(QUICK_GRID):
            plan = replace(plan, grid=QUICK_GRID)
        while late() and (rest := [key for key in _optional(plan) if costs.step(key, plan) > 0.0]):
            gone.append(max(rest, key=lambda key: costs.step(key, plan)))
            base, strategy = gone[-1]
            bases = plan.bases if strategy else tuple(one for one in plan.bases if one != base)
            plan = replace(plan, bases=bases, skipped=plan.skipped | {gone[-1]} if strategy else plan.skipped)
        if not late():
            break
    if late():
        plan = replace(plan, grid=(plan.grid[len(plan.grid) // 2],))
    notes = [*left_out(gone), *(["all outer folds"] if plan.outer == 0 else []), *fewer(given.grid, plan.grid)]
    if not notes:
        return plan, []
    fit = f"Left out to fit {costs.rows:,} rows of {costs.columns:,} columns into {budget:.0f} s: {'; '.join(notes)}."
    return plan, [f"{fit} All of it takes {seconds_text(whole_time)} on a usual machine (--time-budget)."]


def left_out(keys: Sequence[Key]) -> list[str]:
    """Words for the base models that are left out, and for strategies over others."""
    bases = [base for base, strategy in keys if not strategy]
    # Strategies over a base model that is left out need no words of their own.
    over = [f"{WAYS[strategy].title} over {base_model(base).title}" for base, strategy in keys if base not in bases]
    return [*(base_model(base).title for base in bases), *over]


def fewer(before: tuple[float, ...], after: tuple[float, ...]) -> list[str]:
    """Words for the constants C that are left out."""
    gone = len(before) - len(after)
    return [f"{gone} of {len(before)} values of C"] if gone else []


def _steps(plan: Plan) -> list[Key]:
    """The steps of the choice on all rows: each base model, and each strategy over it."""
    bases = dict.fromkeys((FIRST, *plan.bases))
    return [(base, name) for base in bases for name in ("", *(strategy.name for strategy in plan.tried(base)))]


def _optional(plan: Plan) -> list[Key]:
    """The steps that a plan can do without. Beside the reference one other base model stays."""
    others = [base for base in plan.bases if base != FIRST]
    needed = {FIRST, "boosted" if "boosted" in others else next(iter(others), FIRST)}
    return [key for key in _steps(plan) if (key[1] not in ALWAYS if key[1] else key[0] not in needed)]


@final
class Clock:
    """The seconds of a budget that are left, and how this machine compares with a usual one.

    Parameters
    ----------
    budget : the seconds, or None for no end
    """

    def __init__(self, budget: float | None) -> None:
        self.budget, self._begin = budget, perf_counter()
        self._usual = self._took = 0.0

    @property
    def passed(self) -> float:
        """The seconds since the begin."""
        return perf_counter() - self._begin

    def done(self, usual: float, took: float) -> None:
        """A step took so many seconds, and would take ``usual`` ones on a usual machine."""
        self._usual += usual
        self._took += took

    def expects(self, usual: float) -> float:
        """The seconds of a step here, of which it is known what it takes on a usual machine."""
        return usual * (self._took / self._usual if self._usual > 0.0 else 1.0)

    def has(self, seconds: float, share: float = 1.0) -> bool:
        """Whether so many seconds are left of a share of the budget."""
        return self.budget is None or self.passed + seconds <= share * self.budget
