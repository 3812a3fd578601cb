"""The run over outer folds: figures by hand, the choice, and the code that repeats it."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score, recall_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from setwise.compare import FlooredThreshold, NamedLoss, Plan, Problem, compare
from setwise.compare.fits import Fits, rows_of
from setwise.compare.plan import BASES
from setwise.compare.problem import bags, digit_traits
from setwise.compare.recommendation import simplest
from setwise.compare.sentences import on_test_file
from setwise.compare.text import figure as figure_of
from setwise.core.exceptions import Refusal
from setwise.decisions import bagged_threshold
from setwise.decisions.task import Task
from setwise.estimators.selection.strategies import SingleThreshold
from setwise.losses import EarlyDetection, FBeta, Jaccard, RocArea

F1, JACCARD = NamedLoss("f1", FBeta()), NamedLoss("jaccard", Jaccard())
FAST = Plan(3, 3, (0.1, 1.0), ("linear",), ("threshold",))


def made(n=240, seed=0):
    """A rule that no line can follow, so that trees do better."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = (np.abs(X[:, 0]) > 1.2) ^ (rng.random(n) < 0.05)
    code = ("import numpy as np",)
    return Problem("made up", "Made up.", X, y.astype(int), code=code, features=("a", "b", "c"))


@pytest.fixture(scope="module")
def both():
    plan = Plan(3, 3, (0.1, 1.0), ("linear", "boosted"), ("as_it_is", "threshold", "decision", "stack"))
    return compare(made(), [F1, NamedLoss("auc", RocArea())], plan)


@pytest.mark.slow
def test_the_reference_is_what_one_would_compute_by_hand():
    problem = made()
    (found,) = compare(problem, [F1], replace(FAST, grid=(0.1,)))
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    by_hand, at_half = [], []
    for train, test in folds.split(problem.X, problem.y):
        model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000))
        X, y = problem.X[train], problem.y[train]
        scores = cross_val_predict(
            model, X, y, cv=StratifiedKFold(3, shuffle=True, random_state=0), method="predict_proba"
        )
        t = bagged_threshold(y, scores[:, 1], "f1").threshold
        new = model.fit(X, y).predict_proba(problem.X[test])[:, 1]
        by_hand.append(FBeta()(problem.y[test], (new >= t).astype(int)))
        at_half.append(FBeta()(problem.y[test], (new >= 0.5).astype(int)))
    np.testing.assert_allclose(found.reference.outer, by_hand)
    np.testing.assert_allclose(found.plain.outer, at_half)
    assert found.reference.key == ("linear", "threshold")


@pytest.mark.slow
def test_the_gain_is_that_of_the_choice_of_each_fold_and_of_no_other(both):
    for found in both:
        by_fold = [found.row(key).outer[k] for k, key in enumerate(found.choices)]
        np.testing.assert_array_equal(found.own, by_fold)
        assert found.gain.mean == pytest.approx(np.mean(found.reference.outer - by_fold))
        assert found.gain.splits == 3


@pytest.mark.slow
def test_trees_are_found_where_no_line_can_do_it(both):
    f1, auc = both
    for found in both:
        assert found.changes
        assert found.winner.key[0] == "boosted"
        assert found.gain.interval()[0] > 0.1
        assert found.parts["base"].mean > 0.1
    assert auc.plain is None
    assert list(auc.parts) == ["base"]
    assert {row.strategy for row in auc.rows} == {"order"}
    assert {row.strategy for row in f1.rows} >= {"as_it_is", "threshold", "decision", "stack"}


@pytest.mark.slow
def test_the_code_repeats_the_winner():
    problem = made()
    plans = {
        "linear": replace(FAST, grid=(0.1,)),
        "boosted": Plan(3, 3, (1.0,), ("linear", "boosted"), ("threshold",)),
    }
    for base, plan in plans.items():
        (found,) = compare(problem, [JACCARD], plan)
        assert found.winner.key[0] == base
        space = {"X": problem.X, "y": problem.y}
        exec(found.winner.code, space)
        model = space["model"]
        assert model.best_threshold_ == found.winner.threshold
        predicted = found.winner.fitted.predict_proba(problem.X)[:, 1] >= found.winner.threshold
        np.testing.assert_array_equal(model.predict(problem.X), predicted)


@pytest.mark.slow
def test_the_flat_range_holds_the_threshold_and_nothing_worse():
    (found,) = compare(made(), [F1], Plan(3, 3, (1.0,), ("linear", "boosted"), ("threshold",)))
    flat, at = found.winner.flat, found.winner.threshold
    assert flat.low <= at <= flat.high
    inside = (flat.thresholds >= flat.low) & (flat.thresholds <= flat.high)
    chosen = flat.losses[np.abs(flat.thresholds - at).argmin()]
    assert flat.losses[inside].max() <= chosen + flat.tolerance + 1e-9
    beside = np.flatnonzero(~inside)
    assert len(beside)
    assert flat.tolerance == 0.01


@pytest.mark.slow
def test_groups_stay_whole_and_early_detection_changes():
    plan = Plan(4, 3, (1.0, 100.0), ("linear",), ("stack",))
    (found,) = compare(bags(300, 0), [NamedLoss("early_detection", EarlyDetection())], plan)
    assert found.changes
    assert found.winner.key == ("linear", "stack")
    assert found.winner.threshold is None
    assert found.winner.coefficients is None
    assert "groups=groups" in found.winner.code


@pytest.mark.draw(3)
@pytest.mark.parametrize("average", ["samples", "macro", "micro"])
def test_label_matrices(average):
    problem = digit_traits(2, 150)
    plan = Plan(3, 3, (1.0,), ("linear",), ("label_thresholds",))
    (found,) = compare(problem, [NamedLoss("f1", FBeta(), average)], plan)
    assert found.row(("linear", "label_thresholds")).usable
    assert (f'average="{average}"' in found.winner.code) == (average != "samples")
    assert found.winner.coefficients is None


@pytest.mark.slow
def test_sparse_rows_and_gaps():
    problem = made()
    X = np.where(np.abs(problem.X) < 0.5, 0.0, problem.X)
    (sparse,) = compare(replace(problem, X=csr_matrix(X)), [F1], replace(FAST, bases=("linear", "forest", "boosted")))
    assert {row.base for row in sparse.rows} == {"linear", "forest"}
    assert "MaxAbsScaler" in sparse.winner.code or "Forest" in sparse.winner.code
    X = np.where(np.abs(problem.X) < 0.1, np.nan, problem.X)
    (gaps,) = compare(replace(problem, X=X), [F1], FAST)
    assert "c is missing" in gaps.winner.coefficients
    assert "SimpleImputer" in gaps.winner.code


@pytest.mark.slow
def test_floors_are_kept_on_the_rows_they_were_tuned_on():
    problem = made()
    floor = FlooredThreshold(recall=0.9)
    (found,) = compare(problem, [F1], replace(FAST, floor=floor, bases=("linear", "boosted")))
    assert {row.strategy for row in found.rows} == {"threshold", "as_it_is"}
    assert len(found.floored.folds) == 3
    assert "FlooredThreshold(recall=0.9" in found.winner.code
    space = {"X": problem.X, "y": problem.y}
    exec(found.winner.code, space)
    assert space["model"].best_threshold_ == found.winner.threshold
    with pytest.raises(Refusal, match=r"no base model keeps a recall of at least 0.99 and a prec.* is not met"):
        compare(problem, [F1], replace(FAST, floor=FlooredThreshold(recall=0.99, precision=0.99)))
    with pytest.raises(ValueError, match="a floor must be given"):
        FlooredThreshold()


def test_further_rows_judge_the_recommendation():
    (found,) = compare(made(), [F1], Plan(3, 3, (1.0,), ("linear", "boosted"), ("threshold",)), test=made(600, 1))
    gain, low, high = found.test_gain
    assert low < gain < high
    assert low > 0
    rows = {row.key: row.test for row in found.rows}
    assert rows["linear", "threshold"] - rows[found.winner.key] == pytest.approx(gain)
    (said,) = on_test_file(found)
    assert said.startswith(
        f"On the rows of the test file: F1 {figure_of(1.0 - rows[found.winner.key])}, {figure_of(gain)} better (+"
    )
    assert re.search(r" \(\+.* to \+.*\) than logistic regression with a tuned threshold\.$", said)


@pytest.mark.slow
def test_further_rows_judge_the_reference_where_it_is_kept():
    rows, further = made(), made(600, 1)
    plan = replace(FAST, grid=(0.1,), bases=("linear",), strategies=("threshold",))
    (found,) = compare(rows, [F1], plan, test=further)
    assert found.test_gain is None
    labels = found.winner.fitted.predict_proba(further.X)[:, 1] >= found.winner.threshold
    loss = FBeta()(further.y, labels.astype(int))
    assert found.reference.test == pytest.approx(loss)
    assert on_test_file(found) == [f"On the rows of the test file: F1 {figure_of(1.0 - loss)}."]
    (found,) = compare(rows, [F1], replace(plan, floor=FlooredThreshold(recall=0.7)), test=further)
    labels = found.winner.fitted.predict_proba(further.X)[:, 1] >= found.winner.threshold
    recall, precision = recall_score(further.y, labels), precision_score(further.y, labels)
    (said,) = on_test_file(found)
    verdict = "keeps" if recall >= 0.7 else "breaks"
    assert said.endswith(
        f", with recall {figure_of(recall)} and precision {figure_of(precision)}, which {verdict} the floor."
    )
    assert on_test_file(compare(rows, [F1], plan)[0]) == []


def test_the_simplest_of_those_that_cannot_be_told_apart_is_taken():
    rng = np.random.default_rng(0)
    truth = rng.random(400) < 0.3
    task = Task(truth, FBeta())

    def wrong(share, seed):
        return truth ^ (np.random.default_rng(seed).random(400) < share)

    bad, good = wrong(0.4, 1), wrong(0.1, 2)
    flipped = good.copy()
    flipped[:1] ^= True
    assert simplest([bad, good, flipped], task) == 1
    assert simplest([bad, flipped, good], task) == 1
    assert simplest([bad, wrong(0.3, 3), good], task) == 2
    assert simplest([good, bad], task) == 0
    assert simplest([good, good], task) == 0


@pytest.mark.slow
def test_progress_has_as_many_steps_as_the_plan_says():
    steps = []
    plan = Plan(2, 3, (0.1, 1.0), ("linear", "forest"), ("threshold", "stack", "decision"))
    compare(made(120), [F1, NamedLoss("auc", RocArea())], plan, lambda what, n: steps.append(n))
    assert sum(steps) == plan.steps(made(), 2)


def test_too_few_rows_are_a_sentence():
    problem = made(240)
    rows = np.concatenate([np.flatnonzero(problem.y == 0), np.flatnonzero(problem.y == 1)[:4]])
    with pytest.raises(ValueError, match="made up is too small for 3 outer folds with 3 folds inside each"):
        compare(problem.take(rows), [F1], FAST)


@pytest.mark.slow
def test_what_is_held_out_has_no_say_in_the_choice():
    problem = digit_traits(2, 150)
    plan = Plan(3, 3, (0.1, 1.0), ("linear",), ("decision",))
    (before,) = compare(problem, [F1], plan)
    # The folds of a label matrix do not depend on the labels.
    _, test = next(iter(KFold(3, shuffle=True, random_state=0).split(problem.X)))
    Y = problem.y.copy()
    Y[test] = 1 - Y[test]
    (after,) = compare(replace(problem, y=Y), [F1], plan)
    assert before.choices[0] == after.choices[0]
    assert before.own[0] + 0.3 < after.own[0]
    for row in before.rows:
        assert (before.row(row.key).outer[0] < after.row(row.key).outer[0]) or not row.usable


@pytest.mark.slow
def test_without_room_for_outer_folds_the_folds_inside_judge():
    problem, said = made(), []
    (found,) = compare(problem, [F1], replace(FAST, folds=5), budget=1e-9, say=said.append)
    assert not found.repeated
    assert found.plan.outer == 0
    assert len(found.choices) == FAST.inner
    assert "5 of 5 outer folds" in found.notes[-1]
    # The losses are those of a threshold that is tuned on the other folds, by hand.
    rows = rows_of(problem, F1)
    model = BASES["linear"].build(problem, 1.0, 0)
    folds = rows.folds(FAST.inner, 0)
    source = rows.out_of_fold(model, folds)
    by_hand = []
    for train, test in folds:
        rule = SingleThreshold().tune(source.held_out(train), rows.task.take(train))
        by_hand.append(FBeta()(problem.y[test], rule.labels(source.held_out(test))))
    assert found.reference.outer == pytest.approx(by_hand)
    d = found.reference.outer - found.plain.outer
    assert found.paired(found.reference.outer, found.plain.outer).error == pytest.approx(
        np.sqrt((1 / FAST.inner + 1 / (FAST.inner - 1)) * d.var(ddof=1))
    )
    assert len(said) == 1
    assert "logistic regression with a tuned threshold, F1 " in said[0]


@pytest.mark.parametrize(("room", "done"), [(1.5, 0), (4.1, 1), (4.8, 4), (6.0, 5)])
def test_a_budget_cuts_the_end_of_the_outer_folds(monkeypatch, room, done):
    """Each fit of all rows takes a second, and each outer fold three quarters of one."""
    now = [0.0]
    monkeypatch.setattr("setwise.compare.budget.perf_counter", lambda: now[0])
    complete = Fits.complete

    def slow(self):
        now[0] += 0.75
        return complete(self)

    add = Fits.add

    def slower(self, base, constant):
        now[0] += self.where == "all rows"
        return add(self, base, constant)

    monkeypatch.setattr(Fits, "complete", slow)
    monkeypatch.setattr(Fits, "add", slower)
    plan = replace(FAST, folds=5, grid=(1.0,), bases=("linear",))
    (found,) = compare(made(), [F1], plan, budget=room)
    # The first one tells what a fold takes, and fewer than four of them say nothing.
    assert found.repeated == (done >= 4)
    assert found.plan.outer == done
    assert len(found.choices) == (done if done >= 4 else FAST.inner)


def test_seconds_that_outer_folds_cannot_use_are_for_what_was_left_out(monkeypatch):
    """Each fit of all rows takes a second, and an outer fold seven: five values of C and no outer fold have room."""
    now, made_fits = [0.0], []
    monkeypatch.setattr("setwise.compare.budget.perf_counter", lambda: now[0])
    complete, add = Fits.complete, Fits.add

    def slow(self):
        now[0] += 7.0
        return complete(self)

    def slower(self, base, constant):
        if self.where == "all rows":
            now[0] += 1.0
            made_fits.append(constant)
        return add(self, base, constant)

    monkeypatch.setattr(Fits, "complete", slow)
    monkeypatch.setattr(Fits, "add", slower)
    plan = replace(FAST, folds=5, grid=(0.01, 0.1, 1.0, 10.0, 100.0), bases=("linear",))
    problem, said = made(), []
    (found,) = compare(problem, [F1], plan, budget=16.0, say=said.append)
    assert found.plan.grid == plan.grid
    assert found.plan.outer == 0
    assert sorted(made_fits) == list(plan.grid)
    assert len(said) == 1
    assert found.notes[-1].startswith(
        "Left out to end in time: 4 of 5 outer folds. This run is slower than planned: all of the plan takes "
    )
    monkeypatch.undo()
    (whole,) = compare(problem, [F1], replace(plan, outer=0))
    assert found.chosen == whole.chosen
    assert found.winner.constant == whole.winner.constant
    assert found.reference.outer == pytest.approx(whole.reference.outer)
