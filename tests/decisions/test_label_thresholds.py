from itertools import product
from time import process_time

import numpy as np
import pytest

from cases import waves
from decisions.scored_sets import KINDS, cut_points
from decisions.scored_sets import scores as some_scores
from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.decisions import best_threshold, label_thresholds
from setwise.losses import (
    MCC,
    AreaWeightedLoss,
    BalancedError,
    CountFunctionLoss,
    EarlyDetection,
    ErrorRate,
    FBeta,
    GMean,
    Hamming,
    Jaccard,
    SaturatingLoss,
    Tversky,
    ZeroOne,
)

QUOTIENTS = [Jaccard(), Jaccard("ignore"), Jaccard("fraction"), FBeta(), FBeta(2.0, 0.0), Tversky(0.3, 0.7)]
SUMS = [Hamming(), BalancedError(), ErrorRate(), 0.5 * Hamming()]
OTHERS = [MCC(), GMean(), CountFunctionLoss(waves), Jaccard() + Hamming(), ZeroOne(), SaturatingLoss(0.3)]
ALL = [*QUOTIENTS, *SUMS, *OTHERS]


def matrix(rng):
    """A small label matrix, in some of which labels are unknown, with scores."""
    n, p = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    Y = (rng.random((n, p)) < rng.choice([0.0, 0.3, 0.6, 1.0], p)).astype(np.int8)
    if rng.random() < 0.2:
        Y[rng.random((n, p)) < 0.3] = -1
    return Y, some_scores(rng, n * p, rng.choice(KINDS), rng.choice(["f4", "f8"])).reshape(n, p)


def known(Y):
    n, p = Y.shape
    return Sets(Y.ravel(), np.arange(n + 1) * p)


def averaging(loss, Y, average):
    """The averaged loss of what is predicted, by its definition."""
    if average == "macro":
        columns = loss.bind(known(np.ascontiguousarray(Y.T)))
        return lambda predicted: columns.values(np.ascontiguousarray(predicted.T).ravel()).mean()
    sets = loss.bind(known(Y) if average == "samples" else Sets(Y.ravel(), np.array([0, Y.size])))
    return lambda predicted: sets.values(predicted.ravel()).mean()


def averaged(loss, Y, predicted, average):
    """The averaged loss."""
    return averaging(loss, Y, average)(predicted)


def enumerated(loss, Y, scores, average):
    """The least averaged loss over all combinations of cut points."""
    cuts, value = [cut_points(column) for column in scores.T], averaging(loss, Y, average)
    return min(value(scores >= np.array(t)) for t in product(*cuts))


@pytest.mark.draw(8)
@pytest.mark.parametrize("average", ["macro", "micro"])
@pytest.mark.parametrize("loss", [*QUOTIENTS, *SUMS], ids=repr)
def test_exact_averages_equal_enumeration(loss, average):
    rng = np.random.default_rng(0)
    for _ in range(60):
        Y, scores = matrix(rng)
        found = label_thresholds(known(Y), scores, loss, average)
        assert found.exact
        assert found.thresholds.shape == (Y.shape[1],)
        assert abs(averaged(loss, Y, scores >= found.thresholds, average) - found.loss) < 1e-12
        assert abs(found.loss - enumerated(loss, Y, scores, average)) < 1e-12


@pytest.mark.slow
@pytest.mark.draw(2)
@pytest.mark.parametrize(("average", "losses"), [("samples", ALL), ("micro", OTHERS)])
def test_other_averages_are_never_worse_than_a_common_threshold_nor_improved_by_one_column(average, losses):
    rng, best = np.random.default_rng(1), 0
    for k in range(150):
        Y, scores = matrix(rng)
        loss = losses[k % len(losses)]
        if -1 in Y and average == "micro":
            continue
        found = label_thresholds(known(Y), scores, loss, average)
        assert abs(averaged(loss, Y, scores >= found.thresholds, average) - found.loss) < 1e-12
        assert found.exact is (Y.shape[1] == 1 or (loss in SUMS and average == "samples"))
        least = enumerated(loss, Y, scores, average)
        assert found.loss <= least + 1e-12 or not found.exact
        assert found.loss >= least - 1e-12
        best += found.loss <= least + 1e-12
        if average == "samples":
            assert found.loss <= best_threshold(known(Y), scores.ravel(), loss).loss + 1e-12
        value = averaging(loss, Y, average)
        for c in range(Y.shape[1]):
            for t in cut_points(scores[:, c]):
                other = np.where(np.arange(Y.shape[1]) == c, t, found.thresholds)
                assert value(scores >= other) >= found.loss - 1e-11
    # Small problems are nearly always solved.
    assert best >= 120 if average == "samples" else best >= 90


def test_columns_need_thresholds_of_their_own_where_their_scores_are_shifted():
    rng = np.random.default_rng(0)
    Y = rng.random((300, 5)) < 0.3
    scores = 4.0 * Y + rng.standard_normal(Y.shape) + 10.0 * np.arange(5)
    for average in ("macro", "micro", "samples"):
        found = label_thresholds(Y, scores, "f1", average)
        np.testing.assert_allclose(found.thresholds - 10.0 * np.arange(5), 2.0, atol=1.2)


@pytest.mark.parametrize(
    "loss",
    [EarlyDetection(), AreaWeightedLoss(FBeta(), [1.0, 2.0, 0.5]), SaturatingLoss(1.0, [1.0, 2.0, 3.0])],
    ids=repr,
)
def test_losses_of_places_are_decided_by_rows(loss):
    rng = np.random.default_rng(2)
    Y, scores = rng.random((20, 3)) < 0.5, rng.standard_normal((20, 3))
    found = label_thresholds(Y, scores, loss, "samples")
    assert abs(averaged(loss, Y.astype(np.int8), scores >= found.thresholds, "samples") - found.loss) < 1e-12


def test_areas_and_weights_are_pooled_exactly():
    rng = np.random.default_rng(3)
    for _ in range(40):
        Y, scores = rng.random((4, 2)) < 0.4, np.round(rng.standard_normal((4, 2)), 1)
        areas = rng.random(8) + 0.1
        for loss in (AreaWeightedLoss(FBeta(), areas), Hamming(areas), Jaccard() + Hamming(areas)):
            found = label_thresholds(Y, scores, loss, "micro")
            least = enumerated(loss, Y.astype(np.int8), scores, "micro")
            assert found.loss >= least - 1e-12
            if found.exact:
                assert found.loss <= least + 1e-12
        assert label_thresholds(Y, scores, Hamming(areas), "micro").exact


def test_a_loss_that_is_no_function_of_counts_is_not_pooled():
    with pytest.raises(ValueError, match=r"average='micro' refuses EarlyDetection\(\): it is neither"):
        label_thresholds(np.eye(3, dtype=int), np.eye(3), EarlyDetection(), "micro")


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"scores must have shape \(3, 3\), one per decision; got shape \(9,\)"):
        label_thresholds(np.eye(3, dtype=int), np.zeros(9), "f1")
    with pytest.raises(ValueError, match="average must be one of 'macro', 'micro', 'samples'; got 'mean'"):
        label_thresholds(np.eye(3, dtype=int), np.eye(3), "f1", "mean")
    with pytest.raises(ValueError, match="Y must have sets of one size; got 1 to 2 decisions"):
        label_thresholds(Sets(np.ones(3, bool), np.array([0, 1, 3])), np.zeros((2, 2)), "f1")


@pytest.mark.slow
def test_a_large_matrix_and_a_large_set_take_less_than_a_second():
    rng = np.random.default_rng(0)
    Y = rng.random((100_000, 14)) < rng.uniform(0.02, 0.5, 14)
    scores = rng.standard_normal(Y.shape) + Y * rng.uniform(0.3, 2.0, 14)
    calls = [lambda Y, s, a=average: label_thresholds(Y, s, "f1", a) for average in ("macro", "micro", "samples")]
    calls.append(lambda Y, s: best_threshold(Y.ravel(), s.ravel(), "f1"))
    for call in calls:
        # The first call compiles. The time is that of the processor: others may use the machine, too.
        call(Y[:100], scores[:100])
        begin = process_time()
        call(Y, scores)
        assert process_time() - begin < 1.0


WEIGHTED = [FBeta(), Tversky(0.3, 0.7), ErrorRate(), BalancedError(), Hamming(), MCC(), Jaccard() + Hamming()]


@pytest.mark.draw(4)
@pytest.mark.parametrize("average", ["macro", "micro", "samples"])
@pytest.mark.parametrize("loss", WEIGHTED, ids=repr)
def test_weights_of_rows_are_so_many_rows(loss, average):
    rng = np.random.default_rng(5)
    for _ in range(40):
        Y, scores = matrix(rng)
        weights = rng.integers(0, 4, len(Y)) + (np.arange(len(Y)) == 0)
        often = np.repeat(np.arange(len(Y)), weights)
        found = label_thresholds(known(Y), scores, loss, average, sample_weight=weights)
        want = label_thresholds(known(Y[often]), scores[often], loss, average)
        reached = averaged(loss, Y[often], scores[often] >= found.thresholds, average)
        assert found.loss == pytest.approx(reached, abs=1e-12)
        assert found.exact is want.exact
        if found.exact:
            assert found.loss == pytest.approx(want.loss, abs=1e-12)


def test_under_samples_weights_of_rows_weigh_the_mean_of_any_loss():
    rng = np.random.default_rng(6)
    Y, scores, weights = rng.random((9, 2)) < 0.5, rng.standard_normal((9, 2)), rng.random(9) * (np.arange(9) != 4)
    loss = EarlyDetection()
    found = label_thresholds(Y, scores, loss, "samples", sample_weight=weights)
    each = loss.bind(Sets.rows(Y)).values((scores >= found.thresholds).ravel())
    assert found.loss == pytest.approx(np.average(each, weights=weights))
    assert label_thresholds(Y, scores, loss, "samples", sample_weight=7 * weights).loss == pytest.approx(found.loss)
    for average in ("macro", "micro"):
        with pytest.raises(Refusal, match="refuses weights of rows"):
            label_thresholds(Y, scores, loss, average, sample_weight=weights)
    with pytest.raises(ValueError, match=r"sample_weight must have shape \(9,\)"):
        label_thresholds(Y, scores, "f1", sample_weight=np.ones(18))
