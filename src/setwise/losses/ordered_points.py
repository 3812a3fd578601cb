"""The order of points on a grid, as HOL 5.1 uses it for landmarks."""

from dataclasses import dataclass
from typing import ClassVar, Literal, final

from setwise.core.batch import Batch, Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Values, as_choice, as_count
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import PLACES_REFUSE
from setwise.core.terms import MisplacedPairs, SetFunction


@final
@dataclass(frozen=True)
class OrderedPoints(Loss):
    """``[some pair of points lies wrong]``, or with ``per="pair"`` the share of pairs that do; in [0, 1].

    A label is a state of a grid: state v is the point in row ``v // width`` and column ``v % width``. Two points lie
    wrong to each other if they are not in the true order from top to bottom, or not in that from left to right. Equal
    rows are an order of their own, and so are equal columns. Where the points lie precisely does not matter. A point
    whose true state is not known belongs to no pair, and a set without pairs has the loss 0. O(k^2) for a set of k
    points.

    Source: HOL 5.1; the definition of equal rows, and the share, are setwise's own.

    Parameters
    ----------
    width : the number of columns of the grid; rows follow from the number of labels
    per : ``"set"`` for the loss of 0 and 1, ``"pair"`` for the share of pairs

    Raises
    ------
    TypeError : if width is no whole number
    ValueError : if width is below 1, or ``per`` is another word

    Examples
    --------
    >>> from setwise.losses import OrderedPoints
    >>> # On a grid of 10 columns: (row 0, column 0), (1, 1) and (2, 2).
    >>> truth = [0, 11, 22]
    >>> OrderedPoints(10)(truth, [0, 33, 99])  # all moved, but in the same order
    0.0
    >>> OrderedPoints(10)(truth, [0, 22, 11])  # one of three pairs lies wrong
    1.0
    >>> round(OrderedPoints(10, "pair")(truth, [0, 22, 11]), 3)
    0.333
    """

    width: int
    per: Literal["set", "pair"] = "set"

    name: ClassVar[str] = "ordered_points"
    reads: ClassVar = "classes"
    traits = frozenset()

    def __post_init__(self) -> None:
        as_count(self.width, "width")
        as_choice(self.per, "per", ("set", "pair"))

    @classmethod
    def examples(cls, p: int) -> "list[OrderedPoints]":
        return [OrderedPoints(2), OrderedPoints(1), OrderedPoints(2, "pair"), OrderedPoints(3, "pair")]

    def check(self, batch: Batch) -> None:
        if isinstance(batch, Sets) and batch.totals is not None:
            raise Refusal(f"{self!r} refuses pieces of sets: it evaluates all points of a set together.", PLACES_REFUSE)

    def _bind(self, batch: Batch) -> BoundLoss:
        term = MisplacedPairs(self.width, share=self.per == "pair")
        if not isinstance(batch, Sets):
            return BoundLoss(batch, (term,))

        # With two states the mistakes tell where the points are, so the loss is a set function of them.
        def value(sets: Sets, mistakes: Bools) -> Values:
            return term.values(sets, sets.truth ^ mistakes)

        return BoundLoss(batch, (SetFunction(value, frozenset()),))

    def __repr__(self) -> str:
        return f"OrderedPoints({self.width}{'' if self.per == 'set' else ', ' + repr(self.per)})"
