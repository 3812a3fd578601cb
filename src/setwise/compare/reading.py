"""Read the files of a comparison: the table to learn from, and further rows to judge by."""

from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from setwise.compare.problem import Problem
from setwise.datasets import load_table


def read(data: str, target: str | None, group: str | None, positive: str | None, drop: str | None) -> Problem:
    """The problem of a file; ValueError or OSError in one sentence where it cannot be read."""
    held, name = load_table(data, target, group, positive, drop), Path(data).name
    X, features = held.X, held.features
    if issparse(X):
        # Weights are dense, so columns that never occur would take memory and time in every model.
        columns, places = np.unique(X.indices, return_inverse=True)
        X = csr_matrix((X.data, places, X.indptr), shape=(X.shape[0], max(len(columns), 1)))
        features = tuple(f"feature {column}" for column in columns.tolist())
    return Problem(
        name, f"Read from {name}.", X, held.y, held.groups, held.classes,
        features=features, columns=held.columns, notes=held.notes,
    )  # fmt: skip


def read_test(path: str, problem: Problem, options: Any) -> Problem:
    """Further rows with the columns of the problem."""
    raise ValueError("--test is not there yet.")
