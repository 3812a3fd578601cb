"""What ``setwise compare`` does."""

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from setwise.compare.bundled import bags, breast_cancer, digits
from setwise.compare.comparison import QUICK_GRID, Comparison, Plan, compare
from setwise.compare.problem import Problem
from setwise.compare.progress import Steps
from setwise.compare.report import earlier, write_report
from setwise.compare.words import text_table, verdict, wrap
from setwise.core.measure import Loss
from setwise.datasets import load
from setwise.losses import plain_losses

Work = list[tuple[Problem, tuple[str, ...]]]
Task = tuple[Problem, str, dict[str, Loss]]

QUICK_ROWS = 3000
"""``--quick`` takes about so many rows of a file, in whole sets."""

QUICK_SETS = 12
"""It takes at least so many sets with each label: 3 folds, in them 2 for C, and in those 3 for a threshold."""

BUDGET, QUICK_BUDGET = 600.0, 60.0
"""Seconds for a file where no budget is given."""


def compare_command(
    data: str | None,
    loss: str | None = None,
    target: str | None = None,
    group: str | None = None,
    positive: str | None = None,
    *,
    quick: bool = False,
    folds: int | None = None,
    seed: int = 0,
    budget: float | None = None,
    out: Path = Path("setwise-report"),
    bold: bool = False,
) -> tuple[list[str], list[Path]]:
    """Compare all methods on a file, or on the built-in problems; returns texts to print and the files written.

    Without ``data``: early detection in bags (LH 6.1), where a set loss matters, and two real data sets of
    scikit-learn, where it may not. They know no budget unless one is given.

    Raises
    ------
    ValueError, OSError : in one sentence, for all that is wrong with the request or the data
    """
    begin = time.perf_counter()
    plan = _plan(quick, folds, seed)
    if budget is not None and not budget > 0:
        raise ValueError(f"--budget must be a number of seconds above 0; got {budget}.")
    if budget is None and data is not None:
        budget = QUICK_BUDGET if quick else BUDGET
    chosen = None if loss is None else measures(loss)
    earlier(out)
    tasks = _tasks(_work(data, chosen, target, group, positive, plan, quick))
    out.mkdir(parents=True, exist_ok=True)
    found = _run(tasks, plan, budget)
    title = f"setwise compare: {found[0].problem.name if data else 'built-in problems'}"
    files = write_report(out, found, title, time.perf_counter() - begin)
    return [section(f, bold) for f in found] + (summary(found) if len(found) > 1 else []), files


def _plan(quick: bool, folds: int | None, seed: int) -> Plan:
    if folds is not None and folds < 2:
        raise ValueError(f"--folds must be at least 2; got {folds}.")
    if seed < 0:
        raise ValueError(f"--seed must not be negative; got {seed}.")
    return Plan(folds or 3, 2, QUICK_GRID, seed=seed) if quick else Plan(folds or 5, seed=seed)


def _tasks(work: Work) -> list[Task]:
    """A problem, the measure to train for, and all measures to judge by; ValueError where one does not fit the sets."""
    kinds, tasks = plain_losses(), []
    for problem, names in work:
        losses = {name: kinds[name]() for name in dict.fromkeys((*names, "error_rate"))}
        for loss in losses.values():
            loss.check(problem.sets)
        tasks += [(problem, name, losses) for name in names]
    return tasks


def _run(tasks: list[Task], plan: Plan, budget: float | None) -> list[Comparison]:
    """Every task with an equal share of the budget, and with what those before it left of theirs."""
    begin, found = time.perf_counter(), []
    steps = Steps(len(tasks) * plan.steps(), "compare")
    for i, (problem, name, losses) in enumerate(tasks):
        share = None
        if budget is not None:
            share = max(budget / len(tasks), (budget - (time.perf_counter() - begin)) / (len(tasks) - i))
        found.append(compare(problem, name, losses, plan, steps.advance, budget=share))
    steps.close()
    return found


def measures(text: str) -> tuple[str, ...]:
    """Names of losses, joined by commas."""
    names = tuple(dict.fromkeys(n.strip().lower() for n in text.split(",")))
    for name in names:
        if name not in plain_losses():
            raise ValueError(f"there is no loss {name!r}; use {', '.join(plain_losses())}.")
    return names


def section(found: Comparison, bold: bool) -> str:
    """One problem as text: what it is, the table, and who wins."""
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
    """The first sentence of each verdict, once more."""
    return ["In short\n========\n" + "\n".join(wrap(f"{f.problem.name}: {verdict(f)[0]}") for f in found)]


def _work(
    data: str | None,
    chosen: tuple[str, ...] | None,
    target: str | None,
    group: str | None,
    positive: str | None,
    plan: Plan,
    quick: bool,
) -> Work:
    if data is None:
        if target or group or positive:
            raise ValueError("--target, --group and --positive are for a file; name it before them.")
        synthetic = bags(240 if quick else 1000, plan.seed)
        return [
            (synthetic, chosen or ("early_detection",)),
            (digits(), chosen or ("jaccard",)),
            (breast_cancer(), chosen or ("jaccard",)),
        ]
    held = load(data, target, group, positive)
    name = Path(data).name
    problem = Problem(name, f"Read from {name}.", _occurring(held.X), held.y, held.groups, held.classes)
    if quick and len(held.y) > QUICK_ROWS:
        problem = problem.part(QUICK_ROWS, max(QUICK_SETS, plan.folds), plan.seed)
    if len(problem.y) < len(held.y):
        about = f"{problem.about} A random part of {len(problem.y):,} of its {len(held.y):,} rows."
        problem = replace(problem, about=about)
    return [(problem, chosen or ("jaccard",))]


def _occurring(X: Any) -> Any:
    """``X`` without the columns of a sparse matrix that hold nothing: every method gives them the weight 0."""
    if not issparse(X):
        return X
    columns, places = np.unique(X.indices, return_inverse=True)
    return csr_matrix((X.data, places, X.indptr), shape=(X.shape[0], max(len(columns), 1)))
