"""The picture on the page of a loss: what mistakes cost, and the surface of the surrogate that suits it."""

from itertools import combinations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from setwise.core.enumerate import table
from setwise.core.refusal import Refusal
from setwise.core.traits import Trait
from setwise.losses import Loss
from setwise.plotting import surface
from setwise.surrogates import LovaszHinge, MarginRescaling, Surrogate

POSITIVES, NEGATIVES = 4, 6
BLUE = "#2a7fb8"


def picture(loss: Loss) -> Figure | None:
    """What mistakes cost, as a figure whose label describes it; None for losses of several classes."""
    if loss.reads == "classes":
        return None
    figure = Figure(figsize=(5.6, 3.6), layout="constrained")
    axes = figure.add_subplot()
    if loss.reads == "scores":
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
    shown = axes.imshow(values, origin="lower", cmap="viridis", vmin=0)
    for fn, fp in np.ndindex(values.shape):
        bright = values[fn, fp] > 0.6 * values.max()
        axes.text(
            fp, fn, f"{values[fn, fp]:.2f}", ha="center", va="center", fontsize=8, color="#123" if bright else "#eef"
        )
    axes.set(xlabel="false positives", ylabel="false negatives")
    axes.figure.colorbar(shown, ax=axes, label="loss", shrink=0.8)
    return (
        f"{type(loss).__name__} for {POSITIVES} positives and {NEGATIVES} negatives, over the numbers of false "
        f"positives and false negatives: {values[0, 1]:.2f} for one false positive, {values[1, 0]:.2f} for one false "
        f"negative, {values.max():.2f} at most."
    )


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
    axes.legend(loc="upper left")
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
