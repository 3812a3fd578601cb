import numpy as np
import pytest
from scipy.sparse import csr_matrix

from rounds import rounds
from setwise.core.batch import Sets
from setwise.inference import GreedySearch
from setwise.learners import OneSlack
from setwise.losses import FBeta, SaturatingLoss
from setwise.models import MultilabelModel, RowModel
from setwise.risks import MeanRisk
from setwise.surrogates import LovaszHinge, MarginRescaling


def problem(kind, intercept, sparse, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 4)) * (rng.random((30, 4)) < 0.6)
    X = csr_matrix(X) if sparse else X
    if kind == "rows":
        sets = Sets.rows(rng.random((30, 3)) < 0.4)
        return MultilabelModel(X, 3, np.arange(31), intercept=intercept), LovaszHinge(SaturatingLoss()).on(sets), rng
    sets = Sets(rng.random(30) < 0.4, np.array([0, 5, 6, 20, 30]))
    return RowModel(X, sets.offsets, intercept), LovaszHinge("jaccard").on(sets), rng


EVERY = pytest.mark.parametrize(
    ("kind", "intercept", "sparse"), [(k, i, s) for k in ("rows", "groups") for i in (2.0, 0.0) for s in (True, False)]
)


@EVERY
def test_a_cut_is_tight_at_its_point_and_below_everywhere(kind, intercept, sparse):
    features, evaluator, rng = problem(kind, intercept, sparse)
    risk = MeanRisk(features, evaluator, rng.random(len(evaluator.batch)))
    w = rng.standard_normal(risk.size)
    cut = risk.cut(w)
    assert cut.offset + cut.slope @ w == pytest.approx(cut.value, rel=1e-12)
    assert cut.upper == cut.value
    assert 0 < cut.rounding < 1e-12 * (1 + abs(cut.value))
    for _ in range(20):
        v = w + rng.standard_normal(risk.size)
        assert risk.cut(v).value >= cut.offset + cut.slope @ v - 1e-9


@EVERY
def test_the_cuts_of_all_parts_sum_to_the_cut(kind, intercept, sparse):
    features, evaluator, rng = problem(kind, intercept, sparse)
    n = len(evaluator.batch)
    risk = MeanRisk(features, evaluator, rng.random(n))
    w = rng.standard_normal(risk.size)
    cut, parts = risk.cut(w), risk.cuts(w, rng.permutation(n))
    assert parts.offsets.sum() == pytest.approx(cut.offset, rel=1e-10)
    np.testing.assert_allclose(parts.slopes.sum(axis=0), cut.slope, atol=1e-12)
    assert parts.values.sum() == pytest.approx(cut.value, rel=1e-12)
    assert parts.uppers.sum() == pytest.approx(cut.upper, rel=1e-12)
    ordered = risk.cuts(w, np.arange(n))
    some = risk.cuts(w, np.array([2, 0]))
    np.testing.assert_allclose(some.slopes, ordered.slopes[[2, 0]], atol=1e-12)


def test_the_upper_bounds_of_inexact_inference_are_kept():
    features, _, rng = problem("groups", 1.0, False)
    weights, w = rng.random(4), rng.standard_normal(features.size)
    evaluator = MarginRescaling(FBeta(), GreedySearch()).on(Sets(rng.random(30) < 0.4, features.offsets))
    found = evaluator(features.scores(w))
    assert (found.upper > found.values).any()
    risk = MeanRisk(features, evaluator, weights)
    cut, parts = risk.cut(w), risk.cuts(w, np.arange(4))
    assert cut.value == pytest.approx(weights @ found.values / weights.sum())
    assert cut.upper == pytest.approx(weights @ found.upper / weights.sum())
    np.testing.assert_allclose(parts.uppers, weights * found.upper / weights.sum())


@pytest.mark.parametrize("kind", ["rows", "groups"])
def test_threads_and_chunks_do_not_change_the_result(monkeypatch, kind):
    features, evaluator, rng = problem(kind, 1.0, False)
    whole = MeanRisk(features, evaluator)
    monkeypatch.setattr(MeanRisk, "CHUNK", 12)
    one, two = (MeanRisk(features, evaluator, n_jobs=jobs) for jobs in (1, 2))
    w = rng.standard_normal(whole.size)
    a, b, c = one.cut(w), two.cut(w), whole.cut(w)
    assert (a.offset, a.value) == (b.offset, b.value)
    assert np.array_equal(a.slope, b.slope)
    np.testing.assert_allclose(a.slope, c.slope, rtol=1e-12)


@pytest.mark.parametrize("kind", ["rows", "groups"])
def test_steps_from_a_start_are_the_same_risk(kind):
    features, evaluator, rng = problem(kind, 1.0, False)
    w0, v = rng.standard_normal((2, features.size))
    plain, centred = MeanRisk(features, evaluator), MeanRisk(features.centred(w0), evaluator)
    a, b = plain.cut(w0 + v), centred.cut(v)
    assert a.value == pytest.approx(b.value)
    np.testing.assert_allclose(a.slope, b.slope, atol=1e-12)
    assert a.offset + a.slope @ w0 == pytest.approx(b.offset)
    parts = np.array([1, 0])
    np.testing.assert_allclose(plain.cuts(w0 + v, parts).slopes, centred.cuts(v, parts).slopes, atol=1e-12)


def test_huge_weights_of_sets_are_weights_all_the_same():
    features, evaluator, _ = problem("groups", 1.0, False)
    risk = MeanRisk(features, evaluator, [1.7e308, 1.7e308, 0.0, 1.7e308])
    np.testing.assert_allclose(risk.weights, [1 / 3, 1 / 3, 0, 1 / 3])


def test_what_does_not_fit_is_refused_in_a_sentence():
    X, sets = np.eye(4), Sets.single([0, 1, 1, 0])
    features, evaluator = RowModel(X, sets.offsets), LovaszHinge("jaccard").on(sets)
    with pytest.raises(
        TypeError, match=r"evaluator must be a surrogate bound to a batch, such as surrogate.on\(sets\)"
    ):
        MeanRisk(features, "lovasz")
    with pytest.raises(TypeError, match=r"evaluator must be a surrogate bound to a batch"):
        MeanRisk(features, MarginRescaling("f1"))
    with pytest.raises(TypeError, match="features must be Features"):
        MeanRisk(X, evaluator)
    with pytest.raises(ValueError, match="features must give 4 scores, as the batch has them; got 3"):
        MeanRisk(RowModel(X[:3], np.array([0, 3])), evaluator)
    for weights in ([-1.0], [0.0], [np.nan], [1.0, 2.0]):
        with pytest.raises(ValueError, match=r"weights must (be 1 finite numbers|be finite|have shape \(1,\))"):
            MeanRisk(features, evaluator, weights)
    with pytest.raises(ValueError, match="n_jobs must be at least 1"):
        MeanRisk(features, evaluator, n_jobs=0)


def test_an_early_interrupt_is_not_swallowed():
    sets = Sets.single([True, False, True, False])
    risk = MeanRisk(RowModel(np.eye(4), sets.offsets), LovaszHinge("jaccard").on(sets))

    def interrupt(w, tol=0.0):
        raise KeyboardInterrupt

    risk.cut = interrupt
    with pytest.raises(KeyboardInterrupt):
        OneSlack().minimize(risk)


def test_bounds_give_way_to_rounding():
    """Features so large that offsets lose all their digits: lower bounds may not lie."""
    for seed in range(rounds(100, 30)):
        rng = np.random.default_rng(seed)
        X = 10.0 ** rng.uniform(20, 40) * rng.standard_normal((50, 2))
        sets = Sets.single(X[:, 0] + 0.1 * np.abs(X).max() * rng.standard_normal(50) > 0)
        if sets.positives[0] == 0:
            continue
        risk = MeanRisk(RowModel(X, sets.offsets), LovaszHinge("jaccard").on(sets))
        for C in (1.0, 1000.0):
            fit = OneSlack(C, max_iter=40).minimize(risk)
            assert fit.lower_bound <= fit.upper_bound
            # Some weights are known to be possible: those of zero.
            assert fit.lower_bound <= C * risk.cut(np.zeros(3)).upper
