"""Curves with error bars."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from setwise.core.checks import Values, as_array, as_number, as_reals, as_text, shown
from setwise.plotting.style import CYCLE, DASHES, GRAY, tidy


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
    figure = Figure(figsize=(6.6, 3.4), layout="constrained")
    axes = figure.subplots()
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
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9)
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
