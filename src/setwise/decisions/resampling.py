"""The losses of resampled decisions, or of resampled sets, at all cut points; nothing is sorted again."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checks import Bools, Ints, Values
from setwise.core.counts import Counts
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import HOW_SURE
from setwise.core.structure import Structure
from setwise.decisions.sweep import Falling, Sweep, losses_by_set
from setwise.kernels.thresholds import drawn_only, weighted_counts, weighted_mean_along, weighted_quotient


@final
@dataclass(frozen=True, eq=False)
class Resample:
    """Resampled decisions.

    Parameters
    ----------
    sample : the losses of the resample at the cut points of the sample
    drawn : (m,) the decisions of the sample that were drawn
    """

    sample: Sweep
    drawn: Bools

    def best(self) -> tuple[float, float]:
        """The best threshold, between scores that were drawn, and its loss."""
        scores, losses = drawn_only(self.sample.order.scores, self.sample.losses, self.drawn)
        order, start = self.sample.order, self.sample.start
        chosen = Falling(order.items, order.labels, scores, np.array([0, len(scores)]))
        cut = chosen.best(losses, start)
        return float(chosen.between(cut)[0]), float(chosen.at(losses, start, cut)[0])


class Resampling(ABC):
    """A way to draw resamples."""

    @abstractmethod
    def draw(self, n: int, rng: np.random.Generator) -> Iterator[Resample]:
        """Draw n resamples, one after another; O(m) each."""


def resampling(loss: Loss, structure: Structure, order: Falling) -> Resampling:
    """Resampling of whole sets where there are several, and of the decisions of a single one."""
    sets = structure.batch
    assert isinstance(sets, Sets)
    if len(sets) > 1:
        losses, start, owners, places = losses_by_set(structure, order)
        return OfSets(order, losses, start, owners, places)
    if not len(order.items):
        raise ValueError("y must hold a known label; got none.")
    if structure.counts is None or structure.counts.areas is not None or sets.totals is not None:
        raise Refusal(
            f"the bootstrap refuses {structure!r} for a single set: it is no function of counts, and resampled "
            "decisions have no places. Give several sets, which are resampled as a whole.",
            HOW_SURE,
        )
    return OfDecisions(order, loss)


@final
@dataclass(frozen=True, eq=False)
class OfDecisions(Resampling):
    """Resamples of the decisions of one set, drawn with replacement, for a loss of counts."""

    order: Falling
    loss: Loss

    def draw(self, n: int, rng: np.random.Generator) -> Iterator[Resample]:  # noqa: D102
        m, positive = len(self.order.items), np.flatnonzero(self.order.labels)
        negative = np.flatnonzero(~self.order.labels)
        # First how many positives are drawn, then which: the loss is bound to all resamples at once.
        P = rng.binomial(m, len(positive) / m, n)
        counts, weights = counts_of(self.loss, P, m - P), np.zeros(m, dtype=np.int64)
        for b in range(n):
            for places, many in ((positive, P[b]), (negative, m - P[b])):
                drawn = rng.integers(len(places), size=many) if many else np.zeros(0, np.int64)
                weights[places] = np.bincount(drawn, minlength=len(places))
            yield Resample(Sweep(self.order, *self._losses(counts, b, weights)), weights > 0)

    def _losses(self, counts: Counts, b: int, weights: Ints) -> tuple[Values, Values]:
        """The losses of one resample, and that where none is predicted."""
        at, labels, missed = slice(b, b + 1), self.order.labels, float(counts.P[b])
        start = counts.of(counts.P[at], np.zeros(1), at)
        if counts.quotient is not None:
            top, bottom = counts.quotient
            return weighted_quotient(labels, weights, missed, top[b], bottom[b], counts.origin[b]), start
        return counts.of(*weighted_counts(labels, weights, missed), at), start


@final
@dataclass(frozen=True, eq=False)
class OfSets(Resampling):
    """Resamples of whole sets, drawn with replacement; the arrays are those of :func:`losses_by_set`."""

    order: Falling
    losses: Values
    start: Values
    owners: Ints
    places: Ints

    def draw(self, n: int, rng: np.random.Generator) -> Iterator[Resample]:  # noqa: D102
        size = len(self.start)
        for _ in range(n):
            weights = np.bincount(rng.integers(size, size=size), minlength=size) / size
            along = weighted_mean_along(self.losses, self.start, self.owners, self.places, weights)
            sweep = Sweep(self.order, along, np.array([weights @ self.start]))
            yield Resample(sweep, weights[self.owners] > 0)


def counts_of(loss: Loss, P: Ints, N: Ints) -> Counts:
    """The loss as a function of counts of sets with P positives and N negatives, (n,) each, without their decisions."""
    # Each set is given one decision of each class that it has: a piece of it, bound to the totals of the whole.
    kinds = np.column_stack([P > 0, N > 0])
    labels = np.broadcast_to([True, False], kinds.shape)[kinds]
    offsets = np.concatenate([[0], np.cumsum(kinds.sum(axis=1))])
    pieces = Sets(labels, offsets, totals=np.column_stack([N, P]).astype(np.float64))
    try:
        counts = loss.structure(pieces).counts
    except ValueError:
        counts = None
    if counts is None:
        raise Refusal(
            f"the bootstrap refuses {loss!r} for a single set: it has parameters of single decisions. Give "
            "several sets, which are resampled as a whole.",
            HOW_SURE,
        )
    return counts
