"""Images with a label for each pixel, from local folders."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from setwise.core.checks import as_count, as_names
from setwise.core.files import visible_errors
from setwise.datasets.files import as_existing
from setwise.datasets.formats import read_arrays

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp")
"""The endings of image files, tried in this order."""


@final
@dataclass(frozen=True, eq=False)
class LabeledImages:
    """Images with the class of each pixel.

    Attributes
    ----------
    names : the name of each image
    images : uint8 (H, W, 3) each
    labels : int64 (H, W) each, the class of each pixel

    Examples
    --------
    >>> from setwise.datasets import LabeledImages
    >>> picture, classes = np.zeros((1, 3, 3), np.uint8), np.array([[0, 2, 1]])
    >>> data = LabeledImages(("a", "b"), (picture, picture), (classes, 0 * classes))
    >>> # The images in which class 2 occurs.
    >>> data.with_class(2).names, data.with_class(2).labels[0].tolist()
    (('a',), [[0, 1, 0]])
    >>> data.take([1]).names
    ('b',)
    """

    names: tuple[str, ...]
    images: tuple[NDArray[np.uint8], ...]
    labels: tuple[NDArray[np.int64], ...]

    def __len__(self) -> int:
        return len(self.names)

    def with_class(self, label: int) -> "LabeledImages":
        """The images in which the class occurs, with labels 1 for it and 0 for all others."""
        kept = self.take([i for i, labels in enumerate(self.labels) if (labels == label).any()])
        return LabeledImages(kept.names, kept.images, tuple((one == label).astype(np.int64) for one in kept.labels))

    def take(self, chosen: Sequence[int] | NDArray[np.int64]) -> "LabeledImages":
        """The images at the places ``chosen``."""
        parts: list[Any] = [tuple(part[i] for i in chosen) for part in (self.names, self.images, self.labels)]
        return LabeledImages(*parts)


@visible_errors()
def load_labeled_images(
    images: str | Path, labels: str | Path, names: Sequence[str] | None = None, shorter_side: int | None = None
) -> LabeledImages:
    """Read images, and the maps of their labels, which have the same names in another folder.

    A map is a palette or grey image whose numbers are the classes, as those of PASCAL VOC and of the cleaned maps of
    MSRC. Pillow reads the files; the extra ``image`` brings it (``pip install 'setwise[image]'``).

    Parameters
    ----------
    images, labels : the paths of two folders
    names : the names of files without their endings; None takes all maps in the order of their names
    shorter_side : scale images and maps so that the shorter side has this number of pixels: images by their mean over
        areas, labels by the nearest pixel; None leaves them as they are

    Returns
    -------
    LabeledImages
        The images in the order of their names.

    Raises
    ------
    ValueError, TypeError, OSError : in a sentence, where a folder or a file is absent or does not fit
    ImportError : without Pillow

    Examples
    --------
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from setwise.datasets import load_labeled_images
    >>> picture, classes = np.zeros((2, 3, 3)), np.eye(2, 3)
    >>> for folder, pixels in (("photos", picture), ("maps", classes)):
    ...     Path(folder).mkdir()
    ...     Image.fromarray(pixels.astype(np.uint8)).save(f"{folder}/cow.png")
    >>> data = load_labeled_images("photos", "maps")
    >>> data.names, data.images[0].shape, data.labels[0].tolist()
    (('cow',), (2, 3, 3), [[1, 0, 0], [0, 1, 0]])
    """
    folders = [as_existing(images, "images", "folder"), as_existing(labels, "labels", "folder")]
    side = None if shorter_side is None else as_count(shorter_side, "shorter_side")
    if names is None:
        stems = sorted(path.stem for path in folders[1].iterdir() if path.suffix.lower() in SUFFIXES)
        if not stems:
            raise ValueError(f"there is no image in the folder {folders[1]}.")
    else:
        stems = list(as_names(names, "names", of="names of files"))
    found = [_read_pair(_file(folders[0], stem), _file(folders[1], stem), side) for stem in stems]
    return LabeledImages(tuple(stems), *zip(*found, strict=True))


@visible_errors()
def load_horses(folder: str | Path, size: int = 50) -> LabeledImages:
    """Read the Weizmann horses (Borenstein and Ullman 2002) from NumPy archives, with labels 1 for the horse.

    The folder holds ``masks.npz`` with arrays ``names`` and ``masksS``, and ``rgb_32_50.npz`` and ``rgb_128.npz`` with
    ``rgbS``, all of squares with a side of S pixels. Where ``masks.npz`` lists ``near_duplicate_dropped``, the places
    of images that repeat others, these are left out.

    Parameters
    ----------
    folder : the path of the folder
    size : the side S in pixels: 32, 50 or 128

    Returns
    -------
    LabeledImages
        The horses in the order of the file.

    Raises
    ------
    ValueError, TypeError, OSError : in a sentence, where a file is absent or does not fit

    Examples
    --------
    >>> from setwise.datasets import load_horses
    >>> masks = {"names": ["a", "b"], "masks32": np.zeros((2, 32, 32), np.uint8)}
    >>> np.savez("masks.npz", **masks, near_duplicate_dropped=[1])
    >>> # Stands for the pictures, which setwise does not bring.
    >>> np.savez("rgb_32_50.npz", rgb32=np.zeros((2, 32, 32, 3), np.uint8))
    >>> load_horses(".", size=32).names
    ('a',)
    """
    place, size = as_existing(folder, "folder", "folder"), as_count(size, "size")
    file = "rgb_128.npz" if size == 128 else "rgb_32_50.npz"
    masks, colors = (read_arrays(as_existing(place / name)) for name in ("masks.npz", file))
    if not {"names", f"masks{size}"} <= {*masks} or f"rgb{size}" not in colors:
        raise ValueError(f"size must be one of which {place} holds names, masks{size} and rgb{size}; got {size}.")
    mask, names, rgb = masks[f"masks{size}"], masks["names"], colors[f"rgb{size}"]
    kept = np.setdiff1d(np.arange(len(names)), masks.get("near_duplicate_dropped", np.zeros(0, np.int64)))
    return LabeledImages(tuple(map(str, names)), tuple(rgb), tuple((mask == 1).astype(np.int64))).take(kept)


def _file(folder: Path, stem: str) -> Path:
    """The image file of this name."""
    found = [path for path in (folder / f"{stem}{suffix}" for suffix in SUFFIXES) if path.is_file()]
    if not found:
        raise FileNotFoundError(f"there is no image {stem!r} in the folder {folder}: none of {', '.join(SUFFIXES)}.")
    return found[0]


def _read_pair(image: Path, labels: Path, side: int | None) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """The colors and the classes of one image, scaled to the shorter side."""
    try:
        from PIL import Image
    except ImportError:
        raise ImportError("reading images needs Pillow: pip install 'setwise[image]'.") from None
    picture, classes = _opened(Image, image).convert("RGB"), _opened(Image, labels)
    if classes.mode not in ("P", "L", "1"):
        raise ValueError(f"the labels {labels.name} must be a palette or grey image; got the mode {classes.mode}.")
    if classes.size != picture.size:
        raise ValueError(f"{image.name} has {picture.size} pixels and its labels have {classes.size}.")
    if side is not None:
        scale = side / min(picture.size)
        size = (max(side, round(picture.width * scale)), max(side, round(picture.height * scale)))
        picture, classes = picture.resize(size, Image.Resampling.BOX), classes.resize(size, Image.Resampling.NEAREST)
    return np.asarray(picture, dtype=np.uint8), np.asarray(classes).astype(np.int64)


def _opened(library: Any, path: Path) -> Any:
    """An image of Pillow with all of its pixels; ValueError for a file that is damaged, too large or no image."""
    try:
        with library.open(path) as one:
            return one.copy()
    # Damaged bytes make the readers of Pillow raise almost any exception.
    except Exception as error:
        raise ValueError(f"{path.name} is no image, or a damaged one: {str(error).rstrip('.')}.") from None
