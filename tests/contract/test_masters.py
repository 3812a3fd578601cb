"""Every learner on known risks: bounded weights, negative optima, growing weights, and risks that lie."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.risks import ListedPlanes, hamming_risk, minimum, random_risk
from setwise.core.exceptions import BrokenPromise, Refusal
from setwise.core.learner import Learner, Step
from setwise.core.risk import CuttingPlane, PartPlanes, Risk
from setwise.learners import LEARNERS

EVERY = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS.keys())
CONVEX = pytest.mark.parametrize("make", [kind for kind in LEARNERS.values() if kind.needs_convex])


@EVERY
@settings(max_examples=15)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 10.0]))
def test_bounded_weights_equal_piqp(make, n, d, seed, C):
    rng = np.random.default_rng(seed)
    lower = np.where(rng.random(d) < 0.6, rng.choice([-0.5, 0.0, 0.2], d), -np.inf)
    risk = random_risk(n, 6, d, seed, lower)
    best = minimum(risk, C)
    fit = make(C=C, tol=make.attainable, max_iter=2000).minimize(risk)
    assert (fit.w >= lower).all()
    slack = 1e-7 * (1 + abs(best))
    assert fit.lower_bound <= best + slack
    assert best <= risk.objective(fit.w, C) + slack
    assert risk.objective(fit.w, C) <= fit.upper_bound + slack
    if fit.status == "converged":
        assert fit.objective == pytest.approx(best, rel=2 * make.attainable, abs=1e-3 * C * make.attainable + slack)
    else:
        assert make.attainable > 1e-3 or fit.upper_bound - fit.lower_bound < 1e-7


@EVERY
@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
def test_a_negative_optimum_is_certified(make, C):
    for seed in range(4):
        risk = random_risk(4, 6, 3, seed, negative=True)
        best = minimum(risk, C)
        fit = make(C=C, tol=make.attainable, max_iter=3000).minimize(risk)
        assert best < 0
        assert fit.lower_bound <= best + 1e-9 <= fit.upper_bound + 2e-9
        assert fit.status == "converged"


@EVERY
def test_the_first_planes_are_made_at_the_start(make):
    risk = random_risk(4, 6, 3, 0, negative=True)
    start = np.array([0.5, -0.3, 0.1])
    fit = make(C=1.0, max_iter=1).minimize(risk, w0=start)
    np.testing.assert_array_equal(fit.w, start)
    assert fit.lower_bound > -np.inf


class GrowingRisk(Risk):
    """``max_k |w_k - k|``, k = 1..most; a weight becomes known when it is the worst, as a landmark of a kernel does."""

    n_parts, floors = 1, np.zeros(1)

    def __init__(self, most):
        self.size, self.most = 1, most

    def cut(self, w, tol=0.0):
        away = np.concatenate([w, np.zeros(self.most - len(w))]) - np.arange(1, self.most + 1)
        k = int(np.argmax(np.abs(away)))
        self.size = max(self.size, k + 1)
        slope = np.zeros(self.size)
        slope[k] = np.sign(away[k])
        value = float(abs(away[k]))
        return CuttingPlane(-slope[k] * (k + 1), slope, value, value)

    def cuts(self, w, parts, tol=0.0):
        cut = self.cut(w, tol)
        return PartPlanes(np.array([cut.offset]), cut.slope[None], np.array([cut.value]), np.array([cut.upper]))


@pytest.mark.parametrize("name", LEARNERS)
def test_weights_may_grow_and_older_planes_are_padded(name):
    """Older planes are flat in weights that are not known yet, which is exact here."""
    fit = LEARNERS[name](C=30.0, tol=1e-6, max_iter=500).minimize(GrowingRisk(4))
    assert len(fit.w) == 4
    # All errors are equal at the minimum: w_k = k - e, with 0.5 |w|^2 + 30 e least, so sum (k - e) = 30 unless e = 0.
    np.testing.assert_allclose(fit.w, [1, 2, 3, 4], atol=1e-2)
    assert fit.objective == pytest.approx(15.0, rel=1e-5)


@EVERY
def test_a_callback_gets_weights_that_it_cannot_write(make):
    def write(record, w):
        w[0] = 7.0

    with pytest.raises(ValueError, match="read-only"):
        make(C=10.0).minimize(hamming_risk(), callback=write)


class ConcaveRisk(Risk):
    """``-|w|^2 + 4`` says that it is convex: a plane of it lies above everywhere else."""

    size, n_parts = 2, 2

    def cut(self, w, tol=0.0):
        value = 4.0 - float(w @ w)
        return CuttingPlane(value + 2 * float(w @ w), -2.0 * w + 0.1, value, value)

    def cuts(self, w, parts, tol=0.0):
        cut = self.cut(w)
        half = np.full(len(parts), 0.5)
        return PartPlanes(half * cut.offset, half[:, None] * cut.slope, half * cut.value, half * cut.upper)


@EVERY
def test_planes_above_the_risk_stop_the_learner_with_a_sentence(make):
    with pytest.raises(BrokenPromise, match=r"planes (are not below it|of this risk are not below)"):
        make(C=5.0, tol=1e-9).minimize(ConcaveRisk(), w0=np.array([1.0, 0.5]))


@CONVEX
def test_a_risk_that_is_not_convex_is_refused_by_those_that_need_it(make):
    risk = hamming_risk()
    risk.convex = False
    with pytest.raises(Refusal, match="not convex"):
        make().minimize(risk)


def test_a_learner_that_needs_no_convexity_may_have_it():
    class SingleStepLearner(Learner):
        name, needs_convex = "once", False
        C, tol, max_iter = 1.0, 1e-3, 1

        def __init__(self):
            pass

        def steps(self, risk, w0):
            yield Step(w0, risk.cut(w0), -np.inf, -np.inf)

    risk = hamming_risk()
    risk.convex = False
    fit = SingleStepLearner().minimize(risk)
    assert fit.status == "max_iter"
    assert fit.lower_bound == 0.0  # the floor of the risk


def test_what_is_no_risk_is_refused():
    with pytest.raises(TypeError, match="risk must be a Risk, such as setwise.risks.MeanRisk"):
        LEARNERS["one_slack"]().minimize(lambda w: w)


@EVERY
def test_the_gap_is_relative_to_the_objective_or_to_c(make):
    risk = ListedPlanes(np.zeros((3, 1, 2)), np.full((3, 1), 1e-9))
    fit = make(C=1.0, tol=1e-3).minimize(risk)
    assert fit.gap == pytest.approx((fit.upper_bound - fit.lower_bound) / 1e-3)
