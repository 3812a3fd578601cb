"""The operators of PyTorch behind all losses: codes of a target, values with a gradient, and the way back.

They are opaque to ``torch.compile``, which takes each as one node of its graph. An operator takes tensors and numbers
only, so it names its form by a number, which lives as long as the form does: a surrogate on host arrays, or on tensors
of a device. The code of a decision is 1 for positives, 0 for negatives, and -1 where it does not count.
"""

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from itertools import count
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from setwise.core.checks import Floats, Values
from setwise.kernels.lovasz import count_codes
from setwise.kernels.pixels import label_codes
from setwise.kernels.threads import thread_limit
from setwise.torch.arguments import taken, worded

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


NO_MASK = np.empty((0, 0), np.bool_)

POSITIVE = np.array([1])


def encoded(
    target: Tensor,
    mask: Tensor | None,
    channels: Sequence[int],
    count: int,
    exclusive: bool,
    ignore_index: int | None,
    by_class: bool,
) -> Tensor:
    """The codes (S, p) int8 of a target (N, K, pixels), where each chosen channel is a set against the rest.

    Parameters
    ----------
    target : (N, 1, pixels) of labels 0..count-1, or (N, count, pixels) of 0 and 1; with one channel of 0 and 1
    mask : (N, 1 or count, pixels) bool, False where decisions do not count; None counts all
    channels : the chosen channels
    count : the number of channels
    exclusive : whether a pixel has exactly one of several labels
    ignore_index : the value at which decisions do not count, or the class at which pixels with 1 there do not; None
        counts all
    by_class : whether a class has one set, (len(channels), N pixels), or one in each image, (N len(channels), pixels)

    Raises
    ------
    ValueError : for labels that are out of range. On an accelerator this is found later, as nothing waits for it there
    """
    if target.is_cpu and target.shape[1] == 1:
        found = _of_labels(target, mask, channels, count, ignore_index, by_class)
        if found is not None:
            return found
    one_hot = target.shape[1] == count
    ignored = _equal(target, ignore_index)
    if exclusive and one_hot:
        # A pixel counts for all of its classes, or for none; a class is named by its number, as in targets of numbers.
        named = ignore_index is not None and 0 <= ignore_index < count
        ignored = target[:, ignore_index, None] == 1 if named else ignored.any(dim=1, keepdim=True)
    if mask is not None:
        ignored = ignored | ~mask
    top = 2 if one_hot else count
    _check_range(target, ignored, top)
    if exclusive and one_hot:
        _require((target.sum(dim=1, keepdim=True) == 1) | ignored, "target must have one class of 1 at each pixel")
    if one_hot:
        chosen = taken(target, channels) == 1
    else:
        chosen = target == taken(torch.arange(count, device=target.device), channels, dim=0)[:, None]
    if ignored.shape[1] > 1:
        ignored = taken(ignored, channels)
    codes = chosen.to(torch.int8).masked_fill(ignored, -1)
    return (codes.transpose(0, 1).reshape(len(channels), -1) if by_class else codes.flatten(0, 1)).contiguous()


def numbered(target: Tensor, mask: Tensor | None, count: int, ignore_index: int | None) -> Tensor:
    """The class numbers 0..count-1 of a target, int64, with -1 where pixels do not count; all have the same shape."""
    ignored = _equal(target, ignore_index)
    if mask is not None:
        ignored = ignored | ~mask
    _check_range(target, ignored, count)
    return target.long().masked_fill(ignored, -1)


def _equal(target: Tensor, value: int | None) -> Tensor:
    """Where the target has this value; None is in none."""
    if value is None or not _holds(target, value):
        return torch.zeros_like(target, dtype=torch.bool)
    return torch.eq(target, value)


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


def _of_labels(
    target: Tensor, mask: Tensor | None, channels: Sequence[int], count: int, ignore_index: int | None, by_class: bool
) -> Tensor | None:
    """The same in one pass for a target (N, 1, pixels); None for rare kinds of labels, and for wrong ones."""
    top = max(count, 2)
    readable = _readable(target, top)
    if readable is None or (mask is not None and mask.shape[1] > 1):
        return None
    ignores = ignore_index is not None and _holds(readable, ignore_index)
    labels = array_of(readable)[:, 0]
    counted = NO_MASK if mask is None else array_of(mask)[:, 0]
    images, pixels = labels.shape
    shape = (len(channels), images * pixels) if by_class else (images * len(channels), pixels)
    codes, classes = np.empty(shape, np.int8), np.array(channels) if count > 1 else POSITIVE
    ignored = ignore_index if ignores and ignore_index is not None else 0
    valid = label_codes(labels, counted, classes, top, ignored, ignores, by_class, codes.reshape(-1))
    return torch.from_numpy(codes) if valid else None


def _readable(target: Tensor, top: int) -> Tensor | None:
    """The target in a type that the kernel reads for labels below ``top``; None where there is none."""
    if target.dtype == torch.int64:
        return target
    if target.dtype in (torch.int8, torch.int16, torch.int32):
        return target.long()
    if target.dtype == torch.bool:
        target = target.view(torch.uint8)
    fits = (target.dtype == torch.uint8 and top <= 256) or (target.dtype == torch.float32 and top <= 2)
    return target if fits else None


def _check_range(target: Tensor, ignored: Tensor, top: int) -> None:
    """Raise ValueError where a label that counts is none of 0..top-1."""
    if target.dtype == torch.bool:
        return
    valid = target >= 0
    if _holds(target, top):
        valid &= target < top
    if target.is_floating_point():
        valid &= target == target.round()
    _require(valid | ignored, f"target must hold whole numbers from 0 to {top - 1}, or ignore_index", target)


def _holds(target: Tensor, value: int) -> bool:
    """Whether the dtype of the target has this value; comparing with another one would wrap it around."""
    if target.is_floating_point() or target.dtype == torch.bool:
        return target.is_floating_point() or value in (0, 1)
    kind = torch.iinfo(target.dtype)
    return kind.min <= value <= kind.max


def _require(valid: Tensor, sentence: str, target: Tensor | None = None) -> None:
    """Raise ValueError with the sentence where not all are valid, naming the first odd value of the target."""
    if valid.device.type != "cpu":
        torch._assert_async(valid.all(), sentence)
    elif not valid.all():
        odd = "" if target is None else f"; got {target.expand_as(valid)[~valid][0].item():g}"
        raise ValueError(f"{sentence}{odd}.")


NO_SECOND = (
    "a second derivative of a loss of setwise was asked for, and there is none: the losses have corners, at which it "
    "does not exist. Leave out create_graph=True."
)


# Schemas are written out, since old versions of PyTorch cannot read all of these annotations.
@torch.library.custom_op(
    "setwise::encode",
    mutates_args=(),
    schema="(Tensor target, Tensor? mask, int[] channels, int count, bool exclusive, int? ignore_index, "
    "bool by_class) -> Tensor",
)
def encode(
    target: Tensor,
    mask: Tensor | None,
    channels: Sequence[int],
    count: int,
    exclusive: bool,
    ignore_index: int | None,
    by_class: bool,
) -> Tensor:
    """The codes (S, p) int8 of a target: 1 for positives, 0 for negatives, -1 for what does not count.

    See :func:`setwise.torch.operators.encoded`, which has the same arguments.
    """
    return encoded(target, mask, channels, count, exclusive, ignore_index, by_class)


@encode.register_fake
def _(
    target: Tensor,
    mask: Tensor | None,
    channels: Sequence[int],
    count: int,
    exclusive: bool,
    ignore_index: int | None,
    by_class: bool,
) -> Tensor:
    images, _, pixels = target.shape
    shape = (len(channels), images * pixels) if by_class else (images * len(channels), pixels)
    return target.new_empty(shape, dtype=torch.int8)


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


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor, Tensor]) -> None:
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(output[1])


def _back(ctx: Any, weights: Tensor | None, gradient: Tensor | None, totals: Tensor | None) -> tuple[Any, ...]:
    (kept,) = ctx.saved_tensors
    return (None if weights is None else pull_back(kept, weights)), None, None


def _never(ctx: Any, *unused: Any) -> None:
    raise RuntimeError(NO_SECOND)


evaluate.register_autograd(_back, setup_context=_keep)

pull_back.register_autograd(_never)
