"""Losses of counts where a decision stands for an area: superpixels of different size, grouped cells."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.checks import as_weights
from setwise.core.counts import CountBased
from setwise.core.loss import Loss, Values
from setwise.core.refusal import Refusal
from setwise.core.sets import Bools, Orders, Sets
from setwise.core.traits import Trait
from setwise.kernels.segments import running_sums, segment_sums, steps
from setwise.losses.weights import check_weights, weights_repr


@final
@dataclass(frozen=True, eq=False, repr=False)
class AreaWeighted(Loss):
    """``f(fn, fp, P, N)`` with areas instead of counts: ``fn`` is the area of wrong positives, and so on (DD 4.1).

    For losses that are a quotient of linear functions of the counts: Jaccard, F_beta, Tversky, error rate. Equal to
    the loss of the single pixels when all pixels of an area share one decision. Keeps increasing and submodular.
    Margin rescaling has a bound by the fractional relaxation; for Tversky with beta > 1 it is greedy.

    Parameters
    ----------
    loss : f
    areas : (p,) above 0, one for each place; every set must have p decisions
    """

    loss: CountBased
    areas: ArrayLike

    def __post_init__(self) -> None:
        areas = as_weights(self.areas, "areas")
        if (areas == 0).any():
            raise ValueError("areas must be above 0.")
        object.__setattr__(self, "areas", areas)
        if not isinstance(self.loss, CountBased) or self.loss.quotient(np.ones(1), np.ones(1)) is None:
            why = "it is not a quotient of linear functions of the counts, so areas have no meaning for it"
            raise Refusal(f"AreaWeighted refuses {self.loss!r}: {why}. Use Jaccard, FBeta, Tversky or ErrorRate.")

    @property
    def traits(self) -> frozenset[Trait]:
        return self.loss.traits & {Trait.INCREASING, Trait.SUBMODULAR, Trait.SUPERMODULAR, Trait.MODULAR}

    @property
    def denied(self) -> frozenset[Trait]:
        return self.loss.denied

    @property
    def by_area(self) -> tuple[CountBased, Values]:
        return self.loss, np.asarray(self.areas)

    def check(self, sets: Sets) -> None:
        check_weights(self.areas, sets, self)

    def values(self, sets: Sets, mistakes: Bools) -> Values:
        return self.loss.of_counts(*self._sums(sets, mistakes), *self._sizes(sets))

    def gains(self, sets: Sets, orders: Orders) -> Values:
        area = np.asarray(self.areas)[sets.places[orders.items]]
        fn = running_sums(np.where(orders.labels, area, 0.0), orders.offsets)
        fp = running_sums(np.where(orders.labels, 0.0, area), orders.offsets)
        P, N = (np.repeat(x, orders.sizes) for x in self._sizes(sets))
        return steps(self.loss.of_counts(fn, fp, P, N), orders.offsets, self.at_none(sets))

    def marginals(self, sets: Sets, mistakes: Bools) -> Values:
        (fn, fp), (P, N) = self._sums(sets, mistakes), self._sizes(sets)
        now = self.loss.of_counts(fn, fp, P, N)
        owners, area = sets.owners, np.asarray(self.areas)[sets.places]
        after = self.loss.of_counts(
            np.minimum(fn[owners] + np.where(sets.labels, area, 0.0), P[owners]),
            np.minimum(fp[owners] + np.where(sets.labels, 0.0, area), N[owners]),
            P[owners],
            N[owners],
        )
        return np.where(mistakes, 0.0, after - now[owners])

    def _sums(self, sets: Sets, mistakes: Bools) -> tuple[Values, Values]:
        wrong = np.where(mistakes, np.asarray(self.areas)[sets.places], 0.0)
        fn = segment_sums(np.where(sets.labels, wrong, 0.0), sets.offsets)
        return fn, segment_sums(np.where(sets.labels, 0.0, wrong), sets.offsets)

    def _sizes(self, sets: Sets) -> tuple[Values, Values]:
        return self._sums(sets, np.ones(sets.total, dtype=bool))

    def __repr__(self) -> str:
        return f"AreaWeighted({self.loss!r}, {weights_repr(self.areas).replace('weights', 'areas')})"
