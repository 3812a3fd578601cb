"""The best labelings of sequences and the best assignments, in the order of enumeration."""

from itertools import islice, pairwise, permutations, product

import numpy as np
import pytest

from kernels.score_lists import KINDS, check_list, drawn
from setwise.kernels.sequences import best_assignments, best_by_distance, best_sequences


def every(T, k):
    return np.array(list(product(range(k), repeat=T)))


def sums_of(unary, pairs, labels):
    along = unary[np.arange(len(unary)), labels].sum(axis=-1)
    return along + pairs[labels[:, :-1], labels[:, 1:]].sum(axis=-1)


@pytest.mark.parametrize("kind", KINDS)
def test_the_k_best_labelings_of_many_sequences(kind):
    rng = np.random.default_rng(0)
    for _ in range(40):
        k, K = int(rng.integers(1, 4)), int(rng.integers(1, 40))
        lengths = rng.integers(1, 5, size=3)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        unary, pairs = drawn(rng, (offsets[-1], k), kind), drawn(rng, (3, k, k), kind)
        labels, sums = best_sequences(unary, pairs, offsets, K)
        for i, T in enumerate(lengths):
            low, high = offsets[i : i + 2]
            rows = every(T, k)
            many = min(K, len(rows))
            assert (labels[many:, low:high] == -1).all()
            assert (sums[many:, i] == -np.inf).all()
            own = sums_of(unary[low:high], pairs[i], labels[:many, low:high])
            size = np.abs(unary[low:high]).sum() + np.abs(pairs[i]).sum()
            np.testing.assert_allclose(sums[:many, i], own, rtol=0, atol=1e-12 * size)
            check_list(labels[:many, low:high], sums[:many, i], sums_of(unary[low:high], pairs[i], rows), size)


@pytest.mark.parametrize("kind", ["normal", "ties", "zero"])
def test_longer_lists_begin_with_the_shorter_ones(kind):
    rng = np.random.default_rng(1)
    unary, pairs, offsets = drawn(rng, (5, 3), kind), drawn(rng, (1, 3, 3), kind), np.array([0, 5])
    whole, sums = best_sequences(unary, pairs, offsets, 300)
    for K in range(1, 244):
        some, first = best_sequences(unary, pairs, offsets, K)
        np.testing.assert_array_equal(some, whole[:K])
        np.testing.assert_array_equal(first, sums[:K])


@pytest.mark.parametrize("kind", KINDS)
def test_the_best_labeling_at_each_distance(kind):
    rng = np.random.default_rng(2)
    for _ in range(60):
        T, k = int(rng.integers(1, 6)), int(rng.integers(1, 4))
        unary, pairs, truth = drawn(rng, (T, k), kind), drawn(rng, (k, k), kind), rng.integers(k, size=T)
        sums, labels = best_by_distance(unary, pairs, truth)
        rows = every(T, k)
        distances, all_sums = (rows != truth).sum(axis=1), sums_of(unary, pairs, rows)
        slip = 1e-12 * (np.abs(unary).sum() + np.abs(pairs).sum())
        for d in range(T + 1):
            if k == 1 and d > 0:
                assert sums[d] == -np.inf
                assert (labels[d] == -1).all()
                continue
            assert (labels[d] != truth).sum() == d
            assert sums[d] == pytest.approx(all_sums[distances == d].max(), rel=0, abs=slip)
            assert sums[d] == pytest.approx(sums_of(unary, pairs, labels[d : d + 1])[0], rel=0, abs=slip)


def test_arrays_that_are_too_short_are_refused():
    with pytest.raises(ValueError, match="shorter than the sets"):
        best_sequences(np.zeros((3, 2)), np.zeros((1, 2, 2)), np.array([0, 4]), 1)
    with pytest.raises(ValueError, match="a label for each place"):
        best_by_distance(np.zeros((3, 2)), np.zeros((2, 2)), np.zeros(2, int))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (2, 2), (3, 3), (2, 4), (4, 4), (3, 5)])
def test_all_assignments_come_in_falling_order(kind, shape):
    rng = np.random.default_rng(0)
    for _ in range(5):
        scores = drawn(rng, shape, kind)
        rows = np.array(list(permutations(range(shape[1]), shape[0])))
        found = list(best_assignments(scores))
        labels, sums = np.array([columns for _, columns in found]), np.array([value for value, _ in found])
        assert len(found) == len(rows)
        every_sum = scores[np.arange(shape[0]), rows].sum(axis=1)
        np.testing.assert_array_equal(sums, scores[np.arange(shape[0]), labels].sum(axis=1))
        check_list(labels, sums, every_sum, np.abs(scores).sum())


def test_the_first_ones_cost_no_more_than_they_must():
    scores = np.random.default_rng(1).standard_normal((40, 60))
    first = list(islice(best_assignments(scores), 20))
    assert len({tuple(columns) for _, columns in first}) == 20
    assert all(a >= b for (a, _), (b, _) in pairwise(first))


def test_more_rows_than_columns_are_refused():
    with pytest.raises(ValueError, match="got 3 x 2"):
        next(best_assignments(np.zeros((3, 2))))
