"""Surrogates: functions of the scores of a batch, with a value, a gradient and an upper bound for each set.

There are differences of two of them, of which the first is convex, and affine functions of scores. Where the decisions
of a set lie in several places, these send summaries of their scores instead of the scores.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.batch import Batch, Sets, segments
from setwise.core.checks import Bools, Floats, Ints, Values, as_kind, as_limit, as_reals, as_scores, as_tolerances
from setwise.core.exceptions import Refusal
from setwise.core.pages import NOT_CONVEX, PLACES_REFUSE
from setwise.kernels.segments import segment_sums


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


@final
@dataclass(frozen=True, eq=False)
class Evaluation:
    """Bounds ``values <= true values <= upper`` of the sets of a batch, and the gradient of ``values``.

    Attributes
    ----------
    values : (n,), one for each set
    gradient : (n_scores,), of ``values`` by the scores, in their dtype
    upper : (n,), upper bounds of the true values
    exact : (n,) truth values: where True, value and bound agree up to rounding

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.surrogates import LovaszHinge
    >>> two_sets = Sets(np.array([True, False, True, True]), offsets=np.array([0, 2, 4]))
    >>> found = LovaszHinge("hamming").batch(two_sets, [0.5, 0.5, 2.0, 0.0])
    >>> print(found.values, found.gradient, found.exact)
    [2. 1.] [-1.  1.  0. -1.] [ True  True]
    """

    values: Values
    gradient: Floats
    upper: Values
    exact: Bools


@final
@dataclass(frozen=True)
class SetEvaluation:
    """Bounds ``value <= true value <= upper`` of one set, and the gradient of ``value``.

    Attributes
    ----------
    value : one number
    gradient : (p,), of ``value`` by the scores, in their dtype
    upper : an upper bound of the true value
    exact : whether value and bound agree up to rounding

    Examples
    --------
    >>> from setwise.surrogates import LovaszHinge
    >>> found = LovaszHinge("hamming")([1, 0], [0.5, 0.5])  # the margin errors are 0.5 and 1.5
    >>> print(found.value, found.gradient, found.upper, found.exact)
    2.0 [-1.  1.] 2.0 True
    """

    value: float
    gradient: Floats
    upper: float
    exact: bool


class Evaluator(ABC):
    """A function of the flat scores of a batch, one value for each set.

    The gradient is a subgradient of the function where ``exact``. Elsewhere value and gradient still make a plane
    below a convex function, and ``upper`` bounds the true value from above.

    Source: own; why surrogates live on scores is told in docs/adr/0002-surrogates-live-on-scores.md.

    Attributes
    ----------
    batch : the batch whose layout the scores have
    convex : whether the function is convex in the scores
    floor : a lower bound of all its values

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.surrogates import LovaszHinge
    >>> evaluator = LovaszHinge("jaccard").on(Sets.single([1, 0]))
    >>> print(evaluator([0.5, 0.5]).values, evaluator([1.0, -1.0]).values)
    [1.] [0.]
    >>> evaluator.convex, evaluator.floor
    (True, 0.0)
    """

    batch: Batch
    convex: bool = True
    floor: float = -np.inf

    @abstractmethod
    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        """The computation behind :meth:`__call__`, for checked scores and ``tol`` of shape (n,)."""

    @abstractmethod
    def take(self, parts: Ints) -> "Evaluator":
        """The evaluator of the chosen sets; it shares with this one what is stored between calls."""

    @final
    def __call__(self, scores: ArrayLike, tol: ArrayLike = 0.0) -> Evaluation:
        """The value, the gradient in the dtype of the scores, and the bound of every set.

        ``scores`` are finite floats of shape (n_scores,). Inference may stop for a set once its value is known to
        within ``tol``, which is one number or one for each set.
        """
        checked = as_scores(scores, self.batch.n_scores)
        # An overflow is refused below in one sentence, so NumPy need not warn of it.
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.evaluate(checked, as_tolerances(tol, len(self.batch)))
        if not np.isfinite(found.values).all():
            raise OverflowError(f"scores are too large: {self!r} overflows float64; scale them down.")
        return found

    def majorant(self, scores: ArrayLike) -> "Evaluator":
        """A convex evaluator that is nowhere below this one and equals it at ``scores``; itself where it is convex."""
        if self.convex:
            return self
        raise Refusal(f"{self!r} has no convex majorant.", NOT_CONVEX)

    def redrawn(self, seed: int) -> "Evaluator":
        """The same function with new noise, which depends on (seed, set, sample) alone; itself if it has no noise."""
        return self


class Surrogate(ABC):
    """An operator that turns a loss into an evaluator (LH Eq. 5); a likelihood is a surrogate without a loss.

    It is called with one set, or bound to many at once by :meth:`on` or :meth:`batch`.

    Attributes
    ----------
    name : the short name under which it is listed

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.surrogates import MarginRescaling, Surrogate
    >>> surrogate = MarginRescaling("jaccard")
    >>> isinstance(surrogate, Surrogate)
    True
    >>> surrogate([1, 0], [0.5, 0.5]).value  # a false positive costs 1/2 and wins 0.5
    1.0
    >>> surrogate.batch(Sets.single([1, 0]), [0.5, 0.5]).values
    array([1.])
    """

    name: ClassVar[str]

    @abstractmethod
    def on(self, batch: Any) -> Evaluator:
        """The surrogate bound to a batch; everything that depends on the truth alone is computed here, once.

        Raises ValueError where its loss does not fit the batch, and Refusal where the combination makes no sense.
        """

    def in_pieces(self, negatives: int, positives: int) -> PiecedEvaluator:
        """The surrogate bound to one set that lies in several places, with these numbers of decisions in all.

        Raises
        ------
        Refusal : if it needs all scores of a set in one place
        """
        raise Refusal(f"{self!r} needs all scores of a set in one place.", PLACES_REFUSE)

    @final
    def batch(self, batch: Batch, scores: ArrayLike) -> Evaluation:
        """The value, gradient and bound of every set, for finite floats ``scores`` of shape (n_scores,)."""
        return self._bound(batch)(scores)

    def _bound(self, batch: Batch) -> Evaluator:
        """The evaluator bound to a batch; it is stored with the batch, since the truth of a batch never changes."""
        kept = as_kind(batch, "batch", Batch, "Sets.single(y)").kept
        if self not in kept:
            kept[self] = self.on(batch)
        found: Evaluator = kept[self]
        return found

    @final
    def __call__(self, y: ArrayLike, scores: ArrayLike) -> SetEvaluation:
        """The value, gradient and bound of one set, for ``y`` (p,) of 0 and 1 and finite floats ``scores`` (p,)."""
        found = self.batch(Sets.single(y, "y"), scores)
        return SetEvaluation(float(found.values[0]), found.gradient, float(found.upper[0]), bool(found.exact[0]))


@final
class LinearEvaluator(Evaluator):
    """``constant + <s, direction>`` for each set, an affine function of the scores.

    Source: this library; the second part of the majorants of :class:`Difference`.

    Parameters
    ----------
    batch : the batch to which the scores belong
    direction : (n_scores,), the coefficients of the scores
    constant : (n,), one number for each set

    Raises
    ------
    TypeError : for anything but a batch
    ValueError : for numbers of another shape, or that are not finite

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.surrogates import LinearEvaluator
    >>> line = LinearEvaluator(Sets.single([1, 0]), direction=[1.0, -1.0], constant=[2.0])
    >>> line([3.0, 1.0]).values  # 2 + 3 - 1
    array([4.])
    """

    def __init__(self, batch: Any, direction: Values, constant: Values) -> None:
        self.batch = as_kind(batch, "batch", Batch, "Sets.single(y)")
        self.direction = as_reals(direction, "direction", (batch.n_scores,))
        self.constant = as_reals(constant, "constant", (len(batch),))

    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        """The function of each set, and its coefficients."""
        values = self.constant + segment_sums(scores * self.direction, self.batch.score_offsets)
        return Evaluation(values, self.direction.astype(scores.dtype), values, np.ones(len(values), dtype=bool))

    def take(self, parts: Ints) -> "LinearEvaluator":
        """The functions of the chosen sets."""
        places = segments(parts, self.batch.score_offsets)
        return LinearEvaluator(self.batch.take(parts), self.direction[places], self.constant[parts])


@final
class Difference(Evaluator):
    """``first - second`` of two evaluators, as in ramp losses, for unknown labels, and for missing data.

    The difference of two convex functions is taken for convex only if the second is affine. The majorant at given
    scores is the first evaluator minus the tangent of the second (Yuille and Rangarajan 2003). The upper bound is the
    bound of the first minus the value of the second. Where the second is not exact, the value is no lower bound of the
    difference.

    Parameters
    ----------
    first, second : evaluators of one batch
    floor : a lower bound of the difference, in the unit of the values; -inf for none
    nudge : (n_scores,) what is added to scores of exactly 0 before both gradients are taken; None takes them as they
        are. Where both parts have several gradients, as two maxima at scores of 0, each chooses one of its own, and
        their difference need not be a gradient of the difference anywhere. A point close by has one

    Raises
    ------
    TypeError : for anything but evaluators
    ValueError : for evaluators of batches of other sizes, and for a floor of inf

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.losses import Hamming
    >>> from setwise.surrogates import Difference, LovaszHinge
    >>> batch = Sets.single([1, 0])
    >>> double, single = (LovaszHinge(factor * Hamming()).on(batch) for factor in (2.0, 1.0))
    >>> difference = Difference(double, single)
    >>> difference([0.5, 0.5]).values, difference.convex  # 4 - 2
    (array([2.]), False)
    >>> above = difference.majorant([0.5, 0.5])  # convex, equal there, and nowhere below
    >>> above([0.5, 0.5]).values, above([2.0, 0.5]).values, difference([2.0, 0.5]).values
    (array([2.]), array([2.5]), array([1.5]))
    """

    def __init__(
        self, first: Evaluator, second: Evaluator, floor: float = -np.inf, nudge: Values | None = None
    ) -> None:
        for name, part in (("first", first), ("second", second)):
            as_kind(part, name, Evaluator, "surrogate.on(batch)")
        if as_limit(floor, "floor") == np.inf:
            raise ValueError("floor must be below inf; got inf.")
        if first.batch.n_scores != second.batch.n_scores or len(first.batch) != len(second.batch):
            raise ValueError("first and second must be evaluators of one batch; they differ in size.")
        self.first, self.second, self.batch, self.floor = first, second, first.batch, floor
        self.nudge = None if nudge is None else as_reals(nudge, "nudge", (self.batch.n_scores,))
        self.convex = first.convex and isinstance(second, LinearEvaluator)

    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        """The difference of the values and of the gradients."""
        # The value of the second is a lower bound of what it stands for, so subtracting it keeps an upper bound.
        a, b = self.first.evaluate(scores, tol), self.second.evaluate(scores, tol)
        values, upper = a.values - b.values, a.upper - b.values
        if not self.convex:
            # Of huge scores the difference is rounding alone. A plane below a convex function must not be raised.
            values, upper = np.maximum(values, self.floor), np.maximum(upper, self.floor)
        if self.nudge is not None and not scores.all():
            near = np.where(scores == 0, self.nudge.astype(scores.dtype), scores)
            gradient = self.first.evaluate(near, tol).gradient - self.second.evaluate(near, tol).gradient
        else:
            gradient = a.gradient - b.gradient
        return Evaluation(values, gradient, upper, a.exact & b.exact)

    def take(self, parts: Ints) -> "Difference":
        """The difference for the chosen sets."""
        nudge = None if self.nudge is None else self.nudge[segments(parts, self.batch.score_offsets)]
        return Difference(self.first.take(parts), self.second.take(parts), self.floor, nudge)

    def majorant(self, scores: ArrayLike) -> Evaluator:
        """The first evaluator minus the tangent of the second at the scores."""
        if self.convex:
            return self
        if not self.first.convex:
            raise Refusal(f"{self!r} has no convex majorant: its first part is not convex.", NOT_CONVEX)
        tangent, point = self.second(scores), np.asarray(scores, dtype=np.float64)
        # A convex function lies above its tangent, so subtracting the tangent gives a function above the difference.
        direction = tangent.gradient.astype(np.float64)
        constant = tangent.values - segment_sums(point * direction, self.batch.score_offsets)
        return Difference(self.first, LinearEvaluator(self.batch, direction, constant), self.floor)

    def redrawn(self, seed: int) -> "Difference":
        """The difference with new noise in both parts, the same where they had the same."""
        return Difference(self.first.redrawn(seed), self.second.redrawn(seed), self.floor, self.nudge)

    def __repr__(self) -> str:
        return f"{self.first!r} minus {self.second!r}"
