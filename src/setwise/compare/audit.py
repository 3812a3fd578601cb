"""The audit of a table before a comparison: what would make a model look better than it is on new rows.

That is equal rows, running numbers, columns that give the label away, and columns that folds would find empty. What is
sure is mended, and what is only suspicious is said.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from shlex import quote
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import coo_matrix, issparse
from scipy.sparse.csgraph import connected_components

from setwise.compare.problem import Finding, Problem
from setwise.compare.text import percent
from setwise.core.checks import Bools, Ints, Values
from setwise.datasets.columns import Category, Column, Date, Number, Word, some
from setwise.estimators.sets import as_ids
from setwise.estimators.splits import row_keys

PANDAS = re.compile(r"__index_level_\d+__|Unnamed: \d+")
"""The names under which pandas writes an index into Parquet and CSV."""

CROWDED = 30
"""That n independent draws of whole numbers from a range below n^2 / 30 all differ has probability e^-15 at most."""

ONCE = 0.95
"""A share of values that are there once, and of steps between them that are equal, which no other numbers have."""

EVEN, MANY = 0.2, 100
"""From 100 values on, uniform draws were never as near as .2 sqrt(n) steps to a running number in 20,000 tries."""

NEAR = 0.05
"""Up to so many mistakes, as a share of the rarer label, a column is suspicious."""

ALONE = 0.1
"""It is taken for a copy where the share of each other column is above ten times its own and this."""

FEW = 5
"""Of fewer rows with the rarer label nothing is said of copies."""

KNOWN = 20
"""A column with fewer known cells may be empty in a training part; with so many it is so with probability 1e-4."""

PARTS = 5
"""Columns are dealt out to so many parts. Rows that are equal in two of them are compared cell by cell."""

UNLIKE = 0.5
"""They are nearly equal where fewer of the other columns differ, as a share of what rows differ in by chance."""

MOST = 0.75
"""So many of the rows that are equal in two parts are nearly equal; otherwise what is equal is so by chance."""

TORN = 0.25
"""Labels of nearly equal rows differ in fewer pairs, as a share of what they do by chance; copies have their label."""

VARIED, WIDE = 0.05, 0.75
"""The probabilities that two rows differ in a column: from the first on it says something, from the second on much."""

OWN = 0.75
"""A column with so many different cells, as a share of the different rows, may be as good as a number of the row."""

LEAST = 3
"""In tables of fewer columns rows are nearly equal by chance."""

COMMON = 0.05
"""Equal rows that are a larger share of all rows are a common case, and no copies."""

ALIKE = 10
"""Where each row is there so often in the mean, and labels of equal ones differ, equal rows are no copies."""


def value_counts(column: Values, y: Ints) -> Ints:
    """The rows with the labels 0 and 1 of each distinct value of a column (n,), rising, and of gaps, (2, m + 1)."""
    order = np.argsort(column)
    ranked, positive = column[order], np.append(0, np.cumsum(y[order]))
    known = len(ranked) - int(np.isnan(ranked).sum())
    edges = np.append(np.flatnonzero(np.diff(ranked[:known], prepend=np.nan) != 0), [known, len(ranked)])
    ones = np.diff(positive[edges])
    return np.stack([np.diff(edges) - ones, ones])


def copies_label(counts: Ints) -> bool:
    """Whether a column with these counts has one value for each label, or gaps for one label and for no other."""
    values = (counts[:, :-1] > 0).sum(axis=1)
    return not counts.min(axis=0).any() and bool(values.max() == 1 or values.min() == 0)


def mistakes(counts: Ints) -> int:
    """The mistakes of the best threshold, or of the label that most other rows with the same value have."""
    values, gaps = counts[:, :-1], counts[:, -1]
    # How many more rows below each threshold have the label 0 than the label 1.
    ahead = np.append(0, np.cumsum(values[0] - values[1]))
    cut = min(values[0].sum() - ahead.max(), values[1].sum() + ahead.min()) + gaps.min()
    # A row without others of its value gets the more frequent label.
    few, many = counts[np.argsort(counts.sum(axis=1))]
    return int(min(cut, few[few - 1 <= many].sum() + many[many - 1 < few].sum()))


def audited(problem: Problem, keep: Sequence[str] = (), time: str | None = None, folds: int = 5) -> Problem:
    """The problem without columns that would deceive, with the rows that folds keep together, and with its findings.

    Parameters
    ----------
    problem : as it was read; of sparse features none is looked at by itself
    keep : names of columns that are not left out
    time : the name of the column by which later rows judge; None where folds are random
    folds : the number of outer folds

    Raises
    ------
    ValueError : for names of no columns, gaps in the column of times, and where no column is left
    """
    names = [column.name for column in _columns(problem)]
    asked = [*(("--keep-column", name) for name in keep), *([] if time is None else [("--time-column", time)])]
    for option, name in asked:
        if name not in names:
            known = f"whose features are {some(names)}" if names else "whose features are sparse"
            raise ValueError(f"{option} must name a feature of {problem.name}, {known}; got {name!r}.")
    if time is not None:
        problem = _in_time(problem, names.index(time))
    problem = _without(problem, _useless(problem, folds), keep)
    found = twins(problem.X, problem.y, None, problem.columns)
    told = _without(problem, _telling(problem, found.blocks), keep)
    if told.X is not problem.X or problem.groups is not None:
        found = twins(told.X, told.y, told.groups, told.columns)
    return _with_twins(told, found)


def _columns(problem: Problem) -> tuple[Column, ...]:
    """The columns of a table; numbers where only features have names, and none of sparse features."""
    return problem.columns or (() if issparse(problem.X) else tuple(map(Number, problem.features)))


def _in_time(problem: Problem, j: int) -> Problem:
    """The problem with column j as the times of its rows, by which outer folds are made."""
    column, times = _columns(problem)[j], np.array(problem.X[:, j], dtype=np.float64)
    gaps = int(np.isnan(times).sum())
    if gaps or not isinstance(column, Number | Date):
        held = f"gaps in {gaps:,} rows" if gaps else f"a {column.kind}"
        raise ValueError(f"--time-column must name a date or number without gaps; {column.name!r} has {held}.")
    words = f"Later rows judge: test rows of outer folds have a larger {column.name!r} than all rows trained on."
    found = Finding("time", (column.name,), len(times), "ordered", words)
    return replace(problem, times=times, findings=(*problem.findings, found))


def _without(problem: Problem, findings: Sequence[Finding], keep: Sequence[str]) -> Problem:
    """The problem with findings about single columns, without those that are to be left out and not to be kept."""
    said, out = list[Finding](), list[Finding]()
    for found in findings:
        (name,), words, action = found.columns, found.sentence, found.action
        if action == "left out" and name in keep:
            words, action = f"{words} It is kept, as --keep-column says.", "none"
        elif action == "left out":
            words, out = f"{words} It is left out (--keep-column {quote(name)} keeps it).", [*out, found]
        said.append(replace(found, sentence=words, action=action))
    problem = replace(problem, findings=(*problem.findings, *said))
    if len(out) == problem.X.shape[1]:
        words = " ".join(found.sentence for found in problem.findings)
        raise ValueError(f"{problem.name} has no column left for features; --keep-column keeps one. {words}")
    numbers = [name for one in out for name in one.columns if one.kind == "running number" and not PANDAS.match(name)]
    return problem.without([name for found in out for name in found.columns], numbers) if out else problem


def _useless(problem: Problem, folds: int) -> list[Finding]:
    """The columns that number rows or are nearly empty."""
    found, rows, part = [], np.arange(len(problem.y)), "rows"
    if problem.times is not None:
        early = np.sort(problem.times)[len(rows) // (folds + 1)]
        rows, part = np.flatnonzero(problem.times < early), "rows of the earliest part"
    # A row that was entered twice has its number twice.
    first = np.unique(row_keys(problem.X), return_index=True)[1]
    units = _units(problem, rows)
    for j, column in enumerate(_columns(problem)):
        cells, name = problem.X[first, j], column.name
        cells, filled = cells[~np.isnan(cells)], rows[~np.isnan(problem.X[rows, j])]
        held = _units(problem, filled)
        if isinstance(column, Number) and PANDAS.fullmatch(name):
            found.append(_of(name, "running number", len(cells), "is an index of pandas."))
        elif isinstance(column, Number) and number_rows(cells):
            found.append(_of(name, "running number", len(cells), "numbers the rows."))
        elif held < min(KNOWN, units / 2):
            groups = "" if problem.groups is None else f", in {held} groups"
            words = f"holds something in {len(filled):,} of {len(rows):,} {part}{groups}, too few for folds."
            found.append(_of(name, "empty", len(filled), words))
    return found


def number_rows(cells: Values) -> bool:
    """Whether numbers (m,) are as dense or as even as running numbers, or nearly all follow each other in one step."""
    m, values = len(cells), np.unique(cells)
    steps = np.diff(values)
    if m < CROWDED or len(values) < ONCE * m:
        return False
    if (np.abs(steps - np.median(steps)) <= 1e-9 * np.abs(values).max()).mean() >= ONCE:
        return True
    if len(values) < m:
        return False
    spread = float(values[-1] - values[0])
    whole = np.abs(values).max() < 2.0**53 and not (values % 1.0).any()
    if whole and spread / int(np.gcd.reduce(steps.astype(np.int64))) < m * m / CROWDED:
        return True
    even = values[0] + spread * np.arange(m) / (m - 1)
    return m >= MANY and bool(np.abs(values - even).max() <= EVEN * np.sqrt(m) * spread / (m - 1))


def _telling(problem: Problem, blocks: Ints | None) -> list[Finding]:
    """The columns that give the label away, which are left out if that is sure; rows of a block are one witness."""
    n = len(problem.y)
    first = np.arange(n) if blocks is None else np.unique(blocks, return_index=True)[1]
    labels = problem.y.reshape(n, -1)[first].T
    labels = labels[np.minimum(labels.sum(axis=1), (1 - labels).sum(axis=1)) >= FEW]
    found, shares = [], {}
    for j, column in enumerate(_columns(problem)):
        each = [value_counts(problem.X[first, j], y) for y in labels]
        if any(map(copies_label, each)):
            found.append(_of(column.name, "label", n, "is the label in other words."))
        elif each:
            shares[column.name] = min((mistakes(one) / one.sum(axis=1).min(), mistakes(one)) for one in each)
    ranked = sorted(share for share, _ in shares.values())
    for name, (share, wrong) in shares.items():
        right = 1.0 - wrong / len(first)
        one = _of(name, "label", round(right * n), f"alone tells the label of {percent(right)} of rows.")
        if share <= NEAR and ranked[1:2] > [ALONE + 10.0 * share]:
            found.append(one)
        elif share <= NEAR:
            advice = f"If it is known only after the label, leave it out: --drop {quote(name)}."
            found.append(replace(one, action="none", sentence=f"{one.sentence} {advice}"))
    return found


def _of(name: str, kind: str, rows: int, words: str) -> Finding:
    return Finding(kind, (name,), rows, "left out", f"Column {name!r} {words}")


def _units(problem: Problem, rows: Ints) -> int:
    """The number of some rows, or of their groups, which folds do not split."""
    return len(rows) if problem.groups is None else len(np.unique(problem.groups[rows]))


def twin_blocks(X: Any, y: Any, groups: Any = None, columns: Sequence[Column] = ()) -> Ints | None:
    """The number (n,) of the block of each row: equal rows are in one, and so are groups that share such rows.

    Equal are also rows that differ only in the spelling of words, beyond seven digits, or in a few cells or in columns
    that may be numbers of the rows, where they have the same label. None where no rows are so, or where equal rows are
    too common to be copies.

    Parameters
    ----------
    X : (n, d) numbers, dense or CSR
    y : (n,) or (n, p) of 0 and 1
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
    """

    blocks: Ints | None
    equal: int
    torn: int
    common: int
    near: int = 0
    cells: int = 0
    places: tuple[int, ...] = ()


def twins(X: Any, y: Ints, groups: Any, columns: Sequence[Column]) -> Twins:
    """The rows that are equal to another one, with the arguments of :func:`twin_blocks`."""
    n, labels = X.shape[0], y.reshape(len(y), -1)
    cells = None if issparse(X) else _spelled(X, columns)
    first, ids = np.unique(row_keys(X if cells is None else cells), return_index=True, return_inverse=True)[1:]
    many = np.bincount(ids)[ids]
    ones = np.column_stack([np.bincount(ids, label)[ids] for label in labels.T])
    torn = int((ones != labels * many[:, None]).any(axis=1).sum())
    found = Twins(None, int((many > 1).sum()), torn, int(_common(many).sum()))
    if n >= ALIKE * len(first) and 2 * torn > n:
        return found
    own = np.arange(n) if groups is None else as_ids(groups, n)
    # Where equal rows link most groups, nothing could be held out.
    largest = max(n / 5, np.bincount(own).max())
    blocks = _joined(own, ids)
    if np.bincount(blocks).max() > largest:
        return found
    if cells is not None:
        pairs, most, places = _near(cells.T[:, first].T, labels[first], columns)
        graph = coo_matrix((np.ones(len(pairs.T)), pairs), (len(first),) * 2)
        linked = connected_components(graph, directed=False)[1]
        several, linked = (np.bincount(linked)[linked] > 1)[ids], linked[ids]
        many = np.bincount(linked)[linked]
        few = ~_common(many)
        wider = _joined(blocks, linked)
        if (several & few).sum() >= max(FEW, n / 100) and np.bincount(wider).max() <= largest:
            blocks, found = wider, found._replace(near=int((few & (many > 1)).sum()), cells=most, places=places)
    return found if blocks.max() == own.max() else found._replace(blocks=blocks)


def _common(many: Ints) -> Bools:
    """Whether rows (n,) that occur so often are too common to be copies."""
    return many > max(COMMON * len(many), 1)


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
            cells[:, j] = _rounded(cells[:, j], 29)
    for text in {column.text for column in columns if isinstance(column, Word)}:
        places = [j for j, column in enumerate(columns) if isinstance(column, Word) and column.text == text]
        cells[:, places[0]] = np.unique(row_keys(cells[:, places]), return_inverse=True)[1]
        cells[:, places[1:]] = 0.0
    return cells


def _rounded(values: Values, bits: int) -> Values:
    """The values (n,), of which those with decimals are rounded to so many bits less."""
    one = np.uint64(1)
    short = ((values.copy().view(np.uint64) + (one << np.uint64(bits - 1))) >> np.uint64(bits)) << np.uint64(bits)
    return np.where(np.floor(values) == values, values, short.view(np.float64))


def _near(cells: Values, y: Ints, columns: Sequence[Column]) -> tuple[Ints, int, tuple[int, ...]]:
    """Pairs (2, m) of distinct rows (n, d) that are equal but for a few cells, for how many, and for which columns.

    They are looked for in all columns, and in the numbers of which most are not all different, since words, dates and
    such numbers may be those of a copy. Labels (n, p) of copies are equal too: pairs whose labels differ are none.
    """
    n, d = cells.shape
    told = np.array([isinstance(column, Category | Date | Word) for column in columns] or [False] * d)
    differ = np.empty(d)
    for j in range(d):
        if not (columns and isinstance(columns[j], Date)):
            cells[:, j] = _rounded(cells[:, j], 36)
        many = np.unique(cells[:, j], return_counts=True)[1]
        differ[j], told[j] = 1.0 - np.sum((many / n) ** 2), told[j] or len(many) >= OWN * n
    varied = differ >= VARIED
    pairs, left = np.empty((2, 0), np.int64), np.ones(n, np.bool_)
    for asked in (varied & ~told, varied):
        pairs = np.append(pairs, _alike(cells, differ, np.flatnonzero(asked), left), axis=1)
        # Of linked rows the first one stands for all.
        left[pairs[1]] = False
    ids, many = np.unique(row_keys(y), return_inverse=True, return_counts=True)[1:]
    if (ids[pairs[0]] != ids[pairs[1]]).sum() > TORN * pairs.shape[1] * (1.0 - np.sum((many / n) ** 2)):
        pairs = pairs[:, :0]
    unlike = np.array([cells[pairs[0], j] != cells[pairs[1], j] for j in range(d)])
    fewest, places = np.full(n, d), np.flatnonzero(unlike.any(axis=1))
    np.minimum.at(fewest, pairs.ravel(), np.tile(unlike.sum(axis=0), 2))
    most = int(fewest[pairs].max(initial=0))
    return pairs, most, tuple(places.tolist()) if len(places) <= most else ()


def _alike(cells: Values, differ: Values, asked: Ints, left: Bools) -> Ints:
    """Pairs (2, m) of the rows left of (n, d) equal in two of five parts of columns, and nearly so in the rest.

    In ``differ`` (d,) are the probabilities that two rows differ in a column, and ``asked`` are the columns.
    """
    order = asked[np.argsort(-differ[asked], kind="stable")]
    parts = [order[i::PARTS] for i in range(min(PARTS, len(order)))]
    keys, found = [row_keys(cells[:, part]) for part in parts], [np.empty(0, np.int64)]
    # A row whose first bits no other one has is equal to none.
    bits = [(key >> np.uint64(42)).astype(np.int64) for key in keys]
    several = [left & (np.bincount(one)[one] > 1) for one in bits]
    for i, j in combinations(range(len(parts)), 2):
        rest = np.setdiff1d(asked, np.append(parts[i], parts[j]))
        if not (differ[rest] >= WIDE).any():
            continue
        rows = np.flatnonzero(several[i] & several[j])
        key = np.uint64(3) * keys[i][rows] + keys[j][rows]
        by = np.argsort(key)
        new, by = np.append(True, key[by[1:]] != key[by[:-1]])[: len(by)], rows[by]
        at = np.flatnonzero(~new)
        # A row is compared with the one before it and with the first one of those that are equal to it in two parts.
        first = np.flatnonzero(new)[np.cumsum(new)[at] - 1]
        far = first < at - 1
        pairs = np.sort(by[np.stack([np.append(at - 1, first[far]), np.append(at, at[far])])], axis=0)
        fits = _fits(cells, pairs, differ, rest)
        either = fits[: len(at)].copy()
        either[far] |= fits[len(at) :]
        if either.sum() >= max(1, MOST * len(at)):
            found.append(pairs[0, fits] * len(cells) + pairs[1, fits])
    return np.stack(np.divmod(np.unique(np.concatenate(found)), len(cells)))


def _fits(cells: Values, pairs: Ints, differ: Values, rest: Ints) -> Bools:
    """Whether pairs (2, m) of rows (n, d) differ in few of some columns, and in few of those with many values.

    A column in which rows seldom differ counts for as many as it takes to see a difference by chance, and a gap for a
    half.
    """
    cost: Values = np.zeros((2, pairs.shape[1]))
    wide = differ >= WIDE
    for j in rest:
        one, two = cells[pairs, j]
        each = (one != two) * np.where(np.isinf(one + two), 0.5, 1.0 / differ[j])
        cost[: 1 + wide[j]] += each
    return np.asarray((cost[0] < UNLIKE * len(rest)) & (cost[1] < UNLIKE * np.count_nonzero(wide[rest])))


def _joined(blocks: Ints, ids: Ints) -> Ints:
    """The blocks (n,) of rows, joined where they share an id that is not too common."""
    many = np.bincount(ids)[ids]
    rows = np.flatnonzero((many > 1) & ~_common(many))
    size = int(blocks.max()) + 1
    links = coo_matrix((np.ones(len(rows)), (blocks[rows], size + ids[rows])), (size + int(ids.max()) + 1,) * 2)
    return np.unique(connected_components(links, directed=False)[1][:size], return_inverse=True)[1][blocks]


def _with_twins(problem: Problem, found: Twins) -> Problem:
    """The problem with the rows that folds keep together, and what is said of equal rows."""
    n = len(problem.y)
    if found.blocks is not None:
        rest = f", but for {found.common:,} of common cases, which are no copies" if found.common else ""
        done, action = f"Folds keep them together{rest}.", "kept together"
    elif problem.groups is None:
        done, action = "They are too common to be copies, so folds part them.", "none"
    else:
        done, action = "Folds keep groups together, and these rows where they are of one group.", "none"
    said = []
    if found.equal:
        torn = f", {found.torn:,} of them to one with another label" if found.torn else ""
        words = f"{found.equal:,} of {n:,} rows ({percent(found.equal / n)}) are equal to another one{torn}. {done}"
        said.append(Finding("twins", (), found.equal, action, words))
    if found.near:
        sources = [column.source for column in _columns(problem)]
        names, d = tuple(sources[j] for j in found.places), len(set(sources))
        but = f"but for {some(names)}" if names else f"in {d - found.cells} of {d} columns or more, to four digits"
        words = f"{found.near:,} of {n:,} rows ({percent(found.near / n)}) are equal to another one {but}. {done}"
        said.append(Finding("twins", names, found.near, action, words))
    problem = replace(problem, blocks=found.blocks, findings=(*problem.findings, *said))
    if found.blocks is None or not problem.code:
        return problem
    groups = "" if problem.groups is None else ", groups"
    columns = ", columns=data.columns" if problem.columns else ""
    lines = (
        "from setwise.compare.audit import twin_blocks",
        "# Rows that are equal to another one are in its block, which folds do not split.",
        f"blocks = twin_blocks(X, y{groups}{columns})",
    )
    return replace(problem, code=(*problem.code, *lines))
