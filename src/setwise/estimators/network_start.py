"""Where fits of networks start: logistic regression of the nodes, with edges that lower the training loss."""

from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from setwise.core.arrays import Values
from setwise.core.batch import Batch
from setwise.core.graphs import Graphs
from setwise.core.measure import Loss
from setwise.core.risk import Risk
from setwise.core.sets import Sets
from setwise.decisions import best_threshold
from setwise.estimators.grouping import Grouping
from setwise.estimators.logistic import Logistic
from setwise.estimators.networks import Networks
from setwise.inference.nested_cuts import flips
from setwise.models import GraphModel

FACTORS = 2.0 ** np.arange(-2, 4)
"""The weights of edges that are tried, as multiples of the mean size of the scores of nodes."""

TUNED = 50_000
"""Weights of edges are tried on so many nodes, those of whole sets."""

CLOSE, STEPS = 0.1, 24
"""A start is scaled up until its risk is this close to its loss, as a share of the way from w = 0; doubled so often."""


def node_weights(X: Values, networks: Networks, classes: Any, intercept: bool, model: Any) -> Values:
    """The weights of logistic regression of the nodes with known labels, (d,) or (d + 1,)."""
    batch = networks.batch
    known = np.ones(batch.total, dtype=bool) if batch.known is None else batch.known
    sizes = np.bincount(batch.owners[known], minlength=len(batch))
    sets = Sets(batch.truth[known], np.concatenate([[0], np.cumsum(sizes[sizes > 0])]))
    grouping = Grouping(sets, "vector", np.array([False, True]), None)
    one = model if isinstance(model, LogisticRegression) else None
    found = Logistic(X[known], grouping, sets.truth, None, intercept, one)
    return np.append(found.coef[0], found.intercept) if intercept else found.coef[0]


def with_edges(nodes: Values, features: GraphModel, loss: Loss, intercept: bool) -> tuple[Values, float]:
    """Weights with those of edges, and the best bias, that have the least training loss, and the mean size of scores.

    One weight of edges after the other is chosen among multiples of the mean size of the scores of nodes, as long as
    that lowers the loss of some sets. For each choice the best of all biases is found exactly: labelings are nested in
    the bias. Without an intercept there is no bias.
    """
    graphs = features.graphs
    w = np.append(nodes, np.zeros(features.size - len(nodes)))
    size = float(np.abs(features.scores(w)[graphs.node_places]).mean())
    few = np.unique(np.linspace(0, len(graphs) - 1, max(1, len(graphs) * TUNED // max(graphs.total, TUNED))).astype(int))
    part, chosen = graphs.take(few), loss_of_sets(loss, graphs, few)
    places = np.arange(len(nodes), features.size)
    if len(graphs.edges) and size > 0.0 and np.isfinite(size):
        least = _bias(features.scores(w, few), part, chosen, intercept)[0]
        for place in [*places[::-1], *places[::-1]]:
            for factor in (0.0, *FACTORS):
                tried = w.copy()
                tried[place] = factor * size
                found = _bias(features.scores(tried, few), part, chosen, intercept)[0]
                if found < least - 1e-12:
                    least, w = found, tried
    if intercept:
        w[len(nodes) - 1] += _bias(features.scores(w), graphs, loss, intercept)[1]
    return w, float(np.abs(features.scores(w)[graphs.node_places]).mean())
