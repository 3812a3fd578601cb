"""The side rows of MLSP Table 1b: boxes of cows, cars and sheep in photographs of MSRC."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import find_objects, label

from papers.experiment import Advance, Settings, Table
from papers.hol_images import MSRC_FOLDERS, data_part
from papers.mlsp_windows import (
    COLUMNS,
    METHODS,
    NOTHING,
    STRIDE,
    WindowImages,
    as_part,
    choose,
    judged,
    learned,
)
from papers.mlsp_words import orders, table
from setwise.core.checks import Ints
from setwise.datasets import LabeledImages, load_labeled_images
from setwise.spaces import Windows

CLASSES = {"cow": 4, "car": 12, "sheep": 6}
"""The classes, and their numbers in the label maps."""

SPLITS, WORDS = 3, 300
SMALLEST = 0.01
"""Pieces of a mask with a smaller share of the image have no box."""


def msrc_tables(size: Any, settings: Settings, advance: Advance) -> tuple[list[Table], list[str]]:
    """A table for each class, and sentences on them; ``size`` gives the grids and the budget."""
    photos, tables, words = photographs(settings), [], []
    gray = [np.round(image.mean(axis=-1)).astype(np.uint8) for image in photos.images]
    for name, number in CLASSES.items():
        boxes = [boxes_of(labels == number) for labels in photos.labels]
        each = []
        for split in range(SPLITS):
            each.append(one_split(size, gray, boxes, settings.seed + split))
            advance(f"{name}, split {split}")
        samples = np.stack(each, axis=-1)
        count, several = sum(map(len, boxes)), sum(len(one) > 1 for one in boxes)
        title = (
            f"MSRC, {name}: {count} boxes in {len(gray)} photographs, of which {several} have two or more; mean ± "
            f"standard error over {SPLITS} random splits."
        )
        tables.append(table(title, samples))
        words += [f"{name}: {words}" for words in orders(samples, None, "splits")]
    return tables, words


def one_split(size: Any, gray: list[NDArray[np.uint8]], boxes: list[Ints], seed: int) -> NDArray[np.float64]:
    """The columns of each method and of no windows, (4, 6), where F1 on a quarter of the images makes the choices."""
    n = len(gray)
    parts = np.split(np.random.default_rng([seed, 12]).permutation(n), (n // 2, n // 2 + n // 4))
    words = learned([gray[i] for i in parts[0]], WORDS, seed)
    whole = as_part(gray, boxes, words)
    train, tune, test = (whole.take(chosen) for chosen in parts)
    space, cells = Windows(WORDS, STRIDE), []

    def value(detector: Any, held: WindowImages = tune) -> float:
        return float(judged(held, detector.listed(held.images))[COLUMNS.index("F1")])

    for name in METHODS:
        detector = choose(name, space, train, size.grid(name), size.budget, value)[1]
        cells.append(judged(test, detector.listed(test.images)))
    return np.array([*cells, judged(test, [NOTHING] * len(test.images))])


def photographs(settings: Settings) -> LabeledImages:
    """The photographs at half size in which one of the classes occurs."""
    place = data_part(settings, "msrc_v2", MSRC_FOLDERS[1], "mlsp_table1b")
    whole = load_labeled_images(place / MSRC_FOLDERS[0], place / MSRC_FOLDERS[1])
    numbers = list(CLASSES.values())
    return whole.take([i for i, labels in enumerate(whole.labels) if np.isin(labels, numbers).any()])


def boxes_of(mask: NDArray[np.bool_]) -> Ints:
    """The boxes (k, 4) of the connected pieces of a mask that have one per cent of its pixels or more."""
    pieces, _ = label(mask)
    sizes = np.bincount(pieces.ravel())[1:]
    found = [
        (rows.start, columns.start, rows.stop, columns.stop)
        for (rows, columns), pixels in zip(find_objects(pieces), sizes, strict=True)
        if pixels >= SMALLEST * mask.size
    ]
    return np.array(sorted(set(found)), np.int64).reshape(-1, 4)
