"""MultilabelStructuredPredictor with kernels: the dual of MLSP, working sets of pairs, and refusals."""

import pickle
from functools import partial

import numpy as np
import piqp
import pytest
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from setwise import MultilabelStructuredPredictor
from setwise.core.batch import Sets
from setwise.core.exceptions import Refusal
from setwise.core.surrogate import Evaluator
from setwise.learners import LEARNERS, NSlack
from setwise.losses import MaxLoss, NearestCosts
from setwise.models import JointKernel, JointLabels, Kernel
from setwise.risks import MeanRisk
from setwise.spaces import FiniteSpace, Hierarchy
from setwise.surrogates import MultilabelHinge

RBF = partial(rbf_kernel, gamma=0.5)
KAPPA = Hierarchy({1: 0, 2: 0, 3: 1}).kappa


def product(A, a, B, b):
    """The product of an RBF kernel and that of the features of labels."""
    return RBF(A, B) * (KAPPA[a] @ KAPPA[b].T)


def small_problem(seed):
    """Seven rows and four labels of a tree, with zeros in lambda, an empty set, and a row with two right labels."""
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((7, 2)), rng.random((7, 4)) < 0.4
    Y[0], Y[1, :2] = False, True
    distances = rng.integers(0, 3, (4, 4)) / 2
    costs = NearestCosts(np.minimum(distances, distances.T))
    return X, Y, MaxLoss(costs), ("slack", "margin")[seed % 2], (8.0, 16.0, 30.0)[seed % 3]


def dual(X, Y, loss, rescaling, C, joint):
    """The multipliers (n, p) and the optimum of MLSP Eq. 10 and 11, or 12 and 13, over all pairs.

    ``joint`` is the kernel of all pairs (n p, n p). Terms with lambda = 0 are left out under slack rescaling.
    """
    n, p = Y.shape
    v, costs = np.where(Y, 1.0, -1.0).ravel(), np.concatenate([loss.costs(y) for y in Y])
    kept = np.flatnonzero(costs > 0) if rescaling == "slack" else np.arange(n * p)
    Q = (v[:, None] * v * joint)[np.ix_(kept, kept)]
    linear = np.ones(len(kept)) if rescaling == "slack" else costs[kept]
    share = 1.0 / costs[kept] if rescaling == "slack" else np.ones(len(kept))
    sums = np.zeros((n, len(kept)))
    sums[kept // p, np.arange(len(kept))] = share
    solver = piqp.DenseSolver()
    solver.settings.verbose = False
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-11
    low = np.zeros(len(kept))
    solver.setup(Q + 1e-13 * np.eye(len(Q)), -linear, None, None, sums, None, np.full(n, C / n), low, None)
    solver.solve()
    alpha = np.zeros(n * p)
    alpha[kept] = solver.result.x
    return alpha * v, linear @ solver.result.x - 0.5 * solver.result.x @ Q @ solver.result.x


@pytest.mark.draw(2)
@pytest.mark.parametrize("seed", range(24))
def test_the_optimum_is_that_of_the_dual_over_all_pairs(seed):
    X, Y, loss, rescaling, C = small_problem(seed)
    rows, places = np.repeat(X, 4, axis=0), np.tile(np.arange(4), 7)
    joint = product(rows, places, rows, places) + KAPPA[places] @ KAPPA[places].T
    signed, optimum = dual(X, Y, loss, rescaling, C, joint)
    model = MultilabelStructuredPredictor(
        FiniteSpace(range(4), KAPPA), loss, rescaling, "hinge", C=C, tol=1e-7, max_iter=20000, kernel=RBF
    ).fit(X, Y)
    assert model.objective_ == pytest.approx(optimum, rel=1e-6)
    assert model.lower_bound_ <= optimum * (1 + 1e-7)
    new = np.random.default_rng(seed).standard_normal((30, 2))
    every = np.repeat(new, 4, axis=0)
    across = (
        product(every, np.tile(np.arange(4), 30), rows, places) + KAPPA[np.tile(np.arange(4), 30)] @ KAPPA[places].T
    )
    expected = (across @ signed).reshape(30, 4)
    sure = model.certain(new)
    assert sure.mean() > 0.5
    np.testing.assert_array_equal(model.predict_matrix(new)[sure], (expected > 0)[sure])


def test_the_duals_are_neither_easy_nor_hopeless():
    shares = []
    for seed in range(24):
        X, Y, loss, rescaling, C = small_problem(seed)
        model = MultilabelStructuredPredictor(
            FiniteSpace(range(4), KAPPA), loss, rescaling, "hinge", C=C, tol=1e-4, max_iter=5000, kernel=RBF
        )
        shares.append(model.fit(X, Y).objective_ / C)
    assert sum(0.2 <= share <= 0.9 for share in shares) >= 20


@pytest.mark.draw(4)
@pytest.mark.parametrize("learner", [name for name, kind in LEARNERS.items() if name != "subgradient"])
def test_all_learners_meet_in_the_features_of_a_kernel(learner):
    X, Y, loss, _, C = small_problem(2)
    fits = [
        MultilabelStructuredPredictor(
            FiniteSpace(range(4), KAPPA), loss, "slack", "hinge", name, C=C, tol=1e-5, max_iter=50000, kernel=RBF
        ).fit(X, Y)
        for name in ("one_slack", learner)
    ]
    assert fits[0].objective_ == pytest.approx(fits[1].objective_, rel=2e-5)


def test_a_joint_kernel_that_is_a_product_is_the_product():
    rng = np.random.default_rng(3)
    X, new = rng.standard_normal((40, 2)), rng.standard_normal((20, 2))
    Y = RBF(X, X[:4]) > 0.4
    options = {"surrogate": "hinge", "C": 50.0, "tol": 1e-8, "max_iter": 50000, "fit_intercept": False}
    one = MultilabelStructuredPredictor(FiniteSpace(range(4), KAPPA), kernel=RBF, **options).fit(X, Y)
    joint = MultilabelStructuredPredictor(FiniteSpace(range(4)), kernel=JointKernel(product), **options).fit(X, Y)
    assert joint.objective_ == pytest.approx(one.objective_, rel=1e-7)
    np.testing.assert_allclose(joint.decision_function(new), one.decision_function(new), atol=1e-3)
    assert joint.coef_.shape[0] == 1
    assert joint.kernel_residual_ <= 1e-10
    again = pickle.loads(pickle.dumps(joint))
    np.testing.assert_array_equal(again.decision_function(new), joint.decision_function(new))
    assert clone(joint).kernel.function is product


class PairRecorder(Evaluator):
    """An evaluator that counts the pairs which have a part in its gradients, and those of its first call."""

    def __init__(self, inner, pairs=None):
        self.inner, self.batch, self.floor = inner, inner.batch, inner.floor
        self.pairs = pairs if pairs is not None else []

    def evaluate(self, scores, tol):
        found = self.inner.evaluate(scores, tol)
        self.pairs.append(np.flatnonzero(found.gradient))
        return found

    def take(self, parts):
        return self if len(parts) == len(self.batch) else PairRecorder(self.inner.take(parts), self.pairs)


def test_working_sets_are_smaller_than_all_pairs_and_labels_outside_of_them_are_exact():
    rng = np.random.default_rng(5)
    X, kappa = rng.standard_normal((60, 2)), rng.random((12, 4))
    Y = (RBF(X, rng.standard_normal((4, 2))) - 0.3) @ kappa.T > 0.05
    basis, phi = Kernel(RBF).basis(X)
    batch = Sets.rows(Y)
    evaluator = PairRecorder(MultilabelHinge(MaxLoss()).on(batch))
    features = JointLabels(phi, kappa, np.arange(61), intercept=0.0)
    fit = NSlack(C=300.0, tol=1e-9, max_iter=3000).minimize(MeanRisk(features, evaluator))
    first, every = evaluator.pairs[0], np.unique(np.concatenate(evaluator.pairs))
    assert len(every) < 0.8 * 60 * 12
    # Some labels are in no pair of the first working set.
    assert len(np.setdiff1d(np.arange(12), first % 12)) >= 3
    rows, places = np.repeat(X, 12, axis=0), np.tile(np.arange(12), 60)
    joint = RBF(rows, rows) * (kappa[places] @ kappa[places].T)
    signed, optimum = dual(X, Y, MaxLoss(NearestCosts(np.ones((12, 12)))), "slack", 300.0, joint)
    assert fit.objective == pytest.approx(optimum, rel=1e-8)
    new = rng.standard_normal((25, 2))
    across = RBF(np.repeat(new, 12, axis=0), rows) * (kappa[np.tile(np.arange(12), 25)] @ kappa[places].T)
    expected = (across @ signed).reshape(25, 12)
    found = (basis.coordinates(new) @ fit.w.reshape(4, -1).T) @ kappa.T
    np.testing.assert_allclose(found, expected, atol=1e-6)


def apart(A, a, B, b):
    """An RBF kernel for each label alone."""
    return RBF(A, B) * (np.asarray(a)[:, None] == np.asarray(b))


@pytest.mark.slow
def test_the_ramp_starts_at_independent_training_in_the_features_of_a_kernel():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((80, 2))
    Y = (RBF(X, rng.standard_normal((4, 2))) > 0.5) ^ (rng.random((80, 4)) < 0.2)
    scores = []
    for kernel in (RBF, JointKernel(apart)):
        model = MultilabelStructuredPredictor(
            FiniteSpace(range(4)), surrogate="ramp", C=1e-6, kernel=kernel, fit_intercept=False
        ).fit(X, Y)
        scores.append(model.decision_function(X))
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-4 * np.abs(scores[0]).max())
    # The start has sizes that suit the risk, and the signs of independent training, which fits the rows.
    assert ((scores[0] > 0) == Y).mean() > 0.75


def test_what_is_refused():
    X, Y, *_ = small_problem(0)
    with pytest.raises(Refusal, match=r"label_bias=2 refuses JointKernel"):
        MultilabelStructuredPredictor(FiniteSpace(range(4)), kernel=JointKernel(product), label_bias=2.0).fit(X, Y)
    with pytest.raises(ValueError, match="The 'kernel' parameter"):
        MultilabelStructuredPredictor(FiniteSpace(range(4)), kernel="rbf").fit(X, Y)
    with pytest.raises(ValueError, match=r"kernel\(A, B\) must be finite"):
        MultilabelStructuredPredictor(FiniteSpace(range(4)), kernel=lambda A, B: np.full((len(A), len(B)), np.inf)).fit(
            X, Y
        )
