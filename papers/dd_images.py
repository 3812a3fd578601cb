"""Images of the experiments of DD: all images of a part are one set, so that one loss joins them (DD Eq. 1 to 6)."""

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from papers.experiment import Settings, need_data
from setwise.core.networks import Graphs, contrast
from setwise.graphs.graph import NODE_FEATURES
from setwise.models import GraphModel


@final
@dataclass(frozen=True, eq=False)
class Images:
    """Masks (n, H, W) bool, and pictures (n, H, W, c) of numbers 0 to 1."""

    masks: NDArray[np.bool_]
    pictures: NDArray[np.float64]

    def take(self, chosen: NDArray[np.int64]) -> "Images":
        """The chosen images."""
        return Images(self.masks[chosen], self.pictures[chosen])


@final
class ImageSet:
    """Images as one set, with features of pixels and of their edges.

    Features of pixels are standardized by those of the training part. An edge has a constant and the contrast of its
    pixels, which are not negative.
    """

    def __init__(self, images: Images, train: "ImageSet | None" = None) -> None:
        n, self.images = len(images.masks), images
        self.graphs = Graphs.images(images.masks, 4, np.array([0, n]))
        rows = [np.concatenate([f(one) for f in NODE_FEATURES.values()], axis=-1) for one in images.pictures]
        self.raw = np.concatenate([row.reshape(-1, row.shape[-1]) for row in rows])
        by = self if train is None else train
        self.X = (self.raw - by.raw.mean(axis=0)) / np.maximum(by.raw.std(axis=0), 1e-9)
        colors, edges = images.pictures.reshape(-1, images.pictures.shape[-1]), self.graphs.edges
        self.Z = np.column_stack([np.ones(len(edges)), contrast(colors[edges[:, 0]], colors[edges[:, 1]])])
        self.features = GraphModel(self.X, self.Z, self.graphs)


def generated(n: int, side: int, rng: np.random.Generator) -> Images:
    """Images of side x side pixels with a bright ellipse each, about a ninth of the image, under noise and a shade."""
    row, column = np.indices((side, side)) / side
    masks, pictures = [], []
    for _ in range(n):
        middle, axes = rng.uniform(0.3, 0.7, 2), rng.uniform(0.12, 0.26, 2)
        mask = ((row - middle[0]) / axes[0]) ** 2 + ((column - middle[1]) / axes[1]) ** 2 < 1.0
        # A shade across the image hides where a bright pixel begins.
        shade = rng.uniform(-0.3, 0.3) * row + rng.uniform(-0.3, 0.3) * column
        masks.append(mask)
        pictures.append(0.4 + 0.25 * mask + shade + 0.2 * rng.standard_normal((side, side)))
    return Images(np.array(masks), np.array(pictures)[..., None])


def horses(settings: Settings, name: str) -> tuple[Images, NDArray[np.int64], NDArray[np.int64]]:
    """The Weizmann horses at 32 x 32 pixels, and the numbers of their training and test images.

    They are read from ``masks.npz`` and ``rgb_32_50.npz`` in the data folder, or in its folder ``weizmann_horses``.
    """
    files = need_data(settings, name, ["masks.npz", "rgb_32_50.npz"], "the Weizmann horses", ("weizmann_horses",))
    with np.load(files[0]) as masks, np.load(files[1]) as pictures:
        images = Images(masks["masks32"].astype(bool), pictures["rgb32"] / 255.0)
        return images, masks["seg_train"].astype(np.int64), masks["seg_test"].astype(np.int64)
