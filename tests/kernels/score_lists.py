"""Random scores, and what lists of the best labelings must have."""

import numpy as np

KINDS = ("normal", "ties", "zero", "huge", "tiny", "some huge")


def drawn(rng, shape, kind):
    normal = rng.standard_normal(shape)
    return {
        "normal": normal,
        "ties": rng.integers(-1, 2, shape).astype(float),
        "zero": np.zeros(shape),
        "huge": 1e290 * normal,
        "tiny": 1e-290 * normal,
        "some huge": np.where(rng.random(shape) < 0.3, 1e12 * normal, normal),
    }[kind]


def check_list(found, sums, every_sum, size):
    """A list of different labelings with their true sums, which are the largest ones in falling order."""
    assert len({tuple(row) for row in found.tolist()}) == len(found)
    np.testing.assert_allclose(sums, np.sort(every_sum)[::-1][: len(found)], rtol=0, atol=1e-12 * size)
    assert (np.diff(sums) <= 0).all()
