"""Random and nasty sets with scores, and their best thresholds by enumeration."""

import numpy as np

from setwise.core.sets import Sets

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
    structure = loss.structure(sets)
    return np.array([structure.values(scores >= t).mean() for t in thresholds])
