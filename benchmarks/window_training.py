"""Minutes to train for all windows of 300 images of 320 x 240 pixels with 3,000 points, to a gap of 1 % of C.

``python benchmarks/window_training.py [STRIDE [IMAGES [C [MINUTES]]]]``. The images are scenes of
:func:`setwise.datasets.object_scenes` with up to three objects of 90 to 190 pixels length. 3,000 random pixels of each
have one of 1,000 words: k-means of histograms of gradients, as in ``python -m papers mlsp_table1b``. An image has
about 1.5e9 windows, or 6.6e5 at a stride of 8. Slack rescaling of costs by overlap is minimized by ``n_slack`` with a
constant feature of 16, in two threads; to make images and words is not counted. Each iteration searches the worst
window of each image. What the searches took is printed, and how often branch and bound has ended them, before its
budget was spent, or the bound of all windows at once, or the exact search over pairs of rows. Targets: 20 minutes with
all windows, and one at a stride of 8. After MINUTES it stops, and says at which gap.
"""

import os
import resource
import sys
import time

import numpy as np

import clone  # noqa: F401
from papers.gradient_words import GradientWords
from setwise.core.learner import Record
from setwise.datasets import object_scenes
from setwise.learners import NSlack
from setwise.losses import MaxLoss
from setwise.risks import MeanRisk
from setwise.spaces import Overlap, Windows, WordImage
from setwise.surrogates import MultilabelHinge

SHAPE, POINTS, WORDS, CONSTANT = (240, 320), 3000, 1000, 16.0


def images(n: int, seed: int) -> tuple[list[WordImage], list[np.ndarray]]:
    """So many scenes as words at random pixels, and their boxes."""
    rng = np.random.default_rng(seed)
    scenes = object_scenes(n, SHAPE, lengths=(90, 190), random_state=rng)
    places = [np.stack([rng.integers(0, side, POINTS) for side in SHAPE], axis=1) for _ in range(n)]
    words = GradientWords.learn(scenes.images, places, WORDS, seed)
    return [WordImage(*SHAPE, words.points(*one)) for one in zip(scenes.images, places, strict=True)], list(
        scenes.boxes
    )


def main() -> None:
    asked = sys.argv[1:] + ["1", "300", "32", "30"][len(sys.argv) - 1 :]
    stride, n, C, minutes = int(asked[0]), int(asked[1]), float(asked[2]), float(asked[3])
    X, Y = images(n, 0)
    begin, cpu = time.perf_counter(), time.process_time()
    batch, features = Windows(WORDS, stride).bind(X, Y, CONSTANT)
    evaluator = MultilabelHinge(MaxLoss(Overlap())).on(batch)
    risk = MeanRisk(features, evaluator, n_jobs=2)
    bound = time.perf_counter() - begin

    def enough(record: Record, _: np.ndarray) -> bool:
        gap = (record.upper_bound - record.lower_bound) / C
        print(f"  {record.iteration:3d}  {record.seconds:7.1f} s  gap / C {gap:.4f}", file=sys.stderr, flush=True)
        return gap <= 0.01 or record.seconds > 60.0 * minutes

    fit = NSlack(C=C, tol=0.0).minimize(risk, callback=enough)
    seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
    statistics = evaluator.maximizer.statistics
    closed = ", ".join(f"{name} {count / statistics.calls:.1%}" for name, count in statistics.closed.most_common())
    print(
        f"{n} images, {POINTS} points, {WORDS} words, stride {stride}, C = {C:g}, {sum(map(len, Y))} boxes, "
        f"{os.cpu_count()} cores with a load of {os.getloadavg()[0]:.1f}"
    )
    print(
        f"trained in {seconds / 60:.2f} min ({cpu / 60:.2f} min of CPU, {bound:.2f} s of them to bind), "
        f"{len(fit.history)} iterations, optimum / C {fit.upper_bound / C:.3f}, gap / C "
        f"{(fit.upper_bound - fit.lower_bound) / C:.4f}"
    )
    print(
        f"{statistics.calls} searches, {statistics.visited / statistics.calls:.0f} sets of windows visited and "
        f"{statistics.searches / statistics.calls:.0f} pairs of rows searched again in each; ended by {closed}"
    )
    print(f"largest memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()
