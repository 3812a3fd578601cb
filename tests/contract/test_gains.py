"""Gains and marginals of every loss are differences of its values."""

from itertools import pairwise

import numpy as np
import pytest

from contract.loss_examples import batches
from setwise.core.batch import Orders


def orders_of(sets, rng):
    """A random beginning of a random permutation of each set, sometimes none of it."""
    runs = []
    for i, (a, b) in enumerate(pairwise(sets.offsets)):
        runs.append(a + rng.permutation(b - a)[: 0 if i == 1 else rng.integers(1, b - a + 1)])
    items = np.concatenate(runs).astype(np.int32)
    return Orders(items, sets.labels[items], np.concatenate(([0], np.cumsum([len(r) for r in runs]))))


def test_gains_are_differences_of_values_along_an_order(make, rng):
    for loss in make(4):
        for sets in batches(loss, 4, rng):
            orders, bound = orders_of(sets, rng), loss.bind(sets)
            gains = bound.gains(orders)
            assert gains.shape == (len(orders.items),)
            for i, (a, b) in enumerate(pairwise(orders.offsets)):
                labels = sets.labels.copy()
                before = bound.values(labels)[i]
                for j in range(a, b):
                    labels[orders.items[j]] ^= True
                    after = bound.values(labels)[i]
                    assert gains[j] == pytest.approx(after - before, abs=1e-10)
                    before = after


def test_a_sweep_holds_the_values_as_one_more_decision_is_predicted_positive(make, rng):
    for loss in make(4):
        for sets in batches(loss, 4, rng):
            orders, bound = orders_of(sets, rng), loss.bind(sets)
            swept = bound.sweep(orders)
            assert swept.shape == (len(orders.items),)
            for i, (a, b) in enumerate(pairwise(orders.offsets)):
                labels = np.zeros(sets.total, dtype=bool)
                for j in range(a, b):
                    labels[orders.items[j]] = True
                    assert swept[j] == pytest.approx(bound.values(labels)[i], abs=1e-10)


def test_gains_of_the_set_function_sum_to_the_loss_of_all_mistakes(make, rng):
    for loss in make(6):
        f = loss.of_mistakes(rng.random(6) < 0.5)
        gains = f.gains(rng.permutation(6))
        assert f(np.zeros(6, dtype=bool)) + gains.sum() == pytest.approx(f(np.ones(6, dtype=bool)), abs=1e-10)


def test_marginals_are_gains_of_one_more_mistake(make, rng):
    for loss in make(4):
        for sets in batches(loss, 4, rng):
            bound = loss.bind(sets)
            for rate in (0.0, 0.5, 1.0):
                mistakes = rng.random(sets.total) < rate
                marginals, now = bound.marginals(mistakes ^ sets.labels), bound.values(mistakes ^ sets.labels)
                assert marginals.shape == (sets.total,)
                assert (marginals[mistakes] == 0).all()
                for i in np.flatnonzero(~mistakes):
                    more = mistakes.copy()
                    more[i] = True
                    owner = sets.owners[i]
                    expected = bound.values(more ^ sets.labels)[owner] - now[owner]
                    assert marginals[i] == pytest.approx(expected, abs=1e-10)
