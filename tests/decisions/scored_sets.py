"""Random and nasty sets with scores, and their best thresholds by enumeration."""

from functools import cache

import numpy as np
from scipy.stats import binom

from setwise.core.batch import Sets
from setwise.decisions.fixed_sequence import starts

KINDS = ("normal", "zero", "ties", "two values", "huge", "tiny", "neighbors", "signed zeros", "sorted")


def scores(rng, total, kind, dtype):
    values = {
        "normal": lambda: rng.standard_normal(total),
        "zero": lambda: np.zeros(total),
        "ties": lambda: rng.integers(-2, 3, total) * 0.5,
        "two values": lambda: rng.integers(0, 2, total) * 1.0,
        "huge": lambda: rng.choice([-3e38, 3e38, 2e38, 1.0], total) / total,
        "tiny": lambda: rng.integers(-3, 4, total) * float(np.finfo(dtype).smallest_subnormal),
        "neighbors": lambda: 1.0 + rng.integers(0, 4, total) * float(np.finfo(dtype).eps),
        "signed zeros": lambda: rng.choice([-0.0, 0.0, 1.0], total),
        "sorted": lambda: -np.arange(float(total)),
    }[kind]()
    return values.astype(dtype)


def ragged(rng, unknown=False):
    """A batch of one to four sets of one to ten decisions, with scores."""
    sizes = rng.integers(1, 11, rng.integers(1, 5))
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    labels = rng.random(offsets[-1]) < rng.choice([0.0, 0.2, 0.5, 1.0])
    if unknown:
        labels = np.where(rng.random(len(labels)) < 0.4, -1, labels).astype(np.int8)
    kind, dtype = rng.choice(KINDS), rng.choice(["f4", "f8"])
    return Sets(labels, offsets), scores(rng, len(labels), kind, dtype)


def cut_points(scores):
    """Thresholds, one for each labeling that a threshold can make: inf, every distinct score but the least, -inf."""
    return np.concatenate([[np.inf], np.unique(scores)[:0:-1].astype(float), [-np.inf]])


def losses_at(loss, sets, scores, thresholds):
    """The mean loss at each threshold, by the values of its labeling."""
    bound_loss = loss.bind(sets)
    return np.array([bound_loss.values(scores >= t).mean() for t in thresholds])


def first_right(whole, least, level):
    """The first number of right ones, of so many, that is too large for a share below ``least``; one more if none."""
    return next((r for r, tail in enumerate(_tails(whole, least)) if tail <= level + 1e-12), whole + 1)


@cache
def _tails(whole, least):
    """The probabilities that a binomial number is at least 0, 1, .., ``whole``."""
    return binom.sf(np.arange(-1, whole), whole, least).tolist()


def walked(y, s, least, level):
    """The numbers predicted at the cuts that the walks of the guide pass, one cut after the other."""
    m = len(y)
    y = y[np.argsort(-s, kind="stable")]
    s = -np.sort(-s)
    ends = [k for k in range(1, m + 1) if k == m or s[k] != s[k - 1]]
    ranks, brought = starts(m, least, level)
    found, left = set(), 0.0
    for start, stop, more in zip(ranks, [*ranks[1:], m + 1], brought, strict=True):
        left += more
        cuts = [k for k in ends if start <= k < stop]
        need = [first_right(k, least, left) for k in cuts]
        kept = [i for i in range(len(cuts)) if i in (0, len(cuts) - 1) or need[i] != need[i + 1]]
        for i in kept:
            if y[: cuts[i]].sum() < need[i]:
                left = 0.0
                break
            found.add(cuts[i])
    return found
