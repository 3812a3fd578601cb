"""The options of the command ``setwise compare``, and the plan that they ask for."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import final

from setwise.compare.bases import BASES, GRID, QUICK_GRID
from setwise.compare.floors import FlooredThreshold
from setwise.compare.plan import Plan
from setwise.compare.problem import Problem
from setwise.estimators.selection import LEVERS

PRECISION, RECALL = "tversky:1:1e-9", "tversky:1e-9:1"
"""1 - tp / (tp + fp), and 1 - tp / (tp + fn), but for a weight of 1e-9 that breaks ties by the other mistakes."""


@final
@dataclass(frozen=True)
class Options:
    """The options of the command, as they were given."""

    data: str | None = None
    target: str | None = None
    positive: str | None = None
    group: str | None = None
    drop: str | None = None
    loss: str | None = None
    average: str | None = None
    base: str | None = None
    levers: str | None = None
    recall_at_least: float | None = None
    precision_at_least: float | None = None
    confidence: float | None = None
    test: str | None = None
    quick: bool = False
    folds: int | None = None
    seed: int = 0
    n_jobs: int | None = None
    time_budget: float | None = None
    save: Path | None = None
    out: Path = Path("setwise-report")
    memory: str | None = None
    checkpoint: Path | None = None
    resume: bool = False
    command: str = ""


def plan_of(options: Options) -> Plan:
    """The plan of the options; ValueError where one is out of range."""
    if options.folds is not None and options.folds < 2:
        raise ValueError(f"--folds must be at least 2; got {options.folds}.")
    if not 0 <= options.seed < 2**32:
        raise ValueError(f"--seed must be in 0..{2**32 - 1}; got {options.seed}.")
    if options.n_jobs is not None and (options.n_jobs == 0 or options.n_jobs < -1):
        raise ValueError(f"--n-jobs must be a number of processes, or -1 for all processors; got {options.n_jobs}.")
    if options.time_budget is not None and not options.time_budget > 0:
        raise ValueError(f"--time-budget must be a number of seconds above 0; got {options.time_budget}.")
    bases = ("linear", "boosted") if options.quick else tuple(BASES)
    # Weighted fits cost the most and seldom gain anything over a threshold.
    levers = tuple(name for name in LEVERS if not options.quick or name != "class_weight")
    return Plan(
        options.folds or 5,
        3 if options.quick else 5,
        QUICK_GRID if options.quick else GRID,
        _names(options.base, BASES, "--base", "base model", bases),
        _names(options.levers, LEVERS, "--levers", "lever", levers),
        options.seed,
        options.n_jobs or 1,
        floor=floor_of(options),
    )


def plan_for(options: Options, problem: Problem) -> Plan:
    """The plan of the options for one problem. For many sets ``--quick`` leaves the ramp to the cheaper stack."""
    plan = plan_of(options)
    if not options.quick or options.levers is not None or (problem.groups is None and not problem.many):
        return plan
    return replace(plan, levers=tuple(name for name in plan.levers if name != "ramp"))


def floor_of(options: Options) -> FlooredThreshold | None:
    """The threshold that keeps the floors of the options, or None; ValueError where one is out of range."""
    given = (options.recall_at_least, options.precision_at_least)
    if given == (None, None):
        if options.confidence is not None:
            raise ValueError("--confidence is that of a floor; give --recall-at-least or --precision-at-least too.")
        return None
    for option, value in (("--recall-at-least", given[0]), ("--precision-at-least", given[1])):
        if value is not None and not 0.0 <= value <= 1.0:
            raise ValueError(f"{option} must be a share from 0 to 1; got {value:g}.")
    if options.confidence is not None and not 0.0 < options.confidence < 1.0:
        raise ValueError(f"--confidence must be a probability between 0 and 1; got {options.confidence:g}.")
    return FlooredThreshold(*given, options.confidence)


def usual_loss(options: Options) -> str:
    """The measure where none is named: F1, or under a floor of recall precision, and the other way round."""
    if options.recall_at_least is not None:
        return "f1" if options.precision_at_least is not None else PRECISION
    return "f1" if options.precision_at_least is None else RECALL


def _names(
    text: str | None, known: Mapping[str, object], option: str, what: str, default: tuple[str, ...]
) -> tuple[str, ...]:
    """The names in a text that joins them by commas; ValueError for one that is unknown."""
    if text is None:
        return default
    names = tuple(dict.fromkeys(name.strip().lower() for name in text.split(",")))
    for name in names:
        if name not in known:
            raise ValueError(f"{option}: there is no {what} {name!r}; use {', '.join(known)}.")
    return names
