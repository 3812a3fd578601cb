"""Objectives and metrics for gradient boosting: gradients and second derivatives of surrogates, and losses of sets."""

import warnings
from typing import Any, final

import numpy as np

from setwise.boosting.sets import BoosterInput, DataSet, RowSetCache, RowSets, refuse_local_rows
from setwise.core.checks import Values, as_choice, as_factor, as_number, shown
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
    """``n / k`` times the sum of a surrogate over k sets, n rows in all, as an objective for XGBoost and LightGBM.

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
        self._binder = RowSetCache(as_loss(loss), groups)
        self._last: tuple[RowSets, Evaluator, float] | None = None

    def __call__(self, first: Any, second: Any, sample_weight: Any = None, group: Any = None) -> tuple[Values, Values]:
        """The gradient and the second derivatives of all rows, (n,) each."""
        refuse_local_rows("objective")
        passed = BoosterInput.of(first, second, sample_weight, group)
        bound = self._binder(passed)
        # Surrogates see the scores in the order of the sets.
        scores = passed.scores[bound.order]
        evaluator, least = self._bind(bound)
        found = evaluator(scores)
        if not found.exact.all():
            warnings.warn(
                f"the maximum of {self.surrogate!r} is not certain for {int((~found.exact).sum())} of "
                f"{len(bound.batch)} sets, where the gradient is that of a lower bound.{EXACT_OR_BOUNDED.see}",
                UserWarning,
                stacklevel=2,
            )
        gradient = bound.shared(found.gradient.astype(np.float64), scores)
        # The weights of sets stand before both, so leaves are weighted means.
        weight = (bound.weights(passed.weight) * bound.batch.total / len(bound.batch))[bound.batch.owners]
        return bound.in_rows(weight * gradient), bound.in_rows(weight * np.maximum(np.abs(gradient), least))

    def _bind(self, bound: RowSets) -> tuple[Evaluator, float]:
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
            f"objective refuses {loss!r}: it is for more than two labels. Train one booster for each.", BOOSTING
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


def metric(loss: Loss | str, groups: Any = None, *, booster: str, threshold: float | None = None) -> "Metric":
    """The mean loss over sets of the labels that scores predict, as a metric for XGBoost and LightGBM; lower is better.

    Source: this library; the losses name theirs.

    Parameters
    ----------
    loss : a loss of labels 0 and 1 or of a ranking, or its name
    groups : (n,) ids of sets, one for each row of the data that is evaluated; None takes the groups that the data set
        of the booster holds, and all rows as one set if it holds none. So a data set for training and others for
        validation, which differ in rows, can have one metric
    booster : ``"xgboost"`` or ``"lightgbm"``, which want the value in different forms
    threshold : a row is predicted positive if its score is above it, in the unit of the scores. Beside an objective of
        one's own boosters pass scores, whose threshold is 0; beside ``binary:logistic`` or ``binary`` they pass
        probabilities, whose threshold is 0.5. None is 0, and warns once where all that is passed is in [0, 1]

    Returns
    -------
    Metric
        The function that the booster calls

    Raises
    ------
    Refusal : a ValueError for losses of more than two labels
    ValueError : for another booster, ids that are no flat array, and names of no loss
    TypeError : for a loss or a threshold of another kind

    Examples
    --------
    One of two positives is found, with one false alarm, so the Jaccard loss is 2/3:

    >>> from setwise.boosting import metric
    >>> name, value, higher_is_better = metric("jaccard", booster="lightgbm")([1, 0, 1], [1.0, 0.5, -2.0])
    >>> name, round(value, 3), higher_is_better
    ('jaccard_loss', 0.667, False)
    """
    return Metric(loss, groups, booster=booster, threshold=threshold)


@final
class Metric:
    """A loss of sets for boosters, called as ``(preds, data set)`` or ``(y_true, y_pred, weight, group)``.

    It returns the name, the value and False (higher is not better) to LightGBM, the name and the value to
    ``xgboost.train``, and the value to the wrappers for scikit-learn of XGBoost.

    Weights weigh sets.

    Source: this library; the losses name theirs.

    Parameters
    ----------
    loss, booster, threshold : as in :func:`metric`
    groups : (n,) ids of sets, as there

    Raises
    ------
    ValueError : when called, for labels other than 0 and 1, and scores that are not finite
    Refusal : where ``groups`` does not have one id for each row, and under Dask, where a worker sees its own rows only;
        and for losses of more than two labels
    TypeError : for a loss or a threshold of another kind

    Examples
    --------
    >>> from setwise.boosting import Metric
    >>> of_probabilities = Metric("error_rate", booster="xgboost", threshold=0.5)
    >>> of_probabilities([1, 0, 1, 0], [0.9, 0.4, 0.3, 0.2])
    0.25
    """

    def __init__(self, loss: Loss | str, groups: Any = None, *, booster: str, threshold: float | None = None) -> None:
        self.loss = as_loss(loss)
        if self.loss.reads == "classes":
            raise Refusal(f"metric refuses {self.loss!r}: it is for more than two labels.", BOOSTING)
        self.booster = as_choice(booster, "booster", ("xgboost", "lightgbm"))
        self.threshold = 0.0 if threshold is None else as_number(threshold, "threshold")
        self._sure = threshold is not None or self.loss.reads == "scores"
        # XGBoost asks functions for their name.
        self.__name__ = f"{self.loss.name}_loss"
        self._binder = RowSetCache(self.loss, groups)

    def __call__(self, first: Any, second: Any, sample_weight: Any = None, group: Any = None) -> Any:
        """The mean loss, in the form that the booster wants."""
        refuse_local_rows("metric")
        passed = BoosterInput.of(first, second, sample_weight, group)
        bound = self._binder(passed)
        scores = passed.scores[bound.order]
        self._warn_of_probabilities(scores)
        decided = scores if self.loss.reads == "scores" else scores > self.threshold
        values = self.loss.values(bound.batch, decided)
        value = float(np.mean(values * bound.weights(passed.weight)))
        if self.booster == "lightgbm":
            return self.__name__, value, False
        return (self.__name__, value) if isinstance(second, DataSet) else value

    def _warn_of_probabilities(self, scores: Values) -> None:
        """Warn, once, of scores that may be probabilities, where no threshold was given."""
        if self._sure or not (scores.min() >= 0.0 and 0.0 < scores.max() <= 1.0):
            return
        self._sure = True
        warnings.warn(
            "metric decides at threshold=0, and all numbers from the booster are in [0, 1], like probabilities: give "
            f"threshold=0.5 for probabilities, or threshold=0.0 for scores.{BOOSTING.see}",
            UserWarning,
            stacklevel=3,
        )

    def __repr__(self) -> str:
        return f"metric of {self.loss!r} for {self.booster}"
