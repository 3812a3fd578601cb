"""Every labeling of a small set, one by one."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.arrays import Floats, Ints, Values
from setwise.core.checks import as_count
from setwise.core.counts import Counts
from setwise.core.enumerate import subsets
from setwise.core.inference import Inference, Maximizer, Solutions
from setwise.core.set_function import SetFunction
from setwise.core.structure import Structure
from setwise.core.traits import Trait
from setwise.inference.binary import Reduced, unfit
from setwise.kernels.enumeration import best_subsets


@final
@dataclass(frozen=True)
class Enumeration(Inference):
    """The maximum over all ``2^p`` sets of mistakes, for p up to ``limit``. Exact for any loss.

    Tables of the loss are made once, when the method is bound, and shared by sets that have the same: those of one size
    where the loss does not depend on the labels (``Trait.LABEL_FREE``), else those of one ground truth. Each call then
    takes two floating point operations for each set and labeling.
    """

    limit: int = 20

    name: ClassVar[str] = "enumeration"
    about: ClassVar[str] = "all labelings of a small set are tried"

    def __post_init__(self) -> None:
        as_count(self.limit, "limit", high=20)

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        why = unfit(self, structure, slack, unknown=True)
        if why is not None:
            return why
        largest = int(structure.batch.sizes.max())
        if largest > self.limit:
            return f"Enumeration refuses a set of {largest} decisions: 2^{largest} labelings are too many. Use Greedy."
        return None

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        return _Enumeration(self, structure, slack)


@final
class _Enumeration(Maximizer):
    def __init__(self, method: Enumeration, structure: Structure, slack: bool) -> None:
        self.method, self.structure, self.slack = method, structure, slack
        self._reduced = Reduced.of(structure, slack)
        rest, sets = self._reduced.rest, self._reduced.sets
        costs, curved = rest.split()
        self._costs = np.zeros(sets.total) if costs is None else costs
        groups: dict[object, list[int]] = {}
        for i in range(len(sets)):
            groups.setdefault(self._key(curved, i), []).append(i)
        self._tables = [(np.array(members), _table(curved, members[0])) for members in groups.values()]

    @staticmethod
    def _key(curved: Structure, i: int) -> object:
        """What decides the table of set i: its size, its ground truth, or the set itself."""
        sets = curved.batch
        first, last = sets.offsets[i], sets.offsets[i + 1]
        if sets.known is None and Trait.LABEL_FREE in curved.traits:
            return int(last - first)
        shared = all(isinstance(t, SetFunction) or (isinstance(t, Counts) and t.areas is None) for t in curved.terms)
        return sets.labels[first:last].tobytes() if shared else (i, "alone")

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        sets, margins = self._reduced.sets, self._reduced.margins(scores)
        mistakes = np.zeros(sets.total, dtype=bool)
        for members, table in self._tables:
            best_subsets(table, self._costs, margins, sets.offsets, members, self.slack, mistakes)
        return self.solved(scores, self._reduced.labels(mistakes))


def _table(curved: Structure, i: int) -> Values:
    """The structure of set i at every set of mistakes, (2^p,)."""
    size = int(curved.batch.sizes[i])
    rows: Ints = np.full(1 << size, i)
    many = curved.take(rows)
    return many.values(subsets(size).ravel() ^ many.batch.truth)
