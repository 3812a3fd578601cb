"""What the values of sets are multiplied by before all are added to one number."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import interpreted_first, kernel

Array = NDArray[Any]

ALIKE = np.empty(0)
"""The weights of classes that all weigh 1."""


@interpreted_first
@kernel
def shares(totals: Array, classes: int, weight: Array, only_present: bool, mean: bool) -> Array:
    """Returns the weight of the class of every set, (S,), and 0 for sets that do not count; O(S).

    Images have one set for each of the classes, and ``weight`` is theirs, or empty for classes that all weigh 1. A set
    counts if it has a positive, or a decision at all unless ``only_present``: ``totals`` (S, 2) are its numbers of
    negatives and positives. For a ``mean`` the weights of each image are divided by their sum, and by the number of
    images in which a set counts.
    """
    out, images, some = np.zeros(len(totals)), len(totals) // max(classes, 1), 0
    whole = np.zeros(images)
    for i in range(images * classes):
        if totals[i, 1] > 0 or (totals[i, 0] > 0 and not only_present):
            out[i] = weight[i % classes] if len(weight) else 1.0
            whole[i // classes] += out[i]
    if mean:
        some = (whole > 0).sum()
        for i in range(images * classes):
            # Where no set of an image counts, its weights are 0 whatever they are divided by.
            if out[i] > 0:
                out[i] /= whole[i // classes] * some
    return out
