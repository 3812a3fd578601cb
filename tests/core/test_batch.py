import itertools

import numpy as np
import pytest

from setwise.core.batch import Classes, Orders, Sets


def test_counts_places_and_owners():
    sets = Sets(np.array([True, False, True, True, False]), np.array([0, 2, 5]))
    assert len(sets) == 2
    assert sets.positives.tolist() == [1, 2]
    assert sets.negatives.tolist() == [1, 1]
    assert sets.count(1).tolist() == [1.0, 2.0]
    assert sets.count(0, np.array([5.0, 2.0, 5.0, 5.0, 3.0])).tolist() == [2.0, 3.0]
    assert sets.places.tolist() == [0, 1, 0, 1, 2]
    assert sets.owners.tolist() == [0, 0, 1, 1, 1]


def test_neighbors_are_taken_as_views_and_others_in_their_order():
    rng = np.random.default_rng(0)
    sets = Sets(rng.random(20) < 0.5, np.array([0, 3, 4, 11, 20]))
    part = sets.take(np.array([1, 2]))
    assert part.labels.base is not None
    assert part.labels.tolist() == sets.labels[3:11].tolist()
    assert part.offsets.tolist() == [0, 1, 8]
    mixed = sets.take(np.array([3, 0]))
    assert mixed.labels.tolist() == [*sets.labels[11:20], *sets.labels[:3]]
    assert mixed.offsets.tolist() == [0, 9, 12]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_a_labeling_wins_over_the_target(dtype):
    rng = np.random.default_rng(1)
    truth, offsets = rng.random(9) < 0.5, np.array([0, 4, 9])
    batches = [
        Sets(truth, offsets),
        Sets(np.where(rng.random(9) < 0.3, -1, truth).astype(np.int8), offsets),
        Sets(truth, offsets, compared=rng.random(9)),
        Classes(rng.integers(-1, 3, 9), offsets, 3),
    ]
    for batch in batches:
        scores = rng.standard_normal(batch.n_scores).astype(dtype)
        labels = rng.integers(0, batch.n_labels, 9)
        labels = labels.astype(bool) if batch.n_labels == 2 else labels
        away = batch.encode(labels) - batch.target
        np.testing.assert_allclose(batch.away(labels, dtype), away, rtol=1e-6)
        assert batch.away(labels, dtype).dtype == dtype
        ends = batch.score_offsets
        expected = [float(scores[a:b] @ away[a:b]) for a, b in itertools.pairwise(ends)]
        np.testing.assert_allclose(batch.won(scores, labels), expected, rtol=1e-6, atol=1e-6)
        wrong = (labels != batch.labels) & (batch.labels >= 0)
        np.testing.assert_array_equal(batch.mistakes(labels), wrong)


def test_unknown_labels_are_neither_positive_nor_negative():
    sets = Sets(np.array([1, -1, 0, 1], dtype=np.int8), np.array([0, 4]))
    assert sets.truth.tolist() == [True, False, False, True]
    assert sets.known.tolist() == [True, False, True, True]
    assert (sets.count(1)[0], sets.count(0)[0]) == (2.0, 1.0)
    assert Sets(np.array([1, 0], dtype=np.int8), np.array([0, 2])).known is None


def test_a_piece_counts_the_whole_set():
    piece = Sets(np.array([True, False]), np.array([0, 2]), totals=np.array([[7.0, 3.0]]))
    assert (piece.count(1)[0], piece.count(0)[0]) == (3.0, 7.0)
    assert piece.take(np.array([0])).count(1)[0] == 3.0


def test_forced_scores_prefer_their_labels():
    sets, classes = Sets.single([1, 0, 1]), Classes.single([0, 2, 1], 3)
    strength = np.full(3, 10.0)
    assert sets.force(np.zeros(3), np.array([1, -1, 0]), strength).tolist() == [10.0, 0.0, -10.0]
    forced = classes.force(np.zeros(9), np.array([-1, 2, 0]), strength).reshape(3, 3)
    assert forced.tolist() == [[0, 0, 0], [-10, -10, 10], [10, -10, -10]]


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
    with pytest.raises(ValueError, match="offsets must rise strictly"):
        Classes(np.array([0, 1]), np.array(offsets), 2)


@pytest.mark.parametrize(
    ("labels", "offsets", "words"),
    [
        (np.array([2, 0, 1]), np.array([0, 3]), "labels must be -1, 0 or 1; got 0 to 2"),
        (np.array([2, 0, 1], dtype=np.int8), np.array([0, 3]), "labels must be -1, 0 or 1"),
        ([True, False], np.array([0.0, 2.0]), "offsets must be int64"),
        (np.ones((2, 2), dtype=bool), np.array([0, 4]), "labels must be bool, or whole numbers"),
    ],
)
def test_sets_hold_bools_and_whole_offsets(labels, offsets, words):
    with pytest.raises(ValueError, match=words):
        Sets(labels, offsets)


def test_targets_and_totals_have_a_shape():
    with pytest.raises(ValueError, match=r"compared must have shape \(2,\)"):
        Sets(np.array([True, False]), np.array([0, 2]), compared=np.zeros(3))
    with pytest.raises(ValueError, match=r"totals must have shape \(1, 2\)"):
        Sets(np.array([True, False]), np.array([0, 2]), totals=np.zeros(2))
    with pytest.raises(ValueError, match=r"compared must be in \[0, 1\]"):
        Sets(np.array([True, False]), np.array([0, 2]), compared=np.array([0.5, 1.5]))
    with pytest.raises(ValueError, match="totals must not be below the numbers of negatives and positives"):
        Sets(np.array([True, False]), np.array([0, 2]), totals=np.array([[1.0, 0.0]]))


@pytest.mark.parametrize("Y", [np.zeros((0, 3)), np.zeros((3, 0)), np.zeros(3), np.zeros((2, 2, 2))])
def test_refuses_matrices_of_wrong_shape(Y):
    with pytest.raises(ValueError, match=r"Y must have shape \(n, p\)"):
        Sets.rows(Y)


def test_the_score_of_the_target_is_read_from_scores_of_one_length_only():
    sets = Sets(np.array([True, False, True]), np.array([0, 2, 3]))
    assert sets.at_target(np.array([0.5, 7.0, 2.0])).tolist() == [0.5, 2.0]
    for wrong in (np.zeros(2), np.zeros(4), np.zeros((3, 1))):
        with pytest.raises(ValueError, match="scores must hold real numbers of shape"):
            sets.at_target(wrong)


@pytest.mark.parametrize("kind", [np.int64, np.uint8, np.int16])
def test_labels_of_any_whole_type(kind):
    batch = Sets(np.array([1, 0, 1], kind), np.array([0, 3]))
    assert batch.labels.dtype == np.int8
    assert batch.truth.tolist() == [True, False, True]
