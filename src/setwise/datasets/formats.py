"""NumPy archives with ``X``, ``y`` and ``groups``, or ``Y`` and ``label_names``; and the svmlight format."""

import math
import zipfile
from array import array
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from setwise.core.checks import Values
from setwise.datasets.columns import refuse_missing

Labels = tuple[str, ...]

Arrays = dict[str, NDArray[Any]]

Ids = NDArray[Any] | None

MOST_TIMES, ANYWAY = 100, 1 << 28
"""Archives are unpacked to so many times their size, and to so many bytes in any case."""

CSR = ("X_data", "X_indices", "X_indptr", "X_shape")


def read_npz(path: Path, target: Labels | None, group: str | None) -> tuple[Any, NDArray[Any], Ids, Labels]:
    """Read the features, the target, the groups or None, and the names of the labels.

    The features are ``X`` (n, d) as float64, either dense or a CSR matrix from ``X_data, X_indices, X_indptr,
    X_shape``. The target is ``y`` (n,) or ``Y`` (n, p), or the array or those labels of ``label_names`` that
    ``target`` names. Raises ValueError with a sentence. Archives with pickled objects are refused.
    """
    arrays = read_arrays(path)
    X, groups = features_and_groups(arrays, group, path.name)
    y, labels = _target(arrays, target, path.name)
    if groups is not None and np.may_share_memory(y, groups):
        raise ValueError(f"array {labels[0]!r} of {path.name} cannot be the target and the group at once.")
    if len(y) != X.shape[0]:
        raise ValueError(f"the target of {path.name} has {len(y)} rows and X has {X.shape[0]}.")
    return X, y, groups, labels


def read_arrays(path: Path) -> Arrays:
    """All arrays of the archive by name; nothing is unpickled, since that could run code."""
    with path.open("rb") as file:
        try:
            with zipfile.ZipFile(file) as archive:
                names = [info.filename for info in archive.infolist()]
                # NumPy writes no comments. A comment is made of other entries, which a damaged length has swallowed.
                if len(set(names)) < len(names) or any(info.comment for info in archive.infolist()):
                    raise ValueError("its directory is damaged")
                unpacked, packed = sum(info.file_size for info in archive.infolist()), path.stat().st_size
                # A small file must not fill the memory.
                if unpacked > max(MOST_TIMES * packed, ANYWAY):
                    what = f"it is {unpacked / packed:,.0f} times as large when unpacked, {unpacked:,} bytes"
                    raise ValueError(f"{what}: write it by np.savez, or as {', '.join(CSR)}")
                return {name.removesuffix(".npy"): _array(archive, name) for name in names}
        # Damaged bytes make zipfile, the decompressors and NumPy raise almost any exception.
        except Exception as error:
            why = " ".join(str(error).split()).rstrip(".") or type(error).__name__
            raise ValueError(f"{path.name} is not an archive of plain arrays: {why}.") from None


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


def _features(arrays: Arrays, file: str) -> Any:
    """The matrix of features, checked."""
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
    return X


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


def _target(arrays: Arrays, target: Labels | None, file: str) -> tuple[NDArray[Any], Labels]:
    """The target, (n,) or (n, p), and the names of its labels."""
    names = _label_names(arrays, file)
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


def _label_names(arrays: Arrays, file: str) -> Labels:
    """The names of the columns of ``Y``; () if there are none."""
    if "Y" not in arrays or "label_names" not in arrays:
        return ()
    names, Y = tuple(str(name) for name in arrays["label_names"].ravel()), arrays["Y"]
    if Y.ndim != 2 or len(names) != Y.shape[1] or len(set(names)) < len(names):
        held = f"it holds {len(names)} and Y has shape {Y.shape}"
        raise ValueError(f"label_names of {file} must hold a name of its own for each column of Y; {held}.")
    return names


def features_and_groups(arrays: Arrays, group: str | None, file: str) -> tuple[Any, Ids]:
    """The matrix of features, and the ids of the sets, (n,), or None if the archive holds none."""
    X, name = _features(arrays, file), group or "groups"
    if group is None and name not in arrays:
        return X, None
    if name not in arrays:
        raise ValueError(f"{file} has no array {name!r} for the groups; it has {', '.join(arrays)}.")
    groups = arrays[name]
    if groups.ndim != 1 or groups.dtype.kind not in "biufUSmM":
        raise ValueError(f"the groups of {file} must be ids of shape (n,); got {groups.dtype} of shape {groups.shape}.")
    refuse_missing(groups, f"the array {name!r} of {file}")
    if len(groups) != X.shape[0]:
        raise ValueError(f"the groups of {file} have {len(groups)} rows and X has {X.shape[0]}.")
    return X, groups


LARGEST = 2**63 - 2
"""The largest feature index, since the number of columns must be a 64-bit integer too."""


def read_svmlight(path: Path, group: str | None = None, first: int | None = None) -> tuple[Any, Values, Ids, int]:
    """Read ``X``, a CSR matrix (n, d), ``y`` (n,), the ``qid`` of each row or None, and the index of the first feature.

    Each line is one row. Indices count from ``first``; None means from 0 if index 0 occurs, and otherwise from 1. The
    only ``group`` is ``qid``, which is read wherever it is. Raises ValueError that names the wrong line.
    """
    # Typed arrays take 8 bytes for a number; lists of Python numbers take several times as much.
    labels, values = array("d"), array("d")
    queries, indices, starts = array("q"), array("q"), array("q", [0])
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                words = line.split("#", 1)[0].split()
                if not words:
                    continue
                label, query, row = _row(words, f"line {number} of {path.name}")
                labels.append(label)
                if query is not None:
                    queries.append(query)
                indices.extend(row)
                values.extend(row.values())
                starts.append(len(indices))
    except UnicodeDecodeError:
        raise ValueError(f"{path.name} is not a text file in UTF-8.") from None
    if not labels:
        raise ValueError(f"{path.name} holds no rows.")
    if queries and len(queries) != len(labels):
        held = f"{len(queries)} of its {len(labels)} rows"
        raise ValueError(f"{path.name} has a qid in {held}; give it in all or in none.")
    if group not in (None, "qid") or (group and not queries):
        raise ValueError(f"{path.name} has no group {group!r}: that of svmlight is the qid of each row.")
    columns = np.array(indices, dtype=np.int64)
    # The format counts from 1, but many files count from 0.
    least = int(columns.min(initial=1))
    first = least if first is None else first
    if least < first:
        raise ValueError(f"{path.name} has a feature of index 0, and its indices must count from {first}.")
    columns -= first
    X = csr_matrix((np.array(values), columns, np.array(starts)), shape=(len(labels), int(columns.max(initial=0)) + 1))
    X.sort_indices()
    return X, np.array(labels), np.array(queries) if queries else None, first


def _row(words: list[str], line: str) -> tuple[float, int | None, dict[int, float]]:
    """The label, the qid or None, and the values by feature index of one ``line``; ValueError that begins with it."""
    row: dict[int, float] = {}
    query = None
    try:
        # Python reads 1_000 as a number, but in a file it is a mistake.
        words = [word.replace("_", "?") for word in words]
        label, pairs = float(words[0]), [word.split(":") for word in words[1:]]
        if pairs and pairs[0][0] == "qid":
            query = int(pairs.pop(0)[1])
        for index, value in pairs:
            row[int(index)] = float(value)
    except (ValueError, IndexError):
        form = "'label [qid:number] index:value ...', with whole numbers for index and qid"
        raise ValueError(f"{line} is not {form}.") from None
    # The dictionary holds one value for each index, so it is shorter where an index occurs twice.
    if len(row) < len(pairs):
        raise ValueError(f"{line} has a feature index twice.")
    if row and min(row) < 0:
        raise ValueError(f"{line} has a negative feature index, {min(row)}.")
    if row and max(row) > LARGEST:
        raise ValueError(f"{line} has a feature index of {max(row)}; the largest that can be is {LARGEST}.")
    if query is not None and not -(2**63) <= query < 2**63:
        raise ValueError(f"{line} has the qid {query}, which is no 64-bit integer.")
    if not all(map(math.isfinite, row.values())):
        raise ValueError(f"{line} holds NaN or inf among its values.")
    return label, query, row
