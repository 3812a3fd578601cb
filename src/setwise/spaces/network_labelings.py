"""Labelings of networks: the space, the batch, and Lawler's list of the best ones, over any exact inference."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import LARGEST_LABEL, Ints, Values, as_count, as_flag, as_kind, shown
from setwise.core.exceptions import Refusal
from setwise.core.inference import Inference, Maximizer, Takes
from setwise.core.networks import ClassGraphs, Graphs, Network
from setwise.core.pages import EXACT_SEARCHES
from setwise.core.risk import Features
from setwise.core.single_labels import Flips
from setwise.graphs.graph import Graph
from setwise.inference.single_labels import Falling, RankedMaximizer, farther, single_labels
from setwise.kernels.segments import segment_sums
from setwise.models.joint_labels import ModelWithConstant
from setwise.models.networks import GraphModel
from setwise.spaces.large_space import LargeSpace, as_labels_of, offsets_of
from setwise.spaces.sequences import as_truths
from setwise.spaces.spaces import members


@final
class Labelings(Flips):
    """Labelings ``y`` of n networks, of which some are right: ``f(y) = <s, phi(y)> + c``, phi that of the networks.

    The scores of an input are those of its network, then that of the constant, c.

    Parameters
    ----------
    networks : the batch of networks, as :class:`setwise.core.Graphs`; its own labels say nothing
    truths : for each network its right labelings, (m_i, nodes) whole numbers in 0..k-1, distinct; m_i may be 0. None
        for no right labelings at all, as in batches to predict
    """

    def methods(self, auto: Any) -> tuple[Inference, ...]:
        return (ByNetworks(auto),)

    def __init__(self, networks: Network, truths: Any = None) -> None:
        self.networks: Network = as_kind(networks, "networks", Network, "Graphs(labels, offsets, edges)")
        super().__init__(as_truths(truths, len(networks)), networks.sizes, np.diff(networks.score_offsets) + 1)

    @property
    def largest(self) -> int:
        return self.networks.n_labels

    def check_labels(self, i: int, labels: Ints, name: str) -> None:
        k = self.networks.n_labels
        if labels.min() < 0 or labels.max() >= k:
            raise ValueError(f"{name} must hold labels 0..{k - 1}; got {shown(labels.tolist())}.")

    def indicators(self, labels: Ints) -> Values:
        named = self.named(labels)
        inner = self.networks.encode(as_labeling(self.networks, np.maximum(labels - 1, 0)))
        inner *= np.repeat(named, np.diff(self.networks.score_offsets))
        # The constant of each input comes behind the scores of its network.
        return np.insert(inner, self.networks.score_offsets[1:], named.astype(np.float64))

    def label_scores(self, i: int, scores: Values, labels: Ints) -> Values:
        if not len(labels):
            return np.zeros(0)
        copies = self.networks.take(np.full(len(labels), i))
        codes = copies.encode(as_labeling(copies, labels.ravel()))
        own: Values = segment_sums(codes * np.tile(scores[:-1], len(labels)), copies.score_offsets)
        return own + float(scores[-1])

    def own(self, parts: Ints) -> dict[str, Any]:
        return {"networks": self.networks.take(parts)}


def as_labeling(networks: Network, labels: Ints) -> Any:
    """Whole numbers as labels of networks, which are truth values where there are two."""
    return labels == 1 if isinstance(networks, Graphs) else labels


@final
@dataclass(frozen=True, eq=False)
class NetworkLabelings(LargeSpace):
    """The ``k^p`` labelings of a network: ``f(x, y) = sum_i <u_(y_i), x_i> + sum_e <a, z_e> [y_a = y_b] + c``.

    X is a list of :class:`setwise.graphs.Graph`, and Y a list of collections of labelings (p_i,), each whole numbers in
    0..k-1. With two labels only label 1 has a score, u. Searches are exact on trees, and for two labels on all graphs,
    as the weights of edges are bounded by 0; networks whose best labeling is only bounded are refused there.

    Source: MLSP 3, over the labelings of a network.

    Parameters
    ----------
    k : the number of labels of a node, 2 or more
    tables : whether an edge has weights for each pair of labels, of any sign; for trees

    Raises
    ------
    TypeError : if k is no whole number, or tables is not True or False
    ValueError : if k is below 2

    Examples
    --------
    >>> from setwise.graphs import Graph
    >>> from setwise.spaces import NetworkLabelings
    >>> space = NetworkLabelings()
    >>> # Two nodes of one feature, and an edge.
    >>> batch, model = space.bind([Graph([[1.0], [-0.5]], [[0, 1]])])
    >>> for a in (0.0, 1.0):  # the weights are u, a and c
    ...     scores = model.scores(np.array([1.0, a, 0.0]))
    ...     labels, score = space.best(batch, scores, limit=1)[0][0]
    ...     print(labels.tolist(), score)
    [1, 0] 1.0
    [1, 1] 1.5
    """

    k: int = 2
    tables: bool = False

    name: ClassVar[str] = "networks"

    @classmethod
    def examples(cls) -> list[tuple[Any, Any]]:
        graphs = [Graph(np.cos(np.arange(6.0)).reshape(3, 2), [[0, 1], [1, 2]]), Graph([[1.0, -1.0]], [])]
        return [(NetworkLabelings(), graphs), (NetworkLabelings(3, tables=True), graphs)]

    def __post_init__(self) -> None:
        as_count(self.k, "k", low=2, high=LARGEST_LABEL)
        as_flag(self.tables, "tables")

    def bind(self, X: Any, Y: Any = None, constant: float = 1.0) -> tuple[Labelings, Features]:
        graphs = _as_graphs(X)
        truths = as_labels_of(Y, [len(x) for x in graphs], "labels")
        networks = self._networks(graphs)
        nodes, edges = (np.concatenate(parts) for parts in zip(*((x.X, x.Z) for x in graphs), strict=True))
        model = GraphModel(nodes, edges, networks, intercept=0.0)
        return Labelings(networks, truths), ModelWithConstant(model, networks.score_offsets, constant)

    def widths(self, X: Any) -> tuple[int, ...]:
        return X[0].X.shape[1], X[0].Z.shape[1]

    def _networks(self, graphs: list[Graph]) -> Graphs | ClassGraphs:
        """The batch of all graphs."""
        offsets = offsets_of([len(x) for x in graphs])
        edges = np.concatenate([x.edges + low for x, (low, _) in zip(graphs, pairwise(offsets), strict=True)])
        if self.k == 2 and not self.tables:
            return Graphs(np.zeros(int(offsets[-1]), dtype=bool), offsets, edges)
        return ClassGraphs(np.zeros(int(offsets[-1]), dtype=np.int64), offsets, edges, self.k, self.tables)


def _as_graphs(X: Any) -> list[Graph]:
    """X as a list of graphs with features of the same kinds."""
    found = members(X, "X", "a list of graphs")
    if not found:
        raise ValueError("X must hold one graph or more; got none.")
    for i, x in enumerate(found):
        as_kind(x, f"X[{i}]", Graph, "Graph(X, edges)")
        for what in ("X", "Z"):
            own, first = getattr(x, what).shape[1], getattr(found[0], what).shape[1]
            if own != first:
                raise ValueError(f"X[{i}].{what} must have {first} features, as that of X[0]; got {own}.")
        if x.areas is not None:
            raise ValueError(f"X[{i}].areas must be None: labelings as labels count each node once.")
    return found


@final
@dataclass(frozen=True)
class ByNetworks(Inference):
    """The worst labeling of each network, or none: ``max lambda (1 - v f)``, or ``lambda - v f``; the K best of them.

    The best labelings come from ``inner`` by the partition of Lawler (1972), p k of its searches for each one. They
    settle equal costs after ``|Y| + 1`` of them, and under margin rescaling Hamming costs to one right labeling at
    once. Otherwise it goes down the list until no other labeling can be worse. After ``limit`` of them it answers with
    a bound.

    Parameters
    ----------
    inner : an exact method for the scores of the networks
    limit : so many labelings are looked at for an input and a call, at most

    Raises
    ------
    TypeError : for an ``inner`` that is no inference, and a ``limit`` that is no whole number
    ValueError : for a ``limit`` below 1
    Refusal : from :meth:`prepare`, for batches other than ``Labelings``, losses that are not one cost of single labels,
        and where ``inner`` refuses the network; from its maximizers, where ``inner`` finds a labeling that it cannot
        certify

    Examples
    --------
    >>> from setwise.core.networks import Graphs
    >>> from setwise.spaces.network_labelings import Labelings
    >>> from setwise.inference import Auto
    >>> from setwise.spaces import ByNetworks
    >>> from setwise.losses import MaxLoss
    >>> pair = Graphs(np.array([False, False]), np.array([0, 2]), np.array([[0, 1]]))
    >>> batch = Labelings(pair, truths=[[[1, 1]]])
    >>> maximizer = ByNetworks(Auto()).prepare(MaxLoss().bind(batch), slack=True)
    >>> found = maximizer.maximize([0.5, -1.0, 1.0, 0.0])  # the labeling (0, 0) has f = 1: 1 + 1
    >>> print(found.labels - 1, found.values)
    [0 0] [2.]
    """

    inner: Inference
    limit: int = 1000

    name: ClassVar[str] = "by_networks"
    about: ClassVar[str] = "the best labelings of a network, one after another"
    approximate: ClassVar[bool] = True
    takes: ClassVar[Takes] = single_labels(Labelings)

    def __post_init__(self) -> None:
        as_kind(self.inner, "inner", Inference, "setwise.inference.Auto()")
        as_count(self.limit, "limit")

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        return self.inner.refuses(_scored(bound_loss))

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return _ByNetworks(self, bound_loss, slack, self.limit)


def _scored(bound_loss: BoundLoss) -> BoundLoss:
    """The networks without a loss, so that their labelings have their scores alone."""
    batch: Any = bound_loss.batch
    return BoundLoss(batch.networks, (), "the score of a network")


@final
class _ByNetworks(RankedMaximizer):
    def __init__(self, method: ByNetworks, bound_loss: BoundLoss, slack: bool, limit: int) -> None:
        super().__init__(method, bound_loss, slack, limit)
        self._inner = method.inner.prepare(_scored(bound_loss))

    def falling(self, i: int, scores: Values, weights: Values | None = None, many: int = 1) -> Falling:
        inner, truths = self._inner.take(np.array([i])), self.flips.truths[i]
        moved = scores[:-1] if weights is None else _moved(inner.bound_loss.batch, scores[:-1], truths, weights)
        for solution in inner._ranked(moved)[0]:
            if not solution.exact:
                raise Refusal(
                    f"ByNetworks refuses these scores: {type(inner.method).__name__} bounds the best labeling of a "
                    "network, but does not find it. Use trees, or two labels with attracting edges.",
                    EXACT_SEARCHES,
                )
            label = np.asarray(solution.labels, np.int64)
            f = float(self.flips.label_scores(i, scores, label[None])[0])
            yield f + (0.0 if weights is None else float(weights @ (label != truths).mean(axis=1))), label


def _moved(network: Any, scores: Values, truths: Ints, weights: Values) -> Values:
    """The scores of a network whose nodes gain by each right labeling from which they differ, but for a constant."""
    gains = farther(np.zeros((network.total, network.n_labels)), truths, weights)
    # A label without a score stays at 0, so the others gain what is left over it.
    gains -= np.where(network.unary[:, :1] < 0, gains[:, :1], 0.0)
    out, scored = scores.copy(), network.unary >= 0
    out[network.unary[scored]] += gains[scored]
    return out
