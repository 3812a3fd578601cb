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
    return totals[:, 1] > 0 if arguments.only_present else totals.sum(dim=1) > 0


def reduced(
    values: Tensor, counts: Tensor, shape: tuple[int, ...], weight: Tensor | None, reduction: Reduction
) -> Tensor:
    """The values (S,) of sets as ``reduction`` says; sets that do not count have no part in it.

    ``"none"`` returns them in their ``shape``, with 0 where they do not count. ``"sum"`` adds them with the weights of
    their classes. ``"mean"`` divides the sum of each image by its sum of weights, and takes the mean of the images in
    which a set counts; without images it is the mean of the classes. Where nothing counts, the result is 0.
    """
    kept = _kept(values, counts, shape)
    if reduction == "none":
        return kept
    if reduction == "sum":
        return (kept * _weights(values, counts, shape, weight)).sum()
    # One factor for each set, so that the graph of the values has a single product.
    shares, some = _shares(values, counts, shape, weight)
    return (kept * (shares / some.sum().clamp(min=1))).sum()


def summed(values: Tensor, counts: Tensor, shape: tuple[int, ...], weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """The sum of the means of the images, and in how many images a set counts: their quotient is the mean."""
    shares, some = _shares(values, counts, shape, weight)
    return (_kept(values, counts, shape) * shares).sum(), some.sum()


def _kept(values: Tensor, counts: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The values in their shape, with 0 where a set does not count."""
    return torch.where(counts, values, 0.0).reshape(shape)


def _weights(values: Tensor, counts: Tensor, shape: tuple[int, ...], weight: Tensor | None) -> Tensor:
    """The weights of the sets in their shape, with 0 where a set does not count."""
    ones = counts.reshape(shape).to(values.dtype)
    return ones if weight is None else ones * weight.to(values)


def _shares(values: Tensor, counts: Tensor, shape: tuple[int, ...], weight: Tensor | None) -> tuple[Tensor, Tensor]:
    """The weights of the sets in the mean of their image, and a mask of the images in which a set counts."""
    weights = _weights(values, counts, shape, weight)
    whole = weights.sum(dim=-1, keepdim=True)
    some = whole > 0
    return weights / (whole + ~some), some


def weights_of(weight: Tensor | None, arguments: Arguments, channels: int) -> Tensor | None:
    """The weights of those of ``channels`` that may count; None weights all alike."""
    if weight is None:
        return None
    if len(weight) != channels:
        raise ValueError(f"class_weight must have one number for each of {channels} channels; got {len(weight)}.")
    return taken(weight, arguments.channels(channels), dim=0)


def as_class_weight(weights: Sequence[float] | Tensor | None, arguments: Arguments) -> Tensor | None:
    """One weight of at least 0 for each channel of logits, (C,) float64."""
    if weights is None:
        return None
    given = weights.detach().cpu().numpy() if isinstance(weights, Tensor) else weights
    listed = list(given) if isinstance(given, Sequence | np.ndarray) and np.ndim(given) == 1 else []
    if not listed or isinstance(given, str):
        raise ValueError(f"class_weight must be one number for each class; got {shown(weights)}.")
    checked = [as_number(each, "class_weight", low=0.0) for each in listed]
    counted = range(len(checked)) if isinstance(arguments.classes, str) else arguments.classes
    if not any(checked[c] for c in counted if c < len(checked) and (c or arguments.include_background)):
        raise ValueError(f"class_weight must be above 0 for a class that counts; got {shown(checked)}.")
    return torch.tensor(checked, dtype=torch.float64)
