"""Synthetic scenes of several objects, which look like cars seen from the side, among clutter."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from setwise.core.checks import Bools, Ints, Values, as_count, as_number, as_random_state, shown

ASPECT = 0.4
"""The height of an object over its length."""

TRIES = 50
"""So many places are tried for each object."""

SHORTEST = 20
"""No object is shorter, for its wheels would have no pixels."""

NOISE = 0.03
"""The deviation of the noise of each pixel, where white is 1."""


@final
@dataclass(frozen=True, eq=False)
class ObjectScenes:
    """Images with the boxes of their objects.

    Attributes
    ----------
    images : uint8 (H, W) each
    boxes : int64 (k_i, 4) each, rows (top, left, bottom, right): the rows ``top..bottom-1`` and the columns
        ``left..right-1`` hold the object, and no smaller box does
    masks : int64 (H, W) each, j for the pixels of the object of box j - 1, and 0 elsewhere

    Examples
    --------
    >>> from setwise.datasets import object_scenes
    >>> scenes = object_scenes(n=1, objects=(1, 1), random_state=0)
    >>> top, left, bottom, right = scenes.boxes[0][0].tolist()
    >>> rows, columns = np.nonzero(scenes.masks[0] == 1)
    >>> bool(top == rows.min() and bottom == rows.max() + 1)
    True
    """

    images: tuple[NDArray[np.uint8], ...]
    boxes: tuple[Ints, ...]
    masks: tuple[Ints, ...]

    def __len__(self) -> int:
        return len(self.images)


def object_scenes(
    n: int = 20,
    shape: tuple[int, int] = (160, 240),
    objects: tuple[int, int] = (0, 3),
    lengths: tuple[int, int] = (70, 140),
    clutter: float = 3.0,
    random_state: int | np.random.Generator | None = None,
) -> ObjectScenes:
    """Draw n gray images, each with ``low..high`` objects whose boxes share no pixel, and with clutter behind them.

    An object looks like a car seen from the side: a body, a cabin with two panes, and two wheels that reach its lower
    edge, all of random grays and proportions. It is ``length`` pixels long and .4 times as high, and heads left or
    right. Behind it are a road below a random row, and shapes of random size and gray: facades with rows of windows,
    bushes with a fine texture, poles, and single wheels, so that no part of an object is its own. Where 50 tries find
    no free place for an object, it is left out. Each pixel has noise of a deviation of .03, white being 1.

    Parameters
    ----------
    n : the number of images
    shape : (H, W), room for the longest object
    objects : the least and the largest number of objects of an image, all numbers between being as likely
    lengths : the least and the largest length of an object in pixels, 20 or more
    clutter : the mean number of shapes whose middle is in a square of 100 x 100 pixels, from 0 on
    random_state : a seed or a numpy Generator

    Returns
    -------
    ObjectScenes
        Images, boxes, and masks.

    Raises
    ------
    ValueError, TypeError : with a sentence, for arguments other than these

    Examples
    --------
    >>> from setwise.datasets import object_scenes
    >>> scenes = object_scenes(2, objects=(1, 1), lengths=(70, 70), random_state=0)
    >>> scenes.images[0].shape, scenes.boxes[0].shape
    ((160, 240), (1, 4))
    >>> top, left, bottom, right = scenes.boxes[0][0].tolist()
    >>> right - left, bottom - top  # .4 times as high as long
    (70, 28)
    """
    n, density = as_count(n, "n"), as_number(clutter, "clutter", low=0.0, high=1000.0)
    height, width = _pair(shape, "shape", 8)
    numbers, sizes = _range(objects, "objects", 0), _range(lengths, "lengths", SHORTEST)
    if sizes[1] > width or _high(sizes[1]) > height:
        raise ValueError(
            f"shape must have room for an object of {_high(sizes[1])} x {sizes[1]} pixels; got {shown(shape)}."
        )
    rng = np.random.default_rng(as_random_state(random_state))
    drawn = [_scene((height, width), numbers, sizes, density, rng) for _ in range(n)]
    images, boxes, masks = zip(*drawn, strict=True)
    return ObjectScenes(images, boxes, masks)


def _scene(
    shape: tuple[int, int], numbers: tuple[int, int], sizes: tuple[int, int], density: float, rng: np.random.Generator
) -> tuple[NDArray[np.uint8], Ints, Ints]:
    """One image, its boxes and its mask."""
    image, mask, boxes = _surroundings(shape, density, rng), np.zeros(shape, np.int64), []
    taken = np.zeros(shape, dtype=bool)
    for _ in range(int(rng.integers(numbers[0], numbers[1] + 1))):
        long = int(rng.integers(sizes[0], sizes[1] + 1))
        box = _free_place(taken, long, rng)
        if box is None:
            continue
        top, left, bottom, right = box
        gray, inside = _object(bottom - top, right - left, rng)
        boxes.append(box)
        image[top:bottom, left:right][inside] = gray[inside]
        mask[top:bottom, left:right][inside] = len(boxes)
        taken[top:bottom, left:right] = True
    noisy = gaussian_filter(image, 0.6) + NOISE * rng.standard_normal(shape)
    levels = np.round(255.0 * np.clip(noisy, 0.0, 1.0)).astype(np.uint8)
    return levels, np.array(boxes, np.int64).reshape(-1, 4), mask


def _free_place(taken: Bools, long: int, rng: np.random.Generator) -> tuple[int, int, int, int] | None:
    """A box of an object of this length without a pixel that is taken; None where no try finds one."""
    high = _high(long)
    for _ in range(TRIES):
        top = int(rng.integers(0, taken.shape[0] - high + 1))
        left = int(rng.integers(0, taken.shape[1] - long + 1))
        box = top, left, top + high, left + long
        if not taken[top : box[2], left : box[3]].any():
            return box
    return None


def _object(high: int, long: int, rng: np.random.Generator) -> tuple[Values, Bools]:
    """The grays of an object in its box, and its silhouette, which reaches all four sides."""
    v, u = ((np.arange(side) + 0.5) / side for side in (high, long))
    v, u = np.meshgrid(v, u, indexing="ij")
    front, back = rng.uniform(0.15, 0.3), rng.uniform(0.72, 0.9)
    slopes = rng.uniform(0.1, 0.3, 2)
    cabin = (v < 0.5) & (u > front + slopes[0] * (0.5 - v)) & (u < back - slopes[1] * (0.5 - v))
    # The ends of the body are rounded, and its middle rows reach both sides.
    body = (v > 0.4) & (v < 0.84) & (np.abs(2.0 * u - 1.0) ** 8 + np.abs((v - 0.62) / 0.22) ** 4 < 1.0)
    body |= (np.abs(v - 0.62) < 0.08) | (np.abs(v - 0.62) < 1.0 / high)
    paint = rng.uniform(0.1, 0.9)
    gray = paint + rng.uniform(-0.2, 0.2) * (v - 0.5) + 0.02 * rng.standard_normal((high, long))
    gray[(v > 0.76) & (v < 0.84)] *= 0.6
    door = rng.uniform(0.42, 0.58)
    gray[(np.abs(u - door) < 0.008) & (v > 0.42) & (v < 0.76)] *= 0.5
    inner = (v > 0.09) & (v < 0.38) & (u > front + slopes[0] * (0.5 - v) + 0.04)
    inner &= (u < back - slopes[1] * (0.5 - v) - 0.04) & (np.abs(u - door) > 0.02)
    pane = rng.uniform(0.1, 0.3) if paint > 0.45 else rng.uniform(0.6, 0.9)
    gray[inner & cabin] = pane + 0.3 * (u - 0.5)[inner & cabin]
    silhouette = cabin | body
    radius = rng.uniform(0.19, 0.24) * high
    tyre, hub = rng.uniform(0.02, 0.15), rng.uniform(0.5, 0.85)
    for middle in (rng.uniform(0.16, 0.22), rng.uniform(0.76, 0.84)):
        distance = np.hypot((u - middle) * long, v * high - (high - radius))
        wheel = distance <= radius
        gray[wheel] = np.where(distance <= 0.55 * radius, hub, tyre)[wheel]
        silhouette |= wheel
    flip = slice(None, None, -1 if rng.random() < 0.5 else 1)
    return np.ascontiguousarray(gray[:, flip]), np.ascontiguousarray(silhouette[:, flip])


def _surroundings(shape: tuple[int, int], density: float, rng: np.random.Generator) -> Values:
    """A wall and a road with smooth light, and clutter in front of them."""
    smooth = gaussian_filter(rng.standard_normal(shape), 12.0)
    image: Values = rng.uniform(0.35, 0.75) + 0.06 * smooth / max(smooth.std(), 1e-12)
    road = round(shape[0] * rng.uniform(0.4, 0.9))
    texture = gaussian_filter(rng.standard_normal(shape), 0.8)
    image[road:] = (rng.uniform(0.25, 0.6) + 0.1 * texture)[road:]
    # Shapes whose middle is outside may reach into the image.
    margin = 30.0
    area = (shape[0] + 2 * margin) * (shape[1] + 2 * margin)
    for _ in range(int(rng.poisson(density * area / 1e4))):
        middle = rng.uniform(-margin, shape[0] + margin), rng.uniform(-margin, shape[1] + margin)
        _SHAPES[int(rng.integers(len(_SHAPES)))](image, middle, rng)
    return image


def _facade(image: Values, middle: tuple[float, float], rng: np.random.Generator) -> None:
    """A rectangle with rows of windows."""
    v, u = _offsets(image, middle)
    high, wide = rng.uniform(15.0, 40.0, 2)
    inside = (np.abs(v) < high) & (np.abs(u) < wide)
    step = rng.uniform(8.0, 18.0, 2)
    windows = (np.mod(v, step[0]) < 0.5 * step[0]) & (np.mod(u, step[1]) < 0.6 * step[1])
    wall, glass = rng.uniform(0.15, 0.85, 2)
    image[inside] = np.where(windows, glass, wall)[inside]


def _bush(image: Values, middle: tuple[float, float], rng: np.random.Generator) -> None:
    """An ellipse with a fine texture."""
    v, u = _offsets(image, middle)
    high, wide = rng.uniform(8.0, 30.0, 2)
    inside = np.hypot(v / high, u / wide) < 1.0
    texture = gaussian_filter(rng.standard_normal(image.shape), rng.uniform(1.0, 2.0))
    texture *= rng.uniform(0.08, 0.2) / max(texture.std(), 1e-12)
    image[inside] = (rng.uniform(0.2, 0.6) + texture)[inside]


def _pole(image: Values, middle: tuple[float, float], rng: np.random.Generator) -> None:
    """A thin bar, upright or lying."""
    v, u = _offsets(image, middle)
    long, thin = rng.uniform(20.0, 60.0), rng.uniform(1.5, 5.0)
    if rng.random() < 0.4:
        v, u = u, v
    image[(np.abs(v) < long) & (np.abs(u) < thin)] = rng.uniform(0.05, 0.9)


def _wheel(image: Values, middle: tuple[float, float], rng: np.random.Generator) -> None:
    """A single wheel."""
    distance = np.hypot(*_offsets(image, middle))
    radius = rng.uniform(5.0, 14.0)
    tyre, hub = rng.uniform(0.02, 0.3), rng.uniform(0.5, 0.85)
    inside = distance <= radius
    image[inside] = np.where(distance <= 0.55 * radius, hub, tyre)[inside]


_SHAPES = (_facade, _bush, _pole, _wheel)


def _offsets(image: Values, middle: tuple[float, float]) -> tuple[Values, Values]:
    """The rows and the columns of all pixels, counted from the middle."""
    rows, columns = np.indices(image.shape)
    return np.asarray(rows - middle[0]), np.asarray(columns - middle[1])


def _high(long: int) -> int:
    """The height of an object of this length."""
    return round(ASPECT * long)


def _pair(value: Any, name: str, low: int) -> tuple[int, int]:
    """Two whole numbers of ``low`` or more."""
    if not isinstance(value, tuple) or len(value) != 2:
        raise TypeError(f"{name} must be a pair of whole numbers; got {shown(value)}.")
    return as_count(value[0], name, low=low), as_count(value[1], name, low=low)


def _range(value: Any, name: str, low: int) -> tuple[int, int]:
    """Two whole numbers of ``low`` or more, the first one not above the second."""
    found = _pair(value, name, low)
    if found[0] > found[1]:
        raise ValueError(f"{name} must be a pair (least, largest); got {shown(value)}.")
    return found
