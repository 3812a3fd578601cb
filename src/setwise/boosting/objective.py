"""Gradients and second derivatives of surrogates for gradient boosting."""

import warnings
from typing import Any, final

import numpy as np

from setwise.boosting.bound import Binder, Bound
from setwise.boosting.local_rows import refuse_local_rows
from setwise.boosting.passed import Passed
from setwise.core.checks import Values, as_choice, as_factor, shown
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import BOOSTING, EXACT_OR_BOUNDED
from setwise.core.surrogate import Evaluator, Surrogate
from setwise.losses import as_loss
from setwise.surrogates import LovaszHinge, MarginRescaling, Ramp

NAMES = ("lovasz", "margin", "ramp")
"""The surrogates that an objective may have."""

SCALE = 0.1
"""The factor of losses in margin rescaling and in the ramp, chosen on generated sets."""


def objective(
    loss: Loss | str, groups: Any = None, surrogate: str = "lovasz", scale: float | None = None
) -> "Objective":
    """``n / k`` times the sum of a surrogate over k sets of n rows, as an objective of XGBoost and LightGBM.

    The result is called by the booster and returns the gradient and second derivatives, (n,) each; see
    :class:`Objective`.

    Source: own, with the surrogates of LH; derived in docs/guide/boosting.md.

    Parameters
    ----------
    loss : a loss of labels 0 and 1, or its name; ``"margin"`` and ``"ramp"`` take losses of rankings too
    groups : (n,) ids of sets, one for each row of the training data in its order; None takes the groups that the data
        set of the booster holds (``qid`` in XGBoost, ``group`` in LightGBM), and all rows as one set if it holds none
    surrogate : ``"lovasz"`` for submodular losses as Jaccard; ``"margin"`` for all losses, convex too; ``"ramp"`` for
        all losses, closer to the loss, but not convex: it needs a start, as scores of a booster trained before
    scale : a factor of the loss in ``"margin"`` and ``"ramp"``, whose scores are divided by the number m of rows of
        their set; a row whose mistake adds the share d to the loss counts at scores within ``scale * m * d`` of 0. None
        is .1

    Returns
    -------
    Objective
        The function that the booster calls

    Raises
    ------
    Refusal : a ValueError where loss, surrogate and scale do not fit each other
    ValueError : for another surrogate, ids that are no flat array, and names of no loss
    TypeError : for a loss or a scale of another kind

    Examples
    --------
    At scores of 0 both rows are within the margin; positives are pushed up, and negatives down:

    >>> from setwise.boosting import objective
    >>> gradient, curvature = objective("error_rate")([1, 0], [0.0, 0.0])
    >>> gradient.tolist(), curvature.tolist()
    ([-1.0, 1.0], [1.0, 1.0])
    """
    return Objective(loss, groups, surrogate, scale)


@final
class Objective:
    """A surrogate of sets for boosters, called as ``(preds, data set)`` or ``(y_true, y_pred, weight, group)``.

    The gradient is ``g = n / k`` times that of the sum of the surrogate over the k sets. So each set counts alike,
    and its rows have gradients of the order of 1: a loss in 0..1 has sums of ``|g|`` of at most n under ``"lovasz"``.
    Rows of a set with the same label and score get the mean of their gradients, which is one of the subgradients.

    Surrogates are piecewise linear, so their second derivatives are 0, and a booster whose leaves are
    ``-sum g / (sum h + lambda)`` needs others. Here ``h = max(|g|, c)``. So a leaf is a mean of votes of at most 1 in
    size, which is the margin: the steps of a booster are learning rates in units of the margin, however rare positives
    are. Rows beyond the margin vote for 0 with the weight c, so steps shrink as such rows become more. The constant c
    is the mean ``|g|`` where all rows are wrong, which takes the factor of a loss out of the leaves; under ``"ramp"``
    it is that of ``"margin"``, because ramps are flat there. For a Lovász hinge of a loss that is 1 where all is wrong,
    and for the other two, c is 1, and ``min_child_weight`` or ``min_sum_hessian_in_leaf`` count rows.

    Predictions of the booster are scores: positive above 0. They begin at 0, in ``xgboost.train`` with
    ``base_score=0``, or at scores of another model that are given as ``init_score`` or ``base_margin``.

    Weights of rows weigh sets, so they must be equal in each set; only their ratios count. In XGBoost a data set with
    ``qid`` has one weight for each group.

    Source: own, with the surrogates of LH; derived in docs/guide/boosting.md.

    Parameters
    ----------
    loss, surrogate, scale : as in :func:`objective`
    groups : (n,) ids of sets, as there

    Raises
    ------
    ValueError : when called, for labels other than 0 and 1, and scores that are not finite
    Refusal : where ``groups`` does not have one id for each row, and under Dask, where a worker sees its own rows only;
        and where loss, surrogate and scale do not fit each other
    TypeError : for a loss or a scale of another kind

    Examples
    --------
    In the first of two sets the positive is missed by far; in the second one the negative is a false alarm:

    >>> from setwise.boosting import Objective
    >>> gradient, _ = Objective("jaccard", groups=[0, 0, 1, 1])([1, 0, 1, 0], [-1.0, -2.0, 2.0, 0.5])
    >>> gradient.tolist()
    [-2.0, 0.0, 0.0, 1.0]
    """

    def __init__(
        self, loss: Loss | str, groups: Any = None, surrogate: str = "lovasz", scale: float | None = None
    ) -> None:
        self.surrogate = _surrogate(as_loss(loss), as_choice(surrogate, "surrogate", NAMES), scale)
        self._binder = Binder(as_loss(loss), groups)
        self._last: tuple[Bound, Evaluator, float] | None = None

    def __call__(self, first: Any, second: Any, sample_weight: Any = None, group: Any = None) -> tuple[Values, Values]:
        """The gradient and the second derivatives of all rows, (n,) each."""
        refuse_local_rows("objective")
        passed = Passed.of(first, second, sample_weight, group)
        bound = self._binder(passed)
        # Surrogates see the scores in the order of the sets.
        scores = passed.scores[bound.order]
        evaluator, least = self._bind(bound)
        found = evaluator(scores)
        if not found.exact.all():
            warnings.warn(
                f"{int((~found.exact).sum())} of {len(bound.batch)} sets have a maximum of {self.surrogate!r} that is "
                f"not certain; their gradient is that of a lower bound.{EXACT_OR_BOUNDED.see}",
                UserWarning,
                stacklevel=2,
            )
        gradient = bound.shared(found.gradient.astype(np.float64), scores)
        # The weights of sets stand before both, so leaves are weighted means.
        weight = (bound.weights(passed.weight) * bound.batch.total / len(bound.batch))[bound.batch.owners]
        return bound.in_rows(weight * gradient), bound.in_rows(weight * np.maximum(np.abs(gradient), least))

    def _bind(self, bound: Bound) -> tuple[Evaluator, float]:
        """The surrogate of the sets, and the least second derivative, both before the factor n / k."""
        if self._last is None or self._last[0] is not bound:
            convex = self.surrogate
            if isinstance(convex, Ramp):
                convex = MarginRescaling(convex.loss, scale=convex.scale)
            all_wrong = np.where(bound.batch.truth, -1.0, 1.0)
            least = float(np.abs(convex.on(bound.batch)(all_wrong).gradient).mean())
            self._last = bound, self.surrogate.on(bound.batch), least or 1.0
        return self._last[1:]

    def __getstate__(self) -> dict[str, Any]:
        # What is bound to labels is made again from the next ones.
        return self.__dict__ | {"_last": None}

    def __repr__(self) -> str:
        return f"objective of {self.surrogate!r}"


def _surrogate(loss: Loss, name: str, scale: float | str | None) -> Surrogate:
    if loss.reads == "classes":
        raise Refusal(
            f"objective refuses {loss!r}: it evaluates more than two labels. Train one booster for each.", BOOSTING
        )
    if name == "lovasz" and scale is not None:
        raise Refusal(f"objective refuses scale={shown(scale)}: the Lovász hinge has no scale. Use 'margin'.", BOOSTING)
    found: Surrogate
    if name == "lovasz":
        found = LovaszHinge(loss)
    else:
        smaller = as_factor(SCALE if scale is None else scale, "scale") * loss
        found = MarginRescaling(smaller, scale="size") if name == "margin" else Ramp(smaller, scale="size")
    return found
