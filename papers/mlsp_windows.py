"""What the table of windows of MLSP trains and measures: images of visual words, three methods, and their scores."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from papers.gradient_words import GradientWords, grid
from setwise.core.checks import Ints, Values
from setwise.estimators import SSVM, JointKernelSupport, MultilabelStructuredPredictor
from setwise.kernels.windows import match_windows, overlaps
from setwise.losses import MaxLoss
from setwise.spaces import (
    Overlap,
    Windows,
    WordImage,
    window_average_precision,
    window_f1,
    window_precision,
    window_recall,
)

STRIDE = 4
"""Points lie in the middles of squares of so many pixels, and windows begin and end at their borders."""

CONSTANT = 16.0
"""The constant feature, about the length of the bag of words of an object."""

MOST = 10
"""So many windows of an image are predicted at most."""

METHODS = ("MLSP", "JKSE", "SSVM")

COLUMNS = ("max loss", "sum loss", "F1", "precision", "recall", "AP")
MORE_IS_BETTER = (False, False, True, True, True, True)


@final
@dataclass(frozen=True, eq=False)
class WindowImages:
    """Images as words, with the boxes of their objects."""

    images: list[WordImage]
    boxes: list[Ints]

    def take(self, chosen: Sequence[int] | Ints) -> "WindowImages":
        """The images at the places ``chosen``."""
        return WindowImages([self.images[i] for i in chosen], [self.boxes[i] for i in chosen])


@final
@dataclass(frozen=True)
class TrainingBudget:
    """How long a method is trained: ``tol`` of the certified gap relative to the objective, and the most iterations."""

    tol: float = 1e-2
    max_iter: int = 50


@final
@dataclass(frozen=True, eq=False)
class Detector:
    """Trained weights: a window is predicted if ``f(x, y) > threshold``.

    Attributes
    ----------
    w : of the words, then of the constant feature where there is one
    constant : the constant feature, 0 for none
    gap : the certified gap of the objective over C, nan for none
    """

    space: Windows
    w: Values
    constant: float
    threshold: float
    gap: float

    def whole(self, images: Sequence[WordImage]) -> Values:
        """The scores of the windows that are all of an image, less the threshold."""
        n = self.space.n_words
        counts = np.array([np.bincount(image.points[:, 2], minlength=n) for image in images])
        shift = self.constant * float(self.w[n]) if self.constant else 0.0
        return np.asarray(counts @ self.w[:n] + shift - self.threshold)

    def listed(self, images: list[WordImage]) -> list[tuple[Ints, Values]]:
        """The ten best windows of each image, each the best that overlaps none before it by half, and their scores."""
        batch, features = self.space.bind(images, None, self.constant)
        # No score lies below, so that lists are greedy and full.
        lists = self.space.best(batch, features.scores(self.w), MOST, -1e100)
        return [
            (
                np.array([box for box, _ in row], np.int64).reshape(-1, 4),
                np.array([f - self.threshold for _, f in row]),
            )
            for row in lists
        ]


def trained(name: str, space: Windows, train: WindowImages, choice: float, budget: TrainingBudget) -> Detector:
    """The detector of a method; ``choice`` is its nu or C."""
    loss = MaxLoss(Overlap())
    if name == "JKSE":
        found = JointKernelSupport(space, loss, nu=choice).fit(train.images, train.boxes)
        return Detector(space, found.coef_, 0.0, found.rho_, np.nan)
    options: dict[str, Any] = {"C": choice, "learner": "n_slack", "tol": budget.tol, "max_iter": budget.max_iter}
    model: Any
    if name == "SSVM":
        # Only differences of scores are trained, so that a constant feature has no influence.
        model, constant = SSVM(space, loss, fit_intercept=False, **options), 0.0
    else:
        constant = CONSTANT
        options |= {"surrogate": "hinge", "intercept_scaling": constant}
        model = MultilabelStructuredPredictor(space, loss, **options)
    with warnings.catch_warnings():
        # Where the iterations end first, the table says so by the gap.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        model.fit(train.images, train.boxes)
    return Detector(space, model.coef_, constant, 0.0, (model.objective_ - model.lower_bound_) / choice)


def choose(
    name: str,
    space: Windows,
    train: WindowImages,
    choices: Sequence[float],
    budget: TrainingBudget,
    value: Callable[[Detector], float],
) -> tuple[float, Detector, float]:
    """The choice of largest ``value``, the first one of equals, its detector, and the largest gap of all choices."""
    tried = [trained(name, space, train, choice, budget) for choice in choices]
    best = int(np.argmax(np.round([value(one) for one in tried], 12)))
    return choices[best], tried[best], max(one.gap for one in tried)


def crop_f1(scores: Values, truth: NDArray[np.bool_]) -> float:
    """F1 of crops that are called positive by scores above 0; 0 where none is found."""
    found = scores > 0.0
    return float(2.0 * (found & truth).sum() / max(found.sum() + truth.sum(), 1))


def judged(test: WindowImages, lists: Sequence[tuple[Ints, Values]]) -> Values:
    """The :data:`COLUMNS` of lists of windows with their scores, of which those above 0 are predicted."""
    boxes = [predicted(*one) for one in lists]
    costs = np.array([mistakes(y, p) for y, p in zip(test.boxes, boxes, strict=True)])
    ranked = window_average_precision(test.boxes, [b for b, _ in lists], [s for _, s in lists])
    means = [f(test.boxes, boxes, average="images") for f in (window_f1, window_precision, window_recall)]
    return np.array([(costs > 0).mean(), costs.mean(), *means, ranked])


def predicted(boxes: Ints, scores: Values) -> Ints:
    """The windows of a list that have scores above 0."""
    return boxes[scores > 0.0]


def mistakes(truth: Ints, found: Ints) -> int:
    """The objects that no predicted window finds, and the predicted windows that overlap no object by half."""
    none = np.zeros((0, 4), np.int64)
    hits = int((match_windows(truth, found, none, 0.5) == 1).sum())
    near = (overlaps(found, truth) >= 0.5).any(axis=1)
    return len(truth) - hits + int((~near).sum())


NOTHING = (np.zeros((0, 4), np.int64), np.zeros(0))
"""A list without windows."""


def as_part(images: Sequence[NDArray[np.uint8]], boxes: Sequence[Ints], words: GradientWords) -> WindowImages:
    """Gray images as visual words."""
    found = []
    for image in images:
        height, width = image.shape
        found.append(WordImage(height, width, words.points(image, grid(image.shape, STRIDE))))
    return WindowImages(found, list(boxes))


def learned(images: Sequence[NDArray[np.uint8]], count: int, seed: int) -> GradientWords:
    """So many words of the patches of gray images."""
    return GradientWords.learn(images, [grid(image.shape, STRIDE) for image in images], count, seed)
