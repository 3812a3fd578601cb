"""Columns of a raw table as features: scales, gaps, words, and what training rows did not show."""

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from setwise.datasets.columns import Category, Date, Number, Truth
from setwise.estimators import TableEncoder, tree_categories

NAN = np.nan
COLUMNS = (Number("age"), Category("city", ("Oslo", "Paris", "Rome")), Truth("ok"))
X = np.array([[1, 0, 1], [3, 0, 0], [NAN, 2, 1], [5, 2, 0], [3, 1, NAN], [3, NAN, 1], [3, NAN, 1]], dtype=float)


def linear(columns=COLUMNS, **more):
    return TableEncoder(columns, **({"min_frequency": 2} | more))


def column(encoder, X, name):
    return encoder.transform(X)[:, encoder.get_feature_names_out().tolist().index(name)]


def test_linear_features_are_named_and_finite():
    encoder = linear().fit(X)
    names = ["age", "ok", "age is missing", "ok is missing"]
    names += ["city = Oslo", "city = Rome", "city is missing", "city is rare"]
    assert encoder.get_feature_names_out().tolist() == names
    out = encoder.transform(X)
    assert out.shape == (7, 8)
    assert np.isfinite(out).all()
    np.testing.assert_array_equal(column(encoder, X, "city is rare"), [0, 0, 0, 0, 1, 0, 0])
    np.testing.assert_array_equal(column(encoder, X, "city is missing"), [0, 0, 0, 0, 0, 1, 1])
    np.testing.assert_array_equal(column(encoder, X, "age is missing"), [0, 0, 1, 0, 0, 0, 0])


def test_numbers_are_standardized_without_the_gaps_which_become_the_median():
    age = column(linear().fit(X), X, "age")
    known = X[:, 0][~np.isnan(X[:, 0])]
    np.testing.assert_allclose(age[[0, 1, 3]], (np.array([1, 3, 5]) - known.mean()) / known.std())
    assert age[2] == pytest.approx((np.median(known) - known.mean()) / known.std())


def test_what_training_rows_did_not_show():
    encoder = linear().fit(X[:4])
    new = np.array([[2, 3, 1], [2, 1, 1], [2, NAN, NAN]], dtype=float)
    names = encoder.get_feature_names_out().tolist()
    cities = [i for i, name in enumerate(names) if name.startswith("city")]
    # an unseen word, a word of the table that was in no training row, and a gap where there was none
    assert not encoder.transform(new)[:, cities].any()
    # the truth value had no gap: it becomes the median, and no indicator appears
    assert "ok is missing" not in names
    assert column(encoder, new, "ok")[2] == column(encoder, np.array([[2, 0, 0.5]]), "ok")[0]


def test_a_column_without_values_and_a_constant_one_become_0():
    rows = np.array([[NAN, 0.0], [NAN, 0.0], [NAN, 0.0]])
    columns = (Number("a"), Date("b"))
    encoder = linear(columns).fit(rows)
    assert encoder.get_feature_names_out().tolist() == ["a", "b", "a is missing"]
    np.testing.assert_array_equal(encoder.transform([[7.0, 0.0], [NAN, 3.0]]), [[0, 0, 1], [0, 3, 1]])


def test_tree_features_keep_gaps_and_order():
    encoder = TableEncoder(COLUMNS, "trees", min_frequency=2).fit(X)
    assert encoder.get_feature_names_out().tolist() == ["age", "ok", "city"]
    assert tree_categories(COLUMNS) == [2]
    np.testing.assert_array_equal(encoder.transform(X)[:, :2], X[:, [0, 2]])
    np.testing.assert_array_equal(encoder.transform(X)[:, 2], [0, 0, 1, 1, 2, NAN, NAN])
    np.testing.assert_array_equal(encoder.transform([[1.0, 3.0, 1.0]])[:, 2], [NAN])


@pytest.mark.parametrize("form", ["linear", "trees"])
def test_many_words_are_limited(form):
    codes = np.repeat(np.arange(600.0), 2)[:, None]
    columns = (Category("word", tuple(f"{i:03}" for i in range(600))),)
    many = TableEncoder(columns, form, min_frequency=1)
    out, most = many.fit_transform(codes), 500 if form == "linear" else 254
    # 500 columns of 0 and 1, or 254 places, of which one is shared
    assert (out.shape[1] if form == "linear" else len(np.unique(out))) == most
    assert many.shared_ == {"word": 600 - most + 1}
    few = TableEncoder(columns, form, min_frequency=1, max_categories=4).fit_transform(codes)
    assert (few.shape[1] if form == "linear" else len(np.unique(few))) == 4
    rare = TableEncoder(columns, form, min_frequency=3).fit(codes)
    assert len(np.unique(rare.transform(codes))) == 1
    assert rare.shared_ == {}
    # half of the words are rare, and share a place for another reason than the limit
    some = TableEncoder(columns, form, min_frequency=3, max_categories=101).fit(np.vstack([codes, codes[:600]]))
    assert some.shared_ == {"word": 200}
    if form == "linear":
        assert TableEncoder(columns, min_frequency=1, max_categories=1000).fit(codes).shared_ == {}


def test_features_are_sparse_where_that_is_asked_for_and_pays():
    rng = np.random.default_rng(0)
    columns = (Number("a"), Category("word", tuple(f"{i:02}" for i in range(40))), Number("b"))
    rows = np.column_stack([rng.normal(size=400), rng.integers(0, 40, 400), rng.normal(size=400)])
    rows[rng.random(rows.shape) < 0.05] = NAN
    dense = linear(columns).fit(rows)
    sparse = linear(columns, sparse_threshold=0.3).fit(rows)
    assert issparse(sparse.transform(rows))
    assert sparse.transform(rows).format == "csr"
    np.testing.assert_array_equal(sparse.transform(rows).toarray(), dense.transform(rows))
    assert sparse.get_feature_names_out().tolist() == dense.get_feature_names_out().tolist()
    assert not issparse(linear(columns, sparse_threshold=0.01).fit_transform(rows))
    assert not issparse(linear(columns[:1], sparse_threshold=0.3).fit_transform(rows[:, :1]))
    assert not issparse(TableEncoder(columns, "trees", sparse_threshold=0.3).fit_transform(rows))


@pytest.mark.parametrize("columns", [(Number("a"),), (Category("a", ("x", "y")),)], ids=["number", "category"])
@pytest.mark.parametrize("form", ["linear", "trees"])
def test_columns_of_one_kind_alone(columns, form):
    out = TableEncoder(columns, form, min_frequency=1).fit_transform([[0.0], [1.0], [1.0]])
    assert len(out) == 3
    assert len(TableEncoder(columns, form).fit([[0.0], [1.0]]).get_feature_names_out()) >= 1


@pytest.mark.parametrize("kind", ["linear", "trees"])
def test_it_works_inside_pipelines_and_searches(kind):
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.normal(size=300), rng.integers(0, 3, 300), rng.integers(0, 2, 300)])
    y = (rows[:, 1] == 2).astype(int)
    rows[rng.random(rows.shape) < 0.02] = NAN
    model = {
        "linear": LogisticRegression(),
        "trees": HistGradientBoostingClassifier(categorical_features=tree_categories(COLUMNS), max_iter=20),
    }[kind]
    pipeline = make_pipeline(TableEncoder(COLUMNS, kind), model)
    assert cross_val_score(clone(pipeline), rows, y).mean() > 0.95
    assert clone(pipeline)[0].columns == COLUMNS


def test_malformed_arguments_are_one_sentence():
    for columns in ((), "ab", None, 3):
        with pytest.raises(
            TypeError, match=r"columns must be a list of columns, as load_table returns them; got .+\.$"
        ):
            TableEncoder(columns).fit(X)
        with pytest.raises(TypeError, match="columns must be a list of columns"):
            tree_categories(columns)
    with pytest.raises(TypeError, match="columns must be of the kind Column"):
        TableEncoder(("age", "city", "ok")).fit(X)
    with pytest.raises(TypeError, match="columns must be of the kind Column"):
        tree_categories(("age", "city", "ok"))
    with pytest.raises(ValueError, match="form must be one of 'linear', 'trees'; got 'tree'"):
        TableEncoder(COLUMNS, "tree").fit(X)
    with pytest.raises(ValueError, match="X must have a feature for each of the 3 columns; got 2"):
        linear().fit(X[:, :2])
    with pytest.raises(ValueError, match="min_frequency must be at least 1"):
        linear(min_frequency=0).fit(X)
    with pytest.raises(ValueError, match="max_categories must be at most 254"):
        TableEncoder(COLUMNS, "trees", max_categories=255).fit(X)
    with pytest.raises(ValueError, match=r"sparse_threshold must be a finite number in \[0, 1\]; got 1.5"):
        linear(sparse_threshold=1.5).fit(X)
    with pytest.raises(TypeError, match="sparse_threshold must be a number"):
        linear(sparse_threshold=None).fit(X)
    with pytest.raises(ValueError, match="infinity"):
        linear().fit(np.full((3, 3), np.inf))
    with pytest.raises(ValueError, match="2 features"):
        linear().fit(X).transform(X[:, :2])


@pytest.mark.parametrize("held", [1, 5, 19])
def test_boosted_trees_cannot_split_by_fewer_values_than_a_leaf_has_rows_so_they_lose_nothing(held):
    rng = np.random.default_rng(held)
    X = rng.normal(size=(300, 2))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    X[:, 1] = np.nan
    # the few values give the label away
    X[np.flatnonzero(y)[:held], 1] = rng.normal(size=held)
    columns = (Number("a"), Number("b"))
    encoder = TableEncoder(columns, "trees", min_values=20).fit(X)
    assert encoder.empty_.tolist() == [1]
    assert not encoder.transform(X)[:, 1].any()
    trees = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    found = make_pipeline(clone(encoder), trees).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(found, clone(trees).fit(X, y).predict_proba(X))
    # of fewer values than are asked for, those of a leaf remain
    assert TableEncoder(columns, "trees", min_values=held).fit(X).empty_.tolist() == []


@pytest.mark.parametrize("kind", [Number, Truth, Date])
def test_a_column_that_is_empty_in_training_is_0_for_trees(kind):
    X = np.array([[1.0, NAN], [2.0, NAN], [NAN, NAN]])
    encoder = TableEncoder((Number("a"), kind("b")), "trees").fit(X)
    np.testing.assert_array_equal(encoder.transform([[NAN, 5.0]]), [[NAN, 0.0]])
    assert np.isnan(X[:, 1]).all()
    with pytest.raises(ValueError, match="min_values must be"):
        TableEncoder((Number("a"), kind("b")), "trees", min_values=0).fit(X)


def test_hours_and_weekdays_of_dates_are_features():
    days = np.datetime64("2024-01-01") + np.arange(28).astype("m8[D]")  # the first one is a Monday
    moments = (days.astype("M8[m]") + np.arange(28) * 47).astype(float) / 1440.0
    rows = np.column_stack([moments, np.arange(28.0)])
    rows[5, 0] = NAN
    columns = (Date("at"), Number("n"))
    trees = TableEncoder(columns, "trees").fit(rows)
    assert trees.get_feature_names_out().tolist() == ["at", "n", "at: hour", "at: weekday"]
    hour, weekday = trees.transform(rows)[:, 2:].T
    np.testing.assert_allclose(hour, np.where(np.isnan(moments := rows[:, 0]), NAN, np.arange(28) * 47 / 60 % 24))
    assert weekday[:5].tolist() == [0, 1, 2, 3, 4]
    assert np.isnan(weekday[5])
    for density in (0.0, 1.0):
        encoder = linear(columns, sparse_threshold=density).fit(rows)
        names = encoder.get_feature_names_out().tolist()
        assert names[3:6] == ["at: hour (sin)", "at: hour (cos)", "at: weekday = Monday"]
        assert len(names) == encoder.transform(rows).shape[1] == 3 + 2 + 7
        np.testing.assert_allclose(column(encoder, rows, "at: hour (cos)")[:5], np.cos(hour[:5] * np.pi / 12))
        assert column(encoder, rows, "at: weekday = Sunday").tolist() == [i % 7 == 6 for i in range(28)]
        # a gap is in no hour and on no day
        assert not encoder.transform(rows)[5, 3:].any()
    # days without times have no hour, and what is the same in all rows is left out
    weeks = np.floor(rows[:, :1])
    names = TableEncoder(columns[:1], "trees").fit(weeks).get_feature_names_out().tolist()
    assert names == ["at", "at: weekday"]
    assert TableEncoder(columns[:1], "trees").fit(weeks[::7]).get_feature_names_out().tolist() == ["at"]
    assert tree_categories((Date("at"), Category("c", ("a", "b")))) == [1]


def test_a_model_sees_what_happens_at_night():
    rng = np.random.default_rng(0)
    rows = (19723.0 + np.sort(rng.random(2000)) * 180)[:, None]
    y = (np.floor(rows[:, 0] % 1 * 24) < 5).astype(int)
    columns = (Date("at"),)
    for form, model in (("linear", LogisticRegression(C=100.0)), ("trees", HistGradientBoostingClassifier())):
        assert cross_val_score(make_pipeline(TableEncoder(columns, form), model), rows, y).mean() > 0.95
