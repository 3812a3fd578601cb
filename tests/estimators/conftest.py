"""Data that several subjects share."""

import numpy as np
import pytest


@pytest.fixture
def bags():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    y = X @ [1.0, -2.0, 0.5] + 0.5 * rng.standard_normal(120) > 0.5
    return X, np.where(y, "sick", "healthy"), np.repeat(np.arange(12), 10)
