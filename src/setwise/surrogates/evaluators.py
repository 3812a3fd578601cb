"""The evaluators that surrogates are composed of: support functions, linear functions, and their differences."""

from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.arrays import Floats, Ints, Values
from setwise.core.batch import Batch, segments
from setwise.core.checks import as_areas, as_kind, as_limit, as_number, as_reals, as_vector
from setwise.core.evaluator import Evaluation, Evaluator
from setwise.core.inference import Maximizer
from setwise.core.refusal import Refusal
from setwise.kernels.segments import segment_sums


@final
class Support(Evaluator):
    """``max_y l(y) + <s, phi(y) - target> / g``, with the gradient ``(phi(yhat) - target) / g``. Convex.

    This is margin rescaling (LH Eq. 21 with g = 1), a maximum of affine functions of the scores. The value is exact
    where the maximizer is.

    Parameters
    ----------
    maximizer : a method of inference that is bound to l, without slack rescaling
    scale : the number g > 0, or one such number for each set, (n,)
    """

    def __init__(self, maximizer: Maximizer, scale: float | Values = 1.0) -> None:
        as_kind(maximizer, "maximizer", Maximizer, "Auto().prepare(structure)")
        self.maximizer, self.batch = maximizer, maximizer.structure.batch
        self.scale = scale if isinstance(scale, float) and 0.0 < scale < np.inf else self._scale(scale)
        # The target is a mean of labelings. Their losses are at least 0 and their scores relative to it are 0 on
        # average, so one of them has a sum of at least 0.
        self.floor = 0.0
        # Scores are divided in their own precision, so the scale is stored in both. A scale of 1 divides nothing.
        self._scales: dict[Any, Floats] = {}
        if not (isinstance(self.scale, float) and self.scale == 1.0):
            # One number serves all scores; a number for each set is repeated for the scores of the set.
            each = np.atleast_1d(self.scale)
            per_score = each if len(each) == 1 else np.repeat(each, np.diff(self.batch.score_offsets))
            self._scales = {np.dtype(kind): per_score.astype(kind) for kind in (np.float32, np.float64)}

    def _scale(self, scale: object) -> float | Values:
        """The scale, checked, where it is not a positive float already."""
        if np.ndim(scale) == 0:  # type: ignore[arg-type]
            return as_number(scale, "scale", low=0.0, open_low=True)
        return as_areas(as_vector(scale, len(self.batch), "scale"), "scale")

    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        scale = self._scales.get(scores.dtype)
        found = self.maximizer.solve(scores if scale is None else scores / scale, tol)
        # A maximum has the gradient of the affine function that attains it.
        gradient = self.batch.away(found.labels, scores.dtype)
        if scale is not None:
            gradient = np.divide(gradient, scale, out=gradient)
        return Evaluation(found.values, gradient, found.bounds, found.exact)

    def take(self, parts: Ints) -> "Support":
        scale = self.scale if isinstance(self.scale, float) else self.scale[parts]
        return Support(self.maximizer.take(parts), scale)

    def __repr__(self) -> str:
        return f"margin rescaling of {self.maximizer.structure!r}"


@final
class Slack(Evaluator):
    """``max_y l(y) (1 + <s, phi(y) - target>)``, with the gradient ``l(yhat) (phi(yhat) - target)``. Convex.

    This is slack rescaling (LH Eq. 22).

    Parameters
    ----------
    maximizer : a method of inference that is bound to l, with slack rescaling
    """

    def __init__(self, maximizer: Maximizer) -> None:
        as_kind(maximizer, "maximizer", Maximizer, "Auto().prepare(structure, slack=True)")
        if not maximizer.slack:
            raise ValueError(f"maximizer must be prepared with slack=True; got one of {maximizer.structure!r} without.")
        self.maximizer, self.batch = maximizer, maximizer.structure.batch
        # The truth has the score of the target and a loss of at least 0, so the maximum is at least 0.
        self.floor = 0.0

    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        found = self.maximizer.solve(scores, tol)
        # The loss of the labeling that inference found is the factor of its gradient.
        weight = np.repeat(self.maximizer.structure.values(found.labels), np.diff(self.batch.score_offsets))
        gradient = (weight * self.batch.away(found.labels)).astype(scores.dtype)
        return Evaluation(found.values, gradient, found.bounds, found.exact)

    def take(self, parts: Ints) -> "Slack":
        return Slack(self.maximizer.take(parts))

    def __repr__(self) -> str:
        return f"slack rescaling of {self.maximizer.structure!r}"


@final
class Linear(Evaluator):
    """``constant + <s, direction>`` for each set, an affine function of the scores.

    Parameters
    ----------
    batch : the batch to which the scores belong
    direction : (n_scores,), the coefficients of the scores
    constant : (n,), one number for each set
    """

    def __init__(self, batch: Any, direction: Values, constant: Values) -> None:
        self.batch = as_kind(batch, "batch", Batch, "Sets.single(y)")
        self.direction = as_reals(direction, "direction", (batch.n_scores,))
        self.constant = as_reals(constant, "constant", (len(batch),))

    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        values = self.constant + segment_sums(scores * self.direction, self.batch.score_offsets)
        return Evaluation(values, self.direction.astype(scores.dtype), values, np.ones(len(values), dtype=bool))

    def take(self, parts: Ints) -> "Linear":
        places = segments(parts, self.batch.score_offsets)
        return Linear(self.batch.take(parts), self.direction[places], self.constant[parts])


@final
class Difference(Evaluator):
    """``first - second`` of two evaluators, as in ramp losses, for unknown labels, and for missing data.

    The difference of two convex functions is taken for convex only if the second is affine. The majorant at given
    scores is the first evaluator minus the tangent of the second. The upper bound is the bound of the first minus the
    value of the second. Where the second is not exact, the value is no lower bound of the difference.

    Parameters
    ----------
    first, second : evaluators of one batch
    floor : a lower bound of the difference
    """

    def __init__(self, first: Evaluator, second: Evaluator, floor: float = -np.inf) -> None:
        for name, part in (("first", first), ("second", second)):
            as_kind(part, name, Evaluator, "surrogate.on(batch)")
        if as_limit(floor, "floor") == np.inf:
            raise ValueError("floor must be below inf; got inf.")
        if first.batch.n_scores != second.batch.n_scores or len(first.batch) != len(second.batch):
            raise ValueError("first and second must be evaluators of one batch; they differ in size.")
        self.first, self.second, self.batch, self.floor = first, second, first.batch, floor
        self.convex = first.convex and isinstance(second, Linear)

    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        # The value of the second is a lower bound of what it stands for, so subtracting it keeps an upper bound.
        a, b = self.first.evaluate(scores, tol), self.second.evaluate(scores, tol)
        values, upper = a.values - b.values, a.upper - b.values
        if not self.convex:
            # Of huge scores the difference is rounding alone. A plane below a convex function must not be raised.
            values, upper = np.maximum(values, self.floor), np.maximum(upper, self.floor)
        return Evaluation(values, a.gradient - b.gradient, upper, a.exact & b.exact)

    def take(self, parts: Ints) -> "Difference":
        return Difference(self.first.take(parts), self.second.take(parts), self.floor)

    def majorant(self, scores: ArrayLike) -> Evaluator:
        if self.convex:
            return self
        if not self.first.convex:
            raise Refusal(f"{self!r} has no convex majorant: its first part is not convex.")
        tangent, point = self.second(scores), np.asarray(scores, dtype=np.float64)
        # A convex function lies above its tangent, so subtracting the tangent gives a function above the difference.
        direction = tangent.gradient.astype(np.float64)
        constant = tangent.values - segment_sums(point * direction, self.batch.score_offsets)
        return Difference(self.first, Linear(self.batch, direction, constant), self.floor)

    def redrawn(self, seed: int) -> "Difference":
        return Difference(self.first.redrawn(seed), self.second.redrawn(seed), self.floor)

    def __repr__(self) -> str:
        return f"{self.first!r} minus {self.second!r}"
