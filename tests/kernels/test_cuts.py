"""Minimum cuts are those of enumeration, cold and after any changes; the bound holds whatever the flow."""

from itertools import product

import numpy as np
import pytest

from setwise.kernels import max_flow
from setwise.kernels.cuts import cut, cut_bounds, cut_losses, cut_many, read_labels, recut
from setwise.kernels.max_flow import TIME, new_forest
from setwise.kernels.networks import arcs, begin, end, head, lattice, sister


class ArcNetwork:
    """A network with its capacities, a forest, and the value of labels by the definition."""

    def __init__(self, layout, n, ends, places, weights):
        self.layout, self.n, self.ends, self.weights = layout, n, ends, weights
        self.forest = new_forest(layout, n)
        self.capacities = np.zeros(len(self.forest.capacities))
        np.add.at(self.capacities, places, weights)

    @classmethod
    def listed(cls, n, ends, weights):
        layout, places = arcs(ends, n)
        return cls(layout, n, ends, places, weights)

    @classmethod
    def grid(cls, shape, neighbors, rng, draw):
        layout, n = lattice(shape, neighbors), int(np.prod(shape))
        at = np.arange(n).reshape(shape)
        ends, places = [], []
        for i in range(n):
            for k, shift in enumerate(layout.shifts[::2]):
                j, away = i + shift, None
                if j < n:
                    away = np.abs(np.array(np.unravel_index(j, shape)) - np.array(np.unravel_index(i, shape)))
                if away is not None and away.max() == 1:
                    ends.append((i, j))
                    first = (i + layout.pad) * len(layout.shifts) + 2 * k
                    places.append((first, (j + layout.pad) * len(layout.shifts) + 2 * k + 1))
        assert at.size == n
        ends, places = (np.array(pairs, int).reshape(-1, 2) for pairs in (ends, places))
        return cls(layout, n, ends, places, draw(rng, ends.shape))

    def cut(self, scores):
        cut(self.layout, self.forest, self.capacities, scores)
        return self

    def recut(self, scores, former):
        recut(self.layout, self.forest, self.capacities, scores, np.flatnonzero(scores != former))
        return self

    @property
    def labels(self):
        out = np.zeros(self.n, bool)
        read_labels(self.layout, self.forest, out)
        return out

    def values(self, scores, labels):
        """The value of each row of labels."""
        y = labels.astype(float)
        a, b = self.ends.T
        lost = y[:, a] * (1 - y[:, b]) * self.weights[:, 0] + y[:, b] * (1 - y[:, a]) * self.weights[:, 1]
        return y @ scores - lost.sum(axis=1)

    def bound(self, scores):
        found, whole = np.zeros(1), np.array([0, self.n])
        cut_bounds(self.layout, self.forest, self.capacities, scores, whole, found)
        return found[0]

    def check(self, scores):
        """The labels have the largest value of all, and the bound is above it by its rounding at most."""
        best = self.values(scores, every(self.n)).max()
        slip = 1e-12 * (1.0 + np.abs(scores).sum() + self.weights.sum())
        assert self.values(scores, self.labels[None])[0] >= best - slip
        assert best <= self.bound(scores) <= best + slip


def every(n):
    return np.array(list(product([False, True], repeat=n))).reshape(-1, n)


def reals(rng, shape):
    return rng.random(shape) * rng.choice([0.1, 1.0, 3.0])


def integers(rng, shape):
    return rng.integers(0, 3, shape).astype(float)


# Eight neighbors and volumes have kernels of their own.
larger_neighborhoods_too = pytest.mark.parametrize("larger", [False, pytest.param(True, marks=pytest.mark.slow)])


def some_network(rng, draw, larger):
    first = rng.random() < 0.4
    if larger:
        return ArcNetwork.grid((2, 4), 8, rng, draw) if first else ArcNetwork.grid((2, 2, 2), 6, rng, draw)
    if first:
        return ArcNetwork.grid((3, 3), 4, rng, draw)
    n = int(rng.integers(1, 9))
    ends = np.array([(i, j) for i in range(n) for j in range(n) if rng.random() < 0.3], int).reshape(-1, 2)
    return ArcNetwork.listed(n, ends, draw(rng, ends.shape))


@larger_neighborhoods_too
@pytest.mark.draw(2)
@pytest.mark.parametrize("draw", [reals, integers])
def test_cuts_are_those_of_enumeration_cold_and_warm(draw, larger):
    rng = np.random.default_rng(0)
    for _ in range(500):
        network = some_network(rng, draw, larger)
        size = rng.choice([1.0, 3.0])
        scores = np.round(size * rng.standard_normal(network.n)) if draw is integers else rng.standard_normal(network.n)
        network.cut(scores).check(scores)
        for share in (0.2, 0.2, 1.0):
            former = scores.copy()
            change = rng.random(network.n) < share
            scores[change] = np.round(size * rng.standard_normal(change.sum())) * rng.choice([0.0, 1.0, 1e6])
            network.recut(scores, former).check(scores)


@pytest.mark.draw(2)
@larger_neighborhoods_too
@pytest.mark.parametrize("draw", [reals, integers])
def test_what_a_forced_label_loses_is_that_of_enumeration(draw, larger):
    rng = np.random.default_rng(1)
    for _ in range(300):
        network = some_network(rng, draw, larger)
        scores = integers(rng, network.n) - 1.0 if draw is integers else rng.standard_normal(network.n)
        labels = network.cut(scores).labels
        found = np.zeros(network.n)
        cut_losses(network.layout, network.forest, network.capacities, scores, labels, found)
        rows = every(network.n)
        values = network.values(scores, rows)
        for i, label in enumerate(labels):
            assert found[i] == pytest.approx(values.max() - values[rows[:, i] != label].max(), abs=1e-9)
        network.check(scores)


@larger_neighborhoods_too
@pytest.mark.parametrize("warm", [False, True])
def test_many_cuts_are_cuts_one_by_one(warm, larger):
    rng = np.random.default_rng(2)
    for _ in range(50):
        network = some_network(rng, reals, larger)
        rows = rng.standard_normal((6, network.n))
        labels = np.zeros(rows.shape, bool)
        cut_many(network.layout, network.forest, network.capacities, rows, warm, labels)
        for scores, found in zip(rows, labels, strict=True):
            np.testing.assert_array_equal(found, network.cut(scores).labels)


@pytest.mark.slow
def test_nothing_drifts_in_ten_thousand_cuts_with_scores_to_a_million():
    rng = np.random.default_rng(3)
    network = ArcNetwork.grid((8, 8), 4, rng, reals)
    scores = rng.standard_normal(64)
    network.cut(scores)
    for k in range(10_000):
        former, at = scores.copy(), rng.integers(64, size=4)
        scores[at] = rng.standard_normal(4) * (1e6 if k % 7 == 0 else 1.0)
        network.recut(scores, former)
        if k % 500 == 0 or k == 9_999:
            warm = network.values(scores, network.labels[None])[0]
            fresh = ArcNetwork(network.layout, 64, network.ends, np.zeros((0, 2), int), np.zeros((0, 2)))
            fresh.capacities, fresh.weights = network.capacities, network.weights
            cold = network.values(scores, fresh.cut(scores).labels[None])[0]
            assert warm == pytest.approx(cold, abs=1e-9 * (1 + np.abs(scores).max() * 1e-6))
            assert cold <= network.bound(scores) + 1e-9
            assert network.bound(scores) <= cold + 1e-14 * np.abs(scores).sum() + 1e-9


@pytest.mark.parametrize("shape", [(3, 4), (20, 20)])
def test_time_begins_again_before_it_overflows(shape):
    rng = np.random.default_rng(4)
    network = ArcNetwork.grid(shape, 4, rng, reals)
    scores = rng.standard_normal(network.n)
    network.cut(scores)
    again = 0
    for k in range(60):
        # The times of nodes stay in order, as if so much had happened in between.
        elapsed = max_flow.LATEST - k % 3 - network.forest.clock[TIME]
        network.forest.clock[TIME] += elapsed
        network.forest.times[network.forest.times > 0] += elapsed
        former, changed = scores.copy(), rng.random(network.n) < (1.0 if k % 2 else 0.1)
        scores[changed] += rng.standard_normal(changed.sum())
        network.recut(scores, former)
        assert network.forest.clock[TIME] <= max_flow.LATEST
        again += network.forest.clock[TIME] < max_flow.LATEST - 100
        value = network.values(scores, network.labels[None])[0]
        assert value - 1e-9 <= network.bound(scores) <= value + 1e-9
    assert again >= 20


def test_the_layouts_of_a_lattice_have_the_same_neighbors():
    rng = np.random.default_rng(7)
    network = ArcNetwork.grid((3, 4), 8, rng, reals)
    lists, _ = arcs(network.ends, network.n)
    for i in range(network.n):
        found = []
        for layout, forest in ((network.layout, network.capacities), (lists, None)):
            at = i + layout.pad
            heads = [(arc, int(head(layout, at, arc))) for arc in range(begin(layout, at), end(layout, at))]
            for arc, j in heads:
                back = sister(layout, arc, at, j)
                assert head(layout, j, back) == at
                assert sister(layout, back, j, at) == arc
            # Arcs of the lattice that leave it have no capacity.
            found.append(sorted(j - layout.pad for arc, j in heads if forest is None or forest[arc] > 0))
        assert found[0] == found[1]


def test_networks_without_edges_nodes_or_scores():
    for n in (1, 5):
        network = ArcNetwork.listed(n, np.zeros((0, 2), int), np.zeros((0, 2)))
        scores = np.linspace(-1.0, 1.0, n)
        np.testing.assert_array_equal(network.cut(scores).labels, scores > 0)
        assert not network.cut(np.zeros(n)).labels.any()
    assert ArcNetwork.listed(0, np.zeros((0, 2), int), np.zeros((0, 2))).cut(np.zeros(0)).labels.shape == (0,)
    with pytest.raises(ValueError, match="a network has other nodes than scores"):
        ArcNetwork.listed(2, np.array([[0, 1]]), np.ones((1, 2))).cut(np.zeros(3))
    with pytest.raises(IndexError, match=r"the ends of edges must be in 0\.\.2; got 0 to 3"):
        arcs(np.array([[0, 3]]), 3)


@pytest.mark.parametrize(
    ("shape", "neighbors"),
    [((60, 70), 4), *(pytest.param(*kind, marks=pytest.mark.slow) for kind in (((40, 50), 8), ((12, 13, 14), 6)))],
)
def test_large_cuts_have_the_bound_as_their_value(shape, neighbors):
    rng = np.random.default_rng(5)
    network = ArcNetwork.grid(shape, neighbors, rng, reals)
    scores = 2.0 * rng.standard_normal(network.n)
    network.cut(scores)
    for share in (0.01, 1.0):
        former = scores.copy()
        change = rng.random(network.n) < share
        scores[change] += 0.3 * rng.standard_normal(change.sum())
        network.recut(scores, former)
        value = network.values(scores, network.labels[None])[0]
        assert value - 1e-9 <= network.bound(scores) <= value + 1e-9
    as_list = ArcNetwork.listed(network.n, network.ends, network.weights).cut(scores)
    assert as_list.values(scores, as_list.labels[None])[0] == pytest.approx(value)


def test_large_cuts_are_those_of_pymaxflow():
    maxflow = pytest.importorskip("maxflow")
    rng = np.random.default_rng(6)
    for shape, neighbors in (((80, 90), 4), ((50, 60), 8), ((15, 16, 17), 6)):
        network = ArcNetwork.grid(shape, neighbors, rng, reals)
        scores = rng.standard_normal(network.n)
        peer = maxflow.GraphFloat(network.n, len(network.ends))
        peer.add_nodes(network.n)
        for (a, b), (there, back) in zip(network.ends, network.weights, strict=True):
            peer.add_edge(a, b, there, back)
        for i, score in enumerate(scores):
            peer.add_tedge(i, max(score, 0.0), max(-score, 0.0))
        best = np.maximum(scores, 0.0).sum() - peer.maxflow()
        assert network.cut(scores).values(scores, network.labels[None])[0] == pytest.approx(best)
