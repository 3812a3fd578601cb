"""Sentences on the data of an answer: how many rows, which label is the positive one, and what a column may spoil."""

from shlex import quote
from typing import Any

import numpy as np

from setwise.compare.answer import Answer
from setwise.compare.figures import listed, percent
from setwise.compare.problem import Origin, Problem
from setwise.datasets.columns import Date

MOST_LABELS = 6
"""So many labels of a matrix are named with their shares; all of them are in results.json."""

UNNAMED = ("negative", "positive")
"""The names of labels that nobody has named."""


def facts(found: Answer) -> list[str]:
    """What a reader has to know of the data before the answer."""
    problem = found.problem
    of_file = problem.origin is not None and problem.origin.file
    return [*([] if of_file else [problem.about]), *rows_compared(found), labels(problem), *dates(found)]


def kind(found: Answer) -> str:
    """What a set is."""
    text = found.problem.kind(found.measured.average)
    return f"{text[0].upper()}{text[1:]}."


def rows_compared(found: Answer) -> list[str]:
    """On how many rows of how many ways are compared, and why, where these are not all; and what is saved."""
    problem, origin = found.problem, found.problem.origin
    if origin is None or not origin.drawn:
        return []
    how = "drawn at random" if problem.groups is None else "in whole groups drawn at random"
    why = listed(list(dict.fromkeys(origin.drawn)))
    rest = "" if found.others is None else " The recommendation is judged on all others too."
    saved = " The saved model is fitted to these rows." if found.saved else ""
    return [f"Compared on {len(problem.y):,} of {origin.rows:,} rows, {how} ({why}).{saved}{rest}"]


def labels(problem: Problem) -> str:
    """Which label is the positive one and how many rows have it; of a label matrix the shares of the labels."""
    n = len(problem.y)
    if problem.many:
        shares = [
            f"{name} {percent(share)}" for name, share in zip(problem.classes, problem.y.mean(axis=0), strict=True)
        ]
        rest = [f"{len(shares) - MOST_LABELS} more"] if len(shares) > MOST_LABELS else []
        return f"Shares of the rows that have a label: {listed([*shares[:MOST_LABELS], *rest])}."
    count, origin = int(problem.y.sum()), problem.origin
    rows = f"{count:,} of {n:,} rows ({percent(count / n)})"
    if tuple(problem.classes) == UNNAMED:
        return f"Positive are {rows}."
    other, positive = problem.classes
    name = f"{origin.target} = " if origin is not None and origin.target else ""
    if origin is None or not origin.by_default:
        return f"Positive is {name}{positive}: {rows}."
    later = f"the later of {other!r} and {positive!r}"
    if 2 * count <= n:
        return (
            f"Positive is {name}{positive}: {rows}. It was taken by default, as {later}; for the other one give "
            f"--positive {quote(other)}."
        )
    return (
        f"Positive is {name}{positive}: {rows}. It was taken by default, as {later}, and is the more frequent one. To "
        f"find the rows with {name}{other}, give --positive {quote(other)}."
    )


def dates(found: Answer) -> list[str]:
    """A warning where folds are random and a column is a date; nothing where further rows are a test."""
    names = [column.name for column in found.problem.columns if isinstance(column, Date)]
    if not names or not np.isnan(found.rows[0].test):
        return []
    one = len(names) == 1
    return [
        f"{listed([repr(name) for name in names])} {'is a date, a feature' if one else 'are dates, features'} like "
        f"others here, and folds are random. If new rows come later, leave {'it' if one else 'them'} out (--drop "
        f"{quote(','.join(names))}), or give the latest rows as --test."
    ]


def data_of(problem: Problem) -> dict[str, Any]:
    """The data of a problem for results.json: its file and rows, its target, and what is positive."""
    origin = problem.origin or Origin(rows=len(problem.y))
    found = {"file": origin.file, "rows": len(problem.y), "rows_of_file": origin.rows, "target": origin.target}
    if problem.many:
        shares = problem.y.mean(axis=0).tolist()
        return {**found, "label_shares": dict(zip(problem.classes, shares, strict=True))}
    positive = {"positive": problem.classes[1], "positive_by_default": origin.by_default}
    return {**found, **positive, "positive_rows": int(problem.y.sum())}
