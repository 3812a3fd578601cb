"""SSVM: a structured SVM of single labels, evaluated on sets of them."""

from typing import Any, ClassVar, final

from setwise.core.loss import Loss
from setwise.estimators.label_ranking import LabelRanking
from setwise.estimators.linear_baseline import LinearBaseline
from setwise.estimators.linear_label_predictor import Objective
from setwise.spaces import LargeSpace, Space


@final
class SSVM(LinearBaseline):
    """``0.5 |w|^2 + (C / n) sum_i sum_(y in Y_i) max_(y' not in Y_i) loss(Y_i, y') + f(x_i, y') - f(x_i, y)``.

    Each maximum is not below 0. It is the structured SVM for one right label, with every true label of a row in turn,
    and with the min-loss ``loss(Y, y') = min_(y in Y) loss(y, y')`` of Blaschko and Lampert (2008); ``{y : f(x, y) >
    0}`` is predicted, as MLSP 5.1 evaluates it. Rows without a true label, or with all of them, add nothing.

    Windows, whose costs are 0 or 1, have ``loss (1 + f' - f)``, so that windows close to a right one have no effect.

    Only differences of scores of one row are trained, so nothing learns where 0 is, and the objective bounds no loss of
    sets. A feature that all labels share with equal values, as a constant, has no influence. Where labels share no
    weights, the scores of a row sum to 0.

    Parameters
    ----------
    space : the labels and their features, as :class:`setwise.spaces.Finite`; or a large space, as
        :class:`setwise.spaces.LabelSequences`
    loss : the loss of labels that :meth:`score` measures. ``loss(Y, y')`` is the cost of one false label: 1 for
        ``"max"`` and ``"sum"``; ``MaxLoss(Nearest(distances))`` has the distance to the nearest true one
    learner, C, tol, max_iter, fit_intercept, intercept_scaling, label_bias, kernel, n_jobs, random_state, verbose :
        as in :class:`setwise.MultilabelStructuredPredictor`

    Attributes
    ----------
    all : those of :class:`setwise.MultilabelStructuredPredictor`

    Raises
    ------
    ValueError : by ``fit``, for parameters out of range, and inputs and sets of labels that do not fit together
    Refusal : a ValueError by ``fit``, where space, loss, surrogate and learner do not fit each other
    TypeError : by ``fit``, for labels that are no collections
    NotFittedError : by the other methods before ``fit``

    Examples
    --------
    >>> from setwise import SSVM
    >>> from setwise.spaces import Finite
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = SSVM(Finite(["low", "high"]), C=100.0).fit(X, [["low"], ["low"], ["high"], ["high"]])
    >>> [best[0][0] for best in model.top([[0.5], [2.5]], 1)]
    ['low', 'high']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = LinearBaseline._parameter_constraints | {
        "space": [Space, LargeSpace]
    }

    def _objective(self, loss: Loss) -> Objective:
        return Objective(LabelRanking(loss), kernel=self.kernel)
