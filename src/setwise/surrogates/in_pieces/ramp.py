"""The ramp of a set in pieces: margin rescaling less what the prediction wins over the truth."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from setwise.core.checks import Floats
from setwise.core.surrogate import Piece, PiecedEvaluation, PiecedEvaluator, Question, Search


@final
@dataclass(frozen=True, eq=False)
class RampInPieces(PiecedEvaluator):
    """``worst - max_y <s, y - truth> / scale``, where the maximum is attained by the labels ``s > 0``.

    Parameters
    ----------
    worst : margin rescaling of the loss with the same scale
    scale : the number by which scores are divided
    nudge : how far scores of 0 are moved towards the truth before the gradient is taken
    """

    worst: PiecedEvaluator
    scale: float
    nudge: float

    convex: bool = False

    def search(self, tol: float) -> Search:
        """The dialogue of margin rescaling, and one question more."""
        found = yield from self.worst.search(tol)
        won = float(np.sum((yield Won(self.scale))))
        # Of huge scores the difference is rounding alone.
        value, upper = max(found.value - won, self.floor), max(found.upper - won, self.floor)
        if not any((yield _has_zero)):
            return PiecedEvaluation(value, upper, [Less(each, self.scale) for each in found.gradients])
        near = yield from self._nudged(self.worst.search(tol))
        return PiecedEvaluation(value, upper, [Nudged(Less(each, self.scale), self.nudge) for each in near.gradients])

    def _nudged(self, dialogue: Search) -> Search:
        """The same dialogue about scores that are not 0."""
        try:
            question = next(dialogue)
            while True:
                question = dialogue.send((yield Nudged(question, self.nudge)))
        except StopIteration as end:
            found: PiecedEvaluation = end.value
            return found


def _has_zero(piece: Piece) -> bool:
    return not piece.scores.all()


@final
@dataclass(frozen=True)
class Nudged:
    """The answer of a question whose scores of 0 are moved towards the truth."""

    question: Question
    nudge: float

    def __call__(self, piece: Piece) -> Any:
        moved = np.where(piece.truth, self.nudge, -self.nudge).astype(piece.scores.dtype)
        return self.question(Piece(np.where(piece.scores == 0, moved, piece.scores), piece.truth))


@final
@dataclass(frozen=True)
class Won:
    """What the prediction of a piece wins over the truth: ``sum |s| / scale`` over mistakes."""

    scale: float

    def __call__(self, piece: Piece) -> float:
        wrong = (piece.scores > 0) != piece.truth
        return float(np.abs(piece.scores[wrong]).sum(dtype=np.float64)) / self.scale


@final
@dataclass(frozen=True, eq=False)
class Less:
    """The gradient of margin rescaling less that of the score of the prediction, ``([s > 0] - truth) / scale``."""

    worst: Question
    scale: float

    def __call__(self, piece: Piece) -> Floats:
        ahead = (piece.scores > 0).view(np.int8) - piece.truth.view(np.int8)
        return np.asarray(self.worst(piece) - ahead / self.scale)
