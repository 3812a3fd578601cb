"""What searches for one wrong label share: right labels one by one, and the best labels down to a bound."""

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.arrays import Floats, Ints, Values
from setwise.core.checks import as_scores
from setwise.core.flip_costs import EqualCosts, FlipCosts, NearestHamming
from setwise.core.flips import Flips
from setwise.core.inference import Inference, Maximizer, Solution, Solutions
from setwise.core.refusal import Refusal
from setwise.core.structure import Structure

Falling = Iterator[tuple[float, Ints]]
"""Labels (width,) with numbers that fall, or stay equal, from each one to the next."""

ROUNDS = 6
"""So many weights of the distance from a right label are tried before a list of labels is made."""


def unfit_for_flips(method: Inference, structure: Structure, kind: type[Flips]) -> str | None:
    """Why a method for one kind of labels refuses a structure, as a sentence; None if it fits."""
    name, given = type(method).__name__, type(structure.batch).__name__
    if not isinstance(structure.batch, kind):
        return f"{name} refuses {given}: it knows {kind.__name__}. Use an inference made for {given}, as Auto()."
    if len(structure.terms) > 1 or not all(isinstance(term, FlipCosts) for term in structure.terms):
        return f"{name} refuses {structure!r}: it takes one cost of single labels. Use MaxLoss(GivenCosts(function))."
    return None


@dataclass
class Worst:
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

    Right labels are checked one by one. Others are looked at in falling order of ``g(y) = f(y) + a d(y)``, where d is
    the share of places in which y differs from one right label and a >= 0 is chosen for the costs: every label that
    comes later is worth at most what g allows, so the search ends where that is no more than the best value. With equal
    costs this is the first label that is not right. Under slack rescaling with Hamming costs, ``d (1 + f)`` is at most
    its maximum over d in [0, 1] with f = g - a d.

    Parameters
    ----------
    limit : so many labels that are not right are looked at for an input and a call, at most
    """

    def __init__(self, method: Any, structure: Structure, slack: bool, limit: int) -> None:
        self.method, self.structure, self.slack, self.most_labels = method, structure, slack, limit
        self.flips: Any = structure.batch
        self.costs: FlipCosts | None = structure.terms[0] if structure.terms else None  # type: ignore[assignment]
        self.factor = 0.0 if self.costs is None else self.costs.factor

    @abstractmethod
    def falling(self, i: int, scores: Values, apart: Ints | None = None, weight: float = 0.0, many: int = 1) -> Falling:
        """The labels of input i in falling order of ``f(y) + weight d(y)``, d the share of places other than ``apart``.

        About ``many`` of them will be asked for.
        """

    def by_distance(self, i: int, scores: Values, truth: Ints) -> tuple[Values, Ints] | None:
        """The largest f at each distance 1..width from ``truth``, and its labels; None where only lists are known.

        It is -inf where there is no such label.
        """
        return None

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        batch = self.flips
        labels, bounds = np.zeros(batch.total, np.int64), np.zeros(len(batch))
        for i in range(len(batch)):
            own = scores[batch.score_offsets[i] : batch.score_offsets[i + 1]].astype(np.float64)
            worst = Worst()
            self._offer(i, own, batch.truths[i], -1.0, worst)
            # Values are sums of scores, times costs under slack rescaling, and so is their rounding.
            slip = 1e-12 * (1.0 + np.abs(own).sum()) * (1.0 + (self.factor * self._most(i) if self.slack else 0.0))
            self._outside(i, own, worst, max(float(tol[i]), slip))
            if worst.label is not None:
                labels[batch.offsets[i] : batch.offsets[i + 1]] = worst.label + 1
            bounds[i] = worst.bound if worst.bound - worst.value > slip else worst.value
        return self.solved(scores, labels, bounds)

    def _offer(self, i: int, own: Values, labels: Ints, sign: float, worst: Worst) -> None:
        """Offers labels that are all right (sign -1) or all others (1)."""
        if not len(labels):
            return
        won = sign * self.flips.label_scores(i, own, labels)
        costs = np.zeros(len(labels)) if self.costs is None else self.factor * self.costs.of(self.flips, i, labels)
        worst.offer(labels, costs * (1.0 + won) if self.slack else costs + won)

    def _outside(self, i: int, own: Values, worst: Worst, tol: float) -> None:
        """The worst label that is not right."""
        truths = self.flips.truths[i]
        if isinstance(self.costs, NearestHamming) and len(truths):
            apart, weight = self._nearest(i, own, worst, tol)
            if worst.bound - worst.value > tol:
                self._descend(i, own, self.falling(i, own, apart, weight, 4), self._ceiling(weight), worst, tol)
            return
        even, most = isinstance(self.costs, EqualCosts | NearestHamming | None), self.factor * self._most(i)
        ceiling: Callable[[float], float] = (lambda f: most * (1.0 + f)) if self.slack else (lambda f: most + f)
        many = len(truths) + (2 if even else 8)
        self._descend(i, own, self.falling(i, own, many=many), ceiling, worst, tol)

    def _most(self, i: int) -> float:
        """No label of input i that is not right costs more, before the factor."""
        if isinstance(self.costs, NearestHamming):
            # Without right labels every label is missed.
            return 1.0 if len(self.flips.truths[i]) else self.costs.missed
        return 0.0 if self.costs is None else self.costs.most

    def _descend(
        self, i: int, own: Values, falling: Falling, ceiling: Callable[[float], float], worst: Worst, tol: float
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

    def _nearest(self, i: int, own: Values, worst: Worst, tol: float) -> tuple[Ints, float]:
        """A right label and the weight of the distance from it that bound all labels with Hamming costs least.

        Each right label bounds the costs by the share of places that differ from it, so the least bound holds.
        """
        truths = self.flips.truths[i]
        best, least = (truths[0], self.factor), np.inf
        for truth in truths:
            if not self.slack:
                # The list of lambda + f itself: its first label bounds all others.
                g = next(self.falling(i, own, truth, self.factor, 1))[0]
                if g < least:
                    best, least = (truth, self.factor), g
                continue
            exact = self.by_distance(i, own, truth)
            if exact is not None:
                sums, labels = exact
                self._offer_outside(i, own, labels[sums > -np.inf], worst)
                shares = np.arange(1, len(sums) + 1) / len(sums)
                worst.limit(float(np.max(self.factor * shares * (1.0 + sums), initial=0.0, where=sums > -np.inf)))
                if worst.bound - worst.value <= tol:
                    return best
            weight, bound = self._weight(i, own, truth, worst)
            if bound < least:
                best, least = (truth, weight), bound
        worst.limit(least)
        return best

    def _weight(self, i: int, own: Values, truth: Ints, worst: Worst) -> tuple[float, float]:
        """The weight a of the distance from a right label whose best label bounds the rest least, with the bound.

        For the share d and u = 1 + f of the worst label, d u is at most its bound with equality where a = u / d. So
        each weight follows from the best label for the one before.
        """
        best, least, weight = 0.0, np.inf, 0.0
        for _ in range(ROUNDS):
            g, label = next(self.falling(i, own, truth, weight, 1))
            bound = self._ceiling(weight)(g)
            if bound < least:
                best, least = weight, bound
            self._offer_outside(i, own, label[None], worst)
            share = float((label != truth).mean())
            won = 1.0 + g - weight * share
            if won <= 0.0 and weight == 0.0:
                # No label is worth more than 0.
                return 0.0, 0.0
            # Where the best label is the right one itself, a larger weight moves away from it.
            weight = max(won, 0.0) / share if share else max(2.0 * weight, won)
        return best, least

    def _ceiling(self, weight: float) -> Callable[[float], float]:
        """What a label is worth at most, by its place in the list with ``weight``, for Hamming costs."""
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

    def _offer_outside(self, i: int, own: Values, labels: Ints, worst: Worst) -> None:
        """Offers those labels that are not right."""
        truths = self.flips.truths[i]
        self._offer(i, own, labels[~(labels[:, None] == truths[None]).all(axis=2).any(axis=1)], 1.0, worst)

    def _ranked(self, scores: ArrayLike) -> list[Iterator[Solution]]:
        """For every input an iterator over its labels in falling order of f, written plus one."""
        if self.costs is not None or any(len(rows) for rows in self.flips.truths):
            raise Refusal(
                f"k_best and above refuse {self.structure!r} with right labels: they list labels by their scores. Take "
                "a batch without truths, and no loss."
            )
        s = as_scores(scores, self.flips.n_scores)
        ends = self.flips.score_offsets
        return [self._list(i, s[a:b].astype(np.float64)) for i, (a, b) in enumerate(pairwise(ends))]

    def _list(self, i: int, own: Values) -> Iterator[Solution]:
        for f, label in self.falling(i, own, many=8):
            yield Solution(label + 1, f, f, True, type(self.method).__name__)
