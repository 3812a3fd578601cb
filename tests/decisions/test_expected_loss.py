"""Decisions of least expected loss equal enumeration over all labelings and all truths."""

from itertools import pairwise

import numpy as np
import pytest

from cases import in_turn
from decisions.probabilities import COUNTS, NAMES, losses_of_all, of_labels, probabilities, slow, truths
from setwise.core.batch import Sets
from setwise.core.enumerate import subsets
from setwise.core.exceptions import Refusal
from setwise.decisions import expected_loss, least_expected_loss
from setwise.kernels.threads import thread_limit
from setwise.losses import (
    AreaWeightedLoss,
    BreakEven,
    CappedLoss,
    Cardinality,
    CountFunctionLoss,
    Jaccard,
    PrecisionAtK,
    RecallAtK,
    RocArea,
    SetFunctionLoss,
)


@pytest.mark.draw(42)
@pytest.mark.parametrize("p", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("name", NAMES)
def test_decisions_equal_enumeration(name, p):
    q = probabilities(p)
    chosen = np.random.default_rng(p).integers(0, 1 << p, len(q))
    for loss in of_labels(p):
        if type(loss).__name__ != name or (isinstance(loss, SetFunctionLoss) and p > 5):
            continue
        expected = truths(q) @ losses_of_all(loss, p)
        tolerance = 1e-9 * max(1.0, float(np.abs(expected).max()))
        found = least_expected_loss(q, loss)
        assert found.labels.shape == q.shape
        assert found.exact.all()
        np.testing.assert_allclose(found.values, expected.min(axis=1), atol=tolerance)
        np.testing.assert_allclose(expected_loss(q, found.labels, loss), found.values, atol=tolerance)
        given = expected_loss(q, subsets(p)[chosen], loss)
        np.testing.assert_allclose(given, expected[np.arange(len(q)), chosen], atol=tolerance)


@pytest.mark.draw(10)
@pytest.mark.parametrize("loss", COUNTS, ids=repr)
def test_decisions_equal_enumeration_of_ten(loss):
    q = probabilities(10)
    expected = truths(q) @ losses_of_all(loss, 10)
    found = least_expected_loss(q, loss)
    np.testing.assert_allclose(found.values, expected.min(axis=1), atol=1e-9 * max(1.0, float(expected.max())))


@pytest.mark.draw(3)
@pytest.mark.parametrize("loss", COUNTS, ids=repr)
@pytest.mark.parametrize("p", [129, pytest.param(200, marks=pytest.mark.slow)])
def test_windows_equal_sums_over_all_counts(loss, p):
    rng = np.random.default_rng(p)
    kinds = (rng.random(p), rng.random(p) ** 6, np.round(rng.random(p)), np.round(rng.random(p) * 3) / 3, np.zeros(p))
    for q in in_turn(kinds, COUNTS.index(loss), 2):
        found = least_expected_loss(q, loss)
        ordered = np.sort(q)[::-1]
        # All labelings of the most probable decisions, summed over all counts.
        values = slow(loss, ordered)
        np.testing.assert_allclose(found.values, min(values), atol=1e-11 * max(1.0, *values))
        np.testing.assert_allclose(expected_loss(q, found.labels, loss), found.values, atol=1e-11 * max(1.0, *values))


@pytest.mark.parametrize("p", [1, 4, 7])
@pytest.mark.parametrize("kind", [PrecisionAtK, RecallAtK])
def test_losses_at_a_given_number_predict_the_most_probable(kind, p):
    q = probabilities(p)
    every = subsets(p)
    for loss in kind.examples(p):
        found = least_expected_loss(q, loss)
        assert (found.labels.sum(axis=1) == loss.k).all()
        picked = every[every.sum(axis=1) == loss.k]
        # A labeling as scores: the decisions that it predicts are the k largest.
        values = np.array([loss.values(Sets.rows(every), np.tile(h, len(every)).astype(float)) for h in picked])
        np.testing.assert_allclose(found.values, (truths(q) @ values.T).min(axis=1), atol=1e-12)
        with pytest.raises(ValueError, match=rf"labels must predict {loss.k} decisions"):
            expected_loss(q[0], np.arange(p) < loss.k - 1, loss)


def test_ragged_sets_are_the_same_as_each_alone():
    rng = np.random.default_rng(0)
    sizes = rng.permutation(np.repeat([1, 2, 7, 130, 150], 3))
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    q = rng.random(offsets[-1])
    found = least_expected_loss(q, "jaccard", offsets)
    np.testing.assert_allclose(expected_loss(q, found.labels, "jaccard", offsets), found.values, atol=1e-12)
    for i, (a, b) in enumerate(pairwise(offsets)):
        alone = least_expected_loss(q[a:b], "jaccard")
        assert (alone.labels == found.labels[a:b]).all()
        assert alone.values[0] == found.values[i]


def test_threads_do_not_change_decisions():
    q = probabilities(9)
    alone = least_expected_loss(q, "f1")
    with thread_limit(3):
        together = least_expected_loss(q, "f1")
    assert (alone.labels == together.labels).all()
    assert (alone.values == together.values).all()


REFUSED = [
    (CountFunctionLoss(lambda fn, fp: np.sin(fn + fp) + 1.0), 17, r"another mistake may make it smaller"),
    (CountFunctionLoss(lambda fn, fp: np.sin(fn + fp) + 1.0), 200, r"another mistake may make it smaller"),
    (Cardinality(np.arange(31.0)[::-1]), 30, r"30 decisions are too many to enumerate"),
    (
        AreaWeightedLoss(Jaccard(), np.arange(1.0, 12.0)),
        11,
        r"not a function of the counts, and 11 decisions are too many",
    ),
    (CappedLoss(np.arange(1.0, 18.0), 5.0), 17, r"at most 10, or 16 if labels do not matter"),
    (RocArea(), 3, r"reads the order of scores"),
    (BreakEven(), 3, r"the number that it predicts depends on the truth"),
]


@pytest.mark.parametrize(("loss", "p", "words"), REFUSED, ids=lambda value: repr(value)[:30])
def test_what_cannot_be_decided_is_refused_in_a_sentence(loss, p, words):
    with pytest.raises(Refusal, match=words):
        least_expected_loss(np.full(p, 0.3), loss)


@pytest.mark.slow
def test_a_function_of_counts_that_rewards_mistakes_is_enumerated():
    # The least loss has two mistakes, so the most probable decisions are not the best.
    loss = CountFunctionLoss(lambda fn, fp: np.abs(fn + fp - 2.0))
    q = probabilities(12, n=24)
    found = least_expected_loss(q, loss)
    for h in np.random.default_rng(0).permutation(subsets(12))[:24]:
        assert (expected_loss(q, np.broadcast_to(h, q.shape), loss) >= found.values - 1e-12).all()
