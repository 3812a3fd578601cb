"""What NumPy would convert to other numbers without a word: sparse matrices, masked entries, and wide numbers."""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setwise.core.arrays import Bools, Values

HELD = 1 << 53
"""All whole numbers up to this size are numbers of float64."""


def refuse_sparse(values: Any, name: str) -> None:
    """Raise ValueError for a sparse matrix where a dense array is wanted."""
    # Without this module there are no sparse matrices; to import it takes longer than most calls.
    sparse = sys.modules.get("scipy.sparse")
    if sparse is not None and sparse.issparse(values):
        raise ValueError(f"{name} must be a dense array; got a sparse matrix: pass its .toarray().")


def refuse_masked(values: Any, name: str) -> None:
    """Raise ValueError for a masked array of which an entry is masked: plain arrays forget the mask."""
    if np.ma.is_masked(values):
        count = int(np.ma.getmaskarray(values).sum())
        raise ValueError(f"{name} must hold no masked entries; got {count} of them: fill them, or leave them out.")


def as_float64(values: Any, given: NDArray[Any], name: str) -> Values:
    """The real numbers ``given``, which NumPy made of ``values``, as a float64 copy that holds the same numbers.

    Raises ValueError for numbers that float64 does not hold exactly; NaN and inf stay. O(n), and nothing is looked at
    in arrays of float64 or of shorter types.
    """
    # Numbers of a longer type may overflow here.
    with np.errstate(over="ignore"):
        out: Values = given.astype(np.float64)
    if given.dtype.itemsize < 8:
        return out
    if given.dtype.kind in "iu":
        _refuse(name, given, _is_rounded(given))
    elif given.dtype.itemsize > 8:
        _refuse(name, given, np.isfinite(given) & (out != given))
    elif given.dtype.kind == "f" and isinstance(values, list | tuple) and (np.abs(out) > HELD).any():
        # NumPy has made floats of the whole numbers that stood beside floats in the list.
        whole = np.asarray(values, dtype=object)
        rounded = [
            isinstance(value, int | np.integer) and int(value) != int(float(value)) for value in whole.ravel().tolist()
        ]
        _refuse(name, whole, np.array(rounded).reshape(whole.shape))
    return out


def as_bools(labels: NDArray[Any], name: str) -> Bools:
    """``labels``, an array of any shape, as bools; its values must be 0/1 (or False/True)."""
    if labels.dtype == np.bool_:
        return labels
    if labels.dtype.kind not in "iuf":
        raise ValueError(f"{name} must hold labels 0 and 1; got dtype {labels.dtype}{_way_out(labels, name)}.")
    positive: Bools = labels == 1
    if not np.all(positive | (labels == 0)):
        # The sentence shows the first value that is no label.
        odd = labels[~(positive | (labels == 0))].flat[0]
        raise ValueError(f"{name} must hold labels 0 and 1 only; got {odd.item()!r}.")
    return positive


def _way_out(labels: NDArray[Any], name: str) -> str:
    """How to make labels 0 and 1 of two words; nothing for other labels."""
    words = {label for label in labels.ravel().tolist() if isinstance(label, str)}
    if not name.isidentifier() or len(words) != 2 or max(map(len, words)) > 40:
        return ""
    return f": pass np.asarray({name}) == {max(words)!r}, if that is the positive label"


def refuse_outside(values: Values, name: str) -> None:
    """Raise ValueError for numbers outside of [0, 1], with all digits of the first one."""
    outside = (values < 0) | (values > 1)
    if outside.any():
        raise ValueError(f"{name} must be in [0, 1]; got {values[outside].flat[0].item()!r}.")


def _is_rounded(given: NDArray[Any]) -> Bools:
    """Which whole numbers have more binary digits than float64."""
    found = np.zeros(given.shape, dtype=np.bool_)
    if not given.size or (int(given.max()) <= HELD and int(given.min()) >= -HELD):
        return found
    # The smallest int64 is its own absolute value, and as uint64 it has the right size.
    size = np.asarray(np.abs(given)).astype(np.uint64)
    large = size > HELD
    # Float64 holds a number whose digits, up to the last one that is not 0, are at most 53.
    last = size[large] & (~size[large] + np.uint64(1))
    found[large] = size[large] // last > HELD
    return found


def _refuse(name: str, given: NDArray[Any], rounded: Bools) -> None:
    if rounded.any():
        odd, kind = given[rounded].flat[0], "" if given.dtype.kind == "O" else f"{given.dtype} "
        raise ValueError(f"{name} must hold numbers that float64 holds exactly; got {kind}{odd!s}.")
