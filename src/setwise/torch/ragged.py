"""Rows of scores with gaps, as ragged batches of sets on the host."""

from typing import NamedTuple

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checks import Bools, Floats, Ints
from setwise.torch.forms import Codes


class Ragged(NamedTuple):
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


def ragged(codes: Codes) -> Ragged:
    """The sets of codes (S, p) int8, where -1 marks what does not count."""
    counted: Bools = codes >= 0
    count, size = codes.shape
    if not counted.any():
        return Ragged(None, np.empty(0, dtype=np.int64), None)
    if counted.all():
        return Ragged(Sets(codes.reshape(-1).view(np.bool_), np.arange(count + 1) * size), np.arange(count), None)
    places = np.flatnonzero(counted)
    sizes = counted.sum(axis=1)
    rows = np.flatnonzero(sizes)
    offsets = np.concatenate(([0], np.cumsum(sizes[rows])))
    return Ragged(Sets(codes.reshape(-1)[places].view(np.bool_), offsets), rows, places)
