"""What places are asked about the margins of their decisions; each question is data that can be pickled.

The margin of a decision is the score that its mistake loses: s for a positive and -s for a negative. Row 0 of all
arrays belongs to the negatives and row 1 to the positives.
"""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.checks import Floats, Ints, Values
from setwise.core.surrogate import Piece
from setwise.kernels.histograms import Histograms, class_histograms, count_equal, values_between, write_below

SIGNS = np.array([-1.0, 1.0])
"""What makes margins of the scores of negatives and of positives."""


@final
@dataclass(frozen=True, eq=False)
class Bins:
    """How many margins of each class lie between two edges, their sum, the least and the largest; edges (2, k + 1).

    With ``signs`` of 1 it is asked about scores instead.
    """

    edges: Values
    signs: tuple[float, float] = (-1.0, 1.0)

    def __call__(self, piece: Piece) -> Histograms:
        return class_histograms(piece.scores, piece.truth, self.signs, self.edges)


@final
@dataclass(frozen=True, eq=False)
class Margins:
    """The sorted margins of each class from an edge of even number to the next; at most ``sizes`` (2,) in all.

    With ``signs`` of 1 it is asked about scores instead.
    """

    edges: Values
    sizes: Ints
    signs: tuple[float, float] = (-1.0, 1.0)

    def __call__(self, piece: Piece) -> list[Values]:
        return values_between(piece.scores, piece.truth, self.signs, self.edges, self.sizes)


@final
@dataclass(frozen=True, eq=False)
class Ties:
    """How many margins of each class equal its level, (2,)."""

    levels: Values

    def __call__(self, piece: Piece) -> Ints:
        return np.asarray(count_equal(piece.scores, piece.truth, SIGNS, self.levels))


@final
@dataclass(frozen=True, eq=False)
class Flips:
    """``(labels - truth) / scale`` where margins below the levels (2,) are mistakes, and the first ``ties`` at them."""

    levels: Values
    ties: Ints
    scale: float

    def __call__(self, piece: Piece) -> Floats:
        out = np.empty_like(piece.scores)
        # A mistake on a positive takes its score away, and one on a negative adds it.
        write_below(piece.scores, piece.truth, SIGNS, self.levels, self.ties, -SIGNS / self.scale, out)
        return out


def added(answers: list[Histograms]) -> Histograms:
    """The histograms of the whole set; pieces are added in their order."""
    counts, sums, least, most = answers[0]
    for other in answers[1:]:
        counts, sums = counts + other.counts, sums + other.sums
        least, most = np.minimum(least, other.least), np.maximum(most, other.most)
    return Histograms(counts, sums, least, most)
