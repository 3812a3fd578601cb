"""Windows of points: branch and bound, pairs of rows and lists of windows equal enumeration."""

import numpy as np
import pytest

from kernels.window_lists import SCORES, all_windows, overlap_by_pixels, random_boxes
from setwise.kernels.windows import grid_sums, overlaps, row_pair_values
from setwise.spaces.boxes import Points, lines, search

NO_BOXES, NO_LIMITS = np.zeros((0, 4), np.int64), np.zeros(0)


def random_case(rng, kind, most=12):
    height, width = rng.integers(1, most + 1, 2)
    m = int(rng.integers(0, 40))
    stride = int(rng.choice([1, 1, 1, 2, 3, 5]))
    points = Points(int(height), int(width), rng.integers(0, (height, width), (m, 2)) // stride, stride)
    boxes = random_boxes(rng, rng.integers(0, 4), height, width)
    limits = rng.choice([0.2, 0.3, 0.5, 0.5, 0.7, 1.0], len(boxes))
    return points, SCORES[kind](rng, m), boxes, limits


def check(points, scores, boxes, limits, floor, count, overlap, budget):
    """Compare a list with enumeration; each entry must be the best window that those before it allow."""
    found = search(points, scores, boxes, limits, floor, count, overlap, budget)
    windows, inside = all_windows(points)
    values = inside @ scores
    size = 1e-12 * np.abs(scores).sum()
    allowed = (overlaps(windows, boxes) < limits).all(axis=1)
    for window, value in zip(found.windows, found.sums, strict=True):
        place = np.flatnonzero((windows == window).all(axis=1))[0]
        assert allowed[place]
        assert value == pytest.approx(values[place], rel=0, abs=size)
        assert value == pytest.approx(values[allowed].max(), rel=0, abs=size)
        assert value > floor
        allowed &= overlaps(windows, window[None])[:, 0] < overlap
    if len(found.windows) < count and allowed.any():
        assert values[allowed].max() <= floor + size
    return found


def test_overlaps_by_counting_pixels():
    rng = np.random.default_rng(0)
    boxes, others = random_boxes(rng, 20, 12, 9), random_boxes(rng, 15, 12, 9)
    wanted = [[overlap_by_pixels(a, b) for b in others] for a in boxes]
    np.testing.assert_array_equal(overlaps(boxes, others), wanted)


def test_sums_between_rows_by_enumeration():
    rng = np.random.default_rng(1)
    for _ in range(30):
        points, scores, _, _ = random_case(rng, "normal")
        rows, columns = lines(points.height, points.stride), lines(points.width, points.stride)
        sums = grid_sums(points.cells, scores, len(rows) - 1, len(columns) - 1, 0)
        windows, inside = all_windows(points)
        pairs = [(a, b) for i, a in enumerate(rows) for b in rows[i + 1 :]]
        wanted = [(inside @ scores)[(windows[:, [0, 2]] == pair).all(axis=1)].max() for pair in pairs]
        np.testing.assert_allclose(row_pair_values(sums), wanted, atol=1e-12)


@pytest.mark.draw(3)
@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("budget", [0, 3, 100_000, None])
def test_the_best_allowed_window_by_enumeration(kind, budget):
    rng = np.random.default_rng(2)
    for trial in range(60):
        floor = (-np.inf, -1.0, 0.0, 0.5)[trial % 4]
        check(*random_case(rng, kind), floor, 1, 1.0, budget)


@pytest.mark.draw(2)
@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("budget", [0, 3, 100_000])
@pytest.mark.parametrize("overlap", [0.25, 0.5, 1.0])
def test_lists_by_enumeration(kind, budget, overlap):
    rng = np.random.default_rng(3)
    for trial in range(12):
        floor, count = (-np.inf, -1.0, 0.0)[trial % 3], (2, 7, 40)[trial // 3 % 3]
        check(*random_case(rng, kind, 9), floor, count, overlap, budget)


def test_both_searches_close_some_of_twelve_by_twelve():
    rng = np.random.default_rng(4)
    methods = set()
    for trial in range(40):
        m = 60
        points = Points(12, 12, rng.integers(0, 12, (m, 2)))
        boxes = random_boxes(rng, 3, 12, 12)
        scores = rng.standard_normal(m) - (1.0 if trial % 5 == 0 else 0.0)
        found = check(points, scores, boxes, np.full(3, 0.5), 6.0 if trial % 5 == 0 else -1.0, 1, 1.0, 150)
        methods.add(found.method)
        assert found.visited == 150 if found.method == "row pairs" else not found.searches
    assert methods == {"bound", "branch and bound", "row pairs"}


def test_the_shorter_side_makes_no_difference():
    rng = np.random.default_rng(5)
    for _ in range(20):
        points, scores, boxes, limits = random_case(rng, "normal")
        turned = Points(points.width, points.height, points.cells[:, ::-1], points.stride)
        one = search(points, scores, boxes, limits, budget=0)
        other = search(turned, scores, boxes[:, [1, 0, 3, 2]], limits, budget=0)
        np.testing.assert_allclose(one.sums, other.sums, atol=1e-12)


def test_one_pixel_and_what_forbids_everything():
    point = Points(1, 1, np.zeros((2, 2), np.int64))
    scores = np.array([1.0, 2.0])
    for budget in (0, 5):
        found = search(point, scores, NO_BOXES, NO_LIMITS, budget=budget, count=3)
        assert (found.windows.tolist(), found.sums.tolist()) == ([[0, 0, 1, 1]], [3.0])
        assert not len(search(point, scores, np.array([[0, 0, 1, 1]]), np.array([0.5]), budget=budget).windows)
        assert not len(search(point, scores, NO_BOXES, NO_LIMITS, 3.0, budget=budget).windows)


@pytest.mark.parametrize("overlap", [0.4, 1.0])
def test_budgets_change_no_value_in_larger_images(overlap):
    rng = np.random.default_rng(6)
    for trial in range(6):
        points = Points(48, 64, rng.integers(0, (48, 64), (500, 2)))
        boxes = random_boxes(rng, 3, 48, 64)
        inside = ((points.cells >= boxes[0, :2]) & (points.cells < boxes[0, 2:])).all(axis=1)
        # Lists may differ after windows of equal sums, which border on rows without points.
        scores = rng.standard_normal(500) + np.where(inside, 0.5, -0.2 * trial)
        lists = [search(points, scores, boxes, np.full(3, 0.5), 1.0, 6, overlap, b) for b in (0, 50, None, 100_000)]
        for found in lists[1:]:
            first = found.sums[:1], lists[0].sums[:1]
            np.testing.assert_allclose(*first, rtol=1e-10)
            if overlap == 1.0:
                np.testing.assert_allclose(found.sums, lists[0].sums, rtol=1e-10)
        for found in lists:
            assert (overlaps(found.windows, boxes) < 0.5).all()
            assert ((overlaps(found.windows, found.windows) >= overlap) == np.eye(len(found.sums), dtype=bool)).all()
            assert (np.diff(found.sums) <= 1e-10).all()
