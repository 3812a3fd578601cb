"""The bound of MLSP Theorem 1: its scale, its terms, and random weights that keep to it."""

import numpy as np
import pytest
from scipy.stats import norm

from rounds import rounds
from setwise import IndependentSVMs, MultilabelStructuredPredictor, PowersetSSVM, gibbs_bound
from setwise.core.batch import Sets
from setwise.losses import MaxLoss, NearestCosts
from setwise.spaces import FiniteSpace, Hierarchy

TREE = Hierarchy({"cow": "animal", "horse": "animal", "car": "vehicle", "bus": "vehicle"})
COSTS = [1.0, 0.5, 0.25, 1.0, 0.75, 2.0]


def animals(n, noise=0.05, seed=0):
    """Rows of length 1, and sets of nodes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, X @ rng.standard_normal((3, 6)) + noise * rng.standard_normal((n, 6)) > 0.7


def easy(n):
    """Three rows that repeat, with sets of labels that large margins separate."""
    which = np.random.default_rng(0).integers(0, 3, n)
    sets = [[1, 1, 0, 0, 0, 0], [0, 0, 0, 1, 1, 0], [0, 0, 0, 0, 0, 0]]
    return np.eye(3)[which], np.array(sets, dtype=bool)[which]


def joint(model, X):
    """The weights of a model, and the features of its pairs, (n, p, d)."""
    kappa = np.eye(6) if model.coef_.shape[0] == 6 and isinstance(model.space_, FiniteSpace) else model.space_.kappa
    scaling = model.intercept_scaling
    w = np.column_stack([model.coef_, model.intercept_ / scaling]).ravel()
    psi = np.einsum("yq,id->iyqd", kappa, np.column_stack([X, np.full(len(X), scaling)])).reshape(len(X), 6, -1)
    if model.label_bias:
        w = np.append(w, model.bias_ / model.label_bias)
        psi = np.concatenate([psi, np.broadcast_to(model.label_bias * np.eye(6), (len(X), 6, 6))], axis=2)
    return w, psi


MODELS = [
    MultilabelStructuredPredictor(TREE, MaxLoss(COSTS), surrogate="hinge", C=300.0, label_bias=0.5),
    MultilabelStructuredPredictor(FiniteSpace(TREE.names), surrogate="hinge", C=100.0, intercept_scaling=2.0),
    PowersetSSVM(TREE, MaxLoss(NearestCosts(TREE.distances() / 4, missed=1.5)), C=30.0),
    IndependentSVMs(FiniteSpace(TREE.names), C=10.0, fit_intercept=False),
]


@pytest.mark.slow
@pytest.mark.draw(24)
@pytest.mark.parametrize("scale", [0.2, 1.0, 2.0])
@pytest.mark.parametrize("data", [animals, easy])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_random_weights_have_no_larger_training_loss(model, data, scale):
    X, Y = data(200)
    model.fit(X, Y)
    for weights in (model.coef_, model.intercept_, model.bias_):
        weights *= scale
    found = gibbs_bound(model, X, Y, largest=2.0, rescale=False)
    if model.fit_intercept:
        w, psi = joint(model, X)
    else:
        w, psi = model.coef_.ravel(), np.einsum("yq,id->iyqd", np.eye(6), X).reshape(200, 6, -1)
    np.testing.assert_allclose(psi @ w, model.decision_function(X), atol=1e-9)
    assert found.length == pytest.approx(np.linalg.norm(psi, axis=2).max())
    t, mu = w @ w, np.sqrt(2.0 * found.length**2 * np.log(6 * 200 / (w @ w)))
    assert (found.scale, found.squared_norm) == (1.0, pytest.approx(t))
    assert found.tail == pytest.approx(2.0 * t / 200)
    assert found.center == pytest.approx(mu)
    # The relative entropy to N(0, I) is half of the squared distance of the means.
    entropy = 0.5 * mu**2 * t
    assert found.deviation == pytest.approx(2.0 * np.sqrt((entropy + np.log(200 / 0.05)) / (2 * 199)))
    rng, sets, many = np.random.default_rng(1), Sets.rows(Y), rounds(400, 150)
    drawn = (mu * w + rng.standard_normal(len(w)) for _ in range(many))
    losses = [model.loss_.values(sets, (psi @ v > 0).ravel()).mean() for v in drawn]
    assert np.mean(losses) <= found.margin_loss + found.tail + 4 * np.std(losses) / np.sqrt(many)


def test_noise_may_be_what_half_of_the_tail_allows_for():
    # All four rows are one, and its only label has a margin of 1: t = 1, and the rows are wrong together.
    X, Y = np.ones((4, 1)), np.ones((4, 1), dtype=bool)
    model = IndependentSVMs(FiniteSpace(["a"]), C=1e4, fit_intercept=False, tol=1e-9).fit(X, Y)
    model.coef_[:] = 1.0
    found = gibbs_bound(model, X, Y, rescale=False)
    assert (found.margin_loss, found.tail) == (0.0, 0.25)
    wrong = (found.center + np.random.default_rng(0).standard_normal(10**5) <= 0).mean()
    assert wrong == pytest.approx(norm.sf(np.sqrt(2.0 * np.log(4.0))), abs=5e-3)
    assert found.tail / 8 < wrong < found.tail / 2
    # New rows are the same one, so this is the expected loss too: Eq. 9 without Lambda is below it for large costs.
    printed = found.value
    model.loss_ = MaxLoss([100.0])
    assert printed < 100.0 * wrong < gibbs_bound(model, X, Y, rescale=False).value


@pytest.mark.draw(8)
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("n", [60, 3000])
def test_no_other_scale_is_better(model, n):
    X, Y = animals(n)
    model.fit(X, Y)
    best = gibbs_bound(model, X, Y, largest=2.0)
    costs = np.array([model.loss_.costs(y) if callable(model.loss_.costs) else np.full(6, 1.0) for y in Y])
    costs = costs if model.loss_.costs is None or callable(model.loss_.costs) else np.tile(COSTS, (n, 1))
    margins, square = np.where(Y, 1, -1) * model.decision_function(X), float(model._weights @ model._weights)
    values = []
    for a in np.concatenate([[0.0], np.geomspace(1e-4, 1e3, 2000), 1.0 / margins[margins > 0][:2000]]):
        t = a**2 * square
        if t >= 6 * n:
            continue
        loss = np.where(a * margins < 1, costs, 0.0).max(axis=1).mean()
        entropy = best.length**2 * (t * np.log(6 * n / t) if t else 0.0)
        values.append(loss + 2.0 * (t / n + np.sqrt((entropy + np.log(n / 0.05)) / (2 * (n - 1)))))
    assert best.value <= min(values) + 1e-9
    assert best.value == pytest.approx(min(values), rel=2e-2)
    assert best.value <= gibbs_bound(model, X, Y, largest=2.0, rescale=False).value
    loss = np.where(best.scale * margins < 1 - 1e-12, costs, 0.0).max(axis=1).mean()
    assert best.margin_loss == pytest.approx(loss)


def test_costs_scale_the_bound():
    X, Y = animals(3000)
    model = MultilabelStructuredPredictor(TREE, MaxLoss(COSTS), surrogate="hinge", C=300.0).fit(X, Y)
    for rescale in (False, True):
        one = gibbs_bound(model, X, Y, rescale=rescale)
        model.loss_ = MaxLoss(8.0 * np.array(COSTS))
        eight = gibbs_bound(model, X, Y, rescale=rescale)
        model.loss_ = MaxLoss(COSTS)
        assert one.largest == 2.0
        assert eight.scale == pytest.approx(one.scale)
        for name in ("value", "margin_loss", "tail", "deviation"):
            assert getattr(eight, name) == pytest.approx(8.0 * getattr(one, name))


def test_it_says_where_it_promises_nothing():
    X, Y = easy(4000)
    model = MultilabelStructuredPredictor(TREE, surrogate="hinge", C=100.0, tol=1e-2).fit(X, Y)
    some = gibbs_bound(model, X, Y)
    assert not some.vacuous
    assert some.margin_loss == 0.0 < some.value < 0.25 < some.largest == 1.0
    assert some.value == some.tail + some.deviation
    few = gibbs_bound(model, X[:20], Y[:20])
    assert few.vacuous
    # Long weights leave the range of the theorem.
    model.coef_ *= 2.0
    outside = gibbs_bound(model, X[:2], Y[:2], rescale=False)
    assert outside.squared_norm >= 12
    assert np.isnan(outside.deviation)
    assert outside.value == np.inf
    assert outside.vacuous
    nothing = PowersetSSVM(TREE, C=1.0).fit(X, np.zeros_like(Y))
    nothing.coef_[:], nothing.intercept_[:] = 0.0, 0.0
    zero = gibbs_bound(nothing, X, Y)
    assert (zero.margin_loss, zero.tail, zero.scale, zero.center) == (1.0, 0.0, 0.0, 0.0)
    assert zero.vacuous
