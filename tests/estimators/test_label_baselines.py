"""PowersetSSVM, SSVM and IndependentSVMs: their optima, and the face that they share."""

import pickle
from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from estimators.label_programs import solved
from setwise import SSVM, IndependentSVMs, MultilabelStructuredPredictor, PowersetSSVM
from setwise.core.batch import Sets
from setwise.core.enumerate import subsets
from setwise.core.exceptions import Refusal
from setwise.estimators.multilabel_baselines import LabelRanking
from setwise.losses import Jaccard, MaxLoss, NearestCosts, SumLoss
from setwise.models import JointKernel, Kernel
from setwise.risks import MeanRisk
from setwise.spaces import FiniteSpace, Hierarchy
from setwise.surrogates import MarginRescaling

TREE = Hierarchy({"cow": "animal", "horse": "animal", "car": "vehicle", "bus": "vehicle"})


@pytest.fixture(scope="module")
def animals():
    """Rows whose sets of nodes a linear model nearly explains; some sets are empty."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4))
    return X, X @ rng.standard_normal((4, 6)) + 0.1 * rng.standard_normal((120, 6)) > 1.0


def small_problem(seed, n=6):
    """A few rows of two features and four labels, with zeros in lambda, an empty set, and one of all labels."""
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, 2)), rng.random((n, 4)) < 0.4
    Y[0], Y[1] = False, True
    distances = rng.integers(0, 3, (4, 4)) / 2
    costs = (None, NearestCosts(np.minimum(distances, distances.T)), np.array([1.0, 0.5, 0.0, 2.0]))[seed % 3]
    kappa = (None, rng.standard_normal((4, 3)), Hierarchy({1: 0, 2: 0, 3: 1}).kappa)[seed // 3 % 3]
    return X, Y, costs, FiniteSpace(range(4), kappa), (20.0, 100.0)[seed % 2]


def lifted(X, space):
    """psi(x, y) of each row and label with a constant feature of rows, (n, p, d)."""
    kappa, phi = np.eye(4) if space.kappa is None else space.kappa, np.column_stack([X, np.ones(len(X))])
    return np.einsum("yq,id->iyqd", kappa, phi).reshape(len(X), 4, -1)


@pytest.mark.draw(2)
@pytest.mark.parametrize("kind", [MaxLoss, SumLoss])
@pytest.mark.parametrize("seed", range(9))
def test_the_powerset_optimum_is_that_of_all_sets(seed, kind):
    X, Y, costs, space, C = small_problem(seed)
    loss, psi, rows, bounds = kind(costs), lifted(X, space), [], []
    for i, truth in enumerate(Y):
        for guess in subsets(4):
            away = guess.astype(float) - truth
            rows.append(np.append(away @ psi[i], -np.eye(6)[i]))
            bounds.append(-loss(truth, guess))
    v, optimum = solved(psi.shape[2], rows, bounds, np.full(6, C / 6))
    model = PowersetSSVM(space, loss, C=C, tol=1e-7, max_iter=20000).fit(X, Y)
    assert model.objective_ == pytest.approx(optimum, rel=1e-6)
    assert model.lower_bound_ <= optimum * (1 + 1e-7)
    # Labels without a cost are pushed to a score of 0, on either side of it.
    sure = model.certain(X)
    assert sure.mean() > 0.3
    np.testing.assert_array_equal(model.predict_matrix(X)[sure], (psi @ v[: psi.shape[2]] > 0)[sure])
    assert C * (1.0 - model.score(X, Y)) <= model.objective_ + 1e-9


@pytest.mark.draw(2)
@pytest.mark.parametrize("seed", range(18))
def test_the_ssvm_optimum_has_a_slack_for_each_pair(seed):
    X, Y, costs, space, C = small_problem(seed, 20)
    psi, pairs, rows, bounds = lifted(X, space), np.argwhere(Y), [], []
    for k, (i, y) in enumerate(pairs):
        for other in np.flatnonzero(~Y[i]):
            rows.append(np.append(psi[i, other] - psi[i, y], -np.eye(len(pairs))[k]))
            bounds.append(-1.0 if costs is None else -(costs(Y[i]) if callable(costs) else costs)[other])
    v, optimum = solved(psi.shape[2], rows, bounds, np.full(len(pairs), C / 20))
    model = SSVM(space, MaxLoss(costs), C=C, tol=1e-7, max_iter=20000).fit(X, Y)
    assert model.objective_ == pytest.approx(optimum, rel=1e-6)
    assert model.lower_bound_ <= optimum * (1 + 1e-7)
    sure = model.certain(X)
    np.testing.assert_array_equal(model.predict_matrix(X)[sure], (psi @ v[: psi.shape[2]] > 0)[sure])
    same = SSVM(space, SumLoss(costs), C=C, tol=1e-7, max_iter=20000).fit(X, Y)
    np.testing.assert_allclose(same.decision_function(X), model.decision_function(X))


@pytest.mark.slow
def test_the_small_problems_are_neither_easy_nor_hopeless():
    for kind, rows in ((PowersetSSVM, 6), (SSVM, 20)):
        shares = []
        for seed in range(18):
            X, Y, costs, space, C = small_problem(seed, rows)
            loss = MaxLoss(costs)
            surrogate = MarginRescaling(loss) if kind is PowersetSSVM else LabelRanking(loss)
            nothing = C * surrogate.on(Sets.rows(Y))(np.zeros(Y.size)).values.mean()
            shares.append(kind(space, loss, C=C).fit(X, Y).objective_ / nothing)
        assert sum(0.1 <= share <= 0.9 for share in shares) >= 12


def test_the_hinge_of_true_against_false_labels():
    rng = np.random.default_rng(0)
    Y = rng.random((40, 5)) < 0.4
    Y[0], Y[1] = False, True
    sets, distances = Sets.rows(Y), rng.random((5, 5))
    for loss, costs in (
        (MaxLoss(), lambda y: np.ones(5)),
        (SumLoss(np.arange(5.0)), lambda y: np.arange(5.0)),
        (SumLoss(normalized=True), lambda y: np.full(5, 0.2)),
        (MaxLoss(NearestCosts(distances)), NearestCosts(distances)),
        (Jaccard(), lambda y: np.full(5, 1.0 / (y.sum() + 1))),
    ):
        evaluator = LabelRanking(loss).on(sets)
        for _ in range(5):
            S = rng.standard_normal(Y.shape)
            found = evaluator(S.ravel())
            for i, (y, s) in enumerate(zip(Y, S, strict=True)):
                best = (costs(y) + s)[~y].max(initial=-np.inf)
                assert found.values[i] == pytest.approx(np.maximum(0.0, best - s[y]).sum())
            assert (found.values == found.upper).all()
            assert found.exact.all()
            # The scores have no ties, so that the function is smooth there.
            for place in rng.integers(0, sets.total, 10):
                step = 1e-6 * (np.arange(sets.total) == place)
                slope = evaluator(S.ravel() + step).values.sum() - evaluator(S.ravel() - step).values.sum()
                assert slope / 2e-6 == pytest.approx(found.gradient[place], abs=1e-6)
            some = evaluator.take(np.array([3, 1, 0]))(S[[3, 1, 0]].ravel())
            np.testing.assert_array_equal(some.values, found.values[[3, 1, 0]])
            np.testing.assert_array_equal(some.gradient, found.gradient.reshape(Y.shape)[[3, 1, 0]].ravel())
    tied = LabelRanking("max").on(Sets.rows(Y))(np.zeros(200, np.float32))
    assert tied.gradient.dtype == np.float32
    np.testing.assert_array_equal(tied.gradient.reshape(Y.shape).sum(axis=1), 0.0)
    np.testing.assert_array_equal(tied.values[:2], 0.0)


def test_ssvm_does_not_learn_where_zero_is(animals):
    X, Y = animals
    model = SSVM(FiniteSpace(TREE.names), C=100.0).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X).sum(axis=1), 0.0, atol=1e-9)
    # A feature with one value for all labels is a constant of the row.
    kappa = np.column_stack([TREE.kappa, np.ones(6)])
    plain, constant = (SSVM(FiniteSpace(TREE.names, k), C=100.0).fit(X, Y) for k in (TREE.kappa, kappa))
    np.testing.assert_allclose(constant.coef_[-1], 0.0, atol=1e-9)
    np.testing.assert_allclose(constant.decision_function(X), plain.decision_function(X), atol=1e-4)


def test_ssvm_without_a_true_label_learns_nothing(animals):
    X, Y = animals
    model = SSVM(TREE, C=100.0).fit(X, np.zeros_like(Y))
    assert not model.coef_.any()
    assert model.objective_ == 0.0
    some = Y.any(axis=1)
    whole = SSVM(TREE, C=100.0, tol=1e-6, max_iter=9999).fit(X, Y)
    part = SSVM(TREE, C=100.0 * some.mean(), tol=1e-6, max_iter=9999).fit(X[some], Y[some])
    assert 0.0 < some.mean() < 1.0
    assert whole.objective_ == pytest.approx(part.objective_, rel=1e-5)


def test_independent_svms_are_those_of_scikit_learn(animals):
    X, Y = animals
    model = IndependentSVMs(TREE, C=50.0, tol=1e-6, max_iter=20000).fit(X, Y)
    alone = [LinearSVC(C=50.0 / 120, loss="hinge", tol=1e-8, max_iter=10**6).fit(X, y) for y in Y.T]
    objective = sum(
        0.5 * (svm.coef_**2).sum()
        + 0.5 * svm.intercept_[0] ** 2
        + 50.0 * np.maximum(0.0, 1.0 - np.where(y, 1.0, -1.0) * svm.decision_function(X)).mean()
        for svm, y in zip(alone, Y.T, strict=True)
    )
    assert model.objective_ == pytest.approx(objective, rel=1e-5)
    sure = model.certain(X)
    assert sure.mean() > 0.9
    guess = np.column_stack([svm.predict(X) for svm in alone])
    np.testing.assert_array_equal(model.predict_matrix(X)[sure], guess[sure])
    sums = PowersetSSVM(FiniteSpace(TREE.names), "sum", C=50.0, tol=1e-6, max_iter=20000).fit(X, Y)
    assert sums.objective_ == pytest.approx(model.objective_, rel=1e-5)
    np.testing.assert_allclose(sums.decision_function(X), model.decision_function(X), atol=1e-2)


@pytest.mark.parametrize("intercept", [False, True])
def test_independent_svms_have_one_certificate(animals, intercept):
    X, Y = animals
    model = IndependentSVMs(TREE, C=50.0, fit_intercept=intercept, intercept_scaling=3.0, label_bias=2.0).fit(X, Y)
    scores = X @ model.coef_.T + model.intercept_ + model.bias_
    np.testing.assert_allclose(model.decision_function(X), scores)
    square = (model.coef_**2).sum() + (model.intercept_**2).sum() / 9.0 + (model.bias_**2).sum() / 4.0
    hinges = np.maximum(0.0, 1.0 - np.where(Y, 1.0, -1.0) * scores).mean(axis=0)
    assert model.objective_ == pytest.approx(0.5 * square + 50.0 * hinges.sum())
    assert model.lower_bound_ <= model.objective_ <= model.lower_bound_ * (1 + 2e-3)
    assert model.n_iter_ == 6
    assert (np.diff(model.history_["objective"]) <= 0).all()
    assert (np.diff(model.history_["lower_bound"]) >= 0).all()
    assert model.history_["objective"][-1] == model.objective_


def test_independent_svms_with_kernels(animals):
    X, Y = animals[0][:40], animals[1][:40]
    rows = Kernel(partial(rbf_kernel, gamma=0.5))
    joint = JointKernel(lambda A, a, B, b: rbf_kernel(A, B, gamma=0.5) * np.equal.outer(a, b))
    by_label, at_once = (
        IndependentSVMs(TREE, C=50.0, tol=1e-6, max_iter=20000, fit_intercept=False, kernel=kernel).fit(X, Y)
        for kernel in (rows, joint)
    )
    # The joint kernel of equal labels is the same model.
    assert at_once.objective_ == pytest.approx(by_label.objective_, rel=1e-5)
    np.testing.assert_allclose(at_once.decision_function(X), by_label.decision_function(X), atol=2e-2)
    assert by_label.n_iter_ == 6 < at_once.n_iter_


def test_ctrl_c_leaves_the_labels_that_were_trained(animals, monkeypatch):
    X, Y = animals
    whole = IndependentSVMs(TREE, C=50.0).fit(X, Y)
    cut, calls = MeanRisk.cut, []

    def interrupted(self, w, tol=0.0):
        calls.append(1)
        if len(calls) == 40:
            raise KeyboardInterrupt
        return cut(self, w, tol)

    monkeypatch.setattr(MeanRisk, "cut", interrupted)
    model = IndependentSVMs(TREE, C=50.0)
    with pytest.warns(RuntimeWarning, match="interrupted.*for the label"), pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    done = model.n_iter_ - 1
    assert 0 < done < 5
    np.testing.assert_array_equal(model.coef_[:done], whole.coef_[:done])
    assert not model.coef_[done + 1 :].any()
    scores = model.decision_function(X)
    hinges = np.maximum(0.0, 1.0 - np.where(Y, 1.0, -1.0) * scores).mean(axis=0)
    square = (model.coef_**2).sum() + (model.intercept_**2).sum()
    assert model.objective_ == pytest.approx(0.5 * square + 50.0 * hinges.sum())
    assert model.lower_bound_ <= whole.objective_


def test_the_powerset_is_margin_rescaling_of_the_predictor(animals):
    X, Y = animals
    for loss in ("max", SumLoss(np.arange(6) / 4)):
        one = PowersetSSVM(TREE, loss, C=100.0, label_bias=2.0).fit(X, Y)
        two = MultilabelStructuredPredictor(TREE, loss, surrogate="margin", C=100.0, label_bias=2.0).fit(X, Y)
        np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.draw(4)
@pytest.mark.parametrize("kind", [PowersetSSVM, SSVM, IndependentSVMs])
def test_the_face(kind, animals):
    X, Y = animals
    model = kind(TREE, C=100.0).fit(X, Y)
    scores = model.decision_function(X)
    K = np.eye(6) if kind is IndependentSVMs else TREE.kappa
    np.testing.assert_allclose(scores, (X @ model.coef_.T + model.intercept_) @ K.T)
    np.testing.assert_array_equal(model.predict_matrix(X), scores > 0)
    assert model.predict(X) == TREE.decode(scores > 0)
    assert model.score(X, Y) == pytest.approx(((scores > 0) == Y).all(axis=1).mean())
    assert model.duality_gap_ <= 1e-3
    assert 0.0 <= model.certain_share_ <= 1.0
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(X), scores)
    for other in (
        clone(model).fit(csr_matrix(X), TREE.decode(Y)),
        clone(model).set_params(n_jobs=2).fit(X, Y.astype(int)),
    ):
        # Sums over sparse rows are rounded otherwise, so that the descent is not the same.
        assert other.objective_ == pytest.approx(model.objective_, rel=1e-3)
        np.testing.assert_allclose(other.decision_function(csr_matrix(X)), scores, atol=5e-2)
    search = GridSearchCV(kind(TREE, "sum", tol=0.1), {"C": [1.0, 100.0]}, cv=2).fit(X, Y)
    assert search.best_params_ == {"C": 100.0}
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        clone(model).set_params(max_iter=2).fit(X, Y)


@pytest.mark.parametrize("kind", [PowersetSSVM, SSVM, IndependentSVMs])
def test_what_is_refused(kind, animals):
    X, Y = animals
    name = kind.__name__
    for call, words in (
        (lambda: kind(TREE, "auc").fit(X, Y), f"{name} refuses RocArea.*which reads scores"),
        (lambda: kind(TREE).fit(X, [["cat"]] * len(X)), r"Y\[0\] must hold labels of the space"),
        (lambda: kind(TREE).fit(X, Y[:-1]), "inconsistent numbers of samples"),
        (lambda: kind("tree").fit(X, Y), "'space' parameter"),
        (lambda: kind(TREE, C=0.0).fit(X, Y), "'C' parameter"),
        (lambda: kind(TREE).fit(X, Y).score(X, Y[:-1]), "Y must hold a set of labels for each of 120 rows; got 119"),
    ):
        with pytest.raises((ValueError, Refusal), match=words):
            call()
