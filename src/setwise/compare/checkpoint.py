"""A comparison that goes on from a checkpoint: its plan, the finished outer folds, and the responses of base models."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from setwise.compare.plan import Key, Plan
from setwise.compare.problem import Problem
from setwise.core.checkpoint import Checkpoint, OpenCheckpoint, fingerprint
from setwise.core.files import in_line
from setwise.estimators.checkpoints import described, of_rows

PLANNED = ("folds", "outer", "inner", "grid", "bases", "strategies", "skipped", "seed")
"""The fields of a plan that say what is done."""

NOT_SAID = frozenset(
    {"data", "test", "n_jobs", "time_budget", "save", "out", "checkpoint", "resume", "command", "plan"}
)
"""Options that may change from a run to the one that goes on; the data are said by their content."""


def open_for_comparison(options: Any, problems: Iterable[Problem]) -> OpenCheckpoint | None:
    """The checkpoint that the options ask for, or None.

    Raises
    ------
    ValueError, OSError : in one sentence, where it cannot be used
    """
    if options.checkpoint is None:
        if options.resume:
            raise ValueError("--resume goes on from the file of --checkpoint; name it.")
        return None
    path = Path(options.checkpoint)
    if path.is_file() and not options.resume:
        name = in_line(path.name)
        raise ValueError(f"there is a file {name} already: go on from it with --resume, or name another file.")
    about = {field.name: repr(getattr(options, field.name)) for field in fields(options) if field.name not in NOT_SAID}
    rows = [text for one in problems for text in of_rows(one.X, one.y, one.groups, described(one.columns)).values()]
    return Checkpoint(path).open(
        {"command": "setwise compare", "data": fingerprint(*rows), **about}, resume=options.resume
    )


def planned(kept: OpenCheckpoint | None, plan: Plan) -> Plan:
    """The plan without what an earlier run had no time for, so that all outer folds repeat the same choice."""
    if kept is None or (held := kept.part("plan").arrays.get("plan")) is None:
        return plan
    try:
        return replace(plan, **as_plan(json.loads(str(held))))
    except (ValueError, TypeError, KeyError):
        raise ValueError(f"{kept.name} is no checkpoint of this comparison: its plan cannot be read.") from None


def as_plan(found: Any) -> dict[str, Any]:
    """The fields of a plan that say what is done, from what :func:`plan_fields` has written as JSON."""
    changes = {name: tuple(one) if isinstance(one, list) else one for name, one in found.items() if name in PLANNED}
    return changes | {"skipped": frozenset((str(base), str(strategy)) for base, strategy in changes["skipped"])}


def plan_fields(plan: Plan) -> dict[str, Any]:
    """The fields of a plan that say what is done, as JSON takes them."""
    return {name: getattr(plan, name) for name in PLANNED} | {"skipped": sorted(plan.skipped)}


def read_plan(path: Path, plan: Plan) -> Plan:
    """The plan that the results.json of an earlier report holds, for the other fields of ``plan``.

    Raises
    ------
    ValueError, OSError : in one sentence, for a file that holds none
    """
    try:
        (found,) = {json.dumps(answer["plan"], sort_keys=True) for answer in json.loads(path.read_bytes())["answers"]}
        return replace(plan, **as_plan(json.loads(found)))
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
    if kept is None or not (arrays := kept.arrays):
        return None
    try:
        ways = [(str(base), str(strategy)) for base, strategy in arrays["ways"]]
        losses = dict(zip(ways, kept.numbers("losses", (len(ways),)).tolist(), strict=True))
        chosen = ways[int(arrays["chosen"])]
    except (ValueError, TypeError, KeyError, IndexError):
        raise ValueError(f"{kept.name} is no checkpoint of this comparison: an outer fold cannot be read.") from None
    return losses, chosen


def keep_judged(kept: OpenCheckpoint | None, losses: Mapping[Key, float], chosen: Key) -> None:
    """Keep what :func:`judged` gives."""
    if kept is not None:
        ways = list(losses)
        found = {"ways": np.array(ways), "losses": np.array([losses[way] for way in ways])}
        kept.put(found | {"chosen": np.array(ways.index(chosen))})
        if kept.due:
            kept.write()
