"""A bag as one row: its features by hand, the classifier of bags, its part in the choice, and what it refuses."""

import pickle
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from setwise import WeakSetClassifier
from setwise.estimators.weak import families, selection
from setwise.estimators.weak.bag_features import bag_features

PLAIN = WeakSetClassifier(LogisticRegression(), "bag_features")


@pytest.fixture(autouse=True)
def few_trees(monkeypatch):
    """A forest of 30 trees is quick; the documented number is asserted here."""
    assert families.TREES == 300
    monkeypatch.setattr(families, "TREES", 30)


def drawn(seed=0, bags=60):
    """Rows, their bags, and which bags are positive: two rows lie on two sides and not on one, which no row tells."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(bags), rng.integers(2, 6, bags))
    X, labels = rng.standard_normal((len(groups), 2)), np.arange(bags) % 2 == 0
    first = np.unique(groups, return_index=True)[1]
    side = rng.choice([-3.0, 3.0], bags)
    X[first, 0], X[first + 1, 0] = side, np.where(labels, -side, side)
    return X, groups, labels


def known(labels):
    return {"at_least": np.where(labels, 1.0, np.nan), "counts": np.where(labels, np.nan, 0.0)}


def by_hand(X, groups):
    """The features of each bag, one by one."""
    rows = []
    for b in np.unique(groups):
        part = X[groups == b]
        rows.append(
            np.concatenate([part.mean(axis=0), *(np.quantile(part, q, axis=0) for q in (0, 0.25, 0.5, 0.75, 1))])
        )
    return np.array(rows)


def offsets(groups):
    return np.concatenate(([0], np.cumsum(np.bincount(groups))))


def test_features_by_hand():
    X, groups, _ = drawn()
    found = bag_features(X, offsets(groups))
    np.testing.assert_allclose(found, by_hand(X, groups), rtol=1e-13, atol=1e-13)
    # The order of the rows of a bag changes no bit, and sparse rows are dense ones.
    order = np.lexsort((np.random.default_rng(1).random(len(X)), groups))
    np.testing.assert_array_equal(bag_features(X[order], offsets(groups)), found)
    np.testing.assert_array_equal(bag_features(csr_matrix(X), offsets(groups)), found)
    # A bag of one row is that row, six times.
    np.testing.assert_array_equal(bag_features(X, np.arange(len(X) + 1)), np.tile(X, 6))


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e308])
def test_features_that_are_not_finite_are_refused(value):
    X = np.array([[0.0], [1.0], [value], [value]])
    with pytest.raises(ValueError, match="X must be finite where bags are judged by bag_features"):
        bag_features(X, np.array([0, 2, 4]))
    with pytest.raises(ValueError, match="X must be a matrix of numbers where bags are judged by bag_features; got"):
        bag_features(X.tolist(), np.array([0, 2, 4]))


@pytest.mark.parametrize("estimator", [LogisticRegression(), GaussianNB()])
def test_an_estimator_is_fitted_to_features_of_bags(estimator):
    X, groups, labels = drawn()
    model = WeakSetClassifier(estimator, "bag_features").fit(X, groups=groups, **known(labels))
    rival = clone(estimator).fit(by_hand(X, groups), labels)
    new, new_groups, _ = drawn(1)
    p = rival.predict_proba(by_hand(new, new_groups))[:, 1]
    found = model.predict_bags(new, new_groups)
    np.testing.assert_allclose(found.at_least_one, (60 * p + 0.5) / 61, rtol=1e-6)
    assert model.bag_method_ == model.method_ == "bag_features"
    assert (model.candidates_, model.interval_, model.estimators_) == ((), None, [])
    assert model.n_features_in_ == 2
    # A row is a bag of one row.
    rows = (60 * rival.predict_proba(np.tile(new, 6))[:, 1] + 0.5) / 61
    np.testing.assert_allclose(model.predict_proba(new)[:, 1], rows, rtol=1e-6)
    np.testing.assert_array_equal(model.predict(new), rows > 0.5)
    one_by_one = model.predict_bags(new, np.arange(len(new)))
    np.testing.assert_allclose(one_by_one.at_least_one, rows, rtol=1e-6)
    np.testing.assert_array_equal(one_by_one.most_probable, rows > 0.5)
    np.testing.assert_allclose(model.objective_, -60 * model.score(X, groups=groups, **known(labels)))


def test_the_forest_is_scaled_by_bags_that_its_trees_did_not_see():
    X, groups, labels = drawn()
    labels = labels ^ (np.arange(60) % 7 == 0)
    model = WeakSetClassifier(method="bag_features", random_state=3).fit(X, groups=groups, **known(labels))
    seed = int(np.random.RandomState(3).randint(2**31 - 1))
    forest = RandomForestClassifier(30, oob_score=True, random_state=seed).fit(bag_features(X, offsets(groups)), labels)

    def odds(p):
        return logit((60 * p + 0.5) / 61)

    line = LogisticRegression(C=1e3, tol=1e-10).fit(odds(forest.oob_decision_function_[:, 1:]), labels)
    new, new_groups, truth = drawn(1)
    p = forest.predict_proba(bag_features(new, offsets(new_groups)))[:, 1:]
    found = model.predict_bags(new, new_groups).at_least_one
    np.testing.assert_allclose(logit(found), line.decision_function(odds(p)), rtol=0.02, atol=0.02)
    assert ((found > 0.5) == truth).mean() > 0.8


def test_twins_get_the_same():
    X, groups, labels = drawn()
    model = WeakSetClassifier(method="bag_features").fit(X, groups=groups, **known(labels))
    order = np.random.default_rng(0).permutation(len(X))
    found = model.predict_bags(np.concatenate([X, X[order]]), np.concatenate([groups, groups[order] + 60]))
    for values in (found.mean, found.most_probable, found.at_least_one):
        np.testing.assert_allclose(values[:60], values[60:], rtol=1e-9)
    # Neither the order of the rows of training nor that of their bags matters where a classifier has none.
    plain = clone(PLAIN).fit(X, groups=groups, **known(labels))
    again = clone(PLAIN).fit(X[order], groups=59 - groups[order], **known(labels[::-1]))
    np.testing.assert_allclose(again.decision_function(X), plain.decision_function(X), rtol=1e-3, atol=1e-3)


def test_held_out_bags_choose_it_for_bags_alone():
    X, groups, labels = drawn()
    model = WeakSetClassifier(C=1.0).fit(X, groups=groups, **known(labels))
    assert model.bag_method_ == "bag_features" != model.method_
    assert isinstance(model.bag_estimator_, RandomForestClassifier)
    assert "bag_features judges whole bags, which are more likely by" in model.choice_
    # The candidate by hand: each fold of bags in turn.
    rng = np.random.default_rng(0)
    parts, values = rng.permutation(60), np.empty(60)
    fold = rng.permutation(60) % 5
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    for f in range(5):
        rows, test = np.isin(groups, np.flatnonzero(fold != f)), np.flatnonzero(fold == f)
        part = WeakSetClassifier(method="bag_features")
        part.fit(scaled[rows], groups=groups[rows], **known(labels[fold != f]))
        found = part.predict_bags(scaled[~rows], groups[~rows]).at_least_one
        values[test] = np.log(np.where(labels[test], found, 1 - found))
    first = model.candidates_[0]
    assert (first.method, first.refusal, len(parts)) == ("bag_features", "", 60)
    np.testing.assert_allclose(
        (first.likelihood, first.error), (values.mean(), values.std(ddof=1) / 60**0.5), rtol=1e-6
    )
    # Rows are judged as if it were not there.
    alone = WeakSetClassifier(method=model.method_, C=1.0).fit(X, groups=groups, **known(labels))
    np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))
    assert model.interval_ == alone.interval_
    new, new_groups, truth = drawn(1)
    assert ((model.predict_bags(new, new_groups).at_least_one > 0.5) == truth).mean() > 0.95
    np.testing.assert_allclose(
        model.predict_bags(csr_matrix(new), new_groups).at_least_one, model.predict_bags(new, new_groups).at_least_one
    )
    stored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(stored.predict_bags(new, new_groups).mean, model.predict_bags(new, new_groups).mean)


def test_linear_rows_judge_bags_where_they_are_as_good():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(80), 4)
    y = (rng.random(320) < 0.2).astype(int)
    X = rng.standard_normal((320, 3)) + 6 * y[:, None]
    model = WeakSetClassifier(C=1.0).fit(X, groups=groups, **known(np.bincount(groups, y) > 0))
    assert model.bag_method_ == model.method_ != "bag_features"
    assert f"{model.method_} also judges whole bags, which are more likely by -" in model.choice_
    assert model.bag_estimator_ is None
    rows = expit(-model.decision_function(X)).reshape(80, 4)
    np.testing.assert_allclose(model.predict_bags(X, groups).at_least_one, 1 - rows.prod(axis=1))


def test_numbers_and_scores_as_enumeration_has_them():
    X, groups, labels = drawn(bags=16)
    model = clone(PLAIN).fit(X, groups=groups, **known(labels))
    found, p = model.predict_bags(X, groups), model.predict_proba(X)[:, 1]
    scores = {"counts": [], "at_least": [], "between": []}
    for b in range(16):
        q, part = found.at_least_one[b], p[groups == b]
        labelings = np.array(list(product((0, 1), repeat=len(part))))
        of_count = np.bincount(labelings.sum(axis=1), np.where(labelings, part, 1 - part).prod(axis=1))
        of_count = np.append(1 - q, q * of_count[1:] / of_count[1:].sum())
        np.testing.assert_allclose(found.mean[b], of_count @ np.arange(len(of_count)))
        assert found.most_probable[b] == of_count.argmax()
        scores["counts"].append(np.log(of_count[b % 3]))
        scores["at_least"].append(np.log(of_count[1 + b % 2 :].sum()))
        scores["between"].append(np.log(of_count[b % 2 : 3].sum() if b % 2 or len(of_count) > 3 else np.nan))
    b = np.arange(16)
    given = {"counts": b % 3, "at_least": 1 + b % 2, "between": np.column_stack([b % 2, np.full(16, 2)])}
    for name, values in given.items():
        np.testing.assert_allclose(model.score(X, groups=groups, **{name: values}), np.nanmean(scores[name]))


KNOWN_OTHERWISE = {
    "counts": ({"counts": np.arange(60) % 2}, "bag_features needs bags of which it is known whether they have a"),
    "two": ({"at_least": np.where(np.arange(60) % 2, 2, np.nan), "counts": np.where(np.arange(60) % 2, np.nan, 0)},
            "bag_features needs bags of which it is known whether they have a positive row, and nothing else"),
    "one kind": ({"at_least": 1}, "bag_features needs bags with and bags without positive rows; all of them are of"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:WeakSetClassifier stopped", "ignore:the bags show no signal")
@pytest.mark.parametrize(("values", "words"), KNOWN_OTHERWISE.values(), ids=KNOWN_OTHERWISE)
@pytest.mark.parametrize("estimator", [None, LogisticRegression()])
def test_it_is_refused_where_something_else_is_known(estimator, values, words):
    X, groups, _ = drawn()
    with pytest.raises(ValueError, match=f"method must be another one here: {words}"):
        WeakSetClassifier(estimator, "bag_features").fit(X, groups=groups, **values)
    model = WeakSetClassifier(estimator, C=1.0, max_iter=3).fit(X, groups=groups, **values)
    last = model.candidates_[-1]
    assert (last.method, last.likelihood, last.error) == ("bag_features", -np.inf, 0)
    assert last.refusal.startswith(words)
    assert all(not one.refusal for one in model.candidates_[:-1])
    assert model.bag_method_ == model.method_
    assert "bag_features" not in model.choice_


@pytest.mark.filterwarnings("ignore:the bags show no signal")
def test_labels_of_rows_sparse_rows_and_three_classes_are_refused():
    X, groups, labels = drawn()
    y = np.where(np.arange(len(X)) == 0, 1, -1)
    for rows, target, words in ((X, y, "labels of rows are known"), (csr_matrix(X), None, "X is sparse")):
        model = WeakSetClassifier(C=1.0).fit(rows, target, groups=groups, **known(labels))
        assert words in model.candidates_[-1].refusal
        with pytest.raises(ValueError, match=words):
            clone(PLAIN).fit(rows, target, groups=groups, **known(labels))
    three = np.eye(3, dtype=int)[np.arange(60) % 3]
    first = np.unique(groups, return_index=True)[1]
    with pytest.raises(ValueError, match="method must be another one than 'bag_features', which is for two classes"):
        clone(PLAIN).fit(X[first], groups=np.arange(60), counts=three)


@pytest.mark.filterwarnings("ignore:WeakSetClassifier stopped", "ignore:the bags show no signal")
def test_rows_that_only_the_estimator_reads_leave_it_out():
    X, groups, labels = drawn()
    X[5, 1] = np.nan
    trees = HistGradientBoostingClassifier(max_iter=5)
    for rows, words in ((X, "X must be finite"), (pd.DataFrame(X), "X must be a matrix of numbers")):
        model = WeakSetClassifier(trees, max_iter=2).fit(rows, groups=groups, **known(labels))
        assert words in model.candidates_[-1].refusal
        assert model.predict_bags(rows, groups).at_least_one.shape == (60,)
    with pytest.raises(ValueError, match="NaN"):
        clone(PLAIN).fit(X, groups=groups, **known(labels))
    # What was fitted to finite rows refuses others, and does not guess.
    X[5, 1] = 0.0
    model = WeakSetClassifier(trees, "bag_features").fit(X, groups=groups, **known(labels))
    X[5, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.predict_bags(X, groups)


@pytest.mark.filterwarnings("ignore:the bags show no signal")
def test_a_fold_may_leave_one_kind_of_bags():
    X, groups, _ = drawn(bags=6)
    labels = np.arange(6) == 0
    model = WeakSetClassifier(C=1.0, cv=6).fit(X, groups=groups, **known(labels))
    likelihood = next(one.likelihood for one in model.candidates_ if one.method == "bag_features")
    assert -np.inf < likelihood < 0


def test_ctrl_c_in_the_model_of_bags_keeps_that_of_rows(monkeypatch):
    X, groups, labels = drawn()
    full = WeakSetClassifier(C=1.0).fit(X, groups=groups, **known(labels))
    fitted, left = families.BagFeatureFamily.fitted, [5]

    def stopped(*arguments):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return fitted(*arguments)

    monkeypatch.setattr(selection.BagFeatureFamily, "fitted", stopped)
    model = WeakSetClassifier(C=1.0)
    with pytest.warns(RuntimeWarning, match="before the interval"), pytest.raises(KeyboardInterrupt):
        model.fit(X, groups=groups, **known(labels))
    np.testing.assert_array_equal(model.coef_, full.coef_)
    assert model.bag_method_ == model.method_ == full.method_
    with pytest.raises(KeyboardInterrupt):
        WeakSetClassifier(method="bag_features").fit(X, groups=groups, **known(labels))
