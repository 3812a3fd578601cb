"""A picture of the certified gap of fits over their iterations (LH Fig. 6)."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from setwise.core.checks import Values, as_mapping, as_number, as_reals, shown
from setwise.plotting.style import CYCLE, DASHES, GRAY, tidy


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
    figure = Figure(figsize=(7.6, 4.0), layout="constrained")
    axes = figure.add_subplot()
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
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9)
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
