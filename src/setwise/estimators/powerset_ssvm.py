"""PowersetSSVM: a structured SVM over all sets of labels."""

from typing import final

from setwise.core.loss import Loss
from setwise.estimators.linear_baseline import LinearBaseline
from setwise.estimators.linear_label_predictor import Objective
from setwise.surrogates import MarginRescaling


@final
class PowersetSSVM(LinearBaseline):
    """``0.5 |w|^2 + (C / n) sum_i max_Y loss(Y_i, Y) + F(x_i, Y) - F(x_i, Y_i)``, the P-SSVM of MLSP 4.1 (Eq. 15-17).

    ``F(x, Y)`` is the sum of the scores ``f(x, y)`` of the labels in Y, so the set of largest F is that of the labels
    with a score above 0. The sum loss makes each label a hinge of its own, ``max(0, lambda(Y_i, y) - v_y f(x_i, y))``.
    The max loss is maximized over all 2^p sets in O(p log p): the costs are sorted, and the worst mistake is tried in
    turn. It is ``MultilabelStructuredPredictor(surrogate="margin")``, without a warning where the bound is vacuous.

    Parameters
    ----------
    space : the labels and their features, as :class:`setwise.spaces.Finite`
    loss : ``"max"`` or ``"sum"``, ``MaxLoss(costs)`` or ``SumLoss(costs)``, or another loss of labels
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
    Where labels share nothing, the sum loss trains each label alone:

    >>> from setwise import IndependentSVMs, PowersetSSVM
    >>> from setwise.spaces import Finite
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> Y = [[], ["warm"], ["warm"], ["warm", "hot"]]
    >>> space = Finite(["warm", "hot"])
    >>> joint = PowersetSSVM(space, loss="sum", C=100.0, tol=1e-6).fit(X, Y)
    >>> alone = IndependentSVMs(space, C=100.0, tol=1e-6).fit(X, Y)
    >>> bool(np.isclose(joint.objective_, alone.objective_, rtol=1e-5))
    True
    """

    def _objective(self, loss: Loss) -> Objective:
        return Objective(MarginRescaling(loss), kernel=self.kernel)
