"""Dual decomposition of several loss factors: a network and all factors agree by multipliers, which give a bound."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Values, as_count
from setwise.core.inference import Inference, Maximizer, rounding_next_to
from setwise.core.structure import Structure
from setwise.inference.by_components import each_component
from setwise.inference.decomposition.lowering import Lowering, Seen, size_of
from setwise.inference.factors import Factored, unfit_for_factors
from setwise.inference.repair import Repair
from setwise.inference.set_by_set import SetBySet, each_set

HOPELESS = 0.02
"""The search ends too where the bound can fall by no more than this share of its distance from the best value."""


@final
@dataclass(frozen=True)
class FactorDecomposition(Inference):
    """``max_y sum_f l_f(y) + <s, phi(y)>`` for losses of counts, boxes and paths, on networks or independent decisions.

    Each factor f has one multiplier for each of its entries, and any multipliers m give the upper bound
    ``max_y [<s, phi(y)> + sum_f <m_f, y>] + sum_f max_y [l_f(y) - <m_f, y>]``. A bundle method lowers it, first with
    one multiplier for each box and for each class of a count, then with one for each entry. Labelings that the maxima
    find are candidates. Where a box allows given numbers alone, they are moved to one that it allows, one best label at
    a time, and labels along paths change one by one as long as that gains. Labels that are not known have no loss of
    counts. Where the best candidate does not reach the lowest bound, the solution is not exact. A search begins with
    the multipliers and the labels of the last one.

    Source: own; dual decomposition (DD section 3) with multipliers for each factor of the losses of HOL section 4.

    Parameters
    ----------
    max_iter : the largest number of evaluations of the bound of a set

    Raises
    ------
    TypeError : for a ``max_iter`` that is no whole number
    ValueError : for one below 1
    Refusal : from :meth:`prepare`, for losses with other terms than counts, boxes and paths, and slack rescaling

    Examples
    --------
    >>> from setwise.core.networks import Graphs
    >>> from setwise.inference import FactorDecomposition
    >>> from setwise.losses import BoxFullness
    >>> image = Graphs.images([np.array([[-1, -1, 0]], dtype=np.int8)])  # a box of two pixels
    >>> structure = BoxFullness(0.5).structure(image)
    >>> found = FactorDecomposition().prepare(structure).maximize([0.5, 0.5, -2.0, 0.25, 0.25])
    >>> print(found.labels)  # both pixels of the box are positive, which costs |2 - 1|
    [ True  True False]
    """

    max_iter: int = 200

    name: ClassVar[str] = "factor_decomposition"
    about: ClassVar[str] = "cuts and several loss factors agree by multipliers"
    approximate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_count(self.max_iter, "max_iter")

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        return unfit_for_factors(self, structure, slack)

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        def bound(parts: Structure) -> Maximizer:
            return SetBySet(self, parts, [Factored(one) for one in each_set(parts)], self._search)

        return each_component(structure, bound)

    def _search(self, one: Factored, scores: Values, tol: float) -> Lowering:
        """Lower the bound with a few multipliers, then with one for each entry."""
        repair, scale = Repair.of(one.structure, scores), size_of(scores, one.batch.total)

        def at(multipliers: Values, gap: float) -> Seen:
            bound, network, entries = one.bound(scores, multipliers)
            found = (mended for labels in one.candidates(network, entries) for mended in repair.candidates(labels))
            return Seen(bound, bound, network[one.nodes].astype(np.float64) - entries, found)

        close = partial(rounding_next_to, scores=scores, batch=one.batch)
        value, truth = partial(one.value, scores), one.batch.truth
        search = Lowering(at, value, truth, scale, close, tol, self.max_iter, HOPELESS)
        few, every, labels = one.last or (np.zeros(one.sides.shape[1]), None, search.labels)
        search.offer([labels])
        splits = any(factor.splits for factor in one.factors)
        if every is None or not splits:
            few = search.lower(few, one.sides)
        if not search.done and splits:
            every = search.lower(one.sides @ few if every is None else every)
        one.last = few, every, search.labels
        return search
