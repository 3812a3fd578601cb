"""What all pictures share: axes in a figure, their labels and legends, and samples in the plane."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend

from setwise.core.checks import Ints, Values
from setwise.plotting.colors import BLUE, ORANGE, RED


def tidy(axes: Axes, xlabel: str, ylabel: str, title: str = "") -> None:
    """Set the labels and a left-aligned title, draw a light grid below the data, and remove the box."""
    axes.set_xlabel(xlabel)
    axes.set_ylabel(ylabel)
    if title:
        axes.set_title(title, loc="left", fontsize=11)
    axes.grid(True, color="#e4e4e4", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)


def panel(width: float, height: float) -> tuple[Figure, Axes]:
    """A figure of so many inches, and the only axes in it."""
    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def legend_beside(axes: Axes, **options: Any) -> Legend:
    """A legend to the right of the axes, where it covers nothing."""
    return axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9, **options)


def without_fading(legend: Legend) -> None:
    """Draw the samples of a legend in full colors, also those of points that are transparent in the plane."""
    for handle in legend.legend_handles:
        if handle is not None:
            handle.set_alpha(1.0)


def draw_samples(axes: Axes, points: Values, kinds: Ints, names: Sequence[str], alpha: float) -> tuple[Values, Values]:
    """Draw samples (n, 2) with a mark for each kind; the range of the plane to show, (2,) low and high.

    The range leaves out the outermost samples, so that one outlier does not shrink the picture.
    """
    for i, name in enumerate(names):
        color, marker = (("#b4b4b4", "o"), (RED, "^"), (BLUE, "s"), (ORANGE, "D"))[i % 4]
        x, y = points[kinds == i].T
        axes.plot(x, y, marker, color=color, markersize=3.6, alpha=alpha, markeredgewidth=0, label=name)
    low, high = np.percentile(points, 0.2, axis=0), np.percentile(points, 99.8, axis=0)
    pad = np.where(high > low, 0.08 * (high - low), 1.0)
    return low - pad, high + pad
