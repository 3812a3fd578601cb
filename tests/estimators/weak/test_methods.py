"""The methods on bags: each descends, uses what is known, and comes near full labels."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from setwise import WeakSetClassifier
from setwise.estimators.weak.methods import LINEAR


def drawn(seed=0, bags=40, size=10):
    """Rows in bags of random shares, their labels, the bag of each, and the numbers of positives."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(bags), size)
    y = (rng.random(bags * size) < rng.beta(0.8, 1.2, bags)[groups]).astype(int)
    X = rng.standard_normal((bags * size, 3)) * [1, 5, 100] + (y[:, None] * [2, 0, -100]) + 3
    return X, y, groups, np.bincount(groups, y, bags).astype(int)


@pytest.mark.parametrize("method", LINEAR)
def test_counts_teach_rows(method):
    X, y, groups, counts = drawn()
    model = WeakSetClassifier(method=method, C=1.0).fit(X, groups=groups, counts=counts)
    new, truth, *_ = drawn(1, 100)
    full = LogisticRegression().fit(X, y).score(new, truth)
    assert full > 0.85
    assert (model.predict(new) == truth).mean() > full - 0.03


def test_known_labels_alone_are_logistic_regression():
    X, y, *_ = drawn()
    model = WeakSetClassifier(method="count_likelihood", C=0.1, tol=1e-14).fit(X, y)
    # Scaled features, and a constant that is hardly regularized.
    mean, scale = X.mean(axis=0), X.std(axis=0)
    rival = LogisticRegression(C=0.1, tol=1e-10, max_iter=10000).fit((X - mean) / scale, y)
    np.testing.assert_allclose(model.coef_ * scale, rival.coef_, rtol=1e-3)
    np.testing.assert_allclose(model.predict_proba(X), rival.predict_proba((X - mean) / scale), atol=1e-4)
