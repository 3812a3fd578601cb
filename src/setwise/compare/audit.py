"""The audit of a table before a comparison: what would make a model look better than it is on new rows.

That is equal rows, running numbers, columns that give the label away, and columns that folds would find empty. What is
sure is mended, and what is only suspicious is said.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import combinations, groupby, permutations
from shlex import quote

import numpy as np
from scipy.sparse import issparse
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from setwise.compare.problem import Finding, Problem
from setwise.compare.similar import ROWS, similar
from setwise.compare.text import figure, percent
from setwise.compare.twins import FEW, Twins, joined, twins
from setwise.core.checks import Ints, Values
from setwise.datasets.columns import Column, Cost, Date, Number, Word, some
from setwise.estimators.sets import as_ids
from setwise.estimators.splits import FOLDS, indicators, row_keys

LIKE_NEXT = "rows with neighboring values nearly always have the same label, as in joined exports of one label each"
"""What is said of numbers, and of two numbers together, whose neighbors tell the label."""

PANDAS = re.compile(r"__index_level_\d+__|Unnamed: \d+")
"""The names under which pandas writes an index into Parquet and CSV."""

CROWDED = 30
"""That n independent draws of whole numbers from a range below n^2 / 30 all differ has probability e^-15 at most."""

ONCE = 0.95
"""A share of values that are there once, and of steps between them that are equal, which no other numbers have."""

STARTS = 10
"""Numbers start again in up to ten joined tables: with fewer values in the mean a column may be a feature."""

EVEN, MANY = 0.2, 100
"""From 100 values on, uniform draws were never as near as .2 sqrt(n) steps to a running number in 20,000 tries."""

NEAR, SAID = 0.05, 0.12
"""Up to so many mistakes, as a share of the rarer label, a column may be a copy of the label, or only this is said."""

ALONE = 0.1
"""It is taken for a copy where the share of each other column is above ten times its own and this."""

LONE, SOME, NOTHING = 0.75, 0.3, 0.9
"""Columns with fewer mistakes are compared as one, or said, where all others make nearly as many as a guess.

In 13 published tables one with .6 or more is alone; a copy with errors, or for a part of the rows, has fewer.
"""

FEWER, ALIKE_BY_VALUE, BY_RANGE, TURNS, FULL = 20, 0.1, 0.5, 0.15, 1.1
"""A column with a value for each 20 rows tells labels by its values where so few pairs differ, and no range does.

So does one with few changes between neighbors, as a share of chance; in 13 published tables it is .55 or more if no
range does. Two columns number the rows if all their pairs differ and have so many places at most.
"""

LEAVES, PAIRED = 10, 30
"""A text is judged by a tree of so many leaves for each label; pairs of columns are compared among at most so many."""

KNOWN = 20
"""A column with fewer known cells may be empty in a training part; with so many it is so with probability 1e-4."""


CHANCE = 1e-4
"""Gaps of a cost that are all of one label are so by chance with a smaller probability."""


def value_counts(column: Values, y: Ints) -> Ints:
    """The rows with the labels 0 and 1 of each distinct value of a column (n,), rising, and of gaps, (2, m + 1).

    Of more than two classes there is a line for each.
    """
    values, places = np.unique(column, return_inverse=True)
    # NaN is the last of the values, where there are gaps.
    m = len(values) + 1 - int(np.isnan(values).sum())
    return np.stack([np.bincount(places[y == label], minlength=m) for label in range(max(int(y.max()) + 1, 2))])


def copies_label(counts: Ints) -> bool:
    """Whether a column with these counts has one value for each label, or gaps for one label and for no other."""
    values = (counts[:, :-1] > 0).sum(axis=1)
    return not (np.sort(counts, axis=0)[-2]).any() and bool(values.max() == 1 or values.min() == 0)


def gaps_tell_label(counts: Ints) -> bool:
    """Whether a column with these counts has gaps for one label alone, which is not so by chance."""
    gaps, rows = counts[:, -1], counts.sum(axis=1)
    return not gaps.min() and bool((rows / rows.sum())[gaps.argmax()] ** gaps.max() < CHANCE)


def _of_best_band(counts: Ints) -> int:
    """The mistakes of the best range of values, from the rows with the labels 0 and 1 of each rising value, (2, m)."""
    # How many more rows below each threshold have the label 0 than the label 1.
    ahead = np.append(0, np.cumsum(counts[0] - counts[1]))
    inside = [(ahead - np.minimum.accumulate(ahead)).max(), (np.maximum.accumulate(ahead) - ahead).max()]
    return int(min(counts.sum(axis=1) - inside))


def takes_turns(counts: Ints, turns: float = TURNS) -> bool:
    """Whether neighbors among many rising values nearly always have the same label, and no range tells it.

    Nearly always is: they have another one in at most so many ``turns``, as a share of chance.
    """
    values = counts[:, :-1]
    many = values.sum(axis=0)
    if len(many) < many.sum() / FEWER or many.max(initial=0) > many.sum() / FEWER:
        return False
    share = values[1] / many
    torn = np.mean(share[1:] * (1.0 - share[:-1]) + share[:-1] * (1.0 - share[1:]))
    chance = 2.0 * share.mean() * (1.0 - share.mean())
    return bool(torn <= turns * chance and _of_best_band(values) > BY_RANGE * values.sum(axis=1).min())


def mistakes(counts: Ints) -> int:
    """The mistakes of the best range, or of the label that most other rows with the same value have."""
    band = _of_best_band(counts[:, :-1]) + counts[:, -1].min()
    # A row without others of its value gets the more frequent label.
    few, many = counts[np.argsort(counts.sum(axis=1))]
    return int(min(band, few[few - 1 <= many].sum() + many[many - 1 < few].sum()))


def audited(
    problem: Problem,
    keep: Sequence[str] = (),
    time: str | None = None,
    folds: int = 5,
    costs: Sequence[str] = (),
    apart: bool = False,
) -> Problem:
    """The problem without columns that would deceive, with the rows that folds keep together, and with its findings.

    Parameters
    ----------
    problem : as it was read; of sparse features none is looked at by itself
    keep : names of columns that are not left out
    time : the name of the column by which later rows judge; None where folds are random
    folds : the number of outer folds
    costs : the names of columns that are costs; one that would deceive stays a cost, and is no feature
    apart : whether rows that are much like others may be in different folds

    Raises
    ------
    ValueError : for names of no columns, gaps in the column of times, and where no column is left
    """
    names = [column.name for _, column in _features(problem)]
    texts = {column.text for column in _columns(problem) if isinstance(column, Word)}
    asked = [*(("--keep-column", name) for name in keep), *([] if time is None else [("--time-column", time)])]
    for option, name in asked:
        if name not in names and not (name in texts and option == "--keep-column"):
            known = f"whose features are {some(names)}" if names else "whose features are sparse"
            raise ValueError(f"{option} must name a feature of {problem.name}, {known}; got {name!r}.")
    if time is not None:
        problem = _in_time(problem, [column.name for column in _columns(problem)].index(time))
    whole = problem
    problem = _without(problem, _useless(problem, folds), keep, costs)
    found = twins(problem.X, problem.y, None, problem.columns)
    blocks, same = _of_same_value(whole, found.blocks)
    told = _without(problem, _telling(problem, blocks, costs), keep, costs)
    if told.X is not problem.X or problem.groups is not None:
        found = twins(told.X, told.y, told.groups, told.columns)
        blocks, same = _of_same_value(whole, found.blocks)
    told = _with_twins(told, found._replace(blocks=blocks))
    told = replace(told, findings=(*told.findings, *same))
    # Rows with the same difference of two columns are no copies.
    pair = any(one.kind == "label" and len(one.columns) > 1 for one in told.findings)
    return told if apart or pair else _with_similar(told)


def _columns(problem: Problem) -> tuple[Column, ...]:
    """The columns of a table; numbers where only features have names, and none of sparse features."""
    return problem.columns or (() if issparse(problem.X) else tuple(map(Number, problem.features)))


def _features(problem: Problem) -> list[tuple[int, Column]]:
    """The columns that are no costs, with their places."""
    return [(j, column) for j, column in enumerate(_columns(problem)) if not isinstance(column, Cost)]


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


def _without(problem: Problem, findings: Sequence[Finding], keep: Sequence[str], costs: Sequence[str]) -> Problem:
    """The problem with findings about single columns, without those that are to be left out and not to be kept.

    Those that are costs are only no features any more.
    """
    said, out, paid = list[Finding](), list[Finding](), list[str]()
    for found in findings:
        name, words, action = found.columns[0], found.sentence, found.action
        if action == "left out" and name in keep:
            words, action = f"{words} It is kept, as --keep-column says.", "none"
        elif action == "left out" and name in costs:
            words = f"{words} It is a cost and no feature (--keep-column {quote(name)} makes it one)."
            paid.append(name)
        elif action == "left out":
            words, out = f"{words} It is left out (--keep-column {quote(name)} keeps it).", [*out, found]
        said.append(replace(found, sentence=words, action=action))
    problem = replace(problem.with_costs(paid), findings=(*problem.findings, *said))
    gone = [name for found in out for name in found.columns]
    # A text is left out with all its words.
    left = [column.name for column in _columns(problem) if column.source in gone]
    if all(column.name in left for _, column in _features(problem)) and not issparse(problem.X):
        words = " ".join(found.sentence for found in problem.findings)
        raise ValueError(f"{problem.name} has no column left for features; --keep-column keeps one. {words}")
    numbers = [name for one in out for name in one.columns if one.kind == "running number" and not PANDAS.match(name)]
    return problem.without(left, numbers) if out else problem


def _counts(cells: Values) -> bool:
    """Whether whole numbers count rows, also of up to ten joined tables: a column without a name may be a feature."""
    return bool((cells == np.rint(cells)).all()) and len(np.unique(cells)) > len(cells) / STARTS


def _useless(problem: Problem, folds: int) -> list[Finding]:
    """The columns that number rows or are nearly empty."""
    found, rows, part = [], np.arange(len(problem.y)), "rows"
    if problem.times is not None:
        early = np.sort(problem.times)[len(rows) // (folds + 1)]
        rows, part = np.flatnonzero(problem.times < early), "rows of the earliest part"
    # A row that was entered twice has its number twice.
    first = np.unique(row_keys(problem.X), return_index=True)[1]
    units = _units(problem, rows)
    for j, column in _features(problem):
        cells, name = problem.X[first, j], column.name
        cells, filled = cells[~np.isnan(cells)], rows[~np.isnan(problem.X[rows, j])]
        held = _units(problem, filled)
        index = PANDAS.fullmatch(name) and _counts(cells)
        if isinstance(column, Number) and (index or number_rows(cells)):
            what = "is an index of pandas." if index else "numbers the rows."
            found.append(_of(name, "running number", len(cells), what))
        elif isinstance(column, Number) and _starts_again(cells):
            advice = f"If it numbers rows, leave it out: --drop {quote(name)}."
            found.append(_of(name, "running number", len(cells), "counts up and starts again.", advice))
        elif isinstance(column, Number) and (stray := _sentinel(cells)) is not None:
            many = int((problem.X[:, j] == stray).sum())
            words = f"holds {stray:g} in {many:,} rows, far from its other numbers."
            found.append(_of(name, "sentinel", many, words, f"If it stands for a gap, write --missing {stray:g}."))
        elif held < min(KNOWN, units / 2):
            groups = "" if problem.groups is None else f", in {held} groups"
            words = f"holds something in {len(filled):,} of {len(rows):,} {part}{groups}, too few for folds."
            found.append(_of(name, "empty", len(filled), words))
    return found


def _sentinel(cells: Values) -> float | None:
    """A number of nines, as -999, that is there several times and far from all others, so that it may mean a gap."""
    values, many = np.unique(cells, return_counts=True)
    if len(values) < KNOWN:
        return None
    for end, rest in ((0, values[1:]), (-1, values[:-1])):
        nines = set(f"{abs(values[end]):g}") == {"9"} and abs(values[end]) > 9.0
        far = min(abs(values[end] - rest[0]), abs(values[end] - rest[-1])) > rest[-1] - rest[0]
        if nines and far and many[end] >= FEW:
            return float(values[end])
    return None


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


def _starts_again(cells: Values) -> bool:
    """Whether numbers (m,) count up in even steps, and start again as in each of up to ten joined tables."""
    values, many = np.unique(cells, return_counts=True)
    steps = np.diff(values)
    enough = len(values) >= max(CROWDED, len(cells) / STARTS)
    return bool(enough and (steps == steps[0]).all() and (np.diff(many) <= 0).all())


def _telling(problem: Problem, blocks: Ints | None, costs: Sequence[str]) -> list[Finding]:
    """The columns that give the label away, which are left out if that is sure; rows of a block are one witness.

    The costs of a cell may be unknown for the other label, so that gaps of a cost tell the label.
    """
    n = len(problem.y)
    first = np.arange(n) if blocks is None else np.unique(blocks, return_index=True)[1]
    labels, drawn = indicators(problem.y)[first].T, np.sort(np.random.default_rng(0).permutation(len(first))[:ROWS])
    # A column may well tell one of several classes, but not each of them.
    worst, whole = (max, problem.y.ravel()[first]) if problem.several else (min, None)
    labels, asked = (held[_rarer(held) >= FEW] for held in (labels, labels[:, drawn]))
    found, shares, sizes = list[Finding](), dict[str, tuple[float, float]](), dict[int, int]()
    # The words of a text stand together, and are one column, told by the best of them, or by several.
    for name, held in groupby(_features(problem), lambda pair: pair[1].source):
        places, kinds = zip(*held, strict=True)
        column, each = kinds[0], [value_counts(problem.X[first, j], y) for j in places for y in labels]
        of_all = each if whole is None else [value_counts(problem.X[first, j], whole) for j in places]
        if column.name in costs and any(map(gaps_tell_label, each)):
            found.append(_of(name, "label", n, "is empty for one of the labels alone."))
        elif any(map(copies_label, of_all)):
            what = "has words that are" if isinstance(column, Word) else "is"
            found.append(_of(name, "label", n, f"{what} the label in other words."))
        elif isinstance(column, Number | Date) and any(map(takes_turns, each)):
            found.append(_of(name, "label", n, f"gives the label away: {LIKE_NEXT}."))
        elif each:
            if isinstance(column, Number) and not each[0][:, -1].any():
                sizes[places[0]] = each[0].shape[1] - 1
            shares[name] = worst((mistakes(one) / one.sum(axis=1).min(), mistakes(one)) for one in each)
            if isinstance(column, Word) and len(asked):
                many = _by_words(problem.X[np.ix_(first[drawn], places)], asked)
                by_all = worst(zip(many / _rarer(asked), many * len(first) / len(drawn), strict=True))
                shares[name] = min(shares[name], by_all) if by_all[0] <= SAID else shares[name]
    ranked = sorted(share for share, _ in shares.values())
    lone = [name for name, (share, _) in shares.items() if share <= LONE]
    alone = ranked[len(lone) : len(lone) + 1] >= [NOTHING]
    if alone and len(lone) > 1:
        cells = problem.X[first][:, [problem.features.index(one) for one in lone if one in problem.features]].T
        if any(_together(cells, y) for y in labels):
            others = {name: some([one for one in lone if one != name]) for name in lone}
            found += [_of(name, "label", n, f"tells the label together with {others[name]}.") for name in lone]
            shares = {name: share for name, share in shares.items() if name not in lone}
    for name, (share, wrong) in shares.items():
        right = 1.0 - wrong / len(first)
        sure = share <= NEAR and ranked[1:2] > [ALONE + 10.0 * share]
        if sure or share <= SAID or (alone and share <= SOME):
            advice = "" if sure else f"If it is known only after the label, leave it out: --drop {quote(name)}."
            words = f"alone tells the label of {percent(right)} of rows."
            found.append(_of(name, "label", round(right * n), words, advice))
    told = {name for one in found for name in one.columns}
    pairs = _by_difference(problem, first[drawn], asked, told)
    return [*found, *pairs, *_in_two(problem, first, labels, sizes)]


def _rarer(labels: Ints) -> Ints:
    """The rows of the rarer value of each label (p, n), (p,)."""
    ones = labels.sum(axis=1)
    return np.asarray(np.minimum(ones, labels.shape[1] - ones))


def _by_words(cells: Values, labels: Ints) -> Ints:
    """The mistakes (p,) in labels (p, n) out of fold of a small tree that reads a text as counts of words (n, m)."""
    tree = DecisionTreeClassifier(max_leaf_nodes=LEAVES * len(labels), random_state=0)
    told = cross_val_predict(tree, cells, labels.T, cv=KFold(FOLDS, shuffle=True, random_state=0))
    return np.asarray((told.reshape(labels.T.shape) != labels.T).sum(axis=0))


def _by_difference(problem: Problem, rows: Ints, labels: Ints, told: Collection[str]) -> list[Finding]:
    """Pairs of numbers of which the larger one tells the label, or of dates whose difference does.

    Columns in ``told`` alone tell it, and which one of two flags is larger is a feature like others.
    """
    found, features = list[Finding](), [(j, one) for j, one in _features(problem) if isinstance(one, Number | Date)]
    features = [(j, one) for j, one in features if one.name not in told and len(np.unique(problem.X[rows, j])) > 2]
    for (i, one), (j, other) in combinations(features if len(labels) and len(features) <= PAIRED else [], 2):
        dates = isinstance(one, Date)
        gap = problem.X[rows, i] - problem.X[rows, j]
        each = (value_counts(gap if dates else np.sign(gap), y) for y in labels)
        alike = (mistakes(counts) <= SAID * counts.sum(axis=1).min() for counts in each)
        if dates == isinstance(other, Date) and (all if problem.several else any)(alike):
            what = "the days between them tell" if dates else "which one is larger tells"
            words = f"Columns {one.name!r} and {other.name!r} give the label away: {what} it."
            advice = f"If one is known only after the label, leave it out: --drop {quote(other.name)}."
            found.append(Finding("label", (one.name, other.name), len(problem.y), "none", f"{words} {advice}"))
    return found


def _together(cells: Values, y: Ints) -> bool:
    """Whether values of columns (d, n) of which most other rows have the rarer label tell it together."""
    rarer = y == int(2 * y.sum() <= len(y))
    told = np.zeros(len(y), np.bool_)
    for column in cells:
        places = np.unique(column, return_inverse=True)[1]
        told |= (np.bincount(places, 2.0 * rarer - 1.0) > 1)[places]
    return bool((told != rarer).sum() <= NEAR * rarer.sum())


def _in_two(problem: Problem, first: Ints, labels: Ints, sizes: dict[int, int]) -> list[Finding]:
    """Pairs of columns that number some rows together, as page and line, where next rows have the same label.

    In ``sizes`` are the numbers of different values of columns.
    """
    found, names = list[Finding](), [column.name for column in _columns(problem)]
    for i, j in permutations(sizes, 2):
        if min(sizes[i], sizes[j]) > 1 and len(first) <= sizes[i] * sizes[j] <= FULL * len(first):
            one, two = (np.unique(problem.X[first, place], return_inverse=True)[1] for place in (i, j))
            there, back = (one * sizes[j] + two).astype(np.float64), (two * sizes[i] + one).astype(np.float64)
            # In a factorial design a label that depends on both columns is alike in next rows of either order.
            if len(np.unique(there)) == len(first) and any(
                takes_turns(value_counts(there, y)) and not takes_turns(value_counts(back, y), BY_RANGE) for y in labels
            ):
                words = f"Columns {names[i]!r} and {names[j]!r} number the rows and give the label away: {LIKE_NEXT}."
                advice = f"If they are not features, leave them out: --drop {quote(names[i])} --drop {quote(names[j])}."
                found.append(Finding("label", (names[i], names[j]), len(first), "none", f"{words} {advice}"))
    return found


def _of_same_value(problem: Problem, blocks: Ints | None) -> tuple[Ints | None, list[Finding]]:
    """The blocks (n,) joined where rows have the same number in a column that tells labels by that alone.

    Such a column has many values, no range of it tells the label, and rows with the same value have the same label:
    they are copies, or rows of one customer or day.
    """
    n, found = len(problem.y), list[Finding]()
    if issparse(problem.X) or problem.many:
        return blocks, found
    y = problem.y.ravel()
    own = blocks if blocks is not None else np.arange(n) if problem.groups is None else as_ids(problem.groups, n)
    largest, rows = max(n / 5, np.bincount(own).max()), np.bincount(y, minlength=2)
    rarer = np.minimum(rows, n - rows)
    for j, column in _features(problem):
        if not isinstance(column, Number | Date):
            continue
        first = np.unique(own, return_index=True)[1]
        values = value_counts(problem.X[first, j], y[first])[:, :-1]
        many = values.sum(axis=0)
        several = int(many[many > 1].sum())
        if several < len(first) / 2 or len(many) < n / FEWER or many.max() > n / FEWER:
            continue
        pairs, torn = (many * (many - 1) / 2.0).sum(), (many**2 - (values**2).sum(axis=0)).sum() / 2.0
        chance = 1.0 - ((rows / n) ** 2).sum()
        bands = [_of_best_band(np.stack([many - one, one])) for one in values]
        if torn > ALIKE_BY_VALUE * chance * pairs or (bands < BY_RANGE * np.minimum(rarer, len(first))).any():
            continue
        wider = joined(own, np.unique(problem.X[:, j], return_inverse=True, equal_nan=False)[1])[0]
        done, action = "They are too many to keep together", "none"
        if np.bincount(wider).max() <= largest:
            own, blocks, done, action = wider, wider, "Folds keep them together", "kept together"
        same = f"Rows with the same {column.name!r} nearly always have the same label"
        words = f"{same}, as copies and rows of one customer have. {done}."
        found.append(Finding("twins", (column.name,), several, action, words))
    return blocks, found


def _with_similar(problem: Problem) -> Problem:
    """The problem with the rows that folds keep together because labels are known from similar rows alone."""
    if problem.many or problem.groups is not None or problem.times is not None or issparse(problem.X):
        return problem
    found = similar(problem.X, problem.y.ravel(), problem.blocks, problem.columns)
    if found is None:
        return problem
    areas = f"from {figure(found.mixed)} to {figure(found.apart)}"
    rows = "neighboring rows of the file" if found.run else "similar rows"
    such = "overlapping windows of a series" if found.run else "copies with changes, and rows of one customer"
    kept = f"runs of {found.run} rows" if found.run else "such rows"
    done, action = f"Folds keep {kept} together.", "kept together"
    if found.blocks is None:
        done, action = "They are too many to keep together.", "none"
    words = (
        f"Labels are known from {rows} (write --group COLUMN or --similar-apart): without them the AUC of trees "
        f"falls {areas}. Such are {such}. Name what they share: --group COLUMN. "
        f"{done} If new rows are as similar to these, --similar-apart is right."
    )
    said = Finding("similar", (), len(problem.y), action, words)
    problem, old = replace(problem, findings=(*problem.findings, said)), ("None", "blocks")[problem.blocks is not None]
    columns = ", data.columns" if problem.columns else ""
    call, comment = f"similar_blocks(X, y, {old}{columns})", "# Rows that are much like each other are in one block."
    return _with_blocks(problem, found.blocks, "similar", call, comment)


def _with_blocks(problem: Problem, blocks: Ints | None, module: str, call: str, comment: str) -> Problem:
    """The problem with these blocks of rows, if there are any, and with the code that finds them."""
    if blocks is None or not problem.code:
        return replace(problem, blocks=problem.blocks if blocks is None else blocks)
    needed = f"from setwise.compare.{module} import {call.partition('(')[0]}"
    return replace(problem, blocks=blocks, code=(*problem.code, needed, comment, f"blocks = {call}"))


def _of(name: str, kind: str, rows: int, words: str, advice: str = "") -> Finding:
    """A finding on a column, which is left out unless there is only advice."""
    sentence = f"Column {name!r} {words} {advice}".rstrip()
    return Finding(kind, (name,), rows, "none" if advice else "left out", sentence)


def _units(problem: Problem, rows: Ints) -> int:
    """The number of some rows, or of their groups, which folds do not split."""
    return len(rows) if problem.groups is None else len(np.unique(problem.groups[rows]))


def _with_twins(problem: Problem, found: Twins) -> Problem:
    """The problem with the rows that folds keep together, and what is said of equal rows."""
    n = len(problem.y)
    if found.across:
        held = f"{found.across:,} of {n:,} rows ({percent(found.across / n)}) have a copy in another group"
        raise ValueError(f"groups of {problem.name} hold nothing out: {held}; drop the copies, or leave out --group.")
    if found.blocks is not None:
        rest = f", but for {found.common:,} of common cases, which are no copies" if found.common else ""
        done, action = f"Folds keep them together{rest}.", "kept together"
    elif problem.groups is None:
        done, action = "They are too common to be copies, so folds part them.", "none"
    else:
        done, action = "Folds keep groups together, and these rows where they are of one group.", "none"
    torn = f", {found.torn:,} of them to one with another label" if found.torn else ""
    sources = [column.source for column in _columns(problem)]
    names, d = tuple(sources[j] for j in found.places), len(set(sources))
    but = f"but for {some(names)}" if names else f"in {d - found.cells} of {d} columns or more, to four digits"
    said = [
        Finding("twins", held, rows, action, f"{rows:,} of {n:,} rows ({percent(rows / n)}) {words}. {done}")
        for rows, held, words in (
            (found.equal, (), f"are equal to another one{torn}"),
            (found.near, names, f"are equal to another one {but}"),
            (found.noisy, (), "have the numbers of another one but for noise"),
        )
        if rows
    ]
    groups = "" if problem.groups is None else ", groups"
    call = f"twin_blocks(X, y{groups}{', columns=data.columns' if problem.columns else ''})"
    comment = "# Rows that are equal to another one are in its block, which folds do not split."
    problem = replace(problem, findings=(*problem.findings, *said))
    return _with_blocks(problem, found.blocks, "twins", call, comment)
