import numpy as np
import pytest

from setwise.kernels import blocks


class PlaneArrays:
    """The arrays of the kernel beside a plain NumPy reading of them."""

    def __init__(self, n=4, room=3, d=5, C=2.0, places=(), low=()):
        self.slopes, self.offsets = np.zeros((n, room, d)), np.zeros((n, room))
        self.grams, self.alpha = np.zeros((n, room, room)), np.zeros((n, room))
        self.counts, self.w, self.C = np.ones(n, dtype=np.int64), np.zeros(d), C
        self.places, self.low = np.array(places, dtype=np.int64), np.array(low, dtype=float)
        self.free = np.zeros(len(low))
        self.w[self.places] = np.maximum(self.low, 0.0)
        self.alpha[:, 0] = 1.0
        self.gaps = np.zeros(n)

    @property
    def arrays(self):
        planes = (self.slopes, self.offsets, self.grams, self.alpha, self.counts)
        return (*planes, self.w, self.C, self.places, self.low, self.free)

    def weights(self):
        w = -self.C * np.einsum("it,itd->d", self.alpha, self.slopes)
        w[self.places] = np.maximum(w[self.places], self.low)
        return w

    def dual(self):
        w, free = self.weights(), -self.C * np.einsum("it,itd->d", self.alpha, self.slopes)[self.places]
        lifted = np.maximum(self.low - free, 0.0) @ self.low
        return self.C * (self.alpha * self.offsets).sum() + lifted - 0.5 * w @ w

    def values(self, w):
        values = self.offsets + self.slopes @ w
        values[np.arange(values.shape[1]) >= self.counts[:, None]] = -np.inf
        return values


BOUNDS = ((), ()), ((1, 3), (0.0, -0.2)), ((0, 1, 2, 3, 4), (0.1, 0.0, -1.0, 0.0, 0.0))


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("room", [2, 3, 6])
def test_no_step_lets_the_dual_fall(room, bounds):
    rng = np.random.default_rng(0)
    state = PlaneArrays(room=room, places=bounds[0], low=bounds[1])
    before = state.dual()
    for _ in range(30):
        parts = rng.permutation(4)[:3]
        offsets, slopes = rng.random(3), rng.standard_normal((3, 5))
        taken = blocks.climb(*state.arrays, parts, state.gaps, offsets, slopes)
        assert 0 <= taken <= 3
        assert state.dual() >= before - 1e-12
        before = state.dual()
        blocks.climb(*state.arrays, np.arange(4), state.gaps, np.zeros(0), np.zeros((0, 5)))
        assert state.dual() >= before - 1e-12
        before = state.dual()
        assert np.allclose(state.w, state.weights())
        assert np.allclose(state.alpha.sum(axis=1), 1)
        assert (state.alpha >= 0).all()
        for i, k in enumerate(state.counts):
            assert np.allclose(state.grams[i, :k, :k], state.slopes[i, :k] @ state.slopes[i, :k].T)


def test_gaps_are_shares_of_the_distance_to_the_dual():
    rng = np.random.default_rng(1)
    state = PlaneArrays()
    blocks.climb(*state.arrays, np.arange(4), state.gaps, rng.random(4), rng.standard_normal((4, 5)))
    # a step of no part but the first leaves w as it was for the first
    w, alpha = state.w.copy(), state.alpha.copy()
    values = state.values(w)
    blocks.climb(*state.arrays, np.array([0]), state.gaps, np.zeros(0), np.zeros((0, 5)))
    used = alpha[0] > 0
    assert state.gaps[0] == pytest.approx(state.C * alpha[0, used] @ (values[0].max() - values[0, used]))


@pytest.mark.parametrize("bounds", BOUNDS)
def test_climbing_reaches_the_maximum_of_the_dual(bounds):
    rng = np.random.default_rng(2)
    state = PlaneArrays(n=6, room=5, places=bounds[0], low=bounds[1])
    for _ in range(4):
        blocks.climb(*state.arrays, np.arange(6), state.gaps, rng.random(6), rng.standard_normal((6, 5)))
    gaps = np.ones(6)
    for _ in range(500):
        blocks.climb(*state.arrays, np.arange(6), gaps, np.zeros(0), np.zeros((0, 5)))
    primal = 0.5 * state.w @ state.w + state.C * state.values(state.w).max(axis=1).sum()
    assert primal - state.dual() < 1e-9


def test_a_plane_that_is_not_violated_is_left_out():
    state = PlaneArrays()
    parts = np.arange(4)
    assert blocks.climb(*state.arrays, parts, state.gaps, -np.ones(4), np.ones((4, 5))) == 0
    assert (state.counts == 1).all()


def test_the_first_plane_of_a_part_has_all_its_weight():
    state = PlaneArrays()
    state.counts[:], state.alpha[:] = 0, 0.0
    slopes, offsets = np.random.default_rng(4).standard_normal((4, 5)), np.arange(4.0) - 2
    assert blocks.climb(*state.arrays, np.arange(4), state.gaps, offsets, slopes) == 4
    assert (state.alpha[:, 0] == 1.0).all()
    assert np.allclose(state.w, -state.C * slopes.sum(axis=0))


def test_plane_maxima_and_weights_equal_numpy():
    rng = np.random.default_rng(3)
    state = PlaneArrays()
    for _ in range(3):
        blocks.climb(*state.arrays, np.arange(4), state.gaps, rng.random(4), rng.standard_normal((4, 5)))
    w, parts = rng.standard_normal(5), np.array([3, 1])
    assert np.allclose(
        blocks.plane_maxima(state.slopes, state.offsets, state.counts, w, parts), state.values(w).max(1)[parts]
    )
    again = np.ones(5)
    blocks.weigh(state.slopes, state.alpha, state.counts, state.C, again)
    assert np.allclose(again, state.weights())
