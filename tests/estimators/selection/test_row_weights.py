"""Weights of rows count in the measure as so many equal rows do."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.neighbors import KNeighborsClassifier

from setwise import MeasureClassifier
from setwise.core.exceptions import Refusal
from setwise.decisions import best_threshold
from setwise.decisions.row_weights import RowWeighted
from setwise.decisions.task import Task, compared
from setwise.estimators.selection.base_models import Response, isotonic, sigmoid
from setwise.estimators.selection.floors import FlooredThreshold, NearestThreshold
from setwise.estimators.selection.strategies import Evidence, steady_threshold
from setwise.losses import (
    MCC,
    BalancedError,
    ClassWeightedHamming,
    EarlyDetection,
    ErrorRate,
    FBeta,
    GMean,
    Hamming,
    Jaccard,
    RowCosts,
)

LOSSES = [FBeta(), FBeta(2.0), Jaccard(), ErrorRate(), BalancedError(), MCC(), GMean(), Hamming()]
LOSSES += [ClassWeightedHamming(1.0, 3.0), FBeta() + 0.5 * ErrorRate()]


class Fixed(Evidence):
    """Scores that are at hand."""

    numbers = None

    def __init__(self, scores):
        self.scores = scores

    def response(self, weight=1.0):
        return Response(self.scores >= 0, self.scores, False)


def rows(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    return y, y + rng.normal(size=n), rng.integers(0, 4, n) * 1.0, rng


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_whole_weights_are_so_many_rows(loss):
    y, scores, weights, _ = rows(60, 0)
    often = np.repeat(np.arange(60), weights.astype(int))
    task, plain = Task(y, loss, weights=weights), Task(y[often], loss)
    for guess in (scores > 0.5, scores > 9, scores < 9):
        assert task.mean_loss(guess) == pytest.approx(plain.mean_loss(guess[often]))
    found = best_threshold(task.sets, scores, task.set_loss)
    want = best_threshold(plain.sets, scores[often], loss)
    assert found.loss == pytest.approx(want.loss)
    assert plain.mean_loss(scores[often] >= found.threshold) == pytest.approx(want.loss)
    # Some of the rows keep their weights.
    part = np.arange(20, 50)
    some = np.repeat(part, weights[part].astype(int))
    assert task.take(part).mean_loss(scores[part] > 0.5) == pytest.approx(
        Task(y[some], loss).mean_loss(scores[some] > 0.5)
    )


def test_costs_of_rows_and_sets_have_weights_too():
    y, scores, weights, rng = rows(80, 1)
    costs, groups = RowCosts(fp=2.0, fn=rng.exponential(4.0, 80), tn=0.1), rng.integers(0, 7, 80)
    zero, one = costs.of_labels(y)
    guess = scores > 0.5
    task = Task(y, costs, weights=weights)
    assert task.mean_loss(guess) == pytest.approx(weights @ np.where(guess, one, zero))
    assert task.score(guess) == pytest.approx(-np.average(np.where(guess, one, zero), weights=weights))
    each = [1 - f1_score(y[groups == g], guess[groups == g], sample_weight=weights[groups == g]) for g in range(7)]
    assert Task(y, FBeta(), groups, weights=weights).losses(guess) == pytest.approx(each)


@pytest.mark.parametrize("loss", [FBeta(), MCC(), ErrorRate(), Hamming()], ids=repr)
def test_errors_are_those_of_rows_that_are_drawn_with_their_weights(loss):
    y, scores, weights, rng = rows(400, 2)
    guess = scores > 0.5
    found = compared(Task(y, loss, weights=weights), [guess, scores > 1.0], 0, 800)
    drawn = [rng.integers(0, 400, 400) for _ in range(800)]
    task = Task(y, loss, weights=weights)
    losses = np.array([[task.take(r).mean_loss(one[r]) for one in (guess, scores > 1.0)] for r in drawn])
    assert found.errors == pytest.approx(losses.std(axis=0), rel=0.12)
    assert found.gain_errors[1] == pytest.approx((losses[:, 0] - losses[:, 1]).std(), rel=0.12)


def test_equal_weights_choose_as_none_do():
    y, scores, _, _ = rows(300, 3)
    for loss in (FBeta(), MCC()):
        usual = steady_threshold(Task(y, loss), scores, 200)
        weighted = steady_threshold(Task(y, loss, weights=np.full(300, 2.5)), scores, 200)
        assert weighted == pytest.approx(usual, abs=0.1)


@pytest.mark.parametrize("calibrate", [sigmoid, isotonic])
def test_calibration_counts_weights(calibrate):
    y, scores, weights, _ = rows(200, 4)
    often = np.repeat(np.arange(200), weights.astype(int))
    found, want = calibrate(scores, y, weights), calibrate(scores[often], y[often])
    assert found(scores[often]) == pytest.approx(want(scores[often]), abs=0.02)


def test_the_measure_of_a_sample_of_negatives_is_that_of_all_rows():
    # All positives and a tenth of the negatives, with weights, stand for all rows.
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30_000, 2))
    y = (X[:, 0] + rng.normal(size=30_000) > 2.6).astype(int)
    taken = (y == 1) | (rng.random(30_000) < 0.1)
    weights = np.where(y == 1, 1.0, 10.0)[taken]
    new = rng.normal(size=(30_000, 2))
    truth = (new[:, 0] + rng.normal(size=30_000) > 2.6).astype(int)
    parts = {"all": (X, y, None), "weighted": (X[taken], y[taken], weights), "unweighted": (X[taken], y[taken], None)}
    reached = {}
    for name, (rows_, labels, weight) in parts.items():
        model = MeasureClassifier(LogisticRegression(), "f1", cv=3, random_state=0).fit(
            rows_, labels, sample_weight=weight
        )
        reached[name] = f1_score(truth, model.predict(new))
        if weight is not None:
            assert model.best_score_ == pytest.approx(reached["all"], abs=0.03)
            assert model.score(rows_, labels, sample_weight=weight) == pytest.approx(
                f1_score(labels, model.predict(rows_), sample_weight=weight)
            )
            refused = {one.strategy: one.refusal for one in model.candidates_}
            assert refused["ramp"] == "ramp refuses weights of rows, which it does not count."
    assert reached["weighted"] > reached["all"] - 0.01
    assert reached["unweighted"] < reached["all"] - 0.05


def test_losses_that_cannot_count_weights_are_refused():
    y, scores, weights, _ = rows(40, 6)
    with pytest.raises(Refusal, match="EarlyDetection.* refuses weights of rows: it is neither"):
        MeasureClassifier(LogisticRegression(), EarlyDetection(), cv=3).fit(scores[:, None], y, sample_weight=weights)
    with pytest.raises(ValueError, match="weights must be those of 40 rows; got 39"):
        Task(y, FBeta(), weights=weights[:-1]).mean_loss(y)
    model = MeasureClassifier(LogisticRegression(), cv=3).fit(
        np.column_stack([scores, y]), np.column_stack([y, ~y]).astype(int)
    )
    with pytest.raises(ValueError, match="sample_weight must be None for a label matrix"):
        model.score(np.column_stack([scores, y]), np.column_stack([y, ~y]).astype(int), sample_weight=weights)
    assert "with weights of rows" in repr(RowWeighted(FBeta(), weights))


def test_a_classifier_that_takes_no_weights_is_judged_by_them_once_it_is_fitted():
    y, scores, weights, _ = rows(300, 7)
    fitted = KNeighborsClassifier(25).fit(scores[:100, None], y[:100])
    model = MeasureClassifier(fitted, "f1", ["threshold"], cv="prefit", refit=False, random_state=0)
    model.fit(scores[100:, None], y[100:], sample_weight=weights[100:])
    task = Task(y[100:], FBeta(), weights=weights[100:])
    response = fitted.predict_proba(scores[100:, None])[:, 1]
    assert model.best_threshold_ == steady_threshold(task, response, 100)


@pytest.mark.parametrize(
    "floor", [{"recall": 0.8}, {"precision": 0.7}, {"alarms": 0.3}, {"recall": 0.5, "alarms": 0.5}]
)
@pytest.mark.parametrize("loss", [FBeta(), BalancedError(), ClassWeightedHamming(1.0, 3.0)], ids=repr)
def test_floors_count_weights_as_so_many_rows(loss, floor):
    for seed in range(10):
        y, scores, weights, _ = rows(60, 20 + seed)
        weights[0] = 5.0
        often = np.repeat(np.arange(60), weights.astype(int))
        floors = FlooredThreshold(**floor)
        found = floors.point(scores, Task(y, loss, weights=weights))
        plain = floors.point(scores[often], Task(y[often], loss))
        assert found.loss == pytest.approx(plain.loss, abs=1e-12)
        assert found.reached == pytest.approx(plain.reached, abs=1e-12)
        np.testing.assert_array_equal(scores[often] >= found.threshold, scores[often] >= plain.threshold)
        at = np.linspace(-2.0, 2.0, 30)
        met = floors.met(at, scores, Task(y, loss, weights=weights))
        np.testing.assert_array_equal(met, floors.met(at, scores[often], Task(y[often], loss)))


def test_the_nearest_threshold_of_floors_counts_weights():
    y, scores, weights, _ = rows(60, 3)
    often = np.repeat(np.arange(60), weights.astype(int))
    floors = FlooredThreshold(recall=0.95, precision=0.95)
    found, plain = (
        NearestThreshold(floors).tune(Fixed(s), task)
        for s, task in ((scores, Task(y, FBeta(), weights=weights)), (scores[often], Task(y[often], FBeta())))
    )
    assert found.short == pytest.approx(plain.short, abs=1e-12)
    np.testing.assert_array_equal(scores[often] >= found.threshold, scores[often] >= plain.threshold)


def test_a_floor_that_is_sure_refuses_weights():
    y, scores, weights, _ = rows(300, 4)
    sure = FlooredThreshold(recall=0.5, confidence=0.9)
    model = MeasureClassifier(LogisticRegression(), "f1", [sure], cv=3)
    with pytest.raises(Refusal, match="a floor with a confidence refuses weights of rows"):
        model.fit(scores[:, None], y, sample_weight=weights)
    model.set_params(strategies=[FlooredThreshold(recall=0.5)]).fit(scores[:, None], y, sample_weight=weights)
    called = model.predict(scores[:, None])
    assert weights[y & called].sum() >= 0.4 * weights[y].sum()
