"""A comparison that goes on from a checkpoint: its plan, the finished outer folds, and the responses of base models."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from setwise.compare.plan import Key, Plan
from setwise.compare.problem import Problem
from setwise.core.checkpoint import Checkpoint, OpenCheckpoint, fingerprint, held_at
from setwise.estimators.checkpoints import described, of_rows

PLANNED = ("folds", "outer", "inner", "grid", "bases", "strategies", "skipped", "seed")
"""The fields of a plan that say what is done."""

NOT_SAID = ("data", "test", "n_jobs", "time_budget", "save", "out", "checkpoint", "resume", "command", "plan", "run")
"""Options that may change from a run to the one that goes on; the data are said by their content."""


def refuse_checkpoint(options: Any) -> None:
    """Raise ValueError or OSError, in one sentence, for a checkpoint that cannot be used whatever the rows are."""
    if options.checkpoint is None:
        if options.resume:
            raise ValueError("--resume goes on from the file of --checkpoint; name it.")
        return
    try:
        held_at(options.checkpoint, options.resume)
    except FileExistsError as error:
        raise FileExistsError(str(error).replace("resume=True", "--resume")) from None


def open_for_comparison(options: Any, problems: Iterable[Problem]) -> OpenCheckpoint | None:
    """The checkpoint that the options ask for, or None; ValueError in one sentence if it is of another comparison."""
    if options.checkpoint is None:
        return None
    about = {name: repr(value) for name, value in vars(options).items() if name not in NOT_SAID}
    rows = [text for one in problems for text in of_rows(one.X, one.y, one.groups, described(one.columns)).values()]
    if options.cost_matrix is not None:
        about["cost_matrix"] = fingerprint(Path(options.cost_matrix).read_text("utf-8", "replace"))
    about |= {"command": "setwise compare", "data": fingerprint(*rows)}
    return Checkpoint(options.checkpoint).open(about, resume=options.resume)


def planned(kept: OpenCheckpoint | None, plan: Plan) -> Plan:
    """The plan without what an earlier run had no time for, so that all outer folds repeat the same choice."""
    if kept is None or (held := kept.part("plan").arrays.get("plan")) is None:
        return plan
    return replace(plan, **as_plan(json.loads(str(held))))


def as_plan(found: Any) -> dict[str, Any]:
    """The fields of a plan that say what is done, from what :func:`plan_fields` has written as JSON."""
    changes = {name: tuple(one) if isinstance(one, list) else one for name, one in found.items() if name in PLANNED}
    return changes | {"skipped": frozenset((str(base), str(strategy)) for base, strategy in changes["skipped"])}


def plan_fields(plan: Plan) -> dict[str, Any]:
    """The fields of a plan that say what is done, as JSON takes them."""
    return {name: getattr(plan, name) for name in PLANNED} | {"skipped": sorted(plan.skipped)}


def read_plan(path: Path, plan: Plan, problem: Problem) -> tuple[Plan, list[str]]:
    """The plan that the results.json of an earlier report holds, for the other fields of ``plan``.

    Where it is of a table with another number of rows than the problem, there is a sentence beside it.

    Raises
    ------
    ValueError, OSError : in one sentence, for a file that holds none
    """
    try:
        answers = json.loads(path.read_bytes())["answers"]
        (found,) = {json.dumps(answer["plan"], sort_keys=True) for answer in answers}
        old, n = answers[0]["data"], len(problem.y)
        of_another = f"The plan is that of {old['rows']:,} rows of {Path(old['file']).name}; here are {n:,}."
        return replace(plan, **as_plan(json.loads(found))), [] if old["rows"] == n else [of_another]
    except (ValueError, TypeError, KeyError):
        raise ValueError(f"--plan must be the results.json of a report on one problem; got {path}.") from None


def keep_plan(kept: OpenCheckpoint | None, plan: Plan) -> None:
    """Keep the plan of a comparison."""
    if kept is not None:
        # A later run may have time for more outer folds.
        kept.part("plan").put({"plan": np.array(json.dumps(plan_fields(replace(plan, outer=None))))})
        kept.write()


def judged(kept: OpenCheckpoint | None) -> tuple[dict[Key, float], Key] | None:
    """The losses of all ways in an outer fold, and the way that was chosen in it; None if it was not finished."""
    if kept is None or not kept.arrays:
        return None
    losses, chosen = json.loads(str(kept.arrays["judged"]))
    return {(base, strategy): loss for base, strategy, loss in losses}, tuple(chosen)


def keep_judged(kept: OpenCheckpoint | None, losses: Mapping[Key, float], chosen: Key) -> None:
    """Keep what :func:`judged` gives."""
    if kept is not None:
        kept.put({"judged": np.array(json.dumps([[(*way, loss) for way, loss in losses.items()], chosen]))})
        if kept.due:
            kept.write()
