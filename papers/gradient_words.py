"""Visual words of gray images: the k-means centers of histograms of gradients around points."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter
from sklearn.cluster import MiniBatchKMeans

from setwise.core.checks import Ints

DIRECTIONS, CELL = 8, 4
"""A histogram has 8 directions, and a patch 4 x 4 cells of 4 x 4 pixels."""

CELLS = (-6, -2, 2, 6)
"""Where the cells of a patch begin, in rows and columns from its point, less half a cell."""

FLAT = 0.5
"""Added to the length of a patch of pixels in 0 to 1, so that noise in flat patches stays short."""


@final
@dataclass(frozen=True)
class GradientWords:
    """The words that patches of some images fall into.

    Attributes
    ----------
    model : k-means of patches
    """

    model: MiniBatchKMeans

    @classmethod
    def learn(
        cls, images: Sequence[NDArray[np.uint8]], places: Sequence[Ints], count: int, seed: int, sample: int = 30_000
    ) -> "GradientWords":
        """So many words, from at most ``sample`` patches at random ``places`` (m, 2) of the images (H, W)."""
        rng = np.random.default_rng(seed)
        each = -(-sample // len(images))
        drawn = [patches(image, p[rng.permutation(len(p))[:each]]) for image, p in zip(images, places, strict=True)]
        model = MiniBatchKMeans(count, batch_size=4096, max_iter=10, n_init=1, random_state=seed)
        return cls(model.fit(np.concatenate(drawn)))

    def points(self, image: NDArray[np.uint8], places: Ints) -> Ints:
        """The row, the column and the word of each of the ``places`` (m, 2), (m, 3)."""
        return np.column_stack([places, self.model.predict(patches(image, places))]).astype(np.int64)


def grid(shape: tuple[int, ...], stride: int) -> Ints:
    """The middles of all squares of ``stride`` pixels that lie in an image, (m, 2) rows and columns."""
    half = stride // 2
    rows, columns = (np.arange(half, side // stride * stride, stride) for side in shape)
    return np.stack(np.meshgrid(rows, columns, indexing="ij"), axis=-1).reshape(-1, 2)


def patches(image: NDArray[np.uint8], places: Ints) -> NDArray[np.float32]:
    """Histograms of gradients around ``places`` (m, 2) of an image (H, W), (m, 128), of length 1 or below.

    A patch has 16 x 16 pixels, and lies in the image that is mirrored at its border.
    """
    margin = 8
    wide = np.pad(image.astype(np.float32) / 255.0, margin, mode="symmetric")
    down, right = np.gradient(wide)
    strength = np.hypot(down, right)
    # Each gradient is shared by the two directions next to its own.
    angle = np.mod(np.arctan2(down, right) / (2.0 * np.pi) * DIRECTIONS, DIRECTIONS)
    channels = []
    for direction in range(DIRECTIONS):
        apart = np.abs(angle - direction)
        share = np.maximum(1.0 - np.minimum(apart, DIRECTIONS - apart), 0.0)
        channels.append(uniform_filter(strength * share, CELL))
    smooth: Any = np.stack(channels, axis=-1)
    rows, columns = (places + margin).T
    found = np.concatenate([smooth[rows + i, columns + j] for i in CELLS for j in CELLS], axis=1) * CELL**2
    length = np.sqrt(np.square(found).sum(axis=1, keepdims=True))
    return np.asarray(found / (length + FLAT), dtype=np.float32)
