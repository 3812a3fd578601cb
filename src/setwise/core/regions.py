"""The term of functions of the number of positive labels in each of several regions, such as boxes in images."""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Ints, Values
from setwise.core.batch import Batch, segments
from setwise.core.terms import Term
from setwise.core.traits import Trait
from setwise.kernels.segments import chosen_offsets, count_true


@final
@dataclass(frozen=True, eq=False)
class RegionCounts(Term):
    """``sum_b f_b(number of the decisions of region b that have label 1)`` over the regions of each set.

    Regions share no decisions. A value -inf of ``f_b`` forbids that number.

    Parameters
    ----------
    members : (entries,) int64, the decisions of all regions, region by region, and those in the order of the sets
    starts : (B + 1,) int64; region b holds ``members[starts[b]:starts[b+1]]``, n_b of them, perhaps none
    owners : (B,) int64, rising: the set of each region
    tables : (entries + B,) the values of ``f_b`` at 0..n_b, region by region
    """

    members: Ints
    starts: Ints
    owners: Ints
    tables: Values

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset()

    @property
    def table_starts(self) -> Ints:
        """Where the table of each region begins, (B + 1,)."""
        return self.starts + np.arange(len(self.starts))

    def check(self, batch: Batch) -> None:
        entries, regions = len(self.members), len(self.owners)
        if self.starts.shape != (regions + 1,) or self.starts[0] != 0 or self.starts[-1] != entries:
            raise ValueError(f"starts must rise from 0 to {entries}, one for each of {regions} regions and one more.")
        if (np.diff(self.starts) < 0).any() or (np.diff(self.owners) < 0).any():
            raise ValueError("starts and owners must not fall.")
        if self.tables.shape != (entries + regions,) or not (self.tables < np.inf).all():
            raise ValueError(f"tables must hold {entries + regions} numbers below inf; got shape {self.tables.shape}.")
        if len(np.unique(self.members)) < entries:
            raise ValueError("members must be different decisions: regions share none.")
        if entries and (self.members.min() < 0 or self.members.max() >= batch.total):
            raise ValueError(f"members must be decisions 0..{batch.total - 1}.")
        if (batch.owners[self.members] != np.repeat(self.owners, np.diff(self.starts))).any():
            raise ValueError("members must be of the set that owns their region.")

    def counts(self, labels: NDArray[Any]) -> Ints:
        """The number of members of each region that have label 1, (B,)."""
        return count_true(np.asarray(labels == 1)[self.members], self.starts)

    def values(self, batch: Batch, labels: NDArray[Any]) -> Values:
        found = np.zeros(len(batch))
        np.add.at(found, self.owners, self.tables[self.table_starts[:-1] + self.counts(labels)])
        return found

    def scaled(self, factor: float) -> "RegionCounts":
        return replace(self, tables=factor * self.tables)

    def merged(self, other: Term) -> Term | None:
        # Regions of one loss share their arrays, so comparing values would be a waste.
        if isinstance(other, RegionCounts) and other.members is self.members and other.starts is self.starts:
            return replace(self, tables=self.tables + other.tables)
        return None

    def take(self, batch: Batch, parts: Ints) -> "RegionCounts":
        ends = np.searchsorted(self.owners, np.arange(len(batch) + 1))
        first, counts = ends[parts], np.diff(ends)[parts]
        owners = np.repeat(np.arange(len(parts)), counts)
        chosen = np.repeat(first - np.concatenate(([0], np.cumsum(counts)[:-1])), counts) + np.arange(counts.sum())
        if not len(chosen):
            empty = np.zeros(0, np.int64)
            return RegionCounts(empty, np.zeros(1, np.int64), empty, np.zeros(0))
        moved = chosen_offsets(parts, batch.offsets)[:-1] - batch.offsets[parts]
        starts = chosen_offsets(chosen, self.starts)
        members = self.members[segments(chosen, self.starts)] + np.repeat(moved[owners], np.diff(starts))
        return RegionCounts(members, starts, owners, self.tables[segments(chosen, self.table_starts)])

    def allowed(self, batch: Batch) -> Term | None:
        if (self.tables > -np.inf).all():
            return None
        return replace(self, tables=np.where(self.tables > -np.inf, 0.0, -np.inf))

    def zero(self, batch: Batch) -> "RegionCounts":
        # Regions share no decisions, so the least sum has the least value in each of them.
        if not len(self.owners):
            return self
        allowed, begins = self.tables > -np.inf, self.table_starts
        least = np.minimum.reduceat(np.where(allowed, self.tables, np.inf), begins[:-1])
        largest = np.maximum.reduceat(self.tables, begins[:-1])
        # Two numbers as far from a share of the size should tie although the share is rounded.
        limit = np.repeat(least + 1e-12 * (largest - least), np.diff(begins))
        return replace(self, tables=np.where(allowed & (self.tables <= limit), 0.0, -np.inf))
