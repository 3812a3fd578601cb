"""FileClassifier: SetClassifier for rows on disk that do not fit into memory; blocks of the file are the places."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any, Self, final

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from setwise.core.checkpoint import Checkpoint
from setwise.core.checks import Values, as_text, shown
from setwise.datasets.blocks import ArrayBlocks, Budget, ParquetBlocks
from setwise.distributed.classifier import PlacedClassifier
from setwise.distributed.rows import PlacedRows
from setwise.estimators.base import threads, with_parameters
from setwise.estimators.sets import as_ids, as_target
from setwise.risks.places import FileObjects, FilePlaces, LocalObjects

Reader = ArrayBlocks | ParquetBlocks

Run = Callable[[], Iterator[NDArray[Any]]]

Runs = tuple[int, list[Run]]
"""The number of rows, and what yields the ids of each block, a few at a time."""

RUN = 1 << 14
"""So many ids are counted at a time."""


def reader_of(X: Any, budget: Budget, features: Any = None, others: tuple[str, ...] = ()) -> Reader:
    """What reads the rows X; TypeError for what is neither the path of a Parquet file nor an array."""
    if isinstance(X, str | PathLike):
        return ParquetBlocks(Path(X), budget, features, others)
    if not isinstance(X, np.ndarray) or isinstance(X, np.ma.MaskedArray):
        raise TypeError(
            "X must be the path of a Parquet file, or a NumPy array, such as np.load(path, mmap_mode='r') returns; got "
            f"{shown(X)}; setwise.SetClassifier takes data in memory."
        )
    if features is not None:
        raise ValueError(f"features must be None where X is an array; got {shown(features)}.")
    return ArrayBlocks(X, budget)


def placed_rows(X: Any, y: Any, groups: Any, features: Any, budget: Budget, n_jobs: int) -> PlacedRows:
    """The rows with their labels, ids, and the names of the features where they have any.

    The sets are counted before any features are read, and blocks are smaller by what many sets take.
    """
    found, runs, named = _placed(X, y, groups, features, budget, n_jobs)
    while found.ids is not None:
        needed = budget.beside(*_rows_and_sets(runs, budget, named), named)
        if needed.sets <= budget.sets:
            break
        # Smaller blocks may cut more sets, so these are counted again.
        budget = needed
        found, runs, named = _placed(X, y, groups, features, budget, n_jobs)
    return found


def _placed(X: Any, y: Any, groups: Any, features: Any, budget: Budget, n_jobs: int) -> tuple[PlacedRows, Runs, bool]:
    """The rows in blocks of what the budget leaves, what yields the ids of each, and whether these are no numbers."""
    if not isinstance(X, str | PathLike):
        arrays = reader_of(X, budget, features)
        places, n = FilePlaces(arrays.count, n_jobs, arrays.room), arrays.edges[-1]
        ids = None if groups is None else _parts(as_ids(groups, n), arrays)
        rows = PlacedRows(places, FileObjects(arrays.rows), _parts(_labels(y, n), arrays), ids)
        return rows, (n, [partial(_runs, part) for part in ([] if ids is None else ids.values)]), False
    others = as_text(y, "y"), *(() if groups is None else (as_text(groups, "groups"),))
    file = ParquetBlocks(Path(X), budget, features, others)
    places = FilePlaces(file.count, n_jobs, file.room)
    found = None if groups is None else FileObjects(partial(file.ids, groups))
    rows = PlacedRows(places, FileObjects(file.rows), FileObjects(partial(file.labels, y)), found, file.names)
    runs: list[Run] = [partial(file.runs_of_ids, groups, k) for k in range(file.count)]
    return rows, (file.edges[-1], runs), groups is not None and not file.is_number(groups)


def _rows_and_sets(runs: Runs, budget: Budget, named: bool) -> tuple[int, int]:
    """How many rows there are, and of how many sets, counted in each block; Refusal as soon as these are too many."""
    n, blocks = runs
    read = sets = 0
    for block in blocks:
        known, fresh, length = np.zeros(0, dtype=np.int64), list[NDArray[Any]](), 0
        for ids in block():
            fresh.append(np.unique(ids))
            length, read = length + len(fresh[-1]), read + len(ids)
            # Few are waiting beside those that are known, and yet each is sorted only a few times.
            if length >= len(known):
                known, length = np.unique(np.concatenate([*([known] if len(known) else []), *fresh])), 0
                fresh.clear()
                budget.refuse_sets(n, read, sets + len(known), named)
        sets += len(np.unique(np.concatenate([known, *fresh]))) if fresh else len(known)
        budget.refuse_sets(n, read, sets, named)
    return n, sets


def _runs(ids: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """The ids of a block, a few at a time."""
    return (ids[a : a + RUN] for a in range(0, len(ids), RUN))


def _labels(y: Any, n: int) -> NDArray[Any]:
    labels = as_target(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (n,):
        raise ValueError(f"y must have shape ({n},), one label for each row of X; got shape {labels.shape}.")
    if labels.dtype.kind == "O":
        raise ValueError(f"y must hold labels of one kind, numbers or text; got {shown(labels.tolist())}.")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("y must not hold NaN or inf.")
    return labels


def _parts(column: NDArray[Any], blocks: Reader) -> LocalObjects:
    """What each block has of a column in memory."""
    return LocalObjects([column[first:last] for first, last in pairwise(blocks.edges)])


@final
@with_parameters
class FileClassifier(PlacedClassifier):
    """Linear scores, trained to minimize ``0.5 |w|^2 + C mean over sets of surrogate(loss)`` for rows in a file.

    The file is read block by block, twice for each plane of the objective, and a thread reads the next block while this
    one is worked on. A set is one set, however many blocks it spans. With a convex surrogate, weights, bounds and
    scores are those of :class:`SetClassifier`, to the rounding of sums. float32 stays float32, and all sums are in
    float64. Features are read once where all rows fit into one block.

    Source: the objective of :class:`SetClassifier`; reading by blocks is own, compared with it in
    tests/distributed/test_file_classifier.py.

    Parameters
    ----------
    loss, learner, C, tol, max_iter, fit_intercept, intercept_scaling, pos_label, verbose : as in :class:`SetClassifier`
    surrogate : ``"convex"`` takes the Lovász hinge for losses that promise to be submodular, as Jaccard, and
        ``MarginRescaling(loss, scale="size")`` for all others. ``"auto"`` takes the ramp, from logistic regression on,
        where all rows are one set and the loss reads labels, and where the convex one says nothing or little of their
        ranking; else the convex one. ``"lovasz"``, ``"margin"``, ``"slack"`` and ``"ramp"`` name one
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

    memory: int | str = "1GB"
    n_jobs: int | None = None

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
        score : one number; 1 if the loss is undefined for all sets

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
        return np.concatenate(FilePlaces(rows.count).tell(function, FileObjects(rows.rows)))

    def _names(self, X: Any) -> Any:
        """The names of the features in a file; an array has none."""
        return None if isinstance(X, np.ndarray) else getattr(self, "feature_names_in_", None)
