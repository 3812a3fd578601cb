"""Kernels as features: their products are the kernel, and what is no kernel is refused."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.metrics.pairwise import linear_kernel, rbf_kernel

from setwise.models import JointKernel, Kernel

LABELS = ["a", "b", "c"]


def tied(A, a, B, b):
    """A kernel that is no product: rows are compared where labels are equal, and all have something in common."""
    same = np.array([[x == y for y in b] for x in a])
    return rbf_kernel(A, B, gamma=0.3) * np.where(same, 1.0, 0.2) + 0.1 * (A @ B.T) ** 2


@pytest.mark.parametrize("function", [linear_kernel, partial(rbf_kernel, gamma=0.2)])
@pytest.mark.parametrize("n", [1, 7, 150])
def test_features_of_rows_have_the_kernel_as_products(function, n):
    rng = np.random.default_rng(n)
    X, new = rng.standard_normal((n, 3)), rng.standard_normal((5, 3))
    for given in (X, csr_matrix(X)):
        basis, phi = Kernel(function, tol=1e-13).basis(given)
        np.testing.assert_allclose(phi @ phi.T, function(X, X), atol=1e-9)
        np.testing.assert_allclose(basis.coordinates(given), phi, atol=1e-5)
        np.testing.assert_allclose(basis.coordinates(new) @ phi.T, function(new, X), atol=1e-5)
    if function is linear_kernel:
        assert phi.shape[1] == min(n, 3)


def test_features_of_pairs_have_the_kernel_as_products():
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((12, 2)), rng.standard_normal((4, 2))
    basis, phi = JointKernel(tied, tol=1e-13).basis(X, LABELS)
    assert phi.shape[0] == 36
    rows, named = np.repeat(X, 3, axis=0), LABELS * 12
    np.testing.assert_allclose(phi @ phi.T, tied(rows, named, rows, named), atol=1e-9)
    found = basis.coordinates(new, LABELS) @ phi.T
    np.testing.assert_allclose(found, tied(np.repeat(new, 3, axis=0), LABELS * 4, rows, named), atol=1e-5)


def test_a_limited_rank_reports_what_it_leaves_out():
    X = np.random.default_rng(1).standard_normal((80, 4))
    K = rbf_kernel(X, X, gamma=0.5)
    residuals = []
    for rank in (1, 10, 40, 80):
        basis, phi = Kernel(partial(rbf_kernel, gamma=0.5), rank=rank).basis(X)
        assert phi.shape == (80, min(rank, 80))
        left = np.diag(K - phi @ phi.T)
        assert basis.residual == pytest.approx(left.max(), abs=1e-12)
        residuals.append(basis.residual)
    assert sorted(residuals, reverse=True) == residuals
    assert residuals[0] > 0.1


def test_equal_rows_and_zero_rows_add_nothing():
    X = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0]])
    _, phi = Kernel(linear_kernel).basis(X)
    assert phi.shape == (3, 1)
    np.testing.assert_allclose(phi[:, 0], [np.sqrt(5), np.sqrt(5), 0.0])


def test_what_is_no_kernel_is_refused():
    X = np.random.default_rng(2).standard_normal((6, 2))
    with pytest.raises(ValueError, match="kernel must be symmetric and positive semidefinite"):
        Kernel(lambda A, B: 1.0 - 0.9 * rbf_kernel(A, B, gamma=5.0) - 0.05 * (A @ B.T)).basis(X)
    for K in (
        [[1.0, 0.9, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[1.0, 1.0, 1.0], [1.0, 1.0, 0.5], [1.0, 0.5, 1.0]],
        [[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    ):
        table = np.array(K)
        with pytest.raises(ValueError, match="kernel must be symmetric and positive semidefinite"):
            Kernel(lambda A, B, table=table: table[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))]).basis(
                np.arange(3.0)[:, None]
            )
    with pytest.raises(ValueError, match="kernel must be above 0 for some point with itself; got at most 0"):
        Kernel(lambda A, B: np.zeros((len(A), len(B)))).basis(X)
    with pytest.raises(ValueError, match=r"kernel\(A, B\) must have shape \(6, 6\); got shape \(6,\)"):
        Kernel(lambda A, B: np.ones(len(A))).basis(X)
    with pytest.raises(ValueError, match=r"kernel\(A, B\) must be finite"):
        Kernel(lambda A, B: np.full((len(A), len(B)), np.nan)).basis(X)
    with pytest.raises(TypeError, match="function must be callable; got 'rbf'"):
        Kernel("rbf")
    with pytest.raises(ValueError, match="rank must be at least 1"):
        JointKernel(tied, rank=0)
    with pytest.raises(ValueError, match="tol must be"):
        Kernel(linear_kernel, tol=-1.0)
