import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from setwise.datasets import load


def write(folder, text):
    path = folder / "t.svm"
    path.write_text(text, encoding="utf-8")
    return path


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
        (
            "1 1:2\n-1 x\n",
            "t.svm must hold lines 'label .qid:number. index:value ...', with whole numbers for index and",
        ),
        ("1 1:2\n-1 qid:1 1:3\n", "a qid in 1 of its 2 rows"),
        ("1 1:nan\n-1 1:3\n", "holds NaN or inf"),
        ("# nothing\n", "holds no rows"),
        ("1 -3:1\n-1 2:1\n", "t.svm must hold lines .*: Invalid index -3"),
        ("1 1:1\n-1 1.5:2\n", "t.svm must hold lines .*: invalid literal for int.* b'1.5'"),
        ("1 qid:1.5 1:1\n-1 qid:2 2:1\n", "t.svm must hold lines .*: invalid literal for int.* b'1.5'"),
        ("1 qid:99999999999999999999 1:1\n-1 qid:2 2:1\n", "t.svm must hold lines .* too large"),
        ("1 1:2 1:3\n-1 1:1\n", "t.svm must hold lines .*: Feature indices in .* should be sorted and unique"),
        ("1 99999999999999999999:1\n-1 1:1\n", "t.svm must hold lines .* too large"),
        ("nan 1:2\n-1 1:3\n", "holds 'nan' in row 1, which is no label"),
    ],
)
def test_bad_svmlight(tmp_path, text, says):
    with pytest.raises(ValueError, match=says):
        load(write(tmp_path, text))


def test_svmlight_has_no_columns_to_name(tmp_path):
    with pytest.raises(ValueError, match="name none"):
        load(write(tmp_path, "1 1:2\n-1 1:3\n"), "y")


def test_columns_that_are_never_used_take_no_memory(tmp_path):
    data = load(write(tmp_path, "1 1000000000:2\n-1 1:3 1000000001:1\n"))
    assert data.X.shape == (2, 10**9 + 1)
    np.testing.assert_array_equal(data.X.indices, [10**9 - 1, 0, 10**9])
    assert data.features[10**9] == "feature 1000000001"


def test_a_group_must_be_there(tmp_path):
    with pytest.raises(ValueError, match="t.svm has no group .qid.: that of svmlight is the qid of each row"):
        load(write(tmp_path, "1 1:2\n-1 1:3\n"), group="qid")


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "t.svm").write_bytes(b"1 1:2\n\xff\xfe")
    with pytest.raises(ValueError, match="t.svm must hold lines"):
        load(tmp_path / "t.svm")
