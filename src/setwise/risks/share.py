"""What one place has of a data set: its rows, and the sets that they belong to."""

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from setwise.core.arrays import Bools, Ints, Values
from setwise.core.evaluator import Evaluation, Evaluator, Surrogate
from setwise.core.pieces import Piece, Question
from setwise.core.sets import Sets
from setwise.models.row_block import RowBlock
from setwise.risks.census import GATHERED, SPREAD, WHOLE, Plan


class Brief(NamedTuple):
    """The sums of the values and of the bounds of the whole sets, and the scores of the rows that are gathered."""

    value: float
    upper: float
    scores: Values


class Ended(NamedTuple):
    """The plane of a place: its slope, ``<g, s - base>``, and a bound of the digits that were lost over ``|w|``."""

    slope: Values
    inner: float
    lost: float


@final
@dataclass(frozen=True, eq=False)
class Share:
    """The rows of a place, in the order of the kinds of their sets, and the evaluator of those that are whole.

    Parameters
    ----------
    rows, truth : the rows and their labels, (m,)
    numbers, offsets : set ``numbers[i]`` has the rows ``offsets[i]:offsets[i+1]``
    kinds, weights : the kind and the share in the risk of each of them
    evaluator : the surrogate of the whole sets; None where there are none
    """

    rows: RowBlock
    truth: Bools
    numbers: Ints
    offsets: Ints
    kinds: Ints
    weights: Values
    evaluator: Evaluator | None

    @classmethod
    def of(cls, rows: RowBlock, truth: Bools, ids: Any, plan: Plan, surrogate: Surrogate) -> "Share":
        """The share of a place whose rows belong to the sets ``ids``, in an order of its own."""
        if len(rows.lengths) != len(truth):
            raise ValueError(f"truth must have one label for each row, {len(rows.lengths)}; got {len(truth)}.")
        order = np.lexsort((plan.numbers, plan.kinds))
        kinds, sizes = plan.kinds[order], np.array([len(truth)] if len(plan.kinds) else [], dtype=np.int64)
        if ids is not None:
            owners = np.unique(ids, return_inverse=True)[1]
            places = np.empty(len(order), dtype=np.int64)
            places[order] = np.arange(len(order))
            sizes, ranks = np.bincount(owners, minlength=len(order))[order], places[owners]
            if (np.diff(ranks) < 0).any():
                sorted_rows = np.argsort(ranks, kind="stable")
                rows, truth = rows.take(sorted_rows), truth[sorted_rows]
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        n_whole = int((kinds == WHOLE).sum())
        end = offsets[n_whole]
        whole = surrogate.on(Sets(truth[:end], offsets[: n_whole + 1])) if n_whole else None
        return cls(rows, truth, plan.numbers[order], offsets, kinds, plan.weights[order], whole)

    def scores(self, w: Values) -> Values:
        """The scores of the rows, (m,)."""
        return self.rows.scores(w)

    def begin(self, scores: Values, tol: float) -> Evaluation | None:
        """The evaluation of the whole sets."""
        return None if self.evaluator is None else self.evaluator(scores[: self._end(WHOLE)], tol)

    def brief(self, scores: Values, begun: Evaluation | None) -> Brief:
        """What the place sends before anything is known of sets that span places."""
        part, weights = slice(self._end(WHOLE), self._end(GATHERED)), self.weights[self.kinds == WHOLE]
        sums = (0.0, 0.0) if begun is None else (float(weights @ begun.values), float(weights @ begun.upper))
        return Brief(*sums, scores[part])

    def gathered(self) -> tuple[Bools, Ints]:
        """The labels of the rows that are gathered, and the numbers of their sets."""
        part, sizes = slice(self._end(WHOLE), self._end(GATHERED)), np.diff(self.offsets)
        chosen = self.kinds == GATHERED
        return self.truth[part], np.repeat(self.numbers[chosen], sizes[chosen])

    def floor(self) -> float:
        """A lower bound of the values of the whole sets; inf where there are none."""
        return np.inf if self.evaluator is None else self.evaluator.floor

    def answer(self, scores: Values, questions: dict[int, Question]) -> dict[int, Any]:
        """The answers to questions about the spread sets, by their numbers."""
        return {number: questions[number](piece) for number, piece in self._pieces(scores) if number in questions}

    def end(self, scores: Values, begun: Evaluation | None, gathered: Values, gradients: dict[int, Question]) -> Ended:
        """The plane of all rows, from the weighted gradient of the gathered rows, and the gradients of spread sets."""
        parts = []
        if begun is not None:
            sizes, n_whole = np.diff(self.offsets), int((self.kinds == WHOLE).sum())
            parts.append(begun.gradient * np.repeat(self.weights[:n_whole], sizes[:n_whole]))
        parts.append(gathered)
        spread = self.weights[self.kinds == SPREAD]
        for (number, piece), weight in zip(self._pieces(scores), spread, strict=True):
            parts.append(gradients[number](piece) * weight)
        gradient = np.concatenate(parts)
        lost = float(np.abs(gradient) @ self.rows.lengths)
        return Ended(self.rows.pullback(gradient), float(gradient @ scores), lost)

    def _pieces(self, scores: Values) -> list[tuple[int, Piece]]:
        """The numbers of the spread sets and their pieces."""
        found = []
        for i in np.flatnonzero(self.kinds == SPREAD):
            part = slice(self.offsets[i], self.offsets[i + 1])
            found.append((int(self.numbers[i]), Piece(scores[part], self.truth[part])))
        return found

    def _end(self, kind: int) -> int:
        """Where the rows of the sets of this kind end."""
        return int(self.offsets[int((self.kinds <= kind).sum())])
