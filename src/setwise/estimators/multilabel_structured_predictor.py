"""MultilabelStructuredPredictor: any number of right labels of a space, trained for the worst mistake.

Its linear baselines share most of its parameters.
"""

from numbers import Real
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.utils._param_validation import Interval

from setwise.core.checks import LARGEST_COUNT, Bools
from setwise.core.learner import Learner
from setwise.core.loss import Loss
from setwise.core.surrogate import Surrogate
from setwise.estimators.base import Names, as_matrix, constraints_without, with_parameters
from setwise.estimators.label_decoding import (
    Decoding,
    SizeDecoding,
    by_labels,
    check_decode,
    fitted_decoding,
    fitted_sizes,
    list_losses,
)
from setwise.estimators.label_predictor import LinearLabelPredictor
from setwise.estimators.label_training import LabelProblem, LargeLabelProblem, named
from setwise.estimators.linear_training import LinearFit
from setwise.models.kernel_features import JointKernel, Kernel
from setwise.spaces import LegalSets, Space
from setwise.spaces.large_space import LargeSpace, Scored, as_right
from setwise.spaces.spaces import members

_CONSTRAINTS: dict[str, Any] = {
    **constraints_without("threshold", "pos_label", "class_weight", "average", "warm_start"),
    "space": [Space, LargeSpace],
    "rescaling": [Names({"slack", "margin"})],
    "surrogate": [Names({"auto", "hinge", "ramp", "margin"}), Surrogate],
    "C": [Interval(Real, 0, None, closed="left")],
    "kernel": [Names({"linear"}), Kernel, JointKernel, callable],
    "label_bias": [Interval(Real, 0, None, closed="left")],
    "decode": [Names({"labels", "auto", "seen", "closed", "paths"}), LegalSets],
}


@final
@with_parameters
class MultilabelStructuredPredictor(LinearLabelPredictor):
    """``{y : f(x, y) > 0}``, trained to minimize ``0.5 |w|^2 + (C / n) sum_i hinge(Y_i, f(x_i, .))`` (MLSP Eq. 5-7).

    ``f(x, y) = kappa(y)^T (W x + b) + c_y`` scores each label of a space. The hinge is the worst violation of a single
    label, ``max_y lambda(Y, y) (1 - v_y f(x, y))``, not below 0, where v_y is 1 for the labels in Y and -1 for others.
    It is never below the max loss, the cost lambda of the worst mistake.

    Parameters
    ----------
    space : the labels and their features, as :class:`setwise.spaces.FiniteSpace`; or labels that are too many to list,
        as :class:`setwise.spaces.LabelSequences`, for which :meth:`fit` takes what the space does
    loss : ``"max"``, or ``MaxLoss(costs)`` with the costs lambda. Other losses of labels, as ``"sum"``, have no hinge
        of single labels
    rescaling : ``"slack"``, or ``"margin"`` for ``max_y lambda(Y, y) - v_y f(x, y)``; equal where lambda is 1
    surrogate : ``"hinge"``. ``"margin"`` is margin rescaling over all sets of labels, the P-SSVM of MLSP 4.1; with
        ``loss="sum"`` and labels that share nothing these are independent SVMs. ``"ramp"`` is the difference between
        margin rescaling and the score of the prediction. ``"auto"`` takes the hinge, or ``"margin"`` where the loss has
        none, and with a warning the ramp where that bound says nothing: where w = 0 is optimal up to ``tol``, or the
        bound is at least .95 of the loss of the best constant prediction; or where it is at least half of that and
        logistic regression of each label has a smaller training loss. A surrogate object brings its own loss
    learner : ``"auto"`` takes ``"one_slack"`` for convex surrogates and ``"convex_concave"`` for the ramp; others as in
        :class:`setwise.SetClassifier`
    C : the weight of the mean hinge against the regularizer
    tol, max_iter : as in :class:`setwise.SetClassifier`
    fit_intercept, intercept_scaling : whether rows have a constant feature, and its value, above 0, in the unit of the
        features
    label_bias : the value, at least 0, of a constant feature that each label has alone; 0 for none. Labels that share
        nothing have one by ``fit_intercept``
    kernel : ``"linear"``; a function of rows (a, d) and (b, d) that returns their kernel (a, b), or
        :class:`setwise.models.Kernel` with it, for ``f(x, y) = sum_i k(x_i, x) <a_i, kappa(y)>`` (MLSP Eq. 14); or a
        :class:`setwise.models.JointKernel` of rows with labels, which stands for the features of labels too
    start : ``"zero"``, or ``"logistic"`` for logistic regression of each label alone, with the best thresholds; labels
        that share weights come as close to its scores as they can. The regularizer is the distance from there.
        ``"auto"`` takes ``"logistic"`` for the ramp and ``"zero"`` for convex surrogates
    decode : how scores become sets. ``"labels"``: all labels with a score above 0. Others give the legal set of least
        expected loss, with log-odds ``a f(x, y) + c`` of labels that are most likely on rows that were held out, where
        c is 0 if that has the smaller loss on them: ``"seen"``, a set of the training rows; ``"closed"``, a set of
        nodes with all their ancestors; ``"paths"``, a path from the top of a hierarchy to a node; or legal sets of your
        own, as :class:`setwise.spaces.ListedSets`. ``"auto"`` takes the one of least loss on the held-out rows, if its
        gain over ``"labels"`` is above 0 by a one-sided t-test at 2.3 %. All but ``"labels"`` train six times instead
        of once, for five folds hold rows out; Ctrl-C in these leaves the estimator as it was. In large spaces
        ``"seen"`` predicts as many of the best labels as were right for some training input: of these numbers the one
        with the largest sum of scores
    n_jobs : the number of threads that share the rows
    random_state : the seed of learners that draw rows at random
    verbose : 0 or 1, which draws a progress bar on standard error

    Attributes
    ----------
    coef_, intercept_, bias_ : (q, d), (q,) and (p,), the weights W, b and c; q = p where labels share nothing. With a
        kernel W is about its features, as many as its rank. In large spaces ``coef_`` holds all weights, in the order
        of the space
    kernel_residual_ : no ``k(x, x)`` of training is off by more than this share of the largest one
    space_, loss_ : the space, and the loss that :meth:`score` measures
    decode_, decode_table_ : what ``decode`` became, and for each decoding a dict: the mean loss on held-out rows, the
        gain over ``"labels"`` with its standard error, of how many rows it comes, and c
    surrogate_, C_, objective_, lower_bound_, duality_gap_, history_, n_iter_, status_, stop_reason_, certain_share_ :
        as in :class:`setwise.SetClassifier`
    n_features_in_, feature_names_in_ : the number of features, and their names if X has any

    Raises
    ------
    ValueError : by ``fit``, for parameters out of range, and inputs and sets of labels that do not fit together
    Refusal : a ValueError by ``fit``, where space, loss, surrogate and learner do not fit each other
    TypeError : by ``fit``, for labels that are no collections
    NotFittedError : by the other methods before ``fit``

    Examples
    --------
    >>> from setwise import MultilabelStructuredPredictor
    >>> from setwise.spaces import Hierarchy
    >>> tree = Hierarchy({"cow": "animal", "horse": "animal", "car": "vehicle"})
    >>> X = [[2.0, 0.0], [1.0, 2.0], [-2.0, 1.0], [-0.5, -1.0]]
    >>> Y = tree.closed([["cow"], ["horse"], ["car"], []])
    >>> model = MultilabelStructuredPredictor(tree, C=100.0).fit(X, Y)
    >>> model.predict(X)
    [['cow', 'animal'], ['animal', 'horse'], ['car', 'vehicle'], []]
    >>> model.score(X, Y)
    1.0
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = _CONSTRAINTS

    space: Space | LargeSpace
    loss: str | Loss = "max"
    rescaling: str = "slack"
    surrogate: str | Surrogate = "auto"
    learner: str | Learner = "auto"
    C: float = 1.0
    tol: float = 1e-3
    max_iter: int = 1000
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    label_bias: float = 0.0
    kernel: Any = "linear"
    start: str | LogisticRegression = "auto"
    decode: str | LegalSets = "labels"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    def _surrogate(self, loss: Loss) -> str | Surrogate:
        return self.surrogate

    def _trained(self, X: Any, Y: Any) -> tuple[LabelProblem | LargeLabelProblem, LinearFit]:
        check_decode(self.decode, self.space)
        # What is read twice may be iterators.
        if isinstance(self.space, LargeSpace):
            X = members(X, "X", "a list of inputs")
            Y = as_right(members(Y, "Y", "a list of collections of labels"), len(X))
        else:
            Y = self.space.encode(Y)
        with self._unchanged_by_errors():
            problem, trained = super()._trained(X, Y)
            found: Decoding | SizeDecoding = by_labels(problem.loss)
            plain = self.decode == "labels" or trained.fit.status == "interrupted"
            if isinstance(self.space, LargeSpace):
                found = SizeDecoding("labels", ()) if plain else fitted_sizes(self, X, Y, problem.loss)
            elif not plain:
                found = fitted_decoding(self, as_matrix(self, X, reset=False), Y, problem.loss)
            self._decoding = found
            return problem, trained

    def _keep(self, problem: LabelProblem | LargeLabelProblem, trained: LinearFit) -> None:
        super()._keep(problem, trained)
        self.decode_, self.decode_table_ = self._decoding.name, list(self._decoding.table)

    def _sets(self, scores: NDArray[np.float64]) -> Bools:
        assert isinstance(self._decoding, Decoding)
        return self._decoding.sets(scores)

    def _lists(self, X: Any, limit: int) -> list[list[Scored]]:
        assert isinstance(self._decoding, SizeDecoding)
        return self._decoding.lists(self, X, limit)

    def _mean_loss(self, X: list[Any], Y: list[Any]) -> float:
        if self.decode_ == "labels":
            return super()._mean_loss(X, Y)
        assert isinstance(self.space_, LargeSpace)
        return float(list_losses(self.loss_, self.space_, X, Y, named(self._lists(X, LARGEST_COUNT))).mean())


@with_parameters
class LinearBaseline(LinearLabelPredictor):
    """A linear predictor of sets of labels with one convex objective, whose parameters have the usual meanings."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **{
            name: held
            for name, held in _CONSTRAINTS.items()
            if name not in ("rescaling", "surrogate", "start", "decode")
        },
        "space": [Space],
        "C": [Interval(Real, 0, None, closed="neither")],
    }
    rescaling: ClassVar[str] = "slack"
    start: ClassVar[str] = "zero"

    space: Space | LargeSpace
    loss: str | Loss = "max"
    learner: str | Learner = "auto"
    C: float = 1.0
    tol: float = 1e-3
    max_iter: int = 1000
    fit_intercept: bool = True
    intercept_scaling: float = 1.0
    label_bias: float = 0.0
    kernel: Any = "linear"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
