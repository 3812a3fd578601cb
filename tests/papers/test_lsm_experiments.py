"""The experiments of LSM in their quick version."""

import numpy as np
import pytest
from scipy.optimize import minimize

from papers import find, lsm_figure2, lsm_table1, lsm_table2
from papers.experiment import Settings
from papers.lsm_figure1 import BOUNDS, clusters, fixed_pairs, model_of, steps_of, words_on
from papers.lsm_images import errors_of, flipped, silhouettes
from papers.lsm_likelihoods import (
    decided,
    distributions,
    observed,
    perturbed_marginals,
    pseudo_likelihood,
    sampled,
)
from setwise.decisions import least_expected_loss_of_samples
from setwise.estimators.log_supermodular_model import grid_cuts
from setwise.kernels.threads import thread_limit
from setwise.losses import FBeta, Jaccard
from setwise.probabilistic import exact, sample
from setwise.probabilistic.training import Weights

pytestmark = pytest.mark.slow


def test_clusters_are_joined_by_distances():
    points = clusters(3, np.random.default_rng(0))
    model = model_of(points, 2.0)
    (cut,) = model.terms
    assert len(cut.edges) == 15
    a, b = cut.edges[4]
    assert cut.weights[4] == pytest.approx(np.exp(-2.0 * np.hypot(*(points[a] - points[b]))))
    np.testing.assert_array_equal(fixed_pairs(3, 2), [1, 1, -1, 0, 0, -1])
    assert steps_of(50) == (0, 5, 10, 15, 20, 25, 30, 35, 40, 45, 49)
    assert steps_of(8) == tuple(range(8))


def test_words_follow_the_numbers():
    found = np.tile(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])[None, :, None], (3, 1, 2))
    words = words_on(1.0, found)
    assert "logistic, 100 samples is not above L-Field in 100 %" in words[0]
    assert "trees is not above logistic, 100 samples in 0 %" in words[1]
    assert "the logistic bound by 3.0 and L-Field by 5.0" in words[2]


def test_bounds_enclose_the_sum_at_every_step():
    experiment, said = find("lsm_figure1"), []
    found = experiment.run(Settings(quick=True), said.append)
    assert len(said) == experiment.steps(Settings(quick=True))
    names = list(BOUNDS)
    *bounds, seconds = found.tables
    assert len(bounds) == 2
    for table in bounds:
        low, middle, true, _, trees, high = table.means.T
        assert (low <= middle + 1e-9).all()
        assert (middle <= true).all()
        assert (true <= np.minimum(trees, high)).all()
        assert table.columns == tuple(names)
    assert (seconds.rows, seconds.columns) == (tuple(names), ("c = 1", "c = 3"))
    assert ((seconds.means > 0.0) & (seconds.means < 60.0)).all()
    assert not seconds.marks.any()
    model = model_of(clusters(4, np.random.default_rng(1)), 1.0)
    assert found.figures["c1"]() is not None
    assert exact(model).value == pytest.approx(exact(model.condition(np.full(8, -1))).value)


def test_table1_restores_disks():
    experiment, said = find("lsm_table1"), []
    found = experiment.run(Settings(quick=True), said.append)
    assert len(said) == experiment.steps(Settings(quick=True))
    (table,) = found.tables
    wrong, iou, f1, brier = dict(zip(table.rows, table.means, strict=True)), *table.means.T[1:]
    assert np.isfinite(table.means[:, :3]).all()
    assert (table.means[:-1, 0] < 0.4 * table.means[-1, 0]).all()
    assert (iou[:-1] > iou[-1] + 10).all()
    assert ((f1 > iou) & (f1 < 100)).all()
    assert [row for row, b in zip(table.rows, brier, strict=True) if np.isfinite(b)] == [
        row for row in table.rows if row.endswith("mean")
    ]
    assert wrong["noisy images"][0] == pytest.approx(10.0, abs=1.0)
    assert "10 %: 100 % of the images have exact samples by exact likelihood." in found.words


def test_results_do_not_depend_on_threads():
    images = silhouettes(Settings(quick=True), "")
    choices = [lsm_table1.chosen(images, 0.1, 0, True)]
    with thread_limit(2):
        choices.append(lsm_table1.chosen(images, 0.1, 0, True))
    assert choices[0] == choices[1]
    one = lsm_table1.measured(images, 0.1, choices[0], True, ("exact", 1))
    with thread_limit(2):
        assert lsm_table1.measured(images, 0.1, choices[0], True, ("exact", 1)) == one


def test_errors_are_those_of_the_losses():
    labels, truth = (np.random.default_rng(0).random((2, 5, 4, 6)) < 0.4).astype(np.int8)
    wrong, iou, f1 = errors_of(labels, truth)
    assert wrong == pytest.approx(100 * np.mean(labels != truth))
    for found, loss in ((iou, Jaccard()), (f1, FBeta())):
        values = [1.0 - loss(a.ravel(), b.ravel()) for a, b in zip(truth, labels, strict=True)]
        assert found == pytest.approx(100 * np.mean(values))


def test_pseudo_likelihood_is_logistic_regression_of_each_pixel():
    rng = np.random.default_rng(0)
    clean = (rng.random((6, 3, 4)) < 0.5).astype(np.int8)
    clean[:3] = clean[:3, :1, :1]
    noisy = (clean ^ (rng.random(clean.shape) < 0.2)).astype(np.int8)
    found = pseudo_likelihood(noisy, clean, (0.1, 0.05))
    x = np.concatenate([found.unary, [found.observation], found.couplings])
    cuts = [one.edges for one in grid_cuts((3, 4))]

    def loss(x):
        total = 0.0
        for y, seen in zip(clean.reshape(6, -1), observed(noisy), strict=True):
            field = x[:12] + x[12] * seen
            for weight, edges in zip(x[13:], cuts, strict=True):
                for a, b in edges:
                    field[a] += weight * (2 * y[b] - 1)
                    field[b] += weight * (2 * y[a] - 1)
            total += np.logaddexp(0.0, -(2 * y - 1) * field).sum()
        return total / 6 + 0.05 * x[:12] @ x[:12] + 0.025 * x[13:] @ x[13:]

    best = minimize(loss, np.zeros(15), bounds=[(None, None)] * 12 + [(0, None)] * 3, options={"ftol": 1e-13})
    np.testing.assert_allclose(x, best.x, atol=1e-3)
    assert loss(x) <= best.fun + 1e-9


def test_what_is_decided_from_samples():
    noisy = flipped(silhouettes(Settings(quick=True), "").test[:3], 0.1, 0, 0)
    weights = Weights(np.full(256, -0.1), 1.5, np.full(2, 0.8))
    found = sampled(weights, noisy, 4096, ("jaccard", "f1"))
    assert found.exact == 1.0
    drawn = [sample(one, 100, chains=10, random_state=i).labels for i, one in enumerate(distributions(weights, noisy))]
    np.testing.assert_allclose(found.q, np.mean(drawn, axis=1).reshape(noisy.shape))
    for labels, loss in zip(found.decisions, ("jaccard", "f1"), strict=True):
        whole = least_expected_loss_of_samples(np.stack(drawn), loss)
        values = [
            np.mean([(Jaccard() if loss == "jaccard" else FBeta())(y, h.ravel()) for y in each])
            for each, h in zip(drawn, labels, strict=True)
        ]
        np.testing.assert_allclose(values, whole.values, atol=2e-4)
    refused = sampled(weights, noisy, 1, ("jaccard",))
    assert refused.exact == 0.0
    np.testing.assert_allclose(refused.q, perturbed_marginals(weights, noisy))
    np.testing.assert_array_equal(refused.decisions[0], decided(refused.q, "jaccard"))


def test_the_network_has_the_same_features():
    rng = np.random.default_rng(0)
    noisy, clean = (rng.random((2, 3, 4, 5)) < 0.5).astype(np.int8)
    graphs, features = lsm_table1.network(noisy, clean)
    w = rng.standard_normal(1 + 20 + 2)
    scores = features.scores(w)
    for i in range(3):
        unary = w[0] * (2 * noisy[i] - 1) + w[1:21].reshape(4, 5)
        np.testing.assert_allclose(scores[graphs.score_offsets[i] :][:20], unary.ravel())
        pairs = scores[graphs.score_offsets[i] + 20 : graphs.score_offsets[i + 1]]
        np.testing.assert_allclose(pairs, np.repeat(w[21:], [16, 15]))


def test_words_of_table1_follow_the_numbers():
    samples = np.ones((len(lsm_table1.ROWS), 4, 4)) + 1e-3 * np.random.default_rng(0).standard_normal((1, 1, 4))
    samples[lsm_table1.ROWS.index("known level, mean"), 0] -= 0.5
    samples[lsm_table1.ROWS.index("max-margin network"), 0] -= 0.2
    words = lsm_table1.words_on(0.1, samples)
    assert "known level, mean wins against known level, max" in words[0]
    assert "weight learned, mean loses against max-margin network" in words[4]
    assert "weight learned, mean is undecided against exact likelihood, mean" in words[6]
    choice = lsm_table1.RegularizerChoice((1e-4, 1e-3), (1e-2, 1e-2), (1e-3, 1e-3), 100.0)
    table = lsm_table1.table_of(0.1, choice, samples, {"max-margin network": 2.8})
    assert "over 4 draws; ridges (0.0001, 0.001) (known)" in table.title
    at = lsm_table1.ROWS.index("max-margin network")
    assert table.published[at, 0] == 2.8
    assert np.isnan(table.published[:at]).all()
    np.testing.assert_array_equal(table.best[:, 0], np.arange(len(lsm_table1.ROWS)) == 1)


def test_table2_restores_disks_without_clean_ones():
    experiment, said = find("lsm_table2"), []
    found = experiment.run(Settings(quick=True), said.append)
    assert len(said) == experiment.steps(Settings(quick=True))
    (table,) = found.tables
    assert (table.means[:2, 0] < 0.6 * table.means[4, 0]).all()
    np.testing.assert_allclose(table.means[:2, 3], 10.0)
    assert table.means[2, 3] == table.means[3, 3] > 0.0


def test_figure2_shows_the_best_and_the_worst():
    truth = np.zeros((7, 2, 4), np.int8)
    found = (np.arange(8).reshape(2, 4) < np.array([3, 0, 6, 1, 2, 5, 4])[:, None, None]).astype(np.int8)
    np.testing.assert_array_equal(lsm_figure2.chosen(found, truth), [1, 4, 6, 2])
    experiment, said = find("lsm_figure2"), []
    settings = Settings(quick=True)
    outcome = experiment.run(settings, said.append)
    assert len(said) == experiment.steps(settings)
    (table,) = outcome.tables
    images = silhouettes(settings, "")
    clean, rows = lsm_figure2.shown(images, 0.1, 0, True)
    assert tuple(rows) == table.rows
    noisy = flipped(images.test, 0.1, 0, 1)
    for truth, seen in zip(clean, rows["noisy images"], strict=True):
        at = int(np.flatnonzero((images.test == truth).all(axis=(1, 2)))[0])
        np.testing.assert_array_equal(seen, noisy[at])
    assert (np.diff(table.means[1]) >= 0.0).all()
    assert table.means[1:].mean() < 0.6 * table.means[0].mean()
    figure = outcome.figures["10"]()
    assert len(figure.axes) == 4 * 6
    assert [axes.get_title() for axes in figure.axes[:2]] == ["clean", "noisy"]
    # What is drawn in color is what is counted as wrong.
    picture = np.asarray(figure.axes[2].get_images()[0].get_array())
    colored = (picture.min(axis=2) != picture.max(axis=2)).mean()
    assert 100.0 * colored == pytest.approx(table.means[1, 0])


def test_words_of_table2_follow_the_numbers():
    samples = np.ones((5, 4, 3)) + 1e-3 * np.random.default_rng(0).standard_normal((5, 4, 3))
    samples[0, 0] -= 0.5
    samples[2, 0] += 0.5
    words = lsm_table2.words_on(0.1, samples)
    assert "pi known, max wins against pi known, mean" in words[0]
    assert "pi learned, max loses against noisy images" in words[3]
