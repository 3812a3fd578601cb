"""NumPy archives with ``X``, ``y`` and ``groups``, or ``Y`` and ``label_names``; and the svmlight format."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.datasets import load_svmlight_file

from setwise.core.checks import Values
from setwise.core.exceptions import reason_of
from setwise.datasets.columns import refuse_missing

Labels = tuple[str, ...]

Arrays = dict[str, NDArray[Any]]

Ids = NDArray[Any] | None

CSR = ("X_data", "X_indices", "X_indptr", "X_shape")


def read_arrays(path: Path) -> Arrays:
    """All arrays of the archive by name; nothing is unpickled, since that could run code."""
    with path.open("rb") as file:
        try:
            with np.load(file, allow_pickle=False) as archive:
                return {name: np.asarray(archive[name]) for name in archive.files}
        # Damaged bytes make zipfile, the decompressors and NumPy raise almost any exception.
        except Exception as error:
            raise ValueError(f"{path.name} is not an archive of plain arrays: {reason_of(error)}.") from None


def _real(values: NDArray[Any]) -> NDArray[np.float64]:
    """Real numbers as float64; others are refused, since complex ones would lose their imaginary part."""
    if values.dtype.kind not in "biuf":
        raise ValueError(f"its numbers are {values.dtype}, not real.")
    return np.asarray(values, dtype=np.float64)


def _sparse(data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: NDArray[Any]) -> csr_matrix:
    """A CSR matrix from its four arrays, checked."""
    for name, part in zip(CSR[1:], (indices, indptr, shape), strict=True):
        # SciPy would cut fractional indices off.
        if part.dtype.kind not in "iu":
            raise ValueError(f"{name} must hold whole numbers; it holds {part.dtype}.")
    if shape.shape != (2,):
        raise ValueError(f"X_shape must hold two numbers; its shape is {shape.shape}.")
    X = csr_matrix((_real(data), indices, indptr), shape=tuple(shape.tolist()))
    # Indices out of range would read foreign memory in products.
    X.check_format(full_check=True)
    X.sum_duplicates()
    return X


def target_of(arrays: Arrays, target: Labels | None, file: str) -> tuple[NDArray[Any], Labels]:
    """The target, (n,) or (n, p), and the names of its labels.

    It is ``y`` (n,) or ``Y`` (n, p), or the array or those labels of ``label_names`` that ``target`` names.
    """
    names: Labels = tuple(map(str, arrays["label_names"].ravel())) if {"Y", "label_names"} <= {*arrays} else ()
    if names and (arrays["Y"].ndim != 2 or len(names) != arrays["Y"].shape[1] or len(set(names)) < len(names)):
        held = f"it holds {len(names)} and Y has shape {arrays['Y'].shape}"
        raise ValueError(f"label_names of {file} must hold a name of its own for each column of Y; {held}.")
    # Names of labels come first, then names of arrays, then the usual names y and Y.
    if target is not None and all(t in names for t in target):
        Y = arrays["Y"][:, [names.index(t) for t in target]]
        return (Y, target) if len(target) > 1 else (Y[:, 0], target)
    if target is not None and (len(target) > 1 or target[0] not in arrays):
        odd = next(t for t in target if t not in names)
        known = f"labels {', '.join(names)}" if names else f"arrays {', '.join(arrays)}"
        raise ValueError(f"{file} has no label {odd!r}; it has the {known}.")
    name = target[0] if target else next((n for n in ("y", "Y") if n in arrays), None)
    if name is None:
        raise ValueError(f"{file} must hold the target as y or Y; it holds {', '.join(arrays)}. Name it with --target.")
    y = arrays[name]
    if y.ndim not in (1, 2) or y.size == 0:
        raise ValueError(f"{name} of {file} must have shape (n,) or (n, p); got {y.shape}.")
    if y.ndim == 2 and y.shape[1] > 1:
        return y, names if name == "Y" and names else tuple(f"label {j}" for j in range(y.shape[1]))
    # A matrix of one column is a vector of labels.
    return y.ravel(), (name,)


def features_and_groups(arrays: Arrays, group: str | None, file: str) -> tuple[Any, Ids]:
    """The matrix of features, and the ids of the sets, (n,), or None if the archive holds none.

    The features are ``X`` (n, d) as float64, either dense or a CSR matrix from ``X_data, X_indices, X_indptr,
    X_shape``.
    """
    if "X" not in arrays and not all(part in arrays for part in CSR):
        raise ValueError(f"{file} must hold an array X (or {', '.join(CSR)}); it holds {', '.join(arrays)}.")
    try:
        X = _real(arrays["X"]) if "X" in arrays else _sparse(*(arrays[part] for part in CSR))
    except ValueError as error:
        raise ValueError(f"the features of {file} are not a matrix of numbers: {error}") from None
    if X.ndim != 2 or min(X.shape) == 0:
        raise ValueError(f"X of {file} must have shape (n, d) with n, d >= 1; got {X.shape}.")
    if not np.isfinite(X if isinstance(X, np.ndarray) else X.data).all():
        raise ValueError(f"X of {file} holds NaN or inf.")
    name = group or "groups"
    if group is None and name not in arrays:
        return X, None
    if name not in arrays:
        raise ValueError(f"{file} has no array {name!r} for the groups; it has {', '.join(arrays)}.")
    groups = arrays[name]
    if groups.shape != X.shape[:1] or groups.dtype.kind not in "biufUSmM":
        got = f"got {groups.dtype} of shape {groups.shape}"
        raise ValueError(f"the groups of {file} must be ids of shape (n,), of the {X.shape[0]} rows of X; {got}.")
    refuse_missing(groups, f"the array {name!r} of {file}")
    return X, groups


def read_svmlight(path: Path, group: str | None = None, first: int | None = None) -> tuple[Any, Values, Ids, int]:
    """Read ``X``, a CSR matrix (n, d), ``y`` (n,), the ``qid`` of each row or None, and the index of the first feature.

    Each line is one row. Indices count from ``first``; None means from 0 if index 0 occurs, and otherwise from 1. The
    only ``group`` is ``qid``, which is read wherever it is. Raises ValueError with a sentence.
    """
    try:
        X, y, queries = load_svmlight_file(str(path), query_id=True, zero_based=True)
    except (ValueError, OverflowError) as error:
        form = "lines 'label [qid:number] index:value ...', with whole numbers for index and qid"
        raise ValueError(f"{path.name} must hold {form}: {str(error).rstrip('.')}.") from None
    if not len(y):
        raise ValueError(f"{path.name} holds no rows.")
    if len(queries) not in (0, len(y)):
        raise ValueError(f"{path.name} has a qid in {len(queries)} of its {len(y)} rows; give it in all or in none.")
    if group not in (None, "qid") or (group and not len(queries)):
        raise ValueError(f"{path.name} has no group {group!r}: that of svmlight is the qid of each row.")
    if not np.isfinite(X.data).all():
        raise ValueError(f"{path.name} holds NaN or inf among its values.")
    # The format counts from 1, but many files count from 0.
    least = int(X.indices.min(initial=1))
    first = least if first is None else first
    if least < first:
        raise ValueError(f"{path.name} has a feature of index 0, and its indices must count from {first}.")
    return X[:, first:], y, queries if len(queries) else None, first
