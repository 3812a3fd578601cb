"""Rankings of the decisions of each set, and what it costs that negatives stand above positives."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Bools, Ints, Values
from setwise.core.batch import Batch
from setwise.core.checks import as_array, as_offsets
from setwise.core.refusal import Refusal
from setwise.core.sets import Sets
from setwise.core.terms import Term
from setwise.core.traits import Trait
from setwise.kernels.interleaving import ranking_losses
from setwise.kernels.segments import count_true


@final
@dataclass(frozen=True, eq=False)
class Rankings(Batch):
    """Rankings of the decisions of binary sets. A labeling holds for each decision how many of its pairs are swapped.

    A pair is a positive and a negative; it is swapped where the negative stands above. A ranking wins
    ``-(s_i - s_j) / (P N)`` for each swapped pair of a positive i and a negative j, so phi is minus the share of
    swapped pairs for positives, plus that share for negatives, and 0 for the perfect ranking.

    Parameters
    ----------
    labels : (total,) bool
    offsets : (n+1,) int64
    """

    labels: Bools
    offsets: Ints

    def __post_init__(self) -> None:
        labels = as_array(self.labels, "labels")
        if labels.dtype != np.bool_ or labels.ndim != 1:
            raise ValueError(f"labels must be bool of shape (total,); got {labels.dtype} of shape {labels.shape}.")
        object.__setattr__(self, "labels", labels)
        object.__setattr__(self, "offsets", as_offsets(self.offsets, len(labels)))

    @classmethod
    def of(cls, sets: Any, loss: object) -> "Rankings":
        """The rankings of binary sets; ``loss`` is named where these are none, or not known in whole."""
        if not isinstance(sets, Sets) or sets.totals is not None:
            raise Refusal(f"{loss!r} refuses {type(sets).__name__}: it ranks whole sets of binary decisions.")
        if sets.known is not None:
            raise Refusal(f"{loss!r} refuses labels that are not known: it ranks positives against negatives.")
        return cls(sets.truth, sets.offsets)

    @property
    def n_labels(self) -> int:
        """Two."""
        return 2

    @cached_property
    def positives(self) -> Ints:
        """Number of positive labels of each set, (n,)."""
        return count_true(self.labels, self.offsets)

    @cached_property
    def negatives(self) -> Ints:
        """Number of negative labels of each set, (n,)."""
        return self.sizes - self.positives

    @cached_property
    def pair_weight(self) -> Values:
        """``1 / (P N)``, (n,); 1 where a set has one class only."""
        return 1.0 / np.maximum(self.positives.astype(np.float64) * self.negatives, 1.0)

    @cached_property
    def target(self) -> Values:
        return np.zeros(self.total)

    def encode(self, labels: NDArray[Any]) -> Values:
        share = labels * self.pair_weight[self.owners]
        return np.where(self.labels, -share, share)

    def mistakes(self, labels: NDArray[Any]) -> Bools:
        """Which decisions stand in a swapped pair, (total,)."""
        return np.asarray(labels > 0)

    def take(self, parts: Ints) -> "Rankings":
        chosen = Sets(self.labels, self.offsets).take(parts)
        return Rankings(chosen.truth, chosen.offsets)


@final
@dataclass(frozen=True, eq=False)
class Swaps(Term):
    """``sum_i weight_i sum_(j < k_i) drop_(i+j)``: each swapped pair costs something by its places.

    In a ranking without ties ``k_i`` is the number of negatives above the i-th best positive; i and j count from 0.
    A set of one class costs 0.

    Parameters
    ----------
    weight : (total,) not negative; the first P of each set belong to its positives from the best down
    drop : (total,) not negative: what is lost when a positive falls from rank r + 1 to rank r + 2
    depth : ranks that count, the others lose nothing; None where all do, and then ``drop`` never grows inside a set
    """

    weight: Values
    drop: Values
    depth: int | None = None

    @property
    def traits(self) -> frozenset[Trait]:
        return frozenset()

    def values(self, batch: Rankings, labels: NDArray[Any]) -> Values:
        return ranking_losses(labels, batch.labels, batch.offsets, self.weight, self.drop)

    def scaled(self, factor: float) -> "Swaps":
        return replace(self, weight=factor * self.weight)

    def take(self, batch: Batch, parts: Ints) -> "Swaps":
        at = batch.decisions(parts)
        return replace(self, weight=self.weight[at], drop=self.drop[at])
