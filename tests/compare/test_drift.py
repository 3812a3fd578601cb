"""What new rows are told to differ in: nothing where they are of the same source, and planted faults once each."""

from dataclasses import replace
from itertools import combinations
from math import comb

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine

from setwise.compare.drift import TrainingRows
from setwise.datasets.columns import Category, Date, Number, Truth

COLUMNS = (Number("amount"), Category("city", ("Bonn", "Oslo", "Rome")), Date("day"), Truth("ok"), Number("rare"))
NAMES = [column.name for column in COLUMNS]


def made(n, seed):
    """Amounts of long tails, words, two years of days, truth values, and a number that is mostly a gap."""
    rng = np.random.default_rng(seed)
    amount, city, day = np.exp(1.5 * rng.normal(size=n) + 3), rng.integers(0, 3, n), 18_000 + rng.integers(0, 730, n)
    rare = np.where(rng.random(n) < 0.1, rng.normal(size=n), np.nan)
    return np.column_stack([amount, city, day, rng.random(n) < 0.9, rare]).astype(float), rng.random(n) < 0.3


def told(training, X, labels):
    return training.differences(X, COLUMNS, NAMES, labels, ("no", "yes"))


def of(X, labels, groups=None):
    return TrainingRows.of(X, COLUMNS, groups, labels)


def bare(n):
    return TrainingRows(n, n, np.zeros(0, np.int64), np.zeros((4, 0)), np.zeros(0, np.int64), np.array([0.5]))


def test_chances_are_those_of_all_ways_to_draw_the_training_rows():
    n, m = 5, 4
    draws = [set(one) for one in combinations(range(n + m), n)]
    for old in range(n):
        for new in range(m + 1):
            # number 0 is the largest; beyond one of the training are ``old`` of the training and ``new`` others
            places = [sorted(draw)[old] for draw in draws]
            share = np.mean([place - old >= new for place in places])
            assert bare(n)._more(old, n, new, m) == pytest.approx(share)
    for marked in range(n + m + 1):
        for new in range(max(0, marked - n), min(m, marked) + 1):
            share = np.mean([len(set(range(marked)) - draw) >= new for draw in draws])
            assert bare(n)._more(marked - new, n, new, m) == pytest.approx(share)


def test_the_chance_of_unknown_words_is_a_bound():
    n, m = 5, 4
    words = [0, 0, 0, 1, 1, 2, 2, 2, 2]
    draws = [[words[i] for i in one] for one in combinations(range(n + m), n)]
    chance = []
    for known in draws:
        new = sum(word not in known for word in words)
        chance.append(bare(n)._unseen(n, new, m, len(set(known))))
    for one in set(chance):
        assert np.mean(np.array(chance) <= one) <= one + 1e-12
    assert bare(50)._unseen(50, 50, 50, 3) == pytest.approx(comb(53, 3) / comb(100, 50))


@pytest.mark.parametrize(("n", "m"), [(30, 30), (30, 3000), (3000, 30), (800, 500)])
def test_each_planted_fault_is_told_once(n, m):
    X, labels = made(n, 0)
    training = of(X, labels)
    rows, called = made(m, 1)
    assert told(training, rows, called) == []
    # so few cells are filled that a share of them says little
    faults = {
        "amount": [(lambda x: x * 100, "is above "), (lambda x: x / 1000, "is below ")],
        "city": [(lambda x: np.full_like(x, 3), "holds words in 100.0 % of its cells that the training does not")],
        "day": [
            (lambda x: x / 365.25, "is below 2019-0"),
            (lambda x: x + 365 * 30, "is above 2021-0"),
            (lambda x: x * 1000, "by more than the whole range of these"),
        ],
        "ok": [(lambda x: np.full_like(x, np.nan), "is empty in 100.0 % of the rows, and in 0.0 % of the training.")],
    }
    for name, planted in faults.items():
        for change, says in planted:
            other = rows.copy()
            other[:, NAMES.index(name)] = change(rows[:, NAMES.index(name)])
            # what the model makes of such rows follows from it, and is not told as well
            found = told(training, other, np.ones(m, bool))
            assert len(found) == 1
            assert found[0].startswith(f"Column {name!r} ")
            assert says in found[0]
    (found,) = told(training, rows, np.ones(m, bool))
    assert found == f"100.0 % of the rows are labelled yes, and {100 * labels.mean():.1f} % were in the training."


@pytest.mark.parametrize(("n", "m"), [(300, 30), (300, 3000), (3000, 30)])
def test_times_of_day_that_are_cut_off_are_told(n, m):
    def found(old, new):
        training = TrainingRows.of(old[:, None], (Date("at"),), None, np.zeros(n))
        return training.differences(new[:, None], (Date("at"),), ["at"], np.zeros(m), ("0", "1"))

    for seed in range(50):
        # a fifth of the times are midnight, or all but a fifth, or all times are one of the hours from 12 to 14
        rng = np.random.default_rng(seed)
        days, hours = 18_000 + rng.integers(0, 730, n + m), rng.integers(0, 86_400, n + m) / 86_400
        for share in (0, 0.2, 0.8, 1):
            times = np.where(rng.random(n + m) < share, days, days + hours)
            assert found(times[:n], times[n:]) == []
        hours = days + rng.integers(12, 15, n + m) / 24
        assert found(hours[:n], hours[n:]) == []
        # the rows of one day have times enough
        assert found(hours[:n], 18_100 + hours[n:] % 1) == []
    cut, times = days + 0.5, days + rng.permutation(n + m) / (n + m)
    (says,) = found(times[:n], cut[n:])
    assert says.startswith("Column 'at' has the time 12:00 in all of its cells, and other times in at least ")
    (says,) = found(cut[:n], times[n:])
    assert says.startswith("Column 'at' has the time 12:00 in all of the training, and other times in ")


def test_days_that_follow_the_training_are_no_fault():
    X, labels = made(2000, 0)
    rows, called = made(500, 1)
    rows[:, 2] += 730
    assert told(of(X, labels), rows, called) == []


def test_many_columns_that_differ_are_counted():
    X = np.random.default_rng(0).normal(size=(200, 9))
    training = TrainingRows.of(X, (), None, np.zeros(200))
    found = training.differences(X + 10, (), [f"f{j}" for j in range(9)], np.zeros(200), ("0", "1"))
    assert len(found) == 6
    assert found[-1] == "4 further columns differ."
    # a sparse table, and one of another width, has no columns to compare
    assert training.differences(X[:, :3] + 10, (), ["a", "b", "c"], np.zeros(200), ("0", "1")) == []


def test_rows_of_few_groups_are_not_taken_for_many():
    rng = np.random.default_rng(0)

    def grouped(count, first):
        groups = np.repeat(np.arange(first, first + count), 50)
        rows, _ = made(len(groups), first)
        # a number, a gap and a label that are those of the group
        rows[:, 0], rows[:, 4] = rng.normal(size=count)[groups - first], np.where(groups % 4 > 0, np.nan, 1.0)
        return rows, groups % 3 == 0, groups

    told_of = []
    for k in range(40):
        X, labels, groups = grouped(6, 100 * k)
        rows, called, _ = grouped(3, 100 * k + 50)
        told_of += told(of(X, labels, groups), rows, called)
    assert told_of == []
    assert told(of(X, labels), rows * 100, called)


@pytest.mark.parametrize("load", [load_breast_cancer, load_wine])
def test_fifty_fresh_files_of_the_same_source_raise_no_finding(load):
    X, y = load(return_X_y=True)
    y, rng = y == 1, np.random.default_rng(0)
    names = [f"f{j}" for j in range(X.shape[1])]
    for _ in range(50):
        order = rng.permutation(len(y))
        n, m = (round(np.exp(rng.uniform(np.log(30), np.log(len(y) / 2)))) for _ in range(2))
        old, new = order[:n], order[n : n + m]
        training = TrainingRows.of(X[old], (), None, y[old] ^ (rng.random(n) < 0.1))
        assert training.differences(X[new], (), names, y[new] ^ (rng.random(m) < 0.1), ("no", "yes")) == []


def test_rows_that_were_drawn_by_their_label_are_compared_by_their_weights():
    rng = np.random.default_rng(4)
    y = rng.random(60_000) < 0.02
    # Where the label is rare, so is a gap; in the drawn rows it is in half of them.
    X = np.where(y & (rng.random(60_000) < 0.9), np.nan, rng.normal(size=60_000))[:, None]
    old, new = np.arange(60_000) < 40_000, np.arange(60_000) >= 40_000
    rare = np.flatnonzero(old & y)
    rest = rng.choice(np.flatnonzero(old & ~y), len(rare), replace=False)
    rows, weights = np.append(rare, rest), np.repeat([1.0, (old & ~y).sum() / len(rare)], len(rare))
    evenly = TrainingRows.of(X[rows], (), None, y[rows], weights)
    assert evenly.differences(X[new], (), ["x"], y[new], ("no", "yes")) == []
    assert TrainingRows.of(X[rows], (), None, y[rows]).differences(X[new], (), ["x"], y[new], ("no", "yes"))


def test_malformed_fields_are_refused():
    X, labels = made(30, 0)
    held = vars(of(X, labels))
    for name, value, says in (
        ("units", 31, "units must be at most 30"),
        ("filled", [1, 2], r"filled must be an array"),
        ("limits", np.zeros((3, 5)), r"limits must be an array of the shape \(4, 5\)"),
        ("words", np.zeros(5), "words must be an array"),
        ("called", 0.5, "called must be an array"),
    ):
        with pytest.raises((TypeError, ValueError), match=says):
            TrainingRows(**(held | {name: value}))


def test_a_column_that_is_not_read_is_not_empty():
    rng = np.random.default_rng(0)
    X, names = rng.normal(size=(500, 2)), ["kept", "amount"]
    known, empty = TrainingRows.of(X, (), None, X[:, 0] > 0), np.column_stack([X[:, 0], np.full(500, np.nan)])
    (said,) = known.differences(empty, (), names, X[:, 0] > 0, ("no", "yes"))
    assert said.startswith("Column 'amount' is empty in 100.0 % of the rows")
    unread = replace(known, filled=known.filled * [1, 0])
    assert unread.differences(empty, (), names, X[:, 0] > 0, ("no", "yes")) == []
