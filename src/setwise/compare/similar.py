"""Rows that are much like others: whether boosted trees know labels only from the rows nearest to them.

Copies with noise or gaps, texts that are quoted, and the months of one customer look different, but have one label. If
such rows are in training and in test, any model that remembers rows looks good. So rows are clustered, and boosted
trees are judged twice: with random folds, and with folds that never split a cluster. On 15 published tables the second
area under the ROC curve keeps .66 or more of what the first one has above .5; on tables of disguised copies with random
labels mostly .2 or less. Customers share few of many columns, so rows are clustered by those that trees read, too.
Overlapping windows of a series are next to each other in the file.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple
from warnings import catch_warnings

import numpy as np
from sklearn.cluster import KMeans
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.inspection import permutation_importance
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setwise.compare.twins import joined
from setwise.core.checks import Ints, Values
from setwise.datasets.columns import Column, Date, Number
from setwise.estimators.base import base_threads
from setwise.estimators.splits import FOLDS, block_folds
from setwise.estimators.table_encoder import TableEncoder

CLUSTER = 20
"""The mean number of rows of a cluster."""

ROWS = 5_000
"""So many rows are judged at most."""

FEWEST, FEWEST_OF_LABEL = 200, 25
"""Of fewer rows, or rows of a label, two such areas differ by chance."""

KEPT, GAP, ERRORS = 0.5, 0.1, 3.0
"""Rows know labels from similar ones where less than this share is left, and the loss is so large, and so many errors.
"""

TRIED, FEW_COLUMNS = 2, 3
"""Twice so many columns are tried; with more than so many columns rows may be near in all, and have the same length.

Of those that trees read so many are enough, up to 5,000 rows.
"""

RUN, TURNS = 100, 0.5
"""So many next rows of the file are a cluster, where labels of neighbors differ so seldom, as a share of chance."""

READ = 0.1
"""Trees read a column if mixing its values loses so large a share of the most that mixing a column loses."""

LARGEST = 0.2
"""Clusters and blocks that are joined hold this share of the rows at most, or folds could not keep them together."""


class Similar(NamedTuple):
    """Rows that are known from similar ones.

    Attributes
    ----------
    blocks : (n,) the numbers of the blocks that folds do not split; None where they would be too large
    mixed, apart : the areas under the ROC curve with random folds, and with folds that do not split a cluster
    run : the number of next rows of the file that are a cluster; 0 for other clusters
    """

    blocks: Ints | None
    mixed: float
    apart: float
    run: int = 0


def similar_blocks(X: Any, y: Any, blocks: Ints | None = None, columns: Sequence[Column] = ()) -> Ints | None:
    """The blocks (n,) of rows, joined where rows are much like each other; unchanged where no label is known by that.

    Parameters
    ----------
    X : (n, d) numbers
    y : (n,) of 0 and 1, or the numbers of more than two classes
    blocks : (n,) the number of the block of each row, or None
    columns : the kinds of the columns of X, from ``load_table``; () where they have none
    """
    found = similar(X, np.asarray(y).ravel(), blocks, columns)
    return blocks if found is None or found.blocks is None else found.blocks


def similar(X: Values, y: Ints, blocks: Ints | None = None, columns: Sequence[Column] = ()) -> Similar | None:
    """What is known of rows from similar ones; None where they are too few, or boosted trees know as much without.

    Similar are rows that are near in all columns, or in those that trees read, or next to each other in one of the four
    with the most values, or in the file. Of more than 5,000 rows one part is judged, those next to each other in such a
    column.
    """
    n, y = len(y), _two(y)
    if are_few(y) or not X.shape[1]:
        return None
    own = np.arange(n) if blocks is None else np.unique(blocks, return_inverse=True)[1]
    told, small = None, n <= ROWS
    telling, mixed = _telling(X, columns), _area(X, y, own, columns) if small else None
    every = tuple(range(X.shape[1]))
    some = np.random.default_rng(0).permutation(n)[:ROWS]
    read = tuple(_read(X[some], y[some], columns))
    near = [one for one in dict.fromkeys((every, read)) if len(one) + (small and one != every) > FEW_COLUMNS]
    # Near in all columns, or in those that trees read, or next to each other in one, as rows of one customer are.
    tried = [(X[:, j], one, 0) for one in near for j in (telling or [0])[: 1 if small else None]]
    tried += [(X[:, j], (), 0) for j in telling]
    tried += [(np.arange(float(n)), (), min(RUN, n // (2 * FOLDS)))] if _in_runs(X, y) else []
    for along, chosen, run in tried:
        order = np.arange(n) if small else np.argsort(along, kind="stable")
        parts = np.array_split(order, -(-n // ROWS))
        rows = max(parts, key=lambda part: min(y[part].sum(), len(part) - y[part].sum()))
        before = mixed if small else _area(X[rows], y[rows], own[rows], columns)
        ids = np.zeros(n, np.int64) if chosen else _neighbors(along, run or CLUSTER)
        if chosen:
            ids[rows] = _clusters(X[rows], columns, chosen)
        after = _area(X[rows], y[rows], joined(own[rows], ids[rows], 1.0)[0], columns)
        if before is None or after is None or not _falls(before, after, y[rows]):
            continue
        for k, part in enumerate(parts if chosen else []):
            ids[part] = k * ROWS + (ids[part] if part is rows else _clusters(X[part], columns, chosen))
        wider = joined(own, ids, 1.0)[0]
        if np.bincount(wider).max() <= LARGEST * n:
            return Similar(wider, before, after, run)
        told = told or Similar(None, before, after, run)
    return told


def are_few(y: Ints) -> bool:
    """Whether the rows of labels (n,), or of one of them, are too few to look for similar ones."""
    return len(y) < FEWEST or int(np.bincount(_two(y), minlength=2).min()) < FEWEST_OF_LABEL


def _two(y: Ints) -> Ints:
    """Labels (n,) of 0 and 1; of several classes the most frequent one is told from the others."""
    return y if y.max() < 2 else (y == np.bincount(y).argmax()).astype(np.int64)


def _in_runs(X: Values, y: Ints) -> bool:
    """Whether next rows of the file mostly have the same label, though no column puts the rows in this order.

    A column of few values may: each of them is in all folds then.
    """
    changes = np.count_nonzero(np.diff(y))
    # In a file that is sorted by its labels each of them is in one run.
    if not 2 * FOLDS <= changes <= TURNS * 2.0 * y.mean() * (1.0 - y.mean()) * len(y):
        return False
    steps = (np.diff(cells[~np.isnan(cells)]) for cells in X.T)
    one_way = (np.count_nonzero(step) for step in steps if (step >= 0.0).all() or (step <= 0.0).all())
    return all(values < max(1, len(y) / (FOLDS * RUN)) for values in one_way)


def _neighbors(column: Values, size: int) -> Ints:
    """The number of the cluster of each row, (n,): rows with the same value and the next ones, so many to a cluster."""
    places = np.unique(column, return_inverse=True, equal_nan=False)[1]
    sizes = np.bincount(places)
    return (np.cumsum(sizes) - sizes)[places] // size


def _telling(X: Values, columns: Sequence[Column]) -> list[int]:
    """The numbers with the most different values; half of them have each value twice or more, as of one customer.

    A value that more rows share is one that new rows have too, as a shop or an hour.
    """
    numbers = [j for j in range(X.shape[1]) if not columns or isinstance(columns[j], Number | Date)]
    different = {j: len(np.unique(X[:, j])) for j in numbers}
    places = sorted((j for j in numbers if different[j] >= len(X) / CLUSTER), key=lambda j: -different[j])
    shared = [j for j in places if different[j] <= len(X) / 2][:TRIED]
    return [*shared, *(j for j in places if j not in shared)][: 2 * TRIED]


def _falls(mixed: float, apart: float, y: Ints) -> bool:
    """Whether the second area is far below the first one; their standard error is largest for .5."""
    error = np.sqrt((1.0 / max(y.sum(), 1) + 1.0 / max(len(y) - y.sum(), 1)) / 12.0)
    least = max(GAP, ERRORS * error)
    return bool(mixed - max(apart, 0.5) > least and apart - 0.5 < KEPT * (mixed - 0.5))


def _read(X: Values, y: Ints, columns: Sequence[Column]) -> list[int]:
    """The columns that boosted trees read: with their values mixed the area under the ROC curve of other rows falls."""
    train, test = block_folds(2, y, np.arange(len(y)))[0]
    with base_threads(X):
        model = _trees(columns).fit(X[train], y[train])
        lost = permutation_importance(model, X[test], y[test], scoring="roc_auc", n_repeats=1, random_state=0)
    each = lost.importances_mean
    return np.flatnonzero(each > max(READ * each.max(), 0.0)).tolist()


def _trees(columns: Sequence[Column]) -> Any:
    trees = HistGradientBoostingClassifier(max_iter=30, random_state=0)
    return make_pipeline(TableEncoder(columns, form="trees"), trees) if columns else trees


def _clusters(X: Values, columns: Sequence[Column], chosen: Sequence[int]) -> Ints:
    """The number of the cluster of each row, (n,), by scaled numbers and indicators of words in the columns chosen."""
    X, columns = X[:, chosen], [columns[j] for j in chosen] if columns else columns
    encoder = make_pipeline(TableEncoder(columns), StandardScaler()) if columns else StandardScaler()
    cells = np.nan_to_num(encoder.fit_transform(X))
    if cells.shape[1] > FEW_COLUMNS:
        # Else rare words put a few rows far from all others, which are one large cluster then.
        cells /= np.maximum(np.linalg.norm(cells, axis=1, keepdims=True), 1e-300)
    # There may be fewer different rows than clusters.
    with catch_warnings(action="ignore", category=ConvergenceWarning):
        found = KMeans(max(2, len(cells) // CLUSTER), n_init=1, random_state=0).fit(cells)
    return np.asarray(found.labels_, dtype=np.int64)


def _area(X: Values, y: Ints, blocks: Ints, columns: Sequence[Column]) -> float | None:
    """The area under the ROC curve of boosted trees out of fold; None where folds have one label only."""
    scores = np.zeros(len(y))
    if len(np.unique(blocks)) < FOLDS:
        return None
    for train, test in block_folds(FOLDS, y, blocks):
        if len(np.unique(y[train])) < 2:
            return None
        with base_threads(X):
            scores[test] = _trees(columns).fit(X[train], y[train]).predict_proba(X[test])[:, 1]
    return float(roc_auc_score(y, scores))
