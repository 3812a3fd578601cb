"""SetClassifierCV: SetClassifier with the C that has the best score on held-out rows.

Fits for several C on the same rows each begin with what the one before has found.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, product
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import BaseCrossValidator, BaseShuffleSplit
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from setwise.core.checks import Values, as_reals, shown
from setwise.core.exceptions import Refusal
from setwise.core.pages import NAMES_AND_OBJECTS, ROW_COSTS
from setwise.decisions.task import standard_error
from setwise.estimators.base import VersionedEstimator, take_features, warn_of_dropped_groups, with_parameters
from setwise.estimators.linear_training import quiet_fits, solve
from setwise.estimators.objective import may_ramp
from setwise.estimators.set_classifier import SetClassifier
from setwise.estimators.set_training import (
    CS,
    SetProblem,
    cross_fitted_scores,
    plain_logistic,
    problem_of,
    refuse_without_threshold,
    thresholds,
)
from setwise.estimators.splits import Split, as_splits, folds, tested_once
from setwise.losses.row_costs import RowCosts
from setwise.surrogates import Ramp


def tried(
    model: SetClassifier, problem: SetProblem, Cs: Values, splits: list[Split]
) -> list[tuple[SetClassifier, Values]]:
    """Copies of ``model`` that differ in the surrogate and its start, each with the values of C to fit it with.

    Where fits start at logistic regression, C = 0 comes first; with ``threshold="exact"`` it is the one of
    :func:`tuned_start`, unless the model brings its own.
    """
    found, start = [], model.start
    for surrogate in surrogates(model, problem):
        one, values = clone(model).set_params(surrogate=surrogate), Cs
        convex = surrogate != Ramp.name if isinstance(surrogate, str) else surrogate.on(problem.grouping.batch).convex
        if problem.starts_at_logistic(convex):
            values = np.union1d([0.0], Cs)
            if model.threshold == "exact" and isinstance(start, str) and not problem.tries_convex_start:
                start = tuned_start(model, problem, splits)
            one.set_params(start=start)
        found.append((one, values))
    return found


def surrogates(model: SetClassifier, problem: SetProblem) -> tuple[Any, ...]:
    """The surrogates that are tried: for ``"auto"`` the ramp, and for several sets the convex one too.

    For losses of rankings, for starts at w = 0, and where the ramp is refused, each fit decides for itself.
    """
    if model.surrogate != "auto" or model.start == "zero" or not may_ramp(problem.loss, problem.grouping):
        return (model.surrogate,)
    return (Ramp.name,) if len(problem.grouping.batch) == 1 else (Ramp.name, "convex")


def tuned_start(model: SetClassifier, problem: SetProblem, splits: list[Split]) -> LogisticRegression:
    """Logistic regression whose scores of held-out rows lose least with their best thresholds.

    Its C is one of ``CS``, its classes are weighted equally or ``"balanced"``. Of equal losses the first one wins, the
    smallest C with equal weights. Rows that are never held out do not count.
    """
    rows = np.unique(np.concatenate([test for _, test in splits]))
    loss, grouping = problem.loss_of(problem.loss, rows), problem.sets_of(rows)
    weights = None if problem.weights is None or len(grouping.batch) == 1 else np.asarray(problem.row_weights)[rows]
    columns = problem.X.shape[1]
    models = [plain_logistic(columns, C=C, class_weight=w) for w in (None, "balanced") for C in CS]
    held_out = np.zeros((len(models), *problem.shape))
    for train, test in splits:
        part = problem_of(problem.model_of(model, train), *problem.given(train), model._intercept)
        for one, scores in zip(models, held_out, strict=True):
            scores[test] = replace(part, start=one).regression.scores(problem.X[test])
    moved = [scores - thresholds(loss, grouping, scores) for scores in held_out[:, rows]]
    losses = [grouping.mean_loss(loss, scores, weights) for scores in moved]
    # Losses that differ by rounding are equal.
    return models[int(np.argmin(np.round(losses, 12)))]


def path(model: SetClassifier, data: Sequence[Any], Cs: Values) -> Iterator[SetClassifier]:
    """Copies of ``model``, fitted for each C in turn; ``data`` are X, y, groups and sample_weight.

    The sets, the surrogate and the logistic start are bound once. A fit of a convex surrogate begins at the weights of
    the last one, with its planes. A fit of the ramp begins at the start, so that it is what ``fit`` alone gives. No
    threshold is chosen.
    """
    X, y, groups, sample_weight = data
    problem, last, seen = None, None, {}
    for C in Cs:
        one = clone(model).set_params(C=float(C), warm_start=False)
        if problem is None:
            problem = problem_of(one, X, y, groups, sample_weight, one._intercept, path=True).in_order()
            # The number and the names of the features.
            seen = {name: value for name, value in one.__dict__.items() if name.endswith("_in_")}
        one.__dict__.update(seen)
        trained = solve(one, problem, last)
        one._keep(problem, trained, 0.0, groups is not None)
        if trained.fit.status == "interrupted":
            raise KeyboardInterrupt
        last = None if np.isnan(trained.radius) else trained.w
        yield one


LUCK, FEWEST, MOST = 0.16, 3, 10
"""How often luck may look like a gain, and the least and the largest number of folds whose signs are drawn freely."""

POWERS = tuple(10.0**k for k in range(7))
"""The values of C that are tried where none are given."""


@final
@with_parameters
class SetClassifierCV(ClassifierMixin, VersionedEstimator):
    """``SetClassifier`` with the smallest C whose score on held-out folds is within one standard error of the best.

    Where fits start at logistic regression, or for costs that differ by row at the convex model where its training loss
    is smaller, the start is tried first, as C = 0. It is left only for a gain that is more than luck: if the signs of
    the gains on the folds were drawn at random, the best candidate would gain as much in at most 16 % of all cases.
    With ``threshold="exact"`` the C of logistic regression, and whether its classes are balanced, are those with which
    held-out scores have the least loss at their best threshold, on the same folds; so a start that is not left is a
    tuned logistic regression.

    With ``surrogate="auto"`` the ramp is tried, where the loss has one. For several sets the convex surrogate is tried
    too, after the ramp: of all that are within one standard error of the best, the first is the nearest to logistic
    regression. For one set the convex surrogate gained nothing over the ramp in trials on imbalanced tables, and was
    often worse by a lot.

    The score is that of :meth:`SetClassifier.score`, one minus the mean loss over the sets, and the error that of the
    paired differences over the folds (the rule of Breiman et al. 1984). On small samples the best score is often luck;
    the smallest C stays nearest to w = 0, or to logistic regression where the ramp starts there. On each fold the fits
    go from the smallest C to the largest. Those of a convex surrogate begin with the weights and the planes of the fit
    before, for offsets and slopes of planes do not depend on C.

    Parameters
    ----------
    estimator : a SetClassifier, whose C is not used and whose learner is a name; None is ``SetClassifier()``. With
        ``threshold="exact"`` each C is judged with the best thresholds of the other folds' held-out scores, and the
        final ones are those of all folds: no more fits are needed. A row that several splits of ``cv`` test, as of
        ``ShuffleSplit(3)``, counts once, by the first of them. The test rows of one split alone are divided into 5
        folds, whose scores are then those of ``scores_``
    Cs : (m,) values of C, above 0; None is 1, 10, ..., 1e6, times the loss of all decisions wrong where only the ramp
        is tried and costs differ by row. The mean is over sets, so C does not grow with the number of rows: see
        :class:`SetClassifier`
    cv : the number of folds, or a splitter of scikit-learn, or pairs of training and test rows. Folds keep groups
        together, and the shares of the classes of y (n,) where there are no groups. None is 5 folds, or fewer where
        the rarest class, or the groups, are fewer; a number that is larger than these is refused

    Attributes
    ----------
    C_, best_score_ : the value that was chosen, and its mean score on held-out rows, which choosing makes a little too
        high
    candidates_ : the m pairs of a surrogate and a C that were tried, C rising for each surrogate
    scores_ : (folds, m), the scores of the candidates on each fold
    estimator_ : the SetClassifier with the C and the surrogate that were chosen, fitted on all rows
    coef_, intercept_, classes_, n_features_in_ : those of ``estimator_``

    Raises
    ------
    ValueError : by ``fit``, for parameters out of range, and rows, labels and folds that do not fit together
    Refusal : a ValueError by ``fit``, where estimator, folds and target do not fit each other
    NotFittedError : by the other methods before ``fit``

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from setwise import SetClassifier, SetClassifierCV
    >>> X, y = make_classification(400, 5, weights=[0.9], class_sep=0.7, random_state=0)
    >>> model = SetClassifierCV(SetClassifier("f1"), Cs=[1.0, 1e3], cv=3).fit(X, y)
    >>> model.candidates_, model.C_  # no ramp gained more than luck over logistic regression
    ((('ramp', 0.0), ('ramp', 1.0), ('ramp', 1000.0)), 0.0)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [SetClassifier, None],
        "Cs": ["array-like", None],
        "cv": ["cv_object"],
    }

    estimator: SetClassifier | None = None
    Cs: ArrayLike | None = None
    cv: Any = None

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
    ) -> Self:
        """Choose C on held-out folds and train on all rows.

        Parameters
        ----------
        X : (n, d), dense or CSR
        y : (n,) with two labels or more, or (n, p) of 0 and 1
        groups : (n,) the id of the set of each row, for y (n,) only; folds never split a set
        sample_weight : (n,) the weight of the set of each row, equal for all rows of a set; of each row for
            ``RowCosts`` and one set, whose costs it multiplies
        tp_cost, fp_cost, fn_cost, tn_cost : (n,) costs of these rows, or numbers, in place of those of a loss
            ``RowCosts``

        Returns
        -------
        self : the fitted classifier

        Raises
        ------
        ValueError : for parameters out of range, and for rows, labels, groups and folds that do not fit together
        Refusal : a ValueError, where estimator, folds and target do not fit each other
        TypeError : for features that are neither numbers nor text
        """
        self._validate_params()
        if groups is None:
            warn_of_dropped_groups("fit", type(self).__name__)
        Cs = as_reals(POWERS if self.Cs is None else self.Cs, "Cs")
        if Cs.ndim != 1 or len(Cs) == 0 or Cs.min() <= 0:
            raise ValueError(f"Cs must be numbers above 0, at least one; got {shown(self.Cs)}.")
        Cs = np.unique(Cs)
        model = SetClassifier() if self.estimator is None else self.estimator
        if not isinstance(model.learner, str):
            raise Refusal(
                f"SetClassifierCV refuses {model.learner!r}, which brings its own C. Name the learner.",
                NAMES_AND_OBJECTS,
            )
        # What does not fit is refused before anything is split.
        costs = {"tp": tp_cost, "fp": fp_cost, "fn": fn_cost, "tn": tn_cost}
        problem = problem_of(clone(model), X, y, groups, sample_weight, 1.0, costs=costs)
        if problem.weights is not None and len(problem.weights) == 1:
            # Equal weights of the rows of one set change nothing.
            sample_weight, problem = None, replace(problem, row_weights=None)
        if isinstance(model.loss, RowCosts):
            labels, many = np.unique(problem.target, return_counts=True)
            if len(labels) < 2 or many.min() < 2:
                most = f"{labels.tolist()[many.argmax()]!r} the cheaper label of {many.max():,} of {many.sum():,} rows"
                raise Refusal(f"SetClassifierCV refuses these costs: they make {most}. Use SetClassifier.", ROW_COSTS)
        # Folds that the user makes hold the rows by their places.
        own = self.cv is None or isinstance(self.cv, int | np.integer)
        problem = problem.in_order(in_folds=True) if own else problem
        splits = self._splits(problem.target, problem.ids if own else groups)
        if self.Cs is None and surrogates(model, problem) == (Ramp.name,):
            Cs = Cs * (problem.unit or 1.0)
        if model.threshold == "exact":
            refuse_without_threshold(problem)
            splits = list(tested_once(splits, len(problem.target), self.cv))
        candidates = tried(model, problem, Cs, splits)
        scores, shifts = _judge(candidates, problem, splits)
        left = candidates[0][1][0] > 0 or beats_first(scores)
        chosen = smallest_within_error(scores) if left else 0
        pairs = [(one, float(C)) for one, values in candidates for C in values]
        final, C = pairs[chosen]
        self.estimator_ = clone(final).set_params(C=C)._fit(X, y, groups, sample_weight, shifts[chosen], costs=costs)
        self.candidates_ = tuple((one.surrogate, value) for one, value in pairs)
        self.scores_, self.C_, self.best_score_ = scores, C, float(scores[:, chosen].mean())
        take_features(self, self.estimator_, "coef_", "intercept_", "classes_")
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The scores of ``estimator_``, by :meth:`SetClassifier.decision_function`.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``

        Returns
        -------
        scores : (n,), or (n, p) for a label matrix of p columns or p > 2 classes

        Raises
        ------
        ValueError, TypeError, OverflowError : for rows that ``estimator_`` refuses
        NotFittedError : before ``fit``
        """
        return self._fitted.decision_function(X)

    def predict(self, X: Any, return_certain: bool = False) -> Any:
        """The labels that ``estimator_`` predicts, by :meth:`SetClassifier.predict`.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``
        return_certain : whether to return also which predictions no further optimization of the objective can change

        Returns
        -------
        labels : (n,) of ``classes_``, or for a label matrix (n, p) of 0 and 1
        certain : a mask of the same shape, with ``return_certain`` only

        Raises
        ------
        Refusal : for ``return_certain`` after a ramp, and where the ``C_`` that was chosen is 0
        ValueError, TypeError, OverflowError : for arguments that ``estimator_`` refuses
        NotFittedError : before ``fit``
        """
        return self._fitted.predict(X, return_certain)

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
        """``1 - mean loss`` over the sets of (X, y), by :meth:`SetClassifier.score` of ``estimator_``.

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
        TypeError, OverflowError : for rows that ``estimator_`` refuses
        NotFittedError : before ``fit``
        """
        costs = {"tp_cost": tp_cost, "fp_cost": fp_cost, "fn_cost": fn_cost, "tn_cost": tn_cost}
        return self._fitted.score(X, y, groups, sample_weight, **costs)

    @property
    def _fitted(self) -> SetClassifier:
        check_is_fitted(self)
        fitted: SetClassifier = self.estimator_
        return fitted

    def _splits(self, target: Any, groups: Any) -> list[Any]:
        """Pairs of training and test rows."""
        if self.cv is None or isinstance(self.cv, int | np.integer):
            return folds(target, groups, int(self.cv or 5), "SetClassifierCV", fewer=self.cv is None)
        if isinstance(self.cv, BaseCrossValidator | BaseShuffleSplit):
            # Rows keep their order, in which costs of single rows belong to them.
            return [(np.sort(a), np.sort(b)) for a, b in self.cv.split(np.zeros(len(target)), target, groups)]
        return as_splits(self.cv, len(target))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = (SetClassifier() if self.estimator is None else self.estimator).__sklearn_tags__()
        tags.input_tags, tags.classifier_tags = inner.input_tags, inner.classifier_tags
        return tags


def _judge(
    candidates: list[tuple[SetClassifier, Values]], problem: SetProblem, splits: list[Split]
) -> tuple[Values, list[Any]]:
    """The score of each model with each of its C on each fold, (folds, m), and their best thresholds or None."""
    exact = candidates[0][0].threshold == "exact"
    m = sum(len(Cs) for _, Cs in candidates)
    scores, held_out = np.empty((len(splits), m)), np.zeros((m, *problem.shape) if exact else 0)
    for k, (train, test) in enumerate(splits):
        part, fold = problem.given(train), problem.given(test)
        loss = problem.loss_of(problem.plain_loss, test)
        fits = (path(problem.model_of(one, train), part, Cs) for one, Cs in candidates)
        with quiet_fits():
            for j, one in enumerate(chain.from_iterable(fits)):
                if exact:
                    held_out[j, test] = one.decision_function(fold[0])
                else:
                    scores[k, j] = one._score(*fold, loss)
    if not exact:
        return scores, [None] * m
    tested = np.unique(np.concatenate([test for _, test in splits]))
    every = len(tested) == len(problem.target)
    loss, sets = problem.loss_of(problem.loss, tested), problem.grouping if every else problem.sets_of(tested)
    best = [thresholds(loss, sets, one[tested]) for one in held_out]
    return cross_fitted_scores(problem, held_out, splits), best


def beats_first(scores: Values) -> bool:
    """Whether the best mean gain of ``scores`` (folds, m) over their first column is more than luck.

    If no column were better, the gains of a fold might as well have the other sign. Of all choices of signs of the
    folds the luckiest column may gain as much in at most 16 %, as luck exceeds one standard error. One or two folds
    cannot show this, and pass.
    """
    gains = scores - scores[:, :1]
    if len(gains) < FEWEST:
        return True
    signs = np.array(list(product((1.0, -1.0), repeat=min(len(gains), MOST))))
    # Folds beyond the tenth share the signs of the first ones.
    luckiest = (signs[:, np.arange(len(gains)) % MOST] @ gains).max(axis=1)
    return bool((luckiest >= gains.sum(axis=0).max() - 1e-12).mean() <= LUCK)


def smallest_within_error(scores: NDArray[np.float64]) -> int:
    """The first column of ``scores`` (folds, m) whose mean is at most one standard error below the best mean.

    The error is that of the paired differences from the best column; a single fold has none.
    """
    below = scores[:, [int(scores.mean(axis=0).argmax())]] - scores
    error = standard_error(below) if len(scores) > 1 else np.zeros(scores.shape[1])
    # Rounding of equal means must not decide.
    return int(np.argmax(below.mean(axis=0) <= error + 1e-12))
