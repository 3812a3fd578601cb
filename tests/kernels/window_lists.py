"""All windows of small images, and random cases of them."""

import numpy as np

from setwise.spaces.boxes import lines


def all_windows(points):
    """Every window of the grid, and which points it holds."""
    rows, columns = lines(points.height, points.stride), lines(points.width, points.stride)
    found = [(a, c, b, d) for a in rows for b in rows if a < b for c in columns for d in columns if c < d]
    windows = np.array(found)
    y, x = points.cells.T * points.stride
    inside = (y >= windows[:, :1]) & (y < windows[:, 2:3]) & (x >= windows[:, 1:2]) & (x < windows[:, 3:])
    return windows, inside


def overlap_by_pixels(a, b):
    """Intersection over union, by counting pixels."""
    masks = np.zeros((2, 40, 40), bool)
    for mask, (top, left, bottom, right) in zip(masks, (a, b), strict=True):
        mask[top:bottom, left:right] = True
    return (masks[0] & masks[1]).sum() / (masks[0] | masks[1]).sum()


def random_boxes(rng, k, height, width):
    tops, lefts = rng.integers(0, height, k), rng.integers(0, width, k)
    return np.stack([tops, lefts, rng.integers(tops + 1, height + 1), rng.integers(lefts + 1, width + 1)], axis=1)


SCORES = {
    "normal": lambda rng, m: rng.standard_normal(m),
    "ties": lambda rng, m: rng.integers(-1, 2, m).astype(float),
    "zeros": lambda rng, m: np.zeros(m),
    "equal": lambda rng, m: np.full(m, 0.5),
    "no good": lambda rng, m: -rng.random(m),
    "huge": lambda rng, m: rng.standard_normal(m) * 10.0 ** rng.integers(-5, 150, m),
}
