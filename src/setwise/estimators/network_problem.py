"""The training of a linear model of networks: its objective and its start."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression

from setwise.core.attributes import cached_property
from setwise.core.checks import Values
from setwise.core.exceptions import Refusal
from setwise.core.inference import Inference, Maximizer
from setwise.core.loss import Loss
from setwise.core.networks import ClassGraphs, Graphs
from setwise.core.pages import EXACT_OR_BOUNDED
from setwise.core.risk import Risk
from setwise.core.structure import Structure
from setwise.core.surrogate import Surrogate
from setwise.estimators.descent import Training
from setwise.estimators.learner import default_c
from setwise.estimators.network_start import at_scale, mean_size, node_weights, pairwise, with_edges
from setwise.estimators.networks import Networks
from setwise.inference.auto import Auto
from setwise.kernels.threads import allowed
from setwise.models import GraphModel
from setwise.surrogates.lovasz_hinge import LovaszHinge
from setwise.surrogates.ramp import Ramp
from setwise.surrogates.rescaling import MarginRescaling, SlackRescaling

RAMP = 1e4
"""The default C of the ramp. On 14 held-out parts of images of five classes the Jaccard index was .004 +- .002 less
with 1e3, .005 +- .005 more with 1e5, and .002 +- .007 less with 1e6."""


@final
@dataclass(frozen=True, eq=False)
class Scaling:
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
    def of(cls, X: Values, Z: Values, intercept: bool) -> "Scaling":
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
class NetworkProblem(Training):
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
    scaling: Scaling
    jobs: int
    path: bool = False
    bare: bool = False

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
    def weights(self) -> None:
        """All sets have the same weight."""
        return

    @property
    def multiplications(self) -> int:
        """The number of multiplications for all scores."""
        return self.networks.X.size + self.networks.Z.size

    @property
    def ramp_alone(self) -> bool:
        """Whether ``"auto"`` is the ramp from the beginning: for all losses but sums over nodes.

        The bound of other losses seldom says less than half of the loss of a constant, and then the ramp would be next.
        """
        return self.surrogate == "auto" and self.start != "zero" and not self._modular

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
        with allowed(self.jobs):
            self.starts.append(np.append(self._nodes, np.zeros(features.size - len(self._nodes))))
            w = with_edges(self._nodes, features, batch, loss, intercept)
            self.starts.append(w)
            # With unknown labels margin rescaling is not convex, and with more than two its maximum is no cut.
            if isinstance(self.start, str) and batch.known is None and isinstance(batch, Graphs):
                w = min(w, pairwise(features, batch, loss, intercept), key=self.loss_at)
        return w, mean_size(self.features, self.batch, w)

    @property
    def bare_start(self) -> Values:
        """The same weights: their bias is chosen together with the edges."""
        return self.logistic[0]

    @cached_property
    def _nodes(self) -> Values:
        return node_weights(self.features.X, self.networks, self.scaling.intercept, self.start)

    @cached_property
    def _modular(self) -> bool:
        """Whether margin rescaling splits into nodes, so that its bound is as good as that of an SVM."""
        return not self.loss.structure(self.batch).split()[1].terms

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
        return usual * max(1.0, self._worst) if getattr(surrogate, "scale", None) == "size" else usual

    @property
    def _worst(self) -> float:
        """The mean loss where every label is wrong: 1 or less for a share, the size of a graph for a count."""
        wrong = (self.batch.labels.astype(np.int64) + 1) % self.batch.n_labels
        return float(self.loss.values(self.batch, wrong).mean())

    def convex(self) -> Surrogate:
        """Margin rescaling by the size of the sets."""
        return self.named(MarginRescaling.name)

    def beginning(self, risk: Risk) -> Values:
        """The start :attr:`logistic`, at a scale that suits the risk."""
        w, size = self.logistic
        return at_scale(risk, w, size, self._losses(w))

    def labels_at(self, w: Values) -> NDArray[Any]:
        """The labels that the weights predict, (total,)."""
        with allowed(self.jobs):
            return np.asarray(self._predictor.maximize(self.features.scores(w)).labels)

    def loss_at(self, w: Values) -> float:
        """The mean training loss of the weights."""
        return float(self._losses(w).mean())

    def _losses(self, w: Values) -> Values:
        """The training loss of each set."""
        return self.loss.values(self.batch, self.labels_at(w))


def predictor(batch: Graphs | ClassGraphs) -> Maximizer:
    """The search for the labels of greatest score: a cut for two labels, for more of them exact on trees alone."""
    return Auto().prepare(Structure(batch))


def network_problem(model: Any, networks: Networks, loss: Loss, jobs: int) -> NetworkProblem:
    """The problem of the parameters of ``model``."""
    inference = None if isinstance(model.inference, str) else model.inference
    scaling = Scaling.of(networks.X, networks.Z, model.fit_intercept)
    return NetworkProblem(networks, loss, model.surrogate, inference, model.start, scaling, jobs)
