"""The protocols that all parts of setwise share, and the solutions by brute force against which they are tested.

What a loss, a surrogate or an inference of one's own needs is imported from here: the batches, which hold true labels
and the layout of scores; a loss bound to a batch; the base of losses of counts, and the term of a set function; and the
exceptions. Other protocols are exported elsewhere, as ``Loss`` by ``setwise.losses`` and ``Inference`` by
``setwise.inference``.
"""

from typing import TYPE_CHECKING

from setwise.core.attributes import lazily

if TYPE_CHECKING:
    from setwise.core.batch import Batch as Batch
    from setwise.core.batch import Classes as Classes
    from setwise.core.batch import Sets as Sets
    from setwise.core.bound_loss import BoundLoss as BoundLoss
    from setwise.core.exceptions import BrokenPromise as BrokenPromise
    from setwise.core.exceptions import Refusal as Refusal
    from setwise.core.loss import CountLoss as CountLoss
    from setwise.core.networks import ClassGraphs as ClassGraphs
    from setwise.core.networks import Graphs as Graphs
    from setwise.core.terms import SetFunction as SetFunction

_NAMES = {
    "batch": ["Batch", "Classes", "Sets"],
    "bound_loss": ["BoundLoss"],
    "exceptions": ["BrokenPromise", "Refusal"],
    "loss": ["CountLoss"],
    "networks": ["ClassGraphs", "Graphs"],
    "terms": ["SetFunction"],
}

__all__, __getattr__, __dir__ = lazily(__name__, _NAMES)
