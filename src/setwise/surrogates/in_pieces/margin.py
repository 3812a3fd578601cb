"""Margin rescaling of a loss of counts, for one set that lies in pieces: from histograms, without a sort of all."""

from dataclasses import dataclass
from typing import final

import numpy as np

from setwise.core.checks import LARGEST, Ints, Values
from setwise.core.surrogate import PiecedEvaluation, PiecedEvaluator, Question, Search
from setwise.kernels.histograms import Histograms
from setwise.surrogates.in_pieces.bounds import CountBound
from setwise.surrogates.in_pieces.boxes import Axis, Found, best_counts
from setwise.surrogates.in_pieces.questions import Bins, Flips, Margins, Ties, added
from setwise.surrogates.in_pieces.refining import (
    Pair,
    as_rows,
    chosen,
    cut_edges,
    first_profiles,
    gathered,
    refined,
    window_edges,
)

GATHERED = 1 << 11
"""Up to this number of margins of each class are asked for one by one."""

ROUNDS = 8
"""After so many rounds of bins each further one must halve the number of margins that matter. A bin is then a single
float, unless very many bins matter, as they may where no second differences of the loss are known."""

GATHERED_LATE = 1 << 15
"""Otherwise up to this number of margins of each class are asked for, or the search ends with its bound."""


@final
@dataclass(frozen=True, eq=False)
class CountSearchInPieces(PiecedEvaluator):
    """``max_(a, b) D(a, b) - A(a) - B(b)``, with the least scores A and B that a misses and b false alarms lose.

    Each place tells how many margins lie in bins, and their sum. At the edges of bins A and B are known, so the value
    there is that of a labeling; between them it is bounded (see the module ``bounds``). Bins in which the bound is
    above the best value get new bins inside, until none is left, or few margins are, which are then sent.

    Parameters
    ----------
    bound : D for the whole set
    negatives, positives : their numbers in the whole set
    scale : the number by which scores are divided
    """

    bound: CountBound
    negatives: int
    positives: int
    scale: float

    def search(self, tol: float) -> Search:
        """The dialogue that finds the value to within ``tol``, or up to rounding."""
        answers = yield Bins(np.array([[-np.inf, 0.0, np.inf]] * 2))
        pieces, profiles = len(answers), first_profiles(self._checked(added(answers)))
        found = self._look(profiles, tol)
        rounds, before = 0, np.inf
        while any(mask.any() for mask in found.unknown):
            sizes = [int(p.counts[mask].sum()) for p, mask in zip(profiles, found.unknown, strict=True)]
            slow, rounds, before = rounds >= ROUNDS and 2 * sum(sizes) > before, rounds + 1, sum(sizes)
            if slow and max(sizes) > GATHERED_LATE:
                break
            if slow or max(sizes) <= GATHERED:
                places = [np.flatnonzero(mask) for mask in found.unknown]
                question = Margins(as_rows(window_edges(profiles, places)), np.array(sizes[::-1]))
                profiles = gathered(profiles, places, (yield question))
            else:
                places = [chosen(p, mask) for p, mask in zip(profiles, found.unknown, strict=True)]
                edges = cut_edges(profiles, places, self._hints(found))
                profiles = refined(profiles, places, edges, added((yield Bins(as_rows(edges)))))
            found = self._look(profiles, tol)
        # The rows of levels are those of questions: negatives come first.
        levels, ties = zip(profiles[1].level(found.fp), profiles[0].level(found.fn), strict=True)
        shares = np.zeros((pieces, 2), dtype=np.int64)
        if any(ties):
            shares = _shares(np.array(ties), (yield Ties(np.array(levels))))
        gradients: list[Question] = [Flips(np.array(levels), share, self.scale) for share in shares]
        base = (profiles[0].base + profiles[1].base) / self.scale
        return PiecedEvaluation(found.value - base, found.upper - base, gradients)

    def _checked(self, whole: Histograms) -> Histograms:
        """The first answer, if it is that of the set this is bound to."""
        negatives, positives = whole.counts.sum(axis=1)
        if (negatives, positives) != (self.negatives, self.positives):
            raise ValueError(
                f"the pieces must hold the {self.negatives} negatives and {self.positives} positives of the set; got "
                f"{negatives} and {positives}."
            )
        some = whole.counts > 0
        largest = float(np.maximum(np.abs(whole.least[some]), np.abs(whole.most[some])).max())
        if not largest <= LARGEST / (self.negatives + self.positives):
            raise OverflowError(
                f"scores are too large, up to {largest:.3g}: their sums leave float64. Scale them down."
            )
        return whole

    def _look(self, profiles: Pair, tol: float) -> Found:
        return best_counts(self.bound, (Axis(profiles[0], self.scale), Axis(profiles[1], self.scale)), tol)

    def _hints(self, found: Found) -> tuple[Values, Values]:
        """What one more or one less mistake of each class gains at the best counts: there mistakes stop to pay."""
        fn, fp, near = np.full(3, float(found.fn)), np.full(3, float(found.fp)), np.arange(-1.0, 2.0)
        rows, columns = np.clip(fn + near, 0.0, self.positives), np.clip(fp + near, 0.0, self.negatives)
        return self.scale * np.diff(self.bound(rows, fp)), self.scale * np.diff(self.bound(fn, columns))


def _shares(ties: Ints, answers: list[Ints]) -> Ints:
    """How many of the margins at the level each piece takes, (pieces, 2): the first pieces take theirs first."""
    there = np.array(answers).reshape(-1, 2)
    before = np.cumsum(there, axis=0) - there
    return np.clip(ties - before, 0, there)
