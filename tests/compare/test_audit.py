"""What an audit finds in a table, what it does about it, and that it finds nothing where nothing is."""

import json
import re
from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import load_breast_cancer, load_wine

from compare.answers import F1, made_up
from setwise.compare import Plan, Problem, audit, compare
from setwise.compare.audit import _counts, mistakes, number_rows, value_counts
from setwise.compare.fits import rows_of
from setwise.compare.problem import Origin, read, read_test
from setwise.compare.report import section, write_report
from setwise.compare.twins import twin_blocks
from setwise.datasets.columns import Category, Date, Number
from setwise.estimators.splits import block_folds, later_folds

ORIGIN = Origin("t.csv", "y", rows=1, reader="load_table", asked={"target": "y"})
SMALL = Plan(3, 3, (1.0,), ("linear",), ("threshold",))

audited = partial(audit.audited, apart=True)
"""The audit without rows that are much like others, which tests/compare/test_similar.py has."""


def table(X, y, columns=None, groups=None):
    columns = columns or tuple(Number(f"x{j}") for j in range(X.shape[1]))
    names = tuple(column.name for column in columns)
    more = {"features": names, "columns": tuple(columns), "origin": ORIGIN, "code": (ORIGIN.line,)}
    return Problem("t.csv", "", X, y, groups, **more)


def noise(n=240, seed=0):
    """Features and labels that have nothing to do with each other: three numbers, and words of two spellings."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=(n, 3)), 2 * rng.integers(0, 2, n)])
    columns = [*(Number(f"x{j}") for j in range(3)), Category("w", ("NEW YORK", "New  York", "OSLO", "Oslo"))]
    return X, (rng.random(n) < 0.3).astype(int), columns


def exact(X, rng):
    return X, []


def with_number(X, rng):
    return np.column_stack([X, np.arange(len(X))]), [Number("visit")]


def with_shuffled_number(X, rng):
    return np.column_stack([X, 7000 + 10 * rng.permutation(len(X))]), [Number("key")]


def with_jittered_number(X, rng):
    return np.column_stack([X, np.arange(len(X)) + rng.normal(size=len(X)) * 40]), [Number("at")]


def with_dates(X, rng):
    return np.column_stack([X, 19000 + rng.integers(0, 90, len(X))]), [Date("day")]


def with_spellings(X, rng):
    return np.column_stack([X[:, :3], X[:, 3] + rng.integers(0, 2, len(X))]), []


def with_notes(X, rng):
    return np.column_stack([X, rng.integers(0, 9, len(X))]), [Category("note", tuple("abcdefghi"))]


def by_way_of_float32(X, rng):
    rows = np.where(rng.random((len(X), 1)) < 0.5, X, X.astype(np.float32))
    return rows, []


def with_references_and_dates(X, rng):
    more = np.column_stack([X, rng.random(len(X)), 19000 + rng.integers(0, 90, len(X))])
    return more, [Number("reference"), Date("day")]


DISGUISES = [
    with_references_and_dates,
    by_way_of_float32,
    exact, with_number, with_shuffled_number, with_jittered_number, with_dates, with_spellings, with_notes,
]  # fmt: skip


@pytest.mark.parametrize("disguise", DISGUISES, ids=lambda one: one.__name__)
def test_rows_that_stand_three_times_stay_together_in_whatever_clothes(disguise):
    X, y, columns = noise()
    origins = np.random.default_rng(1).permutation(np.repeat(np.arange(len(y)), 3))
    dressed, more = disguise(X[origins], np.random.default_rng(2))
    found = audited(table(dressed, y[origins], [*columns, *more]))
    assert found.blocks is not None
    rows = rows_of(found, F1)
    train, test = found.outer_folds(rows, 5, 0)[0]
    assert not set(origins[train]) & set(origins[test])
    for inner, held in rows.take(train).folds(3, 0):
        assert not set(origins[train][inner]) & set(origins[train][held])
    assert found.findings[-1].kind == "twins"
    assert found.findings[-1].rows == len(origins)
    assert found.findings[-1].sentence.endswith("Folds keep them together.")


def test_the_same_rows_once_are_left_as_they_are():
    X, y, columns = noise(720)
    found = audited(table(X, y, columns))
    assert (found.findings, found.blocks, found.columns) == ((), None, tuple(columns))


def test_blocks_are_the_components_of_equal_rows_and_groups():
    rng = np.random.default_rng(3)
    for _ in range(20):
        n = 60
        X, groups = rng.integers(0, 40, (n, 1)) * 1.0, rng.integers(0, 45, n)
        label = np.arange(n)
        for _ in range(n):
            for i in range(n):
                same = X[:, 0] == X[i, 0]
                # Of four rows and more that are equal one is not held for the copy of another.
                label[i] = label[(same if same.sum() <= 3 else False) | (groups == groups[i])].min()
        blocks = twin_blocks(X, np.arange(n) % 2, groups)
        large = np.bincount(label).max() > n / 5
        assert (blocks is None) == large
        for one in (blocks,) if not large else ():
            assert (np.equal.outer(one, one) == np.equal.outer(label, label)).all()


def test_sparse_rows_have_the_blocks_of_dense_ones():
    X = np.random.default_rng(0).integers(0, 2, (80, 5)) * 1.0
    y = np.arange(80) % 2
    assert (twin_blocks(csr_matrix(X), y) == twin_blocks(X, y)).all()
    assert twin_blocks(np.arange(80.0)[:, None], y) is None


def test_near_rows_are_said_with_the_columns_in_which_they_differ():
    X, y, columns = noise()
    rows = np.tile(np.arange(len(y)), 2)
    dressed, more = with_references_and_dates(X[rows], np.random.default_rng(2))
    (said,) = audited(table(dressed, y[rows], [*columns, *more])).findings
    assert said.columns == ("reference", "day")
    assert said.sentence == (
        "480 of 480 rows (100.0 %) are equal to another one but for 'reference', 'day'. Folds keep them together."
    )


def eight(n, seed):
    """Features that are independent: five numbers, amounts, words and ages."""
    rng = np.random.default_rng(seed)
    amount, words = np.round(np.exp(rng.normal(3, 1, n)), 2), rng.integers(0, 4, n)
    X = np.column_stack([rng.normal(size=(n, 5)), amount, words, rng.integers(18, 80, n)])
    return X, [*(Number(f"x{j}") for j in range(5)), Number("amount"), Category("w", tuple("abcd")), Number("age")]


def gaps(X, rng, cells):
    places = rng.permuted(np.tile(np.arange(X.shape[1]), (len(X), 1)), axis=1)
    return np.where(places < cells, np.nan, X)


ALTERED = {
    "a gap in another cell": lambda X, rng: gaps(X, rng, 1),
    "gaps in two cells": lambda X, rng: gaps(X, rng, 2),
    "another cell is that of another row": lambda X, rng: np.where(np.isnan(gaps(X, rng, 1)), rng.permutation(X), X),
    "the last digits differ": lambda X, rng: X * (1 + 1e-9 * rng.normal(size=X.shape) * (X % 1 != 0)),
    "the sixth digit differs": lambda X, rng: X * (1 + 1e-6 * rng.normal(size=X.shape) * (X % 1 != 0)),
    "one column is in cents": lambda X, rng: X * np.where(np.arange(8) == 5, 100, 1),
    "two columns are those of other rows": lambda X, rng: np.where(np.arange(8) % 6 == 0, rng.permutation(X), X),
}


@pytest.mark.parametrize("form", ALTERED)
@pytest.mark.parametrize("seed", [0, 1])
def test_copies_with_a_few_other_cells_stay_together(form, seed):
    X, columns = eight(300, seed)
    rng = np.random.default_rng(seed + 9)
    copies, rows = ALTERED[form](np.tile(X, (2, 1)), rng), np.tile(np.arange(300), 3)
    order, y = rng.permutation(900), np.tile(rng.random(300) < 0.3, 3).astype(int)
    found = audited(table(np.vstack([X, copies])[order], y[order], columns))
    first = np.unique(rows[order], return_index=True)[1]
    assert np.mean(found.blocks == found.blocks[first][rows[order]]) > 0.97
    assert np.bincount(found.blocks).max() <= 6
    assert re.match(
        r"\d+ of 900 rows .* are equal to another one (in [5678] of 8|but for)", found.findings[-1].sentence
    )
    # The same rows with labels of their own are no copies, and neither are rows that stand once.
    own = (rng.random(900) < 0.3).astype(int)
    assert all(one.rows < 900 for one in audited(table(np.vstack([X, copies])[order], own, columns)).findings)
    assert audited(table(eight(900, seed)[0], own, columns)).findings == ()


def test_copies_of_answers_from_one_to_five_with_a_gap_each_stay_together():
    rng = np.random.default_rng(0)
    X, y = rng.integers(1, 6, (300, 12)) * 1.0, np.tile(rng.random(300) < 0.3, 3).astype(int)
    (*_, said) = audited(table(np.vstack([X, gaps(np.tile(X, (2, 1)), rng, 1)]), y)).findings
    assert said.sentence.startswith("900 of 900 rows (100.0 %) are equal to another one in 11 of 12 columns or more")


EMPTIED = {
    "20 % of the columns of each export": (0.2, True),
    "30 % of the columns of each export": (0.3, True),
    "10 % of the cells": (0.1, False),
    "30 % of the cells": (0.3, False),
}


@pytest.mark.parametrize("form", EMPTIED)
def test_copies_with_many_gaps_stay_together(form):
    rng, (share, whole) = np.random.default_rng(1), EMPTIED[form]
    X, y = load_breast_cancer().data[:400], rng.random(400) < 0.3

    def emptied(X):
        if whole:
            gap = np.argsort(rng.random((3, 1, X.shape[1]))) < share * X.shape[1]
            gap = np.repeat(gap, -(-len(X) // 3), axis=1).reshape(-1, X.shape[1])[: len(X)]
        else:
            gap = rng.random(X.shape) < share
        return np.where(gap, np.nan, X)

    order, rows = rng.permutation(1200), np.tile(np.arange(400), 3)
    found = audited(table(emptied(X[rows])[order], np.tile(y, 3)[order].astype(int)))
    first = np.unique(rows[order], return_index=True)[1]
    assert np.mean(found.blocks == found.blocks[first][rows[order]]) > 0.99
    assert np.bincount(found.blocks).max() <= 6
    # Rows that stand once are no copies, whatever they lack.
    assert audited(table(emptied(X), y.astype(int))).findings == ()


@pytest.mark.parametrize("noise", [1e-4, 1e-3, 1e-2, 3e-2, "digits"])
@pytest.mark.parametrize("d", [5, 12])
def test_copies_with_noise_in_all_numbers_stay_together(d, noise):
    rng = np.random.default_rng(4)
    origins = rng.permutation(np.repeat(np.arange(400), 3))
    X, label = np.exp(rng.normal(size=(400, d))), (rng.random(400) < 0.3).astype(int)
    words = Category("w", tuple("abcd"))
    columns = [*(Number(f"x{j}") for j in range(d)), words]
    scale = 10.0 ** rng.integers(2, 4, (1200, 1))
    # Copies have a random factor for each cell, or a number of digits for each row.
    rounded = noise == "digits"
    cells = np.round(X[origins] * scale) / scale if rounded else X[origins] * (1 + noise * rng.normal(size=(1200, d)))
    again = np.column_stack([cells, rng.integers(0, 4, 1200)])
    found = audited(table(again, label[origins], columns))
    first = np.unique(origins, return_index=True)[1]
    assert np.mean(found.blocks == found.blocks[first][origins]) > 0.98
    assert np.bincount(found.blocks).max() <= 12
    assert re.fullmatch(
        r"[\d,]+ of 1,200 rows \(.*\) have the numbers of another one but for noise. Folds keep them together.",
        found.findings[-1].sentence,
    )
    # Neighbors with labels of their own are no copies, and neither are rows that stand once.
    own = audited(table(again, (rng.random(1200) < 0.3).astype(int), columns))
    assert own.findings == () or rounded
    once = np.column_stack([np.exp(rng.normal(size=(1200, d))), again[:, -1]])
    assert audited(table(once, label[origins], columns)).findings == ()


def test_neighbors_that_lie_on_curves_and_in_heaps_are_no_copies():
    rng = np.random.default_rng(0)
    for n in (400, 3000):
        t, heap = np.sort(rng.random(n)), rng.normal(size=(20, 4))[rng.integers(0, 20, n)]
        curve = np.column_stack([np.sin(9 * t), np.cos(7 * t), t, t**2])
        for X in (curve, curve + 1e-3 * rng.random((n, 4)), heap + 0.1 * rng.normal(size=(n, 4))):
            assert twin_blocks(X, (X[:, 0] > np.median(X[:, 0])).astype(int)) is None


@pytest.mark.parametrize("more", [False, True])
def test_groups_that_share_copies_hold_nothing_out(more):
    X, y, columns = noise()
    origins, rng = np.repeat(np.arange(len(y)), 3), np.random.default_rng(1)
    groups, X, y = rng.permutation(len(origins)) // 6, X[origins], y[origins]
    dressed, names = with_shuffled_number(X, rng) if more else (X, [])
    with pytest.raises(
        ValueError, match=r"groups of t.csv hold nothing out: 7\d\d of 720 rows \(.*\) have a copy in anoth"
    ):
        audited(table(dressed, y, [*columns, *names], groups))
    # Equal rows whose labels differ are cases that recur.
    found = audited(table(X, rng.integers(0, 2, 720), columns, groups))
    assert found.blocks is None
    assert found.findings[0].sentence.endswith("these rows where they are of one group.")


def test_columns_that_say_the_same_make_no_copies():
    rng = np.random.default_rng(0)
    for n in (300, 3000):
        net, height, weight = (np.round(rng.normal(*at, n)) for at in ((90, 30), (172, 9), (75, 12)))
        body = [height, np.round(height / 2.54, 1), weight, np.round(weight * 2.2046, 1), rng.integers(18, 80, n)]
        taxed = [net, np.round(net * 0.19, 2), np.round(net * 1.19, 2), *(rng.random((4, n)) < 0.5), rng.random(n)]
        zeros = np.where(rng.random((n, 1)) < 0.3, rng.integers(0, 9, (n, 20)), 0)
        idle = [rng.integers(18, 80, n), np.round(rng.normal(40, 9, n)), rng.integers(0, 90, n), *zeros.T]
        for X in (np.column_stack(one) for one in ([*body, rng.integers(0, 2, n)], taxed, idle)):
            found = audited(table(X * 1.0, (X[:, 0] + 9 * rng.normal(size=n) > X[:, 0].mean()).astype(int)))
            assert [
                one.sentence for one in found.findings if "or more" in one.sentence or "but for" in one.sentence
            ] == []


def test_a_common_case_is_no_copy():
    X, y, columns = noise(400)
    X[:100], X[100:104] = X[0], X[100]
    found = audited(table(X, y, columns))
    assert np.bincount(found.blocks).max() == 4
    assert found.findings[0].sentence == (
        "104 of 400 rows (26.0 %) are equal to another one, 104 of them to one with another label. Folds keep them "
        "together, but for 100 of common cases, which are no copies."
    )
    few = np.random.default_rng(0).integers(0, 2, (400, 3)) * 1.0
    found = audited(table(few, y))
    assert found.blocks is None
    assert found.findings[0].sentence.endswith("They are too common to be copies, so folds part them.")


RUNNING = {
    "ID": np.arange(300.0),
    "shuffled": np.random.default_rng(0).permutation(300) + 1.0,
    "in steps": 1e6 - 25 * np.arange(300.0),
    "part of a file": np.random.default_rng(1).choice(1500, 300, replace=False) * 1.0,
    "as a share": np.arange(300) / 299,
    "with gaps": np.where(np.arange(300) % 9 == 0, np.nan, np.arange(300.0)),
    "two files": np.append(np.arange(150.0), 1e6 + np.arange(150.0)),
    "some twice": np.append(np.arange(294.0), np.arange(6) * 40.0),
    "__index_level_0__": np.arange(300) % 100 * 1.0,
    "Unnamed: 0": np.arange(300) % 100 * 3.0,
}


@pytest.mark.parametrize("name", RUNNING)
def test_running_numbers_are_left_out_under_any_name(name):
    X, y, columns = noise(300)
    given = table(np.column_stack([X, RUNNING[name]]), np.sort(y), [*columns, Number(name)])
    found = audited(given)
    (said,) = found.findings
    assert (said.kind, said.action, said.columns) == ("running number", "left out", (name,))
    assert "It is left out (--keep-column" in said.sentence
    assert (found.columns, found.X.shape, found.features) == (tuple(columns), (300, 4), ("x0", "x1", "x2", "w"))
    assert found.code == (f"data = load_table('t.csv', target='y', drop=[{name!r}])",)
    assert found.origin.ids == (() if name[0] in "_U" else (name,))
    kept = audited(given, [name])
    assert kept.columns == given.columns
    assert kept.findings[0].action == "none"
    assert "It is kept, as --keep-column says." in kept.findings[0].sentence


def test_numbers_that_mean_something_are_no_running_numbers():
    rng = np.random.default_rng(0)
    assert not any(number_rows(rng.random(n)) for n in (30, 100, 1000) for _ in range(300))
    assert not number_rows(np.exp(rng.normal(size=500)))
    assert not number_rows(np.repeat(np.arange(100.0), 3))
    assert not number_rows(rng.integers(0, 10**9, 2000) * 1.0)
    assert not number_rows(np.arange(20.0))
    # Few numbers are there twice where many are drawn from more of them, and their steps differ.
    assert not any(number_rows(rng.integers(0, 12_000, 1000) * 1.0) for _ in range(100))
    assert not any(number_rows(np.round(rng.normal(size=1000), 5)) for _ in range(100))


def copies(y, rng):
    words = Category("c", ("no", "yes"))
    amount = np.where(y == 1, 19000 + rng.integers(0, 99, len(y)), np.nan)
    return {
        "equal": (y * 1.0, Number("c")),
        "the other way round": (1.0 - y, Number("c")),
        "shifted and scaled": (37.5 - 4.0 * y, Number("c")),
        "in words": (y * 1.0, words),
        "there only where it is 1": (np.where(y == 1, 1.0, np.nan), Number("c")),
        "with gaps where it is 0": (np.where((y == 0) & (rng.random(len(y)) < 0.5), np.nan, y), Number("c")),
        "a date of what has happened": (amount, Date("c")),
        "blurred": (y + rng.normal(size=len(y)) * 0.05, Number("c")),
        "a code of many words": (rng.integers(0, 3, len(y)) + 3.0 * y, Category("c", tuple("afkbgl"))),
        "with a few mistakes": (np.where(np.arange(len(y)) == 5, 1 - y, y) * 1.0, Number("c")),
    }


@pytest.mark.parametrize("form", copies(np.array([0, 1]), np.random.default_rng(0)))
def test_copies_of_the_label_are_left_out(form):
    X, y, columns = noise(400)
    cells, column = copies(y, np.random.default_rng(5))[form]
    found = audited(table(np.column_stack([X, cells]), y, [*columns, column]))
    (said,) = found.findings
    assert (said.kind, said.action, said.columns) == ("label", "left out", ("c",))
    assert found.columns == tuple(columns)


def test_what_is_only_suspicious_is_said():
    X, y, columns = noise(2000)
    rng = np.random.default_rng(0)
    # Two columns tell the label, as the petals of an iris do; or one does so with mistakes, and another half.
    half = np.where((y == 1) & (rng.random(2000) < 0.3), 0, y)
    for share, more in ((0.0, [y + rng.normal(size=2000) * 0.1] * 2), (0.03, [half])):
        wrong = (y == 1) & (rng.random(2000) < share)
        wide = np.column_stack([X, np.where(wrong, 0, y) + rng.normal(size=2000) * 0.1, *more])
        found = audited(table(wide, y, [*columns, *(Number(f"a b{j}") for j in range(1 + len(more)))]))
        assert {one.action for one in found.findings} == {"none"}
        assert found.findings[0].sentence.startswith("Column 'a b0' alone tells the label of ")
        assert found.findings[0].sentence.endswith("leave it out: --drop 'a b0'.")
        assert found.X.shape == wide.shape


def test_mistakes_are_those_of_the_best_range_or_of_other_rows():
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = 30
        x, y = np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 6, n)), rng.integers(0, 2, n)
        x[0], y[:2] = 1.0, (0, 1)
        known = ~np.isnan(x)
        least = n
        for low, high, up, gap in product(range(-1, 6), range(-1, 6), (0, 1), (0, 1)):
            inside = (x > low) & (x <= high)
            least = min(least, int((np.where(known, np.where(inside, up, 1 - up), gap) != y).sum()))
        rarer = int(2 * y.sum() <= n)
        others = 0
        for i in range(n):
            same = (x == x[i]) if known[i] else ~known
            votes = np.delete(y, i)[np.delete(same, i)]
            more = int(2 * votes.sum() > len(votes)) if 2 * votes.sum() != len(votes) else 1 - rarer
            others += more != y[i]
        counts = value_counts(x, y)
        if 2 * y.sum() != n:
            assert mistakes(counts) == min(least, others)
        assert counts.sum(axis=1).tolist() == [n - y.sum(), y.sum()]


def test_features_without_names_of_columns_are_audited_too(tmp_path, monkeypatch):
    X, y, _ = noise(300)
    X = np.column_stack([np.arange(300), X[:, :2], 5 - y])
    np.savez(tmp_path / "t.npz", X=X, y=y)
    monkeypatch.chdir(tmp_path)
    problem = audited(read("t.npz", {}))
    assert [(one.kind, one.columns) for one in problem.findings] == [
        ("running number", ("feature 0",)), ("label", ("feature 3",)),
    ]  # fmt: skip
    assert (problem.features, problem.places.tolist(), problem.width) == (("feature 1", "feature 2"), [1, 2], 4)
    held = {}
    exec("\n".join(problem.code), held)
    assert (held["X"] == problem.X).all()
    assert (read_test("t.npz", problem, {}).X == problem.X).all()
    assert audited(read("t.npz", {}), ["feature 3"]).places.tolist() == [1, 2, 3]


def test_nearly_empty_columns_are_left_out():
    X, y, columns = noise(600)
    X[3:, 0] = np.nan
    found = audited(table(X, y, columns))
    assert found.findings[0].sentence == (
        "Column 'x0' holds something in 3 of 600 rows, too few for folds. It is left out (--keep-column x0 keeps it)."
    )
    X, y, columns = noise(600)
    groups = np.arange(600) // 10
    X[40:, 0] = np.nan
    assert "in 40 of 600 rows, in 4 groups, too few" in audited(table(X, y, columns, groups)).findings[0].sentence
    assert audited(table(X, y, columns)).findings == ()
    # What was only asked for later is empty in the first part that later rows judge.
    X, y, columns = noise(600)
    X[:90, 0], X[:, 1] = np.nan, np.arange(600) // 2 + np.arange(600) // 300
    (_, said) = audited(table(X, y, columns), time="x1").findings
    assert said.sentence.startswith("Column 'x0' holds something in 10 of 100 rows of the earliest part, too few for")
    assert said.action == "left out"


def test_later_rows_judge():
    X, y, columns = noise(600)
    day = np.random.default_rng(0).permutation(600) % 200
    found = audited(table(np.column_stack([X, day]), y, [*columns, Date("day")]), time="day")
    folds = found.outer_folds(rows_of(found, F1), 5, 0)
    for train, test in folds:
        assert day[train].max() < day[test].min()
    assert sum(len(test) for _, test in folds) == pytest.approx(500, abs=5)
    assert found.test_by_train(5) == pytest.approx(np.mean([len(test) / len(train) for train, test in folds]), rel=0.05)
    assert found.findings[0].kind == "time"
    (answer,) = compare(replace(found, code=()), [F1], SMALL)
    assert len(answer.own) == 3
    assert "DATA         Later rows judge: test rows of outer folds have a larger 'day'" in section(
        answer, verbose=True
    )


def test_later_groups_judge_and_twins_of_test_rows_are_not_trained_on():
    rng = np.random.default_rng(0)
    groups, y = rng.integers(0, 60, 300), rng.integers(0, 2, 300)
    blocks = groups // 2
    for train, test in later_folds(3, y, np.arange(300.0), groups, blocks):
        assert not set(blocks[train]) & set(blocks[test])
        last = [np.flatnonzero(groups == g).max() for g in range(60)]
        assert max(last[g] for g in groups[train]) < min(last[g] for g in groups[test])
    with pytest.raises(ValueError, match="in time order the rows of fold 1 of 3 are too few"):
        later_folds(3, y, np.zeros(300), np.arange(300), np.arange(300))


@pytest.mark.parametrize(
    ("words", "more"),
    [
        (
            "--keep-column must name a feature of t.csv, whose features are 'x0', 'x1', 'x2', 'w'; got 'z'.",
            {"keep": ["z"]},
        ),
        ("--time-column must name a feature", {"time": "z"}),
        ("--time-column must name a date or number without gaps; 'w' has a category.", {"time": "w"}),
        ("--time-column must name a date or number without gaps; 'x0' has gaps in 1 rows.", {"time": "x0"}),
    ],
)
def test_refusals_name_the_option(words, more):
    X, y, columns = noise()
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match=re.escape(words)):
        audited(table(X, y, columns), **more)


def test_a_table_of_running_numbers_alone_is_refused():
    with pytest.raises(
        ValueError, match=r"t.csv has no column left for features; --keep-column keeps one\. Column 'a'"
    ):
        audited(table(np.arange(100.0)[:, None], np.arange(100) % 2, [Number("a")]))


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_real_tables_raise_no_finding(load):
    X, y = load(return_X_y=True)
    assert audited(table(X, (y == 0).astype(int))).findings == ()


def test_folds_of_blocks_deal_out_positives():
    rng = np.random.default_rng(0)
    blocks = rng.permutation(np.repeat(np.arange(300), rng.integers(1, 6, 300)))
    y = (rng.random(len(blocks)) < 0.1).astype(int)
    folds = block_folds(5, y, blocks, 3)
    assert np.bincount(np.concatenate([test for _, test in folds]), minlength=len(y)).tolist() == [1] * len(y)
    for train, test in folds:
        assert not set(blocks[train]) & set(blocks[test])
        assert y[test].sum() == pytest.approx(y.sum() / 5, abs=5)
        assert len(test) == pytest.approx(len(y) / 5, abs=30)


def test_the_code_repeats_a_choice_over_blocks(tmp_path, monkeypatch):
    X, y, _ = noise(120)
    rows = np.tile(np.arange(120), 2)
    lines = [",".join(map(str, [i, *X[row].tolist(), y[row]])) for i, row in enumerate(rows)]
    (tmp_path / "t.csv").write_text("\n".join(["number,a,b,c,d,y", *lines]))
    monkeypatch.chdir(tmp_path)
    asked = {"target": "y", "group": None, "positive": None, "drop": None}
    (answer,) = compare(audited(read("t.csv", asked)), [F1], SMALL)
    held = {}
    exec(answer.winner.code, held)
    assert held["model"].best_threshold_ == answer.winner.threshold
    assert "number" not in held["data"].features
    write_report(tmp_path / "r", [answer], "t", 1.0)
    (found,) = json.loads((tmp_path / "r" / "results.json").read_text("utf-8"))["answers"]
    assert [one["kind"] for one in found["findings"]] == ["running number", "twins"]


def test_an_answer_without_findings_has_no_section_on_data():
    assert "DATA" not in section(made_up(), verbose=True)


def test_rows_that_share_a_number_and_the_label_stay_together():
    # Each row three times, with other signs in two of its columns; two columns stay as they are.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 6)), (rng.random(300) < 0.3).astype(int)
    origins = rng.permutation(np.repeat(np.arange(300), 3))
    again = X[origins] * np.where(np.arange(6) < 4, rng.choice([-1.0, 1.0], (900, 6)), 1.0)
    again[:, :4] += 0.1 * rng.normal(size=(900, 4))
    found = audited(table(again, y[origins]))
    first = np.unique(origins, return_index=True)[1]
    assert (found.blocks == found.blocks[first][origins]).all()
    assert found.findings[-1].sentence == (
        "Rows with the same 'x4' nearly always have the same label, as copies and rows of one customer have. Folds "
        "keep them together."
    )
    # Labels of their own, numbers that tell the label by a threshold, and few values are no copies.
    assert audited(table(again, rng.integers(0, 2, 900))).findings == ()
    ages = np.column_stack([rng.normal(size=900), np.round(rng.normal(50, 12, 900))])
    assert audited(table(ages, (ages[:, 1] + 8 * rng.normal(size=900) > 50).astype(int))).findings == ()


@pytest.mark.parametrize("value", [-999.0, 9999.0, 99999.0])
def test_numbers_of_nines_far_from_the_others_are_said(value):
    rng = np.random.default_rng(1)
    X, y = np.column_stack([rng.normal(20, 9, 400), rng.normal(size=400)]), rng.integers(0, 2, 400)
    X[:20, 0] = value
    (said,) = audited(table(X, y)).findings
    assert said.sentence == (
        f"Column 'x0' holds {value:g} in 20 rows, far from its other numbers. If it stands for a gap, write --missing "
        f"{value:g}."
    )
    assert said.action == "none"
    X[:20, 0] = 99.0
    assert audited(table(X, y)).findings == ()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [(0, "has words that are the label in other words."), (3, "alone tells the label of 99.0 % of rows.")],
)
def test_a_text_that_tells_the_label_is_left_out_with_all_its_words(wrong, says, tmp_path):
    rng = np.random.default_rng(2)
    words = ["alpha", "beta", "gamma", "delta", "apple", "river", "stone", "cloud", "green", "table", "chair", "window"]
    y, lines = rng.integers(0, 2, 300), ["x,note,y"]
    for i in range(300):
        told = "has left us on" if y[i] != (i < wrong) else "is still with the"
        lines.append(f"{rng.normal():.6f},customer {told} {' '.join(rng.choice(words, 4))},{y[i]}")
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    found = audited(read(str(path), {"target": "y"}))
    assert [column.name for column in found.columns] == ["x"]
    (said,) = found.findings
    assert said.sentence.startswith(f"Column 'note' {says} It is left out (--keep-")
    assert "drop=['note']" in found.code[1]
    kept = audited(read(str(path), {"target": "y"}), ["note"])
    assert len(kept.columns) > 10


def test_a_text_of_which_several_phrases_tell_the_label_is_judged_as_a_whole(tmp_path):
    rng = np.random.default_rng(0)
    words = ["alpha", "beta", "gamma", "delta", "apple", "river", "stone", "cloud", "green", "table", "chair", "window"]
    phrases, y = ["refund issued", "claim upheld", "chargeback done"], rng.integers(0, 2, 400)
    for told, actions in ((1.0, ["left out"]), (0.95, ["none"]), (0.6, [])):
        lines = ["x,note,y"]
        for one in y:
            phrase = rng.choice(phrases) if one and rng.random() < told else ""
            lines.append(f"{rng.normal():.6f},{' '.join(rng.choice(words, 6))} {phrase},{one}")
        path = tmp_path / "t.csv"
        path.write_text("\n".join(lines) + "\n")
        found = audited(read(str(path), {"target": "y"}))
        assert [one.action for one in found.findings] == actions
        assert {column.source for column in found.columns} == {"x", *(["note"] if told < 1.0 else [])}


@pytest.mark.parametrize("kind", [Number, Date])
def test_two_columns_of_which_the_larger_one_tells_the_label_are_said(kind):
    rng, (X, columns) = np.random.default_rng(0), mixed(1000, 0)
    y = (rng.random(1000) < 0.25).astype(int)
    billed = rng.lognormal(4, 1, 1000) if kind is Number else rng.integers(19000, 19600, 1000)
    more = np.where(y == 1, billed, 0) * rng.uniform(0.1, 0.9, 1000) if kind is Number else 14 + 16 * y
    X = np.column_stack([X, billed, billed + more + (kind is Date) * rng.integers(0, 7, 1000)])
    columns = [*columns, kind("billed"), kind("paid")]
    (said,) = audited(table(X, y, columns)).findings
    assert (said.kind, said.columns, said.action) == ("label", ("billed", "paid"), "none")
    assert said.sentence.startswith("Columns 'billed' and 'paid' give the label away: ")
    assert said.sentence.endswith("If one is known only after the label, leave it out: --drop paid.")
    assert audited(table(X, rng.permutation(y), columns)).findings == ()
    # Of more than 30 columns no pairs are compared, and two flags are features as others.
    many = [*columns, *(Number(f"more {j}") for j in range(31))]
    assert audited(table(np.column_stack([X, rng.normal(size=(1000, 31))]), y, many)).findings == ()
    flags = rng.integers(0, 2, (1000, 2)) * 1.0
    X[:, -2:] = flags
    assert audited(table(X, (flags[:, 0] != flags[:, 1]).astype(int), columns)).findings == ()


def test_a_column_without_a_name_is_an_index_only_if_it_counts_rows():
    rng = np.random.default_rng(0)
    counts = np.arange(60.0)
    assert _counts(counts)
    assert _counts(np.concatenate([counts, counts, counts]))
    assert not _counts(rng.normal(size=60))
    assert not _counts(np.repeat([0.0, 1.0, 2.0], 20))


def mixed(n, seed):
    """Features as of people: words, few whole numbers, amounts that are mostly 0, and numbers that all differ."""
    rng = np.random.default_rng(seed)
    amount = np.where(rng.random(n) < 0.1, rng.integers(100, 9999, n), 0)
    whole = [rng.integers(18, 80, n), rng.integers(1, 17, n), rng.integers(1, 99, n), rng.integers(10_000, 10**6, n)]
    X = np.column_stack([*whole, amount, *rng.integers(0, 4, (6, n))]) * 1.0
    return X, [*(Number(f"x{j}") for j in range(5)), *(Category(f"w{j}", tuple("abcd")) for j in range(6))]


BLURRED = {
    "whole numbers shifted by one": lambda X, rng: X + rng.integers(-1, 2, X.shape) * (np.arange(11) < 5),
    "noise in all numbers": lambda X, rng: X * (1 + 0.01 * rng.normal(size=X.shape) * (np.arange(11) < 5)),
}


@pytest.mark.parametrize("form", BLURRED)
def test_copies_of_rows_with_words_and_blurred_numbers_stay_together(form):
    rng, (X, columns) = np.random.default_rng(3), mixed(400, 0)
    origins = rng.permutation(np.repeat(np.arange(400), 3))
    blurred, y = BLURRED[form](X[origins], rng), (rng.random(400) < 0.3).astype(int)
    found = audited(table(blurred, y[origins], columns))
    first = np.unique(origins, return_index=True)[1]
    assert np.mean(found.blocks == found.blocks[first][origins]) > 0.9
    assert np.bincount(found.blocks).max() <= 12
    assert "have the numbers of another one but for noise" in found.findings[-1].sentence
    # Copies with labels of their own are none, and neither are rows that are there once.
    own = audited(table(blurred, (rng.random(1200) < 0.3).astype(int), columns)).findings
    assert not any("but for" in one.sentence for one in own)
    assert audited(table(mixed(1200, 1)[0], y[origins], columns)).findings == ()


def test_rows_in_heaps_of_words_that_tell_the_label_are_no_copies():
    rng = np.random.default_rng(0)
    for n in (300, 1500):
        for few in (2, 4):
            words = rng.integers(0, 4, (n, few))
            columns = [Number("a"), Number("b"), *(Category(f"w{j}", tuple("abcd")) for j in range(few))]
            X = np.column_stack([rng.normal(size=(n, 2)), words])
            assert audited(table(X, (words.sum(axis=1) + X[:, 0] > 2 * few).astype(int), columns)).blocks is None


TURNS = {
    "gaps": lambda rng, n: np.cumsum(rng.integers(1, 100, n)) * 1.0,
    "growing gaps": lambda rng, n: np.cumsum(1 + rng.exponential(1000, n)).round(),
    "roots": lambda rng, n: np.sqrt(np.arange(n)),
}


@pytest.mark.parametrize("numbers", TURNS)
@pytest.mark.parametrize("kind", [Number, Date])
def test_numbers_of_exports_that_take_turns_are_left_out(numbers, kind):
    rng, n = np.random.default_rng(0), 1000
    X, columns = mixed(n, 0)
    y = np.repeat(np.tile([0, 1], 10), np.tile([75, 25], 10))
    rows = rng.permutation(n)
    X = np.column_stack([X, TURNS[numbers](rng, n)])[rows]
    (said,) = audited(table(X, y[rows], [*columns, kind("nr")])).findings
    assert (said.kind, said.columns, said.action) == ("label", ("nr",), "left out")
    assert said.sentence.startswith(
        "Column 'nr' gives the label away: rows with neighboring values nearly always have the same"
    )
    kept = audited(table(X, y[rows], [*columns, kind("nr")]), ["nr"])
    assert kept.columns[-1].name == "nr"
    # A range in the middle, with blurred ends, is a relation, and other labels have none.
    middle = (np.abs(np.argsort(np.argsort(X[:, -1])) - 500 + 150 * rng.normal(size=n)) < 200).astype(int)
    for label in (middle, rng.permutation(y)):
        assert audited(table(X, label, [*columns, kind("nr")])).findings == ()


def test_numbers_that_start_again_and_two_that_number_rows_together_are_said():
    rng, n = np.random.default_rng(0), 1000
    X, columns = mixed(n, 0)
    y = np.repeat(np.tile([0, 1], 10), np.tile([75, 25], 10))
    again = np.column_stack([X, np.arange(n) % 400])
    (said,) = audited(table(again, rng.permutation(y), [*columns, Number("nr")])).findings
    assert said.sentence == "Column 'nr' counts up and starts again. If it numbers rows, leave it out: --drop nr."
    pages = np.column_stack([X, np.divmod(np.arange(n), 30)[0], np.arange(n) % 30])
    names = [*columns, Number("page"), Number("line")]
    (said,) = audited(table(pages, y, names)).findings
    assert (said.columns, said.action) == (("page", "line"), "none")
    assert said.sentence.endswith("If they are not features, leave them out: --drop page --drop line.")
    assert audited(table(pages, rng.permutation(y), names)).findings == ()
    # The order of the columns does not matter.
    (said,) = audited(table(pages[:, [-1, *range(pages.shape[1] - 1)]], y, [names[-1], *names[:-1]])).findings
    assert said.columns == ("page", "line")


@pytest.mark.parametrize(("a", "b"), [(20, 30), (40, 40), (60, 60)])
@pytest.mark.parametrize("form", ["a disk", "a half plane", "a wave"])
def test_a_factorial_design_numbers_no_rows(a, b, form):
    rng = np.random.default_rng(0)
    dose, hours = (level.ravel() for level in np.meshgrid(np.arange(a) / a, np.arange(b) / b, indexing="ij"))
    score = {
        "a disk": 0.1 - (dose - 0.5) ** 2 - (hours - 0.5) ** 2,
        "a half plane": dose + hours - 1.1,
        "a wave": np.sin(6 * dose) + np.cos(7 * hours) - 0.4,
    }[form]
    order = rng.permutation(a * b)
    X = np.stack([0.5 * dose, 2.0 * hours, rng.normal(7, 1, a * b)], axis=1)[order]
    y = (score > 0).astype(int)[order]
    for d in (2, 3):
        columns = [Number(name) for name in ("dose", "hours", "ph")[:d]]
        assert [
            found for found in audited(table(X[:, :d], y, columns), apart=True).findings if found.rows == a * b
        ] == []


def parts_of(y, rng):
    half, n = rng.random(len(y)) < 0.5, len(y)
    band = np.where(y == 1, rng.normal(5, 0.2, n), rng.normal(size=n) / 2 + 10 * half)
    late = np.where((y == 1) | (rng.random(n) < 0.05), rng.integers(19000, 19300, n), np.nan)
    return {
        "a range in the middle": ([band], Number, "left out"),
        "two halves": ([y * half, y * ~half], Number, "left out"),
        "a date of few others": ([late], Date, "none"),
        "some are missing": ([y * (rng.random(n) < 0.85)], Number, "none"),
    }


@pytest.mark.parametrize("form", parts_of(np.zeros(2, int), np.random.default_rng(0)))
def test_copies_of_the_label_in_parts_are_found(form):
    rng, (X, columns) = np.random.default_rng(7), mixed(1000, 0)
    y = (rng.random(1000) < 0.25).astype(int)
    cells, kind, action = parts_of(y, rng)[form]
    names = [f"c{j}" for j in range(len(cells))]
    X = np.column_stack([X, *cells])
    found = audited(table(X, y, [*columns, *map(kind, names)])).findings
    assert [(one.kind, one.columns, one.action) for one in found] == [("label", (name,), action) for name in names]
    assert audited(table(X, rng.permutation(y), [*columns, *map(kind, names)])).findings == ()
