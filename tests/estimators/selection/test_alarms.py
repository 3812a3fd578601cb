"""A limit of alarms: the threshold, and with costs of each row the greatest expected savings."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from scipy.stats import binomtest, norm
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC, NuSVC

from rounds import rounds
from setwise import MeasureClassifier
from setwise.compare import FlooredThreshold
from setwise.core.exceptions import Refusal
from setwise.decisions import UnmetFloor
from setwise.decisions.task import Task
from setwise.estimators.selection import BayesDecision
from setwise.estimators.selection.base_models import Response, for_share
from setwise.estimators.selection.floors import NearestThreshold
from setwise.estimators.selection.problem import problem_of
from setwise.losses import FBeta, RowCosts, Tversky

RECALL = Tversky(1e-9, 1.0)


class Held:
    """Evidence of one response."""

    groups = None

    def __init__(self, scores):
        self.scores = np.asarray(scores, dtype=float)

    def response(self, weight=1.0):
        return Response(self.scores >= 0.5, self.scores, probability=True)


def cuts(scores):
    return [np.inf, *(np.unique(scores)[1:] - 1e-9), -np.inf]


def upper(called, n, confidence):
    """The upper bound of Clopper and Pearson of the share of alarms, or the share itself."""
    if confidence is None:
        return called / n
    return binomtest(called, n, alternative="less").proportion_ci(confidence, "exact").high


@pytest.mark.parametrize("confidence", [None, 0.8])
def test_the_threshold_is_that_of_an_enumeration(confidence):
    rng, unmet = np.random.default_rng(0), 0
    for trial in range(60):
        n = int(rng.integers(8, 40))
        y, scores = rng.random(n) < 0.4, rng.integers(0, 12, n).astype(float)
        y[0], loss = True, (RECALL, FBeta())[trial % 2]
        others = ({}, {"recall": 0.5}, {"precision": 0.5})[trial % 3] if confidence is None else {}
        strategy = FlooredThreshold(**others, confidence=confidence, alarms=rng.choice([0.1, 0.3, 0.5, 1.0]))
        best = np.inf
        for t in cuts(scores):
            h = scores >= t
            kept = strategy.alarms == 1.0 or upper(int(h.sum()), n, confidence) <= strategy.alarms + 1e-12
            kept &= (y & h).sum() >= others.get("recall", 0.0) * y.sum()
            kept &= "precision" not in others or (h.any() and y[h].mean() >= others["precision"])
            best = min(best, loss(y, h)) if kept else best
        if np.isinf(best):
            unmet += 1
            with pytest.raises(UnmetFloor):
                strategy.point(scores, Task(y, loss))
            assert NearestThreshold(strategy).tune(Held(scores), Task(y, loss)).short > 0.0
            continue
        at = strategy.point(scores, Task(y, loss)).threshold
        assert loss(y, scores >= at) == pytest.approx(best, abs=1e-12)
        reached = strategy.reached(Task(y, loss), scores >= at)
        assert reached.kept
        assert reached.unflagged == pytest.approx(1.0 - (scores >= at).mean())
    assert 0 < unmet < 50


def test_the_nearest_threshold_is_short_by_what_the_worse_share_lacks():
    y, scores = np.array([True, False, True, False]), np.array([4.0, 3.0, 2.0, 1.0])
    rule = NearestThreshold(FlooredThreshold(recall=1.0, alarms=0.25)).tune(Held(scores), Task(y, RECALL))
    # Three alarms are 0.5 too many, two are 0.25 too many and lack 0.5 of the recall, one lacks 0.5.
    assert rule.short == pytest.approx(0.5)


def money(n, seed, step=1.0):
    rng = np.random.default_rng(seed)
    q = np.round(rng.beta(1.0, 4.0, n), 2)
    return q, rng.random(n) < q, RowCosts(fp=5.0, fn=np.ceil(np.exp(rng.normal(3.0, 1.0, n)) / step) * step)


@pytest.mark.parametrize("confidence", [None, 0.9])
@pytest.mark.parametrize("alarms", [0.02, 0.1, 0.9])
def test_with_costs_of_each_row_the_greatest_expected_savings_are_alarms(alarms, confidence):
    for seed in range(10):
        q, y, costs = money(300, seed, step=20.0)
        strategy = BayesDecision("sigmoid", alarms, confidence)
        rule = strategy.tune(Held(q), Task(y, costs))
        saved = rule.saved(Held(q).response().log_odds(0.5 / 300))
        # Equal savings are called together or not at all, and none that costs more than it saves.
        allowed = [t for t in cuts(saved) if upper(int((saved >= t).sum()), 300, confidence) <= alarms + 1e-12]
        want = (saved >= min(allowed)) & (saved > 0.0)
        got = rule.labels(Held(q))
        assert got.tolist() == want.tolist()
        assert 0 < got.sum() <= 300 * alarms
        unlimited = BayesDecision("sigmoid").tune(Held(q), Task(y, costs)).labels(Held(q))
        assert not (got & ~unlimited).any()


def test_a_cut_of_savings_is_in_the_money_of_costs_as_they_were_given():
    q, y, costs = money(300, 0)
    rule = BayesDecision("sigmoid", 0.05).tune(Held(q), Task(y, costs.times(1000 / 300)))
    assert rule.at > 0.0
    labels = rule.labels(Held(q))
    rows = np.arange(150)
    for one in (costs, costs.times(4.0), costs.times(2.0).times(0.1), costs.of_rows(rows).times(3.0)):
        part = rows if one.n_rows == 150 else slice(None)
        assert rule.for_rows(one).labels(Held(q[part])).tolist() == labels[part].tolist()


def cases(n, seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "amount": np.exp(rng.normal(2.0, 1.0, n))})
    return X, rng.random(n) < 1.0 / (1.0 + np.exp(2.0 - 1.5 * X["a"].to_numpy()))


def test_a_classifier_calls_at_most_so_many_rows_and_saves_more_by_their_costs():
    X, y = cases(4000, 0)
    new, truth = cases(20_000, 1)
    plain = MeasureClassifier(LogisticRegression(), RECALL, [FlooredThreshold(alarms=0.05, confidence=0.9)]).fit(X, y)
    assert 0.035 < plain.predict(new).mean() <= 0.05
    limit = FlooredThreshold(alarms=0.05)
    ways = [limit, BayesDecision(alarms=0.05)]
    ours = MeasureClassifier(LogisticRegression(), RowCosts(fp=2.0, fn="amount"), ways, random_state=0).fit(X, y)
    assert ours.best_strategy_ == "decision"
    costs = RowCosts(fp=2.0, fn=new["amount"].to_numpy())
    by_row, one = ours.predict(new), ours.predict(new, single_threshold=True)
    alone = MeasureClassifier(LogisticRegression(), RowCosts(fp=2.0, fn="amount"), [limit], random_state=0).fit(X, y)
    assert one.tolist() == alone.predict(new).tolist()
    assert by_row.mean() == pytest.approx(0.05, abs=0.01)
    none = costs(truth, np.zeros(len(truth), dtype=bool))
    assert none - costs(truth, by_row) > 1.5 * (none - costs(truth, one)) > 0.0


@pytest.mark.parametrize("over_groups", [False, True])
def test_the_limit_fails_on_new_rows_no_more_often_than_the_confidence_says(over_groups):
    rng, fails, trials = np.random.default_rng(0), 0, rounds(2000, 200)
    strategy, held = FlooredThreshold(alarms=0.2, confidence=0.9), 0
    for _ in range(trials):
        groups = np.repeat(np.arange(60), 5) if over_groups else np.arange(300)
        scores = np.round(rng.normal(size=groups[-1] + 1)[groups] + 0.5 * rng.normal(size=300), 2)
        y = rng.random(300) < 0.3
        task = Task(y, RECALL, groups if over_groups else None)
        try:
            at = strategy.point(scores, task).threshold
        except UnmetFloor:
            continue
        held += 1
        # New rows, each from a group of its own, have the same shares in the long run.
        fails += norm.sf(at, scale=np.sqrt(1.25)) > 0.2
    assert held > 0.9 * trials
    error = np.sqrt(0.1 * 0.9 / trials)
    assert 0.01 < fails / trials < 0.1 + 3 * error
    if over_groups:
        flat = FlooredThreshold(alarms=0.2, confidence=0.9).point(scores, replace(task, groups=None)).threshold
        assert flat < at


@pytest.mark.parametrize("share", [{"alarms": 0.1}, {"recall": 0.9}])
def test_a_share_that_is_sure_out_of_fold_is_as_sure_with_the_model_of_all_rows(share):
    rng, fails, trials = np.random.default_rng(0), 0, rounds(2000, 60)

    def drawn(n):
        X = rng.normal(size=(n, 2))
        return X, rng.random(n) < expit(1.5 * X[:, 0] - 1.5)

    new, truth = drawn(20_000)
    floor = FlooredThreshold(**share, confidence=0.9)
    for _ in range(trials):
        X, y = drawn(400)
        problem = problem_of(X, y, FBeta())
        base = problem.out_of_fold(LogisticRegression(C=0.005), problem.folds(2, 0), same_penalty=True)
        at = floor.point(base.response().scores, problem.task).threshold
        called = base.fitted().predict_proba(new)[:, 1] >= at
        fails += called.mean() > 0.1 if "alarms" in share else called[truth].mean() < 0.9
    assert fails / trials < 0.1 + 3 * np.sqrt(0.1 * 0.9 / trials)


@pytest.mark.parametrize("weighted", [False, True])
def test_under_a_limit_models_of_folds_are_penalized_for_each_row_as_the_model_of_all_rows(weighted):
    X, y = cases(300, 0)
    weights = np.random.default_rng(0).exponential(size=300) if weighted else np.ones(300)
    given = {"sample_weight": weights} if weighted else {}
    floor, folds = FlooredThreshold(alarms=0.1), list(StratifiedKFold(3).split(X, y))
    for kind, name in (
        (LogisticRegression, "predict_proba"),
        (LinearSVC, "decision_function"),
        (SVC, "decision_function"),
    ):
        held, scores = make_pipeline(StandardScaler(), kind(C=0.02)), np.zeros(300)
        for train, test in folds:
            C = 0.02 * weights.sum() / weights[train].sum()
            part = make_pipeline(StandardScaler(), kind(C=C))
            part.fit(X.iloc[train], y[train], **{f"{part.steps[-1][0]}__sample_weight": weights[train]})
            said = getattr(part, name)(X.iloc[test])
            scores[test] = said[:, 1] if said.ndim == 2 else said
        model = MeasureClassifier(held, RECALL, [floor], folds).fit(X, y, **given)
        assert model.best_threshold_ == pytest.approx(floor.point(scores, Task(y, RECALL, weights=weights)).threshold)
        assert model.estimator_[-1].C == held[-1].C == 0.02


def test_for_a_share_of_the_rows_only_constants_of_penalties_that_are_summed_with_rows_change():
    X, y = cases(100, 0)
    fitted = LogisticRegression().fit(X, y)
    for same in (
        FrozenEstimator(fitted), LogisticRegression(penalty=None), LogisticRegressionCV(),
        HistGradientBoostingClassifier(), SGDClassifier(), NuSVC(),
    ):  # fmt: skip
        got = for_share(same, 0.5).get_params()
        assert {name: value for name, value in got.items() if name != "estimator"} == {
            name: value for name, value in same.get_params().items() if name != "estimator"
        }
    assert fitted.C == 1.0
    search = for_share(GridSearchCV(SVC(C=3.0), {"gamma": [1.0]}), 0.5)
    assert search.estimator.C == 6.0


@pytest.mark.parametrize("alarms", [0.0, -0.1, 1.5, 50, np.nan])
def test_what_is_no_share_is_refused(alarms):
    for kind in (FlooredThreshold, BayesDecision):
        with pytest.raises(ValueError, match=r"alarms must be a finite number in \(0, 1\]; got"):
            kind(alarms=alarms)


def test_limits_that_cannot_be_kept_or_do_not_fit_are_refused():
    X, y = cases(100, 0)
    with pytest.raises(TypeError, match="alarms must be a number; got 'x'"):
        FlooredThreshold(alarms="x")
    with pytest.raises(ValueError, match="confidence is for a limit of alarms; give alarms too"):
        BayesDecision(confidence=0.9)
    sure = FlooredThreshold(alarms=0.01, confidence=0.95)
    with pytest.raises(Refusal, match=r"0.01 with confidence 0.95 cannot be kept on 100 rows: .* bound of 0.02951\."):
        sure.check(y)
    with pytest.raises(UnmetFloor, match="A share of alarms of at most 0.01 with confidence 0.95 is not met"):
        MeasureClassifier(LogisticRegression(), "f1", [sure]).fit(X, y)
    decision = BayesDecision(alarms=0.1)
    with pytest.raises(Refusal, match=r"needs FlooredThreshold\(alarms=0.1\) in the list too"):
        MeasureClassifier(LogisticRegression(), RowCosts(fn="amount"), [decision]).fit(X, y)
    found = MeasureClassifier(LogisticRegression(), "f1", [FlooredThreshold(alarms=0.1), decision]).fit(X, y)
    assert "a limit of alarms needs costs that differ between rows" in found.candidates_[1].refusal
    sure, weights = BayesDecision(alarms=0.1, confidence=0.9), np.where(np.arange(100) % 2, 1.0, 2.0)
    weighted = MeasureClassifier(LogisticRegression(), RowCosts(fn="amount"), [FlooredThreshold(alarms=0.1), sure])
    found = weighted.fit(X, y, sample_weight=weights)
    assert "a confidence is one of rows that are equally likely" in found.candidates_[1].refusal
    with pytest.raises(Refusal, match="a limit of alarms is for one label a row"):
        MeasureClassifier(LogisticRegression(), "f1", [FlooredThreshold(alarms=0.1)]).fit(X, np.stack([y, ~y], 1))


def test_a_limit_of_alarms_counts_weights_as_so_many_rows():
    rng = np.random.default_rng(5)
    y, q, weights = rng.random(80) < 0.3, rng.random(80), rng.integers(1, 4, 80).astype(float)
    costs = RowCosts(fp=1.0, fn=rng.exponential(5.0, 80))
    for alarms in (0.05, 0.2, 0.4):
        rule = BayesDecision(alarms=alarms).tune(Held(q), Task(y, costs, weights=weights))
        called = rule.labels(Held(q))
        assert weights[called].sum() <= alarms * weights.sum() + 1e-9
        # Brute force: the rows that save most, as long as their weights keep the limit.
        saved = rule.saved(Held(q).response().log_odds(rule.least))
        order = np.argsort(-saved)
        most = order[(np.cumsum(weights[order]) <= alarms * weights.sum() + 1e-9) & (saved[order] > 0)]
        assert set(np.flatnonzero(called)) == set(most)
