"""Surrogates: functions of the scores that bound a loss from above, with a value, a gradient and a certificate.

Every surrogate in this folder is registered when the folder is imported: ``SURROGATES`` maps the short names to the
classes.
"""

from typing import Any

from setwise.core.registry import discover
from setwise.core.surrogate import Difference, Evaluation, Evaluator, LinearEvaluator, SetEvaluation, Surrogate
from setwise.surrogates.extension import is_extension, margin_scale
from setwise.surrogates.rescaling import Slack, Support

SURROGATES = discover(__name__, Surrogate)  # type: ignore[type-abstract]
"""All classes of surrogates by their short names.

>>> from setwise.surrogates import SURROGATES
>>> SURROGATES["lovasz"]("jaccard")([1, 0], [1.0, -1.0]).value  # both labels are right by a margin of 1
0.0
"""

# Each class can be imported from here by its own name.
globals().update({kind.__name__: kind for kind in SURROGATES.values()})

__all__ = [
    "SURROGATES",
    "Difference",
    "Evaluation",
    "Evaluator",
    "LinearEvaluator",
    "SetEvaluation",
    "Slack",
    "Support",
    "Surrogate",
    "is_extension",
    "margin_scale",
    *(kind.__name__ for kind in SURROGATES.values()),
]


def __getattr__(name: str) -> Any:
    # All names exist after the import; this function tells type checkers that there are more than they see.
    raise AttributeError(f"module 'setwise.surrogates' has no attribute {name!r}")
