"""The audit of a table before a comparison: what would make a model look better than it is on new rows.

That is equal rows, running numbers, columns that give the label away, and columns that folds would find empty. What is
sure is mended, and what is only suspicious is said.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from shlex import quote
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix, issparse
from scipy.sparse.csgraph import connected_components

from setwise.compare.problem import Finding, Problem
from setwise.compare.text import percent
from setwise.core.checks import Bools, Ints, Values
from setwise.datasets.columns import Category, Column, Date, Number, some
from setwise.estimators.sets import as_ids
from setwise.estimators.splits import mixed, row_keys

PANDAS = re.compile(r"__index_level_\d+__|Unnamed: \d+")
"""The names under which pandas writes an index into Parquet and CSV."""

CROWDED = 30
"""That n independent draws of whole numbers from a range below n^2 / 30 all differ has probability e^-15 at most."""

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

OWN = 0.75
"""A column with so many different numbers, as a share of the different rows, may be as good as a number of the row."""

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
    """Whether numbers (m,) all differ, and are as dense or as even as running numbers."""
    m, values = len(cells), np.sort(cells)
    if m < CROWDED or (values[1:] == values[:-1]).any():
        return False
    spread = float(values[-1] - values[0])
    whole = np.abs(values).max() < 2.0**53 and not (values % 1.0).any()
    if whole and spread / int(np.gcd.reduce(np.diff(values).astype(np.int64))) < m * m / CROWDED:
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

    Equal are also rows that differ only in the spelling of words, beyond seven digits, or in columns that are as good
    as numbers of the rows. None where no rows are so, or where equal rows are too common to be copies.

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
    near : pairs of some columns and the number of rows that are equal to another one but for these
    """

    blocks: Ints | None
    equal: int
    torn: int
    common: int
    near: tuple[tuple[tuple[int, ...], int], ...] = ()


def twins(X: Any, y: Ints, groups: Any, columns: Sequence[Column]) -> Twins:
    """The rows that are equal to another one, with the arguments of :func:`twin_blocks`."""
    n, labels = X.shape[0], y.reshape(len(y), -1)
    cells = None if issparse(X) else _spelled(X, columns)
    keys = row_keys(X if cells is None else cells)
    ids = np.unique(keys, return_inverse=True)[1]
    many = np.bincount(ids)[ids]
    ones = np.column_stack([np.bincount(ids, label)[ids] for label in labels.T])
    torn = int((ones != labels * many[:, None]).any(axis=1).sum())
    found = Twins(None, int((many > 1).sum()), torn, int(_common(many).sum()))
    if n >= ALIKE * (ids.max() + 1) and 2 * torn > n:
        return found
    worded = [isinstance(column, Category | Date) for column in columns]
    near = [] if cells is None else _near(cells, keys, worded)
    links = [np.unique(rest, return_inverse=True)[1] for _, rest in near]
    counts = [int((np.bincount(one)[one] > 1).sum()) for one in links]
    found = found._replace(near=tuple((out, many) for (out, _), many in zip(near, counts, strict=True)))
    own = np.arange(n) if groups is None else as_ids(groups, n)
    blocks = own
    for one in (ids, *links):
        blocks = _joined(blocks, one)
    # Where equal rows link most groups, nothing could be held out.
    if blocks.max() == own.max() or np.bincount(blocks).max() > max(n / 5, np.bincount(own).max()):
        return found
    return found._replace(blocks=blocks)


def _common(many: Ints) -> Bools:
    """Whether rows (n,) that occur so often are too common to be copies."""
    return many > max(COMMON * len(many), 1)


def _spelled(X: Values, columns: Sequence[Column]) -> Values:
    """The cells (n, d), where words have one code that differ only in capital letters and in blanks.

    Numbers with decimals have seven digits, which a copy by way of float32 leaves. In tables of fewer than three
    columns, where such numbers are equal by chance, they have all digits.
    """
    cells = np.array(X, dtype=np.float64)
    cells[np.isnan(cells)] = np.nan
    for j in range(X.shape[1]):
        column, known = columns[j] if columns else None, cells[:, j]
        if isinstance(column, Category):
            plain = [" ".join(word.casefold().split()) for word in column.words]
            codes = np.append(np.unique(plain, return_inverse=True)[1].astype(np.float64), [len(plain), np.nan])
            cells[:, j] = codes[np.where(np.isnan(known), len(plain) + 1, known).astype(np.int64)]
        elif X.shape[1] >= LEAST and not isinstance(column, Date):
            short = ((known.copy().view(np.uint64) + np.uint64(1 << 28)) >> np.uint64(29)) << np.uint64(29)
            cells[:, j] = np.where(np.floor(known) == known, known, short.view(np.float64))
    return cells


def _near(
    cells: Values, keys: NDArray[np.uint64], worded: Sequence[bool]
) -> list[tuple[tuple[int, ...], NDArray[np.uint64]]]:
    """Columns but for which many more rows are equal, one of them or several, each with keys (n,) of equal rows.

    They have words, dates, or mostly different numbers, and each half of the other columns tells the same rows apart.
    So rows are not meant that are equal by chance, in tables of few values.
    """
    n, d = cells.shape
    if d < LEAST:
        return []
    each = [mixed(cells[:, j], np.array([j], np.uint64)) for j in range(d)]
    rows, widths = _distinct(keys), [*map(_distinct, each)]
    own = [j for j in range(d) if (worded and worded[j]) or widths[j] >= OWN * rows]
    found, best = [], rows
    for out in [*((j,) for j in own), tuple(own)]:
        others = sorted(set(range(d)) - set(out), key=lambda k: -widths[k])
        if len(others) < LEAST - 1:
            continue
        rest = keys.copy()
        for j in out:
            rest -= each[j]
        left = _distinct(rest)
        if (rows if len(out) == 1 else best) - left < max(FEW, n / 100):
            continue
        if all(_distinct(row_keys(cells[:, half])) >= 0.9 * left for half in (others[::2], others[1::2])):
            best = min(best, left)
            found.append((tuple(j for j in out if _distinct(rest + each[j]) > left), rest))
    return found


def _distinct(values: Any) -> int:
    """The number of distinct values (n,)."""
    ranked = np.sort(values)
    return 1 + int(np.count_nonzero(ranked[1:] != ranked[:-1]))


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
    for out, many in found.near:
        names = tuple(_columns(problem)[j].name for j in out)
        words = f"{many:,} of {n:,} rows ({percent(many / n)}) are equal to another one but for {some(names)}. {done}"
        said.append(Finding("twins", names, many, action, words))
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
