"""Ratios that a change should not make worse, for ``asv``: ``cd benchmarks/asv && asv run`` (``pip install asv``).

Each is the time of a function of setwise over that of work of the same size which needs nothing but NumPy or
scikit-learn, on one thread; both take turns, and medians are compared. So a ratio can be compared between commits, and
roughly between machines, where seconds can not. ``python benchmarks/asv/ratios.py`` prints all of them without asv.
"""

import platform
import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
from sklearn.metrics import precision_recall_curve, roc_auc_score

from setwise.core.batch import Sets
from setwise.decisions import best_threshold
from setwise.inference import CountSearch
from setwise.kernels.threads import thread_limit
from setwise.losses import FBeta, Jaccard
from setwise.surrogates import LovaszHinge, MarginRescaling

Array = np.ndarray
DECISIONS = 1_000_000
ROUNDS = 7


def over(ours: Callable[[], object], other: Callable[[], object]) -> float:
    """Median seconds of ``ours`` over those of ``other``; both run once unmeasured, and then in turn."""
    seconds: tuple[list[float], list[float]] = ([], [])
    with thread_limit(1):
        ours()
        other()
        for _ in range(ROUNDS):
            for run, times in zip((ours, other), seconds, strict=True):
                begin = time.perf_counter()
                run()
                times.append(time.perf_counter() - begin)
    return statistics.median(seconds[0]) / statistics.median(seconds[1])


class Ratios:
    """One set of ``DECISIONS`` decisions, three of ten positive, with scores like those of a model."""

    timeout = 300.0
    unit = "ratio"

    def setup(self) -> None:
        """Draw the labels and the scores."""
        rng = np.random.default_rng(0)
        self.y = rng.random(DECISIONS) < 0.3
        self.scores = rng.standard_normal(DECISIONS) + 1.5 * self.y - 0.75
        self.small = self.scores.astype(np.float32)
        # So small beside a loss of at most 1 that decisions have to be ranked.
        self.close = self.scores / DECISIONS
        self.sets = Sets.single(self.y)

    def track_lovasz_hinge_float32_over_argsort(self) -> float:
        """Value and gradient of the Lovász hinge of Jaccard, over ``numpy.argsort`` of the scores."""
        hinge = LovaszHinge(Jaccard()).on(self.sets)
        return over(lambda: hinge(self.small), lambda: np.argsort(self.small))

    def track_lovasz_hinge_float64_over_argsort(self) -> float:
        """The same in float64."""
        hinge = LovaszHinge(Jaccard()).on(self.sets)
        return over(lambda: hinge(self.scores), lambda: np.argsort(self.scores))

    def track_margin_of_jaccard_over_argsort(self) -> float:
        """Value and gradient of margin rescaling of Jaccard, over ``numpy.argsort`` of the scores."""
        margin = MarginRescaling(Jaccard(), scale="size").on(self.sets)
        return over(lambda: margin(self.scores), lambda: np.argsort(self.scores))

    def track_loss_augmented_inference_of_jaccard_over_argsort(self) -> float:
        """The labels that maximize loss plus small scores, over ``numpy.argsort`` of these scores."""
        search = CountSearch().prepare(Jaccard().bind(self.sets))
        return over(lambda: search.maximize(self.close), lambda: np.argsort(self.close))

    def track_loss_augmented_inference_of_f1_over_argsort(self) -> float:
        """The same for F1."""
        search = CountSearch().prepare(FBeta().bind(self.sets))
        return over(lambda: search.maximize(self.close), lambda: np.argsort(self.close))

    def track_margin_of_roc_area_over_roc_auc_score(self) -> float:
        """Value and gradient of margin rescaling of the ROC area, over the area itself by scikit-learn."""
        margin = MarginRescaling("auc").on(self.sets)
        return over(lambda: margin(self.scores), lambda: roc_auc_score(self.y, self.scores))

    def track_best_threshold_over_argsort(self) -> float:
        """The threshold of the best F1, over ``numpy.argsort`` of the scores."""
        return over(lambda: best_threshold(self.y, self.scores, "f1"), lambda: np.argsort(self.scores))

    def track_best_threshold_over_precision_recall_curve(self) -> float:
        """The threshold of the best F1, over the curve of scikit-learn from which it could be read."""
        return over(
            lambda: best_threshold(self.y, self.scores, "f1"), lambda: precision_recall_curve(self.y, self.scores)
        )


def main() -> None:
    """Print all ratios."""
    ratios = Ratios()
    ratios.setup()
    print(f"Python {platform.python_version()}, NumPy {np.__version__}, {DECISIONS:,} decisions, one thread")
    for name in [name for name in dir(Ratios) if name.startswith("track_")]:
        print(f"{name.removeprefix('track_')}  {getattr(ratios, name)():.2f}")


if __name__ == "__main__":
    sys.exit(main())
