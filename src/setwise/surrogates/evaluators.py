"""The evaluators that surrogates are composed of: support functions, and those of slack rescaling."""

from typing import Any, final

import numpy as np

from setwise.core.checks import Floats, Ints, Values, as_areas, as_kind, as_number, as_vector
from setwise.core.inference import Maximizer
from setwise.core.surrogate import Evaluation, Evaluator


@final
class Support(Evaluator):
    """``max_y l(y) + <s, phi(y) - target> / g``, with the gradient ``(phi(yhat) - target) / g``. Convex.

    This is margin rescaling (LH Eq. 21 with g = 1), a maximum of affine functions of the scores. The value is exact
    where the maximizer is.

    Parameters
    ----------
    maximizer : a method of inference that is bound to l, without slack rescaling
    scale : the number g > 0, or one such number for each set, (n,)

    Raises
    ------
    TypeError : for anything but a maximizer, or a scale that is no number
    ValueError : for a maximizer with slack rescaling, and a scale that is not above 0 or has another shape

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import Auto
    >>> from setwise.losses import Hamming
    >>> from setwise.surrogates import Support
    >>> evaluator = Support(Auto().prepare(Hamming().structure(Sets.single([1, 0]))), scale=2.0)
    >>> found = evaluator([1.0, 1.0])  # both labels wrong: 2 - 1/2 + 1/2
    >>> print(found.values, found.gradient)
    [2.] [-0.5  0.5]
    """

    def __init__(self, maximizer: Maximizer, scale: float | Values = 1.0) -> None:
        as_kind(maximizer, "maximizer", Maximizer, "Auto().prepare(structure)")
        if maximizer.slack:
            raise ValueError(f"maximizer must be prepared without slack; got one of {maximizer.structure!r} with it.")
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

    Raises
    ------
    TypeError : for anything but a maximizer
    ValueError : for a maximizer without slack rescaling

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import Auto
    >>> from setwise.losses import ZeroOne
    >>> from setwise.surrogates import Slack
    >>> structure = (3.0 * ZeroOne()).structure(Sets.single([1, 0]))
    >>> found = Slack(Auto().prepare(structure, slack=True))([2.0, 0.5])
    >>> print(found.values, found.gradient)  # the negative alone is wrong: 3 (1 + 0.5)
    [4.5] [0. 3.]
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
