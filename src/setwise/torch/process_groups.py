"""Sets whose decisions lie on several processes: their rows laid end to end on each of them."""

from collections.abc import Callable, Hashable
from typing import Any, Literal, NamedTuple

import torch
import torch.distributed as dist
from torch import Tensor

from setwise.core.checks import shown
from setwise.torch.operators import kept_out

Sync = Literal["set"] | Any
"""None, ``"set"`` for all processes, or a process group of torch.distributed."""


def as_sync(sync: Sync | None) -> Sync | None:
    """None, ``"set"``, or a process group that this process is in."""
    if sync is None or (isinstance(sync, str) and sync == "set"):
        return sync
    if not dist.is_available() or not isinstance(sync, dist.ProcessGroup):
        raise TypeError(f"sync must be None, 'set' or a process group that this process is in; got {shown(sync)}.")
    return sync


def group_of(sync: Sync | None) -> Any:
    """The process group to share with; None where this process is alone, as it is before ``init_process_group``."""
    if sync is None or not dist.is_available() or not dist.is_initialized():
        return None
    group = dist.group.WORLD if isinstance(sync, str) else sync
    return group if dist.get_world_size(group) > 1 else None


def exchanged(value: object, group: Any) -> list[Any]:
    """The values of all ranks, in their order; they may differ in size."""
    found: list[Any] = [None] * dist.get_world_size(group)
    dist.all_gather_object(found, value, group=group)
    return found


class ScoreRows(NamedTuple):
    """Numbers (S, p), through which gradients go, and codes (S, p) int8."""

    numbers: Tensor
    codes: Tensor


class _RankMessage(NamedTuple):
    """What a rank tells the others before it sends rows: what they look like, or why it has none."""

    refusal: str | None
    sets: int = 0
    size: int = 0
    dtype: torch.dtype = torch.float32
    device: str = "cpu"
    settings: Hashable = None


@kept_out
def shared(make: Callable[[], ScoreRows], settings: Hashable, group: Any) -> ScoreRows:
    """The rows that ``make`` returns on the ranks of a group, end to end: (S, p_0 + p_1 + ...) on each of them.

    The gradient of the numbers of a rank is multiplied by the number of ranks, as DistributedDataParallel divides by
    it. Rows of float32 become float64 where another rank has float64.

    Parameters
    ----------
    make : what makes the rows of this rank; where it raises on one rank, all ranks raise
    settings : what must be equal on all ranks

    Raises
    ------
    RuntimeError : if another rank raised
    ValueError : if the ranks differ in settings, in the kind of device, or in the number of rows
    """
    # Ranks wait for one another here, so not even the functions that are called may become graphs.
    return torch.compiler.disable(_shared)(make, settings, group)  # type: ignore[no-any-return, no-untyped-call]


def _shared(make: Callable[[], ScoreRows], settings: Hashable, group: Any) -> ScoreRows:
    own, raised = None, None
    try:
        own = make()
        sets, size = own.codes.shape
        part = _RankMessage(None, sets, size, own.numbers.dtype, own.numbers.device.type, settings)
    except Exception as error:
        # A rank that left here would keep all others waiting for it.
        raised, part = error, _RankMessage(f"{type(error).__name__}: {error}")
    parts = exchanged(part, group)
    if raised is not None:
        raise raised
    assert own is not None
    _check(parts)
    sizes, rank = [each.size for each in parts], dist.get_rank(group)
    wide = torch.float64 if torch.float64 in {each.dtype for each in parts} else torch.float32
    numbers: Tensor = _Concatenation.apply(own.numbers, wide, sizes, rank, group)  # type: ignore[no-untyped-call]
    return ScoreRows(numbers, _end_to_end(own.codes, sizes, group))


def _check(parts: list[_RankMessage]) -> None:
    """Raise for parts that do not fit together; all ranks see the same parts, so all raise."""
    for rank, part in enumerate(parts):
        if part.refusal is not None:
            raise RuntimeError(f"sync found no loss, because rank {rank} of the group refused: {part.refusal}")
    for name in ("settings", "device", "sets"):
        first = getattr(parts[0], name)
        for rank, part in enumerate(parts):
            if getattr(part, name) != first:
                what = {"sets": "number of sets"}.get(name, name)
                raise ValueError(
                    f"sync needs the same {what} on all ranks; got {first} on rank 0 and {getattr(part, name)} on "
                    f"rank {rank}."
                )


class _Concatenation(torch.autograd.Function):
    """The rows of all ranks end to end, with the gradient of the own ones times the number of ranks."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, dtype: torch.dtype, sizes: list[int], rank: int, group: Any) -> Tensor:
        ctx.own = slice(sum(sizes[:rank]), sum(sizes[: rank + 1]))
        ctx.dtype, ctx.ranks = rows.dtype, len(sizes)
        return _end_to_end(rows.to(dtype), sizes, group)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        return (gradients[0][:, ctx.own] * ctx.ranks).to(ctx.dtype), None, None, None, None


def _end_to_end(rows: Tensor, sizes: list[int], group: Any) -> Tensor:
    """The rows (S, p) of all ranks end to end, where rank r has p = ``sizes[r]``."""
    sets, widest = len(rows), max(sizes)
    if sets * widest == 0:
        return rows.new_empty(sets, 0)
    # Gloo does not gather tensors of an accelerator, and no backend gathers tensors of different sizes.
    device = torch.device("cpu") if dist.get_backend(group) == "gloo" else rows.device
    padded = torch.zeros(sets, widest, dtype=rows.dtype, device=device)
    padded[:, : rows.shape[1]] = rows
    found = [torch.empty_like(padded) for _ in sizes]
    dist.all_gather(found, padded, group=group)
    return torch.cat([each[:, :size] for each, size in zip(found, sizes, strict=True)], dim=1).to(rows.device)
