"""GraphClassifier: networks trained for a measure of whole sets of nodes; how good they are, and their best bias."""

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils.validation import check_is_fitted

from setwise.core.batch import Sets
from setwise.core.checks import Floats, Values
from setwise.core.exceptions import Refusal
from setwise.core.inference import Inference
from setwise.core.learner import Learner
from setwise.core.loss import Loss
from setwise.core.networks import Graphs
from setwise.core.pages import GRAPH_CLASSIFIER, NETWORKS_REFUSE
from setwise.core.surrogate import Surrogate
from setwise.decisions import best_threshold
from setwise.estimators.base import Names, VersionedEstimator, constraints_without, threads, with_parameters
from setwise.estimators.graph_batches import (
    Networks,
    as_graphs,
    as_node_labels,
    encode,
    in_order,
    join,
    known,
    node_classes,
    shape_of,
)
from setwise.estimators.graph_training import GraphScaling, NetworkProblem, predictor
from setwise.estimators.linear_training import LinearFit, keep_certificates, quiet_fits, shift_of, solve
from setwise.estimators.objective import loss_for, with_areas
from setwise.estimators.set_training import near_scores
from setwise.estimators.splits import FOLDS
from setwise.inference.cuts import flips
from setwise.kernels.threads import thread_limit
from setwise.losses import as_loss
from setwise.models import GraphModel


@final
@dataclass(frozen=True, eq=False)
class GraphScores:
    """One minus the loss of predicted labels.

    Attributes
    ----------
    score : one minus the mean loss over the sets: the graphs, or the groups of graphs
    pooled : one minus the loss of all graphs together as one set
    scores : (n,) one minus the loss of each set, in the order of the graphs or of the sorted ids of groups
    predicted, true : the shares of the nodes with known labels, or of their areas, that are predicted positive and that
        are positive; nan with more than two labels
    """

    score: float
    pooled: float
    scores: Values = field(repr=False)
    predicted: float
    true: float


def held_out_bias(model: Any, problem: NetworkProblem, networks: Networks, labels: list[NDArray[Any]]) -> float:
    """What is to be subtracted from the bias, for the least loss on graphs that models like ``model`` have not seen.

    There are 5 folds of sets, or fewer where there are fewer sets; a single set is parted into its graphs. Each node of
    a held-out graph turns positive at one bias (:func:`setwise.inference.cuts.flips`), so the best of all biases
    is a best threshold.
    """
    owners = networks.owners if len(networks.batch) > 1 else np.arange(len(networks.graphs))
    units = int(owners.max()) + 1
    if units < 2:
        raise Refusal(
            "threshold='exact' refuses a single graph: it holds graphs out, and needs at least two.", GRAPH_CLASSIFIER
        )
    names = [labels[i] for i in networks.order]
    turned = np.empty(networks.batch.total)
    for k in range(min(FOLDS, units)):
        held = owners % min(FOLDS, units) == k
        one = clone(model).set_params(verbose=0, warm_start=False)
        with quiet_fits():
            kept = np.flatnonzero(~held)
            seen = np.concatenate([names[i][known(names[i])] for i in kept])
            if len(np.unique(seen)) < 2:
                raise Refusal(
                    "threshold='exact' holds graphs out, and the others have one label alone. Use threshold='zero'.",
                    GRAPH_CLASSIFIER,
                )
            one._fit([networks.graphs[i] for i in kept], [names[i] for i in kept], networks.owners[kept], 0.0)
        at = np.flatnonzero(held[np.repeat(np.arange(len(held)), np.diff(networks.node_offsets))])
        turned[at] = _turned(one, [networks.graphs[i] for i in np.flatnonzero(held)])
    assert isinstance(networks.sets, Sets)
    found = best_threshold(networks.sets, -turned, problem.loss).threshold
    return float(near_scores(found, -turned.max(), -turned.min()))


def _turned(model: Any, graphs: list[Any]) -> Values:
    """The bias at which each node of the graphs turns positive, on top of that of the model."""
    networks = join(tuple(graphs), None, None)
    assert isinstance(networks.batch, Graphs)
    return flips(networks.batch, model._scores(networks))


@final
@with_parameters
class GraphClassifier(ClassifierMixin, VersionedEstimator):
    """``argmax_y sum_i y_i (<u, x_i> + b) + sum_e <v, z_e> [y_a = y_b]``, ``v >= 0``, trained for a measure of sets.

    The nodes of a graph are decisions with neighbors, as the pixels of an image: an edge is won where both of its ends
    have the same label, so the labeling is a minimum cut. Training minimizes ``0.5 |w|^2 + C mean over sets of
    surrogate(loss)``. By default each graph is a set with a loss of its own, as the Jaccard loss of an image;
    ``groups`` joins graphs to sets with one loss. With unknown labels margin rescaling is no longer convex: it descends
    to a local minimum, and has no certificate.

    With k > 2 labels, each has weights of its own, and the score is ``sum_i <u_v, x_i> + b_v`` for the labels v of the
    nodes, and the same for the edges. A loss that tells positives from negatives is averaged over the labels, or taken
    for ``pos_label`` against the rest. The best labeling is exact on trees, and a good one with a bound elsewhere.

    Features of nodes are centred and divided by their deviation over the training nodes, those of edges divided by
    their mean, so they need not be scaled. The regularizer sees weights of scaled features; ``coef_``, ``intercept_``
    and ``edge_coef_`` are those of the features as given.

    Source: DD Eq. 5 and 6 for networks and margin rescaling; the starts and the choice of surrogates are own
    (docs/guide/networks.md).

    Parameters
    ----------
    loss : a loss of labels, or the short name of one. With areas of nodes it counts areas, and must be Hamming or a
        quotient of counts, as Jaccard and F1. Losses of a ranking, as AUC, can be measured by :meth:`evaluate` only
    surrogate : ``"margin"`` for margin rescaling by the size of the sets, which is convex and certified, ``"ramp"``,
        ``"slack"`` for sets of at most 2^20 labelings, or ``"lovasz"`` for graphs without edges. ``"convex"`` is
        ``"margin"``. ``"auto"`` takes the ramp, but for losses that are sums over nodes, as Hamming, and with
        ``start="zero"``: there it begins with margin rescaling, and takes the ramp where that bound says nothing or
        little, as in :class:`setwise.SetClassifier`. An object brings its own loss and inference
    inference : ``"auto"``, or an inference object that maximizes loss and score together
    learner, tol, max_iter : as in :class:`setwise.SetClassifier`
    C : the weight of the mean surrogate against the regularizer; ``"auto"`` is 1e4 for the ramp, 300 for margin
        rescaling by the size of the sets, and 30 for other surrogates, times the mean loss of labels that are all wrong
        where that is above 1, as for a loss that counts nodes: choose it on held-out graphs. With 0 the start
        stays as it is
    fit_intercept : whether nodes have a constant feature
    pos_label : the positive one of two labels, by default the last in sorted order; of more than two the one that the
        loss is about, by default all of them
    start : ``"logistic"`` begins at logistic regression of the nodes, whose bias and weights of edges are chosen by the
        training loss, all biases compared; a ``LogisticRegression`` is fitted as it is. ``"zero"`` begins at w = 0.
        ``"auto"`` takes ``"logistic"`` where the surrogate is not convex, as for the ramp or with unknown labels, and
        ``"zero"`` for convex ones. Where only one label is known of any node, unknown nodes start as the other one
    threshold : ``"exact"`` moves the intercept to the best of all biases for the loss on held-out graphs. That takes a
        fit for each of 5 folds more, and two labels; it adds an intercept where there is none
    n_jobs : the number of threads that share the graphs; results do not depend on it
    random_state, verbose, warm_start : as in :class:`setwise.SetClassifier`

    Attributes
    ----------
    coef_, intercept_, edge_coef_ : (1, d), (1,) and (d_e,), the weights of the features of nodes, of the constant, and
        of the features of edges; (k, d) and (k,) for k > 2 labels
    classes_ : the labels; the second one of two is positive
    surrogate_, C_, history_, threshold_ : as in :class:`setwise.SetClassifier`
    objective_, lower_bound_, duality_gap_ : the training objective, ``0.5 |w|^2 + C mean surrogate``, at the weights; a
        certified lower bound of its minimum; and the relative gap ``(upper - lower) / max(|upper|, C / 1000)`` between
        them: no weights have an objective that is lower by a larger share. It says nothing about the loss, as the IoU.
        For the ramp only 0 bounds the objective, so the gap is 1 and certifies nothing; with ``C=0`` nothing is
        minimized, and it is nan
    n_iter_, status_, stop_reason_ : the number of iterations, and why they ended, in a word and in a sentence; the word
        is ``"converged"`` for a gap within ``tol``, ``"local"`` for an ended descent on the ramp, ``"start"`` with
        ``C=0``, else ``"max_iter"``, ``"stalled"`` or ``"interrupted"``
    loss_ : the loss that :meth:`score` measures
    n_features_in_ : the number of features of nodes

    Raises
    ------
    ValueError : by ``fit``, for parameters out of range, and graphs, labels and groups that do not fit together
    Refusal : a ValueError by ``fit``, where loss, surrogate, inference and graphs do not fit each other
    TypeError : by ``fit``, for anything but a list of graphs
    NotFittedError : by the other methods before ``fit``

    Examples
    --------
    Two chains of eight nodes. The fourth node of the first one looks negative, but its neighbors are positive:

    >>> from setwise import GraphClassifier
    >>> from setwise.graphs import Graph
    >>> seen = [[0.0, 0.2, 1.0, 0.1, 0.9, 1.2, 0.0, 0.1], [0.1, 0.2, 1.2, 0.8, 0.9, 1.0, 0.2, 0.0]]
    >>> truth = [[0, 0, 1, 1, 1, 1, 0, 0]] * 2
    >>> chain = [[i, i + 1] for i in range(7)]
    >>> graphs = [Graph(np.reshape(row, (8, 1)), chain) for row in seen]
    >>> GraphClassifier("jaccard").fit(graphs, truth).predict(graphs)[0].tolist()
    [0, 0, 1, 1, 1, 1, 0, 0]
    >>> alone = [Graph(graph.X, []) for graph in graphs]
    >>> GraphClassifier("jaccard").fit(alone, truth).predict(alone)[0].tolist()
    [0, 0, 1, 0, 1, 1, 0, 0]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **constraints_without("intercept_scaling", "class_weight", "average"),
        "inference": [Names({"auto"}), Inference],
    }

    loss: str | Loss = "jaccard"
    surrogate: str | Surrogate = "auto"
    inference: str | Inference = "auto"
    learner: str | Learner = "auto"
    C: float | str = "auto"
    tol: float = 1e-2
    max_iter: int = 200
    fit_intercept: bool = True
    pos_label: Any = None
    start: str | LogisticRegression = "auto"
    threshold: str = "zero"
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0
    warm_start: bool = False

    def fit(self, graphs: Any, labels: Any, groups: Any = None) -> Self:
        """Train on graphs with labels.

        A fit that raises an error leaves the estimator as it was. After Ctrl-C the best weights so far are stored, a
        warning says so, and KeyboardInterrupt is raised.

        Parameters
        ----------
        graphs : a list of :class:`setwise.graphs.Graph` with equal numbers of features
        labels : a list of arrays (p,), the labels of the nodes of each graph, numbers or text. The number
            -1 marks a label that is unknown: such a node counts nothing in the loss
        groups : (number of graphs,) the id of the set of each graph; None makes each graph a set

        Returns
        -------
        self : the fitted classifier

        Raises
        ------
        ValueError : for parameters out of range, and graphs, labels and groups that do not fit together
        Refusal : a ValueError, where loss, surrogate, inference and graphs do not fit each other
        TypeError : for anything but a list of graphs, and a list of their labels
        """
        self._validate_params()
        return self._fit(graphs, labels, groups, None)

    def _fit(self, graphs: Any, labels: Any, groups: Any, shift: float | None) -> Self:
        """:meth:`fit`, with the threshold ``shift`` in place of the one that ``threshold`` asks for, if given."""
        given = as_graphs(graphs)
        names = as_node_labels(labels, given)
        classes = node_classes(names, self.pos_label, as_loss(self.loss).weak)
        given, names, groups = in_order(given, names, groups)
        networks = join(given, encode(names, classes), groups, len(classes))
        loss = self._loss_of(networks, classes)
        inference = None if isinstance(self.inference, str) else self.inference
        scaling = GraphScaling.of(networks.X, networks.Z, self.fit_intercept)
        train, jobs = with_areas(loss, networks.areas), threads(self.n_jobs)
        problem = NetworkProblem(networks, train, self.surrogate, inference, self.start, scaling, jobs)
        with self._unchanged_by_errors():
            trained = solve(self, problem, self._last(problem))
            shift, interrupted = shift_of(self, trained, shift, lambda: held_out_bias(self, problem, networks, names))
        self._keep(problem, trained, shift, classes, loss)
        if interrupted:
            raise KeyboardInterrupt
        return self

    def predict(self, graphs: Any) -> list[NDArray[Any]]:
        """The labels of the nodes of each graph: the labeling of greatest score.

        Parameters
        ----------
        graphs : a list of :class:`setwise.graphs.Graph` with the numbers of features of those in ``fit``

        Returns
        -------
        labels : a list of arrays (p,) of ``classes_``, one for each graph of p nodes

        Raises
        ------
        ValueError : for graphs with other features than in ``fit``, and for an empty list
        TypeError : for anything but a list of graphs
        NotFittedError : before ``fit``
        """
        networks = self._read(graphs)
        return networks.split(self.classes_[self._labels(networks).astype(np.int64)])

    def decision_function(self, graphs: Any) -> list[Values]:
        """The difference of the max-marginals of each node.

        It is the greatest score of a labeling in which the node is positive, less that of one in which it is not, and
        above 0 exactly where :meth:`predict` is positive. With k > 2 labels it is the max-marginal of each label, on
        trees.

        Parameters
        ----------
        graphs : a list of :class:`setwise.graphs.Graph` with the numbers of features of those in ``fit``

        Returns
        -------
        scores : a list of arrays, one for each graph of p nodes: (p,), or (p, k) with k > 2 labels

        Raises
        ------
        Refusal : a ValueError, for more than two labels on graphs with cycles
        ValueError : for graphs with other features than in ``fit``, and for an empty list
        TypeError : for anything but a list of graphs
        NotFittedError : before ``fit``
        """
        networks = self._read(graphs)
        return networks.split(self._marginals(networks))

    def score(self, graphs: Any, labels: Any, groups: Any = None) -> float:
        """``1 - mean loss`` over the sets, which are made as in :meth:`fit`.

        It compares labels of nodes: of superpixels, that is not the measure of the painted masks; see :meth:`evaluate`.

        Parameters
        ----------
        graphs : a list of :class:`setwise.graphs.Graph` with the numbers of features of those in ``fit``
        labels : a list of arrays (p,), the labels of the nodes of each graph, -1 where unknown
        groups : (number of graphs,) the id of the set of each graph; None makes each graph a set

        Returns
        -------
        score : one number; 1 if the loss is undefined for all sets

        Raises
        ------
        ValueError : for graphs, labels and groups that do not fit together or do not fit the model
        TypeError : for anything but a list of graphs, and a list of their labels
        NotFittedError : before ``fit``
        """
        return self.evaluate(graphs, labels, groups).score

    def evaluate(self, graphs: Any, labels: Any, groups: Any = None, loss: str | Loss | None = None) -> GraphScores:
        """One minus the loss, set by set and of all graphs together, and for two labels the shares of positives.

        A superpixel has one label here, which counts all its pixels. A mask may also cut through superpixels, so its
        IoU with ``graph.paint(predicted)`` is another one, and mostly lower.

        Parameters
        ----------
        graphs, labels : as in :meth:`fit`
        groups : (n,) an id for each graph, or None: graphs of one id are one set
        loss : another loss than ``loss_``; that of a ranking reads :meth:`decision_function`

        Returns
        -------
        scores : ``score`` of the sets and ``pooled`` of all graphs, each one minus the loss; ``scores`` (n,) of the
            sets; and the shares ``predicted`` and ``true`` of positive nodes, which are nan with more than two labels

        Raises
        ------
        ValueError, TypeError : as :meth:`fit`, for graphs, labels and groups that do not fit
        Refusal : for a loss that the graphs cannot have
        """
        given = self._known(graphs)
        codes = encode(as_node_labels(labels, given), self.classes_)
        networks = join(given, codes, groups, len(self.classes_))
        measure = loss_for(self.loss_ if loss is None else as_loss(loss), networks.grouping(self.classes_), None)
        seen = self._labels(networks)
        guess: Any = self._marginals(networks) if measure.reads == "scores" else seen
        parts = networks, networks.pooled()
        values, pooled = (part.losses(with_areas(measure, part.areas), guess) for part in parts)
        shares = [np.nan, np.nan]
        if len(self.classes_) == 2:
            weight = np.where(networks.batch.labels >= 0, 1.0 if networks.areas is None else networks.areas, 0.0)
            total = max(float(weight.sum()), np.finfo(np.float64).tiny)
            shares = [float(weight @ labels) / total for labels in (seen, networks.batch.truth)]
        return GraphScores(1.0 - float(values.mean()), 1.0 - float(pooled[0]), 1.0 - values, *shares)

    def _known(self, graphs: Any) -> Any:
        """Graphs for the fitted model, checked."""
        check_is_fitted(self)
        return as_graphs(graphs, self._shape)

    def _read(self, graphs: Any) -> Networks:
        return join(self._known(graphs), None, None, len(self.classes_))

    def _scores(self, networks: Networks) -> Floats:
        """The scores of nodes and edges."""
        w = np.concatenate([np.ravel(np.column_stack([self.coef_, self.intercept_])), self.edge_coef_])
        with np.errstate(over="ignore", invalid="ignore"):
            return GraphModel(networks.X, networks.Z, networks.batch).scores(w)

    def _labels(self, networks: Networks) -> NDArray[Any]:
        """The codes of the labels that are predicted, (total,)."""
        scores = self._scores(networks)
        with thread_limit(threads(self.n_jobs)):
            return np.asarray(predictor(networks.batch).maximize(scores).labels)

    def _marginals(self, networks: Networks) -> Values:
        """The difference of the max-marginals of each node, (total,), or on trees those of all k labels, (total, k)."""
        if len(self.classes_) > 2 and not networks.batch.forest.all():
            raise Refusal(
                f"decision_function refuses {len(self.classes_)} labels on graphs with cycles: max-marginals are only "
                "bounded there. Use predict.",
                GRAPH_CLASSIFIER,
            )
        scores = self._scores(networks)
        with thread_limit(threads(self.n_jobs)):
            found = predictor(networks.batch).max_marginals(scores)
        return found if len(self.classes_) > 2 else np.asarray(found[:, 1] - found[:, 0])

    def _loss_of(self, networks: Networks, classes: NDArray[Any]) -> Loss:
        """The loss that is reported, without areas."""
        loss = as_loss(self.loss)
        if loss.reads == "scores":
            raise Refusal(
                f"GraphClassifier refuses to train for {loss!r}, which reads scores, not labels. Train for another "
                "loss, and pass this one to evaluate.",
                NETWORKS_REFUSE,
            )
        if len(classes) > 2 and self.threshold == "exact":
            raise Refusal(
                f"GraphClassifier refuses threshold='exact' for {len(classes)} labels: use 'zero', or two labels.",
                GRAPH_CLASSIFIER,
            )
        return loss_for(loss, networks.grouping(classes), self.pos_label)

    def _last(self, problem: NetworkProblem) -> Values | None:
        """The weights of the last fit, if this one starts there and has as many of them."""
        if not self.warm_start or "coef_" not in self.__dict__:
            return None
        scaling = problem.scaling
        if self.coef_.shape[1] != len(scaling.mean) or len(self.edge_coef_) != len(scaling.edge_mean):
            return None
        last = scaling.inside(self.coef_, self.intercept_ + self.threshold_, self.edge_coef_)
        return last if len(last) == problem.features.size else None

    def _keep(
        self, problem: NetworkProblem, trained: LinearFit, shift: float, classes: NDArray[Any], loss: Loss
    ) -> None:
        """Store the result of a fit in the attributes."""
        coef, bias, edges = problem.scaling.given(trained.w)
        self.classes_, self.loss_, self._shape = classes, loss, shape_of(problem.networks.graphs[0])
        self.n_features_in_ = coef.shape[1]
        # A weight that the bound holds at 0 may be rounded to less.
        self.coef_, self.edge_coef_ = coef, np.maximum(edges, 0.0)
        self.intercept_, self.threshold_ = bias - shift, shift
        keep_certificates(self, trained)
