"""The loss of bags with a range of numbers of positives: its values, maxima and completions, against all labelings."""

import numpy as np
import pytest

from losses.small_networks import grid, labelings, scored, values_of, won_by
from setwise.core.batch import Sets
from setwise.core.networks import Graphs
from setwise.inference import Auto, FactorDecomposition
from setwise.losses import CountRange
from setwise.surrogates import MarginRescaling

LOSSES = [CountRange(1), CountRange(0, 0), CountRange(2, 2), CountRange(2, 4), CountRange(np.array([3]), None)]


def drawn(rng, loss, p=7):
    """Labels of a set, some of them known, such that the loss can be met."""
    while True:
        labels = np.where(rng.random(p) < 0.3, rng.random(p) < 0.4, -1).astype(np.int8)
        try:
            loss.check(Sets(labels, np.array([0, p])))
        except ValueError:
            continue
        return labels


def of_formula(loss, labels, rows):
    """The values of the loss, written out."""
    known = labels >= 0
    wrong = (rows != (labels == 1))[:, known].sum(axis=1)
    if known.all():
        return wrong
    # Known positives count as they are.
    count = (labels == 1).sum() + rows[:, ~known].sum(axis=1)
    low, high = np.ravel(loss.low)[0], len(labels) if loss.high is None else np.ravel(loss.high)[0]
    return wrong + np.maximum(np.maximum(low - count, count - high), 0)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_values_maxima_and_completions(loss):
    rng, rows = np.random.default_rng(0), labelings(7)
    for _ in range(20):
        labels, s = drawn(rng, loss), np.round(2 * rng.standard_normal(7), 1)
        sets = Sets(labels, np.array([0, 7]))
        bound_loss, expected = loss.bind(sets), of_formula(loss, labels, rows)
        np.testing.assert_array_equal(values_of(bound_loss, rows), expected)
        won = won_by(sets, s, rows)
        found = Auto().prepare(bound_loss).maximize(s)
        assert found.exact.all()
        assert found.values[0] == pytest.approx((expected + won).max())
        least = bound_loss.zero()
        assert expected.min() == 0
        np.testing.assert_array_equal(values_of(least, rows) == 0, expected == 0)
        best = Auto().prepare(least).maximize(s)
        assert best.values[0] == pytest.approx((won)[expected == 0].max())
        # Margin rescaling compares the maximum with the best completion.
        value = MarginRescaling(loss).on(sets)(s)
        assert value.values[0] == pytest.approx((expected + won).max() - (won)[expected == 0].max())


def test_each_bag_has_its_range_and_keeps_it_when_sets_are_chosen():
    rng = np.random.default_rng(1)
    low, high = np.array([0, 2, 1, 3]), np.array([1, 2, 4, 3])
    sets = Sets(np.full(16, -1, np.int8), 4 * np.arange(5))
    bound_loss = CountRange(low, high).bind(sets)
    guess = rng.random(16) < 0.5
    counts = guess.reshape(4, 4).sum(axis=1)
    expected = np.maximum(np.maximum(low - counts, counts - high), 0)
    np.testing.assert_array_equal(bound_loss.values(guess), expected)
    parts = np.array([3, 1])
    taken = bound_loss.take(parts).values(guess.reshape(4, 4)[parts].ravel())
    np.testing.assert_array_equal(taken, expected[parts])


def test_on_a_graph_the_bound_holds():
    rng, rows, edges = np.random.default_rng(2), labelings(6), grid(2, 3)
    for _ in range(10):
        graphs = Graphs(np.full(6, -1, np.int8), np.array([0, 6]), edges)
        bound_loss = CountRange(2, 3).bind(graphs)
        s = scored(rng, graphs)
        each = values_of(bound_loss, rows) + won_by(graphs, s, rows)
        found = FactorDecomposition().prepare(bound_loss).maximize(s)
        assert found.values[0] <= each.max() + 1e-9
        assert found.bounds[0] >= each.max() - 1e-9
