"""The weighted mean of a surrogate over sets whose rows lie in several places, exactly: no set is cut in two."""

from collections.abc import Sequence
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.arrays import Ints, Values
from setwise.core.checks import as_kind, as_number, as_point
from setwise.core.cut import Cut, Cuts
from setwise.core.evaluator import Surrogate
from setwise.core.pieces import PiecedEvaluation, Question
from setwise.core.risk import Risk
from setwise.models.row_block import RowBlock
from setwise.risks.census import Census, extent_of
from setwise.risks.mean import EPSILON
from setwise.risks.meeting import Meeting
from setwise.risks.places import Each, Kept, Places
from setwise.risks.share import Share


@final
class DistributedRisk(Risk):
    """``R(w) = sum_i omega_i B_i(Phi_i w)`` over the n sets of a data set whose rows lie in several places.

    Rows never leave their place. Sets that lie whole in one place are evaluated there. Of the others, small ones send
    their scores; of large ones the places send summaries of their scores, in a few rounds, until the value is known to
    within ``tol`` (:mod:`setwise.core.pieces`). All sums are taken in the order of the places, as a tree, so that the
    bits of a plane do not depend on who computes what.

    The whole risk is one part, so a learner for parts makes planes of the whole.

    Parameters
    ----------
    places : where the rows lie
    rows : the :class:`~setwise.models.RowBlock` of each place
    truth : the labels (m,) of the rows of each place, bool
    surrogate : a convex one
    ids : the ids (m,) of the sets of these rows; None makes all rows one set
    weights : (n,) non-negative, not all 0, in the order of the sorted ids; None gives all sets the same weight
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
        sizes = {int(size) for size in places.tell(_size_of, rows)}
        if len(sizes) > 1:
            raise ValueError(f"rows must have the same features in all places; got {sorted(sizes)} weights.")
        self.size, self.n_parts = sizes.pop(), 1
        self.census = Census(places.tell(extent_of, truth, ids), surrogate, weights)
        plans = Each([self.census.plan(k) for k in range(places.count)])
        self._shares = places.keep(Share.of, rows, truth, ids, plans, surrogate)
        self._meeting = Meeting.of(self.census, places.tell(Share.gathered, self._shares), surrogate)
        floors = [*places.tell(Share.floor, self._shares), self._meeting.floor]
        floors += [one.floor for one in self.census.spread.values()]
        # Where the surrogate has a floor, the risk has one, and learners begin with it.
        self.floors = None if min(floors) == -np.inf else np.array([min(floors)])

    def cut(self, w: Values, tol: float = 0.0) -> Cut:
        """Returns the plane ``sum_i omega_i (B_i(s_i) + <g_i, Phi_i v - Phi_i w>)``, a function of v."""
        w, tol, places = as_point(w, self.size), as_number(tol, "tol", low=0.0), self.places
        scores = places.keep(Share.scores, self._shares, w)
        begun = places.keep(Share.begin, self._shares, scores, tol)
        briefs = places.tell(Share.brief, self._shares, scores, begun)
        found, gathered = self._meeting.evaluate([brief.scores for brief in briefs], tol)
        spread = self._spread(scores, tol)
        ends = places.tell(Share.end, self._shares, scores, begun, Each(gathered), Each(self._gradients(spread)))
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


def _size_of(rows: RowBlock) -> int:
    return rows.size
