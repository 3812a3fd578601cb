"""The methods of training of the experiments, and their choice of C."""

from dataclasses import replace

import numpy as np
import pytest

from papers.methods import LOGISTIC, LOVASZ, MARGIN, SVM, TUNED, standardized
from papers.paired_mean import ConstantSearch, PairedMean, choose
from papers.problems import digits, folds_of, mean_loss_of
from setwise.compare.problem import Problem, bags, breast_cancer, digit_traits
from setwise.core.exceptions import Refusal
from setwise.datasets import early_detection
from setwise.losses import AveragePrecision, BreakEven, FBeta, Hamming, Jaccard, RocArea


def test_the_loss_of_a_problem_is_the_mean_over_its_sets():
    problem = bags(5, 0)
    scores = np.random.default_rng(0).normal(size=75)
    shuffled = np.random.default_rng(1).permutation(75)
    expected = np.mean([Hamming()(problem.y[i : i + 15], scores[i : i + 15] > 0) for i in range(0, 75, 15)])
    assert mean_loss_of(problem, Hamming(), scores) == pytest.approx(expected)
    assert mean_loss_of(problem.take(shuffled), Hamming(), scores[shuffled]) == pytest.approx(expected)
    traits = digit_traits(3)
    assert mean_loss_of(traits, Hamming(), np.where(traits.y, -1.0, 1.0)) == 3.0


@pytest.mark.parametrize(
    "problem", [bags(30, 0), digit_traits(3), breast_cancer()], ids=["groups", "labels", "one set"]
)
def test_folds_cover_every_row_once_and_keep_sets_whole(problem):
    seen = np.concatenate([test for _, test in folds_of(problem, 4, 0)])
    np.testing.assert_array_equal(np.sort(seen), np.arange(len(problem.y)))
    for train, test in folds_of(problem, 4, 0):
        assert not set(train) & set(test)
        if problem.groups is not None:
            assert not set(problem.groups[train]) & set(problem.groups[test])


def test_too_few_rows_for_the_folds():
    with pytest.raises(ValueError, match="2 rows of one class, too few for 3 folds"):
        folds_of(Problem("p", "", np.zeros((9, 1)), np.array([0] * 7 + [1, 1])), 3, 0)
    with pytest.raises(ValueError, match="has 4 sets, too few for 5 folds"):
        folds_of(bags(4, 0), 5, 0)


def test_c_is_that_of_an_svm_whatever_the_sets():
    # one set, or each row a set: the Hamming SVM is the same machine
    X, y, _ = early_detection(20, random_state=0)
    one = Problem("one", "", X, y)
    many = replace(one, groups=np.arange(len(y)))
    a, b = (SVM.train(p, Hamming(), 0.01, 1e-6) for p in (one, many))
    np.testing.assert_allclose(a.coef, b.coef, atol=1e-3)


@pytest.mark.parametrize(
    "problem", [bags(40, 0), digit_traits(3), breast_cancer()], ids=["groups", "labels", "one set"]
)
def test_the_tuned_threshold_never_hurts_on_training_data_by_much(problem):
    train, _ = standardized(problem, problem)
    plain, tuned = (m.train(train, Jaccard(), 0.1, 1e-2) for m in (LOGISTIC, TUNED))
    np.testing.assert_allclose(plain.coef, tuned.coef, atol=1e-4)
    assert np.isfinite(tuned.threshold)
    assert (
        mean_loss_of(train, Jaccard(), tuned.margins(train))
        <= mean_loss_of(train, Jaccard(), plain.margins(train)) + 0.02
    )


def test_a_label_that_never_occurs_gets_a_constant_score():
    problem = Problem("p", "", np.eye(4), np.array([[0, 1], [0, 0], [0, 1], [0, 0]]), None, ("a", "b"))
    trained = LOGISTIC.train(problem, Hamming(), 1.0, 1e-2)
    assert (trained.margins(problem)[:, 0] < 0).all()


def test_a_paired_mean_has_the_t_interval():
    pair = PairedMean.of([1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0])
    assert pair.difference == 2.5
    assert pair.width == pytest.approx(3.182446 * np.std([1, 2, 3, 4], ddof=1) / 2, rel=1e-5)
    assert pair.clear


def test_a_ranking_has_no_threshold():
    with pytest.raises(Refusal, match="no threshold"):
        TUNED.train(breast_cancer(), RocArea(), 1.0, 1e-2)


def test_the_bundled_problems():
    assert digits(3).y.sum() == 183
    assert breast_cancer().y.sum() == 212
    traits = digit_traits(6)
    assert traits.y.shape == (1797, 6)
    assert traits.y[:, 0].sum() == 907 or traits.y[:, 0].sum() > 800


def test_c_comes_from_the_grid_and_a_refusal_comes_through():
    train, _ = standardized(breast_cancer(), breast_cancer())
    steps = []
    plan = ConstantSearch(2, (1e-3, 1e-1))
    assert choose(LOGISTIC, train, Jaccard(), plan, lambda: steps.append(1)) in plan.grid
    assert len(steps) == 4
    with pytest.raises(Refusal, match="LovaszHinge refuses"):
        choose(LOVASZ, train, FBeta(0.5), plan, lambda: None)
    assert choose(MARGIN, train, FBeta(0.5), plan, lambda: None) in plan.grid


def test_the_scores_of_a_ranking_are_plain():
    problem = bags(20, 0)
    scores = LOGISTIC.train(problem, RocArea(), 1.0, 1e-2).margins(problem)
    for loss in (RocArea(), AveragePrecision(), BreakEven()):
        assert mean_loss_of(problem, loss, scores) == pytest.approx(mean_loss_of(problem, loss, scores - 3.0))


def test_interruption_inside_a_fit_stops_the_comparison(monkeypatch):
    from papers.methods import LOVASZ
    from setwise.compare.problem import bags
    from setwise.losses import Jaccard
    from setwise.risks import MeanRisk

    def interrupted(self, w, tol=0.0):
        raise KeyboardInterrupt

    monkeypatch.setattr(MeanRisk, "cut", interrupted)
    with pytest.raises(KeyboardInterrupt):
        LOVASZ.train(bags(5, 0), Jaccard(), 1.0, 1e-2)
