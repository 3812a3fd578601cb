"""Costs of each row are those of the cells of the confusion matrix, whatever decides about the rows."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest

from setwise.core import Sets
from setwise.core.enumerate import subsets
from setwise.core.exceptions import Refusal
from setwise.decisions import (
    bagged_threshold,
    best_threshold,
    bootstrap_threshold,
    expected_loss,
    least_expected_loss,
    threshold_curve,
)
from setwise.decisions.task import Task, compared
from setwise.losses import ClassWeightedHamming, Hamming, RowCosts, SumLoss, savings_score
from setwise.losses.row_costs import Place


def drawn(rng, n):
    """Costs of n rows, some equal, some 0, some gains; each is a number or an array."""
    costs = rng.choice([0.0, 1.0, 2.5, -1.0, 7.0], (4, n)) * rng.choice([1.0, 1e-9, 1e9])
    return RowCosts(
        **{
            cell: float(cost[0]) if rng.random() < 0.3 else cost
            for cell, cost in zip(("tp", "fp", "fn", "tn"), costs, strict=True)
        }
    )


def by_hand(costs, y, h):
    """The sum over rows, one after the other."""
    total = 0.0
    for i, (truth, guess) in enumerate(zip(y, h, strict=True)):
        cost = {(1, 1): costs.tp, (0, 1): costs.fp, (1, 0): costs.fn, (0, 0): costs.tn}[int(truth), int(guess)]
        total += cost[i] if isinstance(cost, np.ndarray) else cost
    return total


@pytest.mark.parametrize("seed", range(20))
def test_the_loss_is_the_sum_of_the_costs_of_all_cells(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    costs, y = drawn(rng, n), rng.integers(0, 2, n)
    bound_loss = costs.bind(Sets.single(y))
    scale = max(1.0, *(np.abs(np.atleast_1d(c)).max() for c in (costs.tp, costs.fp, costs.fn, costs.tn)))
    for h in subsets(n):
        want = by_hand(costs, y, h)
        assert costs(y, h) == pytest.approx(want, abs=1e-12 * scale)
        assert bound_loss.values(np.asarray(h)) == pytest.approx(want, abs=1e-12 * scale)


@pytest.mark.parametrize("seed", range(20))
def test_the_best_threshold_and_the_curve_are_those_of_all_thresholds(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    costs, y, scores = drawn(rng, n), rng.integers(0, 2, n), rng.integers(0, 9, n) * 1.0
    scale = 1e-12 * sum(np.abs(np.atleast_1d(c)).max() for c in (costs.tp, costs.fp, costs.fn, costs.tn)) * n
    found = best_threshold(y, scores, costs)
    cuts = [np.inf, *np.unique(scores)]
    every = [by_hand(costs, y, scores >= t) for t in cuts]
    assert found.loss == pytest.approx(min(every), abs=scale)
    assert by_hand(costs, y, scores >= found.threshold) == pytest.approx(min(every), abs=scale)
    thresholds, losses = threshold_curve(y, scores, costs)
    assert losses == pytest.approx([by_hand(costs, y, scores >= t) for t in thresholds], abs=scale)


@pytest.mark.parametrize("seed", range(20))
def test_the_decision_of_each_row_has_the_least_expected_cost_of_all(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    costs, q = drawn(rng, n), rng.choice([0.0, 0.2, 0.5, 0.9, 1.0], n)

    def expected(h):
        truths = [np.asarray(y) for y in subsets(n)]
        return sum(np.prod(np.where(y, q, 1 - q)) * by_hand(costs, y, h) for y in truths)

    found = least_expected_loss(q, costs)
    scale = 1e-12 * n * max(np.abs(np.atleast_1d(c)).max() for c in (costs.tp, costs.fp, costs.fn, costs.tn)) + 1e-300
    least = min(expected(h) for h in subsets(n))
    assert expected(found.labels) == pytest.approx(least, abs=scale)
    assert found.values == pytest.approx(least, abs=scale)
    assert found.exact.all()
    for h in subsets(n)[:8]:
        assert expected_loss(q, h, costs) == pytest.approx(expected(h), abs=scale)


def test_equal_costs_are_those_of_class_weighted_hamming_to_the_bit():
    rng = np.random.default_rng(0)
    y, scores, q = rng.random(300) < 0.3, np.round(rng.random(300), 2), rng.random(300)
    ours, usual = RowCosts(fp=1.5, fn=4.0), ClassWeightedHamming(negative=1.5, positive=4.0)
    assert ours.traits == usual.traits
    assert ours(y, scores > 0.5) == usual(y, scores > 0.5)
    assert best_threshold(y, scores, ours) == best_threshold(y, scores, usual)
    for make in (bagged_threshold, bootstrap_threshold):
        one, two = (make(y, scores, loss, n_resamples=50, random_state=0) for loss in (ours, usual))
        assert pickle.dumps(one) == pickle.dumps(two)
    one, two = least_expected_loss(q, ours), least_expected_loss(q, usual)
    assert pickle.dumps(one) == pickle.dumps(two)


def test_resampled_rows_keep_their_costs():
    rng = np.random.default_rng(1)
    n = 60
    y, scores, costs = rng.random(n) < 0.4, rng.normal(size=n), RowCosts(fp=2.0, fn=rng.exponential(5.0, n), tn=0.5)
    found = bootstrap_threshold(y, scores, costs, n_resamples=400, random_state=0)
    again, best = np.random.default_rng(0), []
    order = np.argsort(-scores, kind="stable")
    for _ in range(400):
        weights = np.empty(n)
        weights[order] = np.bincount(again.integers(n, size=n), minlength=n)
        cuts = [np.inf, *np.sort(scores[weights > 0])]
        zero, one = costs.of_labels(y)
        best.append(min(weights @ np.where(scores >= t, one, zero) for t in cuts))
        assert weights @ np.where(scores >= found.thresholds[len(best) - 1], one, zero) == pytest.approx(best[-1])


def test_rows_of_a_task_bring_their_costs():
    rng = np.random.default_rng(2)
    n = 40
    y, h, groups = rng.random(n) < 0.5, rng.random(n) < 0.5, rng.integers(0, 5, n)
    costs = RowCosts(fn=rng.exponential(size=n), tp=rng.normal(size=n))
    for loss in (costs, Hamming(rng.random(n)), SumLoss(rng.random(n))):
        whole, rows = Task(y, loss), rng.permutation(n)[:17]
        rest = np.setdiff1d(np.arange(n), rows)
        parts = [whole.take(part).mean_loss(h[part]) for part in (rows, rest)]
        assert sum(parts) == pytest.approx(whole.mean_loss(h))
    task = Task(y, costs, groups)
    each = [by_hand(costs.of_rows(np.flatnonzero(groups == g)), y[groups == g], h[groups == g]) for g in range(5)]
    assert task.losses(h) == pytest.approx(each)
    assert task.take(np.arange(20)).mean_loss(h[:20]) == pytest.approx(
        by_hand(costs.of_rows(np.arange(20)), y[:20], h[:20]) / len(np.unique(groups[:20]))
    )


@pytest.mark.parametrize("n", [50, 30_000])
def test_errors_by_the_bootstrap_are_those_of_a_sum(n):
    rng = np.random.default_rng(3)
    y, costs = rng.random(n) < 0.3, RowCosts(fp=1.0, fn=rng.exponential(3.0, n), tn=0.1)
    guesses = [rng.random(n) < 0.3, rng.random(n) < 0.5]
    found = compared(Task(y, costs), guesses, 0, 2000)
    zero, one = costs.of_labels(y)
    each = np.stack([np.where(h, one, zero) for h in guesses])
    assert found.losses == pytest.approx(each.sum(axis=1))
    assert found.errors == pytest.approx(each.std(axis=1) * np.sqrt(n), rel=0.08)
    assert found.gain_errors[1] == pytest.approx((each[0] - each[1]).std() * np.sqrt(n), rel=0.08)


def test_columns_are_read_from_a_table_and_given_costs_come_first():
    X = pd.DataFrame({"amount": [10.0, 20.0, 30.0], "fee": [1, 2, 3], "word": ["a", "b", "c"]})
    costs = RowCosts(fp="fee", fn="amount")
    read = costs.read(X)
    assert (read.fp.tolist(), read.fn.tolist(), read.tp, read.n_rows) == ([1.0, 2.0, 3.0], [10.0, 20.0, 30.0], 0.0, 3)
    assert costs.read(X, fn=[7.0, 8.0, 9.0]).fn.tolist() == [7.0, 8.0, 9.0]
    assert costs.read(X, fp=4.0).fp == 4.0
    assert costs.read(X, fp=[4, 4, 4]).fp == 4.0
    assert costs.read(X, fp=[4.0, 4.0, np.nan]).n_rows == 3
    for name, words in (("none", "the columns amount, fee, word; got 'none'"), ("word", "must hold numbers")):
        with pytest.raises(ValueError, match=words):
            RowCosts(fn=name).read(X)
    with pytest.raises(ValueError, match="X, which has no column names; got 'fee'"):
        costs.read(X[["amount", "fee"]].to_numpy())
    with pytest.raises(ValueError, match="fn must have one cost for each row of X, 3; got 2"):
        RowCosts().read(X, fn=[1.0, 2.0])
    with pytest.raises(Refusal, match="names a column, but there is no table"):
        costs([1, 0], [1, 0])


def test_what_cannot_occur_may_be_missing():
    nan = np.nan
    costs = RowCosts(fn=[5.0, nan, 2.0], fp=[nan, 1.0, nan])
    assert costs([1, 0, 1], [0, 1, 1]) == 6.0
    assert best_threshold([1, 0, 1], [0.1, 0.2, 0.9], costs).loss == 1.0
    for y, words in (([1, 1, 1], "fn must be known for each positive; got NaN for row 1"), ([0, 0, 1], "fp .* row 0")):
        with pytest.raises(ValueError, match=words):
            costs(y, [0, 1, 1])
    with pytest.raises(ValueError, match="must be known for each row that is to be decided; got NaN for row"):
        least_expected_loss([0.5, 0.5, 0.5], costs)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"fn": np.inf}, ValueError, "fn must be a finite number"),
        ({"fn": [1.0, np.inf]}, ValueError, "fn must be finite costs"),
        ({"fp": True}, TypeError, "fp must be a number"),
        ({"fp": [True, False]}, ValueError, "fp must be real numbers (n,)"),
        ({"fp": [[1.0]]}, ValueError, "fp must be real numbers (n,)"),
        ({"tp": ""}, ValueError, "tp must be a number, an array, or the name of a column"),
        ({"fp": [1.0, 2.0], "fn": [1.0]}, ValueError, "fn must have one cost for each row, as fp, 2; got 1"),
    ],
)
def test_what_is_no_cost_is_refused(given, error, words):
    with pytest.raises(error, match=re.escape(words)):
        RowCosts(**given)
    with pytest.raises(ValueError, match="RowCosts has costs of 2 rows; got 3 labels"):
        RowCosts(fn=[1.0, 2.0])([1, 0, 1], [1, 1, 1])


def test_savings_compare_with_the_better_constant_decision():
    rng = np.random.default_rng(0)
    y, costs = rng.integers(0, 2, 50), RowCosts(fp=2.0, fn=rng.exponential(3.0, 50))
    constants = [by_hand(costs, y, np.full(50, c)) for c in (0, 1)]
    h = rng.integers(0, 2, 50)
    assert savings_score(y, h, costs) == pytest.approx(1.0 - by_hand(costs, y, h) / min(constants))
    assert savings_score(y, y, costs) == 1.0
    assert savings_score(y, np.full(50, int(constants[1] < constants[0])), costs) == 0.0
    with pytest.raises(ValueError, match="which is 0 here"):
        savings_score(np.zeros(3, int), np.ones(3, int), costs.of_rows(np.arange(3)))


def test_a_short_text_shows_the_costs():
    assert repr(RowCosts()) == "RowCosts()"
    assert repr(RowCosts(fp=5.0, fn="amount")) == "RowCosts(fp=5, fn='amount')"
    assert repr(RowCosts(fn=np.arange(9.0))) == "RowCosts(fn=[0, 1, 2, ...])"


def test_places_read_columns_of_a_table_without_names():
    X = np.array([[1.0, 7.0], [2.0, 8.0]])
    costs = RowCosts(fp=5.0, fn=Place("amount", 1))
    assert costs.read(X).fn.tolist() == [7.0, 8.0]
    assert costs.read(X).times(10.0).fn.tolist() == [70.0, 80.0]
    assert (repr(costs), costs.read(X).times(10.0).fp) == ("RowCosts(fp=5, fn=X[:, 1])", 50.0)


def test_savings_count_weights_as_so_many_rows():
    rng = np.random.default_rng(0)
    y, h, weights = rng.random(30) < 0.4, rng.random(30) < 0.5, rng.integers(0, 4, 30)
    fn = np.where(y, rng.exponential(9.0, 30), np.nan)
    often = np.repeat(np.arange(30), weights)
    for costs in (RowCosts(fp=5.0, fn=fn), RowCosts(fp=5.0, fn=2.0)):
        found = savings_score(y, h, costs, sample_weight=weights)
        assert found == pytest.approx(savings_score(y[often], h[often], costs.of_rows(often)))
    for wrong in (np.ones(29), -np.ones(30), np.zeros(30), np.ones((30, 1))):
        with pytest.raises(
            ValueError, match="sample_weight must be a number for each of the 30 rows, at least 0 and not all 0; got "
        ):
            savings_score(y, h, RowCosts(fn=fn), sample_weight=wrong)
