"""The checks of scikit-learn, metadata routing, saving, Ctrl-C, and failed fits."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from setwise import WeakSetClassifier
from setwise.estimators.weak import problem, selection

UNKNOWN = "-1 marks unknown labels, as for the semi-supervised classifiers that this check leaves out by name"


@parametrize_with_checks(
    [WeakSetClassifier()],
    expected_failed_checks=lambda _: {"check_classifiers_classes": UNKNOWN},
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_compatibility(estimator, check):
    check(estimator)


@pytest.fixture
def bags():
    """Rows in bags, the bag of each, and the numbers of positives, by bag and by row."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(30), 8)
    y = (rng.random(240) < rng.beta(0.8, 1.2, 30)[groups]).astype(int)
    X = rng.standard_normal((240, 2)) + y[:, None] * [2, -1]
    return X, y, groups, np.bincount(groups, y).astype(int)


def test_text_labels_are_classes(bags):
    # What the check above would have seen.
    X, y, *_ = bags
    names = np.array(["one", "two"])
    model = WeakSetClassifier().fit(X, names[y])
    assert model.classes_.tolist() == ["one", "two"]
    assert set(model.predict(X)) == {"one", "two"}
    np.testing.assert_array_equal(model.predict(X), names[clone(model).fit(X, y).predict(X)])


@pytest.mark.draw(2)
@pytest.mark.parametrize("form", ["mapping", "by row"])
def test_routed_values_reach_fit_and_score(bags, form):
    X, _, groups, counts = bags
    values = dict(enumerate(counts.tolist())) if form == "mapping" else counts[groups]
    with config_context(enable_metadata_routing=True):
        model = WeakSetClassifier(method="count_likelihood")
        model.set_fit_request(groups=True, counts=True).set_score_request(groups=True, counts=True)
        params = {"groups": groups, "counts": values}
        scores = cross_val_score(model.set_params(C=1.0), X, None, cv=GroupKFold(3), params=params)
        assert scores.shape == (3,)
        assert (scores < 0).all()
        search = GridSearchCV(model, {"C": [1e-4, 1.0]}, cv=GroupKFold(3)).fit(X, None, **params)
    assert search.best_params_ == {"C": 1.0}
    expected = []
    for train, test in GroupKFold(3).split(X, None, groups):
        part = clone(model).set_params(C=1.0).fit(X[train], groups=groups[train], counts=dict(enumerate(counts)))
        expected.append(part.score(X[test], groups=groups[test], counts=dict(enumerate(counts))))
    np.testing.assert_allclose(scores, expected)


def test_values_by_bag_do_not_fit_a_part_of_the_rows(bags):
    X, _, groups, counts = bags
    part = groups < 20
    with pytest.raises(ValueError, match="a mapping from ids, or an array with one value for each of 20 bags or 160"):
        WeakSetClassifier().fit(X[part], groups=groups[part], counts=counts)


def test_groups_that_do_not_reach_fit_are_told(bags):
    X, y, groups, _ = bags
    with pytest.warns(UserWarning, match="groups split the rows here but do not reach WeakSetClassifier"):
        cross_val_score(WeakSetClassifier(C=1.0), X, y, cv=GroupKFold(3), groups=groups)


@pytest.mark.slow
@pytest.mark.draw(2)
@pytest.mark.parametrize("estimator", [None, LogisticRegression()])
def test_saving_keeps_everything(bags, tmp_path, monkeypatch, estimator):
    skops = pytest.importorskip("skops.io")
    X, _, groups, counts = bags
    model = WeakSetClassifier(estimator).fit(X, groups=groups, counts=counts)
    skops.dump(model, tmp_path / "model.skops")
    unknown = skops.get_untrusted_types(file=tmp_path / "model.skops")
    assert all(name.startswith("setwise.") for name in unknown)
    loaded = skops.load(tmp_path / "model.skops", trusted=unknown)
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    assert loaded.candidates_ == model.candidates_
    assert loaded.interval_ == model.interval_
    stored = pickle.dumps(model)
    np.testing.assert_array_equal(pickle.loads(stored).predict(X), model.predict(X))
    monkeypatch.setattr("setwise.__version__", "99.0")
    with pytest.warns(InconsistentVersionWarning, match="when using version setwise 99.0"):
        pickle.loads(stored)


def interrupted_at(monkeypatch, evaluations):
    """Let Ctrl-C come after so many evaluations of an objective; returns a list with the number that is left."""
    left, original = [evaluations], problem._BagObjective.__call__

    def call(self, w):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return original(self, w)

    monkeypatch.setattr(problem._BagObjective, "__call__", call)
    return left


@pytest.mark.parametrize(("evaluations", "method"), [(3, "soft_labels"), (60, "soft_labels")])
def test_ctrl_c_leaves_the_best_model_so_far(bags, monkeypatch, evaluations, method):
    X, y, groups, counts = bags
    model = WeakSetClassifier()
    interrupted_at(monkeypatch, evaluations)
    with (
        pytest.warns(RuntimeWarning, match="WeakSetClassifier was interrupted"),
        pytest.raises(KeyboardInterrupt),
    ):
        model.fit(X, groups=groups, counts=counts)
    assert model.status_ == "interrupted"
    assert model.method_ == method
    assert model.interval_ is None
    assert (model.predict(X) == y).mean() > 0.8


def test_ctrl_c_in_the_last_fit_keeps_its_weights(bags, monkeypatch):
    X, _, groups, counts = bags
    whole = WeakSetClassifier(method="count_likelihood", C=1.0)
    left = interrupted_at(monkeypatch, 1000)
    full = clone(whole).fit(X, groups=groups, counts=counts)
    left[0] = 1000 - left[0] - 2
    model = clone(whole)
    with pytest.warns(RuntimeWarning, match="these are the best weights so far"), pytest.raises(KeyboardInterrupt):
        model.fit(X, groups=groups, counts=counts)
    assert model.method_ == "count_likelihood"
    assert full.objective_ <= model.objective_ < np.inf


@pytest.mark.parametrize("part", ["Posterior", "calibrated", "fit_smooth"])
def test_ctrl_c_between_the_fits_of_an_alternation_keeps_the_last(bags, monkeypatch, part):
    X, y, groups, counts = bags

    class InterruptedCall:
        def __init__(self, *_, **__):
            raise KeyboardInterrupt

    monkeypatch.setattr(f"setwise.estimators.weak.methods.{part}", InterruptedCall)
    model = WeakSetClassifier(method="alternation", C=1.0)
    with pytest.warns(RuntimeWarning, match="WeakSetClassifier was interrupted"), pytest.raises(KeyboardInterrupt):
        model.fit(X, groups=groups, counts=counts)
    assert model.status_ == "interrupted"
    assert (model.predict(X) == y).mean() > 0.8


def test_ctrl_c_in_the_search_of_the_threshold_keeps_the_model(bags, monkeypatch):
    X, _, groups, counts = bags
    full = WeakSetClassifier(method="count_likelihood", C=1.0).fit(X, groups=groups, counts=counts)

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("setwise.estimators.weak.weak_set_classifier.threshold_for", stop)
    model = WeakSetClassifier(method="count_likelihood", C=1.0, loss="f1")
    with pytest.warns(RuntimeWarning, match="before the threshold for .* was found"), pytest.raises(KeyboardInterrupt):
        model.fit(X, groups=groups, counts=counts)
    np.testing.assert_array_equal(model.coef_, full.coef_)
    np.testing.assert_array_equal(model.predict(X), full.predict(X))


def test_ctrl_c_before_the_first_step_keeps_the_start(bags, monkeypatch):
    X, _, groups, counts = bags
    model = WeakSetClassifier(method="proportion_loss", C=1.0)
    interrupted_at(monkeypatch, 0)
    with pytest.warns(RuntimeWarning, match="WeakSetClassifier was interrupted"), pytest.raises(KeyboardInterrupt):
        model.fit(X, groups=groups, counts=counts)
    np.testing.assert_array_equal(model.coef_, 0.0)


def test_ctrl_c_after_the_fit_keeps_it(bags, monkeypatch):
    X, _, groups, counts = bags
    model = WeakSetClassifier(method="count_likelihood", C=1.0)
    full = clone(model).fit(X, groups=groups, counts=counts)

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(selection, "interval_of", stop)
    with pytest.warns(RuntimeWarning, match="after the fit of the weights"), pytest.raises(KeyboardInterrupt):
        model.fit(X, groups=groups, counts=counts)
    np.testing.assert_array_equal(model.coef_, full.coef_)
    assert model.interval_ is None


class InterruptedClassifier(LogisticRegression):
    """A classifier in whose n-th fit Ctrl-C comes."""

    fits = 0
    last = 3

    def fit(self, X, y, sample_weight=None):
        type(self).fits += 1
        if type(self).fits > type(self).last:
            raise KeyboardInterrupt
        return super().fit(X, y, sample_weight)


@pytest.mark.parametrize("last", [0, 3])
def test_ctrl_c_in_the_fits_of_a_classifier(bags, last):
    X, _, groups, counts = bags
    InterruptedClassifier.fits, InterruptedClassifier.last = 0, last
    model = WeakSetClassifier(InterruptedClassifier(), "count_likelihood")
    if last == 0:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, groups=groups, counts=counts)
        assert not hasattr(model, "classes_")
        return
    with pytest.warns(RuntimeWarning, match="the last classifier that was fitted"), pytest.raises(KeyboardInterrupt):
        model.fit(X, groups=groups, counts=counts)
    assert model.n_iter_ == 3
    assert model.predict_proba(X).shape == (240, 2)


def test_a_failed_fit_changes_nothing(bags):
    X, _, groups, counts = bags
    model = WeakSetClassifier(method="count_likelihood", C=1.0).fit(X, groups=groups, counts=counts)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="counts must hold whole numbers"):
        model.fit(X[:, :1], groups=groups, counts=9)
    assert vars(model) == before
    with pytest.raises(ValueError, match="The 'method' parameter of WeakSetClassifier"):
        clone(model).set_params(method="magic").fit(X, groups=groups, counts=counts)


@pytest.mark.slow
def test_random_state_repeats_a_fit(bags):
    X, _, groups, counts = bags
    found = [
        WeakSetClassifier(C=1.0, random_state=state).fit(X, groups=groups, counts=counts).candidates_
        for state in (None, 0, 3, 3, np.random.RandomState(3))
    ]
    assert found[2] == found[3] == found[4]
    assert found[2] != found[1]
