"""The pictures of a report. This module needs matplotlib."""

import io
import textwrap
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from setwise.compare.answer import Answer, ThresholdRange
from setwise.compare.floor_sentences import lower
from setwise.compare.plan import base_model
from setwise.compare.sentences import breaks, strategy_title, ways_by_strategy
from setwise.compare.text import figure as as_text
from setwise.compare.text import signed, threshold_text
from setwise.core.checks import Values
from setwise.plotting.axes import draw_samples, legend_beside, panel, tidy, without_fading
from setwise.plotting.colors import BLACK, BLUE, CYCLE, GRAY, GREEN, ORANGE, RED

MARKERS = ("o", "s", "D", "^", "v")
POINTS = 2000
"""More points than these would hide the lines in the plane."""


def pictures(found: Answer) -> dict[str, bytes]:
    """The pictures of an answer as PNG files by name; those that have nothing to show are left out."""
    # A single bar says what the answer says in a line.
    figures = {"gain": gain(found)} if len(found.parts) > 1 else {}
    flat = found.winner.flat
    if flat is None or len(flat.thresholds) < 3:
        figures["ways"] = ways(found)
    elif flat.shares is None:
        figures |= {"ways": ways(found), "threshold": threshold(found, flat)}
    else:
        # Under a floor the threshold is the answer.
        figures |= {"threshold": floored(found, flat), "ways": ways(found)}
    if found.winner.predict:
        figures["plane"] = plane(found)
    if found.winner.coefficients:
        figures["coefficients"] = coefficients(found, found.winner.coefficients)
    return {name: _png(figure) for name, figure in figures.items()}


def gain(found: Answer) -> Figure:
    """Where the gain over logistic regression at 0.5 comes from, and the gain of the choice in each outer fold."""
    figure = Figure(figsize=(9.0, 2.9), layout="constrained")
    left, right = figure.subplots(1, 2, width_ratios=(1.25, 1.0))
    names = {"threshold": "by its threshold", "base": "by the base model", "strategy": "by the measure"}
    parts = {names[name]: part for name, part in found.parts.items()}
    for i, part in enumerate(parts.values()):
        low, high = part.interval()
        color = GREEN if part.mean >= 0 else RED
        left.barh(i, part.mean, color=color, alpha=0.75, height=0.55)
        left.plot([low, high], [i, i], color=BLACK, linewidth=1.2)
        left.annotate(signed(part.mean), (max(part.mean, high, 0.0), i), xytext=(5, 0), textcoords="offset points",
                      va="center", fontsize=9)  # fmt: skip
        left.set_yticks(range(len(parts)), list(parts))
    left.invert_yaxis()
    left.axvline(0, color=BLACK, linewidth=0.8)
    left.margins(x=0.18)
    tidy(left, f"gain in {_plain(found.measured.title)}", "", "Where the gain comes from")
    differences = found.reference.outer - found.own
    right.plot(differences, range(len(differences)), "o", color=BLUE, markersize=6)
    low, high = found.gain.interval()
    right.axvspan(low, high, color=BLUE, alpha=0.13, linewidth=0)
    right.axvline(found.gain.mean, color=BLUE, linewidth=1.4)
    right.axvline(0, color=BLACK, linewidth=0.8)
    right.set_ylim(-0.6, len(differences) - 0.4)
    right.set_yticks(range(len(differences)), [f"fold {i + 1}" for i in range(len(differences))])
    right.invert_yaxis()
    tidy(right, "gain of the choice", "", "How sure it is: mean and 95 % interval")
    # Long numbers would run into one another.
    for axes in (left, right):
        axes.xaxis.set_major_locator(MaxNLocator(4))
    return figure


def ways(found: Answer) -> Figure:
    """The mean of the measure on the outer folds with its standard error, for every strategy over every base model."""
    bases, by_strategy = ways_by_strategy(found)
    strategies = list(by_strategy)
    figure, axes = panel(8.4, 0.9 + 0.42 * max(len(strategies), 2))
    shift = np.linspace(-0.22, 0.22, len(bases)) if len(bases) > 1 else np.zeros(1)
    shown = [row for row in found.rows if row.usable and not breaks(found, row)]
    for j, base in enumerate(bases):
        rows = [row for row in shown if row.base == base]
        places = [strategies.index(row.strategy) + shift[j] for row in rows]
        values = [found.measured.shown(row.mean) for row in rows]
        errors = [found.paired(row.outer, np.zeros(len(row.outer))).error for row in rows]
        axes.errorbar(values, places, xerr=errors, fmt=MARKERS[j % len(MARKERS)], color=CYCLE[j % len(CYCLE)],
                      markersize=5.5, linewidth=1.2, label=base_model(base).title)  # fmt: skip
    winner = found.row(found.winner.key)
    spot = (found.measured.shown(winner.mean), strategies.index(winner.strategy) + shift[bases.index(winner.base)])
    axes.plot(*spot, "o", markersize=13, markerfacecolor="none", markeredgecolor=BLACK, label="recommended")
    for row in found.rows:
        if breaks(found, row):
            place = strategies.index(row.strategy) + shift[bases.index(row.base)]
            _broken(axes, found.measured.shown(row.mean), place, base_model(row.base).title)
    axes.set_ylim(-0.6, len(strategies) - 0.4)
    axes.set_yticks(range(len(strategies)), [strategy_title(strategy) for strategy in strategies])
    axes.invert_yaxis()
    tidy(axes, f"{_plain(found.measured.title)} on rows that were not seen ({found.measured.better})", "")
    legend_beside(axes)
    return figure


def _broken(axes: Axes, value: float, place: float, base: str) -> None:
    """Mark a way that breaks the floor; one beyond the others, which keep their room, is named at the edge."""
    low, high = axes.get_xlim()
    if low <= value <= high:
        axes.plot(value, place, "x", color=BLACK, markersize=10, markeredgewidth=1.6)
        axes.annotate(f"{base}, breaks the floor", (value, place), xytext=(0, 8), textcoords="offset points",
                      ha="center", fontsize=9)  # fmt: skip
        return
    right = value > high
    text = f"{base}: {as_text(value)}, breaks the floor"
    text = f"{text} \u2192" if right else f"\u2190 {text}"
    axes.annotate(text, (0.98 if right else 0.02, place), xycoords=("axes fraction", "data"), va="center", fontsize=9,
                  ha="right" if right else "left")  # fmt: skip
    axes.set_xlim(low, high)


def threshold(found: Answer, flat: ThresholdRange) -> Figure:
    """The measure at all thresholds of the recommended model, out of fold, with the flat range."""
    figure, axes = panel(8.4, 2.9)
    axes.plot(flat.thresholds, [found.measured.shown(loss) for loss in flat.losses], color=BLUE, linewidth=1.8)
    _mark(axes, found, flat, "", "tuned")
    if found.winner.probability:
        axes.axvline(0.5, color=GRAY, linewidth=1.2, linestyle="--", label="usual: 0.5")
    tidy(axes, f"threshold of the {found.winner.unit}", _plain(found.measured.title))
    legend_beside(axes)
    return figure


def _mark(axes: Axes, found: Answer, flat: ThresholdRange, more: str, name: str) -> float:
    """Mark the flat range, with what else its thresholds have in common, and the threshold, which is returned."""
    nearly, at = f"at most {as_text(flat.tolerance)} worse{more}", float(found.winner.threshold)
    axes.axvspan(flat.low, flat.high, color=ORANGE, alpha=0.25, linewidth=0, label=nearly)
    axes.axvline(at, color=BLACK, linewidth=1.4, label=f"{name}: {threshold_text(at)}")
    return at


def floored(found: Answer, flat: ThresholdRange) -> Figure:
    """Recall, precision and the share of rows called positive around the recommended threshold, with the floors."""
    assert flat.shares is not None
    assert found.floored is not None
    floor = found.floored.floor
    recall, precision, called = flat.shares
    figure, axes = panel(8.4, 3.4)
    for name, values, color, least in (
        ("recall", recall, BLUE, floor.recall),
        ("precision", precision, RED, floor.precision),
    ):
        axes.plot(flat.thresholds, values, color=color, linewidth=1.8, label=name)
        if least is not None:
            axes.axhline(least, color=color, linewidth=1.2, linestyle="--", label=f"floor: {least:g}")
    if floor.recall is not None and floor.confidence is not None and found.problem.groups is None:
        positives = found.floored.all_rows[found.winner.key].positives
        sure = [lower(round(share * positives), positives, floor.confidence) for share in recall]
        axes.fill_between(flat.thresholds, sure, recall, color=BLUE, alpha=0.2, linewidth=0,
                          label=f"lower end: recall that is {100 * floor.confidence:.3g} % sure")  # fmt: skip
    axes.plot(flat.thresholds, called, color=GRAY, linewidth=1.4, linestyle="-.", label="rows called positive")
    if found.measured.title not in ("recall", "precision"):
        shown = [found.measured.shown(loss) for loss in flat.losses]
        axes.plot(flat.thresholds, shown, color=GREEN, linewidth=1.4, label=_plain(found.measured.title))
    at = _mark(axes, found, flat, ", floor kept", "recommended")
    axes.set_xlim(*_around(at, flat, recall, floor.recall or 0.0))
    axes.set_ylim(0.0, 1.02)
    tidy(axes, f"threshold of the {found.winner.unit}", "share")
    legend_beside(axes)
    return figure


def _around(at: float, flat: ThresholdRange, recall: Values, least: float) -> tuple[float, float]:
    """The thresholds that matter: from where nearly all positives are found to where too many are lost.

    These are as many as leave a recall of 0.2 below its floor, or half of those found where it has none.
    """
    place = int(np.argmin(np.abs(flat.thresholds - at)))
    lost, whole = np.flatnonzero(recall <= max(least - 0.2, 0.5 * recall[place])), np.flatnonzero(recall >= 0.995)
    low = flat.thresholds[whole[-1]] if len(whole) else flat.thresholds[0]
    high = flat.thresholds[lost[0]] if len(lost) else flat.thresholds[-1]
    low, high = min(low, flat.low, at), max(high, flat.high, at)
    pad = 0.03 * (high - low) or 0.01
    return float(low - pad), float(high + pad)


def plane(found: Answer) -> Figure:
    """The rows in the plane of their two features, and the border of what is predicted positive."""
    problem = found.problem
    kinds, names = (problem.y, problem.classes) if problem.kinds is None else (problem.kinds, problem.kind_names)
    points = np.asarray(problem.X, dtype=np.float64)[:POINTS]
    figure, axes = panel(8.4, 4.4)
    low, high = draw_samples(axes, points, np.asarray(kinds[:POINTS]), list(map(_plain, names)), 0.5)
    xs, ys = (np.linspace(low[k], high[k], 160) for k in (0, 1))
    mesh = np.stack(np.meshgrid(xs, ys), axis=-1).reshape(-1, 2)
    for i, (name, labels) in enumerate(found.winner.predict.items()):
        inside = np.asarray(labels(mesh), dtype=np.float64).reshape(160, 160)
        color, dash = ((BLACK, "--"), (GREEN, "-"))[i % 2]
        if np.ptp(inside):
            axes.contour(xs, ys, inside, levels=[0.5], colors=[color], linewidths=2.2, linestyles=dash)
        axes.plot([], [], color=color, linestyle=dash, linewidth=2.2, label=textwrap.fill(_plain(name), 34))
    shown = problem.features or ("first feature", "second feature")
    tidy(axes, _plain(str(shown[0])), _plain(str(shown[1])))
    without_fading(legend_beside(axes, handlelength=3.0))
    return figure


def coefficients(found: Answer, weights: Mapping[str, float], most: int = 15) -> Figure:
    """The largest coefficients of a linear model."""
    largest = sorted(weights.items(), key=lambda pair: -abs(pair[1]))[:most]
    figure, axes = panel(8.4, 0.9 + 0.24 * len(largest))
    for i, (_, value) in enumerate(largest):
        axes.barh(i, value, color=BLUE if value > 0 else RED, alpha=0.75)
    axes.set_yticks(range(len(largest)), [_plain(name)[:40] for name, _ in largest])
    axes.invert_yaxis()
    axes.axvline(0, color=BLACK, linewidth=0.8)
    unit = "change for one standard deviation of the feature"
    unit = f"{unit}, in the log-odds of the positive label" if found.winner.probability else unit
    tidy(axes, unit, "")
    return figure


def _png(figure: Any) -> bytes:
    """A figure as a PNG file."""
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        # A glyph that the font lacks is drawn as a box; the page has all names as text.
        warnings.filterwarnings("ignore", "Glyph .* missing")
        figure.savefig(buffer, format="png", dpi=150, metadata={"Software": None})
    return buffer.getvalue()


def _plain(text: str) -> str:
    """The text without surrogate characters, which cannot be drawn, and with escaped dollar signs: no formulas."""
    return text.encode("utf-8", "replace").decode().replace("$", r"\$")
