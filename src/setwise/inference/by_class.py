"""Losses of decisions with k labels: each class is solved as binary decisions, and multipliers make them agree."""

from dataclasses import dataclass
from functools import reduce
from typing import ClassVar, final

import numpy as np

from setwise.core.arrays import Floats, Ints, Values
from setwise.core.checks import as_count
from setwise.core.classes import Classes
from setwise.core.inference import Inference, Maximizer, Solutions
from setwise.core.one_label import LabelCosts, OneLabel
from setwise.core.structure import Structure
from setwise.kernels.segments import segment_sums


@final
@dataclass(frozen=True)
class ByClass(Inference):
    """``max_y sum_c l_c([y = c]) + <s, phi(y)>`` for losses of single classes, c = 0..k-1.

    *One class against the rest* (DD Algorithm 1): a decision without that label takes the best of its others, so one
    binary problem is left, with the scores ``s_c - max of the others``. As exact as the inference for it. The same
    holds where the loss asks which decisions are right.

    *Several classes* are decoupled by one multiplier m for each decision, ``sum_i m_i (1 - sum_c [y_i = c])``. Every m
    gives a bound, the sum of k binary problems; subgradient steps of Polyak's length lower it. Each iterate is rounded
    to a labeling by the scores and the classes that ask for a decision. Multipliers are kept between calls.

    Parameters
    ----------
    inner : the method for the binary problems
    max_iter : subgradient steps at most
    """

    inner: Inference
    max_iter: int = 200

    name: ClassVar[str] = "by_class"
    about: ClassVar[str] = "one class at a time, made to agree by multipliers"
    approximate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_count(self.max_iter, "max_iter")

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        if not isinstance(structure.batch, Classes):
            return f"ByClass refuses {type(structure.batch).__name__}: it knows independent decisions with k labels."
        if slack:
            return f"ByClass refuses slack rescaling of {structure!r}: the product does not split into classes."
        lifted = [term for term in structure.terms if isinstance(term, OneLabel)]
        if len(lifted) + sum(isinstance(t, LabelCosts) for t in structure.terms) < len(structure.terms):
            return f"ByClass refuses {structure!r}: it is not a sum of losses of single classes."
        if len(lifted) > 1 and any(term.label is None for term in lifted):
            return f"ByClass refuses {structure!r}: a loss of all mistakes does not split into classes."
        for term in lifted:
            why = self.inner.refuses(term.structure)
            if why is not None:
                return why
        return None

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        lifted = [term for term in structure.terms if isinstance(term, OneLabel)]
        if len(lifted) == 1:
            return _OneClass(self, structure, lifted[0])
        return _AllClasses(self, structure, lifted, np.zeros(structure.batch.total))


def _label_costs(structure: Structure) -> Values | float:
    costs = [term.costs for term in structure.terms if isinstance(term, LabelCosts)]
    return reduce(np.add, costs) if costs else 0.0


@final
class _OneClass(Maximizer):
    """One class against the rest, or right against wrong."""

    def __init__(self, method: ByClass, structure: Structure, term: OneLabel) -> None:
        self.method, self.structure, self.slack = method, structure, False
        self._costs, self._inner = _label_costs(structure), method.inner.prepare(term.structure)
        batch = structure.batch
        self._own = np.full(batch.total, term.label) if term.label is not None else np.maximum(batch.labels, 0)

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        batch, rows = self.structure.batch, np.arange(self.structure.batch.total)
        each = scores.reshape(batch.total, batch.n_labels) + self._costs
        own = each[rows, self._own]
        others = each.copy()
        others[rows, self._own] = -np.inf
        instead = others.argmax(axis=1)
        base = others[rows, instead]
        found = self._inner.solve(own - base, tol)
        labels = np.where(found.labels, self._own, instead)
        # What the best other labels win is common to all labelings of the binary problem.
        inner = self._inner.structure.batch
        constant = segment_sums(base + inner.target * (own - base), batch.offsets)
        constant -= batch.at_target(scores)
        return self.solved(scores, labels, found.bounds + constant)


@final
class _AllClasses(Maximizer):
    """All classes at once, decoupled by multipliers; ``m`` (total,) is how far they lie above the best scores."""

    def __init__(self, method: ByClass, structure: Structure, lifted: list[OneLabel], m: Values) -> None:
        self.method, self.structure, self.slack = method, structure, False
        self._max_iter, self._costs, self._m = method.max_iter, _label_costs(structure), m
        self._inner = {int(t.label or 0): method.inner.prepare(t.structure) for t in lifted}

    def take(self, parts: Ints) -> "Maximizer":
        assert isinstance(self.method, ByClass)
        structure, at = self.structure.take(parts), self.structure.batch.decisions(parts)
        lifted = [term for term in structure.terms if isinstance(term, OneLabel)]
        return _Part(_AllClasses(self.method, structure, lifted, self._m[at]), self._m, at)

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        batch = self.structure.batch
        n, k = len(batch), batch.n_labels
        s = scores.reshape(batch.total, k).astype(np.float64) + self._costs
        target = batch.at_target(scores)
        top = s.max(axis=1)
        m = top + self._m
        best = s.argmax(axis=1)
        value, bound, pace = self._value(scores, best), np.full(n, np.inf), np.ones(n)
        kept = m.copy()
        for _ in range(self._max_iter):
            asked, dual = self._decoupled(s - m[:, None], tol)
            dual += segment_sums(m, batch.offsets) - target
            lower = dual < bound
            pace = np.where(lower, pace, 0.7 * pace)
            bound, kept = np.minimum(bound, dual), np.where(lower[batch.owners], m, kept)
            guess = np.where(np.where(asked.any(axis=1, keepdims=True), asked, True), s - m[:, None], -np.inf)
            labels = guess.argmax(axis=1)
            reached = self._value(scores, labels)
            best = np.where((reached > value)[batch.owners], labels, best)
            value = np.maximum(value, reached)
            slope = 1.0 - asked.sum(axis=1)
            steep = segment_sums(slope**2, batch.offsets)
            open_sets = (bound - value > np.maximum(tol, 1e-12 * (1.0 + np.abs(bound)))) & (steep > 0)
            if not open_sets.any():
                break
            length = np.where(open_sets, pace * (dual - value) / np.maximum(steep, 1.0), 0.0)
            m = m - length[batch.owners] * slope
        self._m[:] = kept - top
        return self.solved(scores, best, np.maximum(bound, value))

    def _value(self, scores: Floats, labels: Ints) -> Values:
        return self.structure.values(labels) + self.structure.batch.won(scores, labels)

    def _decoupled(self, reduced: Values, tol: Values) -> tuple[np.ndarray, Values]:
        """Which classes ask for which decisions, (total, k), and the sum of the bounds of their problems, (n,)."""
        batch = self.structure.batch
        asked, dual = np.zeros(reduced.shape, dtype=bool), np.zeros(len(batch))
        for c in range(batch.n_labels):
            s = reduced[:, c]
            if c not in self._inner:
                asked[:, c] = s > 0
                dual += segment_sums(np.maximum(s, 0.0), batch.offsets)
                continue
            inner = self._inner[c]
            found = inner.solve(s, tol)
            asked[:, c] = found.labels
            dual += found.bounds + inner.structure.batch.at_target(s)
        return asked, dual


@final
class _Part(Maximizer):
    """Chosen sets of a maximizer, whose multipliers go back to it after each call."""

    def __init__(self, inner: _AllClasses, whole: Values, at: slice | Ints) -> None:
        self.method, self.structure, self.slack = inner.method, inner.structure, False
        self._inner, self._whole, self._at = inner, whole, at

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        found = self._inner.solve(scores, tol)
        self._whole[self._at] = self._inner._m
        return found
