"""The experiments of LSM in their quick version."""

import numpy as np
import pytest

from setwise.experiments import find
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
