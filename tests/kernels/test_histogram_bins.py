import numpy as np
import pytest

from setwise.kernels.histograms import bin_keys, bin_slopes, bin_totals, key_range

LINES = (np.array([[0.0, 1.0], [0.0, -1.0]]), np.array([[0.0, 0.5], [-1.5, 0.5]]))


def problems(n=60):
    rng = np.random.default_rng(0)
    spreads = (
        lambda k: np.arange(k) / 4 - 1.0,
        lambda k: np.sort(rng.standard_normal(k)),
        lambda k: np.sort(np.concatenate([rng.standard_normal(k - k // 70), 1e300 * rng.standard_normal(k // 70)])),
        lambda k: 5e-324 * np.arange(k),
        lambda k: np.cumsum(np.where(np.arange(k) % 2, 1e-300, 1e12 + rng.random(k))),
    )
    for i in range(n):
        m, dtype = int(rng.choice([0, 1, 7, 511, 1500])), (np.float32, np.float64)[i % 2]
        edges = np.unique(spreads[i % len(spreads)](int(rng.choice([1, 2, 9, 200]))))
        near = rng.choice(
            np.concatenate([edges, edges[:1] - 1, np.nextafter(edges, np.inf), rng.standard_normal(5)]), m
        )
        with np.errstate(over="ignore"):
            scores = np.clip(near, -1e38, 1e38).astype(dtype) if dtype == np.float32 else near
        yield scores, rng.random(m) < rng.choice([0.0, 0.4, 1.0]), LINES[i % 3 == 0], edges


def keys_of(scores, truth, line):
    own = line[truth.astype(int)]
    return own[:, 0] + own[:, 1] * scores.astype(np.float64)


def test_bins_are_those_of_searchsorted():
    rng = np.random.default_rng(1)
    for scores, truth, line, edges in problems():
        keys = keys_of(scores, truth, line)
        at = np.searchsorted(edges, keys, side="left") - 1
        within = (at >= 0) & (at < len(edges) - 1)
        found = bin_totals(scores, truth, line, edges)
        assert found.shape == (len(edges) - 1, 6)
        for b, edge in enumerate(edges[1:]):
            inside = at == b
            for y in (0, 1):
                own = inside & (truth == y)
                assert found[b, y] == own.sum()
                with np.errstate(over="ignore"):
                    apart = keys[own] - edge
                assert found[b, 2 + y] == pytest.approx(apart.sum(), rel=1e-12, abs=1e-12 * np.abs(apart).sum())
            assert found[b, 4] == keys[inside].min(initial=np.inf)
            assert found[b, 5] == keys[inside].max(initial=-np.inf)
        slopes, gradient = rng.standard_normal((len(edges) - 1, 2)), np.empty_like(scores)
        bin_slopes(scores, truth, line, edges, slopes, gradient)
        expected = np.zeros_like(scores)
        expected[within] = slopes[at[within], truth[within].astype(int)]
        assert np.array_equal(gradient, expected)
        chosen = rng.random(len(edges) - 1) < 0.5
        sent, labels = bin_keys(scores, truth, line, edges, chosen)
        within[within] = chosen[at[within]]
        assert np.array_equal(sent, keys[within])
        assert np.array_equal(labels, truth[within])


def test_without_bins_nothing_is_in_one():
    y = np.array([True, False, True])
    for edges in (np.zeros(0), np.zeros(1)):
        gradient = np.full(3, np.nan)
        bin_slopes(np.arange(3.0), y, LINES[0], edges, np.zeros((0, 2)), gradient)
        assert gradient.tolist() == [0.0, 0.0, 0.0]
        assert bin_totals(np.arange(3.0), y, LINES[0], edges).shape == (0, 6)


def test_ranges_of_keys():
    for scores, truth, line, edges in problems():
        floor = edges[0]
        counts, ends, proper = key_range(scores, truth, line, floor)
        keys = keys_of(scores, truth, line)
        assert proper
        for y in (0, 1):
            above = keys[(truth == y) & (keys > floor)]
            assert counts[y].tolist() == [(truth == y).sum(), len(above)]
            assert ends[y].tolist() == [above.min(initial=np.inf), above.max(initial=-np.inf)]


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_keys_that_are_not_finite_are_seen(odd):
    scores = np.zeros(1000)
    scores[700] = odd
    assert not key_range(scores, np.zeros(1000, dtype=bool), LINES[0], -np.inf)[2]


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="same length"):
        bin_totals(np.zeros(3), np.zeros(2, dtype=bool), LINES[0], np.zeros(1))
