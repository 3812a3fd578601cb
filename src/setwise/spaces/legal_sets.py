"""Legal sets of labels: the best ones by the sum of scores, their probabilities, and that of least expected loss."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import Any, final

import numpy as np
from scipy.special import logsumexp, softmax

from setwise.core.attributes import cached_property
from setwise.core.batch import Sets
from setwise.core.checks import Bools, Ints, Values, as_array, as_bools, as_count, as_kind, shown
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import LEGAL_SETS
from setwise.core.terms import LargestCost, Mistakes, Trait
from setwise.kernels.forests import best_closed_sets
from setwise.spaces.hierarchy import Hierarchy

BLOCK = 1 << 24
"""Scores of sets are held for so many at once."""

CERTAIN = 1e3
"""Labels with a score of inf or -inf count this more than all the others together; its exponential is 0."""


@final
@dataclass(frozen=True, eq=False)
class LegalDecisions:
    """The legal sets of least expected loss, as far as this is known.

    Attributes
    ----------
    sets : (n, p) bool
    lower, upper : (n,) the expected loss is between them; NaN above where the loss of other sets has no known bound
    exact : (n,) whether no legal set has a smaller expected loss

    Examples
    --------
    >>> from setwise.losses import MaxLoss
    >>> from setwise.spaces import ListedSets
    >>> found = ListedSets([[1, 0], [0, 1]]).decide([[0.0, np.log(3.0)]], MaxLoss())
    >>> found.sets.astype(int).tolist(), found.lower.round(2).tolist(), found.exact.tolist()
    ([[0, 1]], [0.25], [True])
    """

    sets: Bools
    lower: Values
    upper: Values
    exact: Bools


class LegalSets(ABC):
    """Sets of p labels of which one is right for each row, with ``P(Y) = exp(sum_(y in Y) s_y) / Z`` for scores s.

    Scores that are log-odds make labels independent before it is known that their set is legal. A score of inf or -inf
    is that of a label that is certain; where no legal set agrees with all of these, those with the fewest
    contradictions remain.

    Source: own.

    Examples
    --------
    >>> from setwise.spaces import LegalSets, ListedSets
    >>> legal: LegalSets = ListedSets([[1, 0], [1, 1]])
    >>> legal.best([[-1.0, 2.0]])[0].astype(int).tolist()
    [[[1, 1]]]
    """

    @property
    @abstractmethod
    def n_labels(self) -> int:
        """The number p of labels."""

    @abstractmethod
    def _holds(self, Y: Bools) -> Bools:
        """Which rows of Y (n, p) are legal sets, (n,)."""

    @abstractmethod
    def _best(self, scores: Values, k: int) -> tuple[Bools, Values]:
        """The k best sets of finite scores, (n, k, p), and their sums, (n, k); -inf beyond the last set."""

    @abstractmethod
    def _log_sums(self, scores: Values) -> Values:
        """``log Z`` for finite scores, (n,)."""

    @abstractmethod
    def _marginals(self, scores: Values) -> Values:
        """The probability of each label for finite scores, (n, p)."""

    def best(self, scores: Any, k: int = 1) -> tuple[Bools, Values]:
        """The k most probable legal sets, those with the largest sums of scores.

        Parameters
        ----------
        scores : (n, p), which may be infinite
        k : how many, 1 or more

        Returns
        -------
        sets : (n, k, p) bool, the best first; empty beyond the last set
        probabilities : (n, k) in falling order; 0 beyond the last set

        Raises
        ------
        ValueError : for scores of another shape, NaN, and k below 1
        TypeError : for k that is no whole number
        """
        s = self._scores(scores)
        sets, sums = self._best(s, as_count(k, "k"))
        return sets, np.exp(sums - self._log_sums(s)[:, None])

    def holds(self, Y: Any) -> Bools:
        """Which rows are legal sets, (n,).

        Parameters
        ----------
        Y : (n, p) of 0 and 1

        Raises
        ------
        ValueError : for other arrays
        """
        return self._holds(self._truths(Y))

    def log_likelihood(self, scores: Any, Y: Any) -> Values:
        """``log P(Y_i)`` of one legal set for each row of scores, (n,).

        Parameters
        ----------
        scores : (n, p), which may be infinite
        Y : (n, p) of 0 and 1, whose rows are legal sets

        Raises
        ------
        ValueError : for scores of another shape, NaN, and sets that are not legal
        """
        s, truths = self._scores(scores), self._truths(Y)
        if len(truths) != len(s) or not self._holds(truths).all():
            raise ValueError(f"Y must hold a legal set for each of {len(s)} rows of scores; got {shown(Y)}.")
        return np.asarray((s * truths).sum(axis=1) - self._log_sums(s))

    def marginals(self, scores: Any) -> Values:
        """The probability of each label, (n, p).

        Parameters
        ----------
        scores : (n, p), which may be infinite

        Raises
        ------
        ValueError : for scores of another shape, and NaN
        """
        return self._marginals(self._scores(scores))

    def decide(self, scores: Any, loss: Loss, k: int = 20) -> LegalDecisions:
        """The legal set of least expected loss of each row.

        It is exact for sums of costs, by the probabilities of labels, and for the largest of equal costs, by the most
        probable set. Otherwise it is the best of the k most probable sets, and exact where the others are too
        improbable to change that.

        Parameters
        ----------
        scores : (n, p), which may be infinite
        loss : a loss of labels, as ``MaxLoss()``
        k : how many sets are compared

        Raises
        ------
        ValueError : for scores of another shape, NaN, k below 1, and costs that do not fit the labels
        TypeError : for a loss of another kind, and for k that is no whole number
        """
        s, k = self._scores(scores), as_count(k, "k")
        as_kind(loss, "loss", Loss, "MaxLoss()")
        terms = loss.bind(Sets.rows(np.zeros((1, self.n_labels), bool))).terms
        fixed = terms[0] if len(terms) == 1 and Trait.LABEL_FREE in loss.traits else None
        if isinstance(fixed, Mistakes):
            m = self._marginals(s)
            sets = self._best(fixed.costs * (2.0 * m - 1.0), 1)[0][:, 0]
            value = np.where(sets, 1.0 - m, m) @ fixed.costs
            return LegalDecisions(sets, value, value, np.ones(len(s), bool))
        if isinstance(fixed, LargestCost) and np.ptp(fixed.costs) == 0.0:
            found, sums = self._best(s, 1)
            value = -np.expm1(np.minimum(sums[:, 0] - self._log_sums(s), 0.0)) * fixed.costs[0]
            return LegalDecisions(found[:, 0], value, value, np.ones(len(s), bool))
        most, least = (fixed.costs.max(), fixed.costs.min()) if isinstance(fixed, LargestCost) else (np.nan, 0.0)
        n = len(s)
        out = LegalDecisions(np.zeros(s.shape, bool), np.zeros(n), np.zeros(n), np.zeros(n, bool))
        for i in range(n):
            sets, lower, upper, exact = self._decided(s[i : i + 1], loss, k, float(most), float(least))
            out.sets[i], out.lower[i], out.upper[i], out.exact[i] = sets, lower, upper, exact
        return out

    def _decided(self, s: Values, loss: Loss, k: int, most: float, least: float) -> tuple[Bools, float, float, bool]:
        """The best of the k most probable sets of one row; a wrong set costs between ``least`` and ``most``."""
        # One more shows whether these are all.
        found, sums = self._best(s, k + 1)
        listed = int(np.isfinite(sums[0]).sum())
        sets = found[0, : min(listed, k)]
        q = np.exp(sums[0, : len(sets)] - self._log_sums(s))
        bound_loss = loss.bind(Sets.rows(sets))
        values = np.array([bound_loss.values(np.tile(one, len(sets))) for one in sets]) @ q
        first = int(np.argmin(values))
        if listed <= k:
            return sets[first], float(values[first]), float(values[first]), True
        rest = max(0.0, 1.0 - float(q.sum()))
        upper = float(values[first]) + rest * most
        others = min(float(np.delete(values, first).min(initial=np.inf)), least * float(q.sum()))
        return sets[first], float(values[first]), upper, bool(upper <= others)

    def _truths(self, Y: Any) -> Bools:
        """Sets (n, p) as truths."""
        given = as_array(Y, "Y")
        if given.ndim != 2 or given.shape[1] != self.n_labels:
            raise ValueError(f"Y must have shape (n, {self.n_labels}); got shape {given.shape}.")
        return as_bools(given, "Y")

    def _scores(self, scores: Any) -> Values:
        """Scores (n, p) as float64, of which those that are infinite are as large as they must be."""
        given = as_array(scores, "scores")
        if given.ndim != 2 or given.shape[1] != self.n_labels or given.dtype.kind not in "iuf":
            raise ValueError(f"scores must be numbers of shape (n, {self.n_labels}); got {given.dtype} {given.shape}.")
        s = given.astype(np.float64)
        if np.isnan(s).any():
            raise ValueError("scores must be numbers or infinite; got NaN.")
        infinite = np.isinf(s)
        large = CERTAIN + 2.0 * np.abs(np.where(infinite, 0.0, s)).sum(axis=1, keepdims=True)
        return np.where(infinite, np.sign(s) * large, s)


@final
class ListedSets(LegalSets):
    """Legal sets that are listed, as those seen in training, or the paths of a :class:`Hierarchy`.

    Source: own.

    Parameters
    ----------
    sets : (m, p) of 0 and 1, one set a row; equal rows count once. Of equally probable sets the first is predicted

    Raises
    ------
    ValueError : for other than rows of 0 and 1, one or more

    Examples
    --------
    The paths of a tree are the ancestors of its nodes:

    >>> from setwise.losses import SumLoss
    >>> from setwise.spaces import Hierarchy, ListedSets
    >>> tree = Hierarchy({"cat": "animal", "dog": "animal"})
    >>> legal = ListedSets(tree.ancestors)
    >>> tree.decode(legal.decide([[0.5, 1.0, 1.7]], SumLoss()).sets)
    [['animal', 'dog']]
    """

    def __init__(self, sets: Any) -> None:
        given = as_array(sets, "sets")
        if given.ndim != 2 or not given.size:
            raise ValueError(f"sets must have shape (m, p) with m, p >= 1; got shape {given.shape}.")
        truths = as_bools(given, "sets")
        first = np.unique(truths, axis=0, return_index=True)[1]
        self.sets: Bools = truths[np.sort(first)]

    def __repr__(self) -> str:
        return f"ListedSets of {len(self.sets)} sets"

    @property
    def n_labels(self) -> int:
        return int(self.sets.shape[1])

    def _holds(self, Y: Bools) -> Bools:
        known = {row.tobytes() for row in self.sets}
        return np.array([row.tobytes() in known for row in Y], dtype=bool)

    def _best(self, scores: Values, k: int) -> tuple[Bools, Values]:
        sets, sums = np.zeros((len(scores), k, self.n_labels), bool), np.full((len(scores), k), -np.inf)
        found = min(k, len(self.sets))
        for rows, S in self._blocks(scores):
            order = np.argsort(-S, axis=1, kind="stable")[:, :found] if found > 1 else S.argmax(axis=1)[:, None]
            sets[rows, :found], sums[rows, :found] = self.sets[order], np.take_along_axis(S, order, axis=1)
        return sets, sums

    def _log_sums(self, scores: Values) -> Values:
        return np.concatenate([np.zeros(0), *(logsumexp(S, axis=1) for _, S in self._blocks(scores))])

    def _marginals(self, scores: Values) -> Values:
        held = self.sets.astype(np.float64)
        return np.concatenate([np.zeros((0, self.n_labels)), *(softmax(S, 1) @ held for _, S in self._blocks(scores))])

    def _blocks(self, scores: Values) -> Any:
        """The sums of scores of all sets for some of the rows at a time."""
        step, held = max(1, BLOCK // len(self.sets)), self.sets.T.astype(np.float64)
        for begin in range(0, len(scores), step):
            rows = slice(begin, begin + step)
            yield rows, scores[rows] @ held


@final
class ClosedSets(LegalSets):
    """All sets of nodes that hold the ancestors of their nodes, the empty set among them.

    Best sets, log Z and the probabilities of nodes are exact, by one pass over the tree.

    Source: own.

    Parameters
    ----------
    hierarchy : a tree, or several, in which no node has two parents

    Raises
    ------
    TypeError : for other than a :class:`Hierarchy`
    Refusal : a ValueError, for nodes with several parents

    Examples
    --------
    >>> from setwise.spaces import ClosedSets, Hierarchy
    >>> tree = Hierarchy({"cat": "animal", "dog": "animal"})
    >>> sets, probabilities = ClosedSets(tree).best([[2.0, -1.0, -3.0]], k=2)
    >>> tree.decode(sets[0]), probabilities[0].round(2).tolist()
    ([['cat', 'animal'], []], [0.64, 0.24])
    """

    def __init__(self, hierarchy: Hierarchy) -> None:
        self.hierarchy: Hierarchy = as_kind(hierarchy, "hierarchy", Hierarchy, "Hierarchy({'cat': 'animal'})")
        for node, above in hierarchy.parents.items():
            if len(above) > 1:
                raise Refusal(
                    f"ClosedSets refuses a hierarchy in which {node!r} has {len(above)} parents: its sums go over "
                    "trees. Use ListedSets of the sets that were seen.",
                    LEGAL_SETS,
                )

    def __repr__(self) -> str:
        return f"ClosedSets of {self.n_labels} nodes"

    @property
    def n_labels(self) -> int:
        return len(self.hierarchy)

    @cached_property
    def parents(self) -> Ints:
        """The place of the parent of each node, p for none."""
        places, parents = self.hierarchy.places, self.hierarchy.parents
        above = [parents.get(node, ()) for node in self.hierarchy.names]
        return np.array([places[nodes[0]] if nodes else len(above) for nodes in above], dtype=np.int64)

    @cached_property
    def order(self) -> Ints:
        """The nodes, each before its parent."""
        order = TopologicalSorter(self.hierarchy.parents).static_order()
        return np.array([self.hierarchy.places[node] for node in order], dtype=np.int64)[::-1].copy()

    def _holds(self, Y: Bools) -> Bools:
        return np.asarray((self.hierarchy.closed(Y) == Y).all(axis=1))

    def _best(self, scores: Values, k: int) -> tuple[Bools, Values]:
        sets, sums = best_closed_sets(scores, self.parents, self.order, k)
        return sets, sums

    def _log_sums(self, scores: Values) -> Values:
        return self._sums_below(scores)[1][:, -1]

    def _marginals(self, scores: Values) -> Values:
        inside, found = self._sums_below(scores)[0], np.ones((len(scores), self.n_labels + 1))
        for v in self.order[::-1]:
            # log Z below v is that of the sets with v, and of the one without it.
            found[:, v] = found[:, self.parents[v]] * np.exp(inside[:, v] - np.logaddexp(inside[:, v], 0.0))
        return found[:, :-1]

    def _sums_below(self, scores: Values) -> tuple[Values, Values]:
        """The log sums over sets at and below each node that hold it, (n, p); and over those below it, (n, p + 1)."""
        inside, below = np.empty_like(scores), np.zeros((len(scores), self.n_labels + 1))
        for v in self.order:
            inside[:, v] = scores[:, v] + below[:, v]
            below[:, self.parents[v]] += np.logaddexp(inside[:, v], 0.0)
        return inside, below
