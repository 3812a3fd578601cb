"""The details of an answer: its threshold, constant and coefficients, the saved file, and what was left out."""

from collections.abc import Mapping
from shlex import quote

from setwise.compare.answer import Answer
from setwise.compare.bases import BASES
from setwise.compare.figures import figure, listed, threshold_text
from setwise.compare.measures import Measured
from setwise.compare.problem import Problem
from setwise.compare.way_words import LEVERS, lever_title


def in_short(found: Answer) -> list[str]:
    """The details that a terminal shows: the threshold, the largest coefficients, the saved file, what was left out."""
    coefficients = found.winner.coefficients
    largest = coefficients_text(coefficients, 3, "the report") if coefficients else ""
    return [*_range(found), *filter(None, [largest]), *_saved(found), *found.problem.notes, *found.notes]


def details(found: Answer) -> list[str]:
    """All details: the threshold, the constant, the coefficients, the columns, the saved file, what was left out."""
    sentences, winner = _range(found), found.winner
    if winner.constant is not None:
        sentences.append(f"C of {BASES[winner.key[0]].title}: {winner.constant:g}, from {_grid(found)}{_end(found)}.")
    if winner.coefficients:
        sentences.append(coefficients_text(winner.coefficients))
    return [*sentences, *_columns(found.problem), *_saved(found), *found.problem.notes, *found.notes]


def _range(found: Answer) -> list[str]:
    """The thresholds that are nearly as good."""
    winner = found.winner
    if winner.flat is not None and winner.flat.low < winner.flat.high:
        low, high = (threshold_text(end) for end in (winner.flat.low, winner.flat.high))
        if low == high:
            low, high = f"{winner.flat.low:.4g}", f"{winner.flat.high:.4g}"
        return [
            f"From the threshold {low} to {high}, {found.measured.title} is at most {figure(winner.flat.tolerance)} "
            f"worse{'' if found.floored is None else ' and the floor is kept'}, out of fold on all rows."
        ]
    return []


def _columns(problem: Problem) -> list[str]:
    """The columns of a table by their kinds."""
    kinds: dict[str, list[str]] = {}
    for column in problem.columns:
        kinds.setdefault(KINDS[column.kind], []).append(column.name)
    return [f"Columns: {'; '.join(f'{kind} {listed(names)}' for kind, names in kinds.items())}."] if kinds else []


KINDS = {"number": "numbers", "truth value": "truth values", "date": "dates (as days)", "category": "categories"}
"""The kinds of columns, of which there are several."""


def _saved(found: Answer) -> list[str]:
    """Where the model is saved, and the command that reads it; it keeps the columns that are ids."""
    if not found.saved:
        return []
    ids = () if found.problem.origin is None else found.problem.origin.ids
    keep = f" --keep {quote(','.join(ids))}" if ids else ""
    return [f"Saved in {found.saved}. Next: setwise predict {found.saved} new.csv{keep} --out labels.csv"]


def coefficients_text(coefficients: Mapping[str, float], most: int = 10, where: str = "results.json") -> str:
    """The largest coefficients by the names of their features."""
    largest = sorted(coefficients.items(), key=lambda pair: -abs(pair[1]))
    shown = ", ".join(f"{name} {value:+.2f}" for name, value in largest[:most])
    rest = f"; {len(largest) - most} smaller ones are in {where}" if len(largest) > most else ""
    return f"Coefficients, for features of standard deviation 1: {shown}{rest}."


def refusals(found: Answer) -> list[str]:
    """What was refused, each reason once; what could never fit this kind of data is not missed, and not listed."""
    reasons: dict[str, list[str]] = {}
    for row in found.rows:
        if row.refusal and row.lever not in foreign(found.problem, found.measured):
            # A reader knows a lever by its title, not by its name.
            reason = PLAINLY.get(row.lever) or row.refusal.rstrip(".").replace(f"{row.lever} refuses ", "not for ", 1)
            reasons.setdefault(reason, []).append(lever_title(row.lever))
    return [f"Left out: {listed(list(dict.fromkeys(names)))}, {reason}." for reason, names in reasons.items()]


PLAINLY = {
    "ramp": "because it needs a dense table of numbers without too many columns",
    "class_weight": "because this model cannot be fitted to weighted rows here",
}
"""Why a lever that could fit this kind of data did not, for readers who do not know its name."""


def foreign(problem: Problem, measured: Measured) -> tuple[str, ...]:
    """The levers that are made for other kinds of data or of measures."""
    if measured.orders:
        return tuple(name for name in LEVERS if name != "order")
    if problem.many:
        return ("class_weight", *(("gfm", "stack") if measured.average != "samples" else ()))
    return ("gfm", "label_thresholds", *(("stack",) if problem.groups is None else ()))


def _end(found: Answer) -> str:
    """That the constant stands at the upper end of its grid; the lower end is nearly a constant model."""
    largest = len(found.plan.grid) > 1 and found.winner.constant == max(found.plan.grid)
    return ", the largest that was tried" if largest else ""


def _grid(found: Answer) -> str:
    return ", ".join(f"{c:g}" for c in found.plan.grid)
