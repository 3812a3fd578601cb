"""Kernels that are given less than their sets hold raise an error before they read beyond an array."""

import numpy as np
import pytest

from setwise.core.batch import Sets
from setwise.inference import Auto
from setwise.kernels.segments import count_true, masked_sums, segment_argmax, segment_sums
from setwise.losses import Hamming, Jaccard, ZeroOne
from setwise.surrogates import LovaszHinge

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
        Auto().prepare(loss.structure(sets)).solve(wrong, np.zeros(1))
    with pytest.raises(ValueError, match=f"{SHORTER}|broadcast"):
        LovaszHinge(loss).on(sets).evaluate(wrong, np.zeros(1))
