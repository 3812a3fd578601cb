"""Margin rescaling of a set in pieces has the value and the planes of the set in one place, and asks for little."""

import math
import pickle

import numpy as np
import pytest

from cases import count_losses
from rounds import rounds
from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.core.surrogate import Piece, PiecedEvaluation, evaluated
from setwise.core.terms import Trait
from setwise.inference import CountSearch
from setwise.losses import (
    KLD,
    MCC,
    AveragePrecision,
    Cardinality,
    CountFunctionLoss,
    ErrorRate,
    FBeta,
    GMean,
    HMean,
    Jaccard,
    PrecisionAtK,
    Q,
    SumLoss,
    Tversky,
)
from setwise.surrogates import MarginRescaling, SlackRescaling
from setwise.surrogates.pieces import counts, margins


def taken(loss):
    """Whether the loss can be evaluated in pieces."""
    try:
        MarginRescaling(loss).in_pieces(5, 3)
    except Refusal:
        return False
    return True


LOSSES = {repr(loss): loss for loss in count_losses(6) if taken(loss)}


def split(scores, truth, rng, most=8):
    """One to eight pieces, some of them empty or of one class."""
    if rng.random() < 0.2:
        order = np.argsort(truth, kind="stable")
        scores, truth = scores[order], truth[order]
    cuts = np.sort(rng.integers(0, len(scores) + 1, rng.integers(0, most)))
    return scores, truth, [Piece(s, y) for s, y in zip(np.split(scores, cuts), np.split(truth, cuts), strict=True)]


def bound_to(surrogate, truth):
    return surrogate.in_pieces(int((~truth).sum()), int(truth.sum()))


def gradient_of(found, pieces):
    """The gradient of the whole; its questions are sent to other processes."""
    parts = [pickle.loads(pickle.dumps(question))(p) for question, p in zip(found.gradients, pieces, strict=True)]
    assert all(
        part.shape == p.scores.shape and part.dtype == p.scores.dtype for part, p in zip(parts, pieces, strict=True)
    )
    return np.concatenate(parts)


def check_plane(loss, scale, scores, truth, pieces, found):
    """Value and gradient are those of one labeling."""
    gradient = gradient_of(found, pieces).astype(float)
    labels = np.rint(gradient * scale + truth)
    np.testing.assert_allclose((labels - truth) / scale, gradient, rtol=1e-12 if scores.dtype == np.float64 else 1e-6)
    assert np.isin(labels, (0, 1)).all()
    value = loss.bind(Sets.single(truth)).values(labels.astype(int))[0]
    terms = gradient * scores.astype(float)
    assert found.value == pytest.approx(value + math.fsum(terms), rel=1e-9, abs=1e-9 * max(1.0, np.abs(terms).sum()))


def scores_of(rng, p):
    """Scores of many sizes, with ties and zeros, and those of the start of a fit."""
    scores = rng.standard_normal(p) * rng.choice([0.01, 0.1, 1.0, 5.0])
    return rng.choice([scores, np.round(scores, 1), np.zeros(p), np.full(p, 0.1), np.trunc(scores)], axis=0)


@pytest.mark.draw(16)
@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
def test_random_sets_in_random_pieces(loss):
    rng = np.random.default_rng(0)
    for _ in range(rounds(200, 8)):
        p = int(rng.integers(1, 31))
        scale = rng.choice([1.0, p, 0.3])
        surrogate = MarginRescaling(loss, scale="size" if scale == p else float(scale))
        scores, truth, pieces = split(scores_of(rng, p), rng.random(p) < rng.choice([0.0, 0.2, 0.5, 1.0]), rng)
        whole, found = surrogate(truth, scores), evaluated(bound_to(surrogate, truth), pieces)
        assert whole.exact
        assert found.value == pytest.approx(whole.value, rel=1e-9, abs=1e-9)
        assert found.upper == found.value
        check_plane(loss, scale, scores, truth, pieces, found)
        tol = float(rng.choice([1e-3, 0.1, 10.0]))
        near = evaluated(bound_to(surrogate, truth), pieces, tol)
        assert near.value - 1e-9 <= whole.value <= near.upper + 1e-9
        assert near.upper - near.value <= tol + 1e-12 * max(1.0, near.upper)
        check_plane(loss, scale, scores, truth, pieces, near)


@pytest.mark.draw(8)
@pytest.mark.parametrize(
    "loss", [Jaccard(), FBeta(0.5), Tversky(0.3, 1.5), MCC(), GMean(), KLD(), Q(), Jaccard() + HMean()]
)
@pytest.mark.parametrize("scale", ["size", 1e-3])
def test_many_decisions(loss, scale):
    rng = np.random.default_rng(1)
    truth = rng.random(30_000) < 0.1
    normal = rng.standard_normal(len(truth))
    surrogate = MarginRescaling(loss, scale=scale)
    for scores in (normal, 0.7 * np.where(truth, 1, -1) + normal, 1e-4 * np.round(normal, 2), np.exp(20 * normal)):
        _, _, pieces = split(scores, truth, rng)
        whole = surrogate(truth, scores).value
        for tol in (0.0, 1e-4):
            # A sort is exact for all scores; of the largest, the sums of pieces agree to rounding.
            found, rounded = (
                evaluated(bound_to(surrogate, truth), pieces_of(scores, truth, pieces), tol),
                1e-9 * max(1, whole),
            )
            assert found.value - rounded <= whole <= found.upper + rounded
            assert found.upper - found.value <= max(tol, 1e-12 * whole)


def pieces_of(scores, truth, pieces):
    """Pieces of the same sizes."""
    ends = np.cumsum([len(piece.scores) for piece in pieces])[:-1]
    return [Piece(s, y) for s, y in zip(np.split(scores, ends), np.split(truth, ends), strict=True)]


@pytest.mark.draw(8)
@pytest.mark.parametrize("loss", [Jaccard(), FBeta(), MCC(), HMean(), ErrorRate(), KLD()])
def test_scores_of_all_sizes(loss):
    rng = np.random.default_rng(2)
    pools = [
        [5e-324, -5e-324, 0.0, -0.0],
        [1e-310, 3e-310, -2e-310, 1e-308],
        [1e300, -1e300, 1.0, -1.0, 1e-300, 0.25],
        [2e304, -2e304, 1e304, 0.5],
        [1e12, 1e12 + 1, -1e12, 0.1],
        [0.5, 0.5 + 2**-53, 0.5 - 2**-54],
    ]
    for pool in pools:
        for _ in range(rounds(20, 8)):
            p = int(rng.integers(1, 40))
            scores, truth, pieces = split(rng.choice(pool, p), rng.random(p) < 0.5, rng)
            surrogate = MarginRescaling(loss)
            whole, found = surrogate(truth, scores).value, evaluated(bound_to(surrogate, truth), pieces)
            assert found.value == pytest.approx(whole, rel=1e-9)
            assert found.upper == pytest.approx(whole, rel=1e-9)
            check_plane(loss, 1.0, scores, truth, pieces, found)


@pytest.mark.slow
def test_scores_in_single_precision():
    rng = np.random.default_rng(3)
    for _ in range(50):
        p = int(rng.integers(1, 200))
        scores, truth, pieces = split(rng.standard_normal(p).astype(np.float32), rng.random(p) < 0.3, rng)
        surrogate = MarginRescaling("f1")
        found = evaluated(bound_to(surrogate, truth), pieces)
        assert found.value == pytest.approx(surrogate(truth, scores.astype(float)).value, rel=1e-9)
        check_plane(FBeta(), 1.0, scores, truth, pieces, found)


def dialogue(evaluator, pieces, tol=0.0):
    """The evaluation, the questions, and the answers of each round, all pickled."""
    search, questions, answers = evaluator.search(tol), [], []
    try:
        question = next(search)
        while True:
            questions.append(pickle.dumps(question))
            answers.append([pickle.dumps(pickle.loads(questions[-1])(piece)) for piece in pieces])
            question = search.send([pickle.loads(answer) for answer in answers[-1]])
    except StopIteration as end:
        assert isinstance(end.value, PiecedEvaluation)
        return end.value, questions, answers


def test_questions_do_not_depend_on_who_holds_what():
    # Sums of such scores are exact, so not even their rounding differs.
    rng = np.random.default_rng(4)
    scores, truth = rng.integers(-2000, 2000, 9000) / 1024, rng.random(9000) < 0.2
    for loss in (Jaccard(), MCC(), Q()):
        seen = set()
        for _ in range(6):
            order = rng.permutation(len(scores))
            _, _, pieces = split(scores[order], truth[order], rng)
            found, questions, _ = dialogue(bound_to(MarginRescaling(loss, scale="size"), truth), pieces)
            # Ties are asked about by all or none, and who takes them is not part of a question.
            seen.add((found.value, tuple(questions)))
        assert len(seen) == 1


@pytest.mark.draw(2)
@pytest.mark.parametrize("loss", [Jaccard(), FBeta(), MCC(), GMean()])
def test_rounds_and_traffic_do_not_grow_with_the_set(loss):
    rng = np.random.default_rng(5)
    for p in (10**3, 10**4, 10**5, 10**6):
        truth = rng.random(p) < 0.1
        scores = 0.7 * np.where(truth, 1, -1) + rng.standard_normal(p)
        pieces = [Piece(s, y) for s, y in zip(np.array_split(scores, 4), np.array_split(truth, 4), strict=True)]
        found, questions, answers = dialogue(bound_to(MarginRescaling(loss, scale="size"), truth), pieces)
        assert len(questions) <= 5
        assert max(sum(map(len, each)) for each in zip(*answers, strict=True)) <= 120_000
        # The thresholds of the gradient are a few numbers.
        assert max(len(pickle.dumps(question)) for question in found.gradients) < 1500


@pytest.mark.draw(8)
@pytest.mark.parametrize("loss", [Jaccard(), FBeta(), Tversky(0.3, 1.5), MCC(), KLD(), Q(), Jaccard() + HMean()])
def test_few_bins_and_little_room(loss, monkeypatch):
    # So small sets take the ways of very large ones.
    monkeypatch.setattr(margins, "GATHERED", 4)
    rng = np.random.default_rng(6)
    problems = []
    for _ in range(5):
        truth, scores = rng.random(200) < 0.3, rng.standard_normal(200) * rng.choice([0.01, 1.0])
        surrogate = MarginRescaling(loss)
        problems.append((surrogate(truth, scores).value, bound_to(surrogate, truth), split(scores, truth, rng)))
    for bins, segments in ((8, 64), (8, 2), (64, 3)):
        monkeypatch.setattr(margins, "BINS", bins)
        monkeypatch.setattr(margins, "SEGMENTS", segments)
        for value, evaluator, (_, _, pieces) in problems:
            found = evaluated(evaluator, pieces)
            assert found.upper == found.value == pytest.approx(value, rel=1e-9)
    # Where the search gives up, its bound holds.
    monkeypatch.setattr(margins, "ROUNDS", 1)
    monkeypatch.setattr(margins, "GATHERED_LATE", 4)
    open_gaps = 0
    for room in (1 << 17, 2):
        monkeypatch.setattr(counts, "ROOM", room)
        for value, evaluator, (scores, truth, pieces) in problems:
            found = evaluated(evaluator, pieces_of(scores, truth, pieces))
            assert found.value - 1e-9 <= value <= found.upper + 1e-9
            check_plane(loss, 1.0, scores, truth, pieces, found)
            open_gaps += found.upper > found.value
    assert open_gaps > 0


def test_ties_are_taken_from_the_pieces_in_order():
    truth, scores = np.zeros(12, bool), np.full(12, -0.045)
    truth[:4] = True
    # A further mistake gains less and less, so some of the equal negatives are wrong, and not others.
    loss = CountFunctionLoss(lambda fn, fp: np.sqrt(fn + fp) / 4, [Trait.INCREASING])
    pieces = [Piece(scores[a:b], truth[a:b]) for a, b in ((0, 6), (6, 6), (6, 9), (9, 12))]
    found = evaluated(bound_to(MarginRescaling(loss), truth), pieces)
    assert found.value == pytest.approx(MarginRescaling(loss)(truth, scores).value)
    gradient = gradient_of(found, pieces)
    assert gradient[:4].tolist() == [-1.0] * 4
    wrong = np.flatnonzero(gradient[4:])
    assert 0 < len(wrong) < 8
    assert wrong.tolist() == list(range(len(wrong)))


@pytest.mark.parametrize(
    ("loss", "sentence"),
    [
        (AveragePrecision(), "does not promise Trait.COUNTS"),
        (PrecisionAtK(1), "fixes the number of predicted positives"),
        (Cardinality([0.0, 1.0, 1.5]), "asks for a number of decisions in each batch"),
        (SumLoss(None, True), "does not promise Trait.COUNTS"),
        (CountFunctionLoss(lambda fn, fp: np.sin(fn + fp) ** 2), "nothing bounds it. Promise Trait.INCREASING"),
    ],
)
def test_losses_that_are_refused(loss, sentence):
    with pytest.raises(Refusal, match=f"refuses pieces of a set: .*{sentence}"):
        MarginRescaling(loss).in_pieces(3, 2)


def test_other_refusals():
    with pytest.raises(Refusal, match="its maximum is found from histograms. Leave inference out"):
        MarginRescaling(Jaccard(), inference=CountSearch()).in_pieces(3, 2)
    for name, numbers in (("negatives", (-1, 2)), ("positives", (2, 1.5)), ("negatives and positives", (0, 0))):
        with pytest.raises((ValueError, TypeError), match=name):
            MarginRescaling(Jaccard()).in_pieces(*numbers)
    with pytest.raises(Refusal, match="needs all scores of a set in one place"):
        SlackRescaling(Jaccard()).in_pieces(3, 2)
    evaluator = MarginRescaling(Jaccard()).in_pieces(3, 2)
    piece = Piece(np.zeros(5), np.array([True, True, True, False, False]))
    with pytest.raises(ValueError, match="pieces must hold the 3 negatives and 2 positives of the set; got 2 and 3"):
        evaluated(evaluator, [piece])
    with pytest.raises(OverflowError, match="scores are too large"):
        evaluated(evaluator, [Piece(np.full(5, 1.7e308), ~piece.truth)])
    assert evaluator.floor == 0.0
