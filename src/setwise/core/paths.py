"""Terms of labels along paths: a cost for each path on which label 1 comes back, and the constraint that none does."""

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
class PathOrders(Term):
    """``sum_k costs_k [the labels along path k are not 1, .., 1, 0, .., 0]`` over the paths of each set (HOL Eq. 8).

    Paths may share decisions; a path passes none twice.

    Parameters
    ----------
    members : (entries,) int64, the decisions along all paths, path by path, and those in the order of the sets
    starts : (paths + 1,) int64; path k is ``members[starts[k]:starts[k+1]]``, one decision or more
    owners : (paths,) int64, rising: the set of each path
    costs : (paths,), above 0
    """

    members: Ints
    starts: Ints
    owners: Ints
    costs: Values

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset()

    def check(self, batch: Batch) -> None:
        entries, paths = len(self.members), len(self.owners)
        if self.starts.shape != (paths + 1,) or self.starts[0] != 0 or self.starts[-1] != entries:
            raise ValueError(f"starts must rise from 0 to {entries}, one for each of {paths} paths and one more.")
        if (np.diff(self.starts) < 1).any() or (np.diff(self.owners) < 0).any():
            raise ValueError("starts must rise, and owners must not fall.")
        if self.costs.shape != (paths,) or not ((self.costs > 0) & (self.costs < np.inf)).all():
            raise ValueError(f"costs must be {paths} finite numbers above 0, one for each path.")
        if entries and (self.members.min() < 0 or self.members.max() >= batch.total):
            raise ValueError(f"members must be decisions 0..{batch.total - 1}.")
        lengths = np.diff(self.starts)
        if (batch.owners[self.members] != np.repeat(self.owners, lengths)).any():
            raise ValueError("members must be of the set that owns their path.")
        if len(np.unique(np.repeat(np.arange(paths), lengths) * batch.total + self.members)) < entries:
            raise ValueError("members must be different decisions along each path.")

    def values(self, batch: Batch, labels: NDArray[Any]) -> Values:
        along = np.asarray(labels == 1)[self.members]
        rises = np.zeros(len(along), dtype=bool)
        rises[1:] = along[1:] & ~along[:-1]
        rises[self.starts[:-1]] = False
        broken = count_true(rises, self.starts) > 0
        return np.asarray(np.bincount(self.owners, np.where(broken, self.costs, 0.0), len(batch)), dtype=np.float64)

    def scaled(self, factor: float) -> "PathOrders":
        return replace(self, costs=factor * self.costs)

    def merged(self, other: Term) -> Term | None:
        # Paths of one loss share their arrays, so comparing values would be a waste.
        if isinstance(other, PathOrders) and other.members is self.members and other.starts is self.starts:
            return replace(self, costs=self.costs + other.costs)
        return None

    def take(self, batch: Batch, parts: Ints) -> "PathOrders":
        ends = np.searchsorted(self.owners, np.arange(len(batch) + 1))
        counts = np.diff(ends)[parts]
        owners = np.repeat(np.arange(len(parts)), counts)
        if not len(owners):
            empty = np.zeros(0, np.int64)
            return PathOrders(empty, np.zeros(1, np.int64), empty, np.zeros(0))
        before = np.concatenate(([0], np.cumsum(counts)[:-1]))
        chosen = np.repeat(ends[parts] - before, counts) + np.arange(len(owners))
        starts = chosen_offsets(chosen, self.starts)
        moved = chosen_offsets(parts, batch.offsets)[:-1] - batch.offsets[parts]
        members = self.members[segments(chosen, self.starts)] + np.repeat(moved[owners], np.diff(starts))
        return PathOrders(members, starts, owners, self.costs[chosen])

    def zero(self, batch: Batch) -> "Precedence":
        # All labels 1 along all paths cost nothing, so the least value is 0.
        step = np.ones(len(self.members), dtype=bool)
        step[self.starts[:-1]] = False
        at = np.flatnonzero(step)
        return Precedence(np.unique(np.column_stack([self.members[at - 1], self.members[at]]), axis=0))


@final
@dataclass(frozen=True, eq=False)
class Precedence(Term):
    """0 where ``y_a >= y_b`` for all ``pairs`` (a, b) of a set, otherwise -inf; ``pairs`` (m, 2) int64."""

    pairs: Ints

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset()

    def check(self, batch: Batch) -> None:
        pairs = self.pairs
        if pairs.dtype != np.int64 or pairs.ndim != 2 or pairs.shape[1] != 2:
            raise ValueError(f"pairs must be int64 of shape (m, 2); got {pairs.dtype} of shape {pairs.shape}.")
        if len(pairs) and (pairs.min() < 0 or pairs.max() >= batch.total):
            raise ValueError(f"pairs must be decisions 0..{batch.total - 1}.")
        own = batch.owners[pairs]
        if (own[:, 0] != own[:, 1]).any() or (pairs[:, 0] == pairs[:, 1]).any():
            raise ValueError("pairs must be different decisions of one set.")

    def values(self, batch: Batch, labels: NDArray[Any]) -> Values:
        positive = np.asarray(labels == 1)
        broken = ~positive[self.pairs[:, 0]] & positive[self.pairs[:, 1]]
        return np.where(np.bincount(batch.owners[self.pairs[broken, 0]], minlength=len(batch)) > 0, -np.inf, 0.0)

    def scaled(self, factor: float) -> "Precedence":
        return self

    def merged(self, other: Term) -> Term | None:
        return Precedence(np.vstack([self.pairs, other.pairs])) if isinstance(other, Precedence) else None

    def take(self, batch: Batch, parts: Ints) -> "Precedence":
        order = np.argsort(batch.owners[self.pairs[:, 0]], kind="stable")
        pairs = self.pairs[order]
        ends = np.searchsorted(batch.owners[pairs[:, 0]], np.arange(len(batch) + 1))
        moved = chosen_offsets(parts, batch.offsets)[:-1] - batch.offsets[parts]
        return Precedence(pairs[segments(parts, ends)] + np.repeat(moved, np.diff(ends)[parts])[:, None])

    def allowed(self, batch: Batch) -> "Precedence":
        return self

    def zero(self, batch: Batch) -> "Precedence":
        return self
