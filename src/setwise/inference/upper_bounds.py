"""Honest upper bounds for maximizations that are too hard to solve."""

import numpy as np

from setwise.core.arrays import Bools, Values
from setwise.core.sets import Orders, Sets
from setwise.core.structure import Structure
from setwise.core.traits import Trait
from setwise.kernels.segments import segment_sums


def upper_bounds(structure: Structure, margins: Values, slack: bool, mistakes: Bools) -> Values:
    """Numbers above ``max_A l(A) - m(A)`` or ``max_A l(A) (1 - m(A))``, (n,); inf where nothing is promised.

    Margin: ``l(A) <= h(A)`` for modular h, and ``max_A h(A) - m(A)`` splits. Increasing losses give the constant
    ``h = l(V)``; submodular ones also the two supergradients at the empty, the full and the given set:
    ``h(A) = l(X) - sum_(j in X - A) l(j | V - j) + sum_(j in A - X) l(j | X)`` and
    ``h(A) = l(X) - sum_(j in X - A) l(j | X - j) + sum_(j in A - X) l(j | none)`` (Nemhauser, Wolsey, Fisher 1978).

    Slack: ``x y <= ((t x + y / t) / 2)^2`` for x, y >= 0 and any t > 0, and ``t^2 l(A) - m(A)`` is a margin problem,
    bounded as above; the best of a few t counts.
    """
    offsets = structure.batch.offsets
    known = structure.traits & {Trait.INCREASING, Trait.SUBMODULAR}
    if not known:
        return np.full(len(structure.batch), np.inf)
    caps = _modular_caps(structure, mistakes)
    if not slack:
        return np.asarray(np.min([_split(base, gain, margins, structure, 1.0) for base, gain in caps], axis=0))
    base, gain = caps[0]
    scale = base + segment_sums(np.maximum(gain, 0.0), offsets)
    room = 1.0 + segment_sums(np.maximum(-margins, 0.0), offsets)
    middle = room / np.where(scale > 0, scale, 1.0)
    best = scale * room
    for ratio in np.geomspace(1 / 64, 64, 25):
        weight = middle * ratio
        peak = np.min([_split(base, gain, margins, structure, weight) for base, gain in caps], axis=0)
        with np.errstate(over="ignore"):
            best = np.minimum(best, np.maximum(peak + 1.0, 0.0) ** 2 / (4.0 * weight))
    return np.maximum(best, structure.at_empty())


def _split(base: Values, gain: Values, margins: Values, structure: Structure, weight: Values | float) -> Values:
    """``max_A weight (base + gain(A)) - m(A)``, (n,)."""
    each = gain * (weight if np.ndim(weight) == 0 else np.asarray(weight)[structure.batch.owners])
    return weight * base + segment_sums(np.maximum(each - margins, 0.0), structure.batch.offsets)


def _modular_caps(structure: Structure, mistakes: Bools) -> list[tuple[Values, Values]]:
    """Pairs (base (n,), gain (total,)) with ``l(A) <= base + gain(A)`` for all A."""
    sets = structure.batch
    assert isinstance(sets, Sets)
    truth, everything = sets.truth, np.ones(sets.total, dtype=bool)
    caps = []
    if Trait.INCREASING in structure.traits:
        caps.append((structure.values(everything ^ truth), np.zeros(sets.total)))
    if Trait.SUBMODULAR in structure.traits:
        alone = structure.marginals(truth)
        last = _last_gains(structure, everything)
        for at in (~everything, everything, mistakes):
            value, more = structure.values(at ^ truth), structure.marginals(at ^ truth)
            caps.append(_cap(value, np.where(at, last, more), at, sets))
            less = _last_gains(structure, at) if at is mistakes else np.where(at, last, 0.0)
            caps.append(_cap(value, np.where(at, less, alone), at, sets))
    return caps


def _cap(value: Values, gain: Values, at: Bools, sets: Sets) -> tuple[Values, Values]:
    """``value - sum_(j in at - A) gain_j + sum_(j in A - at) gain_j`` as base plus gain(A)."""
    return value - segment_sums(np.where(at, gain, 0.0), sets.offsets), gain


def _last_gains(structure: Structure, at: Bools) -> Values:
    """``l(at) - l(at - j)`` for j in ``at``, else 0, (total,): the gain of j as the last to enter."""
    sets = structure.batch
    assert isinstance(sets, Sets)
    out = np.zeros(sets.total)
    full = structure.values(at ^ sets.truth)
    members = Orders.of_mistakes(sets, at)
    for place in range(int(members.sizes.max(initial=0))):
        has = np.flatnonzero(members.sizes > place)
        items = members.items[members.offsets[has] + place]
        without = at.copy()
        without[items] = False
        out[items] = (full - structure.values(without ^ sets.truth))[has]
    return out
