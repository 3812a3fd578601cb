"""The training of a linear model on rows in sets: its problem, objective, logistic start, and thresholds.

A checkpoint says what a fit is: its data, its loss and its parameters, each as a text.
"""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from setwise.core.attributes import cached_property
from setwise.core.batch import Batch, Sets
from setwise.core.checkpoint import OpenCheckpoint
from setwise.core.checks import Bools, Values, as_row_weights
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss, calls_labels
from setwise.core.pages import EXACT_THRESHOLD, FUNCTION_OF_LABELS
from setwise.core.risk import Features
from setwise.core.surrogate import Surrogate
from setwise.core.terms import Trait
from setwise.decisions import best_threshold
from setwise.decisions.label_thresholds import ScoredLabelMatrix, thresholds_of
from setwise.estimators.base import NO_COSTS, as_matrix, largest_number, threads, way_from_constant, with_costs
from setwise.estimators.checkpoints import described
from setwise.estimators.linear_training import (
    BatchTraining,
    LinearFit,
    certain,
    least_constant_loss,
    quiet_fits,
)
from setwise.estimators.objective import (
    class_weights,
    convex_surrogate,
    default_c,
    loss_for,
    may_ramp,
    named_surrogate,
    sees_places,
    train_loss,
)
from setwise.estimators.sets import Grouping, as_ids, as_target, group, labels_of
from setwise.estimators.splits import FOLDS, Split, among, folds, row_keys
from setwise.inference.enumeration import Enumeration
from setwise.learners import OneSlack
from setwise.losses import as_loss
from setwise.losses.row_costs import RowCosts
from setwise.surrogates import LovaszHinge, Ramp

CS = (1e-3, 1e-2, 1e-1, 1.0, 1e1, 1e2)
"""The values of C of logistic regression that are tried; the scikit-learn default where there are too many numbers."""

TUNED = 2_000_000
"""C is chosen for an X of at most as many numbers, zeros of CSR left out. With more rows it matters little."""

HUGE = 1e140
"""Weights beyond this, times the C of a fit, have no squares in float64."""

NARROW = 300
"""Up to as many columns the Newton steps of scikit-learn are faster than its steps of low memory."""


@final
class LogisticRegressions:
    """Logistic regression of each output on scaled features, as weights for features that are not scaled.

    For a vector or a label matrix there is one model for each column; for k > 2 classes one multinomial model. A column
    with one class alone is predicted to have this class. For a vector and for a label matrix C is the one of ``CS``
    with the least log loss of all columns on held-out rows. It is 1 for classes, where X has more than ``TUNED``
    numbers for all columns together, and where there are too few rows of a class to hold any out.

    Parameters
    ----------
    X : (n, d), dense or CSR
    grouping : the sets of the rows
    target : (n,) or (n, p) of 0 and 1, or classes
    sample_weight : (n,) or None; only the ratios of weights count
    intercept : whether there is one
    model : the logistic regression whose parameters are used as they are, or None to choose C
    plain : whether the features have sizes that mean something, as those of a kernel, and are not scaled

    Attributes
    ----------
    coef, intercept : (outputs, d) and (outputs,)
    held_out : (n,) or (n, p) the scores of held-out rows with the C that was chosen; None if none was
    """

    def __init__(
        self,
        X: Any,
        grouping: Grouping,
        target: NDArray[Any],
        sample_weight: Any,
        intercept: bool,
        model: LogisticRegression | None = None,
        plain: bool = False,
    ) -> None:
        # A sparse matrix stays sparse, so it is not centred.
        scaler = StandardScaler(with_mean=intercept and not issparse(X), with_std=not plain)
        # Arrays, whatever transform_output says: rows are taken by their places.
        scaler = scaler.set_output(transform="default").fit(X)
        rows, weight = scaler.transform(X), _mean_one(sample_weight)
        positive = grouping.classes[-1] if grouping.layout == "vector" else 1
        classes = grouping.layout == "classes"
        labels = target.reshape(len(target), 1) if classes else target.reshape(len(target), -1) == positive
        one = plain_logistic(X.shape[1], classes) if model is None else clone(model)
        one.set_params(fit_intercept=intercept)
        self.held_out: Values | None = None
        numbers = (X.nnz if issparse(X) else X.size) * labels.shape[1]
        with warnings.catch_warnings():
            # This is a start, and no more: it need not converge.
            warnings.simplefilter("ignore")
            if model is None and not classes and numbers <= TUNED:
                found = _tune(one, rows, labels, weight, _folds(grouping, labels))
                self.held_out = None if found is None else found.reshape(target.shape if grouping.is_matrix else -1)
            parts = [_fitted(one, rows, column, weight) for column in labels.T]
        self.coef = np.vstack([coef for coef, _ in parts]) / (1.0 if plain else np.asarray(scaler.scale_))
        self.intercept = np.concatenate([bias for _, bias in parts]) if intercept else np.zeros(len(self.coef))
        if scaler.mean_ is not None and scaler.with_mean:
            self.intercept -= self.coef @ scaler.mean_
        refuse_tiny(self.coef, largest_number(X))

    def scores(self, X: Any) -> NDArray[np.float64]:
        """``X coef^T + intercept``, (n,) or (n, p)."""
        scores = np.asarray(X @ self.coef.T + self.intercept)
        return scores[:, 0] if scores.shape[1] == 1 else scores


def refuse_tiny(coef: Values, largest: float) -> None:
    """Raise OverflowError for weights of a start that are too large to be squared: those of very small features.

    Squares of numbers that are all below 1 / HUGE, the ``largest`` too, leave float64, and they look constant.
    """
    if not np.isfinite(coef).all() or np.abs(coef).max() > HUGE or 0.0 < largest < 1.0 / HUGE:
        raise OverflowError("X is too small: the weights of its features are too large for float64; scale X up.")


def plain_logistic(columns: int, classes: bool = False, **parameters: Any) -> LogisticRegression:
    """Logistic regression with the solver that is faster for so many columns, and for two classes or more."""
    solver = "newton-cholesky" if columns <= NARROW and not classes else "lbfgs"
    return LogisticRegression(max_iter=1000, solver=solver, **parameters)


def _mean_one(weight: Any) -> Values | None:
    """The weights of the rows, scaled to a mean of 1, for logistic regression takes their sum."""
    if weight is None:
        return None
    # Divided by the largest first, for a sum of large weights may overflow.
    scaled = np.asarray(weight, dtype=np.float64)
    scaled = scaled / scaled.max()
    return np.asarray(scaled / scaled.mean())


def _fitted(model: LogisticRegression, rows: Any, labels: NDArray[Any], weight: Values | None) -> tuple[Values, Values]:
    """The coefficients (outputs, d) and the intercepts (outputs,); those of a constant where there is one class."""
    if labels.dtype == bool and (labels.all() or not labels.any()):
        return np.zeros((1, rows.shape[1])), np.array([1.0 if labels.all() else -1.0])
    model.fit(rows, labels, weight)
    return model.coef_, np.broadcast_to(model.intercept_, len(model.coef_))


def _folds(grouping: Grouping, labels: Bools) -> list[Split]:
    """Folds of the rows that keep sets together, and whole rows of a label matrix.

    There are none where the rarer class of a vector has fewer rows than there are folds, or where it would be missing
    in a training part.
    """
    if grouping.is_matrix:
        return folds(labels, None, FOLDS, "start='logistic'") if len(labels) >= FOLDS else []
    assert isinstance(grouping.batch, Sets)
    if min(labels.sum(), (~labels).sum()) < FOLDS:
        return []
    owners: NDArray[np.int64] | None = None
    if len(grouping.batch) > 1:
        owners = np.empty(len(labels), dtype=np.int64)
        owners[slice(None) if grouping.order is None else grouping.order] = grouping.batch.owners
    found = folds(labels.ravel(), owners, FOLDS, "start='logistic'")
    whole = all(labels[train].any() and not labels[train].all() for train, _ in found)
    return found if whole else []


def _tune(
    model: LogisticRegression, rows: Any, labels: Bools, weight: Values | None, splits: list[Split]
) -> Values | None:
    """Set C of the model to the one of least log loss on held-out rows; their scores (n, p), None without splits.

    Of equal log losses the smallest C wins. A column with one class in a training part has its log-odds as scores.
    """
    if not splits:
        return None
    scores = np.empty((len(CS), *labels.shape))
    for train, test in splits:
        one, part = clone(model).set_params(warm_start=True), None if weight is None else weight[train]
        for i, column in enumerate(labels[train].T):
            if column.all() or not column.any():
                scores[:, test, i] = np.log((column.sum() + 0.5) / ((~column).sum() + 0.5))
                continue
            for j, C in enumerate(CS):
                one.set_params(C=C).fit(rows[train], column, part)
                scores[j, test, i] = one.decision_function(rows[test])
    losses = np.logaddexp(0.0, np.where(labels, -scores, scores)).mean(axis=2)
    best = int(np.average(losses, axis=1, weights=weight).argmin())
    model.set_params(C=CS[best])
    return np.asarray(scores[best])


def near_scores(threshold: Any, low: Any, high: Any) -> Any:
    """A threshold of scores from ``low`` to ``high``, beyond them by no more than their spread.

    So one that predicts none or all stays finite.
    """
    spread = np.maximum(high - low, 1.0)
    return np.clip(threshold, low - spread, high + spread)


def thresholds(loss: Loss, grouping: Grouping, scores: NDArray[np.float64]) -> Values | float:
    """The best threshold of scores (n,), or those (p,) of the columns of (n, p); 0 where the loss has none."""
    if loss.reads != "labels" or grouping.layout == "classes":
        return 0.0
    if not grouping.is_matrix:
        assert isinstance(grouping.batch, Sets)
        found = np.array([best_threshold(grouping.batch, grouping.flat(scores), loss).threshold])
    else:
        labels = grouping.batch.truth.reshape(scores.T.shape).T if grouping.layout == "macro" else grouping.batch.truth
        known = ScoredLabelMatrix.of(labels.reshape(scores.shape), scores)
        found = thresholds_of(known, loss, grouping.layout, 0.0).thresholds
    low, high = (np.atleast_1d(end) for end in (scores.min(axis=0), scores.max(axis=0)))
    finite = near_scores(found, low, high)
    return finite if grouping.is_matrix else float(finite[0])


STEPS = 200
"""The most iterations of a convex model where the ramp may start; it need not converge."""

CONVEX = ("convex", "lovasz", "margin", "slack")
"""Names of surrogates that are convex."""


@final
@dataclass(frozen=True, eq=False)
class SetProblem(BatchTraining):
    """What is trained on, bound once; :meth:`solve` may be called for several weights C.

    Attributes
    ----------
    X, target : the rows
    grouping : the sets of the rows
    score_loss : the loss that is reported
    plain_loss : the same before weights of the rows of one set multiply its costs
    loss : the loss that is trained for, with weighted classes
    surrogate : a name, or an object that brings its own loss
    start : ``"auto"``, ``"zero"``, ``"logistic"``, or a logistic regression
    intercept : the value of the constant feature, 0 for none
    row_weights : the weight of each row, (n,), or None. Those of the rows of one set are in its losses
    jobs : the number of threads
    path : whether it is solved for several C, so that planes are remembered
    bare : whether C = 0 leaves logistic regression without a threshold, because one is chosen afterwards: thresholds of
        several folds would differ by noise
    plain : whether logistic regression takes the features as they are, without a scale
    ids : the set of each row, (n,), where groups are given
    """

    X: Any
    target: NDArray[Any]
    grouping: Grouping
    score_loss: Loss
    plain_loss: Loss
    loss: Loss
    surrogate: str | Surrogate
    start: str | LogisticRegression
    intercept: float
    row_weights: Any
    jobs: int
    path: bool = False
    bare: bool = False
    plain: bool = False
    ids: NDArray[np.int64] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of decisions and thresholds: (n,), or (n, p) for a label matrix."""
        shape: tuple[int, ...] = self.target.shape
        return shape if self.grouping.is_matrix else shape[:1]

    def given(self, rows: Any) -> tuple[Any, Any, Any, Any]:
        """X, y, groups and sample_weight of some of the rows, as ``fit`` and ``score`` take them."""
        weights = None if self.row_weights is None else np.asarray(self.row_weights)[rows]
        return self.X[rows], self.target[rows], None if self.ids is None else self.ids[rows], weights

    def loss_of(self, loss: Loss, rows: Any) -> Loss:
        """The loss for some of the rows; costs of rows, and weights of the rows of one set, go with their rows."""
        one_set = self.grouping.layout == "vector" and len(self.batch) == 1
        return loss.of_rows(rows) if one_set or loss.of_one_batch(self.batch) else loss

    def model_of(self, model: Any, rows: Any) -> Any:
        """A copy of the model for :meth:`given` rows."""
        part = self.loss_of(self.plain_loss, rows)
        return clone(model) if part is self.plain_loss else clone(model).set_params(loss=part)

    def sets_of(self, rows: Any) -> Grouping:
        """The sets of some of the rows, which keep all labels."""
        ids = None if self.ids is None else self.ids[rows]
        return group(self.target[rows], ids, self.grouping.layout, self.grouping.classes)

    def in_order(self, in_folds: bool = False) -> "SetProblem":
        """The same problem with its rows in an order that follows from the rows, whatever order they are given in.

        Then neither folds nor ties nor rounding depend on that order. Rows whose order means something to the loss keep
        it, and so do those of a convex surrogate from w = 0, whose objective is certified in any order, unless they are
        to be held out ``in_folds``. X is copied.
        """
        name = self.surrogate if isinstance(self.surrogate, str) else self.surrogate.name
        certified = name in CONVEX and self.start in ("auto", "zero") and not (self.bare or in_folds)
        if certified or sees_places(self.surrogate, self.score_loss, self.loss):
            return self
        weights = None if self.weights is None else np.asarray(self.row_weights, dtype=np.float64)
        labels = np.unique(self.target, return_inverse=True)[1].reshape(len(self.target), -1)
        outer = [] if self.ids is None else [self.ids]
        order = np.lexsort([*([] if weights is None else [weights]), *labels.T, row_keys(self.X), *outer])
        if (order[1:] > order[:-1]).all():
            return self
        X, target, ids, weights = self.given(order)
        return replace(self, X=X, target=target, grouping=self.sets_of(order), ids=ids, row_weights=weights)

    @property
    def multiplications(self) -> int:
        """The number of multiplications for all scores."""
        return int(self.X.shape[0]) * int(self.X.shape[1]) * self.grouping.outputs

    @property
    def batch(self) -> Batch:
        """The sets with their true labels."""
        return self.grouping.batch

    @cached_property
    def features(self) -> Features:
        """The linear model of the scores."""
        return self.grouping.features(self.X, self.intercept)

    @cached_property
    def weights(self) -> Values | None:
        """The weight of each set; None for equal ones."""
        weighted = self.score_loss is not self.plain_loss
        return None if weighted else self.grouping.weights(self.row_weights, self.X.shape[0])

    @cached_property
    def logistic(self) -> tuple[Values, float]:
        """The weights of logistic regression with the best threshold of the loss, and the mean size of its scores.

        Where C of logistic regression is chosen on held-out rows, so is the threshold, unless a constant labeling is as
        good as it in training.
        """
        found = self.regression
        scores = found.scores(self.X)
        w, size = self._at_threshold(found, scores, scores if found.held_out is None else found.held_out)
        if found.held_out is not None and self.loss_at(w) >= self.constant:
            w, size = self._at_threshold(found, scores, scores)
        return w, size

    @cached_property
    def regression(self) -> LogisticRegressions:
        """The logistic regression where a fit may start, as it is."""
        rows = self.X, self.grouping, self.target, self.row_weights
        return LogisticRegressions(
            *rows, self.intercept != 0.0, None if isinstance(self.start, str) else self.start, self.plain
        )

    @cached_property
    def unit(self) -> float | None:
        """The largest loss, that of all decisions wrong, where y is one set and costs differ by row; otherwise None.

        They do where an increasing submodular loss depends on more than counts. Logistic regression does not see such
        costs, so no threshold of it is right for all rows.
        """
        one_set = self.grouping.layout == "vector" and len(self.batch) == 1 and isinstance(self.surrogate, str)
        by_row = Trait.INCREASING in self.loss.traits and Trait.COUNTS not in self.loss.traits
        if not (one_set and by_row and isinstance(self.convex(), LovaszHinge)):
            return None
        return float(self.loss.values(self.batch, ~self.batch.truth)[0]) or 1.0

    @property
    def tries_convex_start(self) -> bool:
        """Whether the ramp may start at the convex model too."""
        return self.start == "auto" and self.unit is not None

    def other_starts(self) -> list[tuple[Values, float]]:
        """The convex model, where costs differ by row."""
        if not self.tries_convex_start:
            return []
        self.starts[:] = [self.logistic[0]]
        surrogate = self.convex()
        w = OneSlack(self.usual_c(surrogate), max_iter=STEPS).minimize(self.risk_of(surrogate)).w
        return [(w, float(np.abs(self.features.scores(w)).mean()))]

    @property
    def bare_start(self) -> Values:
        """The weights of logistic regression as it is; those of the start where the convex model is tried too."""
        if self.tries_convex_start:
            return self.starts[0]
        coef, intercept = self.regression.coef, self.regression.intercept
        return np.ravel(np.column_stack([coef, intercept / self.intercept]) if self.intercept else coef)

    def _at_threshold(self, found: LogisticRegressions, scores: Values, chosen_on: Values) -> tuple[Values, float]:
        """The weights with the best threshold of the scores ``chosen_on``, and the mean size of ``scores`` with it."""
        if self.intercept == 0.0:
            return found.coef.ravel(), float(np.abs(scores).mean())
        best = thresholds(self.loss, self.grouping, chosen_on)
        coef = np.column_stack([found.coef, (found.intercept - best) / self.intercept])
        return coef.ravel(), float(np.abs(scores - best).mean())

    @cached_property
    def constant(self) -> float:
        """The mean loss of the best constant labeling."""
        return least_constant_loss(self.loss, self.grouping, self.omega)

    @property
    def way_out(self) -> str:
        """What to do where a bound says nothing, in a few words."""
        return way_from_constant(largest_number(self.X), super().way_out)

    def named(self, name: str) -> Surrogate:
        """The surrogate of this name for the loss."""
        return named_surrogate(name, self.loss, self.grouping)

    def usual_c(self, surrogate: Surrogate) -> float:
        """The weight of the mean risk that ``C="auto"`` stands for; for the ramp, times the :attr:`unit`.

        Weights of the ramp grow with the unit of the loss, so with such a C the decisions do not depend on it.
        """
        return default_c(surrogate, *self.X.shape) * (self.unit or 1.0 if isinstance(surrogate, Ramp) else 1.0)

    def convex(self) -> Surrogate:
        """The Lovász hinge where the loss is submodular, otherwise margin rescaling."""
        return convex_surrogate(self.loss, self.grouping)

    def certain_decisions(self, trained: LinearFit, shift: Any) -> Bools:
        """Which training decisions, from scores less ``shift``, no optimization changes any more."""
        if self.grouping.layout == "classes":
            k, scores = self.grouping.outputs, self.features.scores(trained.w)
            return certain(scores.reshape(-1, k), self.features.row_lengths[::k], True, trained.radius)
        if self.grouping.is_matrix:
            shift = self.grouping.flat(np.broadcast_to(shift, self.target.shape))
        return super().certain_decisions(trained, shift)

    @property
    def ramp_alone(self) -> bool:
        """Whether ``"auto"`` is the ramp from the beginning.

        On real tables the bound of one set says something mostly where the convex model fits its rows too closely.
        """
        single = self.surrogate == "auto" and self.start != "zero" and len(self.grouping.batch) == 1
        return single and may_ramp(self.loss, self.grouping)

    def loss_at(self, w: Values) -> float:
        """The mean training loss of the weights."""
        return float(self.omega @ self.grouping.losses(self.loss, self.features.scores(w)))


def problem_of(
    model: Any,
    X: Any,
    y: Any,
    groups: Any,
    sample_weight: Any,
    intercept: float,
    path: bool = False,
    costs: Mapping[str, Any] = NO_COSTS,
) -> SetProblem:
    """The problem of the arguments of ``model.fit``, which are checked here; ``costs`` are those of its arguments.

    Raises ValueError, TypeError, OverflowError and Refusal, each with a sentence, for what does not fit.
    """
    target = None if y is None else as_target(y)
    loss = with_costs(as_loss(model.loss), X, costs, "fit")
    # Features compute the lengths of the rows and refuse what is not finite there, which saves a pass over X.
    X, target = as_matrix(model, X, target, multi_output=True, order="C", ensure_all_finite=False)
    classes = labels_of(y, target, model.pos_label)
    trained: Loss = loss
    if isinstance(loss, RowCosts) and loss.by_class is None and target.ndim == 1 and len(classes) == 2:
        cheaper, loss, trained = loss.increasing(target == classes[1])
        target = classes[cheaper.astype(np.intp)]
    grouping = group(target, groups, model.average, classes)
    loss, trained = (loss_for(one, grouping, model.pos_label) for one in (loss, trained))
    plain = loss
    if grouping.weighs_rows(loss, sample_weight) and isinstance(loss, RowCosts) and isinstance(trained, RowCosts):
        sample_weight = as_row_weights(sample_weight, len(target))
        loss, trained = loss.weighted(sample_weight), trained.weighted(sample_weight)
    largest = int(grouping.batch.sizes.max())
    if calls_labels(loss) and largest > Enumeration().limit:
        raise Refusal(
            f"{type(model).__name__} refuses {loss!r} for a set of {largest:,} decisions: training would call "
            "the function for all labelings. Use MeasureClassifier, or CountFunctionLoss(f) for f(fn, fp, P, N).",
            FUNCTION_OF_LABELS,
        )
    train = train_loss(model.surrogate, trained, class_weights(model.class_weight, grouping, target))
    ids = None if groups is None else as_ids(groups, len(target))
    more = model.surrogate, model.start, intercept, sample_weight, threads(model.n_jobs), path
    return SetProblem(X, target, grouping, loss, plain, train, *more, bare=model.threshold == "exact", ids=ids)


def refuse_without_threshold(problem: SetProblem) -> None:
    """Refusal where ``threshold="exact"`` has no threshold to choose: several classes, and losses of rankings."""
    loss, grouping = problem.loss, problem.grouping
    if grouping.layout == "classes" or loss.reads != "labels":
        what = "more than two classes" if grouping.layout == "classes" else f"{loss!r}, which has none"
        raise Refusal(f"threshold='exact' refuses {what}. Use threshold='zero'.", EXACT_THRESHOLD)


def held_out_thresholds(model: Any, problem: SetProblem, checkpoint: OpenCheckpoint | None = None) -> Values | float:
    """The best thresholds of scores that models like ``model`` give to rows held out of their training.

    There are 5 folds, or fewer where the rarest class, or the groups, are fewer. Each is a part of the checkpoint.
    """
    loss, grouping, target = problem.loss, problem.grouping, problem.target
    refuse_without_threshold(problem)
    scores = np.zeros(problem.shape)
    for k, (train, test) in enumerate(folds(target, problem.ids, FOLDS, "threshold='exact'")):
        part = None if checkpoint is None else checkpoint.part(f"fold {k}")
        one = problem.model_of(model, train).set_params(verbose=0, warm_start=False)
        with quiet_fits():
            one._fit(*problem.given(train), 0.0, lambda _, part=part: part)
        scores[test] = one.decision_function(problem.X[test])
    return thresholds(loss, grouping, scores)


def cross_fitted_scores(problem: SetProblem, held_out: Values, splits: list[Split]) -> Values:
    """The score of each fold, (folds, m), for m models' scores of held-out rows (m, n) or (m, n, p).

    It is one minus the mean loss over the sets of the fold, with the thresholds that are best on the other folds: on
    the rows they were chosen on, thresholds look better than they are. Where folds leave rows out, thresholds come from
    training rows that were tested in others, and a fold whose training rows have none, or one label only there, has no
    score. The test rows of a single fold are divided into folds.
    """
    n, found = len(problem.target), []
    tested = among(np.concatenate([test for _, test in splits]), n)
    if len(splits) == 1:
        rows = np.flatnonzero(tested)
        ids = None if problem.ids is None else problem.ids[rows]
        parts = folds(problem.target[rows], ids, FOLDS, "SetClassifierCV")
        splits = [(rows[train], rows[test]) for train, test in parts]
    for train, test in splits:
        rest = ~among(test, n) if tested.all() else tested & among(train, n) & ~among(test, n)
        if len(np.unique(problem.target[rest])) < 2:
            continue
        others, fold = problem.sets_of(rest), problem.sets_of(test)
        weight = None if problem.row_weights is None else np.asarray(problem.row_weights)[test]
        loss, score_loss = (
            problem.loss_of(problem.loss, np.flatnonzero(rest)),
            problem.loss_of(problem.plain_loss, test),
        )
        best = [thresholds(loss, others, scores[rest]) for scores in held_out]
        found.append([fold.score(score_loss, s[test] - at, weight) for s, at in zip(held_out, best, strict=True)])
    if not found:
        raise Refusal("cv must test rows with both labels before its last fold: give more folds.", EXACT_THRESHOLD)
    return np.array(found)


NOT_SAID = frozenset(
    {"loss", "tol", "max_iter", "n_jobs", "random_state", "verbose", "warm_start", "client", "persist"}
)
"""Parameters that may change from a fit to the one that goes on; the loss is said with what it became for the data."""

Keep = Callable[[SetProblem], OpenCheckpoint | None]
"""A function that gives the checkpoint of a problem, or None."""


def about(model: Any, rows: dict[str, str], loss: Loss) -> dict[str, str]:
    """The texts by which a checkpoint knows a fit again: of ``model``, its rows, and the loss that is reported."""
    params = {name: value for name, value in model.get_params(deep=False).items() if name not in NOT_SAID}
    return {
        "estimator": type(model).__name__,
        **rows,
        "loss": described(loss),
        **{name: described(value) for name, value in params.items()},
    }


def no_file(problem: SetProblem) -> None:
    """The checkpoint of a fit that writes none."""
