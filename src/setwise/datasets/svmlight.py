"""Read the svmlight format, ``label [qid:q] index:value ... # comment``."""

import math
from array import array
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

LARGEST = 2**63 - 2
"""The largest feature index, since the number of columns must be a 64-bit integer too."""


def read_svmlight(
    path: Path, first: int | None = None
) -> tuple[csr_matrix, NDArray[np.float64], NDArray[np.int64] | None, int]:
    """Read ``X``, a CSR matrix (n, d), ``y`` (n,), the ``qid`` of each row or None, and the index of the first feature.

    Each line is one row. Indices count from ``first``; None means from 0 if index 0 occurs, and otherwise from 1.
    Raises ValueError that names the wrong line.
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
                try:
                    label, query, row = _row(words)
                except _LineError as wrong:
                    raise ValueError(f"line {number} of {path.name} {wrong}.") from None
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
        raise ValueError(
            f"{path.name} has a qid in {len(queries)} of its {len(labels)} rows; give it in all or in none."
        )
    columns = np.array(indices, dtype=np.int64)
    # The format counts from 1, but many files count from 0.
    zero = bool((columns == 0).any())
    if first is None:
        first = 0 if zero else 1
    if zero and first > 0:
        raise ValueError(f"{path.name} has a feature of index 0, and its indices must count from {first}.")
    columns -= first
    X = csr_matrix((np.array(values), columns, np.array(starts)), shape=(len(labels), int(columns.max(initial=0)) + 1))
    X.sort_indices()
    return X, np.array(labels), np.array(queries) if queries else None, first


class _LineError(Exception):
    """The defect of a line; the message continues a sentence that begins with the number of the line."""


def _row(words: list[str]) -> tuple[float, int | None, dict[int, float]]:
    """The label, the qid or None, and the values by feature index of one line."""
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
        raise _LineError("is not 'label [qid:number] index:value ...', with whole numbers for index and qid") from None
    # The dictionary holds one value for each index, so it is shorter where an index occurs twice.
    if len(row) < len(pairs):
        raise _LineError("has a feature index twice")
    if row and min(row) < 0:
        raise _LineError(f"has a negative feature index, {min(row)}")
    if row and max(row) > LARGEST:
        raise _LineError(f"has a feature index of {max(row)}; the largest that can be is {LARGEST}")
    if query is not None and not -(2**63) <= query < 2**63:
        raise _LineError(f"has the qid {query}, which is no 64-bit integer")
    if not all(map(math.isfinite, row.values())):
        raise _LineError("holds NaN or inf among its values")
    return label, query, row
