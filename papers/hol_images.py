"""What the segmentation experiments of HOL 5.2 share: images, features of pixels and edges, splits, and measures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.ndimage import gaussian_filter

from papers.experiment import Settings
from setwise.core.batch import Sets
from setwise.core.checks import Values
from setwise.core.loss import Loss
from setwise.core.networks import Graphs
from setwise.datasets import LabeledImages, load_horses, load_labeled_images, textured_objects
from setwise.decisions import best_threshold
from setwise.graphs import Graph, from_image
from setwise.inference.cuts import flips
from setwise.losses import ErrorRate, Jaccard
from setwise.models import GraphModel

MSRC = {"aeroplane": 9, "car": 12, "cow": 4, "dog": 21}
"""The classes of HOL, and their numbers in the label maps of MSRC."""

MSRC_FOLDERS = ("images_half_png", "labels_half_png")
HORSES = "weizmann_horses"

SCALES = (0.0, 1.0, 2.0)
"""The deviations of the Gaussians, in pixels, through which the two ends of an edge are compared."""

JUDGES: dict[str, Loss] = {"pixel": ErrorRate(), "Jaccard": Jaccard()}
"""The two losses at test, each of a single image."""


@final
@dataclass(frozen=True)
class RunSize:
    """How large a run is.

    Attributes
    ----------
    splits : the number of random splits
    side : the shorter side of the images of MSRC, in pixels
    most : the largest number of images of a class; the first of a random order are taken
    classes : the classes of MSRC, and ``"horse"``; when quick, objects are generated
    iterations : the largest number of iterations of a fit
    """

    splits: int = 5
    side: int = 100
    most: int = 1000
    classes: tuple[str, ...] = (*MSRC, "horse")
    iterations: int = 200


@final
@dataclass(frozen=True, eq=False)
class GraphImages:
    """Images of one part of a split: pictures, graphs, and labels 0 and 1 of the nodes."""

    images: tuple[NDArray[np.uint8], ...]
    graphs: tuple[Graph, ...]
    labels: tuple[NDArray[np.int64], ...]

    @property
    def masks(self) -> list[NDArray[np.int64]]:
        """The labels as masks (H, W)."""
        return [graph.paint(labels) for graph, labels in zip(self.graphs, self.labels, strict=True)]

    @property
    def sets(self) -> Sets:
        """The images as sets of decisions without edges."""
        ends = np.concatenate([[0], np.cumsum([len(one) for one in self.labels])])
        return Sets(np.concatenate(self.labels) == 1, ends)

    @property
    def bare(self) -> tuple[Graph, ...]:
        """The graphs without their edges."""
        return tuple(Graph(graph.X, [], regions=graph.regions) for graph in self.graphs)

    def turned(self, w: Values, edges: bool) -> Values:
        """The bias at which each node turns positive, on top of the weights ``w`` of nodes, constant and edges."""
        graphs, X = (
            Graphs.images([mask == 1 for mask in self.masks]),
            np.concatenate([graph.X for graph in self.graphs]),
        )
        if not edges:
            return np.asarray(-(X @ w[: X.shape[1]] + w[X.shape[1]]))
        Z = np.concatenate([graph.Z for graph in self.graphs])
        return flips(graphs, GraphModel(X, Z, graphs).scores(w))

    def take(self, chosen: Sequence[int] | NDArray[np.int64]) -> "GraphImages":
        """The chosen images."""
        return GraphImages(
            tuple(self.images[i] for i in chosen),
            tuple(self.graphs[i] for i in chosen),
            tuple(self.labels[i] for i in chosen),
        )


def objects_of(name: str, size: RunSize, settings: Settings, experiment: str) -> LabeledImages:
    """The images that contain the class, with label 1 for it and 0 for all the rest, in a random order."""
    if settings.quick:
        found = textured_objects(size.most, (20, 30), random_state=np.random.default_rng([settings.seed, 77]))
    elif name == "horse":
        found = load_horses(data_part(settings, HORSES, "masks.npz", experiment))
    else:
        place = data_part(settings, "msrc_v2", MSRC_FOLDERS[1], experiment)
        whole = _maps(place, size.side)
        found = whole.with_class(MSRC[name])
    order = np.random.default_rng([settings.seed, 78]).permutation(len(found))[: size.most]
    return found.take(order)


def _maps(place: Path, side: int) -> LabeledImages:
    """The images of MSRC in which one of the four classes occurs, read at their own size only where needed."""
    images, labels = (place / name for name in MSRC_FOLDERS)
    whole = load_labeled_images(images, labels)
    names = [n for n, one in zip(whole.names, whole.labels, strict=True) if np.isin(one, list(MSRC.values())).any()]
    return load_labeled_images(images, labels, names, side)


def data_part(settings: Settings, name: str, inside: str, experiment: str) -> Path:
    """The folder ``name`` of the data folder, or the data folder itself, which holds ``inside``."""
    if settings.data is None:
        raise ValueError(
            f"{experiment} needs the folder {name} of images and labels: give the folder that holds it by --data DIR "
            "or the variable SETWISE_DATA, or run the small version on generated images with --quick."
        )
    for place in (settings.data / name, settings.data):
        if (place / inside).exists():
            return place
    raise ValueError(f"{experiment} needs {name}, with {inside} in it, which is not in {settings.data}.")


def described(found: LabeledImages) -> GraphImages:
    """The graphs of images: features of pixels of :func:`setwise.graphs.from_image`, and 13 of edges."""
    graphs = []
    for image in found.images:
        one = from_image(image)
        graphs.append(Graph(one.X, one.edges, boundaries(image, one.edges), regions=one.regions))
    return GraphImages(found.images, tuple(graphs), tuple(labels.ravel() for labels in found.labels))


def boundaries(image: NDArray[np.uint8], edges: NDArray[np.int64]) -> Values:
    """A constant, and 12 features of how alike the two ends of each edge look, (m, 13), all in 0..1.

    ``exp(-|a - b| / m)`` with m the mean of ``|a - b|`` over the edges of the image, where a and b are the red, green
    and blue, and the deviation of grey in the neighborhood, of both ends, at each of three scales.
    """
    values = image.astype(np.float64) / 255.0
    grey = values.mean(axis=-1)
    around = [gaussian_filter(grey**power, 2.0) for power in (1, 2)]
    rough = np.sqrt(np.maximum(around[1] - around[0] ** 2, 0.0))
    channels = np.concatenate([values, rough[:, :, None]], axis=-1)
    flat = np.concatenate([gaussian_filter(channels, (s, s, 0.0)) for s in SCALES], axis=-1).reshape(grey.size, -1)
    apart = np.abs(flat[edges[:, 0]] - flat[edges[:, 1]])
    mean = apart.mean(axis=0)
    return np.column_stack([np.ones(len(edges)), np.exp(-apart / np.where(mean > 0.0, mean, 1.0))])


def splits(n: int, count: int, seed: Sequence[int]) -> list[list[NDArray[np.int64]]]:
    """Random splits of n images: two fifths to train, one fifth to tune, two fifths to test."""
    rng = np.random.default_rng(list(seed))
    ends = (round(0.4 * n), round(0.6 * n))
    return [np.split(rng.permutation(n), ends) for _ in range(count)]


def number_of(name: str) -> int:
    """The number of a class in the seeds of its splits."""
    return (*MSRC, "horse", "generated").index(name)


def hol_c(part: GraphImages, C: float) -> float:
    """The constant of setwise for twice the C of HOL, with losses in pixels: ``C n p``, p the mean size.

    HOL weighs the sum over n images of ``max_y l(y) + <w, phi(y) - phi>``; setwise weighs the mean of the same with l
    and phi divided by the number of pixels. HOL adds ``|w|^2`` (Eq. 1), and setwise half of it, so that ``C n p / 2``
    would be HOL's; the figures on the page of HOL were measured with this one. The Jaccard loss, at most 1 in HOL
    Eq. 5, is taken in pixels too.
    """
    return C * float(sum(len(labels) for labels in part.labels))


def judged(part: GraphImages, positive: ArrayLike) -> tuple[float, float, float, float]:
    """In percent: the mean accuracy and mean Jaccard index of images, that of all pixels, the share of positives."""
    labels, sets = np.asarray(positive, dtype=bool), part.sets
    accuracy, overlap = (1.0 - float(loss.values(sets, labels).mean()) for loss in JUDGES.values())
    pooled = 1.0 - float(Jaccard().values(Sets.single(sets.truth), labels).mean())
    return 100.0 * accuracy, 100.0 * overlap, 100.0 * pooled, 100.0 * float(labels.mean())


def with_tuned_bias(
    tuning: GraphImages, test: GraphImages, turned: Callable[[GraphImages], Values]
) -> tuple[float, float]:
    """In percent: accuracy and Jaccard index on ``test``, with the bias that is best for each on ``tuning``.

    ``turned`` gives the bias at which each node of a part turns positive.
    """
    held, new = -turned(tuning), -turned(test)
    found = []
    for place, loss in enumerate(JUDGES.values()):
        found.append(judged(test, new >= best_threshold(tuning.sets, held, loss).threshold)[place])
    return found[0], found[1]
