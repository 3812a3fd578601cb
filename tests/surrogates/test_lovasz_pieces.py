import numpy as np
import pytest

from cases import count_losses, problem, submodular_losses
from rounds import rounds
from setwise.core.exceptions import Refusal
from setwise.core.surrogate import Piece, evaluated
from setwise.losses import (
    MCC,
    AreaWeightedLoss,
    BalancedError,
    Cardinality,
    CountFunctionLoss,
    FBeta,
    Hamming,
    Jaccard,
    RocArea,
    SetFunctionLoss,
    Trait,
    ZeroOne,
)
from setwise.surrogates import LovaszHinge
from setwise.surrogates.pieces.bins import BinPlan
from setwise.surrogates.pieces.lovasz import LovaszInPieces
from surrogates.places import divided, gathered, leaves_of, problems, traffic

PLANS = (BinPlan(), BinPlan(bins=3, most=8, few=0), BinPlan(bins=5, most=40, few=4))


def tent(fn, fp, P, N):
    """Submodular, and falling where most of the decisions are wrong."""
    k, p = fn + fp, P + N
    return np.sqrt(k) + 0.1 * k * (p - k) / p


def dip(fn, fp, P, N):
    return (fn + fp) * (P + N - fn - fp) / (P + N) ** 2 + 0.3


SUBMODULAR = [Trait.SUBMODULAR]
LOSSES = [
    Jaccard(),
    Jaccard("fraction"),
    3.0 * Jaccard() + 0.5 * ZeroOne(),
    Hamming(),
    BalancedError(),
    ZeroOne() + Jaccard() + Hamming(),
    CountFunctionLoss(tent, promises=SUBMODULAR),
    CountFunctionLoss(dip, promises=SUBMODULAR),
]


def of_totals(loss, y, plan=None):
    found = LovaszHinge(loss).in_pieces(int((~y).sum()), int(y.sum()))
    return found if plan is None else LovaszInPieces(found.counts, found.thresholded, plan)


def sizes(y, scores):
    return 1.0 + np.abs(scores.astype(np.float64)).max()


@pytest.mark.draw(12)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_exact_values_are_those_of_the_whole_set(loss):
    for plan in PLANS:
        for _, y, scores, pieces, _ in problems(rounds(200, 40) if plan == BinPlan() else rounds(40, 12)):
            truth, found = LovaszHinge(loss)(y, scores), evaluated(of_totals(loss, y, plan), pieces)
            slack = 1e-9 * abs(truth.value) + 1e-12 * sizes(y, scores)
            assert abs(found.value - truth.value) <= slack
            assert found.value <= found.upper <= found.value + slack


@pytest.mark.slow
@pytest.mark.draw(12)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_bounds_hold_at_all_tolerances(loss):
    gaps = 0
    for _, y, scores, pieces, _ in problems(rounds(50, 20), seed=1):
        truth = LovaszHinge(loss)(y, scores).value
        rounding = 1e-9 * abs(truth) + 1e-12 * sizes(y, scores)
        for plan in PLANS[1:]:
            for tol in (1e-6, 1e-2, 1.0, 1e300):
                found = evaluated(of_totals(loss, y, plan), pieces, tol)
                assert found.value <= truth + rounding
                assert truth <= found.upper + rounding
                assert found.upper - found.value <= tol + rounding
                gaps += found.upper > found.value + rounding
    # The test is one of bounds only if some of them are apart; those of a modular loss never are.
    assert gaps > rounds(5, 1) or Trait.MODULAR in loss.traits


@pytest.mark.draw(12)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_gradients_make_planes_below_the_hinge(loss):
    for rng, y, scores, pieces, places in problems(rounds(30, 15), dtypes=(np.float64,), seed=2):
        if np.abs(scores).max() > 1e9:
            continue
        whole = LovaszHinge(loss)
        for plan in PLANS:
            found = evaluated(of_totals(loss, y, plan), pieces, float(rng.choice([0.0, 1e-2, 1.0])))
            gradient = gathered(found, pieces, places, len(y))
            for step in (1e-3, 0.3, 3.0):
                other = scores + step * rng.standard_normal(len(y))
                plane = found.value + gradient @ (other - scores)
                assert whole(y, other).value >= plane - 1e-9 * (1 + np.abs(gradient) @ np.abs(other - scores))


@pytest.mark.parametrize("few", [0, 4096])
def test_gradients_are_those_of_the_whole_set_without_ties(few):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y, scores = rng.random(80) < 0.4, rng.standard_normal(80)
        pieces, places = divided(rng, y, scores)
        found = evaluated(of_totals(Jaccard(), y, BinPlan(few=few)), pieces)
        whole = LovaszHinge(Jaccard())(y, scores)
        near = {"abs": 1e-12} if few else {"abs": 1e-3}
        assert gathered(found, pieces, places, len(y)) == pytest.approx(whole.gradient, **near)


def test_what_is_found_does_not_depend_on_how_rows_are_spread():
    rng = np.random.default_rng(3)
    for kind in ("normal", "ties", "some huge"):
        y, scores = problem(rng, 5000, kind, np.float64)
        spread = [divided(rng, y, scores, n) for n in (1, 2, 8, 40)]
        found = [evaluated(of_totals(Jaccard(), y), pieces, 1e-3) for pieces, _ in spread]
        gradients = [gathered(one, *parts, len(y)) for one, parts in zip(found, spread, strict=True)]
        for one, gradient in zip(found, gradients, strict=True):
            assert one.value == pytest.approx(found[0].value, rel=1e-12)
            assert one.upper == pytest.approx(found[0].upper, rel=1e-12)
            assert gradient == pytest.approx(gradients[0], abs=1e-12)


@pytest.mark.parametrize("loss", [Jaccard(), LOSSES[-2]], ids=repr)
def test_all_scores_equal_take_two_rounds(loss):
    rng = np.random.default_rng(4)
    for size in (1, 100, 20_000):
        y, scores = rng.random(size) < 0.3, np.zeros(size, dtype=np.float32)
        found, rounds, sent, received = traffic(of_totals(loss, y), divided(rng, y, scores)[0], 0.0)
        truth = LovaszHinge(loss)(y, scores).value
        assert found.value == pytest.approx(truth, rel=1e-12)
        assert found.upper == found.value
        assert rounds == 2
        # Some thousand decisions are sent themselves.
        assert sent < 3000
        assert received < 10_000


def test_traffic_does_not_grow_with_the_rows():
    rng, most = np.random.default_rng(5), []
    for size in (30_000, 300_000):
        y = rng.random(size) < 0.3
        pieces = divided(rng, y, rng.standard_normal(size) + y, 4)[0]
        found, rounds, sent, received = traffic(of_totals(Jaccard(), y), pieces, 1e-5)
        assert found.upper - found.value <= 1e-5
        assert rounds <= 4
        most.append((sent, received))
    assert np.max(most) < 100_000
    assert np.ptp(most, axis=0).max() < 20_000


def test_huge_and_denormal_scores_end():
    y = np.arange(6) % 2 == 0
    for scores in (
        np.array([1e300, -1e300, 5e-324, 0.0, -5e-324, 1.0]),
        np.array([1.0, np.nextafter(1.0, 2), np.nextafter(1.0, 0), -1.0, np.nextafter(-1.0, 0), 0.0]),
    ):
        for plan in PLANS:
            found = evaluated(of_totals(Jaccard(), y, plan), [Piece(scores, y), Piece(scores[:0], y[:0])])
            assert found.value == pytest.approx(LovaszHinge(Jaccard())(y, scores).value, rel=1e-12)
    with pytest.raises(OverflowError, match="too large"):
        evaluated(of_totals(1e10 * Jaccard(), y), [Piece(np.array([-1e305, 1e305] * 3), y)])


@pytest.mark.parametrize("p", [1, 3])
def test_losses_bound_to_totals_are_those_of_whole_sets(p):
    """All losses of counts are taken but those whose parameters fix the number of decisions."""
    taken = 0
    for loss in submodular_losses(p):
        for P in range(0, p + 1, rounds(1, p)):
            y, scores = np.arange(p) < P, np.linspace(-1.1, 0.7, p)
            try:
                found = evaluated(of_totals(loss, y), [Piece(scores, y)])
            except Refusal:
                assert loss not in count_losses(p) or getattr(loss, "g", getattr(loss, "weights", 0)) is not None
                continue
            taken += 1
            assert found.value == pytest.approx(LovaszHinge(loss)(y, scores).value, rel=1e-9, abs=1e-12)
    assert taken > 8


@pytest.mark.slow
def test_bounds_of_single_bins_hold():
    """Thousands of bins, of which only counts, means and ends are known."""
    rng, apart = np.random.default_rng(6), 0
    for trial in range(rounds(2000, 300)):
        loss, size = LOSSES[trial % len(LOSSES)], int(rng.integers(1, 12))
        y, scores = rng.random(size) < rng.random(), np.round(rng.standard_normal(size), int(rng.integers(0, 4)))
        ends = np.sort(rng.choice(scores, 2)) if rng.random() < 0.5 else np.array([-50.0, 50.0])
        keys = np.where(y, -scores, scores)
        evaluator = of_totals(loss, y, BinPlan(few=0))
        if evaluator.thresholded:
            # Errors above 0 alone take part.
            keys, scores = np.abs(keys), np.where(y, -np.abs(keys), np.abs(keys))
        leaves = leaves_of(keys, y, np.unique(np.append(ends[ends < keys.max()], keys.max())))
        found, truth = evaluator.assess(leaves), LovaszHinge(loss)(y, scores).value
        assert max(found.value, 0.0) <= truth + 1e-9
        assert truth <= max(found.upper, 0.0) + 1e-9
        apart += found.value + 1e-6 < truth < found.upper - 1e-6
    assert apart > rounds(300, 45)


def test_refusals():
    for loss in (AreaWeightedLoss(Jaccard(), [1.0, 2.0]), Hamming([1.0, 2.0]), SetFunctionLoss(lambda A, y: A.any())):
        with pytest.raises(Refusal, match=r"refuses pieces of a set"):
            LovaszHinge(loss).in_pieces(5, 5)
    with pytest.raises(Refusal, match="refuses pieces of a set: it asks for a number of decisions"):
        LovaszHinge(Cardinality([0.0, 1.0, 1.5])).in_pieces(5, 5)
    with pytest.raises(Refusal, match="does not promise to be submodular"):
        LovaszHinge(CountFunctionLoss(tent, promises=[Trait.INCREASING])).in_pieces(5000, 5000)
    with pytest.raises(Refusal, match="increasing=True"):
        LovaszHinge(LOSSES[-1], increasing=True).in_pieces(5, 5)
    for loss in (MCC(), FBeta()):
        with pytest.raises(Refusal, match="submodular"):
            LovaszHinge(loss).in_pieces(5, 5)
    with pytest.raises(Refusal, match="ranking"):
        LovaszHinge(RocArea()).in_pieces(5, 5)
    with pytest.raises(ValueError, match="negatives must be at least 0"):
        LovaszHinge(Jaccard()).in_pieces(-1, 5)
    with pytest.raises(ValueError, match="must not both be 0"):
        LovaszHinge(Jaccard()).in_pieces(0, 0)


def test_pieces_must_be_those_that_were_counted():
    y = np.array([True, False, False])
    with pytest.raises(ValueError, match="must hold 2 negatives and 2 positives in all; got 2 and 1"):
        evaluated(LovaszHinge(Jaccard()).in_pieces(2, 2), [Piece(np.zeros(3), y)])
    with pytest.raises(ValueError, match="finite"):
        evaluated(LovaszHinge(Jaccard()).in_pieces(2, 1), [Piece(np.array([0.0, np.nan, 1.0]), y)])
