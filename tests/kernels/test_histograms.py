"""Histograms of each class equal those that NumPy makes bin by bin."""

import math

import numpy as np
import pytest

from setwise.kernels.histograms import ADDED, class_histograms


def by_hand(scores, truth, signs, edges):
    """Counts, exact sums, least and largest values of every bin."""
    k = edges.shape[1] - 1
    counts, sums = np.zeros((2, k), int), np.zeros((2, k))
    least, most = np.full((2, k), np.inf), np.full((2, k), -np.inf)
    for c in range(2):
        values = signs[c] * scores[truth == bool(c)].astype(float)
        for j in range(k):
            inside = values[(values >= edges[c, j]) & (values < edges[c, j + 1])]
            counts[c, j], sums[c, j] = len(inside), math.fsum(inside)
            least[c, j], most[c, j] = inside.min(initial=np.inf), inside.max(initial=-np.inf)
    return counts, sums, least, most


def agree(found, wanted):
    counts, sums, least, most = wanted
    for a, b in ((found.counts, counts), (found.least, least), (found.most, most)):
        assert (a == b).all()
    np.testing.assert_allclose(found.sums, sums, rtol=1e-12, atol=1e-14 * np.abs(sums).max(initial=0.0))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("signs", [(-1, 1), (1, 1), (1, -1)])
def test_random_scores_with_ties_on_edges(kind, signs):
    rng = np.random.default_rng(0)
    for m in (0, 1, 50, 2000):
        for k in (1, 2, 7, 60):
            scores = np.round(rng.standard_normal(m), 1).astype(kind)
            truth = rng.random(m) < 0.3
            # Half of the edges are scores, some are equal, and the two classes have different ranges.
            edges = rng.standard_normal((2, k + 1)) * rng.choice([0.1, 1.0, 3.0], (2, 1))
            if m:
                edges[:, ::2] = rng.choice(scores, edges[:, ::2].shape)
            edges.sort(axis=1)
            agree(class_histograms(scores, truth, signs, edges), by_hand(scores, truth, signs, edges))


@pytest.mark.parametrize(
    "row",
    [
        [-np.inf, np.inf],
        [-np.inf, 0.0, np.inf, np.inf],
        [np.inf, np.inf],
        [0.0, 5e-324, 1e-323, 1.0],
        [-1.7e308, -1.0, 0.0, 1e-300, 1.7e308],
        [-np.inf, 0.0, 1e-310, 1e-309, 1e300, 1e300],
    ],
)
def test_edges_and_scores_of_all_sizes(row):
    edges = np.array([row, row])
    rng = np.random.default_rng(1)
    pool = np.array([0.0, -0.0, 5e-324, -5e-324, 1e-310, 1e-300, 1e300, -1e300, 1.0, -1.0, 1.6e307])
    for _ in range(20):
        scores, truth = rng.choice(pool, 20), rng.random(20) < 0.5
        agree(class_histograms(scores, truth, (-1, 1), edges), by_hand(scores, truth, (-1, 1), edges))


def test_edges_that_crowd_in_one_place():
    crowd = np.concatenate((1e-9 * np.arange(50), [1.0, 2.0, 1e6]))
    edges = np.array([crowd, -crowd[::-1]])
    rng = np.random.default_rng(2)
    scores = rng.choice([1.0, 1e-8, 1e5], 3000) * rng.standard_normal(3000)
    truth = rng.random(3000) < 0.5
    agree(class_histograms(scores, truth, (-1, 1), edges), by_hand(scores, truth, (-1, 1), edges))


def test_sums_of_many_equal_scores_stay_accurate():
    m = 100 * ADDED + 7
    found = class_histograms(np.full(m, 0.1), np.ones(m, bool), (-1, 1), np.array([[-np.inf, np.inf]] * 2))
    assert found.counts.tolist() == [[0], [m]]
    assert abs(found.sums[1, 0] - m * 0.1) <= 2e-12 * m * 0.1
    assert found.least[:, 0].tolist() == [np.inf, 0.1]
    assert found.most[:, 0].tolist() == [-np.inf, 0.1]


def test_scores_and_truth_of_different_length_are_refused():
    with pytest.raises(ValueError, match="scores and truth must be equally long"):
        class_histograms(np.zeros(3), np.zeros(2, bool), (-1, 1), np.array([[-np.inf, np.inf]] * 2))
