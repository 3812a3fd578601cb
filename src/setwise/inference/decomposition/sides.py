"""The two sides of a decomposition: the network with the modular part of the loss, and the rest of the loss."""

from typing import final

import numpy as np

from setwise.core.attributes import cached_property
from setwise.core.batch import Sets
from setwise.core.checks import Bools, Ints, Values
from setwise.core.counts import Counts
from setwise.core.inference import Inference, rounding_next_to
from setwise.core.networks import Graphs
from setwise.core.structure import Structure
from setwise.core.terms import Mistakes
from setwise.inference.moving import MovableMaximizer, Moving, MovingScores
from setwise.inference.pairwise import stronger

IN_FULL = np.zeros(1)
"""The tolerance of one set whose sides are solved in full."""


def two_sides(structure: Structure) -> tuple[Structure, Structure]:
    """The structures of both sides: the modular part on the graphs, and the rest over independent decisions."""
    graphs, (costs, rest) = structure.batch, structure.split()
    assert isinstance(graphs, Graphs)
    modular = () if costs is None else (Mistakes(costs),)
    sets = Sets(graphs.labels, graphs.offsets)
    return Structure(graphs, modular, structure.source), Structure(sets, rest.terms, rest.source)


@final
class OneSet:
    """One set with both of its sides, bound to their methods.

    Attributes
    ----------
    graphs, structure : its graphs, and the whole loss
    network, loss : the maximizers of the two sides
    kept : (total,) the multipliers at which the last search had its lowest bound; None before the first one
    seen : (total,) its labels, the true ones before
    """

    def __init__(self, structure: Structure, network: Inference, loss: Inference) -> None:
        assert isinstance(structure.batch, Graphs)
        self.graphs, self.structure = structure.batch, structure
        self.kept: Values | None = None
        self.seen = self.graphs.truth
        first, second = two_sides(structure)
        self.network, self.loss = network.prepare(first), loss.prepare(second)

    @cached_property
    def most(self) -> float:
        """The largest loss on its side; no loss is below 0, so no label changes it by more."""
        return float(self.loss.solve(np.zeros(self.graphs.total), IN_FULL).bounds[0])

    def moving(self, scores: Values) -> Moving:
        """The side of the network for given scores."""
        if isinstance(self.network, MovableMaximizer):
            return self.network.moving(scores)
        return MovingScores(self.network, self.graphs, scores)


@final
class Problem:
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
        self._network = one.moving(self.forced_scores)

    def _force(self, fixed: Ints) -> None:
        graphs, held = self.one.graphs, np.flatnonzero(fixed >= 0)
        costs = self.one.structure.split()[0]
        pairs = np.abs(self.scores[graphs.edge_places])
        strong = np.abs(self.scores[graphs.node_places]) + (0.0 if costs is None else np.abs(costs))
        for ends in graphs.edges.T:
            strong += np.bincount(ends, pairs, graphs.total)
        strong, loss_strong = stronger(strong), stronger(np.full(graphs.total, self.one.most))
        sign = np.where(fixed == 1, 1.0, -1.0)
        self.forced_scores = self.scores.copy()
        self.forced_scores[graphs.node_places[held]] += (sign * strong)[held]
        self._loss_scores[held] = (sign * loss_strong)[held]
        # Values count from the target, so a force is won where the label is not the true one.
        wrong = held[(fixed == 1)[held] != graphs.truth[held]]
        self._extra = float((strong + loss_strong)[wrong].sum())

    def bound(self, multipliers: Values) -> tuple[float, Bools, Bools]:
        """``max_y [l1(y) + <s, phi(y) - target> + <m, y>] + max_z [l2(z) - <m, z>]``, and the y and z that were found.

        The multipliers m are 0 where a label is not known, for there y and z need not agree.
        """
        labels, above = self._network.solve(multipliers)
        others, bound = self._with_loss(labels, float(above[0]), multipliers)
        return bound, labels, others

    def settle(self, multipliers: Values) -> tuple[float, Values, Bools, Bools]:
        """The same at other multipliers, which come second: the best ones for the flow of the cut at the given ones.

        A flow leaves each node a part of its score, which bounds the network as if there were no edges. The multipliers
        give all of it to the loss, which then has the last word: ``max_z [l2(z) + <what is left of the scores, z>]``.
        """
        labels, above, settled = self._network.settle(multipliers, self._most)
        others, bound = self._with_loss(labels, float(above[0]), settled)
        return bound, settled, labels, others

    def _with_loss(self, labels: Bools, above: float, multipliers: Values) -> tuple[Bools, float]:
        """The labels that the loss chooses, and the bound, where the network has chosen its labels."""
        found = self.one.loss.solve(self._loss_scores - multipliers, IN_FULL)
        others = found.labels
        if self.one.graphs.known is not None:
            others = np.where(self.one.graphs.known, others, labels)
        return others, above + float(found.bounds[0]) - self._shared(multipliers)

    def forced_bounds(self, multipliers: Values) -> Values:
        """The bound for the labelings in which node i has label v, for all i and v, (total, 2)."""
        scores = self.forced_scores.copy()
        scores[self.one.graphs.node_places] += multipliers
        # Here both sides count from the target, where the multipliers cancel.
        out = self.one.network.max_marginals(scores) + self.one.loss.max_marginals(self._loss_scores - multipliers)
        return out - self._extra

    def slope_of_loss(self, labels: Bools, others: Bools) -> Values:
        """How much label 1 of each node adds to a loss of counts between two labelings, (total,); 0 for others."""
        graphs, sets, out = self.one.graphs, self.one.loss.structure.batch, np.zeros(self.one.graphs.total)
        for term in self.one.loss.structure.terms:
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
        lost, won = self.one.structure.values(alone)[0], self.one.graphs.won(self.scores, alone)[0]
        return self.slope_of_loss(*(2 * [alone if abs(won) < lost else labels]))

    def rounding(self, value: float) -> float:
        """What rounding changes in values and bounds next to a value."""
        return rounding_next_to(value, self.scores, self.one.graphs)

    def value(self, labels: Bools) -> float:
        """The value of labels, relative to the target."""
        return float(self.one.structure.values(labels)[0] + self.one.graphs.won(self.scores, labels)[0])

    def _shared(self, multipliers: Values) -> float:
        """What the bounds of both sides hold in common: the loss counts multipliers from the truth."""
        return float(multipliers @ self.one.graphs.truth) + self._extra


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
    for count in (0, 1):
        # Rows are the lower and the upper end of the lines, and columns the two values of the other count.
        along, across = np.array([low[count], high[count]])[:, None], ends[1 - count]
        values = term.of(along, across) if count == 0 else term.of(across, along)
        rise = float((values[1] - values[0]).mean()) / max(high[count] - low[count], 1.0)
        found.append(rise if np.isfinite(rise) else 0.0)
    return found[0], found[1]
