"""Searches for windows in images of 320 x 240 pixels with 3,000 points: seconds, and which method ends them.

``python benchmarks/windows.py [IMAGES [STRIDE [C [BUDGET]]]]``. Images with up to three objects, a quarter of them with
none, are trained on by slack rescaling of costs by overlap, to a gap of 1 % of C; all searches of that training are
timed. Then come searches with scores near 0, as early in training, with the trained ones, the same in images without
objects, and lists of windows. Each search runs on one thread, of which CPU time is shown and the longest time by the
clock; training takes two threads. Targets: 99 of 100 searches in .2 s, all in 1 s; training on 300 images in 20 minutes
at stride 1, and in one at stride 8.
"""

import sys
import time
from collections import Counter

import numpy as np

import setwise.spaces.boxes as by_windows
from setwise.core.bound_loss import BoundLoss
from setwise.learners import BlockFrankWolfe
from setwise.losses import MaxLoss
from setwise.risks import MeanRisk
from setwise.spaces import ByWindows, Overlap, Windows, WordImage, window_average_precision, window_f1
from setwise.spaces.boxes import WindowSearchResult, search
from setwise.surrogates import MultilabelHinge
from timing import table

HEIGHT, WIDTH, POINTS, WORDS = 240, 320, 3000, 1000
OWN = 100
"""Words that objects have more often than their background."""


class SearchRecorder:
    """A stand-in for ``search`` that writes down how long each call took and what ended it."""

    def __init__(self) -> None:
        self.calls: list[tuple[float, float, WindowSearchResult]] = []

    def __call__(self, *given: object) -> WindowSearchResult:
        """The search itself."""
        begin, own = time.perf_counter(), time.thread_time()
        found = search(*given)
        self.calls.append((time.thread_time() - own, time.perf_counter() - begin, found))
        return found

    def row(self, name: str) -> tuple[str, ...]:
        """The cells of the table for all calls since the last row."""
        took = np.array([seconds for seconds, _, _ in self.calls]) * 1e3
        longest = max(seconds for _, seconds, _ in self.calls) * 1e3
        visited = np.array([found.visited for _, _, found in self.calls])
        ended = Counter(found.method for _, _, found in self.calls)
        shares = [f"{100 * ended[method] / len(took):.1f}" for method in ("bound", "branch and bound", "row pairs")]
        self.calls = []
        boxes = f"{np.median(visited):.0f}", f"{visited.max()}"
        return (
            name,
            str(len(took)),
            *boxes,
            *shares,
            *(f"{t:.2f}" for t in (np.median(took), np.percentile(took, 99), took.max(), longest)),
        )


def images(n: int, seed: int, objects: bool = True) -> tuple[list[WordImage], list[np.ndarray]]:
    """Images with up to three objects whose words are their own in part."""
    rng = np.random.default_rng(seed)
    common = 1.0 / (10.0 + rng.permutation(WORDS))
    common /= common.sum()
    X, Y = [], []
    for i in range(n):
        rows, columns = rng.integers(0, HEIGHT, POINTS), rng.integers(0, WIDTH, POINTS)
        words, boxes = rng.choice(WORDS, POINTS, p=common), []
        for _ in range(int(rng.integers(1, 4)) if objects and i % 4 else 0):
            high, wide = int(rng.integers(60, 73)), int(rng.integers(90, 109))
            top, left = int(rng.integers(0, HEIGHT - high + 1)), int(rng.integers(0, WIDTH - wide + 1))
            box = (top, left, top + high, left + wide)
            inside = (rows >= top) & (rows < box[2]) & (columns >= left) & (columns < box[3])
            own = inside & (rng.random(POINTS) < 0.7)
            words[own] = rng.integers(0, OWN, own.sum())
            boxes.append(box)
        X.append(WordImage(HEIGHT, WIDTH, np.stack([rows, columns, words], axis=1)))
        Y.append(np.unique(np.array(boxes, np.int64).reshape(-1, 4), axis=0))
    return X, Y


def main() -> None:
    asked = sys.argv[1:] + ["300", "1", "10", "-1"][len(sys.argv) - 1 :]
    n, stride, C, budget = int(asked[0]), int(asked[1]), float(asked[2]), int(asked[3])
    method = ByWindows(budget=None if budget < 0 else budget)
    space, watch = Windows(WORDS, stride), SearchRecorder()
    by_windows.search = watch
    head = "searches", "calls", "boxes visited", "most", "bound %", "branch and bound %", "row pairs %"
    rows = [(*head, "median ms", "99 % ms", "max ms", "by the clock")]
    X, Y = images(n, 0)
    batch, features = space.bind(X, Y)
    bound_loss = MaxLoss(Overlap()).bind(batch)
    worst = method.prepare(bound_loss, slack=True)
    worst.maximize(np.zeros(batch.n_scores))
    watch.calls = []
    for scale in (0.0, 1e-6, 1e-3):
        w = scale * np.random.default_rng(1).standard_normal(features.size)
        worst.maximize(features.scores(w))
        rows.append(watch.row(f"normal weights times {scale:g}"))
    evaluator = MultilabelHinge(MaxLoss(Overlap())).on(batch)
    evaluator.maximizer = worst
    risk = MeanRisk(features, evaluator, n_jobs=2)
    begin, cpu = time.perf_counter(), time.process_time()
    fit = BlockFrankWolfe(C=C, tol=0.0, max_iter=300, random_state=0).minimize(
        risk, callback=lambda record, _: record.upper_bound - record.lower_bound <= 0.01 * C
    )
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    rows.append(watch.row("all of training"))
    worst.maximize(features.scores(fit.w))
    rows.append(watch.row("trained weights"))
    worst.maximize(features.scores(5.0 * fit.w))
    rows.append(watch.row("5 times these"))
    empty, none = space.bind(*images(n, 2, objects=False))
    method.prepare(MaxLoss(Overlap()).bind(empty), slack=True).maximize(none.scores(fit.w))
    rows.append(watch.row("trained, no objects"))
    new, truth = images(n, 3)
    lists, scores = space.bind(new)
    found = method.prepare(BoundLoss(lists)).above(scores.scores(fit.w), 0.0, 10)
    rows.append(watch.row("lists of 10 above 0"))
    table(rows)
    gap = (fit.upper_bound - fit.lower_bound) / C
    print(
        f"\n{n} images, stride {stride}: trained in {seconds:.1f} s ({cpu:.1f} s of CPU), {len(fit.history)} passes, "
        f"optimum / C {fit.upper_bound / C:.3f}, gap / C {gap:.4f}"
    )
    predicted = [space.boxes(solutions) for solutions in found]
    values = [[solution.value for solution in solutions] for solutions in found]
    print(
        f"new images: F1 {window_f1(truth, predicted):.3f}, average precision at .5 "
        f"{window_average_precision(truth, predicted, values):.3f}"
    )


if __name__ == "__main__":
    main()
