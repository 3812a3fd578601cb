"""The experiments of LSM in their quick version."""

import numpy as np
import pytest

from setwise.experiments import find, lsm_table1, lsm_table2
from setwise.experiments.experiment import Settings
from setwise.experiments.lsm_figure1 import BOUNDS, clusters, fixed_pairs, model_of, steps_of, words_on
from setwise.probabilistic import exact


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
    words = words_on(1.0, found, np.ones(found.shape))
    assert "logistic, 100 samples is not above L-Field in 100 %" in words[0]
    assert "trees is not above logistic, 100 samples in 0 %" in words[1]
    assert "the logistic bound by 3.0 and L-Field by 5.0" in words[2]


def test_bounds_enclose_the_sum_at_every_step():
    experiment, said = find("lsm_figure1"), []
    found = experiment.run(Settings(quick=True), said.append)
    assert len(said) == experiment.steps(Settings(quick=True))
    names = list(BOUNDS)
    for table in found.tables:
        low, middle, true, _, trees, high = table.means.T
        assert (low <= middle + 1e-9).all()
        assert (middle <= true).all()
        assert (true <= np.minimum(trees, high)).all()
        assert table.columns == tuple(names)
    model = model_of(clusters(4, np.random.default_rng(1)), 1.0)
    assert found.figures["c1"]() is not None
    assert exact(model).value == pytest.approx(exact(model.condition(np.full(8, -1))).value)


def test_table1_restores_disks():
    experiment, said = find("lsm_table1"), []
    found = experiment.run(Settings(quick=True), said.append)
    assert len(said) == experiment.steps(Settings(quick=True))
    (table,) = found.tables
    assert (table.means[:6, 0] < 0.4 * table.means[6, 0]).all()
    assert (table.means[:6, 1] > table.means[6, 1] + 10).all()
    assert np.isfinite(table.means[[1, 3], 2]).all()
    assert table.means[6, 0] == pytest.approx(10.0, abs=1.0)


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
    samples = np.ones((7, 3, 4)) + 1e-3 * np.random.default_rng(0).standard_normal((7, 3, 4))
    samples[1, 0] -= 0.5
    samples[5, 0] -= 0.2
    words = lsm_table1.words_on(0.1, samples)
    assert "known level, mean wins against known level, max" in words[0]
    assert "weight learned, mean loses against max-margin network" in words[4]


def test_table2_restores_disks_without_clean_ones():
    experiment, said = find("lsm_table2"), []
    found = experiment.run(Settings(quick=True), said.append)
    assert len(said) == experiment.steps(Settings(quick=True))
    (table,) = found.tables
    assert (table.means[:2, 0] < 0.6 * table.means[4, 0]).all()
    np.testing.assert_allclose(table.means[:2, 3], 10.0)
    assert table.means[2, 3] == table.means[3, 3] > 0.0


def test_words_of_table2_follow_the_numbers():
    samples = np.ones((5, 4, 3)) + 1e-3 * np.random.default_rng(0).standard_normal((5, 4, 3))
    samples[0, 0] -= 0.5
    samples[2, 0] += 0.5
    words = lsm_table2.words_on(0.1, samples)
    assert "pi known, max wins against pi known, mean" in words[0]
    assert "pi learned, max loses against noisy images" in words[3]
