"""Messages on networks: exact on forests, with a falling bound by tree-reweighting, or a heuristic on cycles.

Costs of labels move into the scores of nodes. Messages and labels are kept between calls.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.batch import segments
from setwise.core.bound_loss import BoundLoss, LabelCosts
from setwise.core.checks import Floats, Ints, Values, as_count, as_number
from setwise.core.inference import NO_SPLIT, Inference, Maximizer, Solutions, Takes, as_base_values
from setwise.core.networks import Graphs, Network
from setwise.core.terms import Mistakes
from setwise.inference.components import each_component
from setwise.kernels.messages import Links, best_labels, forest_order, passed, tree_marginals
from setwise.kernels.networks import arcs
from setwise.kernels.segments import segment_sums

NETWORKS = Takes(
    Network,
    "{kind}: it takes Graphs and ClassGraphs. Use an inference made for {kind}, such as Auto().",
    slack=NO_SPLIT,
    terms=Mistakes | LabelCosts,
    other_terms="the loss is not a sum of one cost per mistake. Use Hamming().",
)
"""What methods for sums of costs on networks take."""


def network_tables(batch: Network, scores: Floats) -> tuple[Values, Values]:
    """Returns the scores of the labels of nodes, (total, k), and those of edges, (m, 1) or (m, k * k), as float64."""
    nodes, pairs = scores[batch.node_columns].astype(np.float64), scores[batch.edge_columns].astype(np.float64)
    if nodes.shape[1] < batch.n_labels:
        # Label 0 of two has no score of its own.
        nodes = np.column_stack([np.zeros(batch.total), nodes])
    return np.ascontiguousarray(nodes), np.ascontiguousarray(pairs)


@final
class PairwiseProblem:
    """The problem ``max_y sum_i f_i(y_i) + sum_e f_e(y_a, y_b)`` of a sum of costs and the scores of a network.

    The bound loss is one that ``NETWORKS`` takes.

    Attributes
    ----------
    batch : the network
    costs : (total, k) costs of the labels; -inf forbids one
    links : its arcs
    """

    def __init__(self, bound_loss: BoundLoss) -> None:
        assert isinstance(bound_loss.batch, Network)
        self.batch = batch = bound_loss.batch
        self.costs: Values = np.stack(label_costs(bound_loss), axis=1)
        network, places = arcs(batch.edges, batch.total)
        numbers = np.empty(2 * len(batch.edges), dtype=np.int64)
        numbers[places] = 2 * np.arange(len(batch.edges))[:, None] + np.arange(2)
        self.links = Links(batch.edges, network.first, numbers, batch.offsets, batch.edge_offsets)

    def tables(self, scores: Floats) -> tuple[Values, Values]:
        """The functions f_i, (total, k), and f_e: (m, 1) where only equal labels win, else (m, k * k)."""
        nodes, pairs = network_tables(self.batch, scores)
        forbidden = self.costs == -np.inf
        if forbidden.any():
            nodes = np.where(forbidden, nodes - self._force(nodes, pairs)[:, None], nodes + self.costs)
        else:
            nodes += self.costs
        return nodes, pairs

    def labels(self, found: Ints) -> NDArray[Any]:
        """Labels in the code of the batch."""
        return found == 1 if isinstance(self.batch, Graphs) else found

    def _force(self, nodes: Values, pairs: Values) -> Values:
        """More than any change of a node's label can win, (total,)."""
        costs = np.where(self.costs == -np.inf, 0.0, self.costs)
        most = 2.0 * np.abs(nodes).max(axis=1) + 2.0 * np.abs(costs).max(axis=1)
        return outweighing(most, self.batch.edges, 2.0 * np.abs(pairs).max(axis=1, initial=0.0))


def stronger(most: Values) -> Values:
    """Numbers above the given ones, which are 0 or more. They are of the same size, so that they add no rounding."""
    return np.maximum(1.5 * most, np.nextafter(0.0, 1.0))


def outweighing(own: Values, edges: Ints, weights: Values) -> Values:
    """Numbers above what a node has by its own and by the weights of all its edges, (total,)."""
    most = own.copy()
    for ends in edges.T:
        most += np.bincount(ends, weights, len(most))
    return stronger(most)


def label_costs(bound_loss: BoundLoss) -> list[Values]:
    """The costs of each label by a sum of costs, (total,); -inf forbids one, and unknown labels cost nothing."""
    batch = bound_loss.batch
    found = [np.zeros(batch.total) for _ in range(batch.n_labels)]
    for term in bound_loss.terms:
        for label, own in enumerate(found):
            if isinstance(term, LabelCosts):
                own += term.costs[:, label]
            elif isinstance(term, Mistakes):
                wrong = batch.labels != batch.labels.dtype.type(label)
                own += np.where(wrong if batch.known is None else wrong & batch.known, term.costs, 0.0)
    return found


class MessageInference(Inference):
    """A method that improves messages between neighbors, beginning with those where the last search ended."""

    approximate: ClassVar[bool] = True
    takes: ClassVar[Takes] = NETWORKS

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return each_component(bound_loss, lambda parts: MessagePassing(self, parts))

    @abstractmethod
    def _search(self, at: "MessagePassing", nodes: Values, pairs: Values, tol: Values, bounds: Values) -> None:
        """Improve the messages and the labels, and write the bounds (n,)."""


@final
class MessagePassing(Maximizer):
    """A search that begins with the messages (m, 2, k) and the labels (total,) where the last one ended."""

    method: MessageInference

    def __init__(self, method: MessageInference, bound_loss: BoundLoss) -> None:
        self.method, self.bound_loss, self.slack = method, bound_loss, False
        self.problem = PairwiseProblem(bound_loss)
        self.messages = np.zeros((len(self.problem.links.edges), 2, bound_loss.batch.n_labels))
        # The first candidate is the true labels, and 0 where they are not known.
        self.found: Ints = np.maximum(bound_loss.batch.labels.astype(np.int64), 0)
        self._owner: tuple[MessagePassing, slice | Ints, slice | Ints] | None = None

    def take(self, parts: Ints) -> "Maximizer":
        chosen = MessagePassing(self.method, self.bound_loss.take(parts))
        batch = self.problem.batch
        nodes, edges = batch.decisions(parts), segments(parts, batch.edge_offsets)
        chosen.messages[:], chosen.found[:] = self.messages[edges], self.found[nodes]
        chosen._owner = self, nodes, edges
        return chosen

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        nodes, pairs = self.problem.tables(scores)
        bounds, batch = np.empty(len(self.problem.batch)), self.problem.batch
        self.method._search(self, nodes, pairs, tol, bounds)
        if self._owner is not None:
            whole, at, edges = self._owner
            whole.found[at], whole.messages[edges] = self.found, self.messages
        labels = self.problem.labels(self.found.copy())
        return self.solved(scores, labels, bounds - batch.at_target(scores))


STILL = 1e-9
"""A set ends once no message changes by more than this share of the mean size of its scores."""

SWEEPS = 20
"""So many sweeps at most lower the bound."""


@final
@dataclass(frozen=True)
class BeliefPropagation(MessageInference):
    """``max_y l(y) + sum_i s_i(y_i) + sum_e s_e(y_a, y_b)``, a heuristic on any network, for modular losses l.

    Each node tells its neighbors in turn what each of their labels may win, given what it has heard from the others
    (max-product, Pearl 1988), forward and back along the order of the nodes. A new message is ``(1 - damping)`` times
    what follows from the others plus ``damping`` times the old one. On trees this is exact; with cycles the messages
    need not settle, and the labels are the best ones seen. Labels are decided one after another in each sweep, and
    improved node by node. Any messages give a bound, for what they add to nodes they take from edges; a few sweeps of
    :class:`setwise.inference.TreeReweightedMessages` that begin with them lower it.

    Parameters
    ----------
    max_iter : the largest number of sweeps forward and back for a set
    damping : in [0, 1)

    Raises
    ------
    TypeError : for a ``max_iter`` that is no whole number, and a ``damping`` that is no number
    ValueError : for a ``max_iter`` below 1, and a ``damping`` outside of [0, 1)
    Refusal : from :meth:`prepare`, for batches other than networks, losses that are not modular, slack rescaling

    Examples
    --------
    >>> from setwise.core.networks import Graphs
    >>> from setwise.core.bound_loss import BoundLoss
    >>> from setwise.inference import BeliefPropagation
    >>> chain = Graphs(np.array([False, False, False]), np.array([0, 3]), np.array([[0, 1], [1, 2]]))
    >>> found = BeliefPropagation().prepare(BoundLoss(chain)).maximize([2.0, -1.0, 2.0, 1.0, 1.0])
    >>> print(found.labels, found.values)  # 2 - 1 + 2, and both edges hold in the target as well
    [ True  True  True] [3.]
    """

    max_iter: int = 100
    damping: float = 0.5

    name: ClassVar[str] = "belief_propagation"
    about: ClassVar[str] = "damped messages between neighbors"

    def __post_init__(self) -> None:
        as_count(self.max_iter, "max_iter")
        as_number(self.damping, "damping", low=0.0, high=1.0, open_high=True)

    def _search(self, at: MessagePassing, nodes: Values, pairs: Values, tol: Values, bounds: Values) -> None:
        links = at.problem.links
        size = segment_sums(np.abs(nodes).mean(axis=1), links.offsets) / np.diff(links.offsets)
        damping, still, most = float(self.damping), STILL * size, self.max_iter
        passed(nodes, pairs, links, at.messages, False, damping, still, most, at.found, bounds)
        # The messages go on without damping, and the labels with them, since only the bound is wanted.
        copy, labels = at.messages.copy(), at.found.copy()
        passed(nodes, pairs, links, copy, True, 0.0, tol, SWEEPS, labels, bounds)


@final
@dataclass(frozen=True)
class TreeReweightedMessages(MessageInference):
    """``max_y l(y) + sum_i s_i(y_i) + sum_e s_e(y_a, y_b)`` with a bound, on any network, for modular losses l.

    TRW-S (Kolmogorov 2006): the edges are divided into chains along the order of the nodes, and each node shares its
    score among its chains. The sum of the maxima of the chains is an upper bound, and no sweep of messages along the
    order raises it. Labels are decided one after another in each sweep; the best ones are improved node by node.

    The bound is computed from the last messages with what rounding may have lost. Where it does not fall to the value,
    the solution is not exact. On trees both meet, but :class:`setwise.inference.TreeMaxProduct` is faster there. A
    sweep costs O(m k) where edges are won by equal labels, and O(m k^2) where they have tables. Scores may have any
    sign. Labels that are not known cost nothing. Messages are kept between calls of a maximizer.

    Parameters
    ----------
    max_iter : the largest number of sweeps forward and back for a set; it ends sooner once the gap is at most ``tol``,
        or once the bound hardly falls

    Raises
    ------
    TypeError : for a ``max_iter`` that is no whole number
    ValueError : for one below 1
    Refusal : from :meth:`prepare`, for batches other than networks, losses that are not modular, slack rescaling

    Examples
    --------
    >>> from setwise.core.networks import ClassGraphs
    >>> from setwise.core.bound_loss import BoundLoss
    >>> from setwise.inference import TreeReweightedMessages
    >>> cycle = ClassGraphs(np.array([1, 1, 1]), np.array([0, 3]), np.array([[0, 1], [1, 2], [0, 2]]), k=2)
    >>> messages = TreeReweightedMessages().prepare(BoundLoss(cycle))
    >>> found = messages.maximize([3.0, 0.0, 0.5, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    >>> print(found.labels, found.values.round(6))  # all 0 score 6.5, all 1, the truth, 4
    [0 0 0] [2.5]
    """

    max_iter: int = 200

    name: ClassVar[str] = "tree_reweighted"
    about: ClassVar[str] = "messages along chains, whose bound falls"

    def __post_init__(self) -> None:
        as_count(self.max_iter, "max_iter")

    def _search(self, at: MessagePassing, nodes: Values, pairs: Values, tol: Values, bounds: Values) -> None:
        links, most = at.problem.links, self.max_iter
        passed(nodes, pairs, links, at.messages, True, 0.0, tol, most, at.found, bounds)


@final
@dataclass(frozen=True)
class TreeMaxProduct(Inference):
    """``max_y l(y) + sum_i s_i(y_i) + sum_e s_e(y_a, y_b)`` on chains and trees, for modular losses l.

    Exact, by messages from the leaves to a root of each tree and back: O(p k) where edges are won by equal labels, and
    O(p k^2) where they have tables. Scores may have any sign. Labels that are not known cost nothing. Max-marginals of
    all nodes cost as much again. Graphs with a cycle are refused.

    Source: max-product on trees (Pearl 1988).

    Raises
    ------
    Refusal : from :meth:`prepare`, for graphs with a cycle, losses that are not modular, slack rescaling

    Examples
    --------
    >>> from setwise.core.networks import ClassGraphs
    >>> from setwise.core.bound_loss import BoundLoss
    >>> from setwise.inference import TreeMaxProduct
    >>> pair = ClassGraphs(np.array([0, 0]), np.array([0, 2]), np.array([[0, 1]]), k=2, tables=True)
    >>> nodes, table = [1.0, 0.0, 1.0, 0.0], [-3.0, 0.0, 0.5, -3.0]  # of (0, 0), (0, 1), (1, 0), (1, 1)
    >>> found = TreeMaxProduct().prepare(BoundLoss(pair)).maximize(nodes + table)
    >>> print(found.labels, found.values)  # the truth (0, 0) scores -1, and (1, 0) scores 1.5
    [1 0] [2.5]
    """

    name: ClassVar[str] = "tree_max_product"
    about: ClassVar[str] = "messages on chains and trees"
    takes: ClassVar[Takes] = NETWORKS

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        assert isinstance(bound_loss.batch, Network)
        if not bound_loss.batch.forest.all():
            return (
                "TreeMaxProduct refuses graphs with a cycle. "
                "Use TreeReweightedMessages, which bounds the maximum there."
            )
        return None

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return _TreeMaxProduct(self, bound_loss)


@final
class _TreeMaxProduct(Maximizer):
    def __init__(self, method: TreeMaxProduct, bound_loss: BoundLoss) -> None:
        self.method, self.bound_loss, self.slack = method, bound_loss, False
        self._problem = PairwiseProblem(bound_loss)
        links = self._problem.links
        self._order, self._parents = forest_order(links.edges, links.first, links.arcs)

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        return self.solved(scores, self._problem.labels(self._best(scores)[0]))

    def max_marginals(self, scores: Any, base: Values | float = 0.0) -> Values:
        found, batch, problem = self.maximize(scores), self.bound_loss.batch, self._problem
        best = found.values + as_base_values(base, len(batch))
        _, pairs, up = self._best(np.asarray(scores))
        tree_marginals(pairs, problem.links.edges, self._order, self._parents, up)
        # What a label loses in its tree, it loses in the set.
        lost = up - up.max(axis=1, keepdims=True)
        return np.where(problem.costs == -np.inf, -np.inf, best[batch.owners][:, None] + lost)

    def _best(self, scores: Floats) -> tuple[Ints, Values, Values]:
        """The best labels, the tables of edges, and the messages to the roots."""
        nodes, pairs = self._problem.tables(scores)
        up, labels = np.empty_like(nodes), np.empty(len(nodes), dtype=np.int64)
        best_labels(nodes, pairs, self._problem.links.edges, self._order, self._parents, up, labels)
        return labels, pairs, up
