"""Pictures of learned scores, of segmentations, and of surrogates as surfaces over two decisions (LH Fig. 1, 2)."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from mpl_toolkits.mplot3d import Axes3D
from numpy.typing import ArrayLike, NDArray

from setwise.core.batch import Sets
from setwise.core.checks import (
    Values,
    as_array,
    as_class_labels,
    as_count,
    as_kind,
    as_labels,
    as_mapping,
    as_names,
    as_number,
    as_reals,
    as_scores,
    as_text,
    shown,
)
from setwise.core.enumerate import subsets, table
from setwise.core.surrogate import Surrogate
from setwise.plotting.axes import draw_samples, panel, tidy, without_fading
from setwise.plotting.colors import BLACK, BLUE, DASHES, GRAY, GREEN, ORANGE, PINK, PURPLE, RED, SKY

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
    figure, axes = panel(6.4, 5.8)
    low, high = draw_samples(axes, points, kind, names, 0.55)
    for i, (name, (a, b, c)) in enumerate(lines.items()):
        ends = _clip(a, b, c, low, high)
        if ends is None:
            continue
        color, dash = (BLACK, GREEN, PINK, ORANGE, SKY, PURPLE)[i % 6], DASHES[i % len(DASHES)]
        axes.plot(ends[:, 0], ends[:, 1], color=color, linestyle=dash, linewidth=2.2, label=name)
        # Arrows start at different points, so that those of close lines do not cover each other.
        middle, normal = ends[0] + (0.12 + 0.05 * i) * (ends[1] - ends[0]), np.array([a, b]) / np.hypot(a, b)
        end = middle + 0.06 * float(np.min(high - low)) * normal
        axes.annotate("", end, middle, arrowprops={"arrowstyle": "-|>", "color": color, "shrinkA": 0, "linewidth": 1.6})
    axes.set_xlim(low[0], high[0])
    axes.set_ylim(low[1], high[1])
    # With equal units an arrow is perpendicular to its line.
    axes.set_aspect("equal", adjustable="box")
    tidy(axes, *axis_names)
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=11)
    without_fading(figure.legend(loc="outside lower left", ncols=2, frameon=False, fontsize=9, handlelength=3.2))
    return figure


def _clip(a: float, b: float, c: float, low: Values, high: Values) -> Values | None:
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
    ends: Values = np.array(found)
    # A line through a corner meets two edges there, so the ends are the two points farthest apart.
    far = np.argmax(np.sum((ends - ends[0]) ** 2, axis=1))
    ends = ends[np.array([0, far])]
    ordered: Values = ends[np.argsort(ends[:, 0])]
    return ordered


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
    edges, looks = np.linspace(-4, 4, 49), ((GRAY, None), (ORANGE, "////"))
    for i, (name, shifted) in enumerate(margins.items()):
        axes, drawn = grid.flat[i], np.clip(shifted, -4, 4)
        for (color, hatch), side in zip(looks, (~truth, truth), strict=True):
            part = drawn[side]
            # Each class has the area 1, so that a rare class is as visible as the other.
            weights = np.full(len(part), 1.0 / max(len(part), 1))
            axes.hist(
                part, edges, weights=weights, color=color, alpha=0.55, hatch=hatch, edgecolor="white", linewidth=0.3
            )
        axes.axvline(0, color=BLACK, linewidth=1.3)
        wrong = float(np.mean((drawn > 0) != truth))
        tidy(axes, "", "", name)
        axes.title.set_fontsize(9)
        axes.text(
            0.98, 0.95, f"{wrong:.1%} wrong", transform=axes.transAxes, ha="right", va="top", fontsize=8, color=GRAY
        )
    for axes in grid[:, 0]:
        axes.set_ylabel("share of class", fontsize=9)
    figure.supxlabel("score minus threshold, in standard deviations (beyond 4: at the edge)", fontsize=9)
    handles = [Rectangle((0, 0), 1, 1, color=color, alpha=0.55, hatch=hatch) for color, hatch in looks]
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


_WIDTH = 1.7
"""The width of a picture, in inches."""

_LETTERS = 12
"""The size of the names, in points."""


def segmentations(images: Sequence[Any], masks: Mapping[str, Sequence[Any]], title: str = "") -> Figure:
    """Draw images in the first column, and beside each its masks: one row for each image, one column for each name.

    Pixels of a mask keep their colors and have an outline, those around are pale and grey.

    Parameters
    ----------
    images : a list of arrays (H, W) or (H, W, 3), uint8 or floats in 0..1
    masks : for each name a list of arrays (H, W) of truth values or numbers 0 and 1, one for each image. A name may
        have several lines, and four columns in all are still readable on a phone
    title : the title of the picture

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError, TypeError : for images or masks other than these

    Examples
    --------
    >>> from setwise.plotting import segmentations
    >>> mask = np.tri(8, dtype=bool)
    >>> figure = segmentations([0.5 + 0.4 * mask], {"truth": [mask], "found": [~mask]})
    >>> [axes.get_title() for axes in figure.axes]
    ['image', 'truth', 'found']
    """
    pictures, title = _as_pictures(images), as_text(title, "title")
    columns = _as_masks(masks, pictures)
    heights = [_WIDTH * one.shape[0] / one.shape[1] for one in pictures]
    lines = 1 + max(name.count("\n") for name in columns)
    top = 0.1 + 0.22 * lines + (0.3 if title else 0.0)
    figure = Figure(figsize=(_WIDTH * (len(columns) + 1) + 0.1, sum(heights) + top + 0.05 * len(pictures)))
    grid = figure.add_gridspec(
        len(pictures), len(columns) + 1, height_ratios=heights, wspace=0.03, hspace=0.03,
        left=0.01, right=0.99, bottom=0.01, top=1.0 - top / figure.get_figheight(),
    )  # fmt: skip
    for i, picture in enumerate(pictures):
        for j, name in enumerate(("image", *columns)):
            axes = figure.add_subplot(grid[i, j])
            mask = np.ones(picture.shape[:2], dtype=bool) if j == 0 else columns[name][i]
            axes.imshow(_faded(picture, mask), interpolation="nearest")
            # Without an outline white objects could not be told from what is pale around them.
            if mask.any() and not mask.all() and min(mask.shape) > 1:
                axes.contour(mask, [0.5], colors=RED, linewidths=0.8)
            axes.axis("off")
            if i == 0:
                axes.set_title(name, fontsize=_LETTERS, color=GRAY)
    if title:
        figure.text(0.01, 1.0 - 0.08 / figure.get_figheight(), title, ha="left", va="top", fontsize=11)
    return figure


def _faded(picture: Values, mask: NDArray[np.bool_]) -> Values:
    """The picture with its positive pixels in color, and the others pale and grey."""
    grey = np.repeat(picture.mean(axis=-1, keepdims=True), 3, axis=-1)
    return np.where(mask[:, :, None], picture, 0.25 * grey + 0.75)


def _as_pictures(images: Any) -> list[Values]:
    """The images as floats in 0..1, (H, W, 3)."""
    if isinstance(images, str | bytes | Mapping) or not hasattr(type(images), "__iter__"):
        raise TypeError(f"images must be a list of arrays; got {shown(images)}.")
    found = []
    for image in images:
        given = as_array(image, "images")
        if given.ndim not in (2, 3) or not given.size or (given.ndim == 3 and given.shape[2] != 3):
            raise ValueError(f"images must have shapes (H, W) or (H, W, 3); got {given.shape}.")
        if given.dtype != np.uint8 and given.dtype.kind != "f":
            raise ValueError(f"images must be uint8, or floats in 0..1; got {given.dtype}.")
        values = given / 255.0 if given.dtype == np.uint8 else given.astype(np.float64)
        if not (np.isfinite(values).all() and values.min() >= 0.0 and values.max() <= 1.0):
            raise ValueError(f"images must be uint8, or floats in 0..1; got {shown(values.ravel())}.")
        found.append(values if values.ndim == 3 else np.repeat(values[:, :, None], 3, axis=-1))
    if not found:
        raise ValueError("images must hold one image or more; got none.")
    return found


def _as_masks(masks: Any, pictures: list[Values]) -> dict[str, list[NDArray[np.bool_]]]:
    """The masks by name, each of the shape of its picture."""
    if not isinstance(masks, Mapping) or not masks:
        raise TypeError(f"masks must be a dict from names to lists of masks; got {shown(masks)}.")
    found: dict[str, list[NDArray[np.bool_]]] = {}
    for name, each in masks.items():
        as_text(name, "the names of masks")
        if isinstance(each, str | bytes | Mapping) or not hasattr(type(each), "__iter__"):
            raise TypeError(f"masks of {name!r} must be a list of arrays; got {shown(each)}.")
        arrays = [as_array(one, f"masks of {name!r}") for one in each]
        if len(arrays) != len(pictures):
            raise ValueError(
                f"masks of {name!r} must be {len(pictures)} arrays, one for each image; got {len(arrays)}."
            )
        for one, picture in zip(arrays, pictures, strict=True):
            if one.shape != picture.shape[:2] or one.dtype.kind not in "biu" or not np.isin(one, (0, 1)).all():
                raise ValueError(f"masks of {name!r} must be 0 and 1 of shape {picture.shape[:2]}; got {one.shape}.")
        found[name] = [one == 1 for one in arrays]
    return found


VIEW = (24.0, -124.0)


def surface(
    surrogate: Surrogate,
    y: ArrayLike = (1, 1),
    low: float = -0.7,
    high: float = 1.7,
    title: str = "",
    view: tuple[float, float] = VIEW,
) -> Figure:
    """Draw a surrogate over the margin errors ``u_i = 1 - s_i (2 y_i - 1)`` of two decisions.

    Parameters
    ----------
    surrogate : a surrogate for two decisions; if it has a loss, the loss at the four vertices is drawn as dots
    y : (2,) the true labels, 0 or 1
    low, high : the range of both margin errors, in the unit of scores
    title : the title of the picture
    view : the elevation and the azimuth in degrees

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError : if ``y`` is not (2,) of 0 and 1, or the range is empty
    TypeError : for what is no surrogate

    Examples
    --------
    >>> from setwise.plotting import surface
    >>> from setwise.surrogates import LovaszHinge
    >>> figure = surface(LovaszHinge("jaccard"), y=(1, 0), title="Lovász hinge")
    >>> figure.axes[0].get_title()
    'Lovász hinge'
    """
    as_kind(surrogate, "surrogate", Surrogate, "LovaszHinge('jaccard')")
    return surfaces([(as_text(title, "title"), surrogate)], y, low, high, view)


def surfaces(
    panels: Sequence[tuple[str, Surrogate | None]],
    y: ArrayLike = (1, 1),
    low: float = -0.7,
    high: float = 1.7,
    view: tuple[float, float] = VIEW,
    columns: int = 3,
) -> Figure:
    """Draw several surfaces as :func:`surface` does, each with its title (LH Fig. 1).

    Parameters
    ----------
    panels : pairs of a title and a surrogate; a panel whose surrogate is None shows its title alone
    y : (2,) the true labels, 0 or 1
    low, high : the range of both margin errors, in the unit of scores
    view : the elevation and the azimuth in degrees
    columns : how many surfaces there are in a row

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError : if ``y`` is not (2,) of 0 and 1, the range is empty, or panels are no pairs
    TypeError : for what is no surrogate

    Examples
    --------
    >>> from setwise.plotting import surfaces
    >>> from setwise.surrogates import LovaszHinge, MarginRescaling
    >>> panels = [("Lovász hinge", LovaszHinge("jaccard")), ("margin rescaling", MarginRescaling("jaccard"))]
    >>> figure = surfaces(panels, columns=2)
    >>> [axes.get_title() for axes in figure.axes]
    ['Lovász hinge', 'margin rescaling']
    """
    truth = Sets.single(y, "y")
    if truth.total != 2:
        raise ValueError(f"y must have two decisions; got {truth.total}.")
    if as_number(low, "low") >= as_number(high, "high"):
        raise ValueError(f"low must be below high; got {low:g} and {high:g}.")
    as_reals(view, "view", (2,))
    _check_panels(panels)
    columns = min(as_count(columns, "columns"), len(panels))
    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(3.9 * columns, 3.75 * rows))
    for i, (title, surrogate) in enumerate(panels):
        if surrogate is None:
            figure.text((i % columns + 0.5) / columns, 1 - (i // columns + 0.5) / rows, title, ha="center", fontsize=10)
            continue
        axes = figure.add_subplot(rows, columns, i + 1, projection="3d", computed_zorder=False)
        _draw(axes, surrogate, truth, low, high, view)
        axes.set_title(title, fontsize=10, y=0.98)
    figure.subplots_adjust(left=0.02, right=0.94, bottom=0.03, top=0.99, wspace=0.12, hspace=0.02)
    return figure


def _check_panels(panels: object) -> None:
    if not isinstance(panels, list | tuple) or not panels:
        raise ValueError(f"panels must be a list of (title, surrogate); got {shown(panels)}.")
    for pair in panels:
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[0], str):
            raise ValueError(f"panels must hold (title, surrogate); got {shown(pair)}.")
        if pair[1] is not None:
            as_kind(pair[1], "the surrogate of panels", Surrogate, "LovaszHinge('jaccard')")


def _draw(axes: Axes3D, surrogate: Surrogate, truth: Sets, low: float, high: float, view: tuple[float, float]) -> None:
    """Draw one surface, the unit square below it, and the losses, if there is one, as dots on dotted lines."""
    loss = getattr(surrogate, "loss", None)
    losses: Iterable[float] = () if loss is None else table(loss, truth.truth)
    sign = np.where(truth.truth, 1.0, -1.0)
    grid = np.linspace(low, high, 73)
    u = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    # Each point of the grid is a set of two decisions, so that one call evaluates the whole surface.
    many = Sets.rows(np.broadcast_to(truth.truth, u.shape))
    z = surrogate.batch(many, ((1.0 - u) * sign).ravel()).values.reshape(73, 73)
    x1, x2 = u[:, 0].reshape(73, 73), u[:, 1].reshape(73, 73)
    # The color of edges is given before the alpha, which then holds for it too; matplotlib keeps the order.
    look = {"color": BLUE, "alpha": 0.32, "edgecolor": BLUE, "linewidth": 0.35, "antialiased": True}
    axes.plot_surface(x1, x2, z, rstride=3, cstride=3, zorder=1, **look)
    # At a vertex of the unit square the margin errors are 1 for mistakes and 0 for correct decisions.
    for corner, value in zip(subsets(2).astype(float), losses, strict=False):
        axes.plot(*([c, c] for c in corner), [0, value], color=RED, linewidth=1.0, linestyle=":", zorder=2)
        axes.plot([corner[0]], [corner[1]], [value], "o", color=RED, markersize=6, zorder=3)
    axes.plot([0, 1, 1, 0, 0], [0, 0, 1, 1, 0], np.zeros(5), color=RED, linewidth=0.9, zorder=2)
    axes.set_xlabel("margin error $u_1$", fontsize=8, labelpad=-4)
    axes.set_ylabel("margin error $u_2$", fontsize=8, labelpad=-4)
    axes.set_zlabel("surrogate", fontsize=8, labelpad=-5)
    axes.set_xticks([0, 1])
    axes.set_yticks([0, 1])
    axes.tick_params(labelsize=7, pad=-2)
    axes.set_zlim(0, float(z.max()))
    axes.view_init(*view)
    axes.set_box_aspect((1, 1, 0.8), zoom=0.98)
