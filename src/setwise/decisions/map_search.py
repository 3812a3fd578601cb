"""One label for each pixel of a map: prices of the classes, then single pixels that change their class."""

from functools import cached_property
from typing import final

import numpy as np

from setwise.core.arrays import Bools, Ints, Values
from setwise.decisions.by_moments import CERTAIN
from setwise.decisions.formula import Formula
from setwise.decisions.map_prices import Prices, PriceSearch
from setwise.decisions.rule import Rule
from setwise.kernels.maps import move_pixels

EVALUATED = 16384
"""In maps of at most so many pixels several labelings are evaluated; in larger ones the best by means of counts."""

SAMPLE = 32768
"""In maps of more pixels a search among so many pixels comes first."""

SWEEPS, WORK = 20, 1 << 24
"""So often all pixels are asked at most whether another class is better, and about so many such questions."""


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
        self.every = PriceSearch(pixels, chosen, formula, self.expected)

    def run(self) -> tuple[Ints, float]:
        """The best labels found, (p,), and their expected loss."""
        if self.formula.size <= EVALUATED:
            found = [self.every.labels(each.gains, each.prices) for each in self._starts(self.every)]
            unique = {labels.tobytes(): labels for labels in (*found, *map(self._moved, found))}
            tried = list(unique.values())
        else:
            # In large maps counts are near their means, so the best by means is the best.
            tried = [self._moved(self._best_of_large())]
        values = [self._value(labels) for labels in tried]
        best = int(np.argmin(values))
        return tried[best], values[best]

    def _starts(self, search: PriceSearch) -> list[Prices]:
        """The prices from which the most probable labels and those of the best masks come, and what they lead to."""
        none, ones = np.zeros(self.k), np.ones(self.k)
        hits = (self.columns * self.masks).sum(axis=1)
        alone = search.prices_at(self.masks.sum(axis=1).astype(np.float64), hits)
        found = [*search.descend(ones, none, none), *search.descend(*alone, none)]
        # A class whose own best mask is empty is not worth a pixel, unless this holds for all.
        used = self.masks.any(axis=1)
        if not used.all() and (used.any() or len(self.chosen) < self.k):
            closed = none.copy()
            closed[self.chosen[~used]] = np.inf
            found += search.descend(ones, none, closed)
        return found

    def _best_of_large(self) -> Ints:
        """The best labels by prices: the best of a part of the pixels are the start for all."""
        search, p = self.every, self.formula.size
        if p > SAMPLE:
            search = PriceSearch(self._sample(), self.chosen, self.formula, self.expected)
        best = min(self._starts(search), key=lambda each: each.value)
        if search is not self.every:
            best = min(self.every.descend(best.gains, best.prices, np.zeros(self.k)), key=lambda each: each.value)
        return self.every.labels(best.gains, best.prices)

    def _sample(self) -> Values:
        """Pixels at equal distances, which share no factor with the sides of most images."""
        step = -(-self.formula.size // SAMPLE) | 1
        return np.ascontiguousarray(self.pixels[::step])

    def _value(self, labels: Ints) -> float:
        """The expected loss of one label for each pixel."""
        return float(self.rule.expect(self.columns, labels == self.chosen[:, None]).mean())

    def _moved(self, labels: Ints) -> Ints:
        """The labels after single pixels changed their class; as they are for losses that are no quotients."""
        fraction = self.formula.fraction
        if fraction is None:
            return labels
        places = np.full(self.k, -1)
        places[self.chosen] = np.arange(len(self.chosen))
        moved, columns = places[labels], np.ascontiguousarray(self.columns.T)
        partial = len(self.chosen) < self.k
        sweeps = min(SWEEPS, 2 + WORK // columns.size)
        move_pixels(columns, moved, fraction.top, fraction.bottom, *self._ends, partial, sweeps)
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
            empty = (1.0 - none) * self.every.losses(zero[: len(none)], zero[: len(none)]) + none * without[0]
        return empty, none, without - top / np.where(bottom > 0.0, bottom, 1.0)
