import os
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from setwise.datasets import load


def write(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture
def table(tmp_path):
    return write(tmp_path, "t.csv", "age,city,sick\n30,1,yes\n41.5,2,no\n22,1,yes\n19,2,no\n")


def test_csv_gives_numbers_groups_and_the_names_of_both_labels(table):
    data = load(table, "sick", "city")
    np.testing.assert_array_equal(data.X, [[30], [41.5], [22], [19]])
    np.testing.assert_array_equal(data.y, [1, 0, 1, 0])
    np.testing.assert_array_equal(data.groups, ["1", "2", "1", "2"])
    assert data.classes == ("no", "yes")
    assert data.features == ("age",)


def test_positive_chooses_the_label(table):
    np.testing.assert_array_equal(load(table, "sick", positive="no").y, [0, 1, 0, 1])


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators_quotes_and_a_byte_order_mark(tmp_path, separator):
    rows = [["a", '"the label"'], ["1", "0"], ["2", "1"]]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(separator.join(r) for r in rows), encoding="utf-8-sig")
    data = load(path, "the label")
    np.testing.assert_array_equal(data.X, [[1], [2]])
    assert data.features == ("a",)


def test_several_targets_make_a_label_matrix(tmp_path):
    path = write(tmp_path, "t.csv", "x,a,b,c\n1,0,1,1\n2,1,0,0\n3,1,1,0\n")
    data = load(path, "c,a")
    np.testing.assert_array_equal(data.y, [[1, 0], [0, 1], [0, 1]])
    assert data.classes == ("c", "a")
    assert data.features == ("x", "b")


def test_the_target_is_found_by_its_usual_name(tmp_path):
    path = write(tmp_path, "t.csv", "x,Label\n1,0\n2,1\n")
    np.testing.assert_array_equal(load(path).y, [0, 1])


@pytest.mark.parametrize(
    ("text", "target", "group", "says"),
    [
        ("x,y\n1,0\n2,1\n", "z", None, "has no column 'z'; it has 'x', 'y'"),
        ("x,y\n1,0\n2,1\n", "y", "z", "has no column 'z'"),
        ("x,y\n1,0\n2,1\n", "y", "y", "target and the group at once"),
        ("x,b,c\n1,0,1\n2,1,0\n", None, None, "name the target column with --target; the columns are 'x', 'b', 'c'"),
        ("x,y\nred,0\n2,1\n", "y", None, "column 'x' of t.csv holds 'red' in row 1"),
        ("x,y\n1,0\n,1\n", "y", None, "column 'x' of t.csv holds nothing in row 2"),
        ("x,y\n1,0\nnan,1\n", "y", None, "holds a missing value, NaN or inf in row 2"),
        ("x,y\n1,0\ninf,1\n", "y", None, "holds a missing value, NaN or inf in row 2"),
        ("x,y\n1,a\n2,\n3,b\n", "y", None, "column 'y' of t.csv holds nothing in row 2"),
        ("x,y\n1,0\n2,1\n3,2\n", "y", None, "must have two values; it has 3: '0', '1', '2'"),
        ("x,y\n1,0\n2,0\n", "y", None, "must have two values; it has 1"),
        ("x,y\n1,0\n2\n", "y", None, "row 2 of t.csv has 1 fields and the header has 2"),
        ("x,x\n1,0\n2,1\n", "x", None, "two columns called 'x'"),
        ("y\n0\n1\n", "y", None, "no column left for features"),
        ("x,a,b\n1,0,2\n2,1,0\n", "a,b", None, "label 'b' of t.csv must hold 0 and 1; row 1 holds 2"),
        ("x,a,b\n1,0,1\n2,1,0\n", "a,b", "x", "no column left"),
        ("x,a,b,g\n1,0,1,1\n2,1,0,1\n", "a,b", "g", "--group has no meaning"),
        ("x,a,b\n1,0,1\n2,1,0\n", "a,a", None, "must name distinct columns"),
        ("x,y\n", "y", None, "at least one row"),
        ("", "y", None, "at least one row"),
    ],
)
def test_what_is_wrong_with_a_table_is_said_in_a_sentence(tmp_path, text, target, group, says):
    path = write(tmp_path, "t.csv", text)
    with pytest.raises(ValueError, match=says.replace("(", r"\(").replace("+", r"\+")):
        load(path, target, group)


def test_a_wrong_positive_label_and_a_wrong_path(table, tmp_path):
    with pytest.raises(ValueError, match="'maybe' cannot be the positive one"):
        load(table, "sick", "city", positive="maybe")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        load(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="must end in one of"):
        load(write(tmp_path, "t.xlsx", "x"))


def test_bytes_that_are_no_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(ValueError, match="is not a text table"):
        load(path)


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"x": [1, 2, 3], "y": ["a", "b", "a"], "g": [True, True, False]}), path)
    data = load(path, "y", "g")
    np.testing.assert_array_equal(data.y, [0, 1, 0])
    parquet.write_table(pa.table({"x": [1, None, 3], "y": ["a", "b", "a"]}), path)
    with pytest.raises(ValueError, match="holds a missing value, NaN or inf in row 2"):
        load(path, "y")
    path.write_bytes(b"no parquet")
    with pytest.raises(ValueError, match="is not a Parquet table"):
        load(path)


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("queries", [True, False])
def test_svmlight_reads_what_scikit_learn_writes(tmp_path, zero_based, queries):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 6)) * (rng.random((20, 6)) < 0.4)
    X[0] = 1.0
    y, qid = rng.integers(0, 2, 20), np.repeat(np.arange(5), 4)
    path = tmp_path / "t.svm"
    dump_svmlight_file(X, y, str(path), zero_based=zero_based, query_id=qid if queries else None)
    data = load(path)
    assert issparse(data.X)
    expected, labels = load_svmlight_file(str(path), zero_based=zero_based)
    np.testing.assert_allclose(data.X.toarray(), expected.toarray())
    np.testing.assert_array_equal(data.y, labels)
    if queries:
        np.testing.assert_array_equal(data.groups, qid)
    else:
        assert data.groups is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1 1:2\n-1 x\n", "line 2 of t.svm is not"),
        ("1 1:2\n-1 qid:1 1:3\n", "a qid in 1 of its 2 rows"),
        ("1 1:nan\n-1 1:3\n", "holds NaN or inf"),
        ("# nothing\n", "holds no rows"),
        ("1 -3:1\n-1 2:1\n", "negative feature index"),
    ],
)
def test_bad_svmlight(tmp_path, text, says):
    with pytest.raises(ValueError, match=says):
        load(write(tmp_path, "t.svm", text))


def test_svmlight_has_no_columns_to_name(tmp_path):
    with pytest.raises(ValueError, match="name neither"):
        load(write(tmp_path, "t.svm", "1 1:2\n-1 1:3\n"), "y")


def test_npz_plain_and_by_the_name_of_an_array(tmp_path):
    path = tmp_path / "t.npz"
    X, y = np.arange(8.0).reshape(4, 2), np.array([-1, 1, 1, -1])
    np.savez(path, X=X, y=y, groups=np.array([0, 0, 1, 1]), other=np.array([1, 1, 0, 0]))
    data = load(path)
    np.testing.assert_array_equal(data.y, [0, 1, 1, 0])
    np.testing.assert_array_equal(data.groups, [0, 0, 1, 1])
    np.testing.assert_array_equal(load(path, "other").y, [1, 1, 0, 0])


def test_npz_label_matrix_dense_and_sparse(tmp_path):
    path = tmp_path / "t.npz"
    Y = np.array([[1, 0, 1], [0, 1, 1]], dtype=np.uint8)
    np.savez(path, X=np.ones((2, 2), dtype=np.float32), Y=Y, label_names=np.array(["a", "b", "c"]), n_train=1)
    data = load(path)
    np.testing.assert_array_equal(data.y, Y)
    assert data.classes == ("a", "b", "c")
    assert load(path, "c,a").classes == ("c", "a")
    np.testing.assert_array_equal(load(path, "b").y, [0, 1])
    with pytest.raises(ValueError, match="has no label 'z'; it has the labels a, b, c"):
        load(path, "a,z")

    parts = {"X_data": np.array([1, 1], dtype=np.uint8), "X_indices": np.array([0, 2]), "X_indptr": np.array([0, 1, 2])}
    np.savez(path, **parts, X_shape=np.array([2, 3]), Y=Y)
    np.testing.assert_array_equal(load(path).X.toarray(), [[1, 0, 0], [0, 0, 1]])


@pytest.mark.parametrize(
    ("arrays", "says"),
    [
        ({"Z": np.ones(3)}, r"must hold an array X"),
        ({"X": np.ones((3, 2))}, "must hold the target as y or Y"),
        ({"X": np.array([[1.0], [np.nan]]), "y": np.array([0, 1])}, "X of t.npz holds NaN or inf"),
        ({"X": np.ones((3, 2)), "y": np.array([0, 1])}, "has 2 rows and X has 3"),
        ({"X": np.ones(3), "y": np.array([0, 1, 0])}, "must have shape"),
        ({"X": np.ones((2, 2)), "y": np.array([0.0, np.nan])}, "missing value, NaN or inf"),
        ({"X": np.ones((2, 2)), "Y": np.array([[0, 2], [1, 1]])}, "must hold 0 and 1; row 1 holds 2"),
        ({"X": np.array([["a"], ["b"]]), "y": np.array([0, 1])}, "not a matrix of numbers"),
    ],
)
def test_bad_npz(tmp_path, arrays, says):
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(ValueError, match=says):
        load(tmp_path / "t.npz")


def test_pickled_objects_are_refused(tmp_path):
    np.savez(tmp_path / "t.npz", X=np.ones((2, 1)), y=np.array([0, 1]), evil=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="is not an archive of plain arrays"):
        load(tmp_path / "t.npz")
    (tmp_path / "t.npz").write_text("no archive")
    with pytest.raises(ValueError, match="is not an archive of plain arrays"):
        load(tmp_path / "t.npz")


@pytest.mark.realdata
@pytest.mark.skipif("SETWISE_DATA" not in os.environ, reason="SETWISE_DATA is not set")
@pytest.mark.parametrize(("name", "shape", "labels"), [("scene", (2407, 294), 6), ("yeast", (2417, 103), 14)])
def test_multilabel_files_have_their_published_shape(name, shape, labels):
    data = load(Path(os.environ["SETWISE_DATA"]) / "multilabel" / f"{name}.npz")
    assert data.X.shape == shape
    assert data.y.shape == (shape[0], labels)
