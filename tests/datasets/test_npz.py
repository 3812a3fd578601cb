import io
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest

from setwise.datasets import load

BINARY = np.array([0, 1, 1, 0])
PARTS = {"X_data": np.ones(2), "X_indices": np.array([0, 2]), "X_indptr": np.array([0, 1, 2]), "X_shape": [2, 3]}


def save(folder, **arrays):
    np.savez(folder / "t.npz", **arrays)
    return folder / "t.npz"


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
        ({"X": np.ones((2, 2)), "y": np.array([0.0, np.nan])}, "target 'y' of t.npz holds 'nan' in row 2"),
        ({"X": np.ones((2, 2)), "y": np.array(["2024-02-29", "NaT"], "M8[D]")}, "holds 'NaT' in row 2"),
        ({"X": np.ones((2, 2)), "y": np.array([3, "NaT"], "m8[s]")}, "holds 'NaT' in row 2"),
        ({"X": np.ones((2, 2)), "y": np.array(["a", ""])}, "target 'y' of t.npz holds nothing in row 2"),
        ({"X": np.ones((2, 2)), "y": np.array([1j, 0])}, "must hold numbers or text; it holds complex128"),
        ({"X": np.ones((2, 2)), "y": np.array([b"a", b"b"])}, r"must hold numbers or text; it holds \|S1"),
        ({"X": np.ones((2, 2)), "y": BINARY[:2], "groups": np.array([1.0, np.nan])}, "'groups' of t.npz holds 'nan'"),
        ({"X": np.ones((2, 2)), "y": BINARY[:2], "groups": np.array([1, "NaT"], "M8[D]")}, "holds 'NaT' in row 2"),
        ({"X": np.ones((2, 2)), "y": BINARY[:2], "groups": np.array(3)}, r"must be ids of shape \(n,\), of the 2 rows"),
        ({"X": np.ones((2, 2)), "y": BINARY[:2], "groups": np.ones((2, 1))}, r"must be ids of shape \(n,\)"),
        ({"X": np.ones((2, 2)), "y": np.ones((2, 1, 1))}, r"must have shape \(n,\) or \(n, p\)"),
        ({"X": np.ones((2, 2)), "Y": np.array([["0", "1"], ["1", "1"]])}, "must hold the numbers 0 and 1; it holds"),
        ({"X": np.ones((2, 2)), "Y": np.eye(2), "label_names": ["a"]}, "label_names of t.npz must hold a name of its"),
        ({"X": np.ones((2, 2)), "Y": np.eye(2), "label_names": ["a", "a"]}, "label_names of t.npz must hold a name"),
        ({"X": np.ones((2, 2)), "Y": BINARY[:2], "label_names": ["a", "b"]}, "label_names of t.npz must hold a name"),
        ({**PARTS, "y": BINARY[:2], "X_indices": np.array([0.0, 1.5])}, "X_indices must hold whole numbers; it holds"),
        ({**PARTS, "y": BINARY[:2], "X_indptr": np.array([0.0, 1, 2])}, "X_indptr must hold whole numbers; it holds"),
        ({**PARTS, "y": BINARY[:2], "X_shape": np.array([2.0, 3.0])}, "X_shape must hold whole numbers; it holds"),
        ({**PARTS, "y": BINARY[:2], "X_shape": np.array(6)}, "X_shape must hold two numbers"),
        ({**PARTS, "y": BINARY[:2], "X_indices": np.array([0, 10**6])}, "not a matrix of numbers: .* must be < 3"),
        ({**PARTS, "y": BINARY[:2], "X_indices": np.array([0, 2**32])}, "not a matrix of numbers: .* must be < 3"),
        ({"X": np.array([[1j], [2.0]]), "y": BINARY[:2]}, "not real"),
        ({"X": np.ones((2, 2)), "Y": np.array([[0, 2], [1, 1]])}, "must hold 0 and 1; row 1 holds 2"),
        ({"X": np.array([["a"], ["b"]]), "y": np.array([0, 1])}, "not a matrix of numbers"),
    ],
)
def test_bad_npz(tmp_path, arrays, says):
    path = save(tmp_path, **arrays)
    with pytest.raises(ValueError, match=says):
        load(path)


def member(array):
    file = io.BytesIO()
    np.lib.format.write_array(file, np.asarray(array), allow_pickle=True)
    return file.getvalue()


class Trap:
    """Says so if it is ever unpickled."""

    def __reduce__(self):
        return (pytest.fail, ("this was unpickled",))


def zipped(**members):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in {"X.npy": member(np.ones((4, 1))), "y.npy": member(BINARY), **members}.items():
            archive.writestr(name, content)
    return file.getvalue()


def damaged(compress):
    """An archive with a byte changed inside its first array."""
    file = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(file, X=np.arange(400.0).reshape(4, 100), y=BINARY)
    content = bytearray(file.getvalue())
    content[300] ^= 255
    return bytes(content)


def flagged(place, flag):
    """A good archive with a flag set for its first member, in the member and in the directory."""
    content = bytearray(zipped())
    content[place[0]] |= flag
    content[content.index(b"PK\x01\x02") + place[1]] |= flag
    return bytes(content)


def npy():
    return member(np.ones(3))


BROKEN = {
    "nothing": b"",
    "text": b"no archive",
    "a magic number alone": b"PK\x03\x04",
    "a single array": npy(),
    "a pickle": pickle.dumps(Trap()),
    "a pickled array": zipped(**{"evil.npy": member(np.array([Trap(), Trap()], dtype=object))}),
    "a member that is cut": zipped(**{"z.npy": npy()[:-3]}),
    "a shape beyond memory": zipped(**{"z.npy": npy().replace(b"(3,)", b"(9" + b"9" * 15 + b",)")}),
    "half of it": zipped()[:200],
    "a changed byte": damaged(False),
    "a changed byte, compressed": damaged(True),
    "an encrypted member": flagged((6, 8), 1),
    "an unknown compression": flagged((8, 10), 99),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_what_is_no_archive_of_plain_arrays_is_refused_in_one_sentence(tmp_path, content):
    (tmp_path / "t.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"^t.npz is not an archive of plain arrays: [^\n]+[^.\n]\.$"):
        load(tmp_path / "t.npz")


def test_any_byte_may_be_damaged_and_nothing_else_is_read(tmp_path):
    path, rng = tmp_path / "t.npz", np.random.default_rng(0)
    np.savez_compressed(path, X=np.arange(8.0).reshape(4, 2), y=BINARY, groups=np.arange(4))
    whole = path.read_bytes()
    for _ in range(500):
        content = bytearray(whole)
        for place in rng.integers(len(whole), size=rng.integers(1, 4)):
            content[place] = rng.integers(256)
        path.write_bytes(content)
        try:
            data = load(path)
        except ValueError:
            continue
        np.testing.assert_array_equal(data.X, np.arange(8.0).reshape(4, 2))
        np.testing.assert_array_equal(data.y, BINARY)


def test_columns_that_are_never_used_take_no_memory(tmp_path):
    data = load(save(tmp_path, **{**PARTS, "X_shape": [2, 10**12], "X_indices": np.array([0, 10**11])}, y=BINARY[:2]))
    assert data.X.shape == (2, 10**12)
    assert len(data.features) == 10**12
    assert data.features[-1] == "feature 999999999999"
    assert list(data.features[3:5]) == ["feature 3", "feature 4"]


@pytest.mark.realdata
@pytest.mark.skipif("SETWISE_DATA" not in os.environ, reason="SETWISE_DATA is not set")
@pytest.mark.parametrize(("name", "shape", "labels"), [("scene", (2407, 294), 6), ("yeast", (2417, 103), 14)])
def test_multilabel_files_have_their_published_shape(name, shape, labels):
    data = load(Path(os.environ["SETWISE_DATA"]) / "multilabel" / f"{name}.npz")
    assert data.X.shape == shape
    assert data.y.shape == (shape[0], labels)
