"""Networks are trained with cuts: all learners reach the optimum of all labelings, and certify it."""

from itertools import product

import numpy as np
import pytest

from learners.risks import ListedPlanes, minimum
from setwise.core.bound_loss import BoundLoss
from setwise.core.networks import Graphs
from setwise.inference import MaxFlow
from setwise.learners import LEARNERS, OneSlack, Subgradient
from setwise.losses import Hamming
from setwise.models import GraphModel
from setwise.risks import MeanRisk
from setwise.surrogates import MarginRescaling, Ramp

EDGES = np.array([[0, 1], [1, 2], [4, 3], [5, 3], [5, 4], [4, 5]])
ROWS = np.array(list(product([False, True], repeat=3)))


def problem(seed):
    rng = np.random.default_rng(seed)
    graphs = Graphs(rng.random(6) < 0.5, np.array([0, 3, 6]), EDGES)
    X = rng.standard_normal((6, 2)) + graphs.labels[:, None]
    return graphs, GraphModel(X, rng.random((6, 2)), graphs)


def listed(graphs, model, loss):
    """The planes and losses of all labelings of both sets."""
    planes, values = [], []
    for row in ROWS:
        labels = np.tile(row, 2)
        planes.append(model.pullbacks(graphs.encode(labels) - graphs.target))
        values.append(loss.bind(graphs).values(labels))
    return ListedPlanes(np.array(planes).transpose(1, 0, 2) / 2, np.array(values).T / 2, lower=model.lower, floor=0.0)


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS.keys())
def test_all_learners_reach_the_optimum_under_the_bounds(make):
    held = 0
    for seed in range(5):
        graphs, model = problem(seed)
        risk, every = MeanRisk(model, MarginRescaling(Hamming()).on(graphs)), listed(*problem(seed), Hamming())
        for w in np.random.default_rng(seed).standard_normal((3, model.size)):
            w = np.maximum(w, model.lower)
            assert risk.cut(w).value == pytest.approx(every.cut(w).value)
        best, tol = minimum(every, 5.0), 2e-2 if make is Subgradient else 1e-4
        fit = make(C=5.0, tol=tol, max_iter=5000).minimize(risk)
        assert (fit.w >= model.lower).all()
        assert fit.lower_bound <= best + 1e-6
        assert fit.objective == pytest.approx(fit.upper_bound, rel=1e-12)
        assert fit.upper_bound >= best - 1e-6
        assert fit.objective == pytest.approx(best, rel=1.1 * tol, abs=1e-6)
        held += (fit.w[3:] == 0.0).sum()
    assert 0 < held < 10, "the bounds should matter in some problems and not in all"


def test_the_ramp_lies_between_the_loss_and_margin_rescaling():
    for seed in range(5):
        graphs, model = problem(seed)
        w = np.maximum(np.random.default_rng(seed).standard_normal(model.size), model.lower)
        scores = model.scores(w)
        found = MaxFlow().prepare(BoundLoss(graphs)).maximize(scores)
        loss = Hamming().bind(graphs).values(found.labels)
        ramp, margin = (kind(Hamming()).on(graphs)(scores).values for kind in (Ramp, MarginRescaling))
        assert (loss <= ramp + 1e-12).all()
        assert (ramp <= margin + 1e-12).all()


def test_neighbors_help_where_single_nodes_are_noisy():
    rng = np.random.default_rng(0)
    labels = np.repeat(rng.random(40) < 0.5, 10)
    edges = np.column_stack([np.arange(399), np.arange(1, 400)])
    graphs = Graphs(labels, np.array([0, 400]), edges)
    model = GraphModel((labels + rng.standard_normal(400))[:, None], np.ones((399, 1)), graphs)
    fit = OneSlack(C=1.0, tol=1e-3).minimize(MeanRisk(model, MarginRescaling(Hamming()).on(graphs)))
    cut = MaxFlow().prepare(BoundLoss(graphs)).maximize(model.scores(fit.w)).labels
    alone = model.scores(np.array([1.0, -0.5, 0.0]))[graphs.node_places] > 0
    assert (cut != labels).mean() < 0.5 * (alone != labels).mean()
