"""Whether the bound of a convex surrogate says anything: a model that predicts a constant may be as good."""

import warnings

import numpy as np

from setwise.core.checks import Values
from setwise.core.learner import SMALLEST, Fit
from setwise.core.loss import Loss
from setwise.core.pages import EMPTY_MODELS, HINGE
from setwise.core.risk import Risk
from setwise.estimators.grouping import Grouping
from setwise.estimators.notices import outside, way_from_constant

VACUOUS, DOUBTFUL = 0.95, 0.5
"""A bound of at least these shares of the loss of the best constant labeling says nothing, or little."""


class VacuousBoundWarning(UserWarning):
    """Warns that a convex surrogate promises no less loss than a constant prediction has.

    Its bound is then at least .95 of the loss of the best constant labeling, or w = 0 is optimal: no labels, or all,
    may be predicted. Estimators of sets of labels also warn where ``surrogate="auto"`` took the ramp instead. The fit
    has ended well, so this is no ``ConvergenceWarning``. docs/how/surrogates.md tells how such a bound comes about.

    Examples
    --------
    The two classes overlap, and the bound of the Lovász hinge is empty; the filter hides that, and nothing else:

    >>> import warnings
    >>> from setwise import SetClassifier, VacuousBoundWarning
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((200, 2)), np.arange(200) % 4 == 0
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", VacuousBoundWarning)
    ...     model = SetClassifier("jaccard", surrogate="lovasz").fit(X, y)
    >>> bool(model.predict(X).any())
    False

    The filter ``"error"`` makes an exception of it, as for a search over parameters:

    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", VacuousBoundWarning)
    ...     try:
    ...         model = SetClassifier("jaccard", surrogate="lovasz").fit(X, y)
    ...     except VacuousBoundWarning as warning:
    ...         print(str(warning).split(" here")[0])
    the convex surrogate 'lovasz' promises no less loss
    """


def least_constant_loss(loss: Loss, grouping: Grouping, weights: Values) -> float:
    """The mean loss of the best constant labeling: none, all, the commonest row of a label matrix, or one class.

    For losses of a ranking it is that of equal scores.
    """
    batch = grouping.batch
    if loss.reads == "scores":
        return float(weights @ loss.values(batch, np.zeros(batch.total)))
    if grouping.layout == "classes":
        labelings = [np.full(batch.total, c) for c in range(len(grouping.classes))]
    else:
        labelings = [np.zeros(batch.total, dtype=bool), np.ones(batch.total, dtype=bool)]
    if grouping.layout == "samples":
        rows = batch.truth.reshape(len(batch), -1)
        # Equal rows have equal sums of random numbers, and other rows have others but for a chance of nothing.
        keys = rows @ np.random.default_rng(0).standard_normal(rows.shape[1])
        _, first, counts = np.unique(keys, return_index=True, return_counts=True)
        labelings.append(np.tile(rows[first[counts.argmax()]], len(rows)))
    return min(float(weights @ loss.values(batch, labels)) for labels in labelings)


def share_of_constant(risk: Risk, fit: Fit, C: float, constant: float, centred: bool) -> float:
    """The risk at the end of a fit over the loss ``constant`` of the best constant labeling.

    It is inf where w = 0 is optimal up to the gap of the fit, unless the weights are steps from a start (``centred``),
    and 0 where a constant labeling has no loss.
    """
    if constant == 0.0:
        return 0.0
    half = 0.5 * float(fit.w @ fit.w)
    share = (fit.upper_bound - half) / C / constant
    # Two points within the gap of the minimum are close together, for the objective is strongly convex.
    if (
        centred
        or share >= VACUOUS
        or not fit.gap < 1.0
        or half > 4.0 * fit.gap * abs(fit.upper_bound) / (1.0 - fit.gap)
    ):
        return float(share)
    nothing = C * risk.cut(np.zeros(risk.size)).upper
    return np.inf if nothing - fit.lower_bound <= fit.gap * max(nothing, SMALLEST * C) else float(share)


def says_nothing(fit: Fit, C: float, constant: float) -> bool:
    """Whether the risk at the end of a fit is at least .95 of the loss ``constant`` of the best constant labeling."""
    return C > 0.0 and constant > 0.0 and fit.upper_bound - 0.5 * float(fit.w @ fit.w) >= VACUOUS * C * constant


def warn_of_vacuous_bound(name: str, way_out: str) -> None:
    """Warn that the bound of the surrogate ``name`` is vacuous, and what to do."""
    warnings.warn(
        f"the convex surrogate {name!r} promises no less loss here than a constant prediction has, whatever its gap: "
        f"{way_out}.{EMPTY_MODELS.see}",
        VacuousBoundWarning,
        stacklevel=outside(),
    )


def warn_of_small_features(name: str, largest: float) -> None:
    """Warn that the estimator ``name`` labels all rows alike, whose numbers are at most ``largest``."""
    warnings.warn(
        f"{name} gives all rows the same labels: {way_from_constant(largest, 'raise C')}.{EMPTY_MODELS.see}",
        VacuousBoundWarning,
        stacklevel=outside(),
    )


def warn_of_kept_bound(name: str) -> None:
    """Warn that ``"auto"`` has kept the surrogate ``name``, whose bound says nothing."""
    warnings.warn(
        f"the convex surrogate {name!r} promises no less loss here than a constant prediction has, whatever its gap: "
        f"surrogate='auto' has kept it, because the ramp that was tried has a larger training loss.{HINGE.see}",
        VacuousBoundWarning,
        stacklevel=3,
    )


def warn_of_replaced_bound(name: str) -> None:
    """Warn that ``"auto"`` has taken the ramp, because the bound of the surrogate ``name`` says nothing or little."""
    warnings.warn(
        f"the convex surrogate {name!r} promises no less loss here than a constant prediction has, or not much less: "
        "surrogate='auto' has taken the ramp from independent training, whose minimum is local and certifies nothing."
        f"{HINGE.see}",
        VacuousBoundWarning,
        stacklevel=3,
    )
