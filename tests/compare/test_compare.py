from dataclasses import replace

import numpy as np
import pytest

from setwise.compare.bundled import bags, breast_cancer, digit_traits, digits
from setwise.compare.comparison import QUICK_GRID, Duel, Plan, compare
from setwise.compare.methods import LOGISTIC, LOVASZ, MARGIN, METHODS, SLACK, SVM, TUNED, standardized
from setwise.compare.problem import Problem
from setwise.compare.words import text_table, verdict
from setwise.core.refusal import Refusal
from setwise.datasets import early_detection
from setwise.losses import EarlyDetection, ErrorRate, FBeta, Hamming, Jaccard

PLAN = Plan(3, 2, QUICK_GRID)


def quiet(what, steps):
    pass


@pytest.fixture(scope="module")
def early():
    losses = {"early_detection": EarlyDetection(), "error_rate": ErrorRate()}
    return compare(bags(150, 0), "early_detection", losses, PLAN, quiet)


@pytest.mark.parametrize(
    "problem", [bags(30, 0), digit_traits(3), breast_cancer()], ids=["groups", "labels", "one set"]
)
def test_folds_cover_every_row_once_and_keep_sets_whole(problem):
    seen = np.concatenate([test for _, test in problem.folds(4, 0)])
    np.testing.assert_array_equal(np.sort(seen), np.arange(len(problem.y)))
    for train, test in problem.folds(4, 0):
        assert not set(train) & set(test)
        if problem.groups is not None:
            assert not set(problem.groups[train]) & set(problem.groups[test])


def test_too_few_rows_for_the_folds():
    with pytest.raises(ValueError, match="2 rows of one class, too few for 3 folds"):
        Problem("p", "", np.zeros((9, 1)), np.array([0] * 7 + [1, 1])).folds(3, 0)
    with pytest.raises(ValueError, match="has 4 sets, too few for 5 folds"):
        bags(4, 0).folds(5, 0)


def test_the_loss_of_a_problem_is_the_mean_over_its_sets():
    problem = bags(5, 0)
    scores = np.random.default_rng(0).normal(size=75)
    shuffled = np.random.default_rng(1).permutation(75)
    expected = np.mean([Hamming()(problem.y[i : i + 15], scores[i : i + 15] > 0) for i in range(0, 75, 15)])
    assert problem.loss(Hamming(), scores) == pytest.approx(expected)
    assert problem.take(shuffled).loss(Hamming(), scores[shuffled]) == pytest.approx(expected)
    traits = digit_traits(3)
    assert traits.loss(Hamming(), np.where(traits.y, -1.0, 1.0)) == 3.0


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
    assert train.loss(Jaccard(), tuned.margins(train)) <= train.loss(Jaccard(), plain.margins(train)) + 0.02


def test_a_label_that_never_occurs_gets_a_constant_score():
    problem = Problem("p", "", np.eye(4), np.array([[0, 1], [0, 0], [0, 1], [0, 0]]), None, ("a", "b"))
    trained = LOGISTIC.train(problem, Hamming(), 1.0, 1e-2)
    assert (trained.margins(problem)[:, 0] < 0).all()


def test_a_set_loss_wins_where_a_tuned_threshold_can_not(early):
    means = dict(zip([r.method for r in early.rows], early.means[:, 0], strict=True))
    assert means[LOVASZ] < 0.7 * min(means[LOGISTIC], means[TUNED], means[SVM])
    assert means[LOVASZ] < min(means[MARGIN], means[SLACK])
    words = verdict(early)
    assert words[0].startswith("In early_detection training for it wins: Lovász hinge beats")
    assert any("In error_rate, for which it was not trained, Lovász hinge pays" in w for w in words)
    assert all(r.gap is None or r.gap < 2e-3 for r in early.rows)


def test_every_method_chose_from_the_grid_and_is_certified_or_not(early):
    for row in early.rows:
        assert set(row.chosen) <= set(QUICK_GRID)
        assert (row.gap is None) == (row.method in (LOGISTIC, TUNED))
        assert row.losses.shape == (3, 2)


def test_the_table_marks_the_best_of_each_column(early):
    lines = text_table(early).splitlines()
    assert len(lines) == 1 + len(METHODS)
    marked = [line for line in lines if "*" in line]
    assert sum(line.count("*") for line in lines) == 2
    assert any(line.startswith("Lovász hinge") for line in marked)
    assert "\033[1m" in text_table(early, bold=True)
    assert "*" not in text_table(early, bold=True)


def test_a_duel_is_the_t_interval():
    duel = Duel.of([1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0])
    assert duel.difference == 2.5
    assert duel.width == pytest.approx(3.182446 * np.std([1, 2, 3, 4], ddof=1) / 2, rel=1e-5)
    assert duel.clear


def test_a_refusal_leaves_a_row_out_and_is_said():
    losses = {"f2": FBeta(0.5), "hamming": Hamming()}
    steps = []
    plan = Plan(2, 2, (0.01,))
    found = compare(breast_cancer(), "f2", losses, plan, lambda what, n: steps.append(n), (LOGISTIC, LOVASZ, MARGIN))
    assert [r.method for r in found.rows] == [LOGISTIC, MARGIN]
    assert "LovaszHinge refuses" in found.notes[0]
    assert sum(steps) == plan.fits((LOGISTIC, LOVASZ, MARGIN))
    assert any("left out" in w for w in verdict(found))


def test_constant_features_and_few_rows_cost_one_row_of_the_table_at_most():
    y = np.arange(12) % 3 == 0
    plan, losses = Plan(2, 2, (0.01,)), {"jaccard": Jaccard()}
    same = compare(Problem("p", "", np.ones((12, 1)), np.tile(y, 5).astype(int)[:12]), "jaccard", losses, plan, quiet)
    assert TUNED not in [r.method for r in same.rows]
    assert same.notes == (f"{TUNED.name} is left out: a training part is too small to tune its threshold by 3 folds.",)
    more = Problem("p", "", np.ones((60, 1)), np.tile(y, 5).astype(int))
    assert [r.method for r in compare(more, "jaccard", losses, plan, quiet).rows] == list(METHODS)


def test_too_few_sets_to_choose_c_is_said_before_the_work():
    with pytest.raises(ValueError, match=r"too small for 2 folds, in each of which 3 folds choose C: .* has 2 sets"):
        compare(bags(4, 0), "jaccard", {"jaccard": Jaccard()}, Plan(2), quiet)


def test_a_part_holds_whole_sets_and_enough_of_each_label():
    rows, groups = np.arange(30 * 400), np.repeat(np.arange(30), 400)
    y = ((rows % 400 == 0) & (groups % 2 == 0)).astype(int)
    images = Problem("p", "", rows[:, None], y, groups)
    part = images.part(300, 5, 0)
    sizes = np.unique(part.groups, return_counts=True)[1]
    assert (sizes == 400).all()
    assert 5 <= len(sizes) < 30
    assert len(np.unique(part.groups[part.y == 1])) >= 5
    np.testing.assert_array_equal(part.X, images.part(300, 5, 0).X)
    one = replace(images, groups=None).part(300, 5, 0)
    assert 300 <= len(one.y) < len(y)
    assert one.y.sum() >= 5
    assert images.part(1, 16, 0).y.sum() == 15
    assert len(images.part(10**9, 5, 0).y) == len(y)
    matrix = Problem("p", "", rows[:, None], np.column_stack([y, y]))
    assert len(matrix.part(300, 5, 0).y) == 300


def test_a_ranking_has_no_threshold():
    from setwise.losses.roc_area import RocArea

    with pytest.raises(Refusal, match="no threshold"):
        TUNED.train(breast_cancer(), RocArea(), 1.0, 1e-2)


def test_the_bundled_problems():
    assert digits(3).y.sum() == 183
    assert breast_cancer().y.sum() == 212
    traits = digit_traits(6)
    assert traits.y.shape == (1797, 6)
    assert traits.y[:, 0].sum() == 907 or traits.y[:, 0].sum() > 800
