import numpy as np
import pytest

from setwise.core.surrogate import Piece, evaluated
from setwise.losses import LOSSES, RocArea
from setwise.surrogates import MarginRescaling
from setwise.surrogates.pieces.bins import BinPlan
from setwise.surrogates.pieces.lovasz import RocAreaInPieces, roc_area_in_pieces
from surrogates.places import divided, gathered, leaves_of, problems, traffic

PLANS = (BinPlan(), BinPlan(bins=3, most=8, few=0), BinPlan(bins=5, most=40, few=4))
STRATEGIES = ((1.0, 1.0), (1.0, 0.3), (2.5, 7.0))


def bound(y, margin=1.0, scale=1.0, plan=None):
    found = whole(margin, scale).in_pieces(int((~y).sum()), int(y.sum()))
    return found if plan is None else RocAreaInPieces(found.margin, scale, found.negatives, found.positives, plan)


def whole(margin=1.0, scale=1.0):
    return MarginRescaling(RocArea() if margin == 1.0 else margin * RocArea(), scale=scale)


def rounding(truth, scores, scale=1.0):
    # The whole set divides scores in their own precision.
    relative = 1e-12 if scores.dtype == np.float64 or scale == 1.0 else 1e-6
    return 1e-9 * abs(truth) + relative * (1.0 + np.abs(scores.astype(np.float64)).max() / scale)


@pytest.mark.draw(3)
@pytest.mark.parametrize(("margin", "scale"), STRATEGIES)
def test_exact_values_are_those_of_the_whole_set(margin, scale):
    for plan in PLANS:
        for _, y, scores, pieces, _ in problems(200):
            truth, found = whole(margin, scale)(y, scores), evaluated(bound(y, margin, scale, plan), pieces)
            slack = rounding(truth.value, scores, scale)
            assert abs(found.value - truth.value) <= slack
            assert found.value <= found.upper <= found.value + slack


@pytest.mark.slow
@pytest.mark.draw(3)
@pytest.mark.parametrize(("margin", "scale"), STRATEGIES)
def test_bounds_hold_at_all_tolerances(margin, scale):
    gaps = 0
    for _, y, scores, pieces, _ in problems(100, sizes=(8, 40, 150), seed=1):
        truth = whole(margin, scale)(y, scores).value
        slack = rounding(truth, scores, scale)
        for plan in PLANS[1:]:
            for tol in (1e-6, 1e-2, 1.0, 1e300):
                found = evaluated(bound(y, margin, scale, plan), pieces, tol)
                assert found.value <= truth + slack
                assert truth <= found.upper + slack
                assert found.upper - found.value <= tol + slack
                gaps += found.upper > found.value * (1 + 1e-6) + 1e-12
    assert gaps > 10


@pytest.mark.draw(4)
@pytest.mark.parametrize(("margin", "scale"), STRATEGIES)
def test_gradients_make_planes_below_the_surrogate(margin, scale):
    for rng, y, scores, pieces, places in problems(60, dtypes=(np.float64,), seed=2):
        if np.abs(scores).max() > 1e9:
            continue
        for plan in PLANS:
            found = evaluated(bound(y, margin, scale, plan), pieces, float(rng.choice([0.0, 1e-2, 1.0])))
            gradient = gathered(found, pieces, places, len(y))
            for step in (1e-3, 0.3, 3.0):
                other = scores + step * rng.standard_normal(len(y))
                plane = found.value + gradient @ (other - scores)
                assert whole(margin, scale)(y, other).value >= plane - 1e-9 * (1 + np.abs(other - scores).sum())


def test_gradients_are_those_of_the_whole_set_without_ties():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y, scores = rng.random(300) < 0.4, rng.standard_normal(300)
        pieces, places = divided(rng, y, scores)
        truth = whole(1.0, 2.0)(y, scores).gradient
        for few, near in ((4096, 1e-15), (0, 1e-5)):
            found = evaluated(bound(y, 1.0, 2.0, BinPlan(few=few)), pieces)
            assert gathered(found, pieces, places, len(y)) == pytest.approx(truth, abs=near)


def test_a_large_number_that_all_scores_share_is_not_rounded():
    rng = np.random.default_rng(7)
    y, scores = rng.random(20_000) < 0.3, 1e8 + np.round(rng.standard_normal(20_000), 3)
    truth = whole()(y, scores - 1e8).value
    found = evaluated(bound(y), divided(rng, y, scores, 3)[0], 1e-6)
    assert found.value - 1e-7 <= truth <= found.upper + 1e-7
    assert found.upper - found.value <= 1e-6


def test_pairs_at_the_margin_are_not_swapped():
    y, scores = np.array([True, False, False]), np.array([1.0, 0.0, -1.0])
    found = evaluated(bound(y), [Piece(scores, y)])
    assert (found.value, found.upper) == (0.0, 0.0)
    assert found.gradients[0](Piece(scores, y)).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.slow
def test_bounds_of_single_bins_hold():
    """Thousands of bins, of which only counts, means and ends are known."""
    rng, apart = np.random.default_rng(3), 0
    for _ in range(3000):
        n, m = rng.integers(1, 8, 2)
        b, a = (np.round(rng.standard_normal(k), int(rng.integers(0, 4))) for k in (n, m))
        leaves = leaves_of(np.concatenate([a, b]), np.arange(m + n) < m, [np.inf])
        found, truth = RocAreaInPieces(1.0, 1.0, n, m).assess(leaves), np.maximum(b[:, None] - a, 0.0).mean()
        assert found.value <= truth + 1e-12
        assert truth <= found.upper + 1e-12
        apart += found.value + 1e-6 < truth < found.upper - 1e-6
    assert apart > 1000


def test_all_scores_equal_take_two_rounds():
    rng = np.random.default_rng(4)
    for size in (2, 20_000):
        y, scores = np.arange(size) % 3 == 0, np.zeros(size, dtype=np.float32)
        found, rounds, sent, received = traffic(bound(y), divided(rng, y, scores)[0], 0.0)
        assert (found.value, found.upper) == (1.0, 1.0)
        assert rounds <= 2
        assert max(sent, received) < 30_000


def test_traffic_does_not_grow_with_the_rows():
    rng, most = np.random.default_rng(5), []
    for size in (30_000, 300_000):
        y = rng.random(size) < 0.3
        pieces = divided(rng, y, rng.standard_normal(size) + y, 4)[0]
        found, rounds, sent, received = traffic(bound(y), pieces, 1e-5)
        assert found.upper - found.value <= 1e-5
        assert rounds <= 4
        most.append((sent, received))
    assert np.max(most) < 100_000
    assert np.ptp(most, axis=0).max() < 20_000


def test_multiples_of_the_loss_are_known_from_other_losses():
    assert MarginRescaling(RocArea(), scale="size").in_pieces(4, 3).scale == 1.0
    found = roc_area_in_pieces(3 * RocArea(), 0.5, 4, 3)
    assert (found.margin, found.scale, found.negatives, found.positives) == (3.0, 0.5, 4, 3)
    others = [loss for name, kind in LOSSES.items() for loss in kind.examples(6) if name != "auc"]
    for loss in others:
        assert roc_area_in_pieces(loss, 1.0, 4, 3) is None, loss


def test_one_class_has_no_pairs():
    for y in (np.ones(4, dtype=bool), np.zeros(4, dtype=bool)):
        found = evaluated(bound(y), [Piece(np.arange(4.0), y)])
        assert (found.value, found.upper) == (0.0, 0.0)
    with pytest.raises(ValueError, match="must hold 2 negatives and 2 positives in all; got 4 and 0"):
        evaluated(RocAreaInPieces(1.0, 1.0, 2, 2), [Piece(np.arange(4.0), y)])
