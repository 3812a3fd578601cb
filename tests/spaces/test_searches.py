"""The worst single label, the best labels and those above a threshold equal enumeration, for every kind of label."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernels.score_lists import KINDS as SCORES
from rounds import rounds
from setwise.core.bound_loss import BoundLoss
from setwise.core.exceptions import Refusal
from setwise.core.networks import ClassGraphs, Graphs
from setwise.inference import Auto, MaxFlow, TreeMaxProduct, TreeReweightedMessages
from setwise.losses import EqualCosts, GivenCosts, Hamming, MaxLoss, NearestHammingCosts
from setwise.spaces import ByMatchings, ByNetworks, BySequences
from setwise.spaces.matchings import Assignments
from setwise.spaces.network_labelings import Labelings
from setwise.spaces.sequences import Sequences
from spaces.batches import KINDS, objectives, own, slip_of, some_batch, some_scores

METHODS = {
    "sequences": BySequences,
    "matchings": ByMatchings,
    "networks": lambda limit=1000: ByNetworks(TreeMaxProduct(), limit),
    "classes": lambda limit=1000: ByNetworks(TreeMaxProduct(), limit),
}


def every_cost(rng):
    table = rng.random(5) * (rng.random(5) < 0.6)
    return [
        None,
        EqualCosts(),
        EqualCosts(0.3),
        NearestHammingCosts(),
        NearestHammingCosts(missed=0.0),
        NearestHammingCosts(missed=2.5, factor=3.0),
        GivenCosts(lambda truths, label: table[(7 * len(truths) + int(label.sum())) % 5]),
        GivenCosts(lambda truths, label: 0.0, most=0.0),
    ]


def check(batch, every, scores, costs, slack, found):
    """The certificates of the answers, by enumeration; returns how many are exact."""
    for i, labels in enumerate(every):
        values = np.append(objectives(batch, i, scores, labels, costs, slack), 0.0)
        slip = slip_of(batch, i, scores, costs, values)
        one = found.labels[batch.offsets[i] : batch.offsets[i + 1]]
        own_value = 0.0
        if one.any():
            own_value = objectives(batch, i, scores, one[None] - 1, costs, slack)[0]
        assert found.values[i] == pytest.approx(own_value, rel=0, abs=slip)
        assert found.values[i] <= values.max() + slip
        assert found.bounds[i] >= values.max() - slip
        if found.exact[i]:
            assert found.values[i] == pytest.approx(values.max(), rel=0, abs=slip)
            assert found.values[i] <= found.bounds[i] <= found.values[i] + slip
    return int(found.exact.sum())


@pytest.mark.draw(8)
@pytest.mark.parametrize("slack", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_worst_label_is_that_of_enumeration(kind, slack):
    rng = np.random.default_rng(0)
    for _ in range(rounds(12, 3)):
        batch, every = some_batch(rng, kind)
        for costs in every_cost(rng):
            bound_loss = BoundLoss(batch, () if costs is None else (costs,))
            maximizer = METHODS[kind]().prepare(bound_loss, slack)
            scores = some_scores(rng, batch, str(rng.choice(SCORES)))
            found = maximizer.maximize(scores)
            # The lists of so few labels end before the limit.
            assert check(batch, every, scores, costs, slack, found) == len(batch), (costs, batch.truths)


@pytest.mark.slow
@pytest.mark.draw(8)
@pytest.mark.parametrize("slack", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_searches_that_end_early_have_bounds(kind, slack):
    rng = np.random.default_rng(1)
    open_ones = 0
    for _ in range(rounds(15, 4)):
        batch, every = some_batch(rng, kind, most=4)
        for costs in every_cost(rng)[3:7]:
            maximizer = METHODS[kind](limit=1).prepare(BoundLoss(batch, (costs,)), slack)
            scores = some_scores(rng, batch, "normal")
            exact = check(batch, every, scores, costs, slack, maximizer.maximize(scores))
            open_ones += len(batch) - exact
            found = maximizer.maximize(scores, 0.5)
            check(batch, every, scores, costs, slack, found)
    assert open_ones


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.sampled_from(SCORES), st.booleans(), st.integers(1, 9))
def test_certificates_hold_whatever_the_limit(seed, kind, draw, slack, limit):
    rng = np.random.default_rng(seed)
    batch, every = some_batch(rng, kind, n=1)
    costs = every_cost(rng)[int(rng.integers(8))]
    scores = some_scores(rng, batch, draw)
    bound_loss = BoundLoss(batch, () if costs is None else (costs,))
    tol = float(rng.choice([0.0, 0.3]))
    check(batch, every, scores, costs, slack, METHODS[kind](limit).prepare(bound_loss, slack).maximize(scores, tol))


@pytest.mark.parametrize("kind", KINDS)
def test_equal_costs_need_no_more_than_one_label_that_is_not_right(kind):
    rng = np.random.default_rng(2)
    for slack in (False, True):
        for _ in range(10):
            batch, every = some_batch(rng, kind, right=6)
            scores = some_scores(rng, batch, str(rng.choice(["normal", "ties", "zero"])))
            maximizer = METHODS[kind](limit=1).prepare(BoundLoss(batch, (EqualCosts(2.0),)), slack)
            assert check(batch, every, scores, EqualCosts(2.0), slack, maximizer.maximize(scores)) == len(batch)


def test_hamming_costs_to_one_right_labeling_need_no_list():
    rng = np.random.default_rng(3)
    for slack in (False, True):
        for kind in ("sequences", "matchings"):
            if slack and kind == "matchings":
                continue
            for _ in range(30):
                batch, every = some_batch(rng, kind, right=1)
                scores = some_scores(rng, batch, str(rng.choice(SCORES)))
                maximizer = METHODS[kind](limit=1).prepare(BoundLoss(batch, (NearestHammingCosts(),)), slack)
                assert check(batch, every, scores, NearestHammingCosts(), slack, maximizer.maximize(scores)) == len(
                    batch
                )


@pytest.mark.draw(6)
@pytest.mark.parametrize("slack", [False, True])
@pytest.mark.parametrize("kind", ["sequences", "matchings", "networks"])
def test_weighted_distances_settle_hamming_costs_to_several_right_labels(kind, slack):
    rng, settled, plain = np.random.default_rng(10), 0, 0
    costs = NearestHammingCosts(missed=0.5)
    for _ in range(8):
        batch, every = large_batch(rng, kind)
        truths, labels = batch.truths[0], every[0]
        scores = 0.1 * rng.standard_normal(batch.n_scores)
        # The first right label is just predicted, as late in training.
        scores[-1] += 1.0 - batch.label_scores(0, scores, truths[:1])[0]
        maximizer = METHODS[kind](limit=25).prepare(BoundLoss(batch, (costs,)), slack)
        settled += check(batch, [labels], scores, costs, slack, maximizer.maximize(scores))
        same = GivenCosts(lambda truths, label, batch=batch: costs.of(batch, 0, label[None])[0])
        listed = METHODS[kind](limit=25).prepare(BoundLoss(batch, (same,)), slack)
        plain += check(batch, [labels], scores, same, slack, listed.maximize(scores))
    # Of two labels a node, the mean of three distances is often far above the least one.
    assert settled >= (6 if kind == "networks" else 8)
    assert plain < settled


def large_batch(rng, kind):
    """An input with three right labels among hundreds."""
    if kind == "matchings":
        every = np.array(list(permutations(range(6))))
        return Assignments([[6, 6]], [every[rng.permutation(len(every))[:3]]]), [every]
    k, T = (2, 8) if kind == "networks" else (3, 6)
    every = np.array(list(product(range(k), repeat=T)))
    truths = [every[rng.permutation(len(every))[:3]]]
    if kind == "sequences":
        return Sequences([T], k, truths), [every]
    edges = np.column_stack([np.arange(T - 1), np.arange(1, T)])
    return Labelings(Graphs(np.zeros(T, bool), np.array([0, T]), edges), truths), [every]


@pytest.mark.draw(2)
@pytest.mark.parametrize("costs", [NearestHammingCosts(), GivenCosts(lambda truths, label: 0.5)])
def test_long_sequences_have_bounds_that_are_above_all_labelings_tried(costs):
    rng = np.random.default_rng(4)
    T, k = 30, 4
    truths = [rng.integers(k, size=(3, T))]
    batch, scores = Sequences([T], k, truths), rng.standard_normal(T * k + k * k + 1)
    for slack in (False, True):
        found = BySequences(limit=50).prepare(BoundLoss(batch, (costs,)), slack).maximize(scores)
        tried = rng.integers(k, size=(2000, T))
        assert objectives(batch, 0, scores, tried, costs, slack).max() <= found.values[0] + 1e-9
        assert found.values[0] <= found.bounds[0]
        if slack and isinstance(costs, NearestHammingCosts):
            least = min(_by_one_truth(scores, T, k, truth) for truth in truths[0])
            assert found.bounds[0] <= least + 1e-9


def _by_one_truth(scores, T, k, truth):
    one = Sequences([T], k, [truth[None]])
    return BySequences().prepare(BoundLoss(one, (NearestHammingCosts(missed=0.0),)), True).maximize(scores).values[0]


@pytest.mark.draw(5)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("draw", SCORES)
def test_the_best_labels_and_those_above_a_threshold(kind, draw):
    rng = np.random.default_rng(5)
    for _ in range(rounds(6, 3)):
        batch, every = some_batch(rng, kind, right=0)
        scores = some_scores(rng, batch, draw)
        maximizer = METHODS[kind]().prepare(BoundLoss(batch))
        sums = [np.sort(objectives(batch, i, scores, rows, None, False))[::-1] for i, rows in enumerate(every)]
        slips = [slip_of(batch, i, scores, None, one) for i, one in enumerate(sums)]
        for k in (1, 5, 200):
            for i, found in enumerate(maximizer.k_best(scores, k)):
                assert len(found) == min(k, len(every[i]))
                assert len({tuple(one.labels) for one in found}) == len(found)
                np.testing.assert_allclose([one.value for one in found], sums[i][:k], rtol=0, atol=slips[i])
                f = batch.label_scores(i, own(batch, i, scores), np.array([one.labels for one in found]) - 1)
                np.testing.assert_allclose([one.value for one in found], f, rtol=0, atol=slips[i])
                assert all(one.exact and one.bound == one.value for one in found)
        threshold = float(np.median(sums[0])) + (0.0 if draw in ("ties", "zero") else slips[0])
        for i, found in enumerate(maximizer.above(scores, threshold)):
            assert len(found) == (sums[i] > threshold).sum()
        assert all(len(found) <= 2 for found in maximizer.above(scores, -np.inf, 2))


@pytest.mark.parametrize("kind", KINDS)
def test_auto_knows_every_kind_and_takes_sets_one_by_one(kind):
    rng = np.random.default_rng(6)
    batch, every = some_batch(rng, kind, n=5)
    scores = some_scores(rng, batch, "normal").astype(np.float32)
    bound_loss = 2.0 * MaxLoss(NearestHammingCosts()).bind(batch)
    maximizer = Auto().prepare(bound_loss, slack=True)
    together = maximizer.maximize(scores)
    check(batch, every, scores.astype(float), bound_loss.terms[0], True, together)
    for i in range(5):
        alone = maximizer.take(np.array([i])).maximize(own(batch, i, scores))
        assert alone.values[0] == pytest.approx(together.values[i])


@pytest.mark.parametrize("kind", KINDS)
def test_what_does_not_fit_is_refused_in_a_sentence(kind):
    rng = np.random.default_rng(7)
    batch, _ = some_batch(rng, kind, n=4, right=2)
    method = METHODS[kind]()
    costs = MaxLoss().bind(batch)
    with pytest.raises(Refusal, match="it takes one cost of single labels"):
        method.prepare(costs + MaxLoss(NearestHammingCosts()).bind(batch))
    with pytest.raises(Refusal, match="it takes"):
        method.prepare(Hamming().bind(Graphs(np.zeros(2, bool), np.array([0, 2]), np.zeros((0, 2), np.int64))))
    for bad in (np.full(batch.n_scores, np.nan), np.full(batch.n_scores, np.inf), np.zeros(3), None):
        with pytest.raises((TypeError, ValueError), match="scores must"):
            method.prepare(costs).maximize(bad)
    with pytest.raises(Refusal, match="they list labels by their scores"):
        method.prepare(costs).k_best(np.zeros(batch.n_scores), 2)
    with pytest.raises(Refusal, match="no label can be forced"):
        method.prepare(costs).best(np.zeros(batch.n_scores), np.full(batch.total, -1))
    with pytest.raises(ValueError, match="limit must be at least 1"):
        METHODS[kind](limit=0)


def test_networks_whose_best_labeling_is_only_bounded_are_refused():
    rng, edges = np.random.default_rng(8), np.array([[0, 1], [1, 2], [0, 2]])
    batch = Labelings(ClassGraphs(np.zeros(3, np.int64), np.array([0, 3]), edges, 3, True))
    method, refused = ByNetworks(TreeReweightedMessages(max_iter=1)), 0
    for _ in range(20):
        scores = rng.standard_normal(batch.n_scores)
        best = Auto().prepare(BoundLoss(batch)).k_best(scores, 1)[0][0].value
        try:
            assert method.prepare(BoundLoss(batch)).maximize(scores).values[0] == pytest.approx(max(best, 0.0))
        except Refusal as refusal:
            assert "bounds the best labeling" in str(refusal)
            refused += 1
    assert 0 < refused < 20


def test_networks_with_cycles_are_ranked_by_cuts():
    rng, every = np.random.default_rng(9), np.array(list(product(range(2), repeat=6)))
    edges = np.array([[0, 1], [1, 2], [3, 4], [4, 5], [0, 3], [1, 4], [2, 5]])
    networks = Graphs(np.zeros(6, bool), np.array([0, 6]), edges)
    method = ByNetworks(MaxFlow())
    for costs in (NearestHammingCosts(), GivenCosts(lambda truths, label: float(label.mean()))):
        batch = Labelings(networks, [every[rng.permutation(64)[:2]]])
        scores = np.concatenate([rng.standard_normal(6), rng.random(8)])
        for slack in (False, True):
            found = method.prepare(BoundLoss(batch, (costs,)), slack).maximize(scores)
            assert check(batch, [every], scores, costs, slack, found) == 1
    (found,) = method.prepare(BoundLoss(Labelings(networks))).k_best(scores, 64)
    sums = np.sort(batch.label_scores(0, scores, every))[::-1]
    np.testing.assert_allclose([one.value for one in found], sums, atol=1e-12)


def test_batches_refuse_what_is_no_label():
    with pytest.raises(ValueError, match=r"truths\[0\] must hold labels 0..1"):
        Sequences([2], 2, [np.array([[0, 2]])])
    with pytest.raises(ValueError, match="lengths must be whole numbers from 1 on"):
        Sequences([2, 0], 2)
    with pytest.raises(ValueError, match="k must be at least 1"):
        Sequences([2], 0)
    with pytest.raises(ValueError, match="truths must be a list of 1 arrays"):
        Sequences([2], 2, [(), ()])
    with pytest.raises(ValueError, match=r"shapes\[1\] must have .* a column for each of them; got 3 x 2. Swap"):
        Assignments(np.array([[1, 1], [3, 2]]))
    with pytest.raises(ValueError, match=r"shapes must be whole numbers of shape \(n, 2\)"):
        Assignments(np.array([1.0, 2.0]))
    with pytest.raises(ValueError, match=r"truths\[0\] must hold columns 0..2"):
        Assignments(np.array([[2, 3]]), [np.array([[0, 3]])])
    with pytest.raises(ValueError, match=r"truths\[0\] must give each row its own column"):
        Assignments(np.array([[2, 3]]), [np.array([[1, 1]])])
    networks = Graphs(np.zeros(2, bool), np.array([0, 2]), np.array([[0, 1]]))
    with pytest.raises(ValueError, match=r"truths\[0\] must hold labels 0..1"):
        Labelings(networks, [np.array([[0, -1]])])
    with pytest.raises(TypeError, match="networks must be of the kind Network"):
        Labelings(None)
