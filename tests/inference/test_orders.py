"""ByOrder equals enumeration on small grids: orders of points, shares of pairs, labelings of the right order."""

from itertools import combinations

import numpy as np
import pytest

from cases import close
from rounds import rounds
from setwise.core import enumerate as brute
from setwise.core.batch import Classes, Sets
from setwise.core.exceptions import Refusal
from setwise.inference import Auto, ByOrder
from setwise.kernels.paths import best_misplaced, search_pairs
from setwise.losses import Hamming, MeanOverClasses, OrderedPoints

SIZES = [(1, 2, 2), (2, 3, 3), (3, 2, 2), (3, 3, 3), (4, 2, 2), (4, 2, 3), (3, 1, 4), (2, 4, 1), (6, 2, 1)]
"""Numbers of points, rows and columns."""


def problem(rng, k, states, kind):
    """True states and scores; every third point may be unknown."""
    low = -1 if kind == "unknown" else 0
    y = np.zeros(k, dtype=np.int64) if kind == "one state" else rng.integers(low, states, k)
    scores = rng.choice([0.03, 0.3, 3.0]) * rng.standard_normal(k * states)
    kinds = {"zeros": 0 * scores, "ties": np.round(2 * scores) / 2, "equal": np.full(k * states, 0.7)}
    return Classes(y, np.array([0, k]), states), kinds.get(kind, 1e9 * scores if kind == "huge" else scores)


def slow_order(y, labels, width, per):
    """The loss by the signs of differences of rows and of columns."""
    pairs = [(i, j) for i, j in combinations(range(len(y)), 2) if y[i] >= 0 and y[j] >= 0]
    wrong = 0
    for i, j in pairs:
        order, truth = (np.sign(np.subtract(divmod(v[i], width), divmod(v[j], width))) for v in (labels, y))
        wrong += (order != truth).any()
    return float(wrong > 0) if per == "set" else wrong / max(len(pairs), 1)


@pytest.mark.draw(20)
@pytest.mark.parametrize("per", ["set", "pair"])
@pytest.mark.parametrize("kind", ["reals", "unknown", "ties", "zeros", "equal", "huge", "one state"])
def test_the_maximum_is_that_of_enumeration(per, kind):
    rng = np.random.default_rng(0)
    for k, height, width in SIZES * rounds(3, 1):
        batch, scores = problem(rng, k, height * width, kind)
        rows, loss = brute.labelings(k, height * width), OrderedPoints(width, per)
        bound_loss = loss.bind(batch)
        np.testing.assert_allclose(
            [bound_loss.values(row)[0] for row in rows], [slow_order(batch.labels, row, width, per) for row in rows]
        )
        for one in (bound_loss, 2.5 * bound_loss, (loss + 0.4 * Hamming()).bind(batch), bound_loss.zero()):
            values = brute.objectives(one, scores, rows)
            assert isinstance(Auto().choice(one), ByOrder)
            found = Auto().prepare(one).maximize(scores)
            assert close(found.values[0], values.max(), scores)
            assert close(found.bounds[0], values.max(), scores)
            assert found.exact.all()
            short = ByOrder(max_iter=2).prepare(one).maximize(scores)
            slip = 1e-11 * (1.0 + np.abs(scores).sum())
            assert short.values[0] - slip <= values.max() <= short.bounds[0] + slip
            rough = ByOrder().prepare(one).maximize(scores, 0.3)
            assert rough.values[0] - slip <= values.max() <= rough.bounds[0] + slip
            assert rough.bounds[0] - rough.values[0] <= 0.3 + slip


def test_many_sets_are_each_set_alone():
    rng = np.random.default_rng(1)
    offsets = np.array([0, 3, 4, 8, 10])
    batch = Classes(rng.integers(-1, 9, 10), offsets, 9)
    scores = 0.3 * rng.standard_normal(batch.n_scores)
    for per in ("set", "pair"):
        whole = ByOrder().prepare(OrderedPoints(3, per).bind(batch))
        found = whole.maximize(scores)
        for i in range(4):
            alone = whole.take(np.array([i])).maximize(scores[slice(*batch.score_offsets[i : i + 2])])
            assert alone.values[0] == pytest.approx(found.values[i])
            np.testing.assert_array_equal(alone.labels, found.labels[slice(*offsets[i : i + 2])])


def test_max_marginals_and_second_best():
    rng = np.random.default_rng(2)
    batch = Classes(np.array([0, 4, 8]), np.array([0, 3]), 9)
    rows = brute.labelings(3, 9)
    for per in ("set", "pair"):
        scores = rng.standard_normal(27)
        one = ByOrder().prepare(OrderedPoints(3, per).bind(batch))
        values = brute.objectives(one.bound_loss, scores, rows)
        truth = [[values[rows[:, i] == v].max() for v in range(9)] for i in range(3)]
        np.testing.assert_allclose(one.max_marginals(scores), truth)
        (best,) = one.k_best(scores, 4)
        np.testing.assert_allclose([each.value for each in best], np.sort(values)[::-1][:4])


def test_the_loss_of_points():
    # Left of each other in one row; then the second goes a row down, which keeps the columns.
    assert OrderedPoints(10)([0, 5], [40, 49]) == 0.0
    assert OrderedPoints(10)([0, 5], [40, 59]) == 1.0
    assert OrderedPoints(10)([0, 5], [45, 45]) == 1.0
    assert OrderedPoints(10, "pair")([0, 11, 22], [0, 11, 10]) == pytest.approx(2 / 3)
    assert OrderedPoints(10)([3], [7]) == 0.0
    assert repr(OrderedPoints(10)) == "OrderedPoints(10)"
    assert repr(OrderedPoints(10, "pair")) == "OrderedPoints(10, 'pair')"


def test_what_does_not_fit_is_refused():
    points = Classes.single(np.arange(4), 4)
    for bound_loss, slack, words in (
        (
            OrderedPoints(2).bind(Sets.single([1, 0])),
            False,
            "ByOrder refuses Sets: it takes independent decisions",
        ),
        (OrderedPoints(2).bind(points), True, "ByOrder refuses slack rescaling: the product is not a sum"),
        (Hamming().bind(points), False, r"ByOrder refuses Hamming\(\): it is not the order of points"),
        ((OrderedPoints(2) + OrderedPoints(3)).bind(points), False, "it is not the order of points with costs"),
        ((OrderedPoints(2) + MeanOverClasses("f1")).bind(points), False, "it is not the order of points with"),
    ):
        with pytest.raises(Refusal, match=words):
            ByOrder().prepare(bound_loss, slack)
    with pytest.raises(ValueError, match="refuses pieces of sets"):
        OrderedPoints(2).bind(Sets(np.array([True]), np.array([0, 1]), None, np.array([[2.0, 2.0]])))


def test_kernels_refuse_arrays_that_are_too_short():
    scores, offsets, truth = np.zeros((2, 4)), np.array([0, 2]), np.zeros(2, np.int64)
    for wrong in ((scores[:1], truth, np.ones(1), truth), (scores, truth[:1], np.ones(1), truth),
                  (scores, truth, np.ones(0), truth), (scores, truth, np.ones(1), truth[:1])):  # fmt: skip
        with pytest.raises(ValueError, match="shorter than the sets"):
            best_misplaced(wrong[0], wrong[1], offsets, 2, wrong[2], wrong[3])
    with pytest.raises(ValueError, match="one point or more"):
        search_pairs(scores, truth[:1], 2, 1.0, 0.0, 10, truth)
