"""The upper bound by a convex combination of trees (Wainwright, Jaakkola and Willsky 2005).

The spanning forests together cover all edges of a graph.
"""

from typing import NamedTuple, final

import numpy as np
from scipy.optimize import minimize
from scipy.sparse import coo_array
from scipy.sparse.csgraph import breadth_first_order, minimum_spanning_tree

from setwise.core.checks import Ints, Values, as_count, as_kind
from setwise.core.exceptions import Refusal
from setwise.core.pages import DISTRIBUTIONS
from setwise.kernels.messages import forest_sum
from setwise.probabilistic.log_supermodular_distribution import LogSupermodularDistribution
from setwise.probabilistic.variational_bounds import EPSILON, EXAMPLE, LogPartition, certain


class LabelForest(NamedTuple):
    """A forest on p labels.

    Attributes
    ----------
    order : (p,) parents before their children
    parents : (p,) -1 at roots
    edges : (p,) the edge that leads to the parent; -1 at roots
    """

    order: Ints
    parents: Ints
    edges: Ints


def covering_forests(edges: Ints, p: int) -> list[LabelForest]:
    """Spanning forests that cover each edge (m, 2) once or more; each takes the edges that were taken least so far."""
    seen, found = np.zeros(len(edges)), list[LabelForest]()
    while not found or not seen.all():
        # Minimum spanning trees leave weights of 0 out.
        costs = coo_array((1.0 + seen, edges.T), shape=(p, p)).tocsr()
        tree = minimum_spanning_tree(costs)
        found.append(_rooted(tree + tree.T, edges, p))
        taken = found[-1].edges
        seen[taken[taken >= 0]] += 1.0
    return found


def _rooted(tree: coo_array, edges: Ints, p: int) -> LabelForest:
    """The forest with a root in each component."""
    number = {(min(a, b), max(a, b)): e for e, (a, b) in enumerate(edges.tolist())}
    order, parents = np.empty(0, np.int64), np.full(p, -1)
    left = np.ones(p, dtype=bool)
    while left.any():
        nodes, above = breadth_first_order(tree, int(left.argmax()), directed=False)
        order = np.concatenate([order, nodes])
        parents[nodes[1:]], left[nodes] = above[nodes[1:]], False
    own = np.full(p, -1)
    for i, j in enumerate(parents.tolist()):
        if j >= 0:
            own[i] = number[min(i, j), max(i, j)]
    return LabelForest(order, parents, own)


def tree_reweighted(model: LogSupermodularDistribution, max_iter: int = 500) -> LogPartition:
    """``A(f) <= mean_T A(f_T)`` for functions ``f_T`` of trees whose mean is f, the least one that is found.

    A is convex, so every such mean is an upper bound, whether or not the search has ended; on a forest it is A(f). The
    trees cover all edges; each has all unary terms, and its edges have as much more weight as they are in fewer trees.
    From there the bound is lowered by L-BFGS over what the trees exchange (the dual of Wainwright, Jaakkola and Willsky
    2005, with fixed weights of the trees). The marginals are the means over the trees.

    Parameters
    ----------
    model : a distribution of cuts; others are refused
    max_iter : the most steps of L-BFGS; each costs O(p) for each tree

    Returns
    -------
    bound : an upper bound of A(f)

    Raises
    ------
    ValueError, TypeError : for anything but a model, and ``max_iter`` below 1
    Refusal : for other terms than cuts

    Examples
    --------
    >>> from setwise.probabilistic import Cut, LogSupermodularDistribution, exact, l_field, tree_reweighted
    >>> chain, square = (LogSupermodularDistribution([Cut.grid(*shape)]) for shape in ((1, 9), (3, 3)))
    >>> print(round(tree_reweighted(chain).value, 4), round(exact(chain).value, 4))  # on a tree it is A(f)
    3.1992 3.1992
    >>> print(exact(square).value < tree_reweighted(square).value < l_field(square).value)
    True
    """
    as_kind(model, "model", LogSupermodularDistribution, EXAMPLE)
    as_count(max_iter, "max_iter")
    if model.pairwise is None:
        raise Refusal(f"tree_reweighted refuses {model!r}: it takes only cuts. Use l_field or logistic.", DISTRIBUTIONS)
    mixture = _Mixture(model)
    x = np.zeros(mixture.size)
    best = mixture.sums(x)[0]
    if len(mixture.forests) > 1:
        options = {"maxiter": max_iter, "maxfun": 2 * max_iter, "maxcor": 20, "ftol": 1e-13, "gtol": 1e-9}
        found = minimize(mixture, x, jac=True, method="L-BFGS-B", options=options)
        if found.fun < best:
            best, x = float(found.fun), found.x
    size = abs(best) + float(np.abs(model.scores).sum()) + 2.0 * float(model.pairwise.weights.sum()) + np.abs(x).max()
    return certain(best + 16.0 * EPSILON * float(size) * model.total, "upper", mixture.sums(x)[1].mean(axis=0))


@final
class _Mixture:
    """The mean over the forests, as a function of what they exchange: (forests, 2 p), for labels and their edges."""

    def __init__(self, model: LogSupermodularDistribution) -> None:
        pairs = model.pairwise
        assert pairs is not None
        edges, cuts = pairs.active
        self.forests, self._p = covering_forests(edges, model.total), model.total
        self._places = np.array([forest.edges for forest in self.forests])
        inner = self._places >= 0
        self._inner, self._edges = inner, self._places[inner]
        self._counts = np.bincount(self._edges, minlength=len(edges))
        self._unary, K = model.scores, len(self.forests)
        self._weights = np.zeros((K, self._p))
        self._weights[inner] = (cuts * K / np.maximum(self._counts, 1))[self._edges]
        self.size = 2 * K * self._p

    def __call__(self, x: Values) -> tuple[float, Values]:
        value, ones, apart = self.sums(x)
        slope = self._balanced(np.concatenate([ones, -apart], axis=1)) / len(self.forests)
        return value, slope.ravel()

    def sums(self, x: Values) -> tuple[float, Values, Values]:
        """The bound; then for each forest the probabilities of label 1, and those that its edges are cut."""
        moves, p = self._balanced(x.reshape(len(self.forests), -1)), self._p
        ones, apart, total = np.zeros((len(moves), p)), np.zeros((len(moves), p)), 0.0
        for k, forest in enumerate(self.forests):
            unary, weights = self._unary + moves[k, :p], self._weights[k] + moves[k, p:]
            total += forest_sum(forest.order, forest.parents, unary, weights, ones[k], apart[k])
        return total / len(moves), ones, apart

    def _balanced(self, moves: Values) -> Values:
        """What one forest gets the others give: the mean over the forests of each label, and of each edge, is 0."""
        out, p = moves.copy(), self._p
        out[:, :p] -= out[:, :p].mean(axis=0)
        edges = np.where(self._inner, out[:, p:], 0.0)
        means = np.bincount(self._edges, edges[self._inner], len(self._counts)) / np.maximum(self._counts, 1)
        edges[self._inner] -= means[self._edges]
        out[:, p:] = edges
        return out
