"""Surrogates: functions of scores that bound a loss, with value, gradient and certificate.

All surrogates in this folder are found by themselves: ``SURROGATES`` maps their short names to classes.
"""

from typing import Any

from setwise.core.evaluator import Evaluation, Evaluator, SetEvaluation, Surrogate
from setwise.core.registry import discover
from setwise.surrogates.evaluators import Difference, Linear, Slack, Support
from setwise.surrogates.extension import is_extension, margin_scale

SURROGATES = discover(__name__, Surrogate)  # type: ignore[type-abstract]
"""All surrogates by their short names."""

globals().update({kind.__name__: kind for kind in SURROGATES.values()})

__all__ = [
    "SURROGATES",
    "Difference",
    "Evaluation",
    "Evaluator",
    "Linear",
    "SetEvaluation",
    "Slack",
    "Support",
    "Surrogate",
    "is_extension",
    "margin_scale",
    *(kind.__name__ for kind in SURROGATES.values()),
]


def __getattr__(name: str) -> Any:
    # Names are there since the import; this tells type checkers that more may be found here than they see.
    raise AttributeError(f"module 'setwise.surrogates' has no attribute {name!r}")
