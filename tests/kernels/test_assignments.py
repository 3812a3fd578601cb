"""The assignments of rows to columns come in the order of enumeration."""

from itertools import islice, pairwise, permutations

import numpy as np
import pytest

from kernels.falling import KINDS, check_list, drawn
from setwise.kernels.sequences import best_assignments


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 4), (2, 2), (3, 3), (2, 4), (4, 4), (3, 5)])
def test_all_assignments_come_in_falling_order(kind, shape):
    rng = np.random.default_rng(0)
    for _ in range(5):
        scores = drawn(rng, shape, kind)
        rows = np.array(list(permutations(range(shape[1]), shape[0])))
        found = list(best_assignments(scores))
        labels, sums = np.array([columns for _, columns in found]), np.array([value for value, _ in found])
        assert len(found) == len(rows)
        every_sum = scores[np.arange(shape[0]), rows].sum(axis=1)
        np.testing.assert_array_equal(sums, scores[np.arange(shape[0]), labels].sum(axis=1))
        check_list(labels, sums, every_sum, np.abs(scores).sum())


def test_the_first_ones_cost_no_more_than_they_must():
    scores = np.random.default_rng(1).standard_normal((40, 60))
    first = list(islice(best_assignments(scores), 20))
    assert len({tuple(columns) for _, columns in first}) == 20
    assert all(a >= b for (a, _), (b, _) in pairwise(first))


def test_more_rows_than_columns_are_refused():
    with pytest.raises(ValueError, match="got 3 x 2"):
        next(best_assignments(np.zeros((3, 2))))
