"""MeasureClassifier: any classifier, decided in the way that is best for a measure of whole sets of decisions."""

import warnings
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import KW_ONLY, replace
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.metadata_routing import UNUSED, MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from setwise.core.checkpoint import Checkpoint, OpenCheckpoint
from setwise.core.checks import as_limit, as_row_weights
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import CLASS_LOSSES, FLOORS, MEASURE_COST, ROW_COSTS
from setwise.decisions import threshold_curve
from setwise.decisions.label_thresholds import warn_of_few
from setwise.decisions.task import Task
from setwise.estimators.base import (
    Names,
    VersionedEstimator,
    given_costs,
    take_features,
    threads,
    warn_of_dropped_groups,
    warn_of_forgotten_groups,
    with_costs,
    with_parameters,
)
from setwise.estimators.checkpoints import UNROUTED
from setwise.estimators.selection import COST_STRATEGIES, STRATEGIES, Strategy, as_strategies
from setwise.estimators.selection.base_models import base_has, check_prefit, default_classifier, is_prefit
from setwise.estimators.selection.choice import BY_COSTS, Choice, choose, repeated_choice
from setwise.estimators.selection.decision import BayesDecision, RowCostRule
from setwise.estimators.selection.floors import FlooredClass, FlooredThreshold
from setwise.estimators.selection.out_of_fold import NewRowsEvidence, OutOfFoldBase, open_for_choice
from setwise.estimators.selection.problem import SelectionProblem, problem_of
from setwise.estimators.selection.strategies import ThresholdPerLabel, ThresholdRule
from setwise.estimators.sets import as_ids, as_known
from setwise.estimators.splits import Folds, check_outer
from setwise.losses import as_loss
from setwise.losses.row_costs import RowCosts

OWN = "estimator"
"""The name of the user's estimator among the base models of a choice."""


@final
@with_parameters
class MeasureClassifier(MetaEstimatorMixin, ClassifierMixin, VersionedEstimator):
    """A classifier with the threshold, or another decision rule, of the least out-of-fold loss of whole sets.

    The reference is ``estimator`` with a tuned threshold; for :class:`~setwise.losses.RowCosts` it is the decision of
    each row by its own costs. Each candidate is tuned on all folds but one and evaluated on that one. A candidate
    replaces the reference if its gain on these rows is above one standard error. With several candidates more is asked,
    because the best of several may be ahead by luck. Of those that pass, the one with the least mean loss is taken. The
    choice can be wrong: on some data it is a little worse than the reference. ``outer_cv`` measures what it is worth.

    The target says what a set is, as for :class:`~setwise.SetClassifier`: all rows (y (n,)), the rows of each group
    (``fit(X, y, groups=g)``), or the rows of a label matrix Y (n, p) of 0 and 1 (or what ``average`` says). A
    classifier that takes one label only is fitted to a label matrix one label at a time.

    Of more than two classes the reference is the most probable one. The loss of labels is then its mean over the
    classes, each against the rest (macro F1 for ``"f1"``), or with ``pos_label`` that of one class; accuracy, balanced
    accuracy, ``"mcc"`` and ``"kappa"`` are those of k classes, and :class:`~setwise.losses.CostMatrix` gives costs.

    ``X`` goes to the estimator unchanged, which must handle text, categories and missing values itself.

    Source: own; described and measured in docs/guide/measure.md.

    Parameters
    ----------
    estimator : a classifier with ``predict_proba`` or ``decision_function``. None takes
        ``make_pipeline(StandardScaler(), LogisticRegression())``
    loss : a loss of labels, its name (``setwise list`` shows them), a metric or scorer of scikit-learn, such as
        ``f1_score``, or a function ``f(y_true, y_pred)`` of yours, see :class:`~setwise.losses.MetricLoss`
    strategies : ``"auto"`` tries all strategies that fit; or a list of names or of strategy objects. The tuned
        threshold is always tried
    cv : the number of folds, a splitter, or pairs of training and test rows. Rows may be in no test fold, as
        ``TimeSeriesSplit`` does the first rows: then tested rows tune, later ones judge, and standard errors come from
        runs of rows that follow each other. A row that several splits test, as of ``ShuffleSplit(3)``, counts once, by
        the first of them. The test rows of one split alone, as of ``ShuffleSplit(1)``, are divided
        into 5 folds that tune and judge. ``"prefit"`` takes the estimator as it was fitted, on other rows; the rows of
        ``fit`` then tune and choose alone. A number k makes shuffled folds, stratified for y (n,), and of whole groups
        where groups are given
    refit : whether the estimator is fitted on all rows after the choice; it must be False with ``cv="prefit"``, and
        True otherwise
    response_method : ``"auto"`` takes ``predict_proba``, or else ``decision_function``
    pos_label : the positive one of two labels, by default the last in sorted order; of more labels the one that the
        loss judges against the rest, by default each in turn
    average : what a set is in a label matrix: each row (``"samples"``), each column (``"macro"``), or the whole matrix
        (``"micro"``)
    outer_cv : the number of outer folds in which the whole choice is repeated, for ``gain_``; None reports no gain.
        With k outer folds ``fit`` takes about k + 1 times as long. Where test rows of ``cv`` are later than its
        training rows, as in ``TimeSeriesSplit``, so are those of the outer folds, and the interval comes from runs of
        rows. It is not for a ``cv`` that is a ``PredefinedSplit`` or pairs of rows
    store_cv_results : whether ``cv_results_`` keeps the score at all cut points
    n_jobs : the number of processes that share the fits of the folds
    random_state : the seed of folds and of the bootstrap; with None both repeat from fit to fit

    Attributes
    ----------
    estimator_ : the classifier, fitted on all rows. If ``best_strategy_`` is ``"cost_weight"`` or ``"cost_trees"``, it
        is fitted to rows weighted by their costs, or boosted trees are in its place; then ``predict_proba`` is no
        probability of the label
    classes_ : the labels, or the names of the columns of a label matrix, or 0..p-1
    best_strategy_ : the name of the strategy that was chosen
    best_threshold_ : the threshold at which a score of ``estimator_`` is positive; an array with one for each label, or
        None, where the chosen strategy is no threshold. ``predict`` follows a value that is set by hand, until ``fit``
    best_score_ : the score of the choice on rows that were held out, as of :meth:`score`; choosing made it a little too
        high on average
    candidates_ : a tuple of ``Candidate``, the reference first, with losses, gains and their standard errors;
        ``pandas.DataFrame(model.candidates_)`` shows it as a table
    cv_results_ : ``{"thresholds", "scores"}`` at all cut points of the out-of-fold scores, with ``store_cv_results``
    gain_, gain_error_, gain_interval_ : what the choice gains over the reference in outer folds, its standard error,
        and a 95 % interval; with ``outer_cv`` only
    rule_ : the rule that ``predict`` follows, as data
    loss_ : the loss that :meth:`score` measures
    n_features_in_, feature_names_in_ : where the estimator has them

    Raises
    ------
    ValueError : by ``fit``, for parameters out of range, and rows, labels and groups that do not fit together
    Refusal : a ValueError by ``fit``, where loss, strategies, folds and target do not fit each other
    TypeError : by ``fit``, for strategies that are neither names nor strategies
    NotFittedError : by the other methods before ``fit``

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.metrics import f1_score
    >>> from setwise import MeasureClassifier
    >>> X, y = make_classification(400, 5, weights=[0.9], class_sep=0.7, random_state=0)
    >>> model = MeasureClassifier(LogisticRegression(), loss="f1", random_state=0).fit(X, y)
    >>> model.best_strategy_, round(model.best_threshold_, 2)
    ('threshold', 0.24)
    >>> f1_score(y, model.predict(X)) > f1_score(y, model.estimator_.predict(X))
    True
    """

    __metadata_request__fit: ClassVar[dict[str, Any]] = UNROUTED
    __metadata_request__predict: ClassVar[dict[str, Any]] = {"single_threshold": UNUSED}
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["fit", "predict_proba"]), HasMethods(["fit", "decision_function"]), None],
        "loss": [str, Loss, callable],
        "strategies": "no_validation",
        "cv": "no_validation",
        "refit": ["boolean"],
        "response_method": [Names({"auto", "predict_proba", "decision_function"})],
        "pos_label": "no_validation",
        "average": [Names({"samples", "macro", "micro"})],
        "outer_cv": [Interval(Integral, 2, None, closed="left"), None],
        "store_cv_results": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    estimator: Any = None
    loss: str | Loss = "f1"
    strategies: Any = "auto"
    cv: Any = 5
    _: KW_ONLY
    refit: bool = True
    response_method: str = "auto"
    pos_label: Any = None
    average: str = "samples"
    outer_cv: int | None = None
    store_cv_results: bool = False
    n_jobs: int | None = None
    random_state: Any = None

    def fit(
        self,
        X: Any,
        y: Any,
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
        """Fit the estimator, tune all strategies out of fold, and choose.

        A fit that raises an exception leaves the model as it was. If Ctrl-C comes after the reference was judged, the
        best of the strategies tried so far is stored, a warning says so, and KeyboardInterrupt is raised.

        Parameters
        ----------
        X : n rows, (n, ...), whatever the estimator takes
        y : (n,) with two labels, or (n, p) of 0 and 1
        groups : (n,) the id of the group of each row. Folds never split a group; for y (n,) each group is a set. With
            metadata routing they go to the fits of the estimator too, if it requests them
        sample_weight : (n,) weights of rows in the fits of the estimator, and for y (n,) in the loss. A strategy that
            cannot use weights is refused
        tp_cost, fp_cost, fn_cost, tn_cost : (n,) costs of these rows, or numbers, in place of those of a loss
            ``RowCosts``. A row that lacks one, which may be NaN where its cell cannot occur, counts as wrongly decided
            by its own costs
        checkpoint : the path of a file that keeps what the estimator says of the rows that were held out, as plain
            arrays, so that no such fit is made twice; or a :class:`setwise.learners.Checkpoint`. Fits on all rows are
            made anew, since a model is no plain array
        resume : whether to take from the file what it holds of this fit, if there is one; a file of other data, another
            loss, other folds or other parameters is refused

        Returns
        -------
        self : the fitted classifier

        Raises
        ------
        ValueError : for parameters out of range, for rows, labels and groups that do not fit together, and for a file
            that cannot be gone on from
        Refusal : a ValueError, where loss, strategies, folds and target do not fit each other
        TypeError : for strategies that are neither names nor strategies
        FileExistsError : where there is a file ``checkpoint`` already, without ``resume``
        """
        self._validate_params()
        if groups is None:
            warn_of_dropped_groups("fit", type(self).__name__)
        with self._unchanged_by_errors():
            costs = {"tp": tp_cost, "fp": fp_cost, "fn": fn_cost, "tn": tn_cost}
            interrupted = self._fit(X, y, groups, sample_weight, costs, checkpoint, resume)
        if interrupted:
            warnings.warn(
                "MeasureClassifier was interrupted; it has the best of the strategies tried so far." + MEASURE_COST.see,
                RuntimeWarning,
                stacklevel=2,
            )
            raise KeyboardInterrupt
        return self

    def predict(
        self,
        X: Any,
        groups: ArrayLike | None = None,
        *,
        tp_cost: ArrayLike | None = None,
        fp_cost: ArrayLike | None = None,
        fn_cost: ArrayLike | None = None,
        tn_cost: ArrayLike | None = None,
        single_threshold: bool = False,
    ) -> NDArray[Any]:
        """The labels that the chosen strategy predicts.

        Parameters
        ----------
        X : n rows, (n, ...), whatever the estimator takes
        groups : (n,) the id of the group of each row. With them the rows of a group may be decided together; without
            them the label of a row depends on this row alone
        tp_cost, fp_cost, fn_cost, tn_cost : (n,) costs of these rows, or numbers, in place of those of a loss
            ``RowCosts``; what ``fit`` was given must be given here too
        single_threshold : whether a rule that decides each row by its own costs gives way to the tuned threshold, which
            needs no costs

        Returns
        -------
        labels : (n,) of ``classes_``, or for a label matrix (n, p) of 0 and 1

        Raises
        ------
        ValueError : for groups that do not fit the rows, for costs that are missing, and for scores of the estimator
            that are not finite
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        if self._grouped and groups is None and self.rule_.joint:
            warn_of_forgotten_groups("predict")
        ids = None if groups is None else as_ids(groups, _num_samples(X))
        evidence = NewRowsEvidence(lambda _: self.estimator_, X, ids, self._method, self._positive, self._outputs)
        rule, costs = self.rule_, {"tp": tp_cost, "fp": fp_cost, "fn": fn_cost, "tn": tn_cost}
        if single_threshold and isinstance(rule, RowCostRule):
            rule = self._reference
        elif isinstance(rule, RowCostRule) or any(cost is not None for cost in costs.values()):
            rule = rule.for_rows(with_costs(self.loss_, X, costs, "predict", self._told))
        labels = rule.labels(evidence)
        if self._outputs is not None:
            return labels.astype(np.int64)
        if len(self.classes_) > 2:
            return np.asarray(self.classes_[labels])
        at = self.classes_.tolist().index(self._positive)
        return np.asarray(self.classes_[np.where(labels, at, 1 - at)])

    @available_if(base_has("predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """The probabilities of ``estimator_``, as it gives them; it is there where the estimator has this method.

        Parameters
        ----------
        X : n rows, (n, ...), whatever the estimator takes

        Returns
        -------
        probabilities : (n, 2) in the order of the estimator's own ``classes_``; of a label matrix that was fitted label
            by label (n, p), of label 1

        Raises
        ------
        NotFittedError : before ``fit``; for what does not fit the rows the estimator has errors of its own
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    @available_if(base_has("decision_function"))
    def decision_function(self, X: Any) -> Any:
        """The scores of ``estimator_``, as it gives them; it is there where the estimator has this method.

        Parameters
        ----------
        X : n rows, (n, ...), whatever the estimator takes

        Returns
        -------
        scores : (n,), or for a label matrix (n, p)

        Raises
        ------
        NotFittedError : before ``fit``; for what does not fit the rows the estimator has errors of its own
        """
        check_is_fitted(self)
        return self.estimator_.decision_function(X)

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

        With costs of each row it is minus the mean cost of a row, in a label matrix that of all its labels, and of a
        function of yours its mean value, or minus this where less is better.

        Parameters
        ----------
        X : n rows, (n, ...), whatever the estimator takes
        y : (n,) of labels that were fitted, or (n, p) of 0 and 1
        groups : (n,) the id of the set of each row, for y (n,) only; None makes all rows one set
        sample_weight : (n,) the weight of each row in the loss, for y (n,) only
        tp_cost, fp_cost, fn_cost, tn_cost : (n,) costs of these rows, or numbers, in place of those of a loss
            ``RowCosts``; what ``fit`` was given must be given here too

        Returns
        -------
        score : one number, higher is better; 1 if the loss is undefined for all sets

        Raises
        ------
        ValueError : for labels and groups that do not fit the predictions or were not fitted
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        if groups is None:
            warn_of_dropped_groups("score", type(self).__name__)
            if self._grouped:
                warn_of_forgotten_groups("score")
        costs = {"tp": tp_cost, "fp": fp_cost, "fn": fn_cost, "tn": tn_cost}
        loss = with_costs(self.loss_, X, costs, "score", self._told).reported
        labels = self.predict(X, groups, tp_cost=tp_cost, fp_cost=fp_cost, fn_cost=fn_cost, tn_cost=tn_cost)
        known = [0, 1] if self._outputs is not None else self.classes_.tolist()
        target = as_known(y, labels.shape, known)
        ids = None if groups is None or self._outputs is not None else as_ids(groups, len(target))
        weights = None if sample_weight is None else as_row_weights(sample_weight, len(target))
        if weights is not None and self._outputs is not None:
            raise ValueError("sample_weight must be None for a label matrix; got weights.")
        truth, guess = (
            np.searchsorted(self.classes_, one)
            if isinstance(self._positive, np.ndarray)
            else np.asarray(one == self._positive)
            for one in (target, labels)
        )
        return Task(truth, loss, ids, self.average, weights).score(guess)  # type: ignore[arg-type]

    def _fit(
        self,
        X: Any,
        y: Any,
        groups: Any,
        sample_weight: Any,
        costs: Mapping[str, Any],
        checkpoint: Any,
        resume: bool,
    ) -> bool:
        """Choose and store everything; returns whether Ctrl-C ended the search."""
        prefit = is_prefit(self.cv)
        if prefit == self.refit:
            raise ValueError(f"refit must be {not self.refit} with cv={self.cv!r}; got refit={self.refit}.")
        if self.outer_cv is not None:
            check_outer(self.cv)
        plain = as_loss(self.loss)
        loss = with_costs(plain, X, costs, "fit").reported
        layout: Any = self.average
        problem = problem_of(
            X, y, loss, groups=groups, sample_weight=sample_weight, pos_label=self.pos_label, average=layout
        )
        if prefit:
            check_prefit(self.estimator, None if problem.task.is_matrix else problem.classes)
        strategies = self._strategies_for(problem)
        gaps = dict[str, int]()
        if isinstance(loss, RowCosts) and not problem.task.is_matrix:
            counts = {cell: int(np.isnan(cost).sum()) for cell, cost in loss.arrays.items()}
            gaps = {cell: count for cell, count in counts.items() if count}
            settled = loss.unknown_as_mistakes(problem.task.truth)
            problem = replace(problem, task=replace(problem.task, loss=settled)) if gaps else problem
        threads(self.n_jobs)
        seed = 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))
        folds = self._folds(problem, seed)
        with open_for_choice(self, problem, folds, sample_weight, checkpoint, resume) as kept:
            bases = self._bases(problem, prefit, folds, kept)
            choice = self._decide(bases, problem.task, strategies, seed)
            self._keep(problem, bases[OWN], choice, plain, given_costs(costs))
            if gaps and BY_COSTS in {one.name for one in strategies} and self.best_strategy_ != BY_COSTS:
                cell, count = next(iter(gaps.items()))
                warnings.warn(
                    f"{cell} is NaN for {count:,} rows, which count as wrongly decided by their own costs, and "
                    f"{self.best_strategy_!r} was chosen." + ROW_COSTS.see,
                    RuntimeWarning,
                    stacklevel=3,
                )
            if problem.task.layout == "macro" and self.best_strategy_ == ThresholdPerLabel.name:
                warn_of_few(problem.task.truth.sum(axis=0))
            if self.outer_cv is not None and not choice.interrupted:
                found = repeated_choice(
                    problem,
                    problem.outer_folds(self.outer_cv, self.cv, folds, seed),
                    lambda part: self._bases(part, prefit, self._folds(part, seed), kept),
                    lambda models, task: self._decide(models, task, strategies, seed),
                    seed,
                )
                self.gain_, self.gain_error_, self.gain_interval_ = found.gain, found.error, found.interval
        return choice.interrupted

    def _strategies_for(self, problem: SelectionProblem) -> tuple[Strategy, ...]:
        """The strategies that are tried."""
        several, loss = bool(problem.task.classes), problem.task.loss
        if several and self.store_cv_results:
            raise Refusal(
                "store_cv_results must be False for more than two classes, which have no cut points.", CLASS_LOSSES
            )
        found = as_strategies(self.strategies, several)
        if not problem.task.is_matrix:
            labels, positive = problem.classes.tolist(), problem.positive
            each = (one.for_labels(labels, positive) if isinstance(one, FlooredThreshold) else one for one in found)
            found = as_strategies(list(each))
        by_row = isinstance(loss, RowCosts) and loss.by_class is None
        return (
            (*found, *(kind() for kind in COST_STRATEGIES.values()))
            if by_row and isinstance(self.strategies, str) and self.strategies == "auto"
            else found
        )

    def _folds(self, problem: SelectionProblem, seed: int) -> Folds:
        return problem.folds(5 if self.cv is None or is_prefit(self.cv) else self.cv, seed)

    def _bases(
        self, problem: SelectionProblem, prefit: bool, folds: Folds, kept: OpenCheckpoint | None
    ) -> Mapping[str, OutOfFoldBase]:
        base = self._base(problem.X)
        floored = any(isinstance(one, FlooredThreshold | FlooredClass) for one in self._strategies_for(problem))
        return {OWN: problem.out_of_fold(base, folds, self.response_method, self.n_jobs, prefit, kept, floored)}

    def _decide(
        self, bases: Mapping[str, OutOfFoldBase], task: Task, strategies: tuple[Strategy, ...], seed: int
    ) -> Choice:
        first = "as_it_is" if task.classes else "threshold"
        floored = [one for one in strategies if isinstance(one, FlooredClass)]
        named = [one for one in strategies if one.name == first]
        reference = (*floored, *named, STRATEGIES[first]())[0]
        for one in strategies:
            if isinstance(one, BayesDecision) and one.alarms is not None and getattr(reference, "alarms", None) is None:
                raise Refusal(
                    f"{one!r} needs FlooredThreshold(alarms={one.alarms!r}) in the list too, as the reference.", FLOORS
                )
        return choose(bases, task, strategies, reference=reference, seed=seed)

    def _base(self, X: Any) -> Any:
        return default_classifier(X) if self.estimator is None else self.estimator

    def _keep(
        self, problem: SelectionProblem, base: OutOfFoldBase, choice: Choice, loss: Loss, told: tuple[str, ...]
    ) -> None:
        """Store the result of a choice in the attributes."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self.estimator_ = base.fitted(choice.rule.weight)
        # Costs of training rows say nothing of others.
        self.classes_, self.rule_ = problem.classes, choice.rule.for_rows(loss)
        if not problem.task.is_matrix and not problem.task.classes:
            loss = loss.for_labels(tuple(sorted(problem.classes.tolist(), key=lambda one: one == problem.positive)))
        self.loss_ = problem.task.loss if problem.task.classes else loss
        if isinstance(choice.rule, ThresholdRule) and not isinstance(choice.rule.weight, float):
            self.rule_ = replace(choice.rule, weight=1.0)
        self.candidates_ = choice.candidates
        self.best_strategy_ = choice.chosen.strategy
        self.best_score_ = choice.score
        self._reference = choice.reference
        self._positive, self._outputs, self._method = problem.positive, base.outputs, self.response_method
        self._grouped, self._told = problem.task.groups is not None, told
        if self.store_cv_results:
            task, scores = problem.task.take(base.tested), base.response(choice.rule.weight).scores[base.tested]
            thresholds, losses = threshold_curve(task.sets, task.flat(scores), task.set_loss)
            found = [task.as_score(one) for one in losses.tolist()]
            self.cv_results_ = {"thresholds": thresholds, "scores": np.array(found)}
        take_features(self, self.estimator_)

    @property
    def best_threshold_(self) -> Any:
        """The threshold of the rule that ``predict`` follows, or None; setting it makes it the rule."""
        check_is_fitted(self, "rule_")
        return self.rule_.threshold

    @best_threshold_.setter
    def best_threshold_(self, value: Any) -> None:
        check_is_fitted(self, "rule_")
        if len(self.classes_) > 2 and self._outputs is None:
            raise ValueError("best_threshold_ cannot be set for more than two classes, which have no threshold.")
        each = self._outputs is not None and np.shape(value) == (self._outputs,)
        at = [as_limit(one, "best_threshold_") for one in (value if each else [value])]
        self.rule_ = ThresholdRule(np.array(at) if each else at[0])

    def get_metadata_routing(self) -> MetadataRouter:
        """Which arguments go where: ``groups`` and ``sample_weight`` to fit, and to the estimator if it wants them.

        Returns
        -------
        router : a ``MetadataRouter`` of scikit-learn
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return router.add(estimator=self._base(None), method_mapping=mapping)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        base = get_tags(self._base(None))
        tags.input_tags = deepcopy(base.input_tags)
        tags.non_deterministic = base.non_deterministic
        # The default pipeline takes sparse rows too, which it does not center.
        tags.input_tags.sparse = base.input_tags.sparse or self.estimator is None
        tags.classifier_tags.multi_class = base.classifier_tags.multi_class and not isinstance(self.loss, RowCosts)
        tags.classifier_tags.multi_label = True
        return tags
