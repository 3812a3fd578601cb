"""SetClassifier trains for every loss, by every surrogate and learner, on every layout."""

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csc_matrix, csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_digits, make_multilabel_classification

from setwise import SetClassifier
from setwise.inference import GreedySearch
from setwise.learners import OneSlack
from setwise.losses import (
    CappedLoss,
    CountFunctionLoss,
    SaturatingLoss,
    Trait,
    plain_losses,
)
from setwise.risks import MeanRisk
from setwise.surrogates import MarginRescaling

convex = partial(SetClassifier, surrogate="convex")


@pytest.mark.slow
def test_multi_label_matrix():
    X, Y = make_multilabel_classification(150, 6, n_classes=4, random_state=0)
    model = SetClassifier(SaturatingLoss(1.0, [1, 0.8, 0.6, 0.4]), C=50).fit(X, Y)
    assert model.coef_.shape == (4, 6)
    assert model.intercept_.shape == (4,)
    assert model.predict(X).shape == Y.shape
    assert model.decision_function(X).shape == Y.shape
    losses = [model.loss_(row, guess) for row, guess in zip(Y, model.predict(X), strict=True)]
    assert model.score(X, Y) == pytest.approx(1 - np.mean(losses))


@pytest.mark.draw(2)
@pytest.mark.parametrize("name", sorted(plain_losses()))
def test_every_named_loss_trains_to_its_certificate(name):
    X = np.random.default_rng(0).standard_normal((60, 3))
    y = X[:, 0] - X[:, 1] > 0.3
    X[:, 0] += 2 * y
    model = convex(name, C=100).fit(X, y)
    assert model.duality_gap_ <= 1e-3
    assert 0 <= model.lower_bound_ <= model.objective_ * (1 + 1e-9)
    untrained = convex(name, C=1e-9).fit(X, y)
    assert model.score(X, y) > untrained.score(X, y)


@pytest.mark.slow
@pytest.mark.draw(9)
@pytest.mark.parametrize("average", ["samples", "macro", "micro"])
@pytest.mark.parametrize("loss", ["f1", "jaccard", "hamming"])
def test_average_says_what_a_set_is(average, loss):
    X, Y = make_multilabel_classification(40, 5, n_classes=3, random_state=1)
    model = SetClassifier(loss, C=50, average=average).fit(X, Y)
    guess = model.predict(X)
    pairs = {
        "samples": list(zip(Y, guess, strict=True)),
        "macro": list(zip(Y.T, guess.T, strict=True)),
        "micro": [(Y.ravel(), guess.ravel())],
    }[average]
    assert model.score(X, Y) == pytest.approx(1 - np.mean([model.loss_(a, b) for a, b in pairs]))
    # The ramp starts elsewhere on a sparse matrix, which is not centred.
    dense, sparse = (convex(loss, C=50, average=average).fit(rows, Y) for rows in (X, csr_matrix(X)))
    assert sparse.objective_ == pytest.approx(dense.objective_, rel=2e-3)


@pytest.mark.slow
@pytest.mark.draw(2)
@pytest.mark.parametrize("learner", ["n_slack", "block_frank_wolfe"])
def test_macro_is_one_problem_for_each_label(learner):
    X, Y = make_multilabel_classification(60, 5, n_classes=3, random_state=1)
    together = convex("jaccard", learner=learner, C=60, average="macro", tol=1e-4, max_iter=5000, random_state=0)
    together.fit(X, Y)
    apart = [convex("jaccard", C=20, tol=1e-5).fit(X, column) for column in Y.T]
    assert together.objective_ == pytest.approx(sum(model.objective_ for model in apart), rel=1.2e-4)


@pytest.mark.parametrize("convert", [csr_matrix, csc_matrix])
@pytest.mark.parametrize("surrogate", ["lovasz", "margin"])
def test_sparse_equals_dense(bags, convert, surrogate):
    X, y, groups = bags
    dense = SetClassifier(surrogate=surrogate, C=10, tol=1e-7).fit(X, y, groups=groups)
    sparse = SetClassifier(surrogate=surrogate, C=10, tol=1e-7).fit(convert(X), y, groups=groups)
    np.testing.assert_allclose(dense.coef_, sparse.coef_, atol=1e-3)
    np.testing.assert_allclose(dense.decision_function(X), dense.decision_function(convert(X)), atol=1e-12)


@pytest.mark.draw(12)
@pytest.mark.parametrize("learner", ["one_slack", "n_slack", "block_frank_wolfe"])
@pytest.mark.parametrize("surrogate", ["lovasz", "margin", "slack"])
def test_learners_agree_within_their_certified_gaps(bags, learner, surrogate):
    X, y, groups = bags
    model = SetClassifier("saturating", surrogate, learner, C=20, tol=1e-4, random_state=0).fit(X, y, groups=groups)
    reference = SetClassifier("saturating", surrogate, C=20, tol=1e-6, max_iter=5000).fit(X, y, groups=groups)
    assert model.duality_gap_ <= 1e-4
    assert model.objective_ == pytest.approx(reference.objective_, rel=1.1e-4)
    assert model.lower_bound_ <= reference.objective_ * (1 + 1e-9)
    assert "certified" in model.stop_reason_
    assert all(len(column) == model.n_iter_ for column in model.history_.values())
    assert (np.diff(model.history_["lower_bound"]) >= 0).all()


@pytest.mark.filterwarnings("ignore:SetClassifier stalled")
def test_objects_instead_of_names(bags):
    X, y, groups = bags
    loss = CappedLoss(np.linspace(1, 0.1, 10), 1.5)
    model = SetClassifier(loss, MarginRescaling(loss, GreedySearch()), OneSlack(C=10, max_iter=40)).fit(
        X, y, groups=groups
    )
    assert model.loss_ is loss
    assert model.duality_gap_ >= 0
    clone(model).fit(X, y, groups=groups)


def test_inexact_inference_is_never_called_converged_on_trust():
    rng = np.random.default_rng(0)
    X, groups = rng.standard_normal((300, 3)), np.repeat(np.arange(10), 30)
    y = X[:, 0] + rng.standard_normal(300) > 0
    model = SetClassifier("early_detection", "margin", C=10, max_iter=200).fit(X, y, groups=groups)
    assert model.history_["upper_bound"][-1] >= model.objective_
    assert model.duality_gap_ > 1e-3 or "within tol" in model.stop_reason_
    if model.duality_gap_ > 1e-3:
        assert "inexact inference" in model.stop_reason_


def test_the_auto_surrogate_reads_the_shape_of_a_function_of_counts(bags):
    X, y, groups = bags
    tolerant = CountFunctionLoss(lambda fn, fp: np.minimum(5 * fn + fp, 20))
    promised = CountFunctionLoss(lambda fn, fp: np.minimum(5 * fn + fp, 20), [Trait.SUBMODULAR, Trait.INCREASING])
    a, b = (convex(loss, C=10).fit(X, y, groups=groups) for loss in (tolerant, promised))
    np.testing.assert_array_equal(a.coef_, b.coef_)
    assert a.objective_ == pytest.approx(SetClassifier(tolerant, "lovasz", C=10).fit(X, y, groups=groups).objective_)


def test_digits_jaccard_beats_predicting_all_positive():
    X, y = load_digits(return_X_y=True)
    y = y == 0
    model = SetClassifier(C=3000).fit(X[::2] / 16, y[::2])
    assert model.score(X[1::2] / 16, y[1::2]) > 0.9


def test_a_large_intercept_scaling_frees_the_intercept(bags):
    X, y, groups = bags
    shifted = X + 30.0
    held, free = (
        convex(C=10, tol=1e-5, max_iter=5000, intercept_scaling=c).fit(shifted, y, groups=groups).objective_
        for c in (1.0, 100.0)
    )
    centered = convex(C=10, tol=1e-5, max_iter=5000, intercept_scaling=100.0).fit(X, y, groups=groups).objective_
    assert abs(free - centered) < 0.2 * abs(held - centered)


@pytest.mark.parametrize("average", ["samples", "micro", "macro"])
def test_intercept_scaling_is_a_constant_feature(average):
    X, Y = make_multilabel_classification(50, 4, n_classes=3, random_state=2)
    wide = np.column_stack([X, np.full(len(X), 5.0)])
    scaled = convex("hamming", C=5, tol=1e-7, average=average, intercept_scaling=5.0).fit(X, Y)
    column = convex("hamming", C=5, tol=1e-7, average=average, fit_intercept=False).fit(wide, Y)
    np.testing.assert_allclose(scaled.coef_, column.coef_[:, :-1], atol=1e-3)
    np.testing.assert_allclose(scaled.intercept_, 5.0 * column.coef_[:, -1], atol=5e-3)
    warm = convex("hamming", C=5, tol=1e-7, average=average, intercept_scaling=5.0, warm_start=True).fit(X, Y)
    warm.fit(X, Y)
    assert warm.history_["objective"][0] == pytest.approx(scaled.objective_, rel=1e-6)


def test_small_products_take_one_thread(bags, monkeypatch):
    from threadpoolctl import threadpool_info, threadpool_limits

    X, y, groups = bags
    seen, cut = [], MeanRisk.cut

    def counted(self, w, tol=0.0):
        seen.append([lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"])
        return cut(self, w, tol)

    monkeypatch.setattr(MeanRisk, "cut", counted)
    with threadpool_limits(2, user_api="blas"):
        SetClassifier(C=10).fit(X, y, groups=groups)
    assert {threads for found in seen for threads in found} == {1}


@pytest.mark.parametrize("loss", ["hamming", "jaccard"])
@pytest.mark.parametrize("size", [1.0, 1e3, 1e6])
def test_the_size_of_features_does_not_stop_learning(loss, size):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 3))
    y = X[:, 0] + 0.5 * rng.standard_normal(300) > 0.3
    model = convex(loss, C=100).fit(X * size, y)
    assert model.duality_gap_ <= 1e-3
    assert (model.predict(X * size) == y).mean() > 0.85


@pytest.mark.filterwarnings("ignore::setwise.VacuousBoundWarning")
@pytest.mark.parametrize("loss", ["hamming", "error_rate"])
@pytest.mark.parametrize("surrogate", ["lovasz", "margin", MarginRescaling("hamming", scale="size")], ids=str)
def test_losses_that_count_the_rows_of_large_sets_are_certified(loss, surrogate):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40_000, 4))
    y = X @ [1.0, -2.0, 0.5, 0.0] + rng.standard_normal(40_000) > 0.0
    if not isinstance(surrogate, str):
        surrogate = MarginRescaling(loss, scale="size")
    model = SetClassifier(loss, surrogate).fit(X, y, groups=np.repeat(np.arange(20), 2000))
    assert model.status_ == "converged"
    assert model.duality_gap_ <= 1e-3
    assert np.mean(model.predict(X) == y) > 0.85
