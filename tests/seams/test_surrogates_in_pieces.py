"""Surrogates of one set in pieces, in the risk of rows that lie in several places, and in the learners."""

from itertools import pairwise

import numpy as np
import pytest

from setwise.core.batch import Sets
from setwise.learners import NRBM, OneSlack
from setwise.models import RowBlock, RowModel
from setwise.risks import DistributedRisk, MeanRisk, distributed_risk
from setwise.risks.places import LocalObjects, LocalPlaces
from setwise.surrogates import LovaszHinge, MarginRescaling

EDGES = [0, 700, 700, 2500, 4100, 4101, 6000]
SURROGATES = [LovaszHinge("jaccard"), MarginRescaling("auc"), MarginRescaling("auc", scale=3.0)]


def risks(surrogate, monkeypatch):
    """The risk of rows in six places, one of them empty and one with a single row, and that of all in one place."""
    monkeypatch.setattr(distributed_risk, "FEW", 0)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((EDGES[-1], 5))
    truth = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.5 * rng.standard_normal(len(X)) > 1.2
    parts = [slice(a, b) for a, b in pairwise(EDGES)]
    rows, labels = (
        LocalObjects([RowBlock(X[part], 0.5) for part in parts]),
        LocalObjects([truth[part] for part in parts]),
    )
    apart = DistributedRisk(LocalPlaces(len(parts), 1), rows, labels, surrogate)
    assert len(apart.catalog.spread) == 1
    return apart, MeanRisk(RowModel(X, np.array([0, len(X)]), 0.5), surrogate.on(Sets.single(truth)))


@pytest.mark.parametrize("surrogate", SURROGATES, ids=repr)
def test_planes_are_those_of_one_place(surrogate, monkeypatch):
    apart, together = risks(surrogate, monkeypatch)
    rng = np.random.default_rng(1)
    for w in (np.zeros(6), rng.standard_normal(6), 1e-3 * rng.standard_normal(6)):
        wanted = together.cut(w)
        for tol in (0.0, 1e-6, 1e-3):
            found = apart.cut(w, tol)
            assert found.value <= wanted.value * (1 + 1e-9) <= found.upper * (1 + 2e-9)
            assert found.upper - found.value <= max(tol, 1e-9 * wanted.value)
            for other in rng.standard_normal((5, 6)):
                assert found.offset + found.slope @ other <= together.cut(other).value + 1e-9


@pytest.mark.parametrize("learner", [OneSlack(10.0, tol=1e-4), NRBM(10.0, tol=1e-4)], ids=["OneSlack", "NRBM"])
@pytest.mark.parametrize("surrogate", SURROGATES[:2], ids=repr)
def test_learners_reach_the_optimum_of_one_place(surrogate, learner, monkeypatch):
    apart, together = risks(surrogate, monkeypatch)
    found, wanted = learner.minimize(apart), learner.minimize(together)
    assert found.status == wanted.status == "converged"
    assert found.lower_bound <= wanted.objective * (1 + 1e-9)
    assert wanted.lower_bound <= found.objective * (1 + 1e-9)
