"""The choice among ways to get labels out of a base model, by what they lose on rows that they did not see.

A new strategy is a new class in one of these files.
"""

from collections.abc import Sequence
from typing import Any

from setwise.core.checks import shown
from setwise.core.registry import discover
from setwise.estimators.selection.cost_weight import COST_STRATEGIES, CostTrees, CostWeight
from setwise.estimators.selection.several_classes import (
    CLASS_STRATEGIES,
    CalibratedCost,
    CalibratedMultipliers,
    ClassMultipliers,
    LeastExpectedCost,
)
from setwise.estimators.selection.strategies import Strategy

STRATEGIES = discover(__name__, Strategy)  # type: ignore[type-abstract]
"""All classes of strategies by their short names.

>>> from setwise.estimators.selection import STRATEGIES
>>> STRATEGIES["class_weight"].__name__
'ClassWeight'
"""

# Each class can be imported from here by its own name.
globals().update({kind.__name__: kind for kind in STRATEGIES.values()})

__all__ = [
    "CLASS_STRATEGIES", "COST_STRATEGIES", "STRATEGIES", "CalibratedCost", "CalibratedMultipliers", "ClassMultipliers",
    "CostTrees", "CostWeight", "LeastExpectedCost", "Strategy", "as_strategies",
    *(kind.__name__ for kind in STRATEGIES.values()),
]  # fmt: skip


def as_strategies(strategies: Any, several: bool = False) -> tuple[Strategy, ...]:
    """Strategies by their names, or as objects; ``"auto"`` stands for all with their defaults, one name for one.

    Source: this library.

    Parameters
    ----------
    strategies : ``"auto"``, a name, a strategy, or a list of names and strategies
    several : whether there are more than two classes, for which ``"auto"`` stands for other strategies

    Returns
    -------
    strategies : a tuple of strategy objects

    Raises
    ------
    TypeError : for anything but names and strategies
    ValueError : for a name that no strategy has, and for two strategies of one name

    Examples
    --------
    >>> from setwise.estimators.selection import BayesDecision, as_strategies
    >>> as_strategies([BayesDecision("isotonic"), "ramp"])
    (BayesDecision(calibration='isotonic', alarms=None, confidence=None), RampStack(C=10000.0))
    """
    if isinstance(strategies, str) and strategies == "auto":
        return tuple(kind() for kind in (CLASS_STRATEGIES if several else STRATEGIES).values())
    given = [strategies] if isinstance(strategies, str | Strategy) else strategies
    if not isinstance(given, Sequence):
        raise TypeError(f"strategies must be 'auto', or a list of names or strategies; got {shown(strategies)}.")
    found = tuple(_as_strategy(strategy) for strategy in given)
    names = [strategy.name for strategy in found]
    if len(set(names)) < len(names):
        raise ValueError(f"strategies must have different names; got {shown(names)}.")
    return found


def _as_strategy(strategy: Any) -> Strategy:
    if isinstance(strategy, Strategy):
        return strategy
    if not isinstance(strategy, str):
        raise TypeError(
            "strategies must hold names or strategies, such as 'threshold' or SingleThreshold(); got "
            f"{shown(strategy)}."
        )
    known: dict[str, type[Strategy]] = {**STRATEGIES, **COST_STRATEGIES, **CLASS_STRATEGIES}
    if strategy not in known:
        raise ValueError(
            f"there is no strategy {shown(strategy)}; strategies must be 'auto' or among {', '.join(known)}."
        )
    return known[strategy]()


def __getattr__(name: str) -> Any:
    # All names exist after the import; this function tells type checkers that there are more than they see.
    raise AttributeError(f"module 'setwise.estimators.selection' has no attribute {name!r}")
