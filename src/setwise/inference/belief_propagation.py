"""Max-product belief propagation: a heuristic on networks with cycles."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Values, as_count, as_number
from setwise.core.inference import Inference, Maximizer
from setwise.core.structure import Structure
from setwise.inference.by_components import each_component
from setwise.inference.message_passing import MessagePassing
from setwise.inference.pairwise import unfit_for_networks
from setwise.kernels.messages import propagated, reweighted
from setwise.kernels.segments import segment_sums

STILL = 1e-9
"""A set ends once no message changes by more than this share of the mean size of its scores."""


SWEEPS = 20
"""So many sweeps at most lower the bound."""


@final
@dataclass(frozen=True)
class BeliefPropagation(Inference):
    """``max_y l(y) + sum_i s_i(y_i) + sum_e s_e(y_a, y_b)``, a heuristic on any network, for modular losses l.

    Each node tells its neighbors in turn what each of their labels may win, given what it has heard from the others
    (max-product, Pearl 1988), forward and back along the order of the nodes. A new message is ``(1 - damping)`` times
    what follows from the others plus ``damping`` times the old one. On trees this is exact; with cycles the messages
    need not settle, and the labels are the best ones seen. Labels are decided one after another in each sweep, and
    improved node by node. Any messages give a bound, for what they add to nodes they take from edges; a few sweeps of
    :class:`setwise.inference.TreeReweighted` that begin with them lower it.

    Parameters
    ----------
    max_iter : the largest number of sweeps forward and back for a set
    damping : in [0, 1)

    Raises
    ------
    TypeError : for a ``max_iter`` that is no whole number, and a ``damping`` that is no number
    ValueError : for a ``max_iter`` below 1, and a ``damping`` outside of [0, 1)
    Refusal : from :meth:`prepare`, for batches other than networks, losses that are not modular, slack rescaling

    Examples
    --------
    >>> from setwise.core.networks import Graphs
    >>> from setwise.core.structure import Structure
    >>> from setwise.inference import BeliefPropagation
    >>> chain = Graphs(np.array([False, False, False]), np.array([0, 3]), np.array([[0, 1], [1, 2]]))
    >>> found = BeliefPropagation().prepare(Structure(chain)).maximize([2.0, -1.0, 2.0, 1.0, 1.0])
    >>> print(found.labels, found.values)  # 2 - 1 + 2, and both edges hold in the target as well
    [ True  True  True] [3.]
    """

    max_iter: int = 100
    damping: float = 0.5

    name: ClassVar[str] = "belief_propagation"
    about: ClassVar[str] = "damped messages between neighbors"
    approximate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_count(self.max_iter, "max_iter")
        as_number(self.damping, "damping", low=0.0, high=1.0, open_high=True)

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        return unfit_for_networks(self, structure, slack)

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        return each_component(structure, lambda parts: _BeliefPropagation(self, parts))


@final
class _BeliefPropagation(MessagePassing):
    def search(self, nodes: Values, pairs: Values, tol: Values, bounds: Values) -> None:
        assert isinstance(self.method, BeliefPropagation)
        most, damping, links = self.method.max_iter, float(self.method.damping), self.problem.links
        size = segment_sums(np.abs(nodes).mean(axis=1), links.offsets) / np.diff(links.offsets)
        propagated(nodes, pairs, links, self.messages, damping, STILL * size, most, self.found)
        # The messages go on without damping, and the labels with them, since only the bound is wanted.
        copy, labels = self.messages.copy(), self.found.copy()
        reweighted(nodes, pairs, links, copy, tol, SWEEPS, labels, bounds)
