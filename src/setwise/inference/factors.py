"""Loss factors: the terms of a loss over one set, each maximized on its own over independent decisions (HOL 4.2)."""

from abc import ABC, abstractmethod
from itertools import pairwise
from typing import final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checks import Bools, Ints, Values
from setwise.core.counts import Counts
from setwise.core.inference import Inference
from setwise.core.networks import Graphs
from setwise.core.structure import Structure
from setwise.core.terms import LargestOf, Mistakes, PathOrders, RegionCounts, Term
from setwise.inference.counts.search import CountSearch
from setwise.inference.max_flow import MaxFlow
from setwise.inference.modular import Modular
from setwise.kernels.paths import path_marginals, path_maxima
from setwise.kernels.set_functions import best_counts, region_marginals


class Factor(ABC):
    """``f(y) + <s, y>`` over the labels y of some entries, each of which is a decision; entries may repeat decisions.

    Attributes
    ----------
    nodes : (entries,) the decision of each entry
    sides : (entries, g) columns of zeros and ones: multipliers that are worth trying before one for each entry
    splits : whether one multiplier for each entry may give a lower bound than these
    """

    nodes: Ints
    sides: Values
    splits: bool = True

    @abstractmethod
    def maximize(self, scores: Values) -> tuple[float, Bools]:
        """An upper bound of the maximum for ``scores`` (entries,), and the labels of the best entries."""

    @abstractmethod
    def max_marginals(self, scores: Values) -> Values:
        """``M[e, v] = max over y with y_e = v``, (entries, 2)."""


@final
class _RegionFactor(Factor):
    """Functions of counts, each of which has one multiplier first."""

    def __init__(self, term: RegionCounts) -> None:
        self.nodes, self._term = term.members, term
        owners = np.repeat(np.arange(len(term.owners)), np.diff(term.starts))
        self.sides = (owners[:, None] == np.arange(len(term.owners))).astype(np.float64)
        # Fractional labels whose sum is between two allowed numbers next to each other mix labelings with such numbers,
        # so a mere range of numbers has the same bound with one multiplier as with many.
        allowed = term.tables > -np.inf
        begins = allowed & ~np.concatenate(([False], allowed[:-1]))
        begins[term.table_starts[:-1]] = allowed[term.table_starts[:-1]]
        self.splits = bool((term.tables[allowed] != 0).any() or begins.sum() > len(term.owners))

    def maximize(self, scores: Values) -> tuple[float, Bools]:
        labels = np.zeros(len(scores), dtype=bool)
        return float(best_counts(scores, self._term.starts, self._term.tables, labels).sum()), labels

    def max_marginals(self, scores: Values) -> Values:
        return region_marginals(scores, self._term.starts, self._term.tables)


@final
class _PathFactor(Factor):
    """All paths of a set; each has entries of its own, so they are maximized side by side."""

    def __init__(self, term: PathOrders) -> None:
        self.nodes, self._term = term.members, term
        self.sides = np.zeros((len(term.members), 0))

    def maximize(self, scores: Values) -> tuple[float, Bools]:
        labels = np.zeros(len(scores), dtype=bool)
        return float(path_maxima(scores, self._term.starts, self._term.costs, labels).sum()), labels

    def max_marginals(self, scores: Values) -> Values:
        return path_marginals(scores, self._term.starts, self._term.costs)


@final
class _CountFactor(Factor):
    """A function of counts of the decisions with known labels, which are its entries."""

    def __init__(self, batch: Sets | Graphs, term: Counts, source: object) -> None:
        self.nodes = np.arange(batch.total) if batch.known is None else np.flatnonzero(batch.known)
        sets = Sets(batch.truth[self.nodes], np.array([0, len(self.nodes)]))
        self._truth = sets.truth.astype(np.float64)
        self._maximizer = CountSearch().prepare(Structure(sets, (term,), source))
        self.sides = np.column_stack([sets.truth, ~sets.truth]).astype(np.float64)

    def maximize(self, scores: Values) -> tuple[float, Bools]:
        found = self._maximizer.maximize(scores)
        return float(found.bounds[0] + scores @ self._truth), found.labels

    def max_marginals(self, scores: Values) -> Values:
        return self._maximizer.max_marginals(scores, np.array([scores @ self._truth]))


class Factored:
    """One set as a network with the modular part of the loss, and the factors of all other terms.

    Attributes
    ----------
    network : maximizes the scores and the modular part
    factors : one for each other term
    nodes : (entries,) the decision of each entry of all factors
    spans : the entries of each factor, as slices
    sides : those of all factors, (entries, all g)
    last : what a search has left for the next one: multipliers of sides and of entries, and labels
    """

    def __init__(self, structure: Structure) -> None:
        batch = structure.batch
        assert isinstance(batch, Sets | Graphs)
        costs, rest = structure.split()
        modular = Structure(batch, () if costs is None else (Mistakes(costs),), structure.source)
        self.structure, self.batch = structure, batch
        self.network = network_for(batch).prepare(modular)
        self.factors = [_factor(batch, term, structure.source) for term in rest.terms]
        self.nodes = np.concatenate([np.zeros(0, np.int64), *(factor.nodes for factor in self.factors)])
        ends = np.cumsum([0, *(len(factor.nodes) for factor in self.factors)])
        self.spans = [slice(a, b) for a, b in pairwise(ends)]
        self.sides = np.zeros((len(self.nodes), sum(factor.sides.shape[1] for factor in self.factors)))
        column = 0
        for factor, span in zip(self.factors, self.spans, strict=True):
            self.sides[span, column : column + factor.sides.shape[1]] = factor.sides
            column += factor.sides.shape[1]
        self.last: tuple[Values, Values | None, Bools] | None = None
        assert batch.unary is not None
        self.places: Ints = batch.unary[:, 1]
        self._at_target = batch.target[self.places][self.nodes]

    def moved(self, scores: Values, multipliers: Values) -> Values:
        """The scores of the network, to which the multipliers of all entries are added."""
        out = scores.copy()
        np.add.at(out, self.places[self.nodes], multipliers)
        return out

    def bound(self, scores: Values, multipliers: Values) -> tuple[float, Bools, Bools]:
        """An upper bound for any multipliers, the labels of the network, and those of all entries.

        ``max_y [<s, phi(y)> + <m, y>] + sum_f max_y [f(y) - <m_f, y>]``, relative to the target.
        """
        network = self.network.maximize(self.moved(scores, multipliers))
        total = float(network.bounds[0] + multipliers @ self._at_target)
        labels = np.zeros(len(self.nodes), dtype=bool)
        for factor, span in zip(self.factors, self.spans, strict=True):
            above, labels[span] = factor.maximize(-multipliers[span])
            total += above
        return total, network.labels, labels

    def candidates(self, network: Bools, entries: Bools) -> list[Bools]:
        """Labelings to be valued: that of the network, and those in which each factor has the labels that it wants."""
        found = [network]
        for factor, span in zip(self.factors, self.spans, strict=True):
            if len(factor.nodes):
                one = network.copy()
                one[factor.nodes] = entries[span]
                found.append(one)
        return found

    def value(self, scores: Values, labels: Bools) -> float:
        """The value of a labeling relative to the target."""
        return float(self.structure.values(labels)[0] + self.batch.won(scores, labels)[0])


def network_for(batch: Sets | Graphs) -> Inference:
    """The exact method for modular losses of a batch."""
    return MaxFlow() if isinstance(batch, Graphs) else Modular()


def _factor(batch: Sets | Graphs, term: Term, source: object) -> Factor:
    term = term.twin if isinstance(term, LargestOf) and term.twin is not None else term
    if isinstance(term, RegionCounts):
        return _RegionFactor(term)
    if isinstance(term, PathOrders):
        return _PathFactor(term)
    assert isinstance(term, Counts)
    return _CountFactor(batch, term, source)


def unfit_for_factors(method: Inference, structure: Structure, slack: bool) -> str | None:
    """Returns why a method that maximizes factors refuses a structure, as a sentence; None if it fits."""
    name, batch = type(method).__name__, structure.batch
    if not isinstance(batch, Sets | Graphs) or (isinstance(batch, Sets) and batch.totals is not None):
        kind = type(batch).__name__
        return (
            f"{name} refuses {kind}: it knows whole sets of binary decisions and Graphs. Use an inference for {kind}."
        )
    if slack:
        return f"{name} refuses slack rescaling: the product does not split. Use margin rescaling."
    for term in structure.split()[1].terms:
        twin = term.twin if isinstance(term, LargestOf) else term
        counts = isinstance(twin, Counts) and twin.areas is None and twin.predicted is None
        if not counts and not isinstance(twin, RegionCounts | PathOrders):
            return f"{name} refuses {structure!r}: not all its terms are counts, boxes or paths. Use Auto()."
        if counts:
            known = np.arange(batch.total) if batch.known is None else np.flatnonzero(batch.known)
            if (np.bincount(batch.owners[known], minlength=len(batch)) == 0).any():
                return f"{name} refuses {structure!r}: a set has no known label to count. Leave it out."
    return None
