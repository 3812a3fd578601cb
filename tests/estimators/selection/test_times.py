"""Folds that leave rows out, as those in the order of time: rules are tuned and judged on rows that were tested."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import PredefinedSplit, ShuffleSplit, TimeSeriesSplit

from setwise import MeasureClassifier
from setwise.core.exceptions import Refusal
from setwise.decisions.task import Task, compared
from setwise.estimators.selection.choice import runs_of
from setwise.estimators.selection.problem import problem_of
from setwise.estimators.selection.strategies import steady_threshold
from setwise.losses import FBeta, Hamming, Jaccard, RowCosts


def drifting(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] + rng.normal(size=n) + np.linspace(0.0, 1.0, n) > 1.2).astype(int)


def test_later_rows_judge_what_earlier_rows_have_tuned():
    X, y = drifting(600, 0)
    cv = TimeSeriesSplit(5)
    model = MeasureClassifier(LogisticRegression(), FBeta(), ["threshold", "as_it_is"], cv=cv, random_state=0).fit(X, y)
    scores, labels = np.full(600, np.nan), np.full(600, -1)
    for train, test in cv.split(X):
        fitted = LogisticRegression().fit(X[train], y[train])
        scores[test], labels[test] = fitted.predict_proba(X[test])[:, 1], fitted.predict(X[test])
    tested = np.arange(100, 600)
    assert model.best_threshold_ == steady_threshold(Task(y[tested] == 1, FBeta()), scores[tested], 100)
    guess = np.full(600, -1)
    for first in (200, 300, 400, 500):
        known = np.arange(100, first)
        at = steady_threshold(Task(y[known] == 1, FBeta()), scores[known], 100)
        guess[first : first + 100] = scores[first : first + 100] >= at
    # The first of the five parts has no tested row before it.
    assert model.candidates_[0].loss == pytest.approx(1.0 - f1_score(y[200:], guess[200:]))
    assert model.candidates_[1].loss == pytest.approx(1.0 - f1_score(y[200:], labels[200:]))
    assert model.predict(X).tolist() == (model.predict_proba(X)[:, 1] >= model.best_threshold_).astype(int).tolist()


def test_all_strategies_take_folds_in_time():
    X, y = drifting(400, 1)
    model = MeasureClassifier(LogisticRegression(), "jaccard", cv=TimeSeriesSplit(4), random_state=0).fit(X, y)
    refused = {one.strategy for one in model.candidates_ if one.refusal}
    assert refused == {"gfm", "label_thresholds", "stack"}
    assert all(np.isfinite(one.gain_error) for one in model.candidates_ if not one.refusal)


def test_where_no_earlier_row_was_tested_the_folds_are_refused():
    X, y = drifting(300, 2)
    y = np.append(np.arange(100) % 2, np.append(np.zeros(100, int), y[:100]))
    with pytest.raises(Refusal, match="cv must test rows with both labels before its last fold"):
        MeasureClassifier(LogisticRegression(), cv=TimeSeriesSplit(2), random_state=0).fit(X, y)


@pytest.mark.parametrize("cv", [ShuffleSplit(3, random_state=0), ShuffleSplit(8, test_size=0.3, random_state=1)])
@pytest.mark.parametrize("loss", [FBeta(), RowCosts(fp=1.0, fn=np.linspace(1.0, 4.0, 500))], ids=["f1", "costs"])
def test_a_row_of_several_splits_counts_once_by_the_first(cv, loss):
    X, y = drifting(500, 6)
    names = ["threshold", "as_it_is"]
    model = MeasureClassifier(LogisticRegression(), loss, names, cv=cv, random_state=0).fit(X, y)
    first, scores = np.full(500, -1), np.full(500, np.nan)
    splits = list(cv.split(X))
    for k, (train, test) in enumerate(splits):
        fitted = LogisticRegression().fit(X[train], y[train])
        for row in test:
            if first[row] < 0:
                first[row], scores[row] = k, fitted.predict_proba(X[row : row + 1])[0, 1]
    tested = np.flatnonzero(first >= 0)
    whole = Task(y == 1, loss)
    assert model._reference.at == steady_threshold(whole.take(tested), scores[tested], 100)
    guess = np.zeros((2, 500), bool)
    guess[1] = scores >= 0.5
    for k, (train, _) in enumerate(splits):
        known = np.array([row for row in range(500) if first[row] >= 0 and row in train])
        guess[0, first == k] = scores[first == k] >= steady_threshold(whole.take(known), scores[known], 100)
    for candidate, labels in zip(model.candidates_, guess, strict=True):
        assert candidate.loss == pytest.approx(whole.take(tested).mean_loss(labels[tested]))
        assert np.isfinite(candidate.gain_error)


@pytest.mark.parametrize("loss", [FBeta(), Jaccard(), Hamming()])
def test_runs_of_rows_that_are_alike_have_the_errors_that_they_have(loss):
    # Rows come in stretches of 25 that are all right or all wrong, as in slow time series.
    rng = np.random.default_rng(3)
    found, losses = [], []
    for draw in range(200):
        truth = rng.random(1000) < 0.4
        guess = truth ^ np.repeat(rng.random(40) < 0.2, 25)
        losses.append(Task(truth, loss).mean_loss(guess))
        if draw < 10:
            found.append(compared(Task(truth, loss), [guess], draw, 200, runs_of(1000)).errors[0])
            single = compared(Task(truth, loss), [guess], draw, 200).errors[0]
    real = np.std(losses)
    assert 0.65 * real < np.mean(found) < 1.3 * real
    assert single < 0.45 * real


class Clock(LogisticRegression):
    """Logistic regression that writes down the last time it has seen, and the first it is asked about."""

    asked: ClassVar[list[tuple[float, float]]] = []

    def fit(self, X, y, sample_weight=None):
        self.last_ = X[:, 0].max()
        return super().fit(X[:, 1:], y)

    def predict_proba(self, X):
        Clock.asked.append((self.last_, X[:, 0].min()))
        return super().predict_proba(X[:, 1:])

    def predict(self, X):
        return super().predict(X[:, 1:])


def test_outer_folds_are_in_time_too():
    X, y = drifting(800, 4)
    cv = TimeSeriesSplit(3, gap=20)
    times = np.column_stack([np.arange(800), X])
    Clock.asked.clear()
    names = ["threshold", "as_it_is"]
    model = MeasureClassifier(Clock(), FBeta(), names, cv=cv, outer_cv=2, random_state=0)
    model.fit(times, y)
    assert len(Clock.asked) >= 3 + 2 * (3 + 1)
    assert all(first - last > 20 for last, first in Clock.asked)
    # Brute force: the whole fit on the rows before each outer test part.
    guess, outer = np.full((2, 800), False), list(TimeSeriesSplit(2, gap=20).split(X))
    for train, test in outer:
        part = MeasureClassifier(LogisticRegression(), FBeta(), names, cv=cv, random_state=0).fit(X[train], y[train])
        guess[1, test] = part.predict(X[test]) == 1
        guess[0, test] = part.predict_proba(X[test])[:, 1] >= part._reference.at
    told = np.concatenate([test for _, test in outer])
    lost = [1.0 - f1_score(y[told], one[told]) for one in guess]
    assert model.gain_ == pytest.approx(lost[0] - lost[1])
    drawn = compared(Task(y[told] == 1, FBeta()), [one[told] for one in guess], 0, 2000, runs_of(len(told)))
    assert model.gain_error_ == pytest.approx(drawn.drawn_gains[:, 1].std(ddof=1), rel=0.1)


@pytest.mark.parametrize("groups", [None, np.arange(600) // 3])
def test_the_test_rows_of_one_split_tune_and_judge(groups):
    X, y = drifting(600, 5)
    train, test = np.arange(350), np.arange(350, 600)
    model = MeasureClassifier(LogisticRegression(), FBeta(), cv=PredefinedSplit(np.where(np.arange(600) < 350, -1, 0)))
    if groups is not None:
        model.set_params(cv=[(train, test)])
    model.fit(X, y, groups=groups)
    fitted = LogisticRegression().fit(X[train], y[train])
    scores = fitted.predict_proba(X[test])[:, 1]
    part = problem_of(X[test], y[test], FBeta(), groups=None if groups is None else groups[test])
    guess = np.zeros(250, bool)
    for tune, judge in part.folds(5, 0):
        assert groups is None or not set(groups[test][tune]) & set(groups[test][judge])
        task = part.task.take(tune)
        guess[judge] = scores[judge] >= steady_threshold(task, scores[tune], 100)
    assert model.candidates_[0].loss == pytest.approx(part.task.mean_loss(guess))
    if groups is None:
        assert model._reference.at == steady_threshold(part.task, scores, 100)
    assert all(np.isfinite(one.loss) for one in model.candidates_ if not one.refusal)
    assert {one.strategy for one in model.candidates_ if not one.refusal} >= {"threshold", "decision", "ramp"}


def test_outer_folds_refuse_a_cv_of_rows_of_the_whole_table():
    X, y = np.arange(60.0)[:, None], np.arange(60) % 2
    pairs = [(np.arange(30), np.arange(30, 60)), (np.arange(30, 60), np.arange(30))]
    for cv in (PredefinedSplit(np.arange(60) % 3), pairs, iter(pairs)):
        with pytest.raises(ValueError, match="outer_cv must be None where cv is a PredefinedSplit or pairs of rows"):
            MeasureClassifier(LogisticRegression(), "f1", ["threshold"], cv=cv, outer_cv=2).fit(X, y)
