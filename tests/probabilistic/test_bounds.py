"""Bounds of the sum over all labelings against enumeration."""

import numpy as np
import pytest

from probabilistic.models import KINDS, dyadic_models, models, summed
from rounds import rounds
from setwise.core.exceptions import Refusal
from setwise.kernels.threads import thread_limit
from setwise.probabilistic import (
    CallableSetFunction,
    ConcaveSizeFunction,
    Cut,
    LogSupermodularDistribution,
    base_point,
    exact,
    l_field,
    logistic,
    mean_field,
    perturbed_maxima,
    superdifferential,
)
from setwise.probabilistic.perturbations import noise_of, perturbed, seed_of


def numerical(model, bound, step=1e-5):
    """The derivatives of a bound by the unary terms."""
    out = []
    for i in range(model.total):
        up, down = (model.with_unary(model.unary + sign * step * np.eye(model.total)[i]) for sign in (1, -1))
        out.append((bound(up).value - bound(down).value) / (2 * step))
    return np.array(out)


@pytest.mark.draw(6)
@pytest.mark.parametrize("kind", KINDS)
def test_certain_bounds_enclose_the_sum(kind):
    for model in models(kind, rounds(200, 60), most=7):
        _, _, total, _ = summed(model)
        low, high = superdifferential(model), l_field(model)
        assert (low.kind, high.kind) == ("lower", "upper")
        assert low.value <= total <= high.value
        assert low.interval == (low.value, low.value)
        if model.table is not None:
            middle = mean_field(model)
            assert low.value - 1e-9 * (1 + abs(total)) <= middle.value <= total
            again = mean_field(model, middle.marginals)
            assert again.value >= middle.value - 1e-9 * (1 + abs(total))


@pytest.mark.draw(3)
@pytest.mark.parametrize("kind", KINDS)
def test_no_perturbed_maximum_is_above_the_base_polytope(kind):
    rng = np.random.default_rng(0)
    for model in models(kind, rounds(200, 60)):
        rows, values, _, _ = summed(model)
        point = base_point(model)
        for _ in range(5):
            z = rng.logistic(size=model.total) * rng.choice([1.0, 10.0])
            assert (rows @ z - values).max() <= point.above(z)


def test_modular_functions_have_equal_bounds():
    unary = np.array([0.0, 2.0, -3.0, 50.0, -700.0])
    model = LogSupermodularDistribution([Cut(5, [])], unary)
    total = np.logaddexp(0.0, unary).sum()
    probabilities = 1.0 / (1.0 + np.exp(-unary))
    for bound in (l_field, superdifferential, mean_field, exact):
        found = bound(model)
        assert found.value == pytest.approx(total, rel=1e-12)
        np.testing.assert_allclose(found.marginals, probabilities, atol=1e-12)
    found = logistic(model, 50, random_state=0)
    assert found.value == pytest.approx(total, rel=1e-9)
    assert found.interval[1] - found.interval[0] <= 1e-6


@pytest.mark.draw(2)
@pytest.mark.parametrize("kind", KINDS)
def test_marginals_of_l_field_are_its_derivatives(kind):
    for model in models(kind, 16, most=5):
        if np.abs(model.unary).max() < 10:
            np.testing.assert_allclose(l_field(model).marginals, numerical(model, l_field), atol=2e-3)


@pytest.mark.draw(3)
@pytest.mark.parametrize("kind", KINDS)
def test_logistic_samples_are_maxima_and_estimate_a_bound(kind):
    for t, model in enumerate(models(kind, rounds(24, 4 if "set" in kind else 8), most=6)):
        rows, values, total, _ = summed(model)
        samples = 2000 if model.pairwise is not None else 60
        found = logistic(model, samples, random_state=t)
        noise = noise_of(0, seed_of(t), 0, 0, samples, model.total, True)
        each = rows @ noise.T - values[:, None]
        plain = logistic(model, samples, control=False, random_state=t)
        assert plain.value == pytest.approx(each.max(axis=0).mean(), abs=1e-9 * (1 + np.abs(values).max()))
        np.testing.assert_allclose(found.marginals, rows[each.argmax(axis=0)].mean(axis=0), atol=1e-12)
        error = (found.interval[1] - found.interval[0]) / 2 / 1.9
        assert total <= found.value + 4 * error + 1e-9
        assert found.value - 4 * error <= l_field(model).value + 1e-9
        assert found.kind == "estimate"


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_logistic_bound_is_above_the_sum(kind):
    # Maxima by enumeration: that logistic finds the same ones is tested above.
    for t, model in enumerate(models(kind, 200, most=5)):
        rows, values, total, _ = summed(model)
        noise = noise_of(0, seed_of(t), 0, 0, 100_000, model.total, False)
        maxima = (noise @ rows.T - values).max(axis=1)
        error = maxima.std(ddof=1) / np.sqrt(len(maxima))
        # Events that no draw has seen have a probability of about 1e-5, times a maximum of a few units.
        assert total <= maxima.mean() + 4.0 * error + 1e-4 * (1.0 + 1e-5 * abs(total))


@pytest.mark.slow
def test_the_estimate_of_many_draws_is_above_the_sum():
    for t, model in enumerate(models("two cuts", 40)):
        _, _, total, _ = summed(model)
        found = logistic(model, 100_000, random_state=t)
        width = found.interval[1] - found.interval[0]
        assert total <= found.value + 2.0 * width + 1e-9 * (1.0 + abs(total))


@pytest.mark.draw(4)
@pytest.mark.parametrize("kind", KINDS)
def test_no_perturbed_maximum_is_above_any_point_of_the_base_polytope(kind):
    # All numbers are dyadic, so that nothing is rounded, and there is no tolerance either.
    rng = np.random.default_rng(0)
    for model in dyadic_models(kind, rounds(200, 60)):
        rows, values, _, _ = summed(model)
        vertices = np.empty((3, model.total))
        for vertex in vertices:
            order = rng.permutation(model.total)
            vertex[order] = model.gains(order)
        factors = np.array([[8, 0, 0], [3, 5, 0], [1, 5, 2]]) / 8.0
        noise = np.round(rng.logistic(size=(5, model.total)) * rng.choice([1, 10]) * 2.0**20) / 2.0**20
        listed = (noise @ rows.T - values).max(axis=1)
        found = perturbed_maxima(model, noise).values
        for point in factors @ vertices:
            assert point.sum() == values[rows.all(axis=1)][0]
            above = np.maximum(noise - point, 0.0).sum(axis=1)
            assert (listed <= above).all()
            assert (found <= above).all()
        np.testing.assert_array_equal(found, listed)


def test_noise_is_a_function_of_its_place():
    model = LogSupermodularDistribution([Cut.grid(7, 9)], np.random.default_rng(0).standard_normal(63))
    one = logistic(model, 50, random_state=3)
    with thread_limit(2):
        two = logistic(model, 50, random_state=3)
    assert one.value == two.value
    np.testing.assert_array_equal(one.marginals, two.marginals)
    assert logistic(model, 50, random_state=4).value != one.value
    first = logistic(model, 20, random_state=np.random.default_rng(5))
    assert first.value == logistic(model, 20, random_state=np.random.default_rng(5)).value
    whole = noise_of(0, seed_of(1), 2, 0, 9, 4, True)
    np.testing.assert_array_equal(noise_of(0, seed_of(1), 2, 3, 4, 4, True), whole[3:7])
    np.testing.assert_array_equal(whole[0::2][:4], -whole[1::2])


@pytest.mark.draw(2)
@pytest.mark.parametrize("kind", KINDS)
def test_maxima_of_given_noise_are_those_of_enumeration(kind):
    rng = np.random.default_rng(0)
    for model in models(kind, 24, most=6):
        rows, values, _, _ = summed(model)
        noise = rng.standard_normal((5, model.total)) * rng.choice([0.1, 10.0])
        each = rows @ noise.T - values[:, None]
        found = perturbed_maxima(model, noise)
        np.testing.assert_allclose(found.values, each.max(axis=0), atol=1e-9 * (1 + np.abs(values).max()))
        np.testing.assert_allclose(found.marginals, rows[each.argmax(axis=0)].mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("samples", [1, 2, 3, 17, 100])
def test_threads_share_samples_and_change_nothing(samples):
    model = LogSupermodularDistribution([Cut.grid(7, 9)], np.random.default_rng(0).standard_normal(63))
    noise = np.random.default_rng(1).standard_normal((samples, 63))
    point, seed = base_point(model).point, seed_of(0)
    given, drawn = perturbed_maxima(model, noise), perturbed(model, samples, 0, seed, point)
    np.testing.assert_array_equal(drawn.values, perturbed_maxima(model, noise_of(0, seed, 0, 0, samples, 63, True))[0])
    for threads in (2, 3):
        with thread_limit(threads):
            again = perturbed_maxima(model, noise)
            shared = perturbed(model, samples, 0, seed, point)
        for one, other in zip((*given, *drawn), (*again, *shared), strict=True):
            np.testing.assert_array_equal(one, other)


def test_the_control_variate_takes_most_of_the_variance_of_weak_couplings():
    model = LogSupermodularDistribution([Cut.grid(20, 20)], 2.0 * np.random.default_rng(0).standard_normal(400), [0.1])
    plain, controlled = (logistic(model, 200, control=c, random_state=0) for c in (False, True))
    assert np.diff(controlled.interval) < 0.3 * np.diff(plain.interval)
    gaussian = logistic(model, 200, noise="gaussian", random_state=0)
    assert gaussian.value < controlled.value


@pytest.mark.parametrize("kind", KINDS)
def test_exact_is_enumeration_and_elimination(kind, monkeypatch):
    for model in models(kind, 20):
        _, _, total, marginals = summed(model)
        listed = exact(model)
        assert listed.kind == "exact"
        found = [listed]
        if model.pairwise is not None:
            with monkeypatch.context() as patch:
                patch.setattr("setwise.probabilistic.exact_sums.ENUMERATED", 0)
                found.append(exact(model))
        for one in found:
            assert one.value == pytest.approx(total, abs=1e-9 * (1 + abs(total)))
            np.testing.assert_allclose(one.marginals, marginals, atol=1e-9)


def test_exact_sums_15_labels_block_by_block():
    model = LogSupermodularDistribution([Cut.grid(3, 5)], np.random.default_rng(0).standard_normal(15), [0.7])
    _, _, total, marginals = summed(model)
    assert exact(model).value == pytest.approx(total)
    np.testing.assert_allclose(exact(model).marginals, marginals)


@pytest.mark.slow
def test_long_strips_are_summed_and_wide_grids_refused():
    unary = np.random.default_rng(0).standard_normal((60, 3))
    model = LogSupermodularDistribution([Cut.grid(60, 3)], unary.ravel(), [0.8])
    # By the transfer matrix of rows.
    rows = np.array(np.meshgrid(*3 * [[0, 1]], indexing="ij")).reshape(3, -1).T
    inside = -0.8 * (rows[:, 1:] != rows[:, :-1]).sum(axis=1)
    between = -0.8 * (rows[:, None] != rows[None]).sum(axis=2)
    log = rows @ unary[0] + inside
    for one in unary[1:]:
        log = np.logaddexp.reduce(log[:, None] + between, axis=0) + rows @ one + inside
    assert exact(model).value == pytest.approx(np.logaddexp.reduce(log), rel=1e-12)
    with pytest.raises(Refusal, match="its graph has a width above 21"):
        exact(LogSupermodularDistribution([Cut.grid(40, 40)]))
    with pytest.raises(Refusal, match="only cuts are summed exactly beyond 20 labels"):
        exact(LogSupermodularDistribution([CallableSetFunction(30, lambda y: float(y.any()))]))


def covered(size, rng):
    """A random coverage function, whose scores may be huge."""
    cover, gains = rng.random((3, size)) < 0.5, rng.random(3) * rng.choice([0.1, 1.0, 10.0])
    unary = rng.standard_normal(size) * np.where(rng.random(size) < 0.4, rng.choice([1.0, 1e3, 1e7]), 1.0)
    return LogSupermodularDistribution(
        [CallableSetFunction(size, lambda y: float(gains @ (cover & y).any(axis=1)))], unary
    )


@pytest.mark.slow
def test_huge_scores_hide_no_other_label():
    rng = np.random.default_rng(4)
    for _ in range(rounds(300, 100)):
        model = covered(int(rng.integers(1, 6)), rng)
        rows, values, total, _ = summed(model)
        scale = 1e-9 * (1.0 + 1e-6 * np.abs(model.unary).max())
        found = model.minimum()
        assert found.value == pytest.approx(values.min(), abs=scale)
        assert found.value - found.bound <= 1e3 * scale
        assert superdifferential(model).value <= total <= l_field(model).value
        point = base_point(model).point
        assert (rows @ point <= values + 10 * scale).all()
    # The point of least norm is that of the labels that huge scores leave.
    rest = l_field(
        LogSupermodularDistribution([ConcaveSizeFunction(2 * np.sqrt(np.arange(5.0)))], [1e5, 1.1, 1.0, 0.9])
    )
    more = l_field(
        LogSupermodularDistribution([ConcaveSizeFunction(2 * np.sqrt(np.arange(5.0)))], [1e9, 1.1, 1.0, 0.9])
    )
    np.testing.assert_allclose(rest.marginals, more.marginals, atol=1e-9)


def test_points_outside_the_base_polytope_are_refused():
    model = LogSupermodularDistribution([Cut.grid(2, 2)], [1.0, 0.0, 0.0, -1.0])
    own = base_point(model).point
    assert l_field(model, own).value == pytest.approx(l_field(model).value)
    order = np.arange(4)
    vertex = np.empty(4)
    vertex[order] = model.gains(order)
    assert l_field(model, vertex).value >= exact(model).value
    for point in (np.full(4, 50.0), own + 1e-3, own - 1e-3):
        with pytest.raises(Refusal, match="l_field refuses this point: it is not proved to be one of the base"):
            l_field(model, point)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model",
    [
        LogSupermodularDistribution([Cut(2, [[0, 1]], [10.0])], [-3.0, -3.0]),
        LogSupermodularDistribution([Cut.grid(5, 5)], np.full(25, -0.5), [3.0]),
        LogSupermodularDistribution([Cut.grid(6, 6)], 2.0 * np.random.default_rng(0).standard_normal(36), [0.5]),
    ],
    ids=["seldom", "sticky", "posterior"],
)
def test_intervals_hold_the_mean_as_often_as_they_say(model):
    true = logistic(model, 100_000, random_state=10**6).value
    found = [logistic(model, 100, random_state=seed).interval for seed in range(200)]
    # 200 intervals of 95 % miss more than 18 times once in a hundred runs.
    assert sum(low <= true <= high for low, high in found) >= 182
    for more in ({"samples": 100, "control": False}, {"samples": 6}, {"samples": 20}):
        some = [logistic(model, **more, random_state=seed).interval for seed in range(200)]
        assert sum(low <= true <= high for low, high in some) >= 172


def test_what_is_refused():
    model = LogSupermodularDistribution([CallableSetFunction(3, lambda y: float(y.any()))])
    with pytest.raises(Refusal, match="mean_field refuses .*: the mean of a set function"):
        mean_field(model)
    pairs = LogSupermodularDistribution([Cut.grid(1, 3)])
    with pytest.raises(ValueError, match="start must be probabilities"):
        mean_field(pairs, [0.5, 0.5, 1.5])
    with pytest.raises(ValueError, match="level must be"):
        logistic(pairs, level=1.0)
    with pytest.raises(ValueError, match="samples must be"):
        logistic(pairs, 1)
    with pytest.raises(ValueError, match="noise must be"):
        logistic(pairs, noise="gumbel")
    for wrong in (np.zeros(3), np.zeros((0, 3)), np.zeros((2, 4)), np.full((2, 3), np.nan)):
        with pytest.raises(ValueError, match=r"noise must (have shape \(samples, 3\)|be finite)"):
            perturbed_maxima(pairs, wrong)
    with pytest.raises(TypeError, match="model must be"):
        perturbed_maxima(3, np.zeros((1, 3)))
    for bound in (l_field, superdifferential, mean_field, logistic, exact, base_point):
        with pytest.raises(TypeError, match="model must be"):
            bound(3)
