"""The likelihood as a surrogate: values by enumeration, gradients by differences, and what learners certify of it."""

import numpy as np
import pytest
from scipy.optimize import minimize

from probabilistic.models import KINDS, base
from rounds import rounds
from setwise.core.batch import Sets
from setwise.core.enumerate import subsets
from setwise.core.exceptions import Refusal
from setwise.core.networks import Graphs
from setwise.kernels.threads import thread_limit
from setwise.learners import LEARNERS, ConvexConcaveProcedure, OneSlack, Subgradient
from setwise.losses import Hamming
from setwise.models import GraphModel, RowModel
from setwise.probabilistic import (
    CallableSetFunction,
    ConcaveSizeFunction,
    Cut,
    Energies,
    HiddenLikelihood,
    LFieldLikelihood,
    LogSupermodularDistribution,
    ModularFunction,
    PerturbedLikelihood,
    l_field,
)
from setwise.probabilistic.perturbations import noise_of
from setwise.risks import MeanRisk
from setwise.surrogates import MarginRescaling

CUTS = [Cut.grid(2, 3, (0, 1)), Cut.grid(2, 3, (1, 0))]
ROWS = subsets(6)


def batches(kind, rng, n=3):
    """A batch of sets of several sizes with the terms of a kind, and scores for it."""
    sizes = rng.integers(1, 6, n)
    terms = [base(kind, int(p), rng, 1.0) for p in sizes]
    labels = (rng.random(sizes.sum()) < 0.5).astype(np.int8)
    batch = Energies(terms, labels, np.concatenate([[0], np.cumsum(sizes)]))
    scores = rng.standard_normal(batch.n_scores)
    scores[batch.term_places] = rng.random(batch.term_places.shape)
    return batch, scores


def model_of(batch, X=None, base=None):
    """Features of decisions, their own ones by default, and the weights of the base functions."""
    made = batch.design(np.tile(np.eye(batch.sizes[0]), (len(batch), 1)) if X is None else X)
    return RowModel(made.rows, batch.score_offsets, intercept=0.0, base=base, lower=made.lower)


def agrees_with_differences(evaluator, scores, least):
    """The gradient is that of finite differences; scores that may not be below 0 are only raised."""
    found, step = evaluator(scores), 1e-6
    for i in range(len(scores)):
        up = evaluator(scores + step * np.eye(len(scores))[i]).values.sum()
        down = evaluator(scores - (0.0 if i in least else step) * np.eye(len(scores))[i]).values.sum()
        assert (up - down) / (step * (1 + (i not in least))) == pytest.approx(found.gradient[i], abs=2e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_values_are_means_of_maxima_over_all_labelings(kind):
    rng = np.random.default_rng([0, KINDS.index(kind)])
    for seed in range(4):
        batch, scores = batches(kind, rng)
        found = PerturbedLikelihood(6, random_state=seed).on(batch)(scores)
        for i in range(len(batch)):
            model = batch.model(i, scores)
            rows = subsets(model.total)
            noise = noise_of(0, np.uint64(seed), i, 0, 6, model.total, True)
            maxima = (rows @ noise.T - model.values(rows)[:, None]).max(axis=0)
            own = batch.labels[batch.offsets[i] : batch.offsets[i + 1]]
            assert found.values[i] == pytest.approx(maxima.mean() + model.values(own)[0], abs=1e-9)
        assert (found.values >= -1e-9).all()
        np.testing.assert_array_equal(found.upper, found.values)


@pytest.mark.draw(6)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("surrogate", [PerturbedLikelihood(6), LFieldLikelihood()], ids=["perturbed", "l_field"])
def test_gradients_are_those_of_differences(kind, surrogate):
    batch, scores = batches(kind, np.random.default_rng([1, KINDS.index(kind)]))
    agrees_with_differences(surrogate.on(batch), scores, ())


@pytest.mark.draw(3)
@pytest.mark.parametrize("kind", KINDS)
def test_l_field_is_enclosed_and_convex(kind):
    rng = np.random.default_rng([2, KINDS.index(kind)])
    for _ in range(rounds(4, 2)):
        batch, scores = batches(kind, rng)
        evaluator = LFieldLikelihood().on(batch)
        found = evaluator(scores)
        bounds = np.array([l_field(batch.model(i, scores)).value for i in range(len(batch))])
        bounds -= batch.at_target(scores)
        assert (found.values <= bounds + 1e-9).all()
        np.testing.assert_allclose(found.upper, bounds, atol=1e-9)
        np.testing.assert_allclose(found.values, found.upper, atol=1e-7)
        other = scores + rng.standard_normal(len(scores))
        other[batch.term_places] = np.abs(other[batch.term_places])
        planes = found.values.sum() + found.gradient @ (other - scores)
        assert planes <= evaluator(other).upper.sum() + 1e-9
        assert (found.upper >= PerturbedLikelihood(60).on(batch)(scores).values - 2.0).all()


@pytest.mark.parametrize("kind", ["images", "diagonals", "lists", "two shapes in a set"])
def test_graphs_are_perturbed_as_enumeration_says(kind):
    rng = np.random.default_rng([4, len(kind)])
    shapes = [(2, 3), (3, 2), (1, 4)] if kind == "two shapes in a set" else [(2, 3), (3, 3), (2, 2)]
    images = [rng.random(shape) < 0.5 for shape in shapes]
    graphs = Graphs.images(images, 8 if kind == "diagonals" else 4, [0, 2, 3] if "two" in kind else None)
    if kind == "lists":
        graphs = Graphs(graphs.labels, graphs.offsets, graphs.edges)
    scores = rng.standard_normal(graphs.n_scores)
    scores[graphs.edge_places] = np.abs(scores[graphs.edge_places])
    evaluator = PerturbedLikelihood(10, random_state=5).on(graphs)
    found = evaluator(scores)
    for i in range(len(graphs)):
        one, p = graphs.take(np.array([i])), int(graphs.sizes[i])
        phi, own = np.stack([one.encode(row) for row in subsets(p)]), slice(*graphs.score_offsets[i : i + 2])
        totals = (phi @ scores[own])[:, None] + subsets(p) @ noise_of(0, np.uint64(5), i, 0, 10, p, True).T
        assert found.values[i] == pytest.approx(totals.max(axis=0).mean() - scores[own] @ one.target)
        mean = phi[totals.argmax(axis=0)].mean(axis=0)
        np.testing.assert_allclose(found.gradient[own], mean - one.target, atol=1e-12)
        # A part has the noise of its set.
        assert evaluator.take(np.array([i]))(scores[own]).values[0] == found.values[i]
    with thread_limit(2):
        np.testing.assert_array_equal(evaluator(scores).gradient, found.gradient)
    scores[graphs.edge_places[0]] = -1.0
    with pytest.raises(ValueError, match="MaxFlow needs nonnegative scores of edges; got -1"):
        evaluator(scores)


def test_graphs_and_independent_decisions_have_the_same_likelihood():
    rng = np.random.default_rng(3)
    labels, edges = rng.random(6) < 0.5, CUTS[0].edges
    for graphs in (Graphs(labels, np.array([0, 6]), edges), Sets(labels, np.array([0, 6]))):
        scores = np.abs(rng.standard_normal(graphs.n_scores))
        evaluator = PerturbedLikelihood(4, random_state=5).on(graphs)
        phi = np.stack([graphs.encode(row) for row in ROWS])
        noise = noise_of(0, np.uint64(5), 0, 0, 4, 6, True)
        expected = ((phi @ scores)[:, None] + ROWS @ noise.T).max(axis=0).mean() - scores @ graphs.target
        assert evaluator(scores).values[0] == pytest.approx(expected)
        agrees_with_differences(evaluator, scores, ())
    # Energies with one cut and graphs with one feature of edges are the same model.
    graphs = Graphs(labels, np.array([0, 6]), edges)
    energies = Energies([[CUTS[0]]], labels, np.array([0, 6]))
    w = rng.standard_normal(2)
    w[1] = 0.4
    X = rng.standard_normal((6, 1))
    surrogate = PerturbedLikelihood(10)
    first = MeanRisk(GraphModel(X, np.ones((len(edges), 1)), graphs, 0.0), surrogate.on(graphs)).cut(w)
    second = MeanRisk(model_of(energies, X), surrogate.on(energies)).cut(w)
    assert first.value == pytest.approx(second.value)
    np.testing.assert_allclose(first.slope, second.slope)


@pytest.mark.parametrize("kind", ["two cuts", "cut and size"])
def test_parts_threads_and_order_change_nothing(kind):
    rng = np.random.default_rng(4)
    batch, scores = batches(kind, rng, 7)
    evaluator = PerturbedLikelihood(20).on(batch)
    whole = evaluator(scores)
    order = rng.permutation(7)
    part = evaluator.take(order)
    places = np.concatenate([np.arange(*batch.score_offsets[i : i + 2]) for i in order])
    np.testing.assert_array_equal(part(scores[places]).values, whole.values[order])
    np.testing.assert_array_equal(part(scores[places]).gradient, whole.gradient[places])
    X = rng.standard_normal((batch.total, 2))
    w = np.array([0.5, -0.3, *[0.4] * batch.n_terms])
    risks = [MeanRisk(model_of(batch, X), evaluator, n_jobs=jobs) for jobs in (1, 2)]
    assert risks[0].cut(w).value == risks[1].cut(w).value
    np.testing.assert_array_equal(risks[0].cut(w).slope, risks[1].cut(w).slope)
    assert risks[0].redrawn(0).cut(w).value == risks[0].cut(w).value
    assert risks[0].redrawn(1).cut(w).value != risks[0].cut(w).value


def joint(seed=0, n=40):
    """Rows of 2 x 3 labels that like to agree."""
    rng = np.random.default_rng(seed)
    return (rng.random((n, 1)) < 0.5) ^ (rng.random((n, 6)) < 0.25)


@pytest.fixture(scope="module")
def with_size():
    """A risk of a cut and a concave function of the size, C, and the least objective that Nelder and Mead find."""
    batch = Energies.joint([CUTS[0], ConcaveSizeFunction(np.sqrt(np.arange(7)))], joint())
    risk, C = MeanRisk(model_of(batch, np.ones((6, 1))), PerturbedLikelihood(8).on(batch)), 20.0

    def objective(w):
        outside = np.square(np.minimum(w[1:], 0.0)).sum()
        return 0.5 * w @ w + C * risk.cut(np.maximum(w, [-np.inf, 0.0, 0.0])).value + 1e3 * outside

    start = OneSlack(C=C, tol=1e-3).minimize(risk).w
    return risk, C, minimize(objective, start, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-9}).fun


@pytest.mark.draw(6)
@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS.keys())
def test_every_learner_certifies_the_joint_likelihood_with_a_concave_function(make, with_size):
    risk, C, best = with_size
    tol = 3e-2 if make is Subgradient else 1e-4
    fit = make(C=C, tol=tol, max_iter=4000).minimize(risk)
    assert fit.status == "converged"
    assert fit.lower_bound <= best + 1e-6
    assert fit.objective <= best * (1.0 + 1.1 * tol)
    assert (fit.w[1:] >= 0.0).all()


def test_l_field_learns_no_couplings_where_perturbed_labelings_do():
    # The bound of a mean of labels is best without couplings (LSM 4.1): <s, m> <= f(m) <= E f for s in B(f).
    rows = joint(1)
    batch = Energies.joint(CUTS, rows)
    shares = rows.mean(axis=0)
    least = -(shares * np.log(shares) + (1 - shares) * np.log(1 - shares)).sum()
    at_zero = np.concatenate([np.log(shares / (1 - shares)), np.zeros(2)])
    field = LFieldLikelihood().on(batch)
    assert field(at_zero).upper[0] == pytest.approx(least)
    rng = np.random.default_rng(2)
    for _ in range(50):
        other = at_zero + rng.standard_normal(8)
        other[6:] = np.abs(other[6:])
        assert field(other).values[0] >= least - 1e-9
    C = 1e4
    fits = {
        name: OneSlack(C=C, tol=1e-4, max_iter=2000).minimize(MeanRisk(model_of(batch), surrogate.on(batch)))
        for name, surrogate in (("field", LFieldLikelihood()), ("perturbed", PerturbedLikelihood(500)))
    }
    assert fits["field"].status == fits["perturbed"].status == "converged"
    assert fits["field"].lower_bound >= C * least * (1.0 - 2e-4)
    np.testing.assert_allclose(fits["field"].w[6:], 0.0, atol=1e-3)
    assert fits["perturbed"].w[6:].sum() > 0.3
    assert fits["perturbed"].objective < fits["field"].objective


def test_few_frozen_samples_read_too_low_on_their_own_noise():
    batch = Energies.joint([Cut.grid(4, 5)], np.repeat(joint(3), 4, axis=1)[:, :20])
    risk = MeanRisk(model_of(batch), PerturbedLikelihood(4).on(batch))
    fit = OneSlack(C=1e3, tol=1e-3, max_iter=1000).minimize(risk)
    own, fresh = risk.cut(fit.w).value, [risk.redrawn(seed).cut(fit.w).value for seed in range(1, 30)]
    error = np.std(fresh, ddof=1) / np.sqrt(len(fresh))
    assert own < np.mean(fresh) - 4.0 * error
    many = MeanRisk(model_of(batch), PerturbedLikelihood(400).on(batch))
    better = OneSlack(C=1e3, tol=1e-3, max_iter=1000).minimize(many)
    assert np.mean([risk.redrawn(seed).cut(better.w).value for seed in range(1, 30)]) < np.mean(fresh)


def hidden(seed=0, n=30, pi=0.1):
    """Observations of rows through noise, some of them missing."""
    rng = np.random.default_rng([seed, 7])
    rows = joint(seed, n)
    seen = np.where(rows ^ (rng.random(rows.shape) < pi), 1.0, -1.0)
    return np.where(rng.random(rows.shape) < 0.1, 0.0, seen)


def test_hidden_labels_are_summed_out():
    q = hidden(n=3)
    batch = Energies.hidden(CUTS, q)
    surrogate = HiddenLikelihood(4, random_state=2)
    scores = np.random.default_rng(0).standard_normal(batch.n_scores)
    scores[batch.term_places] = np.abs(scores[batch.term_places])
    evaluator = surrogate.on(batch)
    found = evaluator(scores)
    for i in range(3):
        model = batch.model(i, scores)
        t, alpha, c = model.unary, model.weights[:2], model.weights[2]
        plain = LogSupermodularDistribution(CUTS, t, alpha)
        noise = noise_of(0, np.uint64(2), i, 0, 4, 6, True)
        first, second = (
            (ROWS @ noise.T - one.values(ROWS)[:, None]).max(axis=0).mean()
            for one in (plain, plain.with_unary(t + c * q[i]))
        )
        assert found.values[i] == pytest.approx(first + np.log1p(np.exp(c * q[i])).sum() - second)
    agrees_with_differences(evaluator, scores, ())
    above = evaluator.majorant(scores)
    assert above(scores).values == pytest.approx(found.values)
    other = scores + 0.3 * np.random.default_rng(1).random(len(scores))
    assert (above(other).values >= evaluator(other).values - 1e-9).all()
    np.testing.assert_allclose(evaluator.take(np.array([2]))(scores[18:]).values, found.values[2:])


@pytest.mark.slow
@pytest.mark.draw(2)
@pytest.mark.parametrize("known", [True, False])
def test_the_convex_concave_procedure_is_expectation_maximization(known):
    q = hidden(n=120)
    batch = Energies.hidden(CUTS, q)
    c, n = float(np.log(9.0)), len(q)
    X = np.ones((batch.total, 1))
    base = None
    if known:
        # The weight of the observations is a fixed score, and no weight.
        made, base = batch.design(X), np.zeros(batch.n_scores)
        base[batch.term_places[:, 2]] = c
        features = RowModel(made.rows[:, :3], batch.score_offsets, intercept=0.0, base=base, lower=made.lower[:3])
    else:
        features = model_of(batch, X)
    risk = MeanRisk(features, HiddenLikelihood(10).on(batch))
    w0 = np.array([0.0, 0.3, 0.3, c])[: features.size]
    begin = 0.5 * w0 @ w0 + n * risk.cut(w0).value
    fit = ConvexConcaveProcedure(C=float(n), tol=1e-3, max_iter=400).minimize(risk, w0=w0)
    assert fit.status == "local"
    assert fit.objective < begin
    rounds = [record.objective for record in fit.history]
    assert np.diff(np.minimum.accumulate(rounds)).max() <= 1e-9
    assert fit.w[1:3].sum() > 0.3
    # Without the weight of the observations, labels would be independent of what was seen.
    assert known or 0.05 < 1.0 / (1.0 + np.exp(fit.w[3])) < 0.35


def test_what_is_refused():
    batch = Energies.joint(CUTS, joint())
    for make, words in (
        (lambda: PerturbedLikelihood(1), "samples must be"),
        (lambda: PerturbedLikelihood(noise="gumbel"), "noise must be"),
        (lambda: PerturbedLikelihood().on(3), "batch must be"),
        (lambda: LFieldLikelihood().on(Sets.single([1, 0])), "batch must be"),
        (lambda: HiddenLikelihood().on(batch), "HiddenLikelihood refuses these Energies: they hold no observations"),
        (lambda: Energies.joint([], joint()), "terms must hold a base function"),
        (lambda: Energies.joint(CUTS[0], joint()), "terms must be lists of base functions"),
        (lambda: Energies.joint(CUTS, joint()[:, :5]), "rows must have shape"),
        (lambda: Energies.hidden(CUTS, np.zeros((2, 5))), "observed must have shape"),
        (lambda: Energies([CUTS], np.zeros(5, bool), np.array([0, 5])), "terms must be functions of 5 labels in set 0"),
        (
            lambda: Energies([CUTS, CUTS[:1]], np.zeros(12, bool), np.array([0, 6, 12])),
            "terms must be 2 lists of equally",
        ),
        (lambda: batch.design(np.zeros((5, 1))), "X must have 6 rows"),
        (lambda: ModularFunction(np.zeros((2, 2))), "slopes must have shape"),
    ):
        with pytest.raises((ValueError, TypeError, Refusal), match=words):
            make()
    unknown = np.array([-1, 1, -1, 0], np.int8)
    for some in (
        Energies([[Cut.grid(2, 2)]], unknown, np.array([0, 4])),
        Sets(unknown, np.array([0, 4])),
        Graphs(unknown, np.array([0, 4]), Cut.grid(2, 2).edges),
    ):
        for surrogate in (PerturbedLikelihood(), LFieldLikelihood())[: 1 + isinstance(some, Energies)]:
            with pytest.raises(Refusal, match="The likelihood refuses unknown labels"):
                surrogate.on(some)
    with pytest.raises(ValueError, match="target must hold means of labels, 0 to 1"):
        Energies([[Cut.grid(2, 2)]], unknown, np.array([0, 4]), np.array([5.0, 5.0, 5.0, 5.0, 0.0]))
    evaluator = PerturbedLikelihood().on(batch)
    with pytest.raises(Refusal, match="Energies refuse scores of base functions below 0"):
        evaluator(np.append(np.full(6, 1e12), [-0.5, 0.1]))
    with pytest.raises(Refusal, match="Energies refuse scores of base functions below 0"):
        evaluator(np.full(8, -1.0))
    with pytest.raises(Refusal, match="Energies"):
        MarginRescaling(Hamming()).on(batch)
    single = Energies([[CallableSetFunction(1, lambda y: float(y.any()))]], np.array([True]), np.array([0, 1]))
    assert PerturbedLikelihood(2).on(single)(np.zeros(2)).values[0] >= 0.0
