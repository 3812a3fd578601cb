"""Decisions for maps of classes: one label for each pixel, or one mask for each class.

Prices of the classes give pixel i the class of the largest ``gain_c q_ic - price_c``; then single pixels change their
class. Of a few pixels all divisions among the classes are tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.attributes import cached_property
from setwise.core.checks import Bools, Ints, Values, as_array, as_flag, as_number, as_reals, refuse_outside, shown
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import DECISIONS_REFUSE
from setwise.decisions.expected_loss import Decision, rule_for
from setwise.decisions.formula import Formula, formula_of
from setwise.decisions.large_sets import CERTAIN
from setwise.decisions.small_sets import DecisionRule
from setwise.kernels.pixels import assign, divide, empty_classes, move_pixels
from setwise.losses import as_loss
from setwise.losses.combinations import MeanOverClasses
from setwise.losses.cost_matrix import CostMatrix

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

    def __init__(self, pixels: Values, chosen: Ints, rule: DecisionRule, formula: Formula, masks: Bools) -> None:
        self.pixels, self.chosen, self.rule, self.formula, self.masks = pixels, chosen, rule, formula, masks
        self.k = pixels.shape[1]
        self.columns = np.ascontiguousarray(pixels.T[chosen])
        self.expected = self.columns.sum(axis=1)
        # The chances (c,) that there is any pixel of a class.
        rare, self.chances = self.expected < CERTAIN, np.ones(len(chosen))
        self.chances[rare] = -np.expm1(np.log1p(-np.minimum(self.columns[rare], 1.0 - 1e-16)).sum(axis=1))
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
            # Pixels at equal distances, which share no factor with the sides of most images.
            sample = np.ascontiguousarray(self.pixels[:: -(-p // SAMPLE) | 1])
            search = PriceSearch(sample, self.chosen, self.formula, self.expected, self.chances)
        best = min(self._starts(search), key=lambda each: each.value)
        if search is not self.every:
            closed = np.where(np.isinf(best.prices), np.inf, 0.0)
            best = min(self.every.descend(best.gains, best.prices, closed), key=lambda each: each.value)
        return self.every.labels(best.gains, best.prices)

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

    @cached_property
    def _ends(self) -> tuple[Values, Values, Values]:
        """The expected losses of empty masks (c,), the chances of no positive (c,), and what then differs (p + 1,).

        Without positives the loss of a mask of k pixels may differ from the quotient.
        """
        fraction, p = self.formula.fraction, self.formula.size
        assert fraction is not None
        k, zero, nothing = np.arange(p + 1.0), np.zeros(p + 1), np.zeros(len(self.columns))
        if p <= EVALUATED:
            empty = self.rule.expect(self.columns, np.zeros(self.columns.shape, dtype=bool))
        else:
            empty = self.every.losses(nothing, nothing)
        return empty, 1.0 - self.chances, self.formula.of(zero, k, zero) - fraction.without_positives(k)


FEW = 10
"""Maps of at most so many pixels are decided by all 3^p pairs of a set of pixels and a part of it, for each class."""


def best_partition(columns: Values, chosen: Ints, rule: DecisionRule, partial: bool) -> tuple[Ints, float]:
    """The labels (p,) of least mean loss of the ``chosen`` classes, and this loss; O(3^p) for each of the classes.

    Parameters
    ----------
    columns : (classes, p) the probabilities of the chosen classes
    chosen : (classes,) their numbers
    rule : what evaluates the masks
    partial : whether pixels may be left to other classes, as -1
    """
    p = columns.shape[1]
    masks = (np.arange(1 << p)[:, None] >> np.arange(p)) & 1 == 1
    values = np.stack([rule.expect(np.broadcast_to(q, masks.shape).copy(), masks) for q in columns])
    totals, taken = values[0].copy(), np.empty(values.shape, dtype=np.int64)
    taken[0] = np.arange(1 << p)
    for c in range(1, len(chosen)):
        totals = divide(totals, values[c], taken[c])
    left = int(totals.argmin()) if partial else len(masks) - 1
    value, labels = float(totals[left]) / len(chosen), np.full(p, -1)
    for c in range(len(chosen) - 1, -1, -1):
        labels[masks[taken[c, left]]] = chosen[c]
        left ^= int(taken[c, left])
    return labels, value


SLACK = 1e-4
"""The rounding that the sums of probabilities over classes may have, as they come from single precision."""


def least_expected_loss_of_map(
    probabilities: ArrayLike,
    loss: Loss | str,
    overlapping: bool = False,
    tol: float = 1e-3,
    classes: Sequence[int] | None = None,
) -> Decision:
    """``argmin over h of (1/k) sum_c E[loss([y = c], [h = c])]`` for a map of pixels with k classes, as mean IoU.

    The classes of the pixels are independent given their probabilities. With ``overlapping`` each class has a mask of
    its own, and all masks are best at once: k decisions of :func:`least_expected_loss`. Their mean is a lower bound for
    one label a pixel, where a search over prices of the classes finds a labeling: pixel i takes the class of the
    largest ``gain_c q_ic - price_c``. It is exact for two classes, up to ``tol``, and in maps of up to 10 pixels, which
    are divided in all ways. O(p k) for a change of the prices.

    Source: own; compared with the enumeration of all labelings in tests/decisions/test_maps.py.

    Parameters
    ----------
    probabilities : (..., k) of the k classes of each pixel, k >= 2; they have the sum 1, but for ``overlapping``
    loss : an increasing loss of counts, as ``"jaccard"`` or ``FBeta(zero_division=0.0)``, or its mean over classes; or
        :class:`~setwise.losses.CostMatrix`, for the mean of the costs of all pixels: each has its cheapest class
    overlapping : whether a pixel may have several classes, or none
    tol : the gap of the expected loss of a mask at which its search may stop in large maps
    classes : the numbers of the classes over which the mean is taken, as all but the background; None takes all. Where
        none of them is worth a pixel, the pixel gets the most probable one of the others

    Returns
    -------
    Decision
        ``labels`` (...) of 0..k-1, or bool (..., k) with ``overlapping``, and one value and bound, of the mean. With
        ``overlapping`` only ``classes`` have masks

    Raises
    ------
    Refusal : for a loss that is no function of the counts, or no increasing one of so many pixels
    ValueError : for probabilities outside of [0, 1] or without the sum 1, and classes that there are not
    TypeError : for a loss, a number or a flag of another kind

    Examples
    --------
    Class 1 is nowhere the most probable, so the usual labels never show it; the mean IoU asks for one pixel of it:

    >>> from setwise.decisions import least_expected_loss_of_map
    >>> q = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.55, 0.45]])
    >>> found = least_expected_loss_of_map(q, "jaccard")
    >>> found.labels.tolist(), q.argmax(axis=1).tolist()
    ([0, 0, 0, 1], [0, 0, 0, 0])
    """
    as_flag(overlapping, "overlapping")
    gap, q = as_number(tol, "tol", low=0.0), _checked(probabilities, overlapping)
    bound = as_loss(loss)
    if isinstance(bound, CostMatrix):
        return _of_costs(q, bound, overlapping, classes)
    inner = bound.loss if isinstance(bound, MeanOverClasses) else bound
    k = q.shape[-1]
    pixels = np.ascontiguousarray(q.reshape(-1, k))
    formula = formula_of(inner, len(pixels)) if inner.reads == "labels" else None
    if formula is None:
        raise Refusal(
            f"a decision of a map for {inner!r} is refused: it is not a function of the counts of labels. Use FBeta "
            "or Jaccard.",
            DECISIONS_REFUSE,
        )
    chosen = _as_classes(classes, k)
    if k == 2 and len(chosen) == 2 and not overlapping:
        both = rule_for(MeanOverClasses(inner), len(pixels), gap).decide(pixels[None, :, 1])
        return _decision(both.labels.reshape(q.shape[:-1]).astype(np.int64), both.values, both.bounds)
    partial = len(chosen) < k
    rule, columns = rule_for(inner, len(pixels), gap), np.ascontiguousarray(pixels.T[chosen])
    masks = rule.decide(columns)
    least = masks.bounds.mean(keepdims=True)
    if overlapping:
        labels = np.zeros(pixels.shape, dtype=bool)
        labels[:, chosen] = masks.labels.T
        return _decision(labels.reshape(q.shape), masks.values.mean(keepdims=True), least)
    if len(pixels) <= FEW:
        found, value = best_partition(columns, chosen, rule, partial)
        least = np.array([value])
    elif len(chosen) == 1:
        found, value = np.where(masks.labels[0], chosen[0], -1), float(masks.values[0])
    else:
        found, value = MapSearch(pixels, chosen, rule, formula, masks.labels).run()
    return _decision(_filled(found, pixels, chosen).reshape(q.shape[:-1]), np.array([value]), least)


def _of_costs(q: Values, loss: CostMatrix, overlapping: bool, classes: Sequence[int] | None) -> Decision:
    """``argmin_d sum_c q_c costs[c, d]`` in each pixel, which is exact."""
    if overlapping or classes is not None:
        raise Refusal(
            "a decision of a map for a matrix of costs is refused with overlapping or classes: it gives one of all "
            "classes to each pixel. Leave both out.",
            DECISIONS_REFUSE,
        )
    if loss.k != q.shape[-1]:
        raise ValueError(f"costs must have a row and a column for each class, {q.shape[-1]}; got {loss.k}.")
    expected = q @ loss.counted
    value = expected.min(axis=-1).mean(keepdims=True).reshape(1)
    return _decision(np.asarray(expected.argmin(axis=-1)), value, value)


def _as_classes(classes: Sequence[int] | None, k: int) -> Ints:
    """The numbers of the classes over which the mean is taken, rising."""
    if classes is None:
        return np.arange(k)
    given = as_array(classes, "classes")
    if given.ndim != 1 or not len(given) or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(f"classes must be None or a sequence of class numbers; got {shown(classes)}.")
    chosen: Ints = np.unique(given).astype(np.int64)
    if len(chosen) < len(given) or chosen[0] < 0 or chosen[-1] >= k:
        raise ValueError(f"classes must be different numbers from 0 to {k - 1}; got {shown(classes)}.")
    return chosen


def _filled(labels: Ints, pixels: Values, chosen: Ints) -> Ints:
    """The labels, with the most probable of the other classes where the label is none of the chosen ones."""
    others = np.setdiff1d(np.arange(pixels.shape[1]), chosen)
    if not len(others):
        return labels
    return np.where(np.isin(labels, chosen), labels, others[pixels[:, others].argmax(axis=1)])


def _checked(probabilities: ArrayLike, overlapping: bool) -> Values:
    """The probabilities (..., k) in float64."""
    q = as_reals(probabilities, "probabilities")
    if q.ndim < 2 or q.size == 0 or q.shape[-1] < 2:
        raise ValueError(f"probabilities must have shape (..., k) with k >= 2 classes, not empty; got shape {q.shape}.")
    refuse_outside(q, "probabilities")
    sums = q.sum(axis=-1)
    if not overlapping and (np.abs(sums - 1.0) > SLACK).any():
        odd = float(sums.ravel()[np.abs(sums - 1.0).argmax()])
        raise ValueError(f"probabilities must have the sum 1 over the last axis, the classes; got the sum {odd:.9g}.")
    return q


def _decision(labels: NDArray[Any], values: Values, bounds: Values) -> Decision:
    return Decision(labels, values, np.minimum(bounds, values), bounds >= values)
