"""Decisions from samples and from joint probabilities equal enumeration, under any dependence."""

from functools import cache

import numpy as np
import pytest

from decisions.probabilities import COUNTS, NAMES, losses_of_all, of_labels, probabilities, truths
from rounds import rounds
from setwise.core.batch import Sets
from setwise.core.enumerate import subsets
from setwise.core.exceptions import Refusal
from setwise.decisions import gfm, least_expected_loss, least_expected_loss_of_samples
from setwise.decisions import samples as by_samples
from setwise.decisions.formula import formula_of
from setwise.decisions.gfm import is_affine
from setwise.decisions.small_sets import ByTable
from setwise.losses import (
    LOSSES,
    MCC,
    BalancedError,
    EarlyDetection,
    ErrorRate,
    FBeta,
    GMean,
    Hamming,
    Jaccard,
    PrecisionAtK,
    RecallAtK,
    SetFunctionLoss,
    Tversky,
)

AFFINE = [
    FBeta(), FBeta(2.0, zero_division=0.0), FBeta(0.5, zero_division=0.25), MCC(), BalancedError(), ErrorRate(),
    Hamming(), Tversky(), FBeta() + 0.5 * MCC(),
]  # fmt: skip


def drawn(p, case):
    """Samples of one set and their weights: random, dependent, all the same, all positive, none positive, or one."""
    rng = np.random.default_rng(case)
    m = int(rng.integers(1, 30))
    samples = rng.random((m, p)) < rng.random(p) ** rng.choice([0.3, 1.0, 3.0])
    if case % 6 == 1:
        samples = np.where(rng.random((m, 1)) < 0.5, samples[0], ~samples[0])
    if case % 6 == 2:
        samples = np.broadcast_to(samples[0], samples.shape)
    if case % 6 == 3:
        samples = np.full((m, p), case % 12 == 3)
    return samples, None if case % 2 else rng.random(m) * rng.integers(0, 2, m) + 1e-3


@pytest.mark.draw(18)
@pytest.mark.parametrize("p", [1, 2, 4, 6])
@pytest.mark.parametrize("name", NAMES)
def test_decisions_of_samples_equal_enumeration(name, p):
    every = subsets(p)
    for loss in of_labels(p):
        if type(loss).__name__ != name or (isinstance(loss, SetFunctionLoss) and p > 2):
            continue
        table = losses_of_all(loss, p)
        for case in range(rounds(150, 24) if p == 4 else rounds(60, 12)):
            samples, weights = drawn(p, case)
            w = np.ones(len(samples)) if weights is None else weights
            expected = w / w.sum() @ table[samples @ (1 << np.arange(p))]
            found = least_expected_loss_of_samples(samples, loss, weights)
            tolerance = 1e-9 * max(1.0, float(expected.max()))
            assert found.exact.all()
            assert abs(found.values[0] - expected.min()) <= tolerance
            assert abs(expected[(every == found.labels).all(axis=1)][0] - expected.min()) <= tolerance


@pytest.mark.draw(8)
@pytest.mark.parametrize("loss", COUNTS, ids=repr)
def test_the_search_has_a_bound(loss):
    # The sets are too large for what the search enumerates, and small enough for the test.
    p, formula = 17, formula_of(loss, 17)
    # The losses by the numbers that are predicted, that are right, and that are positive.
    k, tp, s = (np.arange(p + 1)[axis] for axis in np.ix_(*[range(p + 1)] * 3))
    table = np.full((p + 1,) * 3, np.nan)
    some = (tp <= k) & (tp <= s) & (k - tp <= p - s)
    k, tp, s = (np.broadcast_to(x, some.shape)[some] for x in (k, tp, s))
    table[k, tp, s] = formula.at(k.astype(float), tp.astype(float), (s - tp).astype(float))
    for case in range(6):
        samples, _ = drawn(p, case)
        least = table.ravel()[places(p, case)].mean(axis=1).min()
        found = least_expected_loss_of_samples(samples, loss)
        assert found.bounds[0] <= least + 1e-10
        assert least <= found.values[0] + 1e-10
        assert found.exact[0] == (found.values[0] <= found.bounds[0])
        given = np.mean([loss.bind(_one(y)).values(found.labels)[0] for y in samples])
        np.testing.assert_allclose(found.values[0], given, rtol=1e-9, atol=1e-12)


@cache
def places(p, case):
    """Where the losses of each labeling for each sample are in a table by the three numbers."""
    every, samples = subsets(p).astype(np.float32), drawn(p, case)[0].astype(np.float32)
    at = (every.sum(axis=1)[:, None] * (p + 1) + every @ samples.T) * (p + 1) + samples.sum(axis=1)
    return at.astype(np.int16)


@pytest.mark.draw(3)
@pytest.mark.parametrize("loss", [*COUNTS, PrecisionAtK(2), RecallAtK(2)], ids=repr)
def test_lines_bound_the_least_expected_loss_and_reach_it_for_affine_losses(loss):
    # The value that the search finds hides a bound above it, and is nearly always the least. So the bound stands alone.
    for p in (3, 6):
        formula = formula_of(loss, p)
        low, high = formula.numbers
        every = subsets(p)
        bound_loss, number = loss.bind(Sets.rows(every)), every.sum(axis=1)
        allowed = every[(low <= number) & (number <= high)]
        table = np.column_stack([bound_loss.values(np.tile(h, len(every))) for h in allowed])
        for case in range(12):
            samples, weights = drawn(p, case)
            w = np.ones(len(samples)) if weights is None else weights
            w = w / w.sum()
            least = (w @ table[samples @ (1 << np.arange(p))]).min()
            _, bound = by_samples._SampleLoss(formula, samples, w).by_lines(allowed, -np.inf)
            assert bound <= least + 1e-10
            if is_affine(formula):
                np.testing.assert_allclose(bound, least, atol=1e-10)


def _one(y):
    return Sets.single(y)


def test_a_loss_of_any_kind_is_searched_with_the_bound_zero():
    samples = np.random.default_rng(0).random((20, 30)) < 0.4
    found = least_expected_loss_of_samples(samples, EarlyDetection())
    assert found.bounds[0] == 0.0
    assert not found.exact[0]
    value = np.mean([EarlyDetection()(y, found.labels) for y in samples])
    np.testing.assert_allclose(found.values, value)
    # No single flip is better.
    for i in range(30):
        assert np.mean([EarlyDetection()(y, found.labels ^ (np.arange(30) == i)) for y in samples]) >= value - 1e-12


@pytest.mark.parametrize("loss", AFFINE, ids=repr)
def test_joint_probabilities_are_enough_for_affine_losses(loss):
    rng = np.random.default_rng(0)
    for p in (1, 2, 5, 7):
        # Any distribution over all truths.
        chance = rng.random((500, 1 << p)) ** 8
        chance /= chance.sum(axis=1, keepdims=True)
        every = subsets(p)
        table = losses_of_all(loss, p)
        found = gfm(joint_of(chance, every), loss)
        expected = chance @ table
        np.testing.assert_allclose(found.values, expected.min(axis=1), atol=1e-9 * max(1.0, table.max()))
        at = found.labels @ (1 << np.arange(p))
        np.testing.assert_allclose(expected[np.arange(500), at], found.values, atol=1e-9 * max(1.0, table.max()))


def joint_of(chance, every):
    """``Pr(y_i = 1, P = s)`` for s = 1..p, (n, p, p), from the probabilities of all truths."""
    p, number = every.shape[1], every.sum(axis=1)
    picks = (number[:, None] == np.arange(1, p + 1)).astype(float)
    return np.einsum("na,ai,as->nis", chance, every.astype(float), picks)


@pytest.mark.parametrize("loss", AFFINE, ids=repr)
def test_independent_decisions_are_the_same_by_both_ways(loss):
    q = probabilities(6)
    joint = joint_of(truths(q), subsets(6))
    np.testing.assert_allclose(gfm(joint, loss).values, least_expected_loss(q, loss).values, atol=1e-9)


def test_estimates_are_scaled_to_a_distribution():
    joint = np.array([[0.2, 0.4], [0.1, 0.4]])
    # Numbers 1 and 2 have 0.3 and 0.4.
    assert gfm(joint, "f1").values.shape == (1,)
    np.testing.assert_allclose(gfm(2.0 * joint, "f1", none=[0.3]).values, gfm(joint, "f1").values)
    assert gfm(joint, "f1").exact == [True]
    assert gfm(joint, "f1", none=[0.3]).exact == [True]
    assert gfm(2.0 * joint, "f1", none=[0.3]).exact == [False]
    with pytest.raises(ValueError, match=r"have the sum 1.4, above 1. Give none"):
        gfm(2.0 * joint, "f1")


def test_joint_probabilities_of_no_distribution_are_refused_or_called_inexact():
    # The first label is among two positives with .9, but no other label is positive.
    joint = np.array([[0.0, 0.9], [0.0, 0.0]])
    with pytest.raises(
        ValueError, match=r"a label is among 2 positives with the probability 0.9, but .* 0.45\. Give none"
    ):
        gfm(joint, "f1")
    found = gfm(np.stack([joint, joint[::-1] * 0.0 + 0.25]), "f1", none=[0.55, 0.25])
    np.testing.assert_array_equal(found.exact, [False, True])
    assert found.bounds[0] == min(0.0, found.values[0])
    assert found.bounds[1] == found.values[1]


@pytest.mark.parametrize("off", [-1e-7, -1.2e-16, 2.3e-16, 1e-7])
def test_rounding_of_joint_probabilities_is_no_mistake(off):
    assert not gfm(np.zeros((2, 2)), "f1", none=1.0 + off).labels.any()
    surely = np.array([[0.0, 1.0], [0.0, 1.0]])
    for found in (gfm(surely + off, "f1"), gfm(surely, "f1", none=off)):
        assert found.labels.all()
        assert found.exact.all()
        np.testing.assert_allclose(found.values, 0.0, atol=1e-6)
    with pytest.raises(ValueError, match="none must be 1 where joint is 0 everywhere; got 0.99"):
        gfm(np.zeros((2, 2)), "f1", none=0.99)
    with pytest.raises(ValueError, match=r"none must be in \[0, 1\]; got 1.001"):
        gfm(surely, "f1", none=1.001)


def test_only_affine_losses_are_decided_by_gfm():
    with pytest.raises(Refusal, match=r"gfm refuses Jaccard.*not known to be affine"):
        gfm(np.full((5, 5), 0.01), "jaccard")
    for p in (5, 40, 300):
        assert all(is_affine(formula_of(loss, p)) for loss in AFFINE)
        assert not any(is_affine(formula_of(loss, p)) for loss in (Jaccard(), GMean(), Tversky(0.3, 0.8)))


@pytest.mark.parametrize("kind", [PrecisionAtK, RecallAtK])
def test_losses_at_a_given_number_predict_it(kind):
    samples, _ = drawn(6, 0)
    found = least_expected_loss_of_samples(samples, kind(2))
    assert found.labels.sum() == 2
    picked = [h for h in subsets(6) if h.sum() == 2]
    values = [np.mean([kind(2).values(_one(y), h.astype(float))[0] for y in samples]) for h in picked]
    np.testing.assert_allclose(found.values, min(values))


def test_many_sets_are_the_same_as_each_alone():
    samples = np.random.default_rng(0).random((40, 15, 7)) < 0.4
    for loss in ("f1", "jaccard", Hamming(np.arange(7.0))):
        together = least_expected_loss_of_samples(samples, loss)
        alone = [least_expected_loss_of_samples(each, loss) for each in samples]
        np.testing.assert_allclose(together.values, [one.values[0] for one in alone], atol=1e-12)
        assert together.labels.shape == (40, 7)


@pytest.mark.parametrize("p", [1, 4, 9, 30])
def test_a_loss_is_affine_where_its_terms_say_so(p):
    kinds = [kind for kind in LOSSES.values() if kind.reads != "scores"]
    formulas = [formula_of(loss, p) for kind in kinds for loss in kind.examples(p)]
    said = [formula for formula in formulas if formula is not None and formula.counts.affine]
    assert len(said) >= 12
    assert all(ByTable(formula).affine() for formula in said)


def test_heads_of_large_sets_are_counted_without_being_listed():
    rng = np.random.default_rng(0)
    for p, loss in ((600, Jaccard()), (700, FBeta())):
        truths, w = rng.random((7, p)) < rng.random(p), np.full(7, 1 / 7)
        rule = by_samples._SampleLoss(formula_of(loss, p), truths, w)
        low, high = rule.formula.numbers
        listed = rule.expected(by_samples._heads(truths, w, np.arange(low, high + 1)))
        np.testing.assert_allclose(rule.of_heads(), listed)
    # A matrix of all heads of so many decisions would need 1.6 GB.
    truths = np.zeros((4, 40_000), bool)
    truths[:, :50] = rng.random((4, 50)) < 0.7
    found = least_expected_loss_of_samples(truths, Jaccard())
    assert not found.labels[50:].any()
