"""Enumeration of all labelings of small sets."""

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

    Tables of the loss are made once, when the method is bound. Sets share a table where it is the same for them: those
    of equal size where the loss does not depend on the labels (``Trait.LABEL_FREE``), else those with equal true
    labels. Each call then takes a few floating-point operations for each set and labeling.

    Parameters
    ----------
    limit : most decisions of a set; a larger set is refused
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
        if slack and structure.batch.known is not None:
            return "Enumeration refuses slack rescaling: the scores of unknown labels multiply the loss there."
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
        # Under slack rescaling the modular part is still there. The tables leave it out, for more sets share them then.
        costs, remainder = rest.split()
        self._costs = np.zeros(sets.total) if costs is None else costs
        groups: dict[object, list[int]] = {}
        for i in range(len(sets)):
            groups.setdefault(self._key(remainder, i), []).append(i)
        self._tables = [(np.array(members), _table(remainder, members[0])) for members in groups.values()]

    @staticmethod
    def _key(remainder: Structure, i: int) -> object:
        """Returns what the table of set i depends on: the size of the set, its true labels, or the set itself."""
        sets = remainder.batch
        first, last = sets.offsets[i], sets.offsets[i + 1]
        if sets.known is None and Trait.LABEL_FREE in remainder.traits:
            return int(last - first)
        # Terms of other kinds may hold data of each set, so they share nothing.
        shared = all(
            isinstance(term, SetFunction) or (isinstance(term, Counts) and term.areas is None)
            for term in remainder.terms
        )
        return sets.labels[first:last].tobytes() if shared else (i, "alone")

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        sets, margins = self._reduced.sets, self._reduced.margins(scores)
        mistakes = np.zeros(sets.total, dtype=bool)
        for members, table in self._tables:
            best_subsets(table, self._costs, margins, sets.offsets, members, self.slack, mistakes)
        return self.solved(scores, self._reduced.labels(mistakes))


def _table(remainder: Structure, i: int) -> Values:
    """Returns the value of the structure of set i at every set of mistakes, (2^p,)."""
    size = int(remainder.batch.sizes[i])
    # One batch of 2^p copies of the set gives all values in one call.
    rows: Ints = np.full(1 << size, i)
    many = remainder.take(rows)
    return many.values(subsets(size).ravel() ^ many.batch.truth)
