"""Bounds of expected losses from what bins of probabilities hold."""

from itertools import pairwise

import numpy as np
import pytest

from decisions.probabilities import slow
from decisions.test_expected_loss_pieces import kinds
from decisions.test_moments import FRACTIONS
from setwise.decisions.distributions import count_of
from setwise.decisions.formula import formula_of
from setwise.decisions.levels import BlockBounds, LevelBounds, Levels, binomial, no_positives
from setwise.kernels.histograms import chances
from setwise.losses import MCC, ErrorRate, FBeta, GMean, HMean, Jaccard, Tversky


def assert_bounds_hold(bounds, loss, q, rng):
    """At the ends of random levels, and inside of them, they bound the expected losses of all numbers predicted."""
    ordered = np.sort(q.astype(float))[::-1].copy()
    exact = slow(loss, ordered)
    for n in (1, 3, 20):
        edges = np.unique(np.append(rng.random(n) ** rng.choice([0.2, 1.0, 8.0]), [0.0, 2.0]))
        known = Levels.of([chances(part, edges) for part in np.split(q, [7, 7, 30])])
        lower, upper = bounds.at(*known.ends, *known.rests)
        ends = known.ends[0]
        assert (lower <= exact[ends] + 1e-12).all()
        assert (exact[ends] <= upper + 1e-12).all()
        for (a, b), low in zip(pairwise(ends), bounds.inside(known), strict=True):
            assert low <= exact[a + 1 : b].min(initial=np.inf) + 1e-12


@pytest.mark.draw(8)
@pytest.mark.parametrize("loss", FRACTIONS, ids=repr)
def test_bounds_hold_at_the_ends_and_inside(loss):
    p, rng = 36, np.random.default_rng(1)
    for q in kinds(p, rng).values():
        bounds = LevelBounds(formula_of(loss, p), float(np.exp(no_positives(q))))
        assert_bounds_hold(bounds, loss, q, rng)


def test_bounds_of_bins_are_narrow_where_bins_are():
    q = np.sort(np.random.default_rng(0).random(10_000) ** 3)[::-1].copy()
    formula = formula_of(Jaccard(), len(q))
    known = Levels.of([chances(q, np.append(q[::-20], 2.0))])
    lower, upper = LevelBounds(formula, 0.0).at(*known.ends, *known.rests)
    assert (upper - lower)[len(lower) // 4 :].max() < 2e-4
    assert (lower[1:] - LevelBounds(formula, 0.0).inside(known)).max() < 0.01


@pytest.mark.parametrize("q", [0.0, 5e-324, 1e-9, 0.3, 0.5, 1.0 - 1e-9, 1.0])
def test_the_count_of_equal_probabilities(q):
    for n in (0, 1, 2, 37, 5_000):
        found, wanted = binomial(n, q), count_of(np.full(n, q))
        dense = np.zeros((2, n + 1))
        for row, pmf in zip(dense, (found, wanted), strict=True):
            row[pmf.low : pmf.low + len(pmf.pmf)] = pmf.pmf
        np.testing.assert_allclose(dense[0], dense[1], atol=1e-14)


DILUTED = [
    MCC(),
    GMean(),
    HMean(),
    Tversky(0.3, 0.8),
    FBeta() + 0.5 * Jaccard(),
    FBeta() + 0.5 * ErrorRate(),
    FBeta(2.0),
]


@pytest.mark.draw(6)
@pytest.mark.parametrize("loss", DILUTED, ids=repr)
def test_bounds_by_blocks_hold_at_the_ends_and_inside(loss):
    p, rng = 36, np.random.default_rng(6)
    for q in kinds(p, rng).values():
        bounds = BlockBounds(formula_of(loss, p))
        assert bounds.formula.without_costs.diluted
        assert_bounds_hold(bounds, loss, q, rng)


@pytest.mark.draw(3)
@pytest.mark.parametrize("loss", DILUTED[:6], ids=repr)
def test_bounds_by_blocks_are_narrow_in_large_sets(loss):
    p = 3_000_000
    q = np.sort(np.random.default_rng(7).random(p) ** 6)[::-1].copy()
    known = Levels.of([chances(q, np.append(q[:: -p // 8], 2.0))])
    mean = q.sum()
    formula = formula_of(loss, p, (int(mean) - 20_000, int(mean) + 20_000))
    lower, upper = BlockBounds(formula).at(*known.ends, *known.rests)
    assert (upper - lower)[1:-1].max() < 5e-4


def test_bins_of_probabilities():
    rng = np.random.default_rng(4)
    for q in (rng.random(500), rng.random(500).astype(np.float32), 10.0 ** rng.uniform(-320, 0, 500), np.ones(3)):
        for edges in (np.array([0.0, 0.5, 2.0]), np.sort(rng.random(40)), np.sort(10.0 ** rng.uniform(-320, 0, 30))):
            found = chances(q, edges)
            x = q.astype(np.float64)
            for j, (low, high) in enumerate(pairwise(edges)):
                part = x[(x >= low) & (x < high)]
                assert found.counts[j] == len(part)
                assert found.means[j] == pytest.approx(part.sum(), rel=1e-12, abs=0)
                assert found.variances[j] == pytest.approx((part * (1 - part)).sum(), rel=1e-12, abs=0)
                assert found.least[j] == part.min(initial=np.inf)
                assert found.most[j] == part.max(initial=-np.inf)
