"""The decisions of one class by their margins, and what it costs to make mistakes of the first of them."""

from dataclasses import dataclass
from typing import final

import torch
from torch import Tensor


@final
@dataclass(frozen=True)
class Ranks:
    """The decisions of one class of S sets, ranked by their margins: what a mistake loses in score.

    Parameters
    ----------
    margins : (S, p) the margins of the class upwards, and then inf
    lost : (S, p + 1) the sums of the first margins; beyond the size of the class they have no meaning
    size, low : (S,) int64, the number of decisions, and of those that are wrong in the best labelings anyway, as a
        mistake of them loses no score and the loss does not fall; their margins count as 0 in the other fields
    base, gain : (S,) what these mistakes win in score, and what all of negative margin do
    rank : (S, p) int64, the rank of each decision from 0; at least the size of the class for all others
    below_zero : (S, p) whether a decision of the class has a negative margin
    """

    margins: Tensor
    lost: Tensor
    size: Tensor
    low: Tensor
    base: Tensor
    gain: Tensor
    rank: Tensor
    below_zero: Tensor

    @classmethod
    def of(cls, margins: Tensor, own: Tensor, increasing: bool) -> "Ranks":
        """The ranks of the decisions (S, p) of the class; ``increasing`` tells whether the loss increases."""
        place = torch.arange(margins.shape[1], device=margins.device).expand_as(margins)
        size = own.sum(dim=1)
        below = own & (margins < 0)
        gain = -torch.where(below, margins, 0.0).sum(dim=1)
        ordered, order = torch.where(own, margins, torch.inf).sort(dim=1, stable=True)
        rank = restored(place.contiguous(), order)
        low, base = torch.zeros_like(size), torch.zeros_like(gain)
        if increasing:
            low, base, ordered = (own & (margins <= 0)).sum(dim=1), gain, ordered.clamp(min=0.0)
        lost = running_sums(torch.where(place < size[:, None], ordered, 0.0))
        return cls(ordered, lost, size, low, base, gain, rank, below)

    def first(self, count: Tensor) -> Tensor:
        """A mask of the ``count`` (S,) decisions of least margin, (S, p)."""
        return self.rank < count[:, None]


def restored(values: Tensor, order: Tensor) -> Tensor:
    """The values (S, p) of sorted items, each at the place from which the ``order`` (S, p) took its item."""
    if torch.are_deterministic_algorithms_enabled():
        # PyTorch would sort the places anyway to scatter there, and wait for the device, as it does not know that the
        # places are different.
        return values.gather(1, order.argsort(dim=1))
    return torch.empty_like(values).scatter(1, order, values)


def running_sums(terms: Tensor) -> Tensor:
    """The sums (S, p + 1) of the first 0, 1, ..., p terms (S, p), in the same order of additions on every device.

    PyTorch's own running sums of floats on GPUs may differ from run to run, and are refused where algorithms have to be
    deterministic.
    """
    sums = torch.nn.functional.pad(terms, (1, 0))
    reach = 1
    while reach < sums.shape[1]:
        sums = torch.cat([sums[:, :reach], sums[:, reach:] + sums[:, :-reach]], dim=1)
        reach *= 2
    return sums
