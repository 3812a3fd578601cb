"""SetClassifierCV chooses C on held-out rows, along a path that reuses planes."""

from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_multilabel_classification
from sklearn.exceptions import InconsistentVersionWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import setwise
from estimators.test_compatibility import EXPECTED_FAILURES, OF_TWO
from orders import in_order
from rounds import rounds
from setwise import SetClassifier, SetClassifierCV
from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.decisions import best_threshold
from setwise.estimators.set_classifier_cv import beats_first, path, smallest_within_error
from setwise.estimators.set_training import CS, problem_of
from setwise.estimators.splits import folds
from setwise.learners import OneSlack
from setwise.losses import as_loss
from setwise.risks import MeanRisk, RiskWithPlanes
from setwise.surrogates import LovaszHinge, Ramp


@pytest.mark.slow
@parametrize_with_checks(
    [SetClassifierCV(SetClassifier("hamming"), Cs=[1.0], cv=2)],
    expected_failed_checks=lambda model: EXPECTED_FAILURES | {"check_class_weight_classifiers": OF_TWO},
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_compatibility(estimator, check):
    check(estimator)


def noisy(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    return in_order(X, (X @ [1.0, -1.0, 0.5, 0.0] + rng.standard_normal(n) > 0.5).astype(int))


@pytest.mark.parametrize(
    ("scores", "chosen"),
    [
        ([[0.1, 0.5, 0.4], [0.3, 0.5, 0.6]], 1),  # equal means: the smallest
        ([[0.4, 0.5, 0.6], [0.6, 0.5, 0.55]], 0),  # .5 .5 .575, and the differences vary by far more
        ([[0.4, 0.5, 0.6], [0.4, 0.5, 0.6]], 2),  # a gain without any error
        ([[0.2, 0.9, 0.1]], 1),  # one fold knows no error
        ([[0.3, 0.3], [0.3, 0.3]], 0),
    ],
)
def test_the_smallest_value_within_one_error_of_the_best_is_chosen(scores, chosen):
    assert smallest_within_error(np.array(scores)) == chosen


@pytest.mark.parametrize(
    ("gains", "beaten"),
    [
        ([0.1, 0.1, 0.1], True),  # 1 of 8 choices of signs
        ([0.1, 0.1, -0.01], False),  # 2 of 8
        ([0.1, 0.1, 0.1, 0.1, -0.01], True),  # 2 of 32
        ([0.1, 0.1, -0.2, 0.1, 0.1], False),
        ([-0.1] * 5, False),
        ([0.0] * 5, False),
        ([0.1, 0.1], True),  # two folds show nothing
        ([0.1] * 12, True),
    ],
)
def test_the_first_candidate_is_left_for_more_than_luck(gains, beaten):
    gains = np.array(gains)
    assert beats_first(np.column_stack([np.full(len(gains), 0.5), 0.5 + gains])) == beaten


def test_luck_leaves_the_first_candidate_in_one_of_six_cases():
    rng = np.random.default_rng(0)
    left = [beats_first(rng.standard_normal((5, 1)) + rng.standard_normal((5, 6))) for _ in range(2000)]
    assert 0.10 < np.mean(left) < 0.18


@pytest.mark.slow
def test_the_choice_is_made_by_the_scores_on_the_folds():
    X, y = noisy()
    Cs = [1e3, 1.0, 30.0]
    found = SetClassifierCV(SetClassifier("f1", "ramp"), Cs=Cs, cv=3).fit(X, y)
    Cs = [C for _, C in found.candidates_]
    assert found.candidates_ == (("ramp", 0.0), ("ramp", 1.0), ("ramp", 30.0), ("ramp", 1e3))
    assert found.scores_.shape == (3, 4)
    # Fits of the ramp begin at the start, so each is what fit alone gives.
    for row, (train, test) in zip(found.scores_, folds(y, None, 3, "x"), strict=True):
        alone = [SetClassifier("f1", "ramp", C=C).fit(X[train], y[train]).score(X[test], y[test]) for C in Cs]
        np.testing.assert_allclose(row, alone)
    at = smallest_within_error(found.scores_) if beats_first(found.scores_) else 0
    assert found.best_score_ == found.scores_[:, at].mean()
    assert Cs[at] == found.C_
    same = SetClassifier("f1", "ramp", C=found.C_).fit(X, y)
    np.testing.assert_array_equal(found.coef_, same.coef_)
    np.testing.assert_array_equal(found.predict(X), same.predict(X))
    assert found.score(X, y) == same.score(X, y)
    assert found.estimator_.C_ == found.C_


@pytest.mark.parametrize("surrogate", ["lovasz", "margin"])
def test_a_path_of_a_convex_surrogate_is_certified_and_takes_fewer_planes(surrogate, monkeypatch):
    X, y = noisy()
    groups, calls, cut = np.arange(300) // 10, [], MeanRisk.cut
    monkeypatch.setattr(MeanRisk, "cut", lambda self, w, tol=0.0: calls.append(1) or cut(self, w, tol))
    Cs = 10.0 ** np.arange(-1, 4, 0.5)
    model = SetClassifier("saturating", surrogate, tol=1e-4, max_iter=5000)
    along = list(path(model, [X, y, groups, None], Cs))
    warm = len(calls)
    alone = [SetClassifier(**model.get_params() | {"C": C}).fit(X, y, groups=groups) for C in Cs]
    assert warm < 0.7 * (len(calls) - warm)
    for one, other in zip(along, alone, strict=True):
        assert one.status_ == "converged"
        assert one.objective_ == pytest.approx(other.objective_, rel=1.1e-4)
        assert max(one.lower_bound_, other.lower_bound_) <= min(one.objective_, other.objective_) * (1 + 1e-12)


@pytest.mark.slow
def test_groups_stay_together_and_matrices_are_split_by_rows():
    X, y = noisy()
    groups = np.arange(300) % 30
    found = SetClassifierCV(SetClassifier("jaccard"), Cs=[1.0, 1e3], cv=3).fit(X, y, groups=groups)
    for train, test in folds(y, groups, 3, "x"):
        assert not set(groups[train]) & set(groups[test])
    assert found.score(X, y, groups=groups) > 0.3
    given = SetClassifierCV(SetClassifier("jaccard"), Cs=[1.0, 1e3], cv=GroupKFold(3)).fit(X, y, groups=groups)
    np.testing.assert_array_equal(given.scores_, found.scores_)
    X, Y = make_multilabel_classification(100, 5, n_classes=3, random_state=0)
    many = SetClassifierCV(SetClassifier("f1", threshold="exact"), Cs=[10.0, 100.0], cv=2).fit(X, Y)
    assert many.predict(X).shape == Y.shape
    labels = SetClassifierCV(SetClassifier("error_rate", "convex"), Cs=[10.0]).fit(X, Y).predict(X, return_certain=True)
    assert labels[1].shape == Y.shape


@pytest.mark.slow
def test_auto_tries_the_ramp_and_for_several_sets_the_convex_surrogate_too():
    X, y = noisy()
    groups, Cs = np.arange(300) // 10, [1.0, 100.0]
    found = {}
    for name in ("auto", "ramp", "convex"):
        found[name] = SetClassifierCV(SetClassifier("f1", name), Cs=Cs, cv=3).fit(X, y, groups)
    auto = found["auto"]
    assert auto.candidates_ == (("ramp", 0.0), ("ramp", 1.0), ("ramp", 100.0), ("convex", 1.0), ("convex", 100.0))
    assert found["convex"].candidates_ == auto.candidates_[3:]
    np.testing.assert_array_equal(auto.scores_, np.hstack([found["ramp"].scores_, found["convex"].scores_]))
    at = smallest_within_error(auto.scores_) if beats_first(auto.scores_) else 0
    assert (auto.estimator_.surrogate, auto.C_) == auto.candidates_[at]
    assert auto.best_score_ == auto.scores_[:, at].mean()
    one, ramp = (SetClassifierCV(SetClassifier("f1", name), Cs=Cs, cv=3).fit(X, y) for name in ("auto", "ramp"))
    assert one.candidates_ == auto.candidates_[:3]
    np.testing.assert_array_equal(one.coef_, ramp.coef_)
    ranked = SetClassifierCV(SetClassifier("auc"), Cs=[1.0], cv=2).fit(X, y)
    assert ranked.candidates_ == (("auto", 1.0),)
    with pytest.raises(Refusal, match=r"refuses OneSlack\(.*\), which brings its own C. Name the learner."):
        SetClassifierCV(SetClassifier("f1", learner=OneSlack()), Cs=[1.0], cv=2).fit(X, y)


@pytest.mark.slow
@pytest.mark.draw(2)
@pytest.mark.parametrize("grouped", [False, True])
def test_exact_thresholds_come_from_the_scores_that_chose_c(grouped):
    X, y = noisy()
    groups, Cs = np.arange(300) % 30 if grouped else None, np.array([0.0, 1.0, 100.0, 1e4])
    found = SetClassifierCV(SetClassifier("f1", "ramp", threshold="exact"), Cs=Cs[1:], cv=3).fit(X, y, groups)
    splits = folds(y, groups, 3, "x")
    held_out = np.zeros((4, 300))
    for train, test in splits:
        for scores, C in zip(held_out, Cs, strict=True):
            fitted = SetClassifier("f1", "ramp", C=C, start=found.estimator_.start)
            if C == 0:
                fitted = make_pipeline(StandardScaler(), clone(found.estimator_.start))
                fitted.fit(X[train], y[train])
            else:
                fitted.fit(X[train], y[train], None if groups is None else groups[train])
            scores[test] = fitted.decision_function(X[test])

    def sets(rows):
        ids = np.zeros(300, dtype=int) if groups is None else groups
        return [rows[ids[rows] == one] for one in np.unique(ids[rows])]

    def mean_f1(scores, rows, threshold):
        return np.mean([1 - as_loss("f1")(y[one] == 1, scores[one] >= threshold) for one in sets(rows)])

    def best(scores, rows):
        parts = [y[one] == 1 for one in sets(rows)]
        batch = Sets(np.concatenate(parts), np.cumsum([0, *map(len, parts)]))
        return best_threshold(batch, np.concatenate([scores[one] for one in sets(rows)]), "f1").threshold

    for row, (train, test) in zip(found.scores_, splits, strict=True):
        expected = [mean_f1(scores, test, best(scores, train)) for scores in held_out]
        np.testing.assert_allclose(row, expected)
    at = smallest_within_error(found.scores_) if beats_first(found.scores_) else 0
    assert Cs[at] == found.C_
    shift = best(held_out[at], np.arange(300))
    assert found.estimator_.threshold_ == pytest.approx(shift, abs=1e-4)
    if at:
        plain = SetClassifier("f1", "ramp", C=Cs[at], start=found.estimator_.start).fit(X, y, groups)
        np.testing.assert_allclose(found.intercept_, plain.intercept_ - shift)
    with pytest.raises(ValueError, match="split 2 tests only rows that earlier ones have tested. Use fewer splits"):
        found.set_params(cv=[(np.arange(10, 300), np.arange(1, 10)), (np.arange(10, 300), [5])]).fit(X, y, groups)
    with pytest.raises(Refusal, match=r"refuses RocArea\(\), which has none"):
        SetClassifierCV(SetClassifier("auc", threshold="exact"), Cs=[1.0]).fit(X, y)


@pytest.mark.slow
def test_splitters_pairs_and_weights():
    X, y = noisy()
    splitter = StratifiedKFold(3)
    pairs = list(splitter.split(X, y))
    a, b = (SetClassifierCV(Cs=[1.0, 1e3], cv=cv).fit(X, y) for cv in (splitter, pairs))
    np.testing.assert_array_equal(a.scores_, b.scores_)
    groups = np.arange(300) // 10
    weight = np.repeat(np.arange(30) % 3 + 1.0, 10)
    plain, weighed = (
        SetClassifierCV(SetClassifier("jaccard"), Cs=[1.0, 1e3], cv=3).fit(X, y, groups, w) for w in (None, weight)
    )
    assert (plain.scores_ != weighed.scores_).any()


@pytest.mark.parametrize(
    ("parameters", "target", "words"),
    [
        ({"Cs": []}, None, "Cs must be numbers above 0, at least one"),
        ({"Cs": [1.0, 0.0]}, None, "Cs must be numbers above 0, at least one"),
        ({"Cs": [1.0, np.nan]}, None, "Cs must be finite"),
        ({"Cs": ["a"]}, None, "Cs must hold real numbers"),
        ({"Cs": [True]}, None, "Cs must hold real numbers; got dtype bool"),
        (
            {"cv": 300},
            [0] * 120 + [1] * 180,
            r"SetClassifierCV refuses cv=300: .* the rarest has 120\. Use cv=120 at most",
        ),
        (
            {"cv": 3},
            [0] * 298 + [1] * 2,
            r"refuses cv=3: it needs 3 rows of each class, and the rarest has 2\. Use cv=2",
        ),
        ({"estimator": SetClassifier}, None, "The 'estimator' parameter of SetClassifierCV must be"),
        ({"cv": 1}, None, "The 'cv' parameter of SetClassifierCV must be an int in the range"),
        ({"cv": "five"}, None, "The 'cv' parameter of SetClassifierCV must be"),
        ({}, [0] * 299 + [1], "SetClassifierCV refuses this target: .* two rows of each class"),
        ({}, [0] * 300, "only one class"),
    ],
)
def test_what_is_refused(parameters, target, words):
    X, y = noisy()
    with pytest.raises(ValueError, match=words):
        SetClassifierCV(**parameters).fit(X, y if target is None else target)
    with pytest.raises(NotFittedError):
        SetClassifierCV().predict(X)


def test_folds_that_were_named_are_not_made_fewer():
    X, y = noisy()
    groups = np.arange(300) % 2
    with pytest.raises(ValueError, match=r"refuses cv=3: it needs 3 groups, and there are 2\. Use cv=2 at most"):
        SetClassifierCV(SetClassifier("f1"), Cs=[1.0], cv=3).fit(X, y, groups=groups)
    assert SetClassifierCV(SetClassifier("f1"), Cs=[1.0]).fit(X, y, groups=groups).scores_.shape[0] == 2
    Y = np.column_stack([y, 1 - y])[:6]
    with pytest.raises(ValueError, match=r"refuses cv=7: it needs 7 rows, and there are 6\. Use cv=6 at most"):
        SetClassifierCV(SetClassifier("f1"), Cs=[1.0], cv=7).fit(X[:6], Y)


def test_a_risk_that_remembers_is_the_same_risk():
    X, y = noisy()
    one = SetClassifier("jaccard", "lovasz")
    problem = problem_of(one, X, y, np.arange(300) // 10, None, 1.0)
    plain = problem._risk(LovaszHinge("jaccard"))[0]
    risk = RiskWithPlanes(plain)
    first = OneSlack(C=10.0, tol=1e-6).minimize(risk)
    assert risk.planes == ()
    risk.keep(first.w)
    assert 0 < len(risk.planes) <= 100
    rng = np.random.default_rng(0)
    for w in rng.standard_normal((20, 5)):
        value = plain.cut(w).value
        assert risk.cut(w).value == value
        assert max(cut.offset + cut.slope @ w for cut in risk.planes) <= value + 1e-9
    again = OneSlack(C=10.0, tol=1e-6).minimize(risk, w0=first.w)
    assert len(again.history) <= 3
    assert again.lower_bound <= first.upper_bound * (1 + 1e-12)
    np.testing.assert_array_equal(risk.cuts(first.w, np.array([1])).offsets, plain.cuts(first.w, np.array([1])).offsets)
    with pytest.raises(ValueError, match="RiskWithPlanes refuses a risk that is not convex"):
        RiskWithPlanes(problem._risk(Ramp("jaccard"))[0])


def test_a_model_of_another_version_warns_when_it_is_read():
    state = SetClassifierCV().__getstate__()
    assert state["_setwise_version"] == setwise.__version__
    with pytest.warns(InconsistentVersionWarning, match="SetClassifierCV from version setwise 9"):
        SetClassifierCV().__setstate__(state | {"_setwise_version": "9"})


@pytest.mark.draw(2)
@pytest.mark.parametrize("start", ["auto", LogisticRegression(C=0.1)])
def test_no_weight_leaves_logistic_regression_with_its_threshold(start):
    X, y = noisy()
    at_start, near = (SetClassifier("f1", "ramp", C=C, start=start).fit(X, y) for C in (0, 1e-9))
    np.testing.assert_array_equal(at_start.predict(X), near.predict(X))
    np.testing.assert_allclose(at_start.coef_, near.coef_, atol=1e-6)
    assert (at_start.C_, at_start.n_iter_, at_start.status_, at_start.objective_) == (0.0, 0, "start", 0.0)
    if start != "auto":
        slope = LogisticRegression(C=0.1).fit(StandardScaler().fit_transform(X), y).coef_ / X.std(axis=0)
        np.testing.assert_allclose(
            at_start.coef_ / np.linalg.norm(at_start.coef_), slope / np.linalg.norm(slope), atol=1e-4
        )
    convex = SetClassifier("f1", "convex", C=0, start="logistic").fit(X, y)
    np.testing.assert_array_equal(convex.predict(X), SetClassifier("f1", "ramp", C=0).fit(X, y).predict(X))
    for model in (convex, at_start):  # nothing was minimized, so nothing is certified
        assert np.isnan(model.certain_share_)
        assert np.isnan(model.duality_gap_)
        with pytest.raises(Refusal, match="return_certain refuses a model of C=0"):
            model.predict(X, return_certain=True)


@pytest.mark.parametrize(("surrogate", "start"), [("auto", "zero"), ("convex", "auto"), ("ramp", "zero")])
def test_no_weight_is_refused_where_the_start_is_empty(surrogate, start):
    X, y = noisy()
    with pytest.raises(
        ValueError, match=r"^C must be above 0 where the start is w = 0, .* got 0\. Use start='logistic'\.$"
    ):
        SetClassifier("f1", surrogate, C=0, start=start).fit(X, y)


@pytest.mark.slow
def test_with_exact_thresholds_c_0_is_logistic_regression_tuned_on_the_same_folds():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 20))
    y = (X[:, 0] + rng.standard_normal(200) > 1).astype(int)
    splits = list(StratifiedKFold(4, shuffle=True, random_state=0).split(X, y))
    found = SetClassifierCV(SetClassifier("jaccard", threshold="exact"), Cs=[1e-6], cv=splits).fit(X, y)
    tuned = []
    for weight, C in product((None, "balanced"), CS):
        one = LogisticRegression(C=C, class_weight=weight, max_iter=1000, solver="newton-cholesky")
        model = make_pipeline(StandardScaler(), one)
        scores = cross_val_predict(model, X, y, cv=splits, method="decision_function")
        tuned.append((best_threshold(y, scores, "jaccard"), model.fit(X, y)))
    best, model = min(tuned, key=lambda pair: round(pair[0].loss, 12))
    assert len({round(one.loss, 12) for one, _ in tuned}) > 1
    start = found.estimator_.start
    assert (found.C_, start.C, start.class_weight) == (0.0, model[-1].C, model[-1].class_weight)
    new = rng.standard_normal((1000, 20))
    # Another solver ends at slightly other weights.
    assert np.mean(found.predict(new) == (model.decision_function(new) >= best.threshold)) > 0.99


@pytest.mark.slow
def test_logistic_regression_stays_on_data_of_its_own_model():
    stayed = 0
    seeds = rounds(5, 2)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((600, 10))
        y = (X @ rng.standard_normal(10) + rng.logistic(size=600) > 2).astype(int)
        found = SetClassifierCV(SetClassifier("f1", threshold="exact"), Cs=[1e2, 1e4, 1e6]).fit(X, y)
        stayed += found.C_ == 0
    assert stayed == seeds


def test_a_start_of_ones_own_is_kept():
    X, y = noisy()
    mine = LogisticRegression(C=0.03)
    found = SetClassifierCV(SetClassifier("f1", threshold="exact", start=mine), Cs=[1.0], cv=3).fit(X, y)
    assert found.estimator_.start.C == 0.03
    several = SetClassifierCV(SetClassifier("f1", threshold="exact"), Cs=[10.0], cv=3).fit(X, y, np.arange(300) // 10)
    assert several.candidates_ == (("ramp", 0.0), ("ramp", 10.0), ("convex", 10.0))


@pytest.mark.parametrize("intercept", [True, False])
def test_no_weight_with_exact_thresholds_is_logistic_regression_at_the_best_cut_of_held_out_rows(intercept):
    X, y = noisy()
    start = LogisticRegression(C=0.1)
    found = SetClassifier("f1", "ramp", C=0, start=start, threshold="exact", fit_intercept=intercept).fit(X, y)
    model = make_pipeline(
        StandardScaler(with_mean=intercept), LogisticRegression(C=0.1, max_iter=1000, fit_intercept=intercept)
    )
    splits = folds(y, None, 5, "x")
    best = best_threshold(y, cross_val_predict(model, X, y, cv=splits, method="decision_function"), "f1").threshold
    scores = model.fit(X, y).decision_function(X)
    np.testing.assert_allclose(found.decision_function(X), scores - best, atol=1e-4)
