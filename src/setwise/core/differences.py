"""Affine functions of scores, and differences of two evaluators, of which the first is convex."""

from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.arrays import Floats, Ints, Values
from setwise.core.batch import Batch, segments
from setwise.core.checks import as_kind, as_limit, as_reals
from setwise.core.evaluator import Evaluation, Evaluator
from setwise.core.pages import NOT_CONVEX
from setwise.core.refusal import Refusal
from setwise.kernels.segments import segment_sums


@final
class Linear(Evaluator):
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
    >>> from setwise.core.sets import Sets
    >>> from setwise.surrogates import Linear
    >>> line = Linear(Sets.single([1, 0]), direction=[1.0, -1.0], constant=[2.0])
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

    def take(self, parts: Ints) -> "Linear":
        """The functions of the chosen sets."""
        places = segments(parts, self.batch.score_offsets)
        return Linear(self.batch.take(parts), self.direction[places], self.constant[parts])


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
    >>> from setwise.core.sets import Sets
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
        self.convex = first.convex and isinstance(second, Linear)

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
        return Difference(self.first, Linear(self.batch, direction, constant), self.floor)

    def redrawn(self, seed: int) -> "Difference":
        """The difference with new noise in both parts, the same where they had the same."""
        return Difference(self.first.redrawn(seed), self.second.redrawn(seed), self.floor, self.nudge)

    def __repr__(self) -> str:
        return f"{self.first!r} minus {self.second!r}"
