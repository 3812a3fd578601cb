"""Curves with error bars, the certified gap of fits over their iterations (LH Fig. 6), and train-by-test tables."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from setwise.core.checks import Values, as_array, as_mapping, as_names, as_number, as_reals, as_text, shown
from setwise.plotting.axes import legend_beside, panel, tidy
from setwise.plotting.colors import CYCLE, DASHES, GRAY


def gap_curves(
    histories: Mapping[str, Mapping[str, ArrayLike]], tol: float | None = None, title: str = "", seconds: bool = False
) -> Figure:
    """Draw ``(upper_bound - lower_bound) / upper_bound`` of each fit on a log scale against its iterations.

    Parameters
    ----------
    histories : the ``history_`` of each fit by its name, a mapping with the arrays ``lower_bound``, ``upper_bound``
        and ``seconds``, (iterations,) each
    tol : the gap at which the learners stop, drawn as a line; None draws no line
    title : the title of the picture
    seconds : whether the horizontal axis is time instead of iterations

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError : if there is no history to draw, or its arrays differ in length
    TypeError : for what is no mapping

    Examples
    --------
    >>> from setwise.plotting import gap_curves
    >>> history = {"lower_bound": [0.0, 0.5, 0.9], "upper_bound": [2.0, 1.0, 1.0], "seconds": [0.1, 0.2, 0.3]}
    >>> figure = gap_curves({"one-slack": history}, tol=0.05)
    >>> figure.axes[0].lines[0].get_ydata().round(2).tolist()
    [1.0, 0.5, 0.1]
    """
    curves = {
        name: _curve(history, seconds)
        for name, history in as_mapping(histories, "histories", "the history_ of a fit").items()
    }
    if tol is not None:
        as_number(tol, "tol", low=0.0)
    figure, axes = panel(7.6, 4.0)
    longest = 1.0
    for i, (name, (x, gap)) in enumerate(curves.items()):
        longest = max(longest, len(gap))
        color, dash = CYCLE[i % len(CYCLE)], DASHES[i % len(DASHES)]
        # A log scale cannot show 0, so gaps below the rounding of float64 are drawn there.
        axes.plot(x, np.maximum(gap, 1e-16), color=color, linestyle=dash, linewidth=1.8, label=name)
        # The dot marks the end of a fit that stops inside the picture.
        axes.plot(x[-1:], np.maximum(gap[-1:], 1e-16), "o", color=color, markersize=4)
    axes.set_yscale("log")
    # Long fits gain most in their first iterations, which a linear axis would squeeze.
    if longest > 30 and not seconds:
        axes.set_xscale("log")
        ticks = [t for t in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if t <= longest]
        axes.set_xticks(ticks, [f"{t:,}" for t in ticks])
        axes.minorticks_off()
    elif not seconds:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    tidy(axes, "time (seconds)" if seconds else "iteration", "certified relative gap", title)
    if tol:
        axes.axhline(tol, color=GRAY, linewidth=0.9, linestyle=(0, (2, 2)))
        axes.annotate(
            f"stops at {tol:g}", (0.005, tol), xycoords=("axes fraction", "data"), xytext=(0, -3),
            textcoords="offset points", va="top", color=GRAY, fontsize=8,
        )  # fmt: skip
        axes.set_ylim(bottom=min(axes.get_ylim()[0], tol / 3))
    legend_beside(axes)
    return figure


def _curve(history: Mapping[str, ArrayLike], seconds: bool) -> tuple[Values, Values]:
    """The places on the horizontal axis and the gaps."""
    names = ("lower_bound", "upper_bound", "seconds")[: 3 if seconds else 2]
    if not isinstance(history, Mapping) or not all(name in history for name in names):
        raise ValueError(f"histories must hold a mapping with {', '.join(names)} for each fit; got {shown(history)}.")
    # Before the first plane the lower bound may be -inf.
    lower, upper, *times = (
        as_reals(history[name], f"{name} of histories", finite=name != "lower_bound") for name in names
    )
    if upper.ndim != 1 or not upper.size or any(other.shape != upper.shape for other in (lower, *times)):
        raise ValueError(f"histories must hold {', '.join(names)} as flat arrays of one length, and not empty.")
    gap = np.where(upper > 0, (upper - lower) / np.where(upper > 0, upper, 1.0), 0.0)
    return times[0] if seconds else np.arange(1.0, len(gap) + 1.0), gap


def curves(
    x: ArrayLike,
    curves: Mapping[str, Any],
    marks: Mapping[str, float] | None = None,
    xlabel: str = "",
    ylabel: str = "",
    title: str = "",
) -> Figure:
    """Draw curves over a common axis, with error bars, and vertical lines at marked places.

    Parameters
    ----------
    x : (n,) finite numbers, n >= 1
    curves : for each name a pair of means (n,) and standard errors (n,), both finite, errors 0 or above
    marks : names and places of vertical lines, in the unit of ``x``; None draws none
    xlabel, ylabel, title : the words on the picture

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError, TypeError : for numbers or names other than these

    Examples
    --------
    >>> from setwise.plotting import curves
    >>> rows = [100, 200, 400]
    >>> figure = curves(rows, {"F1": ([0.5, 0.4, 0.3], [0.1, 0.05, 0.02])}, xlabel="rows", ylabel="loss")
    >>> figure.axes[0].get_xlabel()
    'rows'
    >>> figure.savefig("curves.png")
    """
    at = _row(x, "x", None)
    named = _named(curves, "curves")
    places = {} if marks is None else _named(marks, "marks")
    figure, axes = panel(6.6, 3.4)
    for i, (name, pair) in enumerate(named.items()):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise TypeError(f"curves must hold pairs of means and errors; got {shown(pair)} for {name!r}.")
        means, errors = (_row(part, f"curves of {name!r}", len(at)) for part in pair)
        if (errors < 0.0).any():
            raise ValueError(f"curves of {name!r} must have errors of 0 or above; got {errors.min():.4g}.")
        axes.errorbar(
            at, means, errors, label=name, color=CYCLE[i % len(CYCLE)], linestyle=DASHES[i % len(DASHES)],
            marker="o", markersize=4, capsize=3,
        )  # fmt: skip
    for name, place in places.items():
        axes.axvline(as_number(place, f"marks of {name!r}"), color=GRAY, linewidth=1.0, label=name)
    tidy(axes, *(as_text(text, word) for text, word in ((xlabel, "xlabel"), (ylabel, "ylabel"), (title, "title"))))
    legend_beside(axes)
    return figure


def _row(values: Any, name: str, size: int | None) -> Values:
    """Finite numbers (n,)."""
    given = as_array(values, name)
    if given.ndim != 1 or not len(given) or (size is not None and len(given) != size):
        raise ValueError(f"{name} must have shape ({'n' if size is None else size},); got {given.shape}.")
    return np.asarray(as_reals(given, name))


def _named(values: Any, name: str) -> Mapping[str, Any]:
    """A dict with names."""
    if not isinstance(values, Mapping) or not values:
        raise TypeError(f"{name} must be a dict with one name or more; got {shown(values)}.")
    for key in values:
        as_text(key, f"the names in {name}")
    return values


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
        low, high = (extreme.reduce(values[:, j], initial=np.nan) for extreme in (np.fmin, np.fmax))
        for i in range(len(rows)):
            if np.isnan(values[i, j]):
                continue
            # Colors compare the methods inside one column, since losses have different units.
            share = (values[i, j] - low) / (high - low) if high > low else 0.0
            # A thin margin parts the cells.
            color = _BEST_TO_WORST(share)
            axes.add_patch(Rectangle((j + 0.02, i + 0.04), 0.96, 0.92, facecolor=color, edgecolor="none"))
            weight = "bold" if values[i, j] == low else "normal"
            text = f"{values[i, j]:.3f}" + ("" if spread is None else f" ± {spread[i, j]:.3f}")
            axes.text(j + 0.5, i + 0.5, text, ha="center", va="center", weight=weight, fontsize=10)
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
