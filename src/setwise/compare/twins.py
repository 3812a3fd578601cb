"""Rows of a table that are copies of other rows, which folds must keep together.

A copy may be equal, or differ in the spelling of words, in a few cells, in columns that number the rows, or by noise in
its numbers.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_matrix, issparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from scipy.stats import rankdata

from setwise.core.checks import Bools, Ints, Values
from setwise.datasets.columns import Category, Column, Date, Number, Word
from setwise.estimators.sets import as_ids
from setwise.estimators.splits import indicators, mixed, row_keys

FEW = 5
"""Of fewer rows nothing is said."""

SELDOM, TIMES, KEYS = 50, 20, 100
"""Rows that are equal in some columns are compared cell by cell. By chance fewer than one of 50 has an equal one there.

Of at most 100 such sets of columns so many are tried that two rows have no gap in 20 of them.
"""

UNLIKE, BY_CHANCE = 0.5, 0.03
"""They are nearly equal where fewer of the other columns differ, as a share of what rows differ in by chance.

Only columns in which both have no gap count. The probability of being equal in all of these by chance is smaller.
"""

MOST = 0.75
"""So many of the rows that are equal in some columns are nearly equal; otherwise what is equal is so by chance."""

TORN, TORN_BY_NOISE = 0.25, 0.1
"""Labels of nearly equal or near rows differ in fewer pairs, as a share of chance; copies have their label."""

VARIED, WIDE = 0.05, 0.75
"""The probabilities that two rows differ in a column: from the first on it says something, from the second on much."""

OWN = 0.75
"""A column with so many different cells, as a share of the different rows, may be as good as a number of the row."""

LEAST = 3
"""In tables of fewer columns rows are nearly equal by chance."""

CLOSE, CHANCE, ASKED, NEIGHBORS, DIRECTIONS, ENOUGH = 0.1, 5e-4, 300, 20, 32, 20_000
"""A row is close to one that is nearer than a tenth of the 20th one, or so near that by chance few of the 20 are.

So many rows are asked, in so many directions, at first among so many.
"""

FINE, CLOSER = 0.1, 0.2
"""Numbers with so many different cells count; the share of close rows is so far above that of chance.

In 13 published tables it is .19 above at most, and where all rows have copies with little noise .5 or more.
"""

ACROSS, STRAY = 0.1, 0.02
"""Groups hold nothing out if so many rows have copies in others; and so few of the copies have another label."""

COMMON = 0.05
"""Equal rows that are a larger share of all rows are a common case, and no copies."""

ALIKE = 10
"""Where each row is there so often in the mean, and labels of equal ones differ, equal rows are no copies."""


def twin_blocks(X: Any, y: Any, groups: Any = None, columns: Sequence[Column] = ()) -> Ints | None:
    """The number (n,) of the block of each row: equal rows are in one, and so are groups that share such rows.

    Equal are also rows that differ only in the spelling of words, beyond seven digits, or, where they have the same
    label, in a few cells, in columns that may be numbers of the rows, or by noise in their numbers. None where no rows
    are so, or where equal rows are too common to be copies.

    Parameters
    ----------
    X : (n, d) numbers, dense or CSR
    y : (n,) or (n, p) of 0 and 1, or (n,) the numbers of more than two classes
    groups : (n,) the id of the set of each row, or None
    columns : the kinds of the columns of X, from ``load_table``; () where they have none
    """
    return twins(X, np.asarray(y), groups, columns).blocks


class Twins(NamedTuple):
    """Rows that are equal to another one.

    Attributes
    ----------
    blocks : what :func:`twin_blocks` gives
    equal, torn, common : the numbers of rows with an equal one, with an equal one of another label, and of rows that
        are equal to too many others to be copies
    near : the number of rows that are equal to another one but for a few cells
    cells, places : in so many columns each of them differs at most from another one, and in which ones, if they are few
    noisy : the number of rows whose numbers are those of another one but for noise
    across : the number of rows with a copy in another group, where so many have one that groups hold nothing out
    """

    blocks: Ints | None
    equal: int
    torn: int
    common: int
    near: int = 0
    cells: int = 0
    places: tuple[int, ...] = ()
    noisy: int = 0
    across: int = 0


def twins(X: Any, y: Ints, groups: Any, columns: Sequence[Column]) -> Twins:
    """The rows that are equal to another one, with the arguments of :func:`twin_blocks`."""
    n, labels = X.shape[0], indicators(y)
    cells: Any = None if issparse(X) else _spelled(X, columns)
    first, ids = np.unique(row_keys(X if cells is None else cells), return_index=True, return_inverse=True)[1:]
    many = np.bincount(ids)[ids]
    ones = np.column_stack([np.bincount(ids, label)[ids] for label in labels.T])
    torn = int((ones != labels * many[:, None]).any(axis=1).sum())
    found = Twins(None, int((many > 1).sum()), torn, int(_common(many).sum()))
    if n >= ALIKE * len(first) and 2 * torn > n:
        return found
    own = np.arange(n) if groups is None else as_ids(groups, n)
    blocks, apart = joined(own, ids)
    largest = max(n / 5, np.bincount(own).max())
    if np.bincount(blocks).max() > largest:
        across = groups is not None and torn <= STRAY * found.equal and apart >= ACROSS * n
        return found._replace(across=apart if across else 0)
    for search in () if cells is None else (_near, _noisy):
        distinct = cells.T[:, first].T
        pairs = search(distinct, columns)
        stray = _stray(pairs, labels[first])
        linked = connected_components(coo_matrix((np.ones(len(pairs.T)), pairs), (len(first),) * 2), directed=False)[1]
        several, wide = (np.bincount(linked)[linked] > 1)[ids], linked[ids]
        many = np.bincount(wide)[wide]
        few = ~_common(many)
        if stray > (TORN if search is _near else TORN_BY_NOISE) or (several & few).sum() < max(FEW, n / 100):
            continue
        wider, apart = joined(blocks, wide)
        if np.bincount(wider).max() <= largest:
            blocks, first, ids = wider, first[np.unique(linked, return_index=True)[1]], wide
            told = int((few & (many > 1)).sum())
            near = {"noisy": told} if search is _noisy else {"near": told, **_unlike(distinct, pairs)}
            found = found._replace(**near)
        elif groups is not None and stray <= STRAY and apart >= ACROSS * n:
            return found._replace(across=apart)
    return found if blocks.max() == own.max() else found._replace(blocks=blocks)


def _common(many: Ints, share: float = COMMON) -> Bools:
    """Whether rows (n,) that occur so often are too common to be copies."""
    return many > max(share * len(many), 1)


def _spelled(X: Values, columns: Sequence[Column]) -> Values:
    """The cells (n, d), where words have one code that differ only in capital letters and in blanks.

    Numbers with decimals have seven digits, which a copy by way of float32 leaves. In tables of fewer than three
    columns, where such numbers are equal by chance, they have all digits.
    """
    cells = np.array(X, dtype=np.float64, order="F")
    cells[np.isnan(cells)] = np.inf
    for j in range(X.shape[1]):
        column = columns[j] if columns else None
        if isinstance(column, Category):
            plain = [" ".join(word.casefold().split()) for word in column.words]
            codes = np.append(np.unique(plain, return_inverse=True)[1].astype(np.float64), [len(plain), np.inf])
            cells[:, j] = codes[np.minimum(cells[:, j], len(plain) + 1).astype(np.int64)]
        elif X.shape[1] >= LEAST and not isinstance(column, Date):
            cells[:, j] = rounded(cells[:, j], 29)
    for text in {column.text for column in columns if isinstance(column, Word)}:
        places = [j for j, column in enumerate(columns) if isinstance(column, Word) and column.text == text]
        cells[:, places[0]] = np.unique(row_keys(cells[:, places]), return_inverse=True)[1]
        cells[:, places[1:]] = 0.0
    return cells


def rounded(values: Values, bits: int) -> Values:
    """The values (n,), of which those with decimals are rounded to so many bits less."""
    one = np.uint64(1)
    short = ((values.copy().view(np.uint64) + (one << np.uint64(bits - 1))) >> np.uint64(bits)) << np.uint64(bits)
    return np.where(np.floor(values) == values, values, short.view(np.float64))


def _near(cells: Values, columns: Sequence[Column]) -> Ints:
    """Pairs (2, m) of distinct rows (n, d), here rounded to four digits, that are equal but for a few cells.

    They are looked for in all columns, and in the numbers of which most are not all different, since words, dates and
    such numbers may be those of a copy.
    """
    n, d = cells.shape
    told = np.array([isinstance(column, Category | Date | Word) for column in columns] or [False] * d)
    differ = np.empty(d)
    for j in range(d):
        if not (columns and isinstance(columns[j], Date)):
            cells[:, j] = rounded(cells[:, j], 36)
        many = np.unique(cells[np.isfinite(cells[:, j]), j], return_counts=True)[1]
        differ[j], told[j] = 1.0 - np.sum((many / many.sum()) ** 2), told[j] or len(many) >= OWN * many.sum()
    varied = differ >= VARIED
    pairs, left = np.empty((2, 0), np.int64), np.ones(n, np.bool_)
    for asked in (varied & ~told, varied):
        pairs = np.append(pairs, _alike(cells, differ, np.flatnonzero(asked), left), axis=1)
        # Of linked rows the first one stands for all.
        left[pairs[1]] = False
    return pairs


def _stray(pairs: Ints, y: Ints) -> float:
    """The share of pairs (2, m) of rows whose labels (n, p) differ, as a share of what it is by chance."""
    ids, many = np.unique(row_keys(y), return_inverse=True, return_counts=True)[1:]
    chance = 1.0 - np.sum((many / len(y)) ** 2)
    return float((ids[pairs[0]] != ids[pairs[1]]).sum() / max(pairs.shape[1] * chance, 1e-300))


def _unlike(cells: Values, pairs: Ints) -> dict[str, Any]:
    """In how many columns each row of some pairs (2, m) differs at most from another one, and in which, if few."""
    unlike = np.array([cells[pairs[0], j] != cells[pairs[1], j] for j in range(cells.shape[1])])
    fewest, places = np.full(len(cells), len(unlike)), np.flatnonzero(unlike.any(axis=1))
    np.minimum.at(fewest, pairs.ravel(), np.tile(unlike.sum(axis=0), 2))
    most = int(fewest[pairs].max(initial=0))
    return {"cells": most, "places": tuple(places.tolist()) if len(places) <= most else ()}


def _noisy(cells: Values, columns: Sequence[Column]) -> Ints:
    """Pairs (2, m) of distinct rows (n, d) that lie nearer to each other than rows do by chance.

    That is by all numbers, or by numbers and words. Within distance r of a row lie about r^k others; the dimension k is
    estimated from the 10th to the 20th nearest rows of some (Levina and Bickel 2004), and so is how near the nearest
    one is by chance, or by half of the columns where these are of another row. Of many rows those are asked first that
    are in the middle of the column with most values.
    """
    n, pairs, most, rng = len(cells), np.empty((2, 0), np.int64), CLOSER, np.random.default_rng(0)
    if n > ENOUGH:
        widest = max(cells.T, key=lambda cell: len(np.unique(cell[:ASKED])))
        middle = np.argsort(widest)[(n - ENOUGH) // 2 : (n + ENOUGH) // 2]
        if not _noisy(cells[middle], columns).size:
            return pairs
    order = np.arange(NEIGHBORS // 2, NEIGHBORS)
    expected = np.mean([np.sum(1.0 / np.arange(i, NEIGHBORS)) for i in order])
    for one, other in _spots(cells, columns) if n >= ASKED else ():
        tree, some_rows = cKDTree(one + other), rng.permutation(n)[:ASKED]
        far, torn = _far(tree, some_rows), _far(cKDTree(one + rng.permutation(other)), some_rows)
        k = expected / max(np.log(far[:, -1:] / far[:, order - 1]).mean(), 1e-300)
        for share in (CLOSE, CHANCE ** (1.0 / k)):
            close = far[far[:, 0] < share * far[:, -1]]
            chance = max(1.0 - (1.0 - share**k) ** (NEIGHBORS - 1), (torn[:, 0] < share * torn[:, -1]).mean())
            more = len(close) / len(far) - chance
            if more >= most:
                # Halfway, in digits, between the noise of copies and what is far, here of the nearest row asked.
                most, reach = more, np.sqrt(np.median(close[:, 0] / close[:, -1]))
                around = reach * far[cKDTree(tree.data[some_rows]).query(tree.data)[1], -1:]
                near, places = tree.query(tree.data, NEIGHBORS, distance_upper_bound=np.quantile(around, 0.9))
                i, j = np.nonzero(near < around)
                pairs = np.stack([i, places[i, j]])
    return pairs


def _far(tree: Any, rows: Ints) -> Values:
    """The distances (m, 20) of some rows (m,) of a tree to those nearest to them."""
    return np.asarray(np.maximum(tree.query(tree.data[rows], NEIGHBORS + 1)[0][:, 1:], 1e-300))


def _spots(cells: Values, columns: Sequence[Column]) -> Values:
    """The places (s, 2, n, 32) of rows (n, d) by numbers, and by numbers and words, of each other column.

    They are in random directions. Numbers count by their ranks if many differ, and otherwise by their size; a different
    word is as far as another number by chance. Words that are nearly all different do not count.
    """
    n, rng, counted = len(cells), np.random.default_rng(0), np.zeros(2, np.int64)
    spots = np.zeros((2, 2, n, DIRECTIONS))
    for j, cell in enumerate(cells.T):
        values, places = np.unique(cell, return_inverse=True)
        word = bool(columns) and not isinstance(columns[j], Number)
        if len(values) < 2 or (word and (isinstance(columns[j], Date) or len(values) >= OWN * n)):
            continue
        if word:
            place = rng.normal(size=(len(values), DIRECTIONS))[places]
        else:
            # A gap is as a number above all others.
            known = cell[np.isfinite(cell)]
            size = rankdata(cell) if len(values) >= FINE * n else np.minimum(cell, known.max() + (known.std() or 1.0))
            place = np.outer((size - size.mean()) / size.std(), rng.normal(size=DIRECTIONS))
        for space in range(word, 2):
            spots[space, counted[space] % 2] += place
            counted[space] += 1
    return spots[(counted >= LEAST) & (counted > np.append(0, counted[:1]))]


def _alike(cells: Values, differ: Values, asked: Ints, left: Bools) -> Ints:
    """Pairs (2, m) of the rows left of (n, d) that are equal in a few columns without a gap, and nearly so in the rest.

    In ``differ`` (d,) are the probabilities that two rows differ in a column, and ``asked`` are the columns.
    """
    n, found = len(cells), [np.empty(0, np.int64)]
    columns = np.array([mixed(cells[:, j], np.array([j], np.uint64)) for j in asked])
    for key in _keys(n, differ[asked], np.isfinite(cells.T[asked]).mean(axis=1)) if len(asked) >= LEAST else ():
        keys = columns[key].sum(axis=0, dtype=np.uint64)
        # A row whose first bits no other one has is equal to none.
        bits = (keys >> np.uint64(42)).astype(np.int64)
        rows = np.flatnonzero(left & (np.bincount(bits)[bits] > 1))
        # Rows with a gap take part if those equal to them in the other columns are seldom so by chance.
        filled = np.isfinite(cells[np.ix_(rows, asked[key])])
        rows = rows[filled @ np.log(1.0 - differ[asked[key]]) < np.log((1.0 - MOST) / n)]
        keys = keys[rows]
        by = np.argsort(keys)
        new, by = np.append(True, keys[by[1:]] != keys[by[:-1]])[: len(by)], rows[by]
        at = np.flatnonzero(~new)
        # A row is compared with the one before it and with the first one of those that are equal to it.
        first = np.flatnonzero(new)[np.cumsum(new)[at] - 1]
        far = first < at - 1
        pairs = np.sort(by[np.stack([np.append(at - 1, first[far]), np.append(at, at[far])])], axis=0)
        place = np.append(np.arange(len(at)), np.flatnonzero(far))
        fits = _fits(cells, pairs, differ, np.delete(asked, key))
        if len(np.unique(place[fits])) >= max(1, MOST * len(at)):
            found.append(pairs[0, fits] * n + pairs[1, fits])
    return np.stack(np.divmod(np.unique(np.concatenate(found)), n))


def _keys(n: int, differ: Values, filled: Values) -> list[list[int]]:
    """Places in ``differ`` (d,) of few columns each, in which two of n rows are seldom equal by chance.

    They are drawn at random, more often of columns that differ and are ``filled`` (d,), a share.
    """
    rng, found = np.random.default_rng(0), dict[tuple[int, ...], float]()
    for _ in range(KEYS):
        order = np.argsort(-differ * filled**2 * rng.random(len(differ)))[: max(2, len(differ) // 2)]
        equal = n * np.cumprod(1.0 - differ[order])
        key = sorted(order[: max(2, 1 + int((equal > 1.0 / SELDOM).sum()))].tolist())
        # Otherwise most rows that are equal there are so by chance.
        if equal[-1] < 1.0 - MOST and sum(found.values()) < TIMES:
            found[tuple(key)] = float(np.prod(filled[key]) ** 2)
    return [list(key) for key in found]


def _fits(cells: Values, pairs: Ints, differ: Values, rest: Ints) -> Bools:
    """Whether pairs (2, m) of rows (n, d) differ in few of some columns, and in few of those with many values.

    A column in which rows seldom differ counts for as many as it takes to see a difference by chance, and one in which
    either row has a gap does not count.
    """
    cost: Values = np.zeros((3, pairs.shape[1]))
    cost[2] -= np.log(BY_CHANCE)
    wide = differ >= WIDE
    for j in rest:
        one, two = cells[pairs, j]
        both = np.isfinite(one + two)
        cost[: 1 + wide[j]] += both * ((one != two) / differ[j] - UNLIKE)
        cost[2] += both * np.log(1.0 - differ[j])
    return np.asarray((cost < 0.0).all(axis=0))


def joined(blocks: Ints, ids: Ints, share: float = COMMON) -> tuple[Ints, int]:
    """The blocks (n,) of rows, joined where they share an id that is not too common, and the rows that make joins.

    A too common id is that of more than this ``share`` of the rows.
    """
    many = np.bincount(ids)[ids]
    rows = np.flatnonzero((many > 1) & ~_common(many, share))
    size = int(blocks.max()) + 1
    links = coo_matrix((np.ones(len(rows)), (blocks[rows], size + ids[rows])), (size + int(ids.max()) + 1,) * 2)
    joined = np.unique(connected_components(links, directed=False)[1][:size], return_inverse=True)[1][blocks]
    # An id of one block alone joins nothing; equal links are one entry of this matrix.
    return joined, int((links.tocsc().getnnz(axis=0)[size + ids[rows]] > 1).sum())
