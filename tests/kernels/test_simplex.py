import numpy as np
import piqp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setwise.kernels.simplex import solve_simplex

NOTHING = np.zeros((50, 0)), np.zeros(0)
"""No weight has a least value."""


def value(gram, offsets, scale, alpha):
    return offsets @ alpha - 0.5 * scale * alpha @ gram @ alpha


def solve(slopes, offsets, scale=1.0, tol=0.0, start=None, places=(), low=()):
    t = len(offsets)
    alpha = np.eye(t)[0] if start is None else start.copy()
    gram, bounded = slopes @ slopes.T, np.ascontiguousarray(slopes[:, list(places)])
    gap = solve_simplex(gram, offsets, scale, alpha, bounded, np.array(low, dtype=float), tol, 200)
    assert np.all(alpha >= 0)
    assert alpha.sum() == pytest.approx(1, abs=1e-12)
    return alpha, gap, value(gram, offsets, scale, alpha)


def by_piqp(slopes, offsets, scale=1.0):
    t = len(offsets)
    solver = piqp.DenseSolver()
    solver.settings.verbose = False
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-11
    gram = slopes @ slopes.T
    solver.setup(scale * gram, -offsets, np.ones((1, t)), np.ones(1), None, None, None, np.zeros(t), None)
    solver.solve()
    return value(gram, offsets, scale, np.maximum(solver.result.x, 0))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.integers(1, 30), st.integers(0, 10**6), st.sampled_from([1e-3, 1.0, 1e3]))
def test_equals_piqp_on_random_planes(t, d, seed, scale):
    rng = np.random.default_rng(seed)
    slopes, offsets = rng.standard_normal((t, d)), rng.standard_normal(t)
    _, gap, best = solve(slopes, offsets, scale)
    size = 1 + np.abs(offsets).max() + scale * (slopes**2).sum(axis=1).max()
    assert gap <= 1e-12 * size
    assert best == pytest.approx(by_piqp(slopes, offsets, scale), abs=1e-7 * size)


@settings(max_examples=60, deadline=None)
@given(st.integers(2, 60), st.integers(1, 6), st.integers(0, 10**6), st.sampled_from([0.0, 1e-14, 1e-10, 1e-6]))
def test_copies_of_planes_are_harmless(t, d, seed, noise):
    rng = np.random.default_rng(seed)
    source = rng.integers(0, 4, t)
    slopes = rng.standard_normal((4, d))[source] + noise * rng.standard_normal((t, d))
    offsets = rng.standard_normal(4)[source] + noise * rng.standard_normal(t)
    _, gap, best = solve(slopes, offsets)
    assert gap <= 1e-10
    assert best == pytest.approx(by_piqp(slopes, offsets), abs=1e-6)


def test_zero_planes_leave_the_largest_offset():
    alpha, gap, best = solve(np.zeros((5, 3)), np.array([0.0, 2.0, -1.0, 2.0, 1.0]))
    assert gap == 0
    assert best == 2
    assert alpha[[1, 3]].sum() == 1


def test_one_plane_needs_no_step():
    alpha, gap, best = solve(np.array([[3.0, 4.0]]), np.array([1.0]))
    assert (alpha[0], gap, best) == (1, 0, 1 - 12.5)


@pytest.mark.parametrize("size", [1e-150, 1e-30, 1e-8, 1e8, 1e30, 1e140])
def test_scaling_slopes_and_offsets_scales_the_answer(size):
    rng = np.random.default_rng(0)
    slopes, offsets = rng.standard_normal((20, 8)), rng.standard_normal(20)
    plain, *_ = solve(slopes, offsets)
    gram = (slopes @ slopes.T) * size
    alpha = np.eye(20)[0]
    solve_simplex(gram, offsets * size, 1.0, alpha, *NOTHING, 0.0, 200)
    assert np.allclose(alpha, plain, atol=1e-8)


def test_planes_of_very_different_size():
    rng = np.random.default_rng(1)
    slopes = rng.standard_normal((40, 10)) * 10.0 ** rng.uniform(-6, 6, 40)[:, None]
    slopes[0] = 0
    offsets = rng.random(40)
    _, gap, best = solve(slopes, offsets)
    assert gap <= 1e-16 * (slopes**2).sum(axis=1).max()
    assert best >= offsets[0]


@pytest.mark.parametrize("seed", range(3))
def test_growing_master_of_a_cutting_plane_method(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((200, 10)) + 0.3, np.where(rng.random(200) < 0.5, -1.0, 1.0)
    C, slopes, offsets, alpha, before = 1000.0, np.zeros((1, 10)), np.zeros(1), np.ones(1), 0.0
    for step in range(120):
        w = -C * alpha @ slopes
        on = y * (X @ w) < 1
        slopes, offsets = np.vstack([slopes, -(y * on) @ X / 200]), np.r_[offsets, on.mean()]
        alpha, gap, best = solve(slopes, offsets, C, 1e-9, np.r_[alpha, 0.0])
        assert gap <= 1e-9
        assert best >= before - 1e-12
        if step % 20 == 19:
            assert best == pytest.approx(by_piqp(slopes, offsets, C), abs=1e-7)
        before = best


def test_gap_bounds_the_distance_to_the_maximum():
    rng = np.random.default_rng(2)
    slopes, offsets = rng.standard_normal((50, 20)), rng.standard_normal(50)
    *_, best = solve(slopes, offsets)
    gram = slopes @ slopes.T
    for rounds in range(4):
        alpha = np.full(50, 0.02)
        gap = solve_simplex(gram, offsets, 1.0, alpha, *NOTHING, 0.0, rounds)
        assert best <= value(gram, offsets, 1.0, alpha) + gap + 1e-12


def bounded_minimum(slopes, offsets, C, places, low):
    """``min 0.5 |w|^2 + C max_t (b_t + <a_t, w>)`` with ``w[places] >= low``, by piqp."""
    t, d = slopes.shape
    solver = piqp.DenseSolver()
    solver.settings.verbose = False
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-11
    least = np.full(d + 1, -np.inf)
    least[list(places)] = low
    G = np.hstack([slopes, -np.ones((t, 1))])
    P = np.diag(np.r_[np.ones(d), 0.0])
    solver.setup(P, np.r_[np.zeros(d), C], None, None, G, None, -offsets, least, None)
    solver.solve()
    w = solver.result.x[:d].copy()
    w[list(places)] = np.maximum(w[list(places)], low)
    return 0.5 * w @ w + C * (offsets + slopes @ w).max()


@settings(max_examples=80, deadline=None)
@given(st.integers(1, 30), st.integers(1, 12), st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 100.0]), st.data())
def test_bounds_on_weights_equal_piqp(t, d, seed, C, data):
    rng = np.random.default_rng(seed)
    r = data.draw(st.integers(0, d))
    places = rng.permutation(d)[:r]
    low = rng.choice([-1.0, -0.1, 0.0, 0.3], r) * rng.choice([0.01, 1.0, 10.0])
    slopes, offsets = rng.standard_normal((t, d)), rng.standard_normal(t)
    # Slopes that live on the bounded weights alone are where alternating steps crawl.
    if data.draw(st.booleans()):
        slopes[:, np.setdiff1d(np.arange(d), places)] *= 1e-3
    alpha, gap, _ = solve(slopes, offsets, C, places=places, low=low)
    w = -C * alpha @ slopes
    w[places] = np.maximum(w[places], low)
    primal = 0.5 * w @ w + C * (offsets + slopes @ w).max()
    best = bounded_minimum(slopes, offsets, C, places, low)
    size = 1 + abs(best) + C * C * (slopes**2).sum(axis=1).max()
    assert C * gap <= 1e-10 * size
    assert primal == pytest.approx(best, abs=1e-7 * size)
