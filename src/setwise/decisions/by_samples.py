"""The best labeling for samples of the truth of one set: sums of costs, enumeration, and local search with a bound."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checks import Bools, Ints, Values
from setwise.core.enumerate import subsets
from setwise.core.loss import Loss
from setwise.core.structure import Structure
from setwise.decisions.formula import Formula
from setwise.decisions.lines import Lines, labels_of, least_by_lines, possible
from setwise.kernels.set_functions import least_of_samples

ENUMERATED, ENUMERATED_ANY = 16, 12
"""The largest sets that are enumerated, for functions of counts, and for any loss."""

TABLED = 512
"""The largest sets for which lines below the loss are found from all its values; for others the bound is rough."""

ROUNDS, STARTS = 4, 3
"""So often the slopes of the lines are chosen, and from so many labelings the search starts."""

CELLS = 1 << 21
"""About so many numbers are held at once."""


@final
@dataclass(frozen=True, eq=False)
class Found:
    """A labeling (p,), its expected loss, and a lower bound of the least one."""

    labels: Bools
    value: float
    bound: float


def of_costs(loss: Loss, truths: Bools, w: Values) -> Found | None:
    """Each decision alone, for a loss that is a sum of costs of single mistakes; None for others."""
    costs, rest = loss.structure(Sets.rows(truths)).split()
    if costs is None or rest.terms:
        return None
    weighted = w[:, None] * costs.reshape(truths.shape)
    missed, alarms = (weighted * truths).sum(axis=0), (weighted * ~truths).sum(axis=0)
    value = float(np.minimum(missed, alarms).sum())
    return Found(alarms < missed, value, value)


def of_any_loss(loss: Loss, truths: Bools, w: Values) -> Found:
    """Enumeration, or local search from some labelings; the bound is then 0, which no loss is below."""
    structure, p = loss.structure(Sets.rows(truths)), truths.shape[1]
    if p <= ENUMERATED_ANY:
        every = subsets(p)
        values = _expected(structure, every, w)
        at = int(values.argmin())
        return Found(every[at], float(values[at]), float(values[at]))
    starts = np.unique(np.concatenate([_heads(truths, w, np.arange(0, p + 1, max(1, p // 16))), truths[:16]]), axis=0)
    values = _expected(structure, starts, w)
    best, value = starts[values.argmin()], float(values.min())
    while True:
        values = _expected(structure, (_flip(best, i) for i in range(p)), w)
        if values.min() >= value:
            return Found(best, value, 0.0)
        best, value = _flip(best, int(values.argmin())), float(values.min())


def _expected(structure: Structure, labelings: Iterable[Bools], w: Values) -> Values:
    """The expected loss of each labeling (row), (rows,)."""
    return np.array([w @ structure.values(np.tile(labels, len(w))) for labels in labelings])


def _flip(labels: Bools, i: int) -> Bools:
    """The labeling with another label at i."""
    out = labels.copy()
    out[i] ^= True
    return out


def _heads(truths: Bools, w: Values, numbers: Ints) -> Bools:
    """The labelings that predict the k most probable decisions, for each k of ``numbers``, (numbers, p)."""
    rank = np.empty(truths.shape[1], dtype=np.int64)
    rank[np.argsort(-(w @ truths), kind="stable")] = np.arange(truths.shape[1])
    return rank < numbers[:, None]


def of_counts(formula: Formula, truths: Bools, w: Values) -> Found:
    """Enumeration, or a search among the best labelings of lines below the loss, improved decision by decision."""
    samples = _Samples(formula, truths, w)
    if formula.size <= ENUMERATED:
        return samples.enumerated()
    low, high = formula.numbers
    bound = samples.rough_bound()
    if formula.size <= TABLED:
        starts, bound = samples.by_lines(_heads(truths, w, np.arange(low, high + 1)), bound)
        starts = starts[np.argsort(samples.expected(starts), kind="stable")[:STARTS]]
    else:
        # All heads of a large set do not fit into memory, but their counts do.
        best = np.argsort(samples.of_heads(), kind="stable")[:STARTS]
        starts = _heads(truths, w, low + best)
    found = min((samples.improved(start) for start in starts), key=lambda pair: pair[1])
    return Found(found[0], found[1], min(bound, found[1]))


@final
@dataclass(frozen=True, eq=False)
class _Samples:
    """The expected loss of labelings of one set, for a function of the counts."""

    formula: Formula
    truths: Bools
    w: Values

    def expected(self, labelings: Bools) -> Values:
        """The expected loss of each labeling (row), (rows,)."""
        y, s = self.truths.T.astype(np.float64), self.truths.sum(axis=1).astype(np.float64)
        out, step = np.empty(len(labelings)), max(1, CELLS // len(self.w))
        for a in range(0, len(labelings), step):
            h = labelings[a : a + step].astype(np.float64)
            tp = h @ y
            out[a : a + step] = self.formula.at(h.sum(axis=1)[:, None], tp, s - tp) @ self.w
        return out

    def of_heads(self) -> Values:
        """The expected loss of predicting the k most probable decisions, for each k that is allowed; O(p m)."""
        low, high = self.formula.numbers
        order = np.argsort(-(self.w @ self.truths), kind="stable")
        s, tp = self.truths.sum(axis=1).astype(np.float64), np.zeros(len(self.w))
        out, step = [np.atleast_1d(self.formula.at(0.0, tp, s) @ self.w)] if low == 0 else [], max(1, CELLS // len(s))
        for a in range(0, high, step):
            hits = tp + np.cumsum(self.truths[:, order[a : min(a + step, high)]].T, axis=0)
            k, tp = np.arange(a + 1.0, a + 1.0 + len(hits)), hits[-1]
            inside = k >= low
            out.append(self.formula.at(k[inside, None], hits[inside], s - hits[inside]) @ self.w)
        return np.concatenate(out)

    def enumerated(self) -> Found:
        """The best of all labelings, whose losses are looked up in a table; O(2^p m)."""
        p, (low, high) = self.formula.size, self.formula.numbers
        s, columns = np.unique(self.truths.sum(axis=1), return_inverse=True)
        k, positives = np.arange(p + 1.0)[:, None, None], s.astype(np.float64)
        hits = np.clip(np.arange(p + 1.0)[None, :, None], *possible(p, k, positives))
        # Other numbers are never predicted, so the loss need not be defined there.
        table = np.full((p + 1, p + 1, len(s)), np.inf)
        inside = slice(low, high + 1)
        table[inside] = self.formula.at(k[inside], hits[inside], positives - hits[inside])
        bits, value = least_of_samples(self.truths.T.astype(np.int8), table, columns, self.w)
        return Found((bits >> np.arange(p) & 1).astype(bool), value, value)

    def rough_bound(self) -> float:
        """The least loss over all numbers predicted if every sample could have its most true positives at once."""
        low, high = self.formula.numbers
        if not self.formula.increasing:
            return 0.0
        k, s = np.arange(low, high + 1.0)[:, None], self.truths.sum(axis=1).astype(np.float64)
        out, step = np.inf, max(1, CELLS // len(s))
        for a in range(0, len(k), step):
            tp = np.minimum(k[a : a + step], s)
            out = min(out, float((self.formula.at(k[a : a + step], tp, s - tp) @ self.w).min()))
        return out

    def by_lines(self, starts: Bools, rough: float) -> tuple[Bools, float]:
        """The labelings that are best for lines below the loss, at each k, and the bound that these lines give.

        At a given number predicted a line ``a + b tp`` is below the loss for any b, with ``a = min_t f(t) - b t``; the
        sum of such lines is modular. The slopes are first those of chords, and then those of the loss at the true
        positives of the labelings found before.
        """
        low, high = self.formula.numbers
        number = self.truths.sum(axis=1)
        s, where = np.unique(number, return_inverse=True)
        which: Values = np.where(where[:, None] == np.arange(len(s)), self.w[:, None], 0.0)
        joint, mass = (self.truths.T.astype(np.float64) @ which)[None], which.sum(axis=0)[None]
        found, bounds = [starts], np.full(high + 1, -np.inf)
        step = max(1, CELLS // (self.formula.size * max(len(s), 1)))
        for a in range(low, high + 1, step):
            k = np.arange(a, min(a + step, high + 1))
            tp, values = _all_values(self.formula, k, s)
            slopes = Lines.chords(self.formula, k, s).b
            for _ in range(ROUNDS):
                below = Lines((values - slopes[:, :, None] * tp).min(axis=2), slopes)
                expected, order = least_by_lines(joint, mass, k, below)
                bounds[k] = np.maximum(bounds[k], expected[0])
                labels = labels_of(np.broadcast_to(order, (len(k), *order.shape[1:])), k, np.arange(len(k)))
                found.append(labels)
                # The mean number of true positives of the samples with s positives.
                slopes = _slopes(self.formula, k, s, (labels @ joint[0]) / mass)
        return np.concatenate(found), max(rough, float(bounds[low:].min()))

    def improved(self, labels: Bools) -> tuple[Bools, float]:
        """The labeling after the best single flips, as long as these lower the expected loss."""
        low, high = self.formula.numbers
        value = float(self.expected(labels[None])[0])
        while low < high:
            flips = self._flipped(labels)
            best = int(flips.argmin())
            if flips[best] >= value:
                break
            after = labels.copy()
            after[best] ^= True
            # The sums of flips are rounded in another order, so the value itself decides.
            again = float(self.expected(after[None])[0])
            if again >= value:
                break
            labels, value = after, again
        return labels, value

    def _flipped(self, labels: Bools) -> Values:
        """The expected loss after each single flip, (p,), in O(m p)."""
        y, k = self.truths.astype(np.float64), float(labels.sum())
        tp, s = y @ labels, y.sum(axis=1)
        p = float(self.formula.size)

        def at(number: float, hits: Values) -> Values:
            # What no flip can reach stands for nothing, so any possible count will do there.
            least, most = possible(self.formula.size, np.full(len(s), number), s)
            inside = np.clip(hits, least, most)
            return np.asarray(self.w * self.formula.at(number, inside, s - inside))

        out = np.full(len(labels), np.inf)
        if k < p:
            one, none = at(k + 1.0, tp + 1.0), at(k + 1.0, tp)
            out = np.where(labels, out, y.T @ one + (1.0 - y).T @ none)
        if k > 0:
            one, none = at(k - 1.0, tp - 1.0), at(k - 1.0, tp)
            out = np.where(labels, y.T @ one + (1.0 - y).T @ none, out)
        return out


def _all_values(formula: Formula, k: Ints, s: Ints) -> tuple[Values, Values]:
    """All possible true positives, the last one repeated, and the loss there, (len(k), len(s), t) each."""
    number, positives = k[:, None, None].astype(np.float64), s[None, :, None].astype(np.float64)
    low, high = possible(formula.size, number, positives)
    tp = np.minimum(low + np.arange(int((high - low).max()) + 1), high)
    return tp, formula.at(number, tp, positives - tp)


def _slopes(formula: Formula, k: Ints, s: Ints, tp: Values) -> Values:
    """The slopes of the loss around these true positives (len(k), len(s))."""
    number, positives = k[:, None].astype(np.float64), s[None, :].astype(np.float64)
    low, high = possible(formula.size, number, positives)
    least, most = np.clip(np.floor(tp - 0.5), low, high), np.clip(np.ceil(tp + 0.5), low, high)
    rise = formula.at(number, most, positives - most) - formula.at(number, least, positives - least)
    return np.asarray(rise / np.maximum(most - least, 1.0))
