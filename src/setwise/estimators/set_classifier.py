"""SetClassifier: a linear classifier trained for a measure of whole sets of decisions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from setwise.core.checkpoint import Checkpoint, OpenCheckpoint, opened
from setwise.core.checks import as_flag
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import AFTER_A_FIT
from setwise.estimators.base import (
    CONSTRAINTS,
    NO_COSTS,
    LinearSetClassifier,
    as_matrix,
    given_costs,
    linear_scores,
    warn_of_dropped_groups,
    warn_of_forgotten_groups,
    with_costs,
    with_parameters,
)
from setwise.estimators.checkpoints import of_rows
from setwise.estimators.linear_training import LinearFit, certain, keep_certificates, shift_of, solve
from setwise.estimators.set_training import Keep, SetProblem, about, held_out_thresholds, no_file, problem_of
from setwise.estimators.sets import as_target_like, group
from setwise.losses import as_loss
from setwise.losses.row_costs import RowCosts
from setwise.models.rows import check_rows


@final
@with_parameters
class SetClassifier(LinearSetClassifier):
    """Linear scores, trained to minimize ``0.5 |w|^2 + C mean over sets of surrogate(loss)``.

    The loss evaluates all decisions of a set together. The target says what a set is:

    - ``fit(X, y)`` with y (n,): the whole sample is one set.
    - ``fit(X, y, groups=g)``: the rows of each group are a set, in their order.
    - ``fit(X, Y)`` with Y (n, p) of 0 and 1: each row is a set of p labels, or what ``average`` says. There is one
      weight vector for each label.

    If y has more than two classes, there is one weight vector for each class. The loss is then averaged over the
    classes (mean Jaccard, macro F1), or taken for ``pos_label`` against the rest. Losses that depend only on which
    decisions are wrong are used unchanged.

    ``X`` (n, d) is dense or CSR and is used as float64. A decision is predicted positive if its score is above 0; of
    more than two classes the one with the largest score is predicted.

    Source: LH Eq. 12 and section 4.3, and Joachims (2005) where the whole sample is one set; the choice among
    surrogates is own (docs/guide/estimator.md).

    Parameters
    ----------
    loss : a loss, or the short name of one (``setwise list`` shows them)
    surrogate : ``"convex"`` takes the Lovász hinge for submodular losses of binary decisions, as Jaccard, and
        ``MarginRescaling(loss, scale="size")`` for all others, as F1 and AUC. ``"auto"`` takes the ramp where the whole
        sample is one set, but for losses that read scores, as AUC. Elsewhere it begins with the convex surrogate, and
        takes the ramp instead where that bound says nothing: where w = 0 is optimal up to ``tol``, or the bound is at
        least .95 of the loss of the best constant prediction; or where it is at least half of that and logistic
        regression has a smaller training loss. With ``start="zero"`` one set is treated as several are.
        ``"lovasz"``, ``"margin"``, ``"slack"`` and ``"ramp"``, which is ``Ramp(loss, scale="size")``, name a surrogate.
        A surrogate object brings the loss that is trained for; ``loss`` is then only what :meth:`score` measures
    learner : ``"auto"`` takes ``"one_slack"`` for convex surrogates and ``"nrbm"`` for the ramp. ``"n_slack"``,
        ``"block_frank_wolfe"``, ``"subgradient"`` and ``"convex_concave"`` name others. Where ``surrogate="auto"``
        takes the ramp, a learner for convex risks minimizes its majorants. A learner object brings its own C, tol and
        max_iter, and then the ramp is not taken by itself
    start : ``"logistic"`` begins at logistic regression on the same rows, with the best threshold of the loss, and the
        regularizer is the distance from there: a tiny C leaves its predictions as they are. With two labels, or a
        label matrix, and at most two million numbers (n d for each label), its C and that threshold are chosen on
        held-out rows, else C is 1. A ``LogisticRegression`` is fitted as it is, with the best threshold of its training
        rows. ``"zero"`` begins at w = 0, from which descent on the ramp may not get away. ``"auto"`` takes
        ``"logistic"`` for the ramp and ``"zero"`` for convex surrogates. If all rows are one set and the costs of an
        increasing submodular loss differ by row, as those of ``RowCosts``, the ramp begins at the convex model (of at
        most 200 iterations, with its default C) where that has the smaller training loss
    threshold : ``"zero"``, or ``"exact"``, which moves the intercepts so that the loss of scores of held-out rows is
        least; also without ``fit_intercept``. That takes a fit for each of 5 folds more
    C : the weight of the mean surrogate against the regularizer. The mean is over *sets*, so C does not grow with the
        number of rows, and if the whole sample is one set useful values are large, 1e1 to 1e6. 0 leaves logistic
        regression as it is, and is refused where the start is w = 0. ``"auto"`` is ``n^2 / (10 d^1.5)`` for the ramp,
        but at most 1e6, times the loss of all decisions wrong where ``start`` says that costs differ by row; 300 for
        margin rescaling by the size of the sets, and 30 for other surrogates. Scale the features first
    tol : the certified relative gap ``(upper - lower) / max(|upper|, C / 1000)`` of the objective at which the learner
        stops
    max_iter : the largest number of iterations; a warning says if they did not suffice
    fit_intercept : whether to add a constant feature, which is regularized like the others (as in SVM^perf)
    intercept_scaling : the value of that feature, above 0, in the unit of the others; the larger it is, the less the
        regularizer shrinks the intercept
    pos_label : the positive one of two labels, by default the last in sorted order. Of more than two classes it is the
        one that the loss is about, by default all of them
    class_weight : None, ``"balanced"``, or a dict with the weights of the two classes. Mistakes and counts are weighted
        as if each row occurred that many times. Only Hamming and quotients of counts, as Jaccard, can be weighted
    average : what a set is in a label matrix: each row (``"samples"``), each column (``"macro"``), or the whole matrix
        (``"micro"``)
    n_jobs : the number of threads that share the sets, and of those for large matrix products; results do not depend
        on it. With None the sets are not shared and the environment decides on large products. Small products always
        use one thread
    random_state : the seed of learners that draw sets at random
    verbose : 0 or 1, which draws a progress bar on standard error
    warm_start : whether to start from the weights of the last fit

    Attributes
    ----------
    coef_ : (1, d), or (p, d) for a label matrix or p classes
    intercept_ : (1,) or (p,)
    classes_ : the labels; the second one of two is positive. For a label matrix they are the names of its columns, or
        0..p-1 if it has none
    surrogate_, C_ : the name of the surrogate that was used, and the weight of the risk
    objective_, lower_bound_, duality_gap_ : the training objective, surrogate and regularizer, at the weights; a
        certified lower bound of its minimum; and the relative gap between them,
        ``(upper - lower) / max(|upper|, C / 1000)``. It is a gap of the objective, not of the loss. For the ramp only 0
        bounds the objective, so the gap is 1 and certifies nothing; with ``C=0`` nothing is minimized, and it is nan
    certain_share_ : the share of the training decisions that no further optimization can change, for the objective is
        1-strongly convex; nan for the ramp, whose minimum is local, and with ``C=0``
    threshold_ : what ``threshold="exact"`` has subtracted from the scores; 0 otherwise
    history_ : a dict of arrays over the iterations: objective, lower_bound, upper_bound, seconds
    n_iter_, status_, stop_reason_ : the number of iterations, and why they ended, in a word and in a sentence; the word
        is ``"converged"`` for a gap within ``tol``, ``"local"`` for an ended descent on the ramp, ``"start"`` with
        ``C=0``, else ``"max_iter"``, ``"stalled"`` or ``"interrupted"``
    loss_ : the loss that :meth:`score` measures
    n_features_in_, feature_names_in_ : the number of features, and their names if X has any

    Raises
    ------
    ValueError : by ``fit``, for parameters out of range, and rows, labels and groups that do not fit together
    Refusal : a ValueError by ``fit``, where loss, surrogate, learner and target do not fit each other
    NotFittedError : by the other methods before ``fit``

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.metrics import f1_score
    >>> from setwise import SetClassifier
    >>> X, y = make_classification(400, 5, weights=[0.9], class_sep=0.7, random_state=0)
    >>> usual = LogisticRegression().fit(X, y)
    >>> SetClassifier("f1").fit(X, y).score(X, y) > f1_score(y, usual.predict(X)) + 0.1
    True

    Ten sets of 30 rows, and a convex surrogate, whose optimum is certified:

    >>> X = np.random.default_rng(0).standard_normal((300, 2))
    >>> y, bags = X[:, 0] > 0.8, np.repeat(np.arange(10), 30)
    >>> model = SetClassifier("jaccard", surrogate="lovasz", tol=1e-2).fit(X, y, groups=bags)
    >>> model.lower_bound_ <= model.objective_, model.duality_gap_ <= 1e-2, round(model.score(X, y, groups=bags), 1)
    (True, True, 0.9)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = CONSTRAINTS

    class_weight: dict[Any, float] | str | None = None
    average: str = "samples"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
    warm_start: bool = False
    start: str | LogisticRegression = "auto"
    threshold: str = "zero"

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        tp_cost: ArrayLike | None = None,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
        checkpoint: str | Path | Checkpoint | None = None,
        resume: bool = False,
    ) -> Self:
        """Train on the sets of (X, y).

        A fit that raises an error leaves the estimator as it was. After Ctrl-C the best weights so far are stored, a
        warning says so, and KeyboardInterrupt is raised.

        Parameters
        ----------
        X : (n, d), dense or CSR
        y : (n,) with two labels or more, or (n, p) of 0 and 1
        groups : (n,) the id of the set of each row, for y (n,) only
        sample_weight : (n,) the weight of the set of each row, equal for all rows of a set. Costs of the rows of one
            set, ``RowCosts``, are multiplied by the weights, as if each row occurred so often
        tp_cost, fp_cost, fn_cost, tn_cost : (n,) costs of these rows, or numbers, in place of those of a loss
            ``RowCosts``
        checkpoint : the path of a file to which weights, bounds and planes are written every 30 seconds, after Ctrl-C
            and at the end; or a :class:`setwise.learners.Checkpoint`, which says how often
        resume : whether to go on from what the file holds of this fit, if there is one; a file of other data, another
            loss or other parameters but ``tol``, ``max_iter`` and those of the computation is refused

        Returns
        -------
        self : the fitted classifier

        Raises
        ------
        ValueError : for parameters out of range, for rows, labels and groups that do not fit together, for values that
            are not finite, and for a file that cannot be gone on from
        Refusal : a ValueError, where loss, surrogate, learner and target do not fit each other
        TypeError : for features that are neither numbers nor text, and parameters of another kind
        FileExistsError : where there is a file ``checkpoint`` already, without ``resume``
        """
        self._validate_params()
        if groups is None:
            warn_of_dropped_groups("fit")

        def keep(problem: SetProblem) -> OpenCheckpoint | None:
            """The checkpoint that is asked for; it tells this fit from others."""
            rows = problem.X, problem.target, groups, sample_weight
            return opened(checkpoint, resume, lambda: about(self, of_rows(*rows), problem.score_loss))

        costs = {"tp": tp_cost, "fp": fp_cost, "fn": fn_cost, "tn": tn_cost}
        return self._fit(X, y, groups, sample_weight, None, keep, costs)

    def _fit(
        self,
        X: Any,
        y: Any,
        groups: Any,
        sample_weight: Any,
        shift: Any,
        keep: Keep = no_file,
        costs: Mapping[str, Any] = NO_COSTS,
    ) -> Self:
        """:meth:`fit`, with the thresholds ``shift`` in place of those that ``threshold`` asks for, if given."""
        with self._unchanged_by_errors():
            problem = problem_of(self, X, y, groups, sample_weight, self._intercept, costs=costs)
            kept, problem = keep(problem), problem.in_order()
            last, part = self._last(problem.features.size), None if kept is None else kept.part("rows")
            trained = solve(self, problem, last, checkpoint=part)
            shift, interrupted = shift_of(self, trained, shift, lambda: held_out_thresholds(self, problem, kept))
        self._keep(problem, trained, shift, groups is not None)
        self._told = given_costs(costs)
        # The model is stored first, and then the interrupt goes on, so that a search over parameters ends too.
        if interrupted:
            raise KeyboardInterrupt
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The scores ``w x + b`` of the rows; positive decisions have one above 0.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``

        Returns
        -------
        scores : (n,), or (n, p) for a label matrix of p columns or p > 2 classes

        Raises
        ------
        ValueError : for rows that are not finite numbers, or have other features than in ``fit``
        TypeError : for features that are neither numbers nor text
        OverflowError : where scores are too large for float64
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        X = as_matrix(self, X, reset=False)
        scores = linear_scores(X, self.coef_, self.intercept_)
        return scores[:, 0] if self._layout == "vector" else scores

    def predict(self, X: Any, return_certain: bool = False) -> Any:
        """The labels of the rows: positive where the score is above 0, or of several classes the one of largest score.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``
        return_certain : whether to return also which predictions no further optimization of the objective can change,
            because ``|f(x)| > sqrt(2 gap) |x|``

        Returns
        -------
        labels : (n,) of ``classes_``, or for a label matrix (n, p) of 0 and 1
        certain : a mask of the same shape, with ``return_certain`` only

        Raises
        ------
        Refusal : for ``return_certain`` after a ramp, whose minimum is local, and with ``C=0``
        ValueError, OverflowError : for rows that :meth:`decision_function` refuses
        TypeError : for features that are neither numbers nor text, and ``return_certain`` that is no truth value
        NotFittedError : before ``fit``
        """
        scores = self.decision_function(X)
        if as_flag(return_certain, "return_certain") and np.isnan(self._radius):
            raise Refusal(
                "return_certain refuses a model of the ramp: its minimum is local and certifies nothing. "
                "Use surrogate='convex'."
                if self.C_ > 0
                else "return_certain refuses a model of C=0: nothing was minimized. Use a C above 0.",
                AFTER_A_FIT,
            )
        classes = self._layout == "classes"
        positive = (scores > 0).astype(np.int64)
        labels = self.classes_[scores.argmax(axis=1) if classes else positive] if not self._matrix else positive
        if not return_certain:
            return labels
        lengths = check_rows(as_matrix(self, X, reset=False), None, self._intercept)[3]
        return labels, certain(
            scores, lengths if scores.ndim == 1 or classes else lengths[:, None], classes, self._radius
        )

    def score(
        self,
        X: Any,
        y: ArrayLike,
        groups: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        tp_cost: ArrayLike | None = None,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
    ) -> float:
        """``1 - mean loss`` over the sets of (X, y), which are made as in :meth:`fit`; the loss is ``loss_``.

        With costs of each row it is minus the mean cost of a row; in a label matrix that of all its labels.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``
        y : (n,) of labels that were fitted, or (n, p) of 0 and 1
        groups : (n,) the id of the set of each row, for y (n,) only; None makes all rows one set
        sample_weight : (n,) the weight of the set of each row, equal for all rows of a set; of each row for
            ``RowCosts`` and one set
        tp_cost, fp_cost, fn_cost, tn_cost : (n,) costs of these rows, or numbers, in place of those of a loss
            ``RowCosts``; what ``fit`` was given must be given here too

        Returns
        -------
        score : one number; 1 if the loss is undefined for all sets

        Raises
        ------
        ValueError : for rows, labels, groups and weights that do not fit together or do not fit the model
        TypeError : for features that are neither numbers nor text
        OverflowError : where scores are too large for float64
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        if groups is None:
            warn_of_dropped_groups("score")
            if self._grouped:
                warn_of_forgotten_groups()
        costs = {"tp": tp_cost, "fp": fp_cost, "fn": fn_cost, "tn": tn_cost}
        return self._score(X, y, groups, sample_weight, with_costs(self.loss_, X, costs, "score", self._told))

    def _score(self, X: Any, y: Any, groups: Any, sample_weight: Any, loss: Loss) -> float:
        """:meth:`score` by the loss of these rows."""
        scores = self.decision_function(X)
        labels = as_target_like(y, scores.shape if self._matrix else scores.shape[:1])
        grouping = group(labels, groups, self.average, self.classes_)
        return grouping.score(loss, scores, sample_weight)

    @property
    def _matrix(self) -> bool:
        return self._layout not in ("vector", "classes")

    def _last(self, size: int) -> NDArray[np.float64] | None:
        """The weights of the last fit, if this one starts there and has as many of them."""
        if not self.warm_start or "coef_" not in self.__dict__:
            return None
        last = self.coef_
        # The intercept is the weight of the constant feature times its value.
        if self.fit_intercept:
            last = np.column_stack([last, (self.intercept_ + self.threshold_) / self.intercept_scaling])
        return last.ravel() if last.size == size else None

    def _keep(self, problem: SetProblem, trained: LinearFit, shift: Any, grouped: bool) -> None:
        """Store the result of a fit in the attributes."""
        grouping = problem.grouping
        weights = trained.w.reshape(grouping.outputs, -1)
        own = as_loss(self.loss)
        # Costs of each row stay as they were given: other rows have other ones.
        self.loss_ = own if isinstance(own, RowCosts) and grouping.layout != "classes" else problem.score_loss
        self.classes_, self._layout = grouping.classes, grouping.layout
        self.coef_ = weights[:, :-1].copy() if self.fit_intercept else weights.copy()
        self.intercept_ = self.intercept_scaling * weights[:, -1] if self.fit_intercept else np.zeros(len(weights))
        self.intercept_, self.threshold_ = self.intercept_ - shift, shift
        self._grouped = grouped
        self.certain_share_ = problem.certain_share(trained, shift)
        keep_certificates(self, trained, float(problem.features.row_lengths.max()))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        # These two surrogates take binary decisions only.
        tags.classifier_tags.multi_class = self.surrogate not in ("lovasz", "slack")
        tags.classifier_tags.multi_label = True
        return tags
