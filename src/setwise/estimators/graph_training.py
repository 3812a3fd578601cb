"""The training of a linear model of networks: its objective, and its start at logistic regression of the nodes.

Edges of the start lower the training loss.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn.linear_model import LogisticRegression

from setwise.core.attributes import cached_property
from setwise.core.batch import Classes, Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Ints, Values
from setwise.core.exceptions import Refusal
from setwise.core.inference import Inference, Maximizer
from setwise.core.loss import Loss
from setwise.core.networks import ClassGraphs, Graphs
from setwise.core.pages import EXACT_OR_BOUNDED
from setwise.core.risk import Risk
from setwise.core.surrogate import Surrogate
from setwise.decisions import best_threshold
from setwise.estimators.graph_batches import Networks, without_edges
from setwise.estimators.linear_training import BatchTraining
from setwise.estimators.objective import SCALED, default_c, part_of
from setwise.estimators.set_training import LogisticRegressions, near_scores
from setwise.estimators.sets import Grouping
from setwise.inference.auto import Auto
from setwise.inference.cuts import flips
from setwise.kernels.threads import available, thread_limit
from setwise.learners import OneSlack
from setwise.losses.mistakes import ErrorRate
from setwise.models import GraphModel
from setwise.risks import MeanRisk
from setwise.surrogates.lovasz_hinge import LovaszHinge
from setwise.surrogates.ramp import Ramp
from setwise.surrogates.rescaling import MarginRescaling, SlackRescaling

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
    found = LogisticRegressions(X[known], grouping, grouping.batch.labels, None, intercept, one)
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
    labels = predictor(graphs).maximize(scores).labels
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
    """The bias on all nodes with the least mean loss over the sets, and that loss; only 0 without an intercept."""
    turned, sets = flips(graphs, scores), Sets(graphs.labels, graphs.offsets)
    if not intercept:
        return 0.0, float(loss.values(sets, turned < 0.0).mean())
    try:
        found = best_threshold(sets, -turned, loss)
    except Refusal:
        return _best_of_some(turned, graphs, loss)
    return float(near_scores(-found.threshold, turned.min(), turned.max())), found.loss


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

    As in :func:`setwise.estimators.linear_training.scaled`, but a is doubled from scores of the mean size 1 on, until
    the risk of some sets is as close to their loss as ``CLOSE`` says, or rises: on networks each value of a risk takes
    many cuts.
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


RAMP = 1e4
"""The default C of the ramp. On 14 held-out parts of images of five classes the Jaccard index was .004 +- .002 less
with 1e3, .005 +- .005 more with 1e5, and .002 +- .007 less with 1e6."""


@final
@dataclass(frozen=True, eq=False)
class GraphScaling:
    """Features of nodes are centred and divided by their deviation, those of edges divided by their mean.

    Attributes
    ----------
    mean, deviation : (d,) of the features of nodes; the mean is 0 without an intercept
    edge_mean : (d_e,) of the features of edges
    intercept : whether there is one
    """

    mean: Values
    deviation: Values
    edge_mean: Values
    intercept: bool

    @classmethod
    def of(cls, X: Values, Z: Values, intercept: bool) -> "GraphScaling":
        """The scaling that suits these features; features that do not vary are left as they are."""
        # Squares of tiny or huge features would leave float64, so each is taken in units of its largest number.
        largest = np.abs(X).max(axis=0)
        inner = X / np.where(largest > 0.0, largest, 1.0)
        deviation, edge_mean = largest * inner.std(axis=0), Z.mean(axis=0) if len(Z) else np.ones(Z.shape[1])
        mean = largest * inner.mean(axis=0) if intercept else np.zeros(X.shape[1])
        # A deviation that is rounding alone would blow the feature up.
        flat = deviation <= 1e-12 * largest
        return cls(mean, np.where(flat, 1.0, deviation), np.where(edge_mean > 0.0, edge_mean, 1.0), intercept)

    def nodes(self, X: Values) -> Values:
        """The scaled features of nodes."""
        return np.asarray((X - self.mean) / self.deviation)

    def given(self, w: Values) -> tuple[Values, Values, Values]:
        """Coefficients (k, d), intercepts (k,) and weights of edges for features as given, from weights ``w``."""
        own = w[: len(w) - len(self.edge_mean)].reshape(-1, len(self.mean) + self.intercept)
        coef = own[:, : len(self.mean)] / self.deviation
        bias = own[:, -1] - coef @ self.mean if self.intercept else np.zeros(len(own))
        return coef, bias, w[own.size :] / self.edge_mean

    def inside(self, coef: Values, bias: Values, edges: Values) -> Values:
        """The weights for scaled features; the inverse of :meth:`given`."""
        own = coef * self.deviation
        if self.intercept:
            own = np.column_stack([own, bias + coef @ self.mean])
        return np.concatenate([own.ravel(), edges * self.edge_mean])


@final
@dataclass(frozen=True, eq=False)
class NetworkProblem(BatchTraining):
    """What is trained on, bound once.

    Attributes
    ----------
    networks : the graphs with their labels
    loss : the loss that is trained for and reported, with the areas of the nodes
    inference : the method that maximizes the loss and the score, or None
    scaling : of the features
    """

    networks: Networks
    loss: Loss
    surrogate: str | Surrogate
    inference: Inference | None
    start: str | LogisticRegression
    scaling: GraphScaling
    jobs: int

    @cached_property
    def features(self) -> GraphModel:
        """The linear model of the scores of nodes and edges."""
        X, Z = self.scaling.nodes(self.networks.X), self.networks.Z / self.scaling.edge_mean
        return GraphModel(X, Z, self.batch, float(self.scaling.intercept))

    @property
    def batch(self) -> Graphs | ClassGraphs:
        """The sets with their true labels."""
        return self.networks.batch

    @property
    def multiplications(self) -> int:
        """The number of multiplications for all scores."""
        return self.networks.X.size + self.networks.Z.size

    @property
    def ramp_alone(self) -> bool:
        """Whether ``"auto"`` is the ramp from the beginning: for all losses but sums over nodes.

        The bound of other losses seldom says less than half of the loss of a constant, and then the ramp would be next.
        """
        if self.surrogate != "auto" or self.start == "zero":
            return False
        # Where margin rescaling splits into nodes, its bound is as good as that of an SVM.
        return bool(self.loss.bind(self.batch).split()[1].terms)

    @cached_property
    def constant(self) -> float:
        """The mean loss of the best constant labeling."""
        codes = [False, True] if isinstance(self.batch, Graphs) else range(self.batch.k)
        return min(float(self.loss.values(self.batch, np.full(self.batch.total, c)).mean()) for c in codes)

    @cached_property
    def logistic(self) -> tuple[Values, float]:
        """The weights of the start, and the mean size of their scores.

        They are those of logistic regression with edges, or where the training loss of these is smaller, those of
        margin rescaling of the error rate. A logistic regression that is given stays.
        """
        features, batch, loss, intercept = self.features, self.batch, self.loss, self.scaling.intercept
        with thread_limit(self.jobs):
            nodes = node_weights(features.X, self.networks, intercept, self.start)
            self.starts.append(np.append(nodes, np.zeros(features.size - len(nodes))))
            w = with_edges(nodes, features, batch, loss, intercept)
            self.starts.append(w)
            # With unknown labels margin rescaling is not convex, and with more than two its maximum is no cut.
            if isinstance(self.start, str) and batch.known is None and isinstance(batch, Graphs):
                w = min(w, pairwise(features, batch, loss, intercept), key=self.loss_at)
        return w, mean_size(self.features, self.batch, w)

    @cached_property
    def _predictor(self) -> Maximizer:
        return predictor(self.batch)

    def named(self, name: str) -> Surrogate:
        """The surrogate of this name for the loss."""
        if name == LovaszHinge.name:
            if self.inference is not None:
                raise Refusal(
                    "surrogate='lovasz' refuses an inference: it sorts. Use inference='auto'.", EXACT_OR_BOUNDED
                )
            return LovaszHinge(self.loss)
        if name == SlackRescaling.name:
            return SlackRescaling(self.loss, self.inference)
        if name == Ramp.name:
            return Ramp(self.loss, self.inference, scale="size")
        return MarginRescaling(self.loss, self.inference, scale="size")

    def usual_c(self, surrogate: Surrogate) -> float:
        """The weight of the mean risk that ``C="auto"`` stands for."""
        usual = RAMP if isinstance(surrogate, Ramp) else default_c(surrogate, self.batch.total, self.features.size)
        # Scores are divided by the size of a graph, so a loss that counts nodes moves weights that are as many times
        # as large as those of the share of wrong nodes.
        if getattr(surrogate, "scale", None) != "size":
            return usual
        # The loss of labels that are all wrong is 1 or less for a share, the size of a graph for a count.
        wrong = (self.batch.labels.astype(np.int64) + 1) % self.batch.n_labels
        return usual * max(1.0, float(self.loss.values(self.batch, wrong).mean()))

    def convex(self) -> Surrogate:
        """Margin rescaling by the size of the sets."""
        return self.named(MarginRescaling.name)

    def beginning(self, risk: Risk) -> Values:
        """The start :attr:`logistic`, at a scale that suits the risk."""
        w, size = self.logistic
        return at_scale(risk, w, size, self._losses(w))

    def loss_at(self, w: Values) -> float:
        """The mean training loss of the weights."""
        return float(self._losses(w).mean())

    def _losses(self, w: Values) -> Values:
        """The training loss of each set."""
        with thread_limit(self.jobs):
            labels = self._predictor.maximize(self.features.scores(w)).labels
        return self.loss.values(self.batch, labels)


def predictor(batch: Graphs | ClassGraphs) -> Maximizer:
    """The search for the labels of greatest score: a cut for two labels, for more of them exact on trees alone."""
    return Auto().prepare(BoundLoss(batch))
