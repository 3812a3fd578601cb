"""Figures and sentences as plain text: measures with three digits, tables whose columns stay aligned."""

import re
import textwrap
from collections.abc import Sequence

import numpy as np

from setwise.core.files import in_line


def figure(value: float) -> str:
    """A measure or loss, as ``.482`` or ``1.250``; a large one, as a cost, without digits that nobody reads."""
    return "-" if not np.isfinite(value) else _short(f"{value:,.{_digits(value)}f}")


def signed(value: float) -> str:
    """A difference with its sign, as ``+.003``; a difference of rounding errors is ``+.000``."""
    return "-" if not np.isfinite(value) else _short(f"{value if abs(value) >= 5e-4 else 0.0:+,.{_digits(value)}f}")


def _digits(value: float) -> int:
    return 3 if abs(value) < 10.0 else 1 if abs(value) < 1000.0 else 0


def between(low: float, high: float) -> str:
    """An interval, as ``-.011 to +.017``."""
    return f"{signed(low)} to {signed(high)}"


def threshold_text(value: float) -> str:
    """A threshold with two digits, or three below 0.1; those beyond all scores in words."""
    if np.isinf(value):
        return "above all scores" if value > 0 else "below all scores"
    return f"{value:.2f}" if 0.1 <= abs(value) < 10 else f"{value:.2g}"


def listed(names: list[str]) -> str:
    """The names as a list in words, ``a, b and c``."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def seconds_text(seconds: float) -> str:
    """A time that is known about, as ``40 seconds``, ``3 minutes`` or ``2 hours``."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 90:
        return f"about {round(seconds, -1):.0f} seconds"
    return f"about {seconds / 60:.0f} minutes" if seconds < 5400 else f"about {seconds / 3600:.0f} hours"


def _short(text: str) -> str:
    return text.replace("0.", ".", 1) if text.lstrip("+-").startswith("0.") else text


def bytes_text(count: int) -> str:
    """A number of bytes that is not below ``count``, as ``250MB``, in the form that options take."""
    unit, name = (10**9, "GB") if count >= 10**10 else (10**6, "MB") if count >= 10**7 else (1000, "KB")
    return f"{-(-count // unit)}{name}"


def percent(share: float) -> str:
    """A share as ``14.0 %``; one below a percent with two digits."""
    whole = 100.0 * share
    return f"{whole:.1f} %" if whole >= 1.0 or whole == 0.0 else f"{whole:.2g} %"


def wrap(sentence: str, margin: int = 0) -> str:
    """The sentence behind a margin, in lines of at most 100 characters, of which all but the first are indented.

    What may come from files is made visible.
    """
    # Names of files and methods are never broken.
    lines = textwrap.TextWrapper(100, " " * margin, " " * (margin + 2), break_long_words=False, break_on_hyphens=False)
    return lines.fill(in_line(sentence))


def short(text: str, width: int = 100) -> str:
    """The text in so many characters; what is cut first is before the sentence that says what to write."""
    asked = re.search(r"[ (]--[a-z]| write ", text)
    begin = text.rfind(". ", 0, asked.start()) + 2 if asked else 0
    if begin > 1:
        head = textwrap.shorten(text[:begin], max(width - len(text[begin:]) - 1, 36), placeholder=" ...")
        text = f"{head} {text[begin:]}"
    return textwrap.shorten(text, width, placeholder=" ... (-v)")


def grid(rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[str]], best: np.ndarray) -> str:
    """A table in plain text; the cells that ``best`` marks have a star."""
    # Every cell has room for a star, so that the figures of a column stay aligned.
    lines = [["", *(f"{name} " for name in columns)]]
    for name, row, marks in zip(rows, cells, best, strict=True):
        lines.append([name, *(cell + "* "[not mark] for cell, mark in zip(row, marks, strict=True))])
    left, *widths = (max(map(len, column)) for column in zip(*lines, strict=True))
    return "\n".join("  ".join([name.ljust(left), *map(str.rjust, row, widths)]).rstrip() for name, *row in lines)


def bar(mean: float, low: float, high: float) -> str:
    """An interval between ``[`` and ``]`` with its mean ``o``, and ``|`` at 0, which it explains, in one line."""
    left, right = min(low, 0.0), max(high, 0.0)
    begin, end, zero, at = (round(60 * (x - left) / max(right - left, 1e-12)) for x in (low, high, 0.0, mean))
    drawn = [*(" " * begin), *("-" * (end - begin + 1)), *(" " * (60 - end))]
    drawn[begin], drawn[end], drawn[zero], drawn[at] = "[]|o"
    return f"worse  {''.join(drawn).rstrip()}  better  (|: no difference)"
