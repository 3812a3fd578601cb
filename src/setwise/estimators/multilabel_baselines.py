"""The baselines of MultilabelStructuredPredictor: IndependentSVMs, PowersetSSVM, SSVM and JointKernelSupport.

A linear SVM for each label alone; a structured SVM over all sets of labels; one of single labels, evaluated on sets;
and where pairs of inputs and true labels lie, by a one-class SVM.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import linear_kernel
from sklearn.svm import OneClassSVM
from sklearn.utils._param_validation import Interval

from setwise.core.batch import Batch, Sets
from setwise.core.checks import Floats, Ints, Values, as_number, shown
from setwise.core.exceptions import Refusal
from setwise.core.inference import Maximizer
from setwise.core.learner import Fit, Record, relative_gap
from setwise.core.loss import Loss
from setwise.core.pages import LABEL_SPACES
from setwise.core.single_labels import FlipCosts, Flips
from setwise.core.surrogate import Evaluation, Evaluator, Surrogate
from setwise.estimators.base import CONSTRAINTS, Names, as_matrix, linear_scores, with_parameters
from setwise.estimators.label_predictor import LabelPredictor
from setwise.estimators.label_training import LabelProblem, LargeLabelProblem, lowered, right_pairs
from setwise.estimators.linear_training import LinearFit, radius, solve
from setwise.estimators.multilabel_structured_predictor import LinearBaseline
from setwise.estimators.sets import Grouping
from setwise.inference.auto import Auto
from setwise.kernels.segments import segment_sums
from setwise.losses import SumLoss, as_loss
from setwise.models.kernel_features import CHECKED, SLIP, Kernel, PairBasis, gram_of
from setwise.spaces import LargeSpace, Space
from setwise.spaces.spaces import members
from setwise.surrogates.rescaling import MarginRescaling


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
    >>> from setwise.spaces import FiniteSpace
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> Y = [[], ["warm"], ["warm"], ["warm", "hot"]]

    >>> model = IndependentSVMs(FiniteSpace(["warm", "hot"]), C=100.0).fit(X, Y)
    >>> model.predict([[0.2], [1.4], [3.2]])
    [[], ['warm'], ['warm', 'hot']]
    """

    alone: ClassVar[bool] = True

    def _surrogate(self, loss: Loss) -> Surrogate:
        return MarginRescaling(SumLoss())

    def _trained(self, X: Any, Y: Any) -> tuple[LabelProblem | LargeLabelProblem, LinearFit]:
        with self._unchanged_by_errors():
            problem = self._problem(X, Y)
            assert isinstance(problem, LabelProblem)
            if isinstance(problem.model.basis, PairBasis):
                return problem, solve(self, problem, None)
            found: list[LinearFit] = []
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
    return replace(problem, alone=alone, model=model)


def _joined(problem: LabelProblem, found: list[LinearFit], names: Any) -> LinearFit:
    """The result of all labels; those that Ctrl-C has left out have weights of 0, where each hinge is 1."""
    C, p, fits = found[0].C, len(names), [one.fit for one in found]
    totals = np.cumsum([(one.objective, one.lower_bound, one.upper_bound) for one in fits], axis=0)
    totals[:, [0, 2]] += (C * np.arange(p)[::-1])[: len(totals), None]
    seconds = np.cumsum([one.history[-1].seconds for one in fits])
    history = []
    for k, (objective, low, high) in enumerate(totals.tolist()):
        history.append(Record(k + 1, objective, low, high, float(seconds[k]), relative_gap(low, high, C)))
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
    return LinearFit(w, C, fit, found[0].surrogate, radius(fit, convex=True))


@final
class PowersetSSVM(LinearBaseline):
    """``0.5 |w|^2 + (C / n) sum_i max_Y loss(Y_i, Y) + F(x_i, Y) - F(x_i, Y_i)``, the P-SSVM of MLSP 4.1 (Eq. 15-17).

    ``F(x, Y)`` is the sum of the scores ``f(x, y)`` of the labels in Y, so the set of largest F is that of the labels
    with a score above 0. The sum loss makes each label a hinge of its own, ``max(0, lambda(Y_i, y) - v_y f(x_i, y))``.
    The max loss is maximized over all 2^p sets in O(p log p): the costs are sorted, and the worst mistake is tried in
    turn. It is ``MultilabelStructuredPredictor(surrogate="margin")``, without a warning where the bound is vacuous.

    Parameters
    ----------
    space : the labels and their features, as :class:`setwise.spaces.FiniteSpace`
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
    >>> from setwise.spaces import FiniteSpace
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> Y = [[], ["warm"], ["warm"], ["warm", "hot"]]
    >>> space = FiniteSpace(["warm", "hot"])
    >>> joint = PowersetSSVM(space, loss="sum", C=100.0, tol=1e-6).fit(X, Y)
    >>> alone = IndependentSVMs(space, C=100.0, tol=1e-6).fit(X, Y)
    >>> bool(np.isclose(joint.objective_, alone.objective_, rtol=1e-5))
    True
    """

    def _surrogate(self, loss: Loss) -> Surrogate:
        return MarginRescaling(loss)


@final
@dataclass(frozen=True, eq=False)
class LabelRanking(Surrogate):
    """``sum_(y true) max(0, max_(y' false) loss(Y, y') + s_y' - s_y)`` of each set; 0 without a true or a false label.

    It is convex. It does not bound the loss of the set that scores above 0 are.

    Parameters
    ----------
    loss : a loss of labels; ``loss(Y, y')`` is the loss of predicting y' beside all true labels
    """

    loss: Loss

    name: ClassVar[str] = "label_ranking"

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", as_loss(self.loss))

    def on(self, batch: Batch) -> Evaluator:
        """The hinge of a batch of listed labels, or of labels of a large space.

        Where a large space is searched under slack rescaling alone, as windows, whose costs are 0 and 1, the hinge is
        ``loss(Y, y') (1 + s_y' - s_y)``: labels that cost nothing have no effect.
        """
        bound_loss = self.loss.bind(batch)
        if isinstance(batch, Flips):
            # Windows are searched under slack rescaling alone, with costs of 0 and 1.
            slack = Auto().refuses(bound_loss) is not None
            return _LargeRankingHinge(batch, Auto().prepare(bound_loss, slack=slack))
        return _RankingHinge(batch, bound_loss.marginals(bound_loss.batch.labels))


@final
class _RankingHinge(Evaluator):
    """The hinge of each set, where a false label costs ``costs`` (total,)."""

    def __init__(self, batch: Batch, costs: Values) -> None:
        self.batch, self.costs, self.floor = batch, costs, 0.0

    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        batch, true = self.batch, self.batch.truth
        begins, owners = batch.offsets[:-1], batch.owners
        false = np.where(true, -np.inf, self.costs + scores)
        best = np.maximum.reduceat(false, begins)[owners]
        over = np.where(true, best - scores, 0.0)
        violated = over > 0.0
        values = segment_sums(np.where(violated, over, 0.0), batch.offsets)
        # The first of the best false labels takes the whole slope of its set.
        at_best = np.where(~true & (false == best), np.arange(batch.total), batch.total)
        first = np.minimum.reduceat(at_best, begins)
        number = np.add.reduceat(violated, begins, dtype=np.int64)
        gradient = -violated.astype(scores.dtype)
        gradient[first[number > 0]] += number[number > 0]
        return Evaluation(values, gradient, values, np.ones(len(batch), dtype=bool))

    def take(self, parts: Ints) -> "_RankingHinge":
        return _RankingHinge(self.batch.take(parts), self.costs[self.batch.decisions(parts)])

    def __repr__(self) -> str:
        return "the hinge of true labels against false ones"


@final
class _LargeRankingHinge(Evaluator):
    """The hinge of each input of a large space, by one search for the worst false label."""

    def __init__(self, batch: Flips, maximizer: Maximizer) -> None:
        self.batch, self.flips, self.maximizer, self.floor = batch, batch, maximizer, 0.0
        self.most = sum(term.factor * term.most for term in maximizer.bound_loss.terms if isinstance(term, FlipCosts))

    def evaluate(self, scores: Floats, tol: Values) -> Evaluation:
        batch, ends = self.flips, self.flips.score_offsets
        own = scores.astype(np.float64)
        # A constant that is added to all labels makes right ones the worst choice of the search, whatever they cost.
        raised = own.copy()
        raised[ends[1:] - 1] += 1.0 + 2.0 * (self.most + batch.reach(own))
        found = self.maximizer.solve(raised, tol)
        costs, f = self.maximizer.bound_loss.values(found.labels), batch.won(own, found.labels)
        rivals = batch.named(found.labels) & ~batch.right(found.labels)
        values, upper, gradient = np.zeros(len(batch)), np.zeros(len(batch)), np.zeros(batch.n_scores)
        for i in np.flatnonzero(rivals).tolist():
            span, right = slice(int(ends[i]), int(ends[i + 1])), batch.truths[i]
            won, slack = f[i] - batch.label_scores(i, own[span], right), self.maximizer.slack
            over = costs[i] * (1.0 + won) if slack else costs[i] + won
            values[i] = over[over > 0.0].sum()
            upper[i] = np.maximum(over + found.bounds[i] - found.values[i], 0.0).sum()
            one, rival = batch.take(np.array([i])), found.labels[batch.offsets[i] : batch.offsets[i + 1]]
            for label in right[over > 0.0]:
                gradient[span] += (costs[i] if slack else 1.0) * (one.indicators(rival) - one.indicators(label + 1))
        return Evaluation(values, gradient.astype(scores.dtype), upper, found.exact | ~rivals)

    def take(self, parts: Ints) -> "_LargeRankingHinge":
        return _LargeRankingHinge(self.flips.take(parts), self.maximizer.take(parts))

    def __repr__(self) -> str:
        return "the hinge of right labels against others of a large space"


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
    space : the labels and their features, as :class:`setwise.spaces.FiniteSpace`; or a large space, as
        :class:`setwise.spaces.LabelSequences`
    loss : the loss of labels that :meth:`score` measures. ``loss(Y, y')`` is the cost of one false label: 1 for
        ``"max"`` and ``"sum"``; ``MaxLoss(NearestCosts(distances))`` has the distance to the nearest true one
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
    >>> from setwise.spaces import FiniteSpace
    >>> X = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = SSVM(FiniteSpace(["low", "high"]), C=100.0).fit(X, [["low"], ["low"], ["high"], ["high"]])
    >>> [best[0][0] for best in model.top([[0.5], [2.5]], 1)]
    ['low', 'high']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = LinearBaseline._parameter_constraints | {
        "space": [Space, LargeSpace]
    }

    def _surrogate(self, loss: Loss) -> Surrogate:
        return LabelRanking(loss)


@final
@with_parameters
class JointKernelSupport(LabelPredictor):
    """``{y : f(x, y) > rho}``, where f minimizes ``0.5 |w|^2 - nu m (mean of the smallest nu m of f over m pairs)``.

    Every row with each of its true labels is one of m pairs, and ``f(x, y) = <w, psi(x, y)>``. This is a one-class SVM
    on the pairs (JKSE, Lampert and Blaschko 2009), solved by ``sklearn.svm.OneClassSVM`` with the kernel
    ``k(x, x') <kappa(y), kappa(y')>``; rho is its threshold, close to the score that a share nu of the pairs has at
    most. Labels that are not true are never seen. No constant is added to the features: a label is scored the higher,
    the more often it is true nearby.

    Memory is 8 m^2 bytes for the kernel of the pairs; prediction evaluates k for rows, never for pairs.

    Parameters
    ----------
    space : the labels and their features, as :class:`setwise.spaces.FiniteSpace`
    loss : the loss of labels that :meth:`score` measures; it does not enter the training
    nu : above 0 and below 1; at most this share of the pairs has scores below rho, up to the tolerance
    kernel : ``"linear"``, or a function of rows (n, d) and (m, d) that returns k (n, m), positive semidefinite
    tol : the absolute tolerance of the solver, above 0, in the unit of a kernel that is 1 on average between a pair and
        itself

    Attributes
    ----------
    support_ : (k, 2) the row and the column of the label of each pair with a weight, where labels are listed
    dual_coef_ : (k,) the weights of these pairs, in (0, 1], whose sum is nu m
    rho_ : the threshold; :meth:`decision_function` is f - rho
    coef_ : (q, d) for the linear kernel, f(x, y) = kappa(y)^T W x; all weights in large spaces
    space_, loss_ : the space, and the loss that :meth:`score` measures
    n_features_in_, feature_names_in_ : the number of features, and their names if X has any

    Raises
    ------
    ValueError : by ``fit``, for parameters out of range, and inputs and sets of labels that do not fit together
    Refusal : a ValueError by ``fit``, where space, loss and kernel do not fit each other
    TypeError : by ``fit``, for labels that are no collections
    NotFittedError : by the other methods before ``fit``

    Examples
    --------
    Inputs in the direction of the red ones are red, and one between the two directions has no label:

    >>> from setwise import JointKernelSupport
    >>> from setwise.spaces import FiniteSpace
    >>> X = [[0.0, 1.0], [0.0, 1.2], [0.0, 1.4], [1.0, 0.0], [1.2, 0.0], [1.4, 0.0]]
    >>> Y = [["red"]] * 3 + [["blue"]] * 3
    >>> model = JointKernelSupport(FiniteSpace(["red", "blue"]), nu=0.4).fit(X, Y)
    >>> model.predict([[0.0, 2.0], [2.0, 0.0], [0.5, 0.5]])
    [['red'], ['blue'], []]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "space": [Space, LargeSpace],
        "loss": CONSTRAINTS["loss"],
        "nu": [Interval(Real, 0, 1, closed="neither")],
        "kernel": [Names({"linear"}), Kernel, callable],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    space: Space | LargeSpace
    loss: str | Loss = "max"
    nu: float = 0.5
    kernel: str | Callable[[Any, Any], Any] = "linear"
    tol: float = 1e-3

    def fit(self, X: Any, Y: Any) -> Self:
        """Train on rows with sets of labels.

        Parameters
        ----------
        X : (n, d), dense or CSR; in large spaces what the space takes
        Y : a list of n collections of labels, one or more of them not empty, or an array (n, p) of 0 and 1

        Returns
        -------
        self : the fitted estimator

        Raises
        ------
        ValueError : for parameters out of range, inputs and sets of labels that do not fit together, sets of which all
            are empty, and a kernel that is not symmetric and positive semidefinite
        Refusal : a ValueError, for kernels but ``"linear"`` in large spaces, and losses that do not read labels
        TypeError : for features that are neither numbers nor text, and labels that are no collections
        OverflowError : where products of rows are too large for float64
        """
        self._validate_params()
        with self._unchanged_by_errors():
            return self._fit(X, Y)

    def _listed_scores(self, X: Any) -> NDArray[np.float64]:
        assert isinstance(self.space_, Space)
        X, kappa = as_matrix(self, X, reset=False), self.space_.kappa
        if not isinstance(self.kernel_, str):
            return np.asarray(_values(self.kernel_, X, self._rows) @ self._alpha - self.rho_)
        scores = linear_scores(X, self.coef_, np.zeros(len(self.coef_)))
        return np.asarray((scores if kappa is None else scores @ kappa.T) - self.rho_)

    def _bound_scores(self, X: Any) -> tuple[Batch, Values]:
        layout, features = self._bind(X, 0.0)
        return layout, lowered(layout, features.scores(self.coef_), self.rho_)

    def _fit(self, X: Any, Y: Any) -> Self:
        """The fit, for parameters that are checked."""
        loss, tol = self._loss_of_labels(self.loss), as_number(self.tol, "tol", low=0.0, open_low=True)
        if isinstance(self.space, LargeSpace):
            return self._fit_large(X, Y, loss, tol)
        truth = self.space.encode(Y)
        X, truth = as_matrix(self, X, truth, multi_output=True)
        if not truth.any():
            raise ValueError(f"Y must hold a true label in one row or more; got {len(truth)} empty sets.")
        pairs, kappa = np.argwhere(truth), self.space.kappa
        labels = np.eye(len(self.space)) if kappa is None else kappa @ kappa.T
        used, rows = np.unique(pairs[:, 0], return_inverse=True)
        own = _values(self.kernel, X[used], X[used])
        _check_kernel(own)
        gram = own[np.ix_(rows, rows)]
        gram *= labels[np.ix_(pairs[:, 1], pairs[:, 1])]
        found, self.rho_ = _one_class(gram, self.nu, tol)
        self.space_, self.loss_, self.kernel_ = self.space, loss, self.kernel
        self.support_, self.dual_coef_ = pairs[found.support_], found.dual_coef_[0].copy()
        # The pairs of one row share its kernel, so their weights become one row of alpha.
        kept, places = np.unique(self.support_[:, 0], return_inverse=True)
        alpha = np.zeros((len(kept), len(self.space)))
        alpha[places, self.support_[:, 1]] = self.dual_coef_
        if isinstance(self.kernel, str):
            self.coef_ = np.ascontiguousarray((X[kept].T @ (alpha if kappa is None else alpha @ kappa)).T)
        else:
            self._rows, self._alpha = X[kept], alpha @ labels
        return self

    def _fit_large(self, X: Any, Y: Any, loss: Loss, tol: float) -> Self:
        """The fit where labels are not listed, on the features of inputs with their right labels."""
        if not isinstance(self.kernel, str):
            raise Refusal(
                f"kernel={self.kernel!r} refuses {type(self.space).__name__}: the features of its labels make the "
                "scores that are searched. Use kernel='linear'.",
                LABEL_SPACES,
            )
        assert isinstance(self.space, LargeSpace)
        X, Y = members(X, "X", "a list of inputs"), members(Y, "Y", "a list of collections of labels")
        layout, features = self.space.bind(X, Y, 0.0)
        pairs = right_pairs(layout, features)
        if not len(pairs):
            raise ValueError(f"Y must hold a true label for one input or more; got {len(layout)} empty sets.")
        found, self.rho_ = _one_class(pairs @ pairs.T, self.nu, tol)
        self.space_, self.loss_, self.widths_ = self.space, loss, self.space.widths(X)
        self.dual_coef_ = found.dual_coef_[0].copy()
        self.coef_ = self.dual_coef_ @ pairs[found.support_]
        return self


def _check_kernel(K: Values) -> None:
    """Raise ValueError for what is no kernel of rows with themselves; of many rows a part is looked at."""
    some = K if len(K) <= CHECKED else K[:: -(-len(K) // CHECKED), :: -(-len(K) // CHECKED)]
    scale = float(np.abs(K).max())
    if (np.abs(K - K.T) > SLIP * scale).any() or np.linalg.eigvalsh(some / max(scale, 1e-300))[0] < -SLIP * len(some):
        raise ValueError("kernel must be symmetric and positive semidefinite; got values that no features can give.")


def _one_class(gram: Values, nu: float, tol: float) -> tuple[OneClassSVM, float]:
    """The one-class SVM of pairs by their kernel, and its threshold.

    Its weights do not depend on the scale of the kernel, but the tolerance of the solver does: the kernel of a pair
    with itself is 1 on average there.
    """
    scale = float(np.diag(gram).mean())
    scale = scale if scale > 0.0 else 1.0
    found = OneClassSVM(kernel="precomputed", nu=nu, tol=tol).fit(gram / scale)
    return found, scale * float(found.offset_[0])


def _values(kernel: Any, A: Any, B: Any) -> Values:
    """The kernel of the rows of A and B."""
    if not isinstance(kernel, str):
        return gram_of(kernel.function if isinstance(kernel, Kernel) else kernel, A, B)
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.asarray(linear_kernel(A, B, dense_output=True))
    if not np.isfinite(found).all():
        raise OverflowError("products of rows of X are too large for float64; scale X down.")
    return found
