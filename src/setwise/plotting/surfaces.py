"""Pictures of surrogates as surfaces over two decisions (LH Fig. 1 and 2)."""

from collections.abc import Iterable, Sequence

import numpy as np
from matplotlib.figure import Figure
from mpl_toolkits.mplot3d import Axes3D
from numpy.typing import ArrayLike

from setwise.core.batch import Sets
from setwise.core.checks import as_count, as_kind, as_number, as_reals, as_text, shown
from setwise.core.enumerate import subsets, table
from setwise.core.surrogate import Surrogate
from setwise.plotting.style import BLUE, RED

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
        loss = getattr(surrogate, "loss", None)
        _draw(axes, surrogate, [] if loss is None else table(loss, y), truth, low, high, view)
        axes.set_title(title, fontsize=10, y=0.98)
    figure.subplots_adjust(left=0.02, right=0.94, bottom=0.03, top=0.99, wspace=0.12, hspace=0.02)
    return figure


def _check_panels(panels: object) -> None:
    if not isinstance(panels, list | tuple) or not panels:
        raise ValueError(f"panels must be a list of (title, surrogate); got {shown(panels)}.")
    for panel in panels:
        if not isinstance(panel, tuple | list) or len(panel) != 2 or not isinstance(panel[0], str):
            raise ValueError(f"panels must hold (title, surrogate); got {shown(panel)}.")
        if panel[1] is not None:
            as_kind(panel[1], "the surrogate of panels", Surrogate, "LovaszHinge('jaccard')")


def _draw(
    axes: Axes3D,
    surrogate: Surrogate,
    losses: Iterable[float],
    truth: Sets,
    low: float,
    high: float,
    view: tuple[float, float],
) -> None:
    """Draw one surface, the unit square below it, and the losses as dots on dotted lines."""
    sign = np.where(truth.truth, 1.0, -1.0)
    grid = np.linspace(low, high, 73)
    u = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    # Each point of the grid is a set of two decisions, so that one call evaluates the whole surface.
    many = Sets.rows(np.broadcast_to(truth.truth, u.shape))
    z = surrogate.batch(many, ((1.0 - u) * sign).ravel()).values.reshape(73, 73)
    x1, x2 = u[:, 0].reshape(73, 73), u[:, 1].reshape(73, 73)
    axes.plot_surface(
        x1,
        x2,
        z,
        rstride=3,
        cstride=3,
        color=BLUE,
        alpha=0.32,
        edgecolor=BLUE,
        linewidth=0.35,
        antialiased=True,
        zorder=1,
    )
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
