"""MultilabelStructuredPredictor: its optimum, its certificates, its baselines, and what it refuses."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from estimators.label_programs import solved
from setwise import MultilabelStructuredPredictor, SetClassifier, VacuousBoundWarning
from setwise.core.exceptions import Refusal
from setwise.losses import MaxLoss, NearestCosts, SumLoss
from setwise.risks import MeanRisk
from setwise.spaces import FiniteSpace, Hierarchy
from setwise.surrogates import MultilabelHinge

TREE = Hierarchy({"cow": "animal", "horse": "animal", "car": "vehicle", "bus": "vehicle"})


@pytest.fixture(scope="module")
def animals():
    """Rows whose sets of nodes a linear model nearly explains; some sets are empty."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4))
    return X, X @ rng.standard_normal((4, 6)) + 0.1 * rng.standard_normal((120, 6)) > 1.0


def small_problem(seed):
    """Six rows of two features and four labels, with zeros in lambda, an empty set, and one of several labels."""
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((6, 2)), rng.random((6, 4)) < 0.4
    Y[0], Y[1, :2] = False, True
    distances = rng.integers(0, 3, (4, 4)) / 2
    costs = NearestCosts(np.minimum(distances, distances.T))
    kappa = (None, rng.standard_normal((4, 3)), Hierarchy({1: 0, 2: 0, 3: 1}).kappa)[seed % 3]
    return X, Y, MaxLoss(costs), kappa, ("slack", "margin")[seed // 3 % 2], (20.0, 100.0)[seed % 2]


def reference(X, Y, loss, kappa, rescaling, C):
    """Scores (n, p) and optimum of MLSP Eq. 5, a quadratic program with all constraints of Eq. 6 or 7 listed."""
    n, p = Y.shape
    kappa, phi = np.eye(p) if kappa is None else kappa, np.column_stack([X, np.ones(n)])
    d, rows, bounds = kappa.shape[1] * phi.shape[1], [], []
    for i, y in np.ndindex(n, p):
        cost = loss.costs(Y[i])[y]
        factor = (1.0 if Y[i, y] else -1.0) * (cost if rescaling == "slack" else 1.0)
        rows.append(np.append(-factor * np.outer(kappa[y], phi[i]).ravel(), -np.eye(n)[i]))
        bounds.append(-cost)
    v, optimum = solved(d, rows, bounds, np.full(n, C / n))
    return phi @ v[:d].reshape(-1, phi.shape[1]).T @ kappa.T, optimum


@pytest.mark.draw(2)
@pytest.mark.parametrize("seed", range(24))
def test_the_optimum_is_that_of_all_constraints(seed):
    X, Y, loss, kappa, rescaling, C = small_problem(seed)
    expected, optimum = reference(X, Y, loss, kappa, rescaling, C)
    model = MultilabelStructuredPredictor(
        FiniteSpace(range(4), kappa), loss, rescaling, "hinge", C=C, tol=1e-7, max_iter=20000
    ).fit(X, Y)
    assert model.objective_ == pytest.approx(optimum, rel=1e-6)
    assert model.lower_bound_ <= optimum * (1 + 1e-7)
    sure = model.certain(X)
    assert sure.mean() > 0.5
    assert model.certain_share_ == sure.mean()
    np.testing.assert_array_equal(model.predict_matrix(X)[sure], (expected > 0)[sure])
    assert C * (1.0 - model.score(X, Y)) <= model.objective_ + 1e-9


def test_the_small_problems_are_neither_easy_nor_hopeless():
    problems = [small_problem(seed) for seed in range(24)]
    shares = [reference(*problem)[1] / problem[-1] for problem in problems]
    assert sum(0.2 <= share <= 0.9 for share in shares) >= 20
    assert sum(min(loss.costs(y).min() for y in Y) == 0.0 for _, Y, loss, *_ in problems) >= 20


def test_hinges_have_an_order_of_optima(animals):
    X, Y = animals
    costs = np.array([1.0, 0.5, 0.25, 1.0, 0.75, 0.5])
    for C in (3.0, 300.0):
        fits = {}
        for name, loss, surrogate, weight in (
            ("single", MaxLoss(costs), "hinge", C),
            ("largest", MaxLoss(costs), "margin", C),
            ("sum", SumLoss(costs), "margin", C),
            ("many", MaxLoss(costs), "hinge", 6 * C),
        ):
            model = MultilabelStructuredPredictor(TREE, loss, "margin", surrogate, C=weight, max_iter=5000)
            fits[name] = model.fit(X, Y)
        for less, more in (("single", "largest"), ("largest", "sum"), ("sum", "many")):
            assert fits[less].lower_bound_ <= fits[more].objective_
            assert C * (1.0 - fits[less].score(X, Y)) <= fits[less].objective_


def test_the_sum_loss_of_sets_is_independent_svms(animals):
    X, Y = animals
    space = FiniteSpace(TREE.names)
    model = MultilabelStructuredPredictor(space, "sum", surrogate="margin", C=50.0, tol=1e-6, max_iter=20000).fit(X, Y)
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
    np.testing.assert_array_equal(
        model.predict_matrix(X)[sure], np.column_stack([svm.predict(X) for svm in alone])[sure]
    )


def test_labels_that_share_nothing_are_those_of_set_classifier(animals):
    X, Y = animals
    model = MultilabelStructuredPredictor(FiniteSpace(TREE.names), surrogate="hinge", C=300.0, tol=1e-4).fit(X, Y)
    other = SetClassifier("max", MultilabelHinge(MaxLoss()), C=300.0, tol=1e-4).fit(X, Y)
    assert model.objective_ == pytest.approx(other.objective_)
    np.testing.assert_allclose(model.coef_, other.coef_)
    np.testing.assert_array_equal(model.predict_matrix(X), other.predict(X))


@pytest.mark.slow
@pytest.mark.draw(12)
@pytest.mark.parametrize("bias", [0.0, 2.0])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("kappa", [None, "tree", "narrow"])
def test_scores_are_what_was_trained(animals, kappa, intercept, bias):
    X, Y = animals
    narrow = np.random.default_rng(1).standard_normal((6, 5))
    space = {None: FiniteSpace(TREE.names), "tree": TREE, "narrow": FiniteSpace(TREE.names, narrow)}[kappa]
    for surrogate in ("hinge", "ramp"):
        model = MultilabelStructuredPredictor(
            space,
            surrogate=surrogate,
            C=100.0,
            fit_intercept=intercept,
            intercept_scaling=3.0,
            label_bias=bias,
            max_iter=3000,
        ).fit(X, space.decode(Y))
        K = np.eye(6) if space.kappa is None else space.kappa
        expected = (X @ model.coef_.T + model.intercept_) @ K.T + model.bias_
        np.testing.assert_allclose(model.decision_function(X), expected)
        assert (np.abs(model.intercept_).sum() > 0) == intercept
        assert (np.abs(model.bias_).sum() > 0) == (bias > 0)
        assert model.predict(X) == space.decode(expected > 0)
        assert model.score(X, Y) == pytest.approx((((expected > 0) == Y).all(axis=1)).mean())
        if surrogate == "hinge":
            weights = np.sum(model.coef_**2) + np.sum((model.intercept_ / 3.0) ** 2)
            weights += np.sum((model.bias_ / bias) ** 2) if bias else 0.0
            hinge = np.maximum(0.0, (1 - np.where(Y, 1, -1) * expected).max(axis=1)).mean()
            assert model.objective_ == pytest.approx(0.5 * weights + 100.0 * hinge)


@pytest.mark.slow
def test_the_ramp_starts_at_labels_alone(animals):
    X, Y = animals
    # A tree can have any scores, so that it begins where labels that share nothing do.
    tree, alone = (
        MultilabelStructuredPredictor(space, start="logistic", surrogate="hinge", C=0.0).fit(X, Y)
        for space in (TREE, FiniteSpace(TREE.names))
    )
    np.testing.assert_allclose(
        tree.decision_function(X) / np.abs(tree.decision_function(X)).mean(),
        alone.decision_function(X) / np.abs(alone.decision_function(X)).mean(),
    )


def test_auto_takes_the_ramp_where_the_hinge_says_nothing():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 3))
    Y = X @ rng.standard_normal((3, 5)) + 1.5 * rng.standard_normal((80, 5)) > 0.5
    space = FiniteSpace(range(5))
    with pytest.warns(VacuousBoundWarning, match="'multilabel_hinge' guarantees no smaller.*has taken the ramp"):
        auto = MultilabelStructuredPredictor(space, C=10.0).fit(X, Y)
    with pytest.warns(VacuousBoundWarning, match="'multilabel_hinge' guarantees no smaller loss here than a constant"):
        hinge = MultilabelStructuredPredictor(space, surrogate="hinge", C=10.0).fit(X, Y)
    assert (auto.surrogate_, hinge.surrogate_) == ("ramp", "multilabel_hinge")
    assert auto.score(X, Y) >= hinge.score(X, Y)
    assert hinge.certain_share_ < 0.5
    assert np.isnan(auto.certain_share_)
    with pytest.raises(Refusal, match="certain refuses a model of the ramp"):
        auto.certain(X)


def test_auto_warns_where_it_keeps_a_hinge_that_says_nothing():
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((40, 30)), rng.random((40, 4)) < 0.5
    with pytest.warns(VacuousBoundWarning, match="has kept it, because the ramp that was tried has a larger"):
        model = MultilabelStructuredPredictor(FiniteSpace(range(4)), C=1.0).fit(X, Y)
    assert model.surrogate_ == "multilabel_hinge"
    assert model.objective_ > 0.95


def test_auto_keeps_a_hinge_that_says_something(animals):
    X, Y = animals
    model = MultilabelStructuredPredictor(TREE, C=1e4, tol=1e-2).fit(X, Y)
    assert model.surrogate_ == "multilabel_hinge"
    assert MultilabelStructuredPredictor(TREE, "sum", C=1e4, tol=1e-2).fit(X, Y).surrogate_ == "margin"


def test_kinds_of_data_and_copies(animals):
    X, Y = animals
    model = MultilabelStructuredPredictor(TREE, surrogate="hinge", C=300.0).fit(X, Y)
    for other in (
        clone(model).fit(csr_matrix(X), TREE.decode(Y)),
        clone(model).set_params(n_jobs=2).fit(X, Y.astype(int)),
        pickle.loads(pickle.dumps(model)),
    ):
        # Sums in another order lead to another point within the same gap.
        np.testing.assert_allclose(other.decision_function(X), model.decision_function(X), atol=1e-4)
    assert {"objective", "lower_bound", "upper_bound", "seconds"} == set(model.history_)
    assert model.n_iter_ == len(model.history_["objective"])
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        clone(model).set_params(max_iter=2).fit(X, Y)


def test_ctrl_c_keeps_the_best_weights(animals, monkeypatch):
    X, Y = animals
    cut, calls = MeanRisk.cut, []

    def interrupted(self, w, tol=0.0):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return cut(self, w, tol)

    monkeypatch.setattr(MeanRisk, "cut", interrupted)
    model = MultilabelStructuredPredictor(TREE, surrogate="hinge", C=300.0)
    with (
        pytest.warns(RuntimeWarning, match="interrupted; these are the best weights so far"),
        pytest.raises(KeyboardInterrupt),
    ):
        model.fit(X, Y)
    assert model.n_iter_ == 3
    assert np.isfinite(model.decision_function(X)).all()


def test_empty_truths_alone(animals):
    X, _ = animals
    model = MultilabelStructuredPredictor(TREE, surrogate="hinge", C=100.0).fit(X, [[]] * len(X))
    assert model.predict(X) == [[]] * len(X)
    assert model.score(X, [[]] * len(X)) == 1.0


def test_what_is_refused(animals):
    X, Y = animals
    make = MultilabelStructuredPredictor
    model = make(TREE, surrogate="hinge", C=30.0).fit(X, Y)
    for call, words in (
        (lambda: make(TREE, "sum", surrogate="hinge").fit(X, Y), "MultilabelHinge refuses SumLoss"),
        (lambda: make(TREE, "auc").fit(X, Y), "MultilabelStructuredPredictor refuses RocArea.*which reads scores"),
        (lambda: make(TREE).fit(X, [["cat"]] * len(X)), r"Y\[0\] must hold labels of the space"),
        (lambda: make(TREE).fit(X, Y[:-1]), "inconsistent numbers of samples"),
        (lambda: make(TREE).fit(X, Y[:, 1:]), "Y must have a column for each of 6 labels"),
        (lambda: make("tree").fit(X, Y), "'space' parameter"),
        (lambda: make(TREE, C=0.0, surrogate="hinge").fit(X, Y), "C must be above 0 where the start is w = 0"),
        (lambda: model.score(X, Y[:-1]), "Y must hold a set of labels for each of 120 rows; got 119"),
        (lambda: model.predict(X[:, 1:]), "features"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
