"""MeasureClassifier of more than two classes."""

import pickle

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    balanced_accuracy_score,
    cohen_kappa_score,
    f1_score,
    fbeta_score,
    log_loss,
    make_scorer,
    matthews_corrcoef,
)
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from setwise import MeasureClassifier
from setwise.core.exceptions import Refusal
from setwise.estimators.selection import (
    CLASS_STRATEGIES,
    CalibratedCost,
    CalibratedMultipliers,
    ClassMultipliers,
    LeastExpectedCost,
)
from setwise.estimators.selection.several_classes import ClassCalibration, centered_logs
from setwise.losses import CohenKappa, CostMatrix, MeanOverClasses, MetricLoss

COSTS = np.array([[0.0, 1.0, 2.0, 2.0], [5.0, 0.0, 1.0, 1.0], [9.0, 1.0, 0.0, 1.0], [20.0, 9.0, 5.0, -1.0]])


@pytest.fixture(scope="module")
def rows():
    X, y = make_classification(
        6000, 20, n_informative=10, n_classes=4, weights=[0.7, 0.18, 0.08, 0.04], n_clusters_per_class=1,
        class_sep=0.8, random_state=1, flip_y=0.05,
    )  # fmt: skip
    y = np.array(list("dbca"))[y]
    return X[:3000], y[:3000], X[3000:], y[3000:]


MEASURES = {
    "f1": lambda y, h: f1_score(y, h, average="macro"),
    "f1_weighted": lambda y, h: f1_score(y, h, average="weighted"),
    "mcc": matthews_corrcoef,
    "kappa": cohen_kappa_score,
    "balanced_accuracy": balanced_accuracy_score,
}


@pytest.mark.parametrize("loss", MEASURES)
def test_the_score_is_that_of_scikit_learn_and_the_choice_is_out_of_fold(rows, loss):
    X, y, new, truth = rows
    model = MeasureClassifier(LogisticRegression(max_iter=500), loss, random_state=0).fit(X, y)
    assert model.score(new, truth) == pytest.approx(MEASURES[loss](truth, model.predict(new)))
    first, *_, costs, _ = model.candidates_
    assert [one.strategy for one in model.candidates_] == list(CLASS_STRATEGIES)
    assert costs.refusal == "least_cost refuses this loss: it is for CostMatrix and for accuracy."
    # The loss of the reference is that of the out-of-fold labels, by hand.
    folds = model._folds(_problem(X, y, loss), int(np.random.RandomState(0).randint(2**31 - 1)))
    guess = np.empty_like(y)
    for train, test in folds:
        guess[test] = LogisticRegression(max_iter=500).fit(X[train], y[train]).predict(X[test])
    assert 1.0 - first.loss == pytest.approx(MEASURES[loss](y, guess))
    assert model.best_score_ == pytest.approx(1.0 - min(one.loss for one in model.candidates_ if one.chosen))


def _problem(X, y, loss):
    from setwise.estimators.selection.problem import problem_of
    from setwise.losses import as_loss

    return problem_of(X, y, as_loss(loss))


def by_hand(model, X):
    """The labels of multipliers with or without calibration."""
    q, rule = model.predict_proba(X), model.rule_
    logs = np.log(np.maximum(q, 1e-12))
    if rule.calibration is not None:
        logs = np.log(np.maximum(q, 1e-6))
        logs = (logs - logs.mean(axis=1, keepdims=True)) @ rule.calibration.matrix + rule.calibration.constants
    return model.classes_[(logs + rule.offsets).argmax(axis=1)]


def test_multipliers_gain_macro_f1_on_new_rows(rows):
    X, y, new, truth = rows
    model = MeasureClassifier(LogisticRegression(max_iter=500), random_state=0).fit(X, y)
    assert model.best_strategy_ in ("class_multipliers", "calibrated_multipliers")
    argmax = f1_score(truth, model.estimator_.predict(new), average="macro")
    assert f1_score(truth, model.predict(new), average="macro") > argmax + 0.02
    np.testing.assert_array_equal(model.predict(new), by_hand(model, new))
    assert model.best_threshold_ is None
    with pytest.raises(ValueError, match="cannot be set for more than two classes"):
        model.best_threshold_ = 0.3
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(new), model.predict(new))


def test_a_matrix_of_costs_decides_by_least_expected_cost(rows):
    X, y, new, truth = rows
    model = MeasureClassifier(
        LogisticRegression(max_iter=500), CostMatrix(COSTS), [LeastExpectedCost()], random_state=0
    ).fit(X, y)
    classes = ["a", "b", "c", "d"]
    places = [classes.index(one) for one in truth]
    by_hand = (model.predict_proba(new) @ COSTS).argmin(axis=1)
    assert model.best_strategy_ == "least_cost"
    np.testing.assert_array_equal(model.predict(new), np.array(classes)[by_hand])
    assert model.score(new, truth) == pytest.approx(-COSTS[places, by_hand].mean())
    argmax = model.predict_proba(new).argmax(axis=1)
    assert model.score(new, truth) > -COSTS[places, argmax].mean()


@pytest.mark.parametrize("weighted", [False, True])
def test_the_calibration_is_penalized_multinomial_logistic_regression(weighted):
    """Without a penalty it is that of scikit-learn; any other matrix near it has a larger objective."""
    rng = np.random.default_rng(0)
    n, k = 200, 3
    truth = np.append(np.arange(k), rng.integers(0, k, n - k))
    q = rng.dirichlet(np.ones(k), n) + 0.5 * np.eye(k)[truth]
    q /= q.sum(axis=1, keepdims=True)
    w = rng.integers(0, 4, n).astype(float) if weighted else np.ones(n)
    s = centered_logs(q)

    def objective(matrix, constants, shrinkage):
        rest = log_loss(truth, softmax(s @ matrix + constants, axis=1), sample_weight=w) * n
        return rest + 0.5 * shrinkage * ((matrix - np.eye(k)) ** 2).sum()

    free = ClassCalibration.of(q, truth, w, 1e-6)
    by_hand = LogisticRegression(C=1e9, tol=1e-8, max_iter=5000).fit(s, truth, sample_weight=w)
    np.testing.assert_allclose(np.exp(free.logs(q)), by_hand.predict_proba(s), atol=2e-3)
    for shrinkage in (0.1, 10.0):
        found = ClassCalibration.of(q, truth, w, shrinkage)
        least = objective(found.matrix, found.constants, shrinkage)
        for _ in range(50):
            step = 0.02 * rng.normal(size=(k + 1, k))
            assert objective(found.matrix + step[:k], found.constants + step[k], shrinkage) > least
    np.testing.assert_allclose(ClassCalibration.of(q, truth, w, 1e9).matrix, np.eye(k), atol=1e-6)


def test_calibration_repairs_probabilities_of_confused_classes(rows):
    X, y, new, _ = rows

    class Confused(LogisticRegression):
        """It says half of the probability of each class for the next one."""

        def predict_proba(self, X):
            q = super().predict_proba(X)
            return 0.45 * q + 0.55 * np.roll(q, 1, axis=1)

    for loss, before, after in (
        ("f1", ClassMultipliers(), CalibratedMultipliers()),
        (CostMatrix(COSTS), LeastExpectedCost(), CalibratedCost()),
    ):
        model = MeasureClassifier(Confused(max_iter=500), loss, [before, after], random_state=0).fit(X, y)
        assert model.candidates_[2].loss < model.candidates_[1].loss - 0.02
        assert model.best_strategy_ == after.name
        if loss == "f1":
            np.testing.assert_array_equal(model.predict(new), by_hand(model, new))
        else:
            logs = np.log(np.maximum(model.predict_proba(new), 1e-6))
            logs = (logs - logs.mean(axis=1, keepdims=True)) @ model.rule_.calibration.matrix
            q = softmax(logs + model.rule_.calibration.constants, axis=1)
            np.testing.assert_array_equal(model.predict(new), model.classes_[(q @ COSTS).argmin(axis=1)])
        without = MeasureClassifier(LinearSVC(), loss, [after], cv=3, random_state=0).fit(X, y)
        assert without.candidates_[1].refusal.startswith(f"{after.name} needs probabilities")
        with pytest.raises(ValueError, match="shrinkage must be"):
            type(after)(shrinkage=0.0)


def test_many_rows_are_calibrated_by_some_of_them(monkeypatch, rows):
    X, y, *_ = rows
    monkeypatch.setattr("setwise.estimators.selection.several_classes.CALIBRATION_ROWS", 1000)
    weights = np.random.default_rng(0).random(len(y))
    model = MeasureClassifier(LogisticRegression(max_iter=500), strategies=[CalibratedMultipliers()], random_state=0)
    model.fit(X, y, sample_weight=weights)
    assert model.candidates_[1].gain > 0


def test_one_class_against_the_rest(rows):
    X, y, new, truth = rows
    model = MeasureClassifier(LogisticRegression(max_iter=500), "f1", pos_label="a", random_state=0).fit(X, y)
    assert model.score(new, truth) == pytest.approx(f1_score(truth == "a", model.predict(new) == "a"))


def test_weights_of_rows_are_repeated_rows_in_the_score(rows):
    X, y, new, truth = rows
    times = np.random.default_rng(0).integers(0, 3, len(truth))
    weights = np.random.default_rng(1).random(len(y))
    model = MeasureClassifier(LogisticRegression(max_iter=500), random_state=0).fit(X, y, sample_weight=weights)
    repeated = model.score(np.repeat(new, times, axis=0), np.repeat(truth, times))
    assert model.score(new, truth, sample_weight=times) == pytest.approx(repeated)


def test_groups_are_sets_whose_losses_have_a_mean(rows):
    X, y, new, truth = rows
    groups = np.arange(len(y)) // 100
    model = MeasureClassifier(LogisticRegression(max_iter=500), "accuracy", random_state=0).fit(X, y, groups=groups)
    found = [float(np.mean(model.predict(new)[groups == g] == truth[groups == g])) for g in range(30)]
    assert model.score(new, truth, groups=groups) == pytest.approx(np.mean(found))
    assert "refuses groups" in model.candidates_[1].refusal


def test_splitters_searches_and_rare_classes(rows):
    X, y, new, truth = rows
    rare = y.copy()
    rare[:2] = "z"
    with_rare = MeasureClassifier(LogisticRegression(max_iter=500), random_state=0).fit(X, rare)
    assert with_rare.classes_.tolist() == ["a", "b", "c", "d", "z"]
    later = MeasureClassifier(LogisticRegression(max_iter=500), cv=TimeSeriesSplit(4), random_state=0).fit(X, y)
    assert np.isfinite(later.candidates_[1].loss)
    pipe = make_pipeline(StandardScaler(), MeasureClassifier(LogisticRegression(max_iter=500), cv=3, random_state=0))
    search = GridSearchCV(pipe, {"measureclassifier__estimator__C": [0.1, 1.0]}, scoring="f1_macro", cv=3).fit(X, y)
    assert search.score(new, truth) > 0.4
    assert len(cross_val_score(MeasureClassifier(LinearSVC(), cv=3), X, y, scoring="f1_macro", cv=3)) == 3
    prefit = MeasureClassifier(
        LogisticRegression(max_iter=500).fit(X, y), cv="prefit", refit=False, random_state=0
    ).fit(new, truth)
    assert prefit.score(new, truth) > f1_score(truth, prefit.estimator_.predict(new), average="macro")


def test_the_gain_is_that_of_outer_folds(rows):
    X, y, *_ = rows
    model = MeasureClassifier(LogisticRegression(max_iter=500), cv=3, outer_cv=3, random_state=0).fit(X, y)
    assert model.gain_interval_[0] < model.gain_ < model.gain_interval_[1]
    assert model.gain_ > 0


def test_a_checkpoint_gives_the_same_fit(rows, tmp_path):
    X, y, new, _ = rows
    before = None
    for resume in (False, True):
        model = MeasureClassifier(RandomForestClassifier(10, random_state=0), cv=3, random_state=0)
        model.fit(X, y, checkpoint=tmp_path / "fit.npz", resume=resume)
        if resume:
            np.testing.assert_array_equal(model.predict(new), before)
        before = model.predict(new)


def test_scorers_and_texts(rows):
    X, y, *_ = rows
    for loss, expected in (
        ("f1_macro", "MeanOverClasses(FBeta(beta=1.0, zero_division=1.0))"),
        (make_scorer(f1_score, average="weighted"), repr(MeanOverClasses("f1", "support"))),
        ("f1_micro", "ErrorRate()"), ("kappa:quadratic", "CohenKappa('quadratic')"),
        (make_scorer(fbeta_score, beta=0.5), "FBeta(beta=0.5, zero_division=1.0)"),
    ):  # fmt: skip
        model = MeasureClassifier(LogisticRegression(max_iter=500), loss, strategies=["as_it_is"], cv=3).fit(X, y)
        assert repr(model.loss_) == expected
    assert CohenKappa("quadratic") == CohenKappa(weights="quadratic")


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (fbeta_score, {"beta": 0.5, "average": "macro"}),
        (fbeta_score, {"beta": 2, "average": "weighted"}),
        (fbeta_score, {"beta": 2, "average": "micro"}),
        (cohen_kappa_score, {"weights": "linear"}),
        (cohen_kappa_score, {"weights": "quadratic"}),
        (cohen_kappa_score, {"weights": None}),
    ],
)
def test_scorers_with_parameters_are_losses_of_the_same_value(rows, function, given):
    X, y, new, truth = rows
    scorer = make_scorer(function, **given)
    for few in (np.ones(len(y), bool), np.isin(y, ["a", "b"])):
        model = MeasureClassifier(LogisticRegression(max_iter=500), scorer, ["as_it_is"], cv=3).fit(X[few], y[few])
        seen = np.isin(truth, model.classes_)
        assert not isinstance(model.loss_, MetricLoss)
        expected = function(truth[seen], model.predict(new[seen]), **given)
        assert model.score(new[seen], truth[seen]) == pytest.approx(expected)


def test_macro_f1_of_two_classes(rows):
    X, y, new, truth = rows
    two, test = np.isin(y, ["a", "b"]), np.isin(truth, ["a", "b"])
    model = MeasureClassifier(LogisticRegression(max_iter=500), "f1_macro", random_state=0).fit(X[two], y[two])
    found = f1_score(truth[test], model.predict(new[test]), average="macro")
    assert model.score(new[test], truth[test]) == pytest.approx(found)


def test_refusals(rows):
    X, y, *_ = rows
    for model, match in (
        (MeasureClassifier(loss="auc"), "it measures scores"),
        (
            MeasureClassifier(loss=make_scorer(balanced_accuracy_score, adjusted=True)),
            "no loss stands for this function with adjusted=True, and functions are for two classes",
        ),
        (
            MeasureClassifier(loss=make_scorer(fbeta_score, beta=2, average="macro", zero_division=0)),
            "this function with beta=2, average='macro', zero_division=0, and functions are for two classes",
        ),
        (
            MeasureClassifier(loss=lambda t, p: 0.0),
            "no loss stands for this function, and functions are for two classes",
        ),
        (MeasureClassifier(loss=make_scorer(fbeta_score)), "fbeta_score needs beta"),
        (MeasureClassifier(loss="zero_one"), "it is no function of the confusion matrix"),
        (MeasureClassifier(store_cv_results=True), "store_cv_results must be False for more than two classes"),
        (MeasureClassifier(loss=CostMatrix([[0, 1], [1, 0]])), "a row and a column for each class, 4; got 2"),
        (MeasureClassifier(pos_label="q"), "pos_label must be one of the labels"),
    ):
        with pytest.raises(ValueError, match=match):
            model.fit(X, y)
    with pytest.raises(Refusal, match="use RowCosts"):
        MeasureClassifier(loss=CostMatrix([[0, 1], [1, 0]])).fit(X, y == "a")
    threshold = MeasureClassifier(LogisticRegression(max_iter=500), strategies=["threshold"]).fit(X, y)
    assert threshold.candidates_[1].refusal.startswith("threshold refuses more than two classes")
    two = MeasureClassifier(LogisticRegression(max_iter=500), strategies=[ClassMultipliers()]).fit(X, y == "a")
    assert two.candidates_[1].refusal.startswith("class_multipliers refuses two classes")
    model = MeasureClassifier(LogisticRegression(max_iter=500), strategies=["as_it_is"]).fit(X, y)
    with pytest.raises(ValueError, match="y must hold the labels"):
        model.score(X, np.where(y == "a", "q", y))
