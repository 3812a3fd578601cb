"""The sets of a data set whose rows lie in several places: which place holds what, and how each set is evaluated."""

from collections.abc import Sequence
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setwise.core.attributes import cached_property
from setwise.core.checks import Bools, Ints, Values, as_reals
from setwise.core.exceptions import Refusal
from setwise.core.pages import PLACES_REFUSE
from setwise.core.surrogate import PiecedEvaluator, Surrogate

FEW, MOST = 1 << 16, 1 << 24
"""Sets of at most so many rows are gathered where they span places. Larger ones are, up to the second number, where
their surrogate needs all scores in one place."""


class Extent(NamedTuple):
    """The ids (m,) of the sets that have rows at a place, rising, and how many rows and positives of each there are."""

    ids: Any
    sizes: Ints
    positives: Ints


def extent_of(truth: Bools, ids: Any) -> Extent:
    """Which sets have rows at a place, where ``ids`` (rows,) names them; None makes all rows one set."""
    if ids is None:
        some = np.zeros(1 if len(truth) else 0, dtype=np.int64)
        return Extent(some, some + len(truth), some + int(truth.sum()))
    if len(ids) != len(truth):
        raise ValueError(f"groups must have one id for each row, {len(truth)} in a place; got {len(ids)}.")
    known, owners = np.unique(ids, return_inverse=True)
    positives = np.bincount(owners[truth], minlength=len(known))
    return Extent(known, np.bincount(owners, minlength=len(known)), positives)


def joined_ids(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """The ids of all places, one after another, in a type in which different ids differ.

    Raises
    ------
    ValueError : where there is no such type, as for -1 beside 2^63, for 2^53 + 1 beside .5, and for 1 beside "1"
    """
    parts = [some for some in parts if len(some)]
    kinds = {"number" if some.dtype.kind in "biuf" else "date" if some.dtype.kind in "mM" else "text" for some in parts}
    if len(kinds) > 1:
        raise ValueError(f"groups must hold ids of one kind in all places; got {' and '.join(sorted(kinds))}.")
    whole = [some for some in parts if some.dtype.kind in "biu"]
    joined = np.concatenate(parts)
    if joined.dtype.kind != "f" or not whole:
        return joined
    # NumPy joins int64 and uint64 to float64, which does not hold all of them.
    low, high = min(int(some.min()) for some in whole), max(int(some.max()) for some in whole)
    if len(whole) == len(parts) and (low >= 0 or high < 1 << 63):
        return np.concatenate([some.astype(np.uint64 if low >= 0 else np.int64) for some in parts])
    if max(-low, high) > 1 << 53:
        types = ", ".join(sorted({str(some.dtype) for some in parts}))
        raise ValueError(f"groups must have one type of numbers in all places; {types} hold no type in common.")
    return joined


class Plan(NamedTuple):
    """How the sets of a place are evaluated, in the order of their ids, (m,) each.

    ``numbers`` are those of the sets in the whole data set; ``kinds`` are :data:`WHOLE`, :data:`GATHERED` or
    :data:`SPREAD`; ``weights`` are their shares of the risk.
    """

    numbers: Ints
    kinds: Ints
    weights: Values


WHOLE, GATHERED, SPREAD = 0, 1, 2
"""Sets that lie in one place; small ones that do not, whose scores are gathered; and large ones that do not."""


@final
class Census:
    """All sets of a data set, numbered by their sorted ids.

    Parameters
    ----------
    extents : which sets each place has
    surrogate : what is evaluated
    weights : (n,) non-negative, not all 0; None gives all sets the same weight

    Attributes
    ----------
    ids, sizes, positives, kinds, weights : of the n sets; the weights have the sum 1
    spread : the surrogate bound to each of the spread sets, by their numbers
    """

    def __init__(self, extents: Sequence[Extent], surrogate: Surrogate, weights: ArrayLike | None = None) -> None:
        if not sum(len(extent.ids) for extent in extents):
            raise ValueError("rows must not be empty in all places.")
        self.ids = np.unique(joined_ids([extent.ids for extent in extents]))
        self.numbers = [
            np.searchsorted(self.ids, extent.ids.astype(self.ids.dtype)).astype(np.int64) for extent in extents
        ]
        n, totals = len(self.ids), np.zeros((len(self.ids), 3), dtype=np.int64)
        for numbers, extent in zip(self.numbers, extents, strict=True):
            totals[numbers] += np.column_stack([np.ones_like(numbers), extent.sizes, extent.positives])
        self.sizes, self.positives = totals[:, 1], totals[:, 2]
        self.kinds = np.where(totals[:, 0] == 1, WHOLE, np.where(self.sizes <= FEW, GATHERED, SPREAD))
        omega = np.ones(n) if weights is None else as_reals(weights, "weights", (n,))
        if (omega < 0).any() or omega.max() == 0:
            raise ValueError(f"weights must be {n} finite numbers >= 0, one for each set and not all zero.")
        # Divided by the largest first, for a sum of large weights may overflow.
        self.weights = omega / omega.max() / (omega / omega.max()).sum()
        self.spread = self._spread(surrogate)

    def _spread(self, surrogate: Surrogate) -> dict[int, PiecedEvaluator]:
        """The surrogate of each spread set; sets for which there is none are gathered."""
        found: dict[int, PiecedEvaluator] = {}
        for i in np.flatnonzero(self.kinds == SPREAD).tolist():
            positives, size = int(self.positives[i]), int(self.sizes[i])
            try:
                found[i] = surrogate.in_pieces(size - positives, positives)
            except Refusal as why:
                if size > MOST:
                    raise Refusal(
                        f"a set of {size} rows in several places is refused, at most {MOST}: {why.sentence}",
                        why.page or PLACES_REFUSE,
                    ) from why
                self.kinds[i] = GATHERED
        return found

    def plan(self, k: int) -> Plan:
        """How the sets of place k are evaluated."""
        numbers = self.numbers[k]
        return Plan(numbers, self.kinds[numbers], self.weights[numbers])

    @cached_property
    def holders(self) -> dict[int, list[int]]:
        """The places that hold a piece of each spread set, rising."""
        return {i: [k for k, numbers in enumerate(self.numbers) if (numbers == i).any()] for i in self.spread}
