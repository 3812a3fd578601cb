"""IndependentSVMs: a linear SVM for each label alone."""

from typing import final

from setwise.core.measure import Loss
from setwise.estimators.linear_baseline import LinearBaseline
from setwise.estimators.linear_label_predictor import Objective
from setwise.losses import SumLoss
from setwise.surrogates import MarginRescaling


@final
class IndependentSVMs(LinearBaseline):
    """``0.5 |w_y|^2 + (C / n) sum_i max(0, 1 - v_y f(x_i, y))`` for each label y, which shares nothing with others.

    v_y is 1 where y is true and -1 where it is not. All labels are trained together, with one certificate: it is
    :class:`setwise.PowersetSSVM` with the sum loss, costs of 1, and without features of labels. The constant is a
    feature, so its weight is regularized, as in ``sklearn.svm.LinearSVC(loss="hinge", C=C / n)``.

    Parameters
    ----------
    space : the labels; their features are not used
    loss : the loss of labels that :meth:`score` measures; it does not enter the training
    learner, C, tol, max_iter, fit_intercept, intercept_scaling, label_bias, kernel, n_jobs, random_state, verbose :
        as in :class:`setwise.MultilabelStructuredPredictor`

    Attributes
    ----------
    All are those of :class:`setwise.MultilabelStructuredPredictor`, with q = p.
    """

    def _objective(self, loss: Loss) -> Objective:
        return Objective(MarginRescaling(SumLoss()), kernel=self.kernel, alone=True)
