"""The Lovász extension of a loss of counts on tensors of any device."""

import torch
from torch import Tensor

from setwise.torch.device_counts import DeviceCounts
from setwise.torch.device_ranks import restored
from setwise.torch.forms import Evaluated

CELLS = 1 << 21
"""So many mistakes of all sets are evaluated at once, at most."""


def extension(
    counts: DeviceCounts, errors: Tensor, codes: Tensor, clipped: bool, level: float = 0.0, folded: bool = False
) -> Evaluated:
    """``(l(none) + sum_j e_(j) gain_j)_+`` along errors (S, p), sorted down, and its derivative by the errors.

    The errors e are ``level + errors``; a sum in float32 would round small scores to the same number. If they are
    ``folded``, a number x above 1 stands for the error ``1 - 1 / x``, so that errors near 1 differ. With ``clipped``
    errors below 0 count as 0. One stable sort; gains and sums are float64. Sets with errors that are NaN or inf have
    values that are, and a gradient of NaN.
    """
    P, N = ((codes == label).sum(dim=1).double() for label in (1, 0))
    # What does not count comes last, so that the mistakes of a set are its first P + N.
    ordered, order = torch.where(codes < 0, -torch.inf, errors).sort(dim=1, descending=True, stable=True)
    labels = codes.gather(1, order)
    running = torch.nn.functional.pad((labels == 1).cumsum(dim=1, dtype=torch.int32), (1, 0))
    # The formula need not be defined for sets in which nothing counts.
    sums = torch.where(P + N > 0, counts.origin(P, N), 0.0)
    # Counts and gains are float64, so they are made in pieces, of which one at a time takes memory.
    step, pieces = max(1, CELLS // max(len(codes), 1)), []
    for a in range(0, codes.shape[1], step):
        top = ordered[:, a : a + step].double() + level
        top = torch.where(top > 1.0, 1.0 - 1.0 / top, top) if folded else top
        idle = (labels[:, a : a + step] < 0) | (top <= 0) if clipped else labels[:, a : a + step] < 0
        gains = torch.where(idle, 0.0, counts.gains(running[:, a : a + step + 1], a, P, N))
        sums = sums + (torch.where(idle, 0.0, top) * gains).sum(dim=1)
        pieces.append(gains.to(errors.dtype))
    slopes = torch.cat(pieces, dim=1) if pieces else torch.zeros_like(errors)
    # Where the sum is clipped at 0, a subgradient is 0.
    still = sums <= 0
    values = torch.where(still, 0.0, sums).to(errors.dtype)
    slopes = torch.where(still[:, None], 0.0, slopes) + (sums - sums)[:, None].to(errors.dtype)
    return Evaluated(values, restored(slopes, order))
