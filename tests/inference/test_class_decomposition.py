"""Losses of single classes on networks: between the best labeling and its bound, which is often met."""

import numpy as np
import pytest
from scipy.optimize import linprog

from inference.networks import chain, grid, scores, slip
from setwise.core import enumerate as brute
from setwise.core.batch import Classes
from setwise.core.bound_loss import BoundLoss
from setwise.core.exceptions import Refusal
from setwise.core.networks import ClassGraphs
from setwise.inference import Auto, ByClass, ClassDecomposition, Enumeration, TreeMaxProduct
from setwise.kernels.threads import thread_limit
from setwise.losses import AreaWeightedLoss, FBeta, Hamming, Jaccard, MeanOverClasses, OneClass, ZeroOne

LOSSES = [
    MeanOverClasses(Jaccard()),
    MeanOverClasses(FBeta()) + 0.1 * Hamming(),
    OneClass(Jaccard(), 1),
    OneClass(FBeta(), 0) + OneClass(Jaccard(), 1),
    ZeroOne(),
    MeanOverClasses(AreaWeightedLoss(Jaccard(), (1.0, 2.0, 0.5, 3.0, 1.0, 0.25))),
]


def problems(rng, count, unknown=False):
    for t in range(count):
        k, edges = (2, 3)[t % 2], (chain(6), grid(2, 3))[t // 2 % 2]
        y = rng.integers(-1 if unknown else 0, k, 6)
        batch = ClassGraphs(y, np.array([0, 6]), edges, k, tables=bool(t // 4 % 2))
        s = 0.1 * scores(rng, batch, ("reals", "attracting", "ties", "reals", "huge", "zeros")[t % 6])
        # Scores that tell the truth now and then make the loss and the network disagree.
        yield batch, s + (0.2 * batch.target if t % 5 == 0 else 0.0)


@pytest.mark.draw(6)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("unknown", [False, True])
def test_value_best_and_bound(loss, unknown):
    rng = np.random.default_rng(0)
    right = met = cases = 0
    for batch, s in problems(rng, 16, unknown):
        bound_loss = loss.bind(batch)
        if ClassDecomposition(Auto()).refuses(bound_loss):
            assert unknown
            continue
        found = ClassDecomposition(Auto()).prepare(bound_loss).maximize(s)
        rows = brute.labelings(6, batch.k)
        values, error = brute.objectives(bound_loss, s, rows), slip(s)
        best, cases = values.max(), cases + 1
        assert found.values[0] == pytest.approx(values[(rows == found.labels).all(axis=1)][0], abs=error)
        assert found.values[0] <= best + error
        assert best <= found.bounds[0] + error
        right += found.values[0] >= best - 1e-6
        met += found.bounds[0] - found.values[0] <= 1e-6
    assert cases >= 8
    assert right >= 0.9 * cases
    assert met >= 0.6 * cases


@pytest.mark.slow
def test_without_edges_it_is_as_good_as_by_class():
    rng = np.random.default_rng(1)
    loss = MeanOverClasses(Jaccard())
    for _ in range(5):
        y, s = rng.integers(0, 3, 30), 0.1 * rng.standard_normal(90)
        alone = ClassGraphs(y, np.array([0, 10, 30]), np.zeros((0, 2), np.int64), 3)
        found = ClassDecomposition(Auto()).prepare(loss.bind(alone)).maximize(s)
        other = ByClass(Auto()).prepare(loss.bind(Classes(y, alone.offsets, 3))).maximize(s)
        assert (found.values <= other.bounds + 1e-9).all()
        assert (other.values <= found.bounds + 1e-9).all()
        np.testing.assert_allclose(found.bounds, other.bounds, atol=0.02)


@pytest.mark.parametrize("label", [0, 1])
def test_on_chains_the_bound_is_the_optimum_of_the_dual(label):
    # Its dual in turn mixes labelings and answers so that each node has the label equally often in both mixtures.
    rng, rows = np.random.default_rng(3), brute.labelings(5, 3)
    answers = brute.subsets(5)
    for _ in range(6):
        batch = ClassGraphs(rng.integers(0, 3, 5), np.array([0, 5]), chain(5), 3)
        s = 0.5 * scores(rng, batch, "reals")
        won = brute.objectives(BoundLoss(batch), s, rows)
        lost = np.array([Jaccard()(batch.labels == label, answer) for answer in answers])
        ones, none = np.ones(len(won)), np.zeros(len(lost))
        equal = [np.append(ones, none), np.append(0 * ones, none + 1)]
        equal += [np.append(rows[:, i] == label, -1.0 * answers[:, i]) for i in range(5)]
        program = linprog(-np.append(won, lost), A_eq=np.array(equal), b_eq=np.array([1, 1, 0, 0, 0, 0, 0]))
        bound_loss = OneClass(Jaccard(), label).bind(batch)
        found = ClassDecomposition(Auto(), 500).prepare(bound_loss).maximize(s)
        assert found.bounds[0] == pytest.approx(-program.fun, abs=1e-6)


def test_sets_parts_threads_and_tolerances():
    rng = np.random.default_rng(2)
    edges = np.vstack([grid(5, 5) + 25 * i for i in range(3)])
    batch = ClassGraphs(rng.integers(0, 3, 75), np.array([0, 25, 75]), edges, 3)
    s = 0.02 * scores(rng, batch, "attracting")
    bound_loss, method = MeanOverClasses(Jaccard()).bind(batch), ClassDecomposition(Auto(), 60)
    whole = method.prepare(bound_loss)
    found = whole.maximize(s)
    assert (found.values <= found.bounds).all()
    with thread_limit(2):
        both = method.prepare(bound_loss).maximize(s)
    np.testing.assert_array_equal(both.labels, found.labels)
    np.testing.assert_array_equal(both.bounds, found.bounds)
    # A part goes on with the multipliers of the whole.
    again = whole.take(np.array([1])).maximize(s[slice(*batch.score_offsets[1:])])
    assert again.values[0] <= found.bounds[1] + 1e-9
    assert found.values[1] <= again.bounds[0] + 1e-9
    rough = method.prepare(bound_loss).maximize(s, 0.2)
    assert (rough.bounds - rough.values <= 0.2).all()


def test_auto_takes_it_and_others_are_refused():
    y, ends = np.arange(40) % 3, np.array([0, 40])
    batch, method = ClassGraphs(y, ends, chain(40), 3), ClassDecomposition(Auto())
    assert Auto().choice(MeanOverClasses(Jaccard()).bind(batch)) == method
    small = batch.take(np.array([0]))
    for bound_loss, words in (
        (Hamming().bind(batch), r"refuses Hamming\(\): it is not a sum of losses of single classes"),
        (MeanOverClasses(Jaccard()).bind(Classes(y, ends, 3)), "refuses Classes: it takes ClassGraphs"),
    ):
        with pytest.raises(Refusal, match=f"ClassDecomposition {words}"):
            method.prepare(bound_loss)
    with pytest.raises(Refusal, match="ClassDecomposition refuses slack rescaling"):
        method.prepare(MeanOverClasses(Jaccard()).bind(small), slack=True)
    with pytest.raises(Refusal, match="TreeMaxProduct refuses Sets"):
        ClassDecomposition(TreeMaxProduct()).prepare(MeanOverClasses(Jaccard()).bind(batch))
    with pytest.raises(ValueError, match="max_iter must be"):
        ClassDecomposition(Enumeration(), 0)
