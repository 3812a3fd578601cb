"""The likelihood of known numbers of positives against enumeration, with its posterior, majorant and the other loss."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

from rounds import rounds
from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.exceptions import Refusal
from setwise.kernels.count_partition import count_partitions
from setwise.losses import BoxFullness, CountRange, Hamming, Jaccard
from setwise.models import RowModel
from setwise.probabilistic import AllowedPartition, BagDivergence, CountLikelihood, ProportionLoss
from setwise.risks import MeanRisk

KINDS = ("exact", "range", "at least", "all", "share", "far from half")


def far_from_half(counts, sizes):
    """Both ends are allowed and the middle is not: two ranges."""
    return np.minimum(counts, sizes - counts)


def drawn(rng):
    """A set of at most 12 decisions, some of them known, what is known of it, and which labelings agree."""
    p = int(rng.integers(1, 13))
    labels = np.where(rng.random(p) < 0.3, rng.integers(0, 2, p), -1).astype(np.int8)
    given, unknown = int((labels == 1).sum()), int((labels == -1).sum())
    low = int(rng.integers(given, given + unknown + 1))
    high = int(rng.integers(low, given + unknown + 1))
    share = float(rng.random())
    loss, agrees = {
        "exact": (CountRange(low, low), lambda c: c == low),
        "range": (CountRange(np.array([low]), np.array([high])), lambda c: low <= c <= high),
        "at least": (CountRange(low), lambda c: c >= low),
        "all": (CountRange(0), lambda c: c >= 0),
        "share": (BoxFullness(share), lambda c: abs(c - share * unknown) <= nearest(share * unknown, unknown)),
        "far from half": (BoxFullness(far_from_half), lambda c: c in (0, unknown)),
    }[KINDS[rng.integers(len(KINDS))]]
    in_box = isinstance(loss, BoxFullness)

    def allowed(y):
        inside = y[labels == -1] if in_box and unknown else y
        return bool((y == labels)[labels >= 0].all()) and (not unknown or agrees(inside.sum()))

    return labels, loss, allowed


def nearest(share, unknown):
    """How far the nearest whole number from 0 on is."""
    return min(abs(c - share) for c in range(unknown + 1)) + 1e-9


def scores_of(rng, p):
    """Scores of several kinds: moderate, up to 30 both ways, with ties, and all equal."""
    kinds = (
        lambda: rng.standard_normal(p), lambda: rng.uniform(-30, 30, p), lambda: rng.choice([-30.0, 0.0, 30.0], p),
        lambda: np.full(p, rng.uniform(-30, 30)), lambda: np.round(rng.standard_normal(p)),
    )  # fmt: skip
    return kinds[rng.integers(len(kinds))]()


def enumerated(labelings, s):
    """``log sum exp <s, y>`` over labelings, and the mean of y."""
    each = labelings @ s
    total = logsumexp(each)
    return total, np.exp(each - total) @ labelings


def test_likelihood_and_posterior_equal_enumeration():
    rng = np.random.default_rng(0)
    for _ in range(rounds(300, 120)):
        labels, loss, allowed = drawn(rng)
        sets, s = Sets(labels, np.array([0, len(labels)])), scores_of(rng, len(labels))
        every = np.array(list(product((0, 1), repeat=len(labels))), dtype=float)
        agree = np.array([y for y in every if allowed(y)])
        (whole, mean), (known, posterior) = enumerated(every, s), enumerated(agree, s)
        found = AllowedPartition(loss.bind(sets).zero())(s)
        np.testing.assert_allclose(found.values, known, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(found.gradient, posterior, atol=1e-12)
        likelihood = CountLikelihood(loss).on(sets)(s)
        np.testing.assert_allclose(likelihood.values, whole - known, atol=1e-10)
        np.testing.assert_allclose(likelihood.gradient, mean - posterior, atol=1e-12)
        assert likelihood.exact.all()
        assert (likelihood.values == likelihood.upper).all()


@pytest.mark.parametrize("kind", [CountLikelihood, ProportionLoss])
def test_gradients_agree_with_finite_differences(kind):
    rng = np.random.default_rng(1)
    for _ in range(60):
        labels, loss, _ = drawn(rng)
        evaluator = kind(loss).on(Sets(labels, np.array([0, len(labels)])))
        s = 2 * rng.standard_normal(len(labels))
        gradient = evaluator(s).gradient
        for i in range(len(s)):
            step = 1e-5 * np.eye(len(s))[i]
            slope = (evaluator(s + step).values - evaluator(s - step).values) / 2e-5
            np.testing.assert_allclose(gradient[i], slope[0], atol=1e-6)


def ragged(rng, n=40):
    """Bags of different sizes and known numbers, with some known rows, features, and the truth."""
    offsets = np.concatenate(([0], np.cumsum(rng.integers(1, 30, n))))
    X = rng.standard_normal((offsets[-1], 3))
    y = X[:, 0] + rng.standard_normal(len(X)) > 0.5
    counts = np.add.reduceat(y.astype(int), offsets[:-1])
    labels = np.where(rng.random(len(y)) < 0.1, y, -1).astype(np.int8)
    return X, Sets(labels, offsets), counts


def test_a_batch_is_its_bags_one_by_one():
    X, sets, counts = ragged(np.random.default_rng(2))
    s = X[:, 0] - X[:, 1]
    for kind in (CountLikelihood, ProportionLoss):
        together = kind(CountRange(counts, counts)).on(sets)
        found, parts = together(s), np.array([5, 2, 30])
        some = together.take(parts)
        places = np.concatenate([np.arange(sets.offsets[i], sets.offsets[i + 1]) for i in parts])
        few = some(s[places])
        np.testing.assert_allclose(few.values, found.values[parts], atol=1e-12)
        np.testing.assert_allclose(few.gradient, found.gradient[places], atol=1e-12)
        for i, (a, b) in enumerate(zip(sets.offsets[:-1], sets.offsets[1:], strict=True)):
            alone = kind(CountRange(counts[i], counts[i])).on(Sets(sets.labels[a:b], np.array([0, b - a])))(s[a:b])
            np.testing.assert_allclose(alone.values[0], found.values[i], atol=1e-12)
            np.testing.assert_allclose(alone.gradient, found.gradient[a:b], atol=1e-12)


def test_the_majorant_touches_is_nowhere_below_and_descends():
    rng = np.random.default_rng(3)
    X, sets, counts = ragged(rng)
    evaluator = CountLikelihood(CountRange(counts, counts)).on(sets)
    risk, w = MeanRisk(RowModel(X, sets.offsets), evaluator), np.zeros(4)
    before = np.inf
    for _ in range(5):
        here = risk.cut(w)
        assert here.value <= before + 1e-12
        majorant = risk.majorant(w)
        assert majorant.convex
        np.testing.assert_allclose(majorant.cut(w).value, here.value, rtol=1e-10)
        np.testing.assert_allclose(majorant.cut(w).slope, here.slope, atol=1e-10)
        for _ in range(5):
            v = w + rng.standard_normal(4)
            assert majorant.cut(v).value >= risk.cut(v).value - 1e-10
        # One step down on the majorant is a step down on the likelihood.
        before = here.value
        w = w - 0.1 * here.slope


def test_known_labels_alone_give_the_logistic_loss():
    s = np.array([-2.0, 0.5, 3.0])
    expected = np.logaddexp(0, -np.array([1, -1, 1]) * s).sum()
    sets = Sets(np.array([1, 0, 1], dtype=np.int8), np.array([0, 3]))
    for loss in (Hamming(), CountRange(2), BoxFullness(0.3)):
        for kind in (CountLikelihood, ProportionLoss):
            np.testing.assert_allclose(kind(loss).on(sets)(s).values, expected)


def test_unknown_labels_without_knowledge_cost_nothing():
    sets = Sets(np.full(4, -1, dtype=np.int8), np.array([0, 4]))
    for kind in (CountLikelihood, ProportionLoss):
        found = kind(CountRange(0)).on(sets)(np.array([5.0, -3.0, 0.0, 40.0]))
        np.testing.assert_allclose(found.values, 0, atol=1e-12)
        np.testing.assert_allclose(found.gradient, 0, atol=1e-12)


def test_the_proportion_loss_is_the_divergence_of_the_share_and_the_mean():
    s, R = np.array([-1.0, 0.0, 2.0, 0.5]), 0.25
    mean = (1 / (1 + np.exp(-s))).mean()
    expected = 4 * (R * np.log(R / mean) + (1 - R) * np.log((1 - R) / (1 - mean)))
    sets = Sets(np.full(4, -1, dtype=np.int8), np.array([0, 4]))
    np.testing.assert_allclose(ProportionLoss(CountRange(1, 1)).on(sets)(s).values, expected)
    # Inside a range nothing is lost.
    np.testing.assert_array_equal(ProportionLoss(CountRange(1, 3)).on(sets)(s).values, 0)
    assert ProportionLoss(CountRange(0, 0)).on(sets)(np.full(4, 800.0)).values[0] < np.inf


def forward_backward(q, count):
    """``log Pr(count)`` and ``E[y | count]`` of independent decisions, by two tables of all counts."""
    m = len(q)
    ahead, behind = np.zeros((m + 1, count + 2)), np.zeros((m + 1, count + 2))
    ahead[0, 0] = behind[m, 0] = 1.0
    for i in range(m):
        ahead[i + 1] = (1 - q[i]) * ahead[i] + q[i] * np.concatenate(([0], ahead[i, :-1]))
        j = m - 1 - i
        behind[j] = (1 - q[j]) * behind[j + 1] + q[j] * np.concatenate(([0], behind[j + 1, :-1]))
    total = ahead[m, count]
    ones = [q[i] * (ahead[i, :count] @ behind[i + 1, count - 1 :: -1][:count]) / total for i in range(m)]
    return np.log(total), np.array(ones)


@pytest.mark.parametrize("shift", [0.0, 0.3])
def test_a_large_bag_equals_forward_backward(shift):
    rng = np.random.default_rng(4)
    s = rng.standard_normal(2000) - 1.0
    q = 1 / (1 + np.exp(-s))
    count = int(q.sum() + shift * np.sqrt((q * (1 - q)).sum()))
    log_probability, posterior = forward_backward(q, count)
    found = CountLikelihood(CountRange(count, count)).on(Sets(np.full(2000, -1, np.int8), np.array([0, 2000])))(s)
    np.testing.assert_allclose(found.values[0], -log_probability, atol=1e-10)
    np.testing.assert_allclose(found.gradient, q - posterior, atol=1e-11)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.data())
def test_posteriors_sum_to_a_number_that_is_allowed(scores, data):
    s = np.array(scores)
    low = data.draw(st.integers(0, len(s)))
    high = data.draw(st.integers(low, len(s)))
    value, means = np.empty(1), np.empty(len(s))
    count_partitions(s, np.array([0, len(s)]), np.array([low]), np.array([high]), value, means)
    assert np.isfinite(value).all()
    assert low - 1e-9 <= means.sum() <= high + 1e-9
    best = np.sort(s)[::-1]
    # The best labeling is one of at most 2^m.
    top = max(best[:c].sum() for c in range(low, high + 1))
    assert top - 1e-9 * (1 + abs(top)) <= value[0] <= top + len(s) * np.log(2) + 1e-9 * (1 + abs(top))
    # Larger scores have larger posteriors.
    assert (np.diff(means[np.argsort(s, kind="stable")]) >= -1e-9).all()


@pytest.mark.parametrize("size", [1e9, 1e18, 1e300])
def test_huge_scores(size):
    s = size * np.array([1.0, 0.5, 0.0, -1.0])
    sets = Sets(np.full(4, -1, dtype=np.int8), np.array([0, 4]))
    for count in range(5):
        found = AllowedPartition(CountRange(count, count).bind(sets).zero())(s)
        np.testing.assert_allclose(found.values[0], s[:count].sum(), rtol=1e-12)
        np.testing.assert_allclose(found.gradient, np.arange(4) < count, atol=1e-9)


def test_float32_scores_have_float32_gradients():
    sets = Sets(np.full(3, -1, dtype=np.int8), np.array([0, 3]))
    for kind in (CountLikelihood, ProportionLoss):
        assert kind(CountRange(1)).on(sets)(np.zeros(3, np.float32)).gradient.dtype == np.float32


def test_refusals():
    sets = Sets(np.array([-1, -1, 1], dtype=np.int8), np.array([0, 3]))
    with pytest.raises(ValueError, match="low and high must hold a number of positives that set 0 may have, 1 to 3"):
        CountRange(0, 0).bind(sets)
    with pytest.raises(ValueError, match="got 4 to 3"):
        CountRange(4).bind(sets)
    with pytest.raises(ValueError, match="low must be one whole number or 1, one for each set; got 2"):
        CountRange(np.array([1, 2])).bind(sets)
    for bad in (-1, 0.5, np.nan, [[1]], [], "one"):
        with pytest.raises((ValueError, TypeError), match="low must be"):
            CountRange(bad)
    with pytest.raises(Refusal, match="these labelings are not ranges of numbers of positives"):
        AllowedPartition(Jaccard().bind(Sets.single([1, 0])))
    for kind in (AllowedPartition, BagDivergence):
        for costly in (Hamming(), 2 * CountRange(1)):
            with pytest.raises(Refusal, match="it is for values of 0 and -inf"):
                kind(costly.bind(sets))
    with pytest.raises(ValueError, match="scores must be finite"):
        CountLikelihood(CountRange(1)).on(sets)(np.array([np.nan, 0, 0]))
    with pytest.raises(TypeError, match="bound_loss must be"):
        AllowedPartition(CountRange(1))
    assert AllowedPartition(BoundLoss(sets))(np.zeros(3)).values[0] == pytest.approx(3 * np.log(2))


def test_the_gradient_of_the_divergence_has_its_digits_near_saturation():
    rng = np.random.default_rng(7)
    for _ in range(200):
        p = int(rng.integers(1, 9))
        s = rng.uniform(20.0, 32.0, p) * rng.choice([-1.0, 1.0])
        low = int(rng.integers(0, p + 1))
        bag = Sets(np.full(p, -1, np.int8), np.array([0, p]))
        evaluator = ProportionLoss(CountRange(low, int(rng.integers(low, p + 1)))).on(bag)
        steps = 1e-4 * np.eye(p)
        slopes = [(evaluator(s + step).values[0] - evaluator(s - step).values[0]) / 2e-4 for step in steps]
        np.testing.assert_allclose(evaluator(s).gradient, slopes, rtol=1e-5, atol=1e-6)
