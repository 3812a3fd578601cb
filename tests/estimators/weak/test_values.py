"""Values of bags and labels as users write them: columns with gaps, one value for all, lists with None, series."""

from itertools import product

import numpy as np
import pandas as pd
import pytest

from setwise import WeakSetClassifier
from setwise.estimators.weak.bags import Bagging, Ranges, by_bag
from setwise.estimators.weak.knowledge import PartLabels

NAN = np.nan
GROUPS = np.repeat(np.arange(6), 5)
BAGS = Bagging.of(GROUPS, 30)
X = np.random.default_rng(0).normal(size=(30, 2))
Y = (X[:, 0] > 0).astype(int)
COUNTS = np.bincount(GROUPS, Y).astype(int)
PLAIN = WeakSetClassifier(method="count_likelihood", C=1.0)


def weights(y=None, **given):
    return WeakSetClassifier(method="count_likelihood", C=1.0).fit(X, y, groups=GROUPS, **given).coef_


@pytest.mark.parametrize("k", [2, 3, 4])
def test_columns_with_gaps_allow_what_enumeration_finds(k):
    rng = np.random.default_rng(k)
    refused = 0
    for m in [1, 2, 3, 5] * 20:
        row = rng.integers(0, m + 1, k).astype(float)
        row[rng.random(k) < 0.5] = NAN
        whole = [c for c in product(range(m + 1), repeat=k) if sum(c) == m]
        agree = np.array([c for c in whole if (np.isnan(row) | (row == c)).all()])
        one = Bagging.of(None, m)
        for given in ({"counts": row[None], "proportions": None}, {"counts": None, "proportions": row[None] / m}):
            if not len(agree):
                refused += 1
                with pytest.raises(ValueError, match="must add up to"):
                    Ranges.of(one, at_least=None, between=None, **given)
                continue
            found = Ranges.of(one, at_least=None, between=None, **given)
            for column in range(k):
                low, high = found.of_class(column, k)
                assert (low[0], high[0]) == (agree[:, column].min(), agree[:, column].max()), (m, row, column)
    assert 0 < refused < 100


def test_a_share_of_other_classes_allows_the_neighbors_of_what_is_left():
    shares = [[0.5, NAN], [0.25, NAN], [NAN, 0.3], [0.8, NAN], [1.0, NAN], [NAN, NAN]]
    low, high = Ranges.of(BAGS, None, shares, None, None).of_class(1, 2)
    assert low.tolist() == [2, 3, 1, 1, 0, 0]
    assert high.tolist() == [3, 4, 2, 1, 0, 5]


def test_numbers_of_class_0_alone_are_those_of_class_1():
    columns = np.column_stack([5.0 - COUNTS, np.full(6, NAN)])
    np.testing.assert_array_equal(weights(counts=columns), weights(counts=COUNTS))
    np.testing.assert_array_equal(weights(proportions=columns / 5), weights(counts=COUNTS))
    labels = np.where(GROUPS == 0, 1, -1)
    with pytest.raises(ValueError, match="bag 0 must agree with y: its number of positives is 1, and y allows 5 in"):
        weights(labels, counts={0: [4, NAN]})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"counts": {2: [3, 4, NAN]}}, "counts that are known must add up to at most 5 in bag 2; got 7"),
        ({"counts": {2: [6, NAN]}}, "counts must hold whole numbers from 0 to"),
        ({"proportions": {2: [0.7, 0.4, None]}}, "that are known must add up to at most 1 in bag 2; got 1.1"),
        ({"counts": {2: [2, 2, 2]}}, "counts of all classes must add up to 5 in bag 2; got 6"),
        ({"counts": {2: [0, NAN, NAN]}}, "nothing is known of class 1 in any bag"),
        ({"counts": {2: [NAN, NAN]}}, "nothing is known of any bag"),
        ({"proportions": (0.5, 0.25, 0.25)}, r"got shape \(3,\) \(write \[\[...\]\] if these are the"),
        ({"between": [1, 2, 3]}, r"between must be pairs \(low, high\)"),
        ({"between": [None, (0, 3), (1, 2, 3), None, None, None]}, "equally many numbers for each bag"),
        ({"between": [None, 1, (0, 3), None, None, None]}, "between must hold numbers"),
        ({"counts": [[1], [[2], [3, 4]]]}, "counts must hold numbers, or flat sequences of them"),
        ({"counts": {0: np.ones((2, 2)), 1: [1, 4]}}, "counts must hold numbers"),
    ],
)  # fmt: skip
def test_refusals(given, words):
    with pytest.raises(ValueError, match=words):
        weights(**given)


@pytest.mark.filterwarnings("ignore:the bags carry hardly any signal")
def test_one_value_for_all_may_have_a_number_for_each_class():
    y = np.where(np.arange(30) % 5 == 0, np.arange(30) % 3, -1)
    full = weights(y, proportions=[[0.4, 0.4, 0.2]] * 6)
    assert full.shape == (3, 2)
    np.testing.assert_array_equal(weights(y, proportions=(0.4, 0.4, 0.2)), full)
    np.testing.assert_array_equal(weights(y, proportions=[[0.4, 0.4, 0.2]]), full)
    np.testing.assert_array_equal(weights(y, counts=[2, 2, None]), full)
    assert weights(proportions=[[0.4, 0.4, 0.2]]).shape == (3, 2)
    named = WeakSetClassifier(classes=["a", "b", "c"], method="count_likelihood", C=1.0)
    assert named.fit(X, groups=GROUPS, proportions=(0.4, 0.4, 0.2)).coef_.shape == (3, 2)
    assert named.score(X, groups=GROUPS, proportions=(0.4, 0.4, 0.2)) < 0


def test_as_many_numbers_as_bags_are_one_for_each():
    three = Bagging.of(np.repeat([0, 1, 2], [2, 2, 1]), 5)
    np.testing.assert_array_equal(by_bag([0.0, 1.0, 1.0], "counts", three, classes=3), [0, 1, 1])
    with pytest.raises(ValueError, match=r"with a column for each class, or as \[\[...\]\] for all bags"):
        Ranges.of(three, None, (0.5, 0.25, 0.25), None, None, 3).of_class(0, 3)
    # Two classes need one number for each bag.
    two = Bagging.of([0, 0, 1, 1, 1], 5)
    assert Ranges.of(two, [1, 2], None, None, None, 2).of_class(1, 2)[0].tolist() == [1, 2]


def test_pairs_may_be_a_list_with_gaps():
    pairs = [None, (0, 3), [1, None], NAN, np.array([2, 2]), None]
    wanted = dict(enumerate(pairs))
    expected = by_bag(wanted, "between", BAGS, wide=True)
    assert expected.tolist()[1] == [0, 3]
    for form in (pairs, tuple(pairs), pd.Series(pairs), [pairs[b] for b in GROUPS], pd.Series(pairs)[GROUPS]):
        np.testing.assert_array_equal(by_bag(form, "between", BAGS, wide=True), expected)
    for nothing in ([None] * 6, [None] * 30, (None, None), dict.fromkeys(range(6))):
        np.testing.assert_array_equal(by_bag(nothing, "between", BAGS, wide=True), np.full((6, 2), NAN))
    columns = by_bag([None, [1, 2, 2], None, None, None, (0, 0, None)], "counts", BAGS)
    np.testing.assert_array_equal(columns[[0, 1, 5]], [[NAN] * 3, [1, 2, 2], [0, 0, NAN]])


def test_a_series_is_read_by_its_index():
    names = np.array([str(b) for b in GROUPS])
    with pytest.raises(
        ValueError, match=r"a Series is read by its index; got \[0, 1, 2\], where groups has \['0', '1'"
    ):
        WeakSetClassifier().fit(X, groups=names, counts=pd.Series(COUNTS))


def test_a_series_of_bags_of_one_row_is_refused_where_it_may_mean_two_things():
    bags = Bagging.of([2, 0, 1], 3)
    # By row bag 2 has 1, and by the index bag 0 has.
    with pytest.raises(
        ValueError, match="counts may be values by row or by its index here, since each bag has one row"
    ):
        by_bag(pd.Series([1, 0, 0]), "counts", bags)
    np.testing.assert_array_equal(by_bag(pd.Series([1, 0, 0]).to_dict(), "counts", bags), [1, 0, 0])
    np.testing.assert_array_equal(by_bag(pd.Series([1, 0, 0], index=[2, 0, 1]), "counts", bags), [0, 0, 1])
    np.testing.assert_array_equal(by_bag(pd.Series([NAN, 1, 1], index=[2, 1, 0]), "counts", bags), [1, 1, NAN])
    np.testing.assert_array_equal(by_bag(pd.Series([1, 1, 1]), "counts", bags), [1, 1, 1])


def test_a_series_with_an_index_of_rows_is_by_row():
    bags = Bagging.of([2, 0, 1], 3)
    np.testing.assert_array_equal(by_bag(pd.Series([1, 0, 0], index=[7, 9, 5]), "counts", bags), [0, 0, 1])
    table = pd.DataFrame([[1, 0], [0, 1], [0, 1]], index=["u", "v", "w"])
    np.testing.assert_array_equal(by_bag(table, "counts", bags), [[0, 1], [0, 1], [1, 0]])
    larger = Bagging.of([2, 0, 2], 3)
    np.testing.assert_array_equal(by_bag(pd.Series([1, 0, 1]), "counts", larger), [0, 1])
    # Numbered from 0, the values may as well be in the order of the ids.
    with pytest.raises(ValueError, match="counts may be values by row or by sorted id here"):
        by_bag(pd.Series([1, 0, 0]), "counts", Bagging.of(["c", "a", "b"], 3))


@pytest.mark.parametrize("unknown", [-1, -1.0, np.int64(-1), None, NAN, pd.NA, np.float64(NAN)])
def test_unknown_labels_beside_text(unknown):
    for y in (["yes", unknown, "no"], ("yes", unknown, "no"), pd.Series(["yes", unknown, "no"], dtype=object)):
        codes, names = PartLabels.of(y, 3, None).coded(None)
        assert codes.tolist() == [1, -1, 0]
        assert names.tolist() == ["no", "yes"]
    labels = [unknown if i % 3 else "ny"[Y[i]] for i in range(30)]
    np.testing.assert_array_equal(weights(labels), weights(np.where(np.arange(30) % 3, -1, Y)))


def test_text_is_known_and_numbers_beside_it_are_refused():
    assert PartLabels.of(["-1", "1"], 2, None).coded(None)[0].tolist() == [0, 1]
    with pytest.raises(ValueError, match="y must hold labels of one type; got text and whole numbers"):
        PartLabels.of(["yes", -1, 0], 3, None)


def test_score_says_that_nothing_is_known():
    model = WeakSetClassifier(method="count_likelihood", C=1.0).fit(X, groups=GROUPS, counts=COUNTS)
    for given in ({"counts": NAN}, {"between": (0, 5)}, {"proportions": {0: None}}, {"counts": [[NAN, NAN]]}, {}):
        with pytest.raises(ValueError, match="score must be given labels y, or counts, .*; got none that is known"):
            model.score(X, groups=GROUPS, **given)
    # Classes of which nothing is known are left out of the mean, as bags are.
    y = np.where(np.arange(30) % 5 == 0, np.arange(30) % 3, -1)
    model.fit(X, y, groups=GROUPS, proportions=(0.4, 0.4, 0.2))
    q = model.predict_proba(X)[:5, 0]
    np.testing.assert_allclose(model.score(X, groups=GROUPS, counts={0: [0, NAN, NAN]}), np.log1p(-q).sum())


@pytest.mark.parametrize(
    ("ids", "index"),
    [
        (pd.date_range("2020", periods=6), None),
        (np.arange(6), np.arange(6.0)),
        (np.arange(6.0), np.arange(6)),
        (np.arange(3, 9), None),
    ],
    ids=["dates", "floats for whole numbers", "whole numbers for floats", "whole numbers"],
)
def test_a_series_with_the_ids_as_its_index_is_read_by_it(ids, index):
    groups, values = np.repeat(np.asarray(ids), 5), np.arange(6)
    series = pd.Series(values, index=ids if index is None else index)[::-1]
    bags = Bagging.of(groups, 30)
    np.testing.assert_array_equal(by_bag(series, "counts", bags), values)


@pytest.mark.parametrize("index", [[9, 4, 3, 2, 1, 0], [0, 0, 1, 2, 3, 4], list("abcdef")], ids=str)
def test_a_series_without_all_the_ids_is_refused(index):
    bags = Bagging.of(np.repeat(np.arange(6), 5), 30)
    with pytest.raises(ValueError, match="counts must have the ids of bags as its index"):
        by_bag(pd.Series(np.arange(6), index=index), "counts", bags)


def test_a_table_with_named_columns_is_refused_where_their_order_is_that_of_classes():
    bags = Bagging.of(np.repeat(np.arange(6), 5), 30)
    with pytest.raises(ValueError, match="counts must be an array, whose columns are in the order of the classes"):
        by_bag(pd.DataFrame({1: np.arange(6), 0: 5 - np.arange(6)}), "counts", bags)
