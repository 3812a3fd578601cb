"""One label for each pixel of a map: prices of the classes, then single pixels that change their class."""

from functools import cached_property
from typing import Any, final

import numpy as np

from setwise.core.arrays import Bools, Ints, Values
from setwise.decisions.formula import Formula
from setwise.decisions.rule import Rule
from setwise.kernels.maps import assign, move_pixels

ROUNDS = 40
"""So often the prices of the classes are changed at most."""

EVALUATED = 16384
"""In maps of at most so many pixels several labelings are evaluated; in larger ones the best by means of counts."""

MIXTURES = np.linspace(0.0, 1.0, 33)
"""The shares of a new labeling that are tried in a mixture with those before it."""

CERTAIN = 50.0
"""Of so many expected positives at least one is there."""

SWEEPS = 20
"""So often all pixels are asked at most whether another class is better."""


@final
class MapSearch:
    """The search for the labels of least mean loss of the ``chosen`` classes, in one map.

    Labelings by prices are the start: those of the most probable classes, of the best masks of each class alone, and
    what a descent finds from them. Then single pixels change their class as long as this makes the loss smaller.

    Parameters
    ----------
    pixels : (p, k) the probabilities
    chosen : (c,) the numbers of the classes over which the mean is taken
    rule, formula : the loss of one class
    masks : (c, p) the best masks of the chosen classes alone
    """

    def __init__(self, pixels: Values, chosen: Ints, rule: Rule, formula: Formula, masks: Bools) -> None:
        self.pixels, self.chosen, self.rule, self.formula, self.masks = pixels, chosen, rule, formula, masks
        self.k = pixels.shape[1]
        self.columns = np.ascontiguousarray(pixels.T[chosen])
        self.expected = self.columns.sum(axis=1)

    def run(self) -> tuple[Ints, float]:
        """The best labels found, (p,), and their expected loss."""
        small = self.formula.size <= EVALUATED
        found = sorted(self._starts(), key=lambda pair: pair[1])
        # In large maps counts are near their means, so the best by means is the best.
        moved = [self._moved(labels) for labels, _ in (found if small else found[:1])]
        every = [*moved, *(labels for labels, _ in found)] if small else moved
        unique = {labels.tobytes(): labels for labels in every}
        values = [(self._value(labels), i) for i, labels in enumerate(unique.values())]
        value, best = min(values)
        return list(unique.values())[best], value

    def _starts(self) -> list[tuple[Ints, float]]:
        """Labels by prices, and their losses at the means of the counts."""
        none = np.zeros(self.k)
        hits = (self.columns * self.masks).sum(axis=1)
        alone = self._assigned(*self._prices(self.masks.sum(axis=1).astype(np.float64), hits))
        found = []
        for start in (self._assigned(np.ones(self.k), none), alone):
            found += [(start[0], float(self._at_means(*start[1:]))), self._descend(start, none)]
        # A class whose own best mask is empty is not worth a pixel, unless this holds for all.
        used = self.masks.any(axis=1)
        if not used.all() and (used.any() or len(self.chosen) < self.k):
            closed = none.copy()
            closed[self.chosen[~used]] = np.inf
            found.append(self._descend(self._assigned(np.ones(self.k), closed), closed))
        return found

    def _value(self, labels: Ints) -> float:
        """The expected loss of one label for each pixel."""
        return float(self.rule.expect(self.columns, labels == self.chosen[:, None]).mean())

    def _assigned(self, gains: Values, prices: Values) -> tuple[Ints, Values, Values]:
        """The labels for these prices, and the sizes and the sums of probabilities of the chosen classes."""
        labels, sizes, hits = np.empty(len(self.pixels), dtype=np.int64), *np.empty((2, self.k))
        assign(self.pixels, gains, prices, labels, sizes, hits)
        return labels, sizes[self.chosen], hits[self.chosen]

    def _descend(self, start: tuple[Ints, Values, Values], closed: Values) -> tuple[Ints, float]:
        """The best labels seen, and their loss, in steps towards the labels of the prices of a mixture (Frank-Wolfe).

        Losses are taken at the means of the counts here. ``closed`` is inf for classes that get no pixel.
        """
        best, sizes, hits = start
        value = float(self._at_means(sizes, hits))
        for _ in range(ROUNDS):
            gains, prices = self._prices(sizes, hits)
            labels, more_sizes, more_hits = self._assigned(gains, prices + closed)
            seen = float(self._at_means(more_sizes, more_hits))
            if seen < value:
                best, value = labels, seen
            steps = MIXTURES[:, None]
            mixed = self._at_means(sizes + steps * (more_sizes - sizes), hits + steps * (more_hits - hits))
            share = float(MIXTURES[mixed.argmin()])
            if share == 0.0:
                break
            sizes, hits = sizes + share * (more_sizes - sizes), hits + share * (more_hits - hits)
        return best, value

    def _prices(self, sizes: Values, hits: Values) -> tuple[Values, Values]:
        """What a pixel gains and costs in each class, (k,) each; classes that are not chosen cost and gain nothing."""
        gains, prices = np.zeros((2, self.k))
        gains[self.chosen], prices[self.chosen] = self._slopes(sizes, hits)
        return gains, prices

    def _moved(self, labels: Ints) -> Ints:
        """The labels after single pixels changed their class; as they are for losses that are no quotients."""
        fraction = self.formula.fraction
        if fraction is None:
            return labels
        places = np.full(self.k, -1)
        places[self.chosen] = np.arange(len(self.chosen))
        moved, columns = places[labels], np.ascontiguousarray(self.columns.T)
        partial = len(self.chosen) < self.k
        move_pixels(columns, moved, fraction.top, fraction.bottom, *self._ends, partial, SWEEPS)
        # -1 are pixels of no chosen class.
        found: Ints = np.append(self.chosen, -1)[moved]
        return found

    @cached_property
    def _ends(self) -> tuple[Values, Values, Values]:
        """The expected losses of empty masks (c,), the chances of no positive (c,), and what then differs (p + 1,).

        Without positives the loss of a mask of k pixels may differ from the quotient.
        """
        fraction, p = self.formula.fraction, self.formula.size
        assert fraction is not None
        k, zero, none = np.arange(p + 1.0), np.zeros(p + 1), np.zeros(len(self.columns))
        rare = self.expected < CERTAIN
        none[rare] = np.exp(np.log1p(-np.minimum(self.columns[rare], 1.0 - 1e-16)).sum(axis=1))
        top, bottom = (part[0] + part[3] * k for part in (fraction.top, fraction.bottom))
        without = self.formula.of(zero, k, zero)
        if p <= EVALUATED:
            empty = self.rule.expect(self.columns, np.zeros(self.columns.shape, dtype=bool))
        else:
            empty = (1.0 - none) * self._losses(zero[: len(none)], zero[: len(none)]) + none * without[0]
        return empty, none, without - top / np.where(bottom > 0.0, bottom, 1.0)

    def _at_means(self, sizes: Values, hits: Values) -> Any:
        """The mean loss of the classes, over the last axis, where both counts are at their means."""
        return self._losses(sizes, hits).mean(axis=-1)

    def _losses(self, sizes: Values, hits: Values) -> Values:
        # Rounded sums may leave the range of the counts.
        P = np.minimum(self.expected, float(self.formula.size))
        return self.formula.of(np.clip(P - hits, 0.0, P), np.clip(sizes - hits, 0.0, self.formula.size - P), P)

    def _slopes(self, sizes: Values, hits: Values) -> tuple[Values, Values]:
        """How fast the loss of each class falls with its true positives, and how fast it rises with its size."""
        p = float(self.formula.size)
        low, high = np.maximum(hits - 0.5, 0.0), np.minimum(hits + 0.5, np.minimum(sizes, self.expected))
        gains = (self._losses(sizes, low) - self._losses(sizes, high)) / np.maximum(high - low, 1e-9)
        most = p - self.expected + hits
        low, high = np.clip(sizes - 0.5, hits, most), np.clip(sizes + 0.5, hits, most)
        return gains, (self._losses(high, hits) - self._losses(low, hits)) / np.maximum(high - low, 1e-9)
