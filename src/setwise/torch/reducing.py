"""The values of sets as one number: which sets count, with which weight, and what the mean divides by."""

from collections.abc import Sequence
from typing import Literal, TypedDict

import numpy as np
import torch
from torch import Tensor

from setwise.core.checks import as_number, shown
from setwise.torch.arguments import Arguments, Classes, Empty
from setwise.torch.channels import taken
from setwise.torch.gathering import Sync

Reduction = Literal["none", "mean", "sum"]


class Options(TypedDict, total=False):
    """The arguments that all losses take by name; see :class:`Arguments` and :class:`setwise.torch.Criterion`."""

    ignore_index: int | None
    per_image: bool
    classes: Classes
    include_background: bool
    class_weight: Sequence[float] | Tensor | None
    empty: Empty | None
    reduction: Reduction
    sync: Sync | None


def counted(totals: Tensor, arguments: Arguments) -> Tensor:
    """A mask of the sets that count, (S,), for the numbers (S, 2) of negatives and positives."""
    return totals[:, 1] > 0 if arguments.only_present else totals.sum(1) > 0


def reduced(
    values: Tensor, counts: Tensor, shape: tuple[int, ...], weight: Tensor | None, reduction: Reduction
) -> Tensor:
    """The values (S,) of sets as ``reduction`` says; sets that do not count have no part in it.

    ``"none"`` returns them in their ``shape``, with 0 where they do not count. ``"sum"`` adds them with the weights of
    their classes. ``"mean"`` divides the sum of each image by its sum of weights, and takes the mean of the images in
    which a set counts; without images it is the mean of the classes. Where nothing counts, the result is 0.
    """
    weights = counts.to(values.dtype)
    if weight is not None and reduction != "none":
        weights = (weights.reshape(shape) * weight.to(weights)).flatten()
    found: Tensor = torch.where(counts, values, 0.0) * factors_of(weights.reshape(shape), reduction).flatten()
    return found.reshape(shape) if reduction == "none" else found.sum()


def factors_of(weights: Tensor, reduction: Reduction) -> Tensor:
    """What each value is multiplied by before all are added, for weights of sets in their shape.

    With ``"none"`` they are not added. Sets that do not count have the weight 0. On the host,
    :func:`setwise.kernels.pixels.shares` tells the same.
    """
    if reduction != "mean":
        return weights
    whole = weights.sum(dim=-1, keepdim=True)
    some = whole > 0
    number = some.sum()
    # Where no set of an image counts, its weights are 0 whatever they are divided by.
    found: Tensor = weights / ((whole + ~some) * (number + (number == 0)))
    return found


def summed(values: Tensor, counts: Tensor, shape: tuple[int, ...], weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """The sum of the means of the images, and in how many images a set counts: their quotient is the mean."""
    weights = counts.reshape(shape).to(values.dtype)
    if weight is not None:
        weights = weights * weight.to(values)
    total, whole = (torch.where(counts, values, 0.0).reshape(shape) * weights).sum(dim=-1), weights.sum(dim=-1)
    some = whole > 0
    means = total / torch.where(some, whole, torch.ones_like(whole))
    return means.sum(), some.sum()


def weights_of(weight: Tensor | None, arguments: Arguments, channels: int) -> Tensor | None:
    """The weights of those of ``channels`` that may count; None weights all alike."""
    if weight is None:
        return None
    if len(weight) != channels:
        raise ValueError(f"class_weight must have one number for each of {channels} channels; got {len(weight)}.")
    return taken(weight, arguments.channels(channels), dim=0)


def unrounded(weight: Tensor | None, moved: Tensor | None) -> Tensor | None:
    """The weights where a module has moved them, without the type that it gave them."""
    if weight is None or moved is None or weight.dtype == moved.dtype:
        return moved
    return weight.to(moved.device)


def as_class_weight(weights: Sequence[float] | Tensor | None, arguments: Arguments) -> Tensor | None:
    """One weight of at least 0 for each channel of logits, (C,) float64."""
    if weights is None:
        return None
    every = weights if isinstance(weights, list | tuple) else [weights]
    if any(isinstance(one, Tensor) and one.requires_grad for one in every):
        raise ValueError("class_weight must not require a gradient, for it would get none; pass class_weight.detach().")
    given = weights.detach().cpu().numpy() if isinstance(weights, Tensor) else weights
    listed = list(given) if isinstance(given, Sequence | np.ndarray) and np.ndim(given) == 1 else []
    if not listed or isinstance(given, str):
        raise ValueError(f"class_weight must be one number for each class; got {shown(weights)}.")
    checked = [as_number(each, "class_weight", low=0.0) for each in listed]
    counted = range(len(checked)) if isinstance(arguments.classes, str) else arguments.classes
    if not any(checked[c] for c in counted if c < len(checked) and (c or arguments.include_background)):
        raise ValueError(f"class_weight must be above 0 for a class that counts; got {shown(checked)}.")
    return torch.tensor(checked, dtype=torch.float64)
