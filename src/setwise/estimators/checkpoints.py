"""What is fitted, as texts that another process finds too: fingerprints of data, and objects by their parameters."""

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED

from setwise.core.checkpoint import fingerprint

UNROUTED = {"checkpoint": UNUSED, "resume": UNUSED}
"""Metadata routing does not send these to ``fit``: one file belongs to one fit, and routes lead to many."""

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def of_rows(X: Any, y: Any, groups: Any, sample_weight: Any) -> dict[str, str]:
    """The fingerprints of the arguments of ``fit``; TypeError where X is neither an array nor a table; O(n d)."""
    rows = {"y": y, "groups": groups, "sample_weight": sample_weight}
    return {"X": fingerprint(*table_parts(X))} | {name: fingerprint(values) for name, values in rows.items()}


def described(value: Any) -> str:
    """``repr(value)`` without addresses, in which estimators show all their parameters, and arrays their content."""
    if isinstance(value, BaseEstimator):
        params = ", ".join(f"{name}={described(one)}" for name, one in value.get_params(deep=False).items())
        return f"{type(value).__name__}({params})"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}({', '.join(map(described, value))})"
    if isinstance(value, np.ndarray):
        return f"array({fingerprint(value)})"
    return ADDRESS.sub("", repr(value))


def table_parts(X: Any) -> Iterator[Any]:
    """The arrays that an array, a sparse matrix, a list of rows or a table with named columns consists of."""
    if issparse(X):
        rows = X.tocsr()
        yield from (X.format, rows.shape, rows.data, rows.indices, rows.indptr)
        return
    names = getattr(X, "columns", None)
    if names is None:
        yield X
        return
    for name in names:
        column = np.asarray(X[name])
        yield from (str(name), str(getattr(X[name], "dtype", "")), column)
