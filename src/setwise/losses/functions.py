"""Functions that users give as losses."""

import inspect
from collections.abc import Callable
from typing import Any

from setwise.core.checks import shown


def check_function(f: object, *signatures: str) -> None:
    """Raise TypeError if ``f`` is no function of one of the signatures, as ``"fn, fp"``."""
    wanted = " or ".join(f"({signature})" for signature in signatures)
    if not callable(f):
        raise TypeError(f"f must be a function of {wanted}; got {shown(f)}.")
    if not any(takes(f, signature.count(",") + 1) for signature in signatures):
        raise TypeError(f"f must be a function of {wanted}; got {shown(f)}, which takes {inspect.signature(f)}.")


def takes(f: Callable[..., Any], number: int) -> bool:
    """Whether f takes so many arguments by position; true where Python cannot tell."""
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*range(number))
    except TypeError:
        return False
    return True
