"""The loss of boxes: its values, maxima, least labelings and completions, against all labelings of small grids."""

import numpy as np
import pytest

from losses.small_networks import ROWS, boxed, grid, index_of, labelings, scored, values_of, won_by
from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.enumerate import subsets
from setwise.core.exceptions import Refusal
from setwise.core.networks import Graphs
from setwise.core.terms import MaximumOfSums, RegionCounts
from setwise.inference import Auto, ByPieces, ByRegions, Enumeration, FactorDecomposition, HighOrderMessages, MaxFlow
from setwise.losses import BoxFullness, Hamming, Jaccard

EDGES = grid(3, 4)
ENDS = np.array([0, 12])
KINDS = ("box", "full", "single", "empty", "strokes")


def two_free(counts, sizes):
    """Not convex: one or four positives cost nothing."""
    return np.minimum(np.abs(counts - 1), np.abs(counts - 4)) + 0 * sizes


def squared(counts, sizes):
    """Convex, and bent everywhere."""
    return (counts - 0.4 * sizes) ** 2


LOSSES = [
    BoxFullness(0.6),
    BoxFullness(0.0),
    BoxFullness(1.0),
    BoxFullness((0.2, 0.5), unit="share"),
    BoxFullness(two_free),
    BoxFullness(squared),
]


def of_formula(loss, labels, rows):
    """The values of a loss with one box, written out."""
    inside = labels == -1
    n, c = inside.sum(), rows[:, inside].sum(axis=1)
    wrong = ((rows != (labels == 1)) & ~inside).sum(axis=1)
    if callable(loss.ratio):
        spread = loss.ratio(c, np.full(len(c), n)) if n else 0.0
    elif isinstance(loss.ratio, tuple):
        spread = np.maximum(np.maximum(loss.ratio[0] * n - c, c - loss.ratio[1] * n), 0)
    else:
        spread = np.abs(c - loss.ratio * n)
    return (wrong + spread) / (12 if loss.unit == "share" else 1)


@pytest.mark.draw(4)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("kind", KINDS[:-1])
def test_values_and_least_labelings(loss, kind):
    rng = np.random.default_rng(0)
    for _ in range(3):
        labels = boxed(rng, kind)
        bound_loss = loss.bind(Graphs(labels, ENDS, EDGES))
        expected = of_formula(loss, labels, ROWS)
        np.testing.assert_allclose(values_of(bound_loss, ROWS), expected, atol=1e-12)
        least = np.where(expected <= expected.min() + 1e-9, 0.0, -np.inf)
        np.testing.assert_array_equal(values_of(bound_loss.zero(), ROWS), least)
        np.testing.assert_allclose(values_of(2.5 * bound_loss, ROWS), 2.5 * expected, atol=1e-12)
        np.testing.assert_array_equal(values_of((2.5 * bound_loss).zero(), ROWS), least)


def test_known_labels_inside_a_box_count_as_they_are():
    labels = np.array([0, 1, -1, -1, -1, 0], np.int8)
    loss = BoxFullness(0.5, boxes=np.array([-1, 0, 0, 0, 0, 0]))
    bound_loss = loss.bind(Sets(labels, np.array([0, 6])))
    rows = labelings(6)
    c = 1 + rows[:, 2:5].sum(axis=1)
    wrong = (rows[:, [0, 1, 5]] != [False, True, False]).sum(axis=1)
    np.testing.assert_allclose(values_of(bound_loss, rows), wrong + np.abs(c - 2.5))


@pytest.mark.draw(8)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_margin_rescaling_on_grids(loss):
    rng = np.random.default_rng(1)
    for k in range(15):
        graphs = Graphs(boxed(rng, KINDS[k % 5]), ENDS, EDGES)
        bound_loss = loss.bind(graphs)
        scores = scored(rng, graphs, ("reals", "reals", "ties", "huge", "zeros")[rng.integers(5)])
        values = won_by(graphs, scores, ROWS) + values_of(bound_loss, ROWS)
        slip = 1e-10 * (1.0 + np.abs(scores).max())
        methods = [Auto()]
        if graphs.known is not None:
            methods += [FactorDecomposition(max_iter=60), HighOrderMessages()]
        for method in methods:
            found = method.prepare(bound_loss).maximize(scores)
            assert found.values[0] == pytest.approx(values[index_of(found.labels)], abs=slip)
            assert found.values[0] <= values.max() + slip
            assert values.max() <= found.bounds[0] + slip
            if found.exact[0]:
                assert found.values[0] >= values.max() - slip
            if method == Auto() and not callable(loss.ratio):
                assert found.exact[0], "the largest of a few linear functions is maximized exactly"


@pytest.mark.draw(10)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_margin_rescaling_of_independent_decisions_is_exact(loss):
    rng = np.random.default_rng(2)
    for k in range(20):
        sets = Sets(boxed(rng, KINDS[k % 5]), ENDS)
        bound_loss = loss.bind(sets)
        scores = scored(rng, sets, ("reals", "ties", "zeros")[k % 3])
        values = won_by(sets, scores, ROWS) + values_of(bound_loss, ROWS)
        found = Auto().prepare(bound_loss).maximize(scores)
        assert found.exact[0]
        assert found.values[0] == pytest.approx(values.max(), abs=1e-10)
        if sets.known is None:
            continue
        for one in (bound_loss, bound_loss.zero()):
            rows = values_of(one, ROWS) + won_by(sets, scores, ROWS)
            best = np.array([[rows[ROWS[:, i] == v].max() for v in (0, 1)] for i in range(12)])
            with np.errstate(invalid="ignore"):
                np.testing.assert_allclose(Auto().prepare(one).max_marginals(scores), best, atol=1e-10)


def test_max_marginals_of_pieces_on_grids():
    rng = np.random.default_rng(3)
    for k in range(6):
        graphs = Graphs(boxed(rng, KINDS[k % 5]), ENDS, EDGES)
        bound_loss = BoxFullness((0.3, 0.6)).bind(graphs)
        scores = scored(rng, graphs)
        values = won_by(graphs, scores, ROWS) + values_of(bound_loss, ROWS)
        expected = np.array([[values[ROWS[:, i] == v].max() for v in (0, 1)] for i in range(12)])
        np.testing.assert_allclose(Auto().prepare(bound_loss).max_marginals(scores, 2.0), 2.0 + expected, atol=1e-9)


@pytest.mark.draw(3)
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_completions_have_the_least_loss_and_a_bound(loss):
    rng = np.random.default_rng(4)
    best_found = cases = 0
    for k in range(20):
        graphs = Graphs(boxed(rng, KINDS[k % 5]), ENDS, EDGES)
        bound_loss = loss.bind(graphs)
        scores = scored(rng, graphs, "reals" if k % 4 else "ties")
        allowed = values_of(bound_loss.zero(), ROWS)
        values = won_by(graphs, scores, ROWS) + allowed
        method = Auto() if graphs.known is None else FactorDecomposition()
        found = method.prepare(bound_loss.zero()).maximize(scores)
        slip = 1e-10 * (1.0 + np.abs(scores).max())
        assert allowed[index_of(found.labels)] == 0.0
        assert found.values[0] == pytest.approx(values[index_of(found.labels)], abs=slip)
        assert values.max() <= found.bounds[0] + slip
        cases += 1
        best_found += found.values[0] >= values.max() - slip
    assert best_found >= 0.9 * cases


def test_several_boxes_in_several_sets():
    rng = np.random.default_rng(5)
    labels = np.array([-1, -1, 0, -1, -1, -1, 0, 0, -1, -1, 1, 1, -1, -1, -1], np.int8)
    boxes = np.array([0, 0, -1, 1, 1, 1, -1, -1, 7, 7, -1, -1, 2, 2, 2])
    edges = np.vstack([np.column_stack([np.arange(a, b - 1), np.arange(a + 1, b)]) for a, b in ((0, 8), (8, 15))])
    graphs = Graphs(labels, np.array([0, 8, 15]), edges)
    loss = BoxFullness(0.5, boxes)
    bound_loss, scores = loss.bind(graphs), scored(rng, graphs)
    together = Auto().prepare(bound_loss).maximize(scores)
    least = FactorDecomposition().prepare(bound_loss.zero()).maximize(scores)
    assert together.exact.all()
    for i, (a, b) in enumerate(((0, 8), (8, 15))):
        rows, one = labelings(b - a), bound_loss.take(np.array([i]))
        own = scores[graphs.score_offsets[i] : graphs.score_offsets[i + 1]]
        expected = (rows[:, labels[a:b] >= 0] != (labels[a:b] == 1)[labels[a:b] >= 0]).sum(axis=1).astype(float)
        for box in np.unique(boxes[a:b][boxes[a:b] >= 0]):
            mine = boxes[a:b] == box
            expected += np.abs(rows[:, mine].sum(axis=1) - 0.5 * mine.sum())
        np.testing.assert_allclose(values_of(one, rows), expected)
        values = won_by(one.batch, own, rows)
        assert together.values[i] == pytest.approx((values + expected).max())
        ones = values[expected <= expected.min() + 1e-9]
        assert least.values[i] <= ones.max() + 1e-9 <= least.bounds[i] + 2e-9


def test_many_boxes_are_counted_instead_of_tried_in_all_combinations():
    rng = np.random.default_rng(6)
    labels, boxes = np.full(24, -1, np.int8), np.arange(24) // 2
    sets = Sets(labels, np.array([0, 24]))
    loss = BoxFullness(0.3, boxes)
    assert any(isinstance(term, RegionCounts) for term in loss.bind(sets).terms)
    scores = rng.standard_normal(24)
    found = Auto().prepare(loss.bind(sets)).maximize(scores)
    pairs = labelings(2)
    best = sum((np.abs(pairs.sum(axis=1) - 0.6) + pairs @ scores[2 * b : 2 * b + 2]).max() for b in range(12))
    assert found.exact[0]
    assert found.values[0] == pytest.approx(best)


@pytest.mark.slow
def test_sums_with_other_losses():
    rng = np.random.default_rng(7)
    for _ in range(5):
        labels = boxed(rng, "strokes")
        labels[labels == 0] = rng.integers(0, 2, (labels == 0).sum())
        graphs = Graphs(labels, ENDS, EDGES)
        loss = BoxFullness(0.6) + 0.5 * (Hamming() + BoxFullness(squared)) + 2.0 * Jaccard()
        bound_loss, scores = loss.bind(graphs), scored(rng, graphs)
        values = won_by(graphs, scores, ROWS) + values_of(bound_loss, ROWS)
        for method in (ByPieces(FactorDecomposition()), FactorDecomposition(), HighOrderMessages()):
            found = method.prepare(bound_loss).maximize(scores)
            assert found.values[0] <= values.max() + 1e-9 <= found.bounds[0] + 2e-9
            assert found.values[0] == pytest.approx(values[index_of(found.labels)])


def test_the_general_form_of_pieces_takes_costs_of_both_labels():
    rng = np.random.default_rng(8)
    graphs = Graphs(rng.random(12) < 0.5, ENDS, EDGES)
    constants, costs = np.array([[0.5, -np.inf, 0.1]]), rng.standard_normal((3, 12, 2))
    bound_loss = BoundLoss(graphs, (MaximumOfSums(constants, costs),), "three pieces")
    at = np.arange(12)
    expected = np.array([max(0.5 + costs[0, at, 1 * y].sum(), 0.1 + costs[2, at, 1 * y].sum()) for y in ROWS])
    np.testing.assert_allclose(values_of(bound_loss, ROWS), expected)
    scores = scored(rng, graphs)
    found = ByPieces(MaxFlow()).prepare(bound_loss).maximize(scores)
    assert found.exact[0]
    assert found.values[0] == pytest.approx((expected + won_by(graphs, scores, ROWS)).max())
    with pytest.raises(Refusal, match="does not tell which of its labelings have the least value"):
        bound_loss.zero()


def test_each_set_or_box_may_have_a_ratio_of_its_own():
    rng = np.random.default_rng(5)
    labels = np.where(rng.random(12) < 0.2, 0, -1).astype(np.int8)
    rows = subsets(6)
    # A set for each bag, and the same bags as boxes of one set.
    for kind, offsets, boxes in ((Sets, [0, 6, 12], None), (Sets, [0, 12], np.repeat([0, 1], 6))):
        sets = kind(labels, np.array(offsets))
        numbers = None if boxes is None else np.where(labels < 0, boxes, -1)
        loss = BoxFullness(np.array([0.2, 0.7]), numbers)
        bound_loss = loss.bind(sets)
        scores = rng.standard_normal(12)
        best = 0.0
        for ratio, at in ((0.2, slice(0, 6)), (0.7, slice(6, 12))):
            own = Sets(labels[at], np.array([0, 6]))
            values = of_formula(BoxFullness(ratio), labels[at], rows)
            np.testing.assert_allclose([BoxFullness(ratio).values(own, row)[0] for row in rows], values)
            best += (values + rows @ scores[at]).max()
        for method in (Auto(), ByPieces(Auto())):
            found = method.prepare(bound_loss).maximize(scores)
            assert found.exact.all()
            assert found.values.sum() == pytest.approx(best)
        zero = Auto().prepare(bound_loss.zero()).maximize(scores)
        unknown = labels == -1
        for ratio, at in ((0.2, slice(0, 6)), (0.7, slice(6, 12))):
            n = unknown[at].sum()
            assert abs(zero.labels[at].sum() - ratio * n) <= 0.5 + 1e-9
    assert repr(loss) == "BoxFullness(2 ratios, 2 boxes)"


def test_what_does_not_fit_is_refused():
    sets = Sets(np.array([0, -1, -1], np.int8), np.array([0, 3]))
    bound_loss = BoxFullness(0.5).bind(sets)
    for method, one, slack, words in (
        (ByPieces(Auto()), Hamming().bind(sets), False, "no term is a maximum of linear functions"),
        (ByPieces(Auto()), bound_loss, True, "ByPieces refuses slack rescaling"),
        (ByRegions(), bound_loss, False, "not a sum of functions of counts in regions"),
        (ByRegions(), bound_loss.zero(), True, "ByRegions refuses slack rescaling"),
        (FactorDecomposition(), bound_loss, True, "FactorDecomposition refuses slack rescaling"),
        (
            HighOrderMessages(),
            bound_loss.zero(),
            False,
            "it forbids some numbers of positives. Use FactorDecomposition",
        ),
        (ByPieces(Enumeration(2)), bound_loss, False, "Enumeration refuses a set of 3 decisions"),
    ):
        with pytest.raises(Refusal, match=words):
            method.prepare(one, slack)
    for wrong, words in (
        (lambda: BoxFullness(1.5), "ratio must be"),
        (lambda: BoxFullness((0.7, 0.2)), "low <= high"),
        (lambda: BoxFullness((0.1, 0.2, 0.3)), "ratio must be one number, a pair"),
        (lambda: BoxFullness(np.array([0.5, 1.1])), "ratio must be numbers from 0 to 1, one for each set or box"),
        (lambda: BoxFullness(np.array([0.5, np.nan])), "ratio must"),
        (lambda: BoxFullness(np.zeros((1, 1))), "ratio must be numbers from 0 to 1"),
        (lambda: BoxFullness(np.full(2, 0.5)).bind(sets), "ratio must hold 1 numbers, one for each set; got 2"),
        (lambda: BoxFullness(np.full(2, 0.5), [0, 0, -1]).bind(sets), "1 numbers, one for each number of a box"),
        (lambda: BoxFullness(0.5, [-2, 0]), "boxes must be whole numbers"),
        (lambda: BoxFullness(0.5, [0, 0]).bind(sets), "boxes must number all 3 decisions"),
        (lambda: BoxFullness(0.5, unit="km"), "unit must be one of"),
        (lambda: BoxFullness(lambda c, n: c - 9.0).bind(sets), "ratio must return finite numbers >= 0"),
        (lambda: BoxFullness(lambda c, n: 1.0).bind(sets), "ratio must return numbers of shape"),
    ):
        with pytest.raises(ValueError, match=words):
            wrong()
