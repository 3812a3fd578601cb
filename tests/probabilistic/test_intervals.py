import numpy as np
import pytest
from scipy.stats import t

from setwise.probabilistic.perturbations import _around


@pytest.mark.parametrize("n", [2, 3, 40])
@pytest.mark.parametrize("level", [0.5, 0.95])
def test_an_interval_is_that_of_student(n, level):
    values = np.random.default_rng(n).standard_normal(n)
    low, high = t.interval(level, n - 1, values.mean(), values.std(ddof=1) / np.sqrt(n))
    assert _around(values, level) == pytest.approx((low, high))


def test_one_value_says_nothing():
    assert _around(np.ones(1), 0.95) == (-np.inf, np.inf)
