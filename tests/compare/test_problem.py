"""Problems: their parts."""

import numpy as np

from setwise.compare.problem import Origin, Problem, digit_traits


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
