"""Rankings of the decisions of each set, and the cost of negatives that are ranked above positives."""

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.attributes import cached_property
from setwise.core.batch import Batch, Sets
from setwise.core.checks import Bools, Ints, Values, as_array, as_offsets
from setwise.core.exceptions import Refusal
from setwise.core.networks import Network
from setwise.core.pages import NETWORKS_REFUSE, RANKINGS
from setwise.core.terms import Term
from setwise.kernels.rankings import ranking_losses
from setwise.kernels.segments import count_true


@final
@dataclass(frozen=True, eq=False)
class Rankings(Batch):
    """Rankings of the decisions of binary sets. A labeling holds the number of swapped pairs of each decision.

    A pair is a positive and a negative; it is swapped if the negative is ranked above the positive. The score of a
    ranking is the sum of ``-(s_i - s_j) / (P N)`` over the swapped pairs of a positive i and a negative j. So phi is
    minus the share of swapped pairs for positives, plus that share for negatives, and 0 for the perfect ranking.

    Parameters
    ----------
    labels : (total,) bool
    offsets : (n+1,) int64
    """

    labels: Bools
    offsets: Ints
    n_labels = 2
    """The number of labels of the decisions that are ranked: two."""

    def __post_init__(self) -> None:
        labels = as_array(self.labels, "labels")
        if labels.dtype != np.bool_ or labels.ndim != 1:
            raise ValueError(f"labels must be bool of shape (total,); got {labels.dtype} of shape {labels.shape}.")
        self.__dict__.update(labels=labels, offsets=as_offsets(self.offsets, len(labels)))

    @classmethod
    def of(cls, sets: Any, loss: object) -> "Rankings":
        """The rankings of binary sets; raises Refusal, naming ``loss``, for other batches, pieces or unknown labels."""
        if isinstance(sets, Network):
            raise Refusal(
                f"{loss!r} refuses to train on {type(sets).__name__}: a network predicts labels, not a ranking. Train "
                "for a loss of labels, and measure this one by the differences of max-marginals.",
                NETWORKS_REFUSE,
            )
        if not isinstance(sets, Sets) or sets.totals is not None:
            raise Refusal(f"{loss!r} refuses {type(sets).__name__}: it ranks whole sets of binary decisions.", RANKINGS)
        if sets.known is not None:
            raise Refusal(f"{loss!r} refuses unknown labels: it ranks positives against negatives.", RANKINGS)
        return cls(sets.truth, sets.offsets)

    @cached_property
    def positives(self) -> Ints:
        """The number of positive labels of each set, (n,)."""
        return count_true(self.labels, self.offsets)

    @cached_property
    def negatives(self) -> Ints:
        """The number of negative labels of each set, (n,)."""
        return self.sizes - self.positives

    @property
    def largest(self) -> Ints:
        """All decisions of the other class of the set."""
        return np.where(self.labels, self.negatives[self.owners], self.positives[self.owners])

    @cached_property
    def pair_weight(self) -> Values:
        """``1 / (P N)``, (n,); 1 for a set of one class, which has no pairs."""
        return 1.0 / np.maximum(self.positives.astype(np.float64) * self.negatives, 1.0)

    @cached_property
    def target(self) -> Values:
        # The perfect ranking has no swapped pair.
        return np.zeros(self.total)

    def encode(self, labels: NDArray[Any]) -> Values:
        share = labels * self.pair_weight[self.owners]
        return np.where(self.labels, -share, share)

    def mistakes(self, labels: NDArray[Any]) -> Bools:
        """A mask of the decisions that belong to a swapped pair, (total,)."""
        return np.asarray(labels > 0)

    def take(self, parts: Ints) -> "Rankings":
        chosen = Sets(self.labels, self.offsets).take(parts)
        return Rankings(chosen.truth, chosen.offsets)


@final
@dataclass(frozen=True, eq=False)
class Swaps(Term):
    """``sum_i weight_i sum_(j < k_i) drop_(i+j)``: the cost of each swapped pair depends on its ranks.

    In a ranking without equal scores ``k_i`` is the number of negatives above the i-th best positive; i and j count
    from 0. A set of one class costs 0.

    Parameters
    ----------
    weight : (total,) not negative; the first P weights of each set belong to its positives, from the best one down
    drop : (total,) not negative; ``drop_r`` of a set is the cost of a fall of a positive from rank r + 1 to rank r + 2
    depth : the number of first ranks in which a fall costs something; None counts all ranks, and then ``drop`` never
        grows inside a set
    """

    weight: Values
    drop: Values
    depth: int | None = None

    def values(self, batch: Rankings, labels: NDArray[Any]) -> Values:
        return ranking_losses(labels, batch.labels, batch.offsets, self.weight, self.drop)

    def scaled(self, factor: float) -> "Swaps":
        return replace(self, weight=factor * self.weight)

    def take(self, batch: Batch, parts: Ints) -> "Swaps":
        at = batch.decisions(parts)
        return replace(self, weight=self.weight[at], drop=self.drop[at])
