"""The traits that a sequence, a table, or a sample of values of a loss has, read off its differences."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.arrays import Bools, Values
from setwise.core.structure import Structure
from setwise.core.traits import SHAPES, Trait


def shapes_of_sequence(g: Values) -> frozenset[Trait]:
    """The traits of ``A -> g[|A|]``, from first and second differences; rounding up to 1e-12 of max |g| is ignored."""
    return _shapes(np.diff(g), np.diff(g, 2), 1e-12 * max(1.0, float(np.abs(g).max())))


def shapes_of_table(table: Values) -> frozenset[Trait]:
    """The traits of ``A -> table[fn, fp]`` for a table (P+1, N+1), from all first and second differences; O(P N).

    Two mistakes are two false negatives, two false positives, or one of each, so there are no other differences.
    """
    rise = np.concatenate([np.diff(table, axis=axis).ravel() for axis in (0, 1)])
    mixed = np.diff(np.diff(table, axis=0), axis=1)
    bend = np.concatenate([np.diff(table, 2, axis=0).ravel(), np.diff(table, 2, axis=1).ravel(), mixed.ravel()])
    return _shapes(rise, bend, 1e-9 * max(1.0, float(np.abs(table).max())))


@final
@dataclass(frozen=True)
class Sample:
    """The result of a random search: the traits that no difference violates, and the largest gain of one mistake."""

    unviolated: frozenset[Trait]
    steepest: float


def search_shapes(structure: Structure, rng: np.random.Generator) -> Sample:
    """Search for violations of traits at random pairs of sets A and A + j of mistakes.

    The batch holds one ground truth many times. The marginals at A and at A + j cover all decisions i at once, so each
    row of the batch gives about 2 p first differences and p second differences.
    """
    batch = structure.batch
    less, more = _nested(batch.truth.reshape(len(batch), -1), rng)
    first, second = (structure.marginals(mask.ravel() ^ batch.truth) for mask in (less, more))
    # Second differences exist for the decisions outside A + j.
    out = ~more.ravel()
    gains, bends = np.concatenate((first[~less.ravel()], second[out])), (second - first)[out]
    return Sample(_shapes(gains, bends, 1e-9 * max(1.0, float(np.abs(gains).max()))), float(gains.max()))


def _nested(truth: Bools, rng: np.random.Generator) -> tuple[Bools, Bools]:
    """Random sets A and the same with one decision more; positives and negatives have a random rate each.

    The first A is empty, so that the gains of first mistakes are seen; the second A lacks only two decisions.
    """
    rows, p = truth.shape
    rates = rng.random((rows, 2))
    # Every other set is small, of all orders of magnitude: losses with a cap bend at their first mistakes only.
    rates[::2] = float(p) ** -rates[::2]
    rates[0], rates[min(1, rows - 1)] = 0.0, 1.0
    less = rng.random((rows, p)) < np.where(truth, rates[:, :1], rates[:, 1:])
    # Two decisions stay out of A: one joins it in A + j, and the other one leaves a second difference.
    free = rng.permuted(np.tile(np.arange(p), (rows, 1)), axis=1)[:, :2]
    less[np.arange(rows)[:, None], free] = False
    more = less.copy()
    more[np.arange(rows), free[:, 0]] = True
    return less, more


def _shapes(rise: Values, bend: Values, slack: float) -> frozenset[Trait]:
    """The traits that first differences ``rise`` and second differences ``bend`` leave, up to rounding ``slack``."""
    found = set(SHAPES)
    if (rise < -slack).any():
        found.discard(Trait.INCREASING)
    if (bend > slack).any():
        found -= {Trait.SUBMODULAR, Trait.MODULAR}
    if (bend < -slack).any():
        found -= {Trait.SUPERMODULAR, Trait.MODULAR}
    return frozenset(found)
