"""The loss of sets as a metric of boosters, for early stopping."""

import warnings
from typing import Any, final

import numpy as np

from setwise.boosting.bound import Binder
from setwise.boosting.local_rows import refuse_local_rows
from setwise.boosting.passed import DataSet, Passed
from setwise.core.checks import Values, as_choice, as_number
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import BOOSTING
from setwise.losses import as_loss


def metric(loss: Loss | str, groups: Any = None, *, booster: str, threshold: float | None = None) -> "Metric":
    """The mean loss over sets of what scores decide, as a metric of XGBoost or LightGBM; lower is better.

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
            raise Refusal(f"metric refuses {self.loss!r}: it evaluates more than two labels.", BOOSTING)
        self.booster = as_choice(booster, "booster", ("xgboost", "lightgbm"))
        self.threshold = 0.0 if threshold is None else as_number(threshold, "threshold")
        self._sure = threshold is not None or self.loss.reads == "scores"
        # XGBoost asks functions for their name.
        self.__name__ = f"{self.loss.name}_loss"
        self._binder = Binder(self.loss, groups)

    def __call__(self, first: Any, second: Any, sample_weight: Any = None, group: Any = None) -> Any:
        """The mean loss, in the form that the booster wants."""
        refuse_local_rows("metric")
        passed = Passed.of(first, second, sample_weight, group)
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
            "metric decides at threshold=0, and all that the booster passes is in [0, 1], as probabilities are: give "
            f"threshold=0.5 for probabilities, or threshold=0.0 for scores.{BOOSTING.see}",
            UserWarning,
            stacklevel=3,
        )

    def __repr__(self) -> str:
        return f"metric of {self.loss!r} for {self.booster}"
