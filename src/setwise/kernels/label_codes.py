"""Labels of pixels as codes of classes: 1 for its pixels, 0 for the others, -1 for pixels that do not count."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.kernels.jit import kernel, plain_first

Array = NDArray[Any]

BLOCK = 4096
"""So many labels stay in the first-level cache while the codes of all classes are written."""


def _plain_label_codes(
    labels: Array, mask: Array, classes: Array, top: int, ignored: int, ignores: bool, by_class: bool, out: Array
) -> bool:
    kind = labels.dtype
    kept = np.ones(labels.shape, bool) if not ignores else labels != np.asarray(ignored).astype(kind)
    kept &= mask if len(mask) else True
    if top == 2:
        odd = (labels != np.zeros((), kind)) & (labels != np.ones((), kind)) & kept
    else:
        odd = ((labels < np.zeros((), kind)) | (labels > np.asarray(top - 1).astype(kind))) & kept
    codes = out.reshape((len(classes), *labels.shape) if by_class else (len(labels), len(classes), labels.shape[1]))
    for k, label in enumerate(classes.astype(kind)):
        part = codes[k] if by_class else codes[:, k]
        part[...] = (labels == label).astype(np.int8) | (kept.astype(np.int8) - np.int8(1))
    return not odd.any()


@plain_first(_plain_label_codes)
@kernel
def label_codes(
    labels: Array, mask: Array, classes: Array, top: int, ignored: int, ignores: bool, by_class: bool, out: Array
) -> bool:
    """Writes one code for each class and pixel to ``out``; O(total). Returns whether all labels that count are valid.

    ``labels`` (N, pixels) are valid if they are 0..top-1; floats are for top = 2 alone. Pixels of the label ``ignored``
    do not count where ``ignores`` says so, nor those whose ``mask`` (N, pixels) is False; a mask (0, 0) leaves none
    out. ``out`` is (classes, N, pixels) laid end to end if ``by_class``, else (N, classes, pixels).
    """
    images, pixels = labels.shape
    kind = labels.dtype.type
    skip, zero = kind(ignored), kind(0)
    odd, kept = 0, np.ones(min(BLOCK, pixels), np.int8)
    for n in range(images):
        for a in range(0, pixels, BLOCK):
            block = labels[n, a : a + BLOCK]
            size = len(block)
            for j in range(size):
                kept[j] = not (ignores and block[j] == skip)
            if len(mask):
                for j in range(size):
                    kept[j] &= mask[n, a + j]
            if top == 2:
                for j in range(size):
                    odd += (block[j] != zero) & (block[j] != kind(1)) & (kept[j] != 0)
            else:
                for j in range(size):
                    odd += ((block[j] < zero) | (block[j] > kind(top - 1))) & (kept[j] != 0)
            for k in range(len(classes)):
                row = k * images + n if by_class else n * len(classes) + k
                _write(block, kept, kind(classes[k]), out[row * pixels + a : row * pixels + a + size])
    return odd == 0


@kernel
def _write(labels: Array, kept: Array, label: Any, codes: Array) -> None:
    # A pixel that counts has the code 0 or 1, and the bits of the others are all set.
    for j in range(len(codes)):
        codes[j] = np.int8(labels[j] == label) | np.int8(kept[j] - 1)
