"""The plan of a comparison: folds, constants, base models and levers, and what is left out to fit into a budget."""

from dataclasses import dataclass
from typing import final

from setwise.compare.bases import BASES, GRID, Base
from setwise.compare.floors import FlooredThreshold, NearestThreshold
from setwise.compare.measures import Measured
from setwise.compare.order import Order
from setwise.compare.problem import Problem
from setwise.core.checks import as_count, as_kind, as_number, shown
from setwise.estimators.selection import LEVERS, Lever
from setwise.estimators.selection.levers import Threshold

Key = tuple[str, str]
"""A way to get predictions: the names of the base model and of the lever."""

FIRST = next(iter(BASES))

REFERENCE: Key = (FIRST, "threshold")
"""Logistic regression with a tuned threshold, by which every other way is judged."""

PLAIN: Key = (FIRST, "as_it_is")
"""Logistic regression at 0.5."""


LEAST_FOLDS = 3
"""With fewer outer folds hardly any gain is sure."""


@final
@dataclass(frozen=True)
class Plan:
    """What is tried, and in which folds.

    Attributes
    ----------
    folds : the number of outer folds, 2 or more, in each of which the whole choice is repeated
    inner : the number of folds, 3 or more, inside a training part, by which levers are tuned and judged
    grid : the constants C of logistic regression, above 0
    bases, levers : the names of the base models and of the levers
    seed : the seed of the outer folds and of the trees
    n_jobs : the number of processes; -1 takes all processors
    skipped : pairs of base model and lever that do not fit into the budget
    floor : the threshold that keeps floors, which no other lever does; None without floors

    Raises
    ------
    ValueError : for numbers out of range, and names of no base model or lever
    TypeError : for numbers, pairs or a floor of another kind

    Examples
    --------
    >>> from setwise.compare import Plan
    >>> plan = Plan(folds=3, bases=("linear",), levers=("stack",))
    >>> [lever.name for lever in plan.tried("linear")]  # as it is and with a tuned threshold each model is tried
    ['as_it_is', 'threshold', 'stack']
    """

    folds: int = 5
    inner: int = 5
    grid: tuple[float, ...] = GRID
    bases: tuple[str, ...] = tuple(BASES)
    levers: tuple[str, ...] = tuple(LEVERS)
    seed: int = 0
    n_jobs: int = 1
    skipped: frozenset[Key] = frozenset()
    floor: FlooredThreshold | None = None

    def __post_init__(self) -> None:
        as_count(self.folds, "folds", low=2)
        as_count(self.inner, "inner", low=3)
        as_count(self.seed, "seed", low=0, high=2**32 - 1)
        if not isinstance(self.grid, tuple) or not self.grid:
            raise ValueError(f"grid must be a tuple of constants C; got {shown(self.grid)}.")
        for c in self.grid:
            as_number(c, "a constant of grid", low=0.0, open_low=True)
        for name, known in (("bases", BASES), ("levers", LEVERS)):
            held = getattr(self, name)
            if not isinstance(held, tuple) or not all(isinstance(one, str) and one in known for one in held):
                raise ValueError(f"{name} must be a tuple of names among {', '.join(known)}; got {shown(held)}.")
        if isinstance(self.n_jobs, bool) or not isinstance(self.n_jobs, int) or self.n_jobs == 0:
            raise ValueError(f"n_jobs must be a number of processes, or -1 for all; got {shown(self.n_jobs)}.")
        if not isinstance(self.skipped, frozenset):
            raise TypeError(f"skipped must be a frozenset of pairs (base, lever); got {shown(self.skipped)}.")
        if self.floor is not None:
            as_kind(self.floor, "floor", FlooredThreshold, "FlooredThreshold(recall=0.9)")

    def models(self, problem: Problem) -> tuple[Base, ...]:
        """The base models that fit the table; the reference is always among them, and comes first."""
        named = [BASES[name] for name in dict.fromkeys((FIRST, *self.bases))]
        return tuple(base for base in named if base.refuses(problem) is None)

    def tried(self, base: str) -> tuple[Lever, ...]:
        """The levers that are tried over a base model; as it is and with a tuned threshold each model is tried."""
        if self.floor is not None:
            return (NearestThreshold(self.floor),)
        names = dict.fromkeys(("as_it_is", "threshold", *self.levers))
        return tuple(LEVERS[name]() for name in names if (base, name) not in self.skipped)

    def reference(self, measured: Measured) -> Lever:
        """The lever of the reference: the best threshold, the best one under the floors, or the order of scores."""
        if measured.orders:
            return Order()
        return Threshold() if self.floor is None else NearestThreshold(self.floor)

    def steps(self, problem: Problem, measures: int) -> int:
        """The number of steps of progress: one for each constant and each lever, in each part of the rows."""
        constants = sum(len(base.constants(self.grid)) for base in self.models(problem))
        levers = sum(len(self.tried(base.name)) for base in self.models(problem))
        return (self.folds + 1) * (constants + measures * levers)
