"""MultilabelStructuredPredictor where labels are too many to list: optimum, predictions, loss, and refusals."""

import pickle
import warnings
from itertools import combinations, permutations, product

import numpy as np
import piqp
import pytest
from sklearn.base import clone
from sklearn.svm import OneClassSVM

from setwise import (
    SSVM,
    IndependentSVMs,
    JointKernelSupport,
    MultilabelStructuredPredictor,
    PowersetSSVM,
    VacuousBoundWarning,
)
from setwise.core.exceptions import Refusal
from setwise.core.single_labels import Flips
from setwise.estimators.multilabel_baselines import LabelRanking
from setwise.graphs import Graph
from setwise.losses import EqualCosts, GivenCosts, MaxLoss, NearestCosts, NearestHammingCosts
from setwise.spaces import (
    Candidates,
    FiniteSpace,
    LabelSequences,
    Matchings,
    NetworkLabelings,
    Overlap,
    Windows,
    WordImage,
)
from setwise.surrogates import MultilabelHinge, Ramp

CHAIN = np.array([[0, 1], [1, 2]])


def sequences(rng):
    X = [rng.standard_normal((3, 2)) for _ in range(8)]
    return LabelSequences((0, 1)), X, [np.array(list(product((0, 1), repeat=3)))] * 8


def matchings(rng):
    X = [rng.standard_normal((2, 3, 2)) for _ in range(8)]
    return Matchings(), X, [np.array(list(permutations(range(3), 2)))] * 8


def networks(rng):
    X = [Graph(rng.standard_normal((3, 2)), CHAIN, rng.random((2, 1))) for _ in range(8)]
    return NetworkLabelings(2), X, [np.array(list(product((0, 1), repeat=3)))] * 8


def costs_of_seed(seed):
    def distance(truths, label):
        differing = (truths != label).sum(axis=1)
        return 0.75 if not len(truths) or not differing.min() else float(differing.min()) / 4

    return (EqualCosts(), NearestHammingCosts(0.5), GivenCosts(distance, 1.0))[seed % 3]


def problem(make, seed):
    """A space with inputs, all labels of each, right ones that a linear model nearly explains, and costs."""
    rng = np.random.default_rng(seed)
    space, X, every = make(rng)
    batch, features = space.bind(X)
    w = 2.0 * rng.standard_normal(features.size)
    # The model of a network bounds its weights of edges.
    if features.lower is not None:
        w = np.maximum(w, features.lower)
    scores, ends = features.scores(w), batch.score_offsets
    f = [batch.label_scores(i, scores[ends[i] : ends[i + 1]], rows) for i, rows in enumerate(every)]
    f = np.array(f) + 0.1 * rng.standard_normal((len(f), len(f[0])))
    Y = [rows[g > np.quantile(f, 0.7)].tolist() for rows, g in zip(every, f, strict=True)]
    # The first input has no right label, whatever the model says.
    Y[0] = []
    return space, X, every, Y, costs_of_seed(seed)


def reference(space, X, every, Y, costs, slack, C):
    """The optimum of MLSP Eq. 5 with all constraints, and psi of all labels of each input."""
    batch, features = space.bind(X, Y)
    unit = np.array([features.scores(e) for e in np.eye(features.size)]).T
    n, d, rows, bounds, psis = len(X), features.size, [], [], []
    for i, labels in enumerate(every):
        one = batch.take(np.array([i]))
        psi = np.array([one.indicators(y + 1) for y in labels])
        psi = psi @ unit[batch.score_offsets[i] : batch.score_offsets[i + 1]]
        psis.append(psi)
        right = np.array([list(y) in [list(t) for t in Y[i]] for y in labels])
        v, cost = np.where(right, 1.0, -1.0), costs.of(batch, i, labels)
        rows += [np.append(-(c if slack else 1.0) * s * p, -np.eye(n)[i]) for c, s, p in zip(cost, v, psi, strict=True)]
        bounds += list(-cost)
    solver = piqp.DenseSolver()
    solver.settings.verbose = False
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
    P, c = np.diag(np.r_[np.ones(d), np.zeros(n)]), np.r_[np.zeros(d), np.full(n, C / n)]
    low = np.full(d, -np.inf) if features.lower is None else features.lower
    solver.setup(P, c, None, None, np.array(rows), None, np.array(bounds), np.r_[low, np.zeros(n)], None)
    solver.solve()
    v = solver.result.x
    return 0.5 * v @ P @ v + c @ v, psis


@pytest.mark.draw(12)
@pytest.mark.parametrize("rescaling", ["slack", "margin"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("make", [sequences, matchings, networks])
def test_the_optimum_predictions_and_loss_are_those_of_listed_labels(make, seed, rescaling):
    space, X, every, Y, costs = problem(make, seed)
    optimum, psis = reference(space, X, every, Y, costs, rescaling == "slack", 30.0)
    model = MultilabelStructuredPredictor(
        space, MaxLoss(costs), rescaling, "hinge", C=30.0, tol=1e-7, max_iter=20000
    ).fit(X, Y)
    assert model.objective_ == pytest.approx(optimum, rel=1e-6)
    assert model.lower_bound_ <= optimum * (1 + 1e-7)
    batch, found, losses = space.bind(X, Y)[0], model.predict(X), []
    for i, labels in enumerate(every):
        f = psis[i] @ model.coef_
        order = np.argsort(-f, kind="stable")
        # Scores that differ by rounding alone have no order.
        places = {tuple(y): j for j, y in enumerate(labels.tolist())}
        chosen = [places[tuple(y)] for y in np.asarray(found[i]).tolist()]
        assert set(chosen) == set(np.flatnonzero(f > 0.0))
        assert (np.diff(f[chosen]) <= 1e-10).all()
        best = model.top(X, 4)[i]
        np.testing.assert_allclose([score for _, score in best], f[order[:4]], atol=1e-10)
        right = np.array([labels[j].tolist() in [list(t) for t in Y[i]] for j in range(len(labels))])
        losses.append(np.max(costs.of(batch, i, labels), initial=0.0, where=right != (f > 0.0)))
    assert model.score(X, Y) == pytest.approx(1.0 - np.mean(losses))
    assert 30.0 * np.mean(losses) <= model.objective_ + 1e-9
    two = model.predict(X, max_labels=2)
    assert [[list(y) for y in row] for row in two] == [[list(y) for y in row[:2]] for row in found]


def test_the_small_problems_are_neither_easy_nor_hopeless():
    shares = []
    for make, seed in product((sequences, matchings, networks), range(4)):
        space, X, every, Y, costs = problem(make, seed)
        shares.append(reference(space, X, every, Y, costs, True, 30.0)[0] / 30.0)
    assert sum(0.2 <= share <= 0.9 for share in shares) >= 8


def test_candidates_are_ragged_sets():
    rng = np.random.default_rng(0)
    X = [rng.standard_normal((m, 3)) for m in (4, 1, 6, 3, 5)]
    w = rng.standard_normal(3)
    Y = [np.flatnonzero(x @ w > 0.5).tolist() for x in X]
    space = Candidates()
    model = MultilabelStructuredPredictor(space, surrogate="hinge", C=1e3, tol=1e-6, max_iter=5000).fit(X, Y)
    assert [sorted(row) for row in model.predict(X)] == Y
    assert model.score(X, Y) == 1.0
    scores = X[2] @ model.coef_[:3] + model.coef_[3]
    assert [j for j, _ in model.top(X, 10)[2]] == np.argsort(-scores).tolist()
    # With one label for each decision, costs are those of listed labels.
    costs = MaxLoss(lambda truth: np.where(truth, 1.0, 0.5))
    for surrogate in ("hinge", "margin", "ramp"):
        other = MultilabelStructuredPredictor(space, costs, surrogate=surrogate, C=1e3).fit(X, Y)
        assert other.score(X, Y) >= 0.8


def test_the_ramp_begins_at_the_hinge_and_is_not_above_it():
    space, X, _, Y, _ = problem(sequences, 3)
    hinge = MultilabelStructuredPredictor(space, surrogate="hinge", C=5.0, tol=1e-6, max_iter=5000).fit(X, Y)
    ramp = MultilabelStructuredPredictor(space, surrogate="ramp", C=5.0).fit(X, Y)
    assert ramp.score(X, Y) >= hinge.score(X, Y)
    assert ramp.surrogate_ == "ramp"


def test_vacuous_bounds_warn_and_full_lists_too():
    rng = np.random.default_rng(1)
    X = [rng.standard_normal((3, 1)) for _ in range(20)]
    Y = [[list(rng.integers(0, 2, 3))] for _ in X]
    with pytest.warns(VacuousBoundWarning, match="guarantees no smaller loss"):
        MultilabelStructuredPredictor(LabelSequences((0, 1)), C=1.0).fit(X, Y)
    long = [rng.standard_normal((8, 1))]
    model = MultilabelStructuredPredictor(LabelSequences((0, 1)), surrogate="hinge", C=1e4)
    model.fit(long, [[[0] * 8, [1] * 8]])
    model.coef_ = np.r_[np.zeros(6), 1.0]
    with pytest.warns(UserWarning, match="more than 100 labels of an input have scores above 0"):
        assert len(model.predict(long)[0]) == 100
    assert len(model.predict(long, max_labels=256)[0]) == 256


def test_copies_and_constants():
    space, X, _, Y, _ = problem(matchings, 1)
    model = MultilabelStructuredPredictor(space, surrogate="hinge", C=10.0, intercept_scaling=3.0).fit(X, Y)
    again = pickle.loads(pickle.dumps(model))
    assert again.top(X, 3)[0][0][1] == model.top(X, 3)[0][0][1]
    assert clone(model).fit(X, Y).objective_ == model.objective_
    without = MultilabelStructuredPredictor(space, surrogate="hinge", C=10.0, fit_intercept=False).fit(X, Y)
    assert len(without.coef_) == len(model.coef_) - 1


def test_a_fit_that_fails_leaves_the_model_as_it_was():
    space, X, _, Y, _ = problem(matchings, 1)
    model = MultilabelStructuredPredictor(space, surrogate="hinge", C=10.0).fit(X, Y)
    before = model.coef_
    with pytest.raises(ValueError, match=r"Y\[0\]"):
        model.fit(X, [[[0, 0, 9]]] * len(X))
    assert model.coef_ is before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kernel": lambda A, B: A @ B.T}, "kernel=.* refuses LabelSequences.*Use kernel='linear'"),
        ({"label_bias": 1.0}, "label_bias=1 refuses LabelSequences"),
        ({"start": "logistic"}, "start='logistic' refuses LabelSequences"),
        ({"surrogate": "margin"}, "surrogate='margin' refuses LabelSequences.*Use surrogate='hinge'"),
        ({"loss": "sum"}, "SumLoss"),
        ({"loss": MaxLoss(NearestCosts(np.eye(3)))}, "too many to list"),
    ],
)
def test_what_needs_a_list_of_labels_is_refused(options, words):
    space, X, _, Y, _ = problem(sequences, 0)
    with pytest.raises(Refusal, match=words):
        MultilabelStructuredPredictor(space, **options).fit(X, Y)


def test_methods_that_need_a_list_of_labels_are_refused():
    space, X, _, Y, _ = problem(sequences, 0)
    model = MultilabelStructuredPredictor(space, surrogate="hinge").fit(X, Y)
    for method in (model.decision_function, model.predict_matrix, model.certain):
        with pytest.raises(Refusal, match="refuses LabelSequences, whose labels are not listed. Use"):
            method(X)
    with pytest.raises(ValueError, match="k must be at least 1"):
        model.top(X, 0)
    with pytest.raises(ValueError, match="max_labels must be at least 1"):
        model.predict(X, max_labels=0)
    assert isinstance(space.bind(X)[0], Flips)


@pytest.mark.draw(12)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make", [sequences, matchings, networks])
def test_ssvm_of_a_large_space_is_that_of_listed_labels(make, seed):
    space, X, every, Y, costs = problem(make, seed)
    model = SSVM(space, MaxLoss(costs), C=20.0, tol=1e-7, max_iter=20000).fit(X, Y)
    batch, features = space.bind(X, Y)
    psis = reference(space, X, every, Y, costs, False, 1.0)[1]
    rows, bounds, slacks = [], [], sum(map(len, Y))
    k = 0
    for i, labels in enumerate(every):
        right = np.array([y.tolist() in [list(t) for t in Y[i]] for y in labels])
        cost = costs.of(batch, i, labels)
        for y in np.flatnonzero(right):
            for other in np.flatnonzero(~right):
                rows.append(np.append(psis[i][other] - psis[i][y], -np.eye(slacks)[k]))
                bounds.append(-cost[other])
            k += 1
    d, solver = features.size, piqp.DenseSolver()
    solver.settings.verbose = False
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
    P, c = np.diag(np.r_[np.ones(d), np.zeros(slacks)]), np.r_[np.zeros(d), np.full(slacks, 20.0 / len(X))]
    low = np.full(d, -np.inf) if features.lower is None else features.lower
    solver.setup(P, c, None, None, np.array(rows), None, np.array(bounds), np.r_[low, np.zeros(slacks)], None)
    solver.solve()
    v = solver.result.x
    assert model.objective_ == pytest.approx(0.5 * v @ P @ v + c @ v, rel=1e-6)
    assert len(model.predict(X)) == len(X)


@pytest.mark.parametrize("missed", [1.0, 3.0, 100.0])
def test_costs_of_right_labels_have_no_part_in_ssvm(missed):
    X, Y = [np.eye(2)], [[["a", "b"]]]
    space, options = LabelSequences(["a", "b"]), {"C": 10.0, "tol": 1e-6, "max_iter": 5000}
    models = [SSVM(space, MaxLoss(NearestHammingCosts(m)), **options).fit(X, Y) for m in (0.0, missed)]
    assert models[1].objective_ == pytest.approx(models[0].objective_, rel=1e-5)
    assert models[1].top(X, 1)[0][0][0] == ["a", "b"]


@pytest.mark.parametrize("make", [sequences, matchings, networks, None])
def test_joint_kernel_support_of_a_large_space_is_a_one_class_svm(make):
    if make is None:
        rng = np.random.default_rng(0)
        space, X = Candidates(), [rng.standard_normal((m, 3)) for m in (4, 1, 6, 3, 5)]
        Y = [list(range(len(x) // 2)) for x in X]
        pairs = np.concatenate([x[y] for x, y in zip(X, Y, strict=True)])
    else:
        space, X, every, Y, costs = problem(make, 1)
        psis = reference(space, X, every, Y, costs, False, 1.0)[1]
        # The last feature is the constant, which a one-class SVM has not.
        pairs = np.concatenate(
            [
                psi[[labels.tolist().index(list(y)) for y in right], :-1]
                for psi, labels, right in zip(psis, every, Y, strict=True)
                if right
            ]
        )
    model = JointKernelSupport(space, nu=0.4, tol=1e-6).fit(X, Y)
    svm = OneClassSVM(kernel="linear", nu=0.4, tol=1e-6).fit(pairs)
    np.testing.assert_allclose(model.coef_, svm.coef_[0], atol=1e-4)
    for i, row in enumerate(model.top(X, 3)):
        if make is None:
            expected = np.sort(svm.decision_function(X[i]))[::-1][:3]
        else:
            expected = np.sort(svm.decision_function(psis[i][:, :-1]))[::-1][:3]
        np.testing.assert_allclose([score for _, score in row], expected, atol=1e-4)
    with pytest.raises(Refusal, match="Use kernel='linear'"):
        JointKernelSupport(space, kernel=lambda A, B: A @ B.T).fit(X, Y)
    with pytest.raises(ValueError, match="Y must hold a true label for one input or more"):
        JointKernelSupport(space).fit(X, [[] for _ in X])


def test_baselines_over_all_sets_of_labels_take_listed_labels_alone():
    space, X, _, Y, _ = problem(sequences, 0)
    for kind in (PowersetSSVM, IndependentSVMs):
        with pytest.raises(ValueError, match="The 'space' parameter"):
            kind(space).fit(X, Y)


def test_inputs_have_the_features_of_fit_and_may_be_generated():
    space, X, _, Y, _ = problem(networks, 1)
    model = MultilabelStructuredPredictor(space, surrogate="hinge", C=10.0).fit((x for x in X), Y)
    assert model.widths_ == (2, 1)
    assert [list(map(list, row)) for row in model.predict(x for x in X)] == [
        list(map(list, row)) for row in model.predict(X)
    ]
    assert model.score((x for x in X), Y) == model.score(X, Y)
    # One feature of nodes and two of edges have as many weights.
    other = [Graph(np.ones((3, 1)), CHAIN, np.ones((2, 2)))]
    for kind in (model, JointKernelSupport(space).fit(X, Y)):
        with pytest.raises(ValueError, match=r"X must have \(2, 1\) features, as in fit; got \(1, 2\)"):
            kind.predict(other)
    with pytest.raises(TypeError, match="X must be a list of inputs; got 3"):
        model.predict(3)


def test_joint_kernel_support_does_not_depend_on_the_scale_of_features():
    rng = np.random.default_rng(0)
    X = [np.abs(rng.standard_normal((3, 2))) + np.array([0.0, 1.0]) for _ in range(20)]
    Y = [[int(x[:, 0].argmax())] for x in X]
    first = JointKernelSupport(Candidates(), nu=0.3, tol=1e-6).fit(X, Y)
    for scale in (1e-4, 1e4):
        other = JointKernelSupport(Candidates(), nu=0.3, tol=1e-6).fit([scale * x for x in X], Y)
        np.testing.assert_allclose(other.coef_ / scale, first.coef_, rtol=1e-3)
        assert other.rho_ / scale**2 == pytest.approx(first.rho_, rel=1e-3)


def test_scores_that_a_label_meets_many_times_do_not_hide_its_rivals():
    space = LabelSequences((0, 1))
    batch, features = space.bind([np.ones((30, 1))], [[[0] * 30]])
    w = np.zeros(features.size)
    # The transitions are the third to the sixth weight.
    w[2:6] = -1.0
    found = LabelRanking(MaxLoss()).on(batch)(features.scores(w))
    assert found.values[0] == pytest.approx(1.0)
    assert found.upper[0] == pytest.approx(1.0)


def test_candidates_take_losses_without_a_hinge():
    rng = np.random.default_rng(1)
    X = [rng.standard_normal((m, 3)) for m in (4, 1, 6, 3, 5)]
    Y = [np.flatnonzero(x[:, 0] > 0.3).tolist() for x in X]
    for loss in ("sum", "f1"):
        model = MultilabelStructuredPredictor(Candidates(), loss, C=1e3).fit(X, Y)
        assert model.surrogate_ == "margin"
        assert model.score(X, Y) > 0.9
        assert 0.0 <= model.certain_share_ <= 1.0


def test_the_certain_share_is_that_of_right_labels():
    space, X, every, Y, costs = problem(sequences, 0)
    options = {"surrogate": "hinge", "C": 30.0, "max_iter": 20000}
    rough, fine = (
        MultilabelStructuredPredictor(space, MaxLoss(costs), tol=t, **options).fit(X, Y) for t in (0.3, 1e-7)
    )
    assert rough.certain_share_ <= fine.certain_share_
    radius, sure = np.sqrt(2.0 * (rough.objective_ - rough.lower_bound_)), []
    psis = reference(space, X, every, Y, costs, True, 30.0)[1]
    for psi, labels, right in zip(psis, every, Y, strict=True):
        for y in right:
            row = psi[labels.tolist().index(list(y))]
            sure.append(abs(row @ rough.coef_) > radius * np.linalg.norm(row))
            if sure[-1]:
                assert (row @ rough.coef_ > 0) == (row @ fine.coef_ > 0)
    assert rough.certain_share_ == pytest.approx(np.mean(sure))


def test_a_fit_forgets_the_one_before():
    rng = np.random.default_rng(0)
    model = MultilabelStructuredPredictor(FiniteSpace(range(3)), surrogate="hinge")
    model.fit(rng.standard_normal((20, 2)), rng.random((20, 3)) < 0.5)
    space, X, _, Y, _ = problem(matchings, 1)
    model.set_params(space=space).fit(X, Y)
    for name in ("intercept_", "bias_", "kernel_residual_", "n_features_in_", "_model"):
        assert name not in vars(model)


def test_the_loss_of_windows_is_that_of_all_windows_above_zero():
    rng = np.random.default_rng(0)
    every = [(t, a, b, c) for t, b in combinations(range(6), 2) for a, c in combinations(range(6), 2)]
    X, Y = [], []
    for _ in range(6):
        top, left = rng.integers(0, 3, 2)
        rows, columns = np.divmod(np.arange(25), 5)
        inside = (rows >= top) & (rows < top + 3) & (columns >= left) & (columns < left + 3)
        X.append(WordImage(5, 5, np.column_stack([rows, columns, np.where(inside, 0, rng.integers(1, 3, 25))])))
        Y.append([(top, left, top + 3, left + 3)])
    Y[0] = []
    losses = set()
    for costs, overlap in product((Overlap(), EqualCosts()), (0.3, 1.0)):
        space = Windows(3, overlap=overlap)
        for C in (1e-3, 1e3):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = MultilabelStructuredPredictor(space, MaxLoss(costs), surrogate="hinge", C=C).fit(X, Y)
            batch, features = space.bind(X, Y)
            scores, ends, wrong = features.scores(model.coef_), batch.score_offsets, []
            for i, right in enumerate(Y):
                f = batch.label_scores(i, scores[ends[i] : ends[i + 1]], np.array(every))
                off = (f > 0.0) != np.array([y in right for y in every])
                wrong.append(np.max(costs.of(batch, i, np.array(every)), initial=0.0, where=off))
            assert model.score(X, Y) == pytest.approx(1.0 - np.mean(wrong))
            assert np.mean(wrong) * C <= model.objective_ + 1e-9
            losses.add(round(float(np.mean(wrong)), 6))
    assert len(losses) > 1


@pytest.mark.slow
@pytest.mark.draw(2)
@pytest.mark.parametrize("make", [sequences, matchings])
def test_the_ramp_of_costs_of_one_is_the_hinge_up_to_one(make):
    space, X, _, Y, _ = problem(make, 0)
    batch, rng = space.bind(X, Y)[0], np.random.default_rng(0)
    for cost in (1.0, 2.5):
        loss = cost * MaxLoss()
        ramp, hinge = Ramp(loss).on(batch), MultilabelHinge(loss).on(batch)
        for _ in range(10):
            scores = rng.standard_normal(batch.n_scores)
            found, full = ramp(scores), hinge(scores)
            np.testing.assert_allclose(found.values, np.minimum(full.values, cost), atol=1e-9)
            step = 1e-6 * rng.standard_normal(batch.n_scores)
            moved = ramp(scores + step).values - ramp(scores - step).values
            own = np.add.reduceat(found.gradient * step, batch.score_offsets[:-1])
            np.testing.assert_allclose(moved, 2.0 * own, atol=1e-9)
            upper = ramp.majorant(scores)
            np.testing.assert_allclose(upper(scores).values, found.values, atol=1e-9)
            other = rng.standard_normal(batch.n_scores)
            assert (upper(other).values >= ramp(other).values - 1e-9).all()


def test_windows_have_a_ramp():
    rng = np.random.default_rng(0)
    X, Y = [], []
    for i in range(12):
        rows, columns = np.divmod(np.arange(36), 6)
        top, left = rng.integers(0, 4, 2)
        inside = (rows >= top) & (rows < top + 3) & (columns >= left) & (columns < left + 3)
        # One image does not show its object.
        words = np.where(inside & (i > 0), 0, rng.integers(1, 3, 36))
        X.append(WordImage(6, 6, np.column_stack([rows, columns, words])))
        Y.append([(top, left, top + 3, left + 3)])
    hinge, ramp = (
        MultilabelStructuredPredictor(Windows(3), MaxLoss(Overlap()), surrogate=name, C=1e3).fit(X, Y)
        for name in ("hinge", "ramp")
    )
    # The hinge pays for that image by its worst window, the ramp by 1.
    assert hinge.objective_ > 0.4 * 1e3
    assert ramp.objective_ == pytest.approx(1e3 / 12, rel=1e-3)
    assert ramp.score(X, Y) == hinge.score(X, Y) == pytest.approx(11 / 12)


def test_right_labels_must_be_given_and_c_be_above_zero():
    space, X, _, Y, _ = problem(matchings, 1)
    for model in (MultilabelStructuredPredictor(space), SSVM(space), JointKernelSupport(space)):
        with pytest.raises(TypeError, match="Y must be a list of collections of labels; got None"):
            model.fit(X, None)
    with pytest.raises(ValueError, match="C must be above 0 for Matchings"):
        MultilabelStructuredPredictor(space, C=0).fit(X, Y)


def test_images_do_not_change_with_the_arrays_that_they_came_from():
    points = np.array([[0, 0, 1], [1, 1, 0]])
    image = WordImage(2, 2, points)
    points[:] = -1
    assert image.points.min() >= 0
