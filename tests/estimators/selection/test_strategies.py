"""Each strategy against enumeration, and where it must win, and where it must not."""

import os
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, jaccard_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rounds import rounds
from setwise import MeasureClassifier
from setwise.core.exceptions import Refusal
from setwise.decisions import bagged_threshold, best_threshold, gfm, label_thresholds
from setwise.decisions.task import Task
from setwise.estimators.selection import (
    GFM,
    STRATEGIES,
    BayesDecision,
    ClassWeight,
    RampStack,
    SingleThreshold,
    Stack,
    ThresholdPerLabel,
    as_strategies,
    strategies,
)
from setwise.estimators.selection.base_models import Response, isotonic, sigmoid
from setwise.estimators.selection.choice import choose, cross_fitted
from setwise.estimators.selection.cost_weight import CostTrees, CostWeight
from setwise.estimators.selection.out_of_fold import ColumnScaling, as_numbers
from setwise.estimators.selection.problem import problem_of
from setwise.estimators.selection.strategies import Evidence, steady_threshold
from setwise.losses import EarlyDetection, ErrorRate, FBeta, Hamming, Jaccard


class FixedEvidence(Evidence):
    """Evidence of fixed scores."""

    def __init__(self, scores, groups=None, probability=True):
        self.scores, self.groups, self.probability = np.asarray(scores, float), groups, probability

    def response(self, weight=1.0):
        return Response(self.scores > 0.5, self.scores, self.probability)

    @property
    def numbers(self):
        return None


def expected(loss, q, labels):
    """The expected loss by enumeration of all truths."""
    total = 0.0
    for truth in product([0, 1], repeat=len(q)):
        chance = np.prod(np.where(truth, q, 1 - q))
        total += chance * loss(np.array(truth), np.array(labels))
    return total


@pytest.mark.draw(15)
@pytest.mark.parametrize("loss", [FBeta(), Jaccard(), Hamming()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("seed", range(12))
def test_a_decision_on_one_set_is_the_best_threshold_in_expectation(loss, seed):
    rng = np.random.default_rng(seed)
    # Few distinct scores make ties, which no threshold separates.
    scores = rng.choice([0.02, 0.2, 0.4, 0.7, 0.9], 7) if seed % 2 else rng.random(7)
    truth = rng.random(7) < 0.5
    truth[:2] = [True, False]
    rule = BayesDecision().tune(FixedEvidence(scores), Task(truth, loss))
    q = sigmoid(Response(truth, scores, True).log_odds(0.5 / 7), truth)(Response(truth, scores, True).log_odds(0.5 / 7))
    cuts = [np.inf, *np.unique(scores)]
    best = min(expected(loss, q, scores >= t) for t in cuts)
    assert expected(loss, q, rule.labels(FixedEvidence(scores))) == pytest.approx(best, abs=1e-9)


def test_decisions_of_rows_and_groups_are_the_best_labelings():
    rng = np.random.default_rng(0)
    Q, Y = rng.random((30, 4)), rng.random((30, 4)) < 0.4
    rule = BayesDecision().tune(FixedEvidence(Q), Task(Y, Jaccard()))
    calibrated = rule.calibration(Response(Y, Q, True).log_odds(rule.least))
    for row, labels in zip(calibrated[:8], rule.labels(FixedEvidence(Q))[:8], strict=True):
        best = min(expected(Jaccard(), row, h) for h in product([0, 1], repeat=4))
        assert expected(Jaccard(), row, labels) == pytest.approx(best)
    q, y, groups = Q.ravel()[:40], Y.ravel()[:40], rng.permutation(np.repeat(np.arange(10), 4))
    rule = BayesDecision().tune(FixedEvidence(q, groups), Task(y, FBeta(), groups))
    assert rule.joint
    calibrated = rule.calibration(Response(y, q, True).log_odds(rule.least))
    labels = rule.labels(FixedEvidence(q, groups))
    for g in range(10):
        best = min(expected(FBeta(), calibrated[groups == g], h) for h in product([0, 1], repeat=4))
        assert expected(FBeta(), calibrated[groups == g], labels[groups == g]) == pytest.approx(best)
    # Without groups each row is decided by itself.
    alone = rule.labels(FixedEvidence(q))
    assert alone.tolist() == [bool(rule.labels(FixedEvidence([value]))[0]) for value in q]


def test_decisions_of_columns_are_thresholds():
    rng = np.random.default_rng(1)
    Q = rng.random((60, 3))
    Y = rng.random((60, 3)) < Q
    for average in ("macro", "micro"):
        rule = BayesDecision("isotonic").tune(FixedEvidence(Q), Task(Y, FBeta(), None, average))
        assert np.shape(rule.threshold) == ((3,) if average == "macro" else ())
        np.testing.assert_array_equal(rule.labels(FixedEvidence(Q)), rule.threshold <= Q)


def test_a_sigmoid_finds_the_truth():
    rng = np.random.default_rng(2)
    s = rng.standard_normal(20000) * 3 + 1
    truth = rng.random(20000) < 1 / (1 + np.exp(-(0.5 * s - 1)))
    found = sigmoid(s, truth)
    assert found.slope == pytest.approx(0.5, abs=0.05)
    assert found.intercept == pytest.approx(-1.0, abs=0.1)


def test_a_sigmoid_counts_weights_as_equal_rows():
    rng = np.random.default_rng(7)
    scores, weights = rng.standard_normal(60), rng.integers(0, 4, 60)
    truth = rng.random(60) < 1 / (1 + np.exp(2 - scores))
    found = sigmoid(scores, truth, weights.astype(float))
    usual = sigmoid(np.repeat(scores, weights), np.repeat(truth, weights))
    assert (found.slope, found.intercept) == pytest.approx((usual.slope, usual.intercept), abs=1e-3)
    small, one = sigmoid(scores, truth, weights * 1e-9), sigmoid(scores, truth, weights / weights.mean())
    assert (small.slope, small.intercept) == pytest.approx((one.slope, one.intercept))
    # With a mean of 1 the targets are others.
    assert one.intercept != pytest.approx(usual.intercept, abs=1e-3)


@pytest.mark.parametrize("calibrate", [sigmoid, isotonic])
def test_calibrations_rise_and_stay_finite(calibrate):
    rng = np.random.default_rng(3)
    for scores, truth in [
        (np.zeros(6), np.array([1, 0, 0, 1, 0, 0], bool)),
        (np.arange(6.0), np.arange(6) > 2),
        (-np.arange(6.0), np.arange(6) > 2),
        (np.array([1e6, -1e6, 0.0, 1e-6]), np.array([1, 0, 0, 1], bool)),
        (rng.standard_normal(100), rng.random(100) < 0.1),
    ]:
        q = calibrate(scores, truth)(np.sort(scores))
        assert ((q >= 0) & (q <= 1)).all()
        assert (np.diff(q) >= -1e-12).all()


def test_isotonic_is_that_of_scikit_learn():
    rng = np.random.default_rng(4)
    scores, truth = rng.standard_normal(80), rng.random(80) < 0.4
    expected_values = IsotonicRegression(out_of_bounds="clip", y_min=0, y_max=1).fit(scores, truth).predict(scores)
    np.testing.assert_allclose(isotonic(scores, truth)(scores), expected_values)
    scores, weights = np.round(scores, 1), rng.integers(0, 3, 80) * 0.5
    usual = IsotonicRegression(out_of_bounds="clip", y_min=0, y_max=1).fit(scores, truth, weights)
    at = np.linspace(-3, 3, 50)
    np.testing.assert_allclose(isotonic(scores, truth, weights)(at), usual.predict(at), atol=1e-12)


def test_of_many_rows_fewer_resamples_are_drawn(monkeypatch):
    rng = np.random.default_rng(6)
    scores = rng.random(120)
    truth = rng.random(120) < scores**2
    monkeypatch.setattr(strategies, "MANY_ROWS", 30)
    for asked, drawn in ((100, 25), (60, 15), (20, 10), (4, 4)):
        found = steady_threshold(Task(truth, FBeta()), scores, asked)
        assert found == bagged_threshold(truth, scores, FBeta(), drawn).threshold


@pytest.mark.filterwarnings("ignore:.*fewer than 10 positives")
def test_label_thresholds_of_columns_are_theirs():
    rng = np.random.default_rng(5)
    Q, Y = rng.random((50, 3)), rng.random((50, 3)) < 0.4
    task = Task(Y, FBeta(), None, "macro")
    rule = ThresholdPerLabel(0.0).tune(FixedEvidence(Q), task)
    for j in range(3):
        assert rule.threshold[j] == best_threshold(Y[:, j], Q[:, j], FBeta()).threshold
    np.testing.assert_array_equal(rule.labels(FixedEvidence(Q)), rule.threshold <= Q)
    shrunk = ThresholdPerLabel().tune(FixedEvidence(Q), task).threshold
    np.testing.assert_array_equal(shrunk, label_thresholds(Y, Q, FBeta()).thresholds)
    assert (shrunk != rule.threshold).any()


def test_class_weights_run_from_equal_to_balanced():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((300, 2))
    y = (X[:, 0] ** 2 + 0.3 * rng.standard_normal(300) > 2.0).astype(int)
    problem = problem_of(X, y, FBeta())
    base = problem.out_of_fold(LogisticRegression(), problem.folds(3, 0))
    strategy = ClassWeight(n_resamples=0).bound(problem.task)
    assert strategy.fits[0] == 1.0
    assert strategy.fits[-1] == pytest.approx((y == 0).sum() / (y == 1).sum())
    rule = strategy.tune(base.held_out(), problem.task)
    by_hand = {}
    for weight in strategy.fits:
        scores = np.zeros(300)
        for train, test in base.folds:
            own = np.where(y[train] == 1, weight, 1.0)
            model = LogisticRegression().fit(X[train], y[train], sample_weight=own)
            scores[test] = model.predict_proba(X[test])[:, 1]
        best = best_threshold(y, scores, FBeta())
        by_hand[weight] = (best.loss, best.threshold)
    least = min(loss for loss, _ in by_hand.values())
    assert by_hand[rule.weight][0] == pytest.approx(least)
    assert rule.threshold == pytest.approx(by_hand[rule.weight][1])
    steady = ClassWeight().bound(problem.task).tune(base.held_out(), problem.task)
    assert steady.weight == rule.weight
    scores = base.response(rule.weight).scores
    assert steady.threshold == bagged_threshold(y, scores, FBeta()).threshold != rule.threshold


def test_the_tuned_threshold_is_bagged_where_there_are_resamples():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((300, 2))
    y = (X[:, 0] + rng.logistic(size=300) > 2).astype(int)
    groups = np.arange(300) // 10
    for many, loss, strategy, by_hand in [
        (None, FBeta(), SingleThreshold(), bagged_threshold),
        (groups, FBeta(), SingleThreshold(), bagged_threshold),
        (groups, EarlyDetection(), SingleThreshold(), bagged_threshold),
        (None, EarlyDetection(), SingleThreshold(), best_threshold),
        (None, FBeta(), SingleThreshold(n_resamples=0), best_threshold),
    ]:
        problem = problem_of(X, y, loss, groups=many)
        base = problem.out_of_fold(LogisticRegression(), problem.folds(3, 0))
        found = strategy.tune(base.held_out(), problem.task).threshold
        assert found == by_hand(problem.task.sets, base.response().scores, loss).threshold
    Y = np.column_stack([y, X[:, 1] > 0]).astype(int)
    problem = problem_of(X, Y, FBeta())
    base = problem.out_of_fold(LogisticRegression(), problem.folds(3, 0))
    best = best_threshold(problem.task.sets, base.response().scores.ravel(), FBeta())
    assert SingleThreshold().tune(base.held_out(), problem.task).threshold == best.threshold
    for wrong in (-1, 2.5, True):
        with pytest.raises((TypeError, ValueError), match="n_resamples must be"):
            SingleThreshold(n_resamples=wrong)


def test_refusals():
    rng = np.random.default_rng(7)
    X, y = rng.standard_normal((60, 2)), np.arange(60) % 2
    words = pd.DataFrame({"a": ["x", "y"] * 30})
    matrix = (rng.random((60, 3)) < 0.5).astype(int)
    near = KNeighborsClassifier()
    for strategy, rows, target, part in [
        (ThresholdPerLabel(), X, y, "there is one label only"),
        (ClassWeight(), X, matrix, "refuses label matrices"),
        (ClassWeight(), X, y, "refuses KNeighborsClassifier"),
        (RampStack(), words, y, "X must be a dense table of numbers"),
        (RampStack(), rng.standard_normal((60, 300)), y, "at most 200 columns"),
        (Stack(), X, y, "use 'ramp'"),
    ]:
        problem = problem_of(rows, target, FBeta())
        assert part in strategy.refuses(problem.task, problem.out_of_fold(near, problem.folds(3, 0)))
    model = MeasureClassifier(near, strategies=["class_weight"]).fit(X, y)
    assert [c.strategy for c in model.candidates_ if c.refusal] == ["class_weight"]
    for wrong in (
        lambda: ClassWeight((0.0,)),
        lambda: ClassWeight(()),
        lambda: BayesDecision("magic"),
        lambda: Stack(C=0.0),
    ):
        with pytest.raises(ValueError, match=r".+"):
            wrong()


@pytest.mark.slow
def test_a_stack_does_not_read_off_the_labels_it_is_judged_on():
    # Labels are noise. Linear log-odds from models that saw the fold betray its labels to a linear stack.
    honest, leaky = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, Y = rng.standard_normal((120, 15)), (rng.random(120) < 0.4).astype(int)
        problem = problem_of(X, Y, ErrorRate())
        base = problem.out_of_fold(LogisticRegression(C=100.0), problem.folds(5, 0))
        strategy = RampStack(C=100.0)
        honest.append(problem.task.mean_loss(cross_fitted(strategy, base, problem.task)))
        labels = np.zeros(Y.shape, bool)
        for train, test in base.folds:
            labels[test] = strategy.tune(base.held_out(train), problem.task.take(train)).labels(base.held_out(test))
        leaky.append(problem.task.mean_loss(labels))
    # Nothing can be learned, so no labeling of new rows is wrong less often than the rarer label is there.
    assert np.mean(honest) > 0.4
    assert np.mean(leaky) < np.mean(honest) - 0.1


def test_rows_for_a_stack():
    table = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [True, False, True], "c": [1, 2, 3]})
    np.testing.assert_array_equal(as_numbers(table), [[1, 1, 1], [np.nan, 0, 2], [3, 1, 3]])
    assert as_numbers(table.astype({"c": "category"})) is None
    assert as_numbers(table.astype({"c": str})) is None
    assert as_numbers(np.array([[np.inf]])) is None
    assert as_numbers([["a"]]) is None
    scaled = ColumnScaling.of(as_numbers(table))(as_numbers(table))
    assert not np.isnan(scaled).any()
    assert scaled[1, 0] == 0.0
    np.testing.assert_allclose(scaled[:, 2], StandardScaler().fit_transform(table[["c"]])[:, 0])
    constant = ColumnScaling.of(np.full((4, 1), 0.1))
    assert (constant(np.array([[5.0]])) == 0.0).all()


def exclusive(n, seed):
    """A label matrix in which each row has one of five labels: labels depend on each other."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    score = 4.0 * X @ np.random.default_rng(0).standard_normal((6, 5)) + rng.gumbel(size=(n, 5))
    return X, (score == score.max(axis=1, keepdims=True)).astype(int)


@pytest.mark.slow
def test_where_labels_exclude_each_other_the_stack_surely_wins():
    X, Y = exclusive(800, 1)
    new_X, new_Y = exclusive(4000, 2)
    model = MeasureClassifier(LogisticRegression(), "jaccard", ["as_it_is", "threshold", "stack"]).fit(X, Y)
    tuned = MeasureClassifier(LogisticRegression(), "jaccard", ["threshold"]).fit(X, Y)
    assert model.best_strategy_ == "stack"
    assert model.best_threshold_ is None
    assert model.score(new_X, new_Y) > tuned.score(new_X, new_Y) + 0.01


def test_gfm_decides_by_the_models_of_number_and_label():
    rng = np.random.default_rng(8)
    Q = rng.random((200, 5))
    Y = rng.random((200, 5)) < Q
    Y[:, 2] &= ~Y[:, 1]
    rule = GFM().tune(FixedEvidence(Q), Task(Y, FBeta()))
    odds = rule.scaling(Response(Y, Q, True).log_odds(rule.least))
    number = Y.sum(axis=1)
    joint = np.zeros((200, 5, 5))
    for i in range(5):
        model = LogisticRegression(max_iter=500).fit(odds, np.where(Y[:, i], number, 0))
        for column, s in enumerate(model.classes_.tolist()):
            if s:
                joint[:, i, s - 1] = model.predict_proba(odds)[:, column]
    none = LogisticRegression(max_iter=500).fit(odds, number == 0).predict_proba(odds)[:, 1]
    np.testing.assert_array_equal(rule.labels(FixedEvidence(Q)), gfm(joint, FBeta(), none=none).labels)
    # Jaccard is not affine in the true positives; F1 stands in.
    assert GFM().tune(FixedEvidence(Q), Task(Y, Jaccard())).loss == FBeta()


@pytest.mark.parametrize("kind", ["one of each row", "none", "all", "one label", "two kinds of rows"])
def test_gfm_on_nasty_matrices(kind):
    rng = np.random.default_rng(9)
    Q = rng.random((40, 3))
    Y = {
        "one of each row": Q.max(axis=1, keepdims=True) == Q,
        "none": np.zeros((40, 3), bool),
        "all": np.ones((40, 3), bool),
        "one label": np.repeat([[True, False, False]], 40, axis=0),
        "two kinds of rows": np.repeat([[True, True, False], [False, False, True]], 20, axis=0),
    }[kind]
    labels = GFM().tune(FixedEvidence(Q), Task(Y, FBeta())).labels(FixedEvidence(Q))
    if kind in ("none", "all", "one label"):
        np.testing.assert_array_equal(labels, Y)
    if kind == "one of each row":
        # F1 may gain by two guesses where one is not sure, but never by none.
        assert labels.any(axis=1).all()


@pytest.mark.slow
def test_where_a_few_far_rows_bend_the_line_class_weights_surely_win():
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((2000, 2)), rng.standard_normal((60, 2)) * 0.5 + [1.5, 1.5],
                   rng.standard_normal((60, 2)) * 0.5 + [6.0, -6.0]])  # fmt: skip
    y = np.r_[np.zeros(2000, int), np.ones(120, int)]
    model = MeasureClassifier(LogisticRegression(), "f1", ["class_weight", "decision", "ramp"], random_state=0).fit(
        X, y
    )
    by_name = {c.strategy: c for c in model.candidates_}
    assert all(c.loss >= by_name[model.best_strategy_].loss for c in model.candidates_ if c.gain > c.gain_error)


@pytest.mark.slow
def test_on_a_logistic_model_the_model_stays():
    """A decision is another way to the threshold; all that trains anew must stay away in nearly all cases."""
    stays, gains, count = 0, [], rounds(10, 5)
    for seed in range(count):
        rng = np.random.default_rng(seed)
        weights = 0.7 * rng.standard_normal(6)
        X, new_X = rng.standard_normal((1000, 6)), rng.standard_normal((8000, 6))
        y, new_y = (rows @ weights - 2.0 + rng.logistic(size=len(rows)) > 0 for rows in (X, new_X))
        problem = problem_of(X, y.astype(int), FBeta())
        base = problem.out_of_fold(LogisticRegression(), problem.folds(5, 0))
        strategies = as_strategies(["as_it_is", "threshold", "decision", "class_weight", "ramp"])
        choice = choose({"lr": base}, problem.task, strategies, reference=STRATEGIES["threshold"]())
        stays += choice.chosen.strategy in ("threshold", "decision", "as_it_is")
        evidence = base.fresh(new_X)
        gains.append(f1_score(new_y, choice.rule.labels(evidence)) - f1_score(new_y, choice.reference.labels(evidence)))
    assert stays >= 0.8 * count
    # The choice is not worse than the reference on average, by more than its error.
    assert np.mean(gains) > -0.002
    assert min(gains) > -0.06


needs_data = pytest.mark.skipif("SETWISE_DATA" not in os.environ, reason="SETWISE_DATA is not set")


@pytest.mark.realdata
@needs_data
@pytest.mark.parametrize(("name", "positive"), [("pc1", True), ("yeast_me2", 1)])
def test_real_tables_as_a_user_would(name, positive):
    table = pd.read_csv(Path(os.environ["SETWISE_DATA"]) / "imbalanced" / f"{name}.csv")
    X, y = table.iloc[:, :-1], table.iloc[:, -1]
    test = np.arange(len(y)) % 3 == 0
    linear = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=500))
    for base in (linear, HistGradientBoostingClassifier(max_iter=20, random_state=0)):
        model = MeasureClassifier(base, pos_label=positive).fit(X[~test], y[~test])
        labels = model.predict(X[test])
        assert set(labels.tolist()) <= set(y.tolist())
        # No empty model: at least one positive is found.
        assert f1_score(y[test] == positive, labels == positive) > 0.1
        assert model.score(X[test], y[test]) == pytest.approx(f1_score(y[test] == positive, labels == positive))


@pytest.mark.realdata
@needs_data
def test_real_label_matrices_as_a_user_would():
    with np.load(Path(os.environ["SETWISE_DATA"]) / "multilabel" / "emotions.npz") as data:
        X, Y, n = data["X"], data["Y"], int(data["n_train"])
    forest = RandomForestClassifier(50, random_state=0)
    model = MeasureClassifier(forest, "jaccard", cv=3).fit(X[:n], Y[:n])
    plain = forest.fit(X[:n], Y[:n]).predict(X[n:])
    found = jaccard_score(Y[n:], model.predict(X[n:]), average="samples", zero_division=1.0)
    assert found > jaccard_score(Y[n:], plain, average="samples", zero_division=1.0) + 0.02


def test_a_reference_that_cannot_be_tuned_is_a_refusal():
    X, y = np.random.default_rng(0).standard_normal((40, 2)), np.arange(40) % 2
    with pytest.raises((Refusal, ValueError), match="weights"):
        MeasureClassifier(loss=Hamming(np.ones(3))).fit(X, y)


def test_the_guide_names_every_strategy():
    guide = (Path(__file__).resolve().parents[3] / "docs/guide/measure.md").read_text("utf-8")
    table = {line.split("`")[1] for line in guide.splitlines() if line.startswith("| `")}
    # These two are tried where rows have costs.
    assert table == {*STRATEGIES, CostWeight.name, CostTrees.name}
