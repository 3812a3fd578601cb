"""What a search over counts prepares once for its sets, before it gets scores."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checks import Bools, Floats, Ints, Values
from setwise.core.counts import Counts
from setwise.core.terms import Trait
from setwise.inference.counts.ranked_margins import RankedMargins
from setwise.kernels.counts import gain_caps

SMALL_TABLE = 512
"""Tables of up to this number of cells are scanned, Monge or not."""

CHECKED_TABLE = 1 << 22
"""A table with more cells than this counts as Monge only where the loss promises it."""


@final
@dataclass(frozen=True, eq=False)
class BoundCounts:
    """A function of counts bound to its sets, with the range of the margins that have to be ranked.

    For an increasing loss some best labeling makes a mistake of every decision with a margin <= ``floor``, for it costs
    no score, and of none with a margin at or above its cap, for no gain can pay for it. Only the others are ranked.

    Parameters
    ----------
    sets, counts : the sets and the function
    floor : margins up to this one are not ranked; -inf where all are
    caps : (2n,) the least margins that are not ranked, for the positives and the negatives of each set; inf where all
    are
    quotient : coefficients (n, 3) of numerator and denominator and the value (n,) without mistakes; None where the
        function is no quotient of linear functions
    monge : (n,) whether the best number of false positives never rises with that of false negatives
    """

    sets: Sets
    counts: Counts
    floor: float
    caps: Values
    quotient: tuple[Values, Values, Values] | None
    monge: Bools

    @classmethod
    def of(cls, sets: Sets, counts: Counts, slack: bool) -> "BoundCounts":
        """Binds a function, with what it promises or what its tables show where they are small enough."""
        quotient = None
        if counts.quotient is not None and not slack:
            quotient = (*counts.quotient, counts.origin)
        floor, caps = _range(counts, quotient, slack)
        # Only a search over tables asks for the Monge property, and to check it takes time.
        searched = quotient is None and counts.predicted is None and not slack
        monge = monge_sets(counts) if searched else np.zeros(len(sets), dtype=bool)
        return cls(sets, counts, floor, caps, quotient, monge)

    def take(self, sets: Sets, counts: Counts, parts: Ints) -> "BoundCounts":
        """Returns the same for the chosen ``parts``, whose ``sets`` and ``counts`` were taken already."""
        quotient = None if self.quotient is None else tuple(part[parts] for part in self.quotient)
        caps = self.caps.reshape(-1, 2)[parts].ravel()
        return BoundCounts(sets, counts, self.floor, caps, quotient, self.monge[parts])  # type: ignore[arg-type]

    def rank(self, scores: Floats) -> RankedMargins:
        """Ranks the margins of these scores that lie between floor and caps."""
        return RankedMargins.of(self.sets, scores, self.floor, self.caps)


def _range(counts: Counts, quotient: tuple[Values, Values, Values] | None, slack: bool) -> tuple[float, Values]:
    """Returns the floor and the caps (2n,) of the margins that are ranked."""
    no_caps = np.full(2 * len(counts.P), np.inf)
    if Trait.INCREASING not in counts.traits or counts.predicted is not None:
        return -np.inf, no_caps
    # Under slack rescaling the loss multiplies the score, so a margin above every gain may still be paid.
    if slack:
        return 0.0, no_caps
    # No mistake of an increasing loss gains more than the whole loss.
    most = np.repeat(counts.of(counts.P, counts.N) - counts.origin, 2)
    return 0.0, most if quotient is None else np.minimum(most, gain_caps(*quotient[:2], counts.P, counts.N))


def monge_sets(counts: Counts) -> Bools:
    """Returns which sets have Monge tables, (n,): ``f(fn+1, fp+1) - f(fn+1, fp) - f(fn, fp+1) + f(fn, fp) <= 0``.

    What the function promises is taken as true. Where it promises nothing, all mixed differences are computed, once for
    each pair of sizes, in tables of up to 4 million cells. Small tables count as not Monge, for they are scanned
    anyway; so do larger ones, which would take long to check.
    """
    if counts.monge is not None:
        return np.full(len(counts.P), counts.monge)
    cells = (counts.P + 1) * (counts.N + 1)
    out = np.zeros(len(cells), dtype=bool)
    checked = np.flatnonzero((cells > SMALL_TABLE) & (cells <= CHECKED_TABLE))
    # Sets of equal size have equal tables, so one table of each size is checked.
    sizes = np.stack([counts.P, counts.N])[:, checked]
    _, first, which = np.unique(sizes, axis=1, return_index=True, return_inverse=True)
    out[checked] = np.array([_is_monge(counts, int(checked[i])) for i in first], dtype=bool)[which.ravel()]
    return out


def _is_monge(counts: Counts, i: int) -> bool:
    """Returns whether no mixed difference of the table of set i is positive, up to rounding."""
    fn, fp = np.arange(counts.P[i] + 1.0)[:, None], np.arange(counts.N[i] + 1.0)
    table = np.broadcast_to(counts.of(fn, fp, i), (fn.size, fp.size))
    with np.errstate(invalid="ignore"):
        mixed = np.diff(np.diff(table, axis=0), axis=1)
        return bool((mixed <= 8 * np.finfo(float).eps * np.abs(table).max()).all())
