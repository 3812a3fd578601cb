"""Greedy inference: add the best mistake as long as it pays (Nemhauser, Wolsey, Fisher 1978; LH 6.1 and 6.4)."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Bools, Floats, Values
from setwise.core.counts import Counts
from setwise.core.inference import Inference, Maximizer, Solutions
from setwise.core.structure import Structure
from setwise.inference.binary import Reduced, unfit
from setwise.inference.upper_bounds import upper_bounds
from setwise.kernels.segments import segment_argmax, segment_sums


@final
@dataclass(frozen=True)
class Greedy(Inference):
    """Adds to A the decision that raises the objective most, until none does. Approximate, O(p^2), for any loss.

    The bound comes from the traits of the loss (:func:`setwise.inference.upper_bounds.upper_bounds`): it is finite for
    losses that are submodular or increasing and infinite for others. Where it meets the value, the answer is exact.

    Source: the greedy search of LH 6.1; the bound is own.

    Raises
    ------
    Refusal : from :meth:`prepare`, for batches other than binary decisions, unknown labels, and losses of a given
        number of predicted positives

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import Greedy
    >>> from setwise.losses import Capped
    >>> structure = Capped([1.0, 1.0, 1.0], 1.5).structure(Sets.single([1, 0, 0]))
    >>> found = Greedy().prepare(structure).maximize([2.0, -0.25, -0.25])
    >>> print(found.labels, found.values, found.bounds, found.exact)
    [ True  True  True] [1.] [1.] [ True]
    """

    name: ClassVar[str] = "greedy"
    about: ClassVar[str] = "one mistake after another"
    approximate: ClassVar[bool] = True

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        why = unfit(self, structure, slack)
        if why is not None:
            return why
        if any(isinstance(term, Counts) and term.predicted is not None for term in structure.terms):
            return f"Greedy refuses {structure!r}: the number of predicted positives is given. Use CountSearch."
        return None

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        return _Greedy(self, structure, slack)


@final
class _Greedy(Maximizer):
    def __init__(self, method: Greedy, structure: Structure, slack: bool) -> None:
        self.method, self.structure, self.slack = method, structure, slack
        # The loss is evaluated whole, so nothing moves into the scores, as under slack rescaling.
        self._reduced = Reduced.of(structure, True)

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        margins = self._reduced.margins(scores)
        mistakes = self._grow(margins)
        bounds = upper_bounds(self.structure, margins, self.slack, mistakes) + self._reduced.target_shift(scores)
        return self.solved(scores, self._reduced.labels(mistakes), bounds)

    def _grow(self, margins: Values) -> Bools:
        """Returns the greedy mistakes of every set, (total,) bool; in each round every set adds one at most."""
        sets, structure = self._reduced.sets, self.structure
        mistakes = np.zeros(sets.total, dtype=bool)
        value, lost = structure.at_empty(), np.zeros(len(sets))
        while True:
            gains = structure.marginals(self._reduced.labels(mistakes))
            if self.slack:
                # The product rises by (l + gain)(1 - lost - m) - l (1 - lost).
                rise = gains * (1.0 - lost[sets.owners] - margins) - value[sets.owners] * margins
            else:
                rise = gains - margins
            best = segment_argmax(np.where(mistakes, -np.inf, rise), sets.offsets)
            # Sets without a mistake that pays are done; where all are mistakes, the first of them was picked.
            best = best[rise[best] > 0]
            best = best[~mistakes[best]]
            if len(best) == 0:
                return mistakes
            mistakes[best] = True
            value = structure.values(self._reduced.labels(mistakes))
            lost = segment_sums(np.where(mistakes, margins, 0.0), sets.offsets)
