"""One minimum cut for labels that must not rise along given arcs: completions of labels that fall along paths."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.batch import Sets
from setwise.core.checks import Bools, Floats, Ints, Values
from setwise.core.inference import Inference, Maximizer, Solutions, as_base_values
from setwise.core.networks import Graphs
from setwise.core.structure import Structure
from setwise.core.terms import Mistakes, Precedence
from setwise.inference.pairwise import stronger
from setwise.kernels.cuts import cut, cut_bounds, cut_losses, read_labels
from setwise.kernels.max_flow import Forest, new_forest
from setwise.kernels.networks import Arcs, arcs
from setwise.kernels.segments import segment_sums

ROUNDING = 1e-12
"""Scores of edges below 0 by this share of the largest score are taken for 0, as in :class:`MaxFlow`."""


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
    >>> from setwise.core.structure import Structure
    >>> from setwise.inference import OneWayCut
    >>> first_before_second = Structure(Sets.single([0, 0]), (Precedence(np.array([[0, 1]])),))
    >>> found = OneWayCut().prepare(first_before_second).maximize([-1.0, 2.0])
    >>> print(found.labels, found.values)  # the second can be positive only with the first: -1 + 2
    [ True  True] [1.]
    """

    name: ClassVar[str] = "one_way_cut"
    about: ClassVar[str] = "minimum cuts under an order of labels"

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        batch, kind = structure.batch, type(structure.batch).__name__
        if not isinstance(batch, Sets | Graphs) or (isinstance(batch, Sets) and batch.totals is not None):
            return f"OneWayCut refuses {kind}: it knows whole sets of binary decisions and Graphs. Use Auto()."
        if slack:
            return "OneWayCut refuses slack rescaling: the product does not split. Use margin rescaling."
        if not all(isinstance(term, Mistakes | Precedence) for term in structure.terms):
            return f"OneWayCut refuses {structure!r}: it is no sum of costs and orders of labels. Use Auto()."
        if not any(isinstance(term, Precedence) for term in structure.terms):
            return f"OneWayCut refuses {structure!r}: it orders no labels. Use Auto()."
        return None

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        return _OneWayCut(self, structure)


@final
class _OneWayCut(Maximizer):
    def __init__(self, method: Inference, structure: Structure) -> None:
        batch = structure.batch
        assert isinstance(batch, Sets | Graphs)
        self.method, self.structure, self.slack, self._batch = method, structure, False, batch
        costs, rest = structure.split()
        costs = np.zeros(batch.total) if costs is None else costs
        costs = costs if batch.known is None else np.where(batch.known, costs, 0.0)
        # Mistakes that cost -inf are not made: such decisions are forced.
        self._forced: Bools = costs == -np.inf
        costs = np.where(self._forced, 0.0, costs)
        self._shift = np.where(batch.truth, -costs, costs)
        self._missed = segment_sums(np.where(batch.truth, costs, 0.0), batch.offsets)
        self._pairs: Ints = np.vstack([term.pairs for term in rest.terms if isinstance(term, Precedence)])
        self._edges: Ints = batch.edges if isinstance(batch, Graphs) else np.zeros((0, 2), np.int64)
        assert batch.unary is not None
        self._nodes: Ints = batch.unary[:, 1]
        self._edge_places: Ints = batch.edge_places if isinstance(batch, Graphs) else np.zeros(0, np.int64)

    @cached_property
    def _network(self) -> tuple[Arcs, Ints, Forest]:
        network, places = arcs(np.vstack([self._edges, self._pairs]), self._batch.total)
        return network, places, new_forest(network, self._batch.total)

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        batch = self._batch
        nodes, capacities, extra = self._problem(scores)
        network, _, forest = self._network
        cut(network, forest, capacities, nodes)
        labels, bounds = np.zeros(batch.total, dtype=bool), np.zeros(len(batch))
        read_labels(network, forest, labels)
        cut_bounds(network, forest, capacities, nodes, batch.offsets, bounds)
        # Cuts count from the labels that are all 0.
        bounds += self._missed + batch.won(scores, np.zeros(batch.total, dtype=bool)) - extra
        return self.solved(scores, labels, bounds + self._given(scores))

    def max_marginals(self, scores: Any, base: Values | float = 0.0) -> Values:
        found, batch = self.maximize(scores), self._batch
        # Where scores of edges were taken for 0 these are bounds.
        best = (found.values + as_base_values(base, len(batch)) + self._given(np.asarray(scores)))[batch.owners]
        nodes, capacities, _ = self._problem(np.asarray(scores))
        network, _, forest = self._network
        lost = np.zeros(batch.total)
        cut_losses(network, forest, capacities, nodes, found.labels, lost)
        # What costs as much as an arc that no cut affords is not allowed.
        never = self._forced | (lost >= 0.5 * capacities.max()) if len(self._pairs) else self._forced
        other = np.where(never, -np.inf, best - np.maximum(lost, 0.0))
        return np.where(found.labels[:, None] == [False, True], best[:, None], other[:, None])

    def _given(self, scores: Floats) -> Values:
        """What edges whose scores were taken for 0 can win where their ends differ, (n,)."""
        given = np.maximum(-scores[self._edge_places].astype(np.float64), 0.0)
        return np.asarray(np.bincount(self._batch.owners[self._edges[:, 0]], given, len(self._batch)), dtype=np.float64)

    def _problem(self, scores: Floats) -> tuple[Values, Values, Values]:
        """The scores of the nodes, (total,), all capacities, and what forced nodes add to each set, (n,)."""
        batch, (_, places, _) = self._batch, self._network
        own = scores[self._nodes].astype(np.float64) + self._shift
        edges = scores[self._edge_places].astype(np.float64)
        least = edges.min() if edges.size else 0.0
        if least < -ROUNDING * np.abs(scores).max(initial=0.0):
            raise ValueError(
                f"OneWayCut needs scores of edges from 0 on; got {least:.4g}. Bound the weights of edges by 0."
            )
        capacities = np.zeros(2 * len(places))
        m = len(self._edges)
        capacities[places[:m]] = np.maximum(edges, 0.0)[:, None]
        # A broken order costs four times what labels can gain, so that it is told from a loss without one.
        dear = 4.0 * float(stronger(np.abs(own).sum() + 2.0 * capacities.sum()))
        capacities[places[m:, 1]] = dear
        if not self._forced.any():
            return own, capacities, np.zeros(len(batch))
        force = np.abs(own)
        for ends in self._edges.T:
            force += np.bincount(ends, np.abs(edges), batch.total)
        for ends in self._pairs.T:
            force += np.bincount(ends, minlength=batch.total) * dear
        force = stronger(force)
        moved = np.where(self._forced, np.where(batch.truth, force, -force), own)
        extra = np.where(self._forced & batch.truth, moved - own, 0.0)
        return moved, capacities, segment_sums(extra, batch.offsets)
