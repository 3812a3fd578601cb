"""The noise of perturbed models, and the numbers that it is a function of."""

from typing import Literal

import numpy as np

from setwise.core.checks import Values, as_choice, as_random_state
from setwise.kernels.sampling import GAUSSIAN, LOGISTIC, draws

Noise = Literal["logistic", "gaussian"]
KINDS = {"logistic": LOGISTIC, "gaussian": GAUSSIAN}


def kind_of(noise: str) -> int:
    """The number of a kind of noise, checked."""
    return KINDS[as_choice(noise, "noise", KINDS)]


def seed_of(random_state: int | np.random.Generator | None, name: str = "random_state") -> np.uint64:
    """The number that all noise is a function of, from an int, a generator or None."""
    given = as_random_state(random_state, name)
    if isinstance(given, int) and given < 2**64:
        return np.uint64(given)
    return np.uint64(np.random.default_rng(given).integers(2**63))


def noise_of(kind: int, seed: np.uint64, unit: int, first: int, count: int, p: int, paired: bool) -> Values:
    """The noise of samples ``first``, ``first + 1``, .. of a set, (count, p); odd ones of pairs have the other sign."""
    if not paired:
        out = np.empty((count, p))
        draws(kind, seed, unit, first, out)
        return out
    start = first // 2
    base = np.empty(((first + count + 1) // 2 - start, p))
    draws(kind, seed, unit, start, base)
    both = np.stack([base, -base], axis=1).reshape(-1, p)
    return both[first - 2 * start :][:count]
