"""SetClassifier for rows on the workers of a Dask cluster, and MeasureClassifier: the threshold of a fitted model."""

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, ClassVar, Self, final

import numpy as np
from distributed import Client
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, MetaEstimatorMixin
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.validation import check_is_fitted

from setwise.core.checkpoint import Checkpoint
from setwise.core.checks import Values
from setwise.core.loss import Loss
from setwise.dask.workers import ClusterEstimator, cluster, mapped, names_of, placed_rows, untouched
from setwise.distributed.classifier import PlacedClassifier
from setwise.distributed.decisions import best_threshold_of
from setwise.distributed.rows import mean_loss_of
from setwise.estimators.base import CONSTRAINTS, Names, with_parameters
from setwise.estimators.selection.base_models import check_prefit, method_of, refuse_infinite, scores_of
from setwise.losses import as_loss


@final
@with_parameters
class SetClassifier(ClusterEstimator, PlacedClassifier):
    """Linear scores, trained to minimize ``0.5 |w|^2 + C mean over sets of surrogate(loss)`` on a Dask cluster.

    A set is one set however its rows are spread: partitions do not cut it, and nothing is a mean of what workers found.
    With a convex surrogate weights, bounds and scores are those of :class:`setwise.SetClassifier` on the same rows in
    one place; the ramp has a start of its own. Rows stay on the workers; :class:`~setwise.risks.DistributedRisk` says
    what travels. Results depend on the partitions, to the rounding of their sums, and not on the number of workers;
    what a lost worker held is computed anew.

    Parameters
    ----------
    loss, learner, C, tol, max_iter, fit_intercept, intercept_scaling, pos_label, verbose : as in
        :class:`setwise.SetClassifier`
    surrogate : ``"convex"`` takes the Lovász hinge for losses that promise to be submodular, as Jaccard, and
        ``MarginRescaling(loss, scale="size")`` for all others. ``"auto"`` takes the ramp, from logistic regression on,
        where all rows are one set and the loss reads labels, and where the convex one says nothing or little of their
        ranking; else the convex one. ``"lovasz"``, ``"margin"``, ``"slack"`` and ``"ramp"`` name one
    persist : whether the workers keep the rows in memory. Without it they load or compute the partitions of X anew,
        twice for each cut, and hold one of them for each thread, and about 40 bytes a row
    client : the client of the cluster; None takes the one that was made last, or starts a cluster on this machine for
        the time of the call, and warns of that

    Attributes
    ----------
    coef_, intercept_ : (1, d) and (1,)
    classes_ : the two labels, the positive one last
    surrogate_, C_, objective_, lower_bound_, duality_gap_, history_, n_iter_, status_, stop_reason_, loss_,
    n_features_in_, feature_names_in_ : as in :class:`setwise.SetClassifier`

    Raises
    ------
    ValueError : by ``fit``, for parameters out of range, and rows, labels and groups that do not fit together
    Refusal : a ValueError by ``fit``, where loss, surrogate, learner and target do not fit each other
    TypeError : by ``fit``, for rows that are no Dask collection
    NotFittedError : by the other methods before ``fit``

    Examples
    --------
    >>> import dask.array as da
    >>> import setwise
    >>> from distributed import Client
    >>> from setwise.dask import SetClassifier
    >>> X = np.random.default_rng(0).standard_normal((300, 2))
    >>> y, bags = X[:, 0] > 0.8, np.repeat(np.arange(10), 30)
    >>> parts = da.from_array(X, chunks=(100, 2)), da.from_array(y, chunks=100), da.from_array(bags, chunks=100)
    >>> with Client(processes=False, dashboard_address=None) as client:
    ...     model = SetClassifier("jaccard", client=client).fit(*parts)
    >>> same = setwise.SetClassifier("jaccard", surrogate="lovasz").fit(X, y, groups=bags)
    >>> bool(np.isclose(model.objective_, same.objective_, rtol=1e-3))
    True
    """

    persist: bool = True
    client: Client | None = None

    _parameter_constraints = PlacedClassifier._parameter_constraints | {
        "persist": ["boolean"],
        "client": [Client, None],
    }

    def fit(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
        *,
        checkpoint: str | Path | Checkpoint | None = None,
        resume: bool = False,
    ) -> Self:
        """Train on the sets of (X, y).

        Parameters
        ----------
        X : a Dask array (n, d) or dataframe, or a list of delayed matrices; float32 stays float32
        y : the labels (n,), two different ones, in partitions that go with those of X
        groups : the id of the set of each row, (n,); None makes all rows one set
        checkpoint, resume : as in :meth:`setwise.SetClassifier.fit`. The file is that of this process; it belongs to
            the rows in their partitions, on any workers

        Returns
        -------
        self : the fitted classifier

        Raises
        ------
        ValueError : for parameters out of range, for rows, labels and groups that do not fit together, and for a
            checkpoint that cannot be gone on from
        Refusal : a ValueError, where loss, surrogate, learner and target do not fit each other
        TypeError : for rows that are no Dask collection
        FileExistsError : where there is a file ``checkpoint`` already, without ``resume``
        """
        self._validate_params()
        with cluster(self.client) as client:
            return self._fit(placed_rows(client, X, y, groups, persist=self.persist), checkpoint, resume)

    def decision_function(self, X: Any) -> Any:
        """The scores ``w x + b`` of the rows.

        Parameters
        ----------
        X : a Dask array (n, d) or dataframe, or a list of delayed matrices; also an array of NumPy

        Returns
        -------
        scores : (n,), a collection of the kind of X, which is not computed yet; an array for an array of NumPy

        Raises
        ------
        ValueError : for a dataframe with other columns than in ``fit``; other rows are refused when they are computed
        NotFittedError : before ``fit``
        """
        self._check_names(X)
        return mapped(self._scorer.scores, X, np.float64)

    def predict(self, X: Any) -> Any:
        """The labels of the rows: the positive one where the score is above 0.

        Parameters
        ----------
        X : a Dask array (n, d) or dataframe, or a list of delayed matrices; also an array of NumPy

        Returns
        -------
        labels : (n,) of ``classes_``, a collection of the kind of X, which is not computed yet; an array for an array
            of NumPy

        Raises
        ------
        ValueError : for a dataframe with other columns than in ``fit``; other rows are refused when they are computed
        NotFittedError : before ``fit``
        """
        self._check_names(X)
        return mapped(self._scorer.labels, X, self.classes_.dtype)

    def score(self, X: Any, y: Any, groups: Any = None) -> float:
        """``1 - mean loss`` over the sets of (X, y), exact however their rows are spread.

        Parameters
        ----------
        X : a Dask array (n, d) or dataframe, or a list of delayed matrices
        y : the labels (n,), in partitions that go with those of X
        groups : the id of the set of each row, (n,); None makes all rows one set

        Returns
        -------
        score : one number; 1 if the loss is undefined for all sets

        Raises
        ------
        ValueError : for rows, labels and groups that do not fit together or do not fit the model
        TypeError : for rows that are no Dask collection
        NotFittedError : before ``fit``
        """
        self._check_names(X)
        with cluster(self.client) as client:
            return self._score(placed_rows(client, X, y, groups, persist=self.persist))

    def _check_names(self, X: Any) -> None:
        """Raise ValueError for a dataframe whose columns are not those that were fitted, in their order."""
        check_is_fitted(self)
        known, names = getattr(self, "feature_names_in_", None), names_of(X)
        if known is not None and names is not None and names != tuple(known):
            raise ValueError(
                f"X must have the columns that were fitted, in their order, {known.tolist()}; got {list(names)}."
            )


@final
@dataclass(frozen=True, eq=False)
class Scoring:
    """What travels to rows: a fitted classifier, its method, the two labels, and the threshold of its scores."""

    estimator: Any
    method: str
    classes: NDArray[Any]
    threshold: float = 0.0

    def scores(self, X: Any) -> Values:
        """The scores of some rows for the positive label, (m,)."""
        if not X.shape[0]:
            return np.empty(0)
        scores = scores_of(self.estimator, X, self.method, self.classes[1])
        refuse_infinite(self.estimator, self.method, scores)
        return scores

    def above(self, X: Any) -> Values:
        """1 where the score of a row reaches the threshold, else -1, (m,)."""
        return np.where(self.scores(X) >= self.threshold, 1.0, -1.0)

    def labels(self, X: Any) -> NDArray[Any]:
        """The labels of some rows, (m,)."""
        return np.asarray(self.classes[(self.above(X) > 0).astype(np.int64)])


@final
@with_parameters
class MeasureClassifier(MetaEstimatorMixin, ClassifierMixin, ClusterEstimator):
    """A fitted classifier with the threshold of least loss, of all rows on a Dask cluster as one set.

    The threshold is that of :func:`setwise.decisions.best_threshold` for all rows at once. Their scores stay on the
    workers, which send histograms of them; see :class:`setwise.decisions.threshold_pieces.ThresholdInPieces`. The rows
    should be others than those that the classifier was fitted to, as for ``setwise.MeasureClassifier(cv="prefit")``.

    Parameters
    ----------
    estimator : a fitted classifier of two labels, with ``predict_proba`` or ``decision_function``; partitions of X go
        to it as they are
    loss : a loss of the counts of mistakes, or its name
    response_method : ``"auto"`` takes ``predict_proba``, or else ``decision_function``
    pos_label : the positive one of the two labels, by default the last in sorted order
    client : the client of the cluster; None takes the one that was made last, or starts a cluster on this machine for
        the time of the call, and warns of that

    Attributes
    ----------
    best_threshold_ : the scores that reach it are predicted positive
    best_score_ : ``1 - loss`` of these rows
    threshold_interval_ : the thresholds from the first to the second number have the same loss
    classes_ : the two labels, the positive one last
    loss_ : the loss

    Raises
    ------
    ValueError : by ``fit``, for parameters out of range, rows and labels that do not fit together, and losses that are
        no function of the counts of mistakes
    TypeError : by ``fit``, for rows that are no Dask collection
    NotFittedError : by the other methods before ``fit``

    Examples
    --------
    >>> import dask.array as da
    >>> from distributed import Client
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setwise.dask import MeasureClassifier
    >>> X, y = np.arange(8.0).reshape(-1, 1), np.array([0, 0, 0, 1, 0, 1, 1, 1])
    >>> fitted = LogisticRegression().fit(X, y)
    >>> with Client(processes=False, dashboard_address=None) as client:
    ...     model = MeasureClassifier(fitted, "f1", client=client)
    ...     model = model.fit(da.from_array(X, chunks=(4, 1)), da.from_array(y, chunks=4))
    >>> round(model.best_threshold_, 2), round(model.best_score_, 3)  # four hits and one false alarm
    (0.3, 0.889)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["predict_proba"]), HasMethods(["decision_function"])],
        "loss": CONSTRAINTS["loss"],
        "response_method": [Names({"auto", "predict_proba", "decision_function"})],
        "pos_label": CONSTRAINTS["pos_label"],
        "client": [Client, None],
    }

    estimator: Any
    loss: str | Loss = "f1"
    _: KW_ONLY
    response_method: str = "auto"
    pos_label: Any = None
    client: Client | None = None

    def fit(self, X: Any, y: Any) -> Self:
        """Choose the threshold of least loss for all rows as one set.

        Parameters
        ----------
        X : a Dask array (n, d) or dataframe, or a list of delayed objects, of what the estimator takes
        y : the labels (n,), in partitions that go with those of X

        Returns
        -------
        self : the fitted classifier

        Raises
        ------
        ValueError : for parameters out of range, rows and labels that do not fit together, scores that are not finite,
            and losses that are no function of the counts of mistakes
        TypeError : for rows that are no Dask collection
        NotFittedError : for an estimator that was not fitted
        """
        self._validate_params()
        loss = as_loss(self.loss)
        with cluster(self.client) as client:
            found = placed_rows(client, X, y, None, untouched)
            classes = found.classes(self.pos_label)
            check_prefit(self.estimator, np.sort(classes))
            scoring = Scoring(self.estimator, method_of(self.estimator, self.response_method), classes)
            scores = found.places.keep(scoring.scores, found.X)
            loss = loss.for_labels(tuple(classes.tolist()))
            best = best_threshold_of(found.places, scores, found.positives(classes[1]), loss)
        self.classes_, self.loss_ = classes, loss
        self.best_threshold_, self.best_score_ = best.threshold, 1.0 - best.loss
        self.threshold_interval_ = best.low, best.high
        return self

    def predict(self, X: Any) -> Any:
        """The labels of the rows: the positive one where the score reaches ``best_threshold_``.

        Parameters
        ----------
        X : a Dask array (n, ...) or dataframe, or a list of delayed objects, of what the estimator takes; also rows of
            this process

        Returns
        -------
        labels : (n,) of ``classes_``, a collection of the kind of X, which is not computed yet; an array for rows of
            this process

        Raises
        ------
        NotFittedError : before ``fit``; rows are refused when they are computed
        """
        return mapped(self._scoring.labels, X, self.classes_.dtype, untouched)

    def decision_function(self, X: Any) -> Any:
        """The scores of the rows for the positive label, which is predicted where they reach ``best_threshold_``.

        Parameters
        ----------
        X : a Dask array (n, ...) or dataframe, or a list of delayed objects, of what the estimator takes; also rows of
            this process

        Returns
        -------
        scores : (n,), a collection of the kind of X, which is not computed yet; an array for rows of this process

        Raises
        ------
        NotFittedError : before ``fit``; rows are refused when they are computed
        """
        return mapped(self._scoring.scores, X, np.float64, untouched)

    def score(self, X: Any, y: Any) -> float:
        """``1 - loss`` of all rows of (X, y) as one set, exact however they are spread.

        Parameters
        ----------
        X : a Dask array (n, d) or dataframe, or a list of delayed objects, of what the estimator takes
        y : the labels (n,), in partitions that go with those of X

        Returns
        -------
        score : one number, 1 where there is no loss

        Raises
        ------
        ValueError : for rows and labels that do not fit together, and labels that were not fitted
        TypeError : for rows that are no Dask collection
        NotFittedError : before ``fit``
        """
        scoring = self._scoring
        with cluster(self.client) as client:
            found = placed_rows(client, X, y, None, untouched)
            truth = found.positives(self.classes_[1], self.classes_)
            return 1.0 - mean_loss_of(found, self.loss_, truth, found.places.keep(scoring.above, found.X))

    @property
    def _scoring(self) -> Scoring:
        check_is_fitted(self, "best_threshold_")
        method = method_of(self.estimator, self.response_method)
        return Scoring(self.estimator, method, self.classes_, self.best_threshold_)
