"""Methods of inference: they maximize loss plus score over labelings, exactly or with an upper bound.

All methods in this folder are discovered: ``INFERENCES`` maps their short names to classes.
"""

from typing import Any

from setwise.core.inference import Inference, Maximizer, Solution, Solutions
from setwise.core.registry import discover
from setwise.inference.min_norm_point import minimize_submodular

INFERENCES = discover(__name__, Inference)  # type: ignore[type-abstract]
"""All methods of inference by their short names.

>>> from setwise.inference import INFERENCES
>>> INFERENCES["max_flow"].about
'minimum cuts of networks of two labels'
"""

globals().update({kind.__name__: kind for kind in INFERENCES.values()})

__all__ = [
    "INFERENCES",
    "Inference",
    "Maximizer",
    "Solution",
    "Solutions",
    "minimize_submodular",
    *(kind.__name__ for kind in INFERENCES.values()),
]


def __getattr__(name: str) -> Any:
    # Names are there since the import; this tells type checkers that more may be found here than they see.
    raise AttributeError(f"module 'setwise.inference' has no attribute {name!r}")
