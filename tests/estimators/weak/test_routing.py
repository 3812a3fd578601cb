"""Metadata routing of scikit-learn: pipelines that are tuned by bags, and classifiers that are wrapped."""

import warnings

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setwise import WeakSetClassifier


@pytest.fixture(scope="module")
def discs():
    """Rows in bags, positive inside a circle, their labels, the bag of each, and the numbers of positives by bag."""
    rng = np.random.default_rng(0)
    X, groups = rng.uniform(-2, 2, (240, 2)), np.repeat(np.arange(30), 8)
    y = ((X**2).sum(axis=1) < 1.5).astype(int)
    return X, y, groups, np.bincount(groups, y).astype(int)


def pipeline(**names):
    """A kernel map and linear log-odds, which request what is named."""
    weak = WeakSetClassifier(method="count_likelihood", C=1.0)
    if names:
        weak.set_fit_request(**{name: to for name, to in names.items() if name != "sample_weight"})
        weak.set_score_request(**names)
    return make_pipeline(StandardScaler(), Nystroem(n_components=20, random_state=0), weak)


def by_hand(X, y, groups, counts, C, train, test):
    """The score of a fold without routing."""
    *maps, weak = (step for _, step in pipeline().steps)
    parts, known = (X[train], X[test]), dict(enumerate(counts.tolist()))
    for one in maps:
        one = clone(one).fit(parts[0])
        parts = one.transform(parts[0]), one.transform(parts[1])
    labels = (None, None) if y is None else (y[train], y[test])
    weak = clone(weak).set_params(C=C).fit(parts[0], labels[0], groups=groups[train], counts=known)
    return weak.score(parts[1], labels[1], groups=groups[test], counts=known)


@pytest.mark.draw(4)
@pytest.mark.parametrize("form", ["mapping", "by row"])
@pytest.mark.parametrize("labeled", [False, True])
def test_a_pipeline_is_tuned_by_bags(discs, form, labeled):
    X, y, groups, counts = discs
    some, Cs = np.where(np.arange(240) % 4 == 0, y, -1) if labeled else None, [0.01, 1.0]
    folds = list(GroupKFold(3).split(X, None, groups))
    expected = np.array([[by_hand(X, some, groups, counts, C, *fold) for fold in folds] for C in Cs])
    assert np.isfinite(expected).all()
    assert (expected[0] != expected[1]).any()
    with config_context(enable_metadata_routing=True):
        model = pipeline(groups=True, counts=True)
        params = {"groups": groups, "counts": dict(enumerate(counts.tolist())) if form == "mapping" else counts[groups]}
        search = GridSearchCV(model, {"weaksetclassifier__C": Cs}, cv=GroupKFold(3), error_score="raise")
        search.fit(X, some, **params)
        crossed = cross_val_score(model, X, some, params=params, cv=GroupKFold(3), error_score="raise")
    found = np.transpose([search.cv_results_[f"split{fold}_test_score"] for fold in range(3)])
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(crossed, expected[1])
    assert search.best_params_ == {"weaksetclassifier__C": Cs[expected.mean(axis=1).argmax()]}


def test_weights_of_rows_are_routed_to_the_score(discs):
    X, y, groups, counts = discs
    weight = np.arange(240.0)
    with config_context(enable_metadata_routing=True):
        model = pipeline(groups=True, counts=True, sample_weight=True)
        model.fit(X, groups=groups, counts=counts)
        found = model.score(X, y, sample_weight=weight)
        right = model.predict(X) == y
        assert found == pytest.approx(np.average(right, weights=weight))
        assert found != right.mean()
        with pytest.raises(ValueError, match="sample_weight must be None where score is given no known label in y"):
            model.score(X, groups=groups, counts=counts, sample_weight=weight)
    plain = pipeline().fit(X, weaksetclassifier__groups=groups, weaksetclassifier__counts=counts)
    assert plain.score(X, y, sample_weight=weight) == pytest.approx(found)


LOGISTIC = LogisticRegression()


@pytest.mark.draw(3)
@pytest.mark.parametrize(
    "estimator",
    [
        LOGISTIC,
        KNeighborsClassifier(15),
        make_pipeline(StandardScaler(), LOGISTIC),
        make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), LOGISTIC)),
        CalibratedClassifierCV(LOGISTIC, cv=2),
        AdaBoostClassifier(n_estimators=3, random_state=0),
        BaggingClassifier(LOGISTIC, 3, random_state=0),
        VotingClassifier([("one", LOGISTIC), ("other", LogisticRegression(C=0.1))], voting="soft"),
        StackingClassifier([("one", LOGISTIC)], LOGISTIC, cv=2),
        GridSearchCV(LOGISTIC, {"C": [0.1, 1.0]}, cv=2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_routing_changes_nothing_for_a_wrapped_classifier(discs, estimator):
    X, y, groups, counts = discs
    X = np.column_stack([X, 5 * y + np.sin(np.arange(240))])
    model = WeakSetClassifier(estimator, "count_likelihood", max_iter=3)
    found = []
    for routing in (False, True):
        with config_context(enable_metadata_routing=routing), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = clone(model).fit(X, groups=groups, counts=counts)
            found.append(fitted.predict_proba(X)[:, 1])
    np.testing.assert_array_equal(*found)
    assert ((found[0] > 0.5) == y).mean() > 0.85
