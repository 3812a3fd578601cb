"""Refusals of setwise in the words of its PyTorch modules."""

from collections.abc import Iterator
from contextlib import contextmanager

from setwise.core.refusal import Refusal

WORDS = (("surrogate='margin'", "MarginRescalingLoss"), ("LovaszHinge refuses", "the Lovász extension refuses"))


@contextmanager
def worded() -> Iterator[None]:
    """Raise refusals with the names of modules in place of those of estimators, and ``logits`` in place of scores."""
    try:
        yield
    except Refusal as refusal:
        sentence = str(refusal)
        for there, here in WORDS:
            sentence = sentence.replace(there, here)
        raise Refusal(sentence) from None
    except (ValueError, OverflowError) as error:
        if not str(error).startswith("scores "):
            raise
        raise type(error)(str(error).replace("scores", "logits", 1)) from None
