"""The command ``setwise compare``: it reads the data, plans by the time, runs the comparison and writes the report.

Of a large Parquet file it reads a part that a budget of memory has room for.
"""

import contextlib
import os
import re
import sys
import time
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import effective_n_jobs, parallel_config

from setwise.compare.answer import Answer
from setwise.compare.audit import audited
from setwise.compare.budget import Costs, within
from setwise.compare.checkpoint import open_for_comparison, read_plan, refuse_checkpoint
from setwise.compare.drift import TrainingRows
from setwise.compare.fits import judged_by, rows_of
from setwise.compare.memory import WORDS, MemoryAllowance, refuse_too_large
from setwise.compare.other_rows import OtherRows
from setwise.compare.plan import BASES, COSTS, FIRST, MEAN_COST, QUICK_GRID, NamedLoss, Plan, base_model, measures_of
from setwise.compare.problem import Finding, Problem, bags, breast_cancer, digit_traits, problem_of, read, read_test
from setwise.compare.progress import ProgressLine
from setwise.compare.report import check_folder, section, write_report
from setwise.compare.run import compare
from setwise.compare.saved_model import SavedModel, as_saved_path, refuse_unsaved, save_model
from setwise.compare.sentences import foreign
from setwise.compare.text import listed, seconds_text
from setwise.core.checkpoint import OpenCheckpoint
from setwise.core.checks import as_number
from setwise.core.exceptions import Refusal
from setwise.core.files import try_file, try_place
from setwise.datasets.blocks import Budget
from setwise.datasets.columns import SAME_VALUE, Number, known_as, left_out, optional, some
from setwise.datasets.files import as_existing, as_names_of_columns, columns_in, drawn, parts_of, request
from setwise.datasets.tables import ParquetTable
from setwise.decisions.task import Task
from setwise.estimators import MeasureClassifier
from setwise.estimators.base import end_with
from setwise.estimators.selection import STRATEGIES, CostWeight
from setwise.estimators.selection.choice import BY_COSTS, by_row
from setwise.estimators.selection.floors import FlooredThreshold
from setwise.estimators.splits import block_folds
from setwise.losses.cost_matrix import CostMatrix
from setwise.losses.functions import MetricLoss
from setwise.losses.recalls import CohenKappa
from setwise.losses.row_costs import CELLS, Place, RowCosts

PRECISION, RECALL = "tversky:1:1e-9", "tversky:1e-9:1"
"""1 - tp / (tp + fp), and 1 - tp / (tp + fn), but for a weight of 1e-9 that breaks ties by the other mistakes."""


def asked_of(options: Namespace) -> dict[str, Any]:
    """What the readers of files are asked for; ValueError for a ``--kind`` without a column or a kind."""
    kinds = {}
    for text in options.kind or ():
        name, _, kinds[name] = text.rpartition("=")
        if not name:
            raise ValueError(f"--kind must be COLUMN=KIND, as zip=category; got {text!r}.")
    names = ("target", "group", "positive", "drop", "missing", "sep", "encoding")
    asked = {name: getattr(options, name) for name in names}
    dropped = as_names_of_columns(options.drop, "drop") or ()
    # What is dropped is no feature, and may be a cost.
    if paid := [name for name in dropped if name in given_costs(options).values()]:
        asked["drop"] = [name for name in dropped if name not in paid] or None
        kinds |= dict.fromkeys(paid, "cost")
    return {**asked, "kinds": kinds or None}


def given_costs(options: Namespace) -> dict[str, Any]:
    """The costs that the options give by their cells, each a number or else the name of a column."""
    found = {cell: text for cell in CELLS if (text := getattr(options, f"{cell}_cost")) is not None}
    for cell, text in found.items():
        with contextlib.suppress(ValueError):
            found[cell] = float(text)
    return found


def row_costs(costs: Mapping[str, Any]) -> RowCosts:
    """The loss with these costs of cells; a cell without one costs nothing."""
    return RowCosts(**{"fp": 0.0, "fn": 0.0, **costs})


def plan_of(options: Namespace, problem: Problem | None = None) -> Plan:
    """The plan of the options for a problem; ValueError where one is out of range."""
    if options.time_budget is not None:
        as_number(options.time_budget, "--time-budget", low=0.0, open_low=True)
    bases = ("linear", "boosted") if options.quick else tuple(name for name in BASES if BASES[name].is_installed)
    if ":" in f"{options.base} {options.loss}":
        # Modules of the user are in the folder where the command is called, as for "python -m".
        sys.path.insert(0, os.getcwd())
    # Weighted fits cost the most and seldom gain anything over a threshold; for many sets the stack is the cheaper one.
    sets = problem is not None and (problem.groups is not None or problem.many)
    slow = ("class_weight", "cost_weight", "ramp") if sets else ("class_weight", "cost_weight")
    tried = (*STRATEGIES, CostWeight.name) if given_costs(options) else tuple(STRATEGIES)
    strategies = tuple(name for name in tried if not options.quick or name not in slow)
    bases, strategies = _names(options.base, bases), _names(options.strategies, strategies)
    quick: dict[str, Any] = {"inner": 3, "grid": QUICK_GRID} if options.quick else {}
    jobs, floor = 1 if options.n_jobs is None else options.n_jobs, floor_of(options, problem)
    return Plan(options.folds, **quick, bases=bases, strategies=strategies, seed=options.seed, n_jobs=jobs, floor=floor)


def floor_of(options: Namespace, problem: Problem | None = None) -> FlooredThreshold | None:
    """The threshold that keeps the floors of the options, or None; ValueError where one is out of range."""
    given, alarms = (options.recall_at_least, options.precision_at_least), options.alarms_at_most
    if given == (None, None) and alarms is None:
        if options.confidence is not None:
            asked = "--recall-at-least, --precision-at-least or --alarms-at-most"
            raise ValueError(f"--confidence is that of a floor; give {asked} too.")
        return None
    if alarms is not None:
        # Before a table is read a number of alarms may be that of all rows.
        rows = alarms if problem is None else len(problem.y) if problem.origin is None else problem.origin.rows
        if not 0.0 < alarms < 1.0 and not (alarms.is_integer() and 1.0 <= alarms <= rows):
            most = "" if problem is None else f", of which there are {rows:,}"
            wanted = f"a share of the rows above 0 and below 1, or a number of them{most}"
            raise ValueError(f"--alarms-at-most must be {wanted}; got {alarms:g}.")
        alarms = alarms if alarms < 1.0 else alarms / rows
    return FlooredThreshold(*given, options.confidence, alarms)


def usual_loss(options: Namespace) -> str:
    """The measure where none is named: F1, or under a floor of recall precision, and under others recall."""
    if options.recall_at_least is not None:
        return "f1" if options.precision_at_least is not None else PRECISION
    return "f1" if options.precision_at_least is None and options.alarms_at_most is None else RECALL


def _names(text: str | None, default: tuple[str, ...]) -> tuple[str, ...]:
    """The names in a text that joins them by commas."""
    names = [] if text is None else [one.strip() for one in text.split(",")]
    return tuple(dict.fromkeys(one if ":" in one else one.lower() for one in names)) or default


def read_sample(options: Namespace, plan: Plan, measures: Sequence[NamedLoss]) -> tuple[Problem, OtherRows | None]:
    """The problem of random rows of a file, as many as ``--memory`` has room for, and all its other rows.

    With a group whole groups are drawn. Without one all rows of the rarer label are, with weights, where the
    measures and the base models count these.

    Raises
    ------
    ValueError, OSError : in one sentence, for a file that cannot be read so, and for a budget that is too small
    """
    budget, path = Budget.of(options.memory, "--memory"), Path(options.data)
    if path.suffix.lower() != ".parquet":
        raise ValueError(f"--memory is for a Parquet file, which can be read part by part; got {path.name}.")
    asked = request(**asked_of(options), raw=True)
    table = ParquetTable(as_existing(path))
    target, apart = parts_of(table.head, asked)
    features = [name for name in table.names if name not in (*target, *apart)]
    cells = sum(1 if table.is_number(name) else WORDS for name in features)
    grouped, jobs = options.group is not None, effective_n_jobs(options.n_jobs or 1)
    room = MemoryAllowance(budget, table, max(cells, 1), len(target), grouped, "forest" in plan.bases, jobs)
    # A share that is sure is one of equally likely rows, a sum is one of all, and an own model may take no weights.
    even = grouped or len(target) > 1 or plan.floor is not None or any(":" in base for base in plan.bases)
    even |= bool(given_costs(options))
    held, sample = drawn(table, asked, room.rows, plan.seed, not even and all(map(_takes_weights, measures)))
    given = {"rows": room.rows(sample.sets), **asked_of(options), "seed": plan.seed}
    given |= {} if held.weights is None else {"keep_rare": True}
    problem = problem_of(held, options.data, "load_sample", given)
    if len(sample.rows) == table.rows:
        return replace(problem, notes=(*problem.notes, f"All rows of {path.name} fit into --memory.")), None
    assert problem.origin is not None
    drawn_as = f"as many as --memory {options.memory} has room for"
    if problem.weights is not None:
        rarer = np.bincount(problem.y.ravel()).min()
        drawn_as += f", {rarer:,} of the rarer label among them; rows count by weights"
    origin = replace(problem.origin, rows=table.rows, drawn=drawn_as)
    return replace(problem, origin=origin), OtherRows(sample, problem, room.most(sample.sets), budget)


def _takes_weights(measured: NamedLoss) -> bool:
    """Whether weights of rows count in a measure."""
    task = Task(np.array([False, True]), measured.loss, weights=np.ones(2))
    with contextlib.suppress(Refusal):
        return measured.loss.reads != "scores" and bool(task.set_loss.bind(task.sets).terms)
    return False


def saved_model(found: Answer, group: str | None) -> SavedModel:
    """The recommendation with what it needs to label new rows.

    A threshold is saved with the fitted base model. What is more than a threshold is fitted once more, by the
    :class:`setwise.MeasureClassifier` that the code in Python makes.
    """
    problem, winner = found.problem, found.winner
    X, at = problem.X, winner.threshold
    width = X.shape[1] if problem.places is None else problem.width
    simple = at is not None or winner.key[1] in ("as_it_is", "order", "most_probable")
    held = SavedModel(
        winner.fitted if simple else _fitted_anew(found), problem.classes, found.measured.name, problem.columns,
        0 if problem.columns else width, problem.first, problem.places,
        "predict_proba" if simple or problem.several else "predict",
        threshold=None if at is None else tuple(map(float, at)) if np.ndim(at) else float(at),
        many=problem.many, group=group, joint=winner.joint and problem.groups is not None,
        alarms=None if found.plan.floor is None else found.plan.floor.alarms,
    )  # fmt: skip
    # What is not read of new rows does not tell them from those of the training.
    X = np.where(held.unread, np.nan, X) if any(held.unread) else X
    called = problem.each(winner.labels)
    return replace(held, training=TrainingRows.of(X, problem.columns, problem.groups, called, problem.weights))


def _fitted_anew(found: Answer) -> MeasureClassifier:
    problem, winner, plan = found.problem, found.winner, found.plan
    base = base_model(winner.key[0]).build(problem, winner.constant, plan.seed)
    cv = plan.inner if problem.blocks is None else block_folds(plan.inner, problem.y, problem.blocks)
    ways = [winner.key[1]] if plan.floor is None else [plan.floor, *plan.floor.decisions]
    model = MeasureClassifier(base, found.measured.loss, ways, cv, average=found.measured.average, n_jobs=plan.n_jobs)
    y = problem.y if problem.many else problem.y.ravel()
    model.fit(problem.X, y, groups=problem.groups, sample_weight=problem.weights)
    if found.reference.strategy == BY_COSTS == winner.key[1]:
        # By other folds the model may have chosen one threshold.
        model.rule_, model.best_strategy_ = winner.rule.for_rows(model.loss_), BY_COSTS
    return model


BUDGET, QUICK_BUDGET = 600.0, 60.0
"""The seconds for a file if no budget is given."""

SMALL = 200_000
"""Up to so many cells of a table one process is faster than several, which must be started."""


class ComparisonTask(NamedTuple):
    """One problem with its measures."""

    problem: Problem
    measures: tuple[NamedLoss, ...]
    test: Problem | None = None
    others: OtherRows | None = None


def compare_command(options: Namespace) -> tuple[list[str], list[Path], list[tuple[str, Exception]]]:
    """Compare all ways on a file, or on the bundled problems; returns texts to print, the files of the report, and what
    could not be written after the work, each with its error.

    Without a file the problems are early detection in bags, where the base model matters, traits of digits, where each
    row is a set of labels, and a table where logistic regression is good enough.

    Raises
    ------
    ValueError, OSError : in one sentence, for anything that is wrong with the request or the data
    """
    begin = time.perf_counter()
    plan = plan_of(options)
    # What cannot be read or written is refused before the rows are read.
    check_folder(options.out)
    try_place(next(folder for folder in (options.out, *options.out.parents) if folder.exists()) / "report.html")
    if options.save is not None:
        if len(measures_of(options.loss or usual_loss(options), options.average or "samples")) > 1:
            raise ValueError("--save takes the model of one measure; name one loss.")
        optional("skops.io", f"to save {as_saved_path(options.save).name}")
        try_file(options.save)
    refuse_checkpoint(options)
    for path in filter(None, (options.test, options.plan, options.cost_matrix)):
        as_existing(path)
    with contextlib.closing(ProgressLine(0, "compare")) as line:
        return _compared(options, plan, line, begin)


def _compared(
    options: Namespace, plan: Plan, line: ProgressLine, begin: float
) -> tuple[list[str], list[Path], list[tuple[str, Exception]]]:
    line.advance("reading the rows", 0)
    work = work_of(options, plan)
    for one in work:
        for finding in one.problem.findings:
            line.say(finding.sentence)
        if options.average is not None and not one.problem.many:
            raise ValueError("--average says what a set is in a label matrix; name several target columns.")
    if options.save is not None:
        for base in plan.models(work[0].problem):
            if ":" in base.name:
                refuse_unsaved(base, work[0].problem, options.save.name)
    kept = open_for_comparison(options, [one.problem for one in work])
    with _written(kept), parallel_config("loky", initializer=end_with, initargs=(os.getpid(),)):
        found = run(work, options, line, kept, time.perf_counter() - begin)
        line.advance("the report" if options.save is None else "the model and the report", 0)
        files, failed = list[Path](), list[tuple[str, Exception]]()
        if options.save is not None:
            with _kept_going(failed, "the model is not saved"):
                save_model(saved_model(found[0], options.group), options.save)
                found = [replace(found[0], saved=str(options.save))]
        title = f"setwise compare: {work[0].problem.name if options.data else 'bundled problems'}"
        with _kept_going(failed, "the report is not written"):
            files = write_report(options.out, found, title, time.perf_counter() - begin, options.command)
        line.advance("done", line.total - line.done)
        return [section(answer, options.verbose) for answer in found], files, failed


@contextlib.contextmanager
def _kept_going(failed: list[tuple[str, Exception]], what: str) -> Iterator[None]:
    """Add an error to those that failed: what was found in hours is not lost because it cannot be written somewhere."""
    try:
        yield
    except (ValueError, OSError, OverflowError, MemoryError) as error:
        failed.append((what, error))


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


def run(
    work: Sequence[ComparisonTask], options: Namespace, line: ProgressLine, kept: OpenCheckpoint | None, spent: float
) -> list[Answer]:
    """Plan by the sizes of the problems, say what is left out on the line of progress, and run every comparison.

    The plan is that of the whole budget; of its seconds so many are ``spent``.
    """
    budget, plans = options.time_budget, list[tuple[ComparisonTask, Plan, list[str]]]()
    if budget is None and options.data is not None and options.plan is None:
        budget = QUICK_BUDGET if options.quick else BUDGET
    # Each problem has an equal share of the budget.
    share, expected = None if budget is None else budget / len(work), 0.0
    for one in work:
        small = one.problem.X.shape[0] * one.problem.X.shape[1] <= SMALL or options.memory is not None
        jobs = options.n_jobs if options.n_jobs is not None else 1 if small else effective_n_jobs(-1)
        own, costs = replace(plan_of(options, one.problem), n_jobs=jobs), Costs.of(one.problem, one.measures)
        notes = [*unfit(options, own, one), *calls(one), *class_order(one)]
        own = replace(own.of(one.problem), by_row=decides_by_row(own, one))
        if own.floor is not None and (options.alarms_at_most or 0) >= 1:
            asked, limit = options.alarms_at_most, own.floor.alarms
            notes.append(f"The limit of alarms is {asked:,.0f} of all {asked / limit:,.0f} rows, a share of {limit:g}.")
        if options.plan is not None:
            own, other = read_plan(options.plan, own, one.problem)
            notes += other
        elif share is not None:
            own, left = within(own, costs, share)
            notes += left
        expected += costs.expected(own)
        plans.append((one, own, notes))
    most = "" if budget is None else f", and {budget:g} s at most"
    line.say(f"This takes {seconds_text(expected)} on a usual machine{most}.")
    for _, _, notes in plans:
        for note in notes:
            line.say(note)
    line.total = sum(own.steps(one.problem, len(one.measures)) for one, own, _ in plans) + 1

    found: list[Answer] = []
    for k, (one, own, notes) in enumerate(plans):

        def advance(what: str, steps: int, name: str = one.problem.name) -> None:
            line.advance(f"{name}: {what}", steps)

        place = None if kept is None else kept.part(f"problem {k}")
        tell = line.say if options.data is not None else None
        rest = None if share is None else max(share - spent / len(work), 1e-9)
        found += compare(one.problem, one.measures, own, advance, one.test, notes, rest, place, one.others, tell)
    return found


def unfit(options: Namespace, plan: Plan, work: ComparisonTask) -> list[str]:
    """Sentences on the strategies that were asked for and fit no measure on these data, or keep no floor."""
    asked = () if options.strategies is None else plan.strategies
    odd = [name for name in asked if all(name in foreign(work.problem, m) for m in work.measures)]
    tasks = [rows_of(work.problem, m).task for m in work.measures] if plan.floor is not None else []
    kept = {"as_it_is", *(one.name for task in tasks for one in plan.kept(FIRST, task))}
    floorless = [n for n in asked if plan.floor is not None and n not in (*odd, *kept)]
    reasons = {"not for this kind of data or of measure": odd, "a floor is kept by a threshold alone": floorless}
    return [f"Left out of --strategies: {listed(names)}; {reason}." for reason, names in reasons.items() if names]


NUMBER_FIRST = re.compile(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?")
"""The number that a name begins with."""


def class_order(work: ComparisonTask) -> list[str]:
    """A sentence on the order of the classes where the measure reads it and no numbers give it."""
    losses = [one.loss for one in work.measures]
    if not work.problem.several or not any(isinstance(one, CohenKappa) and one.weights for one in losses):
        return []
    numbers = [float(found[0]) for name in work.problem.classes if (found := NUMBER_FIRST.match(name))]
    if len(numbers) == work.problem.several and numbers == sorted(numbers):
        return []
    order = ", ".join(work.problem.classes)
    return [f"The classes are ordered: {order}. For another order write names that sort, as '1 low', '2 medium'."]


def calls(work: ComparisonTask) -> list[str]:
    """Sentences on what functions of the user cost: the seconds of a call for each row of the largest set."""
    found = []
    for measured in work.measures:
        if isinstance(measured.loss, MetricLoss):
            task, begin = rows_of(work.problem, measured).task, time.perf_counter()
            task.mean_loss(task.truth)
            seconds, rows = time.perf_counter() - begin, int(task.sets.sizes.max())
            takes = f"takes up to {rows:,} calls, which take {seconds_text(rows * seconds)}"
            found.append(f"{measured.title} is a Python function: each threshold that is tuned on all rows {takes}.")
    return found


def work_of(options: Namespace, plan: Plan) -> list[ComparisonTask]:
    """The problems with their measures: that of a file, or the bundled ones."""
    average = options.average or "samples"
    if options.data is None:
        given = (
            "target", "group", "positive", "drop", "time_column", "keep_column", "similar_apart", "test", "save",
            "memory", "plan", "kind", "missing", "sep", "encoding", "fp_cost", "fn_cost", "tp_cost", "tn_cost",
            "cost_matrix",
        )  # fmt: skip
        odd = [name for name in given if getattr(options, name) is not None]
        if odd:
            raise ValueError(f"--{odd[0].replace('_', '-')} is for a file; name it before the options.")
        problems = [
            (bags(240 if options.quick else 1000, plan.seed), "early_detection"),
            (digit_traits(3, 600) if options.quick else digit_traits(), "f1"),
            (breast_cancer(), "f1"),
        ]
        return [ComparisonTask(p, measures_of(options.loss or loss, average)) for p, loss in problems]
    others, measures = None, measures_of(options.loss or usual_loss(options), average)
    if options.memory is not None:
        problem, others = read_sample(options, plan, measures)
    else:
        refuse_too_large(Path(options.data))
        problem = read(options.data, asked := asked_of(options))
        # A cost may be the same for all rows, though a feature may not.
        same = [text for text in given_costs(options).values() if left_out(text, SAME_VALUE) in problem.notes]
        if same:
            problem = read(options.data, asked | {"kinds": {**(asked["kinds"] or {}), **dict.fromkeys(same, "cost")}})
    costs = costs_of(options, problem)
    if options.cost_matrix is not None:
        measures = (NamedLoss(MEAN_COST, cost_matrix(options, problem), classes=problem.several),)
    if others is None:
        refuse_gaps(options, problem, costs)
    columns = [cost for cost in costs.values() if isinstance(cost, str)]
    apart = bool(options.similar_apart)
    problem = audited(problem, options.keep_column or (), options.time_column, plan.folds, columns, apart)
    by_costs = any(one.name == BY_COSTS for one in plan.tried(FIRST))
    unknown = unknown_costs(problem, columns) if by_costs else []
    problem = replace(problem, findings=(*problem.findings, *unknown))
    others = others and replace(others, problem=problem)
    test = None if options.test is None else read_test(options.test, problem, asked_of(options))
    if options.alarms_at_most is not None:
        refuse_unknown(unknown, problem.name, "--alarms-at-most")
    if test is not None and by_costs and not unknown:
        refuse_unknown(unknown_costs(replace(test, features=problem.features), columns), test.name, "--test")
    if costs:
        at = {name: Place(name, list(problem.features).index(name)) for name in columns}
        measures = (NamedLoss(COSTS, row_costs({cell: at.get(cost, cost) for cell, cost in costs.items()})),)
    return [ComparisonTask(problem, tuple(one.of(problem) for one in measures), test, others)]


def costs_of(options: Namespace, problem: Problem) -> dict[str, Any]:
    """The costs that the options give by their cells, numbers or columns; ValueError for what they exclude."""
    given = given_costs(options)
    if not given:
        return {}
    if options.loss is not None:
        raise ValueError(f"--loss and --{next(iter(given))}-cost do not go together: costs are the measure.")
    if problem.odd:
        other = "; use --cost-matrix" if problem.several else ""
        raise ValueError(f"--{next(iter(given))}-cost is for {problem.odd}{other}.")
    numbers = [column.name for column in problem.columns if isinstance(column, Number)]
    for cell, cost in given.items():
        if isinstance(cost, str) and cost not in numbers:
            known = f"of {problem.name}, which has {some(numbers)}" if numbers else f"; {problem.name} has none"
            raise ValueError(f"--{cell}-cost must be a number or a column of numbers {known}; got {cost!r}.")
    return given


def cost_matrix(options: Namespace, problem: Problem | SavedModel) -> CostMatrix:
    """The costs of ``--cost-matrix`` in the order of the classes; ValueError for a file or options that do not fit."""
    table, classes = columns_in(options.cost_matrix), problem.classes
    if options.loss is not None:
        raise ValueError("--loss and --cost-matrix do not go together: costs are the measure.")
    if not problem.several:
        raise ValueError(f"--cost-matrix is for more than two classes; these are {some(classes)}.")
    # The true classes of a column without a name, as pandas writes it, may be the numbers of its lines.
    numbered = bool(table.numbering) and len(table.names) == len(classes)
    rows, names = table.numbering if numbered else table.texts(table.names[0]), table.names[0 if numbered else 1 :]
    true, called = ([known_as(text, classes) for text in texts] for texts in (rows, names))
    if sorted(true) != sorted(classes) or sorted(called) != sorted(classes):
        wanted = f"a line and a column for each class, {some(classes)}, and the true ones in its first column"
        raise ValueError(f"--cost-matrix {table.path.name} must have {wanted}.")
    column = dict(zip(called, names, strict=True))
    return CostMatrix(table.numbers([column[one] for one in classes])[[true.index(one) for one in classes]])


def refuse_gaps(options: Namespace, problem: Problem, costs: Mapping[str, Any]) -> None:
    """Refuse a column that lacks the cost of a cell that can occur, with the line of the file."""
    for cell, name in costs.items():
        if isinstance(name, str):
            label = cell in ("tp", "fn")
            gaps = np.isnan(problem.X[:, list(problem.features).index(name)]) & (problem.y.ravel() == label)
            if gaps.any():
                place = columns_in(options.data, options.sep, options.encoding).place(int(gaps.argmax()))
                kind = problem.classes[label]
                words = f"column {name!r} of {problem.name} holds nothing in {place}"
                raise ValueError(f"--{cell}-cost must be known for each row that is {kind!r}; {words}.")


def decides_by_row(plan: Plan, work: ComparisonTask) -> bool:
    """Whether rows have costs of their own, all of them known, and the plan decides by them."""
    if plan.floor is not None or any(one.kind == "costs" for one in work.problem.findings):
        return False
    tasks = [judged_by(rows_of(work.problem, one), one) for one in work.measures if one.name == COSTS]
    rules = [one for one in plan.tried(FIRST) if one.name == BY_COSTS]
    return any(by_row(task) and rule.refuses_data(task) is None for task in tasks for rule in rules)


def unknown_costs(problem: Problem, columns: Sequence[str]) -> list[Finding]:
    """What is said of columns of costs with gaps, which keep rows from being decided by their own costs."""
    found, n = list[Finding](), len(problem.y)
    for name in dict.fromkeys(columns):
        gaps = int(np.isnan(problem.X[:, list(problem.features).index(name)]).sum())
        words = f"Column {name!r} lacks the cost of {gaps:,} of {n:,} rows, so rows are not decided by their own costs"
        words = f"{words}, which must all be known."
        found += [Finding("costs", (name,), gaps, "none", words)] if gaps else []
    return found


def refuse_unknown(costs: Sequence[Finding], name: str, option: str) -> None:
    """Raise ValueError where an ``option`` decides rows of the file ``name`` by costs that some of them lack."""
    for found in costs:
        lacks = f"column {found.columns[0]!r} of {name} holds nothing in {found.rows:,} of them"
        raise ValueError(f"{option} decides rows by their own costs, which must all be known; {lacks}.")
