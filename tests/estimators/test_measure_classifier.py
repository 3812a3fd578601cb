"""MeasureClassifier as users of scikit-learn meet it: names, tables, label kinds, groups, label matrices, routing."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, GroupKFold, TunedThresholdClassifierCV, cross_val_score
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from setwise import MeasureClassifier, SetClassifier
from setwise.core.exceptions import Refusal
from setwise.decisions import bagged_threshold, threshold_curve
from setwise.estimators.selection import SingleThreshold
from setwise.losses import FBeta, Jaccard

FAST = ["as_it_is", "threshold"]

OF_FOLDS = "rows of weight 0 take part in the folds"


EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": OF_FOLDS,
    "check_sample_weight_equivalence_on_sparse_data": OF_FOLDS,
}


@parametrize_with_checks(
    # Whether other measures and thresholds fail these checks depends on their small data, which versions of
    # scikit-learn change. Few resamples take a third of the time.
    [MeasureClassifier(strategies=["as_it_is", SingleThreshold(n_resamples=10)])],
    expected_failed_checks=lambda model: EXPECTED_FAILURES,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_scikit_learn_compatibility(estimator, check):
    check(estimator)


@pytest.fixture
def rare():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3))
    y = (X @ [1.0, -1.0, 0.5] + rng.logistic(size=500) > 2.5).astype(int)
    return X, y


@pytest.mark.slow
def test_the_names_of_tuned_threshold_classifier_cv(rare):
    X, y = rare
    model = MeasureClassifier(LogisticRegression(), strategies="threshold", store_cv_results=True).fit(X, y)
    tuned = TunedThresholdClassifierCV(LogisticRegression(), scoring="f1", store_cv_results=True).fit(X, y)
    for name in ("estimator_", "best_threshold_", "best_score_", "cv_results_", "classes_", "n_features_in_"):
        assert isinstance(getattr(tuned, name), type(getattr(model, name))), name
    assert set(model.cv_results_) == set(tuned.cv_results_)
    assert set(tuned.get_params(deep=False)) - set(model.get_params(deep=False)) == {"scoring", "thresholds"}
    np.testing.assert_array_equal(model.predict_proba(X), model.estimator_.predict_proba(X))
    predicted = model.predict_proba(X)[:, 1] >= model.best_threshold_
    np.testing.assert_array_equal(model.predict(X), predicted.astype(int))
    assert model.score(X, y) == pytest.approx(f1_score(y, predicted))
    # The best of all cut points is at least as good as any threshold on the same scores.
    assert model.cv_results_["scores"].max() >= tuned.cv_results_["scores"].max() - 0.05
    assert model.candidates_[0].loss == pytest.approx(1 - model.best_score_)
    assert len(pd.DataFrame(model.candidates_)) == 1


def test_prefit_tunes_the_model_that_is_given(rare):
    X, y = rare
    base = LogisticRegression().fit(X[:250], y[:250])
    before = base.coef_.copy()
    model = MeasureClassifier(base, strategies=FAST, cv="prefit", refit=False).fit(X[250:], y[250:])
    assert model.estimator_ is base
    np.testing.assert_array_equal(base.coef_, before)
    if model.best_strategy_ == "threshold":
        scores = base.predict_proba(X[250:])[:, 1]
        assert model.best_threshold_ == bagged_threshold(y[250:], scores, FBeta()).threshold
    for settings in ({"cv": "prefit"}, {"refit": False}):
        with pytest.raises(ValueError, match="refit must be"):
            MeasureClassifier(base, **settings).fit(X, y)
    with pytest.raises(ValueError, match="estimator must be a fitted classifier"):
        MeasureClassifier(cv="prefit", refit=False).fit(X, y)
    with pytest.raises(ValueError, match=r"y must hold the labels \[0, 1\]"):
        MeasureClassifier(base, cv="prefit", refit=False).fit(X, np.where(y, "a", "b"))


def test_a_threshold_that_is_set_by_hand_counts(rare):
    X, y = rare
    for strategy in ("threshold", "ramp", "class_weight"):
        model = MeasureClassifier(LogisticRegression(), strategies=[strategy], cv=3).fit(X, y)
        scores = model.predict_proba(X)[:, 1]
        for at in (0.07, 0.6, 0, np.inf, -np.inf):
            model.best_threshold_ = at
            assert model.best_threshold_ == at
            for held in (model, pickle.loads(pickle.dumps(model))):
                np.testing.assert_array_equal(held.predict(X), scores >= at)
                assert held.score(X, y) == pytest.approx(f1_score(y, scores >= at))
    before = model.fit(X, y).rule_
    for wrong, error in ((np.nan, ValueError), ("0.3", TypeError), (None, TypeError), ([0.1, 0.2], TypeError)):
        with pytest.raises(error, match="best_threshold_ must be a"):
            model.best_threshold_ = wrong
        assert model.rule_ is before
    assert not hasattr(clone(model), "best_threshold_")
    with pytest.raises(NotFittedError):
        clone(model).best_threshold_ = 0.3


def test_thresholds_of_a_label_matrix_that_are_set_by_hand_count(rare):
    X, y = rare
    Y = np.column_stack([y, 1 - y, X[:, 0] > 0]).astype(int)
    model = MeasureClassifier(LogisticRegression(), "jaccard", strategies=["threshold"], cv=3).fit(X, Y)
    scores = model.predict_proba(X)
    for at in (0.4, [0.1, 0.7, np.inf]):
        model.best_threshold_ = at
        np.testing.assert_array_equal(model.predict(X), scores >= np.array(at))
    with pytest.raises(TypeError, match="best_threshold_ must be a"):
        model.best_threshold_ = [0.1, 0.2]


@pytest.mark.slow
def test_scores_of_either_method_and_either_positive_label(rare):
    X, y = rare
    names = np.where(y == 1, "sick", "well")
    for base in (LinearSVC(), RidgeClassifier(), LogisticRegression(), DecisionTreeClassifier(max_depth=3)):
        for positive in ("sick", "well"):
            model = MeasureClassifier(base, strategies="threshold", pos_label=positive).fit(X, names)
            truth = (names == positive).astype(int)
            assert list(model.classes_) == ["sick", "well"]
            own = clone(base).fit(X, names)
            raw = own.predict_proba(X) if hasattr(own, "predict_proba") else own.decision_function(X)
            scores = raw[:, int(positive == "well")] if raw.ndim == 2 else raw * (1 if positive == "well" else -1)
            expected = scores >= model.best_threshold_
            np.testing.assert_array_equal(model.predict(X) == positive, expected)
            assert model.score(X, names) == pytest.approx(f1_score(truth, expected))
    assert not hasattr(MeasureClassifier(LinearSVC()), "predict_proba")
    assert hasattr(MeasureClassifier(LinearSVC()), "decision_function")
    with pytest.raises(ValueError, match="has no method predict_proba"):
        MeasureClassifier(LinearSVC(), response_method="predict_proba").fit(X, y)


@pytest.mark.slow
def test_the_table_goes_to_the_estimator_untouched(rare):
    X, y = rare
    rng = np.random.default_rng(1)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table.loc[::7, "b"] = np.nan
    table["kind"] = pd.Categorical(rng.choice(["x", "y"], len(y)))
    boosted = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=20)
    model = MeasureClassifier(boosted, strategies=FAST).fit(table, pd.Series(y))
    assert list(model.feature_names_in_) == ["a", "b", "c", "kind"]
    assert set(model.predict(table)) <= {0, 1}
    table["kind"] = table["kind"].astype(object)
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude=float)), remainder="passthrough"
    )
    pipeline = make_pipeline(encode, HistGradientBoostingClassifier(max_iter=20))
    model = MeasureClassifier(pipeline, strategies=FAST).fit(table, y)
    assert model.predict(table).shape == y.shape
    lists = MeasureClassifier(strategies=FAST).fit(X.tolist(), y.tolist())
    np.testing.assert_array_equal(lists.predict(X.tolist()), MeasureClassifier(strategies=FAST).fit(X, y).predict(X))
    assert MeasureClassifier(strategies=FAST).fit(csr_matrix(X), y).predict(csr_matrix(X)).shape == y.shape


def test_tags_come_from_the_estimator():
    for base in (HistGradientBoostingClassifier(), LogisticRegression(), KNeighborsClassifier()):
        tags = MeasureClassifier(base).__sklearn_tags__()
        assert tags.input_tags == base.__sklearn_tags__().input_tags
        assert tags.classifier_tags.multi_class
        assert tags.classifier_tags.multi_label


def test_the_html_shows_the_estimator_inside():
    html = MeasureClassifier(make_pipeline(StandardScaler(), LinearSVC()))._repr_html_()
    assert "LinearSVC" in html
    assert "StandardScaler" in html


def test_clone_pickle_and_repeated_fits(rare):
    X, y = rare
    model = MeasureClassifier(strategies=FAST, loss=Jaccard(), random_state=3)
    first, second = clone(model).fit(X, y), clone(model).fit(X, y)
    assert first.candidates_ == second.candidates_
    again = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(again.predict(X), first.predict(X))
    assert len(pickle.dumps(first)) < 30_000


@pytest.mark.slow
def test_groups_are_sets(rare):
    X, y = rare
    groups = np.repeat([f"bag {i}" for i in range(50)], 10)
    model = MeasureClassifier(strategies=FAST).fit(X, y, groups=groups)
    by_hand = [
        1 - f1_score(y[groups == g], model.predict(X)[groups == g], zero_division=1.0) for g in np.unique(groups)
    ]
    assert model.score(X, y, groups=groups) == pytest.approx(1 - np.mean(by_hand))
    with pytest.warns(UserWarning, match="score without groups takes all rows as one set"):
        model.score(X, y)
    order = np.random.default_rng(0).permutation(len(y))
    shuffled = MeasureClassifier(strategies=FAST, cv=GroupKFold(5)).fit(X[order], y[order], groups=groups[order])
    assert shuffled.score(X[order], y[order], groups=groups[order]) > 0.3


@pytest.mark.slow
def test_the_prediction_of_a_row_depends_on_this_row_alone(rare):
    X, y = rare
    model = MeasureClassifier().fit(X, y)
    np.testing.assert_array_equal(model.predict(X[:7]), model.predict(X)[:7])
    np.testing.assert_array_equal(np.concatenate([model.predict(row[None]) for row in X[:7]]), model.predict(X)[:7])


@pytest.fixture
def many(rare):
    X, _ = rare
    rng = np.random.default_rng(2)
    return X, (X @ rng.standard_normal((3, 4)) + rng.logistic(size=(len(X), 4)) > 1.0).astype(int)


BASES = [
    LogisticRegression(), LinearSVC(), HistGradientBoostingClassifier(max_iter=5), RandomForestClassifier(10),
    KNeighborsClassifier(), RidgeClassifier(), make_pipeline(StandardScaler(), LogisticRegression()),
    DecisionTreeClassifier(max_depth=3), ClassifierChain(LogisticRegression()),
    make_pipeline(StandardScaler(), MultiOutputClassifier(LogisticRegression())),
]  # fmt: skip


@pytest.mark.draw(6)
@pytest.mark.parametrize("base", BASES, ids=lambda base: type(base).__name__)
def test_label_matrices_over_any_classifier(base, many):
    X, Y = many
    model = MeasureClassifier(base, strategies=[*FAST, "label_thresholds"], cv=3).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    by_hand = f1_score(Y, model.predict(X), average="samples", zero_division=1.0)
    assert model.score(X, Y) == pytest.approx(by_hand)


@pytest.mark.parametrize("base", [MultiOutputClassifier(LogisticRegression()), ClassifierChain(LogisticRegression())])
def test_a_fold_without_both_values_of_a_label_is_told(base):
    X, Y = np.arange(12.0).reshape(6, 2), np.array([[0, 1], [0, 0], [1, 1], [0, 0], [0, 1], [0, 0]])
    says = "cannot be fitted to . of the 6 rows, where the label in column 0 has one value only: give more rows, or"
    with pytest.raises(ValueError, match=f"{type(base).__name__} {says} leave out that label"):
        MeasureClassifier(base, "f1").fit(X, Y)


@pytest.mark.parametrize("base", [MultiOutputClassifier(LogisticRegression()), ClassifierChain(LogisticRegression())])
def test_what_is_fitted_to_matrices_alone_refuses_one_label(base, rare):
    with pytest.raises(Refusal, match=r"refuses y of shape \(\d+,\): it is fitted to label matrices"):
        MeasureClassifier(make_pipeline(StandardScaler(), base), strategies=FAST).fit(*rare)


class MisshapenClassifier(ClassifierMixin, BaseEstimator):
    """Answers in arrays of other shapes than the rows and classes ask for."""

    def __init__(self, scores=(0, 2), lost=0):
        self.scores = scores
        self.lost = lost

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.zeros(len(X) - self.lost, int)

    def predict_proba(self, X):
        return np.full((len(X) - self.scores[0], self.scores[1]), 0.5)


@pytest.mark.parametrize("matrix", [False, True])
@pytest.mark.parametrize(
    ("base", "words"),
    [
        (
            MisshapenClassifier((0, 3)),
            r"MisshapenClassifier.predict_proba must give an array of shape \(250, 2\) or \(250,\); got \(250, 3\)",
        ),
        (MisshapenClassifier((0, 1)), r"MisshapenClassifier.predict_proba must .* got \(250, 1\)"),
        (MisshapenClassifier((1, 2)), r"MisshapenClassifier.predict_proba must .* got \(249, 2\)"),
        (MisshapenClassifier(lost=1), r"MisshapenClassifier.predict must .* got \(249,\)"),
    ],
)
def test_answers_of_another_shape_are_refused(base, words, matrix, rare, many):
    X, y = many if matrix else rare
    with pytest.raises(ValueError, match=words):
        MeasureClassifier(base, strategies=FAST, cv=2).fit(X, y)


@pytest.mark.parametrize("answer", [np.full((500, 3), 0.5), [np.full((500, 2), 0.5)] * 3, [np.full((500, 3), 0.5)] * 4])
def test_answers_for_other_labels_than_those_of_a_matrix_are_refused(answer, many, monkeypatch):
    X, Y = many
    model = RandomForestClassifier(2, random_state=0).fit(X, Y)
    monkeypatch.setattr(model, "predict", lambda X: Y)
    monkeypatch.setattr(model, "predict_proba", lambda X: answer)
    with pytest.raises(ValueError, match=r"RandomForestClassifier.predict_proba must .* got "):
        MeasureClassifier(model, strategies=FAST, cv="prefit", refit=False).fit(X, Y)


@pytest.mark.draw(3)
@pytest.mark.parametrize("average", ["samples", "macro", "micro"])
def test_averages_of_a_label_matrix(average, many):
    X, Y = many
    model = MeasureClassifier(average=average, strategies=[*FAST, "label_thresholds"]).fit(X, Y)
    expected = f1_score(Y, model.predict(X), average=average, zero_division=1.0)
    assert model.score(X, Y) == pytest.approx(expected)
    named = pd.DataFrame(Y, columns=list("abcd"))
    assert list(clone(model).fit(X, named).classes_) == list("abcd")


def test_labels_with_few_positives_are_warned_of_where_each_has_its_threshold():
    rng = np.random.default_rng(0)
    Y = np.column_stack([rng.random((600, 2)) < [0.6, 0.04], np.arange(600) % 100 == 0])
    X = Y + 0.6 * rng.standard_normal(Y.shape)
    model = MeasureClassifier(average="macro", strategies=["label_thresholds"], random_state=0)
    with pytest.warns(UserWarning, match="1 of 3 labels have fewer than 10 positives") as told:
        model.fit(X, Y)
    assert model.best_strategy_ == "label_thresholds"
    assert told[0].filename == __file__
    model.set_params(average="micro").fit(X, Y)


def test_constant_labels_of_a_matrix(many):
    X, Y = many
    Y = np.column_stack([Y, np.zeros(len(Y), int), np.ones(len(Y), int)])
    for base in (LogisticRegression(), LinearSVC(), RandomForestClassifier(10, random_state=0)):
        model = MeasureClassifier(base, strategies=FAST, cv=3).fit(X, Y)
        assert not model.predict(X)[:, 4].any()
        assert model.predict(X)[:, 5].all()


def test_matrices_with_groups_are_split_by_them(many):
    X, Y = many
    groups = np.repeat(np.arange(25), 20)
    model = MeasureClassifier(strategies=FAST, cv=GroupKFold(5)).fit(X, Y, groups=groups)
    assert model.predict(X).shape == Y.shape


@pytest.mark.slow
def test_weights_reach_the_estimator(rare):
    X, y = rare
    weight = np.where(y == 1, 5.0, 1.0)
    for base, inner in (
        (LogisticRegression(), LogisticRegression()),
        (make_pipeline(LogisticRegression()), LogisticRegression()),
        (GridSearchCV(LogisticRegression(), {"C": [1.0]}), LogisticRegression()),
    ):
        model = MeasureClassifier(base, strategies=FAST).fit(X, y, sample_weight=weight)
        expected = inner.fit(X, y, sample_weight=weight).predict_proba(X)
        np.testing.assert_allclose(model.predict_proba(X), expected)
    with pytest.raises(Refusal, match="sample_weight cannot be given to KNeighborsClassifier"):
        MeasureClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=weight)
    with pytest.raises(ValueError, match="sample_weight must be finite, not negative"):
        MeasureClassifier().fit(X, y, sample_weight=-weight)


def test_metadata_routing(rare):
    X, y = rare
    groups, weight = np.repeat(np.arange(50), 10), np.where(y == 1, 5.0, 1.0)
    with config_context(enable_metadata_routing=True):
        base = LogisticRegression().set_fit_request(sample_weight=True)
        model = MeasureClassifier(base, strategies=FAST).set_fit_request(groups=True, sample_weight=True)
        model.set_score_request(groups=True, sample_weight=True).set_predict_request(groups=False)
        assert model.fit(X, y, groups=groups, sample_weight=weight).estimator_.intercept_ > -2.0
        scores = cross_val_score(model, X, y, cv=GroupKFold(3), params={"groups": groups, "sample_weight": weight})
        assert np.isfinite(scores).all()
        # What was not asked for does not get there.
        for base in (
            LogisticRegression().set_fit_request(sample_weight=False),
            LogisticRegression(),
            make_pipeline(LogisticRegression().set_fit_request(sample_weight=False)),
        ):
            with pytest.raises(Refusal, match=f"cannot be given to {type(base).__name__}, which does not request it: "):
                MeasureClassifier(base, strategies=FAST).fit(X, y, sample_weight=weight)
        with pytest.raises(
            Refusal, match="cannot be given to KNeighborsClassifier, whose fit takes no weights. Leave it"
        ):
            MeasureClassifier(KNeighborsClassifier()).fit(X, y, sample_weight=weight)
    plain = MeasureClassifier(LogisticRegression(), strategies=FAST)
    with pytest.warns(UserWarning, match=r"do not reach MeasureClassifier\.(fit|score)"):
        cross_val_score(plain, X, y, cv=GroupKFold(3), groups=groups)


class GroupRecorder(LogisticRegression):
    """Logistic regression that keeps the groups that reach its fit."""

    def fit(self, X, y, sample_weight=None, groups=None):
        self.heard_ = groups
        if groups is not None:
            # the first feature tells from which group a row is
            np.testing.assert_array_equal([f"bag {int(x)}" for x in X[:, 0]], groups)
        return super().fit(X, y, sample_weight)


@pytest.mark.slow
@pytest.mark.draw(2)
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_groups_reach_a_search_inside_that_splits_by_them(rare, n_jobs):
    X, y = rare
    groups = np.repeat(np.arange(50), 10)
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=GroupKFold(2))
        expected = clone(search).fit(X, y, groups=groups).cv_results_["mean_test_score"]
        for base in (search, make_pipeline(search)):
            model = MeasureClassifier(base, strategies=["threshold"], cv=2, outer_cv=2, n_jobs=n_jobs)
            model.fit(X, y, groups=groups)
            inner = model.estimator_ if base is search else model.estimator_[-1]
            np.testing.assert_array_equal(inner.cv_results_["mean_test_score"], expected)


@pytest.mark.slow
@pytest.mark.draw(2)
@pytest.mark.parametrize("matrix", [False, True])
def test_groups_reach_a_base_that_requests_them_and_no_other(rare, matrix):
    X, y = rare
    groups = pd.Series([f"bag {i // 10}" for i in range(500)], index=np.arange(500)[::-1])
    X = np.column_stack([np.arange(500) // 10, X])
    target = np.column_stack([y, 1 - y]) if matrix else y

    def fitted(base, **more):
        model = MeasureClassifier(base, strategies=["threshold"], cv=2).fit(X, target, groups=groups, **more).estimator_
        return model.estimators_[0] if matrix else model

    # Without routing nothing but X and y arrives.
    assert fitted(GroupRecorder()).heard_ is None
    with config_context(enable_metadata_routing=True):
        both = GroupRecorder().set_fit_request(groups=True, sample_weight=True)
        assert len(fitted(both).heard_) == 500
        assert len(fitted(both, sample_weight=np.ones(500)).heard_) == 500
        assert len(fitted(make_pipeline(both), sample_weight=np.ones(500))[-1].heard_) == 500
        assert fitted(GroupRecorder().set_fit_request(groups=False)).heard_ is None
        assert fitted(make_pipeline(GroupRecorder().set_fit_request(groups=False)))[-1].heard_ is None
        assert fitted(LogisticRegression()).n_features_in_ == X.shape[1]
        weighted = MeasureClassifier(
            GroupRecorder().set_fit_request(groups=True, sample_weight=True), strategies=["class_weight"]
        )
        assert matrix or len(weighted.fit(X, target, groups=groups).estimator_.heard_) == 500
        with pytest.raises(UnsetMetadataPassedError, match=r"\[groups\] are passed but are not explicitly set"):
            fitted(GroupRecorder())
        # A fitted model needs no groups.
        ready = GroupRecorder().fit(X, y)
        prefit = MeasureClassifier(ready, strategies=["threshold"], cv="prefit", refit=False)
        assert prefit.fit(X, y, groups=groups).estimator_ is ready


def test_ctrl_c_keeps_the_best_of_what_was_tried(rare, monkeypatch):
    X, y = rare
    from setwise.estimators.selection.strategies import OwnPrediction

    def interrupted(self, evidence, task):
        raise KeyboardInterrupt

    monkeypatch.setattr(OwnPrediction, "tune", interrupted)
    model = MeasureClassifier(strategies=FAST)
    with pytest.warns(RuntimeWarning, match="interrupted; it has the best"), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.best_strategy_ == "threshold"
    assert model.predict(X).shape == y.shape


def test_a_fit_that_fails_leaves_the_model_as_it_was(rare):
    X, y = rare
    model = MeasureClassifier(strategies=FAST).fit(X, y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.zeros(len(y)))
    assert vars(model) == before


@pytest.mark.slow
def test_the_gain_comes_from_outer_folds(rare):
    X, y = rare
    model = MeasureClassifier(strategies=FAST, outer_cv=3).fit(X, y)
    assert model.gain_interval_[0] <= model.gain_ <= model.gain_interval_[1]
    assert not hasattr(model.set_params(outer_cv=None).fit(X, y), "gain_")


def test_constant_scores_and_perfect_scores(rare):
    X, y = rare
    constant = MeasureClassifier(DummyClassifier(strategy="prior"), strategies=FAST, loss="f1").fit(X, y)
    # The best labeling by constant scores is all positive.
    assert constant.predict(X).all()
    assert constant.best_score_ == pytest.approx(f1_score(y, np.ones_like(y)))
    perfect = MeasureClassifier(DecisionTreeClassifier(), strategies=FAST).fit(y[:, None], y)
    assert perfect.score(y[:, None], y) == 1.0


@pytest.mark.slow
def test_a_search_over_the_parameters_of_the_estimator(rare):
    X, y = rare
    search = GridSearchCV(
        MeasureClassifier(LogisticRegression(), strategies=FAST, cv=3), {"estimator__C": [0.01, 1.0]}, cv=2
    )
    assert search.fit(X, y).best_score_ > 0.2
    calibrated = CalibratedClassifierCV(LogisticRegression(), cv=2)
    assert MeasureClassifier(calibrated, strategies=FAST, cv=2).fit(X, y).predict_proba(X).shape == (500, 2)
    assert MeasureClassifier(Perceptron(), strategies=FAST).fit(X, y).score(X, y) > 0.0


def test_cv_results_are_the_curve_of_the_scores(rare):
    X, y = rare
    model = MeasureClassifier(LogisticRegression(), strategies="threshold", store_cv_results=True).fit(X, y)
    thresholds, scores = model.cv_results_["thresholds"], model.cv_results_["scores"]
    assert len(thresholds) == len(scores) == len(threshold_curve(y, model.predict_proba(X)[:, 1], FBeta())[0])
    assert (np.diff(thresholds) < 0).all()
    assert scores.max() >= model.best_score_


@pytest.mark.draw(3)
@pytest.mark.parametrize("strategy", ["decision", "class_weight", "ramp"])
def test_safe_saving_holds_only_ours(rare, strategy, tmp_path):
    skops = pytest.importorskip("skops.io")
    X, y = rare
    model = MeasureClassifier(LogisticRegression(), strategies=[strategy]).fit(X, y)
    skops.dump(model, tmp_path / "model.skops")
    unknown = skops.get_untrusted_types(file=tmp_path / "model.skops")
    assert all(name.startswith("setwise.") for name in unknown)
    loaded = skops.load(tmp_path / "model.skops", trusted=unknown)
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.candidates_ == model.candidates_


def test_losses_are_named_as_on_the_command_line_and_in_scikit_learn():
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    with pytest.raises(ValueError, match="there is no loss 'f1_scor'; use f1_score"):
        MeasureClassifier(loss="f1_scor").fit(X, y)
    with pytest.raises(ValueError, match="refuses RocArea"):
        MeasureClassifier(loss="roc_auc").fit(X, y)
    base = LogisticRegression()
    named, meant = (MeasureClassifier(base, loss, cv=3, random_state=0).fit(X, y) for loss in ("f2", FBeta(2.0)))
    assert named.best_threshold_ == meant.best_threshold_
    assert MeasureClassifier(base, f1_score, cv=3).fit(X, y).score(X, y) >= 0.5
    with pytest.raises(ValueError, match="there is no loss 'jacard'; use jaccard"):
        SetClassifier(loss="jacard").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="'loss' parameter of SetClassifier must be"):
        SetClassifier(loss=3).fit([[0.0], [1.0]], [0, 1])


def test_surrogates_are_listed_in_order():
    words = "must be a str among {'auto', 'convex', 'lovasz', 'margin', 'multilabel_hinge', 'ramp', 'slack'} or an"
    with pytest.raises(ValueError, match=re.escape(words)):
        SetClassifier(surrogate="typo").fit([[0.0]], [0])
