"""A picture of a train-by-test table."""

from collections.abc import Sequence

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from setwise.core.checks import Values, as_array, as_names, shown
from setwise.plotting.style import GRAY

_BEST_TO_WORST = LinearSegmentedColormap.from_list("best_to_worst", ["#cfe8f7", "#ffffff", "#fbe3cf"])


def cross_table(
    rows: Sequence[str], columns: Sequence[str], means: ArrayLike, errors: ArrayLike | None = None, title: str = ""
) -> Figure:
    """Draw a table of mean losses with one row for each method of training and one column for each loss at test.

    The best mean of a column is bold. The colors of the cells run from blue (the best of the column) over white to
    orange (the worst).

    Parameters
    ----------
    rows, columns : the names of the rows and of the columns
    means : (rows, columns) mean losses, NaN for an empty cell
    errors : (rows, columns) standard errors, or None
    title : the title of the picture

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError : for numbers that do not have the shape, or are infinite
    TypeError : for names that are no texts

    Examples
    --------
    >>> from setwise.plotting import cross_table
    >>> figure = cross_table(["for F1", "for Jaccard"], ["F1", "Jaccard"], [[0.20, 0.34], [0.21, 0.33]])
    >>> [text.get_text() for text in figure.axes[0].texts if text.get_weight() == "bold"]  # the best of each column
    ['0.200', '0.330']
    >>> figure.savefig("table.png")
    """
    rows, columns = as_names(rows, "rows"), as_names(columns, "columns")
    values = _table(means, "means", (len(rows), len(columns)))
    spread = None if errors is None else _table(errors, "errors", values.shape)
    # Lengths are in inches: the column of names grows with the longest name, and cells have a fixed size.
    left, cell, height = 0.085 * max(map(len, rows)) + 0.4, 1.75, 0.42
    size = (left + cell * len(columns) + 0.15, height * (len(rows) + 1) + (0.95 if title else 0.45))
    figure = Figure(figsize=size)
    axes = figure.add_axes(
        (left / size[0], 0.18 / size[1], cell * len(columns) / size[0], height * (len(rows) + 1) / size[1])
    )
    axes.set_xlim(0, len(columns))
    axes.set_ylim(len(rows), -1)
    axes.axis("off")
    for j, column in enumerate(columns):
        axes.text(j + 0.5, -0.45, column, ha="center", va="center", color=GRAY, fontsize=10)
        low, high = (
            f(values[:, j], initial=start) for f, start in ((np.fmin.reduce, np.nan), (np.fmax.reduce, np.nan))
        )
        for i in range(len(rows)):
            if np.isnan(values[i, j]):
                continue
            # Colors compare the methods inside one column, since losses have different units.
            share = (values[i, j] - low) / (high - low) if high > low else 0.0
            axes.add_patch(_box(j, i, _BEST_TO_WORST(share)))
            best = values[i, j] == low
            text = f"{values[i, j]:.3f}" + ("" if spread is None else f" ± {spread[i, j]:.3f}")
            axes.text(
                j + 0.5, i + 0.5, text, ha="center", va="center", weight="bold" if best else "normal", fontsize=10
            )
    for i, row in enumerate(rows):
        axes.text(-0.06, i + 0.5, row, ha="right", va="center", fontsize=10)
    if title:
        figure.text(0.1 / size[0], 1 - 0.18 / size[1], title, ha="left", va="top", fontsize=11)
    figure.text(
        (left + cell * len(columns) / 2) / size[0], 1 - (0.62 if title else 0.1) / size[1],
        "mean loss at test (lower is better)", ha="center", va="top", color=GRAY, fontsize=9,
    )  # fmt: skip
    return figure


def _table(values: ArrayLike, name: str, shape: tuple[int, ...]) -> Values:
    """Numbers of a shape, NaN where there is none."""
    given = as_array(values, name)
    if given.shape != shape or given.dtype.kind not in "biuf" or np.isinf(given).any():
        raise ValueError(f"{name} must be numbers of shape {shape}, finite or NaN; got {shown(values)}.")
    return given.astype(np.float64)


def _box(x: float, y: float, color: tuple[float, ...]) -> Rectangle:
    """The background of the cell whose upper left corner is at (x, y), with a thin margin."""
    return Rectangle((x + 0.02, y + 0.04), 0.96, 0.92, facecolor=color, edgecolor="none")
