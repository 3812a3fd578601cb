"""Read the files of a comparison: the table to learn from, and further rows to judge by."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from setwise.compare.problem import Origin, Problem
from setwise.core.checks import shown
from setwise.datasets import Data, load_rows, load_table
from setwise.datasets.columns import some, word
from setwise.datasets.files import TABLES, TARGET_NAMES


def read(data: str, target: str | None, group: str | None, positive: str | None, drop: str | None) -> Problem:
    """The problem of a file; ValueError or OSError in one sentence where it cannot be read."""
    asked = {"target": target, "group": group, "positive": positive, "drop": drop}
    return problem_of(load_table(data, target, group, positive, drop), data, "load_table", asked)


def problem_of(held: Data, data: str, reader: str, asked: Mapping[str, Any]) -> Problem:
    """The problem of what the function ``reader`` of :mod:`setwise.datasets` has read with the arguments ``asked``."""
    path, target = Path(data), held.target if held.y.ndim == 1 else ()
    origin = Origin(data, ", ".join(target), asked.get("positive") is None, len(held.y), ids=held.ids)
    options = "".join(f", {name}={value!r}" for name, value in asked.items() if value is not None)
    lines = [f"from setwise.datasets import {reader}", "", f"data = {reader}({data!r}{options})"]
    lines.append("X, y = data.X, data.y" if held.groups is None else "X, y, groups = data.X, data.y, data.groups")
    X, features, places = held.X, held.features, None
    if issparse(X):
        # Weights are dense, so columns that never occur would take memory and time in every model.
        places, at = np.unique(X.indices, return_inverse=True)
        places = places.astype(np.int64)
        features = tuple(features[place] for place in places.tolist())
        X = csr_matrix((X.data, at, X.indptr), shape=(X.shape[0], max(len(places), 1)))
        if not len(places):
            raise ValueError(f"{path.name} has no feature that is not 0.")
    return Problem(
        path.name, f"Read from {path.name}.", X, held.y, held.groups, held.classes, features=features,
        columns=held.columns, notes=held.notes, code=tuple(lines), places=places, width=held.X.shape[1],
        first=_first(held), origin=origin,
    )  # fmt: skip


def read_test(path: str, problem: Problem, target: str | None, group: str | None) -> Problem:
    """Further rows of known labels, read as those of the problem are.

    Raises
    ------
    ValueError, OSError : in one sentence, for a file that lacks columns, or holds labels that the problem does not
    """
    name = Path(path).name
    if problem.columns:
        return _of_columns(path, name, problem, target, group)
    held = load_table(path, target, group, None if problem.many else problem.classes[1])
    X = held.X
    if issparse(X) and problem.places is not None:
        wide = csr_matrix((X.data, X.indices, X.indptr), shape=(X.shape[0], max(X.shape[1], problem.width)))
        X = wide[:, problem.places]
    if X.shape[1] != problem.X.shape[1] or tuple(held.classes) != tuple(problem.classes):
        raise ValueError(f"--test {name} must have the features and labels of {problem.name}; it has others.")
    return Problem(name, f"Read from {name}.", X, held.y, held.groups, held.classes)


def _of_columns(path: str, name: str, problem: Problem, target: str | None, group: str | None) -> Problem:
    """Rows of a table with named columns."""
    names = tuple(problem.classes) if problem.many else (target or _usual_target(path),)
    held = load_rows(path, problem.columns, group, list(names))
    y = targets_of(held.kept, problem, names, f"--test {name}")
    return Problem(name, f"Read from {name}.", held.X, y, held.groups, problem.classes, columns=problem.columns)


def targets_of(kept: Mapping[str, list[str]], problem: Problem, names: Sequence[str], where: str) -> NDArray[np.int64]:
    """The labels of further rows as those of the problem, (n,) or (n, p), from their texts by column.

    Raises ValueError for a label that the problem does not have; ``where`` begins the sentence.
    """
    known = ("0", "1") if problem.many else problem.classes
    columns = []
    for name in names:
        numbers = {text: _place(text, known) for text in dict.fromkeys(kept[name])}
        odd = [text for text, place in numbers.items() if place < 0]
        if odd:
            raise ValueError(f"{where}: column {name!r} must hold {some(known)}; it holds {shown(odd[0])}.")
        columns.append([numbers[text] for text in kept[name]])
    y = np.array(columns, dtype=np.int64).T
    return y if problem.many else y.ravel()


def _place(text: str, known: Sequence[str]) -> int:
    """The place of a label among those that are known, -1 for another one."""
    text = text if text in known else _word(text)
    return known.index(text) if text in known else -1


def _usual_target(path: str) -> str:
    """The name of the target column where none was given: the only one with a usual name."""
    suffix = Path(path).suffix.lower()
    table = TABLES[suffix](Path(path)) if suffix in TABLES and Path(path).is_file() else None
    found = [] if table is None else [name for name in table.names if name.lower() in TARGET_NAMES]
    if table is not None and len(found) != 1:
        raise ValueError(f"--test {Path(path).name} must have one target column; name it with --target.")
    return found[0] if found else TARGET_NAMES[0]


def _word(text: str) -> str:
    """A label as the reader of the target names it: a whole number has no point."""
    try:
        return word(float(text)) if "_" not in text else text
    except (ValueError, OverflowError):
        return text


def _first(held: Data) -> int:
    """The index of the first numbered feature of a file."""
    return 0 if len(held.features) and str(held.features[0]) == "feature 0" else 1
