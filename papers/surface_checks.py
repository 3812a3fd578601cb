"""Measure what LH Fig. 1 and 2 show: whether a surface touches the values of the loss, and whether it is convex."""

from collections.abc import Sequence

import numpy as np

from papers.experiment import Table
from setwise.core.batch import Sets
from setwise.core.enumerate import subsets, table
from setwise.core.surrogate import Surrogate
from setwise.losses import Cardinality
from setwise.surrogates import LovaszHinge, MarginRescaling, SlackRescaling

INCREASING = Cardinality([0.0, 1.0, 1.2])
NOT_INCREASING = Cardinality([0.0, 1.0, 0.4])
SUPERMODULAR = Cardinality([0.0, 1.0, 2.8])
"""The three set functions of LH 4.4, as the losses of no, one and two mistakes."""


def distance_to_dots(surrogate: LovaszHinge | MarginRescaling | SlackRescaling) -> float:
    """The largest distance between a surrogate and its loss at the four vertices, for the ground truth (1, 1)."""
    corners = subsets(2)
    # At a vertex the margin errors are 1 for mistakes and 0 otherwise, so the scores of positives are 0 and 1.
    found = surrogate.batch(Sets.rows(np.ones_like(corners)), np.where(corners, 0.0, 1.0).ravel())
    return float(np.abs(found.values - table(surrogate.loss, [1, 1])).max())


def bulge(surrogate: Surrogate, seed: int, segments: int = 20_000) -> float:
    """The largest excess of the surrogate at the midpoint of random segments over the mean of the ends; 0 if convex."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1.0, 2.0, (2, segments, 2))
    sets = Sets.rows(np.ones((segments, 2)))
    low, high, middle = (surrogate.batch(sets, s.ravel()).values for s in (a, b, (a + b) / 2))
    excess = float((middle - (low + high) / 2).max())
    # A convex surrogate exceeds the mean by rounding at most.
    return excess if excess > 1e-12 else 0.0


def checks(panels: Sequence[tuple[str, LovaszHinge | MarginRescaling | SlackRescaling]], seed: int) -> Table:
    """A table with one row for each surface, and columns for the distance to the dots and for the bulge."""
    means = np.array([[distance_to_dots(s), bulge(s, seed)] for _, s in panels])
    title = "Distance of the surface to its dots, and how much the middle of a segment lies above its ends (0: convex)"
    names = tuple(name for name, _ in panels)
    return Table(title, names, ("distance to dots", "bulge"), means, best=means == 0.0, digits=3)
