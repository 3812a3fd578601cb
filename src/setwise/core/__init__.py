"""The protocols that all parts of setwise share, and the solutions by brute force against which they are tested.

What a loss, a surrogate or an inference of one's own needs is imported from here: the batches, which hold true labels
and the layout of scores; the structure that a loss becomes when it is bound to a batch; the base of losses of counts,
and the term of a set function; and the exceptions. Other protocols are exported elsewhere, as ``Loss`` by
``setwise.losses`` and ``Inference`` by ``setwise.inference``.
"""

from typing import TYPE_CHECKING

from setwise.core.lazy import lazily

if TYPE_CHECKING:
    from setwise.core.batch import Batch as Batch
    from setwise.core.class_graphs import ClassGraphs as ClassGraphs
    from setwise.core.classes import Classes as Classes
    from setwise.core.count_loss import CountLoss as CountLoss
    from setwise.core.graphs import Graphs as Graphs
    from setwise.core.refusal import BrokenPromise as BrokenPromise
    from setwise.core.refusal import Refusal as Refusal
    from setwise.core.set_function import SetFunction as SetFunction
    from setwise.core.sets import Sets as Sets
    from setwise.core.structure import Structure as Structure

_HOMES = {
    "Batch": "batch",
    "BrokenPromise": "refusal",
    "ClassGraphs": "class_graphs",
    "Classes": "classes",
    "CountLoss": "count_loss",
    "Graphs": "graphs",
    "Refusal": "refusal",
    "SetFunction": "set_function",
    "Sets": "sets",
    "Structure": "structure",
}

__all__ = sorted(_HOMES)

__getattr__, __dir__ = lazily(__name__, _HOMES)
