import pickle
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from decisions.scored_sets import cut_points, losses_at, ragged, walked
from rounds import rounds
from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.decisions import (
    Floor,
    OperatingPoint,
    UnmetFloor,
    best_threshold,
    constrained_threshold,
    precision_at_recall,
    recall_at_alarm_rate,
    recall_at_false_positive_rate,
    recall_at_precision,
)
from setwise.losses import MCC, EarlyDetection, FBeta, Hamming, Jaccard, RowCosts

LOSSES = [FBeta(), Jaccard(), MCC(), Hamming(), EarlyDetection()]


def shares(y, predicted):
    """Recall, precision and specificity, each as (right, whole)."""
    return {
        "recall": ((y & predicted).sum(), y.sum()),
        "precision": ((y & predicted).sum(), predicted.sum()),
        "specificity": ((~y & ~predicted).sum(), (~y).sum()),
    }


def reached(floor, y, predicted):
    """The share, or the lower end of its one-sided interval by the binomial test."""
    right, whole = shares(y, predicted)[floor.measure]
    if floor.confidence is None:
        return right / max(whole, 1)
    if whole == 0:
        return 0.0
    return _low(int(right), int(whole), floor.confidence)


@cache
def _low(right, whole, confidence):
    return binomtest(right, whole, alternative="greater").proportion_ci(confidence, "exact").low


def allowed_at(floors, y, s, cuts):
    """Which of some cuts meet all floors, and what is compared with them, (cuts, floors)."""
    sure = {floor.measure for floor in floors if floor.confidence is not None}
    # Recall, precision and specificity are three sides, which share what may go wrong.
    levels = [None if f.confidence is None else (1 - f.confidence) / len(sure) for f in floors]
    asked = [replace(f, confidence=None if a is None else 1 - a) for f, a in zip(floors, levels, strict=True)]
    values = np.array([[reached(floor, y, s >= t) for floor in asked] for t in cuts])
    kept = values >= np.array([floor.least for floor in floors]) - 1e-12
    for j, (floor, level) in enumerate(zip(floors, levels, strict=True)):
        if floor.measure == "precision" and level is not None:
            values[:, j] = floor.least
            if 0 < floor.least < 1:
                passed = walked(y, s, floor.least, level)
                kept[:, j] = [(s >= t).sum() in passed for t in cuts]
    return kept.all(axis=1), values


def some_floors(rng):
    kinds = [("recall",), ("precision",), ("specificity",), ("recall", "precision"), ("recall", "specificity")]
    least = (0.0, 0.1, 0.5, 0.6, 0.75, 0.9, 1.0)
    return [
        Floor(kind, float(rng.choice(least)), None if rng.random() < 0.6 else float(rng.choice([0.5, 0.9])))
        for kind in kinds[rng.integers(5)]
    ]


def test_the_best_threshold_under_floors_equals_enumeration():
    rng, met = np.random.default_rng(0), 0
    for i in range(rounds(1800, 600)):
        sets, scores = ragged(rng, unknown=i % 4 == 0)
        floors, loss = some_floors(rng), LOSSES[i % len(LOSSES)]
        seen = np.ones(sets.total, bool) if sets.known is None else sets.known
        y, s = sets.truth[seen], scores[seen]
        if any(f.confidence is not None for f in floors) and len(y):
            # Several sets are tested over sets, see test_fixed_sequence.
            sets, scores = Sets.single(y), s
        if any(f.measure == "recall" and not y.any() for f in floors) or y.all():
            continue
        cuts = cut_points(s)
        losses = losses_at(loss, sets, scores, cuts)
        allowed, values = allowed_at(floors, y, s, cuts)
        if not allowed.any():
            with pytest.raises(UnmetFloor, match="is not met by any threshold of these scores") as caught:
                constrained_threshold(sets, scores, loss, floors)
            walks = any(f.measure == "precision" and f.confidence is not None for f in floors)
            assert walks or np.abs(values - caught.value.reachable).min() < 1e-9
            if len(floors) == 1 and not walks:
                assert caught.value.reachable == pytest.approx(values.max())
            continue
        met += 1
        found = constrained_threshold(sets, scores, loss, floors)
        assert found.loss == pytest.approx(losses[allowed].min(), abs=1e-11)
        for t in (found.threshold, found.low, found.high):
            assert losses_at(loss, sets, scores, [t])[0] == pytest.approx(found.loss, abs=1e-11)
            assert allowed_at(floors, y, s, [t])[0].all()
        assert found.reached == pytest.approx(allowed_at(floors, y, s, [found.threshold])[1][0], abs=1e-9)
        for name, (right, whole) in shares(y, s >= found.threshold).items():
            assert getattr(found, name) == pytest.approx(right / max(whole, 1))
    assert met >= rounds(500, 150)


@pytest.mark.draw(2)
@pytest.mark.parametrize("confidence", [None, 0.8])
def test_precision_and_recall_at_a_floor_equal_enumeration(confidence):
    rng = np.random.default_rng(1)
    for _ in range(rounds(200, 60)):
        sets, scores = ragged(rng)
        y, least = sets.truth, float(rng.choice([0.2, 0.5, 0.8, 1.0]))
        if y.all() or not y.any():
            continue
        sets = sets if confidence is None else y
        for ask, floor, kept, other in (
            (precision_at_recall, Floor("recall", least, confidence), "precision", "recall"),
            (recall_at_precision, Floor("precision", least, confidence), "recall", "precision"),
            (recall_at_false_positive_rate, Floor("specificity", 1 - least, confidence), "recall", "specificity"),
        ):
            options = [
                tuple(right / max(whole, 1) for right, whole in (shares(y, scores >= t)[n] for n in (kept, other)))
                for t in cut_points(scores)
                if allowed_at([floor], y, scores, [t])[0][0]
            ]
            if not options:
                with pytest.raises(UnmetFloor):
                    ask(sets, scores, least, confidence)
                continue
            found = ask(sets, scores, least, confidence)
            assert (getattr(found, kept), getattr(found, other)) == pytest.approx(max(options))
            assert found.loss == pytest.approx(1 - getattr(found, kept))


def test_without_a_floor_that_binds_the_threshold_is_the_best_one():
    rng = np.random.default_rng(0)
    y = rng.random(200) < 0.3
    scores = y + rng.standard_normal(200)
    free, held = best_threshold(y, scores, "f1"), constrained_threshold(y, scores, "f1", Floor("recall", 0.1))
    assert (held.threshold, held.loss, held.low, held.high) == (free.threshold, free.loss, free.low, free.high)


def test_a_floor_that_is_out_of_reach_is_refused_with_the_best_reachable_value():
    y, scores = [1] * 10 + [0] * 10, np.arange(20.0)
    words = (
        "recall=0.9 with confidence=0.95 is not met by any threshold of these scores: the best reachable lower bound "
    )
    with pytest.raises(UnmetFloor, match=words + r"of recall is 0.7411, at the threshold -inf\."):
        precision_at_recall(y, scores, 0.9, confidence=0.95)
    with pytest.raises(UnmetFloor, match=r"^A recall of at least 0.9 with confidence 0.95 is not met by"):
        constrained_threshold(y, scores, "f1", Floor("recall", 0.9, confidence=0.95))
    with pytest.raises(ValueError, match=r"best reachable precision is 0.5, at the threshold -inf\.") as caught:
        recall_at_precision(y, scores, 0.8)
    assert caught.value.reachable == 0.5
    words = r"together with a recall of at least 0.5: the best reachable specificity is 0"
    with pytest.raises(UnmetFloor, match=words):
        constrained_threshold(y, scores, "f1", [Floor("recall", 0.5), Floor("specificity", 0.5)])


def test_an_unmet_floor_comes_back_from_another_process():
    with pytest.raises(UnmetFloor) as caught:
        recall_at_precision([0, 1, 1], [0.9, 0.8, 0.7], precision=0.9)
    back = pickle.loads(pickle.dumps(caught.value))
    assert (str(back), back.reachable, back.page) == (str(caught.value), caught.value.reachable, caught.value.page)


def test_a_false_positive_rate_is_named_as_one():
    words = (
        r"^rate=0.9 with confidence=0.95 is not met by any threshold of these scores: the lowest reachable upper bound "
    )
    with pytest.raises(UnmetFloor, match=words + r"of false-positive rate is 0.95, at the threshold inf\.") as caught:
        recall_at_false_positive_rate([0, 1, 1], [1, 1, 1], 0.9, 0.95)
    # One negative is right with certainty .95 only if its chance to be right is .05 at least.
    assert caught.value.reachable == pytest.approx(0.95)
    y, scores = [1] * 10 + [0] * 10, np.r_[np.arange(5.0, 15.0), np.arange(10.0)]
    for confidence in (None, 0.6):
        found = recall_at_false_positive_rate(y, scores, 0.3, confidence)
        rate = 1.0 - found.specificity
        assert found.reached[0] <= 0.3
        assert found.reached[0] == pytest.approx(rate) if confidence is None else found.reached[0] > rate


def test_floors_need_decisions_of_their_class():
    with pytest.raises(ValueError, match="y must hold a known positive decision for recall=0.5; got none"):
        precision_at_recall([0, 0], [0.0, 1.0], 0.5)
    with pytest.raises(ValueError, match="y must hold a known negative decision for rate=0.5; got none"):
        recall_at_false_positive_rate([1, 1], [0.0, 1.0], 0.5)
    with pytest.raises(ValueError, match="y must hold a known positive decision for a recall of at least 0.5"):
        constrained_threshold([0, 0], [0.0, 1.0], "f1", Floor("recall", 0.5))
    none = Sets(np.array([-1, 0], np.int8), np.array([0, 2]))
    for ask in (recall_at_precision, recall_at_false_positive_rate):
        words = f"y must hold a known positive decision for the recall that {ask.__name__} makes largest; got none"
        with pytest.raises(ValueError, match=words):
            ask(none, [0.0, 1.0], 0.0)


def test_a_floor_says_what_it_wants():
    with pytest.raises(ValueError, match="measure must be one of 'recall', 'precision', 'specificity'"):
        Floor("accuracy", 0.5)
    with pytest.raises(ValueError, match="least must be a finite number in"):
        Floor("recall", 1.5)
    for outside in (0, 1.0, 2):
        with pytest.raises(ValueError, match=rf"confidence must be a finite number in \(0, 1\); got {outside}\.$"):
            Floor("recall", 0.5, outside)
    with pytest.raises(TypeError, match="floor must be a Floor or a list of them"):
        constrained_threshold([0, 1], [0.0, 1.0], "f1", ("recall", 0.9))


def kept_on_new_data(pick, truly, least, positives=100, trials=400):
    """The share of trials in which the threshold that was picked on a sample keeps its floor in the population."""
    rng, held = np.random.default_rng(0), 0
    y = np.repeat([True, False], [positives, 3 * positives])
    for _ in range(trials):
        threshold = pick(y, rng.standard_normal(len(y)) + 1.5 * y).threshold
        held += truly(threshold) >= least
    return held / trials


def recall_at(t):
    """The recall of the population: scores of positives are normal around 1.5."""
    return norm.sf(t - 1.5)


def precision_at(t):
    return recall_at(t) / (recall_at(t) + 3 * norm.sf(t))


@pytest.mark.slow
def test_a_plain_floor_holds_on_new_data_in_half_of_the_trials_and_one_with_confidence_nearly_always():
    def recall(confidence):
        return kept_on_new_data(lambda y, s: precision_at_recall(y, s, 0.9, confidence), recall_at, 0.9)

    def specificity(confidence):
        return kept_on_new_data(lambda y, s: recall_at_false_positive_rate(y, s, 0.1, confidence), norm.cdf, 0.9)

    def precision(confidence):
        return kept_on_new_data(lambda y, s: recall_at_precision(y, s, 0.5, confidence), precision_at, 0.5)

    # Where the share has the confidence .95, 400 trials of it lie above .92 but once in 300.
    for held in (recall, specificity, precision):
        assert 0.3 <= held(None) <= 0.65
        assert held(0.95) >= 0.92


@pytest.mark.parametrize("ask", ["recall", "precision", "rate", "alarms", "loss", "costs"])
def test_weights_of_floors_are_so_many_rows(ask):
    found = 0
    for seed in range(rounds(60, 20)):
        rng = np.random.default_rng(seed)
        sets, scores = ragged(rng, unknown=seed % 4 == 0)
        weights = rng.integers(0, 4, sets.total) + (np.arange(sets.total) == 0)
        often = np.repeat(np.arange(sets.total), weights)
        many = replace(sets, labels=sets.labels[often], offsets=np.searchsorted(often, sets.offsets).astype(np.int64))
        least, costs = float(rng.choice([0.2, 0.5, 0.8, 1.0])), RowCosts(fp=2.0, fn=rng.random(sets.total))
        floors = [Floor("recall", least / 2), Floor("unflagged", 0.2)]

        def point(sets, scores, rows, weights=None, ask=ask, least=least, costs=costs, floors=floors):
            calls = {
                "recall": lambda: precision_at_recall(sets, scores, least, sample_weight=weights),
                "precision": lambda: recall_at_precision(sets, scores, least, sample_weight=weights),
                "rate": lambda: recall_at_false_positive_rate(sets, scores, least, sample_weight=weights),
                "alarms": lambda: recall_at_alarm_rate(sets, scores, least, sample_weight=weights),
                "loss": lambda: constrained_threshold(sets, scores, "f1", floors, sample_weight=weights),
                "costs": lambda: constrained_threshold(
                    sets, scores, costs.of_rows(rows), floors[0], sample_weight=weights
                ),
            }
            try:
                return calls[ask]()
            except UnmetFloor as unmet:
                return unmet.reachable
            except ValueError as none:
                return str(none)

        got, want = point(sets, scores, np.arange(sets.total), weights * 0.25), point(many, scores[often], often)
        if not isinstance(want, OperatingPoint):
            assert got == want if isinstance(want, str) else got == pytest.approx(want, abs=1e-12)
            continue
        found += 1
        assert (got.threshold, got.low, got.high) == (want.threshold, want.low, want.high)
        scale = 0.25 if ask == "costs" else 1.0
        assert (got.loss, got.recall, got.precision, got.specificity, *got.reached) == pytest.approx(
            (scale * want.loss, want.recall, want.precision, want.specificity, *want.reached), abs=1e-12
        )
    assert found > rounds(20, 6)


def test_rounded_sums_of_weights_do_not_break_ties():
    # The precision is 1/2 after two, four and six rows.
    y, scores = [0, 1, 0, 1, 0, 1], [0.9, 0.8, 0.7, 0.6, 0.5, 0.4]
    for scale in (1.0, 0.1, 0.7, 1 / 3):
        weights = scale * np.array([1.0, 1.0, 3.0, 3.0, 7.0, 7.0])
        assert precision_at_recall(y, scores, 0.05, sample_weight=weights).threshold == -np.inf


def test_a_floor_with_a_confidence_refuses_weights():
    y, scores, sure = [1, 0, 1], [0.9, 0.8, 0.7], {"confidence": 0.9, "sample_weight": np.ones(3)}
    words = "a floor with a confidence refuses weights of rows: the confidence holds only for equally likely rows"
    for ask in (precision_at_recall, recall_at_precision, recall_at_false_positive_rate, recall_at_alarm_rate):
        with pytest.raises(Refusal, match=words):
            ask(y, scores, 0.1, **sure)
    with pytest.raises(Refusal, match=words):
        constrained_threshold(y, scores, "f1", Floor("recall", 0.1, 0.9), sample_weight=np.ones(3))
