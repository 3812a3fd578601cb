"""The choice: cross-fitting by hand, the bootstrap against its definition, and the rule that prefers the reference."""

from typing import ClassVar

import numpy as np
import pytest
from scipy.sparse import csr_array, csr_matrix
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import GroupKFold, RepeatedKFold, StratifiedKFold
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import _NotAnArray
from threadpoolctl import threadpool_info, threadpool_limits

from setwise import MeasureClassifier
from setwise.core.exceptions import Refusal
from setwise.decisions import bagged_threshold
from setwise.decisions.task import Comparison, Task, formula_of, replicated_losses
from setwise.estimators.base import base_threads
from setwise.estimators.selection import STRATEGIES, as_strategies
from setwise.estimators.selection.base_models import LabelwiseClassifier
from setwise.estimators.selection.choice import choose, chosen_of, errors_needed, gain_of, repeated_choice
from setwise.estimators.selection.problem import problem_of
from setwise.losses import EarlyDetection, FBeta, Hamming, Jaccard, RocArea


def noisy(n=400, share=0.2, seed=0, strength=1.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    margin = strength * X @ [1.0, -1.0, 0.5, 0.0] + rng.logistic(size=n)
    return X, (margin > np.quantile(margin, 1 - share)).astype(int)


def out_of_fold(X, y, loss=None, cv=5, estimator=None, **settings):
    problem = problem_of(X, y, loss or FBeta(), **settings)
    return problem, problem.out_of_fold(estimator or LogisticRegression(), problem.folds(cv, 0))


def choice_of(X, y, strategies=("as_it_is", "threshold"), **settings):
    problem, base = out_of_fold(X, y, **settings)
    return (
        problem,
        base,
        choose({"lr": base}, problem.task, as_strategies(list(strategies)), reference=STRATEGIES["threshold"]()),
    )


def test_losses_of_candidates_by_hand():
    X, y = noisy()
    _, base, choice = choice_of(X, y, ["as_it_is"])
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    own, probability = np.zeros(len(y), int), np.zeros(len(y))
    for train, test in folds:
        model = LogisticRegression().fit(X[train], y[train])
        own[test], probability[test] = model.predict(X[test]), model.predict_proba(X[test])[:, 1]
    np.testing.assert_array_equal(base.response().scores, probability)
    tuned = np.zeros(len(y), int)
    for train, test in folds:
        tuned[test] = probability[test] >= bagged_threshold(y[train], probability[train], FBeta()).threshold
    reference, as_it_is = choice.candidates
    assert (reference.strategy, as_it_is.strategy) == ("threshold", "as_it_is")
    assert reference.loss == pytest.approx(1 - f1_score(y, tuned))
    assert as_it_is.loss == pytest.approx(1 - f1_score(y, own))
    assert as_it_is.gain == pytest.approx(reference.loss - as_it_is.loss)
    assert reference.gain == reference.gain_error == 0.0
    assert choice.rule.threshold == bagged_threshold(y, probability, FBeta()).threshold


def test_a_fit_is_made_once_for_all_strategies_and_measures():
    fits = []

    class CountingRegression(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            fits.append(len(X))
            return super().fit(X, y, sample_weight)

    X, y = noisy()
    _, base = out_of_fold(X, y, estimator=CountingRegression())
    for loss in (FBeta(), Jaccard()):
        task = problem_of(X, y, loss).task
        choice = choose({"lr": base}, task, as_strategies(["as_it_is"]), reference=STRATEGIES["threshold"]())
        choice.rule.labels(base.fresh(X))
    assert sorted(fits) == [320] * 5 + [400]


def layouts():
    rng = np.random.default_rng(1)
    y, Y = rng.random(60) < 0.3, rng.random((60, 4)) < 0.4
    groups = np.repeat(np.arange(12), 5)
    yield Task(y, FBeta())
    yield Task(y, FBeta() + 0.5 * Jaccard())
    yield Task(y, Hamming())
    yield Task(y, FBeta(), groups)
    yield Task(y, EarlyDetection(), groups[rng.permutation(60)])
    for average in ("samples", "macro", "micro"):
        yield Task(Y, Jaccard(), None, average)
    yield Task(Y, Hamming(np.arange(4.0)), None, "samples")


@pytest.mark.draw(6)
@pytest.mark.parametrize("task", list(layouts()), ids=lambda task: f"{task.loss.name}-{task.layout}")
def test_the_bootstrap_has_the_moments_of_resampling(task):
    rng = np.random.default_rng(2)
    predictions = [task.truth ^ (rng.random(task.truth.shape) < share) for share in (0.1, 0.3)]
    drawn = replicated_losses(task, predictions, 600, seed=3)
    assert drawn.shape == (600, 2)
    # The definition: units are drawn one by one, and the loss is computed anew.
    by_hand = []
    for _ in range(600):
        if task.spans_rows:
            rows = rng.integers(0, len(task.truth), len(task.truth))
            part = task.take(rows)
            by_hand.append([part.mean_loss(guess[rows]) for guess in predictions])
        else:
            losses = np.column_stack([task.losses(guess) for guess in predictions])
            by_hand.append(losses[rng.integers(0, len(losses), len(losses))].mean(axis=0))
    by_hand = np.array(by_hand)
    np.testing.assert_allclose(drawn.mean(axis=0), by_hand.mean(axis=0), atol=5 * by_hand.std() / np.sqrt(600))
    np.testing.assert_allclose(drawn.std(axis=0), by_hand.std(axis=0), rtol=0.15)
    # Predictions share their replicates, so that differences are paired.
    assert np.corrcoef(drawn.T)[0, 1] == pytest.approx(np.corrcoef(by_hand.T)[0, 1], abs=0.12)


def test_equal_predictions_have_no_gain_and_no_error():
    _, y = noisy()
    found = gain_of(Task(y == 1, FBeta()), y == 1, y == 1)
    assert (found.gain, found.error, found.interval) == (0.0, 0.0, (0.0, 0.0))


def test_layouts_and_their_inverse():
    for task in layouts():
        np.testing.assert_array_equal(task.by_rows(task.flat(task.truth)), task.truth)
        np.testing.assert_array_equal(task.flat(task.truth), task.sets.labels)
        assert task.mean_loss(task.truth) == 0.0


def test_the_reference_is_left_only_for_a_gain_above_its_error():
    losses, gains = np.array([0.5, 0.4, 0.45, 0.3]), np.array([0.0, 0.1, 0.05, 0.2])
    assert chosen_of(losses, gains, np.array([0.0, 0.2, 0.04, 0.3])) == 2
    assert chosen_of(losses, gains, np.array([0.0, 0.2, 0.06, 0.3])) == 0
    assert chosen_of(losses, gains, np.array([0.0, 0.05, 0.04, 0.3])) == 1
    assert chosen_of(losses, gains, np.array([0.0, 0.05, 0.04, 0.1])) == 3
    # Rounding is no gain.
    assert chosen_of(losses, np.full(4, 1e-17), np.zeros(4)) == 0


def test_small_losses_are_chosen_as_large_ones_are():
    drawn = np.random.default_rng(0).normal([0.5, 0.4, 0.45], 0.01, (50, 3))
    usual = Comparison(drawn.mean(axis=0), drawn)
    for scale in (1e-20, 1e-200, 1e-300):
        small = Comparison(usual.losses * scale, drawn * scale)
        assert small.errors == pytest.approx(usual.errors * scale, rel=1e-9, abs=0.0)
        assert small.gain_errors == pytest.approx(usual.gain_errors * scale, rel=1e-9, abs=0.0)
        assert chosen_of(small.losses, small.gains, small.gain_errors) == 1


def test_the_error_grows_with_the_number_of_different_candidates():
    rng = np.random.default_rng(0)
    errors = np.r_[0.0, np.ones(4)]
    for drawn, factor in (
        (rng.standard_normal((20000, 4)), 1.72),  # the 84 % quantile of the largest of four independent normals
        (np.repeat(rng.standard_normal((20000, 1)), 4, axis=1), 1.0),
    ):
        needed = errors_needed(np.zeros(5), np.column_stack([np.zeros(20000), drawn]), errors)
        np.testing.assert_allclose(needed[1:], factor, atol=0.04)
    np.testing.assert_array_equal(errors_needed(np.zeros(1), np.zeros((50, 1)), np.zeros(1)), [0.0])


@pytest.mark.slow
def test_on_noise_the_loss_out_of_fold_is_not_optimistic():
    # Nothing can be learned, so every threshold has the same true loss, that of its number of positives.
    reported, true = [], []
    for seed in range(40):
        X, y = noisy(300, 0.3, seed, strength=0.0)
        _, base, choice = choice_of(X, y)
        new_X, new_y = noisy(4000, 0.3, 1000 + seed, strength=0.0)
        labels = choice.reference.labels(base.fresh(new_X))
        reported.append(choice.candidates[0].loss)
        true.append(1 - f1_score(new_y, labels))
    difference = np.array(true) - np.array(reported)
    assert abs(difference.mean()) < 3 * difference.std() / np.sqrt(len(difference)) + 0.01


@pytest.mark.slow
def test_repeated_choice_judges_rows_that_nothing_saw():
    X, y = noisy()
    problem = problem_of(X, y, FBeta())
    folds = problem.folds(4, 1)
    seen = []

    def bases(part):
        seen.append(len(part.target))
        return {"lr": part.out_of_fold(LogisticRegression(), part.folds(3, 0))}

    def decide(models, task):
        return choose(models, task, as_strategies(["as_it_is"]), reference=STRATEGIES["threshold"]())

    found = repeated_choice(problem, folds, bases, decide)
    assert seen == [300] * 4
    assert len(found.choices) == 4
    labels = np.zeros(len(y), bool)
    for train, test in folds:
        part = problem.take(train)
        models = bases(part)
        labels[test] = decide(models, part.task).reference.labels(models["lr"].fresh(X[test]))
    assert found.reference_loss == pytest.approx(1 - f1_score(y, labels))
    assert found.interval[0] <= found.gain <= found.interval[1]


def test_groups_are_never_split():
    X, y = noisy()
    groups = np.repeat(np.arange(40), 10)
    problem, _ = out_of_fold(X, y, groups=groups)
    for train, test in problem.folds(5, 0):
        assert not set(groups[train]) & set(groups[test])


def test_folds_that_do_not_fit_are_refused():
    X, y = noisy()
    problem = problem_of(X, y, FBeta())
    with pytest.raises(ValueError, match=r"of RepeatedKFold\(.*\) split 4 tests only rows that earlier ones"):
        problem.folds(RepeatedKFold(n_splits=3, n_repeats=2), 0)
    with pytest.raises(ValueError, match="cv must test a row once in a split; split 1 of"):
        problem.folds([(np.arange(300), np.array([300, 300]))], 0)
    with pytest.raises(ValueError, match="cv must be a number of folds"):
        problem.folds("five", 0)
    with pytest.raises(ValueError, match="cv=5 folds need 5 groups or more; got 3"):
        problem_of(X, y, FBeta(), groups=np.arange(400) % 3).folds(5, 0)
    with pytest.raises(ValueError, match="cv=5 folds need 5 rows or more of a label; the more frequent one has 4"):
        problem_of(X[:7], np.array([0, 1, 0, 1, 0, 1, 0]), FBeta()).folds(5, 0)
    with pytest.raises(ValueError, match="cv=2 folds need 2 rows or more of a label; the more frequent one has 1"):
        problem_of(X[:2], [0, 1], FBeta(), groups=[0, 1]).folds(2, 0)
    with pytest.raises(ValueError, match="without two classes to learn from"):
        problem_of(X, y, FBeta(), groups=y).folds(GroupKFold(2), 0)
    splits = list(StratifiedKFold(3).split(X, y))
    assert len(problem.folds(splits, 0)) == 3
    with pytest.raises(ValueError, match="keep training rows and test rows apart"):
        problem.folds([(np.arange(400), test) for _, test in splits], 0)


def test_losses_without_labels_are_refused():
    X, y = noisy()
    with pytest.raises(Refusal, match="MeasureClassifier refuses RocArea"):
        problem_of(X, y, RocArea())
    assert formula_of(Hamming(np.ones(3))) is None


def test_strategies_by_name():
    assert [strategy.name for strategy in as_strategies("auto")] == list(STRATEGIES)
    assert as_strategies("threshold") == (STRATEGIES["threshold"](),)
    with pytest.raises(ValueError, match="there is no strategy 'magic'"):
        as_strategies(["magic"])
    with pytest.raises(ValueError, match="different names"):
        as_strategies(["threshold", STRATEGIES["threshold"]()])
    with pytest.raises(TypeError, match="strategies must hold names or strategies"):
        as_strategies([3])
    with pytest.raises(TypeError, match="strategies must be 'auto', or a list"):
        as_strategies(3)


def test_responses_that_did_not_see_a_fold():
    X, y = noisy(120)
    problem, base = out_of_fold(X, y, cv=3)
    for i, (train, test) in enumerate(base.folds):
        found = base.response_without(i).scores
        for j, (other, rows) in enumerate(base.folds):
            if i != j:
                seen = np.setdiff1d(np.intersect1d(train, other), test)
                model = LogisticRegression().fit(X[seen], y[seen])
                np.testing.assert_allclose(found[rows], model.predict_proba(X[rows])[:, 1])
    assert problem.task.truth.shape == found.shape


@pytest.mark.slow
def test_processes_give_the_same_responses():
    X, y = noisy(200)
    problem = problem_of(X, y, FBeta())
    alone, shared = (problem.out_of_fold(LogisticRegression(), problem.folds(3, 0), n_jobs=n) for n in (None, 2))
    for weight in (1.0, 3.0):
        np.testing.assert_array_equal(alone.response(weight).scores, shared.response(weight).scores)
    np.testing.assert_array_equal(alone.response_without(1).scores, shared.response_without(1).scores)
    np.testing.assert_array_equal(alone.fitted().coef_, shared.fitted().coef_)


def test_several_base_models_side_by_side():
    X, y = noisy(600)
    X = np.column_stack([X, X[:, 0] * X[:, 1]])
    problem = problem_of(X, y, FBeta())
    folds, told = problem.folds(4, 0), []
    bases = {
        "blind": problem.out_of_fold(LogisticRegression(C=1e-9), folds),
        "good": problem.out_of_fold(LogisticRegression(), folds),
    }
    strategies = as_strategies(["as_it_is", "threshold"])
    choice = choose(
        bases, problem.task, strategies, reference=STRATEGIES["threshold"](), progress=lambda *names: told.append(names)
    )
    assert told == [(c.base, c.strategy) for c in choice.candidates]
    assert told[0] == ("blind", "threshold")
    assert choice.candidates[0].gain == 0.0
    assert len(told) == len(set(told)) == 4
    # Logistic regression that may not learn ranks as well, but its own labels are all negative.
    assert choice.candidates[1].loss == 1.0


def test_a_matrix_label_by_label():
    rng = np.random.default_rng(4)
    X, Y = rng.standard_normal((80, 3)), (rng.random((80, 3)) < 0.5).astype(int)
    Y[:, 1] = 1
    for base, method in ((LogisticRegression(), "predict_proba"), (LinearSVC(), "decision_function")):
        model = LabelwiseClassifier(base).fit(X, Y)
        assert model.predict(X).shape == getattr(model, method)(X).shape == (80, 3)
        assert model.predict(X)[:, 1].all()
        own = clone(base).fit(X, Y[:, 2])
        np.testing.assert_array_equal(model.predict(X)[:, 2], own.predict(X))
        assert model.n_features_in_ == 3
    assert not hasattr(LabelwiseClassifier(LinearSVC()), "predict_proba")
    weighted = LabelwiseClassifier(LogisticRegression()).fit(X, Y, sample_weight=np.arange(80.0))
    own = LogisticRegression().fit(X, Y[:, 0], sample_weight=np.arange(80.0))
    np.testing.assert_allclose(weighted.predict_proba(X)[:, 0], own.predict_proba(X)[:, 1])


@pytest.mark.parametrize("many", [False, True])
def test_strategies_of_many_numbers_refuse_two_folds(many):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    Y = (X + rng.standard_normal((120, 3)) > 0.3).astype(int)
    model = MeasureClassifier(loss="f1", cv=2, strategies=["threshold", "stack", "ramp", "gfm"]).fit(
        X, Y if many else Y[:, 0]
    )
    said = {c.strategy: c.refusal for c in model.candidates_}
    assert said["threshold"] == ""
    assert "2 folds are too few" in said["ramp"]
    assert ("2 folds are too few" in said["stack"]) == many


def threads_of(api):
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == api}


class ThreadRecorder(LogisticRegression):
    """Notes how many threads of BLAS and of OpenMP there are where it is asked."""

    seen: ClassVar[set] = set()

    def fit(self, X, y):
        self.note()
        return super().fit(X, y)

    def predict_proba(self, X):
        self.note()
        return super().predict_proba(X)

    def note(self):
        self.seen.update(threads_of("blas") | threads_of("openmp"))


@pytest.mark.draw(2)
@pytest.mark.parametrize(("small", "threads"), [(1 << 19, {1}), (10, {2})])
def test_base_models_of_small_tables_get_one_thread(small, threads, monkeypatch):
    monkeypatch.setattr("setwise.estimators.base.SMALL_TABLE", small)
    ThreadRecorder.seen.clear()
    X, y = noisy()
    with threadpool_limits(2):
        _, base = out_of_fold(X, y, estimator=ThreadRecorder())
        base.response()
        base.fresh(X).response()
        left = threads_of("blas") | threads_of("openmp")
    assert ThreadRecorder.seen == threads
    assert left == {2}


class UncountableRows(list):
    """Rows whose number is not known before they are counted."""

    shape = (None, 3)


def test_rows_of_every_kind_are_counted():
    table = np.zeros((10, 2))
    with threadpool_limits(2):
        for X in [
            UncountableRows(),
            ["a", "b"],
            [["a"], ["b", "c"]],
            table,
            csr_matrix(table),
            csr_array(table),
            _NotAnArray(table),
        ]:
            with base_threads(X):
                assert threads_of("blas") == threads_of("openmp") == {1}


def test_a_gain_that_the_luckiest_of_several_would_have_is_not_enough(monkeypatch):
    module = "setwise.estimators.selection.choice"
    monkeypatch.setattr(f"{module}.errors_needed", lambda gains, drawn_gains, errors: np.full(len(gains), np.inf))
    monkeypatch.setattr(f"{module}.chosen_of", lambda losses, gains, needed, usual: int(np.isfinite(needed).any()))
    assert choice_of(*noisy())[2].chosen.strategy == "threshold"
