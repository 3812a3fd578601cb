"""The picture on the page of a loss: what mistakes cost, and the surface of the surrogate that suits it."""

from dataclasses import replace
from itertools import combinations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from setwise.core.batch import Classes
from setwise.core.enumerate import table
from setwise.core.exceptions import Refusal
from setwise.core.terms import Trait
from setwise.losses import Loss, OrderedPoints
from setwise.plotting import surface
from setwise.surrogates import LovaszHinge, MarginRescaling, Surrogate

POSITIVES, NEGATIVES = 4, 6
BLUE = "#2a7fb8"


def picture(loss: Loss) -> Figure:
    """What mistakes cost, as a figure whose label describes it."""
    figure = Figure(figsize=(5.6, 3.6), layout="constrained")
    axes = figure.add_subplot()
    if isinstance(loss, OrderedPoints):
        words = by_place(axes, loss)
    elif loss.reads == "classes":
        words = by_confusion(axes, loss)
    elif loss.reads == "scores":
        words = by_swapped_pairs(axes, loss)
    elif Trait.COUNTS in loss.traits and Trait.CARDINALITY not in loss.traits:
        words = by_counts(axes, loss)
    else:
        words = by_size(axes, loss)
    figure.set_label(words)
    return figure


def resized(loss: Loss, p: int) -> Loss:
    """The first example of the same kind for sets of p decisions."""
    return type(loss).examples(p)[0]


def by_counts(axes: Axes, loss: Loss) -> str:
    """The loss over false positives and false negatives as a map."""
    truth = np.arange(POSITIVES + NEGATIVES) < POSITIVES
    values = np.empty((POSITIVES + 1, NEGATIVES + 1))
    for fn, fp in np.ndindex(values.shape):
        guess = truth.copy()
        guess[:fn] = False
        guess[POSITIVES : POSITIVES + fp] = True
        values[fn, fp] = resized(loss, len(truth))(truth, guess)
    _map(axes, values, "false positives", "false negatives")
    return (
        f"{type(loss).__name__} for {POSITIVES} positives and {NEGATIVES} negatives, over the numbers of false "
        f"positives and false negatives: {values[0, 1]:.2f} for one false positive, {values[1, 0]:.2f} for one false "
        f"negative, {values.max():.2f} at most."
    )


def by_confusion(axes: Axes, loss: Loss) -> str:
    """A loss of three classes over the decisions of classes 1 and 0 that are taken for each other, as a map."""
    others = 3
    truth = np.repeat([1, 0, 2], [POSITIVES, NEGATIVES, others])
    batch, values = Classes.single(truth, 3), np.empty((POSITIVES + 1, NEGATIVES + 1))
    for missed, taken in np.ndindex(values.shape):
        guess = truth.copy()
        guess[:missed] = 0
        guess[POSITIVES : POSITIVES + taken] = 1
        values[missed, taken] = loss.values(batch, guess)[0]
    _map(axes, values, "class 0 predicted as 1", "class 1 predicted as 0")
    return (
        f"{loss!r} for {POSITIVES} decisions of class 1, {NEGATIVES} of class 0 and {others} of class 2, which are "
        f"right, over the numbers of decisions of classes 0 and 1 that are taken for each other: {values[0, 1]:.2f} "
        f"for one of class 0, {values[1, 0]:.2f} for one of class 1, {values.max():.2f} at most."
    )


def by_place(axes: Axes, loss: OrderedPoints) -> str:
    """The loss of the order of two points over the predicted place of the second, as a map."""
    side, first, second = 5, (1, 1), (3, 3)
    grid = replace(loss, width=side)
    truth = np.array([row * side + column for row, column in (first, second)])
    batch, values = Classes.single(truth, side * side), np.empty((side, side))
    for state in range(side * side):
        values.flat[state] = grid.values(batch, np.array([truth[0], state]))[0]
    _map(axes, values, "predicted column of the second point", "predicted row")
    axes.invert_yaxis()
    for (row, column), name, color in ((first, "first", "#123"), (second, "second", "#eef")):
        axes.plot(column, row, "o", ms=28, mfc="none", mec=color, mew=1.5)
        axes.annotate(name, (column, row), (0, -24), textcoords="offset points", ha="center", color=color, fontsize=9)
    return (
        f"{grid!r} for two points, the first right in row {first[0]} and column {first[1]}, over the predicted place "
        f"of the second, which truly lies in row {second[0]} and column {second[1]}: 0 wherever it is predicted below "
        f"and to the right of the first, {values.max():.2g} elsewhere."
    )


def _map(axes: Axes, values: np.ndarray, across: str, up: str) -> None:
    """A table of losses as a map with its numbers."""
    shown = axes.imshow(values, origin="lower", cmap="viridis", vmin=0)
    for i, j in np.ndindex(values.shape):
        bright = values[i, j] > 0.6 * values.max()
        axes.text(j, i, f"{values[i, j]:.2f}", ha="center", va="center", fontsize=8, color="#123" if bright else "#eef")
    axes.set(xlabel=across, ylabel=up)
    axes.figure.colorbar(shown, ax=axes, label="loss", shrink=0.8)


def by_size(axes: Axes, loss: Loss) -> str:
    """The range of the loss over all sets of mistakes of each size."""
    p = 8
    truth = np.arange(p) < 3
    values, sizes = table(resized(loss, p), truth), np.array([bin(i).count("1") for i in range(1 << p)])
    return _ranges(axes, loss, values, sizes, "number of mistakes", f"{p} decisions, 3 of them positive")


def by_swapped_pairs(axes: Axes, loss: Loss) -> str:
    """The range of the loss over all rankings with each number of swapped pairs."""
    p, positives = 8, 3
    values, swaps = [], []
    truth = np.arange(p) < positives
    for places in combinations(range(p), positives):
        scores = np.empty(p)
        scores[:positives] = p - np.array(places)
        scores[positives:] = p - np.setdiff1d(np.arange(p), places)
        values.append(resized(loss, p)(truth, scores))
        swaps.append(int((scores[:positives, None] < scores[None, positives:]).sum()))
    return _ranges(axes, loss, np.array(values), np.array(swaps), "swapped pairs", "3 positives and 5 negatives")


def _ranges(axes: Axes, loss: Loss, values: np.ndarray, sizes: np.ndarray, label: str, which: str) -> str:
    steps = np.unique(sizes)
    low, high, mean = (np.array([f(values[sizes == k]) for k in steps]) for f in (np.min, np.max, np.mean))
    axes.fill_between(steps, low, high, color=BLUE, alpha=0.25, label="least to largest")
    axes.plot(steps, mean, "o-", color=BLUE, label="mean")
    axes.set(xlabel=label, ylabel="loss", ylim=(0, None))
    axes.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=2)
    return (
        f"{type(loss).__name__} for {which}, over the number of {label.removeprefix('number of ')}: the mean of all "
        f"cases and their range, from {values.min():.2g} to {values.max():.2g}."
    )


def surrogate_surface(loss: Loss) -> Figure | None:
    """The surrogate that training takes for the loss, over the margin errors of a positive and a negative decision."""
    if loss.reads == "classes":
        return None
    small = resized(loss, 2)
    surrogate: Surrogate = LovaszHinge(small) if Trait.SUBMODULAR in small.traits else MarginRescaling(small)
    name = type(surrogate).__name__
    try:
        figure = surface(surrogate, (1, 0))
    except (Refusal, ValueError):
        return None
    figure.set_label(
        f"The surface of {name} of {type(loss).__name__} over the margin errors of a positive and a negative decision. "
        "Dots are the loss at the four labelings."
    )
    return figure
