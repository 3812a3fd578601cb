"""Comparisons as text: the table for a terminal, and sentences on who wins."""

import textwrap
from collections.abc import Sequence

import numpy as np

from setwise.compare.comparison import Comparison, Duel, Row


def text_table(found: Comparison, bold: bool = False) -> str:
    """The train-by-test table: mean ± standard error, certified gap, seconds of a fit; the best of a column is bold
    or starred.
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
    """A sentence in lines of at most 100 characters, the later ones indented."""
    return textwrap.fill(sentence, 100, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def grid(
    rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[str]], best: np.ndarray, bold: bool
) -> str:
    """A table in plain text; cells of ``best`` are bold on a terminal, else they carry a star."""
    widths = [max(len(c), *(len(r[j]) for r in cells)) + 1 for j, c in enumerate(columns)]
    left = max(map(len, rows))
    lines = [" " * left + "  " + "  ".join(c.rjust(w - 1) + " " for c, w in zip(columns, widths, strict=True)).rstrip()]
    for name, row, marks in zip(rows, cells, best, strict=True):
        line = name.ljust(left)
        for cell, width, mark in zip(row, widths, marks, strict=True):
            text = (cell + ("*" if mark and not bold else " ")).rjust(width)
            line += "  " + (f"\033[1m{text}\033[0m" if mark and bold else text)
        lines.append(line.rstrip())
    return "\n".join(lines)


def gap_text(row: Row) -> str:
    """The largest certified gap of the folds, or a dash where a method certifies nothing."""
    return "-" if row.gap is None else f"{row.gap:.1e}"


def verdict(found: Comparison) -> list[str]:
    """Who wins in the measure trained for, by the paired difference between the best of each camp; then what else to
    know.
    """
    name = found.measure
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
    return [first, *found.notes, *_rivals(found), *_other_measures(found), *_gaps(found), *_edges(found)]


def _beats(first: Row, second: Row) -> str:
    return f"{first.method.name} beats {second.method.name}, {_figures(first, second)}"


def _figures(first: Row, second: Row) -> str:
    """The losses of two rows in the order in which the sentence names them, and their paired difference."""
    duel = Duel.of(first.losses[:, 0], second.losses[:, 0])
    return (
        f"{first.mean[0]:.3f} against {second.mean[0]:.3f} (difference {duel.difference:+.3f}, 95 % interval "
        f"± {duel.width:.3f} over {len(first.losses)} paired folds)"
    )


def _best(found: Comparison, ours: bool) -> Row:
    return min((r for r in found.rows if r.method.ours == ours), key=lambda r: r.mean[0])


def _rivals(found: Comparison) -> list[str]:
    """Which of our own surrogates is clearly worse than the best of the usual ways."""
    usual = _best(found, False)
    worse: dict[str, str] = {}
    for row in found.rows:
        duel = Duel.of(row.losses[:, 0], usual.losses[:, 0])
        if row.method.ours and duel.clear and duel.difference > 0:
            worse[row.method.name] = f"{row.method.name} ({row.mean[0]:.3f})"
    if not worse or _best(found, True).method.name in worse:
        return []
    return [
        f"Not every set surrogate helps: {' and '.join(worse.values())} did clearly worse than {usual.method.name}."
    ]


def _other_measures(found: Comparison) -> list[str]:
    """What training for one measure costs in the others."""
    said = []
    ours = _best(found, True)
    unfit = [n for n in found.measures if n not in found.ordered] if found.measure in found.ordered else []
    if unfit:
        said.append(
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
            said.append(
                f"In {name}, for which it was not trained, {ours.method.name} pays: {ours.mean[j]:.3f} against "
                f"{best.mean[j]:.3f} of {best.method.name}."
            )
    return said


def _gaps(found: Comparison) -> list[str]:
    rows = [r for r in found.rows if r.gap is not None and r.gap > 1.05 * found.plan.tol]
    if not rows:
        return []
    names = " and ".join(f"{r.method.name} ({r.gap:.1e})" for r in rows)
    return [
        f"Not solved to the gap of {found.plan.tol:g} that was asked for: {names}. "
        "The gap is certified: the objective may be that much too high."
    ]


def _edges(found: Comparison) -> list[str]:
    if len(found.plan.grid) < 5:
        return []
    low, high = min(found.plan.grid), max(found.plan.grid)
    names = [r.method.name for r in found.rows if sum(c in (low, high) for c in r.chosen) > len(r.chosen) / 2]
    return (
        [f"C was mostly chosen at an end of the grid by {', '.join(names)}; a wider grid might help it."]
        if names
        else []
    )
