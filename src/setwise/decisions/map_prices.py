"""Labels of a map by prices of its classes: pixel i takes the class of the largest ``gain_c q_ic - price_c``."""

from typing import Any, NamedTuple, final

import numpy as np

from setwise.core.checks import Ints, Values
from setwise.decisions.formula import Formula
from setwise.kernels.pixels import assign

ROUNDS = 40
"""So often the prices of the classes are changed at most."""

MIXTURES = np.linspace(0.0, 1.0, 33)
"""The shares of a new labeling that are tried in a mixture with those before it."""


@final
class Prices(NamedTuple):
    """What a pixel gains and costs in each class, (k,) each, and the loss of its labels at the means of the counts."""

    gains: Values
    prices: Values
    value: float


@final
class PriceSearch:
    """The search for prices, where losses are taken at the means of the counts.

    Parameters
    ----------
    pixels : (m, k) the probabilities of all pixels, or of every so-manieth pixel
    chosen : (c,) the classes over which the mean is taken
    formula : the loss of one class, in a map of all pixels
    expected : (c,) the expected numbers of their pixels
    chances : (c,) the chances that there is any pixel of them
    """

    def __init__(self, pixels: Values, chosen: Ints, formula: Formula, expected: Values, chances: Values) -> None:
        self.pixels, self.chosen, self.formula, self.expected = pixels, chosen, formula, expected
        self.chances, self.k, self.weight = chances, pixels.shape[1], formula.size / len(pixels)

    def labels(self, gains: Values, prices: Values) -> Ints:
        """The labels (m,) for these prices."""
        return self._assigned(gains, prices)[0]

    def descend(self, gains: Values, prices: Values, closed: Values) -> list[Prices]:
        """The given prices, and the best ones seen in steps towards the labels for those of a mixture (Frank-Wolfe).

        ``closed`` is inf for classes that get no pixel.
        """
        _, sizes, hits = self._assigned(gains, prices + closed)
        first = best = Prices(gains, prices + closed, float(self._at_means(sizes, hits)))
        for _ in range(ROUNDS):
            gains, prices = self.prices_at(sizes, hits)
            _, more_sizes, more_hits = self._assigned(gains, prices + closed)
            seen = float(self._at_means(more_sizes, more_hits))
            if seen < best.value:
                best = Prices(gains, prices + closed, seen)
            steps = MIXTURES[:, None]
            mixed = self._at_means(sizes + steps * (more_sizes - sizes), hits + steps * (more_hits - hits))
            share = float(MIXTURES[mixed.argmin()])
            if share == 0.0:
                break
            sizes, hits = sizes + share * (more_sizes - sizes), hits + share * (more_hits - hits)
        return [first, best]

    def prices_at(self, sizes: Values, hits: Values) -> tuple[Values, Values]:
        """What a pixel gains and costs at these counts of the chosen classes; the others cost and gain nothing."""
        gains, prices = np.zeros((2, self.k))
        gains[self.chosen], prices[self.chosen] = self._slopes(sizes, hits)
        return gains, prices

    def _assigned(self, gains: Values, prices: Values) -> tuple[Ints, Values, Values]:
        """The labels for these prices, and the sizes and the sums of probabilities of the chosen classes."""
        labels, sizes, hits = np.empty(len(self.pixels), dtype=np.int64), *np.empty((2, self.k))
        assign(self.pixels, gains, prices, labels, sizes, hits)
        return labels, sizes[self.chosen] * self.weight, hits[self.chosen] * self.weight

    def _at_means(self, sizes: Values, hits: Values) -> Any:
        """The mean loss of the classes, over the last axis, where both counts are at their means."""
        return self.losses(sizes, hits).mean(axis=-1)

    def losses(self, sizes: Values, hits: Values) -> Values:
        """The losses of the chosen classes at these means of their counts, and without positives where there are none.

        A rare class is mostly absent, and then a mask of no pixel is right; so counts are at their means given that the
        class is there.
        """
        size, chances = float(self.formula.size), np.maximum(self.chances, np.finfo(float).tiny)
        # Rounded sums, and those of a part of the pixels, may leave the range of the counts.
        P = np.minimum(self.expected / chances, size)
        hits = np.minimum(hits / chances, sizes)
        there = self.formula.of(np.clip(P - hits, 0.0, P), np.clip(sizes - hits, 0.0, size - P), P)
        if (self.chances == 1.0).all():
            return there
        zero = np.zeros(np.shape(sizes))
        return self.chances * there + (1.0 - self.chances) * self.formula.of(zero, np.clip(sizes, 0.0, size), zero)

    def _slopes(self, sizes: Values, hits: Values) -> tuple[Values, Values]:
        """How fast the loss of each class falls with its true positives, and how fast it rises with its size."""
        p = float(self.formula.size)
        low, high = np.maximum(hits - 0.5, 0.0), np.minimum(hits + 0.5, np.minimum(sizes, self.expected))
        gains = (self.losses(sizes, low) - self.losses(sizes, high)) / np.maximum(high - low, 1e-9)
        most = p - self.expected + hits
        low, high = np.clip(sizes - 0.5, hits, most), np.clip(sizes + 0.5, hits, most)
        return gains, (self.losses(high, hits) - self.losses(low, hits)) / np.maximum(high - low, 1e-9)
