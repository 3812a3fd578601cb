"""A classifier for rows on disk equals the one for rows in memory, and stays below its budget."""

import mmap
import pickle
import subprocess
import sys
import tempfile
import threading
import warnings
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError

import setwise
from rounds import rounds
from setwise import FileClassifier, VacuousBoundWarning
from setwise.core.exceptions import BrokenPromise, Refusal
from setwise.datasets.blocks import IN_SET, KEPT, NAME, SET, Budget, joined
from setwise.distributed.classifier import PlacedLogistic
from setwise.distributed.file_classifier import placed_rows
from setwise.losses import Jaccard, MeanOverClasses, RecallAtK
from setwise.models import RowBlock
from setwise.risks import DistributedRisk, distributed_risk
from setwise.risks.places import FileObjects, FilePlaces, PlaceArguments
from setwise.surrogates import Ramp

RNG = np.random.default_rng(0)
N, D = 400, 30
X = RNG.normal(size=(N, D))
Y = (X[:, 0] - 0.5 * X[:, 1] + 0.5 * RNG.normal(size=N) > 0.6).astype(int)
SORTED = np.sort(RNG.integers(0, 30, N))
GROUPS = {"one set": None, "sorted": SORTED, "falling": SORTED[::-1].copy(), "mixed": RNG.permutation(SORTED)}
SIZES = (100, 1, 7, 92, 60, 60, 40, 40)
FRAME = pd.DataFrame(X, columns=[f"x{j}" for j in range(D)]).assign(y=Y)
BLOCKS = KEPT * N + 4 * 100 * 8 * D
"""A budget for blocks of at most 100 rows of a Parquet file and 199 of an array, and for all scores in one place."""

EDGES = {"Parquet": (0, 100, 200, 260, 360, 400), "array": (0, 199, 398, 400)}


def with_sets(ids, kind="Parquet", named=False):
    """The same budget with what the sets of these ids take beside the blocks."""
    if ids is None:
        return BLOCKS
    sets = sum(len(np.unique(ids[a:b])) for a, b in pairwise(EDGES[kind]))
    return BLOCKS + IN_SET * N + (SET + NAME * named) * sets


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


@pytest.mark.draw(32)
@pytest.mark.parametrize("loss", ["jaccard", "f1"])
@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("kind", ["Parquet", "array"])
@pytest.mark.parametrize("few", [20, 1 << 16])
def test_the_fit_equals_the_one_in_memory(loss, groups, kind, few, tmp_path, monkeypatch):
    # Sets of more than so many rows are evaluated in pieces.
    monkeypatch.setattr(distributed_risk, "FEW", few)
    ids = GROUPS[groups]
    memory = with_sets(ids, kind)
    model = FileClassifier(loss, "convex", tol=1e-3, memory=memory)
    if kind == "Parquet":
        frame = FRAME if ids is None else FRAME.assign(g=ids)
        args = (stored(frame, tmp_path / "rows.parquet"), "y", None if ids is None else "g")
    else:
        args = (mapped(X, tmp_path / "X.npy"), Y, ids)
    found = placed_rows(*args, None, Budget.of(memory), 1)
    assert found.places.count in ((2, 5) if kind == "Parquet" else (2, 3))
    model.fit(*args)
    wanted = setwise.SetClassifier(loss, "convex", tol=1e-3).fit(X, Y, groups=ids)
    assert_same(model, wanted)
    local, rows = model.to_local(), FRAME.drop(columns="y") if kind == "Parquet" else X
    assert model.score(*args) == pytest.approx(local.score(rows, Y, ids), abs=1e-12)
    np.testing.assert_allclose(model.decision_function(args[0]), local.decision_function(rows), rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(model.predict(args[0]), local.predict(rows))


@pytest.mark.slow
@pytest.mark.parametrize("few", [20, 1 << 16])
def test_the_ramp_of_one_set_is_as_good_as_in_memory(few, path, monkeypatch):
    monkeypatch.setattr(distributed_risk, "FEW", few)
    model, wanted = FileClassifier("f1", memory=BLOCKS).fit(path, "y"), setwise.SetClassifier("f1").fit(X, Y)
    assert (model.surrogate_, model.C_) == (wanted.surrogate_, wanted.C_)
    assert model.surrogate_ == "ramp"
    assert model.score(path, "y") >= wanted.score(X, Y) - 0.02


@pytest.mark.parametrize("kind", ["float32", "float16", "int16", "int64", "bool", "uint8", ">f4", "mixed"])
def test_numbers_of_all_kinds_stay_what_they_are(kind, tmp_path):
    numbers = (X * 100 if "int" in kind else X) if kind != "bool" else X > 0
    if kind == "mixed":
        frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1].astype(np.float32), "c": (X[:, 2] * 9).astype(np.int8)})
        found, wanted = stored(frame.assign(y=Y), tmp_path / "rows.parquet"), frame.to_numpy(np.float64)
        files = [(found, "y")]
    else:
        numbers = np.abs(numbers) if kind == "uint8" else numbers
        array = numbers.astype(kind)
        wanted, files = array.astype(np.float64), [(mapped(array, tmp_path / "X.npy"), Y), (array, Y)]
        if kind != ">f4":
            frame = pd.DataFrame(dict(zip(FRAME.columns, array.T, strict=False)))
            files.append((stored(frame.assign(y=Y), tmp_path / "rows.parquet"), "y"))
    for args in files:
        found = placed_rows(*args, None, None, Budget.of(BLOCKS), 1)
        rows = found.places.tell(lambda rows: rows, found.X)
        short = kind not in ("int64", "mixed")
        assert {block.dtype for block in rows} == {np.dtype(np.float32 if short else np.float64)}
        np.testing.assert_array_equal(np.concatenate(rows), wanted)


def test_memmaps_of_all_layouts(tmp_path):
    np.asfortranarray(X).T.tofile(tmp_path / "X.bin")
    with open(tmp_path / "behind.bin", "wb") as file:
        file.write(b"a head" + X.tobytes())
    np.save(tmp_path / "order.npy", np.asfortranarray(X))
    given = {
        "Fortran": np.load(tmp_path / "order.npy", mmap_mode="r"),
        "columns": np.memmap(tmp_path / "X.bin", np.float64, "r", shape=(D, N)).T,
        "behind a head": np.memmap(tmp_path / "behind.bin", np.float64, "r", 6, (N, D)),
        "a view": mapped(np.vstack([X, X]), tmp_path / "X.npy")[N:],
        "some columns": mapped(np.hstack([X, X]), tmp_path / "wide.npy")[:, D:],
        "written to": np.load(tmp_path / "X.npy", mmap_mode="c")[:N],
    }
    given["written to"][0, 0] = 7.0
    for name, array in given.items():
        found = placed_rows(array, Y, None, None, Budget.of(BLOCKS), 1)
        rows = np.concatenate(found.places.tell(np.array, found.X))
        wanted = X.copy()
        wanted[0, 0] = 7.0 if name == "written to" else X[0, 0]
        np.testing.assert_array_equal(rows, wanted, err_msg=name)


def test_the_file_that_was_mapped_is_read_even_if_another_one_has_its_name(tmp_path):
    array = mapped(X.astype(np.float32), tmp_path / "X.npy")
    np.save(tmp_path / "other.npy", np.zeros((N, D), dtype=np.float32))
    (tmp_path / "other.npy").rename(tmp_path / "X.npy")
    assert not np.load(tmp_path / "X.npy").any()
    found = placed_rows(array, Y, None, None, Budget.of(BLOCKS), 1)
    np.testing.assert_array_equal(np.concatenate(found.places.tell(np.array, found.X)), X.astype(np.float32))
    (tmp_path / "X.npy").unlink()
    found = placed_rows(array, Y, None, None, Budget.of(BLOCKS), 1)
    np.testing.assert_array_equal(np.concatenate(found.places.tell(np.array, found.X)), X.astype(np.float32))


@pytest.mark.parametrize("kind", ["int32", "int64", "float32", "float64"])
def test_files_without_a_name(kind):
    numbers = (100 * X).astype(kind)
    with tempfile.TemporaryFile() as file:
        array = np.memmap(file, kind, "w+", shape=(N, D))
        array[:] = numbers
        for one, wanted in ((array, numbers), (array[7:], numbers[7:])):
            found = placed_rows(one, Y[N - len(one) :], None, None, Budget.of(BLOCKS), 1)
            np.testing.assert_array_equal(np.concatenate(found.places.tell(np.array, found.X)), wanted)


def test_a_mapping_that_is_not_of_numpy():
    pages = mmap.mmap(-1, X.nbytes)
    array = np.frombuffer(pages, np.float64).reshape(N, D)
    array[:] = X
    for one in (array, array.astype(np.int32)):
        found = placed_rows(one, Y, None, None, Budget.of(BLOCKS), 1)
        np.testing.assert_array_equal(np.concatenate(found.places.tell(np.array, found.X)), one)


@cache
def of_arrays(named):
    """A fit to numbers as labels and as ids, with the memory that names would need or not."""
    return FileClassifier("jaccard", "convex", tol=1e-2, memory=with_sets(SORTED, named=named)).fit(X, Y, SORTED)


@pytest.mark.slow
@pytest.mark.draw(20)
@pytest.mark.parametrize("labels", ["text", "truth values", "codes", "floats"])
@pytest.mark.parametrize("ids", ["text", "dates", "floats", "codes", "uint64"])
def test_labels_and_ids_of_all_kinds(labels, ids, tmp_path):
    words = np.array(["no", "yes"])[Y]
    y = {"text": words, "truth values": Y == 1, "codes": pd.Categorical(words), "floats": Y + 0.5}[labels]
    names = np.array([f"set {i}" for i in SORTED])
    days = np.datetime64("2020-01-01") + SORTED.astype("m8[D]")
    g = {"text": names, "dates": days, "floats": SORTED / 4, "codes": pd.Categorical(names)}
    g["uint64"] = SORTED.astype(np.uint64) + np.uint64(2**63)
    path = stored(FRAME.assign(y=y, g=g[ids]), tmp_path / "rows.parquet")
    named = ids in ("text", "dates", "codes")
    model = FileClassifier("jaccard", "convex", tol=1e-2, memory=with_sets(SORTED, named=named)).fit(path, "y", "g")
    assert_same(model, of_arrays(named))
    assert model.classes_.tolist() == sorted(set(np.asarray(y).tolist()))
    local = model.to_local().score(FRAME.drop(columns="y"), np.asarray(y), SORTED)
    assert model.score(path, "y", "g") == pytest.approx(local, abs=1e-12)
    assert set(model.predict(path).tolist()) == set(model.classes_.tolist())


@pytest.mark.slow
def test_a_ranking_that_the_convex_surrogate_says_nothing_of_takes_the_ramp(tmp_path, monkeypatch):
    X, y = make_classification(6000, 8, weights=[0.95], random_state=4, flip_y=0.02)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)]).assign(y=y)
    file, loss = stored(frame, tmp_path / "rows.parquet", (6000,)), RecallAtK(100)
    found = FileClassifier(loss).fit(file, "y")
    same = FileClassifier(loss, "ramp").fit(file, "y")
    assert (found.surrogate_, found.status_) == ("ramp", "local")
    assert found.coef_.tolist() == same.coef_.tolist()
    with pytest.warns(VacuousBoundWarning, match="guarantees no smaller loss here than a constant prediction"):
        convex = FileClassifier(loss, "convex").fit(file, "y")
    assert not convex.coef_.any()
    # Ctrl-C in the start of the ramp stores what there is, and a later fit goes on.
    with monkeypatch.context() as patch:
        patch.setattr(PlacedLogistic, "_moments", interrupt)
        with pytest.raises(KeyboardInterrupt), pytest.warns(RuntimeWarning, match="had ended and was judged"):
            FileClassifier(loss).fit(file, "y", checkpoint=tmp_path / "fit.npz")
    after = FileClassifier(loss).fit(file, "y", checkpoint=tmp_path / "fit.npz", resume=True)
    assert after.coef_.tolist() == found.coef_.tolist()


def interrupt(self):
    raise KeyboardInterrupt


@pytest.mark.slow
def test_bits_do_not_depend_on_the_threads(path):
    found = []
    for n_jobs in (1, 2, 4):
        model = FileClassifier("jaccard", "convex", tol=1e-2, memory=BLOCKS, n_jobs=n_jobs).fit(path, "y")
        found.append((model.coef_.tobytes(), model.objective_, model.lower_bound_))
    assert found[0] == found[1] == found[2]


@pytest.mark.slow
@pytest.mark.draw(2)
@pytest.mark.parametrize("ids", [None, "g"])
def test_a_fit_goes_on_from_a_checkpoint(ids, tmp_path, monkeypatch):
    frame = FRAME.assign(g=[f"set {i}" for i in SORTED])
    args, file = (stored(frame, tmp_path / "rows.parquet"), "y", ids), tmp_path / "fit.npz"
    named = [f"x{j}" for j in range(D)]
    memory = with_sets(None if ids is None else SORTED, named=True)
    model = FileClassifier("jaccard", "convex", tol=1e-2, memory=memory)
    full, half = clone(model).fit(*args, named), clone(model)
    cut, calls = DistributedRisk.cut, []

    def stopped(self, w, tol=0.0):
        calls.append(w)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return cut(self, w, tol)

    with monkeypatch.context() as patch:
        patch.setattr(DistributedRisk, "cut", stopped)
        with pytest.raises(KeyboardInterrupt), warnings.catch_warnings(action="ignore", category=RuntimeWarning):
            half.fit(*args, named, checkpoint=file)
    assert half.feature_names_in_.tolist() == named
    after = clone(model).fit(*args, named, checkpoint=file, resume=True)
    assert_same(after, full)
    assert after.history_["lower_bound"][5] >= half.lower_bound_
    other = stored(frame.assign(x3=0.0), tmp_path / "rows.parquet")
    with pytest.raises(ValueError, match="another fit: X differs"):
        clone(model).fit(other, *args[1:], named, checkpoint=file, resume=True)


def test_features_are_chosen_by_name(path):
    model = FileClassifier("jaccard", "convex", tol=1e-2, memory=BLOCKS).fit(path, "y", features=["x1", "x0"])
    assert model.feature_names_in_.tolist() == ["x1", "x0"]
    assert model.n_features_in_ == 2
    np.testing.assert_array_equal(model.predict(path), model.predict(X[:, [1, 0]]))
    assert not hasattr(model.fit(X, Y), "feature_names_in_")


@pytest.mark.slow
def test_models_are_stored_and_cloned(path):
    model = FileClassifier("jaccard", "convex", tol=1e-2, memory=BLOCKS).fit(path, "y")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(path), model.predict(path))
    with pytest.raises(NotFittedError):
        clone(model).predict(path)


REFUSED = {
    "a list": (lambda p: ([[1.0]], [1]), {}, TypeError, "X must be the path of a Parquet file, or a NumPy array"),
    "no file": (lambda p: (p + "x", "y"), {}, FileNotFoundError, "there is no 'rows.parquetx'"),
    "no column": (lambda p: (p, "z"), {}, ValueError, "y must be a column of rows.parquet, which has 'x0'"),
    "no group": (lambda p: (p, "y", "z"), {}, ValueError, "groups must be a column of rows.parquet"),
    "no feature": (lambda p: (p, "y", None, ["x0", "z"]), {}, ValueError, "features must have each column once"),
    "y among them": (lambda p: (p, "y", None, ["x0", "y"]), {}, ValueError, "features must have each column once"),
    "labels": (lambda p: (p, Y), {}, TypeError, "y must be text"),
    "names": (lambda p: (X, Y, None, ["a"]), {}, ValueError, "features must be None where X is an array"),
    "short": (lambda p: (X, Y[1:]), {}, ValueError, r"y must have shape \(400,\)"),
    "flat": (lambda p: (X[:, 0], Y), {}, ValueError, "X must have shape"),
    "one class": (lambda p: (X, 0 * Y), {}, ValueError, "y must have two labels; got 1"),
    "three": (lambda p: (X, np.arange(N) % 3), {}, ValueError, "y must have two labels; got 3"),
    "regression": (lambda p: (p, "x0"), {}, ValueError, "y must have two labels; got 400"),
    "NaN": (lambda p: (X * np.nan, Y), {}, ValueError, "X must be finite"),
    "huge": (lambda p: (X * 1e200, Y), {}, OverflowError, "X is too large"),
    "complex": (lambda p: (X + 1j, Y), {}, ValueError, "X must hold real numbers"),
    "long": (lambda p: (np.full((N, 2), 2**53 + 1), Y), {}, ValueError, "X must hold numbers that float64 holds"),
    "classes": (lambda p: (p, "y"), {"loss": MeanOverClasses(Jaccard())}, Refusal, "for more than two classes"),
    "unit": (lambda p: (p, "y"), {"memory": "1 parsec"}, ValueError, "memory must be bytes"),
    "little": (lambda p: (p, "y"), {"memory": KEPT * N}, Refusal, "memory=16000 is too small for 400 rows"),
    "groups": (lambda p: (p, "y"), {"memory": BLOCKS - 1}, Refusal, f"row group takes: give {BLOCKS} bytes or more"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_is_refused(case, path):
    given, parameters, kind, words = REFUSED[case]
    model = FileClassifier(memory=BLOCKS).set_params(**parameters)
    with pytest.raises(kind, match=words):
        model.fit(*given(path))
    assert not hasattr(model, "coef_")


COLUMNS = {
    "text": (np.repeat("a", N), "X must hold numbers; column 'x3' of rows.parquet holds"),
    "dates": (np.repeat(np.datetime64("2020-01-01"), N), "X must hold numbers; column 'x3' of rows.parquet holds date"),
    "NaN": (np.where(np.arange(N) == 333, np.nan, 0), "X must be finite; column 'x3' of rows.parquet holds NaN or inf"),
    "inf": (np.where(np.arange(N) == 333, np.inf, 0), "X must be finite; column 'x3' of rows.parquet holds NaN or inf"),
    "gap": (pd.array([None, *range(1, N)], dtype="Int32"), "X must hold no missing values; column 'x3' of rows.par"),
    "long": (np.arange(N) + 2**53, "X, column 'x3', must hold numbers that float64 holds exactly"),
    "lists": ([[1.0]] * N, "X must hold numbers; column 'x3' of rows.parquet holds list"),
}


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_that_are_no_features_are_named(kind, tmp_path):
    values, words = COLUMNS[kind]
    frame = pa.Table.from_pandas(FRAME.drop(columns="x3"), preserve_index=False)
    if kind == "NaN":
        column = pa.array(values, from_pandas=False)
    else:
        column = pa.array(values)
    pq.write_table(frame.append_column("x3", column), tmp_path / "rows.parquet", row_group_size=100)
    with pytest.raises(ValueError, match=words):
        FileClassifier(memory=BLOCKS).fit(tmp_path / "rows.parquet", "y")


@pytest.mark.parametrize("name", ["y", "groups"])
@pytest.mark.parametrize("kind", ["gap", "NaN", "lists"])
def test_labels_and_ids_that_are_none_are_named(name, kind, tmp_path):
    odd = {
        "gap": pa.array([None, *Y[1:]]),
        "NaN": pa.array([np.nan, *Y[1:]], pa.float64()),
        "lists": pa.array([[1]] * N),
    }[kind]
    table = pa.Table.from_pandas(FRAME.drop(columns="y"), preserve_index=False)
    table = table.append_column("y", odd if name == "y" else pa.array(Y))
    table = table.append_column("g", odd if name == "groups" else pa.array(SORTED))
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=100)
    with pytest.raises(ValueError, match=f"{name} must .*{'y' if name == 'y' else 'g'}"):
        FileClassifier(memory=with_sets(SORTED)).fit(tmp_path / "rows.parquet", "y", "g")


def test_files_that_are_foreign_or_cut_short_are_refused(path, tmp_path):
    whole = Path(path).read_bytes()
    for size in (0, 3, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "short.parquet").write_bytes(whole[:size])
        with pytest.raises(ValueError, match="short.parquet is not a Parquet table"):
            FileClassifier(memory=BLOCKS).fit(tmp_path / "short.parquet", "y")
    (tmp_path / "damaged.parquet").write_bytes(whole[:4] + bytes(len(whole) // 2) + whole[4 + len(whole) // 2 :])
    with pytest.raises(ValueError, match="damaged.parquet is not a Parquet table"):
        FileClassifier(memory=BLOCKS).fit(tmp_path / "damaged.parquet", "y")


@pytest.mark.parametrize("kind", ["Parquet", "array"])
@pytest.mark.parametrize("change", ["written again", "replaced", "cut short", "removed"])
def test_a_file_that_changes_between_passes_is_noticed(kind, change, path, tmp_path):
    args = (path, "y") if kind == "Parquet" else (mapped(X, tmp_path / "X.npy"), Y)
    file = tmp_path / ("rows.parquet" if kind == "Parquet" else "X.npy")
    found = placed_rows(*args, None, None, Budget.of(BLOCKS), 1)
    rows = found.places.rows(found.X, 1.0)
    assert len(found.places.tell(len, found.X)) > 1
    data = file.read_bytes()
    if change == "written again":
        file.write_bytes(data)
    elif change == "cut short":
        file.write_bytes(data[: len(data) // 2])
    else:
        file.unlink()
        if change == "replaced":
            (tmp_path / "new").write_bytes(data)
            (tmp_path / "new").rename(file)
    with pytest.raises(BrokenPromise, match=f"X changed while it was read: {file.name}"):
        found.places.tell(RowBlock.scores, rows, np.zeros(D + 1))


def test_sets_in_any_order_are_refused_where_they_do_not_fit(tmp_path):
    n = 20_000
    rng = np.random.default_rng(1)
    wide, labels, ids = rng.normal(size=(n, 40)), rng.integers(0, 2, n), rng.integers(0, 50, n)
    model = FileClassifier(surrogate="convex", memory=(KEPT + IN_SET) * n + 2_000_000, tol=0.5)
    with pytest.raises(Refusal, match="20000 rows of sets that span places are refused.* or sort the rows by set"):
        model.fit(wide, labels, ids)
    assert model.fit(wide, labels, np.sort(ids)).status_ == "converged"


@pytest.mark.parametrize("kind", ["array", "Parquet"])
def test_many_small_sets_are_counted_before_features_are_read(kind, tmp_path, monkeypatch):
    n = 2000
    rng = np.random.default_rng(1)
    wide, ids = rng.normal(size=(n, 4)), np.arange(n) // 2
    labels, named = wide[:, 0] > 0.5, kind == "Parquet"
    args = wide, labels, ids
    if named:
        frame = pd.DataFrame(wide, columns=list("abcd")).assign(y=labels, g=[f"set {i}" for i in ids])
        frame.to_parquet(tmp_path / "rows.parquet", row_group_size=100, index=False)
        args = tmp_path / "rows.parquet", "y", "g"
    sets = (SET + NAME * named) * n // 2 + IN_SET * n
    model = FileClassifier(surrogate="convex", memory=KEPT * n + 10_000 + sets // 2, tol=0.5)
    with monkeypatch.context() as patch:
        patch.setattr("setwise.datasets.blocks.ParquetBlocks.rows", lambda self, k: pytest.fail("it was read"))
        patch.setattr("setwise.datasets.blocks.ArrayBlocks.rows", lambda self, k: pytest.fail("it was read"))
        with pytest.raises(Refusal, match=f"2000 rows, which take with their sets {KEPT * n + sets}") as error:
            model.fit(*args)
    needed = int(str(error.value).split("give ")[1].split(" bytes")[0])
    # A block that cuts a set counts it twice.
    assert model.set_params(memory=needed + 50 * (SET + NAME)).fit(*args).status_ == "converged"
    with pytest.raises(Refusal, match="too small for 2000 rows"):
        model.set_params(memory=needed - 1).fit(*args)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(9, 30))
def test_row_groups_are_joined_in_order(sizes, most):
    groups, edges = joined(sizes, most)
    assert [g for block in groups for g in block] == [g for g, size in enumerate(sizes) if size]
    assert np.diff(edges).tolist() == [sum(sizes[g] for g in block) for block in groups]
    assert all(size <= most for size in np.diff(edges))
    # No two neighbors would fit into one block.
    assert all(a + sizes[block[0]] > most for a, block in zip(np.diff(edges), groups[1:], strict=False))


def test_the_next_block_is_read_while_one_is_worked_on():
    log, lock = [], threading.Lock()
    ahead = [threading.Event() for _ in range(6)]

    def read(k):
        with lock:
            log.append(k)
        ahead[k].set()
        return k

    def work(k, factor):
        # The next block is read during this call, and not the one after it.
        assert k == 5 or ahead[k + 1].wait(10)
        with lock:
            assert len(log) <= k + 2
        return k * factor

    places = FilePlaces(6)
    assert places.tell(work, FileObjects(read), PlaceArguments([1, 2, 3, 4, 5, 6])) == [0, 2, 6, 12, 20, 30]
    assert log == [0, 1, 2, 3, 4, 5]
    log.clear()
    assert places.tell(int, FileObjects(read)) == [0, 1, 2, 3, 4, 5]
    assert log == [5, 4, 3, 2, 1, 0]


def test_an_error_of_a_block_ends_the_pass():
    def read(k):
        if k == 3:
            raise KeyError("three")
        return k

    with pytest.raises(KeyError, match="three"):
        FilePlaces(6).tell(int, FileObjects(read))
    with pytest.raises(ZeroDivisionError):
        FilePlaces(6).tell(lambda k: 1 / (k - 2), FileObjects(int))


@pytest.mark.parametrize(
    ("text", "bytes"),
    [("1GB", 10**9), ("1.5gb", 15 * 10**8), ("2 GiB", 2**31), ("7", 7), ("8KB", 8000), (12, 12), (np.int64(3), 3)],
)
def test_budgets(text, bytes):
    assert Budget.of(text).bytes == bytes


@pytest.mark.slow
def test_setwise_does_not_import_pyarrow_and_says_how_to_install_it(path):
    code = (
        "import sys; sys.modules['pyarrow'] = None; import setwise\n"
        f"try:\n    setwise.FileClassifier().fit({path!r}, 'y')\nexcept ValueError as error:\n    print(error)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "to read rows.parquet install pyarrow: pip install 'setwise[compare]'." in found.stdout


MEASURED = """
import resource, sys, numpy as np, setwise
from pathlib import Path
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
folder, kind = sys.argv[1:]
X, y = Path(folder, f"X.{kind}"), "y"
small = Path(folder, f"small.{kind}")
if kind == "npy":
    y, few = np.load(Path(folder, "y.npy")), np.load(Path(folder, "y.npy"))[:2000]
    X, small = np.load(X, mmap_mode="r"), np.load(small, mmap_mode="r")
else:
    few = "y"
setwise.FileClassifier(surrogate="convex", tol=0.9, memory="12MB").fit(small, few)
before = peak()
model = setwise.FileClassifier(surrogate="convex", tol=0.05, memory="64MB", C=1.0).fit(X, y)
score = model.score(X, y)
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["parquet", "npy"])
def test_memory_stays_below_the_budget(kind, tmp_path):
    """300 MB, or 144, are read with 64 MB; the interpreter and compiled code are not counted."""
    rng, n, d = np.random.default_rng(0), rounds(250_000, 120_000), 300
    X = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, (n, d))
    y = np.empty(n, dtype=np.int8)
    schema = pa.schema([*((f"x{j}", pa.float32()) for j in range(d)), ("y", pa.int8())])
    with pq.ParquetWriter(tmp_path / "X.parquet", schema, use_dictionary=False) as file:
        for a in range(0, n, 5000):
            rows = rng.normal(size=(5000, d)).astype(np.float32)
            X[a : a + 5000], y[a : a + 5000] = rows, rows[:, 0] > 1
            table = pa.table([*rows.T.copy(), y[a : a + 5000]], schema=schema)
            file.write_table(table)
            if a == 0:
                pq.write_table(table.slice(0, 2000), tmp_path / "small.parquet")
                np.save(tmp_path / "small.npy", rows[:2000])
    X.flush()
    del X
    np.save(tmp_path / "y.npy", y)
    run = subprocess.run(
        [sys.executable, "-c", MEASURED, str(tmp_path), kind], capture_output=True, text=True, check=True
    )
    assert int(run.stdout) < 64e6, run.stdout


TINY_SETS = """
import resource, sys, numpy as np, setwise
from setwise.core.exceptions import Refusal
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
folder, memory = sys.argv[1], int(sys.argv[2])
model = setwise.FileClassifier("jaccard", "convex", tol=0.05, max_iter=2, memory="5MB")
model.fit(f"{folder}/small.parquet", "y", "g")
before = peak()
try:
    model.set_params(memory=memory).fit(f"{folder}/rows.parquet", "y", "g")
    print("fitted", peak() - before)
except Refusal as error:
    print("refused", peak() - before, error)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("named", "share"), [(True, 1.0), (False, 0.4)])
def test_memory_of_tiny_sets_stays_below_the_budget(named, share, tmp_path):
    """Sets of two rows in any order take much more than their rows; where they are too many, few of them are read."""
    rng, n = np.random.default_rng(0), 400_000
    rows, ids = rng.standard_normal((n, 4), dtype=np.float32), rng.permutation(np.arange(n) // 2)
    frame = pd.DataFrame(rows, columns=list("abcd")).assign(y=rows[:, 0] > 1)
    frame["g"] = np.char.add("scene ", ids.astype(str)) if named else ids
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=20_000, index=False)
    frame[:2000].to_parquet(tmp_path / "small.parquet", row_group_size=500, index=False)
    enough = (KEPT + IN_SET + 4 * rows[0].nbytes) * n + (SET + NAME * named) * n // 2
    memory = int(share * enough)
    run = subprocess.run(
        [sys.executable, "-c", TINY_SETS, str(tmp_path), str(memory)], capture_output=True, text=True, check=True
    )
    how, taken, *words = run.stdout.split(maxsplit=2)
    assert how == ("fitted" if share == 1.0 else "refused"), run.stdout
    assert int(taken) < memory, run.stdout
    if how == "refused":
        assert f"memory={memory} is too small for {n} rows, which take with the sets of the first " in words[0]
        assert KEPT * n < memory < int(words[0].split("some ")[1].split(" bytes")[0])


def test_the_index_of_pandas_is_no_feature(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((300, 2)), columns=["a", "b"]).assign(y=rng.random(300) < 0.3)
    frame.sort_values("y").reset_index(drop=True).sample(frac=1, random_state=0).to_parquet(tmp_path / "rows.parquet")
    model = FileClassifier("jaccard", "convex", tol=1e-2).fit(tmp_path / "rows.parquet", "y")
    assert model.feature_names_in_.tolist() == ["a", "b"]


def test_what_is_reported_of_a_ramp_belongs_to_the_weights(tmp_path):
    kept = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        rows = rng.standard_normal((200, 3))
        truth = rows[:, 0] + 1.5 * rng.standard_normal(200) > 1
        np.save(tmp_path / "X.npy", rows)
        model = FileClassifier("f1", C=30.0).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), truth)
        scores = rows @ model.coef_[0] + model.intercept_[0]
        risk = Ramp("f1", scale="size")(truth.astype(int), scores).value
        assert model.objective_ >= 30.0 * risk * (1 - 1e-9)
        kept += "the start is kept" in model.stop_reason_
    assert kept > 0
