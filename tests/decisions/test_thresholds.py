from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import f1_score

from cases import composites
from decisions.scored_sets import cut_points, losses_at, ragged
from decisions.scored_sets import scores as scores_of
from rounds import rounds
from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.decisions import bagged_threshold, best_threshold, threshold_curve
from setwise.losses import (
    LOSSES,
    MCC,
    BalancedError,
    ClassWeightedHamming,
    CountFunctionLoss,
    EarlyDetection,
    ErrorRate,
    FBeta,
    GMean,
    Hamming,
    Jaccard,
    OneClass,
    PrecisionAtK,
    RocArea,
    RowCosts,
    ZeroOne,
)

MAKERS = {name: kind.examples for name, kind in LOSSES.items() if kind.examples(4)[0].reads != "scores"}
MAKERS["composites"] = composites


def examples(name, sets):
    """Examples of a loss that fit all the sets: those with weights fit sets of one size."""
    for p in np.unique(sets.sizes):
        for loss in MAKERS[name](int(p)):
            try:
                loss.bind(sets)
            except ValueError:
                continue
            yield loss
        break


def rows(rng):
    """Sets of one size, which losses with one weight for each place fit."""
    n, p = rng.integers(1, 5), rng.integers(1, 8)
    return Sets.rows(rng.random((n, p)) < rng.choice([0.0, 0.3, 1.0])), rng.integers(-2, 3, n * p) / 2.0


@pytest.mark.draw(24)
@pytest.mark.parametrize("name", MAKERS)
def test_the_best_threshold_equals_enumeration(name):
    rng, tried = np.random.default_rng(0), 0
    while tried < rounds(200, 10 if name == "set_function" else 20):
        # These losses read the labels that are not known, and no threshold leaves them out.
        unknown = tried % 5 == 1 and name not in ("box_fullness", "count_range")
        sets, scores = rows(rng) if tried % 5 == 0 else ragged(rng, unknown=unknown)
        for loss in examples(name, sets):
            check(loss, sets, scores)
            tried += 1


def check(loss, sets, scores):
    found = best_threshold(sets, scores, loss)
    known = scores if sets.known is None else scores[sets.known]
    truth = losses_at(loss, sets, scores, cut_points(known))
    size = 1e-11 * max(1.0, np.abs(truth).max())
    # The loss that is named is the loss at the threshold, and least; it is that of the whole interval.
    assert abs(found.loss - truth.min()) <= size
    at = [found.threshold, found.low, found.high]
    np.testing.assert_allclose(losses_at(loss, sets, scores, at), found.loss, atol=size)
    assert found.low <= found.threshold <= found.high
    # An infinite threshold is the answer only where no finite cut point is as good.
    if np.isinf(found.threshold) and len(truth) > 2:
        assert truth[1:-1].min() > found.loss
    thresholds, losses = threshold_curve(sets, scores, loss)
    assert (np.diff(thresholds) < 0).all()
    assert len(thresholds) == len(np.unique(known)) + 1
    np.testing.assert_allclose(losses, losses_at(loss, sets, scores, thresholds), atol=size)
    # Every cut point is there, and float32 scores see the thresholds as they are.
    if len(thresholds) == len(truth):
        np.testing.assert_allclose(losses, truth, atol=size)
    inside = thresholds[1:-1].astype(scores.dtype)
    assert (inside == thresholds[1:-1]).all()


def test_a_threshold_lies_in_the_middle_of_two_scores_and_its_interval_is_theirs():
    found = best_threshold([0, 0, 1, 1], [0.1, 0.2, 0.4, 0.9], "f1")
    assert found.threshold == pytest.approx(0.3)
    assert (found.low, found.high, found.loss, found.exact) == (np.nextafter(0.2, 1), 0.4, 0.0, True)


def test_the_longest_run_of_equal_losses_is_taken_and_its_middle():
    # Only mistakes at places 0 and 5 cost: the thresholds between 0.3 and 0.9 have the same loss.
    loss = Hamming(weights=[1.0, 0.0, 0.0, 0.0, 0.0, 1.0])
    found = best_threshold([1, 0, 0, 0, 0, 0], [0.9, 0.7, 0.6, 0.5, 0.4, 0.3], loss)
    assert (found.low, found.high) == (np.nextafter(0.3, 1), 0.9)
    assert found.threshold == pytest.approx(0.55)


def test_of_two_runs_the_one_between_scores_further_apart_is_taken():
    # The first score alone, or the first three, are predicted with one mistake.
    for scores, threshold in (([5.0, 4.0, 3.0, 0.0], 1.5), ([5.0, 1.0, 0.5, 0.0], 3.0)):
        assert best_threshold([1, 0, 1, 0], scores, "hamming").threshold == pytest.approx(threshold)


@pytest.mark.parametrize(("y", "threshold"), [([0, 0], np.inf), ([1, 1], -np.inf), ([1], -np.inf), ([0], np.inf)])
def test_one_class_alone_is_predicted_by_an_infinite_threshold(y, threshold):
    found = best_threshold(y, np.linspace(0.2, 0.4, len(y)), "f1")
    assert (found.threshold, found.loss) == (threshold, 0.0)


def test_infinite_thresholds_are_left_out_where_finite_ones_are_as_good():
    sets = Sets(np.array([-1, 0, 1], np.int8), np.array([0, 3]))
    assert best_threshold(sets, [0.0, 0.5, 0.5], Hamming()).threshold == np.inf
    assert best_threshold([0, 1, 0, 1], [3.0, 2.0, 1.0, 0.0], "hamming").threshold == pytest.approx(1.5)


def test_sets_without_a_known_label_have_no_cut_point():
    sets = Sets(np.full(3, -1, np.int8), np.array([0, 1, 3]))
    found = best_threshold(sets, [0.0, 1.0, 2.0], "jaccard")
    assert (found.threshold, found.low, found.high, found.loss) == (np.inf, -np.inf, np.inf, 0.0)


def test_float32_scores_are_cut_where_float32_comparisons_see_it():
    scores = np.array([1.0, np.nextafter(np.float32(1.0), np.float32(2.0))], dtype=np.float32)
    found = best_threshold([0, 1], scores, "f1")
    assert (scores >= found.threshold).tolist() == [False, True]


def test_a_common_threshold_is_not_that_of_the_pooled_decisions():
    rng = np.random.default_rng(3)
    Y = rng.random((40, 6)) < 0.4
    scores = (Y + rng.standard_normal(Y.shape)).ravel()
    mean, pooled = best_threshold(Sets.rows(Y), scores, "f1"), best_threshold(Y.ravel(), scores, "f1")
    at_pooled = FBeta().values(Sets.rows(Y), scores >= pooled.threshold).mean()
    assert mean.loss < at_pooled


def test_losses_of_a_ranking_have_no_threshold():
    for loss in (RocArea(), PrecisionAtK(2), "average_precision"):
        with pytest.raises(ValueError, match="reads the order of scores, not labels"):
            best_threshold([0, 1, 1], [0.1, 0.2, 0.3], loss)


def test_nan_and_wrong_lengths_are_refused():
    with pytest.raises(ValueError, match="scores must be finite"):
        best_threshold([0, 1], [0.0, np.nan], "f1")
    with pytest.raises(ValueError, match="scores must have shape"):
        best_threshold([0, 1], [0.0], "f1")
    with pytest.raises(ValueError, match="y must hold labels 0 and 1"):
        best_threshold([0, 2], [0.0, 1.0], "f1")


def test_classes_of_two_labels_are_decided_too():
    y, s = [0, 1, 1, 0], [0.4, 0.3, 0.2, 0.1]
    assert (
        best_threshold(y, s, OneClass(Jaccard(), 0)).loss
        == losses_at(OneClass(Jaccard(), 0), Sets.single(y), np.array(s), cut_points(np.array(s))).min()
    )


def test_a_million_decisions_are_one_sort_and_one_pass():
    rng = np.random.default_rng(0)
    y = rng.random(200_000) < 0.1
    scores = y + rng.standard_normal(len(y))
    found = best_threshold(y, scores, "f1")
    order = np.argsort(-scores)
    tp = np.cumsum(y[order])
    assert found.loss == pytest.approx(1 - (2 * tp / (np.arange(1, len(y) + 1) + y.sum())).max(), abs=1e-15)


def test_early_detection_reads_mistakes_and_is_swept_all_the_same():
    rng = np.random.default_rng(1)
    sets, scores = Sets.rows(rng.random((30, 8)) < 0.5), rng.standard_normal(240)
    for loss in (EarlyDetection(), EarlyDetection() + 0.1 * Hamming(), ZeroOne()):
        check(loss, sets, scores)


@pytest.mark.parametrize("search", [best_threshold, bagged_threshold, threshold_curve])
def test_finite_losses_whose_sum_overflows_are_refused(search):
    loss = CountFunctionLoss(lambda fn, fp, P, N: 1.7e308 * np.minimum(fn + fp, 1.0))
    with pytest.raises(OverflowError, match="overflows float64 on these sets"):
        search(Sets.rows([[True, False], [True, False]]), [0.1, 0.2, 0.3, 0.4], loss)


COUNTED = [FBeta(), FBeta(2.0), Jaccard(), MCC(), GMean(), BalancedError(), ErrorRate(), FBeta() + 0.5 * ErrorRate()]
COUNTED += [Hamming(), ClassWeightedHamming(1.0, 3.0), RowCosts(fp=5.0, fn=2.0), ZeroOne()]


def weighted_rows(rng):
    sets, scored = ragged(rng, unknown=rng.random() < 0.3)
    return sets, scored, rng.integers(0, 4, sets.total) + (np.arange(sets.total) == 0)


@pytest.mark.parametrize("loss", [*COUNTED, "costs"], ids=repr)
def test_whole_weights_are_so_many_rows(loss):
    for seed in range(rounds(60, 10)):
        sets, scored, weights = weighted_rows(np.random.default_rng(seed))
        of, repeated = loss, loss
        often = np.repeat(np.arange(sets.total), weights)
        if loss == "costs":
            paid = np.random.default_rng(seed).integers(-3, 9, (4, sets.total)) / 2.0
            of, repeated = RowCosts(*paid), RowCosts(*paid[:, often])
        offsets = np.searchsorted(often, sets.offsets)
        many = replace(sets, labels=sets.labels[often], offsets=offsets.astype(np.int64))
        found = best_threshold(sets, scored, of, sample_weight=weights)
        want = best_threshold(many, scored[often], repeated)
        assert found.loss == pytest.approx(want.loss, abs=1e-12)
        assert (found.threshold, found.low, found.high) == (want.threshold, want.low, want.high)
        thresholds, losses = threshold_curve(sets, scored, of, sample_weight=weights)
        usual = threshold_curve(many, scored[often], repeated)
        assert thresholds.tolist() == usual[0].tolist()
        assert losses == pytest.approx(usual[1], abs=1e-12)


@pytest.mark.parametrize("kind", ["normal", "ties", "two values", "zero"])
def test_no_threshold_has_a_smaller_weighted_loss(kind):
    for seed in range(rounds(40, 10)):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 30))
        y, scored, weights = rng.random(n) < 0.4, scores_of(rng, n, kind, "f8"), rng.exponential(size=n)
        weights[rng.random(n) < 0.2] = 0.0
        weights[0] = 1.0
        fn = rng.exponential(4.0, n)

        def f1(guess, y=y, w=weights):
            return 1.0 - f1_score(y, guess, sample_weight=w, zero_division=1.0)

        def paid(guess, y=y, w=weights, fn=fn):
            return float(w @ np.where(y, np.where(guess, 0.0, fn), np.where(guess, 5.0, 0.0)))

        for loss, by_hand in (("f1", f1), (RowCosts(fp=5.0, fn=fn), paid)):
            found = best_threshold(y, scored, loss, sample_weight=weights)
            every = [by_hand(scored >= at) for at in (*scored, np.inf, -np.inf)]
            assert found.loss == pytest.approx(min(every), abs=1e-12)
            for at in (found.threshold, found.low, found.high):
                assert by_hand(scored >= at) == pytest.approx(found.loss, abs=1e-12)


def test_weights_that_do_not_fit_are_refused():
    y, scored = [0, 1, 1], [0.1, 0.2, 0.3]
    for weights, words in (
        ([1.0], r"sample_weight must have shape \(3,\)"),
        ([1.0, -1.0, 1.0], "sample_weight must be finite, not negative and not all zero"),
        (np.zeros(3), "not all zero"),
    ):
        with pytest.raises(ValueError, match=words):
            best_threshold(y, scored, "f1", sample_weight=weights)
    with pytest.raises(OverflowError, match="sample_weight are too large"):
        best_threshold(y, scored, "f1", sample_weight=np.full(3, 1e308))
    for loss in (EarlyDetection(), lambda y, guess: 1.0):
        with pytest.raises(Refusal, match="refuses weights of rows: it is neither a function of counts nor a sum over"):
            best_threshold(y, scored, loss, sample_weight=np.ones(3))
    with pytest.raises(Refusal, match=r"best_threshold refuses RocArea\(\): it reads the order of scores"):
        best_threshold(y, scored, RocArea(), sample_weight=np.ones(3))


def test_costs_of_rows_that_do_not_count_may_be_missing():
    nan = np.nan
    y, scored, costs = [1, 1, 0, 0], [0.9, 0.2, 0.3, 0.6], RowCosts(fp=[nan, nan, 5.0, 5.0], fn=[10.0, 20.0, nan, nan])
    for row in range(4):
        weights, rest = np.arange(4) != row, np.delete(np.arange(4), row)
        want = best_threshold(np.take(y, rest), np.take(scored, rest), costs.of_rows(rest))
        assert best_threshold(y, scored, costs, sample_weight=weights * 1.0) == want
        unknown = Sets(np.where(weights, y, -1).astype(np.int8), np.array([0, 4]))
        assert best_threshold(unknown, scored, RowCosts(fp=costs.fp, fn=np.where(weights, costs.fn, nan))) == want
    with pytest.raises(ValueError, match="fn must be known for each positive; got NaN for row 1"):
        best_threshold(y, scored, RowCosts(fn=[10.0, nan, nan, nan]), sample_weight=[0.0, 1.0, 1.0, 1.0])
