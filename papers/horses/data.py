"""The horses at 64 x 64 pixels, or generated objects, and what a run has of them."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from papers.experiment import Settings, need_data
from setwise.core.checks import Bools
from setwise.datasets import textured_objects
from setwise.datasets.formats import read_arrays

WAYS = (
    "cross-entropy",
    "Dice",
    "Lovász hinge",
    "Lovász after cross-entropy",
    "Lovász + cross-entropy",
    "Jaccard margin",
    "Jaccard ramp",
)
"""The ways of training, in the order of the tables; the first is the rival of all others."""

GRIDS = ("max-margin MRF", "log-supermodular")
"""The ways whose network gives couplings of neighboring pixels beside the logits."""

DECODINGS = ("at 0.5", "tuned", "decided")
MEASURES = ("mean of images", "all pixels")


@final
@dataclass(frozen=True)
class HorseSize:
    """How large a run is.

    Attributes
    ----------
    seeds : the number of repetitions
    rates : the learning rates to choose from, on the first seed
    epochs : the number of passes over the images to train
    widths : the channels at each resolution of the network; each is half of the one before
    batch : the number of images of a step
    held : the number of images to validate
    every : epochs between two points of the training curve
    ways : the ways of training
    """

    seeds: int = 5
    rates: tuple[float, ...] = (0.003, 0.01, 0.03)
    epochs: int = 40
    widths: tuple[int, ...] = (8, 16, 32, 64)
    batch: int = 8
    held: int = 40
    every: int = 4
    ways: tuple[str, ...] = (*WAYS, *GRIDS)


@final
@dataclass(frozen=True, eq=False)
class Pictures:
    """``images`` (n, H, W, 3) uint8, with ``masks`` (n, H, W) bool of their objects."""

    images: NDArray[np.uint8]
    masks: Bools

    def take(self, at: Any) -> "Pictures":
        """The pictures at the places ``at``."""
        return Pictures(self.images[at], self.masks[at])


@final
@dataclass(frozen=True, eq=False)
class Parts:
    """Pictures to train and validate with, in one, and pictures to test."""

    known: Pictures
    test: Pictures

    def split(self, held: int, seed: tuple[int, ...]) -> tuple[Pictures, Pictures]:
        """The pictures to train, and ``held`` pictures to validate, drawn by the seed."""
        order = np.random.default_rng([*seed, 1]).permutation(len(self.known.masks))
        return self.known.take(order[held:]), self.known.take(order[:held])


def parts(settings: Settings) -> Parts:
    """The stored split of 200 and 119 horses; when quick, 64 and 48 generated objects of 32 x 32 pixels."""
    if settings.quick:
        drawn = textured_objects(112, (32, 32), random_state=np.random.default_rng([settings.seed, 79]))
        made = Pictures(np.stack(drawn.images), np.stack(drawn.labels) == 1)
        return Parts(made.take(slice(64)), made.take(slice(64, None)))
    files = need_data(
        settings, "horses_unet", ["masks.npz", "rgb_128.npz"], "the Weizmann horses", ("weizmann_horses",)
    )
    masks, colors = (read_arrays(file) for file in files)
    rgb = colors["rgb128"]
    n = len(rgb)
    # Each pixel is the mean of four.
    images = np.rint(rgb.reshape(n, 64, 2, 64, 2, 3).mean(axis=(2, 4))).astype(np.uint8)
    whole = Pictures(images, masks["masks64"] == 1)
    return Parts(*(whole.take(masks[name].astype(np.int64)) for name in ("seg_train", "seg_test")))
