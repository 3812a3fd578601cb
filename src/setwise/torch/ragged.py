"""Rows of scores with gaps, as ragged batches of sets on the host."""

from typing import NamedTuple

import numpy as np
import torch

from setwise.core.arrays import Bools, Floats, Ints
from setwise.core.sets import Sets


class Ragged(NamedTuple):
    """The decisions of S rows of p that count.

    ``sets`` is None where no decision counts. ``rows`` are the numbers of the rows that have one, and ``places`` the
    positions of the decisions in the rows laid end to end, or None where all count.
    """

    sets: Sets | None
    rows: Ints
    places: Ints | None

    def take(self, scores: torch.Tensor) -> Floats:
        """The scores of the decisions that count."""
        flat: Floats = scores.detach().contiguous().numpy().reshape(-1)
        return flat if self.places is None else flat[self.places]

    def spread(self, found: Floats, like: torch.Tensor) -> torch.Tensor:
        """One number for each decision that counts, in the shape of ``like``, with 0 elsewhere."""
        if self.places is None:
            return torch.from_numpy(found).reshape(like.shape)
        out = np.zeros(like.numel(), dtype=found.dtype)
        out[self.places] = found
        return torch.from_numpy(out).reshape(like.shape)

    def spread_rows(self, found: Floats, like: torch.Tensor) -> torch.Tensor:
        """One number for each set, as (S,) of the dtype of ``like``, with 0 for rows without a set."""
        out = np.zeros(like.shape[0], dtype=np.float64)
        out[self.rows] = found
        return torch.from_numpy(out).to(like.dtype)


def ragged(codes: torch.Tensor) -> Ragged:
    """The sets of codes (S, p) int8 on the CPU, where -1 marks what does not count."""
    given = codes.detach().contiguous().numpy()
    counted: Bools = given >= 0
    count, size = given.shape
    if not counted.any():
        return Ragged(None, np.empty(0, dtype=np.int64), None)
    if counted.all():
        return Ragged(Sets(given.reshape(-1).view(np.bool_), np.arange(count + 1) * size), np.arange(count), None)
    places = np.flatnonzero(counted)
    sizes = counted.sum(axis=1)
    rows = np.flatnonzero(sizes)
    offsets = np.concatenate(([0], np.cumsum(sizes[rows])))
    return Ragged(Sets(given.reshape(-1)[places].view(np.bool_), offsets), rows, places)
