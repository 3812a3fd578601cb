"""Read NumPy archives with ``X``, ``y`` and ``groups``, or with a label matrix ``Y`` and ``label_names``."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from setwise.datasets.missing import refuse_missing

Labels = tuple[str, ...]
Arrays = dict[str, NDArray[Any]]

MOST_TIMES, ANYWAY = 100, 1 << 28
"""Archives are unpacked to so many times their size, and to so many bytes in any case."""

CSR = ("X_data", "X_indices", "X_indptr", "X_shape")


def read_npz(
    path: Path, target: Labels | None, group: str | None
) -> tuple[Any, NDArray[Any], NDArray[Any] | None, Labels]:
    """Read the features, the target, the groups or None, and the names of the labels.

    The features are ``X`` (n, d) as float64, either dense or a CSR matrix from ``X_data, X_indices, X_indptr,
    X_shape``. The target is ``y`` (n,) or ``Y`` (n, p), or the array or those labels of ``label_names`` that
    ``target`` names. Raises ValueError with a sentence. Archives with pickled objects are refused.
    """
    arrays = read_arrays(path)
    X = _features(arrays, path)
    y, labels = _target(arrays, target, path)
    groups = _groups(arrays, group, path)
    if groups is not None and np.may_share_memory(y, groups):
        raise ValueError(f"array {labels[0]!r} of {path.name} cannot be the target and the group at once.")
    for name, array in (("target", y), ("groups", groups)):
        if array is not None and len(array) != X.shape[0]:
            raise ValueError(f"the {name} of {path.name} has {len(array)} rows and X has {X.shape[0]}.")
    return X, y, groups, labels


def read_npz_rows(path: Path, group: str | None) -> tuple[Any, NDArray[Any] | None]:
    """Read the features as :func:`read_npz` does, and the groups or None, from an archive that may have no target."""
    arrays = read_arrays(path)
    X, groups = _features(arrays, path), _groups(arrays, group, path)
    if groups is not None and len(groups) != X.shape[0]:
        raise ValueError(f"the groups of {path.name} have {len(groups)} rows and X has {X.shape[0]}.")
    return X, groups


def read_arrays(path: Path) -> Arrays:
    """All arrays of the archive by name; nothing is unpickled, since that could run code."""
    with path.open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                names = [info.filename for info in archive.infolist()]
                # NumPy writes no comments. A comment is made of other entries, which a damaged length has swallowed.
                if len(set(names)) < len(names) or any(info.comment for info in archive.infolist()):
                    raise ValueError("its directory is damaged")
                _refuse_bomb(sum(info.file_size for info in archive.infolist()), path.stat().st_size)
                return {name.removesuffix(".npy"): _array(archive, name) for name in names}
        # Damaged bytes make zipfile, the decompressors and NumPy raise almost any exception.
        except Exception as error:
            why = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            raise ValueError(f"{path.name} is not an archive of plain arrays: {why}.") from None


def _refuse_bomb(unpacked: int, packed: int) -> None:
    """Raise ValueError where much more is unpacked than the file holds: a small file must not fill the memory."""
    if unpacked > max(MOST_TIMES * packed, ANYWAY):
        raise ValueError(
            f"it is {unpacked / packed:,.0f} times as large when unpacked, {unpacked:,} bytes: write it by "
            f"np.savez, or as {', '.join(CSR)}"
        )


def _array(archive: zipfile.ZipFile, name: str) -> NDArray[Any]:
    """One array of the archive; ValueError if the member is not exactly one array without objects."""
    if not name.endswith(".npy"):
        raise ValueError(f"it holds {name!r}, which is no array")
    with archive.open(name) as member:
        array = np.lib.format.read_array(member, allow_pickle=False)
        # Reading to the end also makes zipfile compare the checksum.
        if member.read(1):
            raise ValueError(f"{name!r} goes on after its array")
    return np.asarray(array)


def _features(arrays: Arrays, path: Path) -> Any:
    """The matrix of features, checked."""
    if "X" not in arrays and not all(part in arrays for part in CSR):
        raise ValueError(f"{path.name} must hold an array X (or {', '.join(CSR)}); it holds {', '.join(arrays)}.")
    try:
        X = _real(arrays["X"]) if "X" in arrays else _sparse(*(arrays[part] for part in CSR))
    except ValueError as error:
        raise ValueError(f"the features of {path.name} are not a matrix of numbers: {error}") from None
    if X.ndim != 2 or min(X.shape) == 0:
        raise ValueError(f"X of {path.name} must have shape (n, d) with n, d >= 1; got {X.shape}.")
    if not np.isfinite(X if isinstance(X, np.ndarray) else X.data).all():
        raise ValueError(f"X of {path.name} holds NaN or inf.")
    return X


def _real(values: NDArray[Any]) -> NDArray[np.float64]:
    """Real numbers as float64; others are refused, since complex ones would lose their imaginary part."""
    if values.dtype.kind not in "biuf":
        raise ValueError(f"its numbers are {values.dtype}, not real.")
    return np.asarray(values, dtype=np.float64)


def _sparse(data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], shape: NDArray[Any]) -> csr_matrix:
    """A CSR matrix from its four arrays, checked."""
    for name, array in zip(CSR[1:], (indices, indptr, shape), strict=True):
        # SciPy would cut fractional indices off.
        if array.dtype.kind not in "iu":
            raise ValueError(f"{name} must hold whole numbers; it holds {array.dtype}.")
    if shape.shape != (2,):
        raise ValueError(f"X_shape must hold two numbers; its shape is {shape.shape}.")
    X = csr_matrix((_real(data), indices, indptr), shape=tuple(shape.tolist()))
    # Indices out of range would read foreign memory in products.
    X.check_format(full_check=True)
    X.sum_duplicates()
    return X


def _target(arrays: Arrays, target: Labels | None, path: Path) -> tuple[NDArray[Any], Labels]:
    """The target, (n,) or (n, p), and the names of its labels."""
    names = _label_names(arrays, path)
    # Names of labels come first, then names of arrays, then the usual names y and Y.
    if target is not None and all(t in names for t in target):
        Y = arrays["Y"][:, [names.index(t) for t in target]]
        return (Y, target) if len(target) > 1 else (Y[:, 0], target)
    if target is not None and (len(target) > 1 or target[0] not in arrays):
        odd = next(t for t in target if t not in names)
        known = f"labels {', '.join(names)}" if names else f"arrays {', '.join(arrays)}"
        raise ValueError(f"{path.name} has no label {odd!r}; it has the {known}.")
    name = target[0] if target else next((n for n in ("y", "Y") if n in arrays), None)
    if name is None:
        raise ValueError(
            f"{path.name} must hold the target as y or Y; it holds {', '.join(arrays)}. Name it with --target."
        )
    y = arrays[name]
    if y.ndim not in (1, 2) or y.size == 0:
        raise ValueError(f"{name} of {path.name} must have shape (n,) or (n, p); got {y.shape}.")
    if y.ndim == 2 and y.shape[1] > 1:
        return y, names if name == "Y" and names else tuple(f"label {j}" for j in range(y.shape[1]))
    # A matrix of one column is a vector of labels.
    return y.ravel(), (name,)


def _label_names(arrays: Arrays, path: Path) -> Labels:
    """The names of the columns of ``Y``; () if there are none."""
    if "Y" not in arrays or "label_names" not in arrays:
        return ()
    names, Y = tuple(str(name) for name in arrays["label_names"].ravel()), arrays["Y"]
    if Y.ndim != 2 or len(names) != Y.shape[1] or len(set(names)) < len(names):
        raise ValueError(
            f"label_names of {path.name} must hold a name of its own for each column of Y; "
            f"it holds {len(names)} and Y has shape {Y.shape}."
        )
    return names


def _groups(arrays: Arrays, group: str | None, path: Path) -> NDArray[Any] | None:
    """The ids of the sets, (n,), or None if the archive holds none."""
    if group is None and "groups" not in arrays:
        return None
    name = group or "groups"
    if name not in arrays:
        raise ValueError(f"{path.name} has no array {name!r} for the groups; it has {', '.join(arrays)}.")
    groups = arrays[name]
    if groups.ndim != 1 or groups.dtype.kind not in "biufUSmM":
        raise ValueError(
            f"the groups of {path.name} must be ids of shape (n,); got {groups.dtype} of shape {groups.shape}."
        )
    refuse_missing(groups, f"the array {name!r} of {path.name}")
    return groups
