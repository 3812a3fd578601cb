"""JointKernelSupport: scikit-learn's one-class SVM on all pairs, and its risk."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import OneClassSVM

from setwise import JointKernelSupport
from setwise.core.exceptions import Refusal
from setwise.models import Kernel
from setwise.spaces import FiniteSpace, Hierarchy

TREE = Hierarchy({"cow": "animal", "horse": "animal", "car": "vehicle", "bus": "vehicle"})
KAPPA = np.random.default_rng(5).standard_normal((6, 3))
SPACES = [FiniteSpace(TREE.names), TREE, FiniteSpace(TREE.names, KAPPA)]


@pytest.fixture(scope="module")
def animals():
    """Rows of positive features, and sets of nodes, some of them empty."""
    rng = np.random.default_rng(0)
    X = rng.random((60, 4))
    return X, X @ rng.standard_normal((4, 6)) + 0.2 * rng.standard_normal((60, 6)) > 0.4


def pairs_of(X, space):
    """The features of all pairs, (n, p, q d)."""
    kappa = np.eye(6) if space.kappa is None else space.kappa
    return np.einsum("yq,id->iyqd", kappa, X).reshape(len(X), 6, -1)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("nu", [0.1, 0.5, 0.95])
def test_it_is_a_one_class_svm_on_pairs(animals, space, nu):
    X, Y = animals
    psi = pairs_of(X, space)
    # The solver rounds kernels to single precision, so other scales of them agree to about 1e-6.
    svm = OneClassSVM(kernel="linear", nu=nu, tol=1e-10).fit(psi[Y])
    expected = svm.decision_function(psi.reshape(360, -1)).reshape(60, 6)
    model = JointKernelSupport(space, nu=nu, tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=2e-5)
    assert model.rho_ == pytest.approx(svm.offset_[0], abs=2e-5)
    np.testing.assert_allclose(model.coef_.ravel(), svm.coef_.ravel(), atol=2e-5)
    product = JointKernelSupport(space, nu=nu, kernel=lambda A, B: A @ B.T, tol=1e-10).fit(X, Y)
    np.testing.assert_allclose(product.decision_function(X), expected, atol=2e-5)
    # At the optimum the worst nu m scores have the mean |w|^2 / (nu m).
    m, f = Y.sum(), np.sort((expected + model.rho_)[Y])
    share = np.clip(nu * m - np.arange(m), 0.0, 1.0)
    assert share @ f == pytest.approx((model.coef_**2).sum(), rel=1e-5)
    assert (f < model.rho_ - 1e-5 * np.abs(f).max()).sum() <= nu * m
    assert model.dual_coef_.sum() == pytest.approx(nu * m)
    assert Y[tuple(model.support_.T)].all()


@pytest.mark.parametrize("space", SPACES)
def test_other_kernels_never_meet_pairs(animals, space):
    X, Y = animals
    kappa, sizes = np.eye(6) if space.kappa is None else space.kappa, []

    def kernel(A, B):
        sizes.append((len(A), len(B)))
        return rbf_kernel(A, B, gamma=3.0)

    model = JointKernelSupport(space, nu=0.3, kernel=kernel, tol=1e-10).fit(X, Y)
    new = np.random.default_rng(1).random((9, 4))
    found = model.decision_function(new)
    rows, labels = np.argwhere(Y).T
    joint = rbf_kernel(X[rows], X[rows], gamma=3.0) * (kappa @ kappa.T)[np.ix_(labels, labels)]
    svm = OneClassSVM(kernel="precomputed", nu=0.3, tol=1e-10).fit(joint)
    for y in range(6):
        row = rbf_kernel(new, X[rows], gamma=3.0) * (kappa @ kappa[y])[labels]
        np.testing.assert_allclose(found[:, y], svm.decision_function(row), atol=2e-5)
    some = int(Y.any(axis=1).sum())
    assert sizes[0] == (some, some)
    assert sizes[1][0] == 9
    assert sizes[1][1] <= some < len(rows)


def test_the_face(animals):
    X, Y = animals
    model = JointKernelSupport(TREE, "sum", nu=0.2).fit(X, Y)
    scores = model.decision_function(X)
    np.testing.assert_array_equal(model.predict_matrix(X), scores > 0)
    assert model.predict(X) == TREE.decode(scores > 0)
    assert model.score(X, Y) == pytest.approx(1.0 - ((scores > 0) != Y).sum(axis=1).mean())
    for other in (
        clone(model).fit(csr_matrix(X), TREE.decode(Y)),
        clone(model).fit(X, Y.astype(int)),
        pickle.loads(pickle.dumps(model)),
    ):
        np.testing.assert_allclose(other.decision_function(csr_matrix(X)), scores, atol=1e-9)
    search = GridSearchCV(JointKernelSupport(TREE, "sum"), {"nu": [0.05, 0.95]}, cv=2).fit(X, Y)
    assert set(search.best_params_) == {"nu"}
    model.set_params(kernel=rbf_kernel)
    np.testing.assert_array_equal(model.decision_function(X), scores)


def test_what_is_refused(animals):
    X, Y = animals
    model = JointKernelSupport(TREE).fit(X, Y)
    before = dict(vars(model))
    for parameters, rows, sets, words in (
        ({"loss": "auc"}, X, Y, "JointKernelSupport refuses RocArea.*which reads scores"),
        ({}, X, [[]] * 60, "Y must hold a true label in one row or more; got 60 empty sets"),
        ({"nu": 0.0}, X, Y, "'nu' parameter"),
        ({"kernel": "poly"}, X, Y, "'kernel' parameter"),
        ({"kernel": lambda A, B: A}, X[:, :3], Y, r"kernel\(A, B\) must have shape"),
        ({"space": ["cow"]}, X, Y, "'space' parameter"),
        ({}, 1e200 * X, Y, "products of rows of X are too large"),
    ):
        model.set_params(**parameters)
        with pytest.raises((ValueError, Refusal, OverflowError), match=words):
            model.fit(rows, sets)
        model.set_params(loss="max", nu=0.5, kernel="linear", space=TREE)
        assert vars(model) == before


def test_what_is_no_kernel_is_refused(animals):
    X, Y = animals
    for kernel in (lambda A, B: -(A @ B.T), lambda A, B: A @ B.T + np.arange(len(A))[:, None]):
        with pytest.raises(ValueError, match="kernel must be symmetric and positive semidefinite"):
            JointKernelSupport(TREE, kernel=kernel).fit(X, Y)
    plain = JointKernelSupport(TREE, kernel=rbf_kernel).fit(X, Y)
    for same in (Kernel(rbf_kernel), lambda A, B: csr_matrix(rbf_kernel(A, B))):
        other = JointKernelSupport(TREE, kernel=same).fit(X, Y)
        np.testing.assert_array_equal(other.decision_function(X), plain.decision_function(X))
