"""Refusals of setwise in the words of its PyTorch modules."""

from collections.abc import Callable
from typing import TypeVar

from setwise.core.refusal import Refusal

Found = TypeVar("Found")

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
