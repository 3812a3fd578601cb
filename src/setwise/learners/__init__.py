"""Learners: they minimize ``0.5 |w|^2 + C risk(w)`` to a certified gap, from planes below the risk alone.

All learners in this folder are discovered: ``LEARNERS`` maps their short names to classes.
"""

from typing import Any

from setwise.core.checkpoint import Checkpoint
from setwise.core.learner import Fit, Learner, Record
from setwise.core.registry import discover

LEARNERS = discover(__name__, Learner)  # type: ignore[type-abstract]
"""All learners by their short names.

>>> from setwise.learners import LEARNERS
>>> [name for name, kind in LEARNERS.items() if not kind.needs_convex]
['convex_concave', 'nrbm']
"""

globals().update({kind.__name__: kind for kind in LEARNERS.values()})

__all__ = ["LEARNERS", "Checkpoint", "Fit", "Learner", "Record", *(kind.__name__ for kind in LEARNERS.values())]


def __getattr__(name: str) -> Any:
    # Names are there since the import; this tells type checkers that more may be found here than they see.
    raise AttributeError(f"module 'setwise.learners' has no attribute {name!r}")
