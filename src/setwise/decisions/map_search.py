"""One label for each pixel of a map: prices of the classes, then single pixels that change their class."""

from typing import final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.checks import Bools, Ints, Values
from setwise.decisions.by_moments import CERTAIN
from setwise.decisions.formula import Formula
from setwise.decisions.map_prices import Prices, PriceSearch
from setwise.decisions.rule import Rule
from setwise.kernels.pixels import empty_classes, move_pixels

EVALUATED = 16384
"""In maps of at most so many pixels pixels of all starts are moved; in larger ones those of the best start."""

SAMPLE = 32768
"""In maps of more pixels a search among so many pixels comes first."""

SMALL = 1024
"""Classes of at most so many pixels are tried without any; in large maps of up to a fourth of an equal share."""

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
        self.chances = self._chances()
        self.every = PriceSearch(pixels, chosen, formula, self.expected, self.chances)

    def run(self) -> tuple[Ints, float]:
        """The best labels found, (p,), and their expected loss."""
        if self.formula.size <= EVALUATED:
            found = [self.every.labels(each.gains, each.prices) for each in self._starts(self.every)]
            tried = [*found, *map(self._moved, found)]
        else:
            usual = [self.every.labels(np.ones(self.k), closed) for closed in self._closings()]
            tried = [*usual, self._moved(min((*usual, self._best_of_large()), key=self._nearly))]
        unique = list({labels.tobytes(): labels for labels in tried}.values())
        values = [self._value(labels) for labels in unique]
        best = int(np.argmin(values))
        return unique[best], values[best]

    def _starts(self, search: PriceSearch) -> list[Prices]:
        """The prices from which the most probable labels and those of the best masks come, and what they lead to."""
        none, ones = np.zeros(self.k), np.ones(self.k)
        hits = (self.columns * self.masks).sum(axis=1)
        alone = search.prices_at(self.masks.sum(axis=1).astype(np.float64), hits)
        first, *others = self._closings()
        found = [*search.descend(ones, none, first), *search.descend(*alone, none)]
        for closed in others:
            found += search.descend(ones, none, closed)
        return found

    def _closings(self) -> list[Values]:
        """What pixels cost in addition (k,): nothing, and inf in the classes whose own best mask is empty.

        Such a class is not worth a pixel, unless this holds for all.
        """
        none, used = np.zeros(self.k), self.masks.any(axis=1)
        if used.all() or not (used.any() or len(self.chosen) < self.k):
            return [none]
        closed = none.copy()
        closed[self.chosen[~used]] = np.inf
        return [none, closed]

    def _best_of_large(self) -> Ints:
        """The best labels by prices: the best of a part of the pixels are the start for all."""
        search, p = self.every, self.formula.size
        if p > SAMPLE:
            search = PriceSearch(self._sample(), self.chosen, self.formula, self.expected, self.chances)
        best = min(self._starts(search), key=lambda each: each.value)
        if search is not self.every:
            closed = np.where(np.isinf(best.prices), np.inf, 0.0)
            best = min(self.every.descend(best.gains, best.prices, closed), key=lambda each: each.value)
        return self.every.labels(best.gains, best.prices)

    def _sample(self) -> Values:
        """Pixels at equal distances, which share no factor with the sides of most images."""
        step = -(-self.formula.size // SAMPLE) | 1
        return np.ascontiguousarray(self.pixels[::step])

    def _value(self, labels: Ints) -> float:
        """The expected loss of one label for each pixel."""
        return float(self.rule.expect(self.columns, labels == self.chosen[:, None]).mean())

    def _nearly(self, labels: Ints) -> float:
        """Nearly the expected loss of one label for each pixel; exactly that of losses that are no quotients."""
        fraction = self.formula.fraction
        if fraction is None:
            return self._value(labels)
        ways = (self._rows, self._places[labels], fraction.top, fraction.bottom, *self._ends)
        return float(move_pixels(*ways, len(self.chosen) < self.k, 0)) / len(self.chosen)

    def _moved(self, labels: Ints) -> Ints:
        """The labels after single pixels and whole classes were moved; as they are for losses that are no quotients."""
        fraction = self.formula.fraction
        if fraction is None:
            return labels
        moved, partial = self._places[labels], len(self.chosen) < self.k
        ways = (self._rows, moved, fraction.top, fraction.bottom, *self._ends, partial)
        sweeps = min(SWEEPS, 2 + WORK // self.columns.size)
        # Larger classes are mostly worth their pixels, and there the trial would take most of the time.
        most = max(SMALL, self.formula.size // (4 * len(self.chosen)))
        empty_classes(*ways, most)
        move_pixels(*ways, sweeps)
        if empty_classes(*ways, most):
            move_pixels(*ways, 1)
        # -1 are pixels of no chosen class.
        found: Ints = np.append(self.chosen, -1)[moved]
        return found

    @cached_property
    def _places(self) -> Ints:
        """The number of each class among the chosen ones, or -1, (k,)."""
        places = np.full(self.k, -1)
        places[self.chosen] = np.arange(len(self.chosen))
        return places

    @cached_property
    def _rows(self) -> Values:
        """The probabilities of the chosen classes, pixel by pixel, (p, c)."""
        return np.ascontiguousarray(self.columns.T)

    def _chances(self) -> Values:
        """The chances (c,) that there is any pixel of a class."""
        rare = self.expected < CERTAIN
        chances = np.ones(len(self.columns))
        chances[rare] = -np.expm1(np.log1p(-np.minimum(self.columns[rare], 1.0 - 1e-16)).sum(axis=1))
        return chances

    @cached_property
    def _ends(self) -> tuple[Values, Values, Values]:
        """The expected losses of empty masks (c,), the chances of no positive (c,), and what then differs (p + 1,).

        Without positives the loss of a mask of k pixels may differ from the quotient.
        """
        fraction, p = self.formula.fraction, self.formula.size
        assert fraction is not None
        k, zero, nothing = np.arange(p + 1.0), np.zeros(p + 1), np.zeros(len(self.columns))
        top, bottom = (part[0] + part[3] * k for part in (fraction.top, fraction.bottom))
        without = self.formula.of(zero, k, zero)
        if p <= EVALUATED:
            empty = self.rule.expect(self.columns, np.zeros(self.columns.shape, dtype=bool))
        else:
            empty = self.every.losses(nothing, nothing)
        return empty, 1.0 - self.chances, without - top / np.where(bottom > 0.0, bottom, 1.0)
