"""The shares of sets on the host are what tensors tell: weights of those that count, divided for a mean."""

import itertools

import numpy as np
import pytest

from setwise.kernels.pixels import ALIKE, shares

torch = pytest.importorskip("torch")

from setwise.torch.criterion import factors_of  # noqa: E402


def test_equals_the_factors_of_tensors():
    rng = np.random.default_rng(0)
    shapes = itertools.product((0, 1, 2, 5), (1, 2, 19))
    for (images, classes), only_present, mean in itertools.product(shapes, (False, True), (False, True)):
        totals = rng.integers(0, 2, (images * classes, 2))
        weight = rng.choice([0.0, 0.5, 2.0], classes)
        counts = totals[:, 1] > 0 if only_present else totals.any(axis=1)
        weights = torch.from_numpy(np.where(counts.reshape(images, classes), weight, 0.0))
        expected = factors_of(weights, "mean" if mean else "sum").numpy().reshape(-1)
        np.testing.assert_allclose(shares(totals, classes, weight, only_present, mean), expected, rtol=1e-15)
        alike = [shares(totals, classes, each, only_present, mean) for each in (ALIKE, np.ones(classes))]
        np.testing.assert_array_equal(*alike)
