"""Logits and targets of any shape, as rows of scores and codes; rows with gaps are ragged batches on the host."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, final

import numpy as np
import torch
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual

from setwise.core.batch import Sets
from setwise.core.checks import Bools, Floats, Ints, shown
from setwise.kernels.pixels import label_codes
from setwise.torch.arguments import Arguments, taken
from setwise.torch.operators import Codes, array_of

WIDENED = {torch.uint16, torch.uint32}
"""The types of whole numbers that PyTorch holds, and does not compare."""

WHOLE = {torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64} | WIDENED
"""The types of labels that are bools or whole numbers."""

LABELS = {torch.float16, torch.bfloat16, torch.float32, torch.float64} | WHOLE
"""The types of targets."""


@final
class SetRows(NamedTuple):
    """Sets of decisions as rows: ``scores`` (S, p) in float32 or float64, and ``codes`` (S, p) int8.

    A code is 1 for positives, 0 for negatives, and -1 for decisions that do not count. The sets are those of the
    ``shape``: (classes,), or (images, classes) with ``per_image``.
    """

    scores: Tensor
    codes: Tensor
    shape: tuple[int, ...]


def lay(scores: Tensor, target: Tensor, mask: Tensor | None, arguments: Arguments) -> SetRows:
    """The sets of scores (N, C, ...), as :func:`as_scores` makes them of logits, and of a target.

    In binary mode scores are (N, ...) or (N, 1, ...), and so is the target. In multiclass mode the target holds class
    numbers (N, ...) or (N, 1, ...), or 0 and 1 in (N, C, ...); in multilabel mode 0 and 1 in (N, C, ...). A mask
    (N, ...) or (N, 1, ...) of pixels, or (N, C, ...) of labels, is True where decisions count.
    """
    images, channels, pixels = channels_of(scores, arguments)
    chosen, codes = arguments.channels(channels), codes_of(scores, target, mask, arguments)
    shape = (images, len(chosen)) if arguments.per_image else (len(chosen),)
    if channels == 1:
        # The decisions of one channel are in the order of the codes.
        return SetRows(scores.reshape(codes.shape), codes, shape)
    taking = taken(scores.reshape(images, channels, pixels), chosen)
    rows = taking if arguments.per_image else taking.transpose(0, 1)
    return SetRows(rows.reshape(codes.shape), codes, shape)


def check_sums(probabilities: Tensor, target: Tensor, mask: Tensor | None, arguments: Arguments) -> None:
    """Raise ValueError where a pixel counts and the sum of its probabilities (N, C, ...) is not 1."""
    sums = probabilities.sum(dim=1)
    # Half precision rounds sums by less than this.
    odd = (sums - 1).abs() > 0.01
    if odd.any():
        every = replace(arguments, classes="all", include_background=True, per_image=False)
        odd &= (codes_of(probabilities, target, mask, every) >= 0).any(dim=0).reshape(odd.shape)
        if odd.any():
            raise ValueError(f"from_logits=False needs probabilities whose sum is 1; got {sums[odd][0].item():g}.")


def codes_of(scores: Tensor, target: Tensor, mask: Tensor | None, arguments: Arguments) -> Tensor:
    """The codes of :func:`lay`, for which scores give nothing but their shape."""
    size = channels_of(scores, arguments)
    given, chosen = _as_target(scores, target, arguments, size), arguments.channels(size[1])
    counted = None if mask is None else _as_mask(mask, scores, size, arguments)
    exclusive, by_class = arguments.mode == "multiclass", not arguments.per_image
    # The operator takes longer than the codes of a small image.
    codes_by = encode if torch.compiler.is_compiling() else encoded
    return codes_by(given, counted, chosen, size[1], exclusive, arguments.ignore_index, by_class)


def numbers_of(scores: Tensor, target: Tensor, mask: Tensor | None, arguments: Arguments) -> Tensor | None:
    """The class numbers (N, pixels) of a target in multiclass mode, int64, with -1 where pixels do not count.

    None for targets of 0 and 1, and for masks of single labels, of which numbers would say too little.
    """
    size = channels_of(scores, arguments)
    given = _as_target(scores, target, arguments, size)
    counted = None if mask is None else _as_mask(mask, scores, size, arguments)
    if given.shape[1] > 1 or (counted is not None and counted.shape[1] > 1):
        return None
    return numbered(given, counted, size[1], arguments.ignore_index)[:, 0]


def as_scores(logits: Tensor, name: str = "logits") -> Tensor:
    """Logits in float32 or float64; smaller kinds become float32, so that sums over many pixels keep their digits."""
    if not isinstance(logits, Tensor) or not logits.is_floating_point():
        raise TypeError(f"{name} must be a tensor of floats; got {kind_of(logits)}.")
    if not torch.compiler.is_compiling():
        _check_kind(logits, name)
    return logits if logits.dtype in (torch.float32, torch.float64) else logits.float()


def _check_kind(logits: Tensor, name: str) -> None:
    """Refuse tensors without numbers in memory, and tangents, which would be lost in silence."""
    if logits.layout != torch.strided or logits.is_meta:
        kind = "of the meta device" if logits.is_meta else f"of the layout {logits.layout}"
        raise TypeError(f"{name} must be a dense tensor with values; got one {kind}.")
    if unpack_dual(logits).tangent is not None:  # type: ignore[no-untyped-call]
        raise RuntimeError(
            f"{name} must have no tangent: setwise has no forward-mode derivatives. Use backward, or torch.func.grad."
        )


def channels_of(scores: Tensor, arguments: Arguments) -> tuple[int, int, int]:
    """The numbers of images, channels and pixels; in binary mode there is one channel, maybe without an axis."""
    least = 1 if arguments.mode == "binary" else 2
    if scores.ndim < least:
        raise ValueError(f"logits must have {least} or more dimensions in {arguments.mode} mode; got {scores.ndim}.")
    images, *rest = scores.shape
    if arguments.mode == "binary":
        return images, 1, math.prod(rest)
    channels = rest[0]
    if not channels:
        raise ValueError(f"logits must have a channel or more in {arguments.mode} mode; got 0.")
    if channels < least and arguments.mode == "multiclass":
        raise ValueError("logits must have two channels or more in multiclass mode; got 1. Use mode='binary'.")
    return images, channels, math.prod(rest[1:])


def _as_target(logits: Tensor, target: Tensor, arguments: Arguments, shape: tuple[int, int, int]) -> Tensor:
    """The target as (images, 1 or channels, pixels)."""
    if not isinstance(target, Tensor) or target.dtype not in LABELS:
        raise TypeError(
            f"target must be a tensor of bools, whole numbers other than uint64, or floats; got {kind_of(target)}."
        )
    _check_place(target, "target", logits)
    images, channels, pixels = shape
    full, wanted = tuple(logits.shape), _of_pixels(logits, arguments)
    if arguments.mode != "binary":
        wanted = [full] if arguments.mode == "multilabel" else [wanted[0], full, *wanted[1:]]
    if tuple(target.shape) not in wanted:
        way = ""
        if arguments.mode == "binary" and target.ndim == logits.ndim - 1:
            way = " Several channels need mode='multiclass' or 'multilabel'."
        raise ValueError(
            f"target must have the shape {_either(wanted[:2])} for these logits; got {shape_of(target)}.{way}"
        )
    per_channel = arguments.mode != "binary" and tuple(target.shape) == full
    target = target.long() if target.dtype in WIDENED else target
    return target.reshape(images, channels if per_channel else 1, pixels)


def _as_mask(mask: Tensor, logits: Tensor, shape: tuple[int, int, int], arguments: Arguments) -> Tensor:
    """The mask as (images, 1 or channels, pixels)."""
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        raise TypeError(f"mask must be a tensor of bools; got {kind_of(mask)}.")
    _check_place(mask, "mask", logits)
    images, channels, pixels = shape
    single, full = _of_pixels(logits, arguments), tuple(logits.shape)
    if tuple(mask.shape) in single:
        return mask.reshape(images, 1, pixels)
    if tuple(mask.shape) == full:
        return mask.reshape(images, channels, pixels)
    raise ValueError(f"mask must have the shape {_either([*single, full])} for these logits; got {shape_of(mask)}.")


def _check_place(value: Tensor, name: str, logits: Tensor) -> None:
    """Refuse tensors without numbers in memory, or with numbers elsewhere than the logits."""
    if value.layout != torch.strided:
        raise TypeError(f"{name} must be a dense tensor; got one of the layout {value.layout}.")
    if value.device != logits.device:
        raise ValueError(f"{name} must be on the device of logits, {logits.device}; got {value.device}.")


def _of_pixels(logits: Tensor, arguments: Arguments) -> list[tuple[int, ...]]:
    """The shapes of one value for each pixel: with an axis of one channel, and without."""
    images, *rest = logits.shape
    if arguments.mode != "binary":
        return [(images, *rest[1:]), (images, 1, *rest[1:])]
    return [(images, *rest), *([(images, *rest[1:])] if rest and rest[0] == 1 else []), (images, 1, *rest)]


def _either(shapes: Sequence[tuple[int, ...]]) -> str:
    """The different shapes for a sentence."""
    *rest, last = dict.fromkeys(str(tuple(each)) for each in shapes)
    return f"{', '.join(rest)} or {last}" if rest else last


def shape_of(tensor: Tensor) -> str:
    """The shape of a tensor for a sentence."""
    return str(tuple(tensor.shape))


def kind_of(value: object) -> str:
    """What a value is, for a sentence."""
    return f"a tensor of {value.dtype}" if isinstance(value, Tensor) else shown(value)


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


encode = torch.library.custom_op(
    "setwise::encode",
    encoded,
    mutates_args=(),
    schema="(Tensor target, Tensor? mask, int[] channels, int count, bool exclusive, int? ignore_index, "
    "bool by_class) -> Tensor",
)


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


class RaggedRows(NamedTuple):
    """The decisions of S rows of p that count.

    ``sets`` is None where no decision counts. ``rows`` are the numbers of the rows that have one, and ``places`` the
    positions of the decisions in the rows laid end to end, or None where all count.
    """

    sets: Sets | None
    rows: Ints
    places: Ints | None

    def take(self, scores: Floats) -> Floats:
        """The scores of the decisions that count."""
        flat: Floats = scores.reshape(-1)
        return flat if self.places is None else flat[self.places]

    def spread(self, found: Floats, like: Floats) -> Floats:
        """One number for each decision that counts, in the shape of ``like``, with 0 elsewhere."""
        if self.places is None:
            return found.reshape(like.shape)
        out = np.zeros(like.size, dtype=found.dtype)
        out[self.places] = found
        return out.reshape(like.shape)

    def spread_rows(self, found: Floats, like: Floats) -> Floats:
        """One number for each set, as (S,) of the dtype of ``like``, with 0 for rows without a set."""
        out = np.zeros(len(like), dtype=like.dtype)
        with np.errstate(over="ignore"):
            out[self.rows] = found
        return out


def ragged(codes: Codes) -> RaggedRows:
    """The sets of codes (S, p) int8, where -1 marks what does not count."""
    counted: Bools = codes >= 0
    count, size = codes.shape
    if not counted.any():
        return RaggedRows(None, np.empty(0, dtype=np.int64), None)
    if counted.all():
        return RaggedRows(Sets(codes.reshape(-1).view(np.bool_), np.arange(count + 1) * size), np.arange(count), None)
    places = np.flatnonzero(counted)
    sizes = counted.sum(axis=1)
    rows = np.flatnonzero(sizes)
    offsets = np.concatenate(([0], np.cumsum(sizes[rows])))
    return RaggedRows(Sets(codes.reshape(-1)[places].view(np.bool_), offsets), rows, places)
