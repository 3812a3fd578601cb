"""The weighted mean of a surrogate over sets whose rows lie in several places, exactly: no set is cut in two."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.checks import Ints, Values, as_kind, as_number, as_point
from setwise.core.exceptions import Refusal
from setwise.core.pages import PLACES_REFUSE
from setwise.core.risk import Cut, Cuts, Risk
from setwise.core.surrogate import PiecedEvaluation, Question, Surrogate
from setwise.risks.census import GATHERED, Census, extent_of
from setwise.risks.mean import EPSILON
from setwise.risks.meeting import Meeting
from setwise.risks.places import Each, Kept, Places
from setwise.risks.share import Share


@final
class DistributedRisk(Risk):
    """``R(w) = sum_i omega_i B_i(Phi_i w)`` over the n sets of a data set whose rows lie in several places.

    Rows never leave their place, and are asked for twice for each plane: for their scores, and for the slope. Sets that
    lie whole in one place are evaluated there. Of the others, small ones send their scores; of large ones the places
    send summaries of their scores, in a few rounds, until the value is known to within ``tol``
    (:mod:`setwise.core.surrogate`). All sums are taken in the order of the places, as a tree, so that the bits of a
    plane do not depend on who computes what.

    The whole risk is one part, so a learner for parts makes planes of the whole.

    Source: own; docs/guide/cluster.md shows it at work.

    Parameters
    ----------
    places : where the rows lie
    rows : the :class:`~setwise.models.RowBlock` of each place
    truth : the labels (m,) of the rows of each place, bool
    surrogate : any; large sets that span places need one that can be evaluated in pieces
    ids : the ids (m,) of the sets of these rows; None makes all rows one set
    weights : (n,) non-negative, not all 0, in the order of the sorted ids; None gives all sets the same weight

    Raises
    ------
    TypeError : for arguments of another kind
    ValueError : for labels and ids that do not fit the rows, places whose rows differ in features, and weights below 0,
        all 0 or of another shape
    Refusal : where the sets that span places are too many for their ``room``, or the surrogate needs a large one of
        them in one place

    Examples
    --------
    >>> from setwise.models import RowBlock
    >>> from setwise.risks import DistributedRisk
    >>> from setwise.risks.places import Here, KeptHere
    >>> from setwise.surrogates import LovaszHinge
    >>> rows = KeptHere([RowBlock([[1.0], [2.0]], intercept=0.0), RowBlock([[3.0]], intercept=0.0)])
    >>> truth = KeptHere([np.array([True, False]), np.array([True])])  # one set that lies in two places
    >>> risk = DistributedRisk(Here(2), rows, truth, LovaszHinge("hamming"))
    >>> risk.cut(np.array([0.25])).value  # max(0, 1 - 0.25) + max(0, 1 + 0.5) + max(0, 1 - 0.75)
    2.5
    """

    def __init__(
        self,
        places: Places,
        rows: Kept,
        truth: Kept,
        surrogate: Surrogate,
        ids: Kept | None = None,
        weights: ArrayLike | None = None,
    ) -> None:
        self.places = as_kind(places, "places", Places, "Here(8)")
        self.surrogate = as_kind(surrogate, "surrogate", Surrogate, "MarginRescaling(loss)")
        as_kind(rows, "rows", Kept, "KeptHere(list of RowBlock)")
        as_kind(truth, "truth", Kept, "KeptHere(list of bool arrays)")
        if ids is not None:
            as_kind(ids, "ids", Kept, "None, or KeptHere(list of arrays)")
        self.census = Census(places.tell(extent_of, truth, ids), surrogate, weights)
        gathered = int(self.census.sizes[self.census.kinds == GATHERED].sum())
        if gathered > places.room:
            raise Refusal(
                f"{gathered} rows of sets that span places are refused, for there is room for the scores of "
                f"{places.room}: give more memory, or sort the rows by set, so that few sets span places.",
                PLACES_REFUSE,
            )
        plans = Each([self.census.plan(k) for k in range(places.count)])
        self._rows, self._shares = rows, places.keep(Share.of, rows, truth, ids, plans, surrogate)
        sizes = set(places.tell(Share.width, self._shares))
        if len(sizes) > 1:
            raise ValueError(f"rows must have the same features in all places; got {sorted(sizes)} weights.")
        self.size, self.n_parts = sizes.pop(), 1
        self._meeting = Meeting.of(self.census, places.tell(Share.gathered, self._shares), surrogate)
        parts = [one for one in (self._meeting.evaluator, *self.census.spread.values()) if one is not None]
        self.convex = all(places.tell(Share.convex, self._shares)) and all(one.convex for one in parts)
        floors = [*places.tell(Share.floor, self._shares), self._meeting.floor]
        floors += [one.floor for one in self.census.spread.values()]
        # Where the surrogate has a floor, the risk has one, and learners begin with it.
        self.floors = None if min(floors) == -np.inf else np.array([min(floors)])

    def cut(self, w: Values, tol: float = 0.0) -> Cut:
        """Returns the plane ``sum_i omega_i (B_i(s_i) + <g_i, Phi_i v - Phi_i w>)``, a function of v."""
        w, tol, places = as_point(w, self.size), as_number(tol, "tol", low=0.0), self.places
        scores = places.keep(Share.scores, self._shares, self._rows, w)
        begun = places.keep(Share.begin, self._shares, scores, tol)
        briefs = places.tell(Share.brief, self._shares, scores, begun)
        found, gathered = self._meeting.evaluate([brief.scores for brief in briefs], tol)
        spread = self._spread(scores, tol)
        gradients = Each(gathered), Each(self._gradients(spread))
        ends = places.tell(Share.end, self._shares, self._rows, scores, begun, *gradients)
        slope, inner, lost = (tree_sum([end[k] for end in ends]) for k in range(3))
        weights = self.census.weights
        values = [brief.value for brief in briefs] + [found[0]] + [weights[i] * one.value for i, one in spread.items()]
        uppers = [brief.upper for brief in briefs] + [found[1]] + [weights[i] * one.upper for i, one in spread.items()]
        value, upper = float(tree_sum(values)), float(tree_sum(uppers))
        rounding = 4.0 * EPSILON * (abs(value) + abs(inner) + lost * float(np.sqrt(w @ w)))
        return Cut(value - float(inner), np.asarray(slope), value, upper, rounding)

    def cuts(self, w: Values, parts: Ints, tol: float = 0.0) -> Cuts:
        """Returns the plane of the whole risk, its only part."""
        cut = self.cut(w, tol)
        offset, value, upper, rounding = (np.array([x]) for x in (cut.offset, cut.value, cut.upper, cut.rounding))
        return Cuts(offset, cut.slope[None, :], value, upper, rounding)

    def _spread(self, scores: Kept, tol: float) -> dict[int, PiecedEvaluation]:
        """The evaluations of the spread sets, whose dialogues go on side by side."""
        dialogues = {i: one.search(tol) for i, one in self.census.spread.items()}
        found: dict[int, PiecedEvaluation] = {}
        questions: dict[int, Question] = {}
        replies: dict[int, list[Any] | None] = dict.fromkeys(dialogues)
        while replies:
            questions = {}
            for i, reply in replies.items():
                try:
                    questions[i] = next(dialogues[i]) if reply is None else dialogues[i].send(reply)
                except StopIteration as end:
                    found[i] = end.value
            if not questions:
                break
            answers = self.places.tell(Share.answer, self._shares, scores, questions)
            replies = {i: [answers[k][i] for k in self.census.holders[i]] for i in questions}
        return found

    def _gradients(self, spread: dict[int, PiecedEvaluation]) -> list[dict[int, Question]]:
        """What computes the gradient of its pieces at each place."""
        out: list[dict[int, Question]] = [{} for _ in range(self.places.count)]
        for i, one in spread.items():
            for k, gradient in zip(self.census.holders[i], one.gradients, strict=True):
                out[k][i] = gradient
        return out


def tree_sum(parts: Sequence[Any]) -> Any:
    """The sum of numbers or arrays, halves first, so that its bits depend on their order alone."""
    if len(parts) <= 2:
        return sum(parts[1:], parts[0])
    middle = len(parts) // 2
    return tree_sum(parts[:middle]) + tree_sum(parts[middle:])
