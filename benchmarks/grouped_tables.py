"""Tables of rows in sets: cells of images, labels of songs and genes, customers of states, and one set of all rows."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import clone  # noqa: F401
from papers.measure_reference import read_table

CELL = 10
"""The side of a cell of a photograph, in pixels."""


@dataclass(frozen=True)
class Rows:
    """``X`` (n, d), labels ``y`` (n,) and the numbers of their sets, ``ids`` (n,), from 0 in rising order."""

    X: np.ndarray
    y: np.ndarray
    ids: np.ndarray

    def take(self, chosen: np.ndarray) -> "Rows":
        """The rows of a mask (n,), with their sets numbered anew."""
        ids = np.unique(self.ids[chosen], return_inverse=True)[1]
        return Rows(self.X[chosen], self.y[chosen], ids)

    @property
    def offsets(self) -> np.ndarray:
        """The first row of each set, and n."""
        return np.concatenate(([0], np.cumsum(np.bincount(self.ids)))).astype(np.int64)


def split(rows: Rows, seed: int) -> list[Rows]:
    """Half of the rows to train, a quarter to choose and a quarter to test: whole sets, or rows if there is one set."""
    rng = np.random.default_rng([seed, 44])
    if rows.ids[-1]:
        place = _places(rows.ids[-1] + 1, rng)[rows.ids]
    else:
        place = np.empty(len(rows.y))
        for label in (False, True):
            at = np.flatnonzero(rows.y == label)
            place[at] = _places(len(at), rng)
    return [rows.take(part) for part in (place < 0.5, (place >= 0.5) & (place < 0.75), place >= 0.75)]


def _places(n: int, rng: np.random.Generator) -> np.ndarray:
    """The places of n things in a random order, from 0 to 1."""
    return rng.permutation(n) / n


def generated(seed: int, sets: int = 300) -> Rows:
    """Sets of 10 to 60 rows whose share of positives varies, with a noisy feature that tells how."""
    rng = np.random.default_rng([seed, 844])
    ids = np.repeat(np.arange(sets), rng.integers(10, 60, sets))
    X = rng.standard_normal((len(ids), 8))
    shift = 1.2 * rng.standard_normal(sets)[ids]
    signal = 1.5 * np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.7 * X[:, 3]
    X[:, 4] = shift + 0.5 * rng.standard_normal(len(ids))
    return Rows(X, rng.random(len(ids)) < 1 / (1 + np.exp(3.0 - 1.5 * signal - shift)), ids)


def cells(images: list[np.ndarray], masks: list[np.ndarray], side: int) -> Rows:
    """Square cells of images (H, W, 3) as rows, each image a set; a cell is positive if most of its pixels are.

    A row has the mean and the deviation of the colors of its cell, the means of the four cells beside it and of the
    whole image, the mean steps from pixel to pixel, and its place.
    """
    X, y, ids = [], [], []
    for k, (image, mask) in enumerate(zip(images, masks, strict=True)):
        h, w = mask.shape[0] // side, mask.shape[1] // side
        pixels = image[: h * side, : w * side].astype(float) / 255.0
        blocks = pixels.reshape(h, side, w, side, 3)
        mean, deviation = blocks.mean(axis=(1, 3)), blocks.std(axis=(1, 3))
        steps = [np.abs(np.diff(pixels.mean(axis=2), axis=a, append=0)).reshape(h, side, w, side) for a in (0, 1)]
        wide = np.pad(mean, ((1, 1), (1, 1), (0, 0)), mode="edge")
        beside = [wide[:-2, 1:-1], wide[2:, 1:-1], wide[1:-1, :-2], wide[1:-1, 2:]]
        row, column = np.indices((h, w))
        places = [row / h, column / w, np.abs(column / w - 0.5), np.full((h, w), 1.0 * h / w)]
        whole = np.broadcast_to(mean.mean(axis=(0, 1)), mean.shape)
        parts = [mean, deviation, *beside, whole, *(s.mean(axis=(1, 3))[..., None] for s in steps)]
        X.append(np.concatenate([*parts, *(p[..., None] for p in places)], axis=2).reshape(h * w, -1))
        inside = mask[: h * side, : w * side].reshape(h, side, w, side).mean(axis=(1, 3))
        y.append(inside.ravel() > 0.5)
        ids.append(np.full(h * w, k))
    return Rows(np.concatenate(X), np.concatenate(y), np.concatenate(ids))


def photographs(data: Path, name: str) -> Rows:
    """Cells of the photographs of MSRC that show a class in one cell at least."""
    from PIL import Image

    folder = data / "msrc_v2"
    index = np.load(folder / "index.npz")
    number = index["class_names"].tolist().index(name)
    images, masks = [], []
    for one in index["ids"]:
        mask = np.asarray(Image.open(folder / "labels_half_png" / f"{one}.png")) == number
        if mask.sum() > CELL**2 / 2:
            images.append(np.asarray(Image.open(folder / "images_half_png" / f"{one}.png").convert("RGB")))
            masks.append(mask)
    found = cells(images, masks, CELL)
    shown = np.bincount(found.ids, found.y) > 0
    return found.take(shown[found.ids])


def horses(data: Path) -> Rows:
    """Cells of 5 x 5 pixels of horses; of photographs that occur twice, one."""
    folder = data / "weizmann_horses"
    masks, images = np.load(folder / "masks.npz"), np.load(folder / "rgb_32_50.npz")["rgb50"]
    used = np.sort(np.concatenate([masks["seg_train"], masks["seg_test"]]))
    return cells(list(images[used]), list(masks["masks50"][used] > 0), 5)


def labels(data: Path, name: str) -> Rows:
    """The labels of the first thousand rows of a multi-label table: each pair of a row and a label, each row a set.

    A pair has the features of its row and the number of the label, where labels are sorted by how many rows have them,
    those to test included; so it is for all methods.
    """
    table = np.load(data / "multilabel" / f"{name}.npz")
    X, Y = table["X"][:1000].astype(float), table["Y"][:1000]
    Y = Y[:, np.argsort(Y.sum(axis=0))]
    n, p = Y.shape
    number = np.tile(np.arange(p), n)
    return Rows(np.column_stack([np.repeat(X, p, axis=0), number]), Y.ravel() == 1, np.repeat(np.arange(n), p))


def churn(data: Path) -> Rows:
    """Customers who leave, each state a set, without the number of their telephone."""
    table = read_table(data / "imbalanced" / "churn.csv")
    order = np.argsort(table.X[:, 0], kind="stable")
    ids = np.unique(table.X[order, 0], return_inverse=True)[1]
    return Rows(np.delete(table.X[order], [0, 2], axis=1), table.y[order] == 1, ids)


def one_set(data: Path, name: str) -> Rows:
    """All rows of an imbalanced table as one set."""
    table = read_table(data / "imbalanced" / f"{name}.csv")
    return Rows(table.X, table.y == 1, np.zeros(len(table.y), dtype=int))


TABLES = {
    "generated": lambda data, seed: generated(seed),
    "cells of cows": lambda data, seed: photographs(data, "cow"),
    "cells of cars": lambda data, seed: photographs(data, "car"),
    "cells of water": lambda data, seed: photographs(data, "water"),
    "cells of horses": lambda data, seed: horses(data),
    "labels of emotions": lambda data, seed: labels(data, "emotions"),
    "labels of yeast": lambda data, seed: labels(data, "yeast"),
    "churn by state": lambda data, seed: churn(data),
    "us_crime, one set": lambda data, seed: one_set(data, "us_crime"),
    "mammography, one set": lambda data, seed: one_set(data, "mammography"),
}
"""The tables by name; generated rows differ by seed, and the others do not."""
