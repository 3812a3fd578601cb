"""Problems: their parts."""

from dataclasses import replace

import numpy as np

from setwise.compare.problem import Problem


def test_lists_are_labels_and_ids_of_groups():
    part = Problem("p", "", np.zeros((4, 1)), [True, False, True, False], ["a", "a", "b", "b"]).take(np.array([2, 3]))
    assert part.y.tolist() == [1, 0]
    assert part.groups.tolist() == ["b", "b"]
    assert part.kind() == "each of the 1 groups is a set; 2 rows in all"


def test_a_part_holds_whole_sets_and_enough_of_each_label():
    rows, groups = np.arange(30 * 400), np.repeat(np.arange(30), 400)
    y = ((rows % 400 == 0) & (groups % 2 == 0)).astype(int)
    images = Problem("p", "", rows[:, None], y, groups)
    part = images.part(300, 5, 0)
    sizes = np.unique(part.groups, return_counts=True)[1]
    assert (sizes == 400).all()
    assert 5 <= len(sizes) < 30
    assert len(np.unique(part.groups[part.y == 1])) >= 5
    np.testing.assert_array_equal(part.X, images.part(300, 5, 0).X)
    one = replace(images, groups=None).part(300, 5, 0)
    assert 300 <= len(one.y) < len(y)
    assert one.y.sum() >= 5
    assert images.part(1, 16, 0).y.sum() == 15
    assert len(images.part(10**9, 5, 0).y) == len(y)
    matrix = Problem("p", "", rows[:, None], np.column_stack([y, y]))
    assert len(matrix.part(300, 5, 0).y) == 300
