"""Noise by its place: its distribution, and that it depends on nothing else."""

import numpy as np
import pytest
from scipy import stats

from setwise.kernels.sampling import GAUSSIAN, LOGISTIC, draws


@pytest.mark.parametrize(("kind", "name"), [(LOGISTIC, "logistic"), (GAUSSIAN, "norm")])
def test_noise_has_its_distribution_and_no_correlations(kind, name):
    z = np.empty((1500, 301))
    draws(kind, np.uint64(3), 5, 0, z)
    assert stats.kstest(z.ravel(), name).pvalue > 1e-3
    for rows in (z, z.T):
        apart = np.corrcoef(rows[:60]) - np.eye(60)
        assert np.abs(apart).max() < 5.0 / np.sqrt(rows.shape[1])
    others = np.empty((2, 301))
    for seed, unit in ((4, 5), (3, 6)):
        draws(kind, np.uint64(seed), unit, 0, others)
        assert abs(np.corrcoef(others[0], z[0])[0, 1]) < 0.3
        assert not np.isin(others, z).any()


def test_a_sample_can_be_drawn_alone():
    whole, part = np.empty((9, 20)), np.empty((3, 20))
    draws(LOGISTIC, np.uint64(1), 2, 0, whole)
    draws(LOGISTIC, np.uint64(1), 2, 4, part)
    np.testing.assert_array_equal(part, whole[4:7])
    short = np.empty((9, 7))
    draws(LOGISTIC, np.uint64(1), 2, 0, short)
    np.testing.assert_array_equal(short, whole[:, :7])
