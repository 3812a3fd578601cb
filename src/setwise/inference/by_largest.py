"""The largest cost of the mistakes: the worst mistake is tried in turn, and cheaper ones stand beside it."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Floats, Values
from setwise.core.inference import Inference, Maximizer, Solutions
from setwise.core.structure import Structure
from setwise.core.terms import Largest, OneMistake
from setwise.inference.binary import Reduced, unfit
from setwise.kernels.set_functions import best_largest


@final
@dataclass(frozen=True)
class ByLargest(Inference):
    """``max_A max_(i in A) c_i + sum_(i in A) g_i``, or with slack ``(max c) (1 + sum g)``, g the gains in score.

    Exact, O(p log p) once and O(p) a call. With the labelings of one mistake at most it is the search of MLSP
    (Eq. 6 and 7).

    Raises
    ------
    Refusal : from :meth:`prepare`, for losses that are more than the cost of the worst mistake

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import ByLargest
    >>> from setwise.losses import MaxLoss
    >>> structure = MaxLoss([1.0, 2.0, 3.0]).structure(Sets.single([1, 0, 0]))
    >>> found = ByLargest().prepare(structure).maximize([2.0, -0.5, -3.0])
    >>> print(found.labels, found.values)  # the second label: 2 - 0.5
    [ True  True False] [1.5]
    """

    name: ClassVar[str] = "by_largest"
    about: ClassVar[str] = "a sort of the costs and one pass over the worst mistake, O(p)"

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        why = unfit(self, structure, slack)
        if why is not None:
            return why
        rest = structure if slack else structure.split()[1]
        largest = [term for term in rest.terms if isinstance(term, Largest)]
        others = [term for term in rest.terms if not isinstance(term, Largest | OneMistake)]
        if len(largest) != 1 or others:
            return f"ByLargest refuses {structure!r}: it is more than the cost of the worst mistake. Use Enumeration."
        return None

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        return _ByLargest(self, structure, slack)


@final
class _ByLargest(Maximizer):
    def __init__(self, method: ByLargest, structure: Structure, slack: bool) -> None:
        self.method, self.structure, self.slack = method, structure, slack
        self._reduced = Reduced.of(structure, slack)
        terms, sets = self._reduced.rest.terms, self._reduced.sets
        self._single = any(isinstance(term, OneMistake) for term in terms)
        self._costs: Values = next(term.costs for term in terms if isinstance(term, Largest))
        self._order = np.lexsort((self._costs, sets.owners))

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        sets, gains = self._reduced.sets, -self._reduced.margins(scores)
        mistakes = best_largest(self._costs, gains, self._order, sets.offsets, self.slack, self._single)
        return self.solved(scores, self._reduced.labels(mistakes))
