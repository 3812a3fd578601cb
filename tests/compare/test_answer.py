import numpy as np
import pytest
from scipy import stats

from setwise.compare.answer import PairedDifference


def test_without_correction_it_is_the_paired_t_test():
    d = np.random.default_rng(0).normal(0.1, 1.0, 12)
    found = PairedDifference.of(d, 0.0)
    ours, usual = found.interval(0.9), stats.ttest_1samp(d, 0.0).confidence_interval(0.9)
    assert np.allclose(ours, usual)


def test_the_correction_adds_the_share_of_the_test_rows():
    d = np.arange(10.0)
    plain, corrected = PairedDifference.of(d, 0.0), PairedDifference.of(d, 0.5)
    assert np.isclose(corrected.error / plain.error, np.sqrt((0.1 + 0.5) / 0.1))


def test_the_interval_covers_where_splits_share_their_training_rows():
    # The difference of two constant rules depends on the test rows alone, so the truth is known: random splits of one
    # sample then have almost independent test parts, and the corrected interval must cover at least as often as asked.
    rng, hits, narrow = np.random.default_rng(1), 0, 0
    for _ in range(300):
        x = rng.normal(size=90)
        d = [x[rng.permutation(90)[:30]].mean() for _ in range(10)]
        low, high = PairedDifference.of(d, 0.5).interval()
        hits += low <= 0 <= high
        low, high = PairedDifference.of(d, 0.0).interval()
        narrow += low <= 0 <= high
    assert hits >= 0.95 * 300
    assert narrow < 0.93 * 300


@pytest.mark.parametrize("value", [0.0, 0.25, -0.25])
def test_equal_differences_leave_no_doubt(value):
    found = PairedDifference.of([value] * 5, 0.5)
    assert found.error == 0.0
    assert found.interval() == (value, value)


def test_rounding_is_no_spread():
    assert PairedDifference.of([0.1 + 0.2, 0.3, 0.3], 0.5).error == 0.0
