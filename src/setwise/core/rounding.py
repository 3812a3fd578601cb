"""How far rounding moves values and bounds: certificates allow for that, and for nothing else."""

from typing import Any

import numpy as np

from setwise.core.arrays import Floats, Values
from setwise.core.batch import Batch
from setwise.kernels.segments import segment_sums

MANY = 1000
"""In sums of more terms most of the rounding cancels."""


def rounding(terms: Any, size: Any) -> Any:
    """``4 eps min(terms, 1000) size``: what rounding changes in sums of so many terms of this absolute sum."""
    return 4.0 * 2.0**-52 * np.minimum(terms, MANY) * size


def absolute_sums(scores: Floats, batch: Batch) -> Values:
    """The sum of the absolute scores of each set, (n,)."""
    return segment_sums(np.abs(scores).astype(np.float64, copy=False), batch.score_offsets)


def rounding_next_to(value: float, scores: Values, batch: Batch) -> float:
    """What rounding changes in values and bounds of a batch of one set next to a value."""
    return float(rounding(batch.addends[0], abs(value) + float(np.abs(scores).sum())))
