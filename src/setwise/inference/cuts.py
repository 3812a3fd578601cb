"""Methods made of minimum cuts: the second best labeling, the cuts of all biases, moves, and labels that fall.

The zero-one loss needs the second best labeling where the best one is the truth. Over all biases each node turns
positive at one, and stays so. Moves of alpha-expansion let any nodes change to one label. Labels that must not rise
along given arcs are completed by one cut.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.attributes import cached_property
from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Floats, Ints, Values, as_count, as_kind, as_scores
from setwise.core.counts import Counts
from setwise.core.inference import NO_SPLIT, Inference, Maximizer, Solutions, Takes
from setwise.core.networks import ClassGraphs, Graphs
from setwise.core.terms import Mistakes, Precedence, Trait
from setwise.inference.components import each_component
from setwise.inference.max_flow import (
    BLOCK,
    GRAPHS,
    ArcNetwork,
    CutMaximizer,
    FlowNetwork,
    MaxFlow,
    attracting,
    blocks,
    modular_part,
    wirings,
)
from setwise.inference.message_passing import NETWORKS, PairwiseProblem, TreeReweightedMessages, stronger
from setwise.kernels.cuts import accept, cut, cut_bounds, cut_losses, nest, propose, read_labels
from setwise.kernels.max_flow import SearchForest, new_forest
from setwise.kernels.networks import Arcs, arcs
from setwise.kernels.segments import count_true, segment_sums
from setwise.kernels.threads import map_units


@final
@dataclass(frozen=True)
class SecondBestLabeling(Inference):
    """``max_y c [y is not the truth] + l(y) + <s, phi(y)>`` on networks whose edges have scores of 0 or above.

    This is the constant margin (HOL Eq. 1), the zero-one loss times c, with a sum l of costs of single mistakes if
    there is one. The labeling of greatest ``l(y) + <s, phi(y)>`` is a minimum cut. It is the answer unless it is the
    truth. Then the best rival has some label wrong, so it is the best of all max-marginals of single wrong labels. They
    come from one further cut for each node, and each cut begins with the last one. Exact. Labels that are not known are
    no mistakes.

    Raises
    ------
    ValueError : from its maximizers, for scores of edges below 0
    Refusal : from :meth:`prepare`, for batches other than ``Graphs``, losses that are not the zero-one loss with costs
        of mistakes, slack rescaling

    Examples
    --------
    >>> from setwise.core.networks import Graphs
    >>> from setwise.inference import SecondBestLabeling
    >>> from setwise.losses import ZeroOne
    >>> image = Graphs.images([np.array([[True, True, False]])])
    >>> found = SecondBestLabeling().prepare(ZeroOne().bind(image)).maximize([2.0, 0.75, -2.0, 0.5, 0.5])
    >>> print(found.labels, found.values)  # the truth scores 3.25, its best rival 2.5 and wins 1 for being wrong
    [ True False False] [0.25]
    """

    name: ClassVar[str] = "second_best"
    about: ClassVar[str] = "the best labeling of a network that is not the true one"
    takes: ClassVar[Takes] = GRAPHS

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        if margins(bound_loss) is None:
            return (
                f"SecondBestLabeling refuses {bound_loss!r}: not all labelings with a mistake cost the same. Use "
                "Auto()."
            )
        return None

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return _SecondBestLabeling(self, bound_loss)


def margins(bound_loss: BoundLoss) -> Values | None:
    """What the first mistake of each set costs, (n,), where no further one costs more; None for other losses."""
    terms = bound_loss.split()[1].terms
    if len(terms) != 1 or not isinstance(terms[0], Counts):
        return None
    counts = terms[0]
    kinds = {Trait.INCREASING, Trait.SUBMODULAR, Trait.CARDINALITY}
    if not kinds <= counts.traits or counts.predicted is not None or counts.areas is not None:
        return None
    # The gains of a submodular function of the number of mistakes fall, so if the second is 0, all others are.
    P, N, none = counts.P, counts.N, np.zeros(len(counts.P))
    first = np.where(P > 0, counts.of(np.minimum(P, 1.0), none), counts.of(none, np.minimum(N, 1.0)))
    fn = np.minimum(P, 2.0)
    second = counts.of(fn, np.minimum(N, 2.0 - fn))
    return first - counts.origin if (second <= first).all() else None


@final
class _SecondBestLabeling(Maximizer):
    def __init__(self, method: SecondBestLabeling, bound_loss: BoundLoss) -> None:
        self.method, self.bound_loss, self.slack = method, bound_loss, False
        self._cut = MaxFlow().prepare(modular_part(bound_loss))
        margin = margins(bound_loss)
        assert margin is not None
        self._margins, self._rest = margin, bound_loss.split()[1]
        self._units: dict[int, Maximizer] = {}

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        batch, found = self.bound_loss.batch, self._cut.solve(scores, tol)
        right = count_true(batch.mistakes(found.labels), batch.offsets) == 0
        labels, bounds = found.labels.copy(), found.bounds + self._rest.values(found.labels)
        for i in np.flatnonzero(right):
            part = np.array([i])
            if i not in self._units:
                self._units[int(i)] = self._cut.take(part)
            own = scores[batch.score_offsets[i] : batch.score_offsets[i + 1]]
            rival = _rival(self._units[int(i)], own)
            if rival is None:
                continue
            bounds[i] = max(bounds[i], float(rival.bounds[0] + self._margins[i]))
            if rival.values[0] + self._margins[i] > found.values[i]:
                labels[batch.decisions(part)] = rival.labels
        return self.solved(scores, labels, bounds)


def _rival(cut: Maximizer, scores: Floats) -> Solutions | None:
    """The best labeling of one set with a mistake; None where none is allowed."""
    batch = cut.bound_loss.batch
    other = np.where(batch.truth, 0, 1)
    wrong = cut.max_marginals(scores)[np.arange(batch.total), other]
    wrong = wrong if batch.known is None else np.where(batch.known, wrong, -np.inf)
    node = int(wrong.argmax())
    if wrong[node] == -np.inf:
        return None
    forced = np.full(batch.total, -1)
    forced[node] = other[node]
    return cut.best(scores, forced)


class ParametricCuts(NamedTuple):
    """The cuts for all biases and their flow.

    Attributes
    ----------
    turned : (total,) the bias at which each node turns
    point : (total,) what a flow within the scores of edges carries out of each node, less its score; it is ``turned``
        but for rounding, and a point of the base polytope whatever was rounded, but for the sums at each node
    """

    turned: Values
    point: Values


def flips(graphs: Graphs, scores: ArrayLike) -> Values:
    """``t_i``, (total,): node i is positive in the best labeling with the bias b on all nodes exactly where b > t_i.

    The labelings of greatest score are nested: a larger bias takes no label back (Gallo, Grigoriadis and Tarjan 1989).
    Of several best labelings the one with the fewest positives counts. So ``-t`` are scores of independent decisions
    whose thresholds are the biases of the network, and the best of all biases for a loss is a best threshold.

    All nodes of a set turn at once at the bias ``-(sum of scores) / (number of nodes)``, or a cut there parts those
    that turn before from those that turn after; both parts are networks of their own, in which the flow goes on. The
    sets of a level are cut together, so the cost is at most that of one cut for each level of the partition.

    Parameters
    ----------
    graphs : networks of two labels; their labels are not read
    scores : (n_scores,) finite, those of edges 0 or above
    """
    return nested(graphs, scores).turned


def nested(graphs: Graphs, scores: ArrayLike) -> ParametricCuts:
    """:func:`flips` with the flow that proves it."""
    as_kind(graphs, "graphs", Graphs, "Graphs(labels, offsets, edges)")
    given = as_scores(scores, graphs.n_scores)
    nodes, edges = given[graphs.node_places].astype(np.float64), attracting(given, given[graphs.edge_places])
    found = ParametricCuts(np.empty(graphs.total), np.empty(graphs.total))

    def cut(wires: FlowNetwork) -> None:
        own = slice(wires.first, wires.last)
        forest = new_forest(wires.network, wires.last - wires.first)
        capacities = np.zeros(len(forest.capacities))
        wires.place(edges[wires.edges], capacities)
        part = graphs.owners[own] - graphs.owners[wires.first]
        nest(wires.network, forest, capacities, nodes[own], part, found.turned[own], found.point[own])

    map_units(cut, wirings(graphs, BLOCK))
    return found


@final
@dataclass(frozen=True)
class AlphaExpansion(Inference):
    """``max_y l(y) + sum_i s_i(y_i) + sum_e s_e(y_a, y_b)`` on ``ClassGraphs``, for modular losses l, by a heuristic.

    Each label in turn is offered to all nodes, and a minimum cut finds the best set of nodes that take it, until no
    label wins anything (Boykov, Veksler and Zabih 2001). Where edges won by equal labels have scores of 0 or above, the
    labeling loses at most twice what the best one loses on edges: with ``E(y) = sum_i max s_i - s_i(y_i) + sum_e s_e
    [y_a != y_b]``, ``E(y) <= 2 min E``. For two labels it is then the best one. Tables are moved by exact cuts where
    ``t(u, v) + t(w, w) >= t(w, v) + t(u, w)``, and else by cuts that never promise more than the labels win (Rother et
    al. 2005).

    It gives no bound of its own.

    Parameters
    ----------
    bound : the inference whose bound is returned, and whose labeling where it is better. None takes the sum of the
        largest scores of all nodes and edges, which is cheap and far from the value
    max_iter : the most rounds over all labels, each of which costs k cuts

    Raises
    ------
    TypeError : for a ``bound`` that is no inference, and a ``max_iter`` that is no whole number
    ValueError : for a ``max_iter`` below 1
    Refusal : from :meth:`prepare`, for batches other than ``ClassGraphs``, losses that are not modular, slack rescaling

    Examples
    --------
    >>> from setwise.core.networks import ClassGraphs
    >>> from setwise.core.bound_loss import BoundLoss
    >>> from setwise.inference import AlphaExpansion
    >>> chain = ClassGraphs(np.array([0, 1, 2]), np.array([0, 3]), np.array([[0, 1], [1, 2]]), k=3)
    >>> nodes, edges = [2.0, 0.0, 0.0, 0.0, 1.0, 0.0, 2.0, 0.0, 0.0], [1.0, 1.0]
    >>> found = AlphaExpansion().prepare(BoundLoss(chain)).maximize(nodes + edges)
    >>> print(found.labels, found.values, found.exact)  # 2 + 2 and two edges, the truth has 2 + 1
    [0 0 0] [3.] [ True]
    """

    bound: Inference | None = field(default_factory=lambda: TreeReweightedMessages(50))
    max_iter: int = 20

    name: ClassVar[str] = "alpha_expansion"
    about: ClassVar[str] = "cuts that let any nodes change to one label"
    approximate: ClassVar[bool] = True
    takes: ClassVar[Takes] = replace(
        NETWORKS,
        batch=ClassGraphs,
        other_batch="{kind}: it takes ClassGraphs. Use an inference made for {kind}, such as Auto().",
    )

    def __post_init__(self) -> None:
        if self.bound is not None:
            as_kind(self.bound, "bound", Inference, "TreeReweightedMessages()")
        as_count(self.max_iter, "max_iter")

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        return None if self.bound is None else self.bound.refuses(bound_loss)

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return each_component(bound_loss, lambda parts: _AlphaExpansion(self, parts))


@final
class _AlphaExpansion(Maximizer):
    def __init__(self, method: AlphaExpansion, bound_loss: BoundLoss) -> None:
        self.method, self.bound_loss, self.slack = method, bound_loss, False
        self._rounds, batch = method.max_iter, bound_loss.batch
        assert isinstance(batch, ClassGraphs)
        self._problem = PairwiseProblem(bound_loss)
        self._other = None if method.bound is None else method.bound.prepare(bound_loss)
        self._blocks = [ArcNetwork(batch.edges, *ends) for ends in blocks(batch.edges, batch.total, BLOCK)]

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        batch = self._problem.batch
        nodes, pairs = self._problem.tables(scores)
        labels = nodes.argmax(axis=1).astype(np.int64)
        map_units(lambda block: _expand(block, nodes, pairs, labels, self._rounds), self._blocks)
        if self._other is None:
            # No labeling wins more than each node and each edge by itself.
            most = segment_sums(nodes.max(axis=1), batch.offsets)
            edges = pairs.max(axis=1, initial=0.0 if pairs.shape[1] == 1 else -np.inf)
            most += segment_sums(edges, batch.edge_offsets)
            return self.solved(scores, labels, most - batch.at_target(scores))
        found, other = self.solved(scores, labels), self._other.solve(scores, tol)
        better = (other.values > found.values)[batch.owners]
        return self.solved(scores, np.where(better, other.labels, labels), other.bounds)


def _expand(block: ArcNetwork, nodes: Values, pairs: Values, labels: Ints, rounds: int) -> None:
    """Offer each label in turn to the nodes of a block until none wins anything."""
    own, ends, network = slice(block.first, block.last), block.ends, block.network
    nodes, pairs, labels = nodes[own], pairs[block.edges], labels[own]
    forest = new_forest(network, len(labels))
    scores, moved = np.empty(len(labels)), np.empty(len(labels), dtype=bool)
    capacities, k, failed = np.empty(len(forest.capacities)), nodes.shape[1], 0
    for step in range(rounds * k):
        alpha = step % k
        propose(ends, block.places, nodes, pairs, labels, alpha, capacities, scores)
        cut(network, forest, capacities, scores)
        read_labels(network, forest, moved)
        won = accept(ends, nodes, pairs, labels, alpha, moved)
        failed = 0 if won > 0.0 else failed + 1
        if failed == k:
            break


@final
@dataclass(frozen=True)
class OneWayCut(Inference):
    """``max_y l(y) + sum_i s_i y_i + sum_e s_e [y_a = y_b]`` under ``y_a >= y_b`` for given pairs, l modular, s_e >= 0.

    Exact: a minimum cut in which each pair has an arc from b to a that no cut can afford. It takes independent
    decisions too, which have no edges. The labels are the smallest set of positives among all that are best.

    Source: own, for completions under the loss of HOL Eq. 8.

    Raises
    ------
    ValueError : from its maximizers, for scores of edges below 0
    Refusal : from :meth:`prepare`, for losses that order no labels or are more than that and costs, slack rescaling

    Examples
    --------
    >>> from setwise.core.terms import Precedence
    >>> from setwise.core.batch import Sets
    >>> from setwise.core.bound_loss import BoundLoss
    >>> from setwise.inference import OneWayCut
    >>> first_before_second = BoundLoss(Sets.single([0, 0]), (Precedence(np.array([[0, 1]])),))
    >>> found = OneWayCut().prepare(first_before_second).maximize([-1.0, 2.0])
    >>> print(found.labels, found.values)  # the second can be positive only with the first: -1 + 2
    [ True  True] [1.]
    """

    name: ClassVar[str] = "one_way_cut"
    about: ClassVar[str] = "minimum cuts under an order of labels"
    takes: ClassVar[Takes] = Takes(
        Sets | Graphs,
        "{kind}: it takes sets of binary decisions with known labels, and Graphs. Use Auto().",
        slack=NO_SPLIT,
        terms=Mistakes | Precedence,
        other_terms="it is not a sum of costs and orders of labels. Use Auto().",
        unknown=True,
        whole=True,
    )

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        if not any(isinstance(term, Precedence) for term in bound_loss.terms):
            return f"OneWayCut refuses {bound_loss!r}: it orders no labels. Use Auto()."
        return None

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return _OneWayCut(self, bound_loss)


@final
class _OneWayCut(CutMaximizer):
    def __init__(self, method: Inference, bound_loss: BoundLoss) -> None:
        super().__init__(method, bound_loss)
        self._pairs: Ints = np.vstack([term.pairs for term in bound_loss.terms if isinstance(term, Precedence)])

    @cached_property
    def _network(self) -> tuple[Arcs, Ints, SearchForest]:
        total = self.bound_loss.batch.total
        network, places = arcs(np.vstack([self.problem.edges, self._pairs]), total)
        return network, places, new_forest(network, total)

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        batch, problem = self.bound_loss.batch, self.problem
        nodes, capacities, extra = self._capacities(scores)
        network, _, forest = self._network
        cut(network, forest, capacities, nodes)
        labels, bounds = np.zeros(batch.total, dtype=bool), np.zeros(len(batch))
        read_labels(network, forest, labels)
        cut_bounds(network, forest, capacities, nodes, batch.offsets, bounds)
        # Cuts count from the labels that are all 0.
        bounds += problem.at_zero(scores) - extra
        return self.solved(scores, labels, bounds + problem.given(scores))

    def losses(self, scores: Floats, labels: Bools) -> Values:
        nodes, capacities, _ = self._capacities(scores)
        network, _, forest = self._network
        lost = np.zeros(len(labels))
        cut_losses(network, forest, capacities, nodes, labels, lost)
        # What costs as much as an arc that no cut may take, such as that of a pair, is not allowed.
        dear = 0.5 * capacities.max() if len(self._pairs) else np.inf
        return np.where(self.problem.forced | (lost >= dear), np.inf, lost)

    def _capacities(self, scores: Floats) -> tuple[Values, Values, Values]:
        """The scores of the nodes, (total,), all capacities, and what forced nodes add to each set, (n,)."""
        problem, (_, places, _) = self.problem, self._network
        own, edges = problem.scores(scores)
        capacities = np.zeros(2 * len(places))
        m = len(edges)
        capacities[places[:m]] = attracting(scores, edges, "OneWayCut", instead=None)[:, None]
        # A broken order costs four times what labels can gain, so that it is told from a loss without one.
        dear = 4.0 * float(stronger(np.abs(own).sum() + 2.0 * capacities.sum()))
        capacities[places[m:, 1]] = dear
        if not problem.forced.any():
            return own, capacities, np.zeros(len(problem.batch))
        force = np.abs(own)
        for ends in problem.edges.T:
            force += np.bincount(ends, np.abs(edges), len(own))
        for ends in self._pairs.T:
            force += np.bincount(ends, minlength=len(own)) * dear
        nodes, extra = problem.forced_by(own, stronger(force))
        return nodes, capacities, extra
