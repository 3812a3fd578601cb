"""One set whose decisions lie in several places, which send summaries of their scores instead of the scores."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, final

from setwise.core.arrays import Bools, Floats


@final
@dataclass(frozen=True, eq=False)
class Piece:
    """The finite ``scores`` (m,) and the ``truth`` (m,) of the decisions of a set that lie in one place; m may be 0."""

    scores: Floats
    truth: Bools


Question = Callable[[Piece], Any]
"""What a place computes of its piece: a small answer of plain arrays and numbers. Questions can be pickled."""


@final
@dataclass(frozen=True, eq=False)
class PiecedEvaluation:
    """``value <= true value <= upper`` of a set in pieces, and for each piece what computes its gradient (m,).

    The gradients of all pieces are that of ``value``: with it they make a plane below a convex function.
    """

    value: float
    upper: float
    gradients: Sequence[Question]


Asked = TypeVar("Asked")
Found = TypeVar("Found")
Dialogue = Generator[Question, list[Any], Found]
"""It yields questions, is sent the answers of all pieces in their order, and returns what it has found."""

Search = Dialogue[PiecedEvaluation]


class PiecedEvaluator(ABC):
    """A surrogate bound to one set that lies in pieces; the numbers of its positives and negatives are known.

    Attributes
    ----------
    floor : a lower bound of all its values
    convex : whether it is convex in the scores
    """

    floor: float = 0.0
    convex: bool = True

    @abstractmethod
    def search(self, tol: float) -> Search:
        """The dialogue that finds the value to within ``tol``; 0 asks for the exact one, up to rounding.

        What it asks does not depend on how decisions are spread over the pieces, but for the order of equal scores.
        """


def evaluated(evaluator: PiecedEvaluator, pieces: Sequence[Piece], tol: float = 0.0) -> PiecedEvaluation:
    """The evaluation of a set whose pieces all lie in this process."""
    return ended(evaluator.search(tol), lambda question: [question(piece) for piece in pieces])


def ended(dialogue: Generator[Asked, list[Any], Found], ask: Callable[[Asked], list[Any]]) -> Found:
    """What a dialogue finds, where ``ask`` returns the answers of all pieces."""
    try:
        question = next(dialogue)
        while True:
            question = dialogue.send(ask(question))
    except StopIteration as end:
        found: Found = end.value
        return found
