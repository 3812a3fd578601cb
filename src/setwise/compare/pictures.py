"""The pictures of a report. This module needs matplotlib."""

import io
import warnings
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from setwise.compare.answer import Answer, ThresholdRange
from setwise.compare.plan import base_model
from setwise.compare.text import threshold_text
from setwise.plotting.axes import panel, tidy
from setwise.plotting.colors import BLACK, BLUE, CYCLE, DASHES, GRAY, GREEN, ORANGE, RED


def pictures(found: Answer) -> dict[str, bytes]:
    """The pictures of an answer as PNG files by name; those that have nothing to show are left out."""
    figures = {}
    if found.winner.flat is not None and len(found.winner.flat.thresholds) >= 3:
        figures["threshold"] = threshold(found, found.winner.flat)
    if found.curves:
        figures["curves"] = curves(found)
    if any(curve.bins is not None for curve in found.curves.values()):
        figures["calibration"] = calibration(found)
    return {name: _png(figure) for name, figure in figures.items()}


SIZE = 5.6, 4.0
"""The width and the height of a picture in inches."""


def threshold(found: Answer, flat: ThresholdRange) -> Figure:
    """The measure, recall, precision and the share of rows called positive at the thresholds of the recommended model.

    They are out of fold on all rows, at thresholds with a recall from 0.995 down to 0.05. Under floors they end at a
    recall that is 0.2 below its floor, or below the recall at the threshold where it has none.
    """
    at, title, floor = float(found.winner.threshold), _plain(found.measured.title), found.plan.floor
    figure, axes = panel(*SIZE)
    # A threshold beyond all scores has no place on the axis; the title names it.
    line = [at] if np.isfinite(at) else []
    # A cost or a gain is no share, and would have axes of its own.
    is_share = found.measured.is_score and not found.measured.is_gain
    if floor is None or (is_share and title not in ("recall", "precision")):
        shown = [found.measured.shown(loss) for loss in flat.losses]
        axes.plot(flat.thresholds, shown, color=GREEN, linewidth=2.4, label=title)
    if flat.shares is not None and (is_share or floor is not None):
        for values, name, color in zip(flat.shares, ("recall", "precision", "alarms"), (BLUE, RED, GRAY), strict=True):
            axes.plot(flat.thresholds, values, color=color, linewidth=1.4, label=name)
            if floor is not None and (least := getattr(floor, name)) is not None:
                kind = "limit" if name == "alarms" else "floor"
                axes.axhline(least, color=color, linestyle="--", label=f"{kind}: {least:g}")
        axes.set_ylim(0.0, 1.02)
    if flat.shares is not None:
        recall = flat.shares[0]
        least = 0.05 if floor is None else (floor.recall or float(np.interp(at, flat.thresholds, recall))) - 0.2
        near = flat.thresholds[(recall > least) & (recall < 0.995)]
        axes.set_xlim(min([*near, flat.low, *line]), 1e-6 + max([*near, flat.high, *line]))
    axes.axvspan(flat.low, flat.high, color=ORANGE, alpha=0.25, linewidth=0)
    for x in line:
        axes.axvline(x, color=BLACK, linewidth=1.4)
    _finish(axes, f"threshold of the {found.winner.unit}", "", f"{title} at {threshold_text(at)} and other thresholds")
    return figure


def curves(found: Answer) -> Figure:
    """Precision over recall of each base model out of fold, with a dot at its tuned threshold."""
    figure, axes = panel(*SIZE)
    for color, dash, (base, curve) in zip(CYCLE, DASHES, found.curves.items(), strict=False):
        axes.plot(*curve.shares[:2], color=color, linestyle=dash, linewidth=1.6, label=_plain(base_model(base).title))
        if curve.tuned is not None:
            axes.plot(*curve.tuned[:2, None], "o", color=color, markersize=7)
    axes.set_xlim(0.0, 1.02)
    axes.set_ylim(0.0, 1.02)
    _finish(axes, "recall", "precision", "Precision and recall; dots: tuned thresholds")
    return figure


def calibration(found: Answer) -> Figure:
    """The share of positive rows over the mean probability, in ten parts of the rows, for each base model."""
    figure, axes = panel(*SIZE)
    axes.plot([0.0, 1.0], [0.0, 1.0], color=GRAY, linewidth=1.0, linestyle="--")
    for color, (base, curve) in zip(CYCLE, found.curves.items(), strict=False):
        if curve.bins is not None:
            axes.plot(*curve.bins[:2], "o-", color=color, markersize=4, label=_plain(base_model(base).title))
    _finish(axes, "probability", "share of positive rows", "Are probabilities right? On the dashed line they are")
    return figure


def _finish(axes: Axes, x: str, y: str, title: str) -> None:
    tidy(axes, x, y, title)
    axes.legend(frameon=False, fontsize=9)


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
