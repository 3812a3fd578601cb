"""FileClassifier: SetClassifier for rows on disk that do not fit into memory."""

from collections.abc import Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from setwise.core.checkpoint import Checkpoint
from setwise.core.checks import Values
from setwise.core.learner import Learner
from setwise.core.loss import Loss
from setwise.core.surrogate import Surrogate
from setwise.datasets.budget import Budget
from setwise.estimators.base import threads
from setwise.estimators.placed.classifier import PlacedClassifier
from setwise.estimators.placed.file_rows import placed_rows, reader_of
from setwise.risks.places import Blocks, Stored


@final
class FileClassifier(PlacedClassifier):
    """Linear scores, trained to minimize ``0.5 |w|^2 + C mean over sets of surrogate(loss)`` for rows in a file.

    The file is read block by block, twice for each plane of the objective, and a thread reads the next block while this
    one is worked on. A set is one set, however many blocks it spans. With a convex surrogate, weights, bounds and
    scores are those of :class:`SetClassifier`, to the rounding of sums. float32 stays float32, and all sums are in
    float64. Features are read once where all rows fit into one block.

    Source: the objective of :class:`SetClassifier`; reading by blocks is own, compared with it in
    tests/estimators/test_file_classifier.py.

    Parameters
    ----------
    loss, learner, C, tol, max_iter, fit_intercept, intercept_scaling, pos_label, verbose : as in :class:`SetClassifier`
    surrogate : ``"convex"`` takes the Lovász hinge for losses that promise to be submodular, as Jaccard, and
        ``MarginRescaling(loss, scale="size")`` for all others. ``"auto"`` takes the ramp, from logistic regression on,
        where all rows are one set and the loss reads labels, and where the convex one says nothing of their ranking;
        else the convex one. ``"lovasz"``, ``"margin"``, ``"slack"`` and ``"ramp"`` name one
    memory : the number of bytes, or text as ``"500MB"``, that blocks may take together with what is kept of each row,
        40 bytes, or with groups 140 and 640 to 1140 for each set. Two blocks are in memory at most, beside what one of
        them is read from. Python and its libraries take 200 MB or more besides
    n_jobs : the number of threads that share the blocks where nothing is read; results do not depend on it

    Attributes
    ----------
    coef_, intercept_ : (1, d) and (1,)
    classes_ : the two labels, the positive one last
    surrogate_, C_, objective_, lower_bound_, duality_gap_, history_, n_iter_, status_, stop_reason_, loss_,
    n_features_in_ : as in :class:`SetClassifier`
    feature_names_in_ : the names of the columns of a Parquet file; not there after arrays

    Raises
    ------
    ValueError : by ``fit``, for parameters out of range, and rows, labels and groups that do not fit together
    Refusal : a ValueError by ``fit``, where loss, surrogate, learner and rows do not fit each other
    TypeError : by ``fit``, for rows that are neither a path nor an array
    FileNotFoundError : where the path leads to no file
    NotFittedError : by the other methods before ``fit``

    Examples
    --------
    >>> from setwise import FileClassifier, SetClassifier
    >>> X = np.random.default_rng(0).standard_normal((300, 2))
    >>> y, bags = X[:, 0] > 0.8, np.repeat(np.arange(10), 30)
    >>> np.save("rows.npy", X)
    >>> stored = np.load("rows.npy", mmap_mode="r")
    >>> model = FileClassifier("jaccard", memory="1MB").fit(stored, y, bags)
    >>> same = SetClassifier("jaccard", surrogate="lovasz").fit(X, y, groups=bags)
    >>> bool(np.isclose(model.objective_, same.objective_, rtol=1e-3))
    True
    """

    _parameter_constraints = PlacedClassifier._parameter_constraints | {
        "memory": [Interval(Integral, 1, None, closed="left"), str],
        "n_jobs": [Integral, None],
    }

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
        memory: int | str = "1GB",
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            loss, surrogate, learner, C, tol, max_iter, fit_intercept, intercept_scaling, pos_label, verbose
        )
        self.memory = memory
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: Any,
        groups: Any = None,
        features: Sequence[str] | None = None,
        *,
        checkpoint: str | Path | Checkpoint | None = None,
        resume: bool = False,
    ) -> Self:
        """Train on the sets of a file; Ctrl-C stores the best weights so far, says so, and is raised again.

        Parameters
        ----------
        X : the path of a Parquet file; or an array (n, d), as ``np.memmap`` and ``np.load(path, mmap_mode="r")`` give
        y : the name of the column of the labels, of which there are two; for an array X the labels themselves, (n,)
        groups : the name of the column of the ids of sets, another than y; for an array X the ids, (n,). None makes all
            rows one set.
            Sets whose rows lie in several blocks take more memory, so the rows of a set should follow each other
        features : the names of the columns of numbers to learn from; None takes all but y and groups
        checkpoint, resume : as in :meth:`SetClassifier.fit`; ``memory`` must be the same when the fit goes on

        Returns
        -------
        self : the fitted classifier

        Raises
        ------
        ValueError : for parameters out of range, for rows, labels and groups that do not fit together, for columns that
            the file does not have, and for a checkpoint that cannot be gone on from
        Refusal : a ValueError, where loss, surrogate, learner and rows do not fit each other, and where ``memory`` is
            too small for the rows and sets
        TypeError : for rows that are neither a path nor an array
        FileNotFoundError : where the path leads to no file
        FileExistsError : where there is a file ``checkpoint`` already, without ``resume``
        """
        self._validate_params()
        found = placed_rows(X, y, groups, features, Budget.of(self.memory), threads(self.n_jobs))
        return self._fit(found, checkpoint, resume)

    def decision_function(self, X: Any) -> Values:
        """The scores ``w x + b`` of the rows of a file or an array.

        Parameters
        ----------
        X : the path of a Parquet file that has the columns of ``fit``; or an array (n, d)

        Returns
        -------
        scores : (n,)

        Raises
        ------
        ValueError : for rows that have other features than in ``fit``
        TypeError : for rows that are neither a path nor an array
        FileNotFoundError : where the path leads to no file
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        return self._mapped(self._scorer.scores, X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The labels of the rows of a file or an array: the positive one where the score is above 0.

        Parameters
        ----------
        X : the path of a Parquet file that has the columns of ``fit``; or an array (n, d)

        Returns
        -------
        labels : (n,) of ``classes_``

        Raises
        ------
        ValueError, TypeError, FileNotFoundError : for rows that :meth:`decision_function` refuses
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        return self._mapped(self._scorer.labels, X)

    def score(self, X: Any, y: Any, groups: Any = None) -> float:
        """``1 - mean loss`` over the sets of a file or an array, which are made as in :meth:`fit`.

        Parameters
        ----------
        X : the path of a Parquet file that has the columns of ``fit``; or an array (n, d)
        y : the name of the column of the labels; for an array X the labels themselves, (n,)
        groups : the name of the column of the ids of sets; for an array X the ids, (n,). None makes all rows one set

        Returns
        -------
        score : one number, 1 where no set has a loss

        Raises
        ------
        ValueError : for rows, labels and groups that do not fit together or do not fit the model
        Refusal : a ValueError, where ``memory`` is too small for the rows and sets
        TypeError, FileNotFoundError : for rows that :meth:`decision_function` refuses
        NotFittedError : before ``fit``
        """
        check_is_fitted(self)
        return self._score(placed_rows(X, y, groups, self._names(X), Budget.of(self.memory), threads(self.n_jobs)))

    def _mapped(self, function: Any, X: Any) -> NDArray[Any]:
        """The function of each block, one after another."""
        rows = reader_of(X, Budget.of(self.memory), self._names(X))
        return np.concatenate(Blocks(rows.count).tell(function, Stored(rows.rows)))

    def _names(self, X: Any) -> Any:
        """The names of the features in a file; an array has none."""
        return None if isinstance(X, np.ndarray) else getattr(self, "feature_names_in_", None)
