"""Probabilities of logits, folded: as they are up to 1/2, and less 1 above it, so that none of their digits is lost."""

import math
from typing import Any

import torch
from torch import Tensor

from setwise.kernels.folding import BLOCK, softmax_gradient
from setwise.kernels.folding import folded_softmax as softmax_of
from setwise.kernels.threads import allowed
from setwise.torch.host import is_eager, once


def folded_sigmoid(logits: Tensor) -> Tensor:
    """The sigmoid q of logits where they are at most 0, and ``q - 1`` above."""
    sign = 1 - 2 * (logits > 0).to(logits.dtype)
    return sign * torch.sigmoid(sign * logits)


def folded_softmax(logits: Tensor) -> Tensor:
    """The softmax q of logits (N, C, ...) where it is at most 1/2, and ``q - 1`` above.

    That is minus the sum of the other classes. Where nothing traces what is done to tensors of the host, a kernel finds
    it and its gradient; what PyTorch makes of the same formula takes several times as long.
    """
    if is_eager(logits) and not torch._C._are_functorch_transforms_active():
        found: Tensor = _FoldedSoftmax.apply(logits)  # type: ignore[no-untyped-call]
        return found
    q = logits.softmax(dim=1)
    above = q > 0.5
    rest = q.masked_fill(above, 0.0).sum(dim=1, keepdim=True)
    # Some compilers make 0 of the opposite of 0, whose sign says which of both it is.
    return torch.where(above, -rest.clamp(min=torch.finfo(q.dtype).tiny), q)


class _FoldedSoftmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, logits: Tensor) -> Tensor:
        with allowed(torch.get_num_threads()):
            found = _tensor(softmax_of(_array(logits)), logits.shape)
        ctx.save_for_backward(found)
        return found

    @staticmethod
    def backward(ctx: Any, change: Tensor) -> Tensor:
        (folded,) = ctx.saved_tensors
        with allowed(torch.get_num_threads()):
            slope = softmax_gradient(_array(folded), _array(change))
        return once(_tensor(slope, folded.shape), folded, change)


def _array(x: Tensor) -> Any:
    """The numbers of a tensor (N, C, ...) as an array (N, C, pixels), or (1, C, N pixels) for small images."""
    flat = x.detach().reshape(*x.shape[:2], math.prod(x.shape[2:]))
    if flat.shape[2] < BLOCK:
        # The kernels work on rows of pixels, which should not be short.
        flat = flat.movedim(0, 1).reshape(1, x.shape[1], x.shape[0] * flat.shape[2])
    return flat.contiguous().numpy()


def _tensor(x: Any, shape: torch.Size) -> Tensor:
    """The tensor of this shape whose array is x."""
    found = torch.from_numpy(x)
    if math.prod(shape[2:]) < BLOCK:
        found = found.reshape(shape[1], shape[0], *shape[2:]).movedim(0, 1)
    return found.reshape(shape)
