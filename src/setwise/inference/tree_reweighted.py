"""Tree-reweighted max-product: a labeling of a network with k labels, and a bound that falls from step to step."""

from dataclasses import dataclass
from typing import ClassVar, final

from setwise.core.checks import Values, as_count
from setwise.core.inference import Inference, Maximizer
from setwise.core.structure import Structure
from setwise.inference.by_components import each_component
from setwise.inference.message_passing import MessagePassing
from setwise.inference.pairwise import unfit_for_networks
from setwise.kernels.messages import reweighted


@final
@dataclass(frozen=True)
class TreeReweighted(Inference):
    """``max_y l(y) + sum_i s_i(y_i) + sum_e s_e(y_a, y_b)`` with a bound, on any network, for modular losses l.

    TRW-S (Kolmogorov 2006): the edges are divided into chains along the order of the nodes, and each node shares its
    score among its chains. The sum of the maxima of the chains is an upper bound, and no sweep of messages along the
    order raises it. Labels are decided one after another in each sweep; the best ones are improved node by node.

    The bound is computed from the last messages with what rounding may have lost. Where it does not fall to the value,
    the solution is not exact. On trees both meet, but :class:`setwise.inference.TreeMaxProduct` is faster there. A
    sweep costs O(m k) where edges are won by equal labels, and O(m k^2) where they have tables. Scores may have any
    sign. Labels that are not known cost nothing. Messages are kept between calls of a maximizer.

    Parameters
    ----------
    max_iter : the largest number of sweeps forward and back for a set; it ends sooner once the gap is at most ``tol``,
        or once the bound hardly falls

    Raises
    ------
    TypeError : for a ``max_iter`` that is no whole number
    ValueError : for one below 1
    Refusal : from :meth:`prepare`, for batches other than networks, losses that are not modular, slack rescaling

    Examples
    --------
    >>> from setwise.core.networks import ClassGraphs
    >>> from setwise.core.structure import Structure
    >>> from setwise.inference import TreeReweighted
    >>> cycle = ClassGraphs(np.array([1, 1, 1]), np.array([0, 3]), np.array([[0, 1], [1, 2], [0, 2]]), k=2)
    >>> found = TreeReweighted().prepare(Structure(cycle)).maximize([3.0, 0.0, 0.5, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0])
    >>> print(found.labels, found.values.round(6))  # all 0 score 6.5, all 1, the truth, 4
    [0 0 0] [2.5]
    """

    max_iter: int = 200

    name: ClassVar[str] = "tree_reweighted"
    about: ClassVar[str] = "messages along chains, whose bound falls"
    approximate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_count(self.max_iter, "max_iter")

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        return unfit_for_networks(self, structure, slack)

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        return each_component(structure, lambda parts: _TreeReweighted(self, parts))


@final
class _TreeReweighted(MessagePassing):
    def search(self, nodes: Values, pairs: Values, tol: Values, bounds: Values) -> None:
        assert isinstance(self.method, TreeReweighted)
        reweighted(nodes, pairs, self.problem.links, self.messages, tol, self.method.max_iter, self.found, bounds)
