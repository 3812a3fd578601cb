"""MeasureClassifier with costs of each row: its choice, its predictions and scores are in the user's money."""

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupShuffleSplit,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
    cross_val_score,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from setwise import MeasureClassifier, SetClassifier, SetClassifierCV
from setwise.core.exceptions import Refusal
from setwise.decisions import best_threshold
from setwise.decisions.task import Task
from setwise.estimators.selection import BayesDecision, base_models, decision
from setwise.estimators.selection.base_models import (
    IsotonicCalibration,
    Response,
    SigmoidCalibration,
    as_is,
    isotonic,
    sigmoid,
)
from setwise.estimators.selection.cost_weight import CostTrees, CostWeight
from setwise.estimators.selection.problem import problem_of
from setwise.estimators.selection.strategies import Evidence, Rule, Strategy, steady_threshold
from setwise.losses import ClassWeightedHamming, Hamming, RowCosts, SumLoss, savings_score

pytestmark = pytest.mark.filterwarnings("ignore::setwise.estimators.linear_training.VacuousBoundWarning")


def cases(n, seed):
    """A table with known probabilities, whose costs of a miss vary by row and have nothing to do with them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "amount": np.exp(rng.normal(2.0, 1.2, n))})
    q = 1.0 / (1.0 + np.exp(2.0 - 1.5 * X["a"].to_numpy()))
    return X, (rng.random(n) < q).astype(int), q


def cost(X, y, h):
    return float(np.where(y == 1, np.where(h == 1, 0.0, X["amount"]), np.where(h == 1, 5.0, 0.0)).sum())


def model(**more):
    return MeasureClassifier(LogisticRegression(), RowCosts(fp=5.0, fn="amount"), cv=3, random_state=0, **more)


def test_each_row_is_decided_by_its_own_costs_at_nearly_the_least_cost_there_is():
    X, y, _ = cases(6000, 0)
    new, truth, q = cases(20_000, 1)
    ours = model().fit(X, y)
    assert ours.best_strategy_ == "decision"
    least = cost(new, truth, (q * new["amount"] > (1 - q) * 5.0).astype(int))
    one = cost(new, truth, ours.predict(new, single_threshold=True))
    assert cost(new, truth, ours.predict(new)) == pytest.approx(least, rel=0.02)
    assert one > 1.1 * least
    assert ours.score(new, truth) == pytest.approx(-cost(new, truth, ours.predict(new)) / 20_000)
    q = ours.rule_.calibration(np.log(ours.predict_proba(new)[:, 1] / ours.predict_proba(new)[:, 0]))
    assert (ours.predict(new) == (q * new["amount"] > (1 - q) * 5.0)).all()
    first, *_ = ours.candidates_
    scores = cross_val_predict(LogisticRegression(), X, y, cv=3, method="predict_proba")[:, 1]
    assert first.loss == pytest.approx(best_threshold(y, scores, ours.loss_.read(X)).loss, rel=0.03)


def test_costs_come_by_name_of_a_column_by_array_and_by_argument_alike():
    X, y, _ = cases(900, 2)
    amount, new = X["amount"].to_numpy(), cases(50, 3)[0]
    named = model().fit(X, y)
    given = MeasureClassifier(LogisticRegression(), RowCosts(fp=5.0, fn=amount), cv=3, random_state=0).fit(X, y)
    asked = MeasureClassifier(LogisticRegression(), RowCosts(), cv=3, random_state=0).fit(
        X, y, fp_cost=5.0, fn_cost=amount
    )
    assert str(named.rule_.calibration) == str(given.rule_.calibration) == str(asked.rule_.calibration)
    assert named.best_strategy_ == "decision"
    want = named.predict(new).tolist()
    assert given.predict(new, fn_cost=new["amount"]).tolist() == want
    assert asked.predict(new, fp_cost=5.0, fn_cost=new["amount"]).tolist() == want
    assert named.predict(new, fn_cost=np.zeros(50)).tolist() == [0] * 50
    assert given.predict(new, single_threshold=True).tolist() == named.predict(new, single_threshold=True).tolist()
    for rows in (new, X):
        with pytest.raises(ValueError, match="fn has the costs of the rows of fit, but predict gets other rows"):
            given.predict(rows)
    with pytest.raises(ValueError, match="fn has the costs of the rows of fit, but score gets other rows"):
        given.score(X, y)
    assert given.score(X, y, fn_cost=amount) == named.score(X, y)
    with pytest.raises(ValueError, match="fn has the costs of the rows of fit, but score"):
        SetClassifier(RowCosts(fn=amount), "ramp").fit(X, y).score(X, y)
    with pytest.raises(ValueError, match="must name a column of X, which has the columns a; got 'amount'"):
        named.predict(new[["a"]])
    again = pickle.loads(pickle.dumps(named))
    assert again.predict(new).tolist() == want
    assert clone(named).get_params()["loss"] is not None


def equal_costs(X, how):
    """X and costs of 1 and 4 for all rows, as numbers, arrays, columns or arguments of fit, and those arguments."""
    each = {"fp": np.full(len(X), 1), "fn": np.full(len(X), 4.0)}
    if how == "columns":
        return X.assign(**each), RowCosts(fp="fp", fn="fn"), {}
    if how == "arguments":
        return X, RowCosts(), {f"{cell}_cost": cost for cell, cost in each.items()}
    return X, RowCosts(**each) if how == "arrays" else RowCosts(fp=1.0, fn=4.0), {}


@pytest.mark.parametrize("how", ["numbers", "arrays", "columns", "arguments"])
def test_equal_costs_give_the_model_of_class_weighted_hamming_to_the_bit(how):
    X, y, _ = cases(400, 4)
    X, costs, given = equal_costs(X, how)
    base = make_pipeline(ColumnTransformer([("features", "passthrough", ["a", "amount"])]), LogisticRegression())
    fits = [
        MeasureClassifier(base, loss, cv=3, random_state=0, outer_cv=3, store_cv_results=True).fit(X, y, **more)
        for loss, more in ((costs, given), (ClassWeightedHamming(negative=1.0, positive=4.0), {}))
    ]
    ours, usual = fits
    for one, two in zip(ours.candidates_, usual.candidates_, strict=True):
        assert str(replace(one, seconds=0.0, refusal="")) == str(replace(two, seconds=0.0, refusal=""))
    assert (ours.best_threshold_, ours.best_strategy_) == (usual.best_threshold_, usual.best_strategy_)
    assert (ours.gain_, ours.gain_interval_) == (usual.gain_, usual.gain_interval_)
    assert ours.predict(X).tolist() == usual.predict(X).tolist()
    again = {f"{cell}_cost": cost for cell, cost in costs.arrays.items()} | given
    assert ours.score(X, y, **again) == (usual.score(X, y) - 1.0) / 400


@pytest.mark.parametrize("how", ["arrays", "columns"])
@pytest.mark.parametrize("kind", [SetClassifier, SetClassifierCV])
def test_equal_costs_train_the_model_of_class_weighted_hamming_to_the_bit(how, kind):
    X, y, _ = cases(300, 4)
    X, costs, _ = equal_costs(X, how)
    models = [SetClassifier(loss) for loss in (costs, ClassWeightedHamming(negative=1.0, positive=4.0))]
    ours, usual = (one.fit(X, y) if kind is SetClassifier else kind(one, Cs=[1.0], cv=3).fit(X, y) for one in models)
    assert ours.coef_.tolist() == usual.coef_.tolist()
    assert ours.predict(X).tolist() == usual.predict(X).tolist()


def test_weights_of_one_set_go_with_its_rows_into_folds():
    X, y, _ = cases(300, 5)
    weights = np.random.default_rng(0).exponential(size=300)
    for loss in (SumLoss(weights), Hamming(weights)):
        fitted = MeasureClassifier(LogisticRegression(), loss, ["threshold", "as_it_is"], cv=3, random_state=0).fit(
            X, y
        )
        own = cross_val_predict(LogisticRegression(), X, y, cv=list(_folds(X, y)))
        assert fitted.candidates_[1].loss == pytest.approx(weights[own != y].sum())
    with pytest.raises(ValueError, match="has 300 weights"):
        MeasureClassifier(LogisticRegression(), Hamming(weights), cv=3).fit(X[:200], y[:200])


def _folds(X, y):
    return problem_of(X, y, Hamming()).folds(3, int(np.random.RandomState(0).randint(2**31 - 1)))


def test_gains_in_outer_folds_are_the_money_of_rows_that_were_held_out():
    X, y, _ = cases(2000, 6)
    groups = np.repeat(np.arange(400), 5)
    for more in ({}, {"groups": groups}):
        fitted = model(outer_cv=3).fit(X, y, **more)
        assert fitted.gain_interval_[0] < fitted.gain_ < fitted.gain_interval_[1]
        assert fitted.gain_ > 0
    # The sets are the groups, so a gain is one for each of them.
    assert fitted.gain_ < 5


@pytest.mark.parametrize("calibration", [None, "sigmoid", "isotonic"])
def test_calibration_repairs_probabilities_that_are_wrong(calibration):
    X, y, q = cases(4000, 7)

    class Overconfident(LogisticRegression):
        def predict_proba(self, X):
            odds = 4.0 * self.decision_function(X) + 3.0
            p = 1.0 / (1.0 + np.exp(-odds))
            return np.column_stack([1.0 - p, p])

    fitted = MeasureClassifier(
        Overconfident(), RowCosts(fp=5.0, fn="amount"), [BayesDecision(calibration)], cv=3, random_state=0
    ).fit(X, y)
    least = cost(X, y, (q * X["amount"] > (1 - q) * 5.0).astype(int))
    assert cost(X, y, fitted.predict(X)) == pytest.approx(least, rel=0.05)
    raw = fitted.predict_proba(X)[:, 1]
    assert cost(X, y, (raw * X["amount"] > (1 - raw) * 5.0).astype(int)) > 1.1 * least


def test_calibrations_are_averaged_but_for_those_that_clearly_cost_more():
    X, y, q = cases(4000, 7)
    y, costs = y == 1, RowCosts(fp=5.0, fn="amount").read(X)

    class Given(Evidence):
        def __init__(self, q):
            self.q = q

        def response(self, weight=1.0):
            return Response(self.q >= 0.5, self.q, True)

        numbers = None

    task = Task(y, costs)
    rule = BayesDecision().tune(Given(q), task)
    s = Given(q).response().log_odds(rule.least)
    parts = [as_is(s, y), sigmoid(s, y), isotonic(s, y)]
    mean = np.mean([logit(np.clip(part(s), rule.least, 1 - rule.least)) for part in parts], axis=0)
    np.testing.assert_allclose(rule.calibration(s), expit(mean), rtol=1e-12)
    # Probabilities of 20 times the odds are far too large; what corrects them is kept.
    wrong = expit(logit(q) + 3.0)
    rule = BayesDecision().tune(Given(wrong), task)
    s = Given(wrong).response().log_odds(rule.least)
    assert [type(part) for part in rule.calibration.parts] == [SigmoidCalibration, IsotonicCalibration]
    assert rule.calibration.parts[0].slope != 1.0
    assert np.abs(rule.calibration(s) - q).mean() < 0.02


def test_calibrations_are_compared_on_some_of_many_rows(monkeypatch):
    X, y, q = cases(4000, 22)
    task = Task(y == 1, RowCosts(fp=5.0, fn="amount").read(X))
    heard = []

    class Given(Evidence):
        numbers = None

        def response(self, weight=1.0):
            return Response(q >= 0.5, expit(logit(q) + 3.0), True)

    def listened(scores, truth, weights=None):
        heard.append(len(scores))
        return sigmoid(scores, truth, weights)

    monkeypatch.setattr(decision, "COMPARED", 1000)
    monkeypatch.setitem(decision.CALIBRATIONS, "sigmoid", listened)
    monkeypatch.setitem(decision.CALIBRATIONS, "isotonic", listened)
    rule = BayesDecision().tune(Given(), task)
    assert heard == [500] * 4 + [4000] * 2
    assert np.abs(rule.calibration(Given().response().log_odds(rule.least)) - q).mean() < 0.02


def test_searches_and_pipelines_take_named_columns_without_routing_and_arrays_with_it():
    X, y, _ = cases(240, 8)
    # With routing a base model is fitted with weights only where it asks for them.
    search = GridSearchCV(model(strategies=["threshold", "decision"]), {"estimator__C": [1e-3, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ == pytest.approx(cross_val_score(search.best_estimator_, X, y, cv=3).mean())
    assert search.best_score_ < 0
    piped = make_pipeline(StandardScaler().set_output(transform="pandas"), MeasureClassifier(None, RowCosts(), cv=3))
    with sklearn.config_context(enable_metadata_routing=True):
        last = piped[-1]
        for method in ("fit", "predict", "score"):
            getattr(last, f"set_{method}_request")(fn_cost=True, fp_cost=True)
        costs = {"fn_cost": X["amount"].to_numpy(), "fp_cost": np.full(240, 5.0)}
        piped.fit(X, y, **costs)
        assert piped.predict(X, **costs).shape == (240,)
        routed = clone(search.estimator).set_params(loss=RowCosts())
        routed.set_fit_request(fn_cost=True, fp_cost=True).set_score_request(fn_cost=True, fp_cost=True)
        found = GridSearchCV(routed, {"estimator__C": [1e-3, 1.0]}, cv=3).fit(X, y, **costs)
    assert found.cv_results_["mean_test_score"] == pytest.approx(search.cv_results_["mean_test_score"])


@pytest.mark.parametrize("weighted", [False, True])
def test_a_sigmoid_of_many_rows_is_computed_in_blocks(monkeypatch, weighted):
    rng = np.random.default_rng(0)
    s = rng.normal(size=1000)
    y, w = rng.random(1000) < expit(2.0 * s - 1.0), rng.random(1000) if weighted else None
    whole = sigmoid(s, y, w)
    monkeypatch.setattr(base_models, "BLOCK", 300)
    parts = sigmoid(s, y, w)
    assert (parts.slope, parts.intercept) == pytest.approx((whole.slope, whole.intercept), rel=1e-6)


def test_what_does_not_fit_is_refused():
    X, y, _ = cases(100, 9)
    usual = MeasureClassifier(LogisticRegression(), cv=3).fit(X, y)
    for call in (usual.fit, usual.score):
        with pytest.raises(Refusal, match=r"takes fn_cost with loss=RowCosts\(...\); the loss is FBeta"):
            call(X, y, fn_cost=np.ones(100))
    with pytest.raises(ValueError, match="fn must have one cost for each row of X, 100; got 2"):
        model().fit(X, y, fn_cost=[1.0, 2.0])
    # Unknown costs of cells that cannot occur leave the threshold alone.
    amount = np.where(y == 1, X["amount"], np.nan)
    said = rf"fn is NaN for {(y == 0).sum()} rows, which count as wrongly decided by their own costs, and 'thres"
    with pytest.warns(RuntimeWarning, match=said):
        fitted = MeasureClassifier(LogisticRegression(), RowCosts(fp=5.0, fn=amount), cv=3).fit(X, y)
    assert fitted.predict(X).shape == (100,)


@pytest.mark.parametrize("named", [True, False])
def test_no_rows_are_refused_as_such(named):
    X, y, _ = cases(100, 9)
    given = {} if named else {"fn_cost": X["amount"]}
    none = {} if named else {"fn_cost": []}
    costs = RowCosts(fp=5.0, fn="amount" if named else 1.0)
    for one in (MeasureClassifier(LogisticRegression(), costs, ["threshold", "decision"], cv=3), SetClassifier(costs)):
        with pytest.raises(ValueError, match="X must have one row or more; got none"):
            clone(one).fit(X[:0], y[:0], **none)
        one.fit(X, y, **given)
        with pytest.raises(ValueError, match="X must have one row or more; got none"):
            one.score(X[:0], y[:0], **none)
        if isinstance(one, MeasureClassifier):
            with pytest.raises(ValueError, match="X must have one row or more; got none"):
                one.predict(X[:0], **none)


def test_set_classifier_trains_for_costs_of_rows_as_for_weights_of_mistakes():
    X, y, _ = cases(400, 10)
    amount = X["amount"].to_numpy()
    weights = np.where(y == 1, amount, 5.0)
    for surrogate in ("convex", "ramp"):
        ours = SetClassifier(RowCosts(fp=5.0, fn="amount"), surrogate, C=1000.0).fit(X, y)
        usual = SetClassifier(Hamming(weights), surrogate, C=1000.0).fit(X, y)
        assert ours.coef_.tolist() == usual.coef_.tolist()
        assert ours.score(X, y) == pytest.approx(-cost(X, y, ours.predict(X)) / 400)
    new, truth, _ = cases(90, 11)
    assert ours.score(new, truth) == pytest.approx(-cost(new, truth, ours.predict(new)) / 90)
    # What a right decision costs moves no weight, and counts in the score.
    dearer = SetClassifier(RowCosts(tp=1.0, fp=6.0, fn=amount + 1.0, tn=1.0), "convex", C=1000.0).fit(X, y)
    usual = SetClassifier(Hamming(weights), "convex", C=1000.0).fit(X, y)
    assert dearer.coef_ == pytest.approx(usual.coef_, rel=1e-6, abs=1e-9)
    money = SetClassifier(RowCosts(tp=1.0, fp=6.0, fn="amount", tn=1.0), "convex", C=1000.0).fit(X, y)
    assert money.score(X, y) == pytest.approx(-RowCosts(1.0, 6.0, amount, 1.0)(y, money.predict(X)) / 400)


def _large_costs(seed, n=1000):
    """Rows whose cost of a miss is a feature, and whose optimum is therefore no threshold of the probability."""
    rng = np.random.default_rng(seed)
    risk, amount = rng.normal(size=n), np.exp(rng.normal(3.0, 1.2, n))
    X = StandardScaler().fit_transform(np.c_[risk, amount])
    return X, (rng.random(n) < expit(1.5 * risk - 1.5)).astype(int), amount


@pytest.mark.parametrize("seed", range(5))
def test_the_default_costs_no_more_in_training_than_the_convex_model_and_the_best_single_threshold(seed):
    X, y, amount = _large_costs(seed)
    loss = RowCosts(fp=5.0, fn=amount)
    convex = loss(y, SetClassifier(loss, "convex").fit(X, y).predict(X))
    q = LogisticRegression().fit(X, y).predict_proba(X)[:, 1]
    reference = best_threshold(y, q, loss).loss
    ours = loss(y, SetClassifier(loss).fit(X, y).predict(X))
    assert ours <= min(convex, reference) * (1.0 + 1e-12)
    searched = SetClassifierCV(SetClassifier(loss), cv=3).fit(X, y)
    # Held-out folds choose its C; luck alone makes a threshold a little better on the rows it was chosen on.
    assert loss(y, searched.predict(X)) <= min(convex, 1.05 * reference) * (1.0 + 1e-12)
    model = SetClassifier(loss, "convex", warm_start=True).fit(X, y)
    assert loss(y, model.set_params(surrogate="ramp").fit(X, y).predict(X)) <= convex * (1.0 + 1e-12)
    assert (model.surrogate_, model.duality_gap_, np.isnan(model.certain_share_)) == ("ramp", 1.0, True)


@pytest.mark.parametrize(
    "loss", [lambda y, amount: Hamming(np.where(y == 1, amount, 5.0)), lambda y, a: "early_detection"]
)
def test_other_losses_that_see_rows_start_at_the_convex_model_too(loss):
    X, y, amount = _large_costs(0, 600)
    convex, plain, ours = (
        SetClassifier(loss(y, amount), **how).fit(X, y).score(X, y)
        for how in ({"surrogate": "convex"}, {"start": "logistic", "C": 0.0}, {})
    )
    assert ours >= max(convex, plain)


@pytest.mark.parametrize("start", ["auto", "logistic"])
def test_without_steps_the_ramp_stays_at_its_start(start):
    X, y, amount = _large_costs(0)
    loss = RowCosts(fp=5.0, fn=amount)
    convex = SetClassifier(loss, "convex").fit(X, y).predict(X)
    for threshold in ("zero", "exact"):
        ours = SetClassifier(loss, C=0.0, start=start, threshold=threshold).fit(X, y)
        same = np.mean((ours.decision_function(X) + ours.threshold_ > 0) == (convex == 1))
        assert (same == 1.0) == (start == "auto")


def test_the_default_of_c_makes_decisions_that_do_not_depend_on_the_currency():
    X, y, amount = _large_costs(0)
    dollars, quarters = (
        SetClassifier(RowCosts(fp=5.0 * unit, fn=amount * unit), start="logistic").fit(X, y) for unit in (1.0, 4.0)
    )
    assert quarters.C_ == 4.0 * dollars.C_
    assert quarters.coef_ == pytest.approx(4.0 * dollars.coef_)
    assert dollars.n_iter_ > 1


def test_rows_whose_miss_is_cheaper_are_trained_as_negatives():
    X, y, _ = cases(400, 12)
    rng = np.random.default_rng(0)
    costs = RowCosts(tp=8.0, fp=rng.exponential(5.0, 400), fn="amount", tn=rng.exponential(1.0, 400))
    ours = SetClassifier(costs, "convex", C=1000.0).fit(X, y)
    zero, one = costs.read(X).of_labels(y == 1)
    assert ((one > zero) & (y == 1)).any()
    assert ((one < zero) & (y == 0)).any()
    usual = SetClassifier(Hamming(np.abs(zero - one)), "convex", C=1000.0).fit(X, (one < zero).astype(int))
    assert ours.coef_ == pytest.approx(usual.coef_, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("threshold", ["zero", "exact"])
def test_the_search_for_c_takes_costs_and_weights_of_rows_into_its_folds(threshold):
    X, y, _ = cases(300, 13)
    amount = X["amount"].to_numpy()
    folds = [(np.flatnonzero(np.arange(300) % 3 != k), np.flatnonzero(np.arange(300) % 3 == k)) for k in range(3)]
    for loss in (RowCosts(fp=5.0, fn="amount"), RowCosts(fp=5.0, fn=amount), Hamming(np.where(y == 1, amount, 5.0))):
        search = SetClassifierCV(SetClassifier(loss, "convex", threshold=threshold), [10.0, 1000.0], folds).fit(X, y)
        assert search.scores_.shape[0] == 3
        if threshold == "zero":
            train, test = folds[0]
            part = loss if isinstance(loss, RowCosts) and loss.columns else loss.of_rows(train)
            one = SetClassifier(part, "convex", C=1000.0).fit(X.iloc[train], y[train])
            lost = cost(X.iloc[test], y[test], one.predict(X.iloc[test]))
            want = -lost / 100 if isinstance(loss, RowCosts) else 1.0 - lost
            assert search.scores_[0, -1] == pytest.approx(want)


class Recorder(LogisticRegression):
    """Logistic regression that keeps the labels and weights of its fit."""

    def fit(self, X, y, sample_weight=None):
        self.heard_ = y, sample_weight
        return super().fit(X, y, sample_weight)


def test_the_base_model_is_fitted_to_rows_weighted_by_their_costs():
    X, y, _ = cases(600, 14)
    costs = RowCosts(tp=9.0, fp=5.0, fn="amount", tn=np.where(np.arange(600) % 2, 6.0, 0.0))
    y = np.where(y == 1, "ill", "well")
    fitted = MeasureClassifier(Recorder(), costs, [CostWeight()], cv=3, pos_label="ill", random_state=0).fit(X, y)
    zero, one = costs.read(X).of_labels(y == "ill")
    halves = [np.arange(300), np.arange(300, 600)]
    weighted = MeasureClassifier(Recorder(), costs, [CostWeight()], cv=[halves, halves[::-1]], pos_label="ill").fit(
        X, y
    )
    assert [one_.strategy for one_ in weighted.candidates_] == ["threshold", "cost_weight"]
    if fitted.best_strategy_ == "cost_weight":
        labels, weights = fitted.estimator_.heard_
        assert (labels == np.where(one < zero, "ill", "well")).all()
        assert weights == pytest.approx(np.abs(one - zero) / np.abs(one - zero).mean())
        assert fitted.rule_.weight == 1.0
    # Brute force: the same fits by hand, and one threshold for all.
    labels, weights = np.where(one < zero, "ill", "well"), np.abs(one - zero)
    scores = np.empty(600)
    for train, test in ((slice(300), slice(300, 600)), (slice(300, 600), slice(300))):
        part = weights[train] / weights[train].mean()
        by_hand = LogisticRegression().fit(X[train], labels[train], part)
        scores[test] = by_hand.predict_proba(X[test])[:, list(by_hand.classes_).index("ill")]
    guess = np.empty(600, bool)
    for tune, test in (halves, halves[::-1]):
        at = steady_threshold(Task(y[tune] == "ill", costs.read(X).of_rows(tune)), scores[tune], 100)
        guess[test] = scores[test] >= at
    assert weighted.candidates_[1].loss == pytest.approx(float(np.where(guess, one, zero).sum()))


def test_boosted_trees_take_the_place_of_the_classifier_and_are_weighted_by_costs():
    X, y, _ = cases(600, 14)
    costs = RowCosts(fp=5.0, fn="amount")
    halves = [np.arange(300), np.arange(300, 600)]
    zero, one = costs.read(X).of_labels(y == 1)
    weights, scores, guess = np.abs(one - zero), np.empty(600), np.empty(600, bool)
    for train, test in (halves, halves[::-1]):
        scaler, part = StandardScaler().fit(X.iloc[train]), weights[train] / weights[train].mean()
        trees = HistGradientBoostingClassifier(random_state=0)
        trees.fit(scaler.transform(X.iloc[train]), y[train], sample_weight=part)
        scores[test] = trees.predict_proba(scaler.transform(X.iloc[test]))[:, 1]
    for tune, test in (halves, halves[::-1]):
        at = steady_threshold(Task(y[tune] == 1, costs.read(X).of_rows(tune)), scores[tune], 100)
        guess[test] = scores[test] >= at
    # Nearest neighbors take no weights, but the trees in their place do.
    for last in (LogisticRegression(), KNeighborsClassifier()):
        base = make_pipeline(StandardScaler(), last)
        fitted = MeasureClassifier(base, costs, [CostTrees()], cv=[halves, halves[::-1]]).fit(X, y)
        assert [one.strategy for one in fitted.candidates_] == ["threshold", "cost_trees"]
        assert fitted.candidates_[1].loss == pytest.approx(float(np.where(guess, one, zero).sum()))
        assert type(base.steps[-1][1]) is type(last)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = LogisticRegression().set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = MeasureClassifier(make_pipeline(scaler, asked), costs, [CostTrees()], cv=[halves, halves[::-1]])
        assert routed.fit(X, y).candidates_[1].loss == fitted.candidates_[1].loss


def test_trees_weighted_by_costs_are_chosen_where_a_line_is_not_enough_and_predict_without_costs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = (X[:, 0] * X[:, 1] > rng.logistic(size=3000) / 2).astype(int)
    amount = np.exp(rng.normal(scale=0.3, size=3000))
    fitted = MeasureClassifier(LogisticRegression(), RowCosts(), cv=3, random_state=0)
    fitted.fit(X[:2000], y[:2000], fp_cost=1.0, fn_cost=amount[:2000])
    assert fitted.best_strategy_ == "cost_trees"
    assert isinstance(fitted.estimator_, HistGradientBoostingClassifier)
    labels = fitted.predict(X[2000:])
    assert (labels == (fitted.estimator_.predict_proba(X[2000:])[:, 1] >= fitted.best_threshold_)).all()
    again = pickle.loads(pickle.dumps(fitted))
    assert (again.predict(X[2000:]) == labels).all()
    assert savings_score(y[2000:], labels, RowCosts(fp=1.0, fn=amount[2000:])) > 0.3


def test_trees_weighted_by_costs_say_where_they_do_not_fit():
    X, y, _ = cases(300, 15)
    costs, strategies = RowCosts(fp=5.0, fn="amount"), [CostTrees()]

    def said(base, X=X, loss=costs, **more):
        return MeasureClassifier(base, loss, strategies, **{"cv": 3, **more}).fit(X, y).candidates_[1].refusal

    assert said(LogisticRegression(), loss="f1").startswith("cost_trees refuses FBeta")
    trees = make_pipeline(StandardScaler(), HistGradientBoostingClassifier(max_iter=5))
    assert "it is boosted trees itself" in said(trees)
    fixed = LogisticRegression().fit(X, y)
    assert "or is not fitted here" in said(fixed, cv="prefit", refit=False)
    sparse = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    assert said(sparse).startswith("cost_trees is refused, because boosted trees cannot be fitted here")
    voting = VotingClassifier([("a", LogisticRegression()), ("b", KNeighborsClassifier())], voting="soft")
    assert said(voting).startswith("cost_trees refuses VotingClassifier: it holds several estimators")
    words = X.assign(kind=pd.Series(np.where(y == 1, "a", "b"), dtype=object))
    coded = make_pipeline(make_column_transformer((OneHotEncoder(sparse_output=False), ["kind"])), LogisticRegression())
    assert said(coded, words) == ""


@pytest.mark.parametrize("wrap", ["pipeline", "search", "calibrated", "voting", "grid"])
def test_a_column_that_the_estimator_drops_is_read_by_no_strategy(wrap):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=900), "amount": np.exp(rng.normal(2.0, 1.0, 900))})
    y = (rng.random(900) < expit(X["a"] - 1.0)).astype(int)
    told = X.assign(label=y)
    base = make_pipeline(make_column_transformer(("drop", ["label"]), remainder="passthrough"), LogisticRegression())
    if wrap == "search":
        base = GridSearchCV(base, {"logisticregression__C": [0.1, 1.0]}, cv=2)
    elif wrap == "calibrated":
        base = CalibratedClassifierCV(base, cv=2)
    elif wrap == "voting":
        base = VotingClassifier([("one", base), ("two", base)], voting="soft")
    elif wrap == "grid":
        base = Pipeline([("dropped", "passthrough"), ("model", LogisticRegression())])
        base = GridSearchCV(
            base, {"dropped": [make_column_transformer(("drop", ["label"]), remainder="passthrough")]}, cv=2
        )
    fitted = MeasureClassifier(base, RowCosts(fp=5.0, fn="amount"), cv=3, random_state=0).fit(told, y)
    # With the label as a column trees and the ramp would cost nothing.
    tried = {one.strategy: one for one in fitted.candidates_}
    assert min(one.loss for one in fitted.candidates_ if not one.refusal) > 0.2 * tried["threshold"].loss
    assert "no step of the estimator may leave some out" in tried["ramp"].refusal
    assert bool(tried["cost_trees"].refusal) == (wrap in ("voting", "grid"))
    assert (fitted.predict(told.assign(label=1 - y)) == fitted.predict(told)).all()


def test_trees_that_fit_all_folds_but_not_all_rows_are_refused_before_the_choice():
    rng = np.random.default_rng(0)
    shop = np.r_[rng.integers(0, 200, 1940), 1000 + np.arange(60)]
    X = pd.DataFrame({"a": rng.normal(size=2000), "b": rng.normal(size=2000), "shop": pd.Categorical(shop)})
    y = (X["a"] * X["b"] > 0.4 * rng.logistic(size=2000)).astype(int)
    base = make_pipeline(CodesOfShops(), LogisticRegression())
    costs = RowCosts(fp=1.0, fn=np.exp(0.3 * rng.normal(size=2000)))
    fitted = MeasureClassifier(base, costs, ["threshold", "cost_trees"], cv=3, random_state=0).fit(X, y)
    assert fitted.best_strategy_ == "threshold"
    assert "cardinality <= 255" in fitted.candidates_[1].refusal


class CodesOfShops(TransformerMixin, BaseEstimator):
    """The table as it is for trees; linear models read the codes of its category."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


def test_strategies_for_costs_can_be_named():
    X, y, _ = cases(300, 15)
    costs = RowCosts(fp=5.0, fn="amount")
    named = MeasureClassifier(LogisticRegression(), costs, ["cost_weight", "cost_trees"], cv=3).fit(X, y)
    assert [one.strategy for one in named.candidates_] == ["threshold", "cost_weight", "cost_trees"]


def test_weighted_rows_are_tried_with_costs_alone():
    X, y, _ = cases(300, 15)
    assert {"cost_weight", "cost_trees"} < {one.strategy for one in model().fit(X, y).candidates_}
    usual = MeasureClassifier(LogisticRegression(), "f1", cv=3).fit(X, y)
    assert not {"cost_weight", "cost_trees"} & {one.strategy for one in usual.candidates_}
    refused = MeasureClassifier(LogisticRegression(), "f1", [CostWeight()], cv=3).fit(X, y).candidates_[1].refusal
    assert refused.startswith("cost_weight refuses FBeta")


def test_a_row_is_decided_by_its_costs_unless_another_way_is_clearly_cheaper():
    # Of few rows the gain over one threshold is noise, and what decides by costs is still the usual rule.
    fits = [model(strategies=["threshold", "decision"]).fit(*cases(150, seed)[:2]) for seed in range(6)]
    assert [one.best_strategy_ for one in fits] == ["decision"] * 6
    assert min(one.candidates_[1].gain / one.candidates_[1].gain_error for one in fits) < 1.0
    # Costs that say the contrary of what counts: there one threshold is clearly cheaper.
    X, y, _ = cases(3000, 16)
    backwards = BackwardsDecision()
    fitted = model(strategies=["threshold", backwards]).fit(X, y)
    assert fitted.best_strategy_ == "threshold"


@dataclass(frozen=True)
class BackwardsDecision(Strategy):
    """The opposite of what costs least."""

    name = "decision"

    def tune(self, evidence, task):
        return BackwardsRule(BayesDecision().tune(evidence, task))


@dataclass(frozen=True, eq=False)
class BackwardsRule(Rule):
    """The opposite of a rule."""

    rule: Rule

    def for_rows(self, loss):
        return BackwardsRule(self.rule.for_rows(loss))

    def labels(self, evidence):
        return ~self.rule.labels(evidence)


def test_costs_that_fit_was_given_must_be_given_to_predict_and_score():
    X, y, _ = cases(900, 17)
    amount = X["amount"].to_numpy()
    fitted = MeasureClassifier(LogisticRegression(), RowCosts(), cv=3, random_state=0).fit(
        X, y, fp_cost=5.0, fn_cost=amount
    )
    for method in (fitted.predict, lambda rows, **costs: fitted.score(rows, y, **costs)):
        for given, missing in (({}, "fp"), ({"fn_cost": amount}, "fp"), ({"fp_cost": 5.0}, "fn")):
            with pytest.raises(ValueError, match=f"{missing} was given to fit as {missing}_cost, but .* other rows"):
                method(X, **given)
    labels = fitted.predict(X, fp_cost=5.0, fn_cost=amount)
    assert fitted.score(X, y, fp_cost=5.0, fn_cost=amount) == pytest.approx(-cost(X, y, labels) / 900)
    assert fitted.predict(X, single_threshold=True).shape == (900,)
    # Costs of another fit are forgotten.
    assert fitted.fit(X, y).score(X, y) == pytest.approx(-(fitted.predict(X) != y).mean())
    search = GridSearchCV(clone(fitted), {"estimator__C": [1.0]}, cv=2, error_score="raise")
    with pytest.raises(ValueError, match="was given to fit as"):
        search.fit(X, y, fp_cost=5.0, fn_cost=amount)


@pytest.mark.parametrize(
    "costs", [RowCosts(tp="amount", fp=5.0, fn=1.0), RowCosts(fp=-3.0, fn="amount"), RowCosts(fp="amount", fn=0.0)]
)
def test_costs_for_which_one_label_is_always_cheaper_leave_weighted_rows_alone(costs):
    X, y, _ = cases(400, 18)
    X["amount"] += 1.0
    fitted = MeasureClassifier(LogisticRegression(), costs, cv=3, random_state=0).fit(X, y)
    (refused,) = [one.refusal for one in fitted.candidates_ if one.strategy == "cost_weight"]
    assert "the same label is the cheaper one for all" in refused
    known = costs.read(X)
    least = min(known(y, np.full(400, label)) for label in (0, 1))
    assert known(y, fitted.predict(X)) == least


def test_a_fold_with_one_cheaper_label_leaves_weighted_rows_alone():
    X, y, _ = cases(400, 19)
    # A miss costs something in the first half alone.
    costs = RowCosts(fp=5.0, fn=np.where(np.arange(400) < 200, X["amount"], 0.0))
    halves = [np.arange(200), np.arange(200, 400)]
    fitted = MeasureClassifier(LogisticRegression(), costs, cv=[halves, halves[::-1]], n_jobs=2).fit(X, y)
    (refused,) = [one.refusal for one in fitted.candidates_ if one.strategy == "cost_weight"]
    assert "in 200 training rows the same label" in refused


def test_the_score_is_minus_the_mean_cost_of_a_row_whatever_the_sets():
    X, y, _ = cases(600, 20)
    # Groups of 4, but for one of 200; without groups the first fold of a series is not judged.
    groups = np.minimum(np.arange(600) // 4, 100)
    weights = np.where(groups % 2, 1.0, 3.0)
    ours = model(strategies=["threshold", "decision"]).fit(X, y, groups=groups)
    each = np.where(y == 1, np.where(ours.predict(X, groups) == 1, 0.0, X["amount"]), 5.0 * ours.predict(X, groups))
    assert ours.score(X, y, groups=groups) == pytest.approx(-each.mean())
    assert ours.score(X, y, groups=groups, sample_weight=weights) == pytest.approx(-np.average(each, weights=weights))
    linear = SetClassifier(RowCosts(fp=5.0, fn="amount"), "convex").fit(X, y, groups=groups)
    each = np.where(y == 1, np.where(linear.predict(X) == 1, 0.0, X["amount"]), 5.0 * linear.predict(X))
    assert linear.score(X, y, groups=groups) == pytest.approx(-each.mean())
    assert linear.score(X, y, groups=groups, sample_weight=weights) == pytest.approx(-np.average(each, weights=weights))
    search = SetClassifierCV(SetClassifier(RowCosts(fp=5.0, fn="amount"), "convex", threshold="exact"), [10.0], 3)
    # One group in three folds is 200 rows long: a fold is a mean over its rows.
    assert -each.mean() * 3 < search.fit(X, y, groups=groups).best_score_ < -each.mean() / 3
    series = model(strategies=["threshold"], store_cv_results=True).set_params(cv=TimeSeriesSplit(3)).fit(X, y)
    assert series.best_score_ == pytest.approx(-series.candidates_[0].loss / 300)
    at = series.cv_results_["thresholds"]
    scores = np.zeros(600)
    for train, test in TimeSeriesSplit(3).split(X):
        scores[test] = LogisticRegression().fit(X.iloc[train], y[train]).predict_proba(X.iloc[test])[:, 1]
    lost = [cost(X[150:], y[150:], scores[150:] >= one) / 450 for one in at[::50]]
    assert series.cv_results_["scores"][::50] == pytest.approx(-np.array(lost))


@pytest.mark.parametrize("average", ["samples", "micro", "macro"])
def test_the_score_of_a_label_matrix_is_minus_the_mean_cost_of_a_row(average):
    X, y, _ = cases(300, 21)
    Y = np.column_stack([y, 1 - y, np.roll(y, 1)])
    costs = RowCosts(fp=5.0, fn=2.0)
    ours = MeasureClassifier(LogisticRegression(), costs, ["threshold"], cv=3, average=average).fit(X, Y)
    linear = SetClassifier(costs, "convex", average=average).fit(X, Y)
    for one in (ours, linear):
        assert one.score(X, Y) == pytest.approx(-costs(Y.ravel(), one.predict(X).ravel()) / 300)


@parametrize_with_checks(
    [MeasureClassifier(LogisticRegression(), RowCosts(fp=1.0, fn=2.0), ["threshold", "decision"], cv=2)]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.filterwarnings("ignore:The least populated class")
def test_scikit_learn_compatibility(estimator, check):
    check(estimator)


def test_a_label_matrix_has_costs_of_mistakes_alone():
    X, y, _ = cases(60, 23)
    Y = np.column_stack([y, 1 - y])
    for costs in (
        RowCosts(tp=0.5, fp=5.0),
        RowCosts(fn="amount"),
        RowCosts(fn=np.arange(60.0)),
        RowCosts(fn=np.ones(120)),
    ):
        with pytest.raises(
            ValueError, match=r"refuses RowCosts\(.*\) for a label matrix|one cost for each row of X, 60"
        ):
            MeasureClassifier(LogisticRegression(), costs, cv=3).fit(X, Y)


def test_more_than_two_classes_have_the_mean_cost_of_each_against_the_rest():
    X, _, _ = cases(90, 24)
    y = np.arange(90) % 3
    costs = RowCosts(fp=5.0, fn=2.0)
    for pos_label, classes in ((None, [0, 1, 2]), (1, [1])):
        linear = SetClassifier(costs, "margin", C=10.0, pos_label=pos_label).fit(X, y)
        lost = [costs(y == one, linear.predict(X) == one) / 90 for one in classes]
        assert linear.score(X, y) == pytest.approx(-np.mean(lost))


def test_a_missing_cost_is_reported_with_its_row():
    X, y, _ = cases(300, 25)
    for cell, wanted in (("fn", 1), ("tn", 0)):
        row = np.flatnonzero(y == wanted)[-3]
        known = np.ones(300)
        known[row] = np.nan
        costs, groups = RowCosts(**{cell: known}), np.arange(300) % 7
        for more in ({}, {"groups": groups}):
            with pytest.raises(ValueError, match=rf"{cell} must be known for each .*; got NaN for row {row}\."):
                MeasureClassifier(LogisticRegression(), costs, cv=3).fit(X, y, **more)


@pytest.mark.parametrize(
    "costs", [RowCosts(fp=5.0, fn="amount"), RowCosts(fp=5.0, fn=2.0), RowCosts(tp=9.0, fn="amount")]
)
@pytest.mark.parametrize("surrogate", ["convex", "ramp"])
def test_set_classifier_counts_weights_as_so_many_rows(costs, surrogate):
    X, y, _ = cases(200, 26)
    weights = np.random.default_rng(0).integers(0, 4, 200)
    often = np.repeat(np.arange(200), weights)
    linear = SetClassifier(costs, surrogate, C=10.0, tol=1e-6, start="zero", max_iter=5000)
    ours = clone(linear).fit(X, y, sample_weight=weights)
    usual = clone(linear).fit(X.iloc[often], y[often])
    if surrogate == "convex":
        assert ours.objective_ == pytest.approx(usual.objective_, rel=1e-4)
        assert ours.coef_ == pytest.approx(usual.coef_, rel=0.02, abs=0.02)
    assert ours.score(X, y, sample_weight=weights) == pytest.approx(ours.score(X.iloc[often], y[often]))
    known = costs.read(X.iloc[often])
    assert ours.score(X, y, sample_weight=weights) == pytest.approx(
        -known(y[often], ours.predict(X.iloc[often])) / len(often)
    )
    with pytest.raises(ValueError, match="must be the same for all rows of a set"):
        clone(linear).set_params(loss="f1").fit(X, y, sample_weight=weights)


def test_the_logistic_start_counts_weights_of_rows_too():
    X, y, _ = cases(200, 28)
    weights = np.random.default_rng(0).integers(0, 4, 200)
    start = LogisticRegression()
    fitted = SetClassifier(RowCosts(fp=5.0, fn="amount"), "ramp", C=0.0, start=start).fit(X, y, sample_weight=weights)
    scaler = StandardScaler().fit(X)
    usual = start.fit(scaler.transform(X), y, weights / weights.mean())
    coef = usual.coef_ / scaler.scale_
    assert fitted.coef_ / np.linalg.norm(fitted.coef_) == pytest.approx(coef / np.linalg.norm(coef))
    # The threshold is the best one of the rows of the weights.
    often = np.repeat(np.arange(200), weights)
    bare = X.to_numpy() @ fitted.coef_[0]
    costs = [cost(X.iloc[often], y[often], bare[often] >= at) for at in [*bare, np.inf]]
    assert cost(X.iloc[often], y[often], fitted.predict(X.iloc[often])) == pytest.approx(min(costs))


@pytest.mark.parametrize("threshold", ["zero", "exact"])
@pytest.mark.parametrize(
    "costs", [RowCosts(fp=5.0, fn="amount"), RowCosts(fp=5.0, fn=2.0), RowCosts(tp=9.0, fn="amount")]
)
def test_the_search_for_c_counts_weights_as_so_many_rows(costs, threshold):
    X, y, _ = cases(240, 29)
    weights = np.random.default_rng(0).integers(0, 4, 240)
    fold = np.arange(240) % 3
    splits = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)]
    linear = SetClassifier(costs, "convex", start="zero", threshold=threshold, max_iter=5000)
    search = SetClassifierCV(linear, [30.0], splits).fit(X, y, sample_weight=weights)

    def paid(rows, positive):
        often = np.repeat(np.arange(len(rows)), weights[rows])
        return costs.read(X.iloc[rows[often]])(y[rows[often]], positive[often]) / len(often)

    scores = np.zeros(240)
    for train, test in splits:
        one = clone(linear).set_params(C=30.0, threshold="zero")
        scores[test] = one.fit(X.iloc[train], y[train], sample_weight=weights[train]).decision_function(X.iloc[test])
    for found, (train, test) in zip(search.scores_[:, 0], splits, strict=True):
        ends = np.sort(scores[train])
        cuts = [0.0] if threshold == "zero" else [ends[0] - 1, *(ends[1:] + ends[:-1]) / 2, ends[-1] + 1]
        lost = [paid(train, scores[train] > at) for at in cuts]
        able = [paid(test, scores[test] > at) for at, one in zip(cuts, lost, strict=True) if one <= min(lost) + 1e-9]
        assert min(abs(found + one) for one in able) <= 1e-9 * abs(found)
    final = clone(linear).set_params(C=30.0).fit(X, y, sample_weight=weights)
    assert search.coef_.tolist() == final.coef_.tolist()
    assert search.score(X, y, sample_weight=weights) == pytest.approx(-paid(np.arange(240), search.predict(X)))
    assert (SetClassifierCV(linear, [30.0], splits).fit(X, y).scores_ != search.scores_).any()
    other = SetClassifierCV(clone(linear).set_params(loss="f1"), [1.0], splits)
    with pytest.raises(ValueError, match="must be the same for all rows of a set"):
        other.fit(X, y, sample_weight=weights)


@pytest.mark.parametrize("kind", [SetClassifier, SetClassifierCV])
def test_linear_models_take_costs_by_argument_and_by_routing(kind):
    X, y, _ = cases(240, 30)
    amount = X["amount"].to_numpy()
    costs = {"fp_cost": 5.0, "fn_cost": amount}

    def linear(loss):
        one = SetClassifier(loss, C=10.0)
        return one if kind is SetClassifier else SetClassifierCV(one, [10.0], 3)

    named = linear(RowCosts(fp=5.0, fn="amount")).fit(X, y)
    asked = linear(RowCosts()).fit(X, y, **costs)
    assert asked.coef_.tolist() == named.coef_.tolist()
    want = -cost(X, y, asked.predict(X)) / 240
    assert named.score(X, y) == asked.score(X, y, **costs) == pytest.approx(want)
    assert asked.score(X, y, fp_cost=0.0, fn_cost=2.0) == pytest.approx(
        -2.0 * ((asked.predict(X) == 0) & (y == 1)).mean()
    )
    for given, missing in (({}, "fp"), ({"fn_cost": amount}, "fp"), ({"fp_cost": 5.0}, "fn")):
        with pytest.raises(ValueError, match=f"{missing} was given to fit as {missing}_cost, but score gets other"):
            asked.score(X, y, **given)
    given = linear(RowCosts(fp=5.0, fn=amount)).fit(X, y)
    with pytest.raises(ValueError, match="fn has the costs of the rows of fit, but score gets other rows"):
        given.score(X, y)
    assert given.score(X, y, fn_cost=amount) == named.score(X, y)
    # Costs of another fit are forgotten.
    assert asked.fit(X, y).score(X, y) == pytest.approx(-(asked.predict(X) != y).mean())
    with pytest.raises(Refusal, match=r"fit takes fn_cost with loss=RowCosts\(...\); the loss is Jaccard"):
        linear("jaccard").fit(X, y, fn_cost=amount)
    with pytest.raises(ValueError, match="fn must have one cost for each row of X, 240; got 3"):
        linear(RowCosts()).fit(X, y, fn_cost=[1.0, 2.0, 3.0])
    with sklearn.config_context(enable_metadata_routing=True):
        routed = linear(RowCosts()).set_fit_request(fn_cost=True, fp_cost=True)
        routed.set_score_request(fn_cost=True, fp_cost=True)
        piped = make_pipeline("passthrough", routed).fit(X, y, fp_cost=np.full(240, 5.0), fn_cost=amount)
        assert piped[-1].coef_.tolist() == named.coef_.tolist()
        found = cross_validate(piped, X, y, cv=3, params={"fp_cost": np.full(240, 5.0), "fn_cost": amount})
    assert found["test_score"].tolist() == cross_val_score(linear(RowCosts(fp=5.0, fn="amount")), X, y, cv=3).tolist()


def test_exact_thresholds_come_from_rows_that_were_tested():
    X, y, _ = cases(400, 27)
    linear = SetClassifier(RowCosts(fp=5.0, fn="amount"), "convex", threshold="exact", tol=1e-7, max_iter=5000)
    cv = TimeSeriesSplit(3)
    found = SetClassifierCV(linear, [1.0, 100.0], cv).fit(X, y)
    scores, known = np.zeros((2, 400)), RowCosts(fp=5.0, fn="amount").read(X)
    for train, test in cv.split(X):
        for row, C in zip(scores, (1.0, 100.0), strict=True):
            part = clone(linear).set_params(C=C, threshold="zero").fit(X.iloc[train], y[train])
            row[test] = part.decision_function(X.iloc[test])
    for k, first in enumerate((200, 300)):
        for j, row in enumerate(scores):
            at = best_threshold(y[100:first], row[100:first], known.of_rows(np.arange(100, first))).threshold
            test = np.arange(first, first + 100)
            lost = cost(X.iloc[test], y[test], row[test] >= at) / 100
            assert found.scores_[k, j] == pytest.approx(-lost, rel=1e-6)
    assert found.scores_.shape == (2, 2)
    chosen = scores[[1.0, 100.0].index(found.C_)]
    at = best_threshold(y[100:], chosen[100:], known.of_rows(np.arange(100, 400))).threshold
    assert found.estimator_.threshold_ == pytest.approx(at, rel=1e-3, abs=1e-3)
    alone = [(np.arange(100), np.arange(100, 110)), (np.arange(100), np.arange(110, 120))]
    with pytest.raises(ValueError, match="cv must test rows with both labels before its last fold"):
        SetClassifierCV(linear, [1.0], alone).fit(X, np.where(np.arange(400) < 110, y, 1))


@pytest.mark.parametrize("k", [1, 2])
def test_exact_thresholds_count_a_row_once_by_the_first_split_that_tests_it(k):
    X, y, _ = cases(300, 28)
    linear = SetClassifier(RowCosts(fp=5.0, fn="amount"), "convex", threshold="exact", tol=1e-7, max_iter=5000)
    cv = ShuffleSplit(k, test_size=0.4, random_state=0)
    found = SetClassifierCV(linear, [1.0], cv).fit(X, y)
    scores, known, seen, parts = np.zeros(300), RowCosts(fp=5.0, fn="amount").read(X), np.zeros(300, bool), []
    for train, test in cv.split(X):
        new = test[~seen[test]]
        seen[new] = True
        parts.append((train, new))
        part = clone(linear).set_params(C=1.0, threshold="zero").fit(X.iloc[train], y[train])
        scores[new] = part.decision_function(X.iloc[new])
    rows = np.flatnonzero(seen)
    if k == 1:
        split = StratifiedKFold(5, shuffle=True, random_state=0).split(rows, y[rows])
        parts = [(rows[train], rows[test]) for train, test in split]
    for score, (train, test) in zip(found.scores_[:, 0], parts, strict=True):
        rest = np.intersect1d(train, rows)
        at = best_threshold(y[rest], scores[rest], known.of_rows(rest)).threshold
        assert score == pytest.approx(-cost(X.iloc[test], y[test], scores[test] >= at) / len(test), rel=1e-6)
    at = best_threshold(y[rows], scores[rows], known.of_rows(rows)).threshold
    assert found.estimator_.threshold_ == pytest.approx(at, rel=1e-3, abs=1e-3)
    assert SetClassifierCV(SetClassifier("f1", threshold="exact"), [1.0], cv).fit(X, y).scores_.shape[0] == len(parts)


def test_a_pipeline_that_drops_names_is_told_how_to_keep_them():
    X, y, _ = cases(200, 3)
    steps = make_column_transformer(("passthrough", ["a", "amount"]), verbose_feature_names_out=False)
    model = make_pipeline(steps, MeasureClassifier(LogisticRegression(), RowCosts(fp=5.0, fn="amount"), ["threshold"]))
    with pytest.raises(
        ValueError, match=r'which has no column names; got \'amount\'. In a pipeline, set_output\(transform="p'
    ):
        model.fit(X, y)
    model.set_output(transform="pandas").fit(X, y)


@pytest.mark.parametrize("scale", [1e-200, 1e-300])
def test_the_unit_of_costs_changes_no_decision(scale):
    X, y, _ = cases(1000, 1)
    amount = X["amount"].to_numpy()
    usual = MeasureClassifier(LogisticRegression(), RowCosts(), ["decision"], cv=3, random_state=0)
    one, small = (clone(usual).fit(X, y, fp_cost=5.0 * k, fn_cost=amount * k) for k in (1.0, scale))
    assert type(one.rule_.calibration) is type(small.rule_.calibration)
    labels = one.predict(X, fp_cost=5.0, fn_cost=amount), small.predict(X, fp_cost=5.0 * scale, fn_cost=amount * scale)
    assert labels[0].tolist() == labels[1].tolist()


def test_a_cost_that_is_unknown_for_one_negative_counts_it_as_wrongly_decided():
    X, y, _ = cases(3000, 0)
    amount = X["amount"].to_numpy().copy()
    # This row would be called negative, which is right.
    row = int(np.argmin(np.where(y == 0, amount, np.inf)))
    amount[row] = np.nan
    usual = MeasureClassifier(LogisticRegression(), RowCosts(fp=5.0), cv=3, outer_cv=3, random_state=0)
    full, ours = clone(usual).fit(X, y, fn_cost=X["amount"]), clone(usual).fit(X, y, fn_cost=amount)
    assert full.best_strategy_ == ours.best_strategy_ == "decision"
    for one, other in zip(full.candidates_, ours.candidates_, strict=True):
        assert other.refusal == one.refusal
        more = 5.0 if one.strategy == "decision" else 0.0
        assert other.loss == pytest.approx(one.loss + more, nan_ok=True)
    assert ours.gain_ == pytest.approx(full.gain_ - 5.0)
    assert (ours.predict(X, fn_cost=X["amount"]) == full.predict(X, fn_cost=X["amount"])).all()
    with pytest.raises(ValueError, match=f"fn must be known for each row that is to be decided; got NaN for row {row}"):
        ours.predict(X, fn_cost=amount)


def test_costs_by_which_one_label_is_nearly_always_cheaper_leave_folds_nothing_to_learn():
    rng = np.random.default_rng(0)
    X, amount = rng.normal(size=(30, 2)), np.exp(rng.normal(size=30))
    y = (X[:, 0] > 0).astype(int)
    for costs, count in (({"fn_cost": -amount, "fp_cost": amount}, 30), ({"fn_cost": amount, "fp_cost": -amount}, 30)):
        assert np.isfinite(SetClassifier(RowCosts()).fit(X, y, **costs).score(X, y, **costs))
        with pytest.raises(Refusal, match=f"they make [01] the cheaper label of {count} of 30 rows"):
            SetClassifierCV(SetClassifier(RowCosts())).fit(X, y, **costs)


def test_splits_in_any_order_of_rows_keep_groups_together():
    X, y, _ = cases(240, 31)
    groups, cv = np.arange(240) // 4, GroupShuffleSplit(3, test_size=0.3, random_state=0)
    linear = SetClassifier(RowCosts(fp=5.0, fn="amount"), "convex", max_iter=50)
    found = SetClassifierCV(linear, [1.0], cv).fit(X, y, groups=groups)
    ordered = [(np.sort(train), np.sort(test)) for train, test in cv.split(X, groups=groups)]
    np.testing.assert_array_equal(
        found.scores_, SetClassifierCV(linear, [1.0], ordered).fit(X, y, groups=groups).scores_
    )
