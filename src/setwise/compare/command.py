"""The command ``setwise compare``: it reads the data, plans by the time, runs the comparison and writes the report."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from joblib import effective_n_jobs

from setwise.compare.answer import Answer
from setwise.compare.bundled import bags, breast_cancer, digit_traits
from setwise.compare.detail_words import foreign
from setwise.compare.figures import listed, seconds_text
from setwise.compare.measures import Measured
from setwise.compare.options import Options, plan_for, plan_of, usual_loss
from setwise.compare.others import OtherRows
from setwise.compare.outer import check_size, compare
from setwise.compare.plan import Plan
from setwise.compare.problem import Problem, drawn_rows
from setwise.compare.progress import ProgressLine
from setwise.compare.reading import read, read_test
from setwise.compare.report import earlier, write_report
from setwise.compare.resuming import keep_plan, open_for_comparison, planned
from setwise.compare.room import refuse_too_large
from setwise.compare.sampled import read_sample
from setwise.compare.saving import check_place, save
from setwise.compare.terminal import section, summary
from setwise.compare.timing import LEAST_SETS, measured_costs, within
from setwise.core.checkpoint import OpenCheckpoint
from setwise.losses import parse_losses

QUICK_ROWS = 3000
"""The number of rows of a file that ``--quick`` takes, about, in whole sets."""

BUDGET, QUICK_BUDGET = 600.0, 60.0
"""The seconds for a file if no budget is given."""

SMALL = 200_000
"""Up to so many cells of a table one process is faster than several, which must be started."""


@final
@dataclass(frozen=True, eq=False)
class Work:
    """One problem with its measures."""

    problem: Problem
    measures: tuple[Measured, ...]
    test: Problem | None = None
    others: OtherRows | None = None

    def part(self, rows: int, plan: Plan, why: str) -> "Work":
        """The work on a random part of about so many rows; what is left out of a sample is one of its other rows."""
        problem, sets, others = self.problem, max(LEAST_SETS, plan.folds), self.others
        if others is not None:
            others = others.beside(drawn_rows(problem.y, rows, sets, plan.seed, problem.groups))
        return replace(self, problem=problem.part(rows, sets, plan.seed, why), others=others)


def compare_command(options: Options, say: Callable[[str], None], bold: bool = False) -> tuple[list[str], list[Path]]:
    """Compare all ways on a file, or on the bundled problems; returns texts to print and the files written.

    Without a file the problems are early detection in bags, where the base model matters, traits of digits, where each
    row is a set of labels, and a table where logistic regression is good enough.

    Raises
    ------
    ValueError, OSError : in one sentence, for anything that is wrong with the request or the data
    """
    begin = time.perf_counter()
    plan = plan_of(options)
    # A folder that may not be replaced is refused before the work, not after it.
    earlier(options.out)
    work = work_of(options, plan)
    for one in work:
        check(one, plan, options)
    if options.save is not None:
        check_place(options.save)
    kept = open_for_comparison(options, [one.problem for one in work])
    made = made_folders(options.out)
    try:
        with _written(kept):
            return _answered(options, work, say, bold, begin, kept)
    except BaseException:
        # An interrupted run leaves no empty folders behind.
        for folder in made:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


@contextlib.contextmanager
def _written(kept: OpenCheckpoint | None) -> Iterator[None]:
    """Write the checkpoint at the end, also after Ctrl-C, which then says so."""
    try:
        yield
    except KeyboardInterrupt:
        if kept is None or not kept.arrays:
            raise
        raise KeyboardInterrupt(f"{kept.name} holds what was done; --resume goes on from it") from None
    finally:
        if kept is not None:
            kept.write()


def made_folders(out: Path) -> list[Path]:
    """Make a folder, so that a place where nothing can be written shows before the work; what was made, inner first."""
    missing = [folder for folder in (out, *out.parents) if not folder.exists()]
    out.mkdir(parents=True, exist_ok=True)
    return missing


def _answered(
    options: Options,
    work: Sequence[Work],
    say: Callable[[str], None],
    bold: bool,
    begin: float,
    kept: OpenCheckpoint | None,
) -> tuple[list[str], list[Path]]:
    """Run the comparison, save the model and write the report."""
    budget = options.time_budget
    if budget is None and options.data is not None:
        budget = QUICK_BUDGET if options.quick else BUDGET
    found = run(work, options, budget, say, kept)
    if options.save is not None:
        save(found[0], options.save, options.group)
        found = [replace(found[0], saved=str(options.save))]
    title = f"setwise compare: {work[0].problem.name if options.data else 'bundled problems'}"
    files = write_report(options.out, found, title, time.perf_counter() - begin, options.command)
    return [*(section(one, bold) for one in found), *(summary(found) if len(found) > 1 else [])], files


def check(work: Work, plan: Plan, options: Options) -> None:
    """Refuse measures that do not fit the sets, floors that do not fit the measures, and too few rows."""
    check_size(work.problem, plan)
    for measured in work.measures:
        measured.loss.check(work.problem.sets)
        if plan.floor is not None and measured.orders:
            raise ValueError(f"a floor is kept by a threshold, and {measured.title} has none.")
    if plan.floor is not None and work.problem.many:
        raise ValueError("a floor of recall or precision is for one label a row; the target is a label matrix.")
    if plan.floor is not None:
        plan.floor.check(work.problem.y)
    if options.save is not None and len(work.measures) > 1:
        raise ValueError("--save takes the model of one measure; name one loss.")
    if options.average is not None and not work.problem.many:
        raise ValueError("--average says what a set is in a label matrix; name several target columns.")


def run(
    work: Sequence[Work],
    options: Options,
    budget: float | None,
    say: Callable[[str], None],
    kept: OpenCheckpoint | None = None,
) -> list[Answer]:
    """Measure the time, plan by it, say what is expected, and run every comparison.

    Where a checkpoint holds a plan, the time is not measured again.
    """
    places = [None if kept is None else kept.part(f"problem {k}") for k in range(len(work))]
    plans: list[tuple[Work, Plan, list[str]]] = []
    expected, begin = 0.0, time.perf_counter()
    for one, place in zip(work, places, strict=True):
        n = len(one.problem.y)
        small = n * one.problem.X.shape[1] <= SMALL or options.memory is not None
        jobs = options.n_jobs if options.n_jobs is not None else 1 if small else effective_n_jobs(-1)
        own = replace(plan_for(options, one.problem), n_jobs=jobs)
        rows, notes, earlier = n, unfit(options, own, one), planned(place and place.part("plan"), own)
        if earlier is not None:
            own, rows, notes = earlier
        else:
            if not plans:
                say("Measuring how long it takes ...")
            costs = measured_costs(one.problem, one.measures, own, warm=bool(plans))
            if budget is not None:
                # Each problem has an equal share of the budget, less what the measuring took so far.
                left = max(budget - (time.perf_counter() - begin), 0.2 * budget)
                own, rows, cuts = within(own, costs, n, left / len(work))
                notes += cuts
            keep_plan(place and place.part("plan"), own, rows, notes)
        if rows < n:
            one = one.part(rows, own, "--time-budget" if budget is None else f"to fit into {budget:g} s")
        if earlier is None:
            expected += costs.expected(own, len(one.problem.y))
        plans.append((one, own, notes))
    if expected:
        say(f"Expected time: {seconds_text(expected)}.")
    for _, _, notes in plans:
        for note in notes:
            say(note)
    line = ProgressLine(sum(own.steps(one.problem, len(one.measures)) for one, own, _ in plans), "compare")

    found: list[Answer] = []
    for (one, own, notes), place in zip(plans, places, strict=True):

        def advance(what: str, steps: int, name: str = one.problem.name) -> None:
            line.advance(f"{name}: {what}", steps)

        share = None if budget is None else budget / len(work)
        found += compare(one.problem, one.measures, own, advance, one.test, notes, share, place, one.others)
    line.close()
    return found


def unfit(options: Options, plan: Plan, work: Work) -> list[str]:
    """Sentences on the levers that were asked for and fit no measure on these data, or keep no floor."""
    asked = () if options.levers is None else plan.levers
    odd = [name for name in asked if all(name in foreign(work.problem, m) for m in work.measures)]
    floorless = [n for n in asked if plan.floor is not None and n not in (*odd, "as_it_is", "threshold")]
    reasons = {"not for this kind of data or of measure": odd, "a floor is kept by a threshold alone": floorless}
    return [f"Left out of --levers: {listed(names)}; {reason}." for reason, names in reasons.items() if names]


def work_of(options: Options, plan: Plan) -> list[Work]:
    """The problems with their measures: that of a file, or the bundled ones."""
    average = options.average or "samples"
    if options.data is None:
        given = ("target", "group", "positive", "drop", "test", "save", "memory")
        odd = [name for name in given if getattr(options, name) is not None]
        if odd:
            raise ValueError(f"--{odd[0]} is for a file; name it before the options.")
        problems = [
            (bags(240 if options.quick else 1000, plan.seed), "early_detection"),
            (digit_traits(3 if options.quick else 6), "f1"),
            (breast_cancer(), "f1"),
        ]
        if options.quick:
            problems = [(p.part(600, LEAST_SETS, 0, "--quick") if p.many else p, loss) for p, loss in problems]
        return [Work(p, measures_of(options.loss or loss, average)) for p, loss in problems]
    others = None
    if options.memory is not None:
        problem, others = read_sample(options, plan)
    else:
        refuse_too_large(Path(options.data))
        problem = read(options.data, options.target, options.group, options.positive, options.drop)
    test = None if options.test is None else read_test(options.test, problem, options.target, options.group)
    found = Work(problem, measures_of(options.loss or usual_loss(options), average), test, others)
    return [found.part(QUICK_ROWS, plan, "--quick") if options.quick and len(problem.y) > QUICK_ROWS else found]


def measures_of(text: str, average: str) -> tuple[Measured, ...]:
    """The losses in a text that joins their names by commas; ValueError for a name that does not exist."""
    return tuple(Measured(name, loss, average) for name, loss in parse_losses(text).items())
