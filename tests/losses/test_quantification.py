"""The losses of quantification against their published formulas, on all counts of small sets and at the edges."""

import itertools
import math

import numpy as np
import pytest

from setwise.core import enumerate as brute
from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.core.loss import CountLoss
from setwise.inference.count_objective import monge_sets
from setwise.inference.counts import CountSearch
from setwise.losses import (
    AE,
    KLD,
    LOSSES,
    NKLD,
    QF1,
    QGM,
    RAE,
    CountFunctionLoss,
    Hamming,
    OneClass,
    Q,
    QAcc,
    parse_losses,
)
from setwise.surrogates import MarginRescaling, SlackRescaling

OF_THE_NUMBER = (KLD(), NKLD(), AE(), RAE())
OF_BOTH = tuple(kind(beta) for kind in (Q, QAcc, QF1, QGM) for beta in (1.0, 2.0, 0.5))
SIZES = ((1, 0), (0, 1), (0, 5), (5, 0), (1, 1), (1, 9), (9, 1), (4, 7), (7, 4), (6, 6))


def smoothed(labels):
    """Both prevalences with half a decision more of each class: eps = 1 / (2 n) as in the papers."""
    n, eps = len(labels), 0.5 / len(labels)
    return [(eps + sum(v == c for v in labels) / n) / (1 + 2 * eps) for c in (0, 1)]


def kld(y, z):
    return sum(p * math.log(p / q) for p, q in zip(smoothed(y), smoothed(z), strict=True))


def nkld(y, z):
    return 2 * math.exp(kld(y, z)) / (1 + math.exp(kld(y, z))) - 1


def ae(y, z):
    return np.mean([abs(sum(v == c for v in y) - sum(v == c for v in z)) / len(y) for c in (0, 1)])


def rae(y, z):
    return np.mean([abs(p - q) / p for p, q in zip(smoothed(y), smoothed(z), strict=True)])


def recall(y, z):
    return sum(a and b for a, b in zip(y, z, strict=True)) / sum(y) if any(y) else 1.0


def accuracy(y, z):
    return sum(a == b for a, b in zip(y, z, strict=True)) / len(y)


def f1(y, z):
    both = sum(a and b for a, b in zip(y, z, strict=True))
    return 2 * both / (sum(y) + sum(z)) if any(y) or any(z) else 1.0


def geometric_mean(y, z):
    found = [recall([v == c for v in y], [v == c for v in z]) for c in (0, 1) if any(v == c for v in y)]
    return math.prod(found) ** (1 / len(found))


def q_loss(score, beta):
    def loss(y, z):
        share = sum(y) / len(y)
        count = 1 - abs(share - sum(z) / len(z)) / max(share, 1 - share)
        classified = score(y, z)
        # The weighted harmonic mean, in which a part of 0 makes the mean 0.
        if min(count, classified) < 1e-12:
            return 1.0
        return 1 - (1 + beta**2) / (beta**2 / count + 1 / classified)

    return loss


FORMULAS = dict(zip(OF_THE_NUMBER, (kld, nkld, ae, rae), strict=True)) | {
    loss: q_loss({Q: recall, QAcc: accuracy, QF1: f1, QGM: geometric_mean}[type(loss)], loss.beta) for loss in OF_BOTH
}


def labelings(P, N):
    """A truth with P positives, and one prediction for each pair of counts."""
    for fn, fp in itertools.product(range(P + 1), range(N + 1)):
        yield [True] * P + [False] * N, [False] * fn + [True] * (P - fn + fp) + [False] * (N - fp)


@pytest.mark.draw(2)
@pytest.mark.parametrize("loss", FORMULAS, ids=repr)
def test_every_cell_is_the_published_formula(loss):
    for P, N in SIZES:
        for y, z in labelings(P, N):
            assert loss(y, z) == pytest.approx(FORMULAS[loss](y, z), abs=1e-12), (y, z)


@pytest.mark.parametrize("loss", FORMULAS, ids=repr)
def test_the_truth_costs_exactly_nothing(loss):
    for P, N in SIZES:
        y = np.arange(P + N) < P
        assert loss(y, y) == 0.0


def test_the_number_alone_is_counted_by_four_of_them():
    y = np.array([1, 1, 0, 0, 0])
    swapped = np.array([1, 0, 1, 0, 0])
    for loss in OF_THE_NUMBER:
        assert loss(y, swapped) == 0.0
    for loss in OF_BOTH:
        assert loss(y, swapped) > 0.0


def test_values_at_the_edges():
    none, one, every = np.zeros(9), np.arange(9) == 4, np.ones(9)
    # A set of one class has the prevalences 1/20 and 19/20 in place of 0 and 1.
    assert KLD()(none, every) == pytest.approx(0.9 * math.log(19))
    assert NKLD()(every, none) == pytest.approx(math.tanh(0.45 * math.log(19)))
    assert AE()(none, every) == AE()(every, none) == 1.0
    assert RAE()(none, one) == pytest.approx((2.0 + 1 / 9.5) / 2)
    # Without positives the recall is 1, and F1 is 0 as soon as one is predicted.
    assert Q()(none, one) == pytest.approx(1 - 2 * (8 / 9) / (17 / 9))
    assert QF1()(none, one) == 1.0
    assert QGM()(none, one) == pytest.approx(1 / 9)
    assert Q()(every, none) == QAcc()(every, none) == QF1()(every, none) == QGM()(every, none) == 1.0


def test_huge_sets_have_finite_losses_that_are_not_negative():
    P, N = np.float64(3e8), np.float64(7e8)
    for loss in FORMULAS:
        for fn, fp in itertools.product((0.0, 1.0, P), (0.0, 1.0, N)):
            value = loss.of_counts(np.array([fn]), np.array([fp]), np.array([P]), np.array([N]))[0]
            assert np.isfinite(value)
            assert value >= 0.0
            assert value == 0.0 or (fn, fp) != (0.0, 0.0)
    # A single mistake among 1e9 costs less than rounding leaves of the terms of the textbook formula.
    assert KLD().of_counts(np.float64(0), np.float64(1), P, N) == pytest.approx(0.5e-18 / 0.21, abs=1e-17)


@pytest.mark.parametrize("loss", OF_THE_NUMBER, ids=repr)
def test_convex_functions_of_the_number_are_monge(loss):
    unpromised = CountFunctionLoss(loss.of_counts)
    for P, N in ((3, 400), (400, 3), (40, 90), (300, 300)):
        truth = Sets.single(np.arange(P + N) < P)
        assert monge_sets(loss.bind(truth).counts)[0]
        assert monge_sets(unpromised.bind(truth).counts)[0]


@pytest.mark.draw(4)
@pytest.mark.parametrize("loss", FORMULAS, ids=repr)
def test_maxima_are_those_of_enumeration(loss):
    rng = np.random.default_rng(0)
    for p, ratio, size in itertools.product((1, 2, 7), (0.0, 0.5, 1.0), (0.0, 0.01, 0.1, 1.0, 30.0)):
        y, s = rng.random(p) < ratio, np.round(4 * size * rng.standard_normal(p)) / 4
        margin = MarginRescaling(loss)(y, s)
        assert margin.exact
        assert margin.value == pytest.approx(brute.margin_rescaling(loss, y, s), abs=1e-9)
        slack = SlackRescaling(loss)(y, s)
        assert slack.exact
        assert slack.value == pytest.approx(brute.slack_rescaling(loss, y, s), abs=1e-9)


@pytest.mark.parametrize("loss", OF_THE_NUMBER, ids=repr)
def test_large_sets_are_maximized_exactly(loss):
    """Of all labelings with k positives, those of the k largest scores win: 1,501 of them are compared here."""
    rng = np.random.default_rng(1)
    p, P = 1500, 90
    y = np.arange(p) < P
    for size in (1e-4, 1e-3, 1e-2):
        s = size * (rng.standard_normal(p) + y)
        predicted = np.arange(p + 1.0)
        best = np.concatenate(([0.0], np.cumsum(np.sort(s)[::-1])))
        values = loss.of_counts(np.maximum(P - predicted, 0), np.maximum(predicted - P, 0), P, p - P) + best
        found = MarginRescaling(loss)(y, s)
        assert found.exact
        assert found.value == pytest.approx((values - s[y].sum()).max(), abs=1e-12)


def test_they_have_names_and_parameters():
    found = parse_losses("kld,nkld,ae,rae,q,qacc,qf1:2,qgm:beta=0.5")
    assert list(found.values()) == [KLD(), NKLD(), AE(), RAE(), Q(), QAcc(), QF1(2.0), QGM(0.5)]
    for kind, bad in itertools.product((Q, QAcc, QF1, QGM), (0.0, -1.0, math.nan, math.inf)):
        with pytest.raises(ValueError, match="beta must be a finite number"):
            kind(bad)


CEILINGS = [
    loss for kind in LOSSES.values() for loss in kind.examples(5) if isinstance(loss, CountLoss) and loss.ceiling
]


@pytest.mark.parametrize("loss", CEILINGS, ids=repr)
def test_a_ceiling_is_above_every_cell_of_its_box_and_meets_a_single_one(loss):
    for P, N in ((0, 4), (4, 0), (1, 5), (4, 5)):
        fn, fp = np.meshgrid(np.arange(P + 1.0), np.arange(N + 1.0), indexing="ij")
        table = loss.of_counts(fn, fp, np.float64(P), np.float64(N))
        for a, c in itertools.product(range(P + 1), range(N + 1)):
            for b, d in itertools.product(range(a, P + 1), range(c, N + 1)):
                bound = loss.ceiling(*(np.array([float(v)]) for v in (a, b, c, d, P, N)))[0]
                worst = table[a : b + 1, c : d + 1].max()
                assert bound >= worst - 1e-12
                assert (a, c) != (b, d) or bound == pytest.approx(worst, abs=1e-12)


@pytest.mark.draw(3)
@pytest.mark.parametrize("loss", [*OF_BOTH, 2.5 * Q(), Q() + 0.5 * QGM(2.0), QF1() + 0.01 * Hamming()], ids=repr)
def test_a_pruned_table_has_the_maximum_of_the_scanned_one(loss):
    rng = np.random.default_rng(2)
    p, P = 1000, 120
    y = np.arange(p) < P
    truth = Sets.single(y)
    assert loss.bind(truth).split()[1].counts.bounded

    def scanned(fn, fp, P, N):
        # A function that promises nothing is scanned whole.
        whole = loss.parts if hasattr(loss, "parts") else [(1.0, loss)]
        return sum(factor * part.of_counts(fn, fp, P, N) for factor, part in whole if part.name != "hamming")

    linear = 0.01 * Hamming() if "Hamming" in repr(loss) else None
    plain = CountFunctionLoss(scanned) if linear is None else CountFunctionLoss(scanned) + linear
    for size in (0.0, 1e-5, 1e-3, 1e-2, 1.0):
        s = np.round(size * (rng.standard_normal(p) + 0.5 * y), 5)
        found = MarginRescaling(loss)(y, s)
        assert found.exact
        assert found.value == pytest.approx(MarginRescaling(plain)(y, s).value, abs=1e-9)
    for size in (1e-4, 1e-2):
        s = size * (rng.standard_normal(p) + 0.5 * y)
        found = SlackRescaling(loss)(y, s)
        assert found.exact
        assert found.value == pytest.approx(SlackRescaling(plain)(y, s).value, abs=1e-9)


def test_tables_of_any_size_are_taken_where_a_ceiling_is_known():
    rng = np.random.default_rng(3)
    p, P = 40_000, 5_000
    y = np.arange(p) < P
    s = 1e-5 * (rng.standard_normal(p) + y)
    with pytest.raises(Refusal, match="cells are more than budget"):
        CountSearch().prepare(CountFunctionLoss(Q().of_counts).bind(Sets.single(y)))
    found = MarginRescaling(Q(), scale="size")(y, p * s)
    assert found.exact
    # No labeling of a random sample of cells is better.
    fn, fp = rng.integers(0, P + 1, 10**5), rng.integers(0, p - P + 1, 10**5)
    lost = np.concatenate(([0.0], np.cumsum(np.sort(s[y]))))
    won = np.concatenate(([0.0], np.cumsum(np.sort(s[~y])[::-1])))
    values = Q().of_counts(fn.astype(float), fp.astype(float), np.float64(P), np.float64(p - P)) + won[fp] - lost[fn]
    assert values.max() <= found.value + 1e-12


@pytest.mark.parametrize("loss", [Q(2.0), QF1(), QGM()])
def test_the_ceiling_of_the_other_class_is_that_of_exchanged_labels(loss):
    # The table has more cells than are scanned, so that the ceiling prunes it.
    rng = np.random.default_rng(4)
    for _ in range(3):
        y, s = rng.random(600) < 0.7, 5e-3 * rng.standard_normal(600)
        found, wanted = MarginRescaling(OneClass(loss, 0))(y, s), MarginRescaling(loss)(~y, -s)
        assert found.value == pytest.approx(wanted.value, abs=1e-12)
        assert found.exact
