"""Checks of the functions that users give as losses."""

import inspect
from collections.abc import Callable
from typing import Any

from setwise.core.checks import shown


def check_function(f: object, *signatures: str) -> None:
    """Raise TypeError if ``f`` does not take the arguments of any of the signatures, which are written ``"fn, fp"``."""
    wanted = " or ".join(f"({signature})" for signature in signatures)
    if not callable(f):
        raise TypeError(f"f must be a function of {wanted}; got {shown(f)}.")
    if not any(takes(f, signature.count(",") + 1) for signature in signatures):
        raise TypeError(f"f must be a function of {wanted}; got {shown(f)}, which takes {inspect.signature(f)}.")


def takes(f: Callable[..., Any], number: int) -> bool:
    """Whether f takes ``number`` arguments by position; True if Python cannot tell."""
    # Some functions written in C have no signature that Python can read.
    try:
        signature = inspect.signature(f)
    except (TypeError, ValueError):
        return True
    try:
        signature.bind(*range(number))
    except TypeError:
        return False
    return True
