"""A classifier for rows on disk equals the one for rows in memory, and stays below its budget."""

import pickle
import subprocess
import sys
import threading

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import setwise
from setwise import FileClassifier
from setwise.core.refusal import BrokenPromise, Refusal
from setwise.datasets.budget import GATHERED, KEPT, Budget
from setwise.datasets.parquet_blocks import joined
from setwise.estimators.file_rows import placed_rows
from setwise.models import RowBlock
from setwise.risks.places import Each
from setwise.risks.stored import Blocks, Stored

RNG = np.random.default_rng(0)
N, D = 400, 5
X = RNG.normal(size=(N, D))
Y = (X[:, 0] - 0.5 * X[:, 1] + 0.5 * RNG.normal(size=N) > 0.6).astype(int)
SORTED = np.sort(RNG.integers(0, 30, N))
GROUPS = {"one set": None, "sorted": SORTED, "falling": SORTED[::-1].copy(), "mixed": RNG.permutation(SORTED)}
SIZES = (100, 1, 7, 92, 60, 60, 40, 40)
FRAME = pd.DataFrame(X, columns=list("abcde")).assign(y=Y)
MEMORY = 200_000
"""Enough for the scores of all rows, and for all of them as one block; tests of blocks cut it down."""


def blocks_of(rows, row=8 * D, n=N, least=1):
    """The memory for which blocks have so many rows at most."""
    return KEPT * n + 2 * row * (rows + least)


SMALL = blocks_of(110, least=100)


def stored(frame, path, sizes=SIZES):
    """The frame in row groups of these sizes."""
    table = pa.Table.from_pandas(frame, preserve_index=False)
    with pq.ParquetWriter(path, table.schema) as file:
        for first, size in zip(np.cumsum((0, *sizes)), sizes, strict=False):
            file.write_table(table.slice(first, size), row_group_size=size)
    return str(path)


@pytest.fixture
def path(tmp_path):
    return stored(FRAME, tmp_path / "rows.parquet")


def mapped(array, path):
    np.save(path, array)
    return np.load(path, mmap_mode="r")


def assert_same(model, wanted):
    """Both objectives lie between the bounds of the other fit."""
    assert (model.status_, model.surrogate_, model.C_) == ("converged", wanted.surrogate_, wanted.C_)
    assert model.lower_bound_ <= wanted.objective_ * (1 + 1e-9)
    assert wanted.lower_bound_ <= model.objective_ * (1 + 1e-9)


@pytest.mark.parametrize("loss", ["jaccard", "f1"])
@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("kind", ["Parquet", "array"])
def test_the_fit_equals_the_one_in_memory(loss, groups, kind, tmp_path):
    ids = GROUPS[groups]
    # Sets that span blocks are evaluated in one place here: the budget leaves room for that.
    model = FileClassifier(loss, tol=1e-4, memory=KEPT * N + GATHERED * N)
    if kind == "Parquet":
        frame = FRAME if ids is None else FRAME.assign(g=ids)
        args = (stored(frame, tmp_path / "rows.parquet"), "y", None if ids is None else "g")
    else:
        args = (mapped(X, tmp_path / "X.npy"), Y, ids)
    model.memory = max(model.memory, SMALL)
    found = placed_rows(*args, None, Budget.of(model.memory), 1)
    assert found.places.count > 1
    model.fit(*args)
    wanted = setwise.SetClassifier(loss, "convex", tol=1e-4).fit(X, Y, groups=ids)
    assert_same(model, wanted)
    local = model.to_local()
    assert model.score(*args) == pytest.approx(local.score(X, Y, ids), abs=1e-12)
    np.testing.assert_allclose(model.decision_function(args[0]), local.decision_function(X), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.predict(args[0]), local.predict(X))
