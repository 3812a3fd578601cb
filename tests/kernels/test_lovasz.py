"""The extension of quotients from scores and codes equals a stable sort of all errors and differences of values."""

import itertools

import numpy as np
import pytest

from setwise.kernels.lovasz import (
    FOLDED,
    GIVEN,
    MARGINS,
    NO_LIMIT,
    PIECE,
    PROBABILITIES,
    UNIT,
    _units,
    limits_of,
    quotient_extension,
    survey,
)
from setwise.kernels.sorting import falling_bits
from setwise.kernels.threads import thread_limit
from setwise.losses import ClassWeightedLoss, Jaccard, Tversky

LOSSES = [
    Jaccard(),
    Jaccard("fraction"),
    Jaccard("ignore"),
    Tversky(0.3, 1.5, zero_division=0.0),
    ClassWeightedLoss(Jaccard(), 0.7, 3.0),
]


def drawn(rng, kind, dtype, sizes):
    """Scores with ties, codes with gaps, and sets of one class."""
    total = sum(sizes)
    scores = (rng.random(total) if kind is not MARGINS else rng.standard_normal(total)).astype(dtype)
    scores = np.where(rng.random(total) < 0.5, np.round(scores, 1).astype(dtype), scores)
    shares = np.repeat(rng.choice([0.0, 0.1, 0.5, 1.0], len(sizes)), sizes)
    if kind is FOLDED:
        # The opposite of 1 is -0.
        scores = np.where(scores > 0.5, -(1 - scores), scores)
        scores[rng.random(total) < 0.2] *= scores.dtype.type(1e-9)
    codes = np.where(rng.random(total) < 0.2, -1, rng.random(total) < shares).astype(np.int8)
    return scores, codes, np.concatenate(([0], np.cumsum(sizes)))


def of_set(loss, scores, codes, line):
    """The value and the gradient by definition: a stable sort, and a difference for each mistake."""
    places = np.flatnonzero(codes >= 0)
    y = codes[places].astype(np.intp)
    one = scores.dtype.type
    shifted = line[y, 1].astype(one) + line[y, 2].astype(one) * scores[places]
    # A sum in float64 rounds no float32 that matters here.
    errors = line[y, 0] + shifted.astype(float)
    errors += line[y, 3] * np.signbit(errors)
    order = np.argsort(-errors, kind="stable")
    order = order[errors[order] > 0]
    missed = y[order] == 1
    fn, fp = np.cumsum(missed, dtype=float), np.cumsum(~missed, dtype=float)
    P, N = float((codes == 1).sum()), float((codes == 0).sum())
    # A set in which nothing counts has the value 0.
    start = loss.of_counts(0.0, 0.0, np.array([P]), np.array([N])) if P + N else np.zeros(1)
    path = np.concatenate((start, loss.of_counts(fn, fp, np.full(len(fn), P), np.full(len(fn), N))))
    gains, gradient = np.diff(path), np.zeros(len(codes))
    gradient[places[order]] = gains * line[y[order], 2]
    return start[0] + (errors[order].astype(float) * gains).sum(), gradient


def found(loss, scores, codes, offsets, line):
    counts, last = survey(scores, codes, offsets, line)
    N, P, _ = counts
    start = loss.of_counts(np.zeros(len(P)), np.zeros(len(P)), P, N)
    quotient = loss.quotient(P, N)
    limits = limits_of(counts, last, False, *quotient, start)
    found = quotient_extension(scores, codes, offsets, line, limits, *quotient, start)
    # What is left out has no part in the result; but sums of more terms may round otherwise.
    whole = quotient_extension(scores, codes, offsets, line, np.full(len(P), NO_LIMIT, np.uint32), *quotient, start)
    np.testing.assert_allclose(found[0], whole[0], rtol=1e-15)
    np.testing.assert_array_equal(found[1], whole[1])
    return found[:2]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    "line", [MARGINS, PROBABILITIES, FOLDED, GIVEN], ids=["margins", "probabilities", "folded", "given"]
)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_equals_the_definition(loss, line, dtype):
    rng = np.random.default_rng(0)
    scores, codes, offsets = drawn(rng, line, dtype, [1, 2, 3, 60, 700, 1, 5000, 4, 4, 9, 30, 2])
    values, gradient = found(loss, scores, codes, offsets, line)
    assert gradient.dtype == scores.dtype
    for i, (a, b) in enumerate(itertools.pairwise(offsets)):
        value, expected = of_set(loss, scores[a:b], codes[a:b], line)
        assert values[i] == pytest.approx(value, rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(gradient[a:b], expected, rtol=1e-6 if dtype == "f4" else 1e-9, atol=1e-12)


@pytest.mark.parametrize("sizes", [[2 * UNIT, UNIT // 2, 5, 5 * UNIT], [9 * UNIT]], ids=["sets", "one set"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_bits_do_not_depend_on_the_number_of_threads(sizes, dtype):
    scores, codes, offsets = drawn(np.random.default_rng(1), PROBABILITIES, dtype, sizes)
    alone = found(Jaccard(), scores, codes, offsets, PROBABILITIES)
    for threads in (2, 3):
        with thread_limit(threads):
            values, gradient = found(Jaccard(), scores, codes, offsets, PROBABILITIES)
        np.testing.assert_array_equal(values, alone[0])
        np.testing.assert_array_equal(gradient, alone[1])


def test_units_hold_all_sets_once():
    offsets = np.concatenate(([0], np.cumsum([1, UNIT - 1, 1, UNIT, 2 * UNIT, 7, 8, UNIT])))
    units = _units(offsets)
    assert [first for first, _ in units] == [0, *(last for _, last in units[:-1])]
    assert units[-1][1] == len(offsets) - 1
    assert all(offsets[last] - offsets[first] <= UNIT or last == first + 1 for first, last in units)
    assert _units(np.array([0, 3, 5])) == [(0, 2)]


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("first", [1, 0], ids=["both classes", "no positive, so nothing is sorted"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, -0.1, 1.1])
def test_only_scores_that_count_must_be_in_the_range(bad, first, dtype):
    codes, offsets = np.array([first, 0, -1], dtype=np.int8), np.array([0, 3])
    for place in range(3):
        scores = np.array([0.1, 0.2, 0.3], dtype=dtype)
        scores[place] = bad
        counts, last = survey(scores, codes, offsets, MARGINS)
        assert counts.tolist() == [[2.0 - first], [first], [2.0 - first]]
        quotient, start = Jaccard().quotient(*counts[1:]), np.zeros(1)
        limits = limits_of(counts, last, True, *quotient, start)
        for low, high in ((0.0, 1.0), (-np.inf, np.inf)):
            proper = quotient_extension(scores, codes, offsets, MARGINS, limits, *quotient, start, low, high)[2]
            assert proper == (codes[place] < 0 or (low <= bad <= high and abs(bad) < np.inf))


def test_a_set_in_which_nothing_counts_is_given_a_negative():
    codes, offsets = np.array([-1, -1, 0, 0, -1, 1], dtype=np.int8), np.array([0, 2, 5, 6])
    counts, _ = survey(np.zeros(6), codes, offsets, MARGINS)
    assert counts.tolist() == [[0, 2, 0], [0, 0, 1], [1, 2, 0]]


def test_the_last_positive_is_sought_where_it_limits_the_keys():
    """A positive without an error above 0, in any piece, leaves the negatives as they are."""
    rng = np.random.default_rng(3)
    for violating in (0.0, 0.5, 1.0):
        codes = (rng.random(3 * PIECE) < 0.1).astype(np.int8)
        scores = np.where(rng.random(len(codes)) < violating, -1.0, 1.5) * np.where(codes, 1.0, -0.5)
        offsets = np.array([0, len(codes)])
        counts, last = survey(scores, codes, offsets, MARGINS)
        quotient, start = Jaccard().quotient(*counts[1:]), np.zeros(1)
        limits = limits_of(counts, last, False, *quotient, start)
        assert (limits[0] >= falling_bits(0.0)) == (violating < 1.0)
        found(Jaccard(), scores, codes, offsets, MARGINS)
