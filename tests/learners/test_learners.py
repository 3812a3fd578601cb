from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from learners.risks import ListedPlanes, hamming_risk, minimum, random_risk
from setwise.core.exceptions import Refusal
from setwise.core.risk import PartPlanes
from setwise.learners import LEARNERS, BlockFrankWolfe, NSlack, OneSlack, Subgradient
from setwise.learners.masters import BlockMaster

EVERY = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS.keys())
CONVEX = pytest.mark.parametrize("make", [kind for kind in LEARNERS.values() if kind.needs_convex])
QUICK = pytest.mark.parametrize("make", [OneSlack, NSlack, BlockFrankWolfe])


def certified(fit, risk, C, best=None):
    """Whether the bounds of a fit hold, and its weights are worth what it says."""
    best = minimum(risk, C) if best is None else best
    slack = 1e-9 * (1 + abs(best))
    truth = risk.objective(fit.w, C)
    assert fit.lower_bound <= best + slack
    assert best <= truth + slack
    assert truth <= fit.upper_bound + slack
    assert fit.objective <= fit.upper_bound + slack
    lower = [record.lower_bound for record in fit.history]
    assert all(a <= b for a, b in pairwise(lower))
    return True


@EVERY
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("p", [1, 2, 4])
def test_reaches_the_minimum_with_all_constraints_listed(make, C, p):
    risk = hamming_risk(p=p, seed=p)
    fit = make(C=C, tol=make.attainable, max_iter=3000).minimize(risk)
    assert fit.status == "converged"
    assert certified(fit, risk, C)
    assert fit.objective == pytest.approx(minimum(risk, C), rel=2 * fit.gap + 1e-9)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(1, 12), st.integers(2, 8), st.integers(1, 6), st.integers(0, 10**6), st.floats(0.05, 20))
def test_all_learners_agree(n, planes, d, seed, C):
    risk = random_risk(n, planes, d, seed)
    best = minimum(risk, C)
    for make in (OneSlack, NSlack, BlockFrankWolfe):
        fit = make(C=C, tol=1e-4, max_iter=2000).minimize(risk)
        assert certified(fit, risk, C, best)
        assert fit.status == "converged" or fit.upper_bound - fit.lower_bound < 1e-7
    assert certified(Subgradient(C=C, max_iter=20).minimize(risk), risk, C, best)


@pytest.mark.draw(3)
@EVERY
@pytest.mark.parametrize("C", [1e-8, 1e8])
def test_tiny_and_huge_weights_of_the_risk(make, C):
    risk = hamming_risk(n=4, p=2, seed=3)
    assert certified(make(C=C, max_iter=300).minimize(risk), risk, C)


@EVERY
def test_risk_that_is_zero(make):
    risk = ListedPlanes(np.zeros((3, 1, 2)), np.zeros((3, 1)))
    fit = make().minimize(risk)
    assert (fit.status, fit.objective, fit.lower_bound, fit.upper_bound) == ("converged", 0, 0, 0)
    assert not fit.w.any()


@EVERY
def test_risk_that_is_constant(make):
    risk = ListedPlanes(np.zeros((3, 1, 2)), np.ones((3, 1)))
    fit = make(C=2.0).minimize(risk)
    assert fit.status == "converged"
    assert fit.objective == pytest.approx(6)


@EVERY
def test_one_part_and_one_weight(make):
    risk = random_risk(n=1, planes=4, d=1, seed=5)
    fit = make(tol=1e-3).minimize(risk)
    assert fit.status == "converged"
    assert certified(fit, risk, 1.0)


@EVERY
def test_copies_of_parts_and_planes(make):
    risk = hamming_risk(n=3, p=2, seed=1)
    double = ListedPlanes(np.tile(risk.slopes, (4, 3, 1)) / 4, np.tile(risk.offsets, (4, 3)) / 4)
    fit = make(tol=1e-2).minimize(double)
    assert fit.status == "converged"
    assert certified(fit, double, 1.0, minimum(risk, 1.0))


@EVERY
def test_one_iteration(make):
    risk = hamming_risk()
    fit = make(C=10.0, tol=0.0, max_iter=1).minimize(risk)
    assert fit.status == "max_iter"
    assert len(fit.history) == 1
    assert certified(fit, risk, 10.0)


@EVERY
def test_callback_stops(make):
    seen = []

    def stop(record, w):
        seen.append((record, w))
        return record.iteration == 3

    fit = make(C=100.0, tol=0.0).minimize(hamming_risk(), callback=stop)
    assert fit.status == "callback"
    assert [record for record, _ in seen] == list(fit.history)
    assert len(seen) == 3


@EVERY
def test_what_a_callback_writes_changes_no_result(make):
    def write(record, w):
        # Even who removes the mark that the weights are read-only writes into a copy.
        w.setflags(write=True)
        w[:] = 7.0

    seed = {"random_state": 0} if "random_state" in make.__dataclass_fields__ else {}
    learner = make(C=10.0, tol=1e-3, max_iter=50, **seed)
    plain, written = learner.minimize(hamming_risk()), learner.minimize(hamming_risk(), callback=write)
    np.testing.assert_array_equal(plain.w, written.w)
    assert plain.objective == written.objective


@EVERY
def test_interrupt_keeps_the_best_weights(make):
    best = []

    def interrupt(record, w):
        best.append((record.objective, w))
        if record.iteration == 4:
            raise KeyboardInterrupt

    risk = hamming_risk()
    fit = make(C=100.0, tol=0.0).minimize(risk, callback=interrupt)
    assert fit.status == "interrupted"
    assert fit.objective == min(objective for objective, _ in best)
    assert certified(fit, risk, 100.0)


@EVERY
def test_warm_start_is_evaluated_first(make):
    risk = hamming_risk(n=10, seed=4)
    cold = OneSlack(C=5.0, tol=1e-8).minimize(risk)
    before = cold.w.copy()
    fit = make(C=5.0, tol=0.05).minimize(risk, w0=cold.w)
    assert fit.history[0].objective == pytest.approx(cold.objective, rel=1e-12)
    assert fit.objective <= cold.objective * (1 + 1e-12)
    assert np.array_equal(cold.w, before)
    assert certified(fit, risk, 5.0)


@QUICK
def test_inexact_inference_stalls_at_an_honest_gap(make):
    risk = hamming_risk(n=8, p=3, seed=2, blind=True)
    fit = make(C=10.0, tol=1e-5, max_iter=5000).minimize(risk)
    assert fit.status == "stalled"
    assert fit.gap > 1e-3
    assert certified(fit, risk, 10.0)


@EVERY
def test_planes_that_overflow_are_named(make):
    risk = hamming_risk(scale=1e160)
    with pytest.raises(OverflowError, match="scale X or C down"):
        make().minimize(risk)


@pytest.mark.draw(2)
@EVERY
def test_huge_scores_that_fit_are_solved(make):
    risk = hamming_risk(scale=1e60)
    fit = make(max_iter=100).minimize(risk)
    assert 0 <= fit.lower_bound <= fit.upper_bound < np.inf


def test_a_callback_answers_whether_to_stop():
    with pytest.raises(TypeError, match=r"callback must return True to stop, and else False or None; got array"):
        OneSlack(C=1.0).minimize(hamming_risk(), callback=lambda record, w: np.ones(2))


@pytest.mark.parametrize("make", [NSlack, BlockFrankWolfe])
def test_too_many_planes_are_refused(make):
    with pytest.raises(Refusal, match=rf"{make.__name__} refuses 6 parts of 2 weights: .* Use OneSlack"):
        make(memory=100).minimize(hamming_risk())


@pytest.mark.parametrize("make", [NSlack, BlockFrankWolfe])
def test_little_memory_merges_planes_and_still_converges(make):
    risk = hamming_risk(n=6, p=4, f=3, seed=6)
    fit = make(C=10.0, tol=1e-3, memory=16 * 6 * (3 + 4), max_iter=5000).minimize(risk)
    assert fit.status == "converged"
    assert certified(fit, risk, 10.0)


@pytest.mark.parametrize("make", [BlockFrankWolfe, Subgradient])
def test_random_state_decides_the_run(make):
    risk = hamming_risk(n=40)
    fits = [make(C=10.0, tol=0.0, max_iter=4, random_state=seed).minimize(risk) for seed in (0, 0, 1)]
    assert np.array_equal(fits[0].w, fits[1].w)
    assert fits[0].lower_bound != fits[2].lower_bound


def test_one_slack_drops_idle_planes_and_still_converges(monkeypatch):
    monkeypatch.setattr("setwise.learners.masters.PlaneMaster.PATIENCE", 3)
    risk = random_risk(n=30, planes=12, d=8, seed=7)
    fit = OneSlack(C=100.0, tol=1e-7).minimize(risk)
    assert fit.status == "converged"
    assert certified(fit, risk, 100.0)


def test_one_slack_needs_few_evaluations():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 20)), np.where(rng.random(400) < 0.5, -1.0, 1.0)
    slopes = np.stack([np.zeros_like(X), -y[:, None] * X], axis=1) / 400
    offsets = np.tile([0.0, 1.0], (400, 1)) / 400
    risk = ListedPlanes(slopes, offsets)
    fit = OneSlack(C=1000.0).minimize(risk)
    assert fit.status == "converged"
    assert len(risk.calls) == len(fit.history) <= 80


@EVERY
@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("C", 0.0, ValueError),
        ("C", np.nan, ValueError),
        ("C", "1", TypeError),
        ("tol", -1e-3, ValueError),
        ("tol", np.inf, ValueError),
        ("max_iter", 0, ValueError),
        ("max_iter", 2.5, TypeError),
    ],
)
def test_parameters_are_checked(make, name, value, error):
    with pytest.raises(error, match=name):
        make(**{name: value})


@pytest.mark.parametrize(("name", "value"), [("planes", 1), ("memory", -1.0)])
def test_parameters_of_block_frank_wolfe_are_checked(name, value):
    with pytest.raises(ValueError, match=name):
        BlockFrankWolfe(**{name: value})


@CONVEX
def test_a_risk_that_is_not_convex_is_refused(make):
    risk = hamming_risk()
    risk.convex = False
    with pytest.raises(Refusal, match="not convex"):
        make().minimize(risk)


@EVERY
def test_bad_warm_starts_are_refused(make):
    for w0 in (np.zeros(3), np.array([np.nan, 0.0])):
        with pytest.raises(ValueError, match=r"w0 must (have shape \(2,\)|be finite)"):
            make().minimize(hamming_risk(), w0=w0)


def test_n_slack_solves_its_master_closer_where_the_gap_hardly_falls(monkeypatch):
    asked, solve = [], BlockMaster.solve

    def watched(blocks, gap):
        asked.append((gap, blocks.lower))
        # A master that is hardly solved leaves the gap as it is.
        if len(asked) > 10:
            solve(blocks, gap)

    monkeypatch.setattr(BlockMaster, "solve", watched)
    C = 1e4
    fit = NSlack(C=C, tol=1e-4, max_iter=100).minimize(hamming_risk(n=40, p=4, f=8, seed=1))
    assert fit.status == "converged"
    share, last, shares = 0.1, np.inf, []
    for (target, lower), record in zip(asked[:10], fit.history, strict=False):
        gap = record.objective - lower
        share = min(2.0 * share, 0.1) if gap <= 0.9 * last else 0.5 * share
        assert target == pytest.approx(share * gap)
        shares.append(share)
        last = gap
    assert min(shares) < 0.1


class ClearZero(ListedPlanes):
    """The same risk, whose inference says exactly 0 where a value is 0 but for rounding."""

    def cuts(self, w, parts, tol=0.0):
        found = super().cuts(w, parts, tol)
        kept = (np.abs(found.values) > 1e-14).astype(float)
        return PartPlanes(found.offsets * kept, found.slopes * kept[:, None], found.values * kept, found.uppers * kept)


@pytest.mark.parametrize("seed", range(20))
def test_the_rounding_of_a_plane_breaks_no_promise_where_the_risk_is_zero(seed):
    slope = -np.random.default_rng(seed).standard_normal(30)
    risk = ClearZero(np.array([[0 * slope, slope]]), np.array([[0.0, 1.0]]), floor=0.0)
    assert NSlack(C=1e3, tol=1e-9).minimize(risk).gap <= 1e-9
