"""Supermodular losses: to maximize one plus a modular score is to minimize a submodular function."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.batch import Orders
from setwise.core.checks import Floats, Ints, Values, as_count
from setwise.core.inference import Inference, Maximizer, Solutions
from setwise.core.structure import Structure
from setwise.core.terms import Trait
from setwise.inference.binary import Reduced, unfit
from setwise.inference.min_norm_point import min_norm_point


@final
@dataclass(frozen=True)
class BySubmodularMinimum(Inference):
    """``max_A l(A) - m(A) = - min_A (m - l)(A)`` with ``m - l`` submodular, by the min-norm point. Exact to rounding.

    The search is that of :func:`minimize_submodular` (Fujishige 1980), for one set after another. The time is
    polynomial, and a few hundred decisions are practical. The gap that rounding leaves is part of the bound.

    Parameters
    ----------
    max_iter : largest number of iterations for a set; where it is reached, the bound is not tight

    Raises
    ------
    TypeError : for a ``max_iter`` that is no whole number
    ValueError : for one below 1
    Refusal : from :meth:`prepare`, for losses that do not promise ``Trait.SUPERMODULAR``, and slack rescaling

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import BySubmodularMinimum
    >>> from setwise.losses import Cardinality
    >>> structure = Cardinality([0.0, 1.0, 4.0]).structure(Sets.single([1, 0]))  # the square of the number of mistakes
    >>> found = BySubmodularMinimum().prepare(structure).maximize([1.0, -1.0])
    >>> print(found.labels, found.values.round(6))  # both wrong: 4 - 1 - 1
    [False  True] [2.]
    """

    max_iter: int = 10_000

    name: ClassVar[str] = "by_submodular_minimum"
    about: ClassVar[str] = "submodular minimization, for some hundred decisions"

    def __post_init__(self) -> None:
        as_count(self.max_iter, "max_iter")

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        why = unfit(self, structure, slack)
        if why is not None:
            return why
        if slack:
            return "BySubmodularMinimum refuses slack rescaling: the product is not supermodular. Use Greedy."
        if Trait.SUPERMODULAR not in structure.split()[1].traits:
            return f"BySubmodularMinimum refuses {structure!r}: it does not promise to be supermodular. Use Greedy."
        return None

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        return _BySubmodularMinimum(self, structure, slack)


@final
class _BySubmodularMinimum(Maximizer):
    def __init__(self, method: BySubmodularMinimum, structure: Structure, slack: bool) -> None:
        self.method, self.structure, self.slack = method, structure, slack
        self._max_iter = method.max_iter
        self._reduced = Reduced.of(structure, slack)
        self._none = self._reduced.rest.at_empty()
        self._alone = [self._reduced.rest.take(np.array([i])) for i in range(len(structure.batch))]

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        sets, margins = self._reduced.sets, self._reduced.margins(scores)
        mistakes, bounds = np.zeros(sets.total, dtype=bool), self._none.copy()
        for i, one in enumerate(self._alone):
            span = slice(sets.offsets[i], sets.offsets[i + 1])
            m = margins[span]

            # The marginal gains of m - l along an order; the defaults bind the set of this iteration.
            def gains(order: Ints, one: Structure = one, m: Values = m) -> Values:
                items = order.astype(np.int32)
                return m[order] - one.gains_of(Orders(items, one.batch.truth[items], one.batch.offsets))

            found, least = min_norm_point(gains, len(m), self._max_iter)
            mistakes[span] = found
            bounds[i] -= least
        return self.solved(scores, self._reduced.labels(mistakes), bounds + self._reduced.target_shift(scores))
