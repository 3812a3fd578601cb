import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from cases import waves
from decisions.scored_sets import cut_points
from setwise.core.batch import Sets
from setwise.decisions import bagged_threshold, best_threshold, bootstrap_threshold
from setwise.decisions.resampling import counts_of, reweighted
from setwise.decisions.thresholds import bound, losses_by_set, sweep_all
from setwise.kernels.thresholds import falling_counts, mean_along
from setwise.losses import (
    MCC,
    AreaWeightedLoss,
    BalancedError,
    CountFunctionLoss,
    EarlyDetection,
    ErrorRate,
    FBeta,
    Hamming,
    Jaccard,
    RowCosts,
)

COUNTED = [FBeta(), Jaccard(), MCC(), BalancedError(), ErrorRate(), Hamming(), CountFunctionLoss(waves)]


def sample(rng, n, ties=False):
    y = rng.random(n) < 0.3
    scores = y + rng.standard_normal(n)
    return y, np.round(scores, 1) if ties else scores


@pytest.mark.draw(2)
@pytest.mark.parametrize("loss", [*COUNTED, Jaccard() + Hamming()], ids=repr)
def test_the_losses_of_a_resample_are_those_of_its_decisions(loss):
    rng = np.random.default_rng(0)
    for i in range(20):
        y, scores = sample(rng, 12, ties=i % 2 == 0)
        bound_loss = bound(loss, Sets.single(y), "test")
        order = sweep_all(bound_loss, scores).order
        weights = rng.multinomial(12, np.full(12, 1 / 12))
        chosen = np.repeat(np.arange(12), weights)
        P = np.array([order.labels[chosen].sum()])
        found = reweighted(order, counts_of(loss, P, 12 - P), 0, weights)
        predicted = np.arange(12)[None, :] < np.arange(13)[:, None]
        truth = [loss(order.labels[chosen], row[chosen]) for row in predicted]
        np.testing.assert_allclose(np.append(found.start, found.losses), truth, atol=1e-12)


def test_the_losses_of_resampled_sets_are_means_over_them():
    rng = np.random.default_rng(1)
    y, scores = sample(rng, 40)
    sets = Sets(y, np.array([0, 1, 10, 30, 40]))
    for loss in (EarlyDetection(), FBeta()):
        bound_loss = bound(loss, sets, "test")
        order = sweep_all(bound_loss, scores).order
        weights = np.array([0.5, 0.0, 0.25, 0.25])
        along = mean_along(*losses_by_set(bound_loss, order), weights)
        truth = [weights @ bound_loss.values(scores >= t) for t in order.scores]
        np.testing.assert_allclose(along, truth, atol=1e-12)


def test_weighted_counts_equal_their_twin():
    rng = np.random.default_rng(2)
    labels, weights = rng.random(50) < 0.4, rng.integers(0, 4, 50)
    P = float((weights * labels).sum())
    fn, fp = falling_counts(labels, np.array([0, 50]), np.array([P]), weights)
    np.testing.assert_array_equal(fn, P - np.cumsum(weights * labels))
    np.testing.assert_array_equal(fp, np.cumsum(weights * ~labels))


def test_the_answer_holds_the_best_threshold_and_repeats_with_its_seed():
    y, scores = sample(np.random.default_rng(3), 300)
    first, again = (bootstrap_threshold(y, scores, "f1", 50, random_state=7) for _ in range(2))
    assert first.best == best_threshold(y, scores, "f1")
    np.testing.assert_array_equal(first.thresholds, again.thresholds)
    assert (first.interval, first.loss_interval) == (again.interval, again.loss_interval)
    assert first.interval[0] <= first.best.threshold <= first.interval[1]
    assert first.loss_interval[0] <= first.best.loss + first.optimism <= first.loss_interval[1]
    assert first.optimism > 0
    tail = norm.cdf(student.ppf(0.025, 299) * np.sqrt(300 / 299))
    np.testing.assert_allclose(first.loss_interval, np.quantile(first.losses, [tail, 1 - tail]) + first.optimism)
    assert first.thresholds.shape == first.losses.shape == (50,)


def test_scores_that_separate_the_classes_leave_little_doubt():
    y = np.repeat([False, True], 50)
    found = bootstrap_threshold(y, y + np.linspace(0, 0.5, 100), "f1", 40, random_state=0)
    # No resample has a mistake at the threshold; thresholds move where the outermost decisions are not drawn.
    assert (found.losses == 0.0).all()
    assert found.loss_interval == (found.optimism, found.optimism)
    assert 0.0 <= found.optimism < 0.01
    assert 0.6 < found.interval[0] <= found.best.threshold <= found.interval[1] < 0.9


@pytest.mark.parametrize("y", [[0], [1], [0, 0, 0], [1, 1, 1]])
def test_one_class_alone_has_an_infinite_threshold_in_every_resample(y):
    found = bootstrap_threshold(y, np.arange(float(len(y))), "f1", 10, random_state=0)
    assert found.interval == ((np.inf, np.inf) if not y[0] else (-np.inf, -np.inf))
    assert found.loss_interval == (0.0, 0.0)


def test_unknown_labels_are_not_drawn():
    sets = Sets(np.array([1, -1, 0, 1, -1, 0], np.int8), np.array([0, 6]))
    scores = np.array([3.0, 9.0, 1.0, 2.0, -9.0, 0.0])
    found = bootstrap_threshold(sets, scores, "f1", 30, random_state=0)
    assert (np.isinf(found.thresholds) | ((found.thresholds > 0) & (found.thresholds < 3))).all()
    with pytest.raises(ValueError, match="y must hold a known label; got none"):
        bootstrap_threshold(Sets(np.array([-1], np.int8), np.array([0, 1])), [0.0], "f1", 3)


@pytest.mark.parametrize("loss", [EarlyDetection(), AreaWeightedLoss(FBeta(), np.ones(3)), Hamming([1.0, 2.0, 3.0])])
def test_decisions_with_places_are_not_resampled_one_by_one(loss):
    with pytest.raises(ValueError, match=r"the bootstrap refuses .* for a single set: it .*Give several sets"):
        bootstrap_threshold([0, 1, 1], [0.0, 1.0, 2.0], loss, 3)
    with pytest.raises(ValueError, match=r"the bootstrap refuses .* for a single set: it .*Give several sets"):
        bootstrap_threshold([0, 1, 1], [0.0, 1.0, 2.0], Hamming(np.ones(3)), 3)
    sets = Sets.rows([[0, 1, 1], [1, 0, 0]])
    assert bootstrap_threshold(sets, np.arange(6.0), loss, 3, random_state=0).thresholds.shape == (3,)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "rate", "shift"), [(300, 0.2, 1.5), (2000, 0.1, 1.5)])
def test_the_intervals_hold_the_truth_nearly_as_often_as_they_say(n, rate, shift):
    rng, grid, trials = np.random.default_rng(0), np.linspace(-2, 4, 3001), 200

    def true_loss(t):
        return 0.5 * norm.cdf(t - shift) + 0.5 * norm.sf(t)

    best = grid[np.argmin(true_loss(grid))]
    threshold = loss = optimism = gap = 0.0
    for _ in range(trials):
        y = rng.random(n) < rate
        found = bootstrap_threshold(y, rng.standard_normal(n) + shift * y, BalancedError(), 200, 0.9, rng)
        threshold += found.interval[0] <= best <= found.interval[1]
        truth = true_loss(found.best.threshold)
        loss += found.loss_interval[0] <= truth <= found.loss_interval[1]
        optimism, gap = optimism + found.optimism, gap + truth - found.best.loss
    # The bootstrap of a maximum is a little too narrow on few positives: nominal .9, .91 and .84 were measured.
    assert threshold / trials >= 0.82
    assert loss / trials >= 0.78
    # Most of what the loss of a tuned threshold reads too low is seen.
    assert 0.5 <= optimism / gap <= 1.3


@pytest.mark.draw(2)
@pytest.mark.parametrize("loss", [*COUNTED[:6], Jaccard() + Hamming(), FBeta() + ErrorRate()], ids=repr)
def test_drawn_rows_keep_their_weights(loss):
    y, scores = sample(np.random.default_rng(4), 30, ties=True)
    weights = np.random.default_rng(5).integers(0, 4, 30)
    found = bootstrap_threshold(y, scores, loss, 40, random_state=3, sample_weight=weights)
    assert found.best == best_threshold(y, scores, loss, sample_weight=weights)
    # The same draws by hand, of the rows that count, in falling order of their scores.
    order = sweep_all(bound(loss, Sets.single(y), "test", weights), scores).order.items
    assert len(order) == np.count_nonzero(weights)
    rng = np.random.default_rng(3)
    for threshold, lost in zip(found.thresholds, found.losses, strict=True):
        rows = order[rng.integers(len(order), size=len(order))]
        often = np.repeat(rows, weights[rows])
        assert lost == pytest.approx(loss(y[often], scores[often] >= found.best.threshold), abs=1e-12)
        want = best_threshold(y[often], scores[often], loss)
        assert loss(y[often], scores[often] >= threshold) == pytest.approx(want.loss, abs=1e-12)
    bagged = bagged_threshold(y, scores, loss, 40, random_state=3, sample_weight=weights)
    cuts = np.array([(scores[order] >= t).sum() for t in cut_points(scores[order])])
    mean = np.mean([(scores[order] >= t).sum() for t in found.thresholds])
    nearest = np.abs(cuts - mean).min()
    assert bagged == found.best or abs((scores[order] >= bagged.threshold).sum() - mean) == nearest


@pytest.mark.parametrize("search", [bootstrap_threshold, bagged_threshold])
def test_rows_of_weight_zero_are_not_drawn(search):
    y, scores = sample(np.random.default_rng(6), 60)
    weights = np.where(np.arange(60) % 3 == 0, 0.0, np.arange(60) / 7)
    rest, more = weights > 0, {"n_resamples": 30, "random_state": 1}
    for loss in (FBeta(), Hamming(), RowCosts(fp=3.0, fn=np.arange(60.0))):
        found = search(y, scores, loss, sample_weight=weights, **more)
        of = loss.of_rows(np.flatnonzero(rest))
        want = search(y[rest], scores[rest], of, sample_weight=weights[rest], **more)
        assert repr(found) == repr(want)


def test_weights_count_in_sets_that_are_drawn_whole():
    y, scores = sample(np.random.default_rng(7), 60)
    weights, offsets = np.random.default_rng(8).integers(1, 4, 60), np.array([0, 9, 20, 41, 60])
    often = np.repeat(np.arange(60), weights)
    many = Sets(y[often], np.searchsorted(often, offsets).astype(np.int64))
    found = bootstrap_threshold(Sets(y, offsets), scores, "f1", 30, random_state=1, sample_weight=weights)
    want = bootstrap_threshold(many, scores[often], "f1", 30, random_state=1)
    np.testing.assert_array_equal(found.thresholds, want.thresholds)
    np.testing.assert_allclose(found.losses, want.losses, atol=1e-12)
    assert found.loss_interval == pytest.approx(want.loss_interval)
