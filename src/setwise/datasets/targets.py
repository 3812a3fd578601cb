"""Turn targets into 0 and 1: a column of two labels, or a label matrix."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.datasets.missing import refuse_missing
from setwise.datasets.names import some, word


def two_labels(values: NDArray[Any], what: str, positive: str | None) -> tuple[NDArray[np.int64], tuple[str, str]]:
    """The labels ``values`` (n,) as 0 and 1, and the names of the two labels, the positive one last.

    ``what`` names the target in sentences. ``positive`` names the positive label; None takes the later one in sorted
    order. Raises ValueError if there are not exactly two labels, if one is missing, or if ``positive`` is neither.
    """
    if values.dtype.kind not in "biufUOmM":
        raise ValueError(f"{what} must hold numbers or text; it holds {values.dtype}.")
    refuse_missing(values, what)
    kinds = np.unique(values)
    words = tuple(word(k) for k in kinds)
    if len(kinds) != 2:
        raise ValueError(f"{what} must have two values; it has {len(kinds)}: {some(words)}.")
    if positive is None or positive == words[1]:
        return (values == kinds[1]).astype(np.int64), (words[0], words[1])
    if positive != words[0]:
        raise ValueError(
            f"{what} has the values {words[0]!r} and {words[1]!r}, so {positive!r} cannot be the positive one."
        )
    return (values == kinds[0]).astype(np.int64), (words[1], words[0])


def label_matrix(values: NDArray[Any], names: Sequence[str], file: str) -> NDArray[np.int64]:
    """A label matrix (n, p) as int64; ValueError if it holds anything but the numbers 0 and 1.

    ``names`` (p,) and ``file`` name the labels and their file in sentences.
    """
    if values.dtype.kind not in "biuf":
        raise ValueError(f"the label matrix of {file} must hold the numbers 0 and 1; it holds {values.dtype}.")
    odd = (values != 0) & (values != 1)
    if odd.any():
        row, column = np.argwhere(odd)[0]
        raise ValueError(
            f"label {names[column]!r} of {file} must hold 0 and 1; row {row + 1} holds {word(values[row, column])}."
        )
    return values.astype(np.int64)
