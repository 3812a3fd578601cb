"""The choice among ways to get labels out of a base model, by what they lose on rows that they did not see.

A new lever is a new class in one of these files.
"""

from collections.abc import Sequence
from typing import Any

from setwise.core.checks import shown
from setwise.core.registry import discover
from setwise.estimators.selection.levers import Lever

LEVERS = discover(__name__, Lever)  # type: ignore[type-abstract]
"""All classes of levers by their short names.

>>> from setwise.estimators.selection import LEVERS
>>> LEVERS["class_weight"].__name__, len(LEVERS)
('ClassWeight', 8)
"""

# Each class can be imported from here by its own name.
globals().update({kind.__name__: kind for kind in LEVERS.values()})

__all__ = ["LEVERS", "Lever", "as_levers", *(kind.__name__ for kind in LEVERS.values())]


def as_levers(levers: Any) -> tuple[Lever, ...]:
    """Levers by their names, or lever objects; ``"auto"`` stands for all with their defaults, one name for one lever.

    Source: this library.

    Parameters
    ----------
    levers : ``"auto"``, a name, a lever, or a list of names and levers

    Returns
    -------
    levers : a tuple of lever objects

    Raises
    ------
    TypeError : for anything but names and levers
    ValueError : for a name that no lever has, and for two levers of one name

    Examples
    --------
    >>> from setwise.estimators.selection import BayesDecision, as_levers
    >>> as_levers([BayesDecision("isotonic"), "ramp"])
    (BayesDecision(calibration='isotonic'), RampStack(C=10000.0))
    """
    if isinstance(levers, str) and levers == "auto":
        return tuple(kind() for kind in LEVERS.values())
    given = [levers] if isinstance(levers, str | Lever) else levers
    if not isinstance(given, Sequence):
        raise TypeError(f"levers must be 'auto', or a list of names or levers; got {shown(levers)}.")
    found = tuple(_as_lever(lever) for lever in given)
    names = [lever.name for lever in found]
    if len(set(names)) < len(names):
        raise ValueError(f"levers must have different names; got {shown(names)}.")
    return found


def _as_lever(lever: Any) -> Lever:
    if isinstance(lever, Lever):
        return lever
    if not isinstance(lever, str):
        raise TypeError(f"levers must hold names or levers, as 'threshold' or SingleThreshold(); got {shown(lever)}.")
    if lever not in LEVERS:
        raise ValueError(f"there is no lever {shown(lever)}; levers must be 'auto' or among {', '.join(LEVERS)}.")
    return LEVERS[lever]()


def __getattr__(name: str) -> Any:
    # All names exist after the import; this function tells type checkers that there are more than they see.
    raise AttributeError(f"module 'setwise.estimators.selection' has no attribute {name!r}")
