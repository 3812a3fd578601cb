"""What one place knows of its rows: their labels, and the sets that they belong to."""

from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checks import Bools, Ints, Values
from setwise.core.surrogate import Evaluation, Evaluator, Piece, Question, Surrogate
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
    """The labels of the rows of a place, in the order of the kinds of their sets, and the evaluator of the whole ones.

    The rows themselves are not among it: they are passed to what needs them, and may be read anew for that.

    Parameters
    ----------
    size : the number of weights
    order : row i of the share is row ``order[i]`` of the place; None where the order is the same
    truth : the labels of the rows, (m,)
    numbers, offsets : set ``numbers[i]`` has the rows ``offsets[i]:offsets[i+1]``
    kinds, weights : the kind and the share in the risk of each of them
    evaluator : the surrogate of the whole sets; None where there are none
    """

    size: int
    order: Ints | None
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
        order, sorted_rows = np.lexsort((plan.numbers, plan.kinds)), None
        kinds, sizes = plan.kinds[order], np.array([len(truth)] if len(plan.kinds) else [], dtype=np.int64)
        if ids is not None:
            owners = np.unique(ids, return_inverse=True)[1]
            places = np.empty(len(order), dtype=np.int64)
            places[order] = np.arange(len(order))
            sizes, ranks = np.bincount(owners, minlength=len(order))[order], places[owners]
            if (np.diff(ranks) < 0).any():
                sorted_rows = np.argsort(ranks, kind="stable")
                truth = truth[sorted_rows]
        offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        n_whole = int((kinds == WHOLE).sum())
        end = offsets[n_whole]
        whole = surrogate.on(Sets(truth[:end], offsets[: n_whole + 1])) if n_whole else None
        numbers, weights = plan.numbers[order], plan.weights[order]
        return cls(rows.size, sorted_rows, truth, numbers, offsets, kinds, weights, whole)

    def width(self) -> int:
        """The number of weights."""
        return self.size

    def scores(self, rows: RowBlock, w: Values) -> Values:
        """The scores of the rows of the place, (m,), in the order of the share."""
        scores = rows.scores(w)
        return scores if self.order is None else scores[self.order]

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

    def convex(self) -> bool:
        """Whether the surrogate of the whole sets is convex."""
        return self.evaluator is None or self.evaluator.convex

    def answer(self, scores: Values, questions: dict[int, Question]) -> dict[int, Any]:
        """The answers to questions about the spread sets, by their numbers."""
        return {number: questions[number](piece) for number, piece in self._pieces(scores) if number in questions}

    def end(
        self,
        rows: RowBlock,
        scores: Values,
        begun: Evaluation | None,
        gathered: Values,
        gradients: dict[int, Question],
    ) -> Ended:
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
        inner = float(gradient @ scores)
        if self.order is not None:
            ordered, gradient = gradient, np.empty_like(gradient)
            gradient[self.order] = ordered
        return Ended(rows.pullback(gradient), inner, float(np.abs(gradient) @ rows.lengths))

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
