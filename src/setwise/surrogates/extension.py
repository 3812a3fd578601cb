"""Is a surrogate tight? The extension property and the scale that gives it (LH section 3)."""

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.enumerate import subsets, table
from setwise.core.loss import Loss
from setwise.core.sets import Sets
from setwise.core.surrogate import Surrogate


def is_extension(surrogate: Surrogate, y: ArrayLike, tolerance: float = 1e-9) -> bool:
    """Whether the surrogate equals its loss at all ``2^p`` vertices ``u = 1 - s (2y - 1) in {0, 1}^p`` (LH Def. 3).

    ``y`` (p,) in 0/1 with p <= 16, or a whole number p: then every ground truth of that length is tried.
    """
    if isinstance(y, int | np.integer):
        return all(is_extension(surrogate, row, tolerance) for row in subsets(int(y)))
    truth = Sets.single(y).labels
    if len(truth) > 16:
        raise ValueError(f"y must have at most 16 decisions to be enumerated; got {len(truth)}.")
    masks = subsets(len(truth))
    scores = np.where(masks, 0.0, np.where(truth, 1.0, -1.0))
    sets = Sets.rows(np.broadcast_to(truth, masks.shape))
    found = surrogate.batch(sets, scores.ravel())
    expected = table(surrogate.loss, truth)
    return all(np.allclose(seen, expected, atol=tolerance) for seen in (found.values, found.upper))


def margin_scale(loss: Loss, y: ArrayLike) -> float:
    """The largest g for which margin rescaling of ``g * loss`` is an extension (LH Prop. 2); inf if every g will do.

    ``min |I1 - I2| / (l(I1) - l(I2))`` over all ``I1, I2`` with ``l(I1) > l(I2)``, the empty set included: at its
    vertex too no labeling may win. O(4^p), p <= 12. 0 where no g will do: the loss then is not increasing.
    """
    values = table(loss, y)
    p = int(np.log2(len(values)))
    if p > 12:
        raise ValueError(f"y must have at most 12 decisions to be enumerated; got {p}.")
    sets = np.arange(len(values))
    best = np.inf
    for vertex in sets:
        rise = values - values[vertex]
        extra = np.bitwise_count(sets & ~vertex)
        up = rise > 1e-12
        if up.any():
            best = min(best, float(np.min(extra[up] / rise[up])))
    return best
