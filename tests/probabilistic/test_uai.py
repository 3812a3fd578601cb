"""Networks of the UAI 2014 evaluation, whose sums and marginals are published."""

import os
from pathlib import Path

import numpy as np
import pytest

from setwise.probabilistic import Cut, LogSupermodular, exact, l_field, mean_field, superdifferential, tree_reweighted

pytestmark = [
    pytest.mark.realdata,
    pytest.mark.skipif("SETWISE_DATA" not in os.environ, reason="SETWISE_DATA is not set"),
]


def read(name):
    """The distribution of a network of pairs, what it adds to ``-log Z``, the published log10 Z and marginals."""
    folder = Path(os.environ["SETWISE_DATA"]) / "uai2014" / "models"
    words = iter((folder / f"{name}.uai").read_text().split())
    assert next(words) == "MARKOV"
    p = int(next(words))
    assert [next(words) for _ in range(p)] == ["2"] * p
    scopes = [[int(next(words)) for _ in range(int(next(words)))] for _ in range(int(next(words)))]
    unary, constant, edges, weights = np.zeros(p), 0.0, [], []
    for scope in scopes:
        e = -np.log([float(next(words)) for _ in range(int(next(words)))])
        constant += e[0]
        if len(scope) == 1:
            unary[scope[0]] -= e[1] - e[0]
        else:
            w = 0.5 * (e[1] + e[2] - e[0] - e[3])
            unary[scope] -= e[2] - e[0] - w, e[1] - e[0] - w
            edges.append(scope)
            weights.append(w)
    published = float((folder / f"{name}.uai.PR").read_text().split()[-1])
    marginals = np.array((folder / f"{name}.uai.MAR").read_text().split()[2:], float).reshape(-1, 3)[:, 2]
    return LogSupermodular([Cut(p, edges, weights)], unary), constant, published, marginals


@pytest.mark.parametrize("name", ["Segmentation_11", "Segmentation_12", "Segmentation_13"])
def test_sums_and_marginals_are_the_published_ones(name):
    model, constant, published, marginals = read(name)
    found = exact(model)
    assert (found.value - constant) / np.log(10) == pytest.approx(published, rel=5e-6)
    np.testing.assert_allclose(found.marginals, marginals, atol=1e-6)
    low, middle, high = superdifferential(model), mean_field(model), l_field(model)
    trees = tree_reweighted(model)
    assert low.value - 1e-9 <= middle.value <= found.value <= min(high.value, trees.value)
    assert trees.value <= high.value
