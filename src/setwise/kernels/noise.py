"""Noise as a function of its place: numbers that depend on (seed, set, sample, node) alone, logistic or Gaussian.

Bits are those of SplitMix64 (Steele, Lea and Flood 2014): a mixed counter, so any number can be had without the others.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import bare, kernel

Array = NDArray[Any]

LOGISTIC, GAUSSIAN = 0, 1
"""Kinds of noise: the logistic distribution, whose variance is pi^2 / 3, and the standard normal one."""

GAMMA, FIRST, SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
ONE, SHIFTS = np.uint64(1), (np.uint64(30), np.uint64(27), np.uint64(31))
TWO_PI = 2.0 * np.pi


@bare
def mix(bits: Any) -> Any:
    """The finalizer of SplitMix64, a bijection of 64 bits."""
    bits = (bits ^ (bits >> SHIFTS[0])) * FIRST
    bits = (bits ^ (bits >> SHIFTS[1])) * SECOND
    return bits ^ (bits >> SHIFTS[2])


@bare
def stream(seed: Any, unit: Any, sample: Any) -> Any:
    """Where the counter of a sample of a set begins."""
    key = mix(np.uint64(seed) + GAMMA)
    key = mix(key ^ mix(np.uint64(unit) * GAMMA + FIRST))
    return mix(key ^ mix(np.uint64(sample) * GAMMA + SECOND))


@bare
def uniform(key: Any, i: Any) -> float:
    """The i-th number of a stream, uniform in (0, 1): an odd multiple of 2^-54, so neither end occurs."""
    bits = mix(key + (np.uint64(i) + ONE) * GAMMA) >> np.uint64(11)
    return (np.float64(bits) + 0.5) * 2.0**-53


@bare
def draw(kind: int, key: Any, out: Array) -> None:
    """Writes the noise of the nodes of a stream, (p,)."""
    if kind == LOGISTIC:
        for i in range(len(out)):
            u = uniform(key, i)
            out[i] = np.log(u / (1.0 - u))
        return
    # Two numbers of Box and Muller (1958) from two uniform ones.
    for i in range(0, len(out), 2):
        radius, angle = np.sqrt(-2.0 * np.log(uniform(key, i))), TWO_PI * uniform(key, i + 1)
        out[i] = radius * np.cos(angle)
        if i + 1 < len(out):
            out[i + 1] = radius * np.sin(angle)


@kernel
def draws(kind: int, seed: Any, unit: Any, first: int, out: Array) -> None:
    """Writes the noise of the samples ``first``, ``first + 1``, .. of a set into the rows of ``out``, (samples, p)."""
    for k in range(len(out)):
        draw(kind, stream(seed, unit, first + k), out[k])
