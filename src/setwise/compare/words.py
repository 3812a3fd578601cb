"""Comparisons as text: the table for a terminal, and the sentences of the verdict."""

import textwrap
from collections.abc import Sequence

import numpy as np

from setwise.compare.comparison import Comparison, Duel, Row


def text_table(found: Comparison, bold: bool = False) -> str:
    """The train-by-test table as text: mean ± standard error, certified gap, and seconds of a fit.

    The best mean of a column is bold or has a star.
    """
    best = found.means == found.means.min(axis=0)
    cells = [
        [f"{m:.3f} ± {e:.3f}" for m, e in zip(row.mean, row.error, strict=True)]
        + [gap_text(row), f"{row.fit_seconds:.2f}"]
        for row in found.rows
    ]
    return grid(
        [row.method.name for row in found.rows], [*found.measures, "gap", "seconds"], cells,
        np.column_stack([best, np.zeros((len(best), 2), dtype=bool)]), bold,
    )  # fmt: skip


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


def gap_text(row: Row) -> str:
    """The largest certified gap of the folds, or a dash if the method certifies nothing."""
    return "-" if row.gap is None else f"{row.gap:.1e}"


def verdict(found: Comparison) -> list[str]:
    """Sentences: which method is best in the measure that was trained for, and cautions about the result.

    The best set surrogate and the best usual method are compared by their paired difference over folds.
    """
    name = found.measure
    # A refusal or the budget may have left out all methods of one kind.
    kinds = {r.method.ours for r in found.rows}
    if len(kinds) < 2:
        missing = "usual way" if True in kinds else "set surrogate"
        return [f"In {name} there is nothing to compare: no {missing} is left.", *found.notes]
    ours, usual = _best(found, True), _best(found, False)
    duel = Duel.of(ours.losses[:, 0], usual.losses[:, 0])
    if not duel.clear:
        first = (
            f"In {name} no clear winner: {ours.method.name} and {usual.method.name} cannot be told apart, "
            f"{_figures(ours, usual)}. These folds give no reason to leave the usual way."
        )
    elif duel.difference < 0:
        first = (
            f"In {name} training for it wins: {ours.method.name} beats {usual.method.name}, {_figures(ours, usual)}."
        )
    else:
        first = f"In {name} setwise loses: {usual.method.name} beats {ours.method.name}, {_figures(usual, ours)}."
    return [first, *found.notes, *_worse_surrogates(found), *_other_measures(found), *_gaps(found), *_grid_ends(found)]


def _figures(first: Row, second: Row) -> str:
    """The mean losses of two rows in the order in which the sentence names them, and their paired difference."""
    duel = Duel.of(first.losses[:, 0], second.losses[:, 0])
    return (
        f"{first.mean[0]:.3f} against {second.mean[0]:.3f} (difference {duel.difference:+.3f}, 95 % interval "
        f"± {duel.width:.3f} over {len(first.losses)} paired folds)"
    )


def _best(found: Comparison, ours: bool) -> Row:
    """The best set surrogate with ``ours``, otherwise the best usual method, in the measure trained for."""
    return min((r for r in found.rows if r.method.ours == ours), key=lambda r: r.mean[0])


def _worse_surrogates(found: Comparison) -> list[str]:
    """The set surrogates that are clearly worse than the best usual method, unless all of them are."""
    usual = _best(found, False)
    worse: dict[str, str] = {}
    for row in found.rows:
        duel = Duel.of(row.losses[:, 0], usual.losses[:, 0])
        if row.method.ours and duel.clear and duel.difference > 0:
            worse[row.method.name] = f"{row.method.name} ({row.mean[0]:.3f})"
    # If the best surrogate is worse too, the first sentence has said it.
    if not worse or _best(found, True).method.name in worse:
        return []
    return [
        f"Not every set surrogate helps: {' and '.join(worse.values())} did clearly worse than {usual.method.name}."
    ]


def _other_measures(found: Comparison) -> list[str]:
    """The measures in which the best set surrogate is clearly worse than the best of all methods."""
    sentences = []
    ours = _best(found, True)
    # A rule trained for an order of scores has an arbitrary threshold, so measures of labels say little of it.
    unfit = [n for n in found.measures if n not in found.ordered] if found.measure in found.ordered else []
    if unfit:
        sentences.append(
            f"Only the order of scores counts in {found.measure}, so what is trained for it has no threshold to go by: "
            f"figures in {' and '.join(unfit)} say little of it."
        )
    for j, name in enumerate(found.measures[1:], 1):
        if name in unfit:
            continue
        best = found.rows[int(np.argmin([row.mean[j] for row in found.rows]))]
        if best is ours:
            continue
        duel = Duel.of(ours.losses[:, j], best.losses[:, j])
        if duel.clear:
            sentences.append(
                f"In {name}, for which it was not trained, {ours.method.name} pays: {ours.mean[j]:.3f} against "
                f"{best.mean[j]:.3f} of {best.method.name}."
            )
    return sentences


def _gaps(found: Comparison) -> list[str]:
    """The methods whose certified gap stayed above the one that was asked for."""
    # The factor forgives rounding of a gap that was just reached.
    rows = [r for r in found.rows if r.gap is not None and r.gap > 1.05 * found.plan.tol]
    if not rows:
        return []
    names = " and ".join(f"{r.method.name} ({r.gap:.1e})" for r in rows)
    return [
        f"Not solved to the gap of {found.plan.tol:g} that was asked for: {names}. "
        "The gap is certified: the objective may be that much too high."
    ]


def _grid_ends(found: Comparison) -> list[str]:
    """The methods that mostly chose an end of the grid as their C."""
    # In a short grid a choice at an end is no sign that a better value lies beyond.
    if len(found.plan.grid) < 5:
        return []
    # A choice counts as mostly at an end if it is so in more than half of the folds.
    low, high = min(found.plan.grid), max(found.plan.grid)
    names = [r.method.name for r in found.rows if sum(c in (low, high) for c in r.chosen) > len(r.chosen) / 2]
    return (
        [f"C was mostly chosen at an end of the grid by {', '.join(names)}; a wider grid might help it."]
        if names
        else []
    )
