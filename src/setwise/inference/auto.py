"""The method of inference that is chosen where the user names none."""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar, final

from setwise.core.batch import Batch
from setwise.core.bound_loss import BoundLoss
from setwise.core.inference import Inference, Maximizer, check_bound_loss
from setwise.core.networks import Network
from setwise.core.terms import MaximumOfSums
from setwise.inference.areas import ByArea
from setwise.inference.class_decomposition import ByClass, ClassDecomposition
from setwise.inference.counts import CountSearch
from setwise.inference.cuts import OneWayCut, SecondBestLabeling
from setwise.inference.dual_decomposition import DualDecomposition
from setwise.inference.enumeration import Enumeration
from setwise.inference.factor_decomposition import FactorDecomposition
from setwise.inference.greedy_search import GreedySearch
from setwise.inference.independent_decisions import ByCardinality, ByLargest, ByRegions, ModularMaximum
from setwise.inference.max_flow import MaxFlow
from setwise.inference.message_passing import TreeMaxProduct, TreeReweightedMessages
from setwise.inference.min_norm_point import BySubmodularMinimum
from setwise.inference.orders import ByOrder
from setwise.inference.qpbo import QPBO
from setwise.inference.rankings import WorstRanking
from setwise.inference.reductions import ByPieces, EdgelessReduction, KnownLabels


@final
@dataclass(frozen=True)
class Auto(Inference):
    """The first method of this table that does not refuse: exact ones come before approximate ones, fast before slow.

    On networks two bounded methods come before the enumeration of more than 2^12 labelings: they take a millisecond
    where it takes fifty, and their bound is mostly met.

    =============================  =====================================  =================  =================
    method                         takes                                  margin rescaling   slack rescaling
    =============================  =====================================  =================  =================
    ``ByPieces(Auto())``           maxima of linear functions             as for each
    ``EdgelessReduction(Auto())``  graphs of two labels without edges     as for decisions   as for decisions
    ``ModularMaximum``             a cost for each mistake or label       exact, O(p)
    ``TreeMaxProduct``             the same on chains and trees           exact, O(p)
    ``MaxFlow``                    the same on graphs of two labels       exact
    ``SecondBestLabeling``         the zero-one loss on the same graphs   exact
    ``OneWayCut``                  the same under an order of labels      exact
    ``ByRegions``                  numbers of positives in regions        exact, O(p log p)
    ``ByCardinality``              the number of mistakes                 exact, O(p log p)  exact, O(p log p)
    ``ByLargest``                  the cost of the worst mistake          exact, O(p log p)  exact, O(p log p)
    ``CountSearch``                fn, fp, P, N                           exact or bounded   exact or bounded
    ``WorstRanking``               an order of scores                     exact, O(p log p)
    ``Enumeration(12)``            any loss of at most 12 decisions       exact              exact
    ``QPBO``                       costs of labels, if there are two      bounded
    ``TreeReweightedMessages``     costs of labels on any graphs          bounded
    ``BySubmodularMinimum``        supermodular losses                    exact to rounding
    ``DualDecomposition``          fn, fp, P, N, areas on such graphs     bounded
    ``ClassDecomposition``         losses of k classes on graphs          bounded
    ``Enumeration(20)``            any loss of at most 20 decisions       exact              exact
    ``ByArea``                     quotients of areas                     bounded
    ``FactorDecomposition``        several of counts, boxes and paths     bounded
    ``DualDecomposition``          any loss there, with ``GreedySearch``  bounded
    ``GreedySearch``               any loss of binary decisions           bounded            bounded
    ``ByOrder``                    the order of points                    exact or bounded
    ``BySequences``                one wrong labeling of a sequence       exact or bounded   exact or bounded
    ``ByMatchings``                one wrong assignment                   exact or bounded   exact or bounded
    ``ByWindows``                  one wrong window of an image           exact              exact
    ``ByNetworks(Auto())``         one wrong labeling of a network        exact or bounded   exact or bounded
    ``ByClass(Auto())``            losses of k classes                    exact or bounded
    ``KnownLabels(Auto())``        losses with labels that are not known  as for known ones
    =============================  =====================================  =================  =================

    The modular part of a sum moves into the scores first, so the choice depends on what is left of the loss. Batches of
    another kind than independent decisions have labelings that none of these methods knows: they need a method of their
    own.

    Source: this library; each method names its own.

    Raises
    ------
    Refusal : from :meth:`prepare`, where no method of the table fits

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import Auto
    >>> from setwise.losses import Hamming, Jaccard, ZeroOne
    >>> batch = Sets.single([1, 0, 0])
    >>> [type(Auto().choice(loss.bind(batch))).__name__ for loss in (Hamming(), ZeroOne(), Jaccard())]
    ['ModularMaximum', 'ByCardinality', 'CountSearch']
    >>> found = Auto().prepare(Jaccard().bind(batch)).maximize([2.0, 0.5, -2.0])
    >>> print(found.labels, found.values)  # one false positive: 1/2 + 0.5
    [ True  True False] [1.]
    """

    name: ClassVar[str] = "auto"
    about: ClassVar[str] = "the first method that fits"

    def choice(self, bound_loss: BoundLoss, slack: bool = False) -> Inference | None:
        """Returns the method that :meth:`prepare` binds, or None where all refuse."""
        batch, terms = bound_loss.batch, bound_loss.terms
        pieces = [ByPieces(self)] if any(isinstance(term, MaximumOfSums) for term in terms) else []
        asked = (*pieces, *_methods_of(type(batch)), *batch.methods(self))
        return next((method for method in asked if method.refuses(bound_loss, slack) is None), None)

    def refuses(self, bound_loss: BoundLoss, slack: bool = False) -> str | None:
        if self.choice(bound_loss, slack) is not None:
            return None
        own = bound_loss.batch.methods(self)
        if own:
            # It alone knows such labelings, and it says why it does not fit.
            return str(own[0].refuses(bound_loss, slack))
        if slack and isinstance(bound_loss.batch, Network):
            return (
                f"Auto refuses slack rescaling of {bound_loss!r} on {type(bound_loss.batch).__name__}: there it is "
                "known to Enumeration alone, for sets of at most 2^20 labelings. Use surrogate='margin'."
            )
        kind, rescaling = type(bound_loss.batch).__name__, "slack" if slack else "margin"
        return (
            f"Auto knows no method for {rescaling} rescaling of {bound_loss!r} on {kind}. "
            "Give the surrogate an inference of its own: inference=..."
        )

    def prepare(self, bound_loss: BoundLoss, slack: bool = False) -> Maximizer:
        check_bound_loss(bound_loss, slack)
        # The base class raises the refusal. The chosen method does not refuse, so it binds at once.
        method = self.choice(bound_loss, slack)
        return super().prepare(bound_loss, slack) if method is None else method.bind(bound_loss, slack)

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        return self.prepare(bound_loss, slack)


METHODS: tuple[Inference, ...] = (
    EdgelessReduction(Auto()),
    ModularMaximum(),
    TreeMaxProduct(),
    MaxFlow(),
    SecondBestLabeling(),
    OneWayCut(),
    ByRegions(),
    ByCardinality(),
    ByLargest(),
    CountSearch(),
    WorstRanking(),
    Enumeration(12),
    QPBO(),
    TreeReweightedMessages(),
    BySubmodularMinimum(),
    DualDecomposition(),
    ClassDecomposition(Auto()),
    Enumeration(20),
    ByArea(),
    FactorDecomposition(),
    DualDecomposition(loss=GreedySearch()),
    GreedySearch(),
    ByOrder(),
    ByClass(Auto()),
    KnownLabels(Auto()),
)
"""The methods of the table in their order, without those of batches of single labels, which bring their own."""


@cache
def _methods_of(kind: type[Batch]) -> tuple[Inference, ...]:
    """The methods of the table that take a kind of batch."""
    return tuple(method for method in METHODS if issubclass(kind, method.takes.batch))
