"""What ``setwise compare`` does."""

import time
from dataclasses import replace
from pathlib import Path

from setwise.compare.bundled import bags, breast_cancer, digits
from setwise.compare.comparison import QUICK_GRID, Comparison, Plan, compare
from setwise.compare.problem import Problem
from setwise.compare.progress import Steps
from setwise.compare.report import write_report
from setwise.compare.words import text_table, verdict, wrap
from setwise.datasets import load
from setwise.losses import plain_losses

QUICK_ROWS = 3000
"""``--quick`` takes about so many rows of a file."""


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
    out: Path = Path("setwise-report"),
    bold: bool = False,
) -> tuple[list[str], list[Path]]:
    """Compare all methods on a file, or on the built-in problems; returns texts to print and the files written.

    Without ``data``: early detection in bags (LH 6.1), where a set loss matters, and two real data sets of
    scikit-learn, where it may not.

    Raises
    ------
    ValueError, OSError : in one sentence, for all that is wrong with the request or the data
    """
    begin = time.perf_counter()
    plan = (
        Plan(3 if folds is None else folds, 2, QUICK_GRID, seed=seed)
        if quick
        else Plan(5 if folds is None else folds, seed=seed)
    )
    if plan.folds < 2:
        raise ValueError(f"--folds must be at least 2; got {folds}.")
    if seed < 0:
        raise ValueError(f"--seed must not be negative; got {seed}.")
    chosen = None if loss is None else measures(loss)
    work = _work(data, chosen, target, group, positive, quick, seed)
    kinds = plain_losses()
    measured = [{name: kinds[name]() for name in dict.fromkeys((*names, "hamming"))} for _, names in work]
    for (problem, _), losses in zip(work, measured, strict=True):
        for loss_of_name in losses.values():
            loss_of_name.check(problem.sets)
    out.mkdir(parents=True, exist_ok=True)
    steps = Steps(sum(len(names) for _, names in work) * plan.steps(), "compare")
    found = [
        compare(problem, name, losses, plan, steps.advance)
        for (problem, names), losses in zip(work, measured, strict=True)
        for name in names
    ]
    steps.close()
    title = f"setwise compare: {Path(data).name}" if data else "setwise compare: built-in problems"
    files = write_report(out, found, title, time.perf_counter() - begin)
    return [section(f, bold) for f in found] + (summary(found) if len(found) > 1 else []), files


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
    quick: bool,
    seed: int,
) -> list[tuple[Problem, tuple[str, ...]]]:
    if data is None:
        if target or group or positive:
            raise ValueError("--target, --group and --positive are for a file; name it before them.")
        synthetic = bags(240 if quick else 1000, seed)
        return [
            (synthetic, chosen or ("early_detection",)),
            (digits(), chosen or ("jaccard",)),
            (breast_cancer(), chosen or ("jaccard",)),
        ]
    held = load(data, target, group, positive)
    problem = Problem(Path(data).name, f"Read from {Path(data).name}.", held.X, held.y, held.groups, held.classes)
    return [(_part(problem, seed) if quick else problem, chosen or ("jaccard",))]


def _part(problem: Problem, seed: int) -> Problem:
    """About ``QUICK_ROWS`` rows in whole sets, drawn by chance; all where there are no more."""
    shares = len(problem.y) // QUICK_ROWS
    if shares < 2:
        return problem
    part = problem.take(problem.folds(shares, seed)[0][1])
    return replace(part, about=f"{problem.about} A random part of {len(part.y):,} of its {len(problem.y):,} rows.")
