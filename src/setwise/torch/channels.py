"""Chosen channels of a tensor."""

from collections.abc import Sequence

import torch
from torch import Tensor


def taken(x: Tensor, channels: Sequence[int], dim: int = 1) -> Tensor:
    """The chosen entries along an axis; all of them, in order, are the tensor itself.

    A list as an index would be copied to the device of the tensor first, and the host would wait for that.
    """
    if list(channels) == list(range(x.shape[dim])):
        return x
    each = x.unbind(dim)
    return torch.stack([each[c] for c in channels], dim)
