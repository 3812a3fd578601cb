"""Every loss of the registry, and batches that it takes."""

import dataclasses

import numpy as np

from cases import composites
from setwise.core.batch import Sets
from setwise.core.loss import Loss
from setwise.losses import LOSSES, Cardinality

MAKERS = {name: kind.examples for name, kind in LOSSES.items()} | {"composites": composites}


OF_LABELS = sorted(name for name, make in MAKERS.items() if all(loss.reads == "labels" for loss in make(3)))


def ragged(sizes, rng, ratio):
    """Sets of the given sizes with labels at the given ratio."""
    offsets = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
    return Sets(rng.random(offsets[-1]) < ratio, offsets)


def batches(loss, p, rng):
    """Ragged batches where the loss takes sets of any size of at least p, else batches of sets of p."""
    sizes = [p] * 4 if places(loss) is not None else [p, p + 3, p, p + 1]
    for ratio in (0.0, 0.4, 1.0):
        yield ragged(sizes, rng, ratio)


def places(loss):
    """The number of decisions that the parameters of a loss fix, None where they fix none."""
    inner = loss.parts if hasattr(loss, "parts") else [(1.0, getattr(loss, f.name)) for f in dataclasses.fields(loss)]
    for _, value in inner:
        if isinstance(value, Loss) and places(value) is not None:
            return places(value)
        if isinstance(value, np.ndarray):
            return len(value) - (type(loss) is Cardinality)
    return None
