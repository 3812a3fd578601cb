"""Stochastic gradients of perturbed likelihoods against a twin by enumeration, and what they converge to."""

import numpy as np
import pytest

from rounds import rounds
from setwise.core.enumerate import subsets
from setwise.kernels.sampling import LOGISTIC
from setwise.probabilistic import (
    CallableSetFunction,
    ConcaveSizeFunction,
    Cut,
    LogSupermodularDistribution,
    exact,
    logistic,
)
from setwise.probabilistic.perturbations import noise_of, perturbed, seed_of
from setwise.probabilistic.training import CutLabelings, GeneralLabelings, Rates, Weights, joint, learn

CUTS = [Cut.grid(2, 3, (0, 1)), Cut.grid(2, 3, (1, 0))]
ROWS = subsets(6)
FUNCTIONS = np.stack([one.values(ROWS) for one in CUTS], axis=1)


def twin(labels, observed, rates, start, hidden, learned):
    """The same steps, with maxima over all labelings."""
    t, c, alpha = np.array(start.unary, float), start.observation, np.array(start.couplings, float)
    squares = [np.zeros_like(t), 0.0, np.zeros_like(alpha)]
    means = [np.zeros_like(t), 0.0, np.zeros_like(alpha)]
    n, rng = len(observed), np.random.default_rng(rates.seed)
    order = np.concatenate([rng.permutation(n) for _ in range(-(-rates.steps // n))])[: rates.steps]
    for h, i in enumerate(order):

        def best(unit, seen, among=True, h=h, i=i, t=t, c=c, alpha=alpha):
            z = noise_of(LOGISTIC, np.uint64(rates.seed), unit, h, 1, 6, False)[0]
            values = ROWS @ (z + t + seen * observed[i]) - FUNCTIONS @ alpha
            return int(np.where(among, values, -np.inf).argmax())

        found = best(2 * i, 0.0 if hidden else c)
        if hidden:
            k = best(2 * i + 1, c, ((labels[i] < 0) | (labels[i] == ROWS)).all(axis=1))
            y, f = ROWS[k].astype(float), FUNCTIONS[k]
            q = observed[i]
            slope = -q @ y + q[q > 0].sum() - (np.abs(q) / (1 + np.exp(c * np.abs(q)))).sum()
        else:
            y, f = labels[i], np.array([one.values(labels[i][None] > 0.5)[0] for one in CUTS])
            slope = observed[i] @ (ROWS[found] - y)
        away = ROWS[found] - y
        gradients = [(away if len(t) > 1 else away.sum(keepdims=True)) + rates.ridges[0] * t, slope,
                     f - FUNCTIONS[found] + rates.ridges[1] * alpha]  # fmt: skip
        values = [t, c, alpha]
        for k, (g, length, low) in enumerate(zip(gradients, rates.lengths, (-np.inf, 0.0, 0.0), strict=True)):
            if k == 1 and not learned:
                continue
            squares[k] = squares[k] + (np.square(g) if rates.adaptive else 1.0)
            step = length * np.divide(g, np.sqrt(squares[k]), out=np.zeros(np.shape(g)), where=squares[k] > 0)
            values[k] = np.maximum(values[k] - step, low)
        t, c, alpha = values[0], float(values[1]), values[2]
        means = [mean + 2.0 / (h + 2.0) * (value - mean) for mean, value in zip(means, (t, c, alpha), strict=True)]
    return Weights(means[0], means[1] if learned else start.observation, means[2])


@pytest.mark.parametrize("hidden", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("size", [1, 6])
@pytest.mark.parametrize("adaptive", [False, True])
def test_steps_are_those_of_the_twin(hidden, learned, size, adaptive):
    rng = np.random.default_rng(0)
    labels = np.where(rng.random((4, 6)) < hidden, -1.0, rng.random((4, 6)) < 0.5)
    observed = rng.choice([-1.0, -0.3, 0.0, 0.5, 1.0], (4, 6))
    rates, start = Rates(60, (0.3, 0.2, 0.1), (1e-2, 1e-3), 7, adaptive), Weights(np.zeros(size), 0.7, np.zeros(2))
    found = learn([CutLabelings(CUTS, labels, observed)], rates, start=start, hidden=hidden > 0, learned=learned)
    expected = twin(labels, observed, rates, start, hidden > 0, learned)
    assert found.steps == 60
    np.testing.assert_allclose(found.weights.unary, expected.unary, atol=1e-12)
    np.testing.assert_allclose(found.weights.couplings, expected.couplings, atol=1e-12)
    assert found.weights.observation == pytest.approx(expected.observation, abs=1e-12)


def test_counts_are_the_derivatives_of_the_mean_of_maxima():
    rng = np.random.default_rng(1)
    model, step = LogSupermodularDistribution(CUTS, rng.standard_normal(6), [0.8, 0.4]), 1e-6
    seed, zero = seed_of(0), np.zeros(6)
    whole = perturbed(model, 400, LOGISTIC, seed, zero)
    for i in range(6):
        moved = [
            perturbed(model.with_unary(model.unary + s * step * np.eye(6)[i]), 400, LOGISTIC, seed, zero).values.mean()
            for s in (1, -1)
        ]
        assert (moved[0] - moved[1]) / (2 * step) == pytest.approx(whole.ones[i] / 400, abs=1e-6)


def test_moments_match_at_the_optimum():
    rng = np.random.default_rng(2)
    rows = rng.random((40, 6)) < [0.2, 0.3, 0.8, 0.3, 0.4, 0.9]
    rows[:20] = rows[:20].any(axis=1, keepdims=True)
    rates = Rates(20_000, (0.3, 0.1, 0.1), (0.0, 0.0), 0)
    weights = learn([CutLabelings.joint(CUTS, rows)], rates, start=Weights(np.zeros(6), 0.0, np.zeros(2))).weights
    model = LogSupermodularDistribution(CUTS, weights.unary, weights.couplings)
    noise = noise_of(LOGISTIC, seed_of(99), 0, 0, 20_000, 6, False)
    best = ROWS[((noise + weights.unary) @ ROWS.T - FUNCTIONS @ weights.couplings).argmax(axis=1)]
    np.testing.assert_allclose(best.mean(axis=0), rows.mean(axis=0), atol=0.02)
    for k, one in enumerate(CUTS):
        assert weights.couplings[k] > 0.0
        assert one.values(best).mean() == pytest.approx(one.values(rows).mean(), abs=0.04)
    assert logistic(model, 2000, random_state=5).value >= exact(model).value - 0.05


def test_any_base_functions_make_the_same_steps_as_cuts():
    rows = np.random.default_rng(4).random((20, 6)) < 0.4
    rates, start = Rates(80, (0.3, 0.2, 0.1), (1e-2, 1e-3), 7), Weights(np.zeros(6), 0.0, np.zeros(2))
    assert isinstance(joint(CUTS, rows), CutLabelings)
    fast, slow = (learn([one], rates, start=start).weights for one in (joint(CUTS, rows), GeneralLabelings(CUTS, rows)))
    np.testing.assert_allclose(fast.unary, slow.unary, atol=1e-12)
    np.testing.assert_allclose(fast.couplings, slow.couplings, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [
        ConcaveSizeFunction(np.sqrt(np.arange(7))),
        pytest.param(CallableSetFunction(6, lambda y: float(y[:3].any()) + float(y[3:].any())), marks=pytest.mark.slow),
    ],
)
def test_moments_match_with_other_base_functions(more):
    rows = np.random.default_rng(5).random((60, 6)) < 0.35
    rows[:30] = rows[:30].any(axis=1, keepdims=True)
    terms, steps = [CUTS[0], more], 1500 if isinstance(more, CallableSetFunction) else rounds(4000, 2000)
    rates = Rates(steps, (0.3, 0.1, 0.1), (0.0, 0.0), 0)
    weights = learn([joint(terms, rows)], rates, start=Weights(np.zeros(1), 0.0, np.zeros(2))).weights
    functions = np.stack([one.values(ROWS) for one in terms], axis=1)
    noise = noise_of(LOGISTIC, seed_of(99), 0, 0, 20_000, 6, False)
    best = ((noise + weights.unary) @ ROWS.T - functions @ weights.couplings).argmax(axis=1)
    assert (weights.couplings > 0.0).all()
    assert ROWS[best].mean() == pytest.approx(rows.mean(), abs=0.04)
    expected = np.array([one.values(rows).mean() for one in terms])
    np.testing.assert_allclose(functions[best].mean(axis=0), expected, rtol=0.08)


@pytest.mark.slow
def test_errors_fall_with_the_root_of_the_number_of_samples():
    truth = LogSupermodularDistribution(CUTS, [0.5, -0.5, 0.3, 0.0, 0.8, -0.4], [0.7, 0.4])
    errors = []
    for n in (100, 1600):
        each = []
        for seed in range(6):
            noise = noise_of(LOGISTIC, seed_of([11, 12, 13, 14, 15, 16][seed]), 0, 0, n, 6, False)
            rows = ROWS[((noise + truth.unary) @ ROWS.T - FUNCTIONS @ truth.weights).argmax(axis=1)]
            rates = Rates(30_000, (0.3, 0.1, 0.1), (0.0, 0.0), seed)
            found = learn([CutLabelings.joint(CUTS, rows)], rates, start=Weights(np.zeros(6), 0.0, np.zeros(2))).weights
            each.append(np.concatenate([found.unary - truth.unary, found.couplings - truth.weights]))
        errors.append(np.sqrt(np.square(each).mean()))
    assert 2.0 < errors[0] / errors[1] < 8.0


def test_ctrl_c_keeps_the_steps_so_far():
    def stop(done):
        if done >= 200:
            raise KeyboardInterrupt

    images = CutLabelings(CUTS, ROWS[:8].astype(float), None)
    found = learn([images], Rates(1000), start=Weights(np.zeros(6), 0.0, np.zeros(2)), advance=stop)
    assert found.interrupted
    assert found.steps == 200
    plain = learn([images], Rates(200), start=Weights(np.zeros(6), 0.0, np.zeros(2)))
    np.testing.assert_array_equal(found.weights.unary, plain.weights.unary)


def test_groups_of_several_sizes_take_turns():
    rng = np.random.default_rng(3)
    small = CutLabelings([Cut.grid(2, 2)], (rng.random((3, 4)) < 0.5).astype(float), rng.choice([-1.0, 1.0], (3, 4)))
    large = CutLabelings([Cut.grid(3, 4)], (rng.random((2, 12)) < 0.5).astype(float), rng.choice([-1.0, 1.0], (2, 12)))
    found = learn([small, large], Rates(50), start=Weights(np.zeros(1), 1.0, np.zeros(1)), learned=True)
    assert found.steps == 50
    assert found.weights.unary.shape == (1,)
    assert np.isfinite(found.weights.couplings).all()


def test_the_bound_prefers_smaller_weights_than_the_likelihood():
    # On exact expectations of a grid without scores; the guide quotes these numbers.
    cut, none, seed = Cut.grid(3, 4), np.zeros(12), seed_of(1)
    values = cut.values(subsets(12))
    for alpha, smaller in ((0.1, 0.053), (0.3, 0.162), (0.5, 0.289), (0.8, 0.524), (1.2, 0.948)):
        weights = np.exp(-alpha * values)
        expected = (weights @ values) / weights.sum()
        found = []
        for at in (smaller - 0.01, smaller + 0.01):
            # The derivative of the mean of maxima by alpha is less the mean of f there.
            sides = [
                perturbed(
                    LogSupermodularDistribution([cut], none, [at + e]), 20_000, LOGISTIC, seed, none
                ).values.mean()
                for e in (1e-4, -1e-4)
            ]
            found.append(-(sides[0] - sides[1]) / 2e-4)
        assert found[0] > expected > found[1]
