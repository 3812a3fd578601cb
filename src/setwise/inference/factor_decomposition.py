"""Dual decomposition of several loss factors: a network and all factors agree by multipliers, which give a bound.

A factor is a term of the loss over one set, maximized on its own over independent decisions (HOL 4.2). Messages between
network and factors, in turn, are multipliers (HOL 5.2). Candidates are repaired: boxes get a number of positives that
is allowed, and labels along paths climb one by one.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import ClassVar, final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Ints, Values, as_count, as_number
from setwise.core.counts import Counts
from setwise.core.inference import NO_SPLIT, Inference, Maximizer, Takes
from setwise.core.networks import Graphs
from setwise.core.terms import MaximumOfSums, PathOrders, RegionCounts, Term
from setwise.inference.components import each_component
from setwise.inference.counts import CountSearch
from setwise.inference.descent import Descent, DualPoint, PerSetMaximizer
from setwise.inference.independent_decisions import ModularMaximum
from setwise.inference.max_flow import MaxFlow, modular_part
from setwise.kernels.networks import arcs, climb_paths, flip_gains, move_count
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
        self._maximizer = CountSearch().prepare(BoundLoss(sets, (term,), source))
        self.sides = np.column_stack([sets.truth, ~sets.truth]).astype(np.float64)

    def maximize(self, scores: Values) -> tuple[float, Bools]:
        found = self._maximizer.maximize(scores)
        return float(found.bounds[0] + scores @ self._truth), found.labels

    def max_marginals(self, scores: Values) -> Values:
        return self._maximizer.max_marginals(scores, np.array([scores @ self._truth]))


Repair = Callable[[Bools], list[Bools]]
"""What makes candidates of labels that were found."""


class FactorGraph:
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

    def __init__(self, bound_loss: BoundLoss) -> None:
        batch = bound_loss.batch
        assert isinstance(batch, Sets | Graphs)
        self.bound_loss, self.batch = bound_loss, batch
        method = MaxFlow() if isinstance(batch, Graphs) else ModularMaximum()
        self.network = method.prepare(modular_part(bound_loss))
        self.factors = [_factor(batch, term, bound_loss.source) for term in bound_loss.split()[1].terms]
        self.nodes = np.concatenate([np.zeros(0, np.int64), *(factor.nodes for factor in self.factors)])
        ends = np.cumsum([0, *(len(factor.nodes) for factor in self.factors)])
        self.spans = [slice(a, b) for a, b in pairwise(ends)]
        columns = np.cumsum([0, *(factor.sides.shape[1] for factor in self.factors)])
        self.sides = np.zeros((len(self.nodes), columns[-1]))
        for k, (factor, span) in enumerate(zip(self.factors, self.spans, strict=True)):
            self.sides[span, columns[k] : columns[k + 1]] = factor.sides
        self.last: tuple[Values, Values | None, Bools] | None = None
        assert batch.unary is not None
        self.places: Ints = batch.unary[:, 1]
        self._at_target = batch.target[self.places][self.nodes]

    def moved(self, scores: Values, multipliers: Values) -> Values:
        """The scores of the network, to which the multipliers of all entries are added."""
        out = scores.copy()
        np.add.at(out, self.places[self.nodes], multipliers)
        return out

    def at(self, scores: Values, repair: Repair, multipliers: Values, gap: float) -> DualPoint:
        """An upper bound for any multipliers of all entries, with repaired labelings.

        ``max_y [<s, phi(y)> + <m, y>] + sum_f max_y [f(y) - <m_f, y>]``, relative to the target. The labelings are that
        of the network, and those in which each factor has the labels that it wants.
        """
        network = self.network.maximize(self.moved(scores, multipliers))
        bound = float(network.bounds[0] + multipliers @ self._at_target)
        labels, found = np.zeros(len(self.nodes), dtype=bool), [network.labels]
        for factor, span in zip(self.factors, self.spans, strict=True):
            above, labels[span] = factor.maximize(-multipliers[span])
            bound += above
            if len(factor.nodes):
                one = network.labels.copy()
                one[factor.nodes] = labels[span]
                found.append(one)
        slope = network.labels[self.nodes].astype(np.float64) - labels
        return DualPoint(bound, bound, slope, [mended for one in found for mended in repair(one)], multipliers)

    def descent(
        self, scores: Values, tol: float, left: int, repair: Repair = lambda labels: [labels], hopeless: float = 0.0
    ) -> Descent:
        """The descent on the bound, whose candidates are repaired."""
        at = partial(self.at, scores, repair)
        return Descent(at, self.bound_loss, scores, self.batch.truth, tol, left, hopeless=hopeless)


def _factor(batch: Sets | Graphs, term: Term, source: object) -> Factor:
    term = _twin(term)
    if isinstance(term, RegionCounts):
        return _RegionFactor(term)
    if isinstance(term, PathOrders):
        return _PathFactor(term)
    assert isinstance(term, Counts)
    return _CountFactor(batch, term, source)


def _twin(term: Term) -> Term:
    """The term as a factor, where it is written as a maximum of sums too."""
    return term.twin if isinstance(term, MaximumOfSums) and term.twin is not None else term


class FactorInference(Inference):
    """A method that maximizes a network and factors, each of them alone, and makes them agree."""

    approximate: ClassVar[bool] = True
    takes: ClassVar[Takes] = Takes(
        Sets | Graphs,
        "{kind}: it takes sets of binary decisions with known labels, and Graphs. Use an inference for {kind}.",
        slack=NO_SPLIT,
        unknown=True,
        whole=True,
    )

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        name, batch = type(self).__name__, bound_loss.batch
        for term in bound_loss.split()[1].terms:
            twin = _twin(term)
            counts = isinstance(twin, Counts) and twin.areas is None and twin.predicted is None
            if not counts and not isinstance(twin, RegionCounts | PathOrders):
                return f"{name} refuses {bound_loss!r}: not all its terms are counts, boxes or paths. Use Auto()."
            if counts:
                known = np.arange(batch.total) if batch.known is None else np.flatnonzero(batch.known)
                if (np.bincount(batch.owners[known], minlength=len(batch)) == 0).any():
                    return f"{name} refuses {bound_loss!r}: a set has no known label to count. Leave it out."
        return None

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return each_component(bound_loss, lambda parts: PerSetMaximizer.of(self, parts, FactorGraph, self._search))

    @abstractmethod
    def _search(self, one: FactorGraph, scores: Values, tol: float) -> tuple[Bools, float]:
        """The best labels of one set, and a bound of all values."""


EQUAL = 1e-12
"""Messages that differ by this share are equal but for rounding."""


@final
@dataclass(frozen=True)
class HighOrderMessages(FactorInference):
    """``max_y sum_f l_f(y) + <s, phi(y)>`` by messages between a network and the factors l_f of the loss (HOL 5.2).

    The network tells each factor how much more it has, at best, where an entry is 1 rather than 0, less what that
    factor told it: differences of max-marginals, by dynamic cuts (COMPOSE). Each factor answers likewise from its own
    max-marginals (HOL Eq. 4), and its message ``m_f`` moves by a share of the way to that answer. A single factor of
    independent decisions is exact at once.

    For any numbers m ``max_y [<s, phi(y)> + sum_f <m_f, y>] + sum_f max_y [l_f(y) - <m_f, y>]`` is an upper bound, and
    the labelings of these maxima are candidates: in each round for the messages of the factors, and for those of the
    network with the opposite sign. They do not descend on the bound, so the lowest one of all rounds is returned;
    :class:`setwise.inference.FactorDecomposition` lowers the same bound.

    Parameters
    ----------
    damping : the share of the way to the answer that a message goes, in (0, 1]. HOL names .95, but not whether it is
        the share of the new message, as here, or of the old one
    max_iter : the largest number of rounds

    Raises
    ------
    TypeError : for a ``damping`` that is no number, and a ``max_iter`` that is no whole number
    ValueError : for a ``damping`` outside of (0, 1], and a ``max_iter`` below 1
    Refusal : from :meth:`prepare`, for losses with other terms than counts, boxes and paths, for boxes that forbid
        numbers, and slack rescaling

    Examples
    --------
    >>> from setwise.core.networks import Graphs
    >>> from setwise.inference import HighOrderMessages
    >>> from setwise.losses import Jaccard
    >>> image = Graphs.images([np.array([[True, True, False, False]])])
    >>> scores = [2.0, 0.5, 0.0, -2.0] + [0.25] * 3  # of four pixels, then of three edges
    >>> maximizer = HighOrderMessages().prepare(Jaccard().bind(image))
    >>> found = maximizer.maximize(scores)
    >>> print(found.labels, found.values.round(4))  # one false positive: 1/3, where the score does not change
    [ True  True  True False] [0.3333]
    """

    damping: float = 0.95
    max_iter: int = 50

    name: ClassVar[str] = "high_order_messages"
    about: ClassVar[str] = "cuts and several loss factors send each other messages"

    def __post_init__(self) -> None:
        as_number(self.damping, "damping", low=0.0, high=1.0, open_low=True)
        as_count(self.max_iter, "max_iter")

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        boxes = [twin for term in bound_loss.terms if isinstance(twin := _twin(term), RegionCounts)]
        forbids = any((box.tables == -np.inf).any() for box in boxes)
        why = (
            f"HighOrderMessages refuses {bound_loss!r}: it forbids some numbers of positives. Use FactorDecomposition."
        )
        return super()._refuses(bound_loss, slack) or (why if forbids else None)

    def _search(self, one: FactorGraph, scores: Values, tol: float) -> tuple[Bools, float]:
        """Some rounds of messages."""
        search = one.descent(scores, tol, 2 * (self.max_iter + 1))
        messages = np.zeros(len(one.nodes))
        for _ in range(self.max_iter + 1):
            search.at(messages)
            if search.done:
                break
            # What no labeling of the network allows is as far off as all scores together.
            most = 4.0 * (1.0 + np.abs(scores).sum() + np.abs(messages).sum())
            both = one.network.max_marginals(one.moved(scores, messages))
            told = np.clip((both[:, 1] - both[:, 0])[one.nodes] - messages, -most, most)
            search.at(-told)
            answers = _answers(one, told, most)
            size = max(np.abs(scores).max(initial=0.0), np.abs(answers).max(initial=0.0))
            if search.done or np.abs(answers - messages).max(initial=0.0) <= EQUAL * size:
                break
            messages = messages + self.damping * (answers - messages)
        return search.labels, search.bound


def _answers(one: FactorGraph, told: Values, most: float) -> Values:
    """What the factors answer, (entries,)."""
    out = np.zeros(len(one.nodes))
    for factor, span in zip(one.factors, one.spans, strict=True):
        both = factor.max_marginals(told[span])
        out[span] = np.clip(both[:, 1] - both[:, 0] - told[span], -most, most)
    return out


@final
class LocalSearch:
    """The network of one set with given scores, in which labels of boxes and of paths change one by one.

    ``boxes`` are the members of the boxes that forbid some numbers, and the numbers that they allow.
    """

    def __init__(self, bound_loss: BoundLoss, scores: Values) -> None:
        batch = bound_loss.batch
        assert isinstance(batch, Sets | Graphs)
        assert batch.unary is not None
        self.scores = scores[batch.unary[:, 1]].astype(np.float64)
        self.edges = batch.edges if isinstance(batch, Graphs) else np.zeros((0, 2), np.int64)
        self.pairs = scores[batch.edge_places] if isinstance(batch, Graphs) else np.zeros(0)
        self.network, places = arcs(self.edges, batch.total)
        self.weights = np.zeros(2 * len(self.edges))
        self.weights[places] = self.pairs[:, None]
        self.paths = [term for term in bound_loss.terms if isinstance(term, PathOrders)]
        self.boxes: list[tuple[Ints, Ints]] = []
        for term in (term for term in bound_loss.terms if isinstance(term, RegionCounts)):
            for b, table in enumerate(np.split(term.tables, term.table_starts[1:-1])):
                allowed = np.flatnonzero(table > -np.inf)
                if 0 < len(allowed) < len(table):
                    self.boxes.append((term.members[term.starts[b] : term.starts[b + 1]], allowed))

    def candidates(self, labels: Bools) -> list[Bools]:
        """The labeling, moved to the next allowed numbers below and above if boxes forbid some, and climbed."""
        found = [self._moved(labels, up) for up in (False, True)] if self.boxes else [labels]
        return [*found, *(self._climbed(one, term) for one in found for term in self.paths)]

    def _climbed(self, labels: Bools, term: PathOrders) -> Bools:
        out = labels.copy()
        gains = flip_gains(self.scores, self.edges, self.pairs, out)
        network, costs = self.network, term.costs
        climb_paths(gains, network.first, network.heads, self.weights, term.members, term.starts, costs, out)
        return out

    def _moved(self, labels: Bools, up: bool) -> Bools:
        out = labels.copy()
        gains = flip_gains(self.scores, self.edges, self.pairs, out)
        for members, allowed in self.boxes:
            count = int(out[members].sum())
            at = int(np.searchsorted(allowed, count, side="left" if up else "right")) - (not up)
            target = int(allowed[min(max(at, 0), len(allowed) - 1)])
            move_count(gains, self.network.first, self.network.heads, self.weights, members, target, out)
        return out


HOPELESS = 0.02
"""The search ends too where the bound can fall by no more than this share of its distance from the best value."""


@final
@dataclass(frozen=True)
class FactorDecomposition(FactorInference):
    """``max_y sum_f l_f(y) + <s, phi(y)>`` for losses of counts, boxes and paths, on networks or independent decisions.

    Each factor f has one multiplier for each of its entries, and any multipliers m give the upper bound
    ``max_y [<s, phi(y)> + sum_f <m_f, y>] + sum_f max_y [l_f(y) - <m_f, y>]``. A bundle method lowers it, first with
    one multiplier for each box and for each class of a count, then with one for each entry. Labelings that the maxima
    find are candidates. Where a box allows given numbers alone, they are moved to one that it allows, one best label at
    a time, and labels along paths change one by one as long as that gains. Labels that are not known have no loss of
    counts. Where the best candidate does not reach the lowest bound, the solution is not exact. A search begins with
    the multipliers and the labels of the last one.

    Source: own; dual decomposition (DD section 3) with multipliers for each factor of the losses of HOL section 4.

    Parameters
    ----------
    max_iter : the largest number of evaluations of the bound of a set

    Raises
    ------
    TypeError : for a ``max_iter`` that is no whole number
    ValueError : for one below 1
    Refusal : from :meth:`prepare`, for losses with other terms than counts, boxes and paths, and slack rescaling

    Examples
    --------
    >>> from setwise.core.networks import Graphs
    >>> from setwise.inference import FactorDecomposition
    >>> from setwise.losses import BoxFullness
    >>> image = Graphs.images([np.array([[-1, -1, 0]], dtype=np.int8)])  # a box of two pixels
    >>> bound_loss = BoxFullness(0.5).bind(image)
    >>> found = FactorDecomposition().prepare(bound_loss).maximize([0.5, 0.5, -2.0, 0.25, 0.25])
    >>> print(found.labels)  # both pixels of the box are positive, which costs |2 - 1|
    [ True  True False]
    """

    max_iter: int = 200

    name: ClassVar[str] = "factor_decomposition"
    about: ClassVar[str] = "cuts and several loss factors agree by multipliers"

    def __post_init__(self) -> None:
        as_count(self.max_iter, "max_iter")

    def _search(self, one: FactorGraph, scores: Values, tol: float) -> tuple[Bools, float]:
        """Lower the bound with a few multipliers, then with one for each entry."""
        repair = LocalSearch(one.bound_loss, scores).candidates
        search = one.descent(scores, tol, self.max_iter, repair, HOPELESS)
        few, every, labels = one.last or (np.zeros(one.sides.shape[1]), None, search.labels)
        search.offer([labels])
        splits = any(factor.splits for factor in one.factors)
        if every is None or not splits:
            few = search.lower(few, one.sides)
        if not search.done and splits:
            every = search.lower(one.sides @ few if every is None else every)
        one.last = few, every, search.labels
        return search.labels, search.bound
