"""What searches for one wrong label share: right labels one by one, and the best labels down to a bound."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Floats, Ints, Values, as_scores
from setwise.core.exceptions import Refusal
from setwise.core.inference import Maximizer, Solution, Solutions, Takes, rounding
from setwise.core.pages import FORCED_LABELS
from setwise.core.single_labels import EqualCosts, FlipCosts, Flips, NearestHammingCosts

Falling = Iterator[tuple[float, Ints]]
"""Labels (width,) with numbers that fall, or stay equal, from each one to the next."""

ROUNDS, MIXED = 6, 16
"""So many weights of the distance from one right label, and from several, are tried before a list is made."""


def single_labels(kind: type[Flips]) -> Takes:
    """What a method for one kind of labels takes."""
    knows = f"it takes {kind.__name__}. Use an inference made for {{kind}}, such as Auto()."
    costs = "it takes one cost of single labels. Use MaxLoss(GivenCosts(function))."
    return Takes(kind, "{kind}: " + knows, terms=FlipCosts, other_terms=costs, single=True)


def farther(scores: Values, truths: Ints, weights: Values) -> Values:
    """Scores (T, k) of single numbers of a label, where those of right labels (J, T) lose their part of the weights.

    So labels gain ``sum_j a_j d_j`` by their distances d_j from the right labels, less the sum of the weights.
    """
    out, places = scores.copy(), np.arange(len(scores))
    for truth, weight in zip(truths, weights, strict=True):
        out[places, truth] -= weight / len(scores)
    return out


@dataclass
class WorstMistake:
    """The worst mistake of one input so far: ``value <= maximum <= bound``; no label where none is wrong."""

    value: float = 0.0
    bound: float = np.inf
    label: Ints | None = None

    def offer(self, labels: Ints, values: Values) -> None:
        """Take the label of largest value, if it is better."""
        if len(values) and values.max() > self.value:
            at = int(values.argmax())
            self.value, self.label = float(values[at]), labels[at]

    def limit(self, bound: float) -> None:
        """Lower the bound, which never falls below the value."""
        self.bound = min(self.bound, max(bound, self.value))


class RankedMaximizer(Maximizer):
    """``max`` over single labels of ``lambda(Y, y) (1 - v_y f(y))`` or ``lambda(Y, y) - v_y f(y)``, and 0 for none.

    Right labels are checked one by one. Others are looked at in falling order of ``g(y) = f(y) + sum_j a_j d_j(y)``,
    where d_j is the share of places in which y differs from the j-th right label, and the weights a_j >= 0 are chosen
    for the costs: every label that comes later is worth at most what g allows, so the search ends where that is no more
    than the best value. With equal costs all a_j are 0, and this is the first label that is not right.

    Hamming costs are the least d_j, hence at most their mean d by a. So lambda + f is at most g for weights of sum 1.
    Under slack rescaling, lambda (1 + f) is at most the maximum of d (1 + g - a d) over d in [0, 1], a the sum of the
    weights. Each label that is found first by some weights makes them better: a becomes (1 + f) / d, where this bound
    is met, and the weights of the distances that are large there fall.

    Parameters
    ----------
    limit : so many labels that are not right are looked at for an input and a call, at most
    """

    def __init__(self, method: Any, bound_loss: BoundLoss, slack: bool, limit: int) -> None:
        self.method, self.bound_loss, self.slack, self.most_labels = method, bound_loss, slack, limit
        self.flips: Any = bound_loss.batch
        self.costs: FlipCosts | None = bound_loss.terms[0] if bound_loss.terms else None  # type: ignore[assignment]
        self.factor = 0.0 if self.costs is None else self.costs.factor

    @abstractmethod
    def falling(self, i: int, scores: Values, weights: Values | None = None, many: int = 1) -> Falling:
        """The labels of input i in falling order of ``f(y) + sum_j a_j d_j(y)``; None for weights a_j of 0.

        About ``many`` of them will be asked for.
        """

    def by_distance(self, i: int, scores: Values, truth: Ints) -> tuple[Values, Ints] | None:
        """The largest f at each distance 1..width from ``truth``, and its labels; None where only lists are known.

        It is -inf where there is no such label.
        """
        return None

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        batch = self.flips
        labels, (bounds, most) = np.zeros(batch.total, np.int64), np.zeros((2, len(batch)))
        for i in range(len(batch)):
            own = scores[batch.score_offsets[i] : batch.score_offsets[i + 1]].astype(np.float64)
            worst = WorstMistake()
            self._offer(i, own, batch.truths[i], -1.0, worst)
            most[i], size = self.factor * self._most(i), float(np.abs(own).sum())
            # Values are sums of scores and costs, or their products, and so is their rounding.
            slip = rounding(batch.addends[i], most[i] * (1.0 + size) if self.slack else most[i] + size)
            self._outside(i, own, worst, max(float(tol[i]), float(slip)))
            if worst.label is not None:
                labels[batch.offsets[i] : batch.offsets[i + 1]] = worst.label + 1
            bounds[i] = worst.bound
        return self.solved(scores, labels, bounds, most)

    def _offer(self, i: int, own: Values, labels: Ints, sign: float, worst: WorstMistake) -> None:
        """Offers labels that are all right (sign -1) or all others (1)."""
        if not len(labels):
            return
        won = sign * self.flips.label_scores(i, own, labels)
        costs = np.zeros(len(labels)) if self.costs is None else self.factor * self.costs.of(self.flips, i, labels)
        worst.offer(labels, costs * (1.0 + won) if self.slack else costs + won)

    def _outside(self, i: int, own: Values, worst: WorstMistake, tol: float) -> None:
        """The worst label that is not right."""
        truths = self.flips.truths[i]
        if isinstance(self.costs, NearestHammingCosts) and len(truths):
            weights = self._weights(i, own, worst, tol)
            if worst.bound - worst.value > tol:
                self._descend(i, own, self.falling(i, own, weights, 4), self._ceiling(weights.sum()), worst, tol)
            return
        even, most = isinstance(self.costs, EqualCosts | NearestHammingCosts | None), self.factor * self._most(i)
        ceiling: Callable[[float], float] = (lambda f: most * (1.0 + f)) if self.slack else (lambda f: most + f)
        many = len(truths) + (2 if even else 8)
        self._descend(i, own, self.falling(i, own, many=many), ceiling, worst, tol)

    def _most(self, i: int) -> float:
        """No label of input i that is not right costs more, before the factor."""
        if isinstance(self.costs, NearestHammingCosts):
            # Without right labels every label is missed.
            return 1.0 if len(self.flips.truths[i]) else self.costs.missed
        return 0.0 if self.costs is None else self.costs.most

    def _descend(
        self, i: int, own: Values, falling: Falling, ceiling: Callable[[float], float], worst: WorstMistake, tol: float
    ) -> None:
        """Looks at labels until no later one can be worse than the worst so far by more than ``tol``."""
        right, looked = {row.tobytes() for row in self.flips.truths[i]}, 0
        for g, label in falling:
            top = ceiling(g)
            if top - worst.value <= tol or looked == self.most_labels:
                worst.limit(top)
                return
            if label.tobytes() not in right:
                self._offer(i, own, label[None], 1.0, worst)
                looked += 1
        worst.limit(worst.value)

    def _weights(self, i: int, own: Values, worst: WorstMistake, tol: float) -> Values:
        """The weights of the distances from the right labels that bound Hamming costs least, (J,)."""
        each = np.eye(len(self.flips.truths[i]))
        starts = list(each)
        if self.slack:
            bounds = [self._by_distance(i, own, truth, worst) for truth in self.flips.truths[i]]
            # A right label whose bound is known to be loose needs no weights of its own.
            starts = [start for start, bound in zip(each, bounds, strict=True) if bound == min(bounds)]
        best: Values = each[0]
        least = np.inf
        for start in [*starts, each.mean(axis=0)]:
            if worst.bound - worst.value <= tol:
                break
            weights, bound = self._improved(i, own, start, worst)
            if bound < least:
                best, least = weights, bound
            worst.limit(least)
        return best

    def _by_distance(self, i: int, own: Values, truth: Ints, worst: WorstMistake) -> float:
        """What the distance from one right label alone bounds under slack rescaling; inf where that is not known."""
        exact = self.by_distance(i, own, truth)
        if exact is None:
            return np.inf
        sums, labels = exact
        self._offer_outside(i, own, labels[sums > -np.inf], worst)
        shares = np.arange(1, len(sums) + 1) / len(sums)
        bound = float(np.max(self.factor * shares * (1.0 + sums), initial=0.0, where=sums > -np.inf))
        worst.limit(bound)
        return bound

    def _improved(self, i: int, own: Values, start: Values, worst: WorstMistake) -> tuple[Values, float]:
        """The weights with the least bound on the way from those of a start, whose sum is 1, and that bound."""
        truths, mixed = self.flips.truths[i], np.count_nonzero(start) > 1
        weight, mix = 0.0 if self.slack else self.factor, start
        best, least = weight * mix, np.inf
        for _ in range(MIXED if mixed else ROUNDS if self.slack else 1):
            g, label = next(self.falling(i, own, weight * mix, 1))
            bound = self._ceiling(weight)(g)
            if bound < least:
                best, least = weight * mix, bound
            self._offer_outside(i, own, label[None], worst)
            shares = (label != truths).mean(axis=1)
            share = float(mix @ shares)
            if self.slack:
                won = 1.0 + g - weight * share
                if won <= 0.0 and weight == 0.0:
                    # No label is worth more than 0.
                    return best, 0.0
                # Where the best label is a right one itself, a larger weight moves away from it.
                weight = max(won, 0.0) / share if share else max(2.0 * weight, won)
            mix = mix * np.exp(2.0 * (share - shares))
            mix = mix / mix.sum()
        return best, least

    def _ceiling(self, weight: float) -> Callable[[float], float]:
        """What a label is worth at most by its g, for Hamming costs and weights of this sum."""
        if not self.slack:
            return lambda g: g

        def ceiling(g: float) -> float:
            won = 1.0 + g
            if won <= 0.0:
                return 0.0
            # The share d in [0, 1] with the largest d (1 + g - weight d).
            share = 1.0 if won >= 2.0 * weight else won / (2.0 * weight)
            return self.factor * share * (won - weight * share)

        return ceiling

    def _offer_outside(self, i: int, own: Values, labels: Ints, worst: WorstMistake) -> None:
        """Offers those labels that are not right."""
        truths = self.flips.truths[i]
        self._offer(i, own, labels[~(labels[:, None] == truths[None]).all(axis=2).any(axis=1)], 1.0, worst)

    def _ranked(self, scores: ArrayLike) -> list[Iterator[Solution]]:
        """For every input an iterator over its labels in falling order of f, written plus one."""
        if self.costs is not None or any(len(rows) for rows in self.flips.truths):
            raise Refusal(
                f"k_best and above refuse {self.bound_loss!r} with right labels: they list labels by their scores. "
                "Take a batch without truths, and no loss.",
                FORCED_LABELS,
            )
        s = as_scores(scores, self.flips.n_scores)
        ends = self.flips.score_offsets
        return [self._list(i, s[a:b].astype(np.float64)) for i, (a, b) in enumerate(pairwise(ends))]

    def _list(self, i: int, own: Values) -> Iterator[Solution]:
        for f, label in self.falling(i, own, many=8):
            yield Solution(label + 1, f, f, True, type(self.method).__name__)
