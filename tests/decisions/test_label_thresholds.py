from itertools import product
from time import process_time

import numpy as np
import pytest
from scipy.sparse import csr_matrix, random_array

from cases import waves
from decisions.scored_sets import KINDS, cut_points
from decisions.scored_sets import scores as some_scores
from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.decisions import best_threshold, label_thresholds
from setwise.decisions.label_columns import AMOUNTS, SHARE, LabelColumns
from setwise.decisions.label_thresholds import ScoredLabelMatrix
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

pytestmark = pytest.mark.filterwarnings("ignore:.*fewer than 10 positives")

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
        found = label_thresholds(known(Y), scores, loss, average, shrinkage=0.0)
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
    calls = [
        lambda Y, s, a=average: label_thresholds(Y, s, "f1", a, shrinkage=0.0)
        for average in ("macro", "micro", "samples")
    ]
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
        found = label_thresholds(known(Y), scores, loss, average, shrinkage=0.0, sample_weight=weights)
        want = label_thresholds(known(Y[often]), scores[often], loss, average, shrinkage=0.0)
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


COUNTED = [FBeta(), Jaccard("ignore"), Tversky(0.3, 0.7), BalancedError(), MCC(), Jaccard() + Hamming()]


def columns_of(Y, scores, weights=None):
    return ScoredLabelMatrix.of(known(Y), scores, weights).columns


@pytest.mark.parametrize("loss", COUNTED, ids=repr)
def test_penalized_thresholds_equal_enumeration(loss):
    rng = np.random.default_rng(7)
    for _ in range(40):
        Y, scores = matrix(rng)
        weights = rng.integers(1, 4, len(Y)).astype(float)
        columns, costs = columns_of(Y, scores, weights), rng.random((3, 2))
        each = columns.at(weights)
        found = columns.penalized(*columns.losses(loss, each), each, costs)
        often = np.repeat(np.arange(len(Y)), weights.astype(int))
        for c in range(Y.shape[1]):
            labels, s = Y[often, c], scores[often, c]
            if not (labels >= 0).any():
                assert (found[:, c] == np.inf).all()
                continue
            bound_loss = loss.bind(Sets(labels, np.array([0, len(labels)])))

            def value(t, cost, labels=labels, s=s, bound_loss=bound_loss):
                fn, fp = ((labels == 1) & (s < t)).sum(), ((labels == 0) & (s >= t)).sum()
                return bound_loss.values(s >= t)[0] + cost @ [fn, fp]

            for t, cost in zip(found[:, c], costs, strict=True):
                assert value(t, cost) <= min(value(cut, cost) for cut in cut_points(s)) + 1e-9


def sparse_matrix(rng):
    """Labels and scores, some of which are stored zeros or not stored."""
    n, p = int(rng.integers(1, 8)), int(rng.integers(1, 5))
    scores = np.round(random_array((n, p), density=0.5, rng=rng).toarray(), 1).astype(rng.choice(["f4", "f8"]))
    Y = (rng.random((n, p)) < rng.choice([0.0, 0.3, 1.0])).astype(np.int8)
    stored, entries = csr_matrix(scores), csr_matrix(Y)
    if stored.nnz:
        stored.data[rng.random(stored.nnz) < 0.2] = 0.0
    return entries, stored


@pytest.mark.parametrize("loss", COUNTED, ids=repr)
def test_sparse_columns_are_decided_as_dense_ones(loss):
    rng = np.random.default_rng(8)
    for k in range(60):
        Y, scores = sparse_matrix(rng)
        weight = None if k % 2 else rng.integers(0, 3, Y.shape[0]) + (np.arange(Y.shape[0]) == 0)
        for shrinkage in (0.0, 0.3, "auto"):
            given = {"shrinkage": shrinkage, "sample_weight": weight, "random_state": 1}
            found = label_thresholds(Y, scores, loss, **given)
            want = label_thresholds(Y.toarray(), scores.toarray(), loss, **given)
            assert found.exact is want.exact is (shrinkage == 0.0)
            assert found.loss == pytest.approx(want.loss, abs=1e-9)
            if shrinkage:
                np.testing.assert_allclose(found.thresholds, want.thresholds, rtol=1e-6)
            if weight is None:
                reached = averaged(loss, Y.toarray(), scores.toarray() >= found.thresholds, "macro")
                assert found.loss == pytest.approx(reached, abs=1e-9)


def test_sparse_labels_with_dense_scores_are_those_of_the_dense_matrix():
    rng = np.random.default_rng(9)
    Y, scores = rng.random((30, 3)) < 0.4, rng.standard_normal((30, 3))
    for average in ("macro", "micro"):
        found, want = (label_thresholds(y, scores, "f1", average) for y in (csr_matrix(Y), Y))
        np.testing.assert_array_equal(found.thresholds, want.thresholds)


def rare(rng, n=400, p=30):
    """Labels of which most are rare, with scores that tell little."""
    Y = rng.random((n, p)) < np.geomspace(0.3, 0.005, p)
    return Y, Y + rng.standard_normal((n, p)) + np.linspace(0.0, -1.5, p)


def test_shrunk_thresholds_lose_less_on_new_rows_under_micro_and_macro():
    shares = np.zeros((2, 2))
    for seed in range(4):
        rng = np.random.default_rng(seed)
        (Y, scores), (later, new) = rare(rng), rare(rng, 4000)
        for k, shrinkage in enumerate((0.0, "auto")):
            t = label_thresholds(Y, scores, "f1", shrinkage=shrinkage).thresholds
            shares[k] += [averaged(FBeta(), later.astype(np.int8), new >= t, a) / 4 for a in ("macro", "micro")]
    assert shares[1, 0] < shares[0, 0]
    assert shares[1, 1] < shares[0, 1] - 0.02


def test_the_amount_is_the_largest_that_costs_little_on_rows_held_out():
    Y, scores = rare(np.random.default_rng(0))
    columns, held = columns_of(Y.astype(np.int8), scores), np.zeros((len(AMOUNTS), 4, Y.shape[1]))
    rng = np.random.default_rng(3)
    for _ in range(60):
        drawn = np.bincount(rng.integers(400, size=400), minlength=400)
        weights = columns.at(drawn.astype(float))
        costs = Y.shape[1] * AMOUNTS[:, None] * columns.slopes(FBeta())
        found, left = columns.penalized(*columns.losses(FBeta(), weights), weights, costs), drawn == 0
        for k, t in enumerate(found):
            truth, guess = Y[left], scores[left] >= t
            held[k] += [(truth & guess).sum(0), (truth & ~guess).sum(0), (~truth & guess).sum(0), truth.sum(0)]
    tp, fn, fp, P = held.transpose(1, 0, 2)
    losses = np.where(fn + fp > 0, 1 - 2 * tp / np.maximum(2 * tp + fn + fp, 1), 0.0).mean(1)
    none = (P[0] > 0).mean()
    best = AMOUNTS[losses <= losses.min() + SHARE * (none - losses.min())][-1]
    found, want = (columns.shrunk(FBeta(), a, np.random.default_rng(3)) for a in (AMOUNTS, np.array([best])))
    np.testing.assert_array_equal(found, want)


def test_slopes_are_those_of_the_micro_loss_at_the_best_common_threshold():
    Y, scores = rare(np.random.default_rng(1))
    t = best_threshold(Y.ravel(), scores.ravel(), "f1").threshold
    tp, wrong = (Y & (scores >= t)).sum(), ((scores >= t) != Y).sum()
    whole, P = 2 * tp + wrong, Y.sum()
    miss, alarm = columns_of(Y.astype(np.int8), scores).slopes(FBeta())
    assert alarm == pytest.approx(2 * tp / whole**2, rel=0.02)
    assert miss == pytest.approx((2 * whole - 2 * tp) / whole**2, rel=0.02)
    assert P > tp > 0


def test_a_label_without_positives_alone_has_an_infinite_threshold():
    Y, scores = rare(np.random.default_rng(2))
    Y[0], Y[:, 3] = True, False
    found = label_thresholds(Y, scores, "f1").thresholds
    assert found[3] == np.inf
    assert np.isfinite(np.delete(found, 3)).all()


@pytest.mark.filterwarnings("error")
def test_labels_with_few_positives_are_warned_of():
    Y = np.arange(40)[:, None] % [2, 5, 4] == 0
    scores = np.random.default_rng(0).standard_normal(Y.shape)
    with pytest.warns(UserWarning, match="1 of 3 labels have fewer than 10 positives, so that their thresholds"):
        label_thresholds(Y, scores, "f1")
    label_thresholds(Y[:, ::2], scores[:, ::2], "f1")
    label_thresholds(Y, scores, "f1", "micro")


def test_amounts_and_sparse_matrices_that_do_not_fit_are_refused():
    Y, S = csr_matrix(np.eye(3)), csr_matrix(np.eye(3))
    with pytest.raises(ValueError, match=r"shrinkage must be 'auto' or 0 for average='micro'; got 0\.5"):
        label_thresholds(np.eye(3, dtype=int), np.eye(3), "f1", "micro", shrinkage=0.5)
    with pytest.raises(ValueError, match="shrinkage must be 'auto' or a number from 0 on; got 'much'"):
        label_thresholds(np.eye(3, dtype=int), np.eye(3), "f1", shrinkage="much")
    with pytest.raises(Refusal, match=r"shrinkage=1\.0 refuses EarlyDetection\(\): it is not a function of counts"):
        label_thresholds(np.eye(3, dtype=int), np.eye(3), EarlyDetection(), shrinkage=1.0)
    assert label_thresholds(np.eye(3, dtype=int), np.eye(3), EarlyDetection()).exact
    with pytest.raises(TypeError, match="Y must be a sparse matrix, as scores is; got ndarray"):
        label_thresholds(np.eye(3), S, "f1")
    with pytest.raises(ValueError, match="average must be 'macro' for sparse scores; got 'micro'"):
        label_thresholds(Y, S, "f1", "micro")
    with pytest.raises(Refusal, match=r"refuses EarlyDetection\(\) for sparse scores: it is not a function of counts"):
        label_thresholds(Y, S, EarlyDetection())
    with pytest.raises(ValueError, match=r"one shape \(n, p\); got \(3, 3\) and \(3, 2\)"):
        label_thresholds(Y, S[:, :2], "f1")
    with pytest.raises(ValueError, match=r"sparse scores must not be negative, since .* got -1\.0"):
        label_thresholds(Y, -S, "f1")
    with pytest.raises(ValueError, match="Y must hold 0 and 1 only"):
        label_thresholds(2 * Y, S, "f1")
    with pytest.raises(ValueError, match="scores must be finite"):
        label_thresholds(Y, S * np.nan, "f1")
    assert LabelColumns.of_sparse(Y, S).n_positives.tolist() == [1, 1, 1]
