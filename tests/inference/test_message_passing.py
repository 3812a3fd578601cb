"""Messages on networks: exact on trees, certified elsewhere, and the bound of TRW-S never rises."""

from itertools import combinations

import numpy as np
import pytest

from inference.networks import KINDS, chain, grid, labelings, network, scores, slip, some, tree
from setwise.core import enumerate as brute
from setwise.core.batch import Classes
from setwise.core.bound_loss import BoundLoss
from setwise.core.exceptions import Refusal
from setwise.core.networks import ClassGraphs, Graphs
from setwise.inference import Auto, BeliefPropagation, Enumeration, MaxFlow, TreeMaxProduct, TreeReweightedMessages
from setwise.losses import Hamming, Jaccard, MeanOverClasses, ZeroOne
from setwise.surrogates import MarginRescaling

SEARCHES = [TreeReweightedMessages(), BeliefPropagation()]


def solved(method, bound_loss, s):
    """What a method finds, certified against all labelings, and the best value of them."""
    values = brute.objectives(bound_loss, s, labelings(bound_loss.batch))
    found, best, error = method.prepare(bound_loss).maximize(s), values.max(), slip(s)
    own = brute.objectives(bound_loss, s, found.labels[None])[0]
    assert found.values[0] == pytest.approx(own, abs=error)
    assert found.values[0] <= best + error
    assert best <= found.bounds[0] + error
    assert np.isfinite(found.bounds).all()
    assert not found.exact[0] or found.values[0] >= best - error
    return found, best


@pytest.mark.draw(2)
@pytest.mark.parametrize("method", [TreeMaxProduct(), *SEARCHES, Enumeration(), Auto()], ids=repr)
@pytest.mark.parametrize("shape", ["tree", "chain"])
def test_on_trees_all_reach_the_optimum(method, shape):
    rng = np.random.default_rng(0)
    for t in range(60):
        batch = network(rng, shape)
        s = scores(rng, batch, KINDS[t % 6])
        bound_loss = Hamming().bind(batch) if t % 3 else BoundLoss(batch)
        found, best = solved(method, bound_loss, s)
        assert found.values[0] == pytest.approx(best, abs=slip(s))
        assert found.bounds[0] == pytest.approx(best, abs=1e-6 * slip(s) / 1e-11)


@pytest.mark.draw(2)
@pytest.mark.parametrize("method", [*SEARCHES, Enumeration(), Auto()], ids=repr)
@pytest.mark.parametrize("shape", ["grid", "some"])
def test_value_best_and_bound_with_cycles(method, shape):
    rng = np.random.default_rng(1)
    right = []
    for t in range(40):
        batch = network(rng, shape)
        kind = "attracting" if isinstance(batch, Graphs) else KINDS[t % 6]
        s = scores(rng, batch, kind)
        found, best = solved(method, Hamming().bind(batch), s)
        right.append(found.values[0] >= best - slip(s))
    assert np.mean(right) >= (0.95 if method in SEARCHES else 1.0)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("tables", [False, True])
def test_the_bound_of_reweighted_trees_never_rises(k, tables):
    rng, fallen = np.random.default_rng(2), 0
    for _ in range(5):
        batch = ClassGraphs(rng.integers(0, k, 30), np.array([0, 30]), grid(5, 6), k, tables)
        s = scores(rng, batch, "reals")
        bound_loss = Hamming().bind(batch)
        bounds = [TreeReweightedMessages(t).prepare(bound_loss).maximize(s).bounds[0] for t in range(1, 10)]
        assert (np.diff(bounds) <= slip(s)).all()
        fallen += bounds[-1] < bounds[0]
    assert fallen >= 3


def test_two_attracting_labels_are_a_cut():
    rng = np.random.default_rng(3)
    for _ in range(5):
        batch = Graphs(rng.random(100) < 0.5, np.array([0, 100]), grid(10, 10))
        s = scores(rng, batch, "attracting")
        bound_loss = Hamming().bind(batch)
        cut, found = (one.prepare(bound_loss).maximize(s) for one in (MaxFlow(), TreeReweightedMessages(2000)))
        # The bound of two labels is that of the cut, as no bound by chains can be below.
        assert found.values[0] <= cut.values[0] + slip(s)
        assert cut.values[0] <= found.bounds[0] + slip(s)
        assert found.bounds[0] == pytest.approx(cut.values[0], rel=1e-3)


def test_max_marginals_of_trees_equal_enumeration():
    rng = np.random.default_rng(4)
    for t in range(40):
        batch = network(rng, "tree")
        s, bound_loss = scores(rng, batch, KINDS[t % 6]), Hamming().bind(batch)
        rows = labelings(batch)
        values = brute.objectives(bound_loss, s, rows)
        expected = [[values[rows[:, i] == v].max() for v in range(batch.n_labels)] for i in range(batch.total)]
        for method in (TreeMaxProduct(), Enumeration()) if t < 6 else (TreeMaxProduct(),):
            np.testing.assert_allclose(
                method.prepare(bound_loss).max_marginals(s, 2.5), np.add(expected, 2.5), atol=slip(s)
            )


@pytest.mark.parametrize("method", [TreeMaxProduct(), *SEARCHES], ids=repr)
def test_labels_of_least_loss_complete_the_known_ones(method):
    rng = np.random.default_rng(5)
    for t in range(20):
        batch = network(rng, "tree")
        s, bound_loss = scores(rng, batch, KINDS[t % 6]), Hamming().bind(batch).zero()
        found = method.prepare(bound_loss).maximize(s)
        values = brute.objectives(bound_loss, s, labelings(batch))
        assert found.values[0] == pytest.approx(values.max(), abs=slip(s))
        known = batch.labels >= 0
        np.testing.assert_array_equal(found.labels[known], batch.labels[known])
        if isinstance(method, TreeMaxProduct):
            marginals = method.prepare(bound_loss).max_marginals(s)
            other = known[:, None] & (batch.labels[:, None] != np.arange(batch.n_labels))
            np.testing.assert_array_equal(marginals == -np.inf, other)


def several(rng, tables=True):
    """Three sets, the second a single node without edges."""
    edges = np.vstack([grid(2, 3), 7 + some(rng, 5)])
    return ClassGraphs(rng.integers(0, 3, 12), np.array([0, 6, 7, 12]), edges, 3, tables)


@pytest.mark.parametrize("method", [*SEARCHES, Enumeration(), Auto()], ids=repr)
def test_several_sets_are_their_sets_one_by_one(method):
    rng = np.random.default_rng(6)
    batch = several(rng)
    s, bound_loss = scores(rng, batch, "reals"), Hamming().bind(batch)
    found = method.prepare(bound_loss).maximize(s)
    for i in range(3):
        alone = method.prepare(bound_loss.take(np.array([i]))).maximize(s[slice(*batch.score_offsets[i : i + 2])])
        np.testing.assert_array_equal(alone.labels, found.labels[slice(*batch.offsets[i : i + 2])])
        assert alone.bounds[0] == pytest.approx(found.bounds[i])


@pytest.mark.parametrize("method", [TreeReweightedMessages(2), BeliefPropagation(2)], ids=repr)
def test_messages_are_kept_and_shared_with_parts(method):
    rng = np.random.default_rng(7)
    batch = several(rng, tables=False)
    s, bound_loss = scores(rng, batch, "reals"), Hamming().bind(batch)
    whole = method.prepare(bound_loss)
    part, span = np.array([2, 0]), np.concatenate([np.arange(*batch.score_offsets[i : i + 2]) for i in (2, 0)])
    for _ in range(20):
        last = whole.take(part).maximize(s[span])
    again, cold = whole.maximize(s), method.prepare(bound_loss).maximize(s)
    assert (again.values[[2, 0]] >= last.values - slip(s)).all()
    assert (again.values >= cold.values - slip(s)).all()
    if isinstance(method, TreeReweightedMessages):
        assert (again.bounds[[2, 0]] <= last.bounds + slip(s)).all()


def test_a_tolerance_ends_the_search_early():
    rng = np.random.default_rng(8)
    batch = ClassGraphs(rng.integers(0, 3, 400), np.array([0, 400]), grid(20, 20), 3)
    s, bound_loss = scores(rng, batch, "attracting"), Hamming().bind(batch)
    rough, fine = (TreeReweightedMessages().prepare(bound_loss).maximize(s, tol) for tol in (50.0, 0.0))
    assert rough.bounds[0] - rough.values[0] <= 50.0
    assert fine.bounds[0] <= rough.bounds[0]


def test_slack_rescaling_on_networks_by_enumeration():
    rng = np.random.default_rng(9)
    for _ in range(20):
        batch = several(rng).take(np.array([2]))
        s = 0.3 * scores(rng, batch, "reals")
        bound_loss = MeanOverClasses(Jaccard()).bind(batch)
        found = Auto().prepare(bound_loss, slack=True).maximize(s)
        values = brute.objectives(bound_loss, s, labelings(batch), slack=True)
        assert found.values[0] == pytest.approx(values.max(), abs=slip(s))


def test_auto_takes_the_first_that_fits():
    rng = np.random.default_rng(10)
    labels, ends = rng.integers(0, 3, 50), np.array([0, 50])
    loop = np.vstack([chain(50), [[49, 0]]])
    for edges, loss, method in (
        (tree(rng, 50), Hamming(), TreeMaxProduct()),
        (loop, Hamming(), TreeReweightedMessages()),
        (loop[[0, 49]] % 5, ZeroOne(), Enumeration(12)),
    ):
        p = 5 if isinstance(method, Enumeration) else 50
        batch = ClassGraphs(labels[:p], np.minimum(ends, p), edges, 3)
        assert Auto().choice(loss.bind(batch)) == method
    surrogate = MarginRescaling(Hamming()).on(ClassGraphs(labels, ends, loop, 3))
    assert surrogate(np.zeros(surrogate.batch.n_scores)).values[0] == 50.0


def test_what_does_not_fit_is_refused():
    loop = ClassGraphs(np.zeros(3, np.int64), np.array([0, 3]), np.array([[0, 1], [1, 2], [2, 0]]), 3)
    large = ClassGraphs(np.zeros(13, np.int64), np.array([0, 13]), chain(13), 3)
    for method in (TreeMaxProduct(), *SEARCHES):
        name = type(method).__name__
        with pytest.raises(Refusal, match=f"{name} refuses slack rescaling: the product is not a sum"):
            method.prepare(Hamming().bind(large), slack=True)
        with pytest.raises(Refusal, match=rf"{name} refuses ZeroOne\(\): the loss is not a sum of one cost"):
            method.prepare(ZeroOne().bind(large))
        with pytest.raises(Refusal, match=f"{name} refuses Classes: it takes Graphs and ClassGraphs"):
            method.prepare(Hamming().bind(Classes.single([0, 1], 2)))
    with pytest.raises(Refusal, match="TreeMaxProduct refuses graphs with a cycle. Use TreeReweightedMessages"):
        TreeMaxProduct().prepare(Hamming().bind(loop))
    with pytest.raises(Refusal, match=r"Enumeration refuses a set of 13 decisions: 3\^13 labelings are too many"):
        Enumeration().prepare(Hamming().bind(large))
    every = np.array(list(combinations(range(5), 2)))
    frustrated = ClassGraphs(np.zeros(5, np.int64), np.array([0, 5]), every, 2)
    with pytest.raises(Refusal, match="max_marginals refuses .*: its maximum is only bounded here"):
        TreeReweightedMessages().prepare(BoundLoss(frustrated)).max_marginals(np.append(np.zeros(10), -np.ones(10)))
    with pytest.raises(ValueError, match="max_iter must be"):
        TreeReweightedMessages(0)
    with pytest.raises(ValueError, match="damping must be"):
        BeliefPropagation(damping=1.0)
