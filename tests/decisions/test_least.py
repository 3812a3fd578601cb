"""Decisions of least expected loss equal enumeration over all labelings and all truths."""

import numpy as np
import pytest

from decisions.cases import losses_of_all, of_labels, probabilities, truths
from setwise.core.enumerate import subsets
from setwise.decisions import expected_loss, least_expected_loss
from setwise.losses import (
    MCC,
    BalancedError,
    ClassWeighted,
    ErrorRate,
    FBeta,
    GMean,
    Hamming,
    HMean,
    Jaccard,
    MeanOverClasses,
    OneClass,
    Saturating,
    SetFunctionLoss,
    Tversky,
    ZeroOne,
)

NAMES = sorted({type(loss).__name__ for loss in of_labels(3)})


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


COUNTS = [
    FBeta(), FBeta(2.0, zero_division=0.0), Jaccard(), Jaccard("fraction"), Jaccard("ignore"), MCC(), GMean(), HMean(),
    BalancedError(), ErrorRate(), Tversky(0.3, 0.8), ClassWeighted(Jaccard(), 0.5, 2.0), FBeta() + 0.5 * Jaccard(),
    Hamming(), Saturating(0.1), ZeroOne(), MeanOverClasses("jaccard"), OneClass("f1", 0),
]  # fmt: skip


@pytest.mark.parametrize("loss", COUNTS, ids=repr)
def test_decisions_equal_enumeration_of_ten(loss):
    q = probabilities(10)
    expected = truths(q) @ losses_of_all(loss, 10)
    found = least_expected_loss(q, loss)
    np.testing.assert_allclose(found.values, expected.min(axis=1), atol=1e-9 * max(1.0, float(expected.max())))


@pytest.mark.parametrize("loss", COUNTS, ids=repr)
@pytest.mark.parametrize("p", [129, 200])
def test_windows_equal_sums_over_all_counts(loss, p):
    rng = np.random.default_rng(p)
    for q in (rng.random(p), rng.random(p) ** 6, np.round(rng.random(p)), np.round(rng.random(p) * 3) / 3, np.zeros(p)):
        found = least_expected_loss(q, loss)
        ordered = np.sort(q)[::-1]
        # Slow: all labelings of the most probable decisions, summed over all counts.
        values = [slow(loss, ordered, k) for k in range(p + 1)]
        np.testing.assert_allclose(found.values, min(values), atol=1e-11 * max(1.0, *values))
        np.testing.assert_allclose(expected_loss(q, found.labels, loss), found.values, atol=1e-11 * max(1.0, *values))


def slow(loss, q, k):
    """The expected loss of predicting the first k, by full distributions of both counts."""
    from setwise.decisions.formula import formula_of

    top, rest = np.ones(1), np.ones(1)
    for x in q[:k]:
        top = np.convolve(top, [1.0 - x, x])
    for x in q[k:]:
        rest = np.convolve(rest, [1.0 - x, x])
    tp, fn = np.arange(k + 1.0)[:, None], np.arange(len(q) - k + 1.0)[None, :]
    return top @ np.broadcast_to(formula_of(loss, len(q)).at(float(k), tp, fn), (k + 1, len(q) - k + 1)) @ rest
