"""The svmlight format: ``label [qid:q] index:value ... # comment``."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix


def read_svmlight(path: Path) -> tuple[csr_matrix, NDArray[np.float64], NDArray[np.int64] | None]:
    """``X`` CSR (n, d), ``y`` (n,) and the ``qid`` of each row or None; one line is one row.

    Indices count from 1, or from 0 where index 0 occurs. Raises ValueError naming the line that is wrong.
    """
    labels: list[float] = []
    queries: list[int] = []
    indices: list[int] = []
    values: list[float] = []
    starts = [0]
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            words = line.split("#", 1)[0].split()
            if not words:
                continue
            try:
                labels.append(float(words[0]))
                pairs = [word.split(":") for word in words[1:]]
                if pairs and pairs[0][0] == "qid":
                    queries.append(int(pairs.pop(0)[1]))
                indices += [int(np.int64(int(i))) for i, _ in pairs]
                values += [float(v) for _, v in pairs]
            except (ValueError, IndexError, OverflowError):
                raise ValueError(f"line {number} of {path.name} is not 'label [qid:number] index:value ...'.") from None
            starts.append(len(indices))
    if not labels:
        raise ValueError(f"{path.name} holds no rows.")
    if queries and len(queries) != len(labels):
        raise ValueError(
            f"{path.name} has a qid in {len(queries)} of its {len(labels)} rows; give it in all or in none."
        )
    if not np.isfinite(values).all():
        raise ValueError(f"{path.name} holds NaN or inf among its values.")
    columns = np.array(indices, dtype=np.int64)
    if (columns < 0).any():
        raise ValueError(f"{path.name} has a negative feature index, {columns.min()}.")
    columns -= 0 if (columns == 0).any() or len(columns) == 0 else 1
    shape = (len(labels), int(columns.max(initial=0)) + 1)
    X = csr_matrix((np.array(values), columns, np.array(starts)), shape=shape)
    X.sum_duplicates()
    return X, np.array(labels), np.array(queries) if queries else None
