"""How long a comparison will take and how many rows it may take, and what is left out to fit into a budget."""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from setwise.compare.fits import Fits, judged_by, no_advance, rows_of
from setwise.compare.plan import BASES, FIRST, LEAST_FOLDS, QUICK_GRID, Key, NamedLoss, Plan
from setwise.compare.problem import Problem
from setwise.compare.recommendation import decide
from setwise.compare.sentences import strategy_title
from setwise.compare.text import bytes_text, listed
from setwise.core.exceptions import Refusal
from setwise.core.pages import LARGE_FILES
from setwise.datasets.blocks import Budget
from setwise.datasets.sampling import ParquetTable
from setwise.decisions.task import Task
from setwise.estimators.selection import Strategy
from setwise.estimators.selection.out_of_fold import OutOfFoldBase

LEAST_ROWS, MOST_ROWS, SHARE = 300, 2000, 16
"""Times are measured on a sixteenth of the rows, but on so many at least and at most, and on a third of these."""

WARM_ROWS = 100
"""On so many rows kernels are compiled and processes started before the time is taken."""

LEAST_SETS = 12
"""The least number of sets with each label in a part: 3 outer folds leave 8 of them, of which 2 in 3 are trained on."""

MARGIN = 1.6
"""The final tuning on a whole part, and work that grows faster than the rows, as sorting does, as a factor."""

SLOW = 0.08
"""A strategy over one base model that takes more than this share of the budget goes first."""

CHEAP = ("as_it_is", "threshold", "order")
"""Strategies that cost next to nothing, and are never left out."""


@final
@dataclass(frozen=True)
class Line:
    """Seconds ``fixed + slope * rows`` of a piece of work on one part of the rows."""

    fixed: float
    slope: float

    def __call__(self, rows: float) -> float:
        """The seconds for so many rows."""
        return self.fixed + self.slope * rows

    @classmethod
    def through(cls, small: tuple[int, float], large: tuple[int, float]) -> "Line":
        """The line through two measurements (rows, seconds); both its numbers are at least 0."""
        (m, a), (n, b) = small, large
        slope = (b - a) / (n - m) if n > m else 0.0
        # Noise may give a fixed part or a slope below 0; the time is then taken as proportional to the larger part.
        return cls(a - slope * m, slope) if slope > 0 and a >= slope * m else cls(0.0, b / n)


@final
@dataclass(frozen=True)
class Costs:
    """Seconds of one part: for the fits of each base model with all its constants, and for each strategy over it."""

    fits: Mapping[str, Line]
    strategies: Mapping[Key, Line]
    grid: int

    def expected(self, plan: Plan, rows: int) -> float:
        """The seconds of a plan on so many rows."""
        return sum(self.of(plan, rows).values())

    def of(self, plan: Plan, rows: int) -> dict[Key, float]:
        """The seconds of a plan by base model and strategy, with those of the fits under the strategy ``""``."""
        parts = [rows * (1.0 - 1.0 / plan.folds)] * plan.folds + [float(rows)]
        found: dict[Key, float] = {}
        for name, line in self.fits.items():
            if name in plan.bases or name == FIRST:
                share = len(BASES[name].constants(plan.grid)) / len(BASES[name].constants((1.0,) * self.grid))
                found[name, ""] = MARGIN * share * sum(map(line, parts))
                tried = {strategy.name for strategy in plan.tried(name)}
                for (base, strategy), cost in self.strategies.items():
                    if base == name and strategy in tried | {"order"}:
                        found[base, strategy] = MARGIN * sum(map(cost, parts))
        return found


def measured_costs(problem: Problem, measures: Sequence[NamedLoss], plan: Plan, warm: bool = False) -> Costs:
    """The costs from two small runs; unless ``warm``, one before them that is not counted compiles and starts up."""
    n = len(problem.y)
    large = min(n, max(LEAST_ROWS, min(n // SHARE, MOST_ROWS)))
    sizes = [*([] if warm else [WARM_ROWS]), large // 3, large]
    runs = [_run(problem.part(rows, LEAST_SETS, plan.seed), measures, plan) for rows in sizes]
    (small, before), (whole, after) = runs[-2:]
    lines = {key: Line.through((small, before.get(key, took)), (whole, took)) for key, took in after.items()}
    fits = {base: line for (base, strategy), line in lines.items() if not strategy}
    return Costs(fits, {key: line for key, line in lines.items() if key[1]}, len(plan.grid))


def _run(part: Problem, measures: Sequence[NamedLoss], plan: Plan) -> tuple[int, dict[Key, float]]:
    """The number of rows of a part, and the seconds of the fits and of each strategy on it."""
    rows = rows_of(part, measures[0])
    fits = Fits(rows, part, plan, "", no_advance)
    seconds: dict[Key, float] = {(base, ""): value for base, value in fits.seconds.items()}
    for measured in measures:
        task = judged_by(rows.task, measured)
        sources = fits.best(task, plan.reference(measured))
        before = {base: source.seconds for base, source in sources.tuned.items()}
        decision = decide(fits, task, plan, plan.reference(measured), "", no_advance)
        for candidate in decision.candidates:
            seconds[candidate.key] = seconds.get(candidate.key, 0.0) + candidate.seconds
        for base, source in sources.tuned.items():
            # Fits with weighted rows are made for the strategies that ask for them.
            asking = [strategy.name for strategy in plan.tried(base) if asks_for_fits(strategy, task, source)]
            for name in asking:
                seconds[base, name] = seconds.get((base, name), 0.0) + (source.seconds - before[base]) / len(asking)
    return len(part.y), seconds


def asks_for_fits(strategy: Strategy, task: Task, base: OutOfFoldBase) -> bool:
    """Whether a strategy asks for more fits of the base model than the others."""
    return strategy.refuses(task, base) is None and (strategy.many_numbers or strategy.bound(task).fits != (1.0,))


def within(plan: Plan, costs: Costs, rows: int, budget: float) -> tuple[Plan, int, list[str]]:
    """The plan and the number of rows that fit into ``budget`` seconds, and sentences on what is left out.

    Given up are values of C, then the slowest strategies over single base models, then base models but for the
    reference and one other, then outer folds down to three, then further strategies, and at last rows.
    """
    held, whole, notes = rows, costs.expected(plan, rows), list[str]()
    if whole <= budget:
        return plan, rows, notes

    def late() -> bool:
        return costs.expected(plan, rows) > budget

    if late() and len(plan.grid) > len(QUICK_GRID):
        plan = replace(plan, grid=QUICK_GRID)
        notes.append(f"C of logistic regression from {len(plan.grid)} values")
    gone: list[Key] = []

    def leave_out(share: float) -> None:
        """Leave out the slowest strategies, while it is late, that take more than a share of the budget."""
        nonlocal plan
        for key in sorted(costs.strategies, key=lambda key: -costs.of(plan, rows).get(key, 0.0)):
            if late() and key[1] not in CHEAP and costs.of(plan, rows).get(key, 0.0) > share * budget:
                plan = replace(plan, skipped=plan.skipped | {key})
                gone.append(key)

    leave_out(SLOW)
    while late() and len(set(plan.bases) - {FIRST}) > 1:
        slowest = max((b for b in plan.bases if b != FIRST), key=lambda b: costs.fits[b](rows))
        plan = replace(plan, bases=tuple(b for b in plan.bases if b != slowest))
        notes.append(f"without {BASES[slowest].title}")
    if late() and plan.folds > LEAST_FOLDS:
        plan = replace(plan, folds=LEAST_FOLDS)
        notes.append(f"{LEAST_FOLDS} outer folds")
    leave_out(0.01)
    # Strategies over a base model that is left out need no words of their own.
    named = [f"{strategy_title(strategy)} over {BASES[b].title}" for b, strategy in gone if b in {FIRST, *plan.bases}]
    if named:
        notes.append(f"without {listed(named)}")
    if late():
        fixed = costs.expected(plan, 0)
        share = max((budget - fixed) / max(costs.expected(plan, rows) - fixed, 1e-9), 0.0)
        rows = max(int(rows * share), min(rows, LEAST_ROWS))
        notes.append(f"{rows:,} of {held:,} rows")
    expected = costs.expected(plan, rows)
    rest = f" Even so it is expected to take {expected:.0f} s." if expected > 1.5 * budget else ""
    note = (
        f"To fit into the {budget:.0f} s that are left of the budget: {'; '.join(notes)}. All of it would take "
        f"{whole:.0f} s (--time-budget).{rest}"
    )
    return plan, rows, [note]


CELL, ROW, FOREST = 120, 600, 6000
"""Bytes that fits take for each number and each row of a sample, and for each row of a random forest."""

WORDS = 3
"""A column of words takes as much as so many numbers."""

READ = 40
"""Bytes that a number of a row group takes while it is read, coded and scaled."""

OTHER, OF_SET, SET = 8, 20, 200
"""Bytes that are kept of each other row for each of its labels, of one that belongs to a group, and of each group."""

SAMPLE_SHARE = 0.6
"""The share of what is left that a sample may take; the rest is for what was fitted, beside two parts of the file."""

SAID = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where Linux says how much memory the processes of a container may have."""


@final
@dataclass(frozen=True)
class MemoryAllowance:
    """What a budget of bytes has room for, in a comparison of random rows of a table.

    Attributes
    ----------
    budget : the bytes, beyond those of Python and its libraries
    table : the file
    cells : the numbers that a row of it takes
    labels : the number of its labels
    grouped : whether its rows form groups
    forest : whether a random forest is fitted
    jobs : the number of processes, each of which may hold a copy
    """

    budget: Budget
    table: ParquetTable
    cells: int
    labels: int
    grouped: bool
    forest: bool
    jobs: int

    @property
    def row(self) -> int:
        """The bytes of a row of the sample."""
        return int((CELL * self.cells + ROW * self.labels + FOREST * self.forest) * self.jobs)

    def rows(self, sets: int) -> int:
        """How many rows the sample of a table of so many sets may have; Refusal where these are too few."""
        left = self._left(sets)
        found = max(int(SAMPLE_SHARE * left), 0) // self.row
        least, largest = min(LEAST_ROWS, self.table.rows), max(self.table.sizes)
        if found < least or self.most(sets) < largest:
            needed = self.budget.bytes - left
            needed += max(int(least * self.row / SAMPLE_SHARE) + self.row, 2 * READ * self.cells * largest)
            raise Refusal(
                f"--memory {bytes_text(self.budget.bytes)} is too small for {self.table.path.name}, whose largest row "
                f"group has {largest:,} of its {self.table.rows:,} rows: give {bytes_text(needed)} or more.",
                LARGE_FILES,
            )
        return found

    def most(self, sets: int) -> int:
        """How many rows a block may have that is read while another one is worked on."""
        return max(self._left(sets) // 2, 0) // (READ * self.cells)

    def _left(self, sets: int) -> int:
        """The bytes that are left beside what is kept of each other row and of each set."""
        kept = OTHER * self.labels + OF_SET * self.grouped
        return self.budget.bytes - kept * self.table.rows - SET * sets * self.grouped


def refuse_too_large(path: Path) -> None:
    """Raise Refusal for a Parquet table that takes more than the memory of this machine; reads its footer alone."""
    has = machine_memory()
    if has is None or path.suffix.lower() != ".parquet" or not path.is_file():
        return
    table = ParquetTable(path)
    # Each column is there as the file holds it, and as float64 once by itself and once in the matrix of all.
    needed = table.bytes + 16 * table.rows * len(table.names)
    if needed > has:
        raise Refusal(
            f"{path.name} has {table.rows:,} rows, which take at least {bytes_text(needed)} of memory, and this "
            f"machine has {bytes_text(has)}: give --memory {bytes_text(has // 2)}, which compares on random rows of "
            "it.",
            LARGE_FILES,
        )


def machine_memory() -> int | None:
    """The bytes of memory that the processes of this machine, or of this container, may have; None if it is unknown."""
    found = []
    with suppress(AttributeError, ValueError, OSError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    for name in SAID:
        with suppress(OSError, ValueError):
            # Without a limit there is the word "max".
            found.append(int(Path(name).read_text("ascii")))
    return min((each for each in found if each > 0), default=None)
