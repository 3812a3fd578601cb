"""Plain text for a terminal: sentences in lines, and tables whose columns stay aligned."""

import textwrap
from collections.abc import Sequence

import numpy as np


def wrap(sentence: str) -> str:
    """The sentence in lines of at most 100 characters, of which all but the first are indented."""
    # Names of files and methods are never broken.
    return textwrap.fill(sentence, 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def grid(
    rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[str]], best: np.ndarray, bold: bool
) -> str:
    """A table in plain text; the cells that ``best`` marks are printed bold with ``bold``, otherwise with a star."""
    widths = [max(len(c), *(len(r[j]) for r in cells)) + 1 for j, c in enumerate(columns)]
    left = max(map(len, rows))
    lines = [" " * left + "  " + "  ".join(c.rjust(w - 1) + " " for c, w in zip(columns, widths, strict=True)).rstrip()]
    for name, row, marks in zip(rows, cells, best, strict=True):
        line = name.ljust(left)
        for cell, width, mark in zip(row, widths, marks, strict=True):
            # Every cell has room for a star, so that the figures of a column stay aligned.
            text = (cell + ("*" if mark and not bold else " ")).rjust(width)
            line += "  " + (f"\033[1m{text}\033[0m" if mark and bold else text)
        lines.append(line.rstrip())
    return "\n".join(lines)
