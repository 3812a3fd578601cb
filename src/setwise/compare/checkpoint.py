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

PLANNED = ("folds", "inner", "grid", "bases", "strategies", "skipped")
"""The fields of a plan that the time may change; another run has other times, and would draw other rows."""

NOT_SAID = frozenset({"data", "test", "n_jobs", "time_budget", "save", "out", "checkpoint", "resume", "command"})
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


def planned(kept: OpenCheckpoint | None, plan: Plan) -> tuple[Plan, int, list[str]] | None:
    """The plan, the number of rows and the sentences that an earlier run has settled on; None if there was none."""
    if kept is None or (held := kept.arrays.get("plan")) is None:
        return None
    try:
        found = json.loads(str(held))
        rows, notes, changes = int(found["rows"]), [str(note) for note in found["notes"]], found["plan"]
        changes = {
            name: tuple(one) if isinstance(one, list) else one for name, one in changes.items() if name in PLANNED
        }
        changes["skipped"] = frozenset((str(base), str(strategy)) for base, strategy in changes["skipped"])
        return replace(plan, **changes), rows, notes
    except (ValueError, TypeError, KeyError):
        raise ValueError(f"{kept.name} is no checkpoint of this comparison: its plan cannot be read.") from None


def keep_plan(kept: OpenCheckpoint | None, plan: Plan, rows: int, notes: list[str]) -> None:
    """Keep the plan of a comparison, the number of its rows, and sentences on what was left out."""
    if kept is not None:
        held = {name: getattr(plan, name) for name in PLANNED} | {"skipped": sorted(plan.skipped)}
        kept.put({"plan": np.array(json.dumps({"plan": held, "rows": rows, "notes": notes}))})
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
