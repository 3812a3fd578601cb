"""Descents on the bound of a decomposition: by a bundle, and by the steps that are printed in DD section 3."""

from collections.abc import Iterable
from typing import final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import Bools, Values
from setwise.inference.decomposition.bundle import Bundle
from setwise.inference.decomposition.sides import Problem

CLOSE = 1e-9
"""A bundle ends where its planes promise no more than this share of the largest score, or of the loss of one node."""

LEFT, PATIENCE = 0.5, 2
"""The sides take turns until PATIENCE turns in vain, in which more than this share of the gap is left."""

HOPELESS, STRETCHES = 0.01, 3
"""It also ends where they promise no more than this share of the tolerance, with ever longer steps."""


@final
class Search:
    """The labels and bounds of a problem that a descent has seen so far.

    Parameters
    ----------
    problem : one set with its scores
    tol : value and bound that are so close are close enough
    left : how many bounds may still be computed
    candidates : the first labels, (total,) each

    Attributes
    ----------
    labels, best : the best labels so far, and their value
    bound, multipliers : the lowest bound so far, and where it is
    last, pair : the labels that the network and the loss chose last, and those that they chose there
    """

    def __init__(self, problem: Problem, tol: float, left: int, *candidates: Bools) -> None:
        self.problem, self.tol, self.left, self.labels = problem, tol, left, candidates[0]
        self.best, self.bound = -np.inf, np.inf
        self.multipliers, self.last = np.zeros(len(self.labels)), [self.labels, self.labels]
        self.pair = self.last
        self._offer(candidates)

    @property
    def done(self) -> bool:
        """Whether value and bound are close enough, or no evaluations are left."""
        return self.left <= 0 or self.bound - self.best <= max(self.tol, self.problem.rounding(self.best))

    @property
    def slope(self) -> NDArray[np.int8]:
        """The slope of the lowest bound."""
        return self.pair[0].view(np.int8) - self.pair[1].view(np.int8)

    def at(self, multipliers: Values, settle: bool = False) -> tuple[float, NDArray[np.int8]]:
        """The bound and its slope (total,), int8, there or where the problem settles; both labelings are candidates."""
        self.left -= 1
        if settle:
            bound, multipliers, *self.last = self.problem.settle(multipliers)
        else:
            bound, *self.last = self.problem.bound(multipliers)
        if bound < self.bound:
            self.bound, self.multipliers, self.pair = bound, multipliers, self.last
        self._offer(self.last)
        return bound, self.last[0].view(np.int8) - self.last[1].view(np.int8)

    def _offer(self, candidates: Iterable[Bools]) -> None:
        for labels in candidates:
            value = self.problem.value(labels)
            if value > self.best:
                self.best, self.labels = value, labels

    def take(self, labels: Bools) -> None:
        """Take these labels in place of the best ones."""
        self.best, self.labels = self.problem.value(labels), labels


def descend_by_bundle(search: Search, start: Values | None) -> None:
    """Lower the bound from a start, or from the slope of the loss at the best labels: by turns, then by a bundle.

    In a turn the network gets the slope of the loss as its multipliers, and the loss gets what the flow leaves of the
    scores. The slope is that between the labels that the loss chose last and the best ones, or after a turn in vain
    those of the network.
    """
    problem = search.problem
    multipliers = problem.first_slope(search.labels) if start is None else start
    vain = 0
    while vain <= PATIENCE:
        before = search.bound - search.best
        search.at(multipliers, settle=True)
        if search.done:
            return
        vain = vain + 1 if search.bound - search.best > LEFT * before else 0
        multipliers = problem.slope_of_loss(search.last[0] if vain else search.labels, search.last[1])
        if not multipliers.any():
            break
    _bundle(search)


def _bundle(search: Search) -> None:
    """Lower the bound from its lowest place."""
    scale = 1e-3 / len(search.labels) + float(np.abs(search.problem.scores).max())
    bundle = Bundle(search.multipliers, search.bound, search.slope, search.best)
    least, stretches = max(CLOSE * scale, HOPELESS * search.tol), 0
    while not search.done and stretches < STRETCHES:
        if bundle.decrease > least:
            stretches = 0
            bundle.add(*search.at(bundle.point))
        else:
            stretches += 1
            bundle.stretch()


def descend_as_printed(search: Search, scale: float) -> None:
    """Steps of ``scale / sqrt(t)`` from 0 against the slope; the labels are those of most votes where both disagree.

    Each label has a multiplier of its own there, and both move, so their difference moves by twice the step.
    """
    multipliers, votes, t = np.zeros(len(search.labels)), np.zeros(len(search.labels), np.int64), 0
    slope: NDArray[np.int8] = np.ones(1, np.int8)
    while not search.done and slope.any():
        t += 1
        _, slope = search.at(multipliers)
        votes += search.last[0].view(np.int8) + search.last[1].view(np.int8)
        multipliers = multipliers - 2.0 * scale / np.sqrt(t) * slope
    if search.left <= 0:
        search.take(np.where(slope == 0, search.last[0], votes > t))
