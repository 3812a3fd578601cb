"""Floors of one class of several."""

import pickle
import re

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.model_selection import PredefinedSplit

from rounds import rounds
from setwise import MeasureClassifier
from setwise.compare import FlooredThreshold, NamedLoss, Plan, Problem, compare
from setwise.core.exceptions import Refusal
from setwise.decisions import UnmetFloor, class_offsets
from setwise.decisions.class_offsets import floored_offset
from setwise.decisions.confusion import class_loss
from setwise.decisions.task import Task
from setwise.estimators.selection.base_models import Response
from setwise.estimators.selection.floors import FlooredClass
from setwise.losses import FBeta

NAMES = np.array(["mild", "none", "severe"])
PRIOR = np.array([0.3, 0.6, 0.1])


class Known(ClassifierMixin, BaseEstimator):
    """Rows are their own scores."""

    classes_ = NAMES

    def fit(self, X, y):
        return self

    def __sklearn_is_fitted__(self):
        return True

    def decision_function(self, X):
        return X

    def predict(self, X):
        return NAMES[X.argmax(axis=1)]


class Held:
    """Evidence of one response."""

    groups = None

    def __init__(self, scores):
        self.scores = scores

    def response(self, weight=1.0):
        return Response(self.scores.argmax(axis=1), self.scores, probability=False)


def drawn(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.choice(3, n, p=PRIOR)
    y[:3] = range(3)
    scores = np.log(PRIOR) + rng.normal(size=(n, 3))
    scores[np.arange(n), y] += 1.5
    return scores, NAMES[y]


def prefit(strategy, X, y, loss="f1", **more):
    return MeasureClassifier(Known(), loss, [strategy], cv="prefit", refit=False).fit(X, y, **more)


@pytest.mark.parametrize("floors", [{"recall": 0.9}, {"precision": 0.8}, {"alarms": 0.05}])
def test_the_class_keeps_its_floor_and_the_loss_is_the_best_of_both_starts(floors):
    X, y = drawn(400, 0)
    model = prefit(FlooredThreshold(**floors, of="severe"), X, y)
    labels, rule = model.predict(X), model.rule_
    reached = {
        "recall": recall_score(y, labels, labels=["severe"], average=None)[0],
        "precision": precision_score(y, labels, labels=["severe"], average=None)[0],
        "alarms": -np.mean(labels == "severe"),
    }
    assert all(reached[name] >= (-least if name == "alarms" else least) for name, least in floors.items())
    np.testing.assert_array_equal(labels, NAMES[(X + rule.offsets).argmax(axis=1)])
    # The other offsets are those of the multipliers, or 0; each pair is compared with all cuts in tests/decisions.
    codes, form = np.searchsorted(NAMES, y), class_loss(FBeta(), 3)
    asked = FlooredThreshold(**floors).floors
    starts = (class_offsets(codes, X, "f1", n_resamples=20).offsets, np.zeros(3))
    both = [floored_offset(start, codes, X, form, 2, asked)[0] for start in starts]
    assert 1.0 - f1_score(y, labels, average="macro") == pytest.approx(min(one.loss for one in both))
    assert any((rule.offsets == one.offsets).all() for one in both)
    (candidate,) = model.candidates_
    assert (candidate.strategy, candidate.chosen, candidate.refusal) == ("class_multipliers", True, "")
    assert model.best_strategy_ == "class_multipliers"
    assert (model.best_threshold_, rule.short) == (None, 0.0)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), labels)


def test_the_floor_costs_something_of_the_whole_measure():
    X, y = drawn(2000, 1)
    plain = prefit("class_multipliers", X, y)
    floored = prefit(FlooredThreshold(recall=0.95, of="severe"), X, y)
    assert recall_score(y, plain.predict(X), labels=["severe"], average=None)[0] < 0.9
    assert floored.score(X, y) < plain.score(X, y)


def test_in_outer_folds_the_reference_keeps_the_floor_too():
    X, y = drawn(300, 2)
    strategies = [FlooredThreshold(recall=0.9, of="severe"), "calibrated_multipliers"]
    model = MeasureClassifier(LogisticRegression(), "f1", strategies, cv=3, outer_cv=2, random_state=0).fit(X, y)
    assert [one.strategy for one in model.candidates_] == ["class_multipliers", "calibrated_multipliers"]
    assert np.isfinite(model.gain_)
    with pytest.raises(ValueError, match="strategies must have different names"):
        prefit(FlooredThreshold(recall=0.9, of="severe"), X, y).set_params(
            strategies=[strategies[0], "class_multipliers"]
        ).fit(X, y)


def test_what_cannot_be_kept_is_refused_with_the_best_reachable_value():
    X, y = drawn(60, 3)
    found = (y == "severe").sum()
    with pytest.raises(UnmetFloor, match="^class 'severe': a recall of at least 0.9 with confidence 0.95") as caught:
        prefit(FlooredThreshold(recall=0.9, confidence=0.95, of="severe"), X, y)
    assert caught.value.reachable == pytest.approx(0.05 ** (1 / found))
    X, y = drawn(300, 3)
    with pytest.raises(UnmetFloor, match="of at least 0.9 is not met by any threshold .* together with") as caught:
        prefit(FlooredThreshold(recall=0.9, alarms=0.05, of="severe"), X, y)
    # Whatever is called at most 5 % of the time, the recall of both rankings is at most so large.
    codes, best = np.searchsorted(NAMES, y), []
    for start in (class_offsets(codes, X, "f1", n_resamples=20).offsets, np.zeros(3)):
        leads = X[:, 2] - (X + start)[:, :2].max(axis=1)
        called = leads >= np.sort(leads)[-15]
        best.append(called[codes == 2].mean())
    assert caught.value.reachable == pytest.approx(max(best))


def test_a_fold_without_the_class_takes_what_comes_nearest():
    X, y = drawn(200, 4)
    where = np.where(y == "severe", 0, np.arange(200) % 3)
    floor = FlooredThreshold(recall=0.9, of="severe")
    model = MeasureClassifier(LogisticRegression(), "f1", [floor], cv=PredefinedSplit(where)).fit(X, y)
    task = Task(np.searchsorted(NAMES, y[where > 0]), class_loss(FBeta(), 3))
    assert model.rule_.short == 0.0
    rule = FlooredClass(floor, 2, 200).tune(Held(X[where > 0]), task)
    assert rule.short == pytest.approx(0.9)
    # So few rows of a fold cannot be sure, and all rows can.
    sure = FlooredClass(FlooredThreshold(recall=0.9, confidence=0.9, of="severe"), 2)
    few = np.append(np.flatnonzero(y == "severe")[:10], np.flatnonzero(y != "severe"))
    part = Task(np.searchsorted(NAMES, y[few]), task.loss)
    rule = sure.bound(Task(np.searchsorted(NAMES, y), task.loss)).tune(Held(X[few]), part)
    assert rule.short == pytest.approx(0.9 - 0.1 ** (1 / 10))
    assert (rule.labels(Held(X[few]))[:10] == 2).all()


def test_weights_count_without_a_confidence_and_groups_are_refused():
    X, y = drawn(200, 5)
    times = np.random.default_rng(0).integers(0, 3, 200)
    floor, often = FlooredThreshold(recall=0.8, precision=0.3, of="severe"), np.repeat(np.arange(200), times)
    codes, form, asked = np.searchsorted(NAMES, y), class_loss(FBeta(), 3), floor.floors
    found, _ = floored_offset(np.zeros(3), codes, X, form, 2, asked, 0.5 * times)
    plain, _ = floored_offset(np.zeros(3), codes[often], X[often], form, 2, asked)
    assert found.loss == pytest.approx(plain.loss, abs=1e-12)
    np.testing.assert_allclose(found.offsets, plain.offsets)
    labels = prefit(floor, X, y, sample_weight=times).predict(X)
    severe = y == "severe"
    assert times[severe & (labels == "severe")].sum() >= 0.8 * times[severe].sum()
    sure = FlooredThreshold(recall=0.8, confidence=0.9, of="severe")
    with pytest.raises(Refusal, match="a floor with a confidence refuses weights of rows"):
        prefit(sure, X, y, sample_weight=times)
    with pytest.raises(Refusal, match="class_multipliers refuses groups"):
        prefit(floor, X, y, groups=np.arange(200) // 2)


def test_models_of_folds_are_penalized_for_each_row_as_the_model_of_all_rows():
    X, y = drawn(300, 6)
    floor, folds = FlooredThreshold(recall=0.9, of="severe"), PredefinedSplit(np.arange(300) % 3)
    model = MeasureClassifier(LogisticRegression(C=0.01), "f1", [floor], folds).fit(X, y)
    held = np.zeros((300, 3))
    for k in range(3):
        test = np.arange(300) % 3 == k
        held[test] = LogisticRegression(C=0.015).fit(X[~test], y[~test]).predict_log_proba(X[test])
    task = Task(np.searchsorted(NAMES, y), class_loss(FBeta(), 3))
    by_hand = FlooredClass(FlooredThreshold(recall=0.9), 2, 300).tune(Held(held), task)
    np.testing.assert_allclose(model.rule_.offsets, by_hand.offsets, atol=1e-6)
    assert model.estimator_.C == 0.01


@pytest.mark.parametrize(
    ("floors", "draws"), [({"recall": 0.8}, 200), ({"alarms": 0.15}, 60), ({"precision": 0.35}, 60)]
)
def test_a_floor_that_is_sure_fails_on_new_rows_no_more_often_than_the_confidence_says(floors, draws):
    new, truth = drawn(50_000, 7)
    positive, form, trials = truth == "severe", class_loss(FBeta(), 3), rounds(1000, draws)
    strategy, fails, held = FlooredClass(FlooredThreshold(**floors, confidence=0.9, of="severe"), 2, 400), 0, 0
    for seed in range(trials):
        X, y = drawn(400, 100 + seed)
        try:
            rule = strategy.tune(Held(X), Task(np.searchsorted(NAMES, y), form))
        except UnmetFloor:
            continue
        held += 1
        called = rule.labels(Held(new)) == 2
        if "recall" in floors:
            fails += called[positive].mean() < 0.8
        else:
            fails += called.mean() > 0.15 if "alarms" in floors else positive[called].mean() < 0.35
    assert held > 0.8 * trials
    assert fails / trials <= 0.1 + 2 * np.sqrt(0.1 * 0.9 / trials)


def test_the_label_of_a_floor_must_fit():
    X, y = drawn(100, 8)
    two = np.where(y == "severe", "severe", "other")
    for of, said in (
        (None, "of must be the label that the floor is for, one of ['mild', 'none', 'severe']; got None."),
        ("grave", "of must be the label that the floor is for, one of ['mild', 'none', 'severe']; got 'grave'."),
        (["severe"], "of must be the label that the floor is for"),
        (NAMES, "of must be the label that the floor is for"),
    ):
        with pytest.raises(Refusal, match=re.escape(said)):
            MeasureClassifier(LogisticRegression(), "f1", [FlooredThreshold(recall=0.9, of=of)]).fit(X, y)
    for of, said in (
        ("other", "the positive one of two labels, 'severe'; got 'other': pass pos_label='other' too."),
        ("grave", "of must be one of the labels ['other', 'severe']; got 'grave'."),
    ):
        with pytest.raises(Refusal, match=re.escape(said)):
            MeasureClassifier(LogisticRegression(), "f1", [FlooredThreshold(recall=0.9, of=of)]).fit(X, two)
    for label in ("severe", "other"):
        plain, named = (
            MeasureClassifier(LogisticRegression(), "f1", [floor], cv=3, pos_label=label, random_state=0).fit(X, two)
            for floor in (FlooredThreshold(recall=0.9), FlooredThreshold(recall=0.9, of=label))
        )
        assert named.best_threshold_ == plain.best_threshold_
    floor = FlooredThreshold(recall=0.9, of="severe")
    with pytest.raises(Refusal, match="a floor is for one label a row"):
        MeasureClassifier(LogisticRegression(), "f1", [floor]).fit(X, y[:, None] == NAMES)


def test_compare_reads_no_label_of_a_floor():
    X, y = drawn(60, 9)
    problem = Problem("p", "Made up.", X, (y == "severe").astype(int))
    plan = Plan(2, 3, (1.0,), ("linear",), ("threshold",), floor=FlooredThreshold(recall=0.5, of="severe"))
    with pytest.raises(ValueError, match="of must be None where labels are told as positive or not; got 'severe'"):
        compare(problem, [NamedLoss("f1", FBeta())], plan)
