"""Base functions and their sums against all labelings."""

import numpy as np
import pytest

from probabilistic.models import KINDS, models, summed
from setwise.core.enumerate import subsets
from setwise.core.exceptions import Refusal
from setwise.probabilistic import (
    CallableSetFunction,
    ConcaveSizeFunction,
    Cut,
    LogSupermodularDistribution,
    base_point,
    exact,
    logistic,
)


@pytest.mark.parametrize("kind", KINDS)
def test_functions_vanish_at_zero_and_are_submodular(kind):
    for model in models(kind, 12, most=5):
        rows, values, _, _ = summed(model)
        assert values[0] == 0.0
        place = {row.tobytes(): value for row, value in zip(rows, values, strict=True)}
        for a in rows[::3]:
            for b in rows[::2]:
                both = place[(a & b).tobytes()] + place[(a | b).tobytes()]
                assert both <= place[a.tobytes()] + place[b.tobytes()] + 1e-9 * (1 + np.abs(values).max())


@pytest.mark.draw(2)
@pytest.mark.parametrize("kind", KINDS)
def test_the_minimum_is_the_least_of_all_values(kind):
    for model in models(kind, 30):
        _, values, _, _ = summed(model)
        found = model.minimum()
        scale = 1e-9 * (1.0 + np.abs(values).max())
        assert found.value == pytest.approx(values.min(), abs=scale)
        assert found.bound <= values.min() + 1e-3 * scale
        assert found.bound == pytest.approx(found.value, abs=scale)
        assert model.values(found.labels)[0] == pytest.approx(found.value, abs=scale)


@pytest.mark.parametrize("kind", KINDS)
def test_turns_are_differences_of_values(kind):
    for model in models(kind, 10, most=5):
        rows, values, _, _ = summed(model)
        for row, value in zip(rows, values, strict=True):
            expected = model.values(row ^ np.eye(model.total, dtype=bool)) - value
            np.testing.assert_allclose(model.turns(row), expected, atol=1e-9 * (1.0 + np.abs(values).max()))


@pytest.mark.draw(3)
@pytest.mark.parametrize("kind", KINDS)
def test_max_marginals_are_the_best_values_with_each_label(kind):
    for model in models(kind, 30, most=6):
        rows, values, _, _ = summed(model)
        expected = [[-values[rows[:, i] == label].min() for label in (0, 1)] for i in range(model.total)]
        np.testing.assert_allclose(model.max_marginals(), expected, atol=1e-9 * (1.0 + np.abs(values).max()))


@pytest.mark.parametrize("kind", KINDS)
def test_the_extension_agrees_at_labels_and_is_the_greatest_of_the_polytope(kind):
    rng = np.random.default_rng(0)
    for model in models(kind, 10):
        rows, values, _, _ = summed(model)
        scale = 1e-9 * (1.0 + np.abs(values).max())
        for row, value in zip(rows[::5], values[::5], strict=True):
            assert model.extension(row.astype(float))[0] == pytest.approx(value, abs=scale)
        x = rng.standard_normal(model.total)
        value, slope = model.extension(x)
        # The slope is a point of the base polytope.
        assert (rows @ slope <= values + scale).all()
        assert slope.sum() == pytest.approx(values[-1], abs=scale)
        point = base_point(model)
        assert point.point @ x <= value + scale
        shifted, other = model.extension(x + 1e-6 * rng.standard_normal(model.total)), model.extension(-x)
        assert shifted[0] >= value + slope @ (0.0 * x) - 1e-4 * (1.0 + np.abs(values).max())
        assert value + other[0] >= -scale


@pytest.mark.parametrize("kind", KINDS)
def test_conditioning_is_restriction(kind):
    rng = np.random.default_rng(1)
    for model in models(kind, 20):
        fixed = rng.integers(-1, 2, model.total)
        fixed[rng.integers(model.total)] = -1
        rest = model.condition(fixed)
        free = subsets(rest.total)
        whole = np.tile(fixed == 1, (len(free), 1))
        whole[:, fixed < 0] = free
        assert rest.values(free[0])[0] == 0.0
        np.testing.assert_allclose(rest.values(free) + rest.constant, model.values(whole), atol=1e-9, rtol=1e-12)


def test_grids_have_the_edges_of_their_directions():
    image = np.array([[0, 1, 1], [0, 0, 1]]).ravel()
    found = [Cut.grid(2, 3, d).values(image[None] == 1)[0] for d in ((0, 1), (1, 0), (1, 1), (1, -1))]
    assert found == [2.0, 1.0, 0.0, 2.0]
    assert Cut.grid(2, 3).values(image[None] == 1)[0] == 3.0
    assert len(Cut.grid(1, 1).edges) == 0


# Pixels with eight neighbors have kernels of their own.
@pytest.mark.parametrize("diagonal", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (4, 1), (2, 2), (3, 4)])
def test_lattices_are_the_same_distributions_as_lists_of_edges(shape, diagonal):
    rng = np.random.default_rng(0)
    straight, others = ([None], [(0, 1), (1, 0)]), ([(1, 1), (0, 1)], [(1, -1)], [None, (1, -1), (1, 0)])
    for steps in others if diagonal else straight:
        cuts = [Cut.grid(*shape, step) for step in steps]
        listed = [Cut(one.total, one.edges, one.weights) for one in cuts]
        unary, weights = rng.standard_normal(shape[0] * shape[1]), 0.1 + rng.random(len(cuts))
        lattice, plain = (LogSupermodularDistribution(each, unary, weights) for each in (cuts, listed))
        assert (lattice.pairwise.graphs.grids is not None) > (plain.pairwise.graphs.grids is not None)
        np.testing.assert_array_equal(lattice.minimum().labels, plain.minimum().labels)
        assert lattice.minimum().value == pytest.approx(plain.minimum().value)
        np.testing.assert_allclose(base_point(lattice).point, base_point(plain).point, atol=1e-12)
        one, two = (logistic(each, 20, random_state=0) for each in (lattice, plain))
        assert one.value == pytest.approx(two.value, abs=1e-9)
        assert exact(lattice).value == pytest.approx(exact(plain).value)


def test_what_is_refused():
    with pytest.raises(Refusal, match="Cut refuses weights below 0"):
        Cut(3, [[0, 1]], [-1.0])
    with pytest.raises(Refusal, match="ConcaveSizeFunction refuses this table: it is not concave at 1"):
        ConcaveSizeFunction([0.0, 0.0, 1.0])
    with pytest.raises(Refusal, match="LogSupermodularDistribution refuses weights below 0"):
        LogSupermodularDistribution([Cut(2, [[0, 1]])], weights=[-0.1])
    with pytest.raises(ValueError, match=r"edges must join different labels of 0\.\.1; got \["):
        Cut(2, [[0, 2]])
    with pytest.raises(ValueError, match="edges must be whole numbers of shape"):
        Cut(2, [[0.5, 1.0]])
    with pytest.raises(ValueError, match="direction must be"):
        Cut.grid(2, 2, (0, 2))
    with pytest.raises(ValueError, match="terms must be functions of equally many labels"):
        LogSupermodularDistribution([Cut(2, []), Cut(3, [])])
    with pytest.raises(TypeError, match="terms must be a list of base functions"):
        LogSupermodularDistribution(Cut(2, []))
    with pytest.raises(TypeError, match="terms must be"):
        LogSupermodularDistribution([3])
    with pytest.raises(TypeError, match="function must be a function of labels"):
        CallableSetFunction(2, 3)
    model = LogSupermodularDistribution([Cut(2, [[0, 1]])])
    with pytest.raises(ValueError, match="unary must"):
        LogSupermodularDistribution([Cut(2, [])], [1.0])
    with pytest.raises(ValueError, match="unary must"):
        LogSupermodularDistribution([Cut(2, [])], [1.0, np.nan])
    with pytest.raises(ValueError, match="fixed must leave a label free"):
        model.condition([0, 1])
    with pytest.raises(ValueError, match="fixed must be 2 numbers of -1, 0 and 1"):
        model.condition([0, 2])
    with pytest.raises(ValueError, match="labels must be 0 and 1"):
        model.values([0, 2])
    with pytest.raises(ValueError, match="labels must have shape"):
        model.values([0, 1, 1])


def test_what_rounding_hides_is_no_concave_table():
    for offset in (1e12, 1e9, 1e6, 1e3):
        with pytest.raises(Refusal, match="ConcaveSizeFunction refuses this table: it is not concave at 1"):
            ConcaveSizeFunction([offset, offset, offset + 0.9])
    with pytest.raises(OverflowError, match="table is too large"):
        ConcaveSizeFunction([-1.7e308, 1.7e308, 1.7e308])
    rng = np.random.default_rng(0)
    for _ in range(100):
        table = rng.choice([0.1, 1e8, 3.7]) * np.arange(9.0) + np.sqrt(np.arange(9.0)) * rng.choice([0.0, 1.0])
        fixed = rng.integers(-1, 2, 8)
        if (fixed < 0).any():
            # A part of an accepted table is accepted.
            part = LogSupermodularDistribution([ConcaveSizeFunction(table)], rng.standard_normal(8)).condition(fixed)
            assert part.total == (fixed < 0).sum()


def test_arrays_of_the_caller_may_change():
    unary, weights = np.zeros(4), np.ones(4)
    cut = Cut(4, Cut.grid(2, 2).edges, weights)
    model = LogSupermodularDistribution([cut], unary)
    before = model.minimum().value, model.values(np.ones(4))[0], cut.values(np.eye(4, dtype=bool))
    unary[:], weights[:] = 5.0, 7.0
    after = model.minimum().value, model.values(np.ones(4))[0], cut.values(np.eye(4, dtype=bool))
    assert before[:2] == after[:2]
    np.testing.assert_array_equal(before[2], after[2])
