"""Labelings of sequences by the Viterbi algorithm: the best ones in order, and the best at each distance."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from setwise.core.checks import Ints, Values, as_count
from setwise.core.inference import Inference, Maximizer
from setwise.core.label_sequences import Sequences
from setwise.core.structure import Structure
from setwise.inference.single_labels import Falling, RankedMaximizer, farther, unfit_for_flips
from setwise.kernels.sequences import best_by_distance, best_sequences


@final
@dataclass(frozen=True)
class BySequences(Inference):
    """The worst labeling of each sequence, or none: ``max lambda (1 - v f)``, or ``lambda - v f``; the K best of them.

    Exact for equal costs, by the ``|Y| + 1`` best labelings, ``O(T k^2 |Y|)``; and for Hamming costs to one right
    labeling, by position and distance, O(T^2 k^2). Otherwise it goes down the best labelings, O(T k^2) each, until no
    other can be worse. After ``limit`` of them it answers with a bound.

    Source: this library, for the hinge of MLSP Eq. 6; the labelings come from the Viterbi algorithm.

    Parameters
    ----------
    limit : so many labelings are looked at for an input and a call, at most

    Raises
    ------
    TypeError : for a ``limit`` that is no whole number
    ValueError : for a ``limit`` below 1
    Refusal : from :meth:`prepare`, for batches other than ``Sequences`` and losses that are not one cost of single
        labels

    Examples
    --------
    >>> from setwise.core.label_sequences import Sequences
    >>> from setwise.inference import BySequences
    >>> from setwise.losses import MaxLoss
    >>> batch = Sequences(lengths=[2], k=2, truths=[[[0, 0]]])
    >>> scores = [1.0, 0.0, 1.0, 0.5] + [0.0] * 4 + [0.0]  # of places, of neighbors, and the constant
    >>> found = BySequences().prepare(MaxLoss().structure(batch), slack=True).maximize(scores)
    >>> print(found.labels - 1, found.values)  # (0, 1) has f = 1.5, so its violation is 2.5
    [0 1] [2.5]
    """

    limit: int = 1000

    name: ClassVar[str] = "by_sequences"
    about: ClassVar[str] = "the best labelings of a sequence, one after another"
    approximate: ClassVar[bool] = True

    def __post_init__(self) -> None:
        as_count(self.limit, "limit")

    def refuses(self, structure: Structure, slack: bool = False) -> str | None:
        return unfit_for_flips(self, structure, Sequences)

    def bind(self, structure: Structure, slack: bool) -> Maximizer:
        return _BySequences(self, structure, slack, self.limit)


@final
class _BySequences(RankedMaximizer):
    def falling(self, i: int, scores: Values, weights: Values | None = None, many: int = 1) -> Falling:
        unary, pairs, constant = self.flips.parts(i, scores)
        T = len(unary)
        if weights is not None:
            unary, constant = farther(unary, self.flips.truths[i], weights), constant + float(weights.sum())
        whole, seen = np.array([0, T]), 0
        while True:
            labels, sums = best_sequences(unary, pairs[None], whole, many)
            for r in range(seen, many):
                if sums[r, 0] == -np.inf:
                    return
                yield float(sums[r, 0]) + constant, labels[r]
            # A longer list begins with the shorter one.
            seen, many = many, 4 * many

    def by_distance(self, i: int, scores: Values, truth: Ints) -> tuple[Values, Ints]:
        unary, pairs, constant = self.flips.parts(i, scores)
        sums, labels = best_by_distance(unary, pairs, truth)
        return sums[1:] + constant, labels[1:]
