"""Dual decomposition: a loss and a network agree on the labels of nodes by multipliers, which gives a bound."""

from dataclasses import dataclass
from typing import ClassVar, Literal, final

from setwise.core.checks import Values, as_choice, as_count, as_flag, as_kind, as_number
from setwise.core.inference import Inference, Maximizer
from setwise.core.structure import Structure
from setwise.inference.by_area import ByArea
from setwise.inference.by_cardinality import ByCardinality
from setwise.inference.counts.search import CountSearch
from setwise.inference.decomposition.branching import Branching
from setwise.inference.decomposition.descents import Search, descend_as_printed, descend_by_bundle
from setwise.inference.decomposition.sides import OneSet, Problem, two_sides
from setwise.inference.known_labels import KnownLabels
from setwise.inference.max_flow import MaxFlow, unfit_for_graphs
from setwise.inference.set_by_set import SetBySet, each_set

LOSSES: tuple[Inference, ...] = (CountSearch(), ByCardinality(), ByArea())
"""The methods for the side of the loss, of which the first that fits is taken where none is given."""


@final
@dataclass(frozen=True)
class DualDecomposition(Inference):
    """``max_y l(y) + <s, phi(y)>`` on networks of two labels, for losses that are no sum over nodes.

    For any multipliers m, one for each node of known label, ``max_y [<s, phi(y)> + <m, y>] + max_y [l(y) - <m, y>]`` is
    an upper bound (DD section 3): the first maximum is a minimum cut, where the scores of edges are 0 or above, and the
    second one goes over independent decisions, a search over counts for Jaccard or F1. The sides take turns first: the
    cut gets the slope of the loss near the labels seen so far as its multipliers, and the loss gets what the flow of
    the cut leaves of the scores, which are the best multipliers for this flow. A bundle method ends the descent where
    the turns do not. All labelings that the maxima find are candidates. Where the best one does not reach the lowest
    bound, the solution is not exact, and the bound says how much better another one may be.

    Multipliers are kept for each set: the next call begins with them. An evaluation of the bound is a cut, which
    begins with the last one, and a sort of the nodes; the bundle adds O(100 p) for p nodes.

    Parameters
    ----------
    max_iter : the largest number of evaluations of the bound of a set
    step : ``"bundle"`` for turns and a bundle; or ``"printed"`` for the steps ``scale / sqrt(t)`` from m = 0 of DD
        section 3. There each node gets the label that it had most often, unless value and bound meet. DD takes
        ``max_iter=100``
    scale : the length of the printed steps, > 0
    exact : whether to divide the labelings by the labels of single nodes until value and bound meet; it takes long
        where the gap is large
    budget : the most parts that are searched then, for each set. Where they are not enough, a gap remains
    network : the method for the network with costs of single nodes; None is :class:`setwise.inference.MaxFlow`
    loss : the method for the rest of the loss on independent decisions; None chooses one that fits

    Raises
    ------
    TypeError : for arguments of another kind
    ValueError : for counts below 1, another ``step``, and a ``scale`` that is not above 0
    Refusal : from :meth:`prepare`, for batches other than ``Graphs``, modular losses, slack rescaling, and where one of
        the two methods does not fit

    Examples
    --------
    >>> from setwise.core.networks import Graphs
    >>> from setwise.inference import DualDecomposition
    >>> from setwise.losses import Jaccard
    >>> image = Graphs.images([np.array([[True, True, False, False]])])
    >>> scores = [2.0, 0.5, 0.0, -2.0] + [0.25] * 3  # of four pixels, then of three edges
    >>> found = DualDecomposition().prepare(Jaccard().structure(image)).maximize(scores)
    >>> print(found.labels, found.values.round(4))  # one false positive: 1/3, where the score does not change
    [ True  True  True False] [0.3333]
    >>> bool(found.bounds[0] >= found.values[0])
    True
    """

    max_iter: int = 200
    step: Literal["bundle", "printed"] = "bundle"
    scale: float = 1.0
    exact: bool = False
    budget: int = 1000
    network: Inference | None = None
    loss: Inference | None = None

    name: ClassVar[str] = "dual_decomposition"
    about: ClassVar[str] = "a network and a loss agree by multipliers"
    approximate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_count(self.max_iter, "max_iter")
        as_choice(self.step, "step", ("bundle", "printed"))
        as_number(self.scale, "scale", low=0.0, open_low=True)
        as_flag(self.exact, "exact")
        as_count(self.budget, "budget")
        for name, part, example in (("network", self.network, "MaxFlow()"), ("loss", self.loss, "CountSearch()")):
            if part is not None:
                as_kind(part, name, Inference, f"setwise.inference.{example}")

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        why = unfit_for_graphs(self, structure, slack)
        if why is not None:
            return why
        network, loss = two_sides(structure)
        if not loss.terms:
            return f"DualDecomposition refuses {structure!r}: it is a sum of one cost per mistake. Use MaxFlow."
        if self.loss is None:
            if self._fit_for(loss) is None:
                return f"DualDecomposition refuses {structure!r}: it is no function of counts. Use loss=Greedy()."
        else:
            why = self.loss.refuses(loss)
        return why or self._cut.refuses(network)

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        return SetBySet(self, structure, [self.one_set(one) for one in each_set(structure)], self._search)

    def _search(self, unit: OneSet, scores: Values, tol: float) -> Search | Branching:
        """The descent on the bound of one set, and the division of its labelings where that is asked for."""
        search = Search(Problem(unit, scores), tol, self.max_iter, unit.graphs.truth, unit.seen)
        if self.step == "bundle":
            descend_by_bundle(search, unit.kept)
            unit.kept, unit.seen = search.multipliers, search.labels
        else:
            descend_as_printed(search, self.scale)
        gap = search.bound - search.best > tol
        return Branching(search, self.budget, self.max_iter) if self.exact and gap else search

    @property
    def _cut(self) -> Inference:
        return MaxFlow() if self.network is None else self.network

    def _fit_for(self, loss: Structure) -> Inference | None:
        """The method for the side of the loss."""
        if self.loss is not None:
            return self.loss
        methods = LOSSES if loss.batch.known is None else tuple(KnownLabels(method) for method in LOSSES)
        return next((method for method in methods if method.refuses(loss) is None), None)

    def one_set(self, structure: Structure) -> OneSet:
        """A structure of one set, bound to the methods of both sides."""
        loss = self._fit_for(two_sides(structure)[1])
        assert loss is not None
        return OneSet(structure, self._cut, loss)
