"""Checks of targets and of ids of groups, which may be lists, columns of pandas, or strings."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from setwise.core.checks import refuse_masked

KINDS = "biufUSOmM"
"""The kinds of NumPy arrays that may hold labels and ids: numbers, text, dates, and objects that are such."""


def as_target(y: Any, name: str = "y") -> NDArray[Any]:
    """``y`` as an array of labels of one kind, without a cast that would make different labels equal.

    Raises
    ------
    ValueError : for sparse matrices, ragged sequences, missing or masked values, and labels of several kinds
    """
    refuse_masked(y, name)
    if y is None or issparse(y):
        what = "None" if y is None else "a sparse matrix: pass Y.toarray()"
        raise ValueError(f"{name} must be a dense array of labels, (n,) or (n, p); got {what}.")
    try:
        array = np.asarray(y)
    except ValueError:
        raise ValueError(f"{name} must be an array of labels, (n,) or (n, p); got a ragged sequence.") from None
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: {name} must hold numbers, text or dates.")
    if array.dtype.kind not in KINDS:
        raise ValueError(f"{name} must hold numbers, text or dates; got dtype {array.dtype}.")
    if array.dtype.kind in "US" and isinstance(y, list | tuple):
        # NumPy turns numbers into text if they are in one list with text.
        kinds = {_kind(value) for value in np.asarray(y, dtype=object).ravel().tolist()}
        if len(kinds) > 1:
            raise ValueError(f"{name} must hold labels of one type; got {' and '.join(sorted(kinds))}.")
    if array.dtype.kind in "mM" and np.isnat(array).any():
        raise ValueError(f"{name} must not hold NaT.")
    return _plain(array, name) if array.dtype.kind == "O" else array


def as_known(y: Any, shape: tuple[int, ...], known: list[Any]) -> NDArray[Any]:
    """``y`` as labels among those ``known``, in the shape of the predictions; ValueError for others."""
    target = as_target(y)
    if len(shape) == 1 and target.ndim == 2 and target.shape[1] == 1:
        target = target.ravel()
    if target.shape != shape:
        raise ValueError(f"y must have the shape of predict(X), {shape}; got shape {target.shape}.")
    odd = [label for label in target.ravel().tolist() if label not in known]
    if odd:
        raise ValueError(f"y must hold the labels {known} that were fitted; got {odd[0]!r}.")
    return target


def column_names(y: Any, p: int) -> NDArray[Any]:
    """The names of the p columns of a table, or 0..p-1 if they have no names."""
    names = getattr(y, "columns", None)
    if names is None or len(names) != p or not all(isinstance(name, str) for name in names):
        return np.arange(p)
    return np.array([str(name) for name in names])


def as_ids(groups: Any, n: int, unit: str = "row") -> NDArray[np.int64]:
    """The numbers 0, 1, 2, ... of the sorted distinct ids, (n,); different ids get different numbers.

    Raises
    ------
    ValueError : for missing or masked ids, a wrong shape, and ids of several types or of a type that cannot be sorted
    """
    refuse_masked(groups, "groups")
    try:
        ids = np.asarray(groups)
    except ValueError:
        raise ValueError(f"groups must be plain ids, one for each {unit}; got a ragged sequence.") from None
    if ids.shape != (n,):
        raise ValueError(f"groups must have shape ({n},), one for each {unit}; got shape {ids.shape}.")
    if ids.dtype.kind not in KINDS:
        raise ValueError(f"groups must be numbers, text or dates; got dtype {ids.dtype}.")
    if ids.dtype.kind in "mM" and np.isnat(ids).any():
        raise ValueError("groups must not hold NaT.")
    if ids.dtype.kind == "f" and not np.isfinite(ids).all():
        raise ValueError("groups must not hold NaN or inf.")
    if isinstance(groups, list | tuple) or ids.dtype.kind == "O":
        # NumPy would cast a list of several kinds to one: 1 and "1" would be equal, and so would 2^53 and 2^53 + 1
        # beside 0.5.
        values = list(groups)
        if any(is_missing(value) for value in values):
            raise ValueError("groups must not hold missing values.")
        kinds = {_kind(value) for value in values}
        if len(kinds) > 1:
            raise ValueError(f"groups must be ids of one type; got {' and '.join(sorted(kinds))}.")
        try:
            order = {value: i for i, value in enumerate(sorted(set(values)))}
        except TypeError:
            raise ValueError("groups must be ids of one type that can be sorted, as numbers or strings.") from None
        return np.array([order[value] for value in values], dtype=np.int64)
    return np.unique(ids, return_inverse=True)[1].astype(np.int64)


def _plain(array: NDArray[Any], name: str) -> NDArray[Any]:
    """An array of objects as an array of the narrowest kind that holds them all, or unchanged if there is none."""
    values = array.ravel().tolist()
    if any(is_missing(value) for value in values):
        raise ValueError(f"{name} must not hold missing values.")
    kinds = {_kind(value) for value in values}
    # Whole numbers may stand beside truth values, and floats beside both, because equal ones stay equal.
    if kinds <= {"truth values"}:
        return array.astype(np.bool_)
    if kinds <= {"truth values", "whole numbers"}:
        return array.astype(np.int64)
    if kinds <= {"truth values", "whole numbers", "numbers"}:
        return array.astype(np.float64)
    if kinds == {"text"}:
        return array.astype(np.str_)
    return array


def is_missing(value: Any) -> bool:
    """Whether a value is None, NaN, NaT or pandas.NA."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        # pandas.NA is neither equal nor unequal to itself.
        return True


def _kind(value: Any) -> str:
    """The kind of a label or id, in the words of the refusals."""
    # A bool is an int in Python, so it is asked for first.
    if isinstance(value, bool | np.bool_):
        return "truth values"
    if isinstance(value, int | np.integer):
        return "whole numbers"
    if isinstance(value, float | np.floating):
        return "numbers"
    return "text" if isinstance(value, str) else type(value).__name__
