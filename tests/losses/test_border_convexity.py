"""The loss of borders between a core and a rim: its paths, values, maxima and completions, against all labelings."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from losses.small_networks import ROWS, grid, index_of, labelings, scored, values_of, won_by
from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.exceptions import Refusal
from setwise.core.networks import Graphs
from setwise.core.terms import PathOrders, Precedence
from setwise.inference import Auto, FactorDecomposition, HighOrderMessages, OneWayCut
from setwise.kernels.paths import path_marginals, path_maxima
from setwise.losses import BorderConvexity, Hamming, Jaccard
from setwise.losses.border_convexity import shortest_paths

EDGES, ENDS = grid(3, 4), np.array([0, 12])
TRIMAPS = {
    "ring": [0, 0, 0, 0, -1, 1, -1, 0, -1, -1, -1, 0],
    "side": [1, -1, -1, 0, 1, -1, -1, 0, -1, -1, -1, 0],
    "corner": [1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0],
    "no core": [0, -1, -1, 0, 0, -1, -1, 0, 0, -1, -1, 0],
    "no rim": [1, -1, -1, -1, 1, -1, -1, -1, 1, -1, -1, -1],
    "all known": [0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1, 0],
    "all unknown": [-1] * 12,
    "one pixel": [0, 0, 0, 0, 1, 1, -1, 0, 0, 0, 0, 0],
}


def trimap(name):
    return Graphs(np.array(TRIMAPS[name], np.int8), ENDS, EDGES)


def of_formula(paths, labels, rows, alpha):
    """Eq. 8, written out."""
    known = labels >= 0
    out = (rows[:, known] != (labels == 1)[known]).sum(axis=1).astype(float)
    for path in paths:
        out += alpha * ~(rows[:, path][:, :-1] >= rows[:, path][:, 1:]).all(axis=1)
    return out


def paths_of(graphs):
    members, starts = shortest_paths(graphs)
    return np.split(members, starts[1:-1]) if len(members) else []


def test_paths_of_a_trimap_are_those_that_the_rule_gives():
    # Pixels 2, 6 and 10 are next to the rim, 1, 5 and 8 next to the core; 10 is as close to it by way of 9 as of 6.
    assert [p.tolist() for p in paths_of(trimap("side"))] == [[1, 2], [5, 6], [5, 6, 10], [5, 9], [8]]
    assert [p.tolist() for p in paths_of(trimap("ring"))] == [[4], [6], [6, 10], [4, 8], [9]]
    assert [p.tolist() for p in paths_of(trimap("one pixel"))] == [[6]]
    for name in ("no core", "all known", "all unknown"):
        assert paths_of(trimap(name)) == []


@pytest.mark.parametrize("diagonals", [False, True])
def test_paths_are_shortest_ones_and_cover_the_band(diagonals):
    rng = np.random.default_rng(0)
    for _ in range(20):
        height, width = rng.integers(3, 12, 2)
        labels = rng.choice(np.array([-1, -1, -1, 0, 1], np.int8), 2 * height * width)
        one, n = grid(height, width, diagonals), height * width
        graphs = Graphs(labels, np.array([0, n, 2 * n]), np.vstack([one, one + n]))
        # Steps go from an unknown node to an unknown one or a 1, so a path to a 1 has as many steps as nodes.
        both = np.vstack([graphs.edges, graphs.edges[:, ::-1]])
        steps = both[(labels[both[:, 0]] == -1) & (labels[both[:, 1]] != 0)]
        network = csr_matrix((np.ones(len(steps)), tuple(steps.T)), shape=(2 * n, 2 * n))
        ones = np.flatnonzero(labels == 1)
        far = dijkstra(network.T, indices=ones).min(axis=0) if len(ones) else np.full(2 * n, np.inf)
        paths, used = paths_of(graphs), np.zeros(2 * n, dtype=bool)
        for path in paths:
            assert (labels[path] == -1).all()
            np.testing.assert_array_equal(far[path], np.arange(1, len(path) + 1))
            assert not used[path[-1]], "each path begins at a node that none before has passed"
            used[path] = True
            for inner, outer in pairwise(path):
                closer = both[(both[:, 0] == outer) & (far[both[:, 1]] == far[outer] - 1), 1]
                assert inner == closer[labels[closer] == -1].min()
        np.testing.assert_array_equal(used, (labels == -1) & np.isfinite(far))


@pytest.mark.parametrize("name", TRIMAPS)
def test_values_and_least_labelings(name):
    graphs = trimap(name)
    bound_loss = BorderConvexity(1.5).bind(graphs)
    expected = of_formula(paths_of(graphs), graphs.labels, ROWS, 1.5)
    np.testing.assert_allclose(values_of(bound_loss, ROWS), expected)
    np.testing.assert_allclose(values_of(2 * bound_loss, ROWS), 2 * expected)
    assert expected.min() == 0.0
    np.testing.assert_array_equal(values_of(bound_loss.zero(), ROWS), np.where(expected == 0, 0.0, -np.inf))


@pytest.mark.draw(4)
@pytest.mark.parametrize("method", [FactorDecomposition(), HighOrderMessages()], ids=repr)
@pytest.mark.parametrize("name", TRIMAPS)
def test_margin_rescaling_has_a_value_and_a_bound(name, method):
    rng = np.random.default_rng(1)
    graphs = trimap(name)
    bound_loss = (BorderConvexity(1.5) + 0.2 * BorderConvexity()).bind(graphs)
    for kind in ("reals", "reals", "ties", "huge"):
        scores = scored(rng, graphs, kind)
        values = won_by(graphs, scores, ROWS) + values_of(bound_loss, ROWS)
        found = method.prepare(bound_loss).maximize(scores)
        slip = 1e-10 * (1.0 + np.abs(scores).max())
        assert found.values[0] == pytest.approx(values[index_of(found.labels)], abs=slip)
        assert found.values[0] <= values.max() + slip
        assert values.max() <= found.bounds[0] + slip
        assert not found.exact[0] or found.values[0] >= values.max() - slip


@pytest.mark.parametrize("name", TRIMAPS)
@pytest.mark.parametrize("alone", [False, True])
def test_completions_are_exact(name, alone):
    rng = np.random.default_rng(2)
    graphs = trimap(name)
    batch = Sets(graphs.labels, ENDS) if alone else graphs
    for kind in ("reals", "reals", "ties", "zeros", "huge"):
        bound_loss = BoundLoss(batch, BorderConvexity().bind(graphs).zero().terms, "completion")
        scores = scored(rng, batch, kind)
        values = won_by(batch, scores, ROWS) + values_of(bound_loss, ROWS)
        prepared = Auto().prepare(bound_loss)
        found = prepared.maximize(scores)
        slip = 1e-10 * (1.0 + np.abs(scores).max())
        assert found.exact[0]
        assert found.values[0] == pytest.approx(values.max(), abs=slip)
        expected = np.array([[values[ROWS[:, i] == v].max() for v in (0, 1)] for i in range(12)])
        marginals = prepared.max_marginals(scores)
        # Without paths there are only forbidden mistakes, whose scores are finite over independent decisions.
        marginals[marginals < -1e190] = -np.inf
        np.testing.assert_allclose(marginals, expected, atol=slip, rtol=1e-9)


def test_several_sets_are_solved_together():
    rng = np.random.default_rng(3)
    names = ("ring", "no core", "side", "all known", "corner")
    labels = np.concatenate([np.array(TRIMAPS[name], np.int8) for name in names])
    graphs = Graphs(labels, 12 * np.arange(6), np.vstack([EDGES + 12 * i for i in range(5)]))
    bound_loss, scores = BorderConvexity(0.7).bind(graphs), scored(rng, graphs)
    worst, best = FactorDecomposition().prepare(bound_loss), Auto().prepare(bound_loss.zero())
    for maximizer in (worst, best):
        together = maximizer.maximize(scores)
        for i in range(5):
            own = scores[graphs.score_offsets[i] : graphs.score_offsets[i + 1]]
            alone = maximizer.take(np.array([i])).maximize(own)
            assert alone.values[0] == pytest.approx(together.values[i])
            assert alone.bounds[0] == pytest.approx(together.bounds[i])
    part = bound_loss.take(np.array([4, 0]))
    rows = labelings(12)[::97]
    np.testing.assert_allclose(
        part.values(np.concatenate([rows[1], rows[2]])),
        [
            values_of(bound_loss.take(np.array([4])), rows[1:2])[0],
            values_of(bound_loss.take(np.array([0])), rows[2:3])[0],
        ],
    )


def test_maxima_and_max_marginals_of_single_paths():
    rng = np.random.default_rng(4)
    lengths = np.array([1, 2, 3, 5, 7, 1])
    starts, costs = np.concatenate(([0], np.cumsum(lengths))), 2.0 * rng.random(6)
    for kind in range(30):
        s = rng.standard_normal(starts[-1]) * rng.choice([0.1, 1.0, 10.0])
        s = [s, np.round(s), 0 * s][kind % 3]
        chosen = np.zeros(len(s), dtype=bool)
        best, marginals = path_maxima(s, starts, costs, chosen), path_marginals(s, starts, costs)
        for k, (a, b) in enumerate(pairwise(starts)):
            rows = labelings(b - a)
            values = rows @ s[a:b] + costs[k] * ~(rows[:, :-1] >= rows[:, 1:]).all(axis=1)
            assert best[k] == pytest.approx(values.max())
            assert values[index_of(chosen[a:b])] == pytest.approx(values.max())
            expected = [[values[rows[:, i] == v].max() for v in (0, 1)] for i in range(b - a)]
            np.testing.assert_allclose(marginals[a:b], expected, atol=1e-12)


def test_paths_that_are_given_and_sums_with_other_losses():
    rng = np.random.default_rng(5)
    labels = np.array([1, -1, -1, -1, 0, -1, -1, 0, 1, 0, 0, 1], np.int8)
    paths = [np.array([1, 2, 3]), np.array([1, 5]), np.array([6])]
    sets = Sets(labels, ENDS)
    loss = BorderConvexity(2.0, paths) + Jaccard()
    bound_loss = loss.bind(sets)
    np.testing.assert_allclose(
        values_of(BorderConvexity(2.0, paths).bind(sets), ROWS), of_formula(paths, labels, ROWS, 2.0)
    )
    for _ in range(10):
        scores = scored(rng, sets)
        values = won_by(sets, scores, ROWS) + values_of(bound_loss, ROWS)
        found = FactorDecomposition().prepare(bound_loss).maximize(scores)
        assert found.values[0] - 1e-9 <= values.max() <= found.bounds[0] + 1e-9
        assert found.values[0] == pytest.approx(values[index_of(found.labels)])


def test_what_does_not_fit_is_refused():
    sets = Sets(np.array([1, -1, 0, 0], np.int8), np.array([0, 4]))
    with pytest.raises(Refusal, match=r"BorderConvexity\(1\) refuses Sets: paths need neighbors"):
        BorderConvexity().bind(sets)
    for wrong, words in (
        (lambda: BorderConvexity(0.0), "alpha must be"),
        (lambda: BorderConvexity(paths=[[1.5]]), "paths must be arrays of whole numbers"),
        (lambda: BorderConvexity(paths=[[0]]).bind(sets), "without a known label"),
        (lambda: BorderConvexity(paths=[[9]]).bind(sets), "without a known label"),
        (lambda: BoundLoss(sets, (Precedence(np.array([[0, 0]])),)), "pairs must be different decisions"),
        (lambda: BoundLoss(sets, (PathOrders(*map(np.array, ([1, 1], [0, 2], [0], [1.0]))),)), "different decisions"),
    ):
        with pytest.raises(ValueError, match=words):
            wrong()
    with pytest.raises(Refusal, match="OneWayCut refuses Hamming"):
        OneWayCut().prepare(Hamming().bind(sets))
    order = BoundLoss(sets, (Precedence(np.array([[0, 1]])),), "an order")
    with pytest.raises(Refusal, match="OneWayCut refuses slack rescaling"):
        OneWayCut().prepare(order, slack=True)
    graphs = Graphs(sets.labels, sets.offsets, np.array([[0, 1]]))
    prepared = OneWayCut().prepare(BoundLoss(graphs, order.terms, "an order"))
    with pytest.raises(ValueError, match="OneWayCut needs nonnegative scores of edges"):
        prepared.maximize(-np.ones(5))
