"""The bias at which each node turns, against all labelings and against cuts at single biases."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from setwise.core.bound_loss import BoundLoss
from setwise.core.networks import Graphs
from setwise.inference import MaxFlow
from setwise.inference.cuts import flips, nested
from setwise.kernels.threads import thread_limit


def networks(seed, p=7, whole=False):
    rng = np.random.default_rng(seed)
    pairs = np.array([(a, b) for a in range(p) for b in range(a + 1, p)])
    edges = np.vstack([pairs[rng.random(len(pairs)) < 0.4] + start for start in (0, p)])
    graphs = Graphs(rng.random(2 * p) < 0.5, np.array([0, p, 2 * p]), edges)
    draw = (lambda n: rng.integers(-3, 4, n).astype(float)) if whole else rng.standard_normal
    scores = np.empty(graphs.n_scores)
    scores[graphs.node_places], scores[graphs.edge_places] = draw(2 * p), np.abs(draw(len(edges)))
    return graphs, scores


def with_bias(graphs, scores, bias):
    moved = scores.copy()
    moved[graphs.node_places] += bias
    return moved


@pytest.mark.parametrize("whole", [False, True])
def test_nodes_turn_where_the_best_of_all_labelings_changes(whole):
    for seed in range(10):
        graphs, scores = networks(seed, 5, whole)
        t = flips(graphs, scores)
        ends = np.unique(t)
        between = np.concatenate([[ends[0] - 1], (ends[:-1] + ends[1:]) / 2, [ends[-1] + 1]])
        rows = np.array(list(product([False, True], repeat=5)))
        for bias in np.concatenate([between, ends]):
            moved = with_bias(graphs, scores, bias)
            for i in range(2):
                one, s = graphs.take(np.array([i])), moved[graphs.score_offsets[i] : graphs.score_offsets[i + 1]]
                values = np.array([one.encode(row) @ s for row in rows])
                best = np.flatnonzero(values >= values.max() - 1e-9)
                # Of the best labelings that with the fewest positives counts.
                fewest = rows[best[rows[best].sum(axis=1).argmin()]]
                turned = t[graphs.offsets[i] : graphs.offsets[i + 1]]
                np.testing.assert_array_equal(turned < bias - 1e-9, fewest)


def test_cuts_at_single_biases_are_nested_and_agree():
    rng = np.random.default_rng(1)
    side = 12
    at = np.arange(side * side).reshape(side, side)
    one = np.vstack(
        [np.column_stack([at[:, :-1].ravel(), at[:, 1:].ravel()]), np.column_stack([at[:-1].ravel(), at[1:].ravel()])]
    )
    graphs = Graphs(np.zeros(2 * side**2, dtype=bool), np.array([0, 1, 2]) * side**2, np.vstack([one, one + side**2]))
    scores = np.abs(rng.standard_normal(graphs.n_scores))
    scores[graphs.node_places] = 2 * rng.standard_normal(graphs.total)
    t, cut = flips(graphs, scores), MaxFlow().prepare(BoundLoss(graphs))
    before = np.zeros(graphs.total, dtype=bool)
    for bias in np.quantile(t, np.linspace(0.01, 0.99, 23)) + 1e-6:
        found = cut.maximize(with_bias(graphs, scores, bias)).labels
        assert (found >= before).all()
        np.testing.assert_array_equal(found, t < bias)
        before = found


def turned_exactly(scores, edges, weights):
    """The biases by enumeration in fractions: at the mean of a part the best labeling parts it, or it is trivial."""
    out = [None] * len(scores)
    parts = [(list(range(len(scores))), [Fraction(s) for s in scores])]
    weights = [Fraction(w) for w in weights]
    while parts:
        nodes, own = parts.pop()
        bias = -sum(own) / len(nodes)
        inside = [
            (nodes.index(a), nodes.index(b), w) for (a, b), w in zip(edges, weights, strict=True) if {a, b} <= {*nodes}
        ]
        best, chosen = Fraction(0), (0,) * len(nodes)
        for row in product((0, 1), repeat=len(nodes)):
            value = sum((s + bias for s, y in zip(own, row, strict=True) if y), Fraction(0))
            value -= sum((w for a, b, w in inside if row[a] != row[b]), Fraction(0))
            if value > best:
                best, chosen = value, row
        if best == 0:
            for i in nodes:
                out[i] = bias
            continue
        for a, b, w in inside:
            if chosen[a] != chosen[b]:
                own[a] += -w if chosen[a] else w
                own[b] += -w if chosen[b] else w
        for side in (0, 1):
            kept = [k for k, y in enumerate(chosen) if y == side]
            parts.append(([nodes[k] for k in kept], [own[k] for k in kept]))
    return np.array([float(b) for b in out])


def nasty(kind, rng, nodes, edges):
    """Scores of nodes and weights of edges that are hard for sums of floats."""
    if kind == "ties":
        return rng.integers(-2, 3, nodes) / 3.0, rng.integers(0, 3, edges) / 3.0
    if kind == "huge":
        return rng.standard_normal(nodes) * 10.0 ** rng.integers(-3, 13, nodes), 10.0 ** rng.integers(-3, 13, edges)
    if kind == "no edges":
        return rng.standard_normal(nodes), np.zeros(edges)
    if kind == "no scores":
        return np.zeros(nodes), rng.random(edges)
    return rng.standard_normal(nodes), np.abs(rng.standard_normal(edges)) * (rng.random(edges) < 0.7)


@pytest.mark.draw(3)
@pytest.mark.parametrize("grids", [False, True])
@pytest.mark.parametrize("kind", ["normal", "ties", "huge", "no edges", "no scores"])
def test_biases_and_the_flow_against_fractions(kind, grids):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        if grids:
            graphs = Graphs.images([rng.random((2, 4)) < 0.5, rng.random((3, 2)) < 0.5, rng.random((1, 1)) < 0.5])
        else:
            graphs, _ = networks(seed)
        unary, weights = nasty(kind, rng, graphs.total, len(graphs.edges))
        scores = np.empty(graphs.n_scores)
        scores[graphs.node_places], scores[graphs.edge_places] = unary, weights
        found = nested(graphs, scores)
        size = max(np.abs(unary).max(), weights.max(initial=0.0))
        np.testing.assert_allclose(found.point, found.turned, rtol=1e-13, atol=1e-13 * size)
        for i in range(len(graphs)):
            own = slice(graphs.offsets[i], graphs.offsets[i + 1])
            inside = (graphs.edges[:, 0] >= own.start) & (graphs.edges[:, 0] < own.stop)
            ends = graphs.edges[inside] - own.start
            exact = turned_exactly(unary[own], ends.tolist(), weights[inside])
            np.testing.assert_allclose(found.turned[own], exact, rtol=1e-13, atol=1e-14 * size)
            # The point lies in the base polytope of the cut less the scores.
            rows = np.array(list(product([0.0, 1.0], repeat=len(exact))))
            cuts = np.abs(rows[:, ends[:, 0]] - rows[:, ends[:, 1]]) @ weights[inside]
            above = rows @ (found.point[own] + unary[own]) - cuts
            assert above.max() <= 1e-14 * size * len(exact)
            assert abs(above[-1]) <= 1e-14 * size * len(exact)


def test_blocks_of_networks_are_apart_and_threads_change_nothing():
    rng = np.random.default_rng(0)
    graphs = Graphs.images(rng.random((5, 90, 90)) < 0.5)
    scores = np.abs(rng.standard_normal(graphs.n_scores))
    scores[graphs.node_places] = rng.standard_normal(graphs.total)
    t = flips(graphs, scores)
    with thread_limit(2):
        np.testing.assert_array_equal(flips(graphs, scores), t)
    for i in (0, 4):
        own = scores[graphs.score_offsets[i] : graphs.score_offsets[i + 1]]
        np.testing.assert_allclose(flips(graphs.take(np.array([i])), own), t[8100 * i : 8100 * (i + 1)], atol=1e-12)


def test_without_edges_each_node_turns_at_its_score():
    graphs = Graphs(np.zeros(4, dtype=bool), np.array([0, 1, 4]), np.zeros((0, 2), dtype=np.int64))
    scores = np.array([1.0, -2.0, 0.0, 5.0])
    np.testing.assert_allclose(flips(graphs, scores), -scores)


def test_strong_edges_turn_a_whole_graph_at_its_mean_score():
    graphs, scores = networks(0)
    scores[graphs.edge_places] = 1e3
    graphs = Graphs(graphs.labels, graphs.offsets, np.array([[i, i + 1] for i in (*range(6), *range(7, 13))]))
    s = np.full(graphs.n_scores, 1e3)
    s[graphs.node_places] = nodes = np.random.default_rng(0).standard_normal(14)
    np.testing.assert_allclose(flips(graphs, s), -np.repeat(nodes.reshape(2, 7).mean(axis=1), 7), atol=1e-9)


def test_malformed_arguments_are_refused():
    graphs, scores = networks(0)
    with pytest.raises(TypeError, match="graphs must be of the kind Graphs"):
        flips(None, scores)
    with pytest.raises(ValueError, match="scores must have shape"):
        flips(graphs, scores[:-1])
    with pytest.raises(ValueError, match="nonnegative scores of edges"):
        flips(graphs, -1 - np.abs(scores))
