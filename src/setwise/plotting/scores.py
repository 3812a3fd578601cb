"""Pictures of learned scores: decision lines in the plane, and histograms."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike, NDArray

from setwise.core.checks import (
    Values,
    as_array,
    as_class_labels,
    as_labels,
    as_mapping,
    as_names,
    as_number,
    as_reals,
    as_scores,
    shown,
)
from setwise.plotting.style import BLACK, BLUE, DASHES, GRAY, GREEN, ORANGE, PINK, PURPLE, RED, SKY, tidy

Line = tuple[float, float, float]


def plane(
    X: ArrayLike,
    kinds: ArrayLike,
    names: Sequence[str],
    lines: Mapping[str, Line],
    title: str = "",
    axis_names: tuple[str, str] = ("first feature", "second feature"),
) -> Figure:
    """Draw samples of the plane and the lines ``a x + b y + c = 0`` of classifiers (LH Fig. 3).

    Parameters
    ----------
    X : (n, 2) the samples
    kinds : (n,) whole numbers, the indices into ``names`` of the samples; kinds are drawn in this order
    names : the names of the kinds, at most four
    lines : (a, b, c) of each line by its name, in the unit of the features; a short arrow points to the side on which a
        x + b y + c is positive
    title : the title of the picture
    axis_names : the names of the two axes

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError : if X is not (n, 2), ``kinds`` is not (n,), or a line is not three numbers
    TypeError : for names that are no texts, and lines that are no mapping

    Examples
    --------
    >>> from setwise.plotting import plane
    >>> X, kinds = [[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]], [0, 1, 1]
    >>> figure = plane(X, kinds, ["negative", "positive"], {"x = 1/2": (1.0, 0.0, -0.5)})
    >>> [text.get_text() for text in figure.legends[0].get_texts()]
    ['negative', 'positive', 'x = 1/2']
    """
    points, names = as_reals(X, "X"), as_names(names, "names")
    if points.ndim != 2 or points.shape[1] != 2 or not len(points):
        raise ValueError(f"X must have shape (n, 2) with n >= 1; got {points.shape}.")
    kind = as_class_labels(kinds, "kinds")
    if kind.shape != (len(points),) or kind.max() >= len(names) or len(names) > 4:
        raise ValueError(f"kinds must be {len(points)} numbers of the names, of which there are at most four.")
    for name, line in as_mapping(lines, "lines", "(a, b, c)").items():
        as_reals(line, f"lines[{name!r}]", (3,))
    figure = Figure(figsize=(6.4, 5.8), layout="constrained")
    axes = figure.add_subplot()
    for i, name in enumerate(names):
        color, marker = (("#b4b4b4", "o"), (RED, "^"), (BLUE, "s"), (ORANGE, "D"))[i % 4]
        chosen = points[kind == i]
        axes.plot(
            chosen[:, 0], chosen[:, 1], marker, color=color, markersize=3.6, alpha=0.55, markeredgewidth=0, label=name
        )
    # The range leaves out the outermost samples, so that one outlier does not shrink the picture.
    low, high = np.percentile(points, 0.2, axis=0), np.percentile(points, 99.8, axis=0)
    pad = np.where(high > low, 0.08 * (high - low), 1.0)
    low, high = low - pad, high + pad
    for i, (name, (a, b, c)) in enumerate(lines.items()):
        ends = _clip(a, b, c, low, high)
        if ends is None:
            continue
        color, dash = ((BLACK, GREEN, PINK, ORANGE, SKY, PURPLE)[i % 6], DASHES[i % len(DASHES)])
        axes.plot(ends[:, 0], ends[:, 1], color=color, linestyle=dash, linewidth=2.2, label=name)
        # Arrows start at different points, so that those of close lines do not cover each other.
        middle, normal = ends[0] + (0.12 + 0.05 * i) * (ends[1] - ends[0]), np.array([a, b]) / np.hypot(a, b)
        length = 0.06 * float(np.min(high - low))
        axes.annotate(
            "",
            middle + length * normal,
            middle,
            arrowprops={"arrowstyle": "-|>", "color": color, "shrinkA": 0, "linewidth": 1.6},
        )
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    # With equal units an arrow is perpendicular to its line.
    axes.set_aspect("equal", adjustable="box")
    tidy(axes, *axis_names)
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    legend = figure.legend(loc="outside lower left", ncols=2, frameon=False, fontsize=9, handlelength=3.2)
    for handle in legend.legend_handles:
        if handle is not None:
            # Samples are transparent in the plane, but not in the legend.
            handle.set_alpha(1.0)
    return figure


def _clip(
    a: float, b: float, c: float, low: NDArray[np.float64], high: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """The ends of the part of ``a x + b y + c = 0`` inside a box, (2, 2), from left to right; None if it misses it."""
    found = []
    # Intersect the line with the four edges of the box.
    for axis, (slope, other) in enumerate(((a, b), (b, a))):
        if other == 0:
            continue
        for edge in (low[axis], high[axis]):
            value = -(slope * edge + c) / other
            if low[1 - axis] - 1e-9 <= value <= high[1 - axis] + 1e-9:
                found.append((edge, value) if axis == 0 else (value, edge))
    if len(found) < 2:
        return None
    ends = np.array(found)
    # A line through a corner meets two edges there, so the ends are the two points farthest apart.
    far = np.argmax(np.sum((ends - ends[0]) ** 2, axis=1))
    found_ends: NDArray[np.float64] = ends[np.array([0, far])]
    return found_ends[np.argsort(found_ends[:, 0])]


def scores(
    found: Mapping[str, tuple[ArrayLike, float]],
    y: ArrayLike,
    classes: Sequence[str] = ("negative", "positive"),
    title: str = "",
) -> Figure:
    """Draw histograms of learned scores by true class, in one panel for each classifier, with its threshold.

    The threshold is subtracted from the scores, which are divided by their standard deviation, so that panels can be
    compared.

    Parameters
    ----------
    found : for each name the scores, (n,) or (n, p), and the threshold, in the unit of the scores, above
        which a decision is positive
    y : the true labels 0 and 1, in the shape of the scores
    classes : the names of the two classes
    title : the title of the picture

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError : if there is nothing to draw or the shapes do not agree
    TypeError : for what is no mapping

    Examples
    --------
    >>> from setwise.plotting import scores
    >>> found = {"logistic regression": ([-1.0, 0.0, 2.0], 0.5), "F1": ([-2.0, 1.0, 2.0], 0.0)}
    >>> figure = scores(found, [0, 1, 1])
    >>> len(figure.axes)  # one panel for each
    2
    """
    truth, names = as_labels(np.ravel(as_array(y, "y")), "y"), as_names(classes, "classes", 2)
    margins = {name: _shifted(pair, truth.size) for name, pair in as_mapping(found, "found", "scores").items()}
    columns = min(3, len(found))
    rows = -(-len(found) // columns)
    figure = Figure(figsize=(3.2 * columns + 0.4, 2.35 * rows + 0.75), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for axes in grid.flat[len(found) :]:
        axes.axis("off")
    edges = np.linspace(-4, 4, 49)
    for i, (name, shifted) in enumerate(margins.items()):
        axes, drawn = grid.flat[i], np.clip(shifted, -4, 4)
        for side, color, hatch in ((~truth, GRAY, None), (truth, ORANGE, "////")):
            part = drawn[side]
            # Each class has the area 1, so that a rare class is as visible as the other.
            weights = np.full(len(part), 1.0 / max(len(part), 1))
            axes.hist(
                part, edges, weights=weights, color=color, alpha=0.55, hatch=hatch, edgecolor="white", linewidth=0.3
            )
        axes.axvline(0, color="#000000", linewidth=1.3)
        wrong = float(np.mean((drawn > 0) != truth))
        tidy(axes, "", "", name)
        axes.title.set_fontsize(9)
        axes.text(
            0.98, 0.95, f"{wrong:.1%} wrong", transform=axes.transAxes, ha="right", va="top", fontsize=8, color=GRAY
        )
    for axes in grid[:, 0]:
        axes.set_ylabel("share of class", fontsize=9)
    figure.supxlabel("score minus threshold, in standard deviations (beyond 4: at the edge)", fontsize=9)
    handles = [
        Rectangle((0, 0), 1, 1, color=color, alpha=0.55, hatch=hatch)
        for color, hatch in ((GRAY, None), (ORANGE, "////"))
    ]
    figure.legend(handles, names, loc="outside upper right", ncols=2, frameon=False, fontsize=9)
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    return figure


def _shifted(pair: object, size: int) -> Values:
    """The scores minus their threshold, in standard deviations, (size,)."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ValueError(f"found must hold (scores, threshold) for each name; got {shown(pair)}.")
    s = as_scores(np.ravel(as_array(pair[0], "scores")), size).astype(np.float64)
    # Scores that are all equal have no standard deviation, and are shown in their own unit.
    return np.asarray((s - as_number(pair[1], "threshold of scores")) / (s.std() or 1.0))
