"""What is taken of one set is taken once, and only where it is not too large."""

import numpy as np

from setwise.core import risk
from setwise.core.risk import SetCache


def test_single_sets_are_taken_once():
    taken, kept = [], SetCache(10)

    def take(parts):
        taken.append(parts.tolist())
        return object()

    first = kept.of(np.array([1]), take)
    assert kept.of(np.array([1]), take) is first
    assert kept.of(np.array([0]), take) is not first
    assert kept.of(np.array([0, 1]), take) is not kept.of(np.array([0, 1]), take)
    assert taken == [[1], [0], [0, 1], [0, 1]]
    large = SetCache(risk.LARGEST + 1)
    assert large.of(np.array([1]), take) is not large.of(np.array([1]), take)
