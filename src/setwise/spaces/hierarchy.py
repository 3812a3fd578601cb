"""Labels that are the nodes of a tree, or of a graph of parents without a cycle.

Precision, recall and F1 of sets of nodes together with their ancestors are those of HiClass.
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import Any, ClassVar, final

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

from setwise.core.attributes import cached_property
from setwise.core.checks import Bools, Values, as_kind, shown
from setwise.spaces.spaces import Space, as_distinct


@final
@dataclass(frozen=True, eq=False)
class Hierarchy(Space):
    """The nodes of a hierarchy as labels, inner nodes too: ``kappa[y]`` marks y and its ancestors.

    So ``f(x, y)`` is a sum over the path to y, and a node shares the weights of its ancestors. All nodes that are named
    are labels: name a single root only if it should be one.

    Source: MLSP 5.1.

    Parameters
    ----------
    parents : a dict from each node to its parent, or to a list of its parents; an empty list for none. Nodes that occur
        only as parents have none. A text or a tuple is one parent, as labels may be tuples. The columns have the order
        in which nodes are first named, each before its parents

    Raises
    ------
    TypeError : if parents is no dict
    ValueError : if it is empty or has a cycle, or a node is not hashable or named twice as a parent

    Examples
    --------
    >>> from setwise.spaces import Hierarchy
    >>> animals = Hierarchy({"cat": "animal", "dog": "animal"})
    >>> animals.names
    ('cat', 'animal', 'dog')
    >>> animals.closed([["cat"]]).astype(int).tolist()  # a cat is an animal
    [[1, 1, 0]]
    >>> animals.distances()[0].tolist()  # from cat to cat, to animal, and to dog
    [0.0, 1.0, 2.0]
    """

    parents: Any

    name: ClassVar[str] = "hierarchy"

    @classmethod
    def examples(cls) -> list[Space]:
        return [Hierarchy({0: []}), Hierarchy({"cat": "pet", "pet": ["animal", "friend"], "ant": "animal"})]

    def __post_init__(self) -> None:
        if not isinstance(self.parents, Mapping):
            raise TypeError(f"parents must be a dict from nodes to their parents; got {shown(self.parents)}.")
        if not self.parents:
            raise ValueError("parents must name one node or more; got an empty dict.")
        found = {node: _as_parents(given, node) for node, given in self.parents.items()}
        as_distinct(_named(found), "parents")
        try:
            TopologicalSorter(found).prepare()
        except CycleError as error:
            raise ValueError(f"parents must have no cycle; got {shown(error.args[1])}.") from None
        object.__setattr__(self, "parents", found)

    @cached_property
    def names(self) -> tuple[Hashable, ...]:
        return tuple(_named(self.parents))

    @cached_property
    def ancestors(self) -> Bools:
        """(p, p) whether the second node is the first one, or one of its ancestors."""
        reach = np.eye(len(self), dtype=bool)
        # Parents come before their children, so that their rows are complete.
        for node in TopologicalSorter(self.parents).static_order():
            for parent in self.parents.get(node, ()):
                reach[self.places[node]] |= reach[self.places[parent]]
        return reach

    @cached_property
    def kappa(self) -> Values:
        return self.ancestors.astype(np.float64)

    def closed(self, Y: Any) -> Bools:
        """The sets of labels with all ancestors of their members, (n, p); Y as for :meth:`Space.encode`."""
        return np.asarray(self.encode(Y).astype(np.float64) @ self.kappa > 0.0)

    def distances(self) -> Values:
        """(p, p) the numbers of edges on the shortest paths between nodes, for :class:`setwise.losses.NearestCosts`.

        Paths may go up and down. Roots are joined by one more node above them, so that all distances are finite.
        """
        p = len(self)
        edges = [(self.places[node], self.places[parent]) for node, above in self.parents.items() for parent in above]
        below = {child for child, _ in edges}
        edges += [(root, p) for root in range(p) if root not in below]
        rows, columns = np.array(edges).T
        graph = coo_array((np.ones(len(edges)), (rows, columns)), shape=(p + 1, p + 1))
        return np.asarray(shortest_path(graph.tocsr(), directed=False, unweighted=True))[:p, :p]


def _named(parents: dict[Any, list[Any]]) -> list[Any]:
    """The nodes in the order in which they are first named, each before its parents."""
    return list(dict.fromkeys(name for node, above in parents.items() for name in (node, *above)))


def _as_parents(given: Any, node: Any) -> list[Any]:
    """The parents of a node as a list."""
    if isinstance(given, list | set | frozenset | np.ndarray | Iterator):
        several = list(given)
        return list(as_distinct(several, f"parents[{shown(node)}]")) if several else []
    return list(as_distinct([given], f"parents[{shown(node)}]"))


def hierarchical_precision(hierarchy: Hierarchy, Y: Any, predictions: Any) -> float:
    """``sum_i |alpha_i and beta_i| / sum_i |alpha_i|``: alpha are the predicted nodes, beta the true ones.

    Both sets are taken with all ancestors of their nodes. It is 0 where nothing is predicted for any row, where HiClass
    divides by zero.

    Source: Silla and Freitas (2011); the micro average of HiClass.

    Parameters
    ----------
    hierarchy : the nodes
    Y, predictions : the true and the predicted nodes of n rows: n collections of nodes, or (n, p) of 0 and 1

    Returns
    -------
    float
        The precision, in [0, 1].

    Raises
    ------
    TypeError : if hierarchy is no :class:`Hierarchy`
    ValueError : for nodes that the hierarchy does not have, or predictions of another number of rows

    Examples
    --------
    >>> from setwise.spaces import Hierarchy, hierarchical_precision
    >>> animals = Hierarchy({"cat": "animal", "dog": "animal"})
    >>> # Of dog and animal, animal is right.
    >>> hierarchical_precision(animals, [["cat"]], [["dog"]])
    0.5
    """
    both, predicted, _ = _totals(hierarchy, Y, predictions)
    return both / predicted if predicted else 0.0


def hierarchical_recall(hierarchy: Hierarchy, Y: Any, predictions: Any) -> float:
    """``sum_i |alpha_i and beta_i| / sum_i |beta_i|``, with ancestors; 0 where no node is true in any row.

    Source: Silla and Freitas (2011); the micro average of HiClass.

    Parameters
    ----------
    hierarchy : the nodes
    Y, predictions : the true and the predicted nodes of n rows: n collections of nodes, or (n, p) of 0 and 1

    Returns
    -------
    float
        The recall, in [0, 1].

    Raises
    ------
    TypeError : if hierarchy is no :class:`Hierarchy`
    ValueError : for nodes that the hierarchy does not have, or predictions of another number of rows

    Examples
    --------
    >>> from setwise.spaces import Hierarchy, hierarchical_recall
    >>> animals = Hierarchy({"cat": "animal", "dog": "animal"})
    >>> # Of cat and animal, animal is found.
    >>> hierarchical_recall(animals, [["cat"]], [["animal"]])
    0.5
    """
    both, _, true = _totals(hierarchy, Y, predictions)
    return both / true if true else 0.0


def hierarchical_f1(hierarchy: Hierarchy, Y: Any, predictions: Any) -> float:
    """``2 sum_i |alpha_i and beta_i| / (sum_i |alpha_i| + sum_i |beta_i|)``, with ancestors.

    It is the harmonic mean of hierarchical precision and recall, and 0 where no node is true or predicted in any row.

    Source: Silla and Freitas (2011); the micro average of HiClass.

    Parameters
    ----------
    hierarchy : the nodes
    Y, predictions : the true and the predicted nodes of n rows: n collections of nodes, or (n, p) of 0 and 1

    Returns
    -------
    float
        F1, in [0, 1].

    Raises
    ------
    TypeError : if hierarchy is no :class:`Hierarchy`
    ValueError : for nodes that the hierarchy does not have, or predictions of another number of rows

    Examples
    --------
    >>> from setwise.spaces import Hierarchy, hierarchical_f1
    >>> animals = Hierarchy({"cat": "animal", "dog": "animal"})
    >>> # 2 * (2 + 1) / (4 + 4).
    >>> hierarchical_f1(animals, [["cat"], ["dog"]], [["cat"], ["cat"]])
    0.75
    """
    both, predicted, true = _totals(hierarchy, Y, predictions)
    return 2.0 * both / (predicted + true) if predicted + true else 0.0


def _totals(hierarchy: Hierarchy, Y: Any, predictions: Any) -> tuple[int, int, int]:
    """The numbers of nodes that are true and predicted, predicted, and true, with ancestors, in all rows."""
    as_kind(hierarchy, "hierarchy", Hierarchy, "Hierarchy({'cat': 'animal'})")
    true = hierarchy.closed(Y)
    predicted = hierarchy.closed(hierarchy.encode(predictions, "predictions"))
    if len(true) != len(predicted):
        raise ValueError(f"predictions must be those of {len(true)} rows; got {len(predicted)}.")
    return int(np.count_nonzero(true & predicted)), int(predicted.sum()), int(true.sum())
