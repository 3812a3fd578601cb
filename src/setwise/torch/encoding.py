"""Targets as codes: 1 for positives, 0 for negatives, -1 for decisions that do not count."""

from collections.abc import Sequence

import torch
from torch import Tensor

from setwise.torch.channels import taken


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
    one_hot = target.shape[1] == count
    ignored = torch.zeros_like(target, dtype=torch.bool)
    if ignore_index is not None and _holds(target, ignore_index):
        ignored = torch.eq(target, ignore_index)
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
