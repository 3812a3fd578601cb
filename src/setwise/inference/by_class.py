"""Losses of decisions with k labels: each class is a binary problem, and multipliers make the problems agree."""

from dataclasses import dataclass
from functools import reduce
from typing import ClassVar, final

import numpy as np

from setwise.core.batch import Classes
from setwise.core.checks import Floats, Ints, Values, as_count, as_kind
from setwise.core.inference import Inference, Maximizer, Solutions, absolute_sums, rounding
from setwise.core.structure import LabelCosts, OneLabel, Structure
from setwise.kernels.segments import segment_sums


@final
@dataclass(frozen=True)
class ByClass(Inference):
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
    Refusal : from :meth:`prepare`, for losses that are no sum over single classes, slack rescaling, and where ``inner``
        refuses the problem of a class

    Examples
    --------
    >>> from setwise.core.batch import Classes
    >>> from setwise.inference import Auto, ByClass
    >>> from setwise.losses import Jaccard, MeanOverClasses
    >>> structure = MeanOverClasses(Jaccard()).structure(Classes.single([0, 1, 2], k=3))
    >>> found = ByClass(Auto()).prepare(structure).maximize([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.2])
    >>> print(found.labels, found.values.round(3))  # the class losses are 1/2, 0 and 1; the score falls by 0.2
    [0 1 0] [0.3]
    """

    inner: Inference
    max_iter: int = 200

    name: ClassVar[str] = "by_class"
    about: ClassVar[str] = "one class at a time, made to agree by multipliers"
    approximate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_kind(self.inner, "inner", Inference, "setwise.inference.Auto()")
        as_count(self.max_iter, "max_iter")

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        if not isinstance(structure.batch, Classes):
            return f"ByClass refuses {type(structure.batch).__name__}: it knows independent decisions with k labels."
        if slack:
            return f"ByClass refuses slack rescaling of {structure!r}: the product does not split into classes."
        binary = [term for term in structure.terms if isinstance(term, OneLabel)]
        if len(binary) + sum(isinstance(t, LabelCosts) for t in structure.terms) < len(structure.terms):
            return f"ByClass refuses {structure!r}: it is not a sum of losses of single classes."
        if len(binary) > 1 and any(term.label is None for term in binary):
            return f"ByClass refuses {structure!r}: a loss of all mistakes does not split into classes."
        for term in binary:
            why = self.inner.refuses(term.structure)
            if why is not None:
                return why
        return None

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        terms = [term for term in structure.terms if isinstance(term, OneLabel)]
        if len(terms) == 1:
            return _OneClass(self, structure, terms[0])
        return _AllClasses(self, structure, terms, np.zeros(structure.batch.total))


def _label_costs(structure: Structure) -> Values | float:
    """Returns the costs of single labels, (total, k), the modular part of the loss; 0 where there are none."""
    costs = [term.costs for term in structure.terms if isinstance(term, LabelCosts)]
    return reduce(np.add, costs) if costs else 0.0


@final
class _OneClass(Maximizer):
    """Solves one class against the rest, or right decisions against wrong ones, as one binary problem."""

    def __init__(self, method: ByClass, structure: Structure, term: OneLabel) -> None:
        self.method, self.structure, self.slack = method, structure, False
        self._costs, self._inner = _label_costs(structure), method.inner.prepare(term.structure)
        batch = structure.batch
        self._own = np.full(batch.total, term.label) if term.label is not None else np.maximum(batch.labels, 0)

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        batch, rows = self.structure.batch, np.arange(self.structure.batch.total)
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
        inner = self._inner.structure.batch
        constant = segment_sums(base + inner.target * (own - base), batch.offsets)
        constant -= batch.at_target(scores)
        return self.solved(scores, labels, found.bounds + constant)


@final
class _AllClasses(Maximizer):
    """Solves all classes together by dual decomposition; ``m`` (total,) holds the multipliers less the best scores."""

    def __init__(self, method: ByClass, structure: Structure, terms: list[OneLabel], m: Values) -> None:
        self.method, self.structure, self.slack = method, structure, False
        self._max_iter, self._costs, self._m = method.max_iter, _label_costs(structure), m
        self._inner = {int(term.label or 0): method.inner.prepare(term.structure) for term in terms}

    def take(self, parts: Ints) -> "Maximizer":
        assert isinstance(self.method, ByClass)
        structure, decisions = self.structure.take(parts), self.structure.batch.decisions(parts)
        terms = [term for term in structure.terms if isinstance(term, OneLabel)]
        return _Part(_AllClasses(self.method, structure, terms, self._m[decisions]), self._m, decisions)

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        batch = self.structure.batch
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
        for _ in range(self._max_iter):
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
        return self.solved(scores, best, np.maximum(bound, value))

    def _value(self, scores: Floats, labels: Ints) -> Values:
        return self.structure.values(labels) + self.structure.batch.won(scores, labels)

    def _decoupled(self, reduced: Values, tol: Values) -> tuple[np.ndarray, Values]:
        """Solves the binary problems: returns their decisions, (total, k), and the sum of their bounds, (n,)."""
        batch = self.structure.batch
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
            dual += found.bounds + inner.structure.batch.at_target(column)
        return chosen, dual


@final
class _Part(Maximizer):
    """A maximizer for chosen sets of another one, to which it gives its multipliers back after each call."""

    def __init__(self, inner: _AllClasses, whole: Values, at: slice | Ints) -> None:
        self.method, self.structure, self.slack = inner.method, inner.structure, False
        self._inner, self._whole, self._at = inner, whole, at

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        found = self._inner.solve(scores, tol)
        self._whole[self._at] = self._inner._m
        return found
