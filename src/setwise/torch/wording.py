"""Refusals of setwise in the words of its PyTorch modules."""

import warnings
from collections.abc import Callable
from typing import TypeVar

import torch

from setwise.core.exceptions import Refusal
from setwise.core.pages import MODES

Found = TypeVar("Found")

MANY = 20
"""So many logits, of which each is as often below 0 as above, are all in [0, 1] in one of a million networks."""

WORDS = (("surrogate='margin'", "MarginRescalingLoss"), ("LovaszHinge refuses", "the Lovász extension refuses"))


def worded(function: Callable[..., Found], *given: object) -> Found:
    """``function(*given)``, whose refusals name modules in place of estimators, and ``logits`` in place of scores."""
    try:
        return function(*given)
    except Refusal as refusal:
        sentence = refusal.sentence
        for there, here in WORDS:
            sentence = sentence.replace(there, here)
        raise Refusal(sentence, refusal.page) from None
    except (ValueError, OverflowError) as error:
        if not str(error).startswith("scores "):
            raise
        raise type(error)(str(error).replace("scores", "logits", 1)) from None


_is_tracing: Callable[[], bool] = vars(torch.jit)["is_tracing"]


def refuse_tracing(name: str) -> None:
    """Raise RuntimeError while ``torch.jit.trace`` runs, for it takes what the host computes for a constant."""
    # torch.jit.script reads comments that begin with "type:" for types, so mypy is told by a name.
    if _is_tracing():
        raise RuntimeError(
            f"torch.jit.trace refuses {name}: what it computes outside of PyTorch would stay that of the first batch. "
            "Trace the network alone, or use torch.compile."
        )


def in_unit(logits: torch.Tensor) -> bool:
    """Whether logits of the CPU, many of them, are all in [0, 1], as probabilities are; O(n)."""
    if logits.layout != torch.strided or not logits.is_cpu or not logits.is_floating_point() or logits.numel() < MANY:
        return False
    low, high = torch.aminmax(logits.detach())
    return bool(0 <= low < high <= 1)


def warn_of_probabilities(what: str) -> None:
    """Warn that what is given looks like probabilities, where it is taken for logits."""
    warnings.warn(
        f"all that is given is in [0, 1], as probabilities are, and {what}.{MODES.see}", UserWarning, stacklevel=3
    )
