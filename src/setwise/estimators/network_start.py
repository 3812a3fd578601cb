"""Where fits of networks start: logistic regression of the nodes, with edges that lower the training loss."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from setwise.core.batch import Classes, Sets
from setwise.core.checks import Ints, Values
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.networks import ClassGraphs, Graphs
from setwise.core.risk import Risk
from setwise.core.structure import Structure
from setwise.decisions import best_threshold
from setwise.estimators.grouping import Grouping
from setwise.estimators.learner import SCALED
from setwise.estimators.logistic import Logistic
from setwise.estimators.networks import Networks, without_edges
from setwise.estimators.node_areas import part_of
from setwise.inference.auto import Auto
from setwise.inference.cuts import flips
from setwise.kernels.threads import available
from setwise.learners import OneSlack
from setwise.losses.mistakes import ErrorRate
from setwise.models import GraphModel
from setwise.risks import MeanRisk
from setwise.surrogates.rescaling import MarginRescaling

FACTORS = np.array([0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0])
"""The weights of edges that are tried, as multiples of the mean size of the scores of nodes."""

SINGLY = 4
"""So many weights of edges are tried one after the other; more of them together, as equal weights."""

TUNED = 25_000
"""Weights of edges are tried on so many nodes, those of whole sets."""

CLOSE, DOUBLED, MOST = 0.03, 20, 8
"""A start is scaled up until its risk is this close to its loss, as a share of the way from w = 0; doubled so often,
by the risk of so many sets. On the same held-out parts .1 gained .011 +- .011 in three times the seconds, and .01 lost
.002 +- .005."""

BIASES = 65
"""The number of biases that are compared for losses of weak labels."""

PAIRWISE_TOL, PAIRWISE_STEPS = 2e-2, 100
"""The gap and the number of steps at which the convex start ends: it is a start, and no more."""


def node_weights(X: Values, networks: Networks, intercept: bool, model: Any) -> Values:
    """The weights of logistic regression of the nodes with known labels, those of a label after those before it."""
    batch = networks.batch
    known = np.ones(batch.total, dtype=bool) if batch.known is None else batch.known
    truth = batch.truth
    if isinstance(batch, Graphs) and len(np.unique(truth[known])) < 2:
        # With boxes alone, the box is the object (HOL 5.2).
        truth = truth if truth.any() else ~known
        known = np.ones(batch.total, dtype=bool)
    sizes = np.bincount(batch.owners[known], minlength=len(batch))
    ends = np.concatenate([[0], np.cumsum(sizes[sizes > 0])])
    if isinstance(batch, Graphs):
        grouping = Grouping(Sets(truth[known], ends), "vector", np.array([False, True]), None)
    else:
        grouping = Grouping(Classes(batch.labels[known], ends, batch.k), "classes", np.arange(batch.k), None)
    one = model if isinstance(model, LogisticRegression) else None
    found = Logistic(X[known], grouping, grouping.batch.labels, None, intercept, one)
    return np.ravel(np.column_stack([found.coef, found.intercept]) if intercept else found.coef)


def with_edges(
    nodes: Values, features: GraphModel, graphs: Graphs | ClassGraphs, loss: Loss, intercept: bool
) -> Values:
    """Weights (d,) with those of edges and the bias that have the least training loss, from the weights of nodes.

    One weight of edges after the other is chosen among multiples of the mean size of the scores of nodes, until no
    single one can be better. More than ``SINGLY`` weights are equal, and their sum is chosen in this way. For two
    labels the bias is the best of all for each choice, since labelings are nested in it. Without an intercept there is
    none.
    """
    w = np.append(nodes, np.zeros(features.size - len(nodes)))
    size = mean_size(features, graphs, w)
    few = np.unique(
        np.linspace(0, len(graphs) - 1, max(1, len(graphs) * TUNED // max(graphs.total, TUNED))).astype(int)
    )
    if not _fits(loss, graphs, few):
        few = np.arange(len(graphs))
    if len(graphs.edges) and size > 0.0:
        seen: dict[bytes, float] = {}

        def tried(edges: Values) -> float:
            """The training loss of weights of edges, with the best bias."""
            if edges.tobytes() not in seen:
                scores = features.scores(np.append(nodes, edges), few)
                seen[edges.tobytes()] = _least(scores, graphs.take(few), part_of(loss, graphs, few), intercept)
            return seen[edges.tobytes()]

        count = features.size - len(nodes)
        # Each try takes cuts for all biases, so that 13 features took most of the time of a fit.
        moves = np.eye(count) if count <= SINGLY else np.full((1, count), 1.0 / count)
        w[len(nodes) :] = _descend(np.zeros(len(moves)), FACTORS * size, lambda steps: tried(steps @ moves)) @ moves
    if intercept and isinstance(graphs, Graphs):
        w[len(nodes) - 1] += best_bias(features.scores(w), graphs, loss)[0]
    return w


def _fits(loss: Loss, graphs: Graphs | ClassGraphs, parts: Ints) -> bool:
    """Whether the loss fits the chosen sets alone: some have numbers for each set of the batch."""
    try:
        part_of(loss, graphs, parts).check(graphs.take(parts))
    except ValueError:
        return False
    return True


def _least(scores: Values, graphs: Graphs | ClassGraphs, loss: Loss, intercept: bool) -> float:
    """The mean loss of the labels of greatest score, for two labels with the best bias."""
    if isinstance(graphs, Graphs):
        return best_bias(scores, graphs, loss, intercept)[1]
    labels = Auto().prepare(Structure(graphs)).maximize(scores).labels
    return float(loss.values(without_edges(graphs), labels).mean())


def pairwise(features: GraphModel, graphs: Graphs, loss: Loss, intercept: bool) -> Values:
    """The weights of least margin rescaling of the error rate, whose worst labelings are cuts, and the best bias."""
    risk = MeanRisk(features, MarginRescaling(ErrorRate(), scale="size").on(graphs), n_jobs=available())
    fit = OneSlack(SCALED, PAIRWISE_TOL, PAIRWISE_STEPS).minimize(risk)
    if fit.status == "interrupted":
        raise KeyboardInterrupt
    w: Values = fit.w
    if intercept:
        w[features.size - features.Z.shape[1] - 1] += best_bias(features.scores(w), graphs, loss)[0]
    return w


def _descend(start: Values, values: Values, tried: Callable[[Values], float]) -> Values:
    """The best of the points that differ from the best one so far in one place, until there is no better one."""
    best = start
    while True:
        before = best
        for place in range(len(start)):
            points = [np.where(np.arange(len(start)) == place, value, best) for value in values]
            best = min([best, *points], key=tried)
        if best is before:
            return best


def best_bias(scores: Values, graphs: Graphs, loss: Loss, intercept: bool = True) -> tuple[float, float]:
    """The bias on all nodes with the least mean loss over the sets, and that loss; only 0 without an intercept.

    A bias that predicts none or all is put beyond those at which nodes turn, so that it stays finite.
    """
    turned, sets = flips(graphs, scores), Sets(graphs.labels, graphs.offsets)
    if not intercept:
        return 0.0, float(loss.values(sets, turned < 0.0).mean())
    try:
        found = best_threshold(sets, -turned, loss)
    except Refusal:
        return _best_of_some(turned, graphs, loss)
    spread = max(float(np.ptp(turned)), 1.0)
    return float(np.clip(-found.threshold, turned.min() - spread, turned.max() + spread)), found.loss


def _best_of_some(turned: Values, graphs: Graphs, loss: Loss) -> tuple[float, float]:
    """The best of ``BIASES`` biases for a loss that is no function of counts."""
    ends = np.quantile(turned, np.linspace(0.0, 1.0, BIASES - 1), method="nearest")
    spread = max(float(np.ptp(turned)), 1.0)
    biases = np.concatenate([[turned.min() - spread], 0.5 * (ends[1:] + ends[:-1]), [turned.max() + spread]])
    losses = [float(loss.values(graphs, turned < bias).mean()) for bias in biases]
    best = int(np.argmin(losses))
    return float(biases[best]), losses[best]


def mean_size(features: GraphModel, graphs: Graphs | ClassGraphs, w: Values) -> float:
    """The mean size of the scores of nodes."""
    return float(np.abs(features.scores(w)[graphs.node_columns]).mean())


def at_scale(risk: Risk, w: Values, size: float, losses: Values) -> Values:
    """``a w`` with an a whose risk is close to the training losses (n,) of w, which do not depend on a.

    As in :func:`setwise.estimators.start.scaled`, but a is doubled from scores of the mean size 1 on, until the risk of
    some sets is as close to their loss as ``CLOSE`` says, or rises: on networks each value of a risk takes many cuts.
    """
    if size == 0.0 or not np.isfinite(size):
        return w
    parts = np.unique(np.linspace(0, len(losses) - 1, MOST).astype(int))
    share, loss = len(parts) / len(losses), float(losses[parts].mean())

    def value(point: Values, tol: float) -> float:
        """The mean risk of the chosen sets, all of which have the same weight."""
        return float(risk.cuts(point, parts, tol * share).values.sum()) / share

    away = max(value(np.zeros(risk.size), 0.0) - loss, 0.0)
    best, least = w / size, np.inf
    for doubled in range(DOUBLED):
        point = 2.0**doubled * w / size
        found = value(point, 0.2 * CLOSE * away)
        if found >= least:
            break
        best, least = point, found
        if found - loss <= CLOSE * away:
            break
    return best
