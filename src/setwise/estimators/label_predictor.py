"""What all estimators of sets of labels share: scores above 0 are predicted, and a loss of sets measures them.

Those of linear models share how they are trained, what is stored, and what is certain.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from setwise.core.batch import Batch, Sets
from setwise.core.checks import Bools, Values, as_count, as_number
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import EMPTY_MODELS, HINGE, LABEL_SETS, LABEL_SPACES, LEGAL_SETS
from setwise.core.risk import Features
from setwise.core.surrogate import Surrogate
from setwise.estimators.base import VersionedEstimator, as_matrix, largest_number, threads, way_from_constant
from setwise.estimators.label_training import (
    LABELS,
    LabelModel,
    LabelProblem,
    LargeLabelProblem,
    as_basis,
    mean_loss,
    named,
    refuse_listed_only,
)
from setwise.estimators.linear_training import (
    NO_LESS,
    LinearFit,
    certain,
    keep_certificates,
    says_nothing,
    solve,
    warn_of_vacuous_bound,
)
from setwise.estimators.set_training import SetProblem
from setwise.estimators.sets import Grouping, group_vector
from setwise.estimators.splits import row_keys
from setwise.learners import ConvexConcaveProcedure
from setwise.losses import as_loss
from setwise.models.kernel_features import PairBasis
from setwise.spaces import LargeSpace, Space
from setwise.spaces.large_space import Scored
from setwise.spaces.spaces import members
from setwise.surrogates.ramp import Ramp

_HIDDEN = ("_model", "_constant", "_radius", "_rows", "_alpha", "_decoding")
"""Results of a fit that are no public attributes."""


class LabelPredictor(VersionedEstimator, ABC):
    """``{y : f(x, y) > 0}`` for the scores f of inputs with labels (MLSP Eq. 2).

    Attributes
    ----------
    space_, loss_ : the space, and the loss that :meth:`score` measures
    widths_ : the numbers of features of inputs, in large spaces
    """

    space_: Space | LargeSpace
    loss_: Loss
    widths_: tuple[int, ...]

    @abstractmethod
    def _listed_scores(self, X: Any) -> NDArray[np.float64]:
        """The score of each row and label, (n, p), where labels are listed."""

    @abstractmethod
    def _bound_scores(self, X: Any) -> tuple[Batch, Values]:
        """The layout of inputs, without right labels, and their scores, where labels are not listed."""

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The score f(x, y) of each row with each label, where labels are listed.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``

        Returns
        -------
        scores : (n, p), the columns in the order of ``space_.names``

        Raises
        ------
        Refusal : a ValueError, in large spaces, whose labels are not listed
        ValueError : for inputs that are not finite numbers, or have other features than in ``fit``
        TypeError : for features that are neither numbers nor text
        OverflowError : where scores are too large for float64
        NotFittedError : before ``fit``
        """
        self._listed("decision_function", "Use top(X, k).")
        return self._listed_scores(X)

    def predict_matrix(self, X: Any) -> Bools:
        """Which labels are predicted for each row, where labels are listed: those with a score above 0.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``

        Returns
        -------
        predicted : (n, p) bool, the columns in the order of ``space_.names``

        Raises
        ------
        Refusal : a ValueError, in large spaces, whose labels are not listed
        ValueError, TypeError, OverflowError : for rows that :meth:`decision_function` refuses
        NotFittedError : before ``fit``
        """
        self._listed("predict_matrix", "Use predict(X).")
        return self._sets(self._listed_scores(X))

    def predict(self, X: Any, max_labels: int | None = None) -> list[list[Any]]:
        """The labels that are predicted for each input, all with scores above 0; a list may be empty.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``; in large spaces a list of n inputs, as the space takes
            them
        max_labels : the most labels of an input, those of largest scores, best first. None is no limit where labels are
            listed, in the order of the space, and 100 for large spaces, best first, with a warning where there are more

        Returns
        -------
        labels : a list of n lists of labels

        Raises
        ------
        ValueError : for inputs that do not fit the model, and for ``max_labels`` below 1
        TypeError : for features that are neither numbers nor text, and for ``max_labels`` that is no whole number
        OverflowError : where scores are too large for float64
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        limit = None if max_labels is None else as_count(max_labels, "max_labels")
        if isinstance(self.space_, Space):
            scores = self._listed_scores(X)
            sets = self._sets(scores)
            return self.space_.decode(sets) if limit is None else named(self._ranked(scores, sets, limit))
        if limit is not None:
            return named(self._lists(X, limit))
        found = self._lists(X, LABELS + 1)
        if any(len(row) > LABELS for row in found):
            warnings.warn(
                f"more than {LABELS} labels of an input have scores above 0, and the best {LABELS} are returned: give "
                f"max_labels to see more.{LABEL_SPACES.see}",
                UserWarning,
                stacklevel=2,
            )
        return named([row[:LABELS] for row in found])

    def top(self, X: Any, k: int) -> list[list[Scored]]:
        """The k labels of largest scores of each input with these, best first, or all where there are fewer.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``; in large spaces a list of n inputs, as the space takes
            them
        k : how many labels, 1 or more

        Returns
        -------
        best : a list of n lists of pairs of a label and its score

        Raises
        ------
        ValueError : for inputs that do not fit the model, and for k below 1
        TypeError : for features that are neither numbers nor text, and for k that is no whole number
        OverflowError : where scores are too large for float64
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        k = as_count(k, "k")
        if not isinstance(self.space_, Space):
            return self._best(X, k, -np.inf)
        scores = self._listed_scores(X)
        return self._ranked(scores, np.ones(scores.shape, dtype=bool), k)

    def score(self, X: Any, Y: Any) -> float:
        """``1 - mean loss`` of the predictions for the inputs X with right labels Y; the loss is ``loss_``.

        In large spaces all labels with scores above 0 count, listed by :meth:`predict` or not; where costs are others
        than 0 and 1, the best 100 of an input.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``; in large spaces a list of n inputs, as the space takes
            them
        Y : a list of n collections of labels, which may be empty; where labels are listed also an array (n, p) of 0 and
            1

        Returns
        -------
        score : one number, 1 where no input has a loss

        Raises
        ------
        ValueError : for labels that the space does not have, and inputs that do not fit Y or the model
        TypeError : for features that are neither numbers nor text, and labels that are no collections
        OverflowError : where scores are too large for float64
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        if not isinstance(self.space_, Space):
            X, Y = members(X, "X", "a list of inputs"), members(Y, "Y", "a list of collections of labels")
            return 1.0 - self._mean_loss(X, Y)
        predictions = self.predict_matrix(X)
        truth = self._truth(Y, len(predictions))
        return 1.0 - float(self.loss_.values(Sets.rows(truth), predictions.ravel()).mean())

    def _truth(self, Y: Any, n: int) -> Bools:
        """The right labels of n rows, (n, p), where labels are listed."""
        assert isinstance(self.space_, Space)
        truth = self.space_.encode(Y)
        if len(truth) != n:
            raise ValueError(f"Y must hold a set of labels for each of {n} rows; got {len(truth)}.")
        return truth

    def _sets(self, scores: NDArray[np.float64]) -> Bools:
        """The sets that are predicted for rows with these scores, (n, p)."""
        return scores > 0.0

    def _ranked(self, scores: NDArray[np.float64], sets: Bools, limit: int) -> list[list[Scored]]:
        """The labels of sets, those of largest scores first, and at most ``limit`` of them."""
        assert isinstance(self.space_, Space)
        names, orders = self.space_.names, np.argsort(-scores, axis=1, kind="stable")
        rows = zip(scores, sets, orders, strict=True)
        return [[(names[j], float(row[j])) for j in order[held[order]][:limit]] for row, held, order in rows]

    def _best(self, X: Any, limit: int, threshold: float) -> list[list[Scored]]:
        """The labels of a large space with scores above ``threshold``, best first, and at most ``limit`` of them."""
        assert isinstance(self.space_, LargeSpace)
        return self.space_.best(*self._bound_scores(X), limit, threshold)

    def _lists(self, X: Any, limit: int) -> list[list[Scored]]:
        """The labels of a large space that are predicted, best first, and at most ``limit`` of them."""
        return self._best(X, limit, 0.0)

    def _mean_loss(self, X: list[Any], Y: list[Any]) -> float:
        """The mean loss of what is predicted for inputs of a large space."""
        assert isinstance(self.space_, LargeSpace)
        return mean_loss(self.loss_, self.space_.bind(X, Y)[0], self._bound_scores(X)[1])

    def _bind(self, X: Any, constant: float) -> tuple[Batch, Features]:
        """The layout of inputs of a large space, without right labels, and the model of their scores."""
        assert isinstance(self.space_, LargeSpace)
        X = members(X, "X", "a list of inputs")
        layout, features = self.space_.bind(X, None, constant)
        widths = self.space_.widths(X)
        if widths != self.widths_:
            raise ValueError(f"X must have {self.widths_} features, as in fit; got {widths}.")
        return layout, features

    def _listed(self, what: str, way_out: str) -> None:
        """Refuse spaces whose labels are not listed."""
        check_is_fitted(self)
        if not isinstance(self.space_, Space):
            raise Refusal(
                f"{what} refuses {type(self.space_).__name__}, whose labels are not listed. {way_out}", LABEL_SPACES
            )

    def _loss_of_labels(self, loss: Any) -> Loss:
        """The parameter ``loss`` as a loss, which must be one of labels."""
        found = as_loss(loss)
        if found.reads != "labels":
            raise Refusal(
                f"{type(self).__name__} refuses {found!r}, which reads {found.reads}. Use a loss of labels.", LABEL_SETS
            )
        return found

    @contextmanager
    def _unchanged_by_errors(self) -> Iterator[None]:
        """A fit inside begins without the results of others; where it fails, the estimator is as it was."""
        with super()._unchanged_by_errors():
            for name in list(self.__dict__):
                if (name.endswith("_") and not name.startswith("_")) or name in _HIDDEN:
                    del self.__dict__[name]
            yield

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


class LinearLabelPredictor(LabelPredictor):
    """``f(x, y) = kappa(y)^T (W x + b) + c_y``, with weights that minimize ``0.5 |w|^2 + (C / n) sum_i risk_i``.

    With a kernel, x are its features. Where labels are trained ``alone``, they share nothing, whatever their features
    are.
    """

    alone: ClassVar[bool] = False
    coef_: Values
    intercept_: Values
    bias_: Values
    decode_: str
    _model: LabelModel
    _constant: float
    _radius: float

    @abstractmethod
    def _surrogate(self, loss: Loss) -> str | Surrogate:
        """What is minimized, for the loss that :meth:`score` measures."""

    def fit(self, X: Any, Y: Any) -> Self:
        """Train on rows with sets of labels.

        A fit that raises an error leaves the estimator as it was. After Ctrl-C the best weights so far are stored, a
        warning says so, and KeyboardInterrupt is raised.

        Parameters
        ----------
        X : (n, d), dense or CSR; in large spaces what the space takes, as a list of arrays
        Y : a list of n collections of labels, which may be empty; where labels are listed also an array (n, p) of 0 and
            1

        Returns
        -------
        self : the fitted estimator

        Raises
        ------
        ValueError : for parameters out of range, and inputs and sets of labels that do not fit together
        Refusal : a ValueError, where space, loss, surrogate and kernel do not fit each other
        TypeError : for features that are neither numbers nor text, and labels that are no collections
        """
        self._validate_params()
        problem, trained = self._trained(X, Y)
        self._keep(problem, trained)
        if isinstance(problem, LabelProblem) and problem.is_lost_in_small_rows(trained.w):
            way_out = way_from_constant(largest_number(problem.alone.X), "raise C")
            words = f"{type(self).__name__} gives all rows the same labels: {way_out}."
            warn_of_vacuous_bound(words, EMPTY_MODELS)
        elif problem.surrogate == "auto" and trained.surrogate == Ramp.name:
            warn_of_vacuous_bound(
                f"{NO_LESS.format(problem.convex().name)}or hardly a smaller one: surrogate='auto' has taken the ramp "
                "from independent training, whose minimum is local and certifies nothing.",
                HINGE,
            )
        elif problem.surrogate == "auto" and says_nothing(trained.fit, trained.C, problem.constant):
            warn_of_vacuous_bound(
                f"{NO_LESS.format(trained.surrogate)}whatever its gap: surrogate='auto' has kept it, because the ramp "
                "that was tried has a larger training loss.",
                HINGE,
            )
        if trained.fit.status == "interrupted":
            raise KeyboardInterrupt
        return self

    def _listed_scores(self, X: Any) -> NDArray[np.float64]:
        return self._scores(self._features(X))

    def _bound_scores(self, X: Any) -> tuple[Batch, Values]:
        layout, features = self._bind(X, self._constant)
        return layout, features.scores(self.coef_)

    def certain(self, X: Any) -> Bools:
        """Which decisions about labels no further optimization can change, where labels are listed.

        They have ``|f| > sqrt(2 gap) |psi(x, y)|``, for the minimizer of the objective is within ``sqrt(2 gap)`` of the
        weights.

        Parameters
        ----------
        X : (n, d), dense or CSR, with the features of ``fit``

        Returns
        -------
        certain : (n, p) bool, the columns in the order of ``space_.names``

        Raises
        ------
        Refusal : a ValueError, after the ramp, whose minimum is local, and in large spaces
        ValueError : for inputs that are not finite numbers, or have other features than in ``fit``
        TypeError : for features that are neither numbers nor text
        OverflowError : where scores are too large for float64
        NotFittedError : before ``fit``
        """
        self._listed("certain", "Use top(X, k), and duality_gap_.")
        self._refuse_legal_sets("certain")
        if np.isnan(self._radius):
            raise Refusal(
                "certain refuses a model of the ramp: its minimum is local and certifies nothing. Use "
                "surrogate='hinge'.",
                HINGE,
            )
        features = self._features(X)
        scores = self._scores(features)
        return certain(scores, features.row_lengths.reshape(scores.shape), False, self._radius)

    def _refuse_legal_sets(self, what: str) -> None:
        """Refuse predictions that are not the labels with scores above 0."""
        if getattr(self, "decode_", "labels") != "labels":
            raise Refusal(
                f"{what} refuses decode={self.decode_!r}: it is about labels with a score above 0. Use "
                "decode='labels'.",
                LEGAL_SETS,
            )

    def _features(self, X: Any) -> Features:
        """The fitted model of the scores, bound to rows."""
        return self._model.features(as_matrix(self, X, reset=False))

    def _scores(self, features: Features) -> NDArray[np.float64]:
        """The scores of rows, (n, p); raises OverflowError where they are not finite."""
        with np.errstate(over="ignore", invalid="ignore"):
            scores = features.scores(self._weights)
        if not np.isfinite(scores).all():
            raise OverflowError("the scores of X are too large for float64; scale X down.")
        return scores.reshape(-1, len(self._model.names))

    @property
    def _weights(self) -> Values:
        """All weights, of which those of constants are divided by the values of these."""
        return self._model.joined(self.coef_, self.intercept_, self.bias_)

    def _trained(self, X: Any, Y: Any) -> tuple[LabelProblem | LargeLabelProblem, LinearFit]:
        """What is trained on, and the result; where that fails the estimator stays as it was."""
        with self._unchanged_by_errors():
            problem = self._problem(X, Y)
            return problem, solve(self, problem, None, ConvexConcaveProcedure)

    def _problem(self, X: Any, Y: Any) -> LabelProblem | LargeLabelProblem:
        """What is trained on; the arguments of fit are checked here."""
        loss = self._loss_of_labels(self.loss)
        surrogate = self._surrogate(loss)
        intercept = as_number(self.intercept_scaling, "intercept_scaling") if self.fit_intercept else 0.0
        bias, jobs = as_number(self.label_bias, "label_bias"), threads(self.n_jobs)
        if isinstance(self.space, LargeSpace):
            refuse_listed_only(self)
            X, Y = members(X, "X", "a list of inputs"), members(Y, "Y", "a list of collections of labels")
            layout, bound = self.space.bind(X, Y, intercept)
            widths = self.space.widths(X)
            # Independent training cannot go over all labels, so "auto" stays at the hinge.
            surrogate = "convex" if isinstance(surrogate, str) and surrogate == "auto" else surrogate
            return LargeLabelProblem(
                self.space, loss, layout, bound, widths, self.rescaling, surrogate, float(self.C), intercept, jobs
            )
        truth = self.space.encode(Y)
        X, truth = as_matrix(self, X, truth, multi_output=True, order="C", ensure_all_finite=False)
        # No loss of labels sees the order of rows; the folds of a start, ties and rounding would.
        order = np.lexsort([*truth.T, row_keys(X)])
        X, truth = X[order], truth[order]
        basis, rows = as_basis(self.kernel, X, self.space.names, bias)
        kappa = None if self.alone else self.space.kappa
        model = LabelModel(self.space.names, kappa, intercept, bias, basis)
        if isinstance(basis, PairBasis):
            groups, truth = np.repeat(np.arange(len(truth)), truth.shape[1]), truth.ravel()
            grouping = group_vector(truth, groups, np.array([False, True]))
        else:
            grouping = Grouping(Sets.rows(truth), "samples", np.arange(len(self.space)), None)
        fixed, plain = ("auto", self.start, intercept or bias, None, jobs), basis is not None
        alone = SetProblem(rows, truth, grouping, loss, loss, loss, *fixed, plain=plain)
        return LabelProblem(alone, model, self.rescaling, surrogate, self.start, jobs)

    def _keep(self, problem: LabelProblem | LargeLabelProblem, trained: LinearFit) -> None:
        """Store the result of a fit in the attributes."""
        self.space_, self.loss_ = self.space, problem.loss
        if isinstance(problem, LargeLabelProblem):
            self._constant, self.coef_, self.widths_ = problem.constant_feature, trained.w, problem.widths
        else:
            self._model = problem.model
            self.coef_, self.intercept_, self.bias_ = problem.model.split(trained.w)
            self.kernel_residual_ = 0.0 if problem.model.basis is None else problem.model.basis.residual
        self.certain_share_ = problem.certain_share(trained)
        keep_certificates(self, trained, float(problem.features.row_lengths.max()))
