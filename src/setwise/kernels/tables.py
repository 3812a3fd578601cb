"""Best entries of runs in a flat array."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel

Array = NDArray[Any]


@kernel
def run_argmax(values: Array, offsets: Array) -> Array:
    """Flat place of the first greatest entry of each run ``offsets[i]:offsets[i+1]``, none empty; (n,) int64, O(m)."""
    out = np.empty(len(offsets) - 1, np.int64)
    for i in range(len(out)):
        at = offsets[i]
        for j in range(offsets[i] + 1, offsets[i + 1]):
            if values[j] > values[at]:
                at = j
        out[i] = at
    return out
