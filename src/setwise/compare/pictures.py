"""The pictures of a report. This module needs matplotlib."""

import io
import warnings
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from setwise.compare.answer import Answer, ThresholdRange
from setwise.compare.text import figure as as_text
from setwise.compare.text import threshold_text
from setwise.core.checks import Values
from setwise.plotting.axes import legend_beside, panel, tidy
from setwise.plotting.colors import BLACK, BLUE, GRAY, GREEN, ORANGE, RED


def pictures(found: Answer) -> dict[str, bytes]:
    """The pictures of an answer as PNG files by name; those that have nothing to show are left out."""
    figures = {}
    if found.stands and set(found.choices) != {found.reference.key}:
        figures["gain"] = gain(found)
    if found.winner.flat is not None and len(found.winner.flat.thresholds) >= 3:
        name = "threshold" if found.winner.flat.shares is None else "floor"
        figures[name] = threshold(found, found.winner.flat)
    return {name: _png(figure) for name, figure in figures.items()}


def gain(found: Answer) -> Figure:
    """The gain of the choice in each fold, with the mean and its interval."""
    differences = found.reference.outer - found.own
    figure, axes = panel(8.4, 0.9 + 0.3 * len(differences))
    axes.plot(differences, range(len(differences)), "o", color=BLUE, markersize=6)
    axes.axvspan(*found.gain.interval(), color=BLUE, alpha=0.13, linewidth=0, label="95 % interval")
    axes.axvline(found.gain.mean, color=BLUE, linewidth=1.4, label="mean")
    axes.axvline(0, color=BLACK, linewidth=0.8)
    axes.set_yticks(range(len(differences)), [f"fold {i + 1}" for i in range(len(differences))])
    axes.set_ylim(len(differences) - 0.4, -0.6)
    tidy(axes, f"gain in {_plain(found.measured.title)}", "")
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
    # A cost or a gain is no share, and would have an axis of its own.
    is_share = found.measured.is_score and not found.measured.is_gain
    if flat.shares is None or (is_share and title not in ("recall", "precision")):
        shown = [found.measured.shown(loss) for loss in flat.losses]
        axes.plot(flat.thresholds, shown, color=BLUE if flat.shares is None else GREEN, linewidth=1.6, label=title)
    kept = "" if found.floored is None else f", {found.floored.floor.kind} kept"
    nearly = f"at most {as_text(flat.tolerance)} worse{kept}"
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
    axes.plot(flat.thresholds, called, color=GRAY, linewidth=1.4, linestyle="-.", label="rows called positive")
    if floor.alarms is not None:
        axes.axhline(floor.alarms, color=GRAY, linewidth=1.2, linestyle="--", label=f"limit: {floor.alarms:g}")
    least = max((floor.recall or 0.0) - 0.2, 0.5 * recall[np.argmin(np.abs(flat.thresholds - at))])
    near = flat.thresholds[(recall > least) & (recall < 0.995)]
    low, high = min([*near, flat.low, at]), max([*near, flat.high, at])
    pad = 0.03 * (high - low) or 0.01
    axes.set_xlim(low - pad, high + pad)
    axes.set_ylim(0.0, 1.02)


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
