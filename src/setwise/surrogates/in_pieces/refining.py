"""How profiles come to know more: what is asked about segments that are not settled, and what the answers make of them.

Pairs are of the positives and of the negatives; rows of edges and answers are of the negatives and of the positives.
"""

from collections.abc import Sequence

import numpy as np

from setwise.core.checks import Bools, Ints, Values
from setwise.kernels.histograms import Histograms
from setwise.surrogates.in_pieces.profile import Profile, new_edges

BINS = 512
"""About how many bins of each class a question asks about."""

SEGMENTS = 2 * BINS
"""The most segments of a class that are cut at once; each gets some bins, however many there are."""

ROWS = (1, 0)
"""The rows of the positives and of the negatives."""

Pair = tuple[Profile, Profile]


def first_profiles(whole: Histograms) -> Pair:
    """The profiles of bins of each class."""
    first, second = (Profile.of(*(each[row] for each in whole)) for row in ROWS)
    return first, second


def chosen(profile: Profile, unknown: Bools) -> Ints:
    """The unknown segments that are cut at once: all, or those of the most margins and widest ranges of very many."""
    places = np.flatnonzero(unknown)
    if len(places) <= SEGMENTS:
        return places
    size = profile.counts[places] * (profile.most[places] - profile.least[places])
    return np.sort(places[np.argsort(-size, kind="stable")[:SEGMENTS]])


def cut_edges(profiles: Pair, places: Sequence[Ints], hints: Sequence[Values]) -> list[list[Values]]:
    """The edges of new bins inside of segments, an array for each of them."""
    out = []
    for profile, where, near in zip(profiles, places, hints, strict=True):
        parts = BINS // max(len(where), 1)
        out.append([new_edges(float(profile.least[i]), float(profile.most[i]), parts, near) for i in where])
    return out


def window_edges(profiles: Pair, places: Sequence[Ints]) -> list[list[Values]]:
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


def refined(profiles: Pair, places: Sequence[Ints], edges: list[list[Values]], whole: Histograms) -> Pair:
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
    return out[0], out[1]


def gathered(profiles: Pair, places: Sequence[Ints], answers: list[list[Values]]) -> Pair:
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
    return out[0], out[1]
