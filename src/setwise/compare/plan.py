"""How much work a comparison is, and what a budget of seconds leaves of it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

from setwise.compare.methods import METHODS, Method
from setwise.core.checks import as_count, as_number, shown

GRID = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
"""Constants C for a decision that every method chooses from."""

QUICK_GRID = (1e-3, 1e-1, 10.0)

LEAST_GRID = (1e-2, 1.0)

LEAST_FOLDS = 3
"""With fewer no difference is ever clear, unless fewer were asked for."""

LAST_FIT = 6
"""The fit with the chosen C, on more rows and to a smaller gap, takes about as long as so many that choose it."""


@final
@dataclass(frozen=True)
class Plan:
    """How to compare: outer folds, inner folds for the choice of C, the grid, the gap of the last fit, and the seed."""

    folds: int = 5
    inner: int = 3
    grid: tuple[float, ...] = GRID
    tol: float = 1e-3
    seed: int = 0

    def __post_init__(self) -> None:
        as_count(self.folds, "folds", low=2)
        as_count(self.inner, "inner", low=2)
        if not isinstance(self.grid, tuple) or not self.grid:
            raise ValueError(f"grid must be a tuple of constants C; got {shown(self.grid)}.")
        for c in self.grid:
            as_number(c, "a constant of grid", low=0.0, open_low=True)
        as_number(self.tol, "tol", low=0.0)
        as_count(self.seed, "seed", low=0)

    def steps(self, methods: Sequence[Method] = METHODS) -> int:
        """Number of fits for one problem and one measure."""
        return self.folds * len(methods) * (len(self.grid) * self.inner + 1)

    @property
    def work(self) -> int:
        """The work for one method, in fits that serve to choose C."""
        return self.folds * (len(self.grid) * self.inner + LAST_FIT)

    def smaller(self) -> Iterator["Plan"]:
        """Itself, then ever smaller plans: fewer values of C first, then fewer folds."""
        plan = self
        yield plan
        for grid in (QUICK_GRID, LEAST_GRID):
            if len(grid) < len(plan.grid):
                plan = replace(plan, grid=grid)
                yield plan
        while plan.folds > LEAST_FOLDS:
            plan = replace(plan, folds=plan.folds - 1)
            yield plan

    @property
    def least(self) -> "Plan":
        """The last of :meth:`smaller`."""
        return list(self.smaller())[-1]


def within(plan: Plan, seconds: Mapping[Method, float], budget: float) -> tuple[Plan, tuple[Method, ...]]:
    """What fits into ``budget`` seconds, where one fit that serves to choose C takes ``seconds``.

    The first of ``plan.smaller()`` that all methods finish in time, else the last of them without the slowest methods.
    The fastest of ours and the fastest of the usual ones stay.
    """
    for smaller in plan.smaller():
        if smaller.work * sum(seconds.values()) <= budget:
            return smaller, tuple(seconds)
    kept = list(seconds)
    for method in sorted(seconds, key=lambda m: seconds[m], reverse=True):
        if plan.least.work * sum(seconds[m] for m in kept) <= budget:
            break
        if sum(m.ours == method.ours for m in kept) > 1:
            kept.remove(method)
    return plan.least, tuple(kept)
