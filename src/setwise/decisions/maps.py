"""Decisions for maps of classes: one label for each pixel, or one mask for each class."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.arrays import Bools, Ints, Values
from setwise.core.checks import as_array, as_flag, as_number, as_reals, shown
from setwise.core.given import refuse_outside
from setwise.core.measure import Loss
from setwise.core.refusal import Refusal
from setwise.decisions.by_partition import FEW, best_partition
from setwise.decisions.choice import rule_for
from setwise.decisions.decision import Decision
from setwise.decisions.formula import Formula, formula_of
from setwise.decisions.rule import Rule
from setwise.kernels.maps import assign
from setwise.losses import as_loss
from setwise.losses.mean_over_classes import MeanOverClasses

ROUNDS = 40
"""So often the prices of the classes are changed at most."""

EVALUATED = 16384
"""In maps of at most so many pixels several labelings are evaluated; in larger ones the best by means of counts."""

MIXTURES = np.linspace(0.0, 1.0, 33)
"""The shares of a new labeling that are tried in a mixture with those before it."""

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

    Parameters
    ----------
    probabilities : (..., k) of the k classes of each pixel, k >= 2; they have the sum 1, but for ``overlapping``
    loss : an increasing loss of counts, as ``"jaccard"`` or ``FBeta(zero_division=0.0)``, or its mean over classes
    overlapping : whether a pixel may have several classes, or none
    tol : the gap of the expected loss of a mask at which its search may stop in large maps
    classes : the numbers of the classes over which the mean is taken, as all but the background; None takes all. Where
        none of them is worth a pixel, the pixel gets the most probable one of the others

    Returns
    -------
    Decision
        ``labels`` (...) of 0..k-1, or bool (..., k) with ``overlapping``, and one value and bound, of the mean. With
        ``overlapping`` only ``classes`` have masks
    """
    as_flag(overlapping, "overlapping")
    gap, q = as_number(tol, "tol", low=0.0), _checked(probabilities, overlapping)
    bound = as_loss(loss)
    inner = bound.loss if isinstance(bound, MeanOverClasses) else bound
    k = q.shape[-1]
    pixels = np.ascontiguousarray(q.reshape(-1, k))
    formula = formula_of(inner, len(pixels)) if inner.reads == "labels" else None
    if formula is None:
        raise Refusal(
            f"a decision of a map for {inner!r} is refused: it is no function of the counts of labels. Use FBeta or "
            "Jaccard."
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
        found, value = _Search(pixels, chosen, rule, formula, np.asarray(masks.labels.any(axis=1))).run()
    return _decision(_filled(found, pixels, chosen).reshape(q.shape[:-1]), np.array([value]), least)


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


@final
class _Search:
    """The search for the best prices of one map, whose loss is the mean over the ``chosen`` classes.

    ``used`` says which of them have a best mask of their own that is not empty.
    """

    def __init__(self, pixels: Values, chosen: Ints, rule: Rule, formula: Formula, used: Bools) -> None:
        self.pixels, self.chosen, self.rule, self.formula, self.used = pixels, chosen, rule, formula, used
        self.k = pixels.shape[1]
        self.columns = np.ascontiguousarray(pixels.T[chosen])
        self.expected = self.columns.sum(axis=1)

    def run(self) -> tuple[Ints, float]:
        """The best labeling found, (p,), and its expected loss."""
        none = np.zeros(self.k)
        argmax, sizes, hits = self._assigned(np.ones(self.k), none)
        found = [(argmax, float(self._at_means(sizes, hits))), self._descend(none)]
        # A class whose own best mask is empty is not worth a pixel, unless this holds for all.
        if not self.used.all() and (self.used.any() or len(self.chosen) < self.k):
            closed = none.copy()
            closed[self.chosen[~self.used]] = np.inf
            found.append(self._descend(closed))
        if self.formula.size > EVALUATED:
            # In large maps counts are near their means.
            found = [min(found, key=lambda pair: pair[1])]
        values = [self._value(labels) for labels, _ in found]
        best = int(np.argmin(values))
        return found[best][0], values[best]

    def _value(self, labels: Ints) -> float:
        """The expected loss of one label for each pixel."""
        return float(self.rule.expect(self.columns, labels == self.chosen[:, None]).mean())

    def _assigned(self, gains: Values, prices: Values) -> tuple[Ints, Values, Values]:
        """The labels for these prices, and the sizes and the sums of probabilities of the chosen classes."""
        labels, sizes, hits = np.empty(len(self.pixels), dtype=np.int64), *np.empty((2, self.k))
        assign(self.pixels, gains, prices, labels, sizes, hits)
        return labels, sizes[self.chosen], hits[self.chosen]

    def _descend(self, closed: Values) -> tuple[Ints, float]:
        """The best labeling seen, and its loss, in steps towards the labeling of the prices of a mixture (Frank-Wolfe).

        Losses are taken at the means of the counts here. ``closed`` is inf for classes that get no pixel.
        """
        labels, sizes, hits = self._assigned(np.ones(self.k), closed)
        best, value = labels, float(self._at_means(sizes, hits))
        for _ in range(ROUNDS):
            # The other classes cost nothing and gain nothing.
            gains, prices = np.zeros((2, self.k))
            gains[self.chosen], prices[self.chosen] = self._slopes(sizes, hits)
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
