"""The order of rows does not matter to a fit, unless it means something to the loss."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import make_classification

from setwise import MultilabelStructuredPredictor, SetClassifier, SetClassifierCV
from setwise.estimators.objective import sees_places
from setwise.estimators.splits import row_keys
from setwise.losses import AveragePrecision, Hamming, Jaccard, MaxLoss, MeanOverClasses, SetFunctionLoss
from setwise.spaces import FiniteSpace
from setwise.surrogates import MarginRescaling


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


def rows_of(kind, n=120):
    """Rows and labels: of real numbers; of few numbers, so that scores tie; and with twins of both labels."""
    X, y = make_classification(n, 6, weights=[0.85], flip_y=0.05, random_state=1)
    if kind == "ties":
        X = np.rint(X[:, :3])
    if kind == "twins":
        X[: n // 2] = X[n // 2 :]
    return (csr_matrix(X) if kind == "sparse" else X), y


@pytest.mark.slow
@pytest.mark.draw(32)
@pytest.mark.parametrize("kind", ["numbers", "ties", "twins", "sparse"])
@pytest.mark.parametrize(
    ("model", "target"),
    [
        (SetClassifier("f1"), "rows"),
        (SetClassifier("mcc", "ramp", threshold="exact"), "groups"),
        (SetClassifier("jaccard", "convex", start="logistic"), "weighted"),
        (SetClassifier("average_precision"), "rows"),
        (SetClassifier("jaccard", "ramp"), "classes"),
        (SetClassifier("f1", average="macro"), "matrix"),
        (SetClassifierCV(SetClassifier("f1"), Cs=[1.0, 100.0], cv=2), "rows"),
    ],
)
def test_the_order_of_rows_does_not_matter(model, target, kind):
    X, y = rows_of(kind)
    rng = np.random.default_rng(0)
    # Sets are known by their names, so these stay with their rows.
    groups = rng.integers(8, size=len(y)) if target in ("groups", "weighted") else None
    weight = 1.0 + groups % 3 if target == "weighted" else None
    if target == "classes":
        y = y + (rng.random(len(y)) < 0.2)
    if target == "matrix":
        y = np.column_stack([y, rng.random(len(y)) < 0.3])
    first = fitted(model, X, y, groups, weight)
    for order in (np.arange(len(y))[::-1], rng.permutation(len(y))):
        again = fitted(model, X[order], y[order], *(None if one is None else one[order] for one in (groups, weight)))
        np.testing.assert_array_equal(again.coef_, first.coef_)
        np.testing.assert_array_equal(again.intercept_, first.intercept_)


def fitted(model, X, y, groups, weight):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if isinstance(model, SetClassifierCV):
            return clone(model).fit(X, y, groups=groups)
        return clone(model).fit(X, y, groups=groups, sample_weight=weight)


def test_convex_fits_of_rows_in_another_order_agree_up_to_their_gaps():
    X, y = rows_of("ties")
    model = SetClassifier("jaccard", "convex", tol=1e-4, C=100.0)
    first = clone(model).fit(X, y)
    again = clone(model).fit(X[::-1], y[::-1])
    assert max(first.lower_bound_, again.lower_bound_) <= min(first.objective_, again.objective_) * (1 + 1e-12)


def test_rows_keep_their_order_where_it_means_something():
    X, y = rows_of("numbers", 60)
    weights = np.linspace(1.0, 3.0, 60)
    for loss in (Hamming(weights), SetFunctionLoss(lambda y, wrong: float(weights @ wrong))):
        assert sees_places("margin", loss)
        assert sees_places(MarginRescaling(loss), loss)
    for loss in (Jaccard(), MaxLoss(), MeanOverClasses("f1"), AveragePrecision()):
        assert not sees_places(MarginRescaling(Jaccard()), loss)
    order = np.arange(60)[::-1]
    found = SetClassifier(Hamming(weights), "margin", tol=1e-6, max_iter=2000)
    first = found.fit(X, y).objective_
    # The weight of a row follows its place, so rows and weights in another order are the same problem.
    again = clone(found).set_params(loss=Hamming(weights[order])).fit(X[order], y[order]).objective_
    assert again == pytest.approx(first, rel=1e-5)
    assert clone(found).fit(X[order], y[order]).objective_ != pytest.approx(first, rel=1e-3)
    # Folds that are given by places hold these rows.
    splits = [(np.arange(20, 60), np.arange(20)), (np.arange(40), np.arange(40, 60))]
    scores = SetClassifierCV(SetClassifier("f1", "convex"), Cs=[1.0], cv=splits).fit(X, y).scores_[:, -1]
    alone = [SetClassifier("f1", "convex", C=1.0).fit(X[a], y[a]).score(X[b], y[b]) for a, b in splits]
    np.testing.assert_allclose(scores, alone)


@pytest.mark.slow
@pytest.mark.draw(2)
@pytest.mark.parametrize("surrogate", ["hinge", "ramp"])
def test_the_order_of_rows_does_not_matter_to_labels(surrogate):
    rng = np.random.default_rng(2)
    X = np.rint(rng.standard_normal((80, 3)))
    Y = X @ rng.standard_normal((3, 4)) + rng.standard_normal((80, 4)) > 0.5
    Y = [np.flatnonzero(row).tolist() for row in Y]
    model = MultilabelStructuredPredictor(FiniteSpace(range(4)), surrogate=surrogate, C=100.0)
    first = clone(model).fit(X, Y)
    for order in (np.arange(80)[::-1], rng.permutation(80)):
        again = clone(model).fit(X[order], [Y[i] for i in order])
        np.testing.assert_array_equal(again.coef_, first.coef_)
