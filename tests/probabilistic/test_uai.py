"""Networks of the UAI 2014 evaluation, whose sums and marginals are published."""

import os
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from setwise.probabilistic import exact, l_field, mean_field, superdifferential, tree_reweighted

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif("SETWISE_DATA" not in os.environ, reason="SETWISE_DATA is not set"),
]


@pytest.mark.parametrize("name", ["Segmentation_11", "Segmentation_12", "Segmentation_13"])
def test_sums_and_marginals_are_the_published_ones(name, monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    network = import_module("uai").read(Path(os.environ["SETWISE_DATA"]), name)
    model, found = network.model, exact(network.model)
    assert network.log10(found.value) == pytest.approx(network.sum, rel=5e-6)
    np.testing.assert_allclose(found.marginals, network.marginals, atol=1e-6)
    low, middle, high = superdifferential(model), mean_field(model), l_field(model)
    trees = tree_reweighted(model)
    assert low.value - 1e-9 <= middle.value <= found.value <= min(high.value, trees.value)
    assert trees.value <= high.value
