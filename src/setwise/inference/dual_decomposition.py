"""Dual decomposition: a loss and a network agree on the labels of nodes by multipliers, which gives a bound.

One side is the network with the modular part of the loss, the other the rest of the loss. The bound falls by a bundle,
or by the steps that are printed in DD section 3. Branching on the labels of nodes closes the gap that is left.
"""

from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count
from typing import ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.attributes import cached_property
from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Bools, Ints, Values, as_choice, as_count, as_flag, as_kind, as_number
from setwise.core.counts import Counts
from setwise.core.exceptions import Refusal
from setwise.core.inference import Inference, Maximizer, Takes
from setwise.core.networks import Graphs
from setwise.inference.areas import ByArea
from setwise.inference.components import moving
from setwise.inference.counts import CountSearch
from setwise.inference.descent import Descent, DualPoint, PerSetMaximizer
from setwise.inference.independent_decisions import ByCardinality
from setwise.inference.max_flow import GRAPHS, MaxFlow, modular_part
from setwise.inference.message_passing import outweighing, stronger
from setwise.inference.reductions import KnownLabels

IN_FULL = np.zeros(1)
"""The tolerance of one set whose sides are solved in full."""


def two_sides(bound_loss: BoundLoss) -> tuple[BoundLoss, BoundLoss]:
    """The bound losses of both sides: the modular part on the graphs, and the rest over independent decisions."""
    assert isinstance(bound_loss.batch, Graphs)
    return modular_part(bound_loss), replace(bound_loss.split()[1], batch=bound_loss.batch.nodes)


@final
class OneSet:
    """One set with both of its sides, bound to the methods that ``method`` takes for them.

    Attributes
    ----------
    graphs, bound_loss : its graphs, and the whole loss
    network, loss : the maximizers of the two sides
    seen : (total,) the labels of the last search, the true ones before the first
    kept : (total,) the multipliers at which it had its lowest bound; None before
    """

    def __init__(self, method: "DualDecomposition", bound_loss: BoundLoss) -> None:
        graphs, (network, loss) = bound_loss.batch, two_sides(bound_loss)
        fit = method._fit_for(loss)
        assert isinstance(graphs, Graphs)
        assert fit is not None
        self.graphs, self.bound_loss = graphs, bound_loss
        self.network, self.loss = (method.network or MaxFlow()).prepare(network), fit.prepare(loss)
        self.seen: Bools = graphs.truth
        self.kept: Values | None = None

    @cached_property
    def most(self) -> float:
        """The largest loss on its side; no loss is below 0, so no label changes it by more."""
        return float(self.loss.solve(np.zeros(self.graphs.total), IN_FULL).bounds[0])


@final
class Subproblem:
    """``max_y l(y) + <s, phi(y) - target>`` of one set for given scores, and its bounds; some labels may be fixed.

    A label is fixed by forces: a node wins so much more score with this label that neither side chooses the other one.

    Parameters
    ----------
    one : the set
    scores : (n_scores,) float64
    fixed : (total,) the labels that are fixed, and -1 elsewhere; None fixes none
    """

    def __init__(self, one: OneSet, scores: Values, fixed: Ints | None = None) -> None:
        self.one, self.scores, self.fixed = one, scores, fixed
        graphs = one.graphs
        self.forced_scores, self._loss_scores, self._extra = scores, np.zeros(graphs.total), 0.0
        # Where the multipliers are beyond the largest loss, the other side has no choice left; some must be 0.
        self._most = np.full(graphs.total, one.most)
        if graphs.known is not None:
            self._most[~graphs.known] = 0.0
        if fixed is not None:
            self._most[fixed >= 0] = 0.0
            self._force(fixed)
        self._network = moving(one.network, self.forced_scores)

    def _force(self, fixed: Ints) -> None:
        graphs, held = self.one.graphs, np.flatnonzero(fixed >= 0)
        costs = self.one.bound_loss.split()[0]
        own = np.abs(self.scores[graphs.node_places]) + (0.0 if costs is None else np.abs(costs))
        strong = outweighing(own, graphs.edges, np.abs(self.scores[graphs.edge_places]))
        loss_strong = stronger(np.full(graphs.total, self.one.most))
        sign = np.where(fixed == 1, 1.0, -1.0)
        self.forced_scores = self.scores.copy()
        self.forced_scores[graphs.node_places[held]] += (sign * strong)[held]
        self._loss_scores[held] = (sign * loss_strong)[held]
        # Values count from the target, so a force is won where the label is not the true one.
        wrong = held[(fixed == 1)[held] != graphs.truth[held]]
        self._extra = float((strong + loss_strong)[wrong].sum())

    def descent(self, labels: Bools, tol: float, left: int) -> Descent:
        """The descent on the bound, which begins with these labels."""
        return Descent(self.bound, self.one.bound_loss, self.scores, labels, tol, left, least=HOPELESS * tol)

    def bound(self, multipliers: Values, gap: float = np.inf) -> DualPoint:
        """``max_y [l1(y) + <s, phi(y) - target> + <m, y>] + max_z [l2(z) - <m, z>]``, with the y and z that were found.

        The multipliers m are 0 where a label is not known, for there y and z need not agree.
        """
        labels, above = self._network.solve(multipliers)
        return self._with_loss(labels, float(above[0]), multipliers)

    def settle(self, multipliers: Values) -> DualPoint:
        """The same at other multipliers: the best ones for the flow of the cut at the given ones.

        A flow leaves each node a part of its score, which bounds the network as if there were no edges. The multipliers
        give all of it to the loss, which then has the last word: ``max_z [l2(z) + <what is left of the scores, z>]``.
        """
        labels, above, settled = self._network.settle(multipliers, self._most)
        return self._with_loss(labels, float(above[0]), settled)

    def _with_loss(self, labels: Bools, above: float, multipliers: Values) -> DualPoint:
        """The bound where the network has chosen its labels, and the loss chooses others."""
        found = self.one.loss.solve(self._loss_scores - multipliers, IN_FULL)
        others = found.labels
        if self.one.graphs.known is not None:
            others = np.where(self.one.graphs.known, others, labels)
        # What both sides hold in common: the loss counts multipliers from the truth.
        bound = above + float(found.bounds[0]) - (float(multipliers @ self.one.graphs.truth) + self._extra)
        return DualPoint(bound, bound, labels.view(np.int8) - others.view(np.int8), (labels, others), multipliers)

    def forced_bounds(self, multipliers: Values) -> Values:
        """The bound for the labelings in which node i has label v, for all i and v, (total, 2)."""
        scores = self.forced_scores.copy()
        scores[self.one.graphs.node_places] += multipliers
        # Here both sides count from the target, where the multipliers cancel.
        out = self.one.network.max_marginals(scores) + self.one.loss.max_marginals(self._loss_scores - multipliers)
        return out - self._extra

    def slope_of_loss(self, labels: Bools, others: Bools) -> Values:
        """How much label 1 of each node adds to a loss of counts between two labelings, (total,); 0 for others."""
        graphs, sets, out = self.one.graphs, self.one.loss.bound_loss.batch, np.zeros(self.one.graphs.total)
        for term in self.one.loss.bound_loss.terms:
            if isinstance(term, Counts) and isinstance(sets, Sets):
                fn, fp = count_slopes(term, sets, labels, others)
                each = np.where(graphs.truth, -fn, fp)
                out += each if term.areas is None else term.areas * each
        return np.where(self._most > 0.0, out, 0.0)

    def first_slope(self, labels: Bools) -> Values:
        """The slope of the loss at the labels that are best without edges where they win more loss than score.

        Elsewhere it is that at given labels, which are better there: scores that outweigh the loss speak for them.
        """
        alone = self.one.loss.solve(self._loss_scores + self.scores[self.one.graphs.node_places], IN_FULL).labels
        lost, won = self.one.bound_loss.values(alone)[0], self.one.graphs.won(self.scores, alone)[0]
        return self.slope_of_loss(*(2 * [alone if abs(won) < lost else labels]))


def count_slopes(term: Counts, sets: Sets, labels: Bools, others: Bools) -> tuple[float, float]:
    """What one more false negative, and one more false positive, adds to the loss of one set between two labelings.

    These are the slopes of lines along each count through the counts of both, in the mean over the other count; where
    the labelings have the same count, a line reaches over one to each side.
    """
    ends = np.sort(np.concatenate([term.counts(sets, labels), term.counts(sets, others)], axis=1), axis=1)
    alike = ends[:, 0] == ends[:, 1]
    low = np.maximum(ends[:, 0] - alike, 0.0)
    high = np.minimum(ends[:, 1] + alike, [term.P[0], term.N[0]])
    found = []
    for kind in (0, 1):
        # Rows are the lower and the upper end of the lines, and columns the two values of the other count.
        along, across = np.array([low[kind], high[kind]])[:, None], ends[1 - kind]
        values = term.of(along, across) if kind == 0 else term.of(across, along)
        rise = float((values[1] - values[0]).mean()) / max(high[kind] - low[kind], 1.0)
        found.append(rise if np.isfinite(rise) else 0.0)
    return found[0], found[1]


LEFT, PATIENCE = 0.5, 2
"""The sides take turns until PATIENCE turns in vain, in which more than this share of the gap is left."""

HOPELESS, STRETCHES = 0.01, 2
"""It also ends where they promise no more than this share of the tolerance, with ever longer steps."""


def descend_by_bundle(problem: Subproblem, search: Descent, start: Values | None) -> None:
    """Lower the bound from a start, or from the slope of the loss at the best labels: by turns, then by a bundle.

    In a turn the network gets the slope of the loss as its multipliers, and the loss gets what the flow leaves of the
    scores. The slope is that between the labels that the loss chose last and the best ones, or after a turn in vain
    those of the network.
    """
    multipliers = problem.first_slope(search.labels) if start is None else start
    vain = 0
    while vain <= PATIENCE:
        before = search.bound - search.best
        labels, others = search.see(problem.settle(multipliers)).labelings
        if search.done:
            return
        vain = vain + 1 if search.bound - search.best > LEFT * before else 0
        multipliers = problem.slope_of_loss(labels if vain else search.labels, others)
        if not multipliers.any():
            break
    search.lower(search.lowest.multipliers, seen=search.lowest, stretches=STRETCHES)


def descend_as_printed(search: Descent, scale: float) -> None:
    """Steps of ``scale / sqrt(t)`` from 0 against the slope; the labels are those of most votes where both disagree.

    Each label has a multiplier of its own there, and both move, so their difference moves by twice the step.
    """
    multipliers, votes, t = np.zeros(len(search.labels)), np.zeros(len(search.labels), np.int64), 0
    slope: NDArray[np.int8] = np.ones(1, np.int8)
    while not search.done and slope.any():
        t += 1
        slope, (labels, others) = search.at(multipliers).slope, search.last.labelings
        votes += labels.view(np.int8) + others.view(np.int8)
        multipliers = multipliers - 2.0 * scale / np.sqrt(t) * slope
    if search.left <= 0:
        search.labels = np.where(slope == 0, search.last.labelings[0], votes > t)
        search.best = search.value(search.labels)


@final
class BranchAndBound:
    """Closes the gap of a search by fixing labels: in each part some nodes have theirs, and its bound is lowered again.

    For any multipliers the sum of the max-marginals of both sides bounds the best labeling with one more label fixed.
    Where it is not above the best value seen, the node must have its other label. If labels are left open, the part is
    divided by one of them. Parts are taken by their bounds, the largest first.

    Parameters
    ----------
    problem, search : the whole problem, and its finished search, which takes better labels
    budget : the most parts that are searched
    steps : the most bounds that are computed in each

    Attributes
    ----------
    bound : the bound of all values, those of parts left out included
    """

    def __init__(self, problem: Subproblem, search: Descent, budget: int, steps: int) -> None:
        self._problem, self._search, self._steps = problem, search, steps
        self._marginals, self._left_out = True, -np.inf
        ticket = count()
        parts = [(-search.bound, next(ticket), np.full(len(search.labels), -1), search.lowest.multipliers)]
        while parts and -parts[0][0] > search.best + search.close and budget > 0:
            budget -= 1
            above, _, fixed, multipliers = heappop(parts)
            for bound, child, start in self._divide(-above, fixed, multipliers):
                heappush(parts, (-bound, next(ticket), child, start))
        self.bound = max(search.best, self._left_out, -parts[0][0] if parts else -np.inf)

    def _divide(self, bound: float, fixed: Ints, start: Values) -> list[tuple[float, Ints, Values]]:
        """Lower the bound of a part, and return the parts that may hold something better."""
        problem, whole = Subproblem(self._problem.one, self._problem.scores, fixed), self._search
        part = problem.descent(whole.labels, whole.tol, self._steps)
        descend_by_bundle(problem, part, np.where(fixed < 0, start, 0.0))
        whole.offer([part.labels])
        bound = min(bound, part.bound)
        if bound <= whole.best + whole.close:
            self._left_out = max(self._left_out, bound)
            return []
        multipliers = part.lowest.multipliers
        above = np.minimum(self._forced_bounds(problem, multipliers), bound)
        fixed = fixed.copy()
        closed = above <= whole.best + whole.close
        choice = fixed < 0
        self._left_out = max(self._left_out, above[choice][closed[choice]].max(initial=-np.inf))
        if (closed.all(axis=1) & choice).any():
            return []
        for label in (0, 1):
            fixed[(fixed < 0) & closed[:, 1 - label]] = label
        free = np.flatnonzero(fixed < 0)
        if not len(free):
            # The only labels that are left are a candidate.
            whole.offer([fixed == 1])
            return []
        # The best node is one whose labels both lower the bound, or one on which the sides do not agree.
        falls = bound - above[free].max(axis=1)
        apart = part.lowest.slope[free] != 0
        node = free[np.lexsort((np.abs(multipliers[free]), apart, falls))[-1]]
        out = []
        for label in (0, 1):
            child = fixed.copy()
            child[node] = label
            out.append((float(above[node, label]), child, multipliers))
        return out

    def _forced_bounds(self, problem: Subproblem, multipliers: Values) -> Values:
        """The bounds with one more label fixed, (total, 2); inf where a side is only bounded itself."""
        if self._marginals:
            try:
                return problem.forced_bounds(multipliers)
            except Refusal:
                self._marginals = False
        return np.full((len(multipliers), 2), np.inf)


LOSSES: tuple[Inference, ...] = (CountSearch(), ByCardinality(), ByArea())
"""The methods for the side of the loss, of which the first that fits is taken where none is given."""


@final
@dataclass(frozen=True)
class DualDecomposition(Inference):
    """``max_y l(y) + <s, phi(y)>`` on networks of two labels, for losses that are not a sum over nodes.

    For any multipliers m, one for each node of known label, ``max_y [<s, phi(y)> + <m, y>] + max_y [l(y) - <m, y>]`` is
    an upper bound (DD section 3): the first maximum is a minimum cut, where the scores of edges are 0 or above, and the
    second one goes over independent decisions, a search over counts for Jaccard or F1. The sides take turns first: the
    cut gets the slope of the loss near the labels seen so far as its multipliers, and the loss gets what the flow of
    the cut leaves of the scores, which are the best multipliers for this flow. A bundle method ends the descent where
    the turns do not. All labelings that the maxima find are candidates. Where the best one does not reach the lowest
    bound, the solution is not exact, and the bound says how much better another one may be.

    Multipliers are kept for each set: the next call begins with them. An evaluation of the bound is a cut, which
    begins with the last one, and a sort of the nodes; the bundle adds O(100 p) for p nodes.

    Parameters
    ----------
    max_iter : the largest number of evaluations of the bound of a set
    step : ``"bundle"`` for turns and a bundle; or ``"printed"`` for the steps ``scale / sqrt(t)`` from m = 0 of DD
        section 3. There each node gets the label that it had most often, unless value and bound meet. DD takes
        ``max_iter=100``
    scale : the length of the printed steps, > 0
    exact : whether to divide the labelings by the labels of single nodes until value and bound meet; it takes long
        where the gap is large
    budget : the most parts that are searched then, for each set. Where they are not enough, a gap remains
    network : the method for the network with costs of single nodes; None is :class:`setwise.inference.MaxFlow`
    loss : the method for the rest of the loss on independent decisions; None chooses one that fits

    Raises
    ------
    TypeError : for arguments of another kind
    ValueError : for counts below 1, another ``step``, and a ``scale`` that is not above 0
    Refusal : from :meth:`prepare`, for batches other than ``Graphs``, modular losses, slack rescaling, and where one of
        the two methods does not fit

    Examples
    --------
    >>> from setwise.core.networks import Graphs
    >>> from setwise.inference import DualDecomposition
    >>> from setwise.losses import Jaccard
    >>> image = Graphs.images([np.array([[True, True, False, False]])])
    >>> scores = [2.0, 0.5, 0.0, -2.0] + [0.25] * 3  # of four pixels, then of three edges
    >>> found = DualDecomposition().prepare(Jaccard().bind(image)).maximize(scores)
    >>> print(found.labels, found.values.round(4))  # one false positive: 1/3, where the score does not change
    [ True  True  True False] [0.3333]
    >>> bool(found.bounds[0] >= found.values[0])
    True
    """

    max_iter: int = 200
    step: Literal["bundle", "printed"] = "bundle"
    scale: float = 1.0
    exact: bool = False
    budget: int = 1000
    network: Inference | None = None
    loss: Inference | None = None

    name: ClassVar[str] = "dual_decomposition"
    about: ClassVar[str] = "a network and a loss agree by multipliers"
    approximate: ClassVar[bool] = True
    takes: ClassVar[Takes] = GRAPHS

    def __post_init__(self) -> None:
        as_count(self.max_iter, "max_iter")
        as_choice(self.step, "step", ("bundle", "printed"))
        as_number(self.scale, "scale", low=0.0, open_low=True)
        as_flag(self.exact, "exact")
        as_count(self.budget, "budget")
        for name, part, example in (("network", self.network, "MaxFlow()"), ("loss", self.loss, "CountSearch()")):
            if part is not None:
                as_kind(part, name, Inference, f"setwise.inference.{example}")

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        network, loss = two_sides(bound_loss)
        if not loss.terms:
            return f"DualDecomposition refuses {bound_loss!r}: it is a sum of one cost per mistake. Use MaxFlow."
        if self._fit_for(loss) is None:
            return f"DualDecomposition refuses {bound_loss!r}: it is not a function of counts. Use loss=GreedySearch()."
        why = None if self.loss is None else self.loss.refuses(loss)
        return why or (self.network or MaxFlow()).refuses(network)

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return PerSetMaximizer.of(self, bound_loss, self.one_set, self._search)

    def _search(self, unit: OneSet, scores: Values, tol: float) -> tuple[Bools, float]:
        """The descent on the bound of one set, and the division of its labelings where that is asked for."""
        problem = Subproblem(unit, scores)
        search = problem.descent(unit.graphs.truth, tol, self.max_iter)
        search.offer([unit.seen])
        if self.step == "bundle":
            descend_by_bundle(problem, search, unit.kept)
            unit.kept, unit.seen = search.lowest.multipliers, search.labels
        else:
            descend_as_printed(search, self.scale)
        bound = search.bound
        if self.exact and bound - search.best > tol:
            bound = BranchAndBound(problem, search, self.budget, self.max_iter).bound
        return search.labels, bound

    def _fit_for(self, loss: BoundLoss) -> Inference | None:
        """The method for the side of the loss."""
        if self.loss is not None:
            return self.loss
        methods = LOSSES if loss.batch.known is None else tuple(KnownLabels(method) for method in LOSSES)
        return next((method for method in methods if method.refuses(loss) is None), None)

    def one_set(self, bound_loss: BoundLoss) -> OneSet:
        """A bound loss of one set, bound to the methods of both sides."""
        return OneSet(self, bound_loss)
