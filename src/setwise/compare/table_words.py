"""The table of an answer: levers over base models, with the measure on the outer folds."""

import numpy as np

from setwise.compare.answer import Answer, Row
from setwise.compare.bases import BASES
from setwise.compare.figures import figure
from setwise.compare.text import grid
from setwise.compare.way_words import lever_title


def table(found: Answer, bold: bool = False) -> str:
    """The mean of the measure on the outer folds ± its standard error, for all levers and base models."""
    bases, levers = axes_of(found)
    rows = {row.key: row for row in found.rows}
    cells = [[_in_brackets(found, rows.get((base, lever))) for base in bases] for lever in levers]
    marks = np.array([[(base, lever) == found.winner.key for base in bases] for lever in levers])
    return grid([lever_title(lever) for lever in levers], [BASES[base].title for base in bases], cells, marks, bold)


def legend(found: Answer, best: str) -> str:
    """What a table for a terminal holds, with what ``best`` says of the mark of the recommendation."""
    bases, levers = axes_of(found)
    rows = {row.key: row for row in found.rows}
    held = [rows.get((base, lever)) for lever in levers for base in bases]
    broken = ["what stands in brackets breaks the floor"] if any(breaks(found, row) for row in held) else []
    none = ["- was not tried"] if any(row is None or not row.usable for row in held) else []
    text = "; ".join([found.measured.better, best, *broken, *none])
    return f"{found.measured.title}, mean ± standard error of the outer folds ({text}):"


def breaks(found: Answer, row: Row | None) -> bool:
    """Whether a way breaks the floors on all rows."""
    return row is not None and row.usable and found.floored is not None and row.key not in found.floored.able


def _in_brackets(found: Answer, row: Row | None) -> str:
    return f"({cell(found, row)})" if breaks(found, row) else cell(found, row)


def axes_of(found: Answer) -> tuple[list[str], list[str]]:
    """The base models and the levers of which there are figures."""
    usable = [row for row in found.rows if row.usable]
    return list(dict.fromkeys(row.base for row in usable)), list(dict.fromkeys(row.lever for row in usable))


def cell(found: Answer, row: Row | None) -> str:
    """The mean of the measure ± its standard error; a dash where there is none."""
    if row is None or not row.usable:
        return "-"
    error = found.paired(row.outer, np.zeros(len(row.outer))).error
    return f"{figure(found.measured.shown(row.mean))} ± {figure(error)}"
