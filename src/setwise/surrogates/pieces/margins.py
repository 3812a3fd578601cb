"""Margin rescaling and the ramp of a loss of counts, for one set in pieces: histograms, without a sort of all.

Places are asked about the margins of their decisions in segments that are not settled; each question is data that can
be pickled, and the answers tell profiles more. Pairs are of the positives and of the negatives.

The margin of a decision is the score that its mistake loses: s for a positive and -s for a negative. Row 0 of all
arrays belongs to the negatives and row 1 to the positives.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike

from setwise.core.checks import LARGEST, Bools, Floats, Ints, Values
from setwise.core.surrogate import Piece, PiecedEvaluation, PiecedEvaluator, Question, Search
from setwise.kernels.histograms import Histograms, class_histograms, count_equal, values_between, write_below
from setwise.surrogates.pieces.counts import Axis, BestCounts, CountBound, Profile, best_counts, new_edges

BINS = 512
"""About how many bins of each class a question asks about."""

SEGMENTS = 2 * BINS
"""The most segments of a class that are cut at once; each gets some bins, however many there are."""

ROWS = (1, 0)
"""The rows of the positives and of the negatives."""


def first_profiles(whole: Histograms) -> list[Profile]:
    """The profiles of bins of each class."""
    return [Profile.of(*(each[row] for each in whole)) for row in ROWS]


def chosen(profile: Profile, unknown: Bools) -> Ints:
    """The unknown segments that are cut at once: all, or those of the most margins and widest ranges of very many."""
    places = np.flatnonzero(unknown)
    if len(places) <= SEGMENTS:
        return places
    size = profile.counts[places] * (profile.most[places] - profile.least[places])
    return np.sort(places[np.argsort(-size, kind="stable")[:SEGMENTS]])


def cut_edges(profiles: list[Profile], places: list[Ints], hints: Sequence[Values]) -> list[list[Values]]:
    """The edges of new bins inside of segments, an array for each of them."""
    out = []
    for profile, where, near in zip(profiles, places, hints, strict=True):
        parts = BINS // max(len(where), 1)
        out.append([new_edges(float(profile.least[i]), float(profile.most[i]), parts, near) for i in where])
    return out


def window_edges(profiles: list[Profile], places: list[Ints]) -> list[list[Values]]:
    """The edges of one bin for each segment."""
    return [
        [np.array([profile.least[i], np.nextafter(profile.most[i], np.inf)]) for i in where]
        for profile, where in zip(profiles, places, strict=True)
    ]


def as_rows(edges: list[list[Values]]) -> Values:
    """The edges of both classes as the rows of one array, filled up with inf."""
    rows = [np.concatenate([*edges[k], [np.inf]]) for k in ROWS]
    width = max(len(row) for row in rows)
    return np.stack([np.append(row, np.full(width - len(row), np.inf)) for row in rows])


def refined(profiles: list[Profile], places: list[Ints], edges: list[list[Values]], whole: Histograms) -> list[Profile]:
    """The profiles in which segments are replaced by what their new bins hold."""
    out = []
    for row, profile, where, cuts in zip(ROWS, profiles, places, edges, strict=True):
        parts, start = [], 0
        for each in cuts:
            bins = slice(start, start + len(each) - 1)
            parts.append(Profile.of(*(part[row, bins] for part in whole)))
            # The bin from the last edge of this segment to the first one of the next is left out.
            start += len(each)
        out.append(profile.split(where, parts))
    return out


def gathered(profiles: list[Profile], places: list[Ints], answers: list[list[Values]]) -> list[Profile]:
    """The profiles in which segments are replaced by all their margins."""
    out = []
    for row, profile, where in zip(ROWS, profiles, places, strict=True):
        margins, counts = np.unique(np.concatenate([answer[row] for answer in answers]), return_counts=True)
        starts = np.searchsorted(margins, profile.least[where])
        ends = np.searchsorted(margins, profile.most[where], side="right")
        parts = [
            Profile.of(counts[a:b], counts[a:b] * margins[a:b], margins[a:b], margins[a:b])
            for a, b in zip(starts, ends, strict=True)
        ]
        out.append(profile.split(where, parts))
    return out


SIGNS = np.array([-1.0, 1.0])
"""What makes margins of the scores of negatives and of positives; with signs of 1 questions are about scores."""


def bins_between(edges: Values, piece: Piece, signs: ArrayLike = SIGNS) -> Histograms:
    """How many margins of each class lie between two edges, their sum, the least and the largest; edges (2, k + 1)."""
    return class_histograms(piece.scores, piece.truth, signs, edges)


def margins_between(edges: Values, sizes: Ints, piece: Piece, signs: ArrayLike = SIGNS) -> list[Values]:
    """The sorted margins of each class from an edge of even number to the next; at most ``sizes`` (2,) in all."""
    return values_between(piece.scores, piece.truth, signs, edges, sizes)


def count_ties(levels: Values, piece: Piece) -> Ints:
    """How many margins of each class equal its level, (2,)."""
    return np.asarray(count_equal(piece.scores, piece.truth, SIGNS, levels))


def flip_gradient(levels: Values, ties: Ints, scale: float, piece: Piece) -> Floats:
    """``(labels - truth) / scale`` where margins below the levels (2,) are mistakes, and the first ``ties`` at them."""
    out = np.empty_like(piece.scores)
    # A mistake on a positive takes its score away, and one on a negative adds it.
    write_below(piece.scores, piece.truth, SIGNS, levels, ties, -SIGNS / scale, out)
    return out


def added(answers: list[Histograms]) -> Histograms:
    """The histograms of the whole set; pieces are added in their order."""
    counts, sums, least, most = answers[0]
    for other in answers[1:]:
        counts, sums = counts + other.counts, sums + other.sums
        least, most = np.minimum(least, other.least), np.maximum(most, other.most)
    return Histograms(counts, sums, least, most)


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
        answers = yield partial(bins_between, np.array([[-np.inf, 0.0, np.inf]] * 2))
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
                question = partial(margins_between, as_rows(window_edges(profiles, places)), np.array(sizes[::-1]))
                profiles = gathered(profiles, places, (yield question))
            else:
                places = [chosen(p, mask) for p, mask in zip(profiles, found.unknown, strict=True)]
                edges = cut_edges(profiles, places, self._hints(found))
                profiles = refined(profiles, places, edges, added((yield partial(bins_between, as_rows(edges)))))
            found = self._look(profiles, tol)
        # The rows of levels are those of questions: negatives come first.
        levels, ties = zip(profiles[1].level(found.fp), profiles[0].level(found.fn), strict=True)
        shares = np.zeros((pieces, 2), dtype=np.int64)
        if any(ties):
            shares = _shares(np.array(ties), (yield partial(count_ties, np.array(levels))))
        gradients: list[Question] = [partial(flip_gradient, np.array(levels), share, self.scale) for share in shares]
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
                f"scores are too large, up to {largest:.3g}: their sums overflow float64. Scale them down."
            )
        return whole

    def _look(self, profiles: list[Profile], tol: float) -> BestCounts:
        return best_counts(self.bound, [Axis(profile, self.scale) for profile in profiles], tol)

    def _hints(self, found: BestCounts) -> tuple[Values, Values]:
        """What one more or one less mistake of each class gains at the best counts: there mistakes stop to pay."""
        fn, fp, near = np.full(3, float(found.fn)), np.full(3, float(found.fp)), np.arange(-1.0, 2.0)
        rows, columns = np.clip(fn + near, 0.0, self.positives), np.clip(fp + near, 0.0, self.negatives)
        return self.scale * np.diff(self.bound(rows, fp)), self.scale * np.diff(self.bound(fn, columns))


def _shares(ties: Ints, answers: list[Ints]) -> Ints:
    """How many of the margins at the level each piece takes, (pieces, 2): the first pieces take theirs first."""
    there = np.array(answers).reshape(-1, 2)
    before = np.cumsum(there, axis=0) - there
    return np.clip(ties - before, 0, there)


@final
@dataclass(frozen=True, eq=False)
class RampInPieces(PiecedEvaluator):
    """``worst - max_y <s, y - truth> / scale``, where the maximum is attained by the labels ``s > 0``.

    Parameters
    ----------
    worst : margin rescaling of the loss with the same scale
    scale : the number by which scores are divided
    nudge : how far scores of 0 are moved towards the truth before the gradient is taken
    """

    worst: PiecedEvaluator
    scale: float
    nudge: float

    convex: bool = False

    def search(self, tol: float) -> Search:
        """The dialogue of margin rescaling, and one question more."""
        found = yield from self.worst.search(tol)
        won = float(np.sum((yield partial(prediction_gain, self.scale))))
        # Of huge scores the difference is rounding alone.
        value, upper = max(found.value - won, self.floor), max(found.upper - won, self.floor)
        nudged = any((yield _has_zero))
        near = (yield from self._nudged(self.worst.search(tol))) if nudged else found
        gradients: list[Question] = [partial(ramp_gradient, each, self.scale) for each in near.gradients]
        if nudged:
            gradients = [partial(nudged_answer, each, self.nudge) for each in gradients]
        return PiecedEvaluation(value, upper, gradients)

    def _nudged(self, dialogue: Search) -> Search:
        """The same dialogue about scores that are not 0."""
        try:
            question = next(dialogue)
            while True:
                question = dialogue.send((yield partial(nudged_answer, question, self.nudge)))
        except StopIteration as end:
            found: PiecedEvaluation = end.value
            return found


def _has_zero(piece: Piece) -> bool:
    return not piece.scores.all()


def nudged_answer(question: Question, nudge: float, piece: Piece) -> Any:
    """The answer of a question whose scores of 0 are moved towards the truth."""
    moved = np.where(piece.truth, nudge, -nudge).astype(piece.scores.dtype)
    return question(Piece(np.where(piece.scores == 0, moved, piece.scores), piece.truth))


def prediction_gain(scale: float, piece: Piece) -> float:
    """What the prediction of a piece wins over the truth: ``sum |s| / scale`` over mistakes."""
    wrong = (piece.scores > 0) != piece.truth
    return float(np.abs(piece.scores[wrong]).sum(dtype=np.float64)) / scale


def ramp_gradient(worst: Question, scale: float, piece: Piece) -> Floats:
    """The gradient of margin rescaling less that of the score of the prediction, ``([s > 0] - truth) / scale``."""
    ahead = (piece.scores > 0).view(np.int8) - piece.truth.view(np.int8)
    return np.asarray(worst(piece) - ahead / scale)
