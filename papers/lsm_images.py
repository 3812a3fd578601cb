"""Silhouettes with flipped pixels for the experiments of LSM: Weizmann horses, or generated disks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from papers.experiment import Settings, need_data

Binary = NDArray[np.int8]
LEVELS = (0.01, 0.05, 0.1, 0.2)
"""The shares of pixels that are flipped."""


@final
@dataclass(frozen=True, eq=False)
class Silhouettes:
    """Clean images for training and for testing, (n, h, w) each."""

    train: Binary
    test: Binary


def silhouettes(settings: Settings, experiment: str) -> Silhouettes:
    """The stored split of 100 and 100 horses of 50 x 50 pixels; when quick, 20 and 20 disks of 16 x 16."""
    if settings.quick:
        rng, (row, column) = np.random.default_rng([settings.seed, 91]), np.indices((16, 16))
        disks = [
            np.hypot(row - rng.uniform(5, 11), column - rng.uniform(5, 11)) < rng.uniform(2.5, 5) for _ in range(40)
        ]
        both = np.array(disks).astype(np.int8)
        return Silhouettes(both[:20], both[20:])
    (file,) = need_data(settings, experiment, ["masks.npz"], "the Weizmann horses", ("weizmann_horses",))
    with np.load(file) as data:
        masks = data["masks50"].astype(np.int8)
        return Silhouettes(masks[data["denoise_train"]], masks[data["denoise_test"]])


def flipped(images: Binary, level: float, seed: int, part: int) -> Binary:
    """The images with each pixel flipped with the probability ``level``; noise depends on (seed, part, level)."""
    rng = np.random.default_rng([seed, part, round(1000 * level)])
    return (images ^ (rng.random(images.shape) < level)).astype(np.int8)


def errors_of(labels: Binary, truth: Binary) -> tuple[float, float, float]:
    """In percent: the wrong pixels of all images, and the means of an image of intersection over union and of F1."""
    wrong = 100.0 * float((labels != truth).mean())
    axes = (1, 2)
    both, union = (labels & truth).sum(axis=axes), np.maximum((labels | truth).sum(axis=axes), 1)
    # F1 is 2 both / (both + union).
    return wrong, 100.0 * float((both / union).mean()), 100.0 * float((2.0 * both / (both + union)).mean())


def duels(level: float, rows: Sequence[str], wrong: NDArray[np.float64], pairs: Sequence[tuple[int, int]]) -> list[str]:
    """For each pair of rows who has fewer wrong pixels, (rows, draws), by two standard errors of paired differences."""
    said = []
    for ours, rival in pairs:
        apart = wrong[ours] - wrong[rival]
        error = apart.std(ddof=1) / np.sqrt(len(apart))
        clear = abs(apart.mean()) > 2.0 * error + 1e-12
        how = ("wins" if apart.mean() < 0 else "loses") if clear else "is undecided"
        said.append(
            f"{100 * level:g} %: {rows[ours]} {how} against {rows[rival]} ({wrong[ours].mean():.2f} and "
            f"{wrong[rival].mean():.2f} % wrong, difference {apart.mean():+.3f} ± {2 * error:.3f})."
        )
    return said
