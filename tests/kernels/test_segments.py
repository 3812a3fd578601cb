"""Sums, means and counts of sets: ties beside a loop, and no read beyond an array that is too short."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from setwise.core.batch import Sets
from setwise.inference import Auto
from setwise.kernels.segments import count_true, masked_sums, segment_argmax, segment_sums, tied_means
from setwise.kernels.sorting import sort_falling
from setwise.losses import Hamming, Jaccard, ZeroOne
from setwise.surrogates import LovaszHinge


def by_hand(values, labels, scores, owners):
    """The mean over all decisions that agree with each one."""
    same = [(labels == labels[i]) & (scores == scores[i]) & (owners == owners[i]) for i in range(len(values))]
    return np.array([values[mask].mean() for mask in same])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("digits", [0, 1, 9])
def test_means_are_those_of_a_loop(kind, digits):
    rng = np.random.default_rng(digits)
    offsets = np.array([0, 1, 60, 61, 200, 300])
    owners = np.repeat(np.arange(5), np.diff(offsets))
    labels, values = rng.random(300) < 0.3, rng.standard_normal(300)
    scores = np.round(rng.standard_normal(300), digits).astype(kind)
    scores[:3], scores[250:] = [1e30, -0.0, 0.0], 7.0
    found = tied_means(values, *sort_falling(scores, labels, offsets))
    assert_allclose(found, by_hand(values, labels, scores, owners), atol=1e-12)
    assert (digits == 9) == (np.mean(found != values) < 0.5)


def test_scores_that_differ_in_the_last_digit_are_not_equal():
    scores = np.array([1.0, 1.0 + 2**-52, 1.0])
    values = np.array([1.0, 2.0, 5.0])
    found = tied_means(values, *sort_falling(scores, np.ones(3, dtype=bool), np.array([0, 3])))
    assert_array_equal(found, [3.0, 2.0, 3.0])


@pytest.mark.parametrize("short", range(4))
def test_arrays_that_are_shorter_than_the_sets_are_refused(short):
    arrays = [np.zeros(3), np.zeros(3, dtype=np.int32), np.zeros(3, dtype=bool), np.zeros(3)]
    arrays[short] = arrays[short][:2]
    with pytest.raises(ValueError, match="an array is shorter than the sets"):
        tied_means(*arrays, np.array([0, 3]))


SHORTER = "an array is shorter than the sets"


@pytest.mark.parametrize("kernel", [segment_sums, count_true, segment_argmax])
def test_sums_and_counts(kernel):
    with pytest.raises(ValueError, match=SHORTER):
        kernel(np.zeros(3), np.array([0, 2, 1000]))
    with pytest.raises(ValueError, match=SHORTER):
        kernel(np.zeros(3), np.array([-5, 2]))


def test_masked_sums():
    with pytest.raises(ValueError, match=SHORTER):
        masked_sums(np.zeros(1000), np.zeros(3, bool), np.array([0, 1000]))


@pytest.mark.parametrize("loss", [Jaccard(), Hamming(), ZeroOne()])
def test_methods_that_ask_for_checked_scores_do_not_read_beyond_them(loss):
    sets = Sets.single(np.arange(200_000) % 2 == 0)
    wrong = np.zeros(10)
    with pytest.raises(ValueError, match=f"{SHORTER}|broadcast"):
        Auto().prepare(loss.bind(sets)).solve(wrong, np.zeros(1))
    with pytest.raises(ValueError, match=f"{SHORTER}|broadcast"):
        LovaszHinge(loss).on(sets).evaluate(wrong, np.zeros(1))
