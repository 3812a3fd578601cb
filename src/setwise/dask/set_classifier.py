"""SetClassifier for rows on the workers of a Dask cluster."""

from pathlib import Path
from typing import Any, Self, final

import numpy as np
from distributed import Client
from sklearn.utils.validation import check_is_fitted

from setwise.core.checkpoint import Checkpoint
from setwise.core.learner import Learner
from setwise.core.loss import Loss
from setwise.core.surrogate import Surrogate
from setwise.dask.clusters import OnCluster, cluster
from setwise.dask.partitions import mapped, names_of, placed_rows
from setwise.distributed.classifier import PlacedClassifier


@final
class SetClassifier(OnCluster, PlacedClassifier):
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
        where all rows are one set and the loss reads labels, and where the convex one says nothing of their ranking;
        else the convex one. ``"lovasz"``, ``"margin"``, ``"slack"`` and ``"ramp"`` name one
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

    def __init__(
        self,
        loss: str | Loss = "jaccard",
        surrogate: str | Surrogate = "auto",
        learner: str | Learner = "auto",
        C: float | str = "auto",
        tol: float = 1e-3,
        max_iter: int = 1000,
        fit_intercept: bool = True,
        intercept_scaling: float = 1.0,
        pos_label: Any = None,
        verbose: int = 0,
        persist: bool = True,
        client: Client | None = None,
    ) -> None:
        super().__init__(
            loss, surrogate, learner, C, tol, max_iter, fit_intercept, intercept_scaling, pos_label, verbose
        )
        self.persist = persist
        self.client = client

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
        score : one number, 1 where no set has a loss

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
