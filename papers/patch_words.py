"""Words of patches: the k-means centres of small color patches, and how often each one occurs in a region."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans

SIDE, STRIDE = 5, 2
"""Patches have 5 x 5 pixels; one is taken around every second pixel of every second row."""


@final
@dataclass(frozen=True)
class PatchWords:
    """The words that patches of some images fall into.

    Attributes
    ----------
    model : k-means of patches
    """

    model: MiniBatchKMeans

    @classmethod
    def learn(cls, images: Sequence[NDArray[Any]], count: int, seed: int, sample: int = 50_000) -> "PatchWords":
        """So many words, from at most ``sample`` random patches of the images (H, W, c)."""
        rng = np.random.default_rng(seed)
        each = -(-sample // len(images))
        drawn = []
        for image in images:
            rows = patches(image).reshape(-1, SIDE * SIDE * image.shape[2])
            drawn.append(rows[rng.permutation(len(rows))[:each]])
        return cls(MiniBatchKMeans(count, n_init=3, random_state=seed).fit(np.concatenate(drawn)))

    def shares(self, image: NDArray[Any], regions: NDArray[np.int64]) -> NDArray[np.float64]:
        """The share of each word among the patches around pixels of each region, (regions, words); 0 without any."""
        found, count = patches(image), self.model.n_clusters
        words = self.model.predict(found.reshape(-1, SIDE * SIDE * image.shape[2]))
        owners, total = regions[::STRIDE, ::STRIDE].ravel(), int(regions.max()) + 1
        counts = np.bincount(owners * count + words, minlength=total * count).reshape(total, count)
        return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))


def patches(image: NDArray[Any]) -> NDArray[np.float32]:
    """The patches around every second pixel, (rows, columns, SIDE, SIDE, c), in 0 to 1; edges are repeated outwards."""
    scaled = image.astype(np.float32) / (255.0 if image.dtype.kind == "u" else 1.0)
    half = SIDE // 2
    wide = np.pad(scaled, ((half, half), (half, half), (0, 0)), mode="edge")
    found = sliding_window_view(wide, (SIDE, SIDE), axis=(0, 1))[::STRIDE, ::STRIDE]
    return np.ascontiguousarray(np.moveaxis(found, 2, -1))
