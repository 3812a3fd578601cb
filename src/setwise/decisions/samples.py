"""Decisions for labels that depend on each other, from samples of the truth.

Of one set the best labeling is found by sums of costs, by enumeration, or by a local search with a bound.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Ints, Values, as_array, as_bools, as_weights
from setwise.core.enumerate import subsets
from setwise.core.loss import Loss
from setwise.decisions.expected_loss import Decision
from setwise.decisions.formula import Formula, formula_of, possible
from setwise.decisions.gfm import CELLS, Lines, is_affine, labels_of, least_affine, least_by_lines
from setwise.kernels.set_functions import least_of_samples
from setwise.losses import as_loss

ENUMERATED, ENUMERATED_ANY = 16, 12
"""The largest sets that are enumerated, for functions of counts, and for any loss."""

TABLED = 512
"""The largest sets for which lines below the loss are found from all its values; for others the bound is rough."""

ROUNDS, STARTS = 4, 3
"""So often the slopes of the lines are chosen, and from so many labelings the search starts."""

SAMPLE_CELLS = 1 << 21
"""About so many numbers are held at once."""


@final
class LabelingWithBound(NamedTuple):
    """A labeling (p,), its expected loss, and a lower bound of the least one."""

    labels: Bools
    value: float
    bound: float


def of_costs(loss: Loss, truths: Bools, w: Values) -> LabelingWithBound | None:
    """Each decision alone, for a loss that is a sum of costs of single mistakes; None for others."""
    costs, rest = loss.bind(Sets.rows(truths)).split()
    if costs is None or rest.terms:
        return None
    weighted = w[:, None] * costs.reshape(truths.shape)
    missed, alarms = (weighted * truths).sum(axis=0), (weighted * ~truths).sum(axis=0)
    value = float(np.minimum(missed, alarms).sum())
    return LabelingWithBound(alarms < missed, value, value)


def of_any_loss(loss: Loss, truths: Bools, w: Values) -> LabelingWithBound:
    """Enumeration, or local search from some labelings; the bound is then 0, which no loss is below."""
    bound_loss, p = loss.bind(Sets.rows(truths)), truths.shape[1]
    if p <= ENUMERATED_ANY:
        every = subsets(p)
        values = _expected(bound_loss, every, w)
        at = int(values.argmin())
        return LabelingWithBound(every[at], float(values[at]), float(values[at]))
    starts = np.unique(np.concatenate([_heads(truths, w, np.arange(0, p + 1, max(1, p // 16))), truths[:16]]), axis=0)
    values = _expected(bound_loss, starts, w)
    best, value = starts[values.argmin()], float(values.min())
    while True:
        values = _expected(bound_loss, (_flip(best, i) for i in range(p)), w)
        if values.min() >= value:
            return LabelingWithBound(best, value, 0.0)
        best, value = _flip(best, int(values.argmin())), float(values.min())


def _expected(bound_loss: BoundLoss, labelings: Iterable[Bools], w: Values) -> Values:
    """The expected loss of each labeling (row), (rows,)."""
    return np.array([w @ bound_loss.values(np.tile(labels, len(w))) for labels in labelings])


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


def of_counts(formula: Formula, truths: Bools, w: Values) -> LabelingWithBound:
    """Enumeration, or a search among the best labelings of lines below the loss, improved decision by decision."""
    samples = _SampleLoss(formula, truths, w)
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
    return LabelingWithBound(found[0], found[1], min(bound, found[1]))


@final
@dataclass(frozen=True, eq=False)
class _SampleLoss:
    """The expected loss of labelings of one set, for a function of the counts."""

    formula: Formula
    truths: Bools
    w: Values

    def expected(self, labelings: Bools) -> Values:
        """The expected loss of each labeling (row), (rows,)."""
        y, s = self.truths.T.astype(np.float64), self.truths.sum(axis=1).astype(np.float64)
        out, step = np.empty(len(labelings)), max(1, SAMPLE_CELLS // len(self.w))
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
        out = [np.atleast_1d(self.formula.at(0.0, tp, s) @ self.w)] if low == 0 else []
        step = max(1, SAMPLE_CELLS // len(s))
        for a in range(0, high, step):
            hits = tp + np.cumsum(self.truths[:, order[a : min(a + step, high)]].T, axis=0)
            k, tp = np.arange(a + 1.0, a + 1.0 + len(hits)), hits[-1]
            inside = k >= low
            out.append(self.formula.at(k[inside, None], hits[inside], s - hits[inside]) @ self.w)
        return np.concatenate(out)

    def enumerated(self) -> LabelingWithBound:
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
        return LabelingWithBound((bits >> np.arange(p) & 1).astype(bool), value, value)

    def rough_bound(self) -> float:
        """The least loss over all numbers predicted if every sample could have its most true positives at once."""
        low, high = self.formula.numbers
        if not self.formula.increasing:
            return 0.0
        k, s = np.arange(low, high + 1.0)[:, None], self.truths.sum(axis=1).astype(np.float64)
        out, step = np.inf, max(1, SAMPLE_CELLS // len(s))
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
        step = max(1, SAMPLE_CELLS // (self.formula.size * max(len(s), 1)))
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
            after = _flip(labels, best)
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

        def at(number: float, hits: Values) -> Values:
            # What no flip can reach stands for nothing, so any possible count will do there.
            least, most = possible(self.formula.size, np.full(len(s), number), s)
            inside = np.clip(hits, least, most)
            return np.asarray(self.w * self.formula.at(number, inside, s - inside))

        out = np.full(len(labels), np.inf)
        for more, there in ((1.0, k < self.formula.size), (-1.0, k > 0)):
            if there:
                one, none = at(k + more, tp + more), at(k + more, tp)
                out = np.where(labels == (more < 0.0), y.T @ one + (1.0 - y).T @ none, out)
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


def least_expected_loss_of_samples(samples: ArrayLike, loss: Loss | str, weights: ArrayLike | None = None) -> Decision:
    """``argmin over h of sum_j w_j loss(samples_j, h)``, where the truth is sample j with probability w_j.

    The labels may depend on each other in any way. It is exact for sums of costs, and for losses that are affine in the
    true positives at each number predicted, as F_beta, MCC and the balanced error are: the k decisions of least weights
    are the best k (GFM, Dembczynski et al. 2011), in O(m p + p^2 (u + log p)) for u different numbers of positives.
    Other losses are enumerated for at most 16 decisions, or 12 if they are no functions of the counts. For more
    decisions a local search finds a labeling, with a lower bound that is 0 where nothing better is known.

    Parameters
    ----------
    samples : (m, p) of 0 and 1 for one set, as the predictions of the trees of a forest for the labels of a row; or
        (n, m, p) for n sets
    loss : any loss of labels 0 and 1, or its name
    weights : (m,) not negative; they are divided by their sum. None weighs all samples equally

    Returns
    -------
    Decision
        The labels, (p,) or (n, p), and for each set their expected loss and a lower bound of the least one

    Raises
    ------
    ValueError : for samples that are not 0 and 1 or of another shape, and weights that do not fit
    TypeError : for a loss of another kind

    Examples
    --------
    Either the first two labels are positive or the last two. The frequencies of the labels alone do not know that:

    >>> from setwise.decisions import least_expected_loss, least_expected_loss_of_samples
    >>> samples = np.array([[1, 1, 0, 0]] * 6 + [[0, 0, 1, 1]] * 4)
    >>> least_expected_loss_of_samples(samples, "zero_one").values.round(2).tolist()
    [0.4]
    >>> least_expected_loss(samples.mean(axis=0), "zero_one").values.round(2).tolist()
    [0.87]
    """
    given = as_array(samples, "samples")
    if given.ndim not in (2, 3) or given.size == 0:
        raise ValueError(f"samples must have shape (m, p) or (n, m, p), and not be empty; got shape {given.shape}.")
    truths = as_bools(given, "samples").reshape(-1, *given.shape[-2:])
    w, bound = _weights(weights, truths.shape[1]), as_loss(loss)
    formula = formula_of(bound, truths.shape[2])
    if formula is not None and is_affine(formula):
        labels, values = _of_lines(formula, truths, w)
        bounds = values
    else:
        if formula is None:
            found = [of_costs(bound, each, w) or of_any_loss(bound, each, w) for each in truths]
        else:
            found = [of_counts(formula, each, w) for each in truths]
        labels, values, bounds = (np.array(each) for each in zip(*found, strict=True))
    return Decision(labels[0] if given.ndim == 2 else labels, values, bounds, bounds >= values)


def _weights(weights: ArrayLike | None, m: int) -> Values:
    """The probabilities of the samples, (m,)."""
    if weights is None:
        return np.full(m, 1.0 / m)
    w = as_weights(weights)
    if w.shape != (m,) or w.sum() <= 0:
        raise ValueError(f"weights must have shape ({m},), one for each sample, and not all be 0; got {w.shape}.")
    return np.asarray(w / w.sum())


def _of_lines(formula: Formula, truths: Bools, w: Values) -> tuple[Bools, Values]:
    """The best labelings and their expected losses, (n, p) and (n,), for a loss that is affine in tp."""
    n, m, p = truths.shape
    numbers = truths.sum(axis=2)
    s = np.unique(numbers)
    labels, values = np.empty((n, p), dtype=bool), np.empty(n)
    rows = max(1, CELLS // (m * (p + len(s)) + p * len(s)))
    for a in range(0, n, rows):
        part = slice(a, a + rows)
        # The weight of each sample is in the column of its number of positives.
        which = np.where(numbers[part, :, None] == s, w[:, None], 0.0)
        joint = truths[part].transpose(0, 2, 1).astype(np.float64) @ which
        labels[part], values[part] = least_affine(formula, joint, which.sum(axis=1), s)
    return labels, values
