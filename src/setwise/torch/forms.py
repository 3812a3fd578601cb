"""Forms are what the operators of PyTorch evaluate: a surrogate on host arrays, or on tensors of a device.

An operator takes tensors and numbers only, so it names its form by a number, which lives as long as the form does.
"""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Hashable
from itertools import count
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
import torch
from numpy.typing import NDArray

from setwise.core.checks import Floats, Values

Codes = NDArray[np.int8]


class Evaluated(NamedTuple):
    """The values (S,) of S sets, and their gradient (S, p) with respect to the scores."""

    values: torch.Tensor
    gradient: torch.Tensor


class OnHost(NamedTuple):
    """The same as arrays, and the numbers (S, 2) of negatives and positives, if they are known."""

    values: Floats
    gradient: Floats
    totals: Values | None = None


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
    def on_host(self, scores: Floats, codes: Codes) -> OnHost:
        """Values and gradient of arrays without gaps, in the type of the scores."""

    def on_device(self, scores: torch.Tensor, codes: torch.Tensor) -> Evaluated | None:
        """Values and gradient of tensors of any device by PyTorch alone, without waiting; None where there is no way.

        Nothing here may depend on a value on the host.
        """
        return None


Called = TypeVar("Called", bound=Callable[..., Any])
Held = TypeVar("Held", bound=Keyed)

KEPT = 16
"""So many forms of losses that can be compared are kept for functional twins, which hold theirs for one call only."""

_NEXT = count()
_BY_NUMBER: WeakValueDictionary[int, Any] = WeakValueDictionary()
_NUMBERS: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
_BY_KEY: WeakValueDictionary[Hashable, Any] = WeakValueDictionary()
_RECENT: OrderedDict[Hashable, Any] = OrderedDict()


def kept_out(function: Called) -> Called:
    """A decorator of functions that no graph takes in.

    ``torch.compiler.disable`` gives its functions this mark too, but it imports the compiler for that, and who compiles
    nothing would wait for it as long as for PyTorch itself.
    """
    function._torchdynamo_disable = True  # type: ignore[attr-defined]
    return function


# A graph would give the form its number only after its operators have looked for it.
@kept_out
def registered(form: Held) -> tuple[Held, int]:
    """The form that stands for all of its key, and the number by which operators name it while someone holds it.

    No number is given twice.
    """
    form = _first(form)
    if form not in _NUMBERS:
        number = next(_NEXT)
        _NUMBERS[form], _BY_NUMBER[number] = number, form
    return form, _NUMBERS[form]


def form_of(number: int) -> Any:
    """The form of this number."""
    form = _BY_NUMBER.get(number)
    if form is None:
        raise RuntimeError("a graph evaluates a loss of setwise that is no longer there: keep its module.")
    return form


def _first(form: Held) -> Held:
    """The living form of the same key, or else this one."""
    try:
        found: Held = _BY_KEY.setdefault(form.key, form)
    except TypeError:
        # Losses of arrays cannot be compared, so each has a form of its own.
        return form
    _RECENT[form.key] = found
    _RECENT.move_to_end(form.key)
    if len(_RECENT) > KEPT:
        _RECENT.popitem(last=False)
    return found
