"""The operators of PyTorch behind all losses: codes of a target, values with a gradient, and the way back.

They are opaque to ``torch.compile``, which takes each as one node of its graph.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from setwise.kernels.threads import allowed
from setwise.torch.encoding import array_of, encoded, totals_of
from setwise.torch.forms import form_of
from setwise.torch.wording import worded

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

    See :func:`setwise.torch.encoding.encoded`, which has the same arguments.
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
    with allowed(torch.get_num_threads()):
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
