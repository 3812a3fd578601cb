"""Synthetic problems: early detection (LH 6.1, Fig. 3), landmarks, textured objects, and scenes of objects.

Landmarks have a precise feature whose noise is anywhere, and a broad one that is reliable. Objects differ a little from
their surroundings in color and texture. In scenes several objects look like cars seen from the side, among clutter.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from setwise.core.checks import Bools, Ints, Values, as_count, as_number, as_random_state, shown
from setwise.datasets.images import LabeledImages

Pair = tuple[int, int]

RandomState = int | np.random.Generator | None

EARLY = 2.5 * np.array([0.0, 1.0])
"""The mean of positives in the first third of a bag."""

LATE = 4.0 * np.array([np.cos(np.deg2rad(-20.0)), np.sin(np.deg2rad(-20.0))])
"""The mean of positives in the rest of a bag."""


def early_stage(p: int = 15) -> NDArray[np.bool_]:
    """A mask of the early stage of a bag of ``p`` samples in time order: the first third, (p,) bool."""
    # The third is rounded up, so that no bag lacks an early stage.
    return np.arange(p) < -(-p // 3)


def early_detection(n_bags: int = 1000, p: int = 15, random_state: RandomState = None) -> tuple[Values, Ints, Ints]:
    """Draw bags of ``p`` samples of the plane in time order, each of them positive with probability 1/2.

    Negatives come from ``N(0, I)`` at all times. Early positives (the first third of a bag) come from ``N((0, 2.5),
    I)``, near the negatives and above them; late positives from ``N(4 (cos -20°, sin -20°), I)``, farther away and to
    the right. LH gives no numbers for its Fig. 3; the numbers here reproduce what the figure shows. Two thirds of the
    positives are late, so the line with the fewest mistakes leans to the right and misses early positives. A loss that
    counts early mistakes (:class:`setwise.losses.EarlyDetection`) asks for a line that lies almost flat below the
    early positives. The two lines differ in direction, so the tuning of a threshold, which moves a line in parallel,
    cannot turn the first line into the second.

    Source: LH 6.1.

    Parameters
    ----------
    n_bags, p : the number of bags and the number of samples in each, >= 1
    random_state : a seed or a numpy Generator

    Returns
    -------
    X : (n_bags * p, 2) float64, bag after bag, in time order
    y : (n_bags * p,) int64, 0 or 1
    groups : (n_bags * p,) int64, the index of the bag

    Raises
    ------
    TypeError, ValueError : if a number is no whole one of 1 or above, or random_state is no seed

    Examples
    --------
    >>> from setwise.datasets import early_detection
    >>> X, y, groups = early_detection(n_bags=2, p=3, random_state=0)
    >>> X.shape, groups.tolist()
    ((6, 2), [0, 0, 0, 1, 1, 1])
    """
    n_bags, p = as_count(n_bags, "n_bags"), as_count(p, "p")
    rng = np.random.default_rng(as_random_state(random_state))
    labels = rng.random((n_bags, p)) < 0.5
    X = rng.normal(size=(n_bags, p, 2))
    # Negatives have mean 0; the mean of a positive depends on its stage.
    X += np.where(early_stage(p)[:, None], EARLY, LATE) * labels[:, :, None]
    return X.reshape(-1, 2), labels.ravel().astype(np.int64), np.repeat(np.arange(n_bags), p)


APART = 4
"""The least distance of two points in rows, and in columns."""

JITTER = 1.0
"""The standard deviation of the middle of a bump around its point, in each direction."""

BREADTH = 1.5
"""The standard deviation of a bump."""

GRAIN = 0.05
"""The standard deviation of the noise of each cell in the precise features."""


def landmarks(
    n: int = 100, noise: float = 0.1, g: int = 20, k: int = 3, random_state: RandomState = None
) -> tuple[Values, Ints]:
    """Draw n images of g*g cells with k points each, and two features for each point.

    The rows of the points are uniform among those that differ by 4 or more, and so are the columns. The *precise*
    feature of a point is 1 in one cell and 0 in the others, plus ``N(0, .05^2)`` in every cell. That cell is the cell
    of the point; with probability ``noise`` it is any cell of the image, so its noise is not local. The *broad* feature
    is ``exp(-r^2 / (2 * 1.5^2))`` at the distance r from a middle, which lies ``N(0, I)`` off the point: it is always
    near, and seldom right. HOL gives no numbers for its landmarks; these are ours.

    Source: HOL 5.1.

    Parameters
    ----------
    n, g, k : the number of images, of rows and columns, and of points; ``g > 4 (k - 1)``
    noise : the share of precise features that point anywhere, 0 to 1
    random_state : a seed or a numpy Generator

    Returns
    -------
    X : (n, g * g, 2 * k) float64, the precise features of all points, then the broad ones
    y : (n, k) int64, the cell of each point; cell v is in row ``v // g`` and column ``v % g``

    Raises
    ------
    TypeError, ValueError : if n, g or k is no whole number, or too small, or noise is not in [0, 1]

    Examples
    --------
    >>> from setwise.datasets import landmarks
    >>> X, y = landmarks(n=2, noise=0.0, g=10, k=3, random_state=0)
    >>> X.shape, y.shape
    ((2, 100, 6), (2, 3))
    >>> # Without noise the precise features tell the cells.
    >>> (X[0, :, :3].argmax(axis=0) == y[0]).all().item()
    True
    """
    n, k, noise = as_count(n, "n"), as_count(k, "k"), as_number(noise, "noise", low=0.0, high=1.0)
    g = as_count(g, "g", low=APART * (k - 1) + 1)
    rng = np.random.default_rng(as_random_state(random_state))
    row, column = _apart(rng, n, g, k), _apart(rng, n, g, k)
    y = row * g + column
    cell = np.where(rng.random((n, k)) < noise, rng.integers(0, g * g, (n, k)), y)
    precise = (np.arange(g * g) == cell[:, :, None]) + GRAIN * rng.standard_normal((n, k, g * g))
    here = np.divmod(np.arange(g * g), g)
    middles = (line[:, :, None] + JITTER * rng.standard_normal((n, k, 1)) for line in (row, column))
    squares = sum((own - middle) ** 2 for own, middle in zip(here, middles, strict=True))
    broad = np.exp(-squares / (2.0 * BREADTH**2))
    return np.ascontiguousarray(np.concatenate([precise, broad], axis=1).transpose(0, 2, 1)), y


def _apart(rng: np.random.Generator, n: int, g: int, k: int) -> NDArray[np.int64]:
    """Lines 0..g-1 of k points in random order, each ``APART`` or more from the others, (n, k)."""
    # Sorted lines less the distances that they must have are any k numbers in rising order.
    free = np.sort(rng.integers(0, g - APART * (k - 1), (n, k)), axis=1)
    return rng.permuted(free + APART * np.arange(k), axis=1)


WAVES = 3
"""The number of waves of the outline of an object."""


def textured_objects(
    n: int = 20, shape: Pair = (40, 60), contrast: float = 0.15, random_state: RandomState = None
) -> LabeledImages:
    """Draw n images of one object each, with labels 1 for it and 0 for its surroundings.

    The outline of an object is ``r (1 + sum_k a_k cos(k t + b_k))`` over the angle t, k = 1, 2, 3, with a radius r of
    a fifth to two fifths of the shorter side, coefficients ``a_k`` of up to .25, and a middle away from the border. So
    objects fill 5 to 40 % of an image. The surroundings have a color of their own in each image, as have the objects,
    which are redder and less blue by ``contrast`` on average. To each pixel comes noise: smooth noise of a deviation of
    .12, which is coarse (4 pixels) around and fine (1 pixel) in the object, and independent noise of .08.

    Parameters
    ----------
    n : the number of images
    shape : (H, W), 8 or more each
    contrast : the mean difference of colors, from 0 on; white is 1
    random_state : a seed or a numpy Generator

    Returns
    -------
    LabeledImages
        The images and the labels of their pixels.

    Raises
    ------
    TypeError, ValueError : if n is no whole number of 1 or above, a side is below 8, or contrast is negative

    Examples
    --------
    >>> from setwise.datasets import textured_objects
    >>> data = textured_objects(n=3, shape=(20, 30), random_state=0)
    >>> len(data), data.images[0].shape, data.images[0].dtype.name
    (3, (20, 30, 3), 'uint8')
    >>> [sorted(set(labels.ravel().tolist())) for labels in data.labels]
    [[0, 1], [0, 1], [0, 1]]
    """
    n, contrast = as_count(n, "n"), as_number(contrast, "contrast", low=0.0)
    size = _pair(shape, "shape", 8, "pair (H, W)")
    rng = np.random.default_rng(as_random_state(random_state))
    drawn = [_draw(size, contrast, rng) for _ in range(n)]
    return LabeledImages(tuple(f"object{i:03d}" for i in range(n)), *zip(*drawn, strict=True))


def _draw(shape: Pair, contrast: float, rng: np.random.Generator) -> tuple[NDArray[np.uint8], Ints]:
    """One image, and 1 for the pixels of its object."""
    mask = _outline(shape, rng)
    around = rng.uniform(0.3, 0.6, 3)
    inside = around + contrast * np.array([1.0, 0.0, -1.0]) + rng.normal(scale=0.05, size=3)
    coarse, fine = (_smooth(shape, width, rng) for width in (4.0, 1.0))
    colors = np.where(mask[:, :, None], inside + fine[:, :, None], around + coarse[:, :, None])
    return _levels(colors + 0.08 * rng.standard_normal(colors.shape)), mask.astype(np.int64)


def _levels(image: Values) -> NDArray[np.uint8]:
    """The levels 0..255 of an image whose white is 1."""
    return np.round(255.0 * np.clip(image, 0.0, 1.0)).astype(np.uint8)


def _outline(shape: Pair, rng: np.random.Generator) -> NDArray[np.bool_]:
    """The mask of an object."""
    radius = rng.uniform(0.2, 0.4) * min(shape)
    middle = [rng.uniform(0.3 * side, 0.7 * side) for side in shape]
    y, x = (line - at for line, at in zip(np.indices(shape), middle, strict=True))
    k = np.arange(1, WAVES + 1)
    heights, phases = rng.uniform(0.0, 0.25, WAVES), rng.uniform(0.0, 2.0 * np.pi, WAVES)
    waves = (heights * np.cos(k * np.arctan2(y, x)[:, :, None] + phases)).sum(axis=-1)
    return np.asarray(np.hypot(x, y) <= radius * (1.0 + waves))


def _smooth(shape: Pair, width: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Noise with a deviation of .12 that changes over ``width`` pixels."""
    noise = gaussian_filter(rng.standard_normal(shape), width)
    return np.asarray(0.12 * noise / noise.std())


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
    shape: Pair = (160, 240),
    objects: Pair = (0, 3),
    lengths: Pair = (70, 140),
    clutter: float = 3.0,
    random_state: RandomState = None,
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
    numbers, sizes = _pair(objects, "objects", 0, rising=True), _pair(lengths, "lengths", SHORTEST, rising=True)
    room = f"{_high(sizes[1])} x {sizes[1]} pixels"
    if sizes[1] > width or _high(sizes[1]) > height:
        raise ValueError(f"shape must have room for an object of {room}; got {shown(shape)}.")
    rng = np.random.default_rng(as_random_state(random_state))
    drawn = [_scene((height, width), numbers, sizes, density, rng) for _ in range(n)]
    return ObjectScenes(*zip(*drawn, strict=True))


def _scene(
    shape: Pair, numbers: Pair, sizes: Pair, density: float, rng: np.random.Generator
) -> tuple[NDArray[np.uint8], Ints, Ints]:
    """One image, its boxes and its mask."""
    image, mask, boxes = _surroundings(shape, density, rng), np.zeros(shape, np.int64), []
    taken = np.zeros(shape, dtype=bool)
    for _ in range(int(rng.integers(numbers[0], numbers[1] + 1))):
        box = _free_place(taken, int(rng.integers(sizes[0], sizes[1] + 1)), rng)
        if box is None:
            continue
        top, left, bottom, right = box
        gray, inside = _object(bottom - top, right - left, rng)
        boxes.append(box)
        image[top:bottom, left:right][inside] = gray[inside]
        mask[top:bottom, left:right][inside] = len(boxes)
        taken[top:bottom, left:right] = True
    noisy = gaussian_filter(image, 0.6) + NOISE * rng.standard_normal(shape)
    return _levels(noisy), np.array(boxes, np.int64).reshape(-1, 4), mask


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
    v, u = ((line + 0.5) / side for line, side in zip(np.indices((high, long)), (high, long), strict=True))
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
    grays = rng.uniform(0.02, 0.15), rng.uniform(0.5, 0.85)
    for middle in (rng.uniform(0.16, 0.22), rng.uniform(0.76, 0.84)):
        distance = np.hypot((u - middle) * long, v * high - (high - radius))
        silhouette |= _paint_wheel(gray, distance, radius, grays)
    flip = slice(None, None, -1 if rng.random() < 0.5 else 1)
    return np.ascontiguousarray(gray[:, flip]), np.ascontiguousarray(silhouette[:, flip])


def _surroundings(shape: Pair, density: float, rng: np.random.Generator) -> Values:
    """A wall and a road with smooth light, and clutter in front of them."""
    smooth = gaussian_filter(rng.standard_normal(shape), 12.0)
    image: Values = rng.uniform(0.35, 0.75) + 0.06 * smooth / max(smooth.std(), 1e-12)
    road = round(shape[0] * rng.uniform(0.4, 0.9))
    texture = gaussian_filter(rng.standard_normal(shape), 0.8)
    image[road:] = (rng.uniform(0.25, 0.6) + 0.1 * texture)[road:]
    # Shapes whose middle is outside may reach into the image.
    margin, (rows, columns) = 30.0, np.indices(shape, dtype=np.float64)
    area = (shape[0] + 2 * margin) * (shape[1] + 2 * margin)
    for _ in range(int(rng.poisson(density * area / 1e4))):
        middle = rng.uniform(-margin, shape[0] + margin), rng.uniform(-margin, shape[1] + margin)
        paint = _SHAPES[int(rng.integers(len(_SHAPES)))]
        paint(image, rows - middle[0], columns - middle[1], rng)
    return image


def _facade(image: Values, v: Values, u: Values, rng: np.random.Generator) -> None:
    """A rectangle with rows of windows."""
    high, wide = rng.uniform(15.0, 40.0, 2)
    inside = (np.abs(v) < high) & (np.abs(u) < wide)
    step = rng.uniform(8.0, 18.0, 2)
    windows = (np.mod(v, step[0]) < 0.5 * step[0]) & (np.mod(u, step[1]) < 0.6 * step[1])
    wall, glass = rng.uniform(0.15, 0.85, 2)
    image[inside] = np.where(windows, glass, wall)[inside]


def _bush(image: Values, v: Values, u: Values, rng: np.random.Generator) -> None:
    """An ellipse with a fine texture."""
    high, wide = rng.uniform(8.0, 30.0, 2)
    inside = np.hypot(v / high, u / wide) < 1.0
    texture = gaussian_filter(rng.standard_normal(image.shape), rng.uniform(1.0, 2.0))
    texture *= rng.uniform(0.08, 0.2) / max(texture.std(), 1e-12)
    image[inside] = (rng.uniform(0.2, 0.6) + texture)[inside]


def _pole(image: Values, v: Values, u: Values, rng: np.random.Generator) -> None:
    """A thin bar, upright or lying."""
    long, thin = rng.uniform(20.0, 60.0), rng.uniform(1.5, 5.0)
    if rng.random() < 0.4:
        v, u = u, v
    image[(np.abs(v) < long) & (np.abs(u) < thin)] = rng.uniform(0.05, 0.9)


def _wheel(image: Values, v: Values, u: Values, rng: np.random.Generator) -> None:
    """A single wheel."""
    radius = rng.uniform(5.0, 14.0)
    _paint_wheel(image, np.hypot(v, u), radius, (rng.uniform(0.02, 0.3), rng.uniform(0.5, 0.85)))


def _paint_wheel(image: Values, distance: Values, radius: float, grays: tuple[float, float]) -> Bools:
    """Paint a wheel, given the distance of each pixel from its middle and the grays of tyre and hub; its pixels."""
    tyre, hub = grays
    inside = distance <= radius
    image[inside] = np.where(distance <= 0.55 * radius, hub, tyre)[inside]
    return inside


_SHAPES = (_facade, _bush, _pole, _wheel)
"""What paints a shape, given how far below and to the right of its middle each pixel is."""


def _high(long: int) -> int:
    """The height of an object of this length."""
    return round(ASPECT * long)


def _pair(value: Any, name: str, low: int, what: str = "pair of whole numbers", rising: bool = False) -> Pair:
    """Two whole numbers of ``low`` or more, which may have to rise; a refusal asks for ``what``."""
    if not isinstance(value, tuple) or len(value) != 2:
        raise TypeError(f"{name} must be a {what}; got {shown(value)}.")
    first, last = as_count(value[0], name, low=low), as_count(value[1], name, low=low)
    if rising and first > last:
        raise ValueError(f"{name} must be a pair (least, largest); got {shown(value)}.")
    return first, last
