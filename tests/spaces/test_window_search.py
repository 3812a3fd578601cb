"""The worst window, the best windows and lists of windows of whole batches equal enumeration."""

import numpy as np
import pytest

from kernels.window_lists import SCORES, all_windows, overlap_by_pixels, random_boxes
from setwise.core.batch import Sets
from setwise.core.bound_loss import BoundLoss
from setwise.core.exceptions import Refusal
from setwise.inference import Auto
from setwise.kernels.threads import thread_limit
from setwise.losses import EqualCosts, MaxLoss, NearestHammingCosts
from setwise.spaces import ByWindows, Overlap
from setwise.spaces.boxes import Boxes, Points
from setwise.surrogates import MultilabelHinge


def random_batch(rng, n=3, most=7, right=3, stride=1):
    """Images with points, right windows and difficult boxes, none of each included."""
    shapes = rng.integers(1, most + 1, (n, 2))
    points = [rng.integers(0, shape, (int(rng.integers(0, 15)), 2)) for shape in shapes]
    truths = [np.unique(random_boxes(rng, rng.integers(0, right + 1), *shape), axis=0) for shape in shapes]
    difficult = [random_boxes(rng, rng.integers(0, 2), *shape) for shape in shapes]
    return Boxes(shapes, points, truths, difficult, stride)


def every(batch, i):
    """All windows of an image, the right ones and those of the grid."""
    height, width = batch.shapes[i].tolist()
    points = Points(height, width, batch.points[i] // batch.stride, batch.stride)
    return np.unique(np.concatenate([batch.truths[i], all_windows(points)[0]]), axis=0)


def cost_by_definition(batch, i, label, costs):
    if costs is None or any((label == t).all() for t in batch.truths[i]) or isinstance(costs, EqualCosts):
        return 0.0 if costs is None else costs.factor
    near = [overlap_by_pixels(label, t) >= costs.threshold for t in (*batch.truths[i], *batch.difficult[i])]
    return 0.0 if any(near) else costs.factor


def objectives(batch, i, own, costs, slack):
    """What each window is worth if its membership is wrong, by counting the points inside."""
    out = []
    for label in every(batch, i):
        inside = [all(label[:2] <= p) and all(p < label[2:]) for p in batch.points[i]]
        f = float(own[:-1] @ np.array(inside, float)) + own[-1]
        right = any((label == t).all() for t in batch.truths[i])
        cost = cost_by_definition(batch, i, label, costs)
        out.append(cost * (1.0 + (-f if right else f)) if slack else cost + (-f if right else f))
    return np.array(out)


COSTS = [
    (None, False),
    (None, True),
    (EqualCosts(), False),
    (EqualCosts(0.5), True),
    (Overlap(), True),
    (Overlap(0.3, 2.0), True),
    (Overlap(1.0), True),
]


@pytest.mark.draw(72)
@pytest.mark.parametrize(("costs", "slack"), COSTS)
@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("budget", [0, 7, None])
def test_the_worst_window_is_that_of_enumeration(costs, slack, kind, budget):
    rng = np.random.default_rng(0)
    for trial in range(6):
        batch = random_batch(rng, stride=1 + trial % 2)
        bound_loss = BoundLoss(batch, () if costs is None else (costs,))
        scores = SCORES[kind](rng, batch.n_scores)
        maximizer = ByWindows(budget=budget).prepare(bound_loss, slack)
        found = maximizer.maximize(scores)
        assert found.exact.all()
        np.testing.assert_array_equal(found.values, found.bounds)
        own = np.split(scores, batch.score_offsets[1:-1])
        for i in range(len(batch)):
            values = np.append(objectives(batch, i, own[i], costs, slack), 0.0)
            size = 1e-12 * (1.0 + np.abs(own[i]).sum()) * 2.0
            assert found.values[i] == pytest.approx(values.max(), rel=0, abs=size)
            one = found.labels[4 * i : 4 * i + 4] - 1
            place = np.flatnonzero((every(batch, i) == one).all(axis=1)) if one[0] >= 0 else [-1]
            assert values[place[0]] == pytest.approx(found.values[i], rel=0, abs=size)
        part = maximizer.take(np.array([2, 0])).maximize(np.concatenate([own[2], own[0]]))
        np.testing.assert_allclose(part.values, found.values[[2, 0]], rtol=1e-12)
        counted = maximizer.statistics
        assert counted.calls == sum(counted.closed.values()) == (0 if slack and costs is None else 5)


@pytest.mark.draw(4)
@pytest.mark.parametrize("kind", SCORES)
def test_the_best_windows_and_lists_by_enumeration(kind):
    rng = np.random.default_rng(1)
    for trial in range(8):
        batch = random_batch(rng, most=5, right=0, stride=1 + trial % 2)
        maximizer = Auto().prepare(BoundLoss(batch))
        scores = SCORES[kind](rng, batch.n_scores)
        own = np.split(scores, batch.score_offsets[1:-1])
        best, lists = maximizer.k_best(scores, 50), maximizer.above(scores, 0.25, 6)
        for i in range(len(batch)):
            windows, values = every(batch, i), objectives(batch, i, own[i], None, False)
            size = 1e-12 * (1.0 + np.abs(own[i]).sum())
            np.testing.assert_allclose([s.value for s in best[i]], -np.sort(-values)[:50], rtol=0, atol=size)
            assert len({tuple(s.labels) for s in best[i]}) == len(best[i])
            left = np.ones(len(windows), bool)
            for solution in lists[i]:
                place = np.flatnonzero((windows == solution.labels - 1).all(axis=1))[0]
                assert left[place]
                assert solution.value == pytest.approx(values[left].max(), rel=0, abs=size)
                left &= [overlap_by_pixels(windows[place], other) < 0.5 for other in windows]
            if len(lists[i]) < 6 and left.any():
                assert values[left].max() <= 0.25 + size


def test_threads_change_nothing():
    rng = np.random.default_rng(2)
    batch = random_batch(rng, n=8)
    scores = rng.standard_normal(batch.n_scores)
    maximizer = ByWindows().prepare(MaxLoss(Overlap()).bind(batch), slack=True)
    alone = maximizer.maximize(scores)
    with thread_limit(2):
        np.testing.assert_array_equal(maximizer.maximize(scores).labels, alone.labels)


def test_the_hinge_of_windows_is_a_maximum_over_all_of_them():
    rng = np.random.default_rng(3)
    for _ in range(5):
        batch = random_batch(rng)
        scores = rng.standard_normal(batch.n_scores)
        own = np.split(scores, batch.score_offsets[1:-1])
        found = MultilabelHinge(MaxLoss(Overlap(0.4))).on(batch).evaluate(scores, np.zeros(3))
        wanted = [max(0.0, objectives(batch, i, own[i], Overlap(0.4), True).max()) for i in range(3)]
        np.testing.assert_allclose(found.values, wanted, atol=1e-12)


def test_a_window_with_the_points_of_a_right_one_keeps_the_margin_hinge_above_a_half():
    batch = Boxes([[4, 4]], [[[1, 1]]], [[[0, 0, 3, 3]]])
    bound_loss = MaxLoss(Overlap()).bind(batch)
    for method in (ByWindows(), Auto()):
        with pytest.raises(Refusal, match=r"refuses margin rescaling of .*max\(1 - f, f\).*Use rescaling='slack'"):
            method.prepare(bound_loss)
    same, costs = np.array([[0, 0, 3, 3], [0, 0, 3, 2]]), Overlap()
    for f in np.linspace(-2, 3, 21):
        scores = np.array([f, 0.0])
        assert batch.label_scores(0, scores, same).tolist() == [f, f]
        assert max(costs.of(batch, 0, same[:1])[0] - f, costs.of(batch, 0, same[1:])[0] + f) >= 0.5


def test_what_is_refused():
    batch, sets = Boxes([[4, 5]], [np.zeros((0, 2), int)], [[[0, 0, 4, 5]]]), Sets.single([0, 1])
    for call, words in (
        (lambda: ByWindows().prepare(BoundLoss(sets)), "ByWindows refuses Sets: it takes Boxes"),
        (lambda: ByWindows().prepare(MaxLoss(NearestHammingCosts()).bind(batch), True), "it takes equal costs or"),
        (lambda: ByWindows().prepare(BoundLoss(batch)).k_best(np.zeros(1), 2), "refuse .* with right windows"),
        (lambda: BoundLoss(sets, (Overlap(),)), "gives costs to windows of images, such as Boxes"),
        (lambda: ByWindows(overlap=0.0), "overlap must be"),
        (lambda: ByWindows(budget=-1), "budget must be at least 0"),
        (lambda: Overlap(0.0), "threshold must be"),
        (lambda: Boxes([[4, 5]], [[[4, 0]]]), r"points\[0\] must lie in 0..3 and 0..4"),
        (lambda: Boxes([[4, 5]], [[[0.5, 0]]]), r"points\[0\] must be whole numbers of shape \(m, 2\); got float64"),
        (lambda: Boxes([[4, 5]], [], []), "points must be a list of 1 arrays, one for each image"),
        (lambda: Boxes([[4, 5]], [()], [[[0, 0, 5, 5]]]), r"truths\[0\] must be boxes 0 <= top < bottom <= 4"),
        (lambda: Boxes([[4, 5]], [()], [[[0, 0, 4]]]), r"truths\[0\] must be whole numbers of shape \(m, 4\)"),
        (lambda: Boxes([[4, 5]], [()], None, [[[2, 0, 2, 5]]]), r"difficult\[0\] must be boxes"),
        (lambda: Boxes([[0, 5]], [()]), "shapes must be from 1 to 32768"),
        (lambda: Boxes([4, 5], [()]), r"shapes must be whole numbers of shape \(n, 2\)"),
        (lambda: Boxes([[4, 5]], [()], stride=0), "stride must be at least 1"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


def test_lists_hold_no_window_whose_points_have_no_sum_above_the_threshold():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        points = np.stack([rng.integers(0, 12, 10), rng.integers(0, 12, 10)], axis=1)
        own, boxes = np.append(rng.random(10), 0.0), Boxes([(12, 12)], [points])
        for budget in (None, 0, 10**6):
            for found in ByWindows(0.3, budget).prepare(BoundLoss(boxes)).above(own, 0.0, 100)[0]:
                top, left, bottom, right = found.labels - 1
                rows, columns = points.T
                inside = (rows >= top) & (rows < bottom) & (columns >= left) & (columns < right)
                assert found.value == pytest.approx(own[:-1][inside].sum())
                assert found.value > 0.0
                assert inside.any()
