import numpy as np
import pytest

from setwise.core.sets import Orders, Sets


def test_counts_places_and_owners():
    sets = Sets(np.array([True, False, True, True, False]), np.array([0, 2, 5]))
    assert len(sets) == 2
    assert sets.positives.tolist() == [1, 2]
    assert sets.negatives.tolist() == [1, 1]
    assert sets.places.tolist() == [0, 1, 0, 1, 2]
    assert sets.owners.tolist() == [0, 0, 1, 1, 1]


def test_take_and_part_agree():
    rng = np.random.default_rng(0)
    sets = Sets(rng.random(20) < 0.5, np.array([0, 3, 4, 11, 20]))
    taken, positions = sets.take(np.array([1, 2]))
    part = sets.part(1, 3)
    assert taken.labels.tolist() == part.labels.tolist()
    assert taken.offsets.tolist() == part.offsets.tolist()
    assert positions.tolist() == list(range(3, 11))
    mixed, positions = sets.take(np.array([3, 0]))
    assert mixed.labels.tolist() == sets.labels[positions].tolist()
    assert positions.tolist() == [*range(11, 20), 0, 1, 2]


def test_orders_of_mistakes():
    sets = Sets(np.array([True, False, True, True, False]), np.array([0, 2, 5]))
    orders = Orders.of_mistakes(sets, np.array([False, False, True, False, True]))
    assert orders.items.tolist() == [2, 4]
    assert orders.sizes.tolist() == [0, 2]
    assert orders.labels.tolist() == [True, False]


@pytest.mark.parametrize("offsets", [[0], [0, 0, 2], [1, 2], [0, 1], [0, 2, 1, 2]])
def test_refuses_empty_sets_and_bad_offsets(offsets):
    with pytest.raises(ValueError, match="offsets must rise strictly"):
        Sets(np.array([True, False]), np.array(offsets))


@pytest.mark.parametrize("Y", [np.zeros((0, 3)), np.zeros((3, 0)), np.zeros(3), np.zeros((2, 2, 2))])
def test_refuses_matrices_of_wrong_shape(Y):
    with pytest.raises(ValueError, match=r"Y must have shape \(n, p\)"):
        Sets.rows(Y)
