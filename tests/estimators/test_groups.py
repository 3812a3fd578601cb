"""Groups of rows are sets, wherever they come from, and are not dropped in silence."""

import numpy as np
import pytest
from sklearn import set_config
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setwise import SetClassifier


def test_groups_in_any_order_of_rows_give_the_same_fit(bags):
    X, y, groups = bags
    shuffle = np.random.default_rng(1).permutation(len(y))
    a = SetClassifier(C=10).fit(X, y, groups=groups)
    b = SetClassifier(C=10).fit(X[shuffle], y[shuffle], groups=groups[shuffle])
    np.testing.assert_allclose(a.objective_, b.objective_, rtol=3e-3)
    assert a.score(X, y, groups=groups) == pytest.approx(a.score(X[shuffle], y[shuffle], groups=groups[shuffle]))
    assert list(a.classes_) == ["healthy", "sick"]
    assert set(a.predict(X)) <= {"healthy", "sick"}


def test_rows_keep_their_order_inside_a_group(bags):
    X, y, groups = bags
    interleaved = np.argsort(np.arange(len(y)) % 10, kind="stable")
    a = SetClassifier("early_detection", "convex", C=10).fit(X, y, groups=groups)
    b = SetClassifier("early_detection", "convex", C=10).fit(X[interleaved], y[interleaved], groups=groups[interleaved])
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-9)


def test_one_set_groups_and_matrix_agree_where_they_are_the_same_problem():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((40, 2)), rng.random(40) < 0.4
    y[:2] = [True, False]
    one = SetClassifier(surrogate="convex", C=5).fit(X, y)
    grouped = SetClassifier(surrogate="convex", C=5).fit(X, y, groups=np.zeros(40))
    np.testing.assert_allclose(one.coef_, grouped.coef_)
    hamming = SetClassifier("hamming", surrogate="convex", C=5, tol=1e-8).fit(X, y, groups=np.arange(40))
    twice = SetClassifier("hamming", surrogate="convex", C=5, tol=1e-8).fit(X, np.column_stack([y, ~y]))
    np.testing.assert_allclose(twice.coef_, [hamming.coef_[0], -hamming.coef_[0]], atol=1e-3)


@pytest.mark.slow
def test_pipeline_grid_search_and_cross_validation_route_groups(bags):
    X, y, groups = bags
    set_config(enable_metadata_routing=True)
    try:
        model = SetClassifier().set_fit_request(groups=True).set_score_request(groups=True)
        pipeline = make_pipeline(StandardScaler(), model)
        search = GridSearchCV(pipeline, {"setclassifier__C": [1.0, 30.0]}, cv=GroupKFold(3), error_score="raise")
        search.fit(X, y, groups=groups)
        assert search.best_score_ > 0.3
        scores = cross_val_score(pipeline, X, y, cv=GroupKFold(3), params={"groups": groups}, error_score="raise")
        assert scores.shape == (3,)
    finally:
        set_config(enable_metadata_routing=False)


@pytest.mark.filterwarnings("ignore:groups split the rows here")
def test_dropped_groups_are_said(bags):
    X, y, groups = bags
    with pytest.warns(UserWarning, match="groups split the rows here but do not reach SetClassifier.fit"):
        cross_val_score(SetClassifier(C=10), X, y, groups=groups, cv=GroupKFold(3))
    with pytest.warns(UserWarning, match="do not reach SetClassifier.fit, which takes all rows as one set. Let them"):
        GridSearchCV(SetClassifier(), {"C": [1.0, 10.0]}, cv=GroupKFold(3)).fit(X, y, groups=groups)
    model = SetClassifier(C=10).fit(X, y, groups=groups)
    with pytest.warns(UserWarning, match="score without groups takes all rows as one set, but fit was given groups"):
        model.score(X, y)


@pytest.mark.slow
def test_dropped_groups_are_said_in_processes(bags):
    X, y, groups = bags
    with pytest.warns(UserWarning, match="groups split the rows here but do not reach SetClassifier.fit"):
        cross_val_score(SetClassifier(C=10), X, y, groups=groups, cv=GroupKFold(3), n_jobs=2)
