"""Rules that turn maps of class probabilities into labels, and how they are fitted to pixels of maps."""

from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from setwise.core.checks import Bools, Floats, Ints, Values
from setwise.core.loss import CountLoss

Over = Literal["dataset", "present", "all"]

STEPS, SWEEPS = 25, 3
MULTIPLIERS = np.linspace(-3.0, 3.0, 61)
"""The logarithms of the multipliers that are tried."""


@final
@dataclass(frozen=True, eq=False)
class PixelRule:
    """``argmax_c a_c q_c - b_c``; a mask of fewer than ``least`` pixels, as a share of the map, is left empty."""

    a: Values
    b: Values
    least: float = 0.0

    def labels(self, q: Values) -> Ints:
        """The classes (p,) of probabilities (C, p)."""
        found: Ints = (self.a[:, None] * q - self.b[:, None]).argmax(axis=0)
        if self.least and (found == 1).mean() < self.least:
            found[:] = 0
        return found


@final
@dataclass(frozen=True, eq=False)
class PixelSample:
    """Pixels of maps.

    Parameters
    ----------
    q : (m, C) their probabilities
    y : (m,) their labels
    owner : (m,) the map of each, rising
    weight : (m,) how many pixels each stands for
    maps : the number of maps
    """

    q: Floats
    y: Ints
    owner: Ints
    weight: Values
    maps: int

    def of(self, maps: Ints) -> "PixelSample":
        """The pixels of some maps, whose numbers rise."""
        place = np.full(self.maps, -1)
        place[maps] = np.arange(len(maps))
        kept = place[self.owner] >= 0
        return PixelSample(self.q[kept], self.y[kept], place[self.owner[kept]], self.weight[kept], len(maps))


@final
@dataclass(frozen=True, eq=False)
class MapMeasure:
    """One minus the mean of a loss of counts, of the classes from ``first`` on."""

    loss: CountLoss
    over: Over
    first: int

    def values(self, tallies: Values, weights: Values) -> Values:
        """The measure (..., r) of tallies (..., n, C, 4), see :func:`tally_of`, at weights (r, n)."""
        if self.over == "dataset":
            sums = np.einsum("rn,...nck->...rck", weights, tallies[..., self.first :, :])
            # A class that no target has is no class of the data set.
            there = tallies[..., self.first :, 2].sum(axis=-2)[..., None, :] > 0
            return _mean(self._losses(sums), np.broadcast_to(there, sums.shape[:-1]))
        counted = tallies[..., self.first :, :]
        there = counted[..., 2] > 0 if self.over == "present" else counted[..., 3] > 0
        each, some = _mean(self._losses(counted), there), there.any(axis=-1)
        # Maps without any of the classes are left out.
        total = np.einsum("rn,...n->...r", weights, some.astype(float))
        return np.asarray(np.einsum("rn,...n->...r", weights, np.where(some, each, 0.0)) / np.maximum(total, 1e-300))

    def carriers(self, plain: Values, tallies: Values, owners: Ints) -> float:
        """Of how many owners of maps (n,) the gain of tallies (n, C, 4) over plain ones comes.

        That is ``(sum |d|)^2 / sum d^2``, where d is what the measure loses if the maps of one owner keep the plain
        tallies; so many owners with equal parts have the same ratio.
        """
        one, units = np.ones((1, 1)), int(owners.max()) + 1
        if self.over == "dataset":
            kept = np.broadcast_to(tallies.sum(axis=0), (units, *tallies.shape[1:])).copy()
            np.add.at(kept, owners, plain - tallies)
            d = self.values(tallies.sum(axis=0)[None], one)[0] - self.values(kept[:, None], one)[:, 0]
        else:
            d = self.values(tallies[:, None], one)[:, 0] - self.values(plain[:, None], one)[:, 0]
            d = np.bincount(owners, weights=d, minlength=units)
        return float(np.abs(d).sum() ** 2 / max((d**2).sum(), 1e-300))

    def _losses(self, tallies: Values) -> Values:
        tp, predicted, positive, whole = np.moveaxis(tallies, -1, 0)
        return np.asarray(self.loss.of_counts(positive - tp, predicted - tp, positive, whole - positive))


def _mean(losses: Values, there: Bools) -> Values:
    """One minus the mean loss of the classes that are there."""
    return np.asarray(1.0 - np.where(there, losses, 0.0).sum(axis=-1) / np.maximum(there.sum(axis=-1), 1))


def tally_of(h: Ints, y: Ints, classes: int) -> Values:
    """Right, predicted, positive and all pixels of each class, (C, 4)."""
    seen = y >= 0
    h, y = h[seen], y[seen]
    counts = (np.bincount(each, minlength=classes) for each in (h[h == y], h, y))
    return np.column_stack([*counts, np.full(classes, len(y))]).astype(np.float64)


def whole_rule(drawn: PixelSample, measure: MapMeasure) -> PixelRule:
    """The rule of least expected loss over all maps together, by damped steps to the slopes of the loss.

    One pixel more with probability q of class c lowers the loss of c by ``q (L_fn + L_fp) - L_fp``, with the slopes of
    the loss at the expected counts.
    """
    q, w = drawn.q.astype(np.float64), drawn.weight
    k = q.shape[1]
    positive, whole = w @ q, np.full(k, w.sum())
    a, b, counts = np.ones(k), np.zeros(k), np.arange(k) >= measure.first

    def slopes(tp: Values, predicted: Values) -> tuple[Values, Values]:
        fn, fp = np.maximum(positive - tp, 0.0), np.maximum(predicted - tp, 0.0)
        step = 1e-4 * np.maximum(positive, 1.0)

        def loss(more: Any, false: Any) -> Values:
            return measure.loss.of_counts(np.minimum(fn + more, positive), fp + false, positive, whole - positive)

        here, fewer = loss(0 * step, 0 * step), np.minimum(step, fn)
        miss = (here - loss(-fewer, 0 * step)) / np.maximum(fewer, 1e-12)
        return miss, (loss(0 * step, step) - here) / step

    for _ in range(STEPS):
        h = (q * a - b).argmax(axis=1)
        predicted = np.bincount(h, weights=w, minlength=k)
        tp = np.bincount(h, weights=w * q[np.arange(len(q)), h], minlength=k)
        miss, alarm = slopes(tp.astype(np.float64), predicted.astype(np.float64))
        rise, price = np.where(counts, miss + alarm, 0.0), np.where(counts, alarm, 0.0)
        scale = max(float(rise.max()), 1e-300)
        a, b = 0.5 * (a + rise / scale), 0.5 * (b + price / scale)
        a, b = a / a.max(), b / a.max()
    return PixelRule(a, b)


def tuned_rule(drawn: PixelSample, measure: MapMeasure) -> PixelRule:
    """The class multipliers of the best measure on the pixels, one class after the other, from 1 on."""
    k = drawn.q.shape[1]
    logs, q = np.zeros(k), np.log(np.maximum(drawn.q, 1e-30))
    classes = np.arange(k) if k > 2 else np.array([1])
    best = -np.inf
    for _ in range(SWEEPS if k > 2 else 1):
        start = best
        for c in classes:
            # A pixel takes class c where its multiplier is above the advantage of the best other class.
            scores = q + logs
            scores[:, c] = -np.inf
            other = scores.argmax(axis=1)
            place = np.searchsorted(MULTIPLIERS, scores[np.arange(len(q)), other] - q[:, c], side="right")
            values = measure.values(tallies_along(drawn, place, other, c), np.ones((1, drawn.maps)))[..., 0]
            here = int(values.argmax())
            if values[here] > best + 1e-12:
                best, logs[c] = values[here], MULTIPLIERS[here]
        if best - start <= 1e-5:
            break
    a = np.exp(logs)
    return PixelRule(a / a.max(), np.zeros(k))


def tallies_along(drawn: PixelSample, place: Ints, other: Ints, c: int) -> Values:
    """The tallies (r, n, C, 4) at each of r multipliers of class c; pixels take c from multiplier ``place`` on."""
    r, n, k = len(MULTIPLIERS), drawn.maps, drawn.q.shape[1]
    y, w = drawn.y, drawn.weight

    def counted(label: Ints, of: Bools) -> Values:
        key = (np.minimum(place, r) * n + drawn.owner) * k + label
        return np.bincount(key[of], weights=w[of], minlength=(r + 1) * n * k).reshape(r + 1, n, k)[:r].cumsum(axis=0)

    every = np.ones(len(y), dtype=bool)
    first = [
        np.bincount((drawn.owner * k + label)[of], weights=w[of], minlength=n * k).reshape(n, k)
        for label, of in ((other, other == y), (other, every), (y, every))
    ]
    taken = np.full(len(y), c)
    tp = first[0] - counted(other, other == y) + counted(taken, y == c)
    predicted = first[1] - counted(other, every) + counted(taken, every)
    whole = np.bincount(drawn.owner, weights=w, minlength=n)
    return np.stack(np.broadcast_arrays(tp, predicted, first[2], whole[:, None]), axis=-1)


def rule_with_presence(drawn: PixelSample, measure: MapMeasure, rule: PixelRule) -> PixelRule:
    """The rule with the least area of a mask that is best on the pixels."""
    h = (drawn.q * rule.a).argmax(axis=1)
    whole = np.bincount(drawn.owner, weights=drawn.weight, minlength=drawn.maps)
    tallies = np.stack([tally_of(h[drawn.owner == i], drawn.y[drawn.owner == i], 2) for i in range(drawn.maps)])
    tallies *= (whole / np.maximum(tallies[:, 0, 3], 1.0))[:, None, None]
    areas = tallies[:, 1, 1] / whole
    levels = np.append(0.0, np.unique(np.quantile(areas, np.linspace(0.0, 1.0, 41))) + 1e-12)
    kept = np.where(areas < levels[:, None], 0.0, 1.0)
    at = np.broadcast_to(tallies, (len(levels), *tallies.shape)).copy()
    at[..., 1, :2] *= kept[..., None]
    values = measure.values(at, np.ones((1, drawn.maps)))[..., 0]
    return PixelRule(rule.a, rule.b, float(levels[int(values.argmax())]))
