"""The plan of a comparison, the work that it takes, and the smaller plans for a budget of seconds."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import final

from setwise.compare.methods import METHODS, Method
from setwise.core.checks import as_count, as_number, shown

GRID = (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
"""The constants C, counted for each decision, from which every method chooses."""

QUICK_GRID = (1e-3, 1e-1, 10.0)

LEAST_GRID = (1e-2, 1.0)

LEAST_FOLDS = 3
"""The least number of folds of a smaller plan: with fewer hardly any difference is clear."""

LAST_FIT = 6
"""The time of a fit with the chosen C, on more rows and to a smaller gap, in fits that serve to choose C."""


@final
@dataclass(frozen=True)
class Plan:
    """The outer folds, the inner folds for the choice of C, its grid, the gap of the fit with that C, and the seed."""

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

    def fits(self, methods: Sequence[Method] = METHODS) -> int:
        """The number of fits for one problem and one measure."""
        return self.folds * len(methods) * (len(self.grid) * self.inner + 1)

    @property
    def work(self) -> int:
        """The work for one method, in fits that serve to choose C."""
        return self.folds * (len(self.grid) * self.inner + LAST_FIT)

    def smaller(self) -> Iterator["Plan"]:
        """The plan itself, then ever smaller plans: first with fewer values of C, then with fewer folds."""
        plan = self
        yield plan
        # Most of the work is the choice of C, so the grid is thinned out before folds are given up.
        for grid in (QUICK_GRID, LEAST_GRID):
            if len(grid) < len(plan.grid):
                plan = replace(plan, grid=grid)
                yield plan
        while plan.folds > LEAST_FOLDS:
            plan = replace(plan, folds=plan.folds - 1)
            yield plan

    @property
    def least(self) -> "Plan":
        """The last plan of :meth:`smaller`."""
        return list(self.smaller())[-1]


def within(plan: Plan, seconds: Mapping[Method, float], budget: float) -> tuple[Plan, tuple[Method, ...]]:
    """The plan and the methods that fit into ``budget`` seconds, if a fit that serves to choose C takes ``seconds``.

    It is the first of ``plan.smaller()`` that all methods finish in time, or else the last one without the slowest
    methods. The fastest method of setwise and the fastest usual method always stay.
    """
    for smaller in plan.smaller():
        if smaller.work * sum(seconds.values()) <= budget:
            return smaller, tuple(seconds)
    kept = list(seconds)
    # Drop the slowest methods, one after the other, until the rest fits.
    for method in sorted(seconds, key=lambda m: seconds[m], reverse=True):
        if plan.least.work * sum(seconds[m] for m in kept) <= budget:
            break
        # A comparison needs a method of each kind.
        if sum(m.ours == method.ours for m in kept) > 1:
            kept.remove(method)
    return plan.least, tuple(kept)
