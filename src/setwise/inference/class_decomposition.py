"""Losses of decisions with k labels: each class is a binary problem, and multipliers make the problems agree.

On networks of k labels the network takes part as well (DD section 3).
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.batch import Classes, Places
from setwise.core.bound_loss import BoundLoss, LabelCosts, OneLabel
from setwise.core.checks import Floats, Ints, Values, as_count
from setwise.core.inference import Maximizer, Solutions, Takes, absolute_sums, rounding
from setwise.core.networks import ClassGraphs
from setwise.inference.descent import Descent, DualPoint, PerSetMaximizer
from setwise.inference.message_passing import label_costs
from setwise.inference.reductions import Reduction
from setwise.kernels.segments import segment_sums

SHARE = 0.1
"""The network is searched until its own gap is at most this share of the gap so far."""


@final
@dataclass(frozen=True)
class ClassDecomposition(Reduction):
    """``max_y sum_c l_c([y = c]) + <s, phi(y)>`` for losses of single classes on networks of k labels.

    For any multipliers m, one for each node and class with a loss, the sum of two kinds of maxima is an upper bound (DD
    Eq. 10 and Algorithm 1, one class against the rest):
    ``max_y [<s, phi(y)> + sum_i m_i(y_i)] + sum_c max_z [l_c(z) - sum_i m_i(c) z_i]``. The first one is a problem of
    the network with other scores of nodes, each of the others a binary problem without edges. A bundle method lowers
    the bound, first with two multipliers for each class, one for its true nodes and one for all others, then with all.

    The labels of the network are candidates, and so are those of the classes where they agree with it. Where the best
    ones do not reach the lowest bound, the solution is not exact, and the bound says how much better others may be. The
    multipliers are kept between calls, as far as ``inner`` keeps its messages.

    Parameters
    ----------
    inner : the method for the network and for the binary problems
    max_iter : the largest number of evaluations of the bound of a set

    Raises
    ------
    TypeError : for an ``inner`` that is no inference, and a ``max_iter`` that is no whole number
    ValueError : for a ``max_iter`` below 1
    Refusal : from :meth:`prepare`, for batches other than ``ClassGraphs``, losses that are not a sum over single
        classes, slack rescaling, and where ``inner`` refuses the network or a class

    Examples
    --------
    >>> from setwise.core.networks import ClassGraphs
    >>> from setwise.inference import Auto, ClassDecomposition
    >>> from setwise.losses import Jaccard, MeanOverClasses
    >>> pair = ClassGraphs(np.array([0, 1]), np.array([0, 2]), np.array([[0, 1]]), k=3)
    >>> bound_loss = MeanOverClasses(Jaccard()).bind(pair)
    >>> found = ClassDecomposition(Auto()).prepare(bound_loss).maximize([2.0, 0.0, 0.0, 0.0, 0.5, 0.0, 0.25])
    >>> print(found.labels, found.values.round(4))  # the class losses are 1/2, 1 and 0; the scores differ by 0.25
    [0 0] [0.25]
    >>> bool(found.bounds[0] >= found.values[0])
    True
    """

    max_iter: int = 100

    name: ClassVar[str] = "class_decomposition"
    about: ClassVar[str] = "a network and its classes agree by multipliers"
    approximate: ClassVar[bool] = True
    takes: ClassVar[Takes] = Takes(
        ClassGraphs,
        "{kind}: it takes ClassGraphs. Use an inference made for {kind}.",
        slack=" of {loss!r}: the product is not a sum.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        as_count(self.max_iter, "max_iter")

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        costs, losses = _split(bound_loss)
        if len(losses) + len(costs) < len(bound_loss.terms) or not losses:
            return (
                f"ClassDecomposition refuses {bound_loss!r}: it is not a sum of losses of single classes. Use Auto()."
            )
        reasons = [self.inner.refuses(BoundLoss(bound_loss.batch, costs))]
        reasons += [self.inner.refuses(term.bound_loss) for term in losses]
        return next((why for why in reasons if why is not None), None)

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return PerSetMaximizer.of(self, bound_loss, partial(_ClassProblems, self), self._search)

    def _search(self, one: "_ClassProblems", scores: Values, tol: float) -> tuple[Ints, float]:
        """Lower the bound with two multipliers for each class, then with all."""
        labels = np.maximum(one.batch.labels, 0)
        search = Descent(partial(one.at, scores), one.bound_loss, scores, labels, tol, self.max_iter)
        sides, former = one.sides(), one.multipliers.ravel()
        found = sides @ search.lower(np.zeros(sides.shape[1]), sides)
        if not search.done:
            lowest = search.bound
            # The multipliers of the call before may be a better start.
            again = former.any() and search.at(former).bound < lowest
            found = search.lower(former if again else found)
        one.multipliers[:] = found.reshape(one.own.shape)
        return search.labels, search.bound


def _split(bound_loss: BoundLoss) -> tuple[tuple[LabelCosts, ...], tuple[OneLabel, ...]]:
    """Returns the terms that are costs of labels, and those that are losses of a class."""
    costs = tuple(term for term in bound_loss.terms if isinstance(term, LabelCosts))
    return costs, tuple(term for term in bound_loss.terms if isinstance(term, OneLabel))


@final
class _ClassProblems:
    """One set: its network with the costs of labels, and one binary problem for each class with a loss.

    Attributes
    ----------
    own : (c, p) the label whose nodes each binary problem asks for; -1 where its answer is no in any case
    multipliers : (c, p) those of the least bound of the last search
    """

    def __init__(self, method: ClassDecomposition, bound_loss: BoundLoss) -> None:
        assert isinstance(bound_loss.batch, ClassGraphs)
        costs, losses = _split(bound_loss)
        self.batch, self.bound_loss = bound_loss.batch, bound_loss
        self._network = method.inner.prepare(BoundLoss(self.batch, costs))
        self._losses = [method.inner.prepare(term.bound_loss) for term in losses]
        p = self.batch.total
        self.own = np.stack([self.batch.labels if t.label is None else np.full(p, t.label) for t in losses])
        self.multipliers = np.zeros(self.own.shape)
        self._asks = self.own >= 0
        # Places of the scores to which multipliers are added; those of no label are 0.
        self._places = self.batch.node_columns[np.arange(p), np.maximum(self.own, 0)]

    def sides(self) -> Values:
        """The multipliers (c p, 2 c) that are the same for all true nodes of a class, and for all others."""
        true = (self.own == self.batch.labels) & self._asks
        both = np.stack([true, ~true & self._asks], axis=2)
        sides: Values = np.eye(len(self.own))[:, None, :, None] * both[:, :, None, :]
        return sides.reshape(self.own.size, -1)

    def at(self, scores: Values, multipliers: Values, gap: float) -> DualPoint:
        """The bound, a plane below it and labelings for multipliers (c p,)."""
        batch, m = self.batch, multipliers.reshape(self.own.shape)
        moved = scores.copy()
        for places, each in zip(self._places, m, strict=True):
            moved[places] += each
        network = self._network.maximize(moved, SHARE * max(gap, 0.0) if gap < np.inf else 0.0)
        labels = network.labels
        # What is counted from a target is counted from 0 before it is added up.
        constant = float(batch.at_target(moved)[0] - batch.at_target(scores)[0])
        bound, level = float(network.bounds[0]) + constant, float(network.values[0]) + constant
        chosen = np.zeros(m.shape, dtype=bool)
        for c, loss in enumerate(self._losses):
            found = loss.maximize(-m[c])
            base = float(loss.bound_loss.batch.at_target(-m[c])[0])
            bound, level = bound + float(found.bounds[0]) + base, level + float(found.values[0]) + base
            chosen[c] = found.labels
        slope = np.where(self._asks, (labels == self.own) * 1.0 - chosen, 0.0)
        return DualPoint(bound, level, slope.ravel(), [labels, self._agreed(moved, labels, chosen)], multipliers)

    def _agreed(self, moved: Values, labels: Ints, chosen: NDArray[np.bool_]) -> Ints:
        """The labels of the network where their class chose them too, else the best label that a class chose."""
        each = np.full((self.batch.total, self.batch.k), -np.inf)
        for own, takes in zip(self.own, chosen & self._asks, strict=True):
            at = np.flatnonzero(takes)
            each[at, own[at]] = moved[self.batch.node_columns[at, own[at]]]
        asked = ((labels == self.own) & self._asks).any(axis=0)
        refused = asked & ~((labels == self.own) & chosen).any(axis=0)
        return np.where(refused & (each > -np.inf).any(axis=1), each.argmax(axis=1), labels)


@final
@dataclass(frozen=True)
class ByClass(Reduction):
    """``max_y sum_c l_c([y = c]) + <s, phi(y)>`` for losses of single classes, c = 0..k-1.

    *One class against the rest* (DD Algorithm 1): a decision without that label takes the best of its other labels, so
    one binary problem is left, with the scores ``s_c - max_(c' != c) s_c'``. It is as exact as the method for it. The
    same holds where the loss depends on which decisions are right.

    *Several classes* are decoupled by one multiplier m for each decision, ``sum_i m_i (1 - sum_c [y_i = c])``. Every m
    gives an upper bound, the sum of k binary problems; subgradient steps of Polyak's length lower it. Each iterate is
    rounded to a labeling: each decision takes the label of largest score among the classes whose problem chose it, or
    among all classes where none did. The multipliers are kept between calls.

    Parameters
    ----------
    inner : the method for the binary problems
    max_iter : largest number of subgradient steps

    Raises
    ------
    TypeError : for an ``inner`` that is no inference, and a ``max_iter`` that is no whole number
    ValueError : for a ``max_iter`` below 1
    Refusal : from :meth:`prepare`, for losses that are not a sum over single classes, slack rescaling, and where
        ``inner`` refuses the problem of a class

    Examples
    --------
    >>> from setwise.core.batch import Classes
    >>> from setwise.inference import Auto, ByClass
    >>> from setwise.losses import Jaccard, MeanOverClasses
    >>> bound_loss = MeanOverClasses(Jaccard()).bind(Classes.single([0, 1, 2], k=3))
    >>> found = ByClass(Auto()).prepare(bound_loss).maximize([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.2])
    >>> print(found.labels, found.values.round(3))  # the class losses are 1/2, 0 and 1; the score falls by 0.2
    [0 1 0] [0.3]
    """

    max_iter: int = 200

    name: ClassVar[str] = "by_class"
    about: ClassVar[str] = "one class at a time, made to agree by multipliers"
    approximate: ClassVar[bool] = True
    takes: ClassVar[Takes] = Takes(
        Classes,
        "{kind}: it takes independent decisions with k labels.",
        slack=" of {loss!r}: the product is not a sum over classes.",
        terms=OneLabel | LabelCosts,
        other_terms="it is not a sum of losses of single classes.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        as_count(self.max_iter, "max_iter")

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        binary = [term for term in bound_loss.terms if isinstance(term, OneLabel)]
        if len(binary) > 1 and any(term.label is None for term in binary):
            return f"ByClass refuses {bound_loss!r}: a loss of all mistakes is not a sum over classes."
        reasons = (self.inner.refuses(term.bound_loss) for term in binary)
        return next((why for why in reasons if why is not None), None)

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        terms = [term for term in bound_loss.terms if isinstance(term, OneLabel)]
        if len(terms) == 1:
            return _OneClassMaximizer(self, bound_loss, terms[0])
        return _AllClassesMaximizer(self, bound_loss)


@final
class _OneClassMaximizer(Maximizer):
    """Solves one class against the rest, or right decisions against wrong ones, as one binary problem."""

    def __init__(self, method: ByClass, bound_loss: BoundLoss, term: OneLabel) -> None:
        self.method, self.bound_loss, self.slack = method, bound_loss, False
        self._costs, self._inner = np.stack(label_costs(bound_loss), axis=1), method.inner.prepare(term.bound_loss)
        batch = bound_loss.batch
        self._own = np.full(batch.total, term.label) if term.label is not None else np.maximum(batch.labels, 0)

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        batch, rows = self.bound_loss.batch, np.arange(self.bound_loss.batch.total)
        each = scores.reshape(batch.total, batch.n_labels) + self._costs
        own = each[rows, self._own]
        # The best other label of each decision, and its score.
        others = each.copy()
        others[rows, self._own] = -np.inf
        instead = others.argmax(axis=1)
        base = others[rows, instead]
        found = self._inner.solve(own - base, tol)
        labels = np.where(found.labels, self._own, instead)
        # The score of the best other labels is common to all labelings of the binary problem.
        inner = self._inner.bound_loss.batch
        constant = segment_sums(base + inner.target * (own - base), batch.offsets)
        constant -= batch.at_target(scores)
        return self.solved(scores, labels, found.bounds + constant)


@final
class _AllClassesMaximizer(Maximizer):
    """Solves all classes together by dual decomposition, and begins with the multipliers where it ended."""

    method: ByClass

    def __init__(self, method: ByClass, bound_loss: BoundLoss) -> None:
        self.method, self.bound_loss, self.slack = method, bound_loss, False
        terms = [term for term in bound_loss.terms if isinstance(term, OneLabel)]
        self._costs = np.stack(label_costs(bound_loss), axis=1)
        self._inner = {int(term.label or 0): method.inner.prepare(term.bound_loss) for term in terms}
        # The multipliers less the best scores, (total,), and where the whole keeps those of chosen sets.
        self._m = np.zeros(bound_loss.batch.total)
        self._owner: tuple[Values, Places] | None = None

    def take(self, parts: Ints) -> "Maximizer":
        at = self.bound_loss.batch.decisions(parts)
        chosen = _AllClassesMaximizer(self.method, self.bound_loss.take(parts))
        chosen._m, chosen._owner = self._m[at], (self._m, at)
        return chosen

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        batch = self.bound_loss.batch
        n, k = len(batch), batch.n_labels
        adjusted = scores.reshape(batch.total, k).astype(np.float64) + self._costs
        target = batch.at_target(scores)
        top = adjusted.max(axis=1)
        m = top + self._m
        best = adjusted.argmax(axis=1)
        value, bound, pace = self._value(scores, best), np.full(n, np.inf), np.ones(n)
        best_m = m.copy()
        size = absolute_sums(scores, batch)
        # Polyak's step length is the gap over the squared length of the subgradient, times a pace for each set.
        for _ in range(self.method.max_iter):
            chosen, dual = self._decoupled(adjusted - m[:, None], tol)
            dual += segment_sums(m, batch.offsets) - target
            improved = dual < bound
            # The pace slows down in the sets whose bound did not improve.
            pace = np.where(improved, pace, 0.7 * pace)
            bound, best_m = np.minimum(bound, dual), np.where(improved[batch.owners], m, best_m)
            # Round: the best label among the classes whose problem chose the decision, or among all if none did.
            allowed = np.where(
                np.where(chosen.any(axis=1, keepdims=True), chosen, True), adjusted - m[:, None], -np.inf
            )
            labels = allowed.argmax(axis=1)
            reached = self._value(scores, labels)
            best = np.where((reached > value)[batch.owners], labels, best)
            value = np.maximum(value, reached)
            # The subgradient in m_i is 1 less the number of classes whose problem chose decision i.
            slope = 1.0 - chosen.sum(axis=1)
            length_squared = segment_sums(slope**2, batch.offsets)
            close = np.maximum(tol, rounding(batch.addends, np.abs(value) + size))
            open_sets = (bound - value > close) & (length_squared > 0)
            if not open_sets.any():
                break
            move = np.where(open_sets, pace * (dual - value) / np.maximum(length_squared, 1.0), 0.0)
            m = m - move[batch.owners] * slope
        # Relative to the best scores, the multipliers are a good start where the scores have moved.
        self._m[:] = best_m - top
        if self._owner is not None:
            whole, at = self._owner
            whole[at] = self._m
        return self.solved(scores, best, np.maximum(bound, value))

    def _value(self, scores: Floats, labels: Ints) -> Values:
        return self.bound_loss.values(labels) + self.bound_loss.batch.won(scores, labels)

    def _decoupled(self, reduced: Values, tol: Values) -> tuple[np.ndarray, Values]:
        """Solves the binary problems: returns their decisions, (total, k), and the sum of their bounds, (n,)."""
        batch = self.bound_loss.batch
        chosen, dual = np.zeros(reduced.shape, dtype=bool), np.zeros(len(batch))
        for c in range(batch.n_labels):
            column = reduced[:, c]
            if c not in self._inner:
                # A class without a loss takes every decision of positive score.
                chosen[:, c] = column > 0
                dual += segment_sums(np.maximum(column, 0.0), batch.offsets)
                continue
            inner = self._inner[c]
            found = inner.solve(column, tol)
            chosen[:, c] = found.labels
            # Bounds are counted from the score of the target, which is added back.
            dual += found.bounds + inner.bound_loss.batch.at_target(column)
        return chosen, dual
