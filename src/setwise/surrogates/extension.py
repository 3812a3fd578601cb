"""Is a surrogate tight? The extension property and the scale that gives it (LH section 3)."""

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.enumerate import subsets, table
from setwise.core.loss import Loss
from setwise.core.ranking import RankLoss
from setwise.core.refusal import Refusal
from setwise.core.sets import Sets
from setwise.core.surrogate import Surrogate


def is_extension(surrogate: Surrogate, y: ArrayLike, tolerance: float = 1e-9) -> bool:
    """Whether the surrogate equals its loss at all ``2^p`` vertices ``u = 1 - s (2y - 1) in {0, 1}^p`` (LH Def. 3).

    ``y`` (p,) in 0/1 with p <= 16, or a whole number p: then every ground truth of that length is tried.
    """
    if isinstance(surrogate.loss, RankLoss):
        raise Refusal(f"is_extension refuses {surrogate.loss!r}: it judges a ranking, not a set of mistakes.")
    if isinstance(y, int | np.integer):
        if not 1 <= y <= 16:
            raise ValueError(f"y must be 1 to 16 decisions to be enumerated; got {y}.")
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
    vertex too no labeling may win. For an increasing loss that is 1 / (the largest gain of one mistake), for others 0:
    no g will do. O(2^p p), p <= 16.
    """
    if isinstance(loss, RankLoss):
        raise Refusal(f"margin_scale refuses {loss!r}: it judges a ranking, not a set of mistakes.")
    truth = Sets.single(y).labels
    if len(truth) > 16:
        raise ValueError(f"y must have at most 16 decisions to be enumerated; got {len(truth)}.")
    masks = subsets(len(truth))
    sets = Sets.rows(np.broadcast_to(truth, masks.shape))
    loss.check(sets)
    gains = loss.marginals(sets, masks.ravel())
    if gains.min() < -1e-12 * np.abs(gains).max():
        return 0.0
    return float(1.0 / gains.max()) if gains.max() > 0 else np.inf
