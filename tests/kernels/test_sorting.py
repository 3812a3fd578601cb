"""Sorting of many keys: every route gives the order of ``numpy.sort``."""

from itertools import pairwise

import numpy as np
import pytest

from setwise.kernels import sorting
from setwise.kernels.sorting import SHARED, halved, numpy_is_faster, radix, sort_falling, sort_large, sort_packed
from setwise.kernels.threads import thread_limit


def packed(rng, m, values):
    """Distinct keys: a value of so many above, the place below."""
    return rng.integers(0, values, m).astype(np.uint64) << np.uint64(32) | np.arange(m, dtype=np.uint64)


@pytest.mark.parametrize("values", [1, 3, 1 << 20, 1 << 32])
@pytest.mark.parametrize("threads", [1, 2, 3, 4])
@pytest.mark.parametrize("fast", [True, False], ids=["numpy", "radix"])
def test_every_route_sorts(monkeypatch, values, threads, fast):
    monkeypatch.setattr(sorting, "numpy_is_faster", lambda: fast)
    keys = packed(np.random.default_rng(0), SHARED + 7, values)
    with thread_limit(threads):
        found = sort_large(keys.copy())
    np.testing.assert_array_equal(found, np.sort(keys))


@pytest.mark.parametrize("m", [1, 2, 5, 4000])
def test_halves_keep_all_keys_and_their_order(m):
    keys = packed(np.random.default_rng(m), m, 4)
    unit = keys.copy(), np.empty_like(keys)
    (low, _), (high, _) = halved(unit)
    assert len(low) + len(high) == m
    np.testing.assert_array_equal(low, keys[np.isin(keys, low)])
    np.testing.assert_array_equal(high, keys[~np.isin(keys, low)])
    assert len(low) == 0 or low.max() < high.min()


def test_radix_is_stable_in_the_upper_half():
    keys = packed(np.random.default_rng(1), 5000, 7)
    out = keys.copy()
    radix(out, np.empty_like(out))
    np.testing.assert_array_equal(out, np.sort(keys))


def test_the_choice_is_made_once():
    assert numpy_is_faster() is numpy_is_faster()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_segments_of_all_sizes_side_by_side(dtype):
    rng = np.random.default_rng(2)
    sizes = [1, 2, 47, 48, 49, 3000, 4096, 4097, 9000, 3]
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    values = np.round(rng.standard_normal(offsets[-1]), 3).astype(dtype) + 0.0  # no minus zero
    if dtype == "f8":
        values += 1e-12 * rng.standard_normal(len(values))
    labels = rng.random(len(values)) < 0.5
    items, tags, falling, starts = sort_falling(values, labels, offsets)
    np.testing.assert_array_equal(starts, offsets)
    for a, b in pairwise(offsets):
        order = a + np.argsort(-values[a:b], kind="stable")
        np.testing.assert_array_equal(items[a:b], order)
        np.testing.assert_array_equal(falling[a:b], values[order])
        np.testing.assert_array_equal(tags[a:b], labels[order])


def test_a_long_run_that_float32_can_not_tell_apart():
    rng = np.random.default_rng(3)
    values = 1.0 + 1e-13 * rng.integers(0, 50, 3000)
    items, _, falling, _ = sort_falling(values, values > 2, np.array([0, 3000]))
    np.testing.assert_array_equal(items, np.argsort(-values, kind="stable"))
    np.testing.assert_array_equal(falling, values[items])


def test_nothing_to_sort():
    assert len(sort_packed(np.empty(0, np.uint64), np.array([0, 0]))) == 0
