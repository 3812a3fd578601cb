"""Rows that are known from rows much like them: copies in disguise are found, and clean tables are not touched."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_classification

from setwise.compare import NamedLoss, Plan, Problem, compare
from setwise.compare.audit import audited
from setwise.compare.sentences import verdict
from setwise.compare.similar import ROWS, similar, similar_blocks
from setwise.losses import FBeta

LINEAR_AND_TREES = Plan(folds=4, inner=3, grid=(1.0,), bases=("linear", "boosted"), strategies=("threshold",))


def disguised(kind, rng):
    """Features, labels by chance, and the number of the original of each row."""
    if kind == "traits":
        origin, y = np.repeat(np.arange(400), 6), rng.integers(0, 2, 400)
        traits = rng.integers(0, (70, 2, 40, 30, 12), (400, 5))[origin]
        return np.column_stack([traits, rng.normal(size=(2400, 8))]), y[origin], origin
    if kind == "three traits":
        origin, y = np.tile(np.arange(400), 10), (rng.random(400) < 0.3).astype(int)
        traits = rng.lognormal(size=(400, 3))[origin] * rng.lognormal(0.0, 0.06, (4000, 3))
        return np.column_stack([traits, rng.lognormal(size=(4000, 14))]), y[origin], origin
    n, times = (60, 12) if kind == "noise" else (150, 8)
    base = load_breast_cancer().data[rng.permutation(569)[:n]]
    origin, y = np.repeat(np.arange(n), times), rng.integers(0, 2, n)
    X = base[origin]
    if kind == "noise":
        X = X + 0.01 * base.std(axis=0) * rng.normal(size=X.shape)
    if kind == "person":
        X = np.column_stack([X[:, :5], rng.normal(size=(len(X), 5))])
    if kind == "two labels":
        X = X + 0.01 * base.std(axis=0) * rng.normal(size=X.shape)
        y = np.where(rng.random(n * times) < 0.05, 1 - y[origin], y[origin])
        return X, y, origin
    return X, y[origin], origin


@pytest.mark.parametrize("kind", ["noise", "person", "two labels", "traits", "three traits"])
@pytest.mark.parametrize("seed", range(3))
def test_copies_in_disguise_are_kept_together(kind, seed):
    rng = np.random.default_rng(seed)
    X, y, origin = disguised(kind, rng)
    found = similar(X, y)
    assert found is not None
    assert found.mixed > 0.8 > 0.7 > found.apart
    # Where noise is in half of the columns, or large, clusters part some rows of a person.
    whole = [len(np.unique(found.blocks[origin == one])) == 1 for one in np.unique(origin)]
    assert np.mean(whole) > (0.05 if kind in ("person", "three traits") else 0.5)
    assert not found.run
    np.testing.assert_array_equal(similar_blocks(X, y), found.blocks)


@pytest.mark.parametrize("seed", [0, *(pytest.param(k, marks=pytest.mark.slow) for k in (1, 2))])
def test_rows_that_tell_labels_by_their_features_are_left_alone(seed):
    rng = np.random.default_rng(seed)
    tables = [
        (load_breast_cancer().data, load_breast_cancer().target),
        (load_diabetes(scaled=False).data, load_diabetes().target > 140),
        (load_digits().data, load_digits().target == seed),
        make_classification(1000, 10, weights=[0.8], random_state=seed),
        (rng.normal(size=(600, 4)), rng.integers(0, 2, 600)),
        # A checkerboard of 16 fields is no feature of one row.
        ((U := rng.random((1500, 4))), (np.floor(4 * U[:, 0]) + np.floor(4 * U[:, 1])) % 2),
        # What many rows share is shared by new rows too, and what has few values cannot be kept together.
        ((S := rng.integers(0, 60, (2000, 1)).astype(float)), rng.integers(0, 2, 60)[S.astype(int).ravel()]),
        (np.column_stack([load_breast_cancer().data, rng.integers(0, 2, 569)]), load_breast_cancer().target),
    ]
    for X, y in tables:
        assert similar(np.asarray(X, dtype=float), np.asarray(y, dtype=int)) is None


@pytest.mark.parametrize("length", [25, pytest.param(60, marks=pytest.mark.slow)])
def test_windows_of_a_series_are_kept_together_in_runs(length):
    rng = np.random.default_rng(length)
    walk = np.cumsum(rng.normal(size=3007))
    X = np.lib.stride_tricks.sliding_window_view(walk, 8).copy()
    y = np.repeat(rng.random(3000 // length) < 0.35, length).astype(int)
    found = similar(X, y)
    assert found is not None
    assert (found.run, found.blocks.tolist()) == (100, np.repeat(np.arange(30), 100).tolist())
    assert found.mixed > 0.67 > 0.6 > found.apart
    (said,) = audited(Problem("walk", "Windows.", X, y, features=tuple("abcdefgh"))).findings
    assert said.sentence.startswith("Labels are known from neighboring rows of the file (write --group COLUMN or ")
    assert "Folds keep runs of 100 rows together." in said.sentence
    order = rng.permutation(3000)
    assert similar(X[order], y[order]) is None
    # A file is sorted by its label, or by a column that alone tells it.
    assert similar(X[np.argsort(y)], np.sort(y)) is None
    hours = np.column_stack([np.sort(24 * rng.random(3000)), rng.normal(size=(3000, 2))])
    assert similar(hours, np.isin(hours[:, 0] // 1, [2, 5, 6, 9, 13, 14, 18, 21]).astype(int)) is None


@pytest.mark.parametrize("seed", range(8))
def test_noise_is_not_known_from_similar_rows(seed):
    rng = np.random.default_rng(seed)
    assert similar(rng.normal(size=(200, 5)), rng.integers(0, 2, 200)) is None


def test_few_rows_say_nothing():
    rng = np.random.default_rng(0)
    assert similar(rng.normal(size=(150, 3)), rng.integers(0, 2, 150)) is None
    assert similar(rng.normal(size=(500, 3)), (np.arange(500) < 20).astype(int)) is None
    assert similar(np.empty((500, 0)), rng.integers(0, 2, 500)) is None


@pytest.mark.slow
def test_rows_of_customers_in_a_large_table():
    rng = np.random.default_rng(0)
    n = 1500
    person, label = np.column_stack([rng.normal(size=(n, 2)), rng.integers(0, 9000, n)]), rng.integers(0, 2, n)
    origin = rng.permutation(np.repeat(np.arange(n), 8))
    X = np.column_stack([person[origin], rng.normal(size=(len(origin), 6))])
    assert len(X) > ROWS
    found = similar(X, label[origin])
    assert found is not None
    assert found.apart < 0.6 < 0.9 < found.mixed
    assert all(len(np.unique(found.blocks[origin == one])) == 1 for one in range(n))
    fresh = (X[:, 0] + rng.normal(size=len(X)) > 0.5).astype(int)
    assert similar(X, fresh) is None


@pytest.mark.slow
def test_the_answer_announces_no_gain_by_copies():
    X, y, _ = disguised("noise", np.random.default_rng(0))
    names = tuple(f"x{j}" for j in range(X.shape[1]))
    problem = Problem("copies", "Copies with noise, labels by chance.", X, y, features=names)
    apart = audited(problem, apart=True)
    mended = audited(problem)
    (one,) = [found for found in mended.findings if found.kind == "similar"]
    assert one.action == "kept together"
    assert one.sentence.startswith(
        "Labels are known from similar rows (write --group COLUMN or --similar-apart): without them the AUC of trees "
        "falls from 1.000 to "
    )
    assert mended.blocks is not None
    f1 = NamedLoss("f1", FBeta())
    (fooled,) = compare(apart, [f1], LINEAR_AND_TREES)
    assert fooled.own.mean() < 0.1
    # Labels that are told without a mistake are doubtful too.
    assert verdict(fooled).startswith("Check the data first (see below); then change to ")
    assert len(verdict(fooled).split()) <= 12
    (honest,) = compare(mended, [f1], LINEAR_AND_TREES)
    assert verdict(honest).startswith("Stay with logistic regression")
    assert honest.reference.outer.mean() > 0.25


def test_groups_and_times_keep_their_folds():
    X, y, origin = disguised("noise", np.random.default_rng(1))
    grouped = audited(Problem("copies", "Groups.", X, y, groups=origin, features=tuple(map(str, range(X.shape[1])))))
    assert not [found for found in grouped.findings if found.kind == "similar"]
