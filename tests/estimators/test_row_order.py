"""The order of rows does not matter to the folds of the logistic start, nor to fits without ties."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.datasets import make_classification

from setwise import SetClassifier
from setwise.estimators.splits import row_keys


def test_rows_have_numbers_of_their_features():
    X = np.random.default_rng(0).integers(0, 3, (200, 4)) * 1.0
    X[0] = -0.0
    keys, order = row_keys(X), np.random.default_rng(1).permutation(200)
    assert (row_keys(X[order]) == keys[order]).all()
    assert (row_keys(csr_matrix(X)[order]) == row_keys(csr_matrix(X))[order]).all()
    distinct = len(np.unique(X, axis=0))
    assert len(np.unique(keys)) == distinct
    assert len(np.unique(row_keys(csr_matrix(X)))) == distinct
    assert row_keys(X)[0] == row_keys(np.zeros((1, 4)))[0]
    assert (row_keys(X[:, ::-1]) != keys).mean() > 0.5


@pytest.mark.parametrize("loss", ["f1", "mcc"])
@pytest.mark.parametrize("in_groups", [False, True])
def test_the_order_of_rows_does_not_matter(loss, in_groups):
    X, y = make_classification(600, 6, weights=[0.85], flip_y=0.05, random_state=1)
    groups = np.arange(600) // 60 if in_groups else None
    first = SetClassifier(loss).fit(X, y, groups=groups)
    for order in (np.arange(600)[::-1], np.random.default_rng(0).permutation(600)):
        again = SetClassifier(loss).fit(X[order], y[order], groups=groups[order] if in_groups else None)
        assert again.objective_ == pytest.approx(first.objective_, rel=1e-3)
        assert again.score(X, y, groups) == pytest.approx(first.score(X, y, groups), abs=0.01)
