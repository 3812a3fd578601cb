"""Thresholds of least expected loss equal enumeration over all thresholds, which never separate equal rows."""

from functools import lru_cache

import numpy as np
import pytest
from scipy.special import expit

from decisions.probabilities import COUNTS, of_labels, probabilities, slow, truths
from rounds import rounds
from setwise.core.batch import Sets
from setwise.core.enumerate import subsets
from setwise.core.exceptions import Refusal
from setwise.decisions.expected_loss import TOL, best_cut, rule_of_cuts
from setwise.losses import (
    AE,
    KLD,
    MCC,
    NKLD,
    QF1,
    QGM,
    RAE,
    BalancedError,
    CappedLoss,
    CountFunctionLoss,
    EarlyDetection,
    FBeta,
    GMean,
    Jaccard,
    Q,
    QAcc,
    RocArea,
    plain_losses,
)

TWO_KINDS = [KLD(), NKLD(), AE(), RAE(), Q(), QAcc(), QF1(), QGM(2.0), AE() + 0.1 * FBeta()]
"""Losses that a further mistake may make smaller."""


def labelings(scores):
    """The labelings of all thresholds, one that predicts none first."""
    return [np.zeros(len(scores), dtype=bool), *(scores >= s for s in np.unique(scores)[::-1])]


@lru_cache(maxsize=1)
def of_all(loss, p):
    """The loss bound to all truths, and its rule."""
    return loss.bind(Sets.rows(subsets(p))), rule_of_cuts(loss, p)


def check(loss, q, scores):
    """The threshold is one of least expected loss, and its value is that of what it predicts."""
    p = len(q)
    every, weights, (sets, rule) = subsets(p), truths(q[None])[0], of_all(loss, p)
    losses = {h.tobytes(): weights @ sets.values(np.tile(h, len(every))) for h in labelings(scores)}
    threshold, value = best_cut(rule, q, scores)
    tolerance = 1e-9 * max(1.0, *np.abs(list(losses.values())))
    np.testing.assert_allclose(losses[(scores > threshold).tobytes()], value, atol=tolerance)
    np.testing.assert_allclose(value, min(losses.values()), atol=tolerance)


@pytest.mark.draw(3)
@pytest.mark.parametrize("p", [1, 2, 5])
def test_thresholds_equal_enumeration(p):
    for loss in of_labels(p):
        for q in probabilities(p, n=rounds(16, 8)):
            check(loss, q, q)


@pytest.mark.parametrize("name", [name for name, kind in plain_losses().items() if kind.reads == "labels"])
def test_thresholds_of_ten_rows_with_ties_equal_enumeration(name):
    loss = plain_losses()[name].examples(10)[0]
    rng = np.random.default_rng(0)
    for scores in (np.zeros(10), np.full(10, -1.386), rng.integers(-2, 2, 10) * 1.0, rng.integers(-3, 1, 10) * 0.7):
        check(loss, expit(scores), scores)


def exact(loss, scores):
    """The expected losses of all thresholds, by sums over all counts."""
    q = np.sort(expit(scores))[::-1]
    return slow(loss, q)[[int(h.sum()) for h in labelings(scores)]]


@pytest.mark.draw(12)
@pytest.mark.parametrize("loss", [*COUNTS, *TWO_KINDS], ids=repr)
@pytest.mark.parametrize("p", [60, 150])
def test_thresholds_of_windows_equal_sums_over_all_counts(loss, p):
    rng = np.random.default_rng(p)
    drawn = rng.normal(size=p) - 1.0
    for scores in (drawn, np.round(drawn), np.full(p, -1.0), np.where(drawn > 0, 40.0, -40.0), np.full(p, -800.0)):
        rule, every = rule_of_cuts(loss, p), exact(loss, scores)
        threshold, value = best_cut(rule, expit(scores), scores)
        tolerance = 1e-11 * max(1.0, every.max())
        np.testing.assert_allclose(value, every.min(), atol=tolerance)
        chosen = [(h == (scores > threshold)).all() for h in labelings(scores)].index(True)
        np.testing.assert_allclose(every[chosen], value, atol=tolerance)


@pytest.mark.parametrize("loss", [FBeta(), Jaccard(), GMean(), MCC(), BalancedError(), KLD()], ids=repr)
def test_thresholds_of_large_sets_with_ties_are_best(loss):
    p = 5000
    scores = np.round(3.0 * np.random.default_rng(0).normal(size=p)) / 3.0 - 2.0
    q, rule = expit(scores), rule_of_cuts(loss, p)
    every = {int(h.sum()): float(rule.expect(q[None], h[None])[0]) for h in labelings(scores)}
    threshold, value = best_cut(rule, q, scores)
    np.testing.assert_allclose(every[int((scores > threshold).sum())], value, atol=1e-9)
    assert value <= min(every.values()) + TOL


def test_equal_rows_are_not_separated_where_the_best_labeling_does():
    scores = np.full(30, np.log(0.25))
    threshold, value = best_cut(rule_of_cuts(KLD(), 30), expit(scores), scores)
    np.testing.assert_allclose((threshold, value), (np.inf, exact(KLD(), scores)[0]))
    assert value < exact(KLD(), scores)[1]


def test_thresholds_are_between_neighboring_floats_and_infinite_scores():
    rule = rule_of_cuts(FBeta(), 2)
    low = 3.0
    for high in (np.nextafter(low, np.inf), np.inf):
        scores = np.array([low, high])
        threshold, _ = best_cut(rule, np.array([0.0, 1.0]), scores)
        np.testing.assert_array_equal(scores > threshold, [False, True])


REFUSED = [
    (QF1(), 4097, "another mistake may make it smaller.*more than 4096 rows"),
    (KLD(), 1 << 20, "another mistake may make it smaller.*Use fewer rows"),
    (CountFunctionLoss(lambda fn, fp: np.sin(fn + fp) + 1.0), 5000, "another mistake may make it smaller"),
    (EarlyDetection(), 30, "is refused for 30 rows: it is not a function of the numbers of mistakes"),
    (
        CappedLoss(np.arange(1.0, 18.0), 3.0),
        17,
        "is refused for 17 rows: it is not a function of the numbers of mistakes",
    ),
    (RocArea(), 10, "it reads the order of scores"),
]


@pytest.mark.parametrize(("loss", "size", "words"), REFUSED, ids=repr)
def test_refusals_need_no_probabilities(loss, size, words):
    with pytest.raises(Refusal, match=words):
        rule_of_cuts(loss, size)
