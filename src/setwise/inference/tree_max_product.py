"""Exact max-product on forests, with all max-marginals."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.checks import Floats, Ints, Values
from setwise.core.inference import Inference, Maximizer, Solutions, as_base_values
from setwise.core.networks import Network
from setwise.core.structure import Structure
from setwise.inference.pairwise import Pairwise, unfit_for_networks
from setwise.kernels.messages import best_labels, forest_order, tree_marginals


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
    >>> from setwise.core.structure import Structure
    >>> from setwise.inference import TreeMaxProduct
    >>> pair = ClassGraphs(np.array([0, 0]), np.array([0, 2]), np.array([[0, 1]]), k=2, tables=True)
    >>> nodes, table = [1.0, 0.0, 1.0, 0.0], [-3.0, 0.0, 0.5, -3.0]  # of (0, 0), (0, 1), (1, 0), (1, 1)
    >>> found = TreeMaxProduct().prepare(Structure(pair)).maximize(nodes + table)
    >>> print(found.labels, found.values)  # the truth (0, 0) scores -1, and (1, 0) scores 1.5
    [1 0] [2.5]
    """

    name: ClassVar[str] = "tree_max_product"
    about: ClassVar[str] = "messages on chains and trees"

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        why = unfit_for_networks(self, structure, slack)
        if why is not None:
            return why
        assert isinstance(structure.batch, Network)
        if not structure.batch.forest.all():
            return "TreeMaxProduct refuses graphs with a cycle. Use TreeReweighted, which bounds the maximum there."
        return None

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        return _TreeMaxProduct(self, structure)


@final
class _TreeMaxProduct(Maximizer):
    def __init__(self, method: TreeMaxProduct, structure: Structure) -> None:
        self.method, self.structure, self.slack = method, structure, False
        self._problem = Pairwise.of(structure)
        links = self._problem.links
        self._order, self._parents = forest_order(links.edges, links.first, links.arcs)

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        return self.solved(scores, self._problem.labels(self._best(scores)[0]))

    def max_marginals(self, scores: Any, base: Values | float = 0.0) -> Values:
        found, batch, problem = self.maximize(scores), self.structure.batch, self._problem
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
