"""The term that is the largest of a few linear functions of a labeling, as losses of a count that bend upwards are."""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Floats, Ints, Values
from setwise.core.batch import Batch
from setwise.core.checks import as_reals
from setwise.core.terms import Term
from setwise.core.traits import Trait
from setwise.kernels.segments import segment_sums


@final
@dataclass(frozen=True, eq=False)
class LargestOf(Term):
    """``max_j [constants[i, j] + sum over the decisions d of set i of costs[j, d, y_d]]`` for every set i.

    Each piece j is modular, so with the score it is maximized like a modular loss, and the best piece is the maximum
    of all: see :class:`setwise.inference.ByPieces`.

    Parameters
    ----------
    constants : (n, J); -inf leaves a piece out of a set, and each set has one piece or more
    costs : (J, total, k), the cost of each label of each decision in each piece, finite
    twin : the same function as another term, which knows its least labelings; None where there is none
    """

    constants: Values
    costs: Values
    twin: Term | None = None

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset()

    def check(self, batch: Batch) -> None:
        n, pieces = len(batch), len(self.costs)
        constants = as_reals(self.constants, "constants", (n, pieces), finite=False)
        if not (constants > -np.inf).any(axis=1).all():
            raise ValueError("constants must leave each set one piece or more; got a set with -inf alone.")
        as_reals(self.costs, "costs", (pieces, batch.total, batch.n_labels))

    def values(self, batch: Batch, labels: NDArray[Any]) -> Values:
        at = np.asarray(labels, dtype=np.int64)[:, None]
        pieces = [segment_sums(np.take_along_axis(costs, at, axis=1)[:, 0], batch.offsets) for costs in self.costs]
        return np.asarray((self.constants + np.stack(pieces, axis=1)).max(axis=1))

    def scaled(self, factor: float) -> "LargestOf":
        twin = None if self.twin is None else self.twin.scaled(factor)
        return replace(self, constants=factor * self.constants, costs=factor * self.costs, twin=twin)

    def take(self, batch: Batch, parts: Ints) -> "LargestOf":
        twin = None if self.twin is None else self.twin.take(batch, parts)
        return LargestOf(self.constants[parts], self.costs[:, batch.decisions(parts)], twin)

    def zero(self, batch: Batch) -> Term:
        return super().zero(batch) if self.twin is None else self.twin.zero(batch)

    def as_scores(self, batch: Batch) -> tuple[Floats, Values]:
        """The pieces as changes of the scores, (J, n_scores), and as constants besides, (n, J).

        ``piece_j(y) = constant_j + <change_j, phi(y) - target>``. A label without a score has its cost in the constant,
        and the other labels of the decision have theirs less that.
        """
        unary = batch.unary
        assert unary is not None
        changes = np.zeros((len(self.costs), batch.n_scores))
        constants = self.constants.copy()
        placed = unary >= 0
        for j, costs in enumerate(self.costs):
            # A decision has one label without a score, or none.
            bare = np.where(placed, 0.0, costs).sum(axis=1)
            changes[j, unary[placed]] = (costs - bare[:, None])[placed]
            constants[:, j] += segment_sums(bare, batch.offsets)
            constants[:, j] += segment_sums(changes[j] * batch.target, batch.score_offsets)
        return changes, constants
