"""Enumeration of all labelings of small sets."""

from dataclasses import dataclass, replace
from typing import ClassVar, final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.checks import Floats, Ints, Values, as_count
from setwise.core.counts import Counts
from setwise.core.enumerate import subsets
from setwise.core.inference import Inference, Maximizer, Solutions, Takes
from setwise.core.networks import Graphs, Network
from setwise.core.terms import SetFunction, Trait
from setwise.inference.components import each_component
from setwise.inference.independent_decisions import SETS, ReducedProblem
from setwise.inference.message_passing import network_tables
from setwise.kernels.set_functions import best_labelings, best_subsets

CHUNK = 1 << 13
"""So many labelings of a network are evaluated at once."""


@final
@dataclass(frozen=True)
class Enumeration(Inference):
    """The maximum over all ``2^p`` sets of mistakes, or over all ``k^p`` labelings of a network. Exact for any loss.

    Tables of the loss are made once, when the method is bound. Sets share a table where it is the same for them: those
    of equal size where the loss does not depend on the labels (``Trait.LABEL_FREE``), else those with equal true
    labels. Each call then takes a few floating-point operations for each set and labeling.

    Source: this library; it is the definition of the maximum, and the truth for tests of all other methods.

    Parameters
    ----------
    limit : the largest number of decisions of a set; a larger set is refused, and on networks one of more than
        ``2^limit`` labelings

    Raises
    ------
    TypeError : for a ``limit`` that is no whole number
    ValueError : for a ``limit`` outside of 1..20
    Refusal : from :meth:`prepare`, for larger sets and networks, and for slack rescaling with unknown labels

    Examples
    --------
    >>> from setwise.core.batch import Sets
    >>> from setwise.inference import Enumeration
    >>> from setwise.losses import SetFunctionLoss
    >>> one_end = SetFunctionLoss(lambda y, wrong: float(wrong[0] != wrong[-1]))
    >>> found = Enumeration().prepare(one_end.bind(Sets.single([1, 0, 0]))).maximize([2.0, -0.25, -0.5])
    >>> print(found.labels, found.values)  # the last decision alone is wrong: 1 - 0.5
    [ True False  True] [0.5]
    """

    limit: int = 20

    name: ClassVar[str] = "enumeration"
    about: ClassVar[str] = "all labelings of a small set are tried"
    takes: ClassVar[Takes] = replace(SETS, batch=Sets | Network, unknown=True)

    def __post_init__(self) -> None:
        as_count(self.limit, "limit", high=20)

    def _refuses(self, bound_loss: BoundLoss, slack: bool) -> str | None:
        batch = bound_loss.batch
        if slack and batch.known is not None:
            return "Enumeration refuses slack rescaling: the scores of unknown labels multiply the loss there."
        largest, k = int(batch.sizes.max()), batch.n_labels
        if largest * np.log2(k) <= self.limit:
            return None
        way = "GreedySearch" if isinstance(batch, Sets) else "surrogate='margin'" if slack else "Auto"
        return f"Enumeration refuses a set of {largest} decisions: {k}^{largest} labelings are too many. Use {way}."

    def bind(self, bound_loss: BoundLoss, slack: bool) -> Maximizer:
        if isinstance(bound_loss.batch, Network):
            if slack:
                return _NetworkEnumeration(self, bound_loss, slack)
            return each_component(bound_loss, lambda parts: _NetworkEnumeration(self, parts, False))
        return _Enumeration(self, bound_loss, slack)


@final
class _Enumeration(Maximizer):
    def __init__(self, method: Enumeration, bound_loss: BoundLoss, slack: bool) -> None:
        self.method, self.bound_loss, self.slack = method, bound_loss, slack
        self._reduced = ReducedProblem.of(bound_loss, slack)
        rest, sets = self._reduced.rest, self._reduced.sets
        # Under slack rescaling the modular part is still there. The tables leave it out, for more sets share them then.
        costs, remainder = rest.split()
        self._costs = np.zeros(sets.total) if costs is None else costs
        groups: dict[object, list[int]] = {}
        for i in range(len(sets)):
            groups.setdefault(self._key(remainder, i), []).append(i)
        self._tables = [(np.array(members), _table(remainder, members[0])) for members in groups.values()]

    @staticmethod
    def _key(remainder: BoundLoss, i: int) -> object:
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


def _table(remainder: BoundLoss, i: int) -> Values:
    """Returns the value of the bound loss of set i at every set of mistakes, (2^p,)."""
    size = int(remainder.batch.sizes[i])
    # One batch of 2^p copies of the set gives all values in one call.
    rows: Ints = np.full(1 << size, i)
    many = remainder.take(rows)
    return many.values(subsets(size).ravel() ^ many.batch.truth)


@final
class _NetworkEnumeration(Maximizer):
    """Holds the loss of every labeling of each set; the kernel adds the scores of nodes and edges."""

    def __init__(self, method: Enumeration, bound_loss: BoundLoss, slack: bool) -> None:
        self.method, self.bound_loss, self.slack = method, bound_loss, slack
        batch = bound_loss.batch
        assert isinstance(batch, Network)
        self._batch, self._tables = batch, [_losses(bound_loss, i) for i in range(len(batch))]

    def solve(self, scores: Floats, tol: Values) -> Solutions:
        batch, labels = self._batch, np.zeros(self._batch.total, dtype=np.int64)
        nodes, pairs = network_tables(batch, scores)
        target = batch.at_target(scores)
        for i, table in enumerate(self._tables):
            first, last = batch.offsets[i : i + 2]
            span = slice(*batch.edge_offsets[i : i + 2])
            edges = batch.edges[span]
            best_labelings(table, nodes[first:last], pairs[span], edges, first, target[i], self.slack, labels)
        return self.solved(scores, labels == 1 if isinstance(batch, Graphs) else labels)


def _losses(bound_loss: BoundLoss, i: int) -> Values:
    """Returns the value of the bound loss of set i at every labeling, (k^p,), the last label changing fastest."""
    batch = bound_loss.batch
    size, k = int(batch.sizes[i]), batch.n_labels
    out = np.empty(k**size)
    for begin in range(0, len(out), CHUNK):
        index = np.arange(begin, min(begin + CHUNK, len(out)))
        rows = index[:, None] // k ** np.arange(size)[::-1] % k
        # One batch of many copies of the set gives all values in one call.
        many = bound_loss.take(np.full(len(index), i))
        out[index] = many.values(rows.ravel() == 1 if isinstance(batch, Graphs) else rows.ravel())
    return out
