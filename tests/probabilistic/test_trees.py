"""Tree-reweighted bounds, forests, and exact samples."""

import numpy as np
import pytest
from scipy import stats

from probabilistic.models import models, summed
from setwise.core.exceptions import Refusal
from setwise.kernels.networks import arcs
from setwise.kernels.sampling import couple
from setwise.kernels.threads import thread_limit
from setwise.probabilistic import (
    CallableSetFunction,
    ConcaveSizeFunction,
    Cut,
    LogSupermodularDistribution,
    exact,
    l_field,
    sample,
    tree_reweighted,
)
from setwise.probabilistic.perturbations import seed_of
from setwise.probabilistic.sampling import Coupling
from setwise.probabilistic.tree_bounds import covering_forests


@pytest.mark.slow
@pytest.mark.draw(3)
@pytest.mark.parametrize("kind", ["cut", "two cuts", "cut and modular"])
def test_tree_reweighted_is_above_the_sum_and_stops_anywhere(kind):
    closer = cases = 0
    for model in models(kind, 200, most=7):
        _, _, total, marginals = summed(model)
        found, early = tree_reweighted(model), tree_reweighted(model, 2)
        assert found.kind == "upper"
        assert total <= found.value <= early.value + 1e-9 * (1 + abs(total))
        closer += found.value <= l_field(model).value + 1e-9
        cases += 1
        if found.value <= total + 1e-9:
            np.testing.assert_allclose(found.marginals, marginals, atol=1e-3)
    assert closer >= 0.9 * cases


def test_on_forests_it_is_exact():
    rng = np.random.default_rng(0)
    for p in (1, 2, 5, 12):
        edges = [[i, int(rng.integers(i))] for i in range(1, p) if i % 4]
        model = LogSupermodularDistribution([Cut(p, edges, 3 * rng.random(len(edges)))], 2 * rng.standard_normal(p))
        _, _, total, marginals = summed(model)
        found = tree_reweighted(model)
        assert found.value == pytest.approx(total, abs=1e-9)
        np.testing.assert_allclose(found.marginals, marginals, atol=1e-9)


def test_cold_limits_are_minimum_cuts():
    rng = np.random.default_rng(1)
    for _ in range(5):
        cut, unary = Cut(9, Cut.grid(3, 3).edges, rng.random(12)), rng.standard_normal(9)
        cold = LogSupermodularDistribution([cut], 200.0 * unary, [200.0])
        assert tree_reweighted(cold, 2000).value / 200.0 == pytest.approx(
            -LogSupermodularDistribution([cut], unary).minimum().value, abs=0.03
        )


def test_huge_scores_do_not_overflow():
    model = LogSupermodularDistribution([Cut.grid(2, 3)], 1e5 * np.array([1, -1, 1, -1, 1, -1.0]), [1e4])
    _, values, total, _ = summed(model)
    assert total == -values.min()
    assert total <= tree_reweighted(model).value <= total * (1 + 1e-6)


def test_forests_cover_all_edges():
    for edges, p in ((Cut.grid(4, 5).edges, 20), (np.array(np.triu_indices(9, 1)).T, 9), (np.zeros((0, 2), int), 3)):
        seen = set()
        for forest in covering_forests(edges, p):
            place = np.empty(p, int)
            place[forest.order] = np.arange(p)
            for i, (j, e) in enumerate(zip(forest.parents, forest.edges, strict=True)):
                assert (j < 0) == (e < 0)
                if e >= 0:
                    assert place[j] < place[i]
                    assert set(edges[e].tolist()) == {i, j}
                    seen.add(int(e))
        assert len(seen) == len(edges)


@pytest.mark.slow
@pytest.mark.draw(4)
@pytest.mark.parametrize("kind", ["cut", "cut and size", "size", "two cuts"])
def test_samples_have_the_distribution(kind):
    tried = 0
    for t, model in enumerate(models(kind, 12, most=5)):
        rows, values, total, _ = summed(model)
        try:
            found = sample(model, 4000, budget=4096, random_state=t)
        except Refusal:
            continue
        tried += 1
        powers = 1 << np.arange(model.total)
        seen = np.bincount(found.labels @ powers, minlength=len(rows))
        expected = np.empty(len(rows))
        expected[rows @ powers] = 4000 * np.exp(-values - total)
        many = expected > 5.0
        assert (seen[expected < 1e-3] <= 1).all()
        if many.sum() > 1:
            rest = np.append(seen[many], seen[~many].sum()), np.append(expected[many], expected[~many].sum() + 1e-9)
            keep = rest[1] > 1e-6
            assert stats.chisquare(rest[0][keep], rest[1][keep] * 4000 / rest[1][keep].sum()).pvalue > 1e-4
    assert tried >= 6


def test_samples_of_grids_have_the_exact_marginals():
    model = LogSupermodularDistribution([Cut.grid(6, 9)], np.random.default_rng(0).standard_normal(54), [0.6])
    found, true = sample(model, 3000, random_state=0), exact(model)
    assert np.abs(found.marginals - true.marginals).max() < 4 * 0.5 / np.sqrt(3000)
    with thread_limit(2):
        again = sample(model, 30, random_state=0)
    np.testing.assert_array_equal(again.labels, found.labels[:30])


@pytest.mark.slow
@pytest.mark.parametrize("terms", [[Cut.grid(2, 3)], [Cut.grid(2, 3), ConcaveSizeFunction(np.sqrt(np.arange(7)))]])
def test_samples_of_a_chain_have_the_distribution_too(terms):
    model = LogSupermodularDistribution(terms, [0.3, -0.5, 0.2, 0.9, 0.0, -1.2], [0.8, 0.7][: len(terms)])
    rows, values, total, _ = summed(model)
    chains = sample(model, 20_000, chains=2000, gap=2, random_state=0)
    assert chains.sweeps.shape == (2000,)
    powers = 1 << np.arange(6)
    each = chains.labels.reshape(2000, 10, 6) @ powers
    np.testing.assert_array_equal(chains.labels[::10], sample(model, 2000, random_state=0).labels)
    expected = np.empty(64)
    expected[rows @ powers] = 2000 * np.exp(-values - total)
    # The samples at one place of all chains are independent.
    for place in (0, 1, 9):
        seen = np.bincount(each[:, place], minlength=64)
        many = expected > 5.0
        both = np.append(seen[many], seen[~many].sum()), np.append(expected[many], expected[~many].sum())
        assert stats.chisquare(*both).pvalue > 1e-3
    assert len(np.unique(each[0])) > 1
    assert sample(model, 7, chains=3, random_state=0).labels.shape == (7, 6)


def test_samples_do_not_depend_on_the_layout_nor_on_the_start():
    # A pixel has few neighbors, whose thresholds are tabled; the same graph without its shape is a list of arcs.
    grid, rng = Cut.grid(5, 7), np.random.default_rng(1)
    unary, weights = rng.standard_normal(35), 0.8 * rng.random(len(grid.edges))
    listed, table = LogSupermodularDistribution([Cut(35, grid.edges, weights)], unary), np.zeros(0)
    image = Coupling(LogSupermodularDistribution([grid]).cuts.graphs, 35)
    image.place(unary, weights, table)
    network, places = arcs(grid.edges, 35)
    long = np.zeros(len(network.heads))
    long[places] = weights[:, None]
    for i, labels in enumerate(sample(listed, 50, random_state=3).labels):
        for start in (1, 3, 64):
            sweeps, (found,) = image.draw(seed_of(3), i, start, 1 << 12)
            assert sweeps >= start
            np.testing.assert_array_equal(found, labels)
        slow, none = np.zeros(35, np.int8), np.zeros(0, np.int64)
        assert couple(network, long, unary, table, none, 0, seed_of(3), 2 * i, 1, 1 << 12, slow) > 0
        np.testing.assert_array_equal(slow, labels)


def test_what_does_not_meet_or_fit_is_refused():
    with pytest.raises(Refusal, match="chains have not met within budget=64 sweeps"):
        sample(LogSupermodularDistribution([Cut.grid(12, 12)], None, [3.0]), budget=64, random_state=0)
    general = LogSupermodularDistribution([CallableSetFunction(3, lambda y: float(y.any()))])
    with pytest.raises(Refusal, match="sample refuses .*: it draws only from cuts"):
        sample(general)
    with pytest.raises(Refusal, match="tree_reweighted refuses .*: it takes only cuts"):
        tree_reweighted(general)
