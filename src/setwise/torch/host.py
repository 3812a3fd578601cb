"""The loss of logits on the host as one node of the graph of PyTorch, which small images need to be fast."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from setwise.kernels.pixels import ALIKE, shares
from setwise.kernels.threads import allowed
from setwise.torch.arguments import Arguments
from setwise.torch.encoding import array_of, totals_of
from setwise.torch.forms import Form
from setwise.torch.layout import as_scores, lay_scores
from setwise.torch.ops import NO_SECOND
from setwise.torch.reducing import Reduction
from setwise.torch.wording import worded


def is_eager(scores: Tensor) -> bool:
    """Whether scores are plain numbers in the memory of the host, and nothing traces what is done to them."""
    plain = type(scores) is Tensor or type(scores) is torch.nn.Parameter
    return plain and scores.is_cpu and not torch.compiler.is_compiling()


@dataclass
class Job:
    """What the scores (N, C, ...) of a batch are evaluated with, and what is left for the way back.

    ``weight_of`` tells the weights of the classes, once the shape of the scores is known to be right. ``gradient`` is
    that of the values of the sets, (S, p), or in the shape of the scores in binary mode. ``factors`` (S, 1, ...) are
    what the values are multiplied by.
    """

    target: Tensor
    mask: Tensor | None
    form: Form
    arguments: Arguments
    weight_of: Callable[[Tensor], Tensor | None]
    reduction: Reduction
    gradient: Tensor | None = None
    factors: Tensor | None = None

    def total(self, scores: Tensor) -> Tensor:
        """What the operators of :mod:`setwise.torch.ops` and ``reduced`` make of the scores."""
        # The first way is 30 us faster, for PyTorch inspects the signature of the second at each call.
        way = _Transformed if torch._C._are_functorch_transforms_active() else _Total
        found: Tensor = way.apply(as_scores(scores), self)  # type: ignore[no-untyped-call]
        return found

    def run(self, scores: Tensor) -> Tensor:
        """The same without a graph."""
        rows, codes, shape = lay_scores(scores, self.target, self.mask, self.arguments)
        with allowed(torch.get_num_threads()):
            values, gradient, known = worded(self.form.on_host, array_of(rows), array_of(codes))
        totals = totals_of(codes).numpy() if known is None else known
        given = self.weight_of(scores)
        weight = ALIKE if given is None or self.reduction == "none" else given.detach().cpu().numpy()
        factors = shares(totals, shape[-1], weight, self.arguments.only_present, self.reduction == "mean")
        if self.arguments.mode == "binary":
            gradient = gradient.reshape(scores.shape)
        self.gradient = torch.from_numpy(gradient)
        self.factors = torch.from_numpy(factors.astype(values.dtype).reshape(-1, *[1] * (gradient.ndim - 1)))
        each = values * factors
        total = each.reshape(shape) if self.reduction == "none" else np.add.reduce(each)
        return torch.from_numpy(np.asarray(total, values.dtype))


class _Total(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, job: Job) -> Tensor:
        found = job.run(scores)
        # Their numbers are not read again, so they may change: a saved tensor may not.
        ctx.scores, ctx.arguments = scores, job.arguments
        ctx.save_for_backward(job.gradient, job.factors)
        return found

    @staticmethod
    def backward(ctx: Any, change: Tensor) -> tuple[Tensor, None]:
        gradient, factors, *scores = ctx.saved_tensors
        source = scores[0] if scores else ctx.scores
        # A single number needs no step of its own to be multiplied with.
        scale = factors * (change.reshape(factors.shape) if change.ndim else change)
        found = _laid_back(gradient * scale, source.shape, ctx.arguments)
        return once(found, source), None


class _Transformed(_Total):
    """The same in the form that ``torch.func.grad`` asks for."""

    @staticmethod
    def forward(scores: Tensor, job: Job) -> Tensor:  # type: ignore[override]
        return job.run(scores)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Job], output: Tensor) -> None:
        scores, job = inputs
        ctx.arguments = job.arguments
        ctx.save_for_backward(job.gradient, job.factors, scores)


def _laid_back(rows: Tensor, shape: torch.Size, arguments: Arguments) -> Tensor:
    """Rows (S, p) in the ``shape`` of the scores from which :func:`lay_scores` made them, with 0 in channels left out.

    In binary mode they are in this shape already.
    """
    if arguments.mode == "binary":
        return rows
    images, channels = shape[:2]
    chosen = arguments.channels(channels)
    pixels = rows.shape[1] if arguments.per_image else rows.shape[1] // max(images, 1)
    if arguments.per_image:
        found = rows.reshape(images, len(chosen), pixels)
    else:
        found = rows.reshape(len(chosen), images, pixels).transpose(0, 1)
    if chosen != list(range(channels)):
        whole = rows.new_zeros(images, channels, pixels)
        whole[:, chosen] = found
        found = whole
    return found.reshape(shape)


def once(gradient: Tensor, *sources: Tensor) -> Tensor:
    """A gradient that was found from the ``sources``, of which no further one can be taken."""
    if not torch.is_grad_enabled():
        return gradient
    found: Tensor = _Once.apply(gradient, *sources)  # type: ignore[no-untyped-call]
    return found


class _Once(torch.autograd.Function):
    """A gradient as it is, whose own gradient is refused, also with respect to the tensors from which it was found."""

    @staticmethod
    def forward(gradient: Tensor, *sources: Tensor) -> Tensor:
        return gradient.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *unused: Any) -> None:
        raise RuntimeError(NO_SECOND)
