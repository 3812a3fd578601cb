"""The data of MLSP Table 1a: rows with sets of nodes, and image labels with features of colors, textures and edges."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from papers.experiment import Settings, need_data
from papers.hol_images import MSRC_FOLDERS
from papers.mlsp_methods import LabelRows
from setwise.core.checks import Ints, Values
from setwise.datasets import load_labeled_images
from setwise.spaces import FiniteSpace, Hierarchy, Space

GROUPS = {
    "scenery": ("building", "grass", "tree", "sky", "water", "road"),
    "animal": ("cow", "sheep", "bird", "cat", "dog"),
    "vehicle": ("aeroplane", "car", "bicycle", "boat"),
    "person": ("face", "body"),
    "thing": ("flower", "sign", "book", "chair"),
}
"""The two levels of the tree of MSRC's classes; horse and mountain are left out, as usual with these images."""

ORIENTATIONS, CELLS, SCALES = 8, 4, (0.5, 1.0, 2.0)
"""Energies are those of 8 orientations, in the cells of a 4 x 4 grid, of images smoothed at these deviations."""


@final
@dataclass(frozen=True, eq=False)
class LabelTask:
    """A problem: training rows for fits, rows that choose C or nu, all rows to retrain on, and test rows."""

    name: str
    space: Space
    fit: LabelRows
    choose: LabelRows
    all: LabelRows
    test: LabelRows
    paths: bool = False


def tree_of(names: list[str], parent: Ints) -> Hierarchy:
    """The hierarchy of nodes, of which each has the place of its parent, or -1 at the top."""
    return Hierarchy({name: (names[p] if p >= 0 else []) for name, p in zip(names, parent, strict=True)})


def read_hierarchical(path: Path) -> tuple[Hierarchy, LabelRows, Ints]:
    """The hierarchy of a file, its rows with closed sets of nodes, and the sizes of the official parts."""
    with np.load(path) as held:
        names, parts = [str(name) for name in held["node_names"]], held["n_parts"].astype(np.int64)
        X, given, tree = held["X"].astype(np.float64), held["Y"].astype(bool), tree_of(names, held["parent"])
    Y = np.zeros_like(given)
    Y[:, [tree.places[name] for name in names]] = given
    return tree, LabelRows(X, tree.closed(Y)), parts


def hierarchical_task(settings: Settings, name: str) -> LabelTask:
    """One of the three files; see the protocol for the rows that choose."""
    path = need_data(settings, "mlsp_table1a", [f"{name}.npz"], "hierarchical classification", ("hierarchical",))[0]
    tree, part, sizes = read_hierarchical(path)
    ends = np.cumsum(sizes)
    pool = np.arange(ends[-2])
    if len(sizes) == 3:
        fit, choose = pool[: ends[0]], pool[ends[0] :]
    else:
        drawn = np.random.default_rng(settings.seed).permutation(pool)
        # The Gram matrix of all pairs, which JKSE needs, grows with the square of the rows.
        some = drawn[:3000]
        fit, choose = some[: 2 * len(some) // 3], some[2 * len(some) // 3 :]
    rows = [part.take(r) for r in (fit, choose, pool, np.arange(ends[-2], ends[-1]))]
    return LabelTask(name, tree, rows[0], rows[1], rows[2], rows[3], paths=name == "imclef07a")


def msrc_task(settings: Settings) -> LabelTask:
    """The image labels of MSRC, with the given halves of the images; a third of the first half chooses."""
    (index,) = need_data(settings, "mlsp_table1a", ["index.npz"], "MSRC v2", ("msrc_v2",))
    space = msrc_space()
    with np.load(index) as held:
        classes, labels = [str(name) for name in held["class_names"]][1:], held["image_labels"].astype(bool)
        ids, train, test = held["ids"], held["train"].astype(np.int64), held["test"].astype(np.int64)
    Y = labels[:, [classes.index(str(name)) for name in space.names]]
    pictures, maps = (index.parent / folder for folder in MSRC_FOLDERS)
    images = load_labeled_images(pictures, maps, [str(name) for name in ids])
    X = np.stack([image_features(image / 255.0) for image in images.images])
    drawn, part = np.random.default_rng(settings.seed).permutation(train), LabelRows(X, Y)
    rows = [part.take(r) for r in (drawn[: 2 * len(drawn) // 3], drawn[2 * len(drawn) // 3 :], train, test)]
    return LabelTask("msrc", space, rows[0], rows[1], rows[2], rows[3])


def msrc_space() -> FiniteSpace:
    """The 21 classes; the features of a class mark itself and its group."""
    names = [name for group in GROUPS.values() for name in group]
    groups = [[name in group for group in GROUPS.values()] for name in names]
    return FiniteSpace(names, features=np.column_stack([np.eye(len(names)), np.array(groups, dtype=np.float64)]))


def image_features(image: NDArray[np.float64]) -> Values:
    """Colors, textures and edges of an image (H, W, 3), (736,).

    They are the roots of the shares of 4 x 4 x 4 colors in each quarter of the image (256); the mean and the deviation
    of each color in 4 x 4 cells (96); and, of the gray image at three scales, the mean size of its gradient in 8
    orientations in 4 x 4 cells (384), like GIST.
    """
    bins = np.minimum((image * 4).astype(np.int64), 3) @ np.array([16, 4, 1])
    colors = [np.sqrt(np.bincount(cell.ravel(), minlength=64) / cell.size) for cell in _cells(bins, 2)]
    textures = [np.append(cell.mean(axis=(0, 1)), cell.std(axis=(0, 1))) for cell in _cells(image, CELLS)]
    energies = []
    for scale in SCALES:
        down, right = np.gradient(gaussian_filter(image.mean(axis=2), scale))
        angle = np.arctan2(down, right) % np.pi
        place = np.minimum((angle / np.pi * ORIENTATIONS).astype(np.int64), ORIENTATIONS - 1)
        for where, size in zip(_cells(place, CELLS), _cells(np.hypot(down, right), CELLS), strict=True):
            energies.append(np.bincount(where.ravel(), size.ravel(), ORIENTATIONS) / size.size)
    return np.concatenate([*colors, *textures, *energies])


def _cells(image: NDArray[Any], k: int) -> list[NDArray[Any]]:
    """The k x k cells of an image, row by row."""
    return [cell for rows in np.array_split(image, k) for cell in np.array_split(rows, k, axis=1)]


def generated_task(seed: int) -> LabelTask:
    """A tree of six labels, whose leaves are on where a linear score is large; 120, 60 and 120 rows."""
    rng = np.random.default_rng(seed)
    tree = Hierarchy({"cow": "animal", "horse": "animal", "car": "vehicle", "bus": "vehicle"})
    X, W = rng.standard_normal((300, 8)), rng.standard_normal((8, 6))
    part = LabelRows(X, tree.closed(X @ W + 0.5 * rng.standard_normal((300, 6)) > 2.5))
    fit, choose, test = (part.take(rows) for rows in np.split(np.arange(300), [120, 180]))
    return LabelTask("generated", tree, fit, choose, part.take(np.arange(180)), test)
