"""The number of swapped pairs of a set whose scores lie in several places, exact, without a sort of all."""

import numpy as np

from setwise.core.checks import Bools, Ints
from setwise.core.surrogate import Dialogue
from setwise.decisions.in_pieces import Segments, bins_question, new_bins, scores_question

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
        edges, asked = new_bins(segments.take(large))
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
