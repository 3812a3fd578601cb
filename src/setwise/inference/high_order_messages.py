"""Messages between a network and loss factors, in turn (HOL 5.2); they are multipliers, so they give a bound."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Bools, Values, as_count, as_number
from setwise.core.inference import Inference, Maximizer, rounding_next_to
from setwise.core.structure import Structure
from setwise.core.terms import LargestOf, RegionCounts
from setwise.inference.by_components import each_component
from setwise.inference.factors import Factored, unfit_for_factors
from setwise.inference.set_by_set import SetBySet, each_set

EQUAL = 1e-12
"""Messages that differ by this share are equal but for rounding."""


@final
@dataclass(frozen=True)
class HighOrderMessages(Inference):
    """``max_y sum_f l_f(y) + <s, phi(y)>`` by messages between a network and the factors l_f of the loss (HOL 5.2).

    The network tells each factor how much more it has, at best, where an entry is 1 rather than 0, less what that
    factor told it: differences of max-marginals, by dynamic cuts (COMPOSE). Each factor answers likewise from its own
    max-marginals (HOL Eq. 4), and its message ``m_f`` moves by a share of the way to that answer. A single factor of
    independent decisions is exact at once.

    For any numbers m ``max_y [<s, phi(y)> + sum_f <m_f, y>] + sum_f max_y [l_f(y) - <m_f, y>]`` is an upper bound, and
    the labelings of these maxima are candidates: in each round for the messages of the factors, and for those of the
    network with the opposite sign. They do not descend on the bound, so the lowest one of all rounds is returned;
    :class:`setwise.inference.FactorDecomposition` lowers the same bound.

    Parameters
    ----------
    damping : the share of the way to the answer that a message goes, in (0, 1]. HOL names .95, but not whether it is
        the share of the new message, as here, or of the old one
    max_iter : the largest number of rounds

    Raises
    ------
    TypeError : for a ``damping`` that is no number, and a ``max_iter`` that is no whole number
    ValueError : for a ``damping`` outside of (0, 1], and a ``max_iter`` below 1
    Refusal : from :meth:`prepare`, for losses with other terms than counts, boxes and paths, for boxes that forbid
        numbers, and slack rescaling

    Examples
    --------
    >>> from setwise.core.networks import Graphs
    >>> from setwise.inference import HighOrderMessages
    >>> from setwise.losses import Jaccard
    >>> image = Graphs.images([np.array([[True, True, False, False]])])
    >>> scores = [2.0, 0.5, 0.0, -2.0] + [0.25] * 3  # of four pixels, then of three edges
    >>> maximizer = HighOrderMessages().prepare(Jaccard().structure(image))
    >>> found = maximizer.maximize(scores)
    >>> print(found.labels, found.values.round(4))  # one false positive: 1/3, where the score does not change
    [ True  True  True False] [0.3333]
    """

    damping: float = 0.95
    max_iter: int = 50

    name: ClassVar[str] = "high_order_messages"
    about: ClassVar[str] = "cuts and several loss factors send each other messages"
    approximate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_number(self.damping, "damping", low=0.0, high=1.0, open_low=True)
        as_count(self.max_iter, "max_iter")

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        why = unfit_for_factors(self, structure, slack)
        if why is not None:
            return why
        for term in structure.terms:
            twin = term.twin if isinstance(term, LargestOf) else term
            if isinstance(twin, RegionCounts) and not (twin.tables > -np.inf).all():
                return f"HighOrderMessages refuses {structure!r}: it forbids numbers. Use FactorDecomposition."
        return None

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        def bound(parts: Structure) -> Maximizer:
            return SetBySet(self, parts, [Factored(one) for one in each_set(parts)], self._search)

        return each_component(structure, bound)

    def _search(self, one: Factored, scores: Values, tol: float) -> "_Best":
        """The best labels of one set, and the lowest bound, of some rounds of messages."""
        best = _Best(one, scores)
        messages = np.zeros(len(one.nodes))
        for _ in range(self.max_iter + 1):
            best.see(messages)
            if best.closed(tol):
                break
            # What no labeling of the network allows is as far off as all scores together.
            most = 4.0 * (1.0 + np.abs(scores).sum() + np.abs(messages).sum())
            told = _told(one, scores, messages, most)
            best.see(-told)
            answers = _answers(one, told, most)
            size = max(np.abs(scores).max(initial=0.0), np.abs(answers).max(initial=0.0))
            if best.closed(tol) or np.abs(answers - messages).max(initial=0.0) <= EQUAL * size:
                break
            messages = messages + self.damping * (answers - messages)
        return best


@final
class _Best:
    """The best labels of one set among those that were seen, their value, and the lowest bound."""

    def __init__(self, one: Factored, scores: Values) -> None:
        self._one, self._scores = one, scores
        self.labels: Bools = one.batch.truth
        self.value, self.bound = one.value(scores, self.labels), np.inf

    def see(self, multipliers: Values) -> None:
        """Take the bound for these multipliers, and value the labelings of its maxima."""
        above, *found = self._one.bound(self._scores, multipliers)
        self.bound = min(self.bound, above)
        for candidate in self._one.candidates(*found):
            value = self._one.value(self._scores, candidate)
            if value > self.value:
                self.value, self.labels = value, candidate

    def closed(self, tol: float) -> bool:
        """Whether value and bound differ by no more than ``tol`` and rounding."""
        return self.bound - self.value <= max(tol, rounding_next_to(self.value, self._scores, self._one.batch))


def _told(one: Factored, scores: Values, messages: Values, most: float) -> Values:
    """What the network tells the factors whose messages it has, (entries,)."""
    both = one.network.max_marginals(one.moved(scores, messages))
    return np.asarray(np.clip((both[:, 1] - both[:, 0])[one.nodes] - messages, -most, most))


def _answers(one: Factored, told: Values, most: float) -> Values:
    """What the factors answer, (entries,)."""
    out = np.zeros(len(one.nodes))
    for factor, span in zip(one.factors, one.spans, strict=True):
        both = factor.max_marginals(told[span])
        out[span] = np.clip(both[:, 1] - both[:, 0] - told[span], -most, most)
    return out
