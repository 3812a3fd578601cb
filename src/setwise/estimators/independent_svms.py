"""IndependentSVMs: a linear SVM for each label alone."""

from dataclasses import replace
from typing import Any, final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checks import shown
from setwise.core.learner import Fit, Record, relative_gap
from setwise.core.loss import Loss
from setwise.estimators.certain import radius
from setwise.estimators.descent import Trained
from setwise.estimators.fitting import solve
from setwise.estimators.grouping import Grouping
from setwise.estimators.label_problem import LabelProblem
from setwise.estimators.large_label_problem import LargeLabelProblem
from setwise.estimators.linear_baseline import LinearBaseline
from setwise.estimators.linear_label_predictor import Objective
from setwise.losses import SumLoss
from setwise.models.kernel_features import PairBasis
from setwise.surrogates import MarginRescaling


@final
class IndependentSVMs(LinearBaseline):
    """``0.5 |w_y|^2 + (C / n) sum_i max(0, 1 - v_y f(x_i, y))`` for each label y, which shares nothing with others.

    v_y is 1 where y is true and -1 where it is not. The sum of these objectives is that of
    :class:`setwise.PowersetSSVM` with the sum loss, costs of 1, and without features of labels. Each label is trained
    to the tolerance in turn, which takes less time than all at once; labels that a kernel of rows with labels joins
    are trained together. The constant is a feature, so its weight is regularized, as in
    ``sklearn.svm.LinearSVC(loss="hinge", C=C / n)``.

    Source: a baseline of MLSP 5.1.

    Parameters
    ----------
    space : the labels; their features are not used
    loss : the loss of labels that :meth:`score` measures; it does not enter the training
    learner, C, tol, max_iter, fit_intercept, intercept_scaling, label_bias, kernel, n_jobs, random_state, verbose :
        as in :class:`setwise.MultilabelStructuredPredictor`

    Attributes
    ----------
    all : those of :class:`setwise.MultilabelStructuredPredictor`, with q = p. The objective is the sum over the
        labels, and ``history_`` has an entry after each label

    Raises
    ------
    ValueError : by ``fit``, for parameters out of range, and inputs and sets of labels that do not fit together
    Refusal : a ValueError by ``fit``, where space, loss, surrogate and learner do not fit each other
    TypeError : by ``fit``, for labels that are no collections
    NotFittedError : by the other methods before ``fit``

    Examples
    --------
    >>> from setwise import IndependentSVMs
    >>> from setwise.spaces import Finite
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> Y = [[], ["warm"], ["warm"], ["warm", "hot"]]

    >>> model = IndependentSVMs(Finite(["warm", "hot"]), C=100.0).fit(X, Y)
    >>> model.predict([[0.2], [1.4], [3.2]])
    [[], ['warm'], ['warm', 'hot']]
    """

    def _objective(self, loss: Loss) -> Objective:
        return Objective(MarginRescaling(SumLoss()), kernel=self.kernel, alone=True)

    def _trained(self, X: Any, Y: Any) -> tuple[LabelProblem | LargeLabelProblem, Trained]:
        with self._unchanged_by_errors():
            problem = self._problem(X, Y)
            assert isinstance(problem, LabelProblem)
            if isinstance(problem.model.basis, PairBasis):
                return problem, solve(self, problem, None)
            found: list[Trained] = []
            for j in range(len(problem.model.names)):
                found.append(solve(self, _alone(problem, j), None))
                if found[-1].fit.status == "interrupted":
                    break
            return problem, _joined(problem, found, problem.model.names)


def _alone(problem: LabelProblem, j: int) -> LabelProblem:
    """The problem of one label."""
    truth = problem.alone.target[:, [j]]
    grouping = Grouping(Sets.rows(truth), "samples", np.arange(1), None)
    model = replace(problem.model, names=problem.model.names[j : j + 1])
    alone = replace(problem.alone, target=truth, grouping=grouping)
    return replace(problem, alone=alone, model=model, bound=model.of_coordinates(alone.X))


def _joined(problem: LabelProblem, found: list[Trained], names: Any) -> Trained:
    """The result of all labels; those that Ctrl-C has left out have weights of 0, where each hinge is 1."""
    C, p, fits = found[0].C, len(names), [one.fit for one in found]
    left = C * np.arange(p)[::-1]
    totals = np.cumsum([(one.objective, one.lower_bound, one.upper_bound) for one in fits], axis=0)
    seconds = np.cumsum([one.history[-1].seconds for one in fits])
    history = []
    for k, (objective, low, high) in enumerate(totals.tolist()):
        rest = float(left[k])
        gap = relative_gap(low, high + rest, C)
        history.append(Record(k + 1, objective + rest, low, high + rest, float(seconds[k]), gap))
    end = history[-1]
    short = next((k for k, one in enumerate(fits) if one.status != "converged"), None)
    status = "converged" if short is None else fits[short].status
    words = "the certified relative gap of each label is within its tolerance"
    if short is not None:
        words = f"{fits[short].message} for the label {shown(names[short])}"
    W = np.zeros((p, len(found[0].w)))
    W[: len(found)] = [one.w for one in found]
    split = W.shape[1] - bool(problem.model.bias)
    w = np.append(W[:, :split], W[:, split:])
    fit = Fit(w, end.objective, end.lower_bound, end.upper_bound, end.gap, status, words, tuple(history))
    return Trained(w, C, fit, found[0].surrogate, radius(fit, convex=True))
