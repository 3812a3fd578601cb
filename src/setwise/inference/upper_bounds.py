"""Honest upper bounds for maximizations that are too hard to solve."""

import numpy as np

from setwise.core.inference import Problem
from setwise.core.loss import Values
from setwise.core.sets import Bools, Orders, Sets
from setwise.core.traits import Trait
from setwise.kernels.segments import segment_sums


def upper_bounds(problem: Problem, mistakes: Bools) -> Values:
    """Numbers that no labeling exceeds, (n,); inf where the loss promises nothing that could bound it.

    Margin: ``l(A) <= h(A)`` for modular h, and ``max_A h(A) - m(A)`` splits. Increasing losses give the constant
    ``h = l(V)``; submodular ones also the two supergradients at the empty, the full and the given set:
    ``h(A) = l(X) - sum_(j in X - A) l(j | V - j) + sum_(j in A - X) l(j | X)`` and
    ``h(A) = l(X) - sum_(j in X - A) l(j | X - j) + sum_(j in A - X) l(j | none)`` (Nemhauser, Wolsey, Fisher 1978).

    Slack: ``x y <= ((t x + y / t) / 2)^2`` for x, y >= 0 and any t > 0, and ``t^2 l(A) - m(A)`` is a margin problem,
    bounded as above; the best of a few t counts.
    """
    known = problem.loss.traits & {Trait.INCREASING, Trait.SUBMODULAR}
    if not known:
        return np.full(len(problem.sets), np.inf)
    caps = _modular_caps(problem, mistakes)
    if not problem.slack:
        return np.min([_split(base, gain, problem, 1.0) for base, gain in caps], axis=0)
    base, gain = caps[0]
    scale = base + segment_sums(np.maximum(gain, 0.0), problem.sets.offsets)
    room = 1.0 + segment_sums(np.maximum(-problem.margins, 0.0), problem.sets.offsets)
    middle = room / np.where(scale > 0, scale, 1.0)
    best = scale * room
    for ratio in np.geomspace(1 / 64, 64, 25):
        weight = middle * ratio
        peak = np.min([_split(base, gain, problem, weight) for base, gain in caps], axis=0)
        with np.errstate(over="ignore"):
            best = np.minimum(best, np.maximum(peak + 1.0, 0.0) ** 2 / (4.0 * weight))
    return np.maximum(best, problem.loss.at_none(problem.sets))


def _split(base: Values, gain: Values, problem: Problem, weight: Values | float) -> Values:
    """``max_A weight (base + gain(A)) - m(A)``, (n,)."""
    each = gain * (weight if np.ndim(weight) == 0 else np.asarray(weight)[problem.sets.owners])
    return weight * base + segment_sums(np.maximum(each - problem.margins, 0.0), problem.sets.offsets)


def _modular_caps(problem: Problem, mistakes: Bools) -> list[tuple[Values, Values]]:
    """Pairs (base (n,), gain (total,)) with ``l(A) <= base + gain(A)`` for all A."""
    loss, sets = problem.loss, problem.sets
    everything = np.ones(sets.total, dtype=bool)
    caps = []
    if Trait.INCREASING in loss.traits:
        caps.append((loss.values(sets, everything), np.zeros(sets.total)))
    if Trait.SUBMODULAR in loss.traits:
        alone = loss.marginals(sets, ~everything)
        last = _last_gains(problem, everything)
        for at in (~everything, everything, mistakes):
            value, more = loss.values(sets, at), loss.marginals(sets, at)
            caps.append(_cap(value, np.where(at, last, more), at, sets))
            less = _last_gains(problem, at) if at is mistakes else np.where(at, last, 0.0)
            caps.append(_cap(value, np.where(at, less, alone), at, sets))
    return caps


def _cap(value: Values, gain: Values, at: Bools, sets: Sets) -> tuple[Values, Values]:
    """``value - sum_(j in at - A) gain_j + sum_(j in A - at) gain_j`` as base plus gain(A)."""
    return value - segment_sums(np.where(at, gain, 0.0), sets.offsets), gain


def _last_gains(problem: Problem, at: Bools) -> Values:
    """``l(at) - l(at - j)`` for j in ``at``, else 0, (total,): the gain of j as the last to enter."""
    loss, sets = problem.loss, problem.sets
    out = np.zeros(sets.total)
    full = loss.values(sets, at)
    members = Orders.of_mistakes(sets, at)
    for place in range(int(members.sizes.max(initial=0))):
        has = np.flatnonzero(members.sizes > place)
        items = members.items[members.offsets[has] + place]
        without = at.copy()
        without[items] = False
        out[items] = (full - loss.values(sets, without))[has]
    return out
