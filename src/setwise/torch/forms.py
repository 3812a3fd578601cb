"""Forms are what the operators of PyTorch evaluate: a surrogate on host arrays, or on tensors of a device.

An operator takes tensors and numbers only, so it names its form by a number.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable
from typing import Any, NamedTuple

import torch


class Evaluated(NamedTuple):
    """The values (S,) of S sets, and their gradient (S, p) with respect to the scores.

    ``totals`` are the numbers (S, 2) of negatives and positives, if they are known.
    """

    values: torch.Tensor
    gradient: torch.Tensor
    totals: torch.Tensor | None = None


class Keyed(ABC):
    """What operators name by a number."""

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """What tells forms apart; equal keys share a number."""


class Form(Keyed):
    """A function of the scores of sets, with its gradient.

    Scores are (S, p) float32 or float64. Codes are (S, p) int8: 1 for positives, 0 for negatives, and -1 for decisions
    that do not count: they have no part in the value, and a gradient of 0. A set in which none counts has the value 0.
    """

    @abstractmethod
    def on_host(self, scores: torch.Tensor, codes: torch.Tensor) -> Evaluated:
        """Values and gradient of tensors of the CPU."""

    def on_device(self, scores: torch.Tensor, codes: torch.Tensor) -> Evaluated | None:
        """Values and gradient of tensors of any device by PyTorch alone, without waiting; None where there is no way.

        Nothing here may depend on a value on the host.
        """
        return None


_FORMS: list[Any] = []
_NUMBERS: dict[Hashable, int] = {}


# A graph would put the form into the list only after its operators have looked for it.
@torch.compiler.disable
def number_of(form: Keyed) -> int:
    """The number by which operators name the form; equal forms have the same one."""
    try:
        hash(form.key)
    except TypeError:
        # Losses of arrays cannot be compared, so each has a number of its own.
        _FORMS.append(form)
        return len(_FORMS) - 1
    if form.key not in _NUMBERS:
        _NUMBERS[form.key] = len(_FORMS)
        _FORMS.append(form)
    return _NUMBERS[form.key]


def form_of(number: int) -> Any:
    """The form of this number."""
    return _FORMS[number]
