"""Losses of the number of mistakes: the best k mistakes are those of least margin."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Floats, Values
from setwise.core.counts import Counts
from setwise.core.inference import Inference, Maximizer, Solutions
from setwise.core.structure import Structure
from setwise.core.terms import Trait
from setwise.inference.binary import Reduced, unfit
from setwise.kernels.set_functions import best_prefix
from setwise.kernels.sorting import sort_falling


@final
@dataclass(frozen=True)
class ByCardinality(Inference):
    """``max_k g(k) - S(k)``, or with slack ``max_k g(k) (1 - S(k))``, S(k) the sum of the k smallest margins.

    ``g(k)`` is the loss of k mistakes. Exact, O(p log p).

    Source: this library; ``S`` needs a sort alone, since the k cheapest mistakes are the best k.

    Raises
    ------
    Refusal : from :meth:`prepare`, for losses that depend on more than the number of mistakes

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import ByCardinality
    >>> from setwise.losses import ZeroOne
    >>> found = ByCardinality().prepare(ZeroOne().structure(Sets.single([1, 0, 0]))).maximize([2.0, -0.25, -3.0])
    >>> print(found.labels, found.values)  # the cheapest single mistake: 1 - 0.25
    [ True  True False] [0.75]
    """

    name: ClassVar[str] = "by_cardinality"
    about: ClassVar[str] = "a sort and one pass over the number of mistakes, O(p log p)"

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        why = unfit(self, structure, slack)
        if why is not None:
            return why
        counts = (structure if slack else structure.split()[1]).counts
        if counts is None or Trait.CARDINALITY not in counts.traits or counts.areas is not None:
            reason = "it depends on more than the number of mistakes"
            return f"ByCardinality refuses {structure!r}: {reason}. Use Enumeration or Greedy."
        return None

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        return _ByCardinality(self, structure, slack)


@final
class _ByCardinality(Maximizer):
    def __init__(self, method: ByCardinality, structure: Structure, slack: bool) -> None:
        self.method, self.structure, self.slack = method, structure, slack
        self._reduced = Reduced.of(structure, slack)
        counts, sets = self._reduced.rest.counts, self._reduced.sets
        assert isinstance(counts, Counts)
        # The loss depends on the number of mistakes alone, so it is tabled along any order: here positives come first.
        fn = np.minimum(sets.places + 1, np.repeat(sets.positives, sets.sizes)).astype(np.float64)
        self._values, self._none = counts.of(fn, sets.places + 1 - fn, sets.owners), counts.origin

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        sets, mistakes = self._reduced.sets, np.zeros(len(scores), dtype=bool)
        # What mistakes win in score is minus their margins, so the smallest margins come first.
        items, _, falling, starts = sort_falling(-self._reduced.margins(scores), sets.truth, sets.offsets)
        best_prefix(self._values, self._none, falling, items, starts, self.slack, mistakes)
        return self.solved(scores, self._reduced.labels(mistakes))
