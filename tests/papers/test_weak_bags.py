import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit, xlogy

from papers import find
from papers.experiment import Settings
from papers.weak_bags import COLUMNS, PUBLISHED, ROWS, ProportionBags, generated, judged, logistic, words_on


@pytest.fixture(scope="module")
def bags():
    X, y, numbers = generated(np.random.default_rng(0))
    order = np.random.default_rng(1).permutation(len(X))
    return ProportionBags.of(X[order], y[order], numbers[order])


def test_bags_hold_their_rows_and_shares(bags):
    known, labels = bags
    assert len(known.sizes) == 40
    assert (known.sizes == 16).all()
    np.testing.assert_allclose(known.shares, labels.reshape(40, 16).mean(axis=1))
    assert known.X.shape == (640, 5)


def test_soft_labels_are_those_of_counted_rows(bags):
    known, _ = bags
    counts = np.round(known.shares * 16).astype(int)
    rows = np.repeat(np.arange(640), 16)
    labels = np.concatenate([np.tile(np.arange(16) < c, 16) for c in counts])
    np.testing.assert_allclose(
        known.soft_labels(), logistic(known.X[rows], labels, np.full(len(rows), 1 / 16)), atol=1e-3
    )


def proportion_loss(known, w):
    p = np.array([one.mean() for one in np.split(expit(known.X @ w[:-1] + w[-1]), known.offsets[1:-1])])
    R = known.shares
    each = xlogy(R, R) + xlogy(1 - R, 1 - R) - xlogy(R, p) - xlogy(1 - R, 1 - p)
    return known.sizes @ each + 0.5 * w[:-1] @ w[:-1]


def test_proportions_end_where_the_loss_is_flat(bags):
    known, _ = bags
    start = known.soft_labels()
    w = known.proportions(start)
    assert proportion_loss(known, w) < proportion_loss(known, start)
    slope = approx_fprime(w, lambda v: proportion_loss(known, v), 1e-6)
    assert np.abs(slope).max() < 1e-3 * np.abs(approx_fprime(start, lambda v: proportion_loss(known, v), 1e-6)).max()


def test_the_alternation_learns_without_a_label(bags):
    known, labels = bags
    start = known.soft_labels()
    w = known.alternation(start)
    wrong = [np.mean((known.X @ v[:-1] + v[-1] > 0) != labels) for v in (start, w, logistic(known.X, labels))]
    assert wrong[1] < wrong[0] - 0.02
    assert wrong[1] < wrong[2] + 0.03


def test_the_matched_threshold_takes_as_many_rows_as_the_bags_hold(bags):
    known, labels = bags
    w = np.random.default_rng(2).standard_normal(6)
    assert (known.X @ w[:-1] + w[-1] > known.threshold(w)).sum() == labels.sum()
    for share in (0.0, 1.0):
        same = ProportionBags(known.X, known.offsets, np.full(40, share))
        assert (known.X @ w[:-1] + w[-1] > same.threshold(w)).mean() == share


def test_the_columns_of_a_perfect_and_an_empty_model():
    X, y = np.array([[1.0], [-1.0], [2.0]]), np.array([True, False, True])
    np.testing.assert_allclose(judged(X, y, np.array([1.0, 0.0]), 0.0), [100, 100, 100, 200 / 3])
    np.testing.assert_allclose(judged(X, y, np.array([0.0, -1.0]), 9.0), [0, 0, 100 / 3, 0])


def test_words_follow_the_numbers():
    samples = np.full((len(ROWS), len(COLUMNS), 3), 50.0) + 0.01 * np.arange(3)
    samples[1, 1] += 5 + 0.01 * np.arange(3) ** 2
    samples[3, 1] -= 5 + 0.01 * np.arange(3) ** 2
    words = words_on("naive", samples)
    assert "alternation from soft labels wins against soft labels" in words[0]
    assert "alternation from the proportion loss loses against proportion loss" in words[1]


def test_the_small_version_runs():
    experiment, said, quick = find("weak_bags"), [], Settings(quick=True)
    found = experiment.run(quick, said.append)
    assert len(said) == experiment.steps(quick)
    first, second = found.tables
    assert first.means[1, 0] > first.means[0, 0]
    assert np.isfinite(second.means[:5]).all()
    assert experiment.name in found.text(experiment)
    assert experiment.steps(Settings()) == 9 * len(PUBLISHED)


def test_real_bags_must_be_given():
    with pytest.raises(ValueError, match="weak_bags needs adult_proportions.npz of UCI Adult in bags"):
        find("weak_bags").run(Settings(), print)
