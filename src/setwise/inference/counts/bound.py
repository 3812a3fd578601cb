"""What a search over counts knows before it sees any scores."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.arrays import Bools, Floats, Ints, Values
from setwise.core.counts import Counts
from setwise.core.sets import Sets
from setwise.core.traits import Trait
from setwise.inference.counts.ranked_margins import RankedMargins
from setwise.kernels.quotients import gain_caps

SMALL_TABLE = 512
"""Tables of so many cells are looked at whole, Monge or not."""

CHECKED_TABLE = 1 << 22
"""Larger tables count as Monge only where the loss promises it."""


@final
@dataclass(frozen=True, eq=False)
class BoundCounts:
    """A function of counts bound to its sets, with the margins that are in question for each class.

    Best labelings of an increasing loss make a mistake of every decision with a margin <= ``floor``, for it costs
    nothing, and of none with a margin at or above its cap, for no gain can pay it. Only the others are sorted.

    Parameters
    ----------
    sets, counts : the sets and the function
    floor : -inf where every decision is in question
    caps : (2n,) for the positives and negatives of each set
    quotient : top and bottom (n, 3) and the value (n,) of no mistake; None where the function is no such quotient
    monge : (n,) whether the best number of false alarms never rises with that of misses
    """

    sets: Sets
    counts: Counts
    floor: float
    caps: Values
    quotient: tuple[Values, Values, Values] | None
    monge: Bools

    @classmethod
    def of(cls, sets: Sets, counts: Counts, slack: bool) -> "BoundCounts":
        """All of it, from the promises of the function, or from its tables where these are small."""
        quotient = None
        if counts.quotient is not None and not slack:
            quotient = (*counts.quotient, counts.origin)
        floor, caps = _range(counts, quotient, slack)
        searched = quotient is None and counts.predicted is None and not slack
        monge = monge_sets(counts) if searched else np.zeros(len(sets), dtype=bool)
        return cls(sets, counts, floor, caps, quotient, monge)

    def take(self, sets: Sets, counts: Counts, parts: Ints) -> "BoundCounts":
        """The same for the chosen ``parts``, whose ``sets`` and ``counts`` were taken already."""
        quotient = None if self.quotient is None else tuple(part[parts] for part in self.quotient)
        caps = self.caps.reshape(-1, 2)[parts].ravel()
        return BoundCounts(sets, counts, self.floor, caps, quotient, self.monge[parts])  # type: ignore[arg-type]

    def rank(self, scores: Floats) -> RankedMargins:
        """Sort the margins that are in question."""
        return RankedMargins.of(self.sets, scores, self.floor, self.caps)


def _range(counts: Counts, quotient: tuple[Values, Values, Values] | None, slack: bool) -> tuple[float, Values]:
    """Floor and caps (2n,) of the margins in question."""
    free = np.full(2 * len(counts.P), np.inf)
    if Trait.INCREASING not in counts.traits or counts.predicted is not None:
        return -np.inf, free
    if slack:
        return 0.0, free
    whole = np.repeat(counts.of(counts.P, counts.N) - counts.origin, 2)
    return 0.0, whole if quotient is None else np.minimum(whole, gain_caps(*quotient[:2], counts.P, counts.N))


def monge_sets(counts: Counts) -> Bools:
    """Which sets have a Monge table, (n,): ``f(fn+1, fp+1) - f(fn+1, fp) - f(fn, fp+1) + f(fn, fp) <= 0`` everywhere.

    The function is taken at its word where it gives one. Otherwise all mixed differences are looked at, once for each
    pair of sizes, in tables of up to 4 million cells; small tables need not be known.
    """
    if counts.monge is not None:
        return np.full(len(counts.P), counts.monge)
    cells = (counts.P + 1) * (counts.N + 1)
    out = np.zeros(len(cells), dtype=bool)
    asked = np.flatnonzero((cells > SMALL_TABLE) & (cells <= CHECKED_TABLE))
    # What a table holds depends on the sizes alone, unless costs of single mistakes were added.
    keys = np.stack([counts.P, counts.N])[:, asked]
    _, first, which = np.unique(keys, axis=1, return_index=True, return_inverse=True)
    out[asked] = np.array([_is_monge(counts, int(asked[i])) for i in first], dtype=bool)[which.ravel()]
    return out


def _is_monge(counts: Counts, i: int) -> bool:
    fn, fp = np.arange(counts.P[i] + 1.0)[:, None], np.arange(counts.N[i] + 1.0)
    table = np.broadcast_to(counts.of(fn, fp, i), (fn.size, fp.size))
    with np.errstate(invalid="ignore"):
        mixed = np.diff(np.diff(table, axis=0), axis=1)
        return bool((mixed <= 8 * np.finfo(float).eps * np.abs(table).max()).all())
