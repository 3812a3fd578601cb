"""Greedy inference: add the best mistake as long as it pays (Nemhauser, Wolsey, Fisher 1978; LH 6.1 and 6.4).

It finds labelings. What no labeling exceeds is bounded from above by the terms of the loss.
"""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.batch import Orders, Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Floats, Values
from setwise.core.counts import Counts
from setwise.core.inference import Inference, Maximizer, Solutions, Takes
from setwise.core.terms import Trait
from setwise.inference.independent_decisions import SETS, ReducedProblem
from setwise.kernels.segments import least_of_caps, segment_argmax, segment_sums


def upper_bounds(bound_loss: BoundLoss, margins: Values, slack: bool, mistakes: Bools) -> Values:
    """Returns upper bounds on ``max_A l(A) - m(A)`` or ``max_A l(A) (1 - m(A))``, (n,); inf without a known trait.

    Margin rescaling: where ``l(A) <= h(A)`` for a modular h, ``max_A h(A) - m(A)`` splits over the decisions.
    Increasing losses give the constant ``h = l(V)``; submodular ones also give two modular bounds for each of the
    empty, the full and the given set X: ``h(A) = l(X) - sum_(j in X - A) l(j | V - j) + sum_(j in A - X) l(j | X)`` and
    ``h(A) = l(X) - sum_(j in X - A) l(j | X - j) + sum_(j in A - X) l(j | none)`` (Nemhauser, Wolsey, Fisher 1978).

    Slack rescaling: ``x y <= ((t x + y / t) / 2)^2`` for x, y >= 0 and any t > 0, with x the loss and y the factor. The
    bracket is largest at the maximum of ``t^2 l(A) - m(A)``, a problem of margin rescaling that is bounded as above.
    The least of the bounds for a few t is returned.
    """
    offsets = bound_loss.batch.offsets
    if not bound_loss.traits & {Trait.INCREASING, Trait.SUBMODULAR}:
        return np.full(len(bound_loss.batch), np.inf)
    bases, gains = map(np.stack, zip(*_modular_caps(bound_loss, mistakes), strict=True))
    if not slack:
        return np.asarray(least_of_caps(bases, gains, margins, np.ones(len(bound_loss.batch)), offsets))
    # Try t^2 around the quotient of the largest factor and the largest loss, where the two sides would balance.
    largest_loss = bases[0] + segment_sums(np.maximum(gains[0], 0.0), offsets)
    largest_factor = 1.0 + segment_sums(np.maximum(-margins, 0.0), offsets)
    balance = largest_factor / np.where(largest_loss > 0, largest_loss, 1.0)
    best = largest_loss * largest_factor
    for ratio in np.geomspace(1 / 64, 64, 25):
        weight = balance * ratio
        bound = least_of_caps(bases, gains, margins, weight, offsets)
        with np.errstate(over="ignore"):
            best = np.minimum(best, np.maximum(bound + 1.0, 0.0) ** 2 / (4.0 * weight))
    return np.asarray(np.maximum(best, bound_loss.at_empty()))


def _modular_caps(bound_loss: BoundLoss, mistakes: Bools) -> list[tuple[Values, Values]]:
    """Returns pairs (base (n,), gain (total,)) with ``l(A) <= base + gain(A)`` for all A."""
    sets = bound_loss.batch
    assert isinstance(sets, Sets)
    truth, everything = sets.truth, np.ones(sets.total, dtype=bool)
    caps = []
    if Trait.INCREASING in bound_loss.traits:
        caps.append((bound_loss.values(everything ^ truth), np.zeros(sets.total)))
    if Trait.SUBMODULAR in bound_loss.traits:
        first_gains = bound_loss.marginals(truth)
        last_gains = _last_gains(bound_loss, everything)
        for at in (~everything, everything, mistakes):
            value, gains = bound_loss.values(at ^ truth), bound_loss.marginals(at ^ truth)
            # The first bound of the docstring above: l(j | V - j) inside X, l(j | X) outside.
            caps.append(_cap(value, np.where(at, last_gains, gains), at, sets))
            # The second: l(j | X - j) inside X, l(j | none) outside.
            lost_gains = _last_gains(bound_loss, at) if at is mistakes else np.where(at, last_gains, 0.0)
            caps.append(_cap(value, np.where(at, lost_gains, first_gains), at, sets))
    return caps


def _cap(value: Values, gain: Values, at: Bools, sets: Sets) -> tuple[Values, Values]:
    """Returns ``value - sum_(j in at - A) gain_j + sum_(j in A - at) gain_j`` in the form base plus gain(A)."""
    return value - segment_sums(np.where(at, gain, 0.0), sets.offsets), gain


def _last_gains(bound_loss: BoundLoss, at: Bools) -> Values:
    """Returns ``l(at) - l(at - j)`` for j in ``at``, else 0, (total,): the gain of j where it enters last."""
    sets = bound_loss.batch
    assert isinstance(sets, Sets)
    out = np.zeros(sets.total)
    values = bound_loss.values(at ^ sets.truth)
    members = Orders.of_mistakes(sets, at)
    # Each round takes the next member out of every set that still has one.
    for place in range(int(members.sizes.max(initial=0))):
        sets_left = np.flatnonzero(members.sizes > place)
        items = members.items[members.offsets[sets_left] + place]
        without = at.copy()
        without[items] = False
        out[items] = (values - bound_loss.values(without ^ sets.truth))[sets_left]
    return out


@final
@dataclass(frozen=True)
class GreedySearch(Inference):
    """Adds to A the decision that raises the objective most, until none does. Approximate, O(p^2), for any loss.

    The bound comes from the traits of the loss (:func:`setwise.inference.greedy_search.upper_bounds`): it is finite for
    losses that are submodular or increasing and infinite for others. Where it meets the value, the answer is exact.

    Source: the greedy search of LH 6.1; the bound is own.

    Raises
    ------
    Refusal : from :meth:`prepare`, for batches other than binary decisions, unknown labels, and losses of a given
        number of predicted positives

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import GreedySearch
    >>> from setwise.losses import CappedLoss
    >>> bound_loss = CappedLoss([1.0, 1.0, 1.0], 1.5).bind(Sets.single([1, 0, 0]))
    >>> found = GreedySearch().prepare(bound_loss).maximize([2.0, -0.25, -0.25])
    >>> print(found.labels, found.values, found.bounds, found.exact)
    [ True  True  True] [1.] [1.] [ True]
    """

    name: ClassVar[str] = "greedy"
    about: ClassVar[str] = "one mistake after another"
    approximate: ClassVar[bool] = True
    takes: ClassVar[Takes] = SETS

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        if any(isinstance(term, Counts) and term.predicted is not None for term in bound_loss.terms):
            return f"GreedySearch refuses {bound_loss!r}: the number of predicted positives is given. Use CountSearch."
        return None

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return _GreedySearch(self, bound_loss, slack)


@final
class _GreedySearch(Maximizer):
    def __init__(self, method: GreedySearch, bound_loss: BoundLoss, slack: bool) -> None:
        self.method, self.bound_loss, self.slack = method, bound_loss, slack
        # The loss is evaluated whole, so nothing moves into the scores, as under slack rescaling.
        self._reduced = ReducedProblem.of(bound_loss, True)

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        margins = self._reduced.margins(scores)
        mistakes = self._grow(margins)
        bounds = upper_bounds(self.bound_loss, margins, self.slack, mistakes) + self._reduced.target_shift(scores)
        return self.solved(scores, self._reduced.labels(mistakes), bounds)

    def _grow(self, margins: Values) -> Bools:
        """Returns the greedy mistakes of every set, (total,) bool; in each round every set adds one at most."""
        sets, bound_loss = self._reduced.sets, self.bound_loss
        mistakes = np.zeros(sets.total, dtype=bool)
        value, lost = bound_loss.at_empty(), np.zeros(len(sets))
        while True:
            gains = bound_loss.marginals(self._reduced.labels(mistakes))
            if self.slack:
                # The product rises by (l + gain)(1 - lost - m) - l (1 - lost).
                rise = gains * (1.0 - lost[sets.owners] - margins) - value[sets.owners] * margins
            else:
                rise = gains - margins
            best = segment_argmax(np.where(mistakes, -np.inf, rise), sets.offsets)
            # Sets without a mistake that pays are done; where all are mistakes, the first of them was picked.
            best = best[rise[best] > 0]
            best = best[~mistakes[best]]
            if len(best) == 0:
                return mistakes
            mistakes[best] = True
            value = bound_loss.values(self._reduced.labels(mistakes))
            lost = segment_sums(np.where(mistakes, margins, 0.0), sets.offsets)
