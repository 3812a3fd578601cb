"""Lists of graphs and of their labels, checked and joined to one batch."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.attributes import cached_property
from setwise.core.batch import Classes, Sets
from setwise.core.checkpoint import fingerprint
from setwise.core.checks import Ints, Values, shown
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.networks import ClassGraphs, Graphs
from setwise.estimators.sets import Grouping, as_ids, as_target, classes_of
from setwise.graphs import Graph


@final
@dataclass(frozen=True, eq=False)
class Networks:
    """Graphs in the order of their sets, joined.

    Attributes
    ----------
    graphs : the graphs, in the order of the sets
    order : the place of each of them in the list that was given
    owners : the set of each graph, rising from 0
    batch : their nodes and edges, with codes of labels: 0, 1, .., and -1 for unknown
    """

    graphs: tuple[Graph, ...]
    order: Ints
    owners: Ints
    batch: Graphs | ClassGraphs

    @cached_property
    def X(self) -> Values:  # noqa: N802
        """The features of all nodes, (total, d)."""
        return np.concatenate([graph.X for graph in self.graphs])

    @cached_property
    def Z(self) -> Values:  # noqa: N802
        """The features of all edges, (m, d_e)."""
        return np.concatenate([graph.Z for graph in self.graphs])

    @cached_property
    def areas(self) -> Values | None:
        """The areas of all nodes, (total,), or None."""
        if self.graphs[0].areas is None:
            return None
        return np.concatenate([graph.areas for graph in self.graphs])

    @cached_property
    def node_offsets(self) -> Ints:
        """Graph ``i`` owns the nodes ``node_offsets[i]:node_offsets[i+1]``."""
        return np.concatenate([[0], np.cumsum([len(graph) for graph in self.graphs])])

    @property
    def sets(self) -> Sets | Classes:
        """The same sets without edges."""
        return without_edges(self.batch)

    def grouping(self, classes: NDArray[Any]) -> Grouping:
        """The same sets of a target with these classes, in the order of the graphs that were given."""
        return Grouping(self.sets, "vector" if len(classes) == 2 else "classes", classes, self.order)

    def losses(self, loss: Loss, predictions: NDArray[Any]) -> Values:
        """The loss of each set, (n,); a loss that needs neighbors is bound to the network itself."""
        try:
            return loss.values(self.sets, predictions)
        except Refusal:
            return loss.values(self.batch, predictions)

    def split(self, values: NDArray[Any]) -> list[NDArray[Any]]:
        """The values of all nodes as a list of those of each graph, in the order in which they were given."""
        parts = np.split(values, self.node_offsets[1:-1])
        return [parts[i] for i in np.argsort(self.order)]

    def pooled(self) -> "Networks":
        """The same graphs as one set."""
        codes = np.split(self.batch.labels.astype(np.int64), self.node_offsets[1:-1])
        return join(self.graphs, codes, np.zeros(len(self.graphs), dtype=np.int64), self.batch.n_labels)


def without_edges(batch: Graphs | ClassGraphs) -> Sets | Classes:
    """The sets of a batch as independent decisions."""
    if isinstance(batch, Graphs):
        return Sets(batch.labels, batch.offsets)
    return Classes(batch.labels, batch.offsets, batch.k)


def join(graphs: tuple[Graph, ...], codes: list[Ints] | None, groups: Any, k: int = 2) -> Networks:
    """The graphs as sets: those of one group, or each by itself; without ``codes`` no label of the k is known."""
    owners = np.arange(len(graphs)) if groups is None else as_ids(groups, len(graphs), "graph")
    order = np.argsort(owners, kind="stable")
    chosen = tuple(graphs[i] for i in order)
    sizes = np.array([len(graph) for graph in chosen])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    counts = np.concatenate([[0], np.cumsum(np.bincount(owners))])
    labels = np.full(starts[-1], -1) if codes is None else np.concatenate([codes[i] for i in order])
    neighbors = {graph.grid for graph in chosen}
    batch: Graphs | ClassGraphs
    if k == 2 and len(neighbors) == 1 and None not in neighbors:
        parts = np.split(labels.astype(np.int8), starts[1:-1])
        images = [one.reshape(graph.regions.shape) for one, graph in zip(parts, chosen, strict=True)]
        batch = Graphs.images(images, neighbors.pop(), counts)
    else:
        edges = np.concatenate([graph.edges + start for graph, start in zip(chosen, starts, strict=False)])
        ends = starts[counts]
        batch = Graphs(labels.astype(np.int8), ends, edges) if k == 2 else ClassGraphs(labels, ends, edges, k)
    return Networks(chosen, order, owners[order], batch)


def in_order(
    graphs: tuple[Graph, ...], labels: list[NDArray[Any]], groups: Any
) -> tuple[tuple[Graph, ...], list[NDArray[Any]], Any]:
    """Graphs, labels and ids of groups in an order that follows from the graphs, whatever order they are given in.

    Then neither folds nor ties nor rounding depend on that order.
    """
    keys = [fingerprint(y, g.X, g.edges, g.Z, g.areas) for g, y in zip(graphs, labels, strict=True)]
    order = np.argsort(np.array(keys), kind="stable")
    ids = None if groups is None else as_ids(groups, len(graphs), "graph")[order]
    return tuple(graphs[i] for i in order), [labels[i] for i in order], ids


def as_graphs(graphs: Any, like: tuple[int, int, bool] | None = None) -> tuple[Graph, ...]:
    """Check a list of graphs and return it as a tuple: with equal numbers of features, and areas in all or in none.

    ``like`` are the numbers of features of nodes and edges and whether there are areas, as in training.
    """
    if isinstance(graphs, Graph | str | bytes) or not isinstance(graphs, Iterable):
        raise TypeError(
            f"graphs must be a list of Graph, such as setwise.graphs.from_image returns; got {shown(graphs)}."
        )
    found = tuple(graphs)
    if not found:
        raise ValueError("graphs must hold one Graph or more; got an empty list.")
    for graph in found:
        if not isinstance(graph, Graph):
            raise TypeError(f"graphs must hold Graphs, such as setwise.graphs.from_image returns; got {shown(graph)}.")
    wanted = shape_of(found[0]) if like is None else like
    for graph in found:
        if shape_of(graph)[:2] != wanted[:2]:
            raise ValueError(
                f"graphs must all have {wanted[0]} features of nodes and {wanted[1]} of edges; got {graph!r}."
            )
        if shape_of(graph)[2] != wanted[2]:
            raise ValueError("graphs must all have areas, in training and after it, or none of them; got both.")
    return found


def shape_of(graph: Graph) -> tuple[int, int, bool]:
    """The numbers of features of the nodes and of the edges, and whether there are areas."""
    return graph.X.shape[1], graph.Z.shape[1], graph.areas is not None


def as_node_labels(labels: Any, graphs: tuple[Graph, ...]) -> list[NDArray[Any]]:
    """Check the labels of each graph and return them as arrays (p,) of one kind."""
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
        raise TypeError(f"labels must be a list of arrays, one for each graph; got {shown(labels)}.")
    given = list(labels)
    if len(given) != len(graphs):
        raise ValueError(f"labels must be {len(graphs)} arrays, one for each graph; got {len(given)}.")
    found = [as_target(one, "labels") for one in given]
    for one, graph in zip(found, graphs, strict=True):
        if one.shape != (len(graph),):
            hint = "" if graph.regions is None else " graph.labels_of(mask) reads them off a mask of pixels."
            raise ValueError(f"labels must have shape ({len(graph)},) for {graph!r}; got shape {one.shape}.{hint}")
        if one.dtype.kind == "O":
            raise ValueError("labels must hold numbers, text or dates, of one type; got objects.")
        if one.dtype.kind == "f" and not np.isfinite(one).all():
            raise ValueError("labels must not hold NaN or inf; -1 marks a label that is unknown.")
    kinds = {"biuf".find(one.dtype.kind) >= 0 or one.dtype.kind for one in found}
    if len(kinds) > 1:
        raise ValueError("labels must be of one type in all graphs, as numbers or text; got several.")
    return found


def known(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """A mask of the labels that are known: all but -1."""
    return np.asarray(labels != -1) if labels.dtype.kind in "if" else np.ones(len(labels), dtype=bool)


def node_classes(labels: list[NDArray[Any]], pos_label: Any, weak: bool = False) -> NDArray[Any]:
    """The labels that occur; of two the second is positive.

    For losses of weak labels they are 0 and 1 where only one of these two occurs beside unknown labels, or none.
    """
    seen = np.concatenate([one[known(one)] for one in labels])
    if weak and len(seen) < sum(map(len, labels)) and len(np.unique(seen)) < 2 and np.isin(seen, (0, 1)).all():
        return np.array([0, 1])
    if not len(seen):
        raise ValueError("labels must be known for some nodes; got only -1, which marks a label that is unknown.")
    if len(np.unique(seen)) < 2:
        unknown = ", and -1 for unknown ones" if any((~known(one)).any() for one in labels) else ""
        raise ValueError(f"labels must have two classes to learn from; got only {seen[0].item()!r}{unknown}.")
    try:
        classes = classes_of(seen, pos_label)
    except ValueError as error:
        # The sentences of scikit-learn do not name the argument.
        words = str(error)
        raise ValueError(
            words if words.startswith(("labels", "pos_label")) else f"labels do not fit: {words}"
        ) from None
    return classes


def encode(labels: list[NDArray[Any]], classes: NDArray[Any]) -> list[Ints]:
    """Codes of the labels of each graph: the place in ``classes``, and -1 for unknown ones."""
    out = []
    for one in labels:
        code = np.full(len(one), -1)
        for place, label in enumerate(classes.tolist()):
            code[one == label] = place
        odd = one[(code < 0) & known(one)]
        if len(odd):
            raise ValueError(f"labels must be {classes.tolist()}, or -1 where unknown; got {odd.tolist()[0]!r}.")
        out.append(code)
    return out
