"""The space of windows: batches and features of images, and the scores of predicted windows."""

import contextlib
import io

import numpy as np
import pytest

from kernels.window_lists import overlap_by_pixels, random_boxes
from setwise import MultilabelStructuredPredictor
from setwise.core.bound_loss import BoundLoss
from setwise.kernels.windows import overlaps
from setwise.learners import OneSlack
from setwise.losses import MaxLoss
from setwise.risks import MeanRisk
from setwise.spaces import (
    ByWindows,
    Overlap,
    Windows,
    WordImage,
    window_average_precision,
    window_f1,
    window_precision,
    window_recall,
)
from setwise.spaces.window_scores import COCO
from setwise.surrogates import MultilabelHinge

NONE = np.zeros((0, 4), np.int64)


def random_image(rng, height=9, width=12, m=30, words=5):
    points = np.stack([rng.integers(0, height, m), rng.integers(0, width, m), rng.integers(0, words, m)], axis=1)
    return WordImage(height, width, points)


@pytest.mark.parametrize("constant", [0.0, 1.0, 2.5])
def test_scores_of_windows_count_the_words_inside(constant):
    rng = np.random.default_rng(0)
    images = [random_image(rng), random_image(rng, 4, 3, 0), random_image(rng, 3, 8)]
    Y = [random_boxes(rng, 2, image.height, image.width) for image in images]
    batch, features = Windows(5).bind(images, Y, constant)
    w = rng.standard_normal(features.size)
    scores = features.scores(w)
    assert features.size == 5 + (constant > 0)
    for i, image in enumerate(images):
        own = scores[batch.score_offsets[i] : batch.score_offsets[i + 1]]
        for top, left, bottom, right in (windows := random_boxes(rng, 10, image.height, image.width)).tolist():
            rows, columns, words = image.points.T
            inside = (rows >= top) & (rows < bottom) & (columns >= left) & (columns < right)
            f = np.bincount(words[inside], minlength=5) @ w[:5] + (constant * w[5] if constant else 0.0)
            found = batch.label_scores(i, own, np.array([[top, left, bottom, right]]))[0]
            assert found == pytest.approx(f)
        # The labeling of a window is its numbers plus one, and phi counts its points.
        labels = np.zeros(batch.total, np.int64)
        labels[4 * i : 4 * i + 4] = windows[0] + 1
        sign = -1.0 if batch.right(labels)[i] else 1.0
        assert batch.won(scores, labels)[i] == pytest.approx(sign * batch.label_scores(i, own, windows[:1])[0])
    # The adjoint, of all images and of some.
    g = rng.standard_normal(batch.n_scores)
    assert features.pullback(g) @ w == pytest.approx(g @ scores)
    np.testing.assert_allclose(features.pullbacks(g).sum(axis=0), features.pullback(g))


def test_training_finds_the_object_and_its_gap_is_certified():
    rng = np.random.default_rng(1)
    images, Y = [], []
    for _ in range(12):
        top, left = rng.integers(0, 10, 2)
        box = np.array([[top, left, top + 6, left + 8]])
        rows, columns = rng.integers(0, 18, 150), rng.integers(0, 20, 150)
        inside = (rows >= top) & (rows < top + 6) & (columns >= left) & (columns < left + 8)
        words = np.where(inside & (rng.random(150) < 0.9), rng.integers(0, 3, 150), rng.integers(3, 9, 150))
        images.append(WordImage(18, 20, np.stack([rows, columns, words], axis=1)))
        Y.append(box)
    space = Windows(9)
    batch, features = space.bind(images[:8], Y[:8])
    risk = MeanRisk(features, MultilabelHinge(MaxLoss(Overlap())).on(batch))
    fit = OneSlack(C=100.0, tol=0.1, max_iter=500).minimize(risk)
    assert fit.gap <= 0.1
    test, features = space.bind(images[8:])
    best = ByWindows().prepare(BoundLoss(test)).k_best(features.scores(fit.w), 1)
    found = [space.boxes(one) for one in best]
    assert window_recall(Y[8:], found) == 1.0
    # The predictor trains and finds the same.
    model = MultilabelStructuredPredictor(space, MaxLoss(Overlap()), surrogate="hinge", C=100.0, tol=0.1)
    model.fit(images[:8], Y[:8])
    assert model.objective_ == pytest.approx(fit.objective, rel=0.2)
    assert window_recall(Y[8:], [np.array([box for box, _ in row]) for row in model.top(images[8:], 1)]) == 1.0
    # What is above 0 overlaps by less than a half.
    for row in model.predict(images[8:]):
        boxes = np.array(row).reshape(-1, 4)
        np.testing.assert_array_equal(overlaps(boxes, boxes) >= 0.5, np.eye(len(row)))


def test_precision_recall_and_f1_by_hand():
    rng = np.random.default_rng(2)
    for trial in range(30):
        t = (0.3, 0.5, 0.75)[trial % 3]
        Y = [random_boxes(rng, rng.integers(0, 4), 12, 12) for _ in range(4)]
        P = [np.concatenate([y[: rng.integers(0, 3)], random_boxes(rng, rng.integers(0, 4), 12, 12)]) for y in Y]
        counts = []
        for y, p in zip(Y, P, strict=True):
            free, hits = list(range(len(y))), 0
            for box in p:
                near = [(overlap_by_pixels(box, y[j]), j) for j in free]
                if near and max(near)[0] >= t:
                    free.remove(max(near)[1])
                    hits += 1
            counts.append((hits, len(p), len(y)))
        hits, seen, real = np.array(counts).T
        assert window_precision(Y, P, t) == (hits.sum() / seen.sum() if seen.sum() else 0.0)
        assert window_recall(Y, P, t) == (hits.sum() / real.sum() if real.sum() else 0.0)
        assert window_f1(Y, P, t) == pytest.approx(2 * hits.sum() / (seen.sum() + real.sum()))
        nothing = (seen == 0) & (real == 0)
        for score, part, whole in (
            (window_precision, hits, seen),
            (window_recall, hits, real),
            (window_f1, 2 * hits, seen + real),
        ):
            wanted = [1.0 if e else (a / b if b else 0.0) for a, b, e in zip(part, whole, nothing, strict=True)]
            assert score(Y, P, t, "images") == pytest.approx(np.mean(wanted))


def test_scores_of_nothing():
    box = np.array([[0, 0, 2, 2]])
    for score in (window_precision, window_recall, window_f1):
        assert score([NONE], [NONE]) == 0.0
        assert score([NONE], [NONE], average="images") == 1.0
        assert score([NONE], [box]) == score([box], [NONE]) == 0.0
        assert score([NONE], [box], average="images") == score([box], [NONE], average="images") == 0.0
        assert score([box], [box]) == 1.0
    # The same window twice finds one truth once.
    twice = np.concatenate([box, box])
    assert (window_precision([box], [twice]), window_recall([box], [twice])) == (0.5, 1.0)
    assert window_average_precision([box], [NONE], [[]]) == 0.0
    assert window_average_precision([box], [twice], [[1.0, 2.0]]) == 1.0


def test_what_is_not_judged_counts_neither_way():
    truth, other, far = ([[0, 0, 4, 4]], [[10, 10, 14, 14]], [[20, 20, 24, 24]])
    predictions, scores = [np.array([*other, *truth])], [[2.0, 1.0]]
    assert window_average_precision([truth], predictions, scores) == 0.5
    assert window_average_precision([truth], predictions, scores, difficult=[other]) == 1.0
    assert window_average_precision([truth], predictions, scores, difficult=[far]) == 0.5


def coco(Y, P, S):
    """The AP at .5 and the mean of .5 to .95 by pycocotools."""
    module, evaluation = pytest.importorskip("pycocotools.coco"), pytest.importorskip("pycocotools.cocoeval")
    images = [{"id": i + 1} for i in range(len(Y))]

    def as_coco(i, box):
        top, left, bottom, right = box.tolist()
        size = [right - left, bottom - top]
        return {"image_id": i + 1, "category_id": 1, "bbox": [left, top, *size], "area": size[0] * size[1]}

    truths = [as_coco(i, box) for i, boxes in enumerate(Y) for box in boxes]
    with contextlib.redirect_stdout(io.StringIO()):
        truth = module.COCO()
        truth.dataset = {
            "images": images,
            "categories": [{"id": 1}],
            "annotations": [one | {"id": j + 1, "iscrowd": 0} for j, one in enumerate(truths)],
        }
        truth.createIndex()
        found = [as_coco(i, b) | {"score": s} for i in range(len(P)) for b, s in zip(P[i], S[i].tolist(), strict=True)]
        run = evaluation.COCOeval(truth, truth.loadRes(found), "bbox")
        run.params.areaRng, run.params.areaRngLbl = [[0, 1e10]], ["all"]
        run.params.maxDets = [100]
        run.evaluate()
        run.accumulate()
    precision = run.eval["precision"][:, :, 0, 0, 0]
    return precision[0].mean(), precision.mean()


@pytest.mark.parametrize("ties", [False, True])
def test_average_precision_is_that_of_pycocotools(ties):
    rng = np.random.default_rng(3)
    for trial in range(20):
        Y = [random_boxes(rng, rng.integers(0, 5), 30, 30) for _ in range(6)]
        Y[0] = np.array([[1, 1, 9, 9]])
        P = []
        for y in Y:
            moved = np.clip(y + rng.integers(-2, 3, y.shape), 0, 30)
            moved = moved[(moved[:, :2] < moved[:, 2:]).all(axis=1)]
            P.append(np.concatenate([y[:1], moved, moved[:1], random_boxes(rng, 130 if trial == 0 else 3, 30, 30)]))
        S = [rng.integers(0, 4, len(p)).astype(float) if ties else rng.standard_normal(len(p)) for p in P]
        half, mean = coco(Y, P, S)
        assert window_average_precision(Y, P, S) == pytest.approx(half, abs=1e-12)
        assert window_average_precision(Y, P, S, COCO) == pytest.approx(mean, abs=1e-12)


def test_windows_come_back():
    space = Windows(2)
    assert space.decode(np.array([1, 2, 3, 4])).tolist() == [0, 1, 2, 3]
    assert space.decode(np.zeros(4, int)) is None
    assert space.boxes([]).shape == (0, 4)


def test_what_is_refused():
    image, space = WordImage(4, 5, [[0, 0, 1]]), Windows(2)
    for call, words in (
        (lambda: WordImage(0, 5, []), "height must be at least 1"),
        (lambda: WordImage(4, 5, [[0, 5, 0]]), "points must be rows 0..3, columns 0..4 and words 0, 1, ...; got"),
        (lambda: WordImage(4, 5, [[0, 0, -1]]), "points must be rows 0..3"),
        (lambda: WordImage(4, 5, [[0, 0]]), r"points must be whole numbers of shape \(m, 3\)"),
        (lambda: WordImage(4, 5, [], [[0, 0, 5, 5]]), "difficult must be boxes 0 <= top < bottom <= 4"),
        (lambda: Windows(0), "n_words must be at least 1"),
        (lambda: Windows(2, 0), "stride must be at least 1"),
        (lambda: space.bind([]), "X must hold one image or more"),
        (lambda: space.bind("ab"), "X must be a list of WordImage"),
        (lambda: space.bind([1]), r"X\[0\] must be of the kind WordImage"),
        (lambda: Windows(1).bind([image]), r"X\[0\] must hold words 0..0; got 1"),
        (lambda: space.bind([image], [[], []]), "Y must be a list of 1 arrays, one for each image"),
        (lambda: space.bind([image], [[[0, 0, 5, 5]]]), r"Y\[0\] must be boxes 0 <= top < bottom <= 4"),
        (lambda: space.bind([image], [[[0, 0, 2, 2]] * 2]), r"truths\[0\] must hold distinct labels"),
        (lambda: space.bind([image], constant=-1.0), "constant must be"),
        (lambda: space.decode([1, 2]), r"labels must be whole numbers of shape \(4,\)"),
        (lambda: window_f1([NONE], [[[0, 0, 0, 1]]]), r"predictions\[0\] must be boxes \(k, 4\) of whole numbers"),
        (lambda: window_f1([NONE], [NONE, NONE]), "predictions must be those of 1 images; got 2"),
        (lambda: window_f1([NONE], [NONE], 0.0), "threshold must be"),
        (lambda: window_f1([NONE], [NONE], average="rows"), "average must be one of 'pooled', 'images'"),
        (lambda: window_average_precision([NONE], [NONE], [[]]), "Y must hold one window or more"),
        (lambda: window_average_precision([NONE], [NONE], [[1.0]]), r"scores\[0\] must have shape \(0,\)"),
        (lambda: window_average_precision([NONE], [NONE], 3), "scores must be a list of 1 arrays"),
    ):
        with pytest.raises((ValueError, TypeError), match=words):
            call()
