"""Images of superpixels whose labels are numbers of pixels, and the overlap of pixels that labelings of nodes give."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from papers.dd_images import generated
from papers.patch_words import PatchWords
from setwise.core.checks import Values
from setwise.core.networks import Graphs
from setwise.graphs import Graph, from_image
from setwise.inference.cuts import flips
from setwise.models import GraphModel


@final
@dataclass(frozen=True, eq=False)
class SuperpixelImages:
    """Images of one part as graphs, with the numbers of positive pixels of all their nodes, the images and masks."""

    graphs: tuple[Graph, ...]
    inside: tuple[Values, ...]
    images: tuple[NDArray[Any], ...] = ()
    masks: tuple[NDArray[Any], ...] = ()

    @classmethod
    def of(
        cls, graphs: Sequence[Graph], masks: Sequence[NDArray[Any]], images: Sequence[NDArray[Any]] = ()
    ) -> "SuperpixelImages":
        """The part of graphs, the masks (H, W) of their images, and these (H, W, c)."""
        inside = (
            np.bincount(g.regions.ravel(), m.ravel() == 1, len(g)).astype(np.float64)
            for g, m in zip(graphs, masks, strict=True)
        )
        return cls(tuple(graphs), tuple(inside), tuple(images), tuple(masks))

    def take(self, chosen: NDArray[np.int64]) -> "SuperpixelImages":
        """The chosen images."""
        images, masks = (tuple(all_[i] for i in chosen) if all_ else () for all_ in (self.images, self.masks))
        return SuperpixelImages(
            tuple(self.graphs[i] for i in chosen), tuple(self.inside[i] for i in chosen), images, masks
        )

    def with_words(self, words: PatchWords) -> "SuperpixelImages":
        """The same with the shares of words as further features of the nodes."""
        graphs = (
            Graph(np.hstack([g.X, words.shares(image, g.regions)]), g.edges, g.Z, g.areas, g.regions)
            for g, image in zip(self.graphs, self.images, strict=True)
        )
        return SuperpixelImages(tuple(graphs), self.inside, self.images, self.masks)

    @property
    def positive(self) -> Values:
        """The number of positive pixels of each node, (total,)."""
        return np.concatenate(self.inside)

    @property
    def areas(self) -> Values:
        """The number of pixels of each node, (total,)."""
        return np.concatenate([graph.areas for graph in self.graphs])

    @property
    def labels(self) -> list[NDArray[np.int64]]:
        """The label of most pixels of each node, of each graph; where both are equally frequent, 0."""
        return [(2 * c > g.areas).astype(np.int64) for g, c in zip(self.graphs, self.inside, strict=True)]

    @property
    def bare(self) -> tuple[Graph, ...]:
        """The graphs without their edges."""
        return tuple(Graph(one.X, [], np.zeros((0, one.Z.shape[1])), one.areas, one.regions) for one in self.graphs)

    def turned(self, w: Values, edges: bool) -> Values:
        """The bias at which each node turns positive, on top of the weights of nodes, constant and edges, (total,)."""
        X = np.concatenate([graph.X for graph in self.graphs])
        if not edges:
            return np.asarray(-(X @ w[: X.shape[1]] + w[X.shape[1]]))
        starts = np.concatenate([[0], np.cumsum([len(graph) for graph in self.graphs])])
        ends = np.concatenate([one.edges + start for one, start in zip(self.graphs, starts, strict=False)])
        batch = Graphs(np.zeros(len(X), dtype=bool), starts, ends)
        return flips(batch, GraphModel(X, np.concatenate([one.Z for one in self.graphs]), batch).scores(w))

    def overlap(self, chosen: NDArray[np.bool_]) -> float:
        """Intersection over union of all pixels of the chosen nodes and the positive ones, 1 where both are none."""
        union = self.areas[chosen].sum() + self.positive[~chosen].sum()
        return float(self.positive[chosen].sum() / union) if union else 1.0

    def best_bias(self, turned: Values) -> float:
        """The bias with the largest overlap, the one nearest to 0 of equals; nodes below it are positive."""
        order = np.argsort(turned, kind="stable")
        hit, area = (np.concatenate([[0.0], np.cumsum(v[order])]) for v in (self.positive, self.areas))
        overlap = hit / np.maximum(self.positive.sum() + area - hit, 1.0)
        ends = turned[order]
        # Between two neighbors the bias is in the middle; nodes that turn together cannot be parted.
        biases = np.concatenate([[ends[0] - 1.0], 0.5 * (ends[:-1] + ends[1:]), [ends[-1] + 1.0]])
        open_ = np.concatenate([[True], ends[1:] > ends[:-1], [True]])
        best = open_ & (overlap >= overlap[open_].max() - 1e-12)
        return float(min(biases[best], key=abs))


def generated_part(n: int, rng: np.random.Generator) -> SuperpixelImages:
    """Generated images, half of them without an object, with rectangles as superpixels."""
    images, side = generated(n, 16, rng), 16
    graphs, masks, pictures = [], [], []
    for i, (mask, picture) in enumerate(zip(images.masks, images.pictures, strict=True)):
        if i % 2:
            # The object is .25 brighter than the rest.
            mask, picture = np.zeros_like(mask), picture - 0.25 * mask[..., None]
        cuts = [np.cumsum(np.isin(np.arange(side), rng.choice(np.arange(1, side), 7, replace=False))) for _ in "yx"]
        graphs.append(from_image(picture, 8 * cuts[0][:, None] + cuts[1]))
        masks.append(mask.astype(np.int64))
        pictures.append(picture)
    return SuperpixelImages.of(graphs, masks, pictures)
