"""Modular losses: the best label of each decision does not depend on the others."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.batch import Classes, Sets, segments
from setwise.core.checks import Floats, Ints, Values
from setwise.core.inference import Inference, Maximizer, Solutions, as_base_values
from setwise.core.structure import LabelCosts, Structure
from setwise.core.terms import Mistakes
from setwise.inference.binary import Reduced, unfit


@final
@dataclass(frozen=True)
class Modular(Inference):
    """``max_y sum_i c_i(y_i) + s_i(y_i)``: each decision takes the label of its own greatest cost plus score.

    Exact, O(p k) for k labels. Labels that are not known cost nothing, so their decisions follow the scores.

    Source: this library; a sum is maximized term by term.

    Raises
    ------
    Refusal : from :meth:`prepare`, for losses that are no sum of one cost for each decision, and slack rescaling

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import Modular
    >>> from setwise.losses import Hamming
    >>> found = Modular().prepare(Hamming().structure(Sets.single([1, 0, 0]))).maximize([0.5, 0.5, -2.0])
    >>> print(found.labels, found.values)  # margin errors above 0 add up: (1 - 0.5) + (1 + 0.5)
    [False  True False] [2.]
    """

    name: ClassVar[str] = "modular"
    about: ClassVar[str] = "every decision on its own, O(p)"

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        if slack:
            return "Modular refuses slack rescaling: the product does not split. Use ByCardinality or Enumeration."
        if not all(isinstance(term, Mistakes | LabelCosts) for term in structure.terms):
            return f"Modular refuses {structure!r}: the loss is not a sum of one cost per mistake. Use Greedy."
        return None if isinstance(structure.batch, Classes) else unfit(self, structure, slack, unknown=True)

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        if not isinstance(structure.batch, Classes):
            return _Modular(self, structure, Reduced.of(structure, slack).shift)
        costs = [term.costs for term in structure.terms if isinstance(term, LabelCosts)]
        return _Modular(self, structure, reduce(np.add, costs).ravel() if costs else None)


@final
class _Modular(Maximizer):
    """Adds the costs ``shift`` (n_scores,) to the scores and decides by them; None adds nothing."""

    def __init__(self, method: Inference, structure: Structure, shift: Values | None) -> None:
        assert isinstance(structure.batch, Sets | Classes)
        self.method, self.structure, self.slack, self._shift = method, structure, False, shift
        self._decide: Callable[[Floats], NDArray[Any]] = structure.batch.decide

    def take(self, parts: Ints) -> Maximizer:
        places = segments(parts, self.structure.batch.score_offsets)
        shift = None if self._shift is None else self._shift[places]
        return _Modular(self.method, self.structure.take(parts), shift)

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        moved = scores if self._shift is None else scores + self._shift
        return self.solved(scores, self._decide(moved))

    def max_marginals(self, scores: Any, base: Values | float = 0.0) -> Values:
        found, batch = self.maximize(scores), self.structure.batch
        base = as_base_values(base, len(batch))
        moved = np.asarray(scores, dtype=np.float64) + (0.0 if self._shift is None else self._shift)
        # With another label at one decision, the best labeling loses the difference of two scores, and nothing else.
        each = moved.reshape(batch.total, -1) if isinstance(batch, Classes) else np.stack([0 * moved, moved], axis=1)
        return np.asarray((found.values + base)[batch.owners, None] + each - each.max(axis=1, keepdims=True))
