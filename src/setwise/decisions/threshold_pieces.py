"""The best threshold of a set whose scores lie in several places, from histograms, without a sort of all.

The number of its swapped pairs is exact.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from setwise.core.batch import Sets
from setwise.core.checks import Bools, Ints, Values, as_count
from setwise.core.exceptions import Refusal
from setwise.core.loss import Loss
from setwise.core.pages import PLACES_REFUSE, THRESHOLDS_REFUSE
from setwise.core.surrogate import Dialogue, Question
from setwise.core.terms import Trait
from setwise.decisions.levels import NumberRanges
from setwise.decisions.thresholds import SortedDecisions, Sweep, Threshold
from setwise.kernels.histograms import Histograms
from setwise.kernels.thresholds import EQUAL
from setwise.surrogates.pieces.margins import bins_between, margins_between

GATHERED = 1 << 14
"""Up to this number of scores are asked for one by one."""

MOST = 1 << 22
"""Of losses that may fall with a further mistake all scores are asked for, up to this number."""

SCORES = 1.0, 1.0
"""The signs with which questions are about scores, and not about margins."""


@final
@dataclass(frozen=True, eq=False)
class Segments(NumberRanges):
    """Ranges of scores, with the numbers (k, 2) of their negatives and positives."""

    @classmethod
    def of(cls, answers: list[Histograms], asked: Bools | None = None) -> "Segments":
        """Those of the bins that are ``asked`` and not empty, from the answers of all pieces."""
        counts = np.sum([each.counts for each in answers], axis=0).T[::-1]
        least = np.min([each.least for each in answers], axis=(0, 1))[::-1]
        most = np.max([each.most for each in answers], axis=(0, 1))[::-1]
        some = (counts.sum(axis=1) > 0) & (True if asked is None else asked[::-1])
        return cls(counts[some], least[some], most[some])

    @classmethod
    def of_scores(cls, answers: list[list[Values]]) -> "Segments":
        """One for each different score."""
        classes = [np.concatenate([answer[c] for answer in answers]) for c in range(2)]
        scores, places = np.unique(np.concatenate(classes), return_inverse=True)
        labels = np.repeat([0, 1], [len(each) for each in classes])
        counts = np.bincount(2 * np.ravel(places) + labels, minlength=2 * len(scores)).reshape(-1, 2)
        return cls(counts[::-1], scores[::-1], scores[::-1])


@final
class ThresholdInPieces:
    """``argmin over t of loss(y, [scores >= t])`` for one set in pieces; see :func:`setwise.decisions.best_threshold`.

    The pieces tell how many scores of each class lie in bins. Between the edges of a bin a cut misses at least the
    positives below it, and has at least the false alarms above it; where the loss of these counts is above that of an
    edge, no cut inside is best. Other bins get new bins inside, until few scores are left, which are then sent.

    Parameters
    ----------
    loss : a loss of counts
    negatives, positives : the numbers of the whole set

    Raises
    ------
    Refusal : for other losses, and for those that may fall with a further mistake where the set is large
    """

    def __init__(self, loss: Loss, negatives: int, positives: int) -> None:
        N, P = as_count(negatives, "negatives", low=0), as_count(positives, "positives", low=0)
        if not N + P:
            raise ValueError("negatives and positives must not both be 0.")
        counts = Trait.COUNTS in loss.traits and loss.reads == "labels"
        bound_loss = loss.bind(Sets.pieces(np.array([P]), np.array([N]))) if counts else None
        term = None if bound_loss is None else bound_loss.counts
        if term is None or term.areas is not None:
            raise Refusal(
                f"a threshold for {loss!r} refuses pieces of a set: it is not a function of (fn, fp, P, N).",
                PLACES_REFUSE,
            )
        if term.predicted is not None:
            raise Refusal(
                f"a threshold refuses {loss!r}: it allows only some numbers of predicted positives.", THRESHOLDS_REFUSE
            )
        self.term, self.N, self.P = term, N, P
        self.increasing = bound_loss is not None and Trait.INCREASING in bound_loss.traits
        if not self.increasing and N + P > MOST:
            raise Refusal(
                f"a threshold for {loss!r} is refused for {N + P} scores in pieces, at most {MOST}: another mistake "
                "may make the loss smaller.",
                PLACES_REFUSE,
            )

    def search(self) -> Dialogue[Threshold]:
        """The dialogue that finds the best threshold."""
        segments = Segments.of((yield bins_question(np.array([-np.inf, np.inf]))))
        while True:
            unknown = self._unknown(segments)
            size = int(segments.counts[unknown].sum())
            if not size:
                return self._best(segments)
            chosen = segments.take(unknown)
            if size <= GATHERED or not self.increasing:
                known = Segments.of_scores((yield scores_question(chosen, size)))
            else:
                edges, asked = chosen.new_bins()
                known = Segments.of((yield bins_question(edges)), asked)
            segments = segments.take(~unknown).joined(known)

    def _losses(self, misses: Ints, alarms: Ints) -> Values:
        """The loss at counts of mistakes, (m,)."""
        return self.term.of(misses.astype(np.float64), alarms.astype(np.float64), 0)

    def _at_ends(self, segments: Segments) -> Values:
        """The loss where the first 0, 1, ..., k segments are predicted, (k + 1,)."""
        found = np.concatenate((np.zeros((1, 2), np.int64), np.cumsum(segments.counts, axis=0)))
        return self._losses(self.P - found[:, 1], found[:, 0])

    def _unknown(self, segments: Segments) -> Any:
        """A mask of the segments in which a cut may be best."""
        several = segments.least < segments.most
        if not self.increasing:
            return several
        found = np.cumsum(segments.counts, axis=0)
        # A cut inside misses what comes after the segment, and has the false alarms before it.
        lower = self._losses(self.P - found[:, 1], found[:, 0] - segments.counts[:, 0])
        ends = self._at_ends(segments)
        both = (segments.counts > 0).all(axis=1)
        return several & both & (lower <= ends.min() + EQUAL * np.abs(ends).max())

    def _best(self, segments: Segments) -> Threshold:
        """The threshold of least loss at the ends of segments."""
        ends, several = self._at_ends(segments), segments.least < segments.most
        # A segment of several scores is two entries, of which no cut comes after the first.
        sizes = 1 + several
        scores, losses = np.repeat(segments.least, sizes), np.repeat(ends[1:], sizes)
        first = (np.cumsum(sizes) - sizes)[several]
        scores[first], losses[first] = segments.most[several], np.inf
        none = np.zeros(len(scores), dtype=np.int32)
        order = SortedDecisions(none, none.astype(bool), scores, np.array([0, len(scores)]))
        return Sweep(order, losses, ends[:1]).best()[0]


def bins_question(edges: Values) -> Question:
    """Asks how many scores of each class lie between rising edges (k + 1,)."""
    return partial(bins_between, np.stack([edges] * 2), signs=SCORES)


def scores_question(segments: Segments, size: int) -> Question:
    """Asks for the scores of each class in the segments, which are ``size`` in all."""
    edges = np.column_stack([segments.least, np.nextafter(segments.most, np.inf)])[::-1].ravel()
    return partial(margins_between, np.stack([edges] * 2), np.array([size] * 2), signs=SCORES)


SENT = 1 << 22
"""About so many scores are sent at a time."""


def twice_swapped() -> Dialogue[int]:
    """The dialogue that finds twice the number of swapped pairs, where a pair of equal scores counts one half.

    A pair is a positive and a negative, and is swapped if the negative has the larger score. The places tell how many
    scores of each class lie in bins. All pairs of decisions in different bins are counted so, and those in bins of one
    class or of equal scores. The scores of the other bins are sent, about ``SENT`` at a time, and forgotten when their
    pairs are counted; bins that hold more than these get new bins inside first.
    """
    segments = Segments.of((yield bins_question(np.array([-np.inf, np.inf]))))
    while True:
        sizes = segments.counts.sum(axis=1)
        # One question more leaves fewer scores to send where classes overlap in a part of their range.
        large = _mixed(segments) & ((sizes > SENT) | (len(sizes) == 1))
        if not large.any():
            break
        edges, asked = segments.take(large).new_bins()
        segments = segments.take(~large).joined(Segments.of((yield bins_question(edges)), asked))
    found = _twice(segments.counts, segments.least == segments.most)
    for part in _groups(segments.counts.sum(axis=1), np.flatnonzero(_mixed(segments))):
        chosen = segments.take(part)
        scores = Segments.of_scores((yield scores_question(chosen, int(chosen.counts.sum()))))
        # Pairs of different bins are counted already.
        found += _twice(scores.counts, np.ones(len(scores.counts), dtype=bool))
        found -= _twice(chosen.counts, np.zeros(len(chosen.counts), dtype=bool))
    return found


def _mixed(segments: Segments) -> Bools:
    """The ranges that hold both classes and several scores."""
    return np.asarray((segments.counts > 0).all(axis=1) & (segments.least < segments.most))


def _twice(counts: Ints, equal: Bools) -> int:
    """Twice the number of swapped pairs of different ranges, and of those whose scores are ``equal``."""
    # Products of two numbers of a huge set leave int64.
    total = int(counts.sum())
    exact = counts if total < 1 << 31 else counts.astype(object)
    negatives, positives = exact.T
    before = 2 * (np.cumsum(negatives) - negatives)
    return int((positives * (before + np.where(equal, negatives, 0))).sum())


def _groups(sizes: Ints, places: Ints) -> list[Ints]:
    """The places in groups, each of about ``SENT`` scores or less."""
    group = (np.cumsum(sizes[places]) - 1) // max(SENT, 1)
    return [places[group == number] for number in np.unique(group)]
