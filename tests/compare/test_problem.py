"""Problems: their parts."""

import numpy as np
import pytest

from setwise.compare.fits import rows_of
from setwise.compare.plan import NamedLoss
from setwise.compare.problem import Origin, Problem, digit_traits
from setwise.losses import FBeta


def test_lists_are_labels_and_ids_of_groups():
    part = Problem("p", "", np.zeros((4, 1)), [True, False, True, False], ["a", "a", "b", "b"]).take(np.array([2, 3]))
    assert part.y.tolist() == [1, 0]
    assert part.groups.tolist() == ["b", "b"]
    assert part.kind() == "each of the 1 groups is a set; 2 rows in all"


def test_some_of_the_digits_are_drawn_and_their_code_draws_the_same():
    part, whole, held = digit_traits(3, 600), digit_traits(3), {}
    exec("\n".join(part.code), held)
    np.testing.assert_array_equal(part.X, held["X"])
    np.testing.assert_array_equal(part.y, held["y"])
    assert part.y.shape == (600, 3)
    assert part.origin == Origin(rows=1797, drawn="--quick")
    assert len({row.tobytes() for row in part.X} - {row.tobytes() for row in whole.X}) == 0
    assert whole.origin is None


def test_weights_are_of_rows_of_one_set():
    X, y, w = np.arange(6.0)[:, None], np.array([0, 1, 0, 1, 0, 0]), np.array([3.0, 1, 3, 1, 3, 3])
    problem = Problem("some", "Six rows.", X, y, weights=w)
    rows = rows_of(problem.take(np.array([1, 2, 4])), NamedLoss("f1", FBeta()))
    np.testing.assert_array_equal(rows.sample_weight, [1.0, 3.0, 3.0])
    # As if each row were there as often as its weight says.
    labels = np.array([True, True, False])
    assert rows.task.mean_loss(labels) == FBeta()(np.repeat([1, 0, 0], [1, 3, 3]), np.repeat(labels, [1, 3, 3]))
    with pytest.raises(ValueError, match="weights must be None for groups and label matrices"):
        Problem("some", "Six rows.", X, y, np.arange(6), weights=w)
    with pytest.raises(ValueError, match="must be finite, not negative"):
        Problem("some", "Six rows.", X, y, weights=-w)
