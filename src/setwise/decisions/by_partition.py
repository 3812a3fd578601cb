"""The best map of a few pixels, by all divisions of its pixels among the classes."""

import numpy as np

from setwise.core.checks import Ints, Values
from setwise.decisions.rule import Rule
from setwise.kernels.pixels import divide

FEW = 10
"""Maps of at most so many pixels are decided by all 3^p pairs of a set of pixels and a part of it, for each class."""


def best_partition(columns: Values, chosen: Ints, rule: Rule, partial: bool) -> tuple[Ints, float]:
    """The labels (p,) of least mean loss of the ``chosen`` classes, and this loss; O(3^p) for each of the classes.

    Parameters
    ----------
    columns : (classes, p) the probabilities of the chosen classes
    chosen : (classes,) their numbers
    rule : what evaluates the masks
    partial : whether pixels may be left to other classes, as -1
    """
    p = columns.shape[1]
    masks = (np.arange(1 << p)[:, None] >> np.arange(p)) & 1 == 1
    values = np.stack([rule.expect(np.broadcast_to(q, masks.shape).copy(), masks) for q in columns])
    totals, taken = values[0].copy(), np.empty(values.shape, dtype=np.int64)
    taken[0] = np.arange(1 << p)
    for c in range(1, len(chosen)):
        totals = divide(totals, values[c], taken[c])
    left = int(totals.argmin()) if partial else len(masks) - 1
    value, labels = float(totals[left]) / len(chosen), np.full(p, -1)
    for c in range(len(chosen) - 1, -1, -1):
        labels[masks[taken[c, left]]] = chosen[c]
        left ^= int(taken[c, left])
    return labels, value
