"""The pictures of a report. This module needs matplotlib."""

import io
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from setwise.compare.answer import Answer, ThresholdRange
from setwise.compare.floor_sentences import lower
from setwise.compare.plan import base_model
from setwise.compare.sentences import breaks, strategy_title
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
    figures["ways"] = ways(found)
    if found.winner.flat is not None and len(found.winner.flat.thresholds) >= 3:
        name = "threshold" if found.winner.flat.shares is None else "floor"
        figures[name] = threshold(found, found.winner.flat)
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
    for i, part in enumerate(found.parts.values()):
        left.barh(i, part.mean, color=GREEN if part.mean >= 0 else RED, alpha=0.75, height=0.55)
        left.plot(part.interval(), [i, i], color=BLACK, linewidth=1.2)
        end = max(part.mean, part.interval()[1], 0.0)
        left.annotate(signed(part.mean), (end, i), xytext=(5, 0), textcoords="offset points", va="center", fontsize=9)
    left.margins(x=0.18)
    _rows(left, [names[name] for name in found.parts])
    tidy(left, f"gain in {_plain(found.measured.title)}", "", "Where the gain comes from")
    differences = found.reference.outer - found.own
    right.plot(differences, range(len(differences)), "o", color=BLUE, markersize=6)
    right.axvspan(*found.gain.interval(), color=BLUE, alpha=0.13, linewidth=0)
    right.axvline(found.gain.mean, color=BLUE, linewidth=1.4)
    _rows(right, [f"fold {i + 1}" for i in range(len(differences))])
    tidy(right, "gain of the choice", "", "How sure it is: mean and 95 % interval")
    # Long numbers would run into one another.
    for axes in (left, right):
        axes.axvline(0, color=BLACK, linewidth=0.8)
        axes.xaxis.set_major_locator(MaxNLocator(4))
    return figure


def _rows(axes: Axes, names: Sequence[str]) -> None:
    """Name the rows of a picture, the first of which is at the top."""
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)


def ways(found: Answer) -> Figure:
    """The mean of the measure on the outer folds with its standard error, for every strategy over every base model.

    What breaks a floor is no rival, and stands in the table alone.
    """
    shown = [row for row in found.rows if row.usable and (row.key == found.winner.key or not breaks(found, row))]
    bases, strategies = (list(dict.fromkeys(row.key[i] for row in shown)) for i in (0, 1))
    figure, axes = panel(8.4, 0.9 + 0.42 * max(len(strategies), 2))
    shift = np.linspace(-0.22, 0.22, len(bases)) if len(bases) > 1 else np.zeros(1)
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
    _rows(axes, [strategy_title(strategy) for strategy in strategies])
    tidy(axes, f"{_plain(found.measured.title)} on rows that were not seen ({found.measured.better})", "")
    legend_beside(axes)
    return figure


def threshold(found: Answer, flat: ThresholdRange) -> Figure:
    """The measure at the thresholds of the recommended model, out of fold, with the flat range.

    Under floors also the recall, the precision and the share of rows called positive, around the threshold.
    """
    at, title = float(found.winner.threshold), _plain(found.measured.title)
    figure, axes = panel(8.4, 2.9 if flat.shares is None else 3.4)
    if flat.shares is not None:
        _shares(axes, found, flat, flat.shares)
    if flat.shares is None or title not in ("recall", "precision"):
        shown = [found.measured.shown(loss) for loss in flat.losses]
        axes.plot(flat.thresholds, shown, color=BLUE if flat.shares is None else GREEN, linewidth=1.6, label=title)
    nearly = f"at most {as_text(flat.tolerance)} worse{'' if flat.shares is None else ', floor kept'}"
    axes.axvspan(flat.low, flat.high, color=ORANGE, alpha=0.25, linewidth=0, label=nearly)
    axes.axvline(at, color=BLACK, linewidth=1.4, label=f"recommended: {threshold_text(at)}")
    if flat.shares is None and found.winner.probability:
        axes.axvline(0.5, color=GRAY, linewidth=1.2, linestyle="--", label="usual: 0.5")
    tidy(axes, f"threshold of the {found.winner.unit}", "")
    legend_beside(axes)
    return figure


def _shares(axes: Axes, found: Answer, flat: ThresholdRange, shares: Values) -> None:
    """Draw recall, precision and the share of rows called positive, with the floors, where not too much recall is lost.

    These are the thresholds up to a recall of 0.2 below its floor, or of half of the recall where it has none.
    """
    assert found.floored is not None
    floor, (recall, precision, called), at = found.floored.floor, shares, float(found.winner.threshold)
    for name, values, color in (("recall", recall, BLUE), ("precision", precision, RED)):
        least = getattr(floor, name)
        axes.plot(flat.thresholds, values, color=color, linewidth=1.8, label=name)
        if least is not None:
            axes.axhline(least, color=color, linewidth=1.2, linestyle="--", label=f"floor: {least:g}")
    if floor.recall is not None and floor.confidence is not None and found.problem.groups is None:
        positives = found.floored.all_rows[found.winner.key].positives
        sure = [lower(round(share * positives), positives, floor.confidence) for share in recall]
        axes.fill_between(flat.thresholds, sure, recall, color=BLUE, alpha=0.2, linewidth=0,
                          label=f"lower end: recall that is {100 * floor.confidence:.3g} % sure")  # fmt: skip
    axes.plot(flat.thresholds, called, color=GRAY, linewidth=1.4, linestyle="-.", label="rows called positive")
    least = max((floor.recall or 0.0) - 0.2, 0.5 * recall[np.argmin(np.abs(flat.thresholds - at))])
    near = flat.thresholds[(recall > least) & (recall < 0.995)]
    low, high = min([*near, flat.low, at]), max([*near, flat.high, at])
    pad = 0.03 * (high - low) or 0.01
    axes.set_xlim(low - pad, high + pad)
    axes.set_ylim(0.0, 1.02)


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
    values = [value for _, value in largest]
    axes.barh(range(len(largest)), values, color=[BLUE if value > 0 else RED for value in values], alpha=0.75)
    _rows(axes, [_plain(name)[:40] for name, _ in largest])
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
