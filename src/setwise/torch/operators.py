"""The operators of PyTorch behind all losses: values with a gradient, and the way back.

They are opaque to ``torch.compile``, which takes each as one node of its graph. An operator takes tensors and numbers
only, so it names its form by a number, which lives as long as the form does: a surrogate on host arrays, or on tensors
of a device. The code of a decision is 1 for positives, 0 for negatives, and -1 where it does not count.
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
from torch import Tensor

from setwise.core.checks import Floats, Values
from setwise.kernels.lovasz import count_codes
from setwise.kernels.threads import thread_limit
from setwise.torch.arguments import worded

Codes = NDArray[np.int8]


class ValueAndGradient(NamedTuple):
    """The values (S,) of S sets, and their gradient (S, p) with respect to the scores."""

    values: torch.Tensor
    gradient: torch.Tensor


class HostValues(NamedTuple):
    """The same as arrays, and the numbers (S, 2) of negatives and positives, if they are known."""

    values: Floats
    gradient: Floats
    totals: Values | None = None


class OperatorForm(ABC):
    """What operators name by a number."""

    @property
    @abstractmethod
    def key(self) -> Hashable:
        """What tells forms apart; equal keys share a number."""


class Form(OperatorForm):
    """A function of the scores of sets, with its gradient.

    Scores are (S, p) float32 or float64. Codes are (S, p) int8: 1 for positives, 0 for negatives, and -1 for decisions
    that do not count: they have no part in the value, and a gradient of 0. A set in which none counts has the value 0.
    """

    @abstractmethod
    def on_host(self, scores: Floats, codes: Codes) -> HostValues:
        """Values and gradient of arrays without gaps, in the type of the scores."""

    def on_device(self, scores: torch.Tensor, codes: torch.Tensor) -> ValueAndGradient | None:
        """Values and gradient of tensors of any device by PyTorch alone, without waiting; None where there is no way.

        Nothing here may depend on a value on the host.
        """
        return None


Called = TypeVar("Called", bound=Callable[..., Any])

Held = TypeVar("Held", bound=OperatorForm)

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
        raise RuntimeError("a graph evaluates a loss of setwise that no longer exists: keep its module.")
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


def array_of(tensor: Tensor) -> NDArray[Any]:
    """The numbers of a tensor of the CPU as an array without gaps, without its graph."""
    # Small images would notice a step that they do not need.
    plain = tensor.detach() if tensor.requires_grad else tensor
    return plain.contiguous().numpy()


def totals_of(codes: Tensor) -> Tensor:
    """The numbers (S, 2) of negatives and positives of codes (S, p)."""
    if codes.device.type != "cpu":
        return torch.stack([(codes == 0).sum(dim=1), (codes == 1).sum(dim=1)], dim=1)
    offsets = np.arange(len(codes) + 1) * codes.shape[1]
    return torch.from_numpy(count_codes(array_of(codes).reshape(-1), offsets))


NO_SECOND = "a loss of setwise has no second derivative, because it has corners. Leave out create_graph=True."


# Schemas are written out, since old versions of PyTorch cannot read all of these annotations.
@torch.library.custom_op(
    "setwise::evaluate", mutates_args=(), schema="(Tensor scores, Tensor codes, int form) -> (Tensor, Tensor, Tensor)"
)
def evaluate(scores: Tensor, codes: Tensor, form: int) -> tuple[Tensor, Tensor, Tensor]:
    """The values (S,) of a form, their gradient (S, p), and the numbers (S, 2) of negatives and positives."""
    bound = form_of(form)
    # Results have the layout that the fake operator below promises, whatever that of the scores is.
    found = bound.on_device(scores.contiguous(), codes.contiguous()) if scores.is_cuda else None
    if found is not None:
        return *found, totals_of(codes)
    with thread_limit(torch.get_num_threads()):
        values, gradient, _ = worded(bound.on_host, array_of(scores.cpu()), array_of(codes.cpu()))
    return torch.from_numpy(values).to(scores.device), torch.from_numpy(gradient).to(scores.device), totals_of(codes)


@evaluate.register_fake
def _(scores: Tensor, codes: Tensor, form: int) -> tuple[Tensor, Tensor, Tensor]:
    sets = scores.shape[0]
    return scores.new_empty(sets), scores.new_empty(scores.shape), codes.new_empty((sets, 2), dtype=torch.int64)


@torch.library.custom_op("setwise::pull_back", mutates_args=(), schema="(Tensor gradient, Tensor weights) -> Tensor")
def pull_back(gradient: Tensor, weights: Tensor) -> Tensor:
    """``weights_i gradient_i`` for every set i: the chain rule."""
    return (gradient * weights[:, None]).contiguous()


@pull_back.register_fake
def _(gradient: Tensor, weights: Tensor) -> Tensor:
    return gradient.new_empty(gradient.shape)


def register_gradients(operator: Any, number: int, others: int) -> None:
    """Tell how the values of an operator lead back to its first inputs: the gradients of ``number`` of them follow.

    The ``others`` have none.
    """

    def keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*output[1 : 1 + number])

    def back(ctx: Any, weights: Tensor | None, *unused: Any) -> tuple[Any, ...]:
        if weights is None:
            return (None,) * (number + others)
        found = [pull_back(kept.flatten(1), weights.to(kept.dtype)).reshape(kept.shape) for kept in ctx.saved_tensors]
        return *found, *(None,) * others

    operator.register_autograd(back, setup_context=keep)


def _never(ctx: Any, *unused: Any) -> None:
    raise RuntimeError(NO_SECOND)


register_gradients(evaluate, 1, others=2)

pull_back.register_autograd(_never)
