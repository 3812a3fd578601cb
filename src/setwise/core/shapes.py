"""Shapes read off numbers: which traits a sequence, a table, or a sample of losses has."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.arrays import Bools, Values
from setwise.core.structure import Structure
from setwise.core.traits import SHAPES, Trait


def shapes_of_sequence(g: Values) -> frozenset[Trait]:
    """Traits of ``|A| -> g``, from its first and second differences; rounding of 1e-12 of the range is forgiven."""
    return _shapes(np.diff(g), np.diff(g, 2), 1e-12 * max(1.0, float(np.abs(g).max())))


def shapes_of_table(table: Values) -> frozenset[Trait]:
    """Traits of ``A -> table[fn, fp]`` for a table (P+1, N+1), from all its first and second differences; O(P N).

    Two mistakes are two misses, two false alarms, or one of each, so these differences are all there are.
    """
    rise = np.concatenate([np.diff(table, axis=axis).ravel() for axis in (0, 1)])
    mixed = np.diff(np.diff(table, axis=0), axis=1)
    bend = np.concatenate([np.diff(table, 2, axis=0).ravel(), np.diff(table, 2, axis=1).ravel(), mixed.ravel()])
    return _shapes(rise, bend, 1e-9 * max(1.0, float(np.abs(table).max())))


@final
@dataclass(frozen=True)
class Sample:
    """What a random search found: the traits that nothing violates, and the largest gain of one mistake."""

    unviolated: frozenset[Trait]
    steepest: float


def search_shapes(structure: Structure, rng: np.random.Generator) -> Sample:
    """Look for violations of traits at random nested sets of mistakes; the batch holds one ground truth many times.

    Marginals at A and at A + j tell of all decisions i at once, so each row of the batch gives 2 p differences.
    """
    batch = structure.batch
    less, more = _nested(batch.truth.reshape(len(batch), -1), rng)
    first, second = (structure.marginals(mask.ravel() ^ batch.truth) for mask in (less, more))
    out = ~more.ravel()
    gains, bends = np.concatenate((first[~less.ravel()], second[out])), (second - first)[out]
    return Sample(_shapes(gains, bends, 1e-9 * max(1.0, float(np.abs(gains).max()))), float(gains.max()))


def _nested(truth: Bools, rng: np.random.Generator) -> tuple[Bools, Bools]:
    """Random sets A, positives and negatives drawn at rates of their own, and each with one decision more.

    The first A is empty, so that the gains of first mistakes are among those seen; the second lacks two decisions only.
    """
    rows, p = truth.shape
    rates = rng.random((rows, 2))
    # Every other set is small, of all orders of magnitude: losses with a cap bend at their first mistakes only.
    rates[::2] = float(p) ** -rates[::2]
    rates[0], rates[min(1, rows - 1)] = 0.0, 1.0
    less = rng.random((rows, p)) < np.where(truth, rates[:, :1], rates[:, 1:])
    free = rng.permuted(np.tile(np.arange(p), (rows, 1)), axis=1)[:, :2]
    less[np.arange(rows)[:, None], free] = False
    more = less.copy()
    more[np.arange(rows), free[:, 0]] = True
    return less, more


def _shapes(rise: Values, bend: Values, slack: float) -> frozenset[Trait]:
    found = set(SHAPES)
    if (rise < -slack).any():
        found.discard(Trait.INCREASING)
    if (bend > slack).any():
        found -= {Trait.SUBMODULAR, Trait.MODULAR}
    if (bend < -slack).any():
        found -= {Trait.SUPERMODULAR, Trait.MODULAR}
    return frozenset(found)
