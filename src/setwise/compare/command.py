"""The command ``setwise compare``: it reads the data, runs the comparisons and writes the report."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from setwise.compare.bundled import bags, breast_cancer, digits
from setwise.compare.comparison import QUICK_GRID, Comparison, Plan, compare
from setwise.compare.problem import Problem
from setwise.compare.progress import ProgressLine
from setwise.compare.report import earlier, write_report
from setwise.compare.words import text_table, verdict, wrap
from setwise.core.measure import Loss
from setwise.datasets import load_table
from setwise.losses import parse_losses

Measures = dict[str, Loss]
Work = list[tuple[Problem, Measures]]
Task = tuple[Problem, str, dict[str, Loss]]

QUICK_ROWS = 3000
"""The number of rows of a file that ``--quick`` takes, about, in whole sets."""

QUICK_SETS = 12
"""The least number of sets with each label that ``--quick`` takes: of 12 sets 3 folds leave 8 for training, of these
2 folds for the choice of C leave 4, and these suffice for 3 folds that choose a threshold.
"""

BUDGET, QUICK_BUDGET = 600.0, 60.0
"""The seconds for a file if no budget is given."""


def compare_command(
    data: str | None,
    loss: str | None = None,
    target: str | None = None,
    group: str | None = None,
    positive: str | None = None,
    drop: str | None = None,
    *,
    quick: bool = False,
    folds: int | None = None,
    seed: int = 0,
    budget: float | None = None,
    out: Path = Path("setwise-report"),
    bold: bool = False,
) -> tuple[list[str], list[Path]]:
    """Compare all methods on a file, or on the built-in problems; returns texts to print and the files written.

    Without ``data`` the problems are early detection in bags (LH 6.1), where a set loss matters, and two real data
    sets of scikit-learn, where it may not. They have no budget unless one is given.

    Raises
    ------
    ValueError, OSError : in one sentence, for anything that is wrong with the request or the data
    """
    begin = time.perf_counter()
    plan = _plan(quick, folds, seed)
    if budget is not None and not budget > 0:
        raise ValueError(f"--budget must be a number of seconds above 0; got {budget}.")
    if budget is None and data is not None:
        budget = QUICK_BUDGET if quick else BUDGET
    chosen = None if loss is None else parse_losses(loss)
    # A folder that may not be replaced is refused before the work, not after it.
    earlier(out)
    tasks = _tasks(_work(data, chosen, target, group, positive, drop, plan, quick))
    # The folder is made first, so that a place where nothing can be written shows before the work too.
    out.mkdir(parents=True, exist_ok=True)
    found = _run(tasks, plan, budget)
    title = f"setwise compare: {found[0].problem.name if data else 'built-in problems'}"
    files = write_report(out, found, title, time.perf_counter() - begin)
    return [section(f, bold) for f in found] + (summary(found) if len(found) > 1 else []), files


def _plan(quick: bool, folds: int | None, seed: int) -> Plan:
    """The plan of the options; ValueError where one is out of range."""
    if folds is not None and folds < 2:
        raise ValueError(f"--folds must be at least 2; got {folds}.")
    if seed < 0:
        raise ValueError(f"--seed must not be negative; got {seed}.")
    return Plan(folds or 3, 2, QUICK_GRID, seed=seed) if quick else Plan(folds or 5, seed=seed)


def _tasks(work: Work) -> list[Task]:
    """For each comparison its problem, the measure to train for, and the measures to evaluate with.

    Raises ValueError if a measure does not fit the sets.
    """
    tasks = []
    for problem, chosen in work:
        # The error rate is evaluated everywhere, since every reader knows it.
        losses = chosen | ({} if "error_rate" in chosen else parse_losses("error_rate"))
        for loss in losses.values():
            loss.check(problem.sets)
        tasks += [(problem, name, losses) for name in chosen]
    return tasks


def _run(tasks: list[Task], plan: Plan, budget: float | None) -> list[Comparison]:
    """Run every comparison with an equal share of the budget, and with what the earlier ones left of their shares."""
    begin, found = time.perf_counter(), []
    line = ProgressLine(len(tasks) * plan.fits(), "compare")
    for i, (problem, name, losses) in enumerate(tasks):
        share = None
        if budget is not None:
            share = max(budget / len(tasks), (budget - (time.perf_counter() - begin)) / (len(tasks) - i))
        found.append(compare(problem, name, losses, plan, line.advance, budget=share))
    line.close()
    return found


def section(found: Comparison, bold: bool) -> str:
    """The text of one comparison: the problem, the table, and the verdict."""
    head = f"{found.problem.name}, trained for {found.measure}"
    lines = [
        head,
        "=" * len(head),
        found.problem.about,
        f"{found.problem.kind}; {found.plan.folds} folds.".capitalize(),
        "",
    ]
    lines += ["Mean loss at test ± standard error over folds (lower is better):", "", text_table(found, bold), ""]
    return "\n".join(lines + [wrap(sentence) for sentence in verdict(found)])


def summary(found: list[Comparison]) -> list[str]:
    """A summary of several comparisons: the first sentence of each verdict."""
    return ["In short\n========\n" + "\n".join(wrap(f"{f.problem.name}: {verdict(f)[0]}") for f in found)]


def _work(
    data: str | None,
    chosen: Measures | None,
    target: str | None,
    group: str | None,
    positive: str | None,
    drop: str | None,
    plan: Plan,
    quick: bool,
) -> Work:
    """The problems, each with the measures to train for by name: those of a file, or the built-in ones."""
    usual = parse_losses("jaccard")
    if data is None:
        if target or group or positive or drop:
            raise ValueError("--target, --group, --positive and --drop are for a file; name it before them.")
        synthetic = bags(240 if quick else 1000, plan.seed)
        return [
            (synthetic, chosen or parse_losses("early_detection")),
            (digits(), chosen or usual),
            (breast_cancer(), chosen or usual),
        ]
    held = load_table(data, target, group, positive, drop)
    name = Path(data).name
    about = " ".join([f"Read from {name}.", *held.notes])
    X, columns = _occurring(held.X), held.columns
    problem = Problem(name, about, X, held.y, held.groups, held.classes, columns=columns)
    if quick and len(held.y) > QUICK_ROWS:
        problem = problem.part(QUICK_ROWS, max(QUICK_SETS, plan.folds), plan.seed)
    if len(problem.y) < len(held.y):
        about = f"{problem.about} A random part of {len(problem.y):,} of its {len(held.y):,} rows."
        problem = replace(problem, about=about)
    return [(problem, chosen or usual)]


def _occurring(X: Any) -> Any:
    """``X`` without the empty columns of a sparse matrix, to which every method would give the weight 0."""
    if not issparse(X):
        return X
    # Weights are dense, so columns that never occur would take memory and time in every method.
    columns, places = np.unique(X.indices, return_inverse=True)
    return csr_matrix((X.data, places, X.indptr), shape=(X.shape[0], max(len(columns), 1)))
