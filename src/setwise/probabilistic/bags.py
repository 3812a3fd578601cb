"""Bags of independent decisions, of which a structure allows certain numbers of positives."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checks import Ints, Values
from setwise.core.exceptions import Refusal
from setwise.core.pages import WEAK_LOSSES
from setwise.core.structure import Structure
from setwise.core.terms import Mistakes, RegionCounts


@final
@dataclass(frozen=True, eq=False)
class Bags:
    """The decisions of a batch of which numbers of positives are allowed, and those that are fixed.

    Attributes
    ----------
    fixed : (total,) 1 for decisions that must be positive, and 0
    members : (entries,) the decisions that are not fixed, run by run
    starts : (runs + 1,) the run r has ``members[starts[r]:starts[r + 1]]``
    low, high : (runs,) the least and the largest number of positives
    bags : (runs,) rising, the bag of each run: a bag has a run for each range of numbers that it allows
    sizes : (bags,) the number of decisions of each bag
    owners : (bags,) the set of each bag
    """

    fixed: Values
    members: Ints
    starts: Ints
    low: Ints
    high: Ints
    bags: Ints
    sizes: Ints
    owners: Ints

    @classmethod
    def of(cls, structure: Structure, name: str) -> "Bags":
        """The bags of a structure of the values 0 and -inf, for the object that is called ``name`` in sentences."""
        batch = structure.batch
        if type(batch) is not Sets or batch.totals is not None:
            raise Refusal(
                f"{name} refuses {type(batch).__name__}: it is for sets of independent decisions.", WEAK_LOSSES
            )
        mistakes = [term for term in structure.terms if isinstance(term, Mistakes)]
        regions = [term for term in structure.terms if isinstance(term, RegionCounts)]
        if len(mistakes) + len(regions) < len(structure.terms) or len(regions) > 1:
            raise Refusal(
                f"{name} refuses {structure!r}: these labelings are no ranges of numbers of positives. Use CountRange.",
                WEAK_LOSSES,
            )
        values = np.concatenate([np.zeros(0), *(term.costs for term in mistakes), *(term.tables for term in regions)])
        if ((values != 0.0) & (values != -np.inf)).any():
            raise Refusal(
                f"{name} refuses {structure!r}: it is for values of 0 and -inf, which say what is allowed. Use zero().",
                WEAK_LOSSES,
            )
        held = np.zeros(batch.total, dtype=bool)
        for term in mistakes:
            held |= (term.costs == -np.inf) & (batch.labels >= 0)
        fixed = np.where(held, batch.truth, 0.0)
        region = regions[0] if regions else None
        inside = np.zeros(batch.total, dtype=bool)
        if region is not None:
            inside[region.members] = True
        # Decisions that are neither fixed nor in a region make a bag of each set, of which any number is allowed.
        free = np.flatnonzero(~held & ~inside)
        sizes = np.bincount(batch.owners[free], minlength=len(batch))
        owners = np.flatnonzero(sizes)
        every = free, sizes[owners], np.zeros(len(owners), np.int64), sizes[owners], owners, np.arange(len(owners))
        parts: list[tuple[Ints, ...]] = [every]
        if region is not None:
            parts.append(_runs(region))
        return cls._joined(fixed, parts)

    @classmethod
    def _joined(cls, fixed: Values, parts: list[tuple[Ints, ...]]) -> "Bags":
        """Two lists of runs as one; each has members, their numbers by run, low, high, owners of bags, and bags."""
        members, widths, low, high, owners = (np.concatenate([part[k] for part in parts]) for k in range(5))
        bags = np.concatenate([part[5] + (len(parts[0][4]) if k else 0) for k, part in enumerate(parts)])
        first = np.searchsorted(bags, np.arange(len(owners)))
        starts = np.concatenate(([0], np.cumsum(widths)))
        return cls(fixed, members, starts, low, high, bags, widths[first] if len(widths) else widths, owners)


def _runs(region: RegionCounts) -> tuple[Ints, ...]:
    """The ranges of allowed numbers of each region, as the parts of :meth:`Bags._joined`."""
    allowed, begins = region.tables == 0.0, region.table_starts
    first, last = allowed.copy(), allowed.copy()
    # A range begins where the number before it is not allowed, or is that of another region.
    first[1:] &= ~allowed[:-1] | np.isin(np.arange(1, len(allowed)), begins)
    last[:-1] &= ~allowed[1:] | np.isin(np.arange(1, len(allowed)), begins)
    begin, end = np.flatnonzero(first), np.flatnonzero(last)
    bags = np.searchsorted(begins, begin, side="right") - 1
    widths = np.diff(region.starts)
    places = np.repeat(region.starts[bags] - np.concatenate(([0], np.cumsum(widths[bags])[:-1])), widths[bags])
    members = region.members[places + np.arange(len(places))]
    return members, widths[bags], begin - begins[bags], end - begins[bags], region.owners, bags
