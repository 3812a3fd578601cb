"""NumPy archives: ``X``, ``y`` and ``groups``, or a multi-label set with ``Y`` and ``label_names``."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

Labels = tuple[str, ...]


def read_npz(
    path: Path, target: Labels | None, group: str | None
) -> tuple[Any, NDArray[Any], NDArray[Any] | None, Labels]:
    """``X`` (n, d) float64, dense or CSR from ``X_data, X_indices, X_indptr, X_shape``; the target; groups; names of
    the labels.

    The target is ``y`` (n,) or ``Y`` (n, p), or the array that ``target`` names, or those labels of ``label_names``.
    Raises ValueError in a sentence. Archives with pickled objects are refused.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile, AttributeError) as error:
        raise ValueError(f"{path.name} is not an archive of plain arrays: {error}") from None
    X = _features(arrays, path)
    y, labels = _target(arrays, target, path)
    groups = None
    if group is not None or "groups" in arrays:
        groups = _array(arrays, group or "groups", path)
    for name, array in (("target", y), ("groups", groups)):
        if array is not None and len(array) != X.shape[0]:
            raise ValueError(f"the {name} of {path.name} has {len(array)} rows and X has {X.shape[0]}.")
    if groups is not None and groups.ndim != 1:
        raise ValueError(f"the groups of {path.name} must have shape (n,); got {groups.shape}.")
    return X, y, groups, labels


def _features(arrays: dict[str, NDArray[Any]], path: Path) -> Any:
    parts = ("X_data", "X_indices", "X_indptr", "X_shape")
    if "X" not in arrays and not all(p in arrays for p in parts):
        raise ValueError(f"{path.name} must hold an array X (or {', '.join(parts)}); it holds {', '.join(arrays)}.")
    try:
        if "X" in arrays:
            X = values = _real(arrays["X"])
        else:
            data, indices, indptr, shape = (arrays[p] for p in parts)
            X = csr_matrix((_real(data), indices, indptr), shape=tuple(shape.tolist()))
            X.check_format(full_check=True)
            X.sum_duplicates()
            values = X.data
    except ValueError as error:
        raise ValueError(f"the features of {path.name} are not a matrix of numbers: {error}") from None
    if X.ndim != 2 or min(X.shape) == 0:
        raise ValueError(f"X of {path.name} must have shape (n, d) with n, d >= 1; got {X.shape}.")
    if not np.isfinite(values).all():
        raise ValueError(f"X of {path.name} holds NaN or inf.")
    return X


def _real(values: NDArray[Any]) -> NDArray[np.float64]:
    if values.dtype.kind not in "biuf":
        raise ValueError(f"its numbers are {values.dtype}, not real.")
    return values.astype(np.float64)


def _target(arrays: dict[str, NDArray[Any]], target: Labels | None, path: Path) -> tuple[NDArray[Any], Labels]:
    names = tuple(str(n) for n in arrays["label_names"].ravel()) if "label_names" in arrays else ()
    if target is not None and "Y" in arrays and all(t in names for t in target):
        places = [names.index(t) for t in target]
        return (arrays["Y"][:, places] if len(places) > 1 else arrays["Y"][:, places[0]]), target
    if target is not None and (len(target) > 1 or target[0] not in arrays):
        odd = next(t for t in target if t not in names and t not in arrays) if len(target) > 1 else target[0]
        known = f"labels {', '.join(names)}" if names else f"arrays {', '.join(arrays)}"
        raise ValueError(f"{path.name} has no label {odd!r}; it has the {known}.")
    found = target[0] if target else next((n for n in ("y", "Y") if n in arrays), None)
    if found is None:
        raise ValueError(
            f"{path.name} must hold the target as y or Y; it holds {', '.join(arrays)}. Name it with --target."
        )
    y = arrays[found]
    if y.ndim == 2 and y.shape[1] > 1:
        return y, names if len(names) == y.shape[1] else tuple(f"label {j}" for j in range(y.shape[1]))
    if y.ndim > 2 or y.size == 0:
        raise ValueError(f"{found} of {path.name} must have shape (n,) or (n, p); got {y.shape}.")
    return y.ravel(), (found,)


def _array(arrays: dict[str, NDArray[Any]], name: str, path: Path) -> NDArray[Any]:
    if name not in arrays:
        raise ValueError(f"{path.name} has no array {name!r} for the groups; it has {', '.join(arrays)}.")
    return arrays[name]
