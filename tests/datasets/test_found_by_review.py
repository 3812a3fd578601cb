"""Files that a review found to be misread."""

import numpy as np
import pytest

from setwise.datasets import load


def test_ids_are_never_merged(tmp_path):
    path = tmp_path / "ids.csv"
    rows = [f"{i},{i % 2},{9007199254740992 + i}" for i in range(4)] + ["4,0,01", "5,1,1", "6,0,1_000"]
    path.write_text("x,y,g\n" + "\n".join(rows) + "\n")
    data = load(path, target="y", group="g")
    assert len(np.unique(data.groups)) == 7


def test_whole_labels_keep_all_their_digits(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("x,y\n1,1234567\n2,1234568\n")
    assert load(path, target="y").classes == ("1234567", "1234568")
    assert load(path, target="y", positive="1234567").y.tolist() == [1, 0]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04"])
def test_a_broken_archive_is_refused_in_a_sentence(tmp_path, content):
    path = tmp_path / "broken.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not an archive of plain arrays"):
        load(path)


def test_a_sparse_matrix_that_points_outside_itself_is_refused(tmp_path):
    path = tmp_path / "outside.npz"
    np.savez(
        path, X_data=np.ones(2), X_indices=np.array([0, 10**6]), X_indptr=np.array([0, 1, 2]), X_shape=[2, 2], y=[0, 1]
    )
    with pytest.raises(ValueError, match="are not a matrix of numbers"):
        load(path)


def test_complex_features_are_refused(tmp_path):
    path = tmp_path / "complex.npz"
    np.savez(path, X=np.array([[1j], [2.0]]), y=[0, 1])
    with pytest.raises(ValueError, match="not real"):
        load(path)


def test_a_feature_index_beyond_64_bits_is_refused(tmp_path):
    path = tmp_path / "big.svm"
    path.write_text("1 99999999999999999999:1\n-1 1:1\n")
    with pytest.raises(ValueError, match="line 1"):
        load(path)
