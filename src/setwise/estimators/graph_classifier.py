"""GraphClassifier: networks of two labels, trained for a measure of whole sets of nodes."""

from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from setwise.core.arrays import Floats, Values
from setwise.core.evaluator import Surrogate
from setwise.core.inference import Inference, Maximizer
from setwise.core.learner import Learner
from setwise.core.measure import Loss
from setwise.core.refusal import Refusal
from setwise.core.structure import Structure
from setwise.estimators.descent import Trained
from setwise.estimators.fitting import keep_certificates, solve
from setwise.estimators.graph_constraints import GRAPH_CONSTRAINTS
from setwise.estimators.graph_scores import GraphScores
from setwise.estimators.graph_threshold import held_out_bias
from setwise.estimators.network_problem import NetworkProblem, network_problem
from setwise.estimators.networks import Networks, as_graphs, as_node_labels, encode, join, node_classes, shape_of
from setwise.estimators.node_areas import NodeAreas
from setwise.estimators.notices import warn_of_end
from setwise.estimators.threads import threads
from setwise.estimators.versioned import Versioned
from setwise.inference.max_flow import MaxFlow
from setwise.kernels.threads import allowed
from setwise.losses import as_loss
from setwise.models import GraphModel


@final
class GraphClassifier(ClassifierMixin, Versioned):
    """``argmax_y sum_i y_i (<u, x_i> + b) + sum_e <v, z_e> [y_a = y_b]``, ``v >= 0``, trained for a measure of sets.

    The nodes of a graph are decisions with neighbors, as the pixels of an image: an edge is won where both of its ends
    have the same label, so the labeling is a minimum cut. Training minimizes ``0.5 |w|^2 + C mean over sets of
    surrogate(loss)``. By default each graph is a set with a loss of its own, as the Jaccard loss of an image;
    ``groups`` joins graphs to sets with one loss.

    Features of nodes are centred and divided by their deviation over the training nodes, those of edges divided by
    their mean, so they need not be scaled. The regularizer sees weights of scaled features; ``coef_``, ``intercept_``
    and ``edge_coef_`` are those of the features as given.

    Parameters
    ----------
    loss : a loss of two labels, or the short name of one. With areas of nodes it counts areas, and must be Hamming or a
        quotient of counts, as Jaccard and F1. Losses of a ranking, as AUC, can be measured by :meth:`evaluate` only
    surrogate : ``"margin"`` for margin rescaling by the size of the sets, which is convex and certified, ``"ramp"``, or
        ``"slack"``. ``"convex"`` is ``"margin"``. ``"auto"`` takes the ramp, but for losses that are sums over nodes,
        as Hamming, and with ``start="zero"``: there it begins with margin rescaling, and takes the ramp where that
        bound says nothing or little, as in :class:`setwise.SetClassifier`. An object brings its own loss and inference
    inference : ``"auto"``, or an inference object that maximizes loss and score together
    learner, tol, max_iter : as in :class:`setwise.SetClassifier`
    C : the weight of the mean surrogate against the regularizer; ``"auto"`` is 1e4 for the ramp, and otherwise that of
        SetClassifier. With 0 the start stays as it is
    fit_intercept : whether nodes have a constant feature
    pos_label : the positive one of the two labels, by default the last in sorted order
    start : ``"logistic"`` begins at logistic regression of the nodes, whose bias and weights of edges are chosen by the
        training loss, all biases compared; a ``LogisticRegression`` is fitted as it is. ``"zero"`` begins at w = 0.
        ``"auto"`` takes ``"logistic"`` for the ramp and ``"zero"`` for convex surrogates
    threshold : ``"exact"`` moves the intercept to the best of all biases for the loss on held-out graphs. That takes a
        fit for each of 5 folds more
    n_jobs : the number of threads that share the graphs; results do not depend on it
    random_state, verbose, warm_start : as in :class:`setwise.SetClassifier`

    Attributes
    ----------
    coef_, intercept_, edge_coef_ : (1, d), (1,) and (d_e,), the weights of the features of nodes, of the constant, and
        of the features of edges
    classes_ : the two labels; the second one is positive
    surrogate_, C_, objective_, lower_bound_, duality_gap_, history_, n_iter_, status_, stop_reason_, threshold_ : as in
        :class:`setwise.SetClassifier`
    loss_ : the loss that :meth:`score` measures
    n_features_in_ : the number of features of nodes
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = GRAPH_CONSTRAINTS

    def __init__(
        self,
        loss: str | Loss = "jaccard",
        surrogate: str | Surrogate = "auto",
        inference: str | Inference = "auto",
        learner: str | Learner = "auto",
        C: float | str = "auto",
        tol: float = 1e-2,
        max_iter: int = 200,
        fit_intercept: bool = True,
        pos_label: Any = None,
        start: str | LogisticRegression = "auto",
        threshold: str = "zero",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
    ) -> None:
        self.loss = loss
        self.surrogate = surrogate
        self.inference = inference
        self.learner = learner
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.pos_label = pos_label
        self.start = start
        self.threshold = threshold
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start

    def fit(self, graphs: Any, labels: Any, groups: Any = None) -> Self:
        """Train on graphs with labels.

        A fit that raises an error leaves the estimator as it was. After Ctrl-C the best weights so far are stored, a
        warning says so, and KeyboardInterrupt is raised.

        Parameters
        ----------
        graphs : a list of :class:`setwise.graphs.Graph` with equal numbers of features
        labels : a list of arrays (p,), the labels of the nodes of each graph; two labels, numbers or text. The number
            -1 marks a label that is unknown: such a node counts nothing in the loss
        groups : (number of graphs,) the id of the set of each graph; None makes each graph a set
        """
        self._validate_params()
        return self._fit(graphs, labels, groups, None)

    def _fit(self, graphs: Any, labels: Any, groups: Any, shift: float | None) -> Self:
        """:meth:`fit`, with the threshold ``shift`` in place of the one that ``threshold`` asks for, if given."""
        given = as_graphs(graphs)
        names = as_node_labels(labels, given)
        classes = node_classes(names, self.pos_label)
        networks = join(given, encode(names, classes), groups)
        problem = network_problem(self, networks, self._loss_of(networks), threads(self.n_jobs))
        before = dict(self.__dict__)
        try:
            trained = solve(self, problem, self._last(problem))
            if shift is None:
                zero = self.threshold == "zero" or trained.fit.status == "interrupted"
                shift = 0.0 if zero else held_out_bias(self, problem, networks, names)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self._keep(problem, trained, shift, classes)
        if trained.fit.status == "interrupted":
            raise KeyboardInterrupt
        return self

    def predict(self, graphs: Any) -> list[NDArray[Any]]:
        """The labels of the nodes of each graph, a list of arrays (p,): those of greatest score."""
        networks = self._read(graphs)
        return networks.split(self.classes_[self._labels(networks).astype(np.int64)])

    def decision_function(self, graphs: Any) -> list[Values]:
        """The difference of the max-marginals of each node, a list of arrays (p,).

        It is the greatest score of a labeling in which the node is positive, less that of one in which it is not, and
        above 0 exactly where :meth:`predict` is positive.
        """
        networks = self._read(graphs)
        return networks.split(self._marginals(networks))

    def score(self, graphs: Any, labels: Any, groups: Any = None) -> float:
        """``1 - mean loss`` over the sets, which are made as in :meth:`fit`."""
        return self.evaluate(graphs, labels, groups).score

    def evaluate(self, graphs: Any, labels: Any, groups: Any = None, loss: str | Loss | None = None) -> GraphScores:
        """One minus the loss, set by set and of all graphs together, and the shares of positives.

        Parameters
        ----------
        graphs, labels, groups : as in :meth:`fit`
        loss : another loss than ``loss_``; that of a ranking reads :meth:`decision_function`
        """
        given = self._known(graphs)
        codes = encode(as_node_labels(labels, given), self.classes_)
        networks = join(given, codes, groups)
        measure = self.loss_ if loss is None else as_loss(loss)
        if measure.reads == "classes":
            raise Refusal(f"GraphClassifier refuses {measure!r}: it is a loss of more than two classes.")
        seen = self._labels(networks)
        guess: Any = self._marginals(networks) if measure.reads == "scores" else seen
        each, whole = ((self._weighed(measure, part), part) for part in (networks, networks.pooled()))
        values = each[0].values(each[1].sets, guess)
        pooled = float(whole[0].values(whole[1].sets, guess)[0])
        weight = np.where(networks.batch.labels >= 0, 1.0 if networks.areas is None else networks.areas, 0.0)
        total = max(float(weight.sum()), np.finfo(np.float64).tiny)
        shares = (float(weight @ labels) / total for labels in (seen, networks.batch.truth))
        return GraphScores(1.0 - float(values.mean()), 1.0 - pooled, 1.0 - values, *shares)

    def _known(self, graphs: Any) -> Any:
        """Graphs for the fitted model, checked."""
        check_is_fitted(self)
        return as_graphs(graphs, self._shape)

    def _read(self, graphs: Any) -> Networks:
        return join(self._known(graphs), None, None)

    def _bound(self, networks: Networks) -> tuple[Maximizer, Floats]:
        """The search for the best labels, and the scores."""
        w = np.concatenate([self.coef_[0], self.intercept_, self.edge_coef_])
        model = GraphModel(networks.X, networks.Z, networks.batch)
        with np.errstate(over="ignore", invalid="ignore"):
            return MaxFlow().prepare(Structure(networks.batch)), model.scores(w)

    def _labels(self, networks: Networks) -> NDArray[np.bool_]:
        """Which nodes are predicted positive, (total,)."""
        cut, scores = self._bound(networks)
        with allowed(threads(self.n_jobs)):
            return np.asarray(cut.maximize(scores).labels)

    def _marginals(self, networks: Networks) -> Values:
        """The difference of the max-marginals of each node, (total,)."""
        cut, scores = self._bound(networks)
        with allowed(threads(self.n_jobs)):
            found = cut.max_marginals(scores)
        return np.asarray(found[:, 1] - found[:, 0])

    def _loss_of(self, networks: Networks) -> Loss:
        """The loss that is trained for."""
        loss = as_loss(self.loss)
        if loss.reads != "labels":
            raise Refusal(
                f"GraphClassifier refuses to train for {loss!r}, which reads {loss.reads}, not labels 0 and 1. Train "
                "for another loss, and pass this one to evaluate."
            )
        return self._weighed(loss, networks)

    @staticmethod
    def _weighed(loss: Loss, networks: Networks) -> Loss:
        """The loss with the areas of the nodes, if they have any."""
        if networks.areas is None:
            return loss
        return NodeAreas(loss, networks.areas)

    def _last(self, problem: NetworkProblem) -> Values | None:
        """The weights of the last fit, if this one starts there and has as many of them."""
        if not self.warm_start or "coef_" not in self.__dict__:
            return None
        scaling, bias = problem.scaling, float(self.intercept_[0] + self.threshold_)
        if self.coef_.shape[1] != len(scaling.mean) or len(self.edge_coef_) != len(scaling.edge_mean):
            return None
        return scaling.inside(self.coef_[0], bias, self.edge_coef_)

    def _keep(self, problem: NetworkProblem, trained: Trained, shift: float, classes: NDArray[Any]) -> None:
        """Store the result of a fit in the attributes."""
        coef, bias, edges = problem.scaling.given(trained.w)
        self.classes_, self.loss_, self._shape = classes, as_loss(self.loss), shape_of(problem.networks.graphs[0])
        self.n_features_in_ = len(coef)
        # A weight that the bound holds at 0 may be rounded to less.
        self.coef_, self.edge_coef_ = coef[None], np.maximum(edges, 0.0)
        self.intercept_, self.threshold_ = np.array([bias - shift]), shift
        keep_certificates(self, trained)
        warn_of_end(type(self).__name__, trained.fit)
