"""Learners of risks that are not convex: they descend, end, and agree with the convex ones where the risk is convex."""

from itertools import pairwise

import numpy as np
import pytest

from learners.risks import hamming_risk, random_risk
from rounds import rounds
from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.core.risk import CuttingPlane, PartPlanes, Risk
from setwise.learners import LEARNERS, NRBM, ConvexConcaveProcedure, OneSlack
from setwise.losses import FBeta, Jaccard
from setwise.models import RowModel
from setwise.risks import MeanRisk
from setwise.surrogates import MarginRescaling, Ramp

CONVEX = sorted(name for name, kind in LEARNERS.items() if kind.needs_convex)
DESCENT = pytest.mark.parametrize(
    "make",
    [
        NRBM,
        *(lambda inner=name, **more: ConvexConcaveProcedure(inner=inner, random_state=0, **more) for name in CONVEX),
    ],
    ids=["nrbm", *CONVEX],
)


def made_up(seed, n=60, ends=None, loss="jaccard", scale="size", shift=0.5):
    """The risk of a ramp on noisy data, and a start at which some decisions are positive."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    y = X @ [1.5, -1.0] + rng.standard_normal(n) > shift
    sets = Sets(y, np.array([0, n]) if ends is None else ends)
    risk = MeanRisk(RowModel(X, sets.offsets), Ramp(loss, scale=scale).on(sets))
    return risk, np.array([1.0, -0.5, -shift])


@pytest.mark.draw(12)
@DESCENT
@pytest.mark.parametrize("loss", [Jaccard(), FBeta()], ids=repr)
@pytest.mark.parametrize("ends", [None, np.arange(0, 61, 6)], ids=["one set", "ten sets"])
def test_descent_is_monotone_and_ends(make, loss, ends):
    for seed in range(rounds(3, 2)):
        risk, start = made_up(seed, ends=ends, loss=loss)
        C, tol = 50.0, 1e-2
        seen = []

        def watch(record, w, risk=risk, C=C, seen=seen):
            seen.append((record, 0.5 * w @ w + C * risk.cut(w).value))

        fit = make(C=C, tol=tol, max_iter=3000).minimize(risk, w0=start, callback=watch)
        assert fit.status == "local"
        assert "local minimum or a stationary point" in fit.message
        # The objective of the best point never rises, and what is said of it is no less than what it is.
        objectives = [record.objective for record, _ in seen]
        assert all(a >= b for a, b in pairwise(objectives))
        assert all(record.objective >= truth - 1e-9 for record, truth in seen)
        assert objectives[0] == pytest.approx(0.5 * start @ start + C * risk.cut(start).value)
        assert fit.objective == pytest.approx(seen[-1][1])
        assert fit.objective < objectives[0] - tol * C
        assert fit.lower_bound == 0.0 <= fit.objective == fit.upper_bound


@pytest.mark.draw(2)
@DESCENT
def test_no_majorant_descends_from_the_end(make):
    C = 50.0
    for seed in range(rounds(4, 2)):
        risk, start = made_up(seed)
        fit = make(C=C, tol=1e-3, max_iter=3000).minimize(risk, w0=start)
        again = OneSlack(C=C, tol=1e-6).minimize(risk.majorant(fit.w), w0=fit.w)
        assert fit.objective - again.objective <= 0.03 * fit.objective


@pytest.mark.slow
def test_the_end_is_near_the_best_of_a_grid():
    C = 200.0
    for seed in range(rounds(3, 1)):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((40, 1))
        y = X[:, 0] + 0.7 * rng.standard_normal(40) > 0.8
        sets = Sets.single(y)
        risk = MeanRisk(RowModel(X, sets.offsets), Ramp("jaccard", scale="size").on(sets))
        grid = [np.array([a, b]) for a in np.linspace(-8, 8, 81) for b in np.linspace(-8, 8, 81)]
        best = min(0.5 * w @ w + C * risk.cut(w).value for w in grid)
        for make in (NRBM, ConvexConcaveProcedure):
            fits = [make(C=C, tol=1e-4).minimize(risk, w0=np.array(w)) for w in ([2.0, -1.5], [6.0, -4.0], [3.0, 0.0])]
            assert min(fit.objective for fit in fits) <= 1.1 * best


@pytest.mark.parametrize("inner", CONVEX)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_on_a_convex_risk_it_is_the_inner_learner_with_its_certificate(inner, C):
    for risk in (hamming_risk(n=5, p=3, seed=1), random_risk(4, 6, 3, 0, negative=True)):
        kind = LEARNERS[inner]
        seed = {"random_state": 3} if "random_state" in kind.__dataclass_fields__ else {}
        ours = ConvexConcaveProcedure(C=C, tol=1e-2, inner=inner, random_state=3).minimize(risk)
        theirs = kind(C=C, tol=1e-2, **seed).minimize(risk)
        np.testing.assert_array_equal(ours.w, theirs.w)
        assert (ours.lower_bound, ours.upper_bound) == (theirs.lower_bound, theirs.upper_bound)
        assert ours.status == theirs.status == "converged"


def test_on_a_convex_risk_the_bundle_method_is_one_slack():
    risk = hamming_risk(n=5, p=3, seed=1)
    ours, theirs = (kind(C=10.0, tol=1e-5).minimize(risk) for kind in (NRBM, OneSlack))
    np.testing.assert_array_equal(ours.w, theirs.w)
    assert ours.lower_bound == theirs.lower_bound > 0


class UndeclaredConvexRisk(Risk):
    """A convex risk that says it is not convex, and whose majorant is itself."""

    convex = False

    def __init__(self, inner):
        self.inner, self.size, self.n_parts = inner, inner.size, inner.n_parts
        self.lower, self.floors = inner.lower, inner.floors

    def cut(self, w, tol=0.0):
        return self.inner.cut(w, tol)

    def cuts(self, w, parts, tol=0.0):
        return self.inner.cuts(w, parts, tol)

    def majorant(self, w):
        return self.inner


@DESCENT
@pytest.mark.parametrize("C", [0.1, 1.0, 20.0])
def test_the_answer_is_that_of_the_convex_learners_where_the_risk_is_convex_but_does_not_say_so(make, C):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        lower = np.where(rng.random(3) < 0.5, -0.2, -np.inf)
        risk = random_risk(4, 6, 3, seed, lower)
        best = OneSlack(C=C, tol=1e-8).minimize(risk).objective
        fit = make(C=C, tol=1e-2, max_iter=5000).minimize(UndeclaredConvexRisk(risk))
        assert fit.status in ("local", "converged")
        assert (fit.w >= lower).all()
        assert best - 1e-9 <= fit.objective <= best + 0.04 * max(best, 1e-3 * C)


class SineRisk(Risk):
    """``2 + sin 3 w_1 + sin 2 w_2``: smooth, not convex, with many minima and without a majorant."""

    size, n_parts, convex, floors = 2, 1, False, np.zeros(1)

    def cut(self, w, tol=0.0):
        value = 2.0 + np.sin(3 * w[0]) + np.sin(2 * w[1])
        slope = np.array([3 * np.cos(3 * w[0]), 2 * np.cos(2 * w[1])])
        return CuttingPlane(value - slope @ w, slope, value, value)

    def cuts(self, w, parts, tol=0.0):
        cut = self.cut(w)
        return PartPlanes(np.array([cut.offset]), cut.slope[None], np.array([cut.value]), np.array([cut.upper]))


def test_planes_above_a_risk_that_is_not_convex_accuse_nobody():
    ends = []
    for start in np.random.default_rng(0).uniform(-4, 4, (20, 2)):
        fit = NRBM(C=5.0, tol=1e-6).minimize(SineRisk(), w0=start)
        assert fit.status == "local"
        # At the end the gradient of the objective is small.
        ends.append(np.abs(fit.w + 5.0 * SineRisk().cut(fit.w).slope).max())
    assert np.median(ends) < 0.05
    with pytest.raises(Refusal, match="SineRisk has no convex majorant"):
        ConvexConcaveProcedure().minimize(SineRisk())


def test_zero_is_where_descent_may_stay_and_another_start_does_not():
    risk, start = made_up(0, n=300, shift=1.5)
    for make in (NRBM, ConvexConcaveProcedure):
        fits = [make(C=1e3).minimize(risk, w0=w) for w in (np.zeros(3), start)]
        assert fits[1].objective < fits[0].objective


def test_a_centred_regularizer_at_a_tiny_weight_stays_at_the_start():
    risk, start = made_up(0)
    centred = MeanRisk(risk.features.centred(start), risk.evaluator)
    for make in (NRBM, ConvexConcaveProcedure):
        fit = make(C=1e-9).minimize(centred)
        np.testing.assert_allclose(fit.w, 0.0, atol=1e-8)
        assert fit.objective == pytest.approx(1e-9 * risk.cut(start).value)


def test_a_ramp_of_zero_is_certified():
    X, y = np.array([[2.0], [3.0], [-2.0], [-4.0]]), np.array([1, 1, 0, 0])
    sets = Sets.single(y)
    features = RowModel(X, sets.offsets).centred(np.array([1.0, 0.0]))
    for make in (NRBM, ConvexConcaveProcedure):
        fit = make().minimize(MeanRisk(features, Ramp("jaccard").on(sets)))
        assert (fit.objective, fit.lower_bound, fit.status) == (0.0, 0.0, "converged")


def test_unknown_labels_under_margin_rescaling_descend_too():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 2))
    truth = X[:, 0] + 0.3 * rng.standard_normal(60) > 0
    sets = Sets(np.where(rng.random(60) < 0.5, -1, truth).astype(np.int8), np.arange(0, 61, 6))
    risk = MeanRisk(RowModel(X, sets.offsets), MarginRescaling("jaccard").on(sets))
    start = OneSlack(C=1.0).minimize(risk.majorant(np.zeros(3))).w
    for make in (NRBM, ConvexConcaveProcedure):
        fit = make(C=10.0).minimize(risk, w0=start)
        assert fit.status == "local"
        assert fit.objective <= 0.5 * start @ start + 10.0 * risk.cut(start).value


@pytest.mark.parametrize("name", CONVEX)
def test_convex_learners_refuse_the_ramp(name):
    risk, _ = made_up(0)
    with pytest.raises(Refusal, match=f"{LEARNERS[name].__name__} refuses a risk that is not convex"):
        LEARNERS[name]().minimize(risk)


@pytest.mark.parametrize("bad", ["nrbm", "convex_concave", "one-slack", None, OneSlack, OneSlack()])
def test_the_inner_learner_is_named(bad):
    with pytest.raises(ValueError, match=r"inner must be the name of a learner for convex risks, .*'one_slack'"):
        ConvexConcaveProcedure(inner=bad)
